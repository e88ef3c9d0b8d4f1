"""``proctor round graph``: people write task graphs from texts, or review inferred ones."""

from __future__ import annotations

from proctor.cli.console import WorkspaceArgument
from proctor.cli.options import Output, with_settings
from proctor.cli.round_begin import begin
from proctor.stages.rounds.graph_settings import GraphRoundSettings

__all__ = ["graph"]


@with_settings
def graph(workspace: WorkspaceArgument, settings: GraphRoundSettings, output: Output) -> None:
    """Let people write task graphs from texts: mark actions, make them steps, link what must wait; or review inferred edges.

    A model may draft (--draft); nothing of it counts unless somebody accepts it. 'round collect' writes what all agree on.

    Example: proctor round graph bench --texts recipes --draft openai/gpt-4o

    Example: proctor round graph bench --edges review.csv --people 1
    """
    begin(workspace, "graph", settings, output)

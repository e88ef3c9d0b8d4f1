"""``proctor round timeline``: steps of recordings, marked by people."""

from __future__ import annotations

from proctor.cli.console import WorkspaceArgument
from proctor.cli.options import Output, with_settings
from proctor.cli.round_begin import begin
from proctor.stages.rounds.timeline_settings import TimelineSettings

__all__ = ["timeline"]


@with_settings
def timeline(workspace: WorkspaceArgument, settings: TimelineSettings, output: Output) -> None:
    """Have people mark the steps of recordings from start to end, with what went wrong, actions and narration.

    Recordings are those of the workspace, or the videos of a folder that all follow one task graph. 'round collect' compares
    what people marked, settles what two agree on, and writes a folder for 'read plain'.

    Example: proctor round timeline bench --videos videos --people 2

    Example: proctor round timeline bench --videos kitchen --steps recipe.txt --prelabels predictions.csv --format elan
    """
    begin(workspace, "timeline", settings, output)

"""``proctor round order`` and ``alternatives``: manuals whose steps people put in order."""

from __future__ import annotations

from proctor.cli.console import WorkspaceArgument, emit
from proctor.cli.options import Output, with_settings
from proctor.cli.round_begin import begin
from proctor.stages.rounds.order_settings import AlternativesSettings, OrderSettings

__all__ = ["alternatives", "order"]


@with_settings
def order(workspace: WorkspaceArgument, settings: OrderSettings, output: Output) -> None:
    """Let people put the steps of manuals in order: by texts, pictures or both, each form a week after the other.

    'collect' writes orders for 'study order-table' and a run 'people-<modality>', and names batches that are to be done again.

    Example: proctor round order bench --people 3 --batch 5
    """
    if settings.label_studio is None:
        begin(workspace, "order", settings, output)
    else:
        from proctor.stages.rounds.order import write_tasks

        text = f"{write_tasks(workspace, settings):,} tasks: {settings.label_studio}, and the configuration beside"
        emit({"file": str(settings.label_studio)}, text, as_json=output.as_json)


@with_settings
def alternatives(workspace: WorkspaceArgument, settings: AlternativesSettings, output: Output) -> None:
    """Let other people name further right orders of manuals that they did not put in order.

    'collect' writes what they named, a file of sequences with the orders that most name, and votes for 'study golden'.

    Example: proctor round alternatives bench --shows both --quorum 3
    """
    begin(workspace, "alternatives", settings, output)

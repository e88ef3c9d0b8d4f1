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
    if (file := settings.label_studio) is None:
        return begin(workspace, "order", settings, output)
    from proctor.stages.order_exchange import write_label_studio_orders
    from proctor.stages.rounds.order import ordered_items, sequence_of
    from proctor.workspace import Workspace

    items = ordered_items(Workspace(workspace))
    count = write_label_studio_orders((sequence_of(items[i]) for i in settings.item or items), file)
    text = f"{count:,} tasks: {file}, {file.with_suffix('.config.xml')}\n\nwhat comes back: proctor study order-table --people EXPORT.json"
    emit({"tasks": count, "file": str(file)}, text, as_json=output.as_json)


@with_settings
def alternatives(workspace: WorkspaceArgument, settings: AlternativesSettings, output: Output) -> None:
    """Let other people name further right orders of manuals that they did not put in order.

    'collect' writes what they named, a file of sequences with the orders that most name, and votes for 'study golden'.

    Example: proctor round alternatives bench --shows both --quorum 3
    """
    begin(workspace, "alternatives", settings, output)

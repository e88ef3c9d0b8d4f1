"""The page on which other right orders are named: the steps in their authored order."""

from __future__ import annotations

from proctor.studio.context import Studio
from proctor.studio.tasks.order import OrderView, step_cards
from proctor.verify.rounds.alternatives import AlternativesOptions, AlternativesSheet
from proctor.verify.rounds.order import OrderTask

__all__ = ["view"]


def view(studio: Studio, task: OrderTask, sheet: AlternativesSheet, options: AlternativesOptions, address: str) -> OrderView:  # noqa: ARG001  # fmt: skip
    """Return the cards in their authored order."""
    first = {pair[0] for pair in sheet.swaps}
    swaps = frozenset(n for n, step in enumerate(task.steps) if step.id in first)
    return OrderView(task.goal, tuple(step_cards(task.steps, address)), none=sheet.none, swaps=swaps)

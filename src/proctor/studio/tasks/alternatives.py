"""The page on which other right orders are named: the steps in their authored order."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.studio.context import Studio
from proctor.studio.tasks.order import StepCard, step_cards
from proctor.verify.rounds.alternatives import AlternativesOptions, AlternativesSheet
from proctor.verify.rounds.order import OrderTask

__all__ = ["AlternativesView", "view"]


@dataclass(frozen=True, slots=True)
class AlternativesView:
    """Steps in the authored order, and by the place of the first, from 0, which neighbours may swap; or that there is no other order."""

    goal: str
    steps: tuple[StepCard, ...]
    swaps: frozenset[int]
    none: bool
    data: str = "{}"


def view(
    studio: Studio, task: OrderTask, sheet: AlternativesSheet, options: AlternativesOptions, address: str  # noqa: ARG001
) -> AlternativesView:  # fmt: skip
    """Return the cards in their authored order."""
    first = {pair[0] for pair in sheet.swaps}
    swaps = frozenset(n for n, step in enumerate(task.steps) if step.id in first)
    return AlternativesView(task.goal, tuple(step_cards(task.steps, address)), swaps, sheet.none)

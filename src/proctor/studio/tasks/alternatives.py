"""The page on which other right orders are named: the steps in their authored order."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.studio.context import Studio
from proctor.studio.tasks.order import StepCard, step_cards
from proctor.verify.rounds.alternatives import AlternativesOptions, AlternativesSheet, AlternativesTask
from proctor.verify.rounds.order import Shows

__all__ = ["AlternativesView", "view"]


@dataclass(frozen=True, slots=True)
class AlternativesView:
    """Steps in the authored order, and what was linked of them.

    Attributes:
        shows: ``both``, ``text`` or ``image``.
        goal: what the steps lead to; may be empty.
        steps: in the authored order.
        swaps: places, from 0, of the first of two neighbours that may swap.
        none: there is no other order.
        data: for the page's module, which draws the orders itself.
    """

    shows: Shows
    goal: str
    steps: tuple[StepCard, ...]
    swaps: frozenset[int]
    none: bool
    data: str = "{}"


def view(
    studio: Studio,  # noqa: ARG001
    task: AlternativesTask,
    sheet: AlternativesSheet,
    options: AlternativesOptions,  # noqa: ARG001
    address: str,
) -> AlternativesView:
    """Return the cards in their authored order."""
    first = {pair[0] for pair in sheet.swaps}
    swaps = frozenset(n for n, step in enumerate(task.steps) if step.id in first)
    return AlternativesView(task.shows, task.goal, tuple(step_cards(task.steps, address)), swaps, sheet.none)

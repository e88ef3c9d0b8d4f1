"""The page on which steps are put in order: cards in the order of the sheet, and nothing that tells the right one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from proctor.studio.context import Studio
from proctor.verify.rounds.order import OrderOptions, OrderSheet, OrderTask, Step

__all__ = ["OrderView", "StepCard", "step_cards", "view"]


@dataclass(frozen=True, slots=True)
class StepCard:
    """A step as it is shown; ``name`` is what it is called aloud, ``pictures`` are addresses and what is said in their place."""

    id: str
    name: str
    text: str
    pictures: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class OrderView:
    """Cards as they stand, and what they lead to; ``data`` is for the page's module.

    ``kept``: the presented order was confirmed. Of other orders: ``none`` exist, or neighbours may swap (places of the first, from 0).
    """

    goal: str
    steps: tuple[StepCard, ...]
    kept: bool = False
    none: bool = False
    swaps: frozenset[int] = frozenset()
    data: str = "{}"


def view(studio: Studio, task: OrderTask, sheet: OrderSheet, options: OrderOptions, address: str) -> OrderView:  # noqa: ARG001  # fmt: skip
    """Return the cards as the sheet has them."""
    place = {id_: n for n, id_ in enumerate(sheet.order)}
    cards = sorted(step_cards(task.steps, address), key=lambda card: place.get(card.id, 0))
    data = json.dumps({"start": [step.id for step in task.steps]})
    return OrderView(task.goal, tuple(cards), kept=sheet.kept, data=data)


def step_cards(steps: Sequence[Step], address: str) -> list[StepCard]:
    """Return the cards of steps; a picture is called by a letter, never by what the step does."""
    cards, sent = [], 0
    for n, step in enumerate(steps):
        called = f"step image {chr(65 + n) if n < 26 else n + 1}"
        shown = [f"{address}/picture?part={sent + k}" for k in range(len(step.pictures))]
        text = " ".join(step.text.split())
        name = (text if len(text) <= 60 else f"{text[:59]}…") or called
        cards.append(StepCard(step.id, name, step.text, tuple((one, called) for one in shown)))
        sent += len(shown)
    return cards

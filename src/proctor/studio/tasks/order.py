"""The page on which steps are put in order: cards in the order of the sheet, and nothing that tells the right one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from proctor.studio.context import Studio
from proctor.verify.rounds.order import OrderOptions, OrderSheet, OrderTask, Shows, Step, letter

__all__ = ["OrderView", "StepCard", "step_cards", "view"]

_NAMED = 60
"""Characters of a text that a card is called by."""


@dataclass(frozen=True, slots=True)
class StepCard:
    """A step as it is shown.

    Attributes:
        id: as in sheets.
        name: what it is called aloud: the beginning of its text, or a letter where only pictures are shown.
        text: of the step; empty where it is hidden or there is none.
        pictures: address of each, and what stands in its place where it is not seen.
    """

    id: str
    name: str
    text: str
    pictures: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class OrderView:
    """What is put in order.

    Attributes:
        shows: ``both``, ``text`` or ``image``.
        goal: what the steps lead to; may be empty.
        steps: as they stand.
        kept: the order that was presented was confirmed.
        data: for the page's module: the order that was presented.
    """

    shows: Shows
    goal: str
    steps: tuple[StepCard, ...]
    kept: bool
    data: str


def view(
    studio: Studio,  # noqa: ARG001
    task: OrderTask,
    sheet: OrderSheet,
    options: OrderOptions,  # noqa: ARG001
    address: str,
) -> OrderView:
    """Return the cards as the sheet has them."""
    place = {id_: n for n, id_ in enumerate(sheet.order)}
    cards = sorted(step_cards(task.steps, address), key=lambda card: place.get(card.id, 0))
    start = [step.id for step in task.steps]
    return OrderView(task.shows, task.goal, tuple(cards), sheet.kept, json.dumps({"start": start}))


def step_cards(steps: Sequence[Step], address: str) -> list[StepCard]:
    """Return the cards of steps; a picture is called by a letter, never by what the step does."""
    cards, sent = [], 0
    for n, step in enumerate(steps):
        called = f"step image {letter(n)}"
        addresses = (f"{address}/picture?part={sent + k}" for k in range(len(step.pictures)))
        text = " ".join(step.text.split())
        name = text if len(text) <= _NAMED else f"{text[: _NAMED - 1]}…"
        cards.append(
            StepCard(step.id, name or called, step.text, tuple((place, called) for place in addresses))
        )
        sent += len(step.pictures)
    return cards

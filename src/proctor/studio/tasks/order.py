"""The page on which steps are put in order, or other right orders are named: cards, and nothing that tells the right order."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.said import say
from proctor.studio.context import Studio
from proctor.studio.language import translated
from proctor.verify.rounds.order import OrderTask

__all__ = ["OrderView", "StepCard", "view"]


@dataclass(frozen=True, slots=True)
class StepCard:
    """A step as it is shown; ``name`` is what it is called aloud, ``pictures`` are addresses and what is said in their place."""

    id: str
    name: str
    text: str
    pictures: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class OrderView:
    """Cards as they stand to begin with, and what they lead to; ``data``: the page's module shows the sheet."""

    goal: str
    steps: tuple[StepCard, ...]
    data: str = "{}"


def view(studio: Studio, task: OrderTask, sheet: object, options: object, address: str) -> OrderView:  # noqa: ARG001
    """Return the cards of the steps; a picture is called by a letter, never by what the step does."""
    cards, sent = [], 0
    for n, step in enumerate(task.steps):
        called = str(translated(say("step image {name}", name=chr(65 + n) if n < 26 else n + 1)))
        shown = [f"{address}/picture?part={sent + k}" for k in range(len(step.pictures))]
        text = " ".join(step.text.split())
        name = (text if len(text) <= 60 else f"{text[:59]}…") or called
        cards.append(StepCard(step.id, name, step.text, tuple((one, called) for one in shown)))
        sent += len(shown)
    return OrderView(task.goal, tuple(cards))

"""The page of an answer that is to be marked."""

from __future__ import annotations

from typing import NamedTuple

from proctor.verify.rounds.mark import MarkTask

__all__ = ["Answered", "view"]


class Answered(NamedTuple):
    """A question with right answers, and the answer to be marked. There is no field for who gave it."""

    question: str
    golds: tuple[str, ...]
    answer: str


def view(_studio: object, task: MarkTask, *_: object) -> Answered:
    """Return what is shown."""
    return Answered(task.question.text, task.golds, task.answer)

"""The page of a question that is to be answered."""

from __future__ import annotations

from typing import NamedTuple

from proctor.verify.rounds.answer import AnswerTask

__all__ = ["Asked", "view"]


class Asked(NamedTuple):
    """What is asked."""

    question: str


def view(_studio: object, task: AnswerTask, *_: object) -> Asked:
    """Return the question; what it is about is the card's."""
    return Asked(task.question.text)

"""The page of a rating: the sources, the style that the question is said to have, question, answer and form."""

from __future__ import annotations

from typing import NamedTuple

from proctor.verify.rounds.rate import RateOptions, RateTask, StyleText

__all__ = ["RateView", "view"]


class RateView(NamedTuple):
    """What is rated. There is no field for where it comes from, nor for whether it is a check: blind means absent."""

    question: str
    answer: str
    style: str
    description: str


def view(studio: object, task: RateTask, sheet: object, options: RateOptions, address: str) -> RateView:  # noqa: ARG001 - as every page's
    """Return what is rated."""
    style = options.styles.get(task.style, StyleText(title=task.style))
    return RateView(task.question.text, task.answer, style.title, style.description)

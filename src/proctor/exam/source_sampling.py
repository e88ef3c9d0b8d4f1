"""A sample of questions that is even over combinations of modalities: for studies with people and for concurrence.

SMMQG: so many questions of each style, even over the modalities of their sources.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from proctor.errors import UserError
from proctor.exam.question import Question, check_questions

__all__ = ["sample_evenly"]


def sample_evenly(questions: Sequence[Question], per_style: int, rng: random.Random) -> tuple[Question, ...]:
    """Draw the same number of questions of every style, as evenly over combinations of modalities as there are questions.

    Combinations take turns, in random order; one that has no question left is passed over. The order in which the questions are
    given changes nothing.

    Args:
        questions: each with an id of its own.
        per_style: how many of each style.
        rng: all randomness.

    Returns:
        Sorted by style and id.

    Raises:
        UserError: if a style has too few questions, two questions have one id, or there is nothing to draw.
    """
    if per_style < 1 or not questions:
        raise UserError(f"{per_style} questions of each style cannot be drawn from {len(questions)}.")
    check_questions(questions)
    by_style: dict[str, dict[str, list[Question]]] = {}
    for question in sorted(questions, key=lambda q: q.id):
        by_style.setdefault(question.facets["style"], {}).setdefault(
            question.facets["combination"], []
        ).append(question)
    drawn: list[Question] = []
    for style, combinations in sorted(by_style.items()):
        there = sum(map(len, combinations.values()))
        if there < per_style:
            raise UserError(
                f"the style '{style}' has {there} questions, {per_style} are to be drawn.",
                hint="draw fewer of each, or make more of them",
            )
        drawn += sorted(_take_turns(combinations, per_style, rng), key=lambda q: q.id)
    return tuple(drawn)


def _take_turns(combinations: dict[str, list[Question]], wanted: int, rng: random.Random) -> list[Question]:
    stacks = [rng.sample(members, len(members)) for _, members in sorted(combinations.items())]
    rng.shuffle(stacks)
    taken: list[Question] = []
    while len(taken) < wanted:
        for stack in stacks:
            if stack and len(taken) < wanted:
                taken.append(stack.pop())
    return taken

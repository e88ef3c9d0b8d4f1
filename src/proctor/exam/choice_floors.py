"""Floors of multiple choice: what is right without looking, and how far every score lies above it.

By rule, without a model: ``chance`` (1 over the number of options), ``longest-option`` (always takes the longest), and
``most-frequent-letter`` (always takes the letter that is right most often, which it is told). A floor that has to draw is scored by
what it gets on average; the letter in its prediction is one such draw. By a model: any that is shown the ``question`` alone
(blind: question and options) or the annotated ``steps`` (text only) in place of frames.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Final, Literal, get_args

from proctor.errors import UserError, did_you_mean
from proctor.exam.choice import CREDIT, right_letter, spell_order
from proctor.exam.kind import Floor
from proctor.exam.prediction import Prediction
from proctor.exam.question import Choice, Item
from proctor.metrics.choice.letters import LETTERS
from proctor.metrics.choice.marks import longest_option_credit

__all__ = ["CHOICE_FLOORS", "PRIVILEGES", "ChoiceFloor", "choice_floor", "most_frequent_letter"]

ChoiceFloor = Literal["chance", "longest-option", "most-frequent-letter"]
CHOICE_FLOORS: Final[tuple[ChoiceFloor, ...]] = get_args(ChoiceFloor)

PRIVILEGES: Final[dict[ChoiceFloor, str]] = {
    "chance": "",
    "longest-option": "",
    "most-frequent-letter": "how often each letter is right",
}
"""What a floor is told that a predictor must not know."""


def choice_floor(name: str, items: Sequence[Item]) -> Floor:
    """Return a floor; it learns from all items how often each letter is right.

    Raises:
        UserError: for a floor that is none, or an item without options.
    """
    floor = next((known for known in CHOICE_FLOORS if known == name), None)
    if floor is None:
        raise UserError(f"there is no floor '{name}'.", hint=did_you_mean(name, CHOICE_FLOORS))
    if lacking := [item.id for item in items if not isinstance(item.question.form, Choice)]:
        raise UserError("a question has no options to guess among.", where=lacking[0])
    frequent = most_frequent_letter(items)

    def answer(item: Item, rng: random.Random) -> Prediction:
        return _predicted(item, floor, frequent, rng)

    return Floor(f"floor: {floor}", answer, PRIVILEGES[floor], salt=f"{floor}/")


def most_frequent_letter(items: Sequence[Item]) -> str:
    """Return the letter that is right most often as printed; of several the first; empty without items."""
    counts = Counter(right_letter(item) for item in items)
    return min(counts, key=lambda letter: (-counts[letter], letter), default="")


def _candidates(options: Sequence[str], floor: ChoiceFloor, frequent: str) -> str:
    """Return the letters among which a floor draws."""
    letters = LETTERS[: len(options)]
    if floor == "longest-option":
        return "".join(letter for letter in letters if longest_option_credit(options, letter) > 0)
    if floor == "most-frequent-letter" and frequent in letters:
        return frequent
    return letters  # the letter is none of a question with fewer options: it guesses


def _predicted(item: Item, floor: ChoiceFloor, frequent: str, rng: random.Random) -> Prediction:
    options = item.question.form.options if isinstance(item.question.form, Choice) else ()
    candidates = _candidates(options, floor, frequent)
    letter = rng.choice(candidates)
    credit = 1 / len(candidates) if right_letter(item) in candidates else 0.0
    details = {
        "model": "",
        "order": spell_order(range(len(options))),
        "letter": letter,
        "shown_letter": letter,
        "rule": "sole",
        CREDIT: repr(credit),
        "privilege": PRIVILEGES[floor],
    }
    return Prediction(
        item_id=item.id,
        predictor=f"floor: {floor}",
        answer=letter,
        details={name: text for name, text in details.items() if text},
    )

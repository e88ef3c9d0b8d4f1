"""Floors of multiple choice: what is right without looking, and how far every score lies above it.

By rule, without a model: ``chance`` (1 over the number of options), ``longest-option`` (always takes the longest), and
``most-frequent-letter`` (always takes the letter that is right most often, which it is told). A floor that has to draw is scored by
what it gets on average; the letter in its prediction is one such draw. By a model: a ``ChoicePredictor`` with the view ``question``
(blind: question and options alone) or ``steps`` (text only: the annotated steps) in place of frames.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, Literal, get_args

from proctor.errors import UserError
from proctor.exam.choice_order import spell_order
from proctor.exam.choice_reading import right_letter
from proctor.exam.choice_scores import CREDIT
from proctor.exam.predict import item_rng
from proctor.exam.prediction import Prediction
from proctor.exam.question import Choice, Item
from proctor.metrics.choice.letters import LETTERS
from proctor.metrics.choice.tells import longest_option_credit

__all__ = ["CHOICE_FLOORS", "PRIVILEGES", "ChoiceFloor", "most_frequent_letter", "predict_floor"]

ChoiceFloor = Literal["chance", "longest-option", "most-frequent-letter"]
CHOICE_FLOORS: Final[tuple[ChoiceFloor, ...]] = get_args(ChoiceFloor)

PRIVILEGES: Final[dict[ChoiceFloor, str]] = {
    "chance": "",
    "longest-option": "",
    "most-frequent-letter": "how often each letter is right",
}
"""What a floor is told that a predictor must not know."""


def predict_floor(items: Sequence[Item], floor: ChoiceFloor, *, seed: int = 0) -> list[Prediction]:
    """Answer questions by a floor, in their order.

    Args:
        items: with options.
        floor: which one.
        seed: of the draws.

    Raises:
        UserError: for a floor that is none, or a question without options.
    """
    if floor not in CHOICE_FLOORS:
        raise UserError(f"there is no floor '{floor}'.", hint=f"choose of {', '.join(CHOICE_FLOORS)}")
    if lacking := [item.id for item in items if not isinstance(item.question.form, Choice)]:
        raise UserError("a question has no options to guess among.", where=lacking[0])
    frequent = most_frequent_letter(items)
    return [_predicted(item, floor, _candidates(item, floor, frequent), seed) for item in items]


def most_frequent_letter(items: Sequence[Item]) -> str:
    """Return the letter that is right most often as printed; of several the first; empty without questions."""
    counts = Counter(map(right_letter, items))
    return min(counts, key=lambda letter: (-counts[letter], letter), default="")


def _candidates(item: Item, floor: ChoiceFloor, frequent: str) -> str:
    """Return the letters among which a floor draws."""
    options = _options(item)
    letters = LETTERS[: len(options)]
    if floor == "longest-option":
        return "".join(letter for letter in letters if longest_option_credit(options, letter) > 0)
    if floor == "most-frequent-letter" and frequent in letters:
        return frequent
    return letters  # the letter is none of a question with fewer options: it guesses


def _options(item: Item) -> tuple[str, ...]:
    return item.question.form.options if isinstance(item.question.form, Choice) else ()


def _predicted(item: Item, floor: ChoiceFloor, candidates: str, seed: int) -> Prediction:
    letter = item_rng(seed, f"{floor}/{item.id}").choice(candidates)
    credit = 1 / len(candidates) if right_letter(item) in candidates else 0.0
    details = {
        "model": "",
        "order": spell_order(range(len(_options(item)))),
        "letter": letter,
        "shown_letter": letter,
        "rule": "sole",
        CREDIT: repr(credit),
    }
    if PRIVILEGES[floor]:
        details["privilege"] = PRIVILEGES[floor]
    return Prediction(
        item_id=item.id,
        predictor=f"floor: {floor}",
        answer=letter,
        details={name: text for name, text in details.items() if text},
    )

"""Answers with options: in which order these are shown, which one a reply chose, and its mark by rule.

Orders are positions in the printed options: ``(2, 0, 1)`` shows the third option as A. The printed order is balanced over the
whole set; a shuffle by the seed is drawn for each question by itself; circular evaluation shows every rotation and takes a
question as answered when all of them are (MMBench, Liu et al. 2023), so that a liking for a letter earns nothing.

A reply is read against the options in the order in which they were shown. One without a readable letter is *unparsed*: wrong,
and counted apart. A reply that the limit on tokens cut off is read from its beginning only (a letter stood there, or an opened
bracket was completed): what it would have come to is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from proctor.errors import UserError
from proctor.exam.library import Library
from proctor.exam.predict import item_rng
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Choice as WithOptions
from proctor.exam.question import Item, Pick
from proctor.metrics.choice.letters import LETTERS
from proctor.metrics.choice.reading import PARSER, parse_letter

__all__ = [
    "CREDIT",
    "CUT_OFF",
    "LETTERS_MARKER",
    "NO_LETTER",
    "Choice",
    "LettersMarker",
    "Order",
    "choice_of",
    "lettered",
    "order_of",
    "parse_order",
    "printed_letter",
    "read_choice",
    "right_letter",
    "rotations",
    "shown_letter",
    "shown_order",
    "spell_order",
]


Order = tuple[int, ...]

CREDIT: Final = "credit"
"""Detail of a floor's prediction: the share of its draws that would be right, which is its mark."""


def shown_order(id_: str, options: int, seed: int | None = None) -> Order:
    """Return the order of a question's options: as printed without a seed, else shuffled by seed and question id."""
    order = list(range(options))
    if seed is not None:
        item_rng(seed, f"options/{id_}").shuffle(order)
    return tuple(order)


def rotations(order: Order) -> tuple[Order, ...]:
    """Return the order moved on by 0, 1, 2, … places: every option stands once at every letter."""
    return tuple(order[k:] + order[:k] for k in range(len(order)))


def shown_letter(printed: str, order: Order) -> str:
    """Return under which letter the option with a printed letter is shown."""
    return LETTERS[order.index(LETTERS.index(printed))]


def printed_letter(shown: str, order: Order) -> str:
    """Return the printed letter of the option that is shown under a letter."""
    return LETTERS[order[LETTERS.index(shown)]]


def spell_order(order: Sequence[int]) -> str:
    """Return an order as a record keeps it: the printed letters in the order shown, ``CAB``."""
    return "".join(LETTERS[i] for i in order)


def parse_order(text: str, options: int) -> Order | None:
    """Read what ``spell_order`` wrote; None when it is no order of so many options."""
    order = tuple(LETTERS.find(letter) for letter in text)
    return order if sorted(order) == list(range(options)) else None


NO_LETTER: Final = "no letter"
"""How the reason of a mark begins where nothing could be read."""
CUT_OFF: Final = "cut_off"
"""Rule of a reply that was cut off before a letter stood at its beginning."""
_FROM_THE_BEGINNING: Final = frozenset({"bracket", "start"})


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen.

    Attributes:
        shown: the letter as the system saw it; None when none could be read.
        printed: the letter of the same option as printed.
        rule: of ``parse_letter`` that decided, or why nothing could be read.
        right: whether it is the right option.
        gold_shown: letter under which the right option was shown.
    """

    shown: str | None
    printed: str | None
    rule: str
    right: bool
    gold_shown: str


def read_choice(
    reply: str,
    options: Sequence[str],
    right: str,
    order: Order,
    *,
    opened_bracket: bool = False,
    cut_off: bool = False,
) -> Choice:
    """Read which option a reply chooses.

    Args:
        reply: the model's words.
        options: as printed.
        right: letter of the right one as printed.
        order: in which they were shown.
        opened_bracket: whether the prompt ended on an opened bracket.
        cut_off: whether the reply was cut off.
    """
    shown = [options[index] for index in order]
    found = parse_letter(reply, shown, opened_bracket=opened_bracket)
    letter, rule = found.letter, str(found.rule)
    if cut_off and rule not in _FROM_THE_BEGINNING:
        letter, rule = None, CUT_OFF
    printed = None if letter is None else printed_letter(letter, order)
    return Choice(letter, printed, rule, printed == right, shown_letter(right, order))


def right_letter(item: Item) -> str:
    """Return the letter of the right option as printed; empty where no option is."""
    return next((LETTERS[gold.value.option] for gold in item.golds if isinstance(gold.value, Pick)), "")


def choice_of(prediction: Prediction, item: Item) -> Choice:
    """Read a prediction again: what counts is the reply, the letter in its details is for people.

    Predictions of other programs need only an answer; without an order the options were shown as printed.

    Args:
        prediction: with an answer.
        item: with options.

    Raises:
        UserError: if it has no answer, or its order is none of the item's options.
    """
    if prediction.answer is None:
        raise UserError("a prediction that failed has chosen nothing.", where=prediction.item_id)
    form, details = item.question.form, prediction.details
    return read_choice(
        prediction.answer,
        form.options if isinstance(form, WithOptions) else (),
        right_letter(item),
        order_of(prediction, item),
        opened_bracket=details.get("bracket") == "opened",
        cut_off=details.get("cut_off") == "yes",
    )


def order_of(prediction: Prediction, item: Item) -> Order:
    """Return the order in which the options were shown.

    Raises:
        UserError: if it is none of the item's options.
    """
    form, text = item.question.form, prediction.details.get("order")
    options = len(form.options) if isinstance(form, WithOptions) else 0
    order = parse_order(text, options) if text else tuple(range(options))
    if order is None:
        raise UserError(
            f"{prediction.details['order'][:40]!r} is no order of its {options} options.",
            where=prediction.item_id,
            hint="was the run made with other options?",
        )
    return order


def lettered(options: Sequence[str], order: Order) -> list[str]:
    """Return the options in the order shown, each behind its letter: ``(A) with a fork``."""
    return [f"({LETTERS[place]}) {options[index]}" for place, index in enumerate(order)]


@dataclass(frozen=True, slots=True)
class LettersMarker:
    """Match or wrong; a reply without a readable letter is wrong, and says so."""

    name: str = PARSER

    def mark(self, item: Item, prediction: Prediction, library: Library) -> Judgement:  # noqa: ARG002
        """Mark one answer; one that failed stays unscored."""
        score, rationale, failure = None, "", prediction.failure
        if failure is None:
            choice = choice_of(prediction, item)
            score = 2 if choice.right else 0
            rationale = (
                f"{choice.printed} ({choice.rule})" if choice.printed else f"{NO_LETTER} ({choice.rule})"
            )
        rotation = prediction.details.get("rotation")
        return Judgement(
            item_id=item.id,
            predictor=prediction.predictor,
            judge=self.name,
            score=score,
            rationale=rationale,
            failure=None if failure is None else f"prediction failed: {failure}",
            details={} if rotation is None else {"rotation": rotation},
        )


LETTERS_MARKER: Final = LettersMarker()

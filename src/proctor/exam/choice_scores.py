"""Accuracy of multiple choice: right over all answers, unparsed ones wrong and counted apart, failures in no mean.

InstructionBench's supplement. With circular evaluation a question counts as right only if it is in all rotations
(``circular_accuracy``); ``accuracy`` is then the mean over its rotations. A floor that draws is scored by what it gets on average
(``proctor.exam.choice_floors``), so that no luck is in it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.exam.choice import CREDIT, CUT_OFF, Choice, choice_of, order_of, right_letter, shown_letter
from proctor.exam.matching import matched_letters, turn_of
from proctor.exam.measured import Slices, signature_part
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Choice as WithOptions
from proctor.exam.question import Item
from proctor.exam.table import LetterRow, Letters, Measure
from proctor.metrics.choice.letters import LETTERS
from proctor.metrics.choice.marks import letter_balance, recall_spread
from proctor.metrics.choice.reading import PARSER
from proctor.metrics.score import Signature

__all__ = ["Turn", "choice_marks", "read_turns"]

_MATCHED: Final = "matched"
"""Rule of a choice that a model read, where no rule could."""


class Turn(msgspec.Struct, frozen=True):
    """One reply of a question: its mark, and what was read; neither where it failed."""

    mark: float | None
    choice: Choice | None


def choice_marks(
    items: Sequence[Item], predictions: Sequence[Prediction], judgements: Sequence[Judgement] = ()
) -> tuple[list[Measure], Letters, dict[str, int]]:
    """Return the measures of one run, what it says of letters, and how many replies were right, wrong and unparsed.

    Args:
        items: the whole set, all with options.
        predictions: of one predictor; of a circular run one a rotation.
        judgements: of a model that matched replies of which no rule reads a letter, if there was one.

    Raises:
        UserError: if a question has no options, only some predictions are rotations, or a record does not fit its question.
    """
    options = {item.id: form.options for item in items if isinstance(form := item.question.form, WithOptions)}
    if lacking := [item.id for item in items if item.id not in options]:
        raise UserError(
            "a question has no options.", where=lacking[0], hint="score open-ended answers by a judge"
        )
    circular = _is_circular(predictions)
    turns: dict[str, list[Turn]] = {}
    for prediction, turn in zip(predictions, read_turns(items, predictions, judgements), strict=True):
        turns.setdefault(prediction.item_id, []).append(turn)
    marks: dict[str, float | None] = {}
    for id_, made in turns.items():
        known = [turn.mark for turn in made if turn.mark is not None]
        # of a run that was broken off not all rotations were asked
        asked = not circular or len(made) >= len(options[id_])
        marks[id_] = math.fsum(known) / len(known) if asked and len(known) == len(made) else None
    choices = [turn.choice for made in turns.values() for turn in made if turn.choice is not None]
    lengths = {id_: len(found) for id_, found in options.items()}
    matcher = judgements[0].judge if judgements else ""
    measures = _measures(lengths, marks, turns, circular=circular, matcher=matcher)
    return measures, _letters(choices, circular), _counts(choices, matcher)


def read_turns(
    items: Sequence[Item], predictions: Sequence[Prediction], judgements: Sequence[Judgement] = ()
) -> list[Turn]:
    """Return what is read of each reply.

    Raises:
        UserError: if a record does not fit its question.
    """
    by_id = {item.id: item for item in items}
    matched = matched_letters(judgements, items)
    return [_turn(p, by_id[p.item_id], matched.get(turn_of(p), "")) for p in predictions]


def _measures(
    lengths: Mapping[str, int],
    marks: Mapping[str, float | None],
    turns: Mapping[str, Sequence[Turn]],
    *,
    circular: bool,
    matcher: str,
) -> list[Measure]:
    basis = {"parser": PARSER, "unparsed": "wrong", "rotations": "all" if circular else "one"}
    basis |= {"matcher": signature_part(matcher)} if matcher else {}
    choices = {id_: [turn.choice for turn in made if turn.choice] for id_, made in turns.items()}
    unparsed = frozenset(id_ for id_, made in choices.items() if any(c.printed is None for c in made))
    matched = frozenset(id_ for id_, made in choices.items() if any(c.rule == _MATCHED for c in made))
    accuracy = Measure(
        name="accuracy",
        signature=Signature("choice_accuracy", basis),
        marks=marks,
        judge=matcher or PARSER,
        unparsed=unparsed,
        matched=matched,
        chances={id_: 1 / n for id_, n in lengths.items()},
        slices={} if circular else _letter_slices(lengths, turns),
    )
    if not circular:
        return [accuracy]
    every = Measure(
        name="circular_accuracy",
        signature=Signature("circular_accuracy", basis),
        marks={id_: None if mark is None else float(mark == 1.0) for id_, mark in marks.items()},
        judge=matcher or PARSER,
        unparsed=unparsed,
        matched=matched,
        chances={id_: n ** -float(n) for id_, n in lengths.items()},
    )
    return [accuracy, every]


def _letter_slices(known: Iterable[str], turns: Mapping[str, Sequence[Turn]]) -> Slices:
    """Return the questions by the letter under which their right option was shown, in their order."""
    found: dict[str, list[str]] = {}
    for id_ in known:
        if (made := turns.get(id_)) and made[0].choice is not None:
            found.setdefault(made[0].choice.gold_shown, []).append(id_)
    return {f"letter={letter}": ("letter", found[letter]) for letter in sorted(found)}


def _is_circular(predictions: Sequence[Prediction]) -> bool:
    turned = sum("rotation" in prediction.details for prediction in predictions)
    if turned not in (0, len(predictions)):
        raise UserError(
            f"{turned:,} of {len(predictions):,} predictions are of a circular run and the others are not.",
            hint="score each run by itself",
        )
    return turned > 0


def _turn(prediction: Prediction, item: Item, matched: str) -> Turn:
    if prediction.answer is None:
        return Turn(None, None)
    choice = choice_of(prediction, item)
    if matched and choice.printed is None:  # what a rule reads needs no model
        shown = shown_letter(matched, order_of(prediction, item))
        choice = replace(
            choice, shown=shown, printed=matched, rule=_MATCHED, right=matched == right_letter(item)
        )
    text = prediction.details.get(CREDIT)
    return Turn(float(choice.right) if text is None else _credit(text, prediction.item_id), choice)


def _credit(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 <= value <= 1.0:
        raise UserError(
            f"the credit of a floor's answer is {text[:40]!r}.", where=where, hint="it is a share, 0 to 1"
        )
    return value


def _letters(choices: Sequence[Choice], circular: bool) -> Letters:
    gold = Counter(choice.gold_shown for choice in choices)
    right = Counter(choice.gold_shown for choice in choices if choice.right)
    said = Counter(choice.shown for choice in choices if choice.shown is not None)
    used = max((LETTERS.index(letter) + 1 for letter in {*gold, *said}), default=0)
    rows = tuple(
        LetterRow(letter=letter, gold=gold[letter], right=right[letter], said=said[letter])
        for letter in LETTERS[:used]
    )
    return Letters(
        circular=circular,
        answers=len(choices),
        rows=rows,
        recall_spread=_known(
            recall_spread([row.right / row.gold if row.gold else None for row in rows]).value
        ),
        balance_p=_known(letter_balance([row.said for row in rows]).p) if len(rows) > 1 else None,
    )


def _counts(choices: Sequence[Choice], matcher: str) -> dict[str, int]:
    """Count what became of the replies; rotations are replies of their own."""
    unread = Counter(choice.rule for choice in choices if choice.printed is None)
    matched = sum(choice.rule == _MATCHED for choice in choices)
    read = {"read by rule": len(choices) - unread.total() - matched, "matched by a model": matched}
    return {
        "right": sum(choice.right for choice in choices),
        "wrong": sum(choice.printed is not None and not choice.right for choice in choices),
        **(read if matcher else {}),
        "unparsed": unread.total(),
        **{f"unparsed: {'cut off' if rule == CUT_OFF else rule}": n for rule, n in sorted(unread.items())},
    }


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value

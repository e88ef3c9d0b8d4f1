"""Accuracy of multiple choice: right over all answers, unparsed ones wrong and counted apart, failures in no mean.

InstructionBench's supplement. With circular evaluation a question counts as right only if it is in all rotations
(``circular_accuracy``); ``accuracy`` is then the mean over its rotations. A floor that draws is scored by what it gets on average
(``proctor.exam.choice_floors``), so that no luck is in it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.exam.choice_reading import CUT_OFF, Choice, choice_of
from proctor.exam.clip_question import ClipQuestion
from proctor.exam.clip_scores import clip_rows, predictions_of_one
from proctor.exam.prediction import Prediction
from proctor.exam.table import LetterRow, Letters, Resampling, ScoreRow, ScoreTable, signature_part
from proctor.metrics.choice import LETTERS, PARSER, letter_balance, recall_spread
from proctor.metrics.score import Signature

__all__ = ["CREDIT", "score_choices"]

CREDIT: Final = "credit"
"""Detail of a floor's prediction: the share of its draws that would be right, which is its mark."""


class _Turn(msgspec.Struct, frozen=True):
    """One reply of a question: its mark, and what was read."""

    mark: float | None
    choice: Choice | None


def score_choices(
    questions: Sequence[ClipQuestion],
    predictions: Sequence[Prediction],
    *,
    benchmark: str,
    predictor: str = "",
    privilege: str = "",
    resampling: Resampling | None = None,
) -> ScoreTable:
    """Score one run.

    Args:
        questions: the whole set, all with options.
        predictions: of one predictor; of a circular run one a rotation.
        benchmark: name and version, for the signature.
        predictor: whose predictions to score, where several are given.
        privilege: what it saw that others do not.
        resampling: of the intervals.

    Raises:
        UserError: if there is nothing to score, a question has no options, records of several predictors are mixed, or a record
            does not fit its question.
    """
    how = resampling or Resampling()
    chosen = predictions_of_one(questions, predictions, predictor)
    by_id = {question.id: question for question in questions}
    if lacking := [question.id for question in questions if not question.options]:
        raise UserError(
            "a question has no options.", where=lacking[0], hint="score open-ended answers by a judge"
        )
    circular = _is_circular(chosen)
    turns: dict[str, list[_Turn]] = {}
    for prediction in chosen:
        turns.setdefault(prediction.item_id, []).append(_turn(prediction, by_id[prediction.item_id]))
    marks = {id_: _mean([turn.mark for turn in made]) for id_, made in turns.items()}
    if circular:
        for id_, made in turns.items():
            if len(made) < len(by_id[id_].options):
                marks[id_] = None  # a run that was broken off: not all rotations were asked
    unparsed = {
        id_: any(turn.choice is not None and turn.choice.printed is None for turn in made)
        for id_, made in turns.items()
    }
    rows = _rows(questions, marks, unparsed, turns, benchmark=benchmark, circular=circular, how=how)
    choices = [turn.choice for made in turns.values() for turn in made if turn.choice is not None]
    letters = _letter_rows(choices)
    return ScoreTable(
        benchmark=benchmark,
        predictor=chosen[0].predictor,
        judge=PARSER,
        rows=tuple(rows),
        marks={"accuracy": {question.id: marks.get(question.id) for question in questions}},
        clusters={question.id: question.cluster for question in questions},
        counts=_counts(questions, chosen, choices),
        privilege=privilege,
        letters=Letters(
            circular=circular,
            answers=len(choices),
            rows=letters,
            recall_spread=_known(
                recall_spread([row.right / row.gold if row.gold else None for row in letters]).value
            ),
            balance_p=_known(letter_balance([row.said for row in letters]).p) if len(letters) > 1 else None,
        ),
    )


def _rows(
    questions: Sequence[ClipQuestion],
    marks: Mapping[str, float | None],
    unparsed: Mapping[str, bool],
    turns: Mapping[str, Sequence[_Turn]],
    *,
    benchmark: str,
    circular: bool,
    how: Resampling,
) -> list[ScoreRow]:
    basis = {
        "benchmark": signature_part(benchmark),
        "parser": PARSER,
        "unparsed": "wrong",
    }
    basis["rotations"] = "all" if circular else "one"
    chances = {question.id: 1 / len(question.options) for question in questions}
    letters = {
        id_: made[0].choice.gold_shown
        for id_, made in turns.items()
        if not circular and made[0].choice is not None
    }
    rows = clip_rows(
        questions, marks, Signature("choice_accuracy", basis), measure="accuracy", resampling=how,
        unparsed=unparsed, chances=chances, letters=letters,
    )  # fmt: skip
    if circular:
        every = {id_: None if mark is None else float(mark == 1.0) for id_, mark in marks.items()}
        guessed = {
            question.id: len(question.options) ** -float(len(question.options)) for question in questions
        }
        rows += clip_rows(
            questions, every, Signature("circular_accuracy", basis), measure="circular_accuracy",
            resampling=how, unparsed=unparsed, chances=guessed,
        )  # fmt: skip
    return rows


def _is_circular(predictions: Sequence[Prediction]) -> bool:
    turned = sum("rotation" in prediction.details for prediction in predictions)
    if turned not in (0, len(predictions)):
        raise UserError(
            f"{turned:,} of {len(predictions):,} predictions are of a circular run and the others are not.",
            hint="score each run by itself",
        )
    return turned > 0


def _turn(prediction: Prediction, question: ClipQuestion) -> _Turn:
    if prediction.answer is None:
        return _Turn(None, None)
    choice = choice_of(prediction, question.options, question.letter)
    text = prediction.details.get(CREDIT)
    return _Turn(float(choice.right) if text is None else _credit(text, prediction.item_id), choice)


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


def _mean(marks: Sequence[float | None]) -> float | None:
    known = [mark for mark in marks if mark is not None]
    return math.fsum(known) / len(known) if len(known) == len(marks) else None


def _letter_rows(choices: Sequence[Choice]) -> tuple[LetterRow, ...]:
    gold = Counter(choice.gold_shown for choice in choices)
    right = Counter(choice.gold_shown for choice in choices if choice.right)
    said = Counter(choice.shown for choice in choices if choice.shown is not None)
    used = max((LETTERS.index(letter) + 1 for letter in {*gold, *said}), default=0)
    return tuple(
        LetterRow(letter=letter, gold=gold[letter], right=right[letter], said=said[letter])
        for letter in LETTERS[:used]
    )


def _counts(
    questions: Sequence[ClipQuestion], predictions: Sequence[Prediction], choices: Sequence[Choice]
) -> dict[str, int]:
    """Count what became of the replies; rotations are replies of their own."""
    failures = Counter((p.failure or "no answer").partition(":")[0] for p in predictions if p.answer is None)
    unread = Counter(choice.rule for choice in choices if choice.printed is None)
    found = {"questions": len(questions), "not asked": len(questions) - len({p.item_id for p in predictions})}
    found |= {"right": sum(choice.right for choice in choices)}
    found |= {"wrong": sum(choice.printed is not None and not choice.right for choice in choices)}
    found |= {"unparsed": sum(unread.values()), "failed": sum(failures.values())}
    found |= {f"unparsed: {'cut off' if rule == CUT_OFF else rule}": n for rule, n in sorted(unread.items())}
    return found | {f"failed: {code}": n for code, n in sorted(failures.items())}


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value

"""A model's word for which option a reply means: what is sent, how it is read, and what it counts for."""

from __future__ import annotations

import pytest
from tests.exam.clip_set import OPTIONS, clip_items, question

from proctor.errors import UserError
from proctor.exam.choice_scores import choice_marks
from proctor.exam.matching import OPTIONS_MARKER, matched_letters, unread
from proctor.exam.prediction import Judgement, Prediction

ITEMS = clip_items([question(0), question(1)])  # A and B are right


def said(answer: str | None, number: int = 0, **details: str) -> Prediction:
    failure = None if answer is not None else "refusal: no"
    return Prediction(item_id=f"q{number}", predictor="m", answer=answer, failure=failure, details=details)


def matched(number: int, letter: str, **details: str) -> Judgement:
    details |= {"matched": "yes", "letter": letter}
    return Judgement(item_id=f"q{number}", predictor="m", judge="letters-1 + x", score=0, details=details)


@pytest.mark.parametrize(
    ("reply", "sent"),
    [
        ("It was the wires.", True),
        ("(A) or (B)", True),
        ("None of the above", True),
        ("B", False),
        ("(B) it is", False),
        ("Whisk the eggs", False),
        ("", False),
        ("<think>Is it A?</think>", False),
        (None, False),
    ],
)
def test_only_replies_that_say_something_unread_are_sent(reply: str | None, sent: bool) -> None:
    assert unread(ITEMS, [said(reply)]) == ([said(reply)] if sent else [])
    assert not unread(ITEMS, [said(reply, cut_off="yes")])  # what it would have come to is not known


@pytest.mark.parametrize(
    ("reply", "level", "letter"),
    [
        ("C", 1, "C"),
        (" (c). ", 1, "C"),
        ("**C**", 1, "C"),
        ("The reply chooses option C.\n\nAnswer: C", 1, "C"),
        ("<think>A? B?</think>C", 1, "C"),
        ("F", 1, "F"),  # that there is no such option is seen where the options are known
        ("none", 0, ""),
        ("None of the options.", 0, ""),
        ("No option", 0, ""),
        ("A and B", 0, ""),
        ("A, B or C", 0, ""),
        ("(A) (B)", 0, ""),
        ("It is A. It could be B: the answer is B, or the answer is A.", 0, ""),
        ("It says something about eggs.", None, ""),
        ("A good reply, but I cannot tell.", None, ""),
        ("", None, ""),
        ("<think>A", None, ""),
    ],
)
def test_a_letter_is_read_and_nothing_is_guessed(reply: str, level: int | None, letter: str) -> None:
    read = OPTIONS_MARKER.read(reply)
    assert (read.level, read.rationale) == (level, letter)
    assert (read.problem is not None) == (level is None) == bool(read.failure)


def test_a_match_counts_for_its_rotation_alone_and_never_against_a_rule() -> None:
    turned = {"0": "ABCDE", "1": "BCDEA", "2": "CDEAB", "3": "DEABC", "4": "EABCD"}
    made = [said("It was the wires.", rotation=n, order=order) for n, order in turned.items()]
    made[1] = said("(A)", rotation="1", order="BCDEA")  # read by rule: B as printed, which is wrong
    judged = [matched(0, "A", rotation=n) for n in ("0", "1", "3")]
    (accuracy, circular), letters, counts = choice_marks(ITEMS, made, judged)
    assert accuracy.marks == {"q0": 2 / 5}
    assert circular.marks == {"q0": 0.0}
    assert (accuracy.matched, accuracy.unparsed) == ({"q0"}, {"q0"})
    assert {row.letter: row.said for row in letters.rows} == {"A": 2, "B": 0, "C": 1, "D": 0, "E": 0}
    assert (counts["read by rule"], counts["matched by a model"], counts["unparsed"]) == (1, 2, 2)


@pytest.mark.parametrize("letter", ["F", "", "AB"])
def test_a_letter_that_the_question_does_not_have_is_refused(letter: str) -> None:
    assert len(OPTIONS) == 5
    with pytest.raises(UserError, match="no letter of the question"):
        matched_letters([matched(0, letter)], ITEMS)

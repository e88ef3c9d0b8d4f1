"""Marks of letters, by rule."""

from __future__ import annotations

import pytest

from proctor.exam.choice import LETTERS_MARKER
from proctor.exam.library import Library
from proctor.exam.prediction import Prediction
from proctor.exam.question import Choice, Gold, Item, Pick, Question
from proctor.llm.media import MediaStore

ITEM = Item(
    question=Question(id="q", kind="clip", text="Which?", form=Choice(options=("tea", "milk", "water"))),
    golds=(Gold(value=Pick(option=1)),),
)


@pytest.mark.parametrize(
    ("answer", "order", "score", "said"),
    [
        ("B", "", 2, "B (start)"),
        ("B", "BAC", 0, "A (start)"),  # the options were shown in another order
        ("A", "BAC", 2, "B (start)"),
        ("I cannot say.", "", 0, "no letter"),
    ],
)
def test_the_option_that_was_chosen_is_compared_with_the_right_one(answer, order, score, said) -> None:
    details = {"order": order, "rotation": "1"} if order else {}
    made = Prediction(item_id="q", predictor="m", answer=answer, details=details)
    mark = LETTERS_MARKER.mark(ITEM, made, Library(media=MediaStore()))
    assert (mark.score, mark.failure, mark.item_id, mark.predictor) == (score, None, "q", "m")
    assert mark.rationale.startswith(said.partition(" ")[0])
    assert mark.details.get("rotation") == ("1" if order else None)


def test_a_failure_is_unscored() -> None:
    mark = LETTERS_MARKER.mark(
        ITEM, Prediction(item_id="q", predictor="m", failure="timeout: slow"), Library(media=MediaStore())
    )
    assert (mark.score, mark.failure) == (None, "prediction failed: timeout: slow")

"""What a complete sheet is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.verify.desk.records import MAX_OWN_ANSWERS, MAX_TEXT, InvalidError, Sheet
from proctor.verify.desk.sheets import Cards, check_sheet, is_bad_text

MakeSheet = Callable[..., Sheet]
THREE = Cards(True, ("a", "b", "c"), (0, 1, 2), reasons=("unclear", "language"))
SETTLED = Cards(False, ("b", "x"), (1, 3), may_add="no", reasons=("unclear", "language"))
OPEN_AGAIN = Cards(True, ("b",), (1,), may_add="if-valid", reasons=("unclear", "language"))


def fields(sheet: Sheet, cards: Cards) -> list[str]:
    with pytest.raises(InvalidError) as caught:
        check_sheet(sheet, cards)
    assert all(message.strip() for _, message in caught.value.errors)
    return [name for name, _ in caught.value.errors]


def test_everything_that_is_missing_is_named_in_the_order_of_the_page(a_sheet: MakeSheet) -> None:
    assert fields(a_sheet("?"), THREE) == ["question"]
    assert fields(a_sheet("+ ?-?"), THREE) == ["answers.0", "answers.2"]
    assert fields(a_sheet("+"), THREE) == ["answers.0", "answers.1", "answers.2"]
    assert fields(a_sheet("+ ?-+", "x" * (MAX_TEXT + 1), note="\x00"), THREE) == [
        "answers.0",
        "own_answers.0",
        "note",
    ]
    assert fields(Sheet(question="wrong", reasons=("no such",)), THREE) == ["reasons"]
    assert fields(Sheet(question="unsure"), THREE) == ["question"]
    assert fields(Sheet(question="right", answers=("right", "unsure", "wrong")), THREE) == ["answers.1"]


def test_more_verdicts_than_cards_are_refused(a_sheet: MakeSheet) -> None:
    assert fields(a_sheet("+ ++++"), THREE) == ["answers"]


def test_a_question_that_is_not_right_has_no_answers(a_sheet: MakeSheet) -> None:
    kept = check_sheet(
        a_sheet("- +-+", "mine", note=" why ", reasons=("unclear", "unclear", "language")), THREE
    )
    assert kept == Sheet(question="wrong", reasons=("unclear", "language"), note="why")


def test_reasons_go_with_a_no_alone(a_sheet: MakeSheet) -> None:
    assert check_sheet(a_sheet("+ +++", reasons=("unclear",)), THREE).reasons == ()


def test_own_answers_are_trimmed_and_empty_rows_do_not_count(a_sheet: MakeSheet) -> None:
    hard = '"; <b>x</b>"'
    kept = check_sheet(a_sheet("+ +-+", "  one ", "", " \t\n", hard, "one"), THREE)
    assert kept.own_answers == ("one", hard, "one")  # a duplicate stays, as in the published data


@pytest.mark.parametrize("bad", ["a\x00b", "\ud800", "a\x1bb", "x" * (MAX_TEXT + 1)])
def test_what_is_no_text_is_refused(a_sheet: MakeSheet, bad: str) -> None:
    assert fields(a_sheet("+ +-+", "good", bad), THREE) == ["own_answers.1"]
    assert fields(a_sheet("- ", note=bad), THREE) == ["note"]


def test_the_limits_themselves_are_kept(a_sheet: MakeSheet) -> None:
    longest = "x" * MAX_TEXT
    kept = check_sheet(a_sheet("+ +-+", *[longest] * MAX_OWN_ANSWERS, note=longest), THREE)
    assert len(kept.own_answers) == MAX_OWN_ANSWERS
    assert fields(a_sheet("+ +-+", *["x"] * (MAX_OWN_ANSWERS + 1)), THREE) == ["own_answers"]
    assert (
        check_sheet(a_sheet("+ +-+", *["x"] * MAX_OWN_ANSWERS, "", ""), THREE).own_answers
        == ("x",) * MAX_OWN_ANSWERS
    )


def test_tabs_lines_and_other_scripts_are_text(a_sheet: MakeSheet) -> None:
    kept = check_sheet(a_sheet("+ +-+", "one\n\ttwo", "\u202eשלום 🍵 é"), THREE)
    assert kept.own_answers == ("one\n\ttwo", "\u202eשלום 🍵 é")


def test_an_adjudicator_whose_question_is_settled_judges_the_cards_alone(a_sheet: MakeSheet) -> None:
    assert check_sheet(a_sheet("_ +-"), SETTLED) == Sheet(answers=("right", "wrong"))
    # What a forged request says of the settled question is not kept.
    assert check_sheet(a_sheet("- +-"), SETTLED) == Sheet(answers=("right", "wrong"))
    assert fields(a_sheet("_ +"), SETTLED) == ["answers.1"]
    assert fields(a_sheet("_ ++", "mine"), SETTLED) == ["own_answers"]


def test_an_adjudicator_adds_only_to_a_question_that_was_open_and_is_right(a_sheet: MakeSheet) -> None:
    assert check_sheet(a_sheet("+ +", "mine"), OPEN_AGAIN).own_answers == ("mine",)
    assert check_sheet(a_sheet("- +", "mine"), OPEN_AGAIN).own_answers == ()


_values: Any = st.sampled_from(["right", "wrong", "unsure", None])


@given(
    st.builds(
        Sheet,
        question=_values,
        reasons=st.lists(st.sampled_from(["unclear", "language", "nonsense"]), max_size=3).map(tuple),
        answers=st.lists(_values, max_size=5).map(tuple),
        own_answers=st.lists(st.text(max_size=8), max_size=4).map(tuple),
        note=st.text(max_size=8),
    ),
    st.sampled_from([THREE, SETTLED, OPEN_AGAIN]),
)
def test_what_is_kept_is_complete_and_kept_again_unchanged(sheet: Sheet, cards: Cards) -> None:
    try:
        kept = check_sheet(sheet, cards)
    except InvalidError:
        return
    assert check_sheet(kept, cards) == kept
    if cards.question_open and kept.question == "wrong":
        assert not kept.answers
        assert not kept.own_answers
    else:
        assert len(kept.answers) == len(cards.targets)
        assert set(kept.answers) <= {"right", "wrong"}
    assert not any(is_bad_text(text) or not text.strip() for text in kept.own_answers)

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.verify.oracle.answer import parse_answer


@pytest.mark.parametrize(
    ("text", "polarity"),
    [
        ("Yes, drill now.", "yes"),
        ("Yep!", "yes"),
        ("Well, no.", "no"),
        ("Not yet, label the tubes first.", "no"),
        ("Nothing.", "no"),
        ("Label the tubes.", None),
        ("Nose around", None),
    ],
)
def test_polarity(text: str, polarity: str | None) -> None:
    assert parse_answer(text).polarity == polarity


@pytest.mark.parametrize(
    "text",
    [
        "No, you are on track.",
        "No, nothing is missing.",
        "You haven't missed anything.",
        "No, you didn't leave out any step.",
        "Nothing, you can go on and drill.",
        "Everything is fine so far.",
        "You're doing well.",
        "No, all steps have been done.",
        "No",
        "No, you have done everything.",
        "There is no need to sand it.",
    ],
)
def test_says_that_all_is_well(text: str) -> None:
    assert parse_answer(text).clear


@pytest.mark.parametrize(
    "text",
    [
        "You haven't done all the steps.",
        "Yes, you missed a step.",
        "Drill two holes.",
        "You should have labelled the tubes.",
        "No, you need to thaw the samples first.",
        "Keep going until it has been 4 minutes.",
        "You incubated until the tubes were done.",
        "Yes",
    ],
)
def test_does_not_say_that_all_is_well(text: str) -> None:
    assert not parse_answer(text).clear


@pytest.mark.parametrize(
    "text",
    ["You're all done.", "You have completed all the steps.", "It's ready to use, nothing more to do."],
)
def test_says_that_it_is_over(text: str) -> None:
    assert parse_answer(text).finished


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        ("Drill the holes.", ["do"]),
        ("You forgot to drill the holes.", ["missed"]),
        ("You should have drilled the holes before pushing the plugs.", ["missed", "before"]),
        ("You have already drilled the holes.", ["done"]),
        ("Drill the holes after marking the wall.", ["do", "after"]),
        ("Sand it until the board feels smooth.", ["do", "detail"]),
        ("You used a nail instead of a screw.", ["done", "context"]),
        ("Do this before stirring, scraping the sides, for 4 minutes.", ["before", "before"]),
    ],
)
def test_roles_of_clauses(text: str, roles: list[str]) -> None:
    assert [c.role for c in parse_answer(text).claims if c.role != "do" or len(roles) < 3][
        -len(roles) :
    ] == roles


def test_restart_and_praise() -> None:
    assert parse_answer("You need to start over.").restart
    assert parse_answer("No, you did it correctly.").praise
    assert not parse_answer("No, it was not correct.").praise


@given(st.text(max_size=300))
def test_any_text_parses(text: str) -> None:
    parse_answer(text)

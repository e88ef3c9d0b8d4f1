"""One number of a text becomes another one, and nothing else changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.ask.clip.distractor_numbers import change_numbers
from proctor.procedure.quantity import find_quantities


def said(text: str) -> list[str]:
    return [change.text for change in change_numbers(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2 tsp", ["3 tsp", "1 tsp", "4 tsp", "6 tsp"]),
        ("two cups of flour", ["three cups of flour", "one cup of flour", "four cups of flour"]),
        ("1 cup", ["2 cups", "3 cups"]),
        ("for 10 minutes", ["for 15 minutes", "for 5 minutes", "for 20 minutes", "for 30 minutes"]),
        ("bake at 350 degrees", ["bake at 400 degrees", "bake at 300 degrees", "bake at 700 degrees"]),
        ("1/2 tsp", ["1/3 tsp", "2/3 tsp", "1/4 tsp"]),
        ("1.5 l", ["3.0 l", "2.2 l", "0.8 l"]),
        ("1 1/2 cups", ["2 1/2 cups", "3 1/2 cups"]),
        ("One egg", ["Two eggs", "Three eggs"]),
        ("Six", ["Seven", "Five"]),
        ("cut into 1 inch cubes", ["cut into 2 inch cubes"]),
    ],
)
def test_other_numbers(text: str, expected: list[str]):
    found = said(text)
    assert set(expected) <= set(found), found
    assert text not in found


@pytest.mark.parametrize(
    "text",
    [
        "", "salt", "for 2-3 minutes", "for two or three minutes", "for 10 to 15 minutes", "bake for 10 15 minutes", "9x12 inch dish",
        "at 12:30", "one beautiful plate and more of it",
    ],
)  # fmt: skip
def test_what_is_left_alone(text: str):
    assert said(text) == []


def test_the_number_and_what_it_counts_agree():
    assert "one clove of garlic" in said("two cloves of garlic")
    assert "one potato" in said("2 potatoes".replace("2", "two"))
    assert not any("one ring" in text for text in said("two rings of onion")), "how to say it is not known"


def test_each_of_several_numbers_is_changed_alone():
    found = said("add 2 tsp of salt and 3 cups of water")
    assert "add 3 tsp of salt and 3 cups of water" in found
    assert "add 2 tsp of salt and 4 cups of water" in found
    assert all(("2 tsp" in text) or ("3 cups" in text) for text in found)


def test_a_change_knows_what_it_was():
    change = next(iter(change_numbers("boil for 5 minutes")))
    assert (change.before.dimension, change.before.low, change.after.low) == ("time", 300, 360)


_UNITS = st.sampled_from(
    ["tsp", "cups", "minutes", "g", "ml", "degrees", "inch", "eggs", "kg of rice", "slices"]
)
_NUMBERS = st.one_of(
    st.integers(1, 2_000).map(str),
    st.sampled_from(["one", "two", "seven", "ten", "1/2", "3/4", "1 1/2", "2.5", "0.25", "0", "1/0"]),
)


@given(before=st.sampled_from(["", "add ", "cook it for ", "with "]), number=_NUMBERS, unit=_UNITS)
def test_exactly_one_quantity_differs(before: str, number: str, unit: str):
    text = f"{before}{number} {unit}"
    for change in change_numbers(text):
        old, new = find_quantities(text), find_quantities(change.text)
        assert len(old) == len(new)
        differing = [(a, b) for a, b in zip(old, new, strict=True) if not a.same_value(b)]
        assert differing == [(change.before, change.after)]
        assert change.before.kind == change.after.kind
        assert change.after.low > 0


@pytest.mark.parametrize(
    "text", ["9" * 5_000 + " tsp", "1/" + "9" * 5_000 + " cups", "1/0 tsp", "٣ tsp", "10 1/0 cups"]
)
def test_numbers_that_are_none(text: str):
    for change in change_numbers(text):
        assert change.after.low > 0


@given(st.text(max_size=80))
def test_no_text_breaks_it(text: str):
    assert text not in said(text)

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.procedure.quantity import Dimension, find_difference, find_levels, find_quantities

AMOUNT: tuple[Dimension, ...] = ("amount", "count", "length")


@pytest.mark.parametrize(
    ("text", "dimension", "low", "high", "shown"),
    [
        ("add 1/2 tsp salt", "amount", "1/2", "1/2", "1/2 tsp"),
        ("add 1/2 tbsp salt", "amount", "3/2", "3/2", "1/2 tbsp"),
        ("add 1 1/2 cups milk", "amount", "72", "72", "1 1/2 cups"),
        ("cook for 20-30 seconds more", "time", "20", "30", "20-30 seconds"),
        ("wait 2 minute", "time", "120", "120", "2 minutes"),
        ("wait 1 minutes", "time", "60", "60", "1 minute"),
        ("microwave for 1 minute 20 seconds", "time", "80", "80", "1 minute 20 seconds"),
        ("peel two cloves", "count", "2", "2", "two"),
        ("a pinch of salt", "amount", "1", "1", "a pinch"),
        ("1.5 minutes", "time", "90", "90", "1.5 minutes"),
        ("2 to 3 minutes", "time", "120", "180", "2 to 3 minutes"),
        ("about 1/2 inch thick", "length", "1/2", "1/2", "1/2 inch"),
    ],
)
def test_quantities(text: str, dimension: str, low: str, high: str, shown: str) -> None:
    (found,) = find_quantities(text)
    assert (found.dimension, found.low, found.high, found.text) == (
        dimension,
        Fraction(low),
        Fraction(high),
        shown,
    )


def test_division_by_zero_is_no_crash() -> None:
    assert find_quantities("add 1/0 tsp")[0].low == 0


@pytest.mark.parametrize(
    ("instruction", "done", "wrong", "right", "direction", "remainder"),
    [
        ("Add 1/4 tsp salt", "Add 1 tsp salt", "1 tsp", "1/4 tsp", "more", ""),
        (
            "Add-1/2 tsp salt to the pan",
            "Add-1/4 tsp salt to the pan",
            "1/4 tsp",
            "1/2 tsp",
            "less",
            "1/4 tsp",
        ),
        (
            "mix 1/4 cup sauce and 1/2 teaspoon soy",
            "mix 1/4 cup sauce and 1/2 tablespoon soy",
            "1/2 tablespoon",
            "1/2 teaspoon",
            "more",
            "",
        ),
        ("Add 1/2 tbsp sauce", "Add 1/2 tsp sauce", "1/2 tsp", "1/2 tbsp", "less", "1 tsp"),
        ("Add 1/4 tsp salt", "1 tsp instead of 1/4 tsp", "1 tsp", "1/4 tsp", "more", ""),
        (
            "Top cup with 1 tablespoon of salsa",
            "2 instead of 1 tablespoon",
            "2 tablespoon",
            "1 tablespoon",
            "more",
            "",
        ),
        ("Place 5 meatballs", "Place only 4 instead of 5", "4", "5", "less", "1"),
        ("Chop 1 strawberry", "Chop 2 strawberries", "2", "1", "more", ""),
    ],
)
def test_amount_differences(
    instruction: str, done: str, wrong: str, right: str, direction: str, remainder: str
) -> None:
    found = find_difference(instruction, done, AMOUNT)
    assert found is not None
    assert (found.wrong, found.right, found.direction, found.remainder) == (
        wrong,
        right,
        direction,
        remainder,
    )


@pytest.mark.parametrize(
    ("instruction", "done"),
    [
        ("Add 1 tbsp salsa", "1 instead of 2 tablespoon"),  # contradicts the instruction
        ("Add 1 tbsp salsa", "Add 1 tbsp salsa"),
        ("Add 1 tbsp salsa", "Add too much salsa"),
        ("Add salsa", "Add 1 tbsp salsa"),
        ("slice two 1/2 inch rounds", "slice 4 1/4 inch rounds"),  # two things differ
        ("add 1 tsp salt and 2 tsp sugar", "add 2 tsp salt and 1 tsp sugar"),
        ("", ""),
    ],
)
def test_what_cannot_be_read_off_is_not_reported(instruction: str, done: str) -> None:
    assert find_difference(instruction, done, AMOUNT) is None


def test_times() -> None:
    found = find_difference("Microwave for 3 minutes", "Microwave for 90 seconds", ("time",))
    assert found is not None
    assert (found.direction, found.remainder) == ("less", "1 1/2 minutes")
    ranged = find_difference("cook for 20-30 seconds more", "cook for 10 seconds more", ("time",))
    assert ranged is not None
    assert (ranged.direction, ranged.remainder) == ("less", "")
    inside = find_difference("cook for 20-30 seconds", "cook for 25 seconds", ("time",))
    assert inside is not None
    assert inside.direction is None


def test_heat_levels() -> None:
    assert [level[0] for level in find_levels("heat over low-medium heat")] == ["low-medium"]
    assert find_levels("peel one medium onion") == ()
    found = find_difference("Heat the pan on medium heat", "Heat the pan on high heat", ("temperature",))
    assert found is not None
    assert (found.wrong, found.right, found.direction) == ("high", "medium", "more")
    water = find_difference("rinse under cold water", "rinse under hot water", ("temperature",))
    assert water is not None
    assert (water.wrong, water.right) == ("hot water", "cold water")
    assert find_difference("rinse under cold water", "rinse on high heat", ("temperature",)) is None
    assert find_difference("on medium heat", "low instead of high", ("temperature",)) is None


@given(st.text(max_size=120), st.text(max_size=120))
def test_any_text(one: str, other: str) -> None:
    find_quantities(one)
    find_levels(one)
    for dimensions in (AMOUNT, ("time",), ("temperature",)):
        found = find_difference(one, other, dimensions)
        assert found is None or found.wrong != "" != found.right


@given(
    st.fractions(min_value=0, max_value=20, max_denominator=8),
    st.fractions(min_value=0, max_value=20, max_denominator=8),
)
def test_direction_follows_the_numbers(asked: Fraction, done: Fraction) -> None:
    if (asked.denominator > 1 and asked > 1) or (done.denominator > 1 and done > 1):
        return
    found = find_difference(f"add {asked} tsp salt", f"add {done} tsp salt", AMOUNT)
    if asked == done:
        assert found is None
    else:
        assert found is not None
        assert found.direction == ("more" if done > asked else "less")


@pytest.mark.parametrize("text", ["one and half minute", "1 and a half minutes", "one and a half minutes"])
def test_and_a_half_belongs_to_the_number_before_it(text: str) -> None:
    (quantity,) = find_quantities(f"Microwave for {text}")
    assert (quantity.dimension, quantity.low) == ("time", 90)
    difference = find_difference("Microwave for 1 more minute", f"Microwave for {text}", ("time",))
    assert difference is not None
    assert difference.direction == "more"


def test_a_number_of_thousands_of_digits_is_no_quantity() -> None:
    assert find_quantities("add " + "9" * 5_000 + " grams of salt, then 2 cups of milk")[-1].text == "2 cups"
    assert find_quantities("1/" + "7" * 5_000 + " cup") == ()

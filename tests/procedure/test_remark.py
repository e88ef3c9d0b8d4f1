from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.procedure.remark import describe_performed, read_remark


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Spill some cheese while adding it", "Yes, you spilled some cheese while adding it"),
        ("Added salt instead of sugar", "Yes, you added salt instead of sugar"),
        ("Toasting for more than 3 minutes", "Yes, you toasted for more than 3 minutes"),
        ("Did not add all the chopped strawberries.", "Yes, you did not add all the chopped strawberries"),
        ("Didn't stir properly", "Yes, you did not stir properly"),
        ("Not slicing slanted", "Yes, you did not slice slanted"),
        ("Not properly peeling the clove", "Yes, you did not properly peel the clove"),
        ("bowl instead of plate", "Yes, you used bowl instead of plate"),
        ("2 tbsp instead of 1 tablespoon", "Yes, you used 2 tbsp instead of 1 tablespoon"),
        ("mince instead of chopping 1 strawberry", "Yes, you minced instead of chopping 1 strawberry"),
        ("Sauce is spilled while pouring.", "Yes, sauce is spilled while pouring"),
        ("Weigh-Weigh the coffee beans 0.4oz", "Yes, you weighed the coffee beans 0.4oz"),
        ("1 min", "Yes: 1 min"),
        ("Turn off the heat. Because of smoke.", "Yes, you turned off the heat"),
        ("Accidentally, dropped the lid", "Yes, you dropped the lid"),
        ("almost 1/4 cloves", "Yes: almost 1/4 cloves"),
        ("rapidly instead of slowly", "Yes: rapidly instead of slowly"),
    ],
)
def test_remarks(text: str, said: str) -> None:
    assert read_remark(text).after("Yes, ") == said


@pytest.mark.parametrize(
    "text", ["", " ", ".", "we slice in a way", "<script>x</script>", "see https://x.y", "??", "12"]
)
def test_nothing_is_said_with_what_is_no_remark(text: str) -> None:
    assert read_remark(text).text == ""


def test_performed_text() -> None:
    assert describe_performed("Crush the garlic", "mince-mince the garlic").text == "crushed the garlic"
    assert describe_performed("Mince the garlic.", "mince the garlic").text == ""
    assert describe_performed("Turn off-turnoff the heat", "Lower the heat").text == ""
    assert describe_performed("Higher-increase the {heat}", "Lower the heat").text == ""


@given(st.text(max_size=150), st.text(max_size=150))
def test_any_text(one: str, other: str) -> None:
    for lead in ("Yes, ", "No, ", ""):
        read_remark(one).after(lead)
    describe_performed(one, other)

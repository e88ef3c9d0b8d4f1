from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.procedure.language import find_faults
from proctor.procedure.remark import describe_performed, read_remark, read_remarks


@pytest.mark.parametrize(
    ("text", "said"),
    [
        # actions
        ("Spill some cheese while adding it", "you spilled some cheese while adding it"),
        ("Spill", "you spilled some"),
        ("Toasting for more than 3 minutes", "you toasted for more than 3 minutes"),
        ("Cook 2 to 3 minutes", "you cooked for 2 to 3 minutes"),
        ("Accidentally, dropped the lid", "you dropped the lid"),
        ("Turn off the heat. Because of smoke.", "you turned off the heat"),
        ("Weigh-Weigh the coffee beans 0.4oz", "you weighed the coffee beans 0.4 oz"),
        ("Mix-put all of it into the plate", "you put all of it into the plate"),
        ("drop/ spill salt while pouring", "you spilled salt while pouring"),
        ("Use of unclean measuring spoon", "you used an unclean measuring spoon"),
        ("saute the garlic only for 1 min and burn it", "you sauteed the garlic only for 1 min and burned it"),
        ("Under-cook", "you undercooked it"),
        ("Placed in bowl", "you placed it in the bowl"),
        ("heat pan only, and forget to add oil", "you heated the pan only, and forgot to add oil"),
        # negations
        ("Didn't stir properly", "you did not stir properly"),
        ("Not slicing slanted", "you did not slice slanted"),
        ("Not properly peeling the clove", "you did not properly peel the clove"),
        ("Didn't properly chopped the cucumber.", "you did not properly chop the cucumber"),
        ("Not thin", "it was not thin"),
        ("Not able to trim the ends", "you were not able to trim the ends"),
        (
            "Not draining the excess water and leaving some water behind.",
            "you did not drain the excess water and left some water behind",
        ),
        (
            "Did not spread the butter, instead leave drops of it",
            "you did not spread the butter, but left drops of it",
        ),
        # clauses with their own subject
        ("The sugar went into a cup instead of the jug", "the sugar went into a cup instead of the jug"),
        ("The key was turned once instead of three times", "the key was turned once instead of three times"),
        (
            "The beaker with the leaves was used instead of the dish",
            "the beaker with the leaves was used instead of the dish",
        ),
        ("Two ice cubes were used instead of six", "two ice cubes were used instead of six"),
        ("Tofucrumbled instead of staying in cubes", "the tofu crumbled instead of staying in cubes"),
        ("Sauce is spilled while pouring.", "the sauce is spilled while pouring"),
        ("Filling leaked", "the filling leaked"),
        ("The water does not cover the noodles, half cover", "the water does not cover the noodles"),
        ("The lid was left open, closed later", "the lid was left open, closed later"),
        ("The water was poured, and the tea is cold", "the water was poured, and the tea is cold"),
        ("Skin not removed properly", "the skin was not removed properly"),
        ("Egg not well done", "the egg was not well done"),
        ("heat set to low heat instead of high heat", "the heat was set to low heat instead of high heat"),
        ("Pan too hot, burnt", "the pan was too hot"),
        # contrasts
        ("bowl instead of plate", "you used a bowl instead of a plate"),
        ("used bowl instead of cup", "you used a bowl instead of a cup"),
        ("Use bowl instead plate", "you used a bowl instead of a plate"),
        ("sugar instead of salt", "you used sugar instead of salt"),
        ("Has a lump instead of a smooth batter", "it had a lump instead of a smooth batter"),
        ("up instead of down", "it was up instead of down"),
        ("rapidly instead of slowly", "you did it rapidly instead of slowly"),
        ("medium instead of high", "it was set to medium instead of high"),
        ("Minced instead of chop", "you minced instead of chopping"),
        ("slice instead of chop or grate", "you sliced instead of chopping or grating"),
        ("mince instead of chopping 1 strawberry", "you minced instead of chopping 1 strawberry"),
        ("increase the heat instead of reducing", "you increased the heat instead of reducing"),
        ("Instead of mincing chopping the garlic.", "you chopped the garlic instead of mincing"),
        ("While mixing spilling some of it.", "you spilled some of it while mixing"),
        ("Cut into thick slices instead of thin slices", "you cut it into thick slices instead of thin slices"),
        # amounts
        ("2 tbsp instead of 1 tablespoon", "you used 2 tbsp instead of 1 tablespoon"),
        ("1 instead of 2 tbsp", "you used 1 tbsp instead of 2 tbsp"),
        ("1 tsp instead of 1/4", "you used 1 tsp instead of 1/4 tsp"),
        ("2 instead of 1 egg", "you used 2 eggs instead of 1"),
        ("10 instead of 20 seconds", "it was 10 seconds instead of 20 seconds"),
        ("Weighed 4oz instead of (0.8-0.12oz)", "you weighed 4 oz instead of 0.8-0.12 oz"),
        (
            "Add-Add 1/2 cup instead of 1/3 cup cheddar cheese",
            "you added 1/2 cup instead of 1/3 cup cheddar cheese",
        ),
        ("1 min", "it was 1 min"),
        ("almost 1/4 cloves", "you used almost 1/4 clove"),
        ("Instead of 4 minute cooking for two and half minutes.", "you cooked for two and a half minutes instead of 4 minutes"),
    ],
)  # fmt: skip
def test_remarks(text: str, said: str) -> None:
    assert read_remark(text).after("") == said
    assert read_remark(text).after("Yes, ") == f"Yes, {said}"


def test_the_instruction_lends_a_unit() -> None:
    assert read_remark("3 instead of two", "Place two ice cubes in the jug").after("") == (
        "you used 3 ice cubes instead of two"
    )
    assert (
        read_remark("1 instead of 1/3", "Add 1/3 tsp salt").after("") == "you used 1 tsp instead of 1/3 tsp"
    )


def test_a_sentence_that_repeats_the_instruction_is_passed_over() -> None:
    said = read_remarks(
        "Heat-Heat the mug for 2 minute and serve. On low heat", "Heat the mug for 1 minute and serve"
    )
    assert [r.after("") for r in said] == [
        "you heated the mug for 2 minutes and served",
        "you did it on low heat",
    ]
    said = read_remarks("Stir the mug. Spilling the milk", "Stir the mug")
    assert [r.after("") for r in said] == ["you spilled the milk"]


@pytest.mark.parametrize(
    "text",
    [
        "The top piece", "Remain some water", "3 instead of two", "4oz instead of", "Cutting into long instead of short.",
        "Using large amount of water instead of small.", "more like pour them out", "very slow stir",
    ],
)  # fmt: skip
def test_what_cannot_be_read_says_nothing(text: str) -> None:
    assert read_remark(text).text == ""


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
        said = read_remark(one, other).after(lead)
        assert not find_faults(said.removeprefix(lead))
    describe_performed(one, other)

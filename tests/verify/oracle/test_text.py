from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.verify.oracle.text import (
    MAX_CHARACTERS,
    Quantity,
    content,
    find_quantities,
    is_english,
    normalise,
    stem,
    words,
)


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("  No,  you DIDN'T!! ", "no, you did not"),
        ("What\u2019s next?", "what is next"),
        ("I can't", "i can not"),
        ("add **1\u00bd cups**", "add 11/2 cups"),
        ("...", ""),
    ],
)
def test_normalise(raw: str, plain: str) -> None:
    assert normalise(raw) == plain


def test_normalise_cuts_long_texts() -> None:
    assert len(normalise("a " * 10_000_000)) <= MAX_CHARACTERS


@pytest.mark.parametrize(
    "family",
    [
        ("slice", "slices", "sliced", "slicing"),
        ("chop", "chops", "chopped", "chopping"),
        ("add", "adds", "added", "adding"),
        ("dry", "dries", "dried"),
        ("stir", "stirs", "stirred", "stirring"),
        ("roll", "rolls", "rolled", "rolling"),
        ("press", "presses", "pressed", "pressing"),
        ("fry", "fries", "fried", "frying"),
        ("measure", "measured", "measuring", "measurement"),
        ("tube", "tubes"),
        ("label", "labels", "labelled", "labeled", "labelling"),
        ("level", "levelled", "leveling"),
        ("puree", "pureed", "pureeing"),
        ("drill", "drilled", "drilling"),
        ("install", "installed", "installing"),
        ("leaf", "leaves"),
        ("freeze", "froze", "frozen"),
    ],
)
def test_forms_of_a_word_share_a_stem(family: tuple[str, ...]) -> None:
    assert len({stem(w) for w in family}) == 1


@pytest.mark.parametrize(
    ("one", "other"), [("salt", "sauce"), ("pan", "pen"), ("heat", "heart"), ("mix", "mug")]
)
def test_different_words_keep_different_stems(one: str, other: str) -> None:
    assert stem(one) != stem(other)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1/2 tsp salt", [Quantity(0.5, "tsp")]),
        ("1 1/2 cups of milk", [Quantity(1.5, "cup")]),
        ("two eggs", [Quantity(2.0)]),
        ("5 to 6 minutes", [Quantity(5.0, "min"), Quantity(6.0, "min")]),
        ("20-30 seconds", [Quantity(20.0, "s"), Quantity(30.0, "s")]),
        ("at 37 degrees for 30 minutes", [Quantity(37.0, "deg"), Quantity(30.0, "min")]),
        ("a tablespoon of oil", [Quantity(1.0, "tbsp")]),
        ("1/0 cups", []),
        ("no numbers", []),
    ],
)
def test_find_quantities(text: str, found: list[Quantity]) -> None:
    assert list(find_quantities(text)) == found


def test_content_drops_function_words_numbers_and_units() -> None:
    assert content("you should add the 2 tbsp of oil to it") == ("add", stem("oil"))


def test_is_english_tells_other_languages() -> None:
    assert is_english(words("you need to chop the onion"), set())
    assert not is_english(words("debes picar la cebolla ahora mismo"), set())
    assert is_english(words("tofu"), set())


@given(st.text(max_size=300))
def test_nothing_raises(text: str) -> None:
    plain = normalise(text)
    assert normalise(plain) == plain
    words(plain), content(plain), find_quantities(plain)

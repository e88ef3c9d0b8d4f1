from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.procedure.inflect import VERBS, base_form, gerund, participle, past


@pytest.mark.parametrize(
    ("verb", "ing", "ed", "en"),
    [
        ("peel", "peeling", "peeled", "peeled"),
        ("slice", "slicing", "sliced", "sliced"),
        ("chop", "chopping", "chopped", "chopped"),
        ("stir", "stirring", "stirred", "stirred"),
        ("boil", "boiling", "boiled", "boiled"),
        ("squeeze", "squeezing", "squeezed", "squeezed"),
        ("transfer", "transferring", "transferred", "transferred"),
        ("cover", "covering", "covered", "covered"),
        ("mix", "mixing", "mixed", "mixed"),
        ("dry", "drying", "dried", "dried"),
        ("lay", "laying", "laid", "laid"),
        ("tie", "tying", "tied", "tied"),
        ("take", "taking", "took", "taken"),
        ("beat", "beating", "beat", "beaten"),
        ("put", "putting", "put", "put"),
        ("grind", "grinding", "ground", "ground"),
        ("pipette", "pipetting", "pipetted", "pipetted"),
        ("saute", "sauteing", "sauteed", "sauteed"),
        ("shake", "shaking", "shook", "shaken"),
        ("vortex", "vortexing", "vortexed", "vortexed"),
        ("season", "seasoning", "seasoned", "seasoned"),
        ("unplug", "unplugging", "unplugged", "unplugged"),
    ],
)
def test_forms(verb: str, ing: str, ed: str, en: str) -> None:
    assert (gerund(verb), past(verb), participle(verb)) == (ing, ed, en)


def test_base_form_undoes_the_forms() -> None:
    for word, verb in {
        "Kneads": "knead",
        "grinding": "grind",
        "took": "take",
        "Used": "use",
        "pours": "pour",
    }.items():
        assert base_form(word) == verb


def test_a_base_form_is_its_own_base_even_where_it_is_also_a_past() -> None:
    assert base_form("ground") == "grind"
    assert all(base_form(verb) == verb for verb in VERBS)


def test_nouns_have_no_base_form() -> None:
    assert base_form("noodles") == ""
    assert base_form("") == ""


@given(st.sampled_from(sorted(VERBS)))
def test_every_listed_verb_is_recognised_in_every_form(verb: str) -> None:
    for form in (gerund(verb), past(verb), participle(verb)):
        assert base_form(form)

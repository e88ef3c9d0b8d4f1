"""Sentences by rule: ends, abbreviations, numbers, quotes; nothing but white space is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.datasets.manual_caps import split_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        (" \n\t ", []),
        ("Stir", ["Stir"]),
        ("Stir. Wait.", ["Stir.", "Wait."]),
        ("Stir! Really? Yes.", ["Stir!", "Really?", "Yes."]),
        ("Add 1.5 l of water.", ["Add 1.5 l of water."]),
        ("Add 2 tbsp. Butter will do.", ["Add 2 tbsp. Butter will do."]),
        ("Use nuts, e.g. Brazil nuts. Chop them.", ["Use nuts, e.g. Brazil nuts.", "Chop them."]),
        ("Ask Dr. Miller. Then go on.", ["Ask Dr. Miller.", "Then go on."]),
        ("Add salt, pepper etc. Stir.", ["Add salt, pepper etc.", "Stir."]),
        ("1. Cut. 2. Fold it.", ["1. Cut.", "2. Fold it."]),
        ("Bake for 20. Cool.", ["Bake for 20.", "Cool."]),
        ('Say "stop." Then stop.', ['Say "stop."', "Then stop."]),
        ("Wait ... then stir.", ["Wait ... then stir."]),
        ("Wait... Stir.", ["Wait...", "Stir."]),
        ("Wait (an hour.) Stir.", ["Wait (an hour.)", "Stir."]),
        ("First line\nSecond line", ["First line", "Second line"]),
        ("Mix A. B follows.", ["Mix A. B follows."]),
        ("Lower it. and go on.", ["Lower it. and go on."]),
        ("Schäle es. Übe weiter.", ["Schäle es.", "Übe weiter."]),
    ],
)
def test_sentences(text: str, sentences: list[str]):
    assert split_sentences(text) == sentences


@given(st.text(max_size=200))
def test_only_white_space_is_lost_and_nothing_is_empty(text: str):
    sentences = split_sentences(text)
    assert "".join("".join(sentences).split()) == "".join(text.split())
    assert all(s and s == s.strip() for s in sentences)


@given(st.lists(st.sampled_from(["Stir it.", "Wait!", "Is it done?", "Cut the leek."]), max_size=10))
def test_plain_sentences_come_apart_again(sentences: list[str]):
    assert split_sentences(" ".join(sentences)) == sentences


@pytest.mark.parametrize("text", ["." * 300_000, "a. " * 100_000, "A\n" * 100_000, ". \"'" * 50_000])
def test_long_texts_take_no_time(text: str):
    assert isinstance(split_sentences(text), list)

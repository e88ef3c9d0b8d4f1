"""Sentences that know how they were made."""

from __future__ import annotations

import pickle

import pytest

from proctor.said import say, say_count, say_in


def test_a_sentence_is_its_english_text() -> None:
    said = say("{who} has {n} left.", who="Ana", n=3)
    assert said == "Ana has 3 left."
    assert (said.pattern, said.values) == ("{who} has {n} left.", {"who": "Ana", "n": 3})


def test_braces_stand_for_themselves_where_nothing_is_filled_in() -> None:
    assert say("Write {project}.") == "Write {project}."


@pytest.mark.parametrize(("n", "text"), [(0, "0 items of x"), (1, "1 item of x"), (2, "2 items of x")])
def test_a_number_of_things(n: int, text: str) -> None:
    assert say_count(n, "{n} item of {of}", "{n} items of {of}", of="x") == text


def test_two_meanings_of_one_word() -> None:
    said = say_in("state of an item", "Open")
    assert (said, said.about) == ("Open", "state of an item")


def test_it_goes_to_another_process_whole() -> None:
    said = say_count(2, "{n} item", "{n} items")
    back = pickle.loads(pickle.dumps(said))
    assert (back, back.pattern, back.many, back.values) == (said, said.pattern, said.many, said.values)

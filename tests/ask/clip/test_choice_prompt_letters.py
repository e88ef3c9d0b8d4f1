"""Dealt letters are exactly balanced, whatever the number of questions and of options, and nothing but seed and ids decides."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.ask.clip.choice_prompt import arrange_options, deal_letters, vote_order
from proctor.errors import UserError
from proctor.metrics.choice.letters import LETTERS
from proctor.metrics.choice.marks import letter_balance


def ids(n: int) -> list[str]:
    return [f"q{k}" for k in range(n)]


@given(n=st.integers(0, 400), options=st.integers(2, 26), seed=st.integers(0, 2**40))
def test_letters_are_exactly_balanced(n: int, options: int, seed: int):
    dealt = deal_letters(ids(n), options, seed)
    assert set(dealt) == set(ids(n))
    counts = [Counter(dealt.values())[letter] for letter in LETTERS[:options]]
    assert sum(counts) == n
    assert max(counts) - min(counts) <= 1


@given(n=st.integers(0, 60), seed=st.integers(0, 2**40), shuffle=st.randoms(use_true_random=False))
def test_the_order_of_the_questions_changes_nothing(n: int, seed: int, shuffle: random.Random):
    mixed = ids(n)
    shuffle.shuffle(mixed)
    assert deal_letters(mixed, 5, seed) == deal_letters(ids(n), 5, seed)


@pytest.mark.shared
def test_the_expected_counts(shared_expected: Callable[[str], dict[str, Any]]):
    expected = shared_expected("smmqg-instructionbench")["mc_letters"]
    dealt = Counter(deal_letters(ids(expected["n"]), expected["options"], 0).values())
    assert sorted(dealt.values()) == sorted(expected["balanced_counts"])
    twelve = Counter(deal_letters(ids(12), 5, 0).values())
    assert sorted(twelve.values(), reverse=True) == [3, 3, 2, 2, 2], expected["n12"]
    test = letter_balance(expected["chi2_example"]["counts"])
    assert test.chi2 == pytest.approx(expected["chi2_example"]["chi2"])
    assert test.p == pytest.approx(expected["chi2_example"]["p"], abs=1e-6)


def test_which_letters_are_right_once_more_is_up_to_the_seed():
    more = Counter(
        letter
        for seed in range(300)
        for letter, count in Counter(deal_letters(ids(6), 5, seed).values()).items()
        if count == 2
    )
    assert set(more) == set("ABCDE")
    assert min(more.values()) > 30, "of 300, 60 are expected for each"


def test_a_question_can_get_every_letter():
    seen = Counter(deal_letters(ids(7), 5, seed)["q3"] for seed in range(300))
    assert set(seen) == set("ABCDE")
    assert min(seen.values()) > 30


@pytest.mark.parametrize("options", [0, 1, 27])
def test_letters_that_do_not_exist(options: int):
    with pytest.raises(UserError, match="2 to 26 options"):
        deal_letters(ids(3), options, 0)


def test_ids_are_unique():
    with pytest.raises(UserError, match="same id"):
        deal_letters(["a", "b", "a"], 5, 0)


@given(
    wrong=st.lists(st.text(max_size=3), min_size=1, max_size=25),
    place=st.integers(0, 25),
    seed=st.integers(0, 99),
)
def test_the_answer_stands_at_its_letter_and_nothing_is_lost(wrong: list[str], place: int, seed: int):
    letter = LETTERS[place % (len(wrong) + 1)]
    options = arrange_options("right", wrong, letter, "q", seed)
    assert options[LETTERS.index(letter)] == "right"
    assert Counter(options) == Counter(["right", *wrong])
    assert options == arrange_options("right", wrong, letter, "q", seed)


def test_wrong_ones_are_shuffled_for_each_question():
    seen = {arrange_options("r", "abcd", "C", f"q{n}", 0) for n in range(200)}
    assert len(seen) == 24, "every order of four occurs"


@pytest.mark.parametrize("letter", ["F", "", "AB", "a"])
def test_a_letter_that_the_question_does_not_have(letter: str):
    with pytest.raises(UserError, match="no letter of 5 options"):
        arrange_options("r", "abcd", letter, "q", 0)


def test_every_vote_has_an_order_of_its_own():
    def order(**more: Any) -> tuple[int, ...]:
        return vote_order(
            5, **{"seed": 0, "id": "q", "attempt": 0, "stage": "with_steps", "voter": 0, **more}
        )

    assert order() == order()
    assert sorted(order()) == [0, 1, 2, 3, 4]
    others = [{"seed": 1}, {"id": "p"}, {"attempt": 1}, {"stage": "confirm"}, {"voter": 1}]
    for one in others:
        seen = {(order(**{**one, "id": f"{n}{one.get('id', '')}"}), order(id=f"{n}")) for n in range(20)}
        assert any(a != b for a, b in seen), one


def test_the_answer_stands_everywhere_equally_often_in_votes():
    n = 2_000
    places = Counter(
        vote_order(5, seed=0, id=str(k), attempt=0, stage="with_steps", voter=0).index(0) for k in range(n)
    )
    assert letter_balance([places[p] for p in range(5)]).p > 0.001

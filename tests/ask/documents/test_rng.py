"""Chance for an attempt: the same for the same names, different for any other, the same in every process."""

from __future__ import annotations

import os
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from proctor.ask.documents.rng import attempt_random, attempt_seed

NAMES = st.tuples(
    st.integers(0, 3),
    st.sampled_from(["a", "b", "a/1", "a,1"]),
    st.integers(0, 3),
    st.sampled_from(["", "x"]),
)


@given(NAMES, NAMES)
def test_equal_names_and_only_those_have_equal_seeds(
    one: tuple[int, str, int, str], other: tuple[int, str, int, str]
) -> None:
    assert (attempt_seed(*one) == attempt_seed(*other)) == (one == other)


def test_the_pieces_of_a_name_cannot_be_shifted() -> None:
    assert attempt_seed(1, "1", 11) != attempt_seed(11, "1", 1)
    assert attempt_seed(1, "a", 1, "b") != attempt_seed(1, "a1", 1, "b")


def test_draws_depend_on_no_other_draw() -> None:
    first = attempt_random(7, "t", 0, "order")
    used = attempt_random(7, "t", 0, "seed")
    used.random()
    assert first.sample(range(100), 5) == attempt_random(7, "t", 0, "order").sample(range(100), 5)


def test_another_process_draws_the_same() -> None:
    code = "from proctor.ask.documents.rng import attempt_random; print(attempt_random(3, 'ä/1', 2, 'p').random())"
    said = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout.strip()
        for seed in ("1", "2")
    }  # fmt: skip
    assert said == {str(attempt_random(3, "ä/1", 2, "p").random())}

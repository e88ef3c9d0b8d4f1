import itertools
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from proctor.metrics.choice.marks import blind_pass_probability, vote_probability
from proctor.metrics.errors import MetricInputError


@pytest.mark.parametrize(
    ("accuracy", "fails", "passes"),
    [
        (0.2, 0.104, 1.0),
        (0.5, 0.5, 0.999023),
        (0.7, 0.784, 0.912267),
        (0.8, 0.896, 0.666512),
        (0.9, 0.972, 0.247229),
        (0.95, 0.99275, 0.07018),
    ],
)
def test_retry_leak_golden(accuracy, fails, passes):
    assert vote_probability(accuracy) == pytest.approx(fails, abs=1e-9)
    assert blind_pass_probability(accuracy) == pytest.approx(passes, abs=5e-7)


@pytest.mark.shared
def test_retry_leak_expected(shared_expected):
    rows = shared_expected("smmqg-instructionbench")["mc_votes"]["independent_assistants"]
    assert len(rows) == 6
    for row in rows:
        assert vote_probability(row["blind_acc"]) == pytest.approx(row["fail_stage3_per_attempt"], abs=5e-7)
        assert blind_pass_probability(row["blind_acc"]) == pytest.approx(row["pass_within_10"], abs=5e-7)


@given(st.floats(0, 1), st.integers(1, 6), st.data())
def test_vote_equals_scipy_and_brute_force(accuracy, voters, data):
    needed = data.draw(st.integers(0, voters))
    found = vote_probability(accuracy, voters=voters, needed=needed)
    assert found == pytest.approx(stats.binom.sf(needed - 1, voters, accuracy), abs=1e-9)
    brute = sum(
        math.prod(accuracy if v else 1 - accuracy for v in votes)
        for votes in itertools.product([0, 1], repeat=voters)
        if sum(votes) >= needed
    )
    assert found == pytest.approx(brute, abs=1e-9)


@given(st.floats(0, 1), st.integers(1, 12))
def test_more_attempts_never_pass_less(accuracy, attempts):
    more = blind_pass_probability(accuracy, attempts=attempts + 1)
    assert 0 <= blind_pass_probability(accuracy, attempts=attempts) <= more + 1e-12 <= 1 + 1e-9


def test_votes_invalid():
    for wrong in (
        {"accuracy": 1.2},
        {"accuracy": math.nan},
        {"accuracy": 0.5, "needed": 4},
        {"accuracy": 0.5, "voters": 0},
    ):
        with pytest.raises(MetricInputError):
            vote_probability(**wrong)
    with pytest.raises(MetricInputError, match="attempt"):
        blind_pass_probability(0.5, attempts=0)


def test_a_simulated_vote_comes_near_the_formula():
    rng = random.Random(0)
    passed = sum(any(sum(rng.random() < 0.8 for _ in range(3)) < 2 for _ in range(10)) for _ in range(4_000))
    assert passed / 4_000 == pytest.approx(blind_pass_probability(0.8), abs=0.03)

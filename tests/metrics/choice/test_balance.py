import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from proctor.metrics.choice.letters import balanced_letter_counts
from proctor.metrics.choice.marks import letter_balance
from proctor.metrics.errors import MetricInputError


def test_balance_golden():
    """mc_letters of the expected numbers."""
    test = letter_balance([1010, 990, 1005, 995, 1000])
    assert test.chi2 == pytest.approx(0.25, abs=1e-12)
    assert test.p == pytest.approx(0.992809, abs=5e-7)
    assert (test.df, test.note) == (4, "")
    assert balanced_letter_counts(5000, 5) == (1000,) * 5
    assert balanced_letter_counts(12, 5) == (3, 3, 2, 2, 2)


@pytest.mark.shared
def test_balance_expected(shared_expected):
    expected = shared_expected("smmqg-instructionbench")["mc_letters"]
    assert list(balanced_letter_counts(expected["n"], expected["options"])) == expected["balanced_counts"]
    example = expected["chi2_example"]
    test = letter_balance(example["counts"])
    assert test.chi2 == pytest.approx(example["chi2"], abs=1e-9)
    assert test.p == pytest.approx(example["p"], abs=5e-7)


@given(st.lists(st.integers(0, 200), min_size=2, max_size=8).filter(any))
def test_balance_equals_scipy(counts):
    expected = stats.chisquare(counts)
    test = letter_balance(counts)
    assert test.chi2 == pytest.approx(expected.statistic, abs=1e-9)
    assert test.p == pytest.approx(expected.pvalue, abs=1e-9)


@given(st.lists(st.integers(0, 50), min_size=2, max_size=6).filter(any), st.randoms())
def test_balance_ignores_which_letter_is_which(counts, rng):
    shuffled = list(counts)
    rng.shuffle(shuffled)
    assert letter_balance(shuffled).chi2 == pytest.approx(letter_balance(counts).chi2)


def test_balance_of_questions_with_different_numbers_of_options():
    test = letter_balance([10, 20], [5, 5, 20], [0, 0])
    first, second = stats.chisquare([10, 20]), stats.chisquare([5, 5, 20])
    assert test.chi2 == pytest.approx(first.statistic + second.statistic)
    assert test.df == 3
    assert test.p == pytest.approx(stats.chi2.sf(test.chi2, 3))


def test_balance_undefined_rough_and_invalid():
    nothing = letter_balance([0, 0, 0])
    assert math.isnan(nothing.p)
    assert nothing.note
    assert letter_balance().note
    assert "rough" in letter_balance([3, 1]).note
    for bad in ([3], [], [-1, 2], [0.5, 1]):
        with pytest.raises(MetricInputError, match="counts"):
            letter_balance(bad)

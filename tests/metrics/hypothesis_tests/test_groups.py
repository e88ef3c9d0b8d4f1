import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from proctor.metrics.errors import MetricInputError
from proctor.metrics.hypothesis_tests import mann_whitney, permutation_test


def brute_permutation(a, b):
    pooled = [*a, *b]
    observed = abs(np.mean(b) - np.mean(a))
    found = []
    for chosen in itertools.combinations(range(len(pooled)), len(a)):
        first = [pooled[i] for i in chosen]
        second = [v for i, v in enumerate(pooled) if i not in chosen]
        found.append(abs(np.mean(second) - np.mean(first)) >= observed - 1e-9)
    return np.mean(found)


SMALL = st.lists(st.sampled_from([0.0, 0.1, 0.3, 1.0, 50.0]), min_size=1, max_size=5)


@settings(max_examples=40)
@given(SMALL, SMALL)
def test_permutation_equals_brute_force(a, b):
    found = permutation_test(a, b)
    assert found.p == pytest.approx(brute_permutation(a, b))
    assert found.p == permutation_test(b, a).p == permutation_test(a[::-1], b).p
    assert found.statistic == pytest.approx(np.mean(b) - np.mean(a))


@pytest.mark.parametrize("marks", ["continuous", "few values"])
def test_permutation_draws_agree_with_scipy(marks):
    rng = np.random.default_rng(7)
    a, b = rng.normal(0, 1, 40), rng.normal(0.4, 1, 30)
    if marks == "few values":
        a, b = np.round(a), np.round(b)
    theirs = stats.permutation_test(
        (a, b), lambda x, y: abs(np.mean(y) - np.mean(x)), n_resamples=9_999, alternative="greater",
        vectorized=False, rng=np.random.default_rng(0),
    ).pvalue  # fmt: skip
    ours = permutation_test(a, b, resamples=20_000)
    assert ours.p == pytest.approx(theirs, abs=0.015)
    assert ours.signature.parameters["p"] == "monte-carlo"
    assert permutation_test(a + 5, b + 5, resamples=20_000).p == pytest.approx(ours.p, abs=0.01)
    assert permutation_test(rng.permutation(a), b, resamples=20_000) == ours


def test_permutation_never_reports_zero_and_explains():
    assert permutation_test([0.0] * 50, [1.0] * 50, resamples=99).p == pytest.approx(0.01)
    same = permutation_test([1.0, 1.0], [1.0])
    assert (same.p, same.note) == (1.0, "all values are equal")
    assert permutation_test([], [1.0]).note == "group a is empty"
    assert permutation_test([1.0], []).note == "group b is empty"
    assert permutation_test([], []).p is None
    with pytest.raises(MetricInputError, match="values of b must be finite"):
        permutation_test([1.0], [math.inf])
    with pytest.raises(MetricInputError, match="resamples"):
        permutation_test([1.0], [2.0], resamples=0)


def test_permutation_chunks_do_not_matter(monkeypatch):
    rng = np.random.default_rng(0)
    a, b = rng.normal(0, 1, 40), rng.normal(0.3, 1, 40)
    first = permutation_test(a, b, resamples=300)
    monkeypatch.setattr("proctor.metrics.hypothesis_tests.CELLS", 900)
    assert permutation_test(a, b, resamples=300) == first


FLUENCY = ([5, 5, 4, 5, 3, 4, 5, 4], [3, 4, 2, 5, 3, 4, 3, 2])


def test_mann_whitney_golden():
    found = mann_whitney(*FLUENCY)
    assert found.statistic == 51.5
    assert found.p == pytest.approx(0.038013, abs=5e-7)
    assert found.signature.parameters["method"] == "asymptotic"
    assert mann_whitney(*FLUENCY, method="no-continuity").p == pytest.approx(0.033228, abs=5e-7)


@settings(max_examples=40)
@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=12), st.lists(st.integers(1, 5), min_size=1, max_size=12)
)
def test_mann_whitney_equals_scipy_and_counts_pairs(a, b):
    found = mann_whitney(a, b)
    assert found.statistic == sum((x > y) + (x == y) / 2 for x in a for y in b)
    assert found.p == pytest.approx(mann_whitney(b, a).p)
    if len({*a, *b}) > 1:
        assert found.p == pytest.approx(min(1.0, stats.mannwhitneyu(a, b).pvalue))
        assert 0 < found.p <= 1
    shifted = mann_whitney([10 * x + 3 for x in a], [10 * x + 3 for x in b])
    assert shifted.p == pytest.approx(found.p)


def test_mann_whitney_exact_without_ties():
    found = mann_whitney([1, 2, 3], [4, 5, 6])
    assert (found.p, found.statistic) == (pytest.approx(0.1), 0.0)
    assert found.signature.parameters["method"] == "exact"
    with pytest.raises(MetricInputError, match="tied"):
        mann_whitney([1, 2], [2, 3], method="exact")


def test_mann_whitney_undefined_and_refused():
    assert mann_whitney([], [1]).note == "group a is empty"
    assert mann_whitney([], []).p is None
    same = mann_whitney([3, 3, 3], [3, 3])
    assert (same.p, same.statistic, same.note) == (1.0, 3.0, "all ratings are equal")
    with pytest.raises(MetricInputError, match="method must be one of"):
        mann_whitney([1], [2], method="t")
    with pytest.raises(MetricInputError, match="finite"):
        mann_whitney([1, math.nan], [2])

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from proctor.metrics.interval import normal_cdf, normal_quantile, wilson_interval


@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 20), (20, 20), (406, 467), (7, 9)])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_wilson_equals_scipy(k, n, confidence):
    ours = wilson_interval(k, n, confidence)
    theirs = stats.binomtest(k, n).proportion_ci(confidence, method="wilson")
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert ours.method == f"wilson-{100 * confidence:g}"


def test_wilson_golden():
    ours = wilson_interval(406, 467)
    assert (ours.low, ours.high) == pytest.approx((0.83577, 0.89688), abs=1e-4)


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        (197, 300, 0.6012598042, 0.7081120648),
        (177, 300, 0.533548215, 0.6441760502),
        (68, 100, 0.5833738139, 0.7633085268),
        (0, 100, 0.0, 0.0369934982),
        (100, 100, 0.9630065018, 1.0),
    ],
)
def test_wilson_golden_of_the_sequencing_paper(k, n, low, high):
    ours = wilson_interval(k, n)
    assert (ours.low, ours.high) == pytest.approx((low, high), abs=5e-11)
    assert (ours.low, ours.high) == pytest.approx(proportion_confint(k, n, method="wilson"), abs=1e-12)


def test_wilson_of_nothing_is_undefined_with_a_note():
    interval = wilson_interval(0, 0)
    assert not interval.defined
    assert interval.low is None
    assert interval.note == "nothing was counted"


@pytest.mark.parametrize(("k", "n"), [(-1, 3), (4, 3), (0, -1)])
def test_wilson_refuses_impossible_counts(k, n):
    with pytest.raises(ValueError, match="successes"):
        wilson_interval(k, n)


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 95, math.nan])
def test_wilson_refuses_impossible_confidence(confidence):
    with pytest.raises(ValueError, match="confidence"):
        wilson_interval(1, 2, confidence)


@given(st.integers(0, 500), st.integers(1, 500))
def test_wilson_holds_the_proportion_and_stays_in_range(k, n):
    k = min(k, n)
    interval = wilson_interval(k, n)
    assert 0 <= interval.low <= k / n <= interval.high <= 1


def test_normal_distribution():
    assert normal_quantile(0.975) == pytest.approx(stats.norm.ppf(0.975))
    assert normal_quantile(0.0) == -math.inf
    assert normal_quantile(1.0) == math.inf
    assert normal_cdf(1.96) == pytest.approx(stats.norm.cdf(1.96))

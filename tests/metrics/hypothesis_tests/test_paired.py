import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as mcnemar_of_statsmodels

from proctor.metrics.errors import MetricInputError
from proctor.metrics.hypothesis_tests import (
    discordant_counts,
    mann_whitney,
    mcnemar,
    permutation_test,
    sign_flip_test,
    sign_flip_tests,
)


@pytest.mark.parametrize(
    ("b", "c", "p"),
    [(27, 7, 0.0008213953), (20, 0, 1.9073e-06), (5, 3, 0.7265625), (0, 0, 1.0), (30, 10, 0.0022214338)],
)
def test_mcnemar_golden(b, c, p):
    assert mcnemar(b, c).p == pytest.approx(p, rel=1e-4 if b == 20 else 1e-9, abs=5e-11)
    assert mcnemar(b, c).p == mcnemar(c, b).p


def test_mcnemar_mid_p_of_fagerland_2013():
    """Airway hyper-responsiveness before and after stem cell transplantation: 1 against 7."""
    assert mcnemar(1, 7).p == pytest.approx(0.0703125)
    assert mcnemar(1, 7, mid_p=True).p == pytest.approx(0.0390625)


def test_mcnemar_of_nothing_says_so():
    found = mcnemar(0, 0)
    assert (found.p, found.n, found.statistic) == (1.0, 0, 0.0)
    assert found.note == "the two agree on every item"


@pytest.mark.parametrize("counts", [(-1, 2), (1.5, 2), ("3", 2), (True, 2), (1, None)])
def test_mcnemar_refuses_what_is_no_count(counts):
    with pytest.raises(MetricInputError, match="whole number"):
        mcnemar(*counts)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_equals_statsmodels_and_scipy(b, c):
    ours = mcnemar(b, c)
    theirs = mcnemar_of_statsmodels([[5, b], [c, 5]], exact=True)
    assert ours.p == pytest.approx(theirs.pvalue if b + c else 1.0, abs=1e-12)
    if b + c:
        assert ours.p == pytest.approx(stats.binomtest(b, b + c).pvalue, rel=1e-9)
    assert mcnemar(b, c, mid_p=True).p <= ours.p


def test_mcnemar_of_many_items_goes_on_smoothly():
    """Whole-number sums end at 1,000 discordant items."""
    for b, c in ((470, 530), (471, 530), (40_000, 41_000)):
        assert mcnemar(b, c).p == pytest.approx(stats.binomtest(b, b + c).pvalue, rel=1e-9)
        mid = 2 * stats.binom.cdf(b, b + c, 0.5) - stats.binom.pmf(b, b + c, 0.5)
        assert mcnemar(b, c, mid_p=True).p == pytest.approx(mid, rel=1e-9)


def test_discordant_counts():
    assert discordant_counts([1, 1, 0, 0], [True, False, True, False]) == (1, 1)
    assert discordant_counts([1, 1, 1], [0, 1, 0]) == (2, 0)
    assert discordant_counts([], []) == (0, 0)
    with pytest.raises(MetricInputError, match="3 marks of a, 2 of b"):
        discordant_counts([1, 0, 1], [1, 0])
    with pytest.raises(MetricInputError, match=r"marks of b must be yes/no .* number 1 \(from 0\) is 0.5"):
        discordant_counts([1, 0], [1, 0.5])
    with pytest.raises(MetricInputError, match="marks of a must be finite"):
        discordant_counts([math.nan], [1])


def brute(values):
    flips = [
        abs(math.fsum(s * v for s, v in zip(signs, values, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(values))
    ]
    return sum(f >= abs(math.fsum(values)) - 1e-9 for f in flips) / len(flips)


def test_sign_flip_golden():
    found = sign_flip_test([0.4, 0.0, 0.2, -0.2, 0.6, 0.0])
    assert found.p == 0.375
    assert found.statistic == pytest.approx(0.1666666667, abs=1e-10)
    assert found.note == "only 4 differences are not zero: p cannot fall below 0.125"
    assert str(found.signature) == "sign_flip|cluster:item|p:exact|sided:two"


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from([-100.0, -50.0, -1.0, 0.0, 0.1, 0.2, 0.3, 50.0, 100.0]), min_size=1, max_size=11)
)
def test_sign_flip_equals_brute_force(values):
    assert sign_flip_test(values).p == pytest.approx(brute(values), abs=1e-12)


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.data())
def test_sign_flip_of_yes_and_no_is_mcnemar(a, data):
    b = data.draw(st.lists(st.booleans(), min_size=len(a), max_size=len(a)))
    differences = np.asarray(b, float) - np.asarray(a, float)
    assert sign_flip_test(differences).p == mcnemar(*discordant_counts(a, b)).p


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(-3, 3), st.sampled_from("abcdef")), min_size=1, max_size=40),
    st.randoms(use_true_random=False),
)
def test_sign_flip_neither_order_nor_sign_nor_scale_matters(items, random):
    values, clusters = zip(*items, strict=True)
    first = sign_flip_test(values, clusters, resamples=200)
    mixed = list(items)
    random.shuffle(mixed)
    values, clusters = zip(*mixed, strict=True)
    assert sign_flip_test(values, clusters, resamples=200) == first
    assert sign_flip_test([-7.0 * v for v in values], clusters, resamples=200).p == first.p


def test_sign_flip_sums_clusters_first():
    assert sign_flip_test([1.0, 1.0, -1.0, 1.0], list("aabb")).p == sign_flip_test([2.0, 0.0]).p == 1.0
    together = sign_flip_test([1.0] * 40, [str(i // 5) for i in range(40)])
    assert together.p == pytest.approx(2 / 2**8)


@pytest.mark.parametrize("n", [14, 20, 29, 30])
def test_sign_flip_of_two_halves_agrees_with_draws(n):
    values = np.random.default_rng(n).normal(0.3, 1, n)
    theirs = stats.permutation_test(
        (values,), np.sum, permutation_type="samples", n_resamples=20_000, rng=np.random.default_rng(0)
    ).pvalue
    ours = sign_flip_test(values)
    assert ours.signature.parameters["p"] == "exact"
    assert ours.p == pytest.approx(theirs, abs=0.015)


def test_sign_flip_draws_agree_with_scipy():
    rng = np.random.default_rng(3)
    totals = rng.choice([-100.0, -50.0, 0.0, 50.0, 100.0], 60, p=[0.1, 0.15, 0.35, 0.25, 0.15])
    ours = sign_flip_test(totals, resamples=40_000)
    theirs = stats.permutation_test(
        (totals,), np.sum, permutation_type="samples", n_resamples=40_000, rng=np.random.default_rng(0)
    ).pvalue
    assert ours.p == pytest.approx(theirs, abs=0.012)
    assert str(ours.signature) == "sign_flip|cluster:item|p:monte-carlo|resamples:40000|seed:0|sided:two"


def test_sign_flip_never_reports_zero():
    values = [100.0] * 49 + [50.0]
    assert sign_flip_test(values, resamples=999).p == pytest.approx(1 / 1000)
    assert sign_flip_test([100.0] * 50).p == 2 * 0.5**50


def test_sign_flip_chunks_do_not_matter(monkeypatch):
    values = np.random.default_rng(0).normal(0.1, 1, 77)
    first = sign_flip_test(values, resamples=500)
    monkeypatch.setattr("proctor.metrics.hypothesis_tests.CELLS", 300)
    assert sign_flip_test(values, resamples=500) == first


def test_sign_flips_of_many_pairs_are_those_of_each():
    totals = np.random.default_rng(1).choice([-50.0, 0.0, 50.0, 100.0], (60, 5))
    totals[:, 2] = 0
    totals[8:, 3] = 0
    together = sign_flip_tests(totals, resamples=500)
    assert together == tuple(sign_flip_tests(totals[:, [j]], resamples=500)[0] for j in range(5))
    assert together[2].note == "nothing differs"
    assert together[3].signature.parameters["p"] == "exact"


def test_sign_flip_undefined_and_refused():
    nothing = sign_flip_test([])
    assert (nothing.p, nothing.statistic, nothing.note) == (None, None, "nothing was observed")
    assert math.isnan(nothing.as_score().value)
    assert sign_flip_test([0.0, 0.0]).p == 1.0
    with pytest.raises(MetricInputError, match="2 differences, 1 clusters"):
        sign_flip_test([1.0, 2.0], ["a"])
    with pytest.raises(MetricInputError, match=r"number 1 \(from 0\) is nan"):
        sign_flip_test([1.0, math.nan])
    with pytest.raises(MetricInputError, match="must be numbers"):
        sign_flip_test(["x"])
    with pytest.raises(MetricInputError, match="one flat list"):
        sign_flip_test([[1.0]])
    with pytest.raises(MetricInputError, match="resamples"):
        sign_flip_test([1.0], resamples=0)
    with pytest.raises(MetricInputError, match="finite matrix"):
        sign_flip_tests(np.array([1.0]))


def test_values_too_large_to_be_added_are_refused():
    for call in (
        lambda: sign_flip_test([1e300]),
        lambda: sign_flip_tests(np.array([[1e300]])),
        lambda: permutation_test([1e300], [-1e300]),
        lambda: mann_whitney([1e300], [1.0]),
    ):
        with pytest.raises(MetricInputError, match="too large"):
            call()
    assert permutation_test([1e90] * 5, [-1e90] * 5).p == pytest.approx(2 / 252)


def test_sign_flip_keeps_its_level():
    """Without a difference, p ≤ 0.05 in at most about 5 % of worlds (400 worlds)."""
    rng = np.random.default_rng(8)
    alarms = sum(sign_flip_test(rng.standard_t(3, 12)).p <= 0.05 for _ in range(400))
    assert alarms / 400 <= 0.08

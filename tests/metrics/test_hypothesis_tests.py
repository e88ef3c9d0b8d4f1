import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as mcnemar_of_statsmodels
from statsmodels.stats.multitest import multipletests

from proctor.metrics.errors import MetricInputError
from proctor.metrics.hypothesis_tests import (
    benjamini_hochberg,
    chi_square,
    discordant_counts,
    fisher_exact,
    holm,
    mann_whitney,
    mcnemar,
    permutation_test,
    sign_flip_test,
    sign_flip_tests,
)

P_VALUES = st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=8)

# -- McNemar ---------------------------------------------------------------------------------------------------


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


# -- sign flips ------------------------------------------------------------------------------------------------


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
    assert str(found.signature) == "sign_flip|clusters:no|p:exact|sided:two"


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
    assert str(ours.signature) == "sign_flip|clusters:no|p:monte-carlo|resamples:40000|seed:0|sided:two"


def test_sign_flip_never_reports_zero():
    values = [100.0] * 49 + [50.0]
    assert sign_flip_test(values, resamples=999).p == pytest.approx(1 / 1000)
    assert sign_flip_test([100.0] * 50).p == 2 * 0.5**50


def test_sign_flip_chunks_do_not_matter(monkeypatch):
    values = np.random.default_rng(0).normal(0.1, 1, 77)
    first = sign_flip_test(values, resamples=500)
    monkeypatch.setattr("proctor.metrics.hypothesis_tests.paired.CELLS", 300)
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


# -- many tests ------------------------------------------------------------------------------------------------


def test_holm_and_benjamini_hochberg_golden():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert benjamini_hochberg([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.02, 0.04, 0.04, 0.02))


@pytest.mark.parametrize("correct", [holm, benjamini_hochberg])
def test_corrections_of_nothing_one_and_what_is_no_probability(correct):
    assert correct([]) == ()
    assert correct([0.3]) == (0.3,)
    assert correct([0.01, None]) == (0.01, None)
    for wrong in (1.5, -0.1, math.nan):
        with pytest.raises(MetricInputError, match="p-value"):
            correct([wrong])


@settings(max_examples=20)  # statsmodels collects garbage in every call
@given(P_VALUES)
def test_corrections_equal_statsmodels_and_keep_the_order(p_values):
    present = [p for p in p_values if p is not None]
    for correct, method in ((holm, "holm"), (benjamini_hochberg, "fdr_bh")):
        ours = correct(p_values)
        if present:
            theirs = multipletests(present, method=method)[1]
            assert [p for p in ours if p is not None] == pytest.approx(theirs.tolist(), abs=1e-12)
        assert [p is None for p in ours] == [p is None for p in p_values]
        for p, c in zip(p_values, ours, strict=True):
            assert p is None or p <= c + 1e-15 <= min(1.0, p * len(present)) + 2e-12
    assert all(
        b is None or b <= h + 1e-12 for b, h in zip(benjamini_hochberg(p_values), holm(p_values), strict=True)
    )


# -- permutation -----------------------------------------------------------------------------------------------


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
    monkeypatch.setattr("proctor.metrics.hypothesis_tests.groups.CELLS", 900)
    assert permutation_test(a, b, resamples=300) == first


# -- Mann-Whitney ----------------------------------------------------------------------------------------------

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


# -- Fisher ----------------------------------------------------------------------------------------------------

TABLE_4 = [("style", 295, 116, 0.283226, 0.77), ("relevance", 279, 103, 0.024656, 0.07),
           ("answerability", 284, 103, 0.004263, 0.02), ("correctness", 278, 96, 0.00041, 0.001)]  # fmt: skip
TABLE_15 = [(60, 60, 1.0, 1.0), (60, 52, 0.00609, 0.006), (58, 52, 0.094619, 0.09), (57, 48, 0.024575, 0.025),
            (59, 56, 0.364361, 0.44), (55, 51, 0.394478, 0.39), (60, 51, 0.002828, 0.003),
            (57, 48, 0.024575, 0.025)]  # fmt: skip


@pytest.mark.parametrize(("metric", "yes_a", "yes_b", "p", "printed"), TABLE_4)
def test_fisher_table_4_does_not_hold(metric, yes_a, yes_b, p, printed):
    found = fisher_exact(yes_a, 300, yes_b, 120).p
    assert found == pytest.approx(p, abs=5e-7), metric
    assert abs(found - printed) > 0.4 * printed, "the printed value would follow from the counts after all"


def test_fisher_table_15_holds_in_seven_of_eight():
    holds = []
    for yes_a, yes_b, p, printed in TABLE_15:
        found = fisher_exact(yes_a, 60, yes_b, 60).p
        assert found == pytest.approx(p, abs=5e-7)
        holds.append(abs(found - printed) <= 0.006)
    assert holds == [True, True, True, True, False, True, True, True]


@given(st.integers(0, 25), st.integers(1, 25), st.integers(0, 25), st.integers(1, 25))
def test_fisher_equals_scipy_and_is_symmetric(yes_a, n_a, yes_b, n_b):
    yes_a, yes_b = min(yes_a, n_a), min(yes_b, n_b)
    found = fisher_exact(yes_a, n_a, yes_b, n_b)
    theirs = stats.fisher_exact([[yes_a, n_a - yes_a], [yes_b, n_b - yes_b]])
    assert found.p == pytest.approx(min(1.0, theirs.pvalue))
    assert found.p == pytest.approx(fisher_exact(yes_b, n_b, yes_a, n_a).p)
    assert found.p == pytest.approx(fisher_exact(n_a - yes_a, n_a, n_b - yes_b, n_b).p)
    if found.statistic is not None:
        assert found.statistic == pytest.approx(theirs.statistic)
    else:
        assert found.note


def test_fisher_undefined_and_refused():
    assert fisher_exact(0, 0, 1, 2).note == "group a is empty"
    assert fisher_exact(0, 0, 0, 0).p is None
    perfect = fisher_exact(5, 5, 5, 5)
    assert (perfect.p, perfect.note) == (1.0, "every item has the same answer")
    with pytest.raises(MetricInputError, match="6 items of b say yes, but it has only 5"):
        fisher_exact(1, 5, 6, 5)
    with pytest.raises(MetricInputError, match="n_a must be a whole number"):
        fisher_exact(1, 5.0, 1, 5)


# -- chi-squared -----------------------------------------------------------------------------------------------


def test_chi_square_golden():
    found = chi_square([1010, 990, 1005, 995, 1000])
    assert found.statistic == pytest.approx(0.25)
    assert found.p == pytest.approx(0.992809, abs=5e-7)
    assert chi_square([1000] * 5).p == 1.0
    assert chi_square([3, 3, 2, 2, 2]).note.startswith("the smallest expected count is 2.4")


@given(st.lists(st.integers(0, 50), min_size=2, max_size=6), st.data())
def test_chi_square_equals_scipy(counts, data):
    weights = data.draw(st.lists(st.integers(1, 9), min_size=len(counts), max_size=len(counts)))
    for expected in (None, weights):
        found = chi_square(counts, expected)
        if not sum(counts):
            assert (found.p, found.note) == (None, "nothing was counted")
            continue
        share = np.ones(len(counts)) if expected is None else np.array(expected, float)
        theirs = stats.chisquare(counts, share / share.sum() * sum(counts))
        assert (found.statistic, found.p) == pytest.approx((theirs.statistic, theirs.pvalue))


def test_chi_square_refuses():
    with pytest.raises(MetricInputError, match="two categories or more, got 1"):
        chi_square([5])
    with pytest.raises(MetricInputError, match="count 1 must be a whole number"):
        chi_square([5, -1])
    with pytest.raises(MetricInputError, match="3 weights for 2 categories"):
        chi_square([5, 1], [1, 1, 1])
    with pytest.raises(MetricInputError, match="must be positive"):
        chi_square([5, 1], [1, 0])

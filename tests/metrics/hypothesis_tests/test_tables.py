import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from proctor.metrics.errors import MetricInputError
from proctor.metrics.hypothesis_tests import chi_square, fisher_exact

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

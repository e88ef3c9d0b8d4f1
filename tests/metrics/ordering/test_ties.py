import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from proctor.metrics.errors import MetricInputError
from proctor.metrics.ordering import (
    expected_measures,
    kendall_tau,
    kendall_tau_a,
    measure_orders,
    order_by_scores,
)


@pytest.mark.parametrize(
    ("scores", "tau"), [((0.1, 0.5, 0.5, 0.9), 5 / 6), ((1, 1, 1), 0), ((3, 1, 1, 5), 1 / 6), ((1, 2, 3), 1)]
)
def test_worked_examples(scores, tau):
    assert float(kendall_tau_a(range(len(scores)), scores)) == pytest.approx(tau)


def test_perfect_reversed_and_single():
    assert float(kendall_tau_a([1, 2, 3], [10, 20, 30])) == 1
    assert float(kendall_tau_a([1, 2, 3], [3, 2, 1])) == -1
    assert float(kendall_tau_a([5], [7])) == 1


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=12))
@settings(max_examples=80)
def test_against_the_definition_and_scipys_tau_b(pairs):
    a, b = zip(*pairs, strict=True)
    n = len(a)
    agreement = [np.sign(a[i] - a[j]) * np.sign(b[i] - b[j]) for i, j in itertools.combinations(range(n), 2)]
    tau = float(kendall_tau_a(a, b))
    assert tau == pytest.approx(sum(agreement) / len(agreement))
    assert float(kendall_tau_a(b, a)) == pytest.approx(tau)
    untied = [sum(x[i] != x[j] for i, j in itertools.combinations(range(n), 2)) for x in (a, b)]
    if all(untied):
        assert kendalltau(a, b).statistic * math.sqrt(untied[0] * untied[1]) == pytest.approx(
            tau * len(agreement)
        )


@given(st.permutations(range(6)))
@settings(max_examples=30)
def test_without_ties_it_is_tau_of_the_orders(order):
    scores = np.argsort(order)
    assert float(kendall_tau_a(range(6), scores)) == pytest.approx(float(kendall_tau(range(6), order)))
    assert order_by_scores(dict(enumerate(scores.tolist()))) == order


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([], [], "equal length"),
        ([1, 2], [1], r"shapes \[2\] and \[1\]"),
        ([[1, 2]], [[1, 2]], "equal length"),
        ([1, 2], [1, math.nan], "finite"),
        ([1, math.inf], [1, 2], "finite"),
    ],
)
def test_invalid_tau(a, b, message):
    with pytest.raises(MetricInputError, match=message):
        float(kendall_tau_a(a, b))


def test_ties_are_broken_by_presented_slot():
    assert order_by_scores({0: 0.1, 1: 0.5, 2: 0.5, 3: 0.9}, [3, 2, 0, 1]) == [0, 2, 1, 3]
    assert order_by_scores({0: 1, 1: 1, 2: 1}, [2, 0, 1]) == [2, 0, 1]


def test_equal_scores_leak_nothing():
    """A scorer that says nothing must be worth exactly chance, also when ids count up in the right order."""
    shown = list(itertools.permutations(range(5)))
    orders = [order_by_scores(dict.fromkeys(range(5), 0.0), presented) for presented in shown]
    assert measure_orders([range(5)] * 120, orders).means() == pytest.approx(expected_measures(5))


@pytest.mark.parametrize(
    ("scores", "presented", "message"),
    [
        ({}, None, "no scores"),
        ({0: 1, 1: 1}, None, "scores tie"),
        ({0: 1, 1: math.nan}, [0, 1], "scores of 1 are not finite"),
        ({0: 1, 1: 2}, [0, 2], "differ in 1, 2"),
        ({0: 1, 1: 2}, [0, 0], "repeats 0"),
    ],
)
def test_invalid_scores(scores, presented, message):
    with pytest.raises(MetricInputError, match=f"item 7: .*{message}"):
        order_by_scores(scores, presented, where="item 7")

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from proctor.metrics.errors import MetricInputError
from proctor.metrics.hypothesis_tests import mcnemar
from proctor.metrics.power import (
    detectable_difference,
    mcnemar_detectable,
    mcnemar_power,
    planned_difference,
    planned_items,
)


def test_detectable_difference_of_independent_items_is_the_textbook_formula():
    rng = np.random.default_rng(2)
    differences = rng.normal(5, 40, 400)
    found = detectable_difference(differences, [str(i) for i in range(400)])
    textbook = (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * differences.std(ddof=1) / math.sqrt(400)
    assert found.difference == pytest.approx(textbook)
    assert found.design_effect == pytest.approx(1.0)
    assert planned_difference(400, float(differences.std(ddof=1))) == pytest.approx(textbook)


def test_detectable_difference_is_found_as_often_as_promised():
    """Shift the truth by the detectable difference: a clustered z-test must find it in about 80 % of worlds."""
    rng = np.random.default_rng(4)
    names = [str(i) for i in np.repeat(np.arange(100), 4)]

    def world(shift):
        return (rng.normal(0, 20, 100)[:, None] + rng.normal(shift, 30, (100, 4))).ravel()

    size = detectable_difference(world(0.0), names).difference
    found = 0
    for _ in range(300):
        sample = world(size)
        result = detectable_difference(sample, names)
        found += abs(sample.mean()) / result.standard_error > 1.96
    assert 0.7 <= found / 300 <= 0.9


def test_design_effect_of_copies_is_the_cluster_size():
    rng = np.random.default_rng(0)
    base = rng.normal(0, 40, 100)
    found = detectable_difference(np.repeat(base, 4), [str(i) for i in np.repeat(np.arange(100), 4)])
    assert found.design_effect == pytest.approx(4.0, rel=0.05)


def test_detectable_difference_undefined_cases_say_why():
    assert "fewer than two" in detectable_difference([], []).note
    assert "fewer than two" in detectable_difference([1.0, 2.0], ["r", "r"]).note
    assert "all differences are equal" in detectable_difference([5.0, 5.0], ["a", "b"]).note
    assert "only 3 clusters" in detectable_difference([5.0, 1.0, 2.0], ["a", "b", "c"]).note
    for options in {"power": 1.0}, {"alpha": 0.0}:
        with pytest.raises(ValueError, match="power and alpha"):
            detectable_difference([1.0, 2.0], ["a", "b"], **options)
    with pytest.raises(ValueError, match="out of range"):
        planned_difference(0, 1.0)


@settings(max_examples=40)
@given(st.floats(0.5, 30), st.floats(1, 60), st.floats(1, 4), st.sampled_from([0.5, 0.8, 0.95]))
def test_planned_items_and_planned_difference_are_inverse(difference, deviation, effect, power):
    n = planned_items(difference, deviation, design_effect=effect, power=power)
    assert planned_difference(n, deviation, design_effect=effect, power=power) <= difference * (1 + 1e-9)
    if n > 1:
        assert planned_difference(n - 1, deviation, design_effect=effect, power=power) > difference * (
            1 - 1e-9
        )


def test_planned_items_golden():
    """Textbook: 5 points, standard deviation 40, 80 % power at 5 %: (1.959964 + 0.841621)² · 64 = 502.3."""
    assert planned_items(5.0, 40.0) == 503
    assert planned_items(-5.0, 40.0) == 503
    assert planned_items(5.0, 40.0, design_effect=2.0) == 1005
    assert planned_items(5.0, 0.0) == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: planned_items(0.0, 1.0),
        lambda: planned_items(math.nan, 1.0),
        lambda: planned_items(1e-6, 1.0),
        lambda: planned_items(1.0, -1.0),
        lambda: planned_items(1.0, 1.0, power=1.0),
        lambda: mcnemar_power(100, 0.3, 0.2),
        lambda: mcnemar_power(100, 0.3, 0.0),
        lambda: mcnemar_power(0, 0.3, 0.4),
        lambda: mcnemar_detectable(10, 1.5),
    ],
)
def test_plans_out_of_range_are_refused(call):
    with pytest.raises(MetricInputError):
        call()


def brute_mcnemar_power(n, difference, discordant, alpha=0.05):
    only_b, only_a = (discordant + difference) / 2, (discordant - difference) / 2
    return sum(
        stats.multinomial.pmf([a, b, n - a - b], n, [only_a, only_b, 1 - only_a - only_b])
        for a in range(n + 1)
        for b in range(n + 1 - a)
        if mcnemar(a, b).p <= alpha
    )


@pytest.mark.parametrize(
    ("n", "difference", "discordant"),
    [(12, 0.3, 0.6), (25, -0.2, 0.3), (30, 0.0, 0.5), (20, 0.5, 0.5), (3, 1, 1)],
)
def test_mcnemar_power_equals_brute_force(n, difference, discordant):
    ours = mcnemar_power(n, difference, discordant)
    assert ours == pytest.approx(brute_mcnemar_power(n, difference, discordant), abs=1e-10)


def test_mcnemar_power_is_found_as_often_as_promised():
    rng = np.random.default_rng(5)
    promised = mcnemar_power(300, 0.08, 0.2)
    worlds = rng.multinomial(300, [0.06, 0.14, 0.8], size=1_000)
    found = np.mean([mcnemar(int(a), int(b)).p <= 0.05 for a, b, _ in worlds])
    assert found == pytest.approx(promised, abs=0.04)


def test_mcnemar_detectable_is_the_difference_with_that_power():
    found = mcnemar_detectable(400, 0.2)
    assert mcnemar_power(400, found.difference, 0.2) == pytest.approx(0.8, abs=1e-6)
    # Connor 1987 is a little optimistic against the exact test.
    assert found.difference == pytest.approx(planned_difference(400, math.sqrt(0.2)), rel=0.08)
    assert mcnemar_detectable(1_600, 0.2).difference < found.difference
    few = mcnemar_detectable(10, 0.3)
    assert few.difference is None
    assert "10 items are too few" in few.note

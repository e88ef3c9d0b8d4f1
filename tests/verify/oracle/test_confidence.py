from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.verify.oracle.confidence import Calibration, fit_calibration, load_calibration


def test_the_shipped_weights_rise_with_the_lean() -> None:
    shipped = load_calibration()
    assert shipped.slope > 0
    assert shipped.answers > 100
    assert shipped.groups
    assert shipped.probability(0.9) > 0.9 > 0.1 > shipped.probability(-0.9)


def test_fit_recovers_a_known_curve() -> None:
    rng, true = random.Random(1), Calibration(0.5, 3.0)
    leans = [rng.uniform(-1, 1) for _ in range(20_000)]
    labels = [rng.random() < true.probability(lean) for lean in leans]
    fitted = fit_calibration(leans, labels)
    assert fitted.intercept == pytest.approx(0.5, abs=0.1)
    assert fitted.slope == pytest.approx(3.0, abs=0.2)
    assert fitted.answers == 20_000


def test_fit_stays_finite_when_the_labels_are_separable() -> None:
    fitted = fit_calibration([-1.0, 1.0] * 50, [False, True] * 50)
    assert 0 < fitted.slope < 20


def test_fit_of_one_label() -> None:
    fitted = fit_calibration([0.5] * 10, [True] * 10)
    assert fitted.probability(0.5) > 0.5


@pytest.mark.parametrize(("leans", "labels"), [([], []), ([1.0], [])])
def test_fit_refuses_bad_input(leans: list[float], labels: list[bool]) -> None:
    with pytest.raises(ValueError, match="labels"):
        fit_calibration(leans, labels)


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_probability_is_monotone(one: float, other: float) -> None:
    curve = Calibration(-0.2, 3.0)
    low, high = sorted((one, other))
    assert 0.0 < curve.probability(low) <= curve.probability(high) < 1.0

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, log_loss
from statsmodels.stats.proportion import proportion_confint

from proctor.metrics.calibration import (
    brier_decomposition,
    brier_score,
    calibrated_ece,
    calibration_test,
    expected_calibration_error,
    maximum_calibration_error,
    negative_log_likelihood,
    reliability_bins,
)
from proctor.metrics.errors import MetricInputError

ITEMS = st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=1, max_size=40)
ALL = [
    expected_calibration_error,
    maximum_calibration_error,
    brier_score,
    negative_log_likelihood,
    reliability_bins,
    brier_decomposition,
    calibration_test,
]


def calibrated(n=2_000, seed=0):
    rng = np.random.default_rng(seed)
    confidence = rng.random(n)
    return (rng.random(n) < confidence).astype(float), confidence


# -- perfect, golden -------------------------------------------------------------------------------------------


def test_perfect():
    truth = [1, 0, 1, 1]
    assert expected_calibration_error(truth, truth).value == 0
    assert maximum_calibration_error(truth, truth).value == 0
    assert brier_score(truth, truth).value == 0
    assert negative_log_likelihood(truth, truth).value == 0


def test_golden_by_hand():
    """Bins [0, ½) and [½, 1]: gaps |0 - 0.2| over two items and |2/3 - 0.8| over three."""
    truth, stated = [0, 0, 1, 1, 0], [0.1, 0.3, 0.9, 1.0, 0.5]
    found = expected_calibration_error(truth, stated, bins=2)
    assert found.value == pytest.approx((2 * 0.2 + 3 * (0.8 - 2 / 3)) / 5)
    assert maximum_calibration_error(truth, stated, bins=2).value == pytest.approx(0.2)
    assert brier_score(truth, stated).value == pytest.approx((0.01 + 0.09 + 0.01 + 0 + 0.25) / 5)
    assert negative_log_likelihood(truth, stated).value == pytest.approx(
        -(math.log(0.9) + math.log(0.7) + math.log(0.9) + math.log(0.5)) / 5
    )
    assert str(found.signature) == "expected_calibration_error|binning:width|bins:2|edges:closed-open|norm:l1"


def test_worst_possible():
    assert expected_calibration_error([1, 0], [0.0, 1.0]).value == 1
    assert brier_score([1, 0], [0.0, 1.0]).value == 1
    infinite = negative_log_likelihood([1, 0, 1], [0.0, 1.0, 1.0])
    assert infinite.value == math.inf
    assert infinite.note == "infinite: 2 items came out as their confidence called impossible"


# -- bins ------------------------------------------------------------------------------------------------------


def test_edges_belong_to_the_bin_above_and_one_to_the_last():
    stated = [k / 10 for k in range(11)]
    found = reliability_bins([1] * 11, stated)
    assert found.counts.tolist() == [1] * 9 + [2]
    assert found.edges.tolist() == stated
    for k, value in enumerate(stated[:-1]):
        below = reliability_bins([1], [np.nextafter(value, -1)]) if k else None
        assert reliability_bins([1], [value]).counts[k] == 1
        assert below is None or below.counts[k - 1] == 1


def test_bins_hold_mean_share_and_wilson_interval():
    truth, stated = calibrated()
    found = reliability_bins(truth, stated, bins=5)
    for k in range(5):
        here = (stated >= k / 5) & ((stated < (k + 1) / 5) | (k == 4))
        assert found.counts[k] == here.sum()
        assert found.confidence[k] == pytest.approx(stated[here].mean())
        assert found.accuracy[k] == pytest.approx(truth[here].mean())
        wilson = proportion_confint(truth[here].sum(), here.sum(), method="wilson")
        assert (found.intervals[k].low, found.intervals[k].high) == pytest.approx(wilson)
        assert found.intervals[k].low < found.confidence[k] < found.intervals[k].high


def test_empty_bins_are_undefined_and_count_nothing():
    found = reliability_bins([1, 0], [0.95, 0.91])
    assert found.counts.tolist() == [0] * 9 + [2]
    assert np.isnan(found.accuracy[:9]).all()
    assert not found.intervals[0].defined
    figure = found.as_figure("title")
    assert figure.confidence[0] is figure.accuracy[0] is figure.low[0] is None
    assert figure.accuracy[9] == 0.5
    assert len(figure.edges) == 11
    assert figure.counts == (0,) * 9 + (2,)
    assert expected_calibration_error([1, 0], [0.95, 0.91]).value == pytest.approx(0.43)


@pytest.mark.parametrize("n", [1, 3, 10, 97, 500])
def test_bins_of_equal_mass_are_even(n):
    stated = np.random.default_rng(n).random(n)
    found = reliability_bins(np.ones(n), stated, bins=7, strategy="mass")
    assert found.counts.sum() == n
    assert found.counts.max() - found.counts.min() <= 1
    assert (np.diff(found.edges) >= 0).all()
    assert (found.edges[0], found.edges[-1]) == (0.0, 1.0)


def test_bins_of_equal_mass_never_tear_ties_apart():
    stated = [0.2] * 5 + [0.7] * 3 + [1.0] * 12
    found = reliability_bins([1] * 20, stated, bins=10, strategy="mass")
    assert found.counts.tolist() == [5, 3, 12]
    assert reliability_bins([1] * 4, [0.5] * 4, bins=3, strategy="mass").counts.tolist() == [4]


@settings(max_examples=40)
@given(ITEMS, st.integers(1, 8))
def test_bins_equal_scikit_learn(items, bins):
    truth, stated = (np.array(v, dtype=float) for v in zip(*items, strict=True))
    inner = np.arange(1, bins) / bins
    stated = np.where(
        np.isclose(stated[:, None], inner).any(axis=1), 0.123456 / bins, stated
    )  # their edges differ
    share, mean = calibration_curve(truth, stated, n_bins=bins)
    found = reliability_bins(truth, stated, bins=bins)
    full = found.counts > 0
    assert found.accuracy[full] == pytest.approx(share)
    assert found.confidence[full] == pytest.approx(mean)
    weights = found.counts[full] / len(items)
    assert expected_calibration_error(truth, stated, bins=bins).value == pytest.approx(
        (weights * np.abs(share - mean)).sum()
    )
    assert maximum_calibration_error(truth, stated, bins=bins).value == pytest.approx(
        np.abs(share - mean).max()
    )


def test_mass_bins_equal_scikit_learn():
    truth, stated = calibrated(700)
    share, mean = calibration_curve(truth, stated, n_bins=7, strategy="quantile")
    found = reliability_bins(truth, stated, bins=7, strategy="mass")
    assert found.accuracy == pytest.approx(share, abs=0.01)
    assert found.confidence == pytest.approx(mean, abs=0.001)


# -- properties ------------------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(ITEMS, st.randoms(use_true_random=False), st.sampled_from(["width", "mass"]))
def test_bounds_order_and_brier(items, random, strategy):
    truth, stated = zip(*items, strict=True)
    ece = expected_calibration_error(truth, stated, strategy=strategy)
    mce = maximum_calibration_error(truth, stated, strategy=strategy)
    assert 0 <= ece.value <= mce.value + 1e-12 <= 1 + 1e-9
    mixed = list(items)
    random.shuffle(mixed)
    again = zip(*mixed, strict=True)
    assert expected_calibration_error(*again, strategy=strategy) == ece
    brier = brier_score(truth, stated)
    assert brier.value == pytest.approx(brier_score_loss(truth, stated, pos_label=True), abs=1e-12)
    parts = brier_decomposition(truth, stated)
    assert parts.reliability - parts.resolution + parts.uncertainty == pytest.approx(brier.value, abs=1e-9)
    assert parts.reliability >= 0
    assert parts.resolution >= 0
    assert expected_calibration_error(truth, stated, bins=1).value == pytest.approx(
        abs(np.mean(truth) - np.mean(stated)), abs=1e-12
    )


@settings(max_examples=40)
@given(st.lists(st.tuples(st.booleans(), st.floats(0.001, 0.999)), min_size=1, max_size=30))
def test_nll_equals_scikit_learn(items):
    truth, stated = zip(*items, strict=True)
    ours = negative_log_likelihood(truth, stated).value
    assert ours == pytest.approx(log_loss(truth, stated, labels=[False, True]))


# -- chance ------------------------------------------------------------------------------------------------------


def test_calibrated_ece_is_what_a_calibrated_system_shows():
    _, stated = calibrated(300)
    rng = np.random.default_rng(3)
    shown = [
        expected_calibration_error((rng.random(300) < stated).astype(float), stated).value for _ in range(400)
    ]
    found = calibrated_ece(stated)
    assert found.value == pytest.approx(np.mean(shown), rel=0.05)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(shown, [0.025, 0.975])), abs=0.01)
    assert calibrated_ece(stated[::-1]) == found
    assert calibrated_ece(stated[:50]).value > found.value
    assert calibrated_ece([0.0, 1.0, 1.0]).value == 0


@pytest.mark.parametrize("strategy", ["width", "mass"])
def test_calibration_test_keeps_its_level_and_finds_what_is_off(strategy):
    rng = np.random.default_rng(5)
    alarms = 0
    for _ in range(150):
        stated = rng.random(120)
        p = calibration_test(
            (rng.random(120) < stated).astype(float), stated, strategy=strategy, resamples=200
        ).p
        alarms += p <= 0.05
    assert alarms / 150 <= 0.1
    truth, stated = calibrated(500)
    off = calibration_test(truth, stated**0.4, strategy=strategy)
    assert off.p == pytest.approx(1 / 2_001)
    assert off.statistic == expected_calibration_error(truth, stated**0.4, strategy=strategy).value
    perfect = calibration_test([0, 1], [0.0, 1.0], strategy=strategy)
    assert (perfect.p, perfect.statistic) == (1.0, 0.0)


def test_draws_do_not_depend_on_chunks_and_are_checked(monkeypatch):
    truth, stated = calibrated(60)
    first = calibration_test(truth, stated, resamples=100)
    monkeypatch.setattr("proctor.metrics.calibration._CELLS", 500)
    assert calibration_test(truth, stated, resamples=100) == first
    assert calibration_test([], []).note == "there are no items"
    assert calibrated_ece([]).note == "there are no items"
    with pytest.raises(MetricInputError, match="resamples"):
        calibrated_ece([0.5], resamples=0)
    with pytest.raises(MetricInputError, match="confidence"):
        calibrated_ece([0.5], level=95)


def test_few_items_a_bin_are_noted():
    truth, stated = calibrated(50)
    assert "50 items in 10 bins: biased upwards" in expected_calibration_error(truth, stated).note
    assert expected_calibration_error(truth, stated, bins=5).note == ""
    assert "decided by a bin of 1 items" in maximum_calibration_error([1], [0.4]).note


# -- empty, invalid --------------------------------------------------------------------------------------------


def test_empty():
    for metric in ALL[:4]:
        found = metric([], [])
        assert math.isnan(found.value)
        assert (found.n, found.note) == (0, "there are no items")
    assert reliability_bins([], []).counts.tolist() == [0] * 10
    assert reliability_bins([], [], strategy="mass").counts.sum() == 0
    with pytest.raises(MetricInputError, match="no items"):
        brier_decomposition([], [])


@pytest.mark.parametrize("metric", ALL)
@pytest.mark.parametrize(
    ("truth", "stated", "message"),
    [
        ([1, 0], [0.5], r"correct has shape \(2,\), confidence \(1,\)"),
        ([2], [0.5], r"correct must be yes/no, number 0 \(from 0\) is 2"),
        ([math.nan], [0.5], "correct must be yes/no"),
        ([1, 1], [0.5, 87.0], r"number 1 \(from 0\) is 87; divide percentages by 100"),
        ([1], [-0.1], "between 0 and 1"),
        ([1], [math.nan], "is nan; leave out"),
        ([[1]], [[0.5]], "one of each per item"),
        (["yes"], [0.5], "two flat lists of numbers"),
    ],
)
def test_invalid(metric, truth, stated, message):
    with pytest.raises(MetricInputError, match=message):
        metric(truth, stated)


@pytest.mark.parametrize("options", [{"bins": 0}, {"bins": 2.5}, {"bins": True}, {"strategy": "quantile"}])
def test_options_are_checked(options):
    for metric in (reliability_bins, expected_calibration_error, maximum_calibration_error):
        with pytest.raises(MetricInputError, match="bins"):
            metric([1], [0.5], **options)

"""Curves on a grid: equal to scikit-learn's, held by their bands, undefined where the metrics are."""

from __future__ import annotations

import numpy as np
import pytest

from proctor.metrics.classification import roc_auc
from proctor.metrics.curves import precision_recall_band, roc_band


def planted(n: int = 400, recordings: int = 20, ties: bool = True):
    rng = np.random.default_rng(3)
    names = [f"r{k % recordings}" for k in range(n)]
    labels = rng.random(n) < 0.35
    scores = rng.normal(size=n) + labels + (np.arange(n) % recordings) / 20
    return labels, np.round(scores, 1) if ties else scores, names


def test_the_roc_curve_encloses_the_area_that_roc_auc_says() -> None:
    labels, scores, names = planted()
    band = roc_band(labels, scores, names, points=20_001, resamples=0)
    assert np.trapezoid(band.y, band.x) == pytest.approx(roc_auc(labels, scores).value, abs=1e-4)
    assert np.isnan(band.low).all()


@pytest.mark.parametrize("ties", [True, False])
def test_both_curves_agree_with_scikit_learn(ties: bool) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    labels, scores, names = planted(ties=ties)
    false, true, _ = metrics.roc_curve(labels, scores, drop_intermediate=False)
    band = roc_band(labels, scores, names, resamples=0)
    assert band.y == pytest.approx(np.interp(band.x, false, true))
    precision, recall, _ = metrics.precision_recall_curve(labels, scores)
    band = precision_recall_band(labels, scores, names, resamples=0)
    highest = [precision[: np.flatnonzero(recall >= r - 1e-12).max() + 1][-1] for r in band.x]
    assert band.y == pytest.approx(highest)
    assert band.y[-1] == precision[np.flatnonzero(recall == 1).max()]


@pytest.mark.parametrize("draw", [roc_band, precision_recall_band])
def test_the_band_holds_the_curve_and_is_the_same_again(draw) -> None:
    labels, scores, names = planted()
    band, again = (draw(labels, scores, names, resamples=300) for _ in range(2))
    assert (band.low <= band.high).all()
    inside = (band.low - 1e-9 <= band.y) & (band.y <= band.high + 1e-9)
    assert inside.mean() > 0.95
    assert (band.high - band.low)[20:80].min() > 0.01
    assert (again.low.tolist(), again.high.tolist()) == (band.low.tolist(), band.high.tolist())


def test_whole_recordings_are_drawn() -> None:
    """When all recordings are alike there is no variation between them; when items are drawn there would be."""
    labels, scores = np.tile([0, 1, 0, 1], 5), np.tile([0.1, 0.2, 0.3, 0.4], 5)
    band = roc_band(labels, scores, [f"r{k // 4}" for k in range(20)], resamples=50)
    assert band.low.tolist() == pytest.approx(band.high.tolist())


@pytest.mark.parametrize("draw", [roc_band, precision_recall_band])
@pytest.mark.parametrize(("labels", "names"), [([0, 0], ["a", "b"]), ([1, 1], ["a", "b"]), ([], [])])
def test_without_both_classes_there_is_no_curve(draw, labels: list[int], names: list[str]) -> None:
    band = draw(labels, [0.1, 0.2][: len(labels)], names, points=5)
    assert np.isnan(band.y).all()
    assert np.isnan(band.low).all()


def test_one_recording_has_a_curve_and_no_band() -> None:
    band = roc_band([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4], ["a"] * 4, points=5)
    assert band.y.tolist() == [0.5, 0.5, 1.0, 1.0, 1.0]
    assert np.isnan(band.high).all()

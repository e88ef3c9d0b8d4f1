"""ROC and precision-recall curves on a grid, with pointwise bands from drawing whole recordings.

Conventions are those of ``proctor.metrics.classification``: the positive class is the mistake, ties are one point.
ROC curves are interpolated linearly (Fawcett 2006), precision is not (Davis and Goadrich 2006): at a recall it is that of
the highest threshold that reaches it. A band is pointwise: at each place it holds the curve at its level, not the whole
curve at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from proctor.metrics.bootstrap import Floats, interval_tails, iter_draws
from proctor.metrics.separation import Ranking

__all__ = ["CurveBand", "precision_recall_band", "roc_band"]

_CELLS: Final = 2_000_000
"""Weights worked on at a time (about 16 MB)."""


@dataclass(frozen=True, slots=True)
class CurveBand:
    """A curve and its band; all of shape (points,), ``low`` and ``high`` are ``nan`` where there is no band.

    Attributes:
        x: false-positive rate, or recall.
        y: true-positive rate, or precision.
        low: lower border.
        high: upper border.
    """

    x: Floats
    y: Floats
    low: Floats
    high: Floats


def roc_band(
    reference: ArrayLike,
    scores: ArrayLike,
    clusters: Sequence[str],
    *,
    points: int = 101,
    confidence: float = 0.95,
    resamples: int = 1_000,
    seed: int = 0,
) -> CurveBand:
    """Return the ROC curve: true-positive rate by false-positive rate.

    Args:
        reference: 1 or True for a mistake; shape (n,).
        scores: higher means more likely a mistake; shape (n,).
        clusters: recording of each item; whole recordings are drawn.
        points: of the grid from 0 to 1.
        confidence: of the band at each point.
        resamples: draws; 0 leaves the band out.
        seed: of the draws.

    Returns:
        The curve; ``nan`` everywhere when one of the classes is missing.

    Raises:
        MetricInputError: if shapes differ or a score is not finite.
    """
    grid = np.linspace(0.0, 1.0, points)
    ranking = Ranking.of(reference, scores, clusters)
    return _band(ranking, grid, _true_positive_rates, confidence, resamples, seed)


def precision_recall_band(
    reference: ArrayLike,
    scores: ArrayLike,
    clusters: Sequence[str],
    *,
    points: int = 100,
    confidence: float = 0.95,
    resamples: int = 1_000,
    seed: int = 0,
) -> CurveBand:
    """Return the precision-recall curve on a grid without recall 0, where precision has no value; see ``roc_band``."""
    grid = np.linspace(0.0, 1.0, points + 1)[1:]
    ranking = Ranking.of(reference, scores, clusters)
    return _band(ranking, grid, _precisions, confidence, resamples, seed)


_OnGrid = Callable[[Floats, Floats, Floats], Floats]
"""From one weighting's positives and all items at or above each score, and the grid, to the curve on the grid."""


def _band(
    ranking: Ranking, grid: Floats, curve: _OnGrid, confidence: float, resamples: int, seed: int
) -> CurveBand:
    y = _curves(ranking, np.ones((1, ranking.clusters)), grid, curve)[0]
    none = np.full(grid.size, np.nan)
    if resamples < 1 or ranking.clusters < 2 or np.isnan(y).all():
        return CurveBand(grid, y, none, none)
    rng = np.random.default_rng(seed)
    drawn = np.concatenate(
        [
            _curves(ranking, counts, grid, curve)
            for counts in iter_draws(ranking.clusters, resamples=resamples, rng=rng)
        ]
    )
    drawn = drawn[~np.isnan(drawn).any(axis=1)]
    if not len(drawn):
        return CurveBand(grid, y, none, none)
    low, high = np.quantile(drawn, interval_tails(confidence, ranking.clusters), axis=0)
    return CurveBand(grid, y, low, high)


def _curves(ranking: Ranking, weights: Floats, grid: Floats, curve: _OnGrid) -> Floats:
    """Return one curve a weighting, shape (weightings, points); ``nan`` where one class has no weight."""
    found = np.full((len(weights), grid.size), np.nan)
    if not ranking.positive.size:
        return found
    ends = np.append(ranking.starts[1:], ranking.positive.size) - 1
    step = max(1, _CELLS // ranking.positive.size)
    for first in range(0, len(weights), step):
        each = weights[first : first + step][:, ranking.cluster]
        hits = np.cumsum(each * ranking.positive, axis=1)[:, ends]
        all_ = np.cumsum(each, axis=1)[:, ends]
        for k, (hit, every) in enumerate(zip(hits, all_, strict=True), start=first):
            if 0 < hit[-1] < every[-1]:
                found[k] = curve(hit, every, grid)
    return found


def _true_positive_rates(hits: Floats, all_: Floats, grid: Floats) -> Floats:
    false = all_ - hits
    rates = np.append(0.0, false / false[-1]), np.append(0.0, hits / hits[-1])
    result: Floats = np.interp(grid, *rates)
    return result


def _precisions(hits: Floats, all_: Floats, grid: Floats) -> Floats:
    recall = hits / hits[-1]
    at = np.minimum(np.searchsorted(recall, grid - 1e-12), recall.size - 1)
    result: Floats = hits[at] / all_[at]
    return result

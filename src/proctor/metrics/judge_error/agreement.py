"""Marks on any scale: how far a judge can be trusted."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from proctor.metrics.bootstrap import Floats, bootstrap_interval, cluster_sums, require_sizes
from proctor.metrics.errors import MetricInputError
from proctor.metrics.interval import Interval, wilson_interval
from proctor.metrics.score import Score, Signature

__all__ = ["judge_accuracy", "judge_correlation"]


def judge_accuracy(
    human: ArrayLike,
    judge: ArrayLike,
    *,
    clusters: Sequence[str] | None = None,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Score:
    """Share of items on which judge and people give the same mark, on any scale (ProMQA).

    Args:
        human: marks by people, shape (items,).
        judge: marks by the judge for the same items, same scale.
        clusters: cluster of each item; None when items are independent (then the interval is Wilson's).
        confidence: of the interval.
        resamples: draws of the clustered bootstrap (BCa); 0 leaves it out.
        seed: of the draws.

    Returns:
        The share, 0 to 1; undefined without items.

    Raises:
        MetricInputError: if lengths differ, a mark is not finite or an option is out of range.
    """
    truth, said = _marks_of_both(human, judge, clusters)
    signature = Signature("judge_accuracy", {"cluster": "item" if clusters is None else "given"})
    if not truth.size:
        return Score(math.nan, signature, 0, note="there are no items")
    same = truth == said
    if clusters is None:
        interval = wilson_interval(int(same.sum()), same.size, confidence)
    elif resamples:
        sums = cluster_sums([same.astype(np.float64), np.ones(same.size)], clusters)
        interval = bootstrap_interval(sums, confidence=confidence, resamples=resamples, seed=seed)
    else:
        interval = Interval(None, None, "none")
    value = float(same.mean())
    signature = signature.having(interval=interval.method)
    return Score(value, signature, truth.size, interval.low, interval.high, note=interval.note)


def judge_correlation(
    human: ArrayLike,
    judge: ArrayLike,
    *,
    clusters: Sequence[str] | None = None,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Score:
    """Pearson's correlation of a judge's marks with people's (ProMQA), with a bootstrap interval.

    A judge may correlate perfectly and still be too strict everywhere: look at ``judge_accuracy`` or the mean difference too.

    Args:
        human: marks by people, shape (items,).
        judge: marks by the judge for the same items, any unit.
        clusters: cluster of each item; None when items are independent.
        confidence: of the interval (BCa).
        resamples: draws; 0 leaves the interval out. Draws in which either side is constant are left out.
        seed: of the draws.

    Returns:
        The correlation, -1 to 1; undefined with fewer than two items or when either gives one mark only.

    Raises:
        MetricInputError: if lengths differ, a mark is not finite or an option is out of range.
    """
    truth, said = _marks_of_both(human, judge, clusters)
    signature = Signature(
        "judge_correlation", {"cluster": "item" if clusters is None else "given", "kind": "pearson"}
    )
    if truth.size < 2:
        return Score(math.nan, signature, truth.size, note="a correlation needs two items")
    # Centred and scaled first: sums of squares of large marks would lose their digits.
    x, y = (_standard(values) for values in (truth, said))
    if x is None or y is None:
        who = "people give" if x is None else "the judge gives"
        return Score(math.nan, signature, truth.size, note=f"{who} every item the same mark")
    columns = [np.ones(x.size), x, y, x * y, x * x, y * y]
    if clusters is None:
        order = np.lexsort((y, x))
        sums = np.stack(columns, axis=1)[order]
    else:
        sums = cluster_sums(columns, clusters)
    value = float(_correlation(sums.sum(axis=0, keepdims=True))[0])
    if not resamples:
        return Score(value, signature, truth.size)
    interval = bootstrap_interval(sums, _correlation, confidence=confidence, resamples=resamples, seed=seed)
    signature = signature.having(interval=interval.method, resamples=str(resamples), seed=str(seed))
    return Score(value, signature, truth.size, interval.low, interval.high, note=interval.note)


def _marks_of_both(
    human: ArrayLike, judge: ArrayLike, clusters: Sequence[str] | None
) -> tuple[Floats, Floats]:
    try:
        truth, said = (np.asarray(values, dtype=np.float64) for values in (human, judge))
    except (TypeError, ValueError):
        raise MetricInputError("marks must be two flat lists of numbers") from None
    if truth.ndim != 1 or truth.shape != said.shape:
        raise MetricInputError(
            f"human marks have shape {truth.shape}, judge marks {said.shape}", "give both for each item"
        )
    if not (np.isfinite(truth).all() and np.isfinite(said).all()):
        raise MetricInputError(
            "marks must be finite", "leave out items that either did not mark and count them"
        )
    if clusters is not None and len(clusters) != truth.size:
        raise MetricInputError(f"{truth.size} items, {len(clusters)} clusters")
    require_sizes(np.concatenate([truth, said]))
    return truth, said


def _standard(values: Floats) -> Floats | None:
    centred = values - math.fsum(values) / values.size
    spread = float(np.abs(centred).max())
    if spread <= 1e-12 * float(np.abs(values).max()):
        return None
    result: Floats = centred / spread
    return result


def _correlation(sums: Floats) -> Floats:
    """Pearson's r of rows of (n, Σx, Σy, Σxy, Σx², Σy²); nan where a side is constant."""
    n, x, y, xy, xx, yy = sums.T
    spread_x, spread_y = n * xx - x * x, n * yy - y * y
    # What is left by rounding when all drawn marks of a side are equal is no spread.
    good = (spread_x > 1e-12 * n * xx) & (spread_y > 1e-12 * n * yy)
    root = np.sqrt(np.where(good, spread_x * spread_y, 1.0))
    result: Floats = np.where(good, np.clip((n * xy - x * y) / root, -1.0, 1.0), np.nan)
    return result

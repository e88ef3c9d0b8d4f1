"""Means of people's marks on some items, sharpened by a judge's on all (prediction-powered)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proctor.metrics.bootstrap import FEW_CLUSTERS, Floats, require_sizes
from proctor.metrics.errors import MetricInputError
from proctor.metrics.interval import normal_quantile, require_confidence
from proctor.metrics.judge_error.rates import FEW_LABELS
from proctor.metrics.score import Score, Signature

__all__ = ["prediction_powered_mean"]


def prediction_powered_mean(
    human: Sequence[float | None] | Floats,
    judge: ArrayLike,
    *,
    clusters: Sequence[str] | None = None,
    tuned: bool = False,
    confidence: float = 0.95,
) -> Score:
    """Mean that people would have given, from their marks on some items and a judge's marks on all.

    With f for the judge, Y for people, ``mean = w·mean(f on items without Y) + mean(Y - w·f on items with Y)``. The weight
    w is 1 (Angelopoulos et al. 2023), or, ``tuned``, ``cov(Y, f) / ((1 + n/N) var(f))`` for n marked and N other items
    (PPI++), which is never worse than people's marks alone when n is large. The interval is normal, with the variances of
    both parts (divided by counts less one), or by cluster when clusters are given.

    Args:
        human: marks by people, shape (items,); None or nan where nobody judged. *Which* items people judged must not depend
            on the answers: draw them at random.
        judge: marks by the judge for all items, same unit.
        clusters: cluster (recording) of each item; None when items are independent.
        tuned: choose w from the data instead of 1.
        confidence: of the interval.

    Returns:
        The mean in the unit of the marks, ``n`` all items. Undefined when nobody judged anything. With a human mark on every
        item it is the plain mean of these.

    Raises:
        MetricInputError: if lengths differ, a judge's mark is missing or a mark is infinite.
    """
    require_confidence(confidence)
    truth, said = _human_marks(human), np.asarray(judge, dtype=np.float64)
    if said.ndim != 1 or truth.size != said.size:
        raise MetricInputError(
            f"{truth.size} human marks for judge marks of shape {said.shape}",
            "give one of each per item; None where nobody judged",
        )
    if not np.isfinite(said).all():
        raise MetricInputError(
            "the judge must have marked every item", "leave out what it failed on and count it"
        )
    if clusters is not None and len(clusters) != said.size:
        raise MetricInputError(f"{said.size} items, {len(clusters)} clusters")
    here = ~np.isnan(truth)
    require_sizes(np.concatenate([truth[here], said]))
    n, others = int(here.sum()), int((~here).sum())
    base = Signature(
        "prediction_powered_mean",
        {
            "cluster": "item" if clusters is None else "given",
            "confidence": f"{confidence:g}",
            "labels": str(n),
        },
    )
    if not n:
        return Score(math.nan, base.having(weight="none"), said.size, note="nobody judged any item")
    weight = _weight(truth[here], said[here], said, others, tuned=tuned)
    signature = base.having(weight="tuned" if tuned else f"{weight:g}")
    rectifier = truth[here] - weight * said[here]
    value = math.fsum(rectifier) / n
    parts = np.zeros(said.size)
    parts[here] = (rectifier - value) / n
    if others and weight:
        mean = math.fsum(said[~here]) / others
        parts[~here] = weight * (said[~here] - mean) / others
        value += weight * mean
    error, note = _standard_error(parts, here, n, others, clusters)
    if tuned:
        note = "; ".join(filter(None, (note, f"weight of the judge {weight:.3f}")))
    if error is None:
        return Score(value, signature, said.size, note=note)
    half = normal_quantile(0.5 + confidence / 2) * error
    return Score(value, signature, said.size, value - half, value + half, note=note)


def _human_marks(human: Sequence[float | None] | Floats) -> Floats:
    try:
        marks = np.array([math.nan if mark is None else mark for mark in human], dtype=np.float64)
    except (TypeError, ValueError):
        raise MetricInputError(
            "human marks must be one flat list of numbers, None where nobody judged"
        ) from None
    if marks.ndim != 1 or np.isinf(marks).any():
        raise MetricInputError(
            "human marks must be one flat list of finite numbers, None where nobody judged"
        )
    return marks


def _weight(truth: Floats, labelled: Floats, said: Floats, others: int, *, tuned: bool) -> float:
    """Weight of the judge; without items that only the judge marked it has nothing to say."""
    if not others:
        return 0.0
    if not tuned:
        return 1.0
    if truth.size < 2 or (spread := float(said.var(ddof=1))) <= 0:
        return 0.0
    together = float(((truth - truth.mean()) * (labelled - labelled.mean())).sum()) / (truth.size - 1)
    return min(1.0, max(0.0, together / ((1 + truth.size / others) * spread)))


def _standard_error(
    parts: Floats, here: NDArray[np.bool_], n: int, others: int, clusters: Sequence[str] | None
) -> tuple[float | None, str]:
    """Standard error from each item's part in the deviation of the estimate."""
    if clusters is not None:
        _, index = np.unique(np.asarray(clusters, dtype=np.str_), return_inverse=True)
        sums = np.bincount(index, weights=parts)
        marked = np.unique(index[here]).size
        if marked < 2:
            return None, "people judged items of one cluster: variation between clusters is unknown"
        note = (
            f"people judged items of only {marked} clusters: the interval is too narrow"
            if marked < FEW_CLUSTERS
            else ""
        )
        # The smaller number of clusters that hold human marks decides how much is lost to estimating the mean.
        return math.sqrt(marked / (marked - 1) * float((sums**2).sum())), note
    if n < 2 or others == 1:
        return None, "one item judged: variation is unknown" if n < 2 else "one item without a human mark"
    variance = float((parts[here] ** 2).sum()) * n / (n - 1)
    if others:
        variance += float((parts[~here] ** 2).sum()) * others / (others - 1)
    note = f"only {n} items judged by people: the interval is too narrow" if n < FEW_LABELS else ""
    return math.sqrt(variance), note

"""Confidences in bins: stated against what came true."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proctor.metrics.bootstrap import Floats
from proctor.metrics.errors import MetricInputError
from proctor.metrics.figure import Reliability
from proctor.metrics.interval import Interval, wilson_interval
from proctor.metrics.score import Signature

__all__ = [
    "BinStrategy",
    "ReliabilityBins",
    "bin_edges",
    "bin_of",
    "bin_signature",
    "marks_and_confidences",
    "reliability_bins",
]


BinStrategy = Literal["width", "mass"]


@dataclass(frozen=True, slots=True)
class ReliabilityBins:
    """Confidence against what came true, in bins.

    Attributes:
        edges: borders of the bins, shape (bins + 1,).
        counts: items in each bin, shape (bins,).
        confidence: mean confidence of each bin; nan for an empty bin.
        accuracy: share that came true; nan for an empty bin.
        intervals: Wilson interval of each share; without ends for an empty bin.
        strategy: how the edges were found.
    """

    edges: Floats
    counts: NDArray[np.int64]
    confidence: Floats
    accuracy: Floats
    intervals: tuple[Interval, ...]
    strategy: BinStrategy

    @property
    def gaps(self) -> Floats:
        """|share that came true - mean confidence| of each bin; nan for an empty bin."""
        result: Floats = np.abs(self.accuracy - self.confidence)
        return result

    def as_figure(self, title: str) -> Reliability:
        """Return the reliability diagram as data."""

        def plain(values: Floats) -> tuple[float | None, ...]:
            return tuple(None if math.isnan(v) else float(v) for v in values)

        return Reliability(
            title=title,
            confidence=plain(self.confidence),
            accuracy=plain(self.accuracy),
            low=tuple(i.low for i in self.intervals),
            high=tuple(i.high for i in self.intervals),
            counts=tuple(int(n) for n in self.counts),
            edges=tuple(float(e) for e in self.edges),
        )


def marks_and_confidences(correct: ArrayLike, confidence: ArrayLike) -> tuple[Floats, Floats]:
    """Return what came true and what was stated, and make sure that they fit."""
    try:
        truth = np.asarray(correct, dtype=np.float64)
        stated = np.asarray(confidence, dtype=np.float64)
    except (TypeError, ValueError):
        raise MetricInputError("correct and confidence must be two flat lists of numbers") from None
    if truth.ndim != 1 or truth.shape != stated.shape:
        raise MetricInputError(
            f"correct has shape {truth.shape}, confidence {stated.shape}", "give one of each per item"
        )
    wrong = np.flatnonzero((truth != 0) & (truth != 1))
    if wrong.size:
        raise MetricInputError(f"correct must be yes/no, number {wrong[0]} (from 0) is {truth[wrong[0]]:g}")
    wrong = np.flatnonzero(~((stated >= 0) & (stated <= 1)))
    if wrong.size:
        seen = stated[wrong[0]]
        raise MetricInputError(
            f"a confidence lies between 0 and 1, number {wrong[0]} (from 0) is {seen:g}",
            "divide percentages by 100" if 1 < seen <= 100 else "leave out items without one and count them",
        )
    return truth, stated


def bin_of(stated: Floats, edges: Floats) -> NDArray[np.intp]:
    """Number of each confidence's bin: half-open, the last one closed."""
    return np.searchsorted(edges[1:-1], stated, side="right")


def bin_edges(stated: Floats, bins: Any, strategy: str) -> Floats:
    """Borders of the bins, of equal width or with equally many items."""
    if strategy not in get_args(BinStrategy):
        raise MetricInputError(f"bins must be of equal 'width' or 'mass', got {strategy!r}")
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 1:
        raise MetricInputError(f"the number of bins must be a whole number from 1 on, got {bins!r}")
    if strategy == "width" or not stated.size:
        # Not linspace: its seventh edge of ten is 0.7000000000000001, and 0.7 would lie below it.
        edges: Floats = np.arange(bins + 1) / bins
        return edges
    ordered = np.sort(stated)
    inner = ordered[np.arange(1, bins) * stated.size // bins]
    inner = np.unique(inner[inner > ordered[0]])
    return np.concatenate([[0.0], inner, [1.0]])


def reliability_bins(
    correct: ArrayLike,
    confidence: ArrayLike,
    *,
    bins: int = 10,
    strategy: BinStrategy = "width",
    interval_confidence: float = 0.95,
) -> ReliabilityBins:
    """Put items into bins of confidence and count what came true in each.

    Args:
        correct: yes/no, shape (items,).
        confidence: 0 to 1, shape (items,).
        bins: how many.
        strategy: ``width``: all as wide, ``k / bins``; ``mass``: as many items in each as ties allow.
        interval_confidence: of the Wilson intervals.

    Raises:
        MetricInputError: if lengths differ, a value is out of range or an option is unknown.
    """
    truth, stated = marks_and_confidences(correct, confidence)
    edges = bin_edges(stated, bins, strategy)
    size = edges.size - 1
    index = bin_of(stated, edges)
    counts = np.bincount(index, minlength=size)
    # Confidences are added in order, so that the order of the items does not change the last digit.
    order = np.lexsort((stated, index))
    sums = np.bincount(index[order], weights=stated[order], minlength=size)
    right = np.bincount(index, weights=truth, minlength=size)
    with np.errstate(invalid="ignore"):
        mean, share = sums / counts, right / counts
    intervals = tuple(
        wilson_interval(int(k), int(n), interval_confidence) for k, n in zip(right, counts, strict=True)
    )
    return ReliabilityBins(edges, counts, mean, share, intervals, strategy)


def bin_signature(name: str, bins: int, strategy: str) -> Signature:
    """Return the signature of a score over bins."""
    return Signature(name, {"bins": str(bins), "binning": strategy, "edges": "closed-open", "norm": "l1"})

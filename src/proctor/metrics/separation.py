"""How well a number tells two groups apart: ROC-AUC, average precision, equal error rate, also under many weightings.

Conventions: a higher score means "more of the positive class" (a mistake, an anomaly). Ties are treated as one
point of the curve, so the order of the input never matters. ``Ranking`` sorts once; its curves are then computed
for whole matrices of cluster counts (one row a resample of the bootstrap), which is why this is own code: ten
thousand resamples cost about as much as a hundred calls of scikit-learn.

References: Mann and Whitney (1947) for the area under the ROC curve; Davis and Goadrich (2006) for not
interpolating between points of the precision-recall curve; Fawcett (2006) for interpolating the ROC linearly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proctor.metrics.errors import MetricInputError

__all__ = ["Ranking", "binary_labels", "finite_scores"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_CELLS = 200_000
"""Weights worked on at a time: a few matrices of this size fit into a processor's cache (measured, twice as fast)."""

_PAIRS_AN_ITEM = 100
"""Up to this many pairs of clusters an item, counting pairs once is cheaper than walking for every weighting."""


def binary_labels(values: ArrayLike, name: str = "reference") -> Flags:
    """Return labels as booleans: True for the positive class (a mistake).

    Args:
        values: booleans, or numbers that are 0 or 1; shape (n,).
        name: of the argument, for messages.

    Raises:
        MetricInputError: for anything else, with the first wrong value and its position.
    """
    array = _one_dimension(values, name)
    if array.dtype == np.bool_:
        return array
    if array.size == 0:
        return np.zeros(0, dtype=np.bool_)
    if array.dtype.kind not in "iuf":
        raise MetricInputError(
            f"{name} must hold true/false or 0/1, got {array.flat[0]!r}", "map your classes to 0 and 1"
        )
    wrong = np.flatnonzero((array != 0) & (array != 1))
    if wrong.size:
        raise MetricInputError(
            f"{name} must hold true/false or 0/1, got {array[wrong[0]]!s} at position {wrong[0]}",
            "map your classes to 0 and 1, or threshold your scores first",
        )
    return array.astype(np.bool_)


def finite_scores(values: ArrayLike, name: str = "scores") -> Floats:
    """Return scores as finite floats, shape (n,).

    Raises:
        MetricInputError: if a value is not a number or not finite, with its position.
    """
    array = _one_dimension(values, name)
    if array.size == 0:
        return np.zeros(0)
    if array.dtype.kind not in "biuf":
        raise MetricInputError(f"{name} must be numbers, got {array.flat[0]!r}")
    result = array.astype(np.float64)
    wrong = np.flatnonzero(~np.isfinite(result))
    if wrong.size:
        raise MetricInputError(
            f"{name} must be finite, got {result[wrong[0]]} at position {wrong[0]}",
            "leave failed items out and count them as failed",
        )
    return result


def _one_dimension(values: ArrayLike, name: str) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError:
        raise MetricInputError(f"{name} must be a flat list of equal things, got a ragged one") from None
    if array.ndim != 1:
        raise MetricInputError(f"{name} must have one dimension, got shape {array.shape}")
    return array


@dataclass(frozen=True)
class Ranking:
    """Items sorted by falling score, ready for curves under many weightings of their clusters.

    Attributes:
        positive: which items are of the positive class, highest score first; shape (n,).
        cluster: index of the cluster of each item, in the same order; shape (n,).
        starts: where each group of tied items begins; shape (groups,).
        clusters: how many clusters there are.
    """

    positive: Flags
    cluster: NDArray[np.int64]
    starts: NDArray[np.int64]
    clusters: int

    @classmethod
    def of(cls, reference: ArrayLike, scores: ArrayLike, clusters: Sequence[str] | None = None) -> Ranking:
        """Sort items by score.

        Args:
            reference: 1 or True for the positive class; shape (n,).
            scores: higher means more of the positive class; shape (n,).
            clusters: what is drawn together (the recording); all items are one cluster when not given. Weights
                are per cluster, clusters sorted by name.

        Raises:
            MetricInputError: if shapes differ or a value has no meaning.
        """
        labels, values = binary_labels(reference), finite_scores(scores)
        if labels.size != values.size:
            raise MetricInputError(
                f"reference and scores must be parallel, got {labels.size} and {values.size}"
            )
        if clusters is not None and len(clusters) != labels.size:
            raise MetricInputError(f"one cluster an item is needed, got {len(clusters)} for {labels.size}")
        if clusters is None:
            names, index = np.zeros(1), np.zeros(labels.size, dtype=np.int64)
        else:
            names, index = np.unique(np.asarray(clusters, dtype=np.str_), return_inverse=True)
        order = np.argsort(-values, kind="stable")
        ranked = values[order]
        starts = np.flatnonzero(np.concatenate([[labels.size > 0], ranked[1:] != ranked[:-1]]))
        return cls(labels[order], index[order].astype(np.int64), starts.astype(np.int64), names.size)

    def roc_auc(self, counts: Floats | None = None) -> Floats:
        """Area under the ROC curve, ties half; ``nan`` where one class has no weight.

        Args:
            counts: how often each cluster counts, shape (resamples, clusters); once when not given.

        Returns:
            Shape (resamples,).
        """
        weights = self._weights(counts)
        many = self.clusters <= len(weights) and self.clusters**2 <= _PAIRS_AN_ITEM * self.positive.size
        return self._by_pairs(weights) if many else self._walked(weights, _roc_auc)

    def within_roc_auc(self, counts: Floats | None = None) -> Floats:
        """ROC-AUC over the pairs that lie in one cluster, ties half; ``nan`` where there is no such pair.

        A cluster that counts twice is two clusters that are alike: it has its own pairs twice, and no pair of an
        item of the one copy with an item of the other. Arguments and result as for ``roc_auc``.
        """
        weights = self._weights(counts)
        won, pairs = self._pairs_within
        with np.errstate(invalid="ignore", divide="ignore"):
            result: Floats = (weights @ won) / (weights @ pairs)
        return result

    def between_roc_auc(self, counts: Floats | None = None) -> Floats:
        """ROC-AUC over the pairs that lie in two different clusters, ties half; ``nan`` where there is none.

        Two copies of one cluster are no different clusters: pairs between them do not count, because they would
        bring what lies within clusters back in. Arguments and result as for ``roc_auc``.
        """
        weights = self._weights(counts)
        within, own = self._pairs_within
        hits, false = self._sizes
        pairs = (weights @ hits) * (weights @ false)
        won = np.where(pairs > 0, self.roc_auc(weights), 0.0) * pairs
        squares = weights**2
        with np.errstate(invalid="ignore", divide="ignore"):
            result: Floats = (won - squares @ within) / (pairs - squares @ own)
        return np.clip(result, 0.0, 1.0)  # a difference of large sums may miss 0 by a rounding

    def average_precision(self, counts: Floats | None = None) -> Floats:
        """Area under the precision-recall curve as a sum over distinct scores; ``nan`` without a positive."""
        return self._walked(self._weights(counts), _average_precision)

    def equal_error_rate(self, counts: Floats | None = None) -> Floats:
        """Where false-positive and false-negative rate are equal, on the linearly interpolated ROC curve."""
        return self._walked(self._weights(counts), _equal_error_rate)

    def _weights(self, counts: Floats | None) -> Floats:
        weights = np.ones((1, self.clusters)) if counts is None else np.asarray(counts, dtype=np.float64)
        if weights.ndim != 2 or weights.shape[1] != self.clusters:
            raise MetricInputError(f"counts need shape (resamples, {self.clusters}), got {weights.shape}")
        return weights

    def _walked(self, weights: Floats, statistic: Callable[[Floats, Floats], Floats]) -> Floats:
        """Walk down the ranking once, with all weightings side by side."""
        if not self.positive.size:
            return np.full(len(weights), np.nan)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.concatenate([statistic(hits, all_) for hits, all_ in self._cumulated(weights)])

    def _by_pairs(self, weights: Floats) -> Floats:
        """ROC-AUC from the pairs won between every two clusters: the items are then no longer needed."""
        hits, false = self._sizes
        with np.errstate(invalid="ignore", divide="ignore"):
            won = ((weights @ self._pairs_won) * weights).sum(axis=1)
            result: Floats = won / ((weights @ hits) * (weights @ false))
        return result

    @cached_property
    def _sizes(self) -> tuple[Floats, Floats]:
        """Positives and normal items of each cluster."""
        hits = np.bincount(self.cluster, weights=self.positive, minlength=self.clusters)
        false = np.bincount(self.cluster, weights=~self.positive, minlength=self.clusters)
        return hits.astype(np.float64), false.astype(np.float64)

    @cached_property
    def _pairs_within(self) -> tuple[Floats, Floats]:
        """Of each cluster: how many of its own pairs are ranked right, ties half, and how many it has."""
        hits, false = self._sizes
        order = np.argsort(self.cluster, kind="stable")
        cluster, normal = self.cluster[order], ~self.positive[order]
        group = np.repeat(np.arange(self.starts.size), np.diff(self.starts, append=self.positive.size))[order]
        fresh = np.ones(order.size, dtype=np.bool_)
        fresh[1:] = (cluster[1:] != cluster[:-1]) | (group[1:] != group[:-1])
        tied = np.cumsum(fresh) - 1
        equal = np.bincount(tied, weights=normal)[tied] if order.size else np.zeros(0)
        passed = np.cumsum(normal) - (np.cumsum(false) - false)[cluster]  # those above, and tied ones so far
        last = np.append(np.flatnonzero(fresh)[1:], order.size)[tied] - 1 if order.size else tied
        beaten = false[cluster] - passed[last] + 0.5 * equal
        won = np.bincount(cluster, weights=np.where(normal, 0.0, beaten), minlength=self.clusters)
        return won.astype(np.float64), hits * false

    @cached_property
    def _pairs_won(self) -> Floats:
        """How often a positive of one cluster (row) is above a normal item of another (column), ties half."""
        ends = np.append(self.starts[1:], self.positive.size) - 1
        sizes = np.diff(self.starts, append=self.positive.size)
        group = np.repeat(np.arange(self.starts.size), sizes)[self.positive]
        owner = self.cluster[self.positive]
        won = np.empty((self.clusters, self.clusters))
        for other in range(self.clusters):
            passed = np.cumsum(~self.positive & (self.cluster == other))[ends]
            beaten = passed[-1] - passed + 0.5 * np.diff(passed, prepend=0)
            won[:, other] = np.bincount(owner, weights=beaten[group], minlength=self.clusters)
        return won

    def _cumulated(self, weights: Floats) -> Iterator[tuple[Floats, Floats]]:
        """Yield weight of positives and of all items at or above each distinct score: (groups, resamples) each."""
        rows = max(1, _CELLS // self.positive.size)
        tied = self.starts.size < self.positive.size
        for first in range(0, len(weights), rows):
            each = np.ascontiguousarray(weights[first : first + rows].T)[self.cluster]
            hits = each * self.positive[:, None]
            if tied:
                hits, each = np.add.reduceat(hits, self.starts), np.add.reduceat(each, self.starts)
            yield np.cumsum(hits, axis=0, out=hits), np.cumsum(each, axis=0, out=each)


def _roc_auc(hits: Floats, all_: Floats) -> Floats:
    false = all_ - hits
    below = np.diff(false, axis=0, prepend=0.0)
    pairs = (below * hits).sum(axis=0) - 0.5 * (below * np.diff(hits, axis=0, prepend=0.0)).sum(axis=0)
    result: Floats = pairs / (hits[-1] * false[-1])
    return result


def _average_precision(hits: Floats, all_: Floats) -> Floats:
    found = np.diff(hits, axis=0, prepend=0.0)
    precision = np.divide(hits, all_, out=np.zeros_like(hits), where=all_ > 0)
    result: Floats = (found * precision).sum(axis=0) / hits[-1]
    return result


def _equal_error_rate(hits: Floats, all_: Floats) -> Floats:
    """Walk along the ROC to where ``FPR + TPR - 1`` changes its sign (it never falls), and interpolate there."""
    columns = np.arange(hits.shape[1])
    false_rate, true_rate = (all_ - hits) / (all_ - hits)[-1], hits / hits[-1]
    above = false_rate + true_rate - 1.0
    after = np.argmax(above >= 0.0, axis=0)
    before = np.maximum(after - 1, 0)
    started = after > 0
    low = np.where(started, above[before, columns], -1.0)
    x0 = np.where(started, false_rate[before, columns], 0.0)
    share = -low / (above[after, columns] - low)
    result: Floats = x0 + share * (false_rate[after, columns] - x0)
    return result

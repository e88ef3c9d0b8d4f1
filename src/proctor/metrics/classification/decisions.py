"""Scores of yes-or-no calls: accuracy, precision, recall and F1, from four counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Unpack

import numpy as np
from numpy.typing import ArrayLike

from proctor.metrics.bootstrap import Floats, cluster_sums
from proctor.metrics.classification.scoring import (
    NO_MISTAKE,
    NOT_CALLED,
    NOTHING,
    Options,
    given_settings,
    interval_over_recordings,
    score_of,
    signature_of,
)
from proctor.metrics.errors import MetricInputError
from proctor.metrics.score import Score
from proctor.metrics.separation import binary_labels

__all__ = [
    "STATISTICS",
    "Outcomes",
    "accuracy",
    "clustered",
    "count_outcomes",
    "f1_score",
    "outcome_columns",
    "precision",
    "recall",
]


@dataclass(frozen=True, slots=True)
class Outcomes:
    """How often each of the four things happened; the positive class is the mistake."""

    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int

    @property
    def n(self) -> int:
        """Items in all."""
        return self.positives + self.false_positives + self.true_negatives

    @property
    def positives(self) -> int:
        """Items that are a mistake."""
        return self.true_positives + self.false_negatives

    @property
    def called(self) -> int:
        """Items that were called a mistake."""
        return self.true_positives + self.false_positives


def count_outcomes(reference: ArrayLike, predicted: ArrayLike) -> Outcomes:
    """Count true and false positives and negatives.

    Args:
        reference: 1 or True for a mistake; shape (n,).
        predicted: 1 or True for what was called one; shape (n,).

    Raises:
        MetricInputError: if shapes differ or a value is not 0/1.
    """
    columns = outcome_columns(reference, predicted)
    return Outcomes(*(int(column.sum()) for column in columns))


def outcome_columns(reference: ArrayLike, predicted: ArrayLike) -> Floats:
    """One row each for true positives, false positives, false negatives, true negatives; one column an item."""
    truth, call = binary_labels(reference), binary_labels(predicted, "predicted")
    if truth.size != call.size:
        raise MetricInputError(f"reference and predicted must be parallel, got {truth.size} and {call.size}")
    return np.stack([truth & call, ~truth & call, truth & ~call, ~truth & ~call]).astype(np.float64)


def accuracy(reference: ArrayLike, predicted: ArrayLike, **options: Unpack[Options]) -> Score:
    """Share of items whose label is right: ``(TP + TN) / n``.

    Args:
        reference: 1 or True for a mistake; shape (n,).
        predicted: 1 or True for what was called one; shape (n,).
        **options: see ``Options``.

    Returns:
        Between 0 and 1; undefined with a note when there is no item. With few mistakes "never a mistake" scores
        high: read it beside ``chance_scores``.

    Raises:
        MetricInputError: if shapes differ or a value is not 0/1.
    """
    return _of_counts("accuracy", reference, predicted, _accuracy, "", options)


def precision(reference: ArrayLike, predicted: ArrayLike, **options: Unpack[Options]) -> Score:
    """Share of the items called a mistake that are one: ``TP / (TP + FP)``.

    Args:
        reference: 1 or True for a mistake; shape (n,).
        predicted: 1 or True for what was called one; shape (n,).
        **options: see ``Options``.

    Returns:
        Between 0 and 1; 0 with a note when nothing was called a mistake (the published convention).

    Raises:
        MetricInputError: if shapes differ or a value is not 0/1.
    """
    return _of_counts("precision", reference, predicted, _precision, "", options)


def recall(reference: ArrayLike, predicted: ArrayLike, **options: Unpack[Options]) -> Score:
    """Share of the mistakes that were called one: ``TP / (TP + FN)``.

    Args:
        reference: 1 or True for a mistake; shape (n,).
        predicted: 1 or True for what was called one; shape (n,).
        **options: see ``Options``.

    Returns:
        Between 0 and 1; undefined with a note when no item is a mistake.

    Raises:
        MetricInputError: if shapes differ or a value is not 0/1.
    """
    return _of_counts("recall", reference, predicted, _recall, NO_MISTAKE, options)


def f1_score(reference: ArrayLike, predicted: ArrayLike, **options: Unpack[Options]) -> Score:
    """Harmonic mean of precision and recall of the mistakes: ``2 TP / (2 TP + FP + FN)``.

    Args:
        reference: 1 or True for a mistake; shape (n,).
        predicted: 1 or True for what was called one; shape (n,).
        **options: see ``Options``.

    Returns:
        Between 0 and 1; undefined with a note when no item is a mistake. Calling everything a mistake gives
        ``2 p / (1 + p)`` at prevalence ``p`` (0.53 on the published test set R): read it beside ``chance_scores``.

    Raises:
        MetricInputError: if shapes differ or a value is not 0/1.
    """
    return _of_counts("f1_score", reference, predicted, _f1, NO_MISTAKE, options)


def _accuracy(sums: Floats) -> Floats:
    result: Floats = (sums[:, 0] + sums[:, 3]) / sums.sum(axis=1)
    return result


def _precision(sums: Floats) -> Floats:
    called = sums[:, 0] + sums[:, 1]
    result: Floats = np.divide(sums[:, 0], called, out=np.zeros(len(sums)), where=called > 0)
    return result


def _recall(sums: Floats) -> Floats:
    positives = sums[:, 0] + sums[:, 2]
    result: Floats = np.divide(sums[:, 0], positives, out=np.full(len(sums), np.nan), where=positives > 0)
    return result


def _f1(sums: Floats) -> Floats:
    positives = sums[:, 0] + sums[:, 2]
    both = 2 * sums[:, 0] + sums[:, 1] + sums[:, 2]
    result: Floats = np.divide(2 * sums[:, 0], both, out=np.full(len(sums), np.nan), where=positives > 0)
    return result


def _of_counts(
    name: str,
    reference: ArrayLike,
    predicted: ArrayLike,
    statistic: Callable[[Floats], Floats],
    without_mistakes: str,
    options: Options,
) -> Score:
    columns = outcome_columns(reference, predicted)
    n = columns.shape[1]
    signature = signature_of(name, given_settings(options))
    totals = columns.sum(axis=1)
    if not n or (without_mistakes and totals[0] + totals[2] == 0):
        return Score(math.nan, signature.having(interval="none"), n, note=without_mistakes if n else NOTHING)
    clusters = options.get("clusters")
    interval = (
        None
        if clusters is None
        else interval_over_recordings(clustered(columns, clusters), statistic, options)
    )
    note = NOT_CALLED if name == "precision" and totals[0] + totals[1] == 0 else ""
    return score_of(float(statistic(totals[None, :])[0]), signature, n, interval, note, options)


def clustered(columns: Floats, clusters: Sequence[str]) -> Floats:
    """Sums of the columns within each recording."""
    if len(clusters) != columns.shape[1]:
        raise MetricInputError(f"one cluster an item is needed, got {len(clusters)} for {columns.shape[1]}")
    return cluster_sums(columns, clusters)


STATISTICS: Final[Mapping[str, Callable[[Floats], Floats]]] = {
    "accuracy": _accuracy,
    "precision": _precision,
    "recall": _recall,
    "f1_score": _f1,
}

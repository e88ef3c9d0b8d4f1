"""From scores to decisions: a threshold chosen on validation, a fixed one, or the published rescaling.

Conventions: a score strictly above the threshold is a mistake; a score equal to it is not. The published protocol rescales the scores of the *whole test set* to 0…1 and compares them with
a constant that depends on the split; the constant was found on the test set, and every prediction then depends
on all the others. It is here to reproduce those figures, under its own name.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proctor.metrics.errors import MetricInputError
from proctor.metrics.separation import binary_labels, finite_scores

__all__ = [
    "PUBLISHED_THRESHOLDS",
    "ChosenThreshold",
    "above_threshold",
    "choose_threshold",
    "rescale_min_max",
]

PUBLISHED_THRESHOLDS: Final = {"S": 0.6, "R": 0.4}
"""Thresholds of the released error recognition code after its rescaling, by split."""


@dataclass(frozen=True, slots=True)
class ChosenThreshold:
    """A threshold and what it reached where it was chosen.

    Attributes:
        value: scores above it are mistakes; ``-inf`` when calling everything a mistake was best.
        f1: F1 of the mistake class on the items it was chosen on.
        n: how many items those were.
        positives: how many of them are mistakes.
    """

    value: float
    f1: float
    n: int
    positives: int


def above_threshold(scores: ArrayLike, threshold: float) -> NDArray[np.bool_]:
    """Return which scores are strictly above the threshold; shape as ``scores``.

    Raises:
        MetricInputError: if a score is not finite or the threshold is not a number.
    """
    if math.isnan(threshold):
        raise MetricInputError("the threshold is not a number")
    return finite_scores(scores) > threshold


def choose_threshold(reference: ArrayLike, scores: ArrayLike) -> ChosenThreshold:
    """Choose the threshold with the highest F1 of the positive class; call it on validation data only.

    Candidates lie halfway between neighbouring distinct scores, and at ``-inf`` (everything is a mistake). Among
    equal F1 the highest threshold wins, so the choice is unique and independent of the order of the items.

    Args:
        reference: 1 or True for a mistake; shape (n,).
        scores: higher means more likely a mistake; shape (n,).

    Raises:
        MetricInputError: if shapes differ, a score is not finite, or no item is a mistake (every threshold then
            has the same F1).
    """
    labels, values = binary_labels(reference), finite_scores(scores)
    if labels.size != values.size:
        raise MetricInputError(f"reference and scores must be parallel, got {labels.size} and {values.size}")
    positives = int(labels.sum())
    if not positives:
        raise MetricInputError(
            f"a threshold cannot be chosen on {labels.size} items without a mistake",
            "choose it on data with both classes, or give a fixed threshold",
        )
    order = np.argsort(-values, kind="stable")
    ranked = values[order]
    ends = np.flatnonzero(np.concatenate([ranked[1:] != ranked[:-1], [True]]))
    hits = np.cumsum(labels[order])[ends]
    # whole numbers divided once: equal fractions give equal floats, so ties are found exactly
    f1 = 2 * hits / (ends + 1 + positives)
    best = int(np.argmax(f1))
    return ChosenThreshold(_below(ranked, ends, best), float(f1[best]), labels.size, positives)


def _below(ranked: NDArray[np.float64], ends: NDArray[np.intp], group: int) -> float:
    """Return a number below the scores of this group and not below those of the next one."""
    if group == ends.size - 1:
        return -math.inf
    high, low = float(ranked[ends[group]]), float(ranked[ends[group] + 1])
    middle = low + (high - low) / 2
    return middle if low <= middle < high else low


def rescale_min_max(scores: ArrayLike) -> NDArray[np.float64]:
    """Map the lowest score to 0 and the highest to 1, as the published protocol does over the test set.

    Raises:
        MetricInputError: if there is no score, or all are equal (the published code divides by zero there).
    """
    values = finite_scores(scores)
    if not values.size:
        raise MetricInputError("there are no scores to rescale")
    low, high = float(values.min()), float(values.max())
    if low == high:
        raise MetricInputError(
            f"all {values.size} scores are {low:g}: they cannot be rescaled to 0…1",
            "score them in the corrected protocol",
        )
    # divided first: the difference of two huge numbers could overflow
    scale = max(abs(low), abs(high))
    result: NDArray[np.float64] = (values / scale - low / scale) / (high / scale - low / scale)
    return result

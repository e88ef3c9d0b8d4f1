"""Proper scoring rules: Brier score with its parts, and negative log likelihood."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from proctor.metrics.calibration.bins import marks_and_confidences
from proctor.metrics.errors import MetricInputError
from proctor.metrics.score import Score, Signature

__all__ = ["BrierParts", "brier_decomposition", "brier_score", "negative_log_likelihood"]


@dataclass(frozen=True, slots=True)
class BrierParts:
    """Murphy's decomposition over distinct confidences: ``score = reliability - resolution + uncertainty``.

    Attributes:
        reliability: mean squared gap between confidence and what came true; 0 for a calibrated system.
        resolution: how far the shares of what came true differ between confidences; the more, the better.
        uncertainty: variance of what came true; no system can change it.
    """

    reliability: float
    resolution: float
    uncertainty: float


def brier_score(correct: ArrayLike, confidence: ArrayLike) -> Score:
    """Brier score of yes/no events: mean of (confidence - correct)². Source: Brier (1950), one event instead of two.

    A constant 0.5 scores 0.25; always naming the base rate scores its variance, ``brier_decomposition`` gives it.

    Args:
        correct: yes/no, shape (items,).
        confidence: 0 to 1, shape (items,).

    Raises:
        MetricInputError: if lengths differ or a value is out of range.
    """
    truth, stated = marks_and_confidences(correct, confidence)
    signature = Signature("brier_score", {"classes": "1"})
    if not truth.size:
        return Score(math.nan, signature, 0, note="there are no items")
    return Score(math.fsum((stated - truth) ** 2) / truth.size, signature, truth.size)


def brier_decomposition(correct: ArrayLike, confidence: ArrayLike) -> BrierParts:
    """Split the Brier score exactly (Murphy 1973), with one group for each distinct confidence.

    Args:
        correct: yes/no, shape (items,).
        confidence: 0 to 1, shape (items,).

    Raises:
        MetricInputError: if there are no items, lengths differ or a value is out of range.
    """
    truth, stated = marks_and_confidences(correct, confidence)
    if not truth.size:
        raise MetricInputError("there are no items to decompose a score of", "check what was read")
    values, index, counts = np.unique(stated, return_inverse=True, return_counts=True)
    share = np.bincount(index, weights=truth) / counts
    base = float(truth.mean())
    return BrierParts(
        reliability=math.fsum(counts * (values - share) ** 2) / truth.size,
        resolution=math.fsum(counts * (share - base) ** 2) / truth.size,
        uncertainty=base * (1 - base),
    )


def negative_log_likelihood(correct: ArrayLike, confidence: ArrayLike) -> Score:
    """Mean negative natural logarithm of the probability given to what came true (log loss), without clipping.

    Args:
        correct: yes/no, shape (items,).
        confidence: 0 to 1, shape (items,).

    Returns:
        From 0 (certain and right) upwards; infinite, with a note, when something that came true had probability 0.

    Raises:
        MetricInputError: if lengths differ or a value is out of range.
    """
    truth, stated = marks_and_confidences(correct, confidence)
    signature = Signature("negative_log_likelihood", {"clip": "no", "log": "natural"})
    if not truth.size:
        return Score(math.nan, signature, 0, note="there are no items")
    given = np.where(truth == 1, stated, 1 - stated)
    impossible = int((given == 0).sum())
    if impossible:
        note = f"infinite: {impossible} items came out as their confidence called impossible"
        return Score(math.inf, signature, truth.size, note=note)
    return Score(abs(math.fsum(-np.log(given)) / truth.size), signature, truth.size)

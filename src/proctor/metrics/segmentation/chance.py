"""Predictions of no knowledge, to compare scores with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.segmentation.videos import Integers, Label, Videos, timeline

__all__ = ["majority_prediction", "random_prediction"]


def majority_prediction(gt: Videos) -> list[NDArray[np.generic]]:
    """Predict the most frequent label of all frames everywhere (of equals the first in sorted order): chance.

    Raises:
        MetricInputError: if labels are invalid.
    """
    labels, codes, first = _coded_reference(gt)
    if not labels:
        return [np.zeros(0, dtype=np.int64) for _ in gt]
    best = int(np.bincount(codes).argmax())
    return [np.full(int(n), labels[best]) for n in np.diff(first)]


def random_prediction(gt: Videos, rng: np.random.Generator) -> list[NDArray[np.generic]]:
    """Predict every frame independently and uniformly among the labels of the reference: chance.

    Raises:
        MetricInputError: if labels are invalid.
    """
    labels, codes, first = _coded_reference(gt)
    if not labels:
        return [np.zeros(0, dtype=np.int64) for _ in gt]
    drawn = np.array(labels)[rng.integers(0, len(labels), size=len(codes))]
    return list(np.split(drawn, first[1:-1]))


def _coded_reference(gt: Videos) -> tuple[tuple[Label, ...], Integers, Integers]:
    line = timeline(gt, gt, ())
    return line.labels, line.reference, line.first

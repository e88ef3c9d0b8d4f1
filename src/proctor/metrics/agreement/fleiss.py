"""Fleiss' kappa of any number of annotators."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.agreement.labels import Label, rating_counts
from proctor.metrics.agreement.resampling import (
    ROUNDING,
    bootstrap_signature,
    divided,
    grouped_sums,
    require_resampling,
    resampled_interval,
)
from proctor.metrics.bootstrap import Floats
from proctor.metrics.score import Score

__all__ = ["fleiss_kappa"]


def fleiss_kappa(
    ratings: Sequence[Sequence[Label | None]] | NDArray[Any],
    *,
    clusters: Sequence[str] | None = None,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Score:
    """Agreement beyond chance of a fixed number of labels a unit, whoever gave them, from below 0 to 1.

    ``(mean P_u - P_e) / (1 - P_e)``: ``P_u`` is the share of agreeing pairs of labels of a unit, ``P_e`` the sum of
    squared shares of the labels. With two annotators it is Scott's pi, not Cohen's kappa.

    Args:
        ratings: one row a unit, as in ``rating_counts``.
        clusters: of each unit, what is drawn together; every unit alone when not given.
        confidence: of the interval.
        resamples: of the bootstrap; 0 for no interval.
        seed: of the bootstrap.

    Returns:
        The score; undefined with a note when units have different numbers of labels (use Krippendorff's alpha),
        fewer than two, or one label only occurs.

    Raises:
        MetricInputError: if the ratings are not of that form, or an option is out of range.
    """
    require_resampling(confidence, resamples, seed)
    labels, counts = rating_counts(ratings)
    signature = bootstrap_signature("fleiss_kappa", clusters, confidence, resamples, seed)
    sizes = sorted(set(counts.sum(axis=1).tolist()))
    if not sizes or sizes[-1] < 2:
        return Score(math.nan, signature, 0, note="no unit has two labels")
    if len(sizes) > 1:
        why = f"units have {sizes[0]} to {sizes[-1]} labels: use Krippendorff's alpha"
        return Score(math.nan, signature, len(counts), note=why)
    c = counts.astype(np.float64)
    agreeing = (c * (c - 1)).sum(axis=1) / (sizes[0] * (sizes[0] - 1))
    sums = grouped_sums(np.concatenate([agreeing[None, :], c.T]), clusters)

    def kappa(rows: Floats) -> Floats:
        used = rows[:, 1:]
        total = used.sum(axis=1)
        chance = (used**2).sum(axis=1) / total**2
        observed = rows[:, 0] * sizes[0] / total
        return divided(observed - chance, np.where(chance < 1 - ROUNDING, 1 - chance, 0.0))

    value = float(kappa(sums.sum(axis=0, keepdims=True))[0])
    if math.isnan(value):
        return Score(
            value, signature, len(c), note=f"all used the label {labels[0]!r} only: chance is certain"
        )
    interval = resampled_interval(sums, kappa, confidence=confidence, resamples=resamples, seed=seed)
    return Score(value, signature, len(c), interval.low, interval.high, note=interval.note)

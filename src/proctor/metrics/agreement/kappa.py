"""Cohen's kappa of two annotators, plain or weighted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from proctor.metrics.agreement.labels import Ints, Label, Labels, coded_labels
from proctor.metrics.agreement.resampling import (
    ROUNDING,
    bootstrap_signature,
    divided,
    grouped_sums,
    require_resampling,
    resampled_interval,
)
from proctor.metrics.bootstrap import Floats
from proctor.metrics.errors import MetricInputError
from proctor.metrics.score import Score

__all__ = ["KappaWeights", "cohen_kappa", "distances", "kappa_columns", "kappa_of_sums"]

KappaWeights = Literal["none", "linear", "quadratic"]


def cohen_kappa(
    a: Labels,
    b: Labels,
    *,
    weights: KappaWeights = "none",
    values: Sequence[Label] | None = None,
    clusters: Sequence[str] | None = None,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Score:
    """Agreement beyond chance, ``(p_o - p_e) / (1 - p_e)``, from -1 to 1, with a percentile bootstrap interval.

    With weights it is ``1 - sum(d * observed) / sum(d * expected)`` over the confusion table, where ``d`` is how far
    two labels are apart: their distance (``linear``) or its square (``quadratic``).

    Args:
        a: labels of one annotator.
        b: labels of the other, parallel.
        weights: how near misses count; ``none`` takes every difference as whole.
        values: the labels in their order, one step apart each; needed for weights on texts. Without it numbers are as
            far apart as their difference says, so a value that nobody used leaves its gap.
        clusters: what is drawn together; every item alone when not given.
        confidence: of the interval.
        resamples: of the bootstrap; 0 for no interval.
        seed: of the bootstrap.

    Returns:
        The score; undefined with a note when there is nothing or when both used one and the same label only
        (agreement by chance is then certain).

    Raises:
        MetricInputError: if the sequences differ in length, a label is missing or not in ``values``, weights are
            asked for on texts without an order, or an option is out of range.
    """
    require_resampling(confidence, resamples, seed)
    labels, one, two = coded_labels(a, b, values)
    apart = distances(labels, weights, values is not None)
    signature = bootstrap_signature("cohen_kappa", clusters, confidence, resamples, seed, weights=weights)
    sums = grouped_sums(kappa_columns(one, two, apart), clusters)
    value = float(kappa_of_sums(sums.sum(axis=0, keepdims=True), apart)[0])
    if math.isnan(value):
        return Score(value, signature, len(one), note=_why_no_kappa(labels, one))
    interval = resampled_interval(
        sums, lambda s: kappa_of_sums(s, apart), confidence=confidence, resamples=resamples, seed=seed
    )
    return Score(value, signature, len(one), interval.low, interval.high, note=interval.note)


def _why_no_kappa(labels: Sequence[Label], codes: Ints) -> str:
    if not len(codes):
        return "nothing was labelled by both"
    return f"both used the label {labels[codes[0]]!r} only: chance is certain"


def distances(labels: Sequence[Label], weights: KappaWeights, ordered: bool) -> Floats:
    """How far every two labels are apart, at most 1."""
    if weights not in get_args(KappaWeights):
        raise MetricInputError(f"weights must be one of {', '.join(get_args(KappaWeights))}, got {weights!r}")
    if weights == "none":
        return 1.0 - np.eye(len(labels))
    if not ordered and any(isinstance(label, str) for label in labels):
        raise MetricInputError(
            f"{weights} weights need labels in an order, and {labels[0]!r} is a text",
            "give the order of the labels, or numbers",
        )
    place = np.arange(len(labels), dtype=np.float64) if ordered else np.array(labels, dtype=np.float64)
    if place.any():
        place = place / np.abs(place).max()  # only ratios count, and huge numbers stay finite
    apart: Floats = np.abs(place[:, None] - place)
    if apart.any():
        apart /= apart.max()
    return apart if weights == "linear" else apart**2


def kappa_columns(one: Ints, two: Ints, apart: Floats) -> Floats:
    """Per item: how far the two are apart, and which label either used. Kappa needs no more than their sums."""
    each = np.arange(len(apart))[:, None]
    return np.concatenate([apart[one, two][None, :], each == one, each == two]).astype(np.float64)


def kappa_of_sums(sums: Floats, apart: Floats) -> Floats:
    """Kappa from sums of ``kappa_columns``, nan where chance is certain."""
    k = len(apart)
    first, second = sums[:, 1 : 1 + k], sums[:, 1 + k : 1 + 2 * k]
    expected = ((first @ apart) * second).sum(axis=1)
    n = first.sum(axis=1)
    result: Floats = 1.0 - divided(n * sums[:, 0], np.where(expected > ROUNDING * n**2, expected, 0.0))
    return result

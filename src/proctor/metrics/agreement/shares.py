"""Shares of two annotators: raw and specific agreement, and prevalence."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from proctor.metrics.agreement.labels import Label, Labels, coded_labels, distinct_labels, sorted_labels
from proctor.metrics.agreement.resampling import bootstrap_signature, ratio_score, require_resampling
from proctor.metrics.bootstrap import Floats
from proctor.metrics.interval import wilson_interval
from proctor.metrics.score import Score, Signature

__all__ = ["prevalence", "raw_agreement", "specific_agreement"]


def raw_agreement(
    a: Labels,
    b: Labels,
    *,
    clusters: Sequence[str] | None = None,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Score:
    """Share of items with the same label, from 0 to 1.

    The interval is Wilson's, which takes items for independent; with ``clusters`` it is the bootstrap over these.

    Raises:
        MetricInputError: if the sequences differ in length, a label is missing, or an option is out of range.
    """
    _, one, two = coded_labels(a, b)
    require_resampling(confidence, resamples, seed)
    same = one == two
    if clusters is None:
        interval = wilson_interval(int(same.sum()), len(one), confidence)
        signature = Signature("raw_agreement", {"interval": f"wilson-{100 * confidence:g}"})
        value = float(same.mean()) if len(one) else math.nan
        return Score(value, signature, len(one), interval.low, interval.high, note=interval.note)
    signature = bootstrap_signature("raw_agreement", clusters, confidence, resamples, seed)
    columns = np.stack([same.astype(np.float64), np.ones(len(one))])
    return ratio_score(
        columns, clusters, signature, len(one), "nothing was labelled by both", confidence, resamples, seed
    )


def specific_agreement(
    a: Labels,
    b: Labels,
    label: Label,
    *,
    clusters: Sequence[str] | None = None,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Score:
    """How often the other agrees when one annotator says ``label``: ``2 n_ll / (n_l. + n_.l)``, 0 to 1.

    With yes and no it is the positive and the negative specific agreement; with the label taken as "relevant" it is
    the F1 of one annotator against the other. Raw agreement can be high while the rare label has nothing in common.

    Returns:
        The score; undefined with a note when neither used the label.

    Raises:
        MetricInputError: as ``raw_agreement``.
    """
    columns, n = _uses_of(a, b, label)
    signature = bootstrap_signature(
        "specific_agreement", clusters, confidence, resamples, seed, label=_part(label)
    )
    why = f"neither used the label {label!r}" if n else "nothing was labelled by both"
    return ratio_score(columns[[0, 1]], clusters, signature, n, why, confidence, resamples, seed)


def prevalence(
    a: Labels,
    b: Labels,
    label: Label,
    *,
    clusters: Sequence[str] | None = None,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Score:
    """Share of ``label`` among the labels of both annotators: ``(n_l. + n_.l) / 2n``, 0 to 1.

    Beyond about 0.9 kappa and alpha say little: hardly anything is left that chance would not give.

    Raises:
        MetricInputError: as ``raw_agreement``.
    """
    columns, n = _uses_of(a, b, label)
    signature = bootstrap_signature("prevalence", clusters, confidence, resamples, seed, label=_part(label))
    why = "nothing was labelled by both"
    return ratio_score(columns[[1, 2]], clusters, signature, n, why, confidence, resamples, seed)


def _part(label: Label) -> str:
    """Return a label as part of a signature, which knows neither emptiness nor bars."""
    text = f"{label:.12g}" if isinstance(label, float) else str(label)
    return text.replace("|", "/") or "(empty)"


def _uses_of(a: Labels, b: Labels, label: Label) -> tuple[Floats, int]:
    """Per item: twice whether both used the label, how many did, and two."""
    labels, one, two = coded_labels(a, b)
    sorted_labels({*labels, *distinct_labels([label])}, None)  # a label of another type occurs nowhere
    place = labels.index(label) if label in labels else -1
    first, second = (one == place).astype(np.float64), (two == place).astype(np.float64)
    return np.stack([2 * first * second, first + second, np.full(len(one), 2.0)]), len(one)

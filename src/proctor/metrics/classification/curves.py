"""Scores of a ranking: ROC-AUC, average precision and equal error rate."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Unpack

import numpy as np
from numpy.typing import ArrayLike

from proctor.metrics.bootstrap import Floats, cluster_sums
from proctor.metrics.classification.scoring import (
    NOTHING,
    Options,
    given_settings,
    interval_over_recordings,
    score_of,
    signature_of,
    why_undefined,
)
from proctor.metrics.errors import MetricInputError
from proctor.metrics.score import Score
from proctor.metrics.separation import Ranking, binary_labels, finite_scores

__all__ = ["CURVES", "Curve", "average_precision", "equal_error_rate", "macro_roc_auc", "roc_auc"]


def roc_auc(reference: ArrayLike, scores: ArrayLike, **options: Unpack[Options]) -> Score:
    """Area under the ROC curve: the chance that a mistake scores above a normal item, ties half.

    Args:
        reference: 1 or True for a mistake; shape (n,).
        scores: higher means more likely a mistake; shape (n,).
        **options: see ``Options``.

    Returns:
        Between 0 and 1, 0.5 for any constant; undefined with a note when one of the classes is missing.

    Raises:
        MetricInputError: if shapes differ or a score is not finite.
    """
    return _of_ranking("roc_auc", reference, scores, CURVES["roc_auc"], True, options)


def average_precision(reference: ArrayLike, scores: ArrayLike, **options: Unpack[Options]) -> Score:
    """Area under the precision-recall curve, as the sum of ``Δrecall · precision`` over distinct scores.

    Args:
        reference: 1 or True for a mistake; shape (n,).
        scores: higher means more likely a mistake; shape (n,). Hard labels are possible and meaningless (the
            released code feeds them).
        **options: see ``Options``.

    Returns:
        Between 0 and 1; a constant score gives the prevalence. Undefined with a note when no item is a mistake.

    Raises:
        MetricInputError: if shapes differ or a score is not finite.
    """
    return _of_ranking(
        "average_precision", reference, scores, lambda r, w: r.average_precision(w), False, options
    )


def equal_error_rate(reference: ArrayLike, scores: ArrayLike, **options: Unpack[Options]) -> Score:
    """False-positive rate where it equals the miss rate (``1 - TPR``), on the linearly interpolated ROC curve.

    Args:
        reference: 1 or True for a mistake; shape (n,).
        scores: higher means more likely a mistake; shape (n,).
        **options: see ``Options``.

    Returns:
        Between 0 (perfect) and 1; 0.5 for any constant. Undefined with a note when one class is missing.

    Raises:
        MetricInputError: if shapes differ or a score is not finite.
    """
    return _of_ranking(
        "equal_error_rate", reference, scores, lambda r, w: r.equal_error_rate(w), True, options
    )


def macro_roc_auc(
    reference: ArrayLike, scores: ArrayLike, groups: Sequence[str], **options: Unpack[Options]
) -> Score:
    """Mean over recordings of the ROC-AUC within each: how well a system orders the items of one recording.

    Pooling all items ("micro", ``roc_auc``) also rewards knowing which recordings have many mistakes.

    Args:
        reference: 1 or True for a mistake; shape (n,).
        scores: higher means more likely a mistake; shape (n,).
        groups: recording of each item; length n.
        **options: see ``Options``; ``clusters`` is ignored, since the groups are drawn.

    Returns:
        Between 0 and 1; ``n`` counts the groups with both classes, ``skipped`` the others. Undefined with a note
        when no group has both.

    Raises:
        MetricInputError: if shapes differ or a score is not finite.
    """
    labels, values = binary_labels(reference), finite_scores(scores)
    if not labels.size == values.size == len(groups):
        raise MetricInputError(
            f"reference, scores and groups must be parallel, got {labels.size}, {values.size} and {len(groups)}"
        )
    names, index = np.unique(np.asarray(groups, dtype=np.str_), return_inverse=True)
    order = np.argsort(index, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(index[order])) + 1) if labels.size else []
    areas = [float(Ranking.of(labels[part], values[part]).roc_auc()[0]) for part in parts]
    kept = [k for k, area in enumerate(areas) if not math.isnan(area)]
    signature = signature_of(
        "macro_roc_auc", {**given_settings(options), "over": "recordings", "ties": "half"}
    )
    skipped = len(areas) - len(kept)
    if not kept:
        note = "no recording has both mistakes and normal items" if areas else NOTHING
        return Score(math.nan, signature.having(interval="none"), 0, skipped=skipped, note=note)
    found = [areas[k] for k in kept]
    sums = cluster_sums([found, [1.0] * len(found)], [str(names[k]) for k in kept])
    interval = interval_over_recordings(sums, lambda s: s[:, 0] / s[:, 1], options)
    note = f"{skipped} recording{'s' * (skipped > 1)} with one class left out" if skipped else ""
    return score_of(math.fsum(found) / len(found), signature, len(found), interval, note, options, skipped)


Curve = Callable[[Ranking, Floats | None], Floats]


def _of_ranking(
    name: str, reference: ArrayLike, scores: ArrayLike, curve: Curve, both_classes: bool, options: Options
) -> Score:
    clusters = options.get("clusters")
    ranking = Ranking.of(reference, scores, clusters)
    n, positives = ranking.positive.size, int(ranking.positive.sum())
    signature = signature_of(name, {**given_settings(options), "ties": "half" if both_classes else "grouped"})
    if note := why_undefined(name, n, positives):
        return Score(math.nan, signature.having(interval="none"), n, note=note)
    interval = None
    if clusters is not None:
        interval = interval_over_recordings(
            np.eye(ranking.clusters), lambda counts: curve(ranking, counts), options
        )
    value = float(curve(Ranking.of(reference, scores), None)[0])
    return score_of(value, signature, n, interval, "", options)


CURVES: Final[Mapping[str, Curve]] = {
    "roc_auc": lambda ranking, counts: ranking.roc_auc(counts),
    "average_precision": lambda ranking, counts: ranking.average_precision(counts),
    "equal_error_rate": lambda ranking, counts: ranking.equal_error_rate(counts),
}

"""Two systems on the same items."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from proctor.metrics.bootstrap import Floats
from proctor.metrics.classification.curves import CURVES
from proctor.metrics.classification.decisions import STATISTICS, clustered, outcome_columns
from proctor.metrics.classification.scoring import (
    Options,
    given_settings,
    interval_over_recordings,
    score_of,
    signature_of,
    why_undefined,
)
from proctor.metrics.errors import MetricInputError
from proctor.metrics.score import Score
from proctor.metrics.separation import Ranking, binary_labels

__all__ = ["paired_difference"]


def paired_difference(
    metric: str, reference: ArrayLike, a: ArrayLike, b: ArrayLike, **options: Unpack[Options]
) -> Score:
    """How much better the second system is than the first on the same items: value of ``b`` minus value of ``a``.

    Both systems see the same resamples, so what makes a recording hard for both does not widen the interval. An
    interval without 0 is a difference at its level; with many pairs of systems, some will be by chance.

    Args:
        metric: ``accuracy``, ``precision``, ``recall``, ``f1_score`` (``a`` and ``b`` are decisions), or ``roc_auc``,
            ``average_precision``, ``equal_error_rate`` (``a`` and ``b`` are scores).
        reference: 1 or True for a mistake; shape (n,).
        a: decisions or scores of the first system; shape (n,).
        b: of the second, for the same items; shape (n,).
        **options: see ``Options``.

    Returns:
        Between -1 and 1; undefined with a note where the metric itself is.

    Raises:
        MetricInputError: if the metric is unknown, shapes differ or a value has no meaning.
    """
    if metric not in STATISTICS and metric not in CURVES:
        known = ", ".join([*STATISTICS, *CURVES])
        raise MetricInputError(f"there is no metric {metric!r} to compare", f"choose one of {known}")
    labels = binary_labels(reference)
    signature = signature_of(f"{metric}_difference", given_settings(options))
    if note := why_undefined(metric, labels.size, int(labels.sum())):
        return Score(math.nan, signature.having(interval="none"), labels.size, note=note)
    clusters = options.get("clusters")
    statistic: Callable[[Floats], Floats]
    if metric in STATISTICS:
        single = STATISTICS[metric]
        columns = np.concatenate([outcome_columns(labels, a), outcome_columns(labels, b)])

        def statistic(sums: Floats) -> Floats:
            return single(sums[:, 4:]) - single(sums[:, :4])

        value = float(statistic(columns.sum(axis=1)[None, :])[0])
        sums = None if clusters is None else clustered(columns, clusters)
    else:
        curve = CURVES[metric]
        first, second = Ranking.of(labels, a, clusters), Ranking.of(labels, b, clusters)

        def statistic(counts: Floats) -> Floats:
            return curve(second, counts) - curve(first, counts)

        value = float(statistic(np.ones((1, first.clusters)))[0])
        sums = None if clusters is None else np.eye(first.clusters)
    interval = None if sums is None else interval_over_recordings(sums, statistic, options)
    return score_of(value, signature, labels.size, interval, "", options)

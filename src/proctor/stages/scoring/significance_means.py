"""Marks as a matrix, and the mean of each system."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from proctor.metrics.bootstrap import bootstrap_mean_intervals
from proctor.metrics.interval import Interval
from proctor.metrics.score import Score
from proctor.stages.scoring.significance_files import Drawing, Marks

__all__ = ["grouping_words", "item_clusters", "mark_matrix", "mean_scores"]


def mark_matrix(marks: Marks) -> Any:
    """Marks, shape (systems, items), nan where there is none."""
    rows = [
        [math.nan if (v := row.get(item)) is None else v for item in marks.items]
        for row in marks.systems.values()
    ]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(marks.items))


def item_clusters(marks: Marks) -> list[str]:
    """The cluster of each item."""
    return [marks.cluster_of(item) for item in marks.items]


def _strata(marks: Marks) -> list[str] | None:
    return None if marks.strata is None else [marks.strata[item] for item in marks.items]


def grouping_words(marks: Marks) -> dict[str, str]:
    """What a signature says about clusters and strata."""
    return {"cluster": marks.cluster_name, "strata": marks.stratum_name}


def mean_scores(marks: Marks, drawing: Drawing) -> dict[str, Score]:
    """The mean mark of each system with its interval."""
    data = mark_matrix(marks)
    signature = drawing.signature("mean", **grouping_words(marks))
    intervals: Sequence[Interval] = [Interval(None, None, "none")] * len(data)
    if drawing.resamples:
        intervals = bootstrap_mean_intervals(
            data, item_clusters(marks), strata=_strata(marks), **drawing.arguments
        )
    found = {}
    for (name, row), values, interval in zip(marks.systems.items(), data, intervals, strict=True):
        here = values[~np.isnan(values)]
        failed = sum(v is None for v in row.values())
        note = interval.note if here.size else "no answer of this system has a mark"
        found[name] = Score(
            math.fsum(here) / here.size if here.size else math.nan,
            signature,
            here.size,
            interval.low,
            interval.high,
            failed=failed,
            skipped=len(marks.items) - len(row),
            note=note,
        )
    return found

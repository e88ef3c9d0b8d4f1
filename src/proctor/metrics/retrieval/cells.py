"""One cell of a table: the mean over questions with its interval, and chance beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from proctor.metrics.bootstrap import bootstrap_mean_intervals
from proctor.metrics.errors import MetricInputError
from proctor.metrics.interval import Interval
from proctor.metrics.retrieval.ranking import Floats
from proctor.metrics.score import Score, Signature

__all__ = ["cell_score", "cell_scores"]


def cell_score(values: Floats | Sequence[float], signature: Signature, **options: Any) -> Score:
    """One cell of a table: the mean over its questions, with its interval; see ``cell_scores``."""
    return cell_scores(np.asarray(values, dtype=np.float64)[None, :], [signature], **options)[0]


def cell_scores(
    values: Floats,
    signatures: Sequence[Signature],
    *,
    clusters: Sequence[str] | None = None,
    failed: int | Sequence[int] = 0,
    skipped: int = 0,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[Score, ...]:
    """Several measures of the same questions: each mean, with bootstrap intervals in one pass.

    Args:
        values: 0 to 1, shape (measures, questions); ``nan`` where a question does not belong to a measure (it needs
            no table, say).
        signatures: what was measured, one a row.
        clusters: what is drawn by the bootstrap, one name a question; each question by itself if None.
        failed: questions without a ranking, for all measures or for each.
        skipped: questions that were not asked.
        confidence: of the intervals (BCa).
        resamples: 0 leaves the intervals out.
        seed: of the draws.

    Returns:
        One score a row; undefined, with a note, where no question belongs to it.

    Raises:
        MetricInputError: if shapes differ, a value is infinite or an option is out of range.
    """
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 2 or len(data) != len(signatures):
        raise MetricInputError(f"values of shape {data.shape} for {len(signatures)} signatures")
    if np.isinf(data).any():
        raise MetricInputError("a value is infinite", "measures of a question lie between 0 and 1")
    if clusters is None:
        # The order of questions must not change the draws.
        data = data[:, np.lexsort(data)] if data.size else data
    failures = [failed] * len(data) if isinstance(failed, int) else list(failed)
    intervals: Sequence[Interval | None] = [None] * len(data)
    if resamples and data.size:
        intervals = bootstrap_mean_intervals(
            data,
            [f"{i:012d}" for i in range(data.shape[1])] if clusters is None else clusters,
            confidence=confidence,
            resamples=resamples,
            seed=seed,
        )
    return tuple(
        _cell(row[~np.isnan(row)], signature, interval, failures[i], skipped)
        for i, (row, signature, interval) in enumerate(zip(data, signatures, intervals, strict=True))
    )


def _cell(
    values: Floats, signature: Signature, interval: Interval | None, failed: int, skipped: int
) -> Score:
    if not len(values):
        note = f"no question was scored ({failed} failed)" if failed else "the cell has no questions"
        return Score(math.nan, signature.having(interval="none"), 0, None, None, failed, skipped, note)
    value = math.fsum(values.tolist()) / len(values)
    if interval is None:
        return Score(value, signature.having(interval="none"), len(values), None, None, failed, skipped)
    return Score(
        value,
        signature.having(interval=interval.method),
        len(values),
        interval.low,
        interval.high,
        failed,
        skipped,
        interval.note,
    )

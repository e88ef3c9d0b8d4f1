"""Pictures of agreement: every two annotators, and values with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from proctor.metrics.figure import IntervalPlot, Matrix
from proctor.metrics.table import ScoreRow

__all__ = ["heat_map", "interval_plot"]


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def heat_map(title: str, annotators: Sequence[str], values: Mapping[tuple[str, str], float]) -> Matrix:
    """Agreement of every two annotators; nothing on the diagonal, nor where nothing is defined."""
    cells = tuple(
        tuple(_or_none(values.get((min(a, b), max(a, b)), math.nan)) if a != b else None for b in annotators)
        for a in annotators
    )
    lowest = min((v for row in cells for v in row if v is not None), default=0.0)
    return Matrix(
        title=title, rows=tuple(annotators), columns=tuple(annotators), cells=cells, kind="values",
        row_title="annotator", column_title="annotator", low=min(0.0, math.floor(lowest * 10) / 10), high=1.0,
    )  # fmt: skip


def interval_plot(title: str, rows: Iterable[ScoreRow]) -> IntervalPlot:
    """Values of rows with their intervals, on one scale up to 1."""
    shown = list(rows)
    lows = [row.score.low for row in shown if row.score.low is not None]
    values = [row.score.value for row in shown if not math.isnan(row.score.value)]
    lowest = min([0.0, *lows, *values])
    return IntervalPlot(
        title=title,
        labels=tuple(f"{row.slice}: {row.metric}" for row in shown),
        values=tuple(_or_none(row.score.value) for row in shown),
        low=tuple(row.score.low for row in shown),
        high=tuple(row.score.high for row in shown),
        scale=(math.floor(lowest * 10) / 10, 1.0),
    )

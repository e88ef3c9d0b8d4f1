"""Pictures of agreement: every two annotators, and values with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from proctor.metrics.figure import IntervalPlot, Matrix
from proctor.metrics.table import ScoreRow
from proctor.stages.scoring.figures import defined, interval_plot

__all__ = ["agreement_plot", "heat_map"]


def heat_map(title: str, annotators: Sequence[str], values: Mapping[tuple[str, str], float]) -> Matrix:
    """Agreement of every two annotators; nothing on the diagonal, nor where nothing is defined."""
    cells = tuple(
        tuple(defined(values.get((min(a, b), max(a, b)), math.nan)) if a != b else None for b in annotators)
        for a in annotators
    )
    lowest = min((v for row in cells for v in row if v is not None), default=0.0)
    return Matrix(
        title=title, rows=tuple(annotators), columns=tuple(annotators), cells=cells, kind="values",
        row_title="annotator", column_title="annotator", low=min(0.0, math.floor(lowest * 10) / 10), high=1.0,
    )  # fmt: skip


def agreement_plot(title: str, rows: Iterable[ScoreRow]) -> IntervalPlot:
    """Values of rows with their intervals, on one scale up to 1."""
    shown = list(rows)
    lows = [row.score.low for row in shown if row.score.low is not None]
    values = [row.score.value for row in shown if not math.isnan(row.score.value)]
    lowest = min([0.0, *lows, *values])
    return interval_plot(
        title,
        ((f"{row.slice}: {row.metric}", row.score) for row in shown),
        scale=(math.floor(lowest * 10) / 10, 1.0),
    )

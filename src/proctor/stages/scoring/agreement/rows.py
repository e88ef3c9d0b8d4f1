"""Pictures of agreement: every two annotators, and values with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from proctor.metrics.agreement import INDEPENDENT
from proctor.metrics.figure import IntervalPlot, Matrix
from proctor.metrics.score import Score, Signature
from proctor.metrics.table import ScoreRow
from proctor.stages.scoring.tables import defined, interval_plot

__all__ = [
    "MANY_PAIRS",
    "agreement_plot",
    "chance_row",
    "heat_map",
    "name_of_pair",
    "named_score",
    "slice_note",
]


MANY_PAIRS: Final = 15

"""With more pairs of annotators than this, the heat-map alone shows them."""


def named_score(score: Score, **parameters: str) -> Score:
    """Return the score with choices of the stage in its signature."""
    if "cluster" not in score.signature.parameters:
        parameters.pop("cluster", None)
    return replace(score, signature=score.signature.having(**parameters))


def chance_row(row: ScoreRow, score: Score | None = None) -> ScoreRow:
    """The row of annotators who know nothing of each other; 0 where a measure is corrected for chance.

    A measure that these data leave undefined has no chance level either.
    """
    own = row.score.signature.parameters
    kept = {key: own[key] for key in ("label", "level", "pairs", "weights") if key in own}
    if score is None:
        score = Score(0.0, Signature(row.score.signature.name, INDEPENDENT), row.score.n)
    if math.isnan(row.score.value):
        score = replace(score, value=math.nan, note=row.score.note)
    return ScoreRow(row.metric, named_score(score, **kept), "independent annotators", chance=True)


def name_of_pair(a: str, b: str) -> str:
    """Name of the slice of two annotators."""
    return f"{a} – {b}"


def slice_note(slices: Mapping[str, object]) -> list[str]:
    """Say what ``all`` is where there are slices."""
    if len(slices) < 2:
        return []
    return ["'all' pools the units of all slices; slices are shown each, never averaged"]


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

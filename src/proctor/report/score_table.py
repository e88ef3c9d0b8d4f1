"""A family's scores as a table for terminals and papers: one line a slice, one column a metric."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Literal

from proctor.metrics.score import Score
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.report.tables import render_grid

__all__ = ["SCORE_FORMATS", "ScoreFormat", "render_scores"]

ScoreFormat = Literal["text", "markdown", "latex"]
SCORE_FORMATS: Final[tuple[ScoreFormat, ...]] = ("text", "markdown", "latex")
_MAX_COLUMNS: Final = 8
"""More metrics than this are set one below the other."""


def render_scores(table: ScoreTable, format_: ScoreFormat = "text") -> str:
    """Render the scores; lines of chance are marked ``(chance)``, undefined values are a dash.

    Raises:
        ValueError: if the format is unknown.
    """
    metrics = list(dict.fromkeys(row.metric for row in table.rows))
    lines = list(dict.fromkeys((row.slice, row.chance) for row in table.rows))
    cells = {(row.slice, row.chance, row.metric): row for row in table.rows}
    if len(metrics) > _MAX_COLUMNS and len(lines) <= _MAX_COLUMNS:
        head = ["metric", *(_line_name(*line) for line in lines)]
        body = [[m, *(_cell(cells.get((*line, m))) for line in lines)] for m in metrics]
    else:
        head = ["", *metrics, "n"]
        body = [
            [_line_name(*line), *(_cell(cells.get((*line, m))) for m in metrics), _counts(table.rows, line)]
            for line in lines
        ]
    return render_grid(head, body, format_, text_columns=1)


def _line_name(name: str, chance: bool) -> str:
    return f"{name} (chance)" if chance and "chance" not in name else name


def _cell(row: ScoreRow | None) -> str:
    if row is None or math.isnan(row.score.value):
        return "–"
    return _number(row.score.value, row.digits) + _interval(row.score, row.digits)


def _interval(score: Score, digits: int) -> str:
    if score.low is None or score.high is None or math.isnan(score.low) or math.isnan(score.high):
        return ""
    return f" [{_number(score.low, digits)}, {_number(score.high, digits)}]"


def _number(value: float, digits: int) -> str:
    text = f"{value:.{digits}f}"
    return text if float(text) else text.removeprefix("-")


def _counts(rows: Sequence[ScoreRow], line: tuple[str, bool]) -> str:
    found = sorted({row.score.n for row in rows if (row.slice, row.chance) == line})
    return "/".join(f"{n:,}" for n in found[:3]) + ("/…" if len(found) > 3 else "")

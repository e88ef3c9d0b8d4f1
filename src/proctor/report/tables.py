"""The scores as one table, for terminals, papers and pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from proctor.metrics.score import Score
from proctor.report.data import ROLES
from proctor.report.grid import TABLE_FORMATS, TableFormat, render_grid
from proctor.report.plaintext import show_text
from proctor.report.standings import Row, Standings

__all__ = ["scores_table", "show_interval", "show_value"]

_MAX_NAME: Final = 60


def show_value(value: float | None, digits: int = 1) -> str:
    """Return a number with a true minus sign, a dash when it is undefined."""
    if value is None or math.isnan(value):
        return "–"
    text = f"{value:.{digits}f}"
    return text.replace("-", "−") if float(text) else text.replace("-", "")


def show_interval(score: Score) -> str:
    """Return ``40.2–48.0``; empty when it has no interval."""
    if score.low is None or score.high is None or math.isnan(score.value):
        return ""
    return f"{show_value(score.low)}–{show_value(score.high)}"


def scores_table(standings: Standings, format_: TableFormat = "text", *, intervals: bool = True) -> str:
    """Render one line a run: score with interval, then clean, noisy and every type, then what was not scored.

    Args:
        standings: from ``compute_standings``.
        format_: text (aligned), markdown (GitHub), latex (booktabs) or html (a bare ``table``).
        intervals: print the interval of the overall score.

    Raises:
        ValueError: if the format is unknown.
    """
    if format_ not in TABLE_FORMATS:
        raise ValueError(f"format must be one of {', '.join(TABLE_FORMATS)}, got {format_!r}")
    slices = [*standings.group("noise"), *standings.group("type")]
    head = [
        "run",
        "role",
        "score",
        *(["interval"] if intervals else []),
        *(s.label for s in slices),
    ]
    head += ["scored", "failed", "unscored", "not asked"]
    body = [_cells(row, [s.key for s in slices], intervals=intervals) for row in standings.rows]
    return render_grid([_name(h) for h in head], body, format_)


def _cells(row: Row, keys: Sequence[str], *, intervals: bool) -> list[str]:
    counts = row.counts
    return [
        _name(row.run.name),
        ROLES[row.run.role],
        show_value(row.score.value),
        *([show_interval(row.score) or "–"] if intervals else []),
        *(show_value(row.scores[key].value if key in row.scores else None) for key in keys),
        str(row.scored),
        str(counts["failed"]),
        str(counts["unscored"]),
        str(counts["absent"]),
    ]


def _name(text: str) -> str:
    flat = " ".join(show_text(text).split())
    return flat if len(flat) <= _MAX_NAME else flat[: _MAX_NAME - 1] + "…"

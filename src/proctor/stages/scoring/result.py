"""The JSON that machines read from ``proctor score FAMILY --json``."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from proctor.metrics.table import ScoreRow, ScoreTable

__all__ = ["table_as_json"]


def table_as_json(table: ScoreTable) -> dict[str, Any]:
    """Return the whole result: the family, its headline values, every score, counts, notes and pictures as data.

    Scores are shares from 0 to 1; ``percent`` says of each whether tables print it times 100, as the headline has it.
    Undefined values are null, and the ``note`` of that score says why.
    """
    return {
        "family": table.family,
        **{name: _plain(value) for name, value in table.headline.items()},
        "counts": dict(table.counts),
        "notes": list(table.notes),
        "scores": [_row(row) for row in table.rows],
        "figures": [
            {"type": type(figure).__name__, **{k: _plain(v) for k, v in asdict(figure).items()}}
            for figure in table.figures
        ],
    }


def _row(row: ScoreRow) -> dict[str, Any]:
    return {
        "metric": row.metric,
        "slice": row.slice,
        "chance": row.chance,
        "percent": row.percent,
        **row.score.to_dict(),
    }


def _plain(value: Any) -> Any:
    """Return a value that JSON has: no nan, no tuples, no arrays."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return value

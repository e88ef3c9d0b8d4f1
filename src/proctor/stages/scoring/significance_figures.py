"""Pictures of systems: means with intervals, and how clearly every two differ."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from proctor.metrics.figure import Figure, Matrix
from proctor.metrics.score import Score
from proctor.metrics.significance import Comparison
from proctor.metrics.table import ScoreRow
from proctor.stages.scoring.figures import interval_plot
from proctor.stages.scoring.significance_pairs import Pair

__all__ = ["figures_of_systems"]

_CLEAR: Final = 0.9
"""Below this value of 1 - p the heat-map stays white: only what comes near to significance is shaded."""


def figures_of_systems(
    means: Mapping[str, Score], pairs: Sequence[Pair], corrected: Sequence[ScoreRow]
) -> tuple[Figure, ...]:
    """Means with intervals, and heat-maps of the pairs."""
    lines = [(name, score) for name, score in means.items()]
    lines += [
        (f"{row.slice} ({row.metric})", row.score) for row in corrected if not row.metric.startswith("judge ")
    ]
    ends = [v for _, s in lines for v in (s.value, s.low, s.high) if v is not None and not math.isnan(v)]
    if not ends:
        return ()
    figures: list[Figure] = [interval_plot("Mean of each system", lines, scale=_scale(ends))]
    names = tuple(means)
    if len(names) > 1 and pairs:
        cells: dict[tuple[str, str], Comparison] = {}
        for pair in pairs:
            cells[pair.comparison.a, pair.comparison.b] = pair.comparison
        figures += _heat_maps(names, cells)
    return tuple(figures)


def _scale(ends: Sequence[float]) -> tuple[float, float]:
    low, high = min(ends), max(ends)
    for top in (1.0, 100.0):
        if low >= 0 and high <= top:
            return 0.0, top
    return min(0.0, low), max(0.0, high)


def _heat_maps(names: tuple[str, ...], cells: Mapping[tuple[str, str], Comparison]) -> list[Figure]:
    def cell(row: str, column: str, of: str) -> float | None:
        there, back = cells.get((column, row)), cells.get((row, column))
        if of == "difference":
            if there is not None:
                return there.difference
            return None if back is None or back.difference is None else -back.difference
        found = there or back
        return None if found is None or found.p_holm is None else 1 - found.p_holm

    def table(of: str) -> tuple[tuple[float | None, ...], ...]:
        return tuple(tuple(None if r == c else cell(r, c, of) for c in names) for r in names)

    differences = table("difference")
    largest = max((abs(v) for line in differences for v in line if v is not None), default=0.0) or 1.0
    return [
        Matrix(
            "Difference of means: row minus column",
            names,
            names,
            differences,
            kind="values",
            row_title="system",
            column_title="system",
            low=-largest,
            high=largest,
        ),
        Matrix(
            "How clearly two systems differ: 1 - p (Holm)",
            names,
            names,
            table("p"),
            kind="values",
            row_title="system",
            column_title="system",
            low=_CLEAR,
        ),
    ]

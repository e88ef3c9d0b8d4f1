"""Pictures of scored orders: all measures on one scale, and right against predicted positions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from proctor.metrics.figure import Figure, Matrix
from proctor.metrics.table import ScoreRow
from proctor.stages.scoring.figures import defined, interval_plot
from proctor.stages.scoring.ordering_system import System

__all__ = ["draw_figures"]

_LONGEST_MATRIX: Final = 12
_LARGEST_MATRIX: Final = 40
_PLOTTED: Final = (
    "position_accuracy",
    "perfect_match_ratio",
    "normalised_subsequence",
    "normalised_substring",
    "kendall_tau",
    "normalised_displacement",
)


def draw_figures(
    systems: Sequence[System], rows: Sequence[ScoreRow], chance: Sequence[ScoreRow]
) -> tuple[Figure, ...]:
    """Return an interval plot with chance and a matrix of positions for each system; nothing without full orders.

    Args:
        systems: measured prediction files.
        rows: all rows of the table.
        chance: the rows of chance.
    """
    if systems[0].best is None:
        return ()
    guessed = {row.score.signature.name: row.score for row in chance}
    lines = [
        (_plotted_label(row, system.name if len(systems) > 1 else ""), row.score)
        for name in _PLOTTED
        for system in systems
        for row in rows
        if row.score.signature.name == name and row.slice == system.name and not row.chance
    ]
    # All six on one scale: lengths and distances are divided by their largest value.
    plot = interval_plot(
        "Predicted orders: shares of the possible",
        lines,
        chance=[defined(guessed[score.signature.name].value) for _, score in lines],
        scale=(min([0.0, *(s.low if s.low is not None else defined(s.value) or 0.0 for _, s in lines)]), 1.0),
    )
    matrices = (matrix for system in systems if (matrix := _matrix(system, len(systems) > 1)))
    return (plot, *matrices)


def _plotted_label(row: ScoreRow, system: str) -> str:
    better = " (lower is better)" if row.score.signature.name == "normalised_displacement" else ""
    return f"{row.metric}{better}" + (f" ({system})" if system else "")


def _matrix(system: System, several: bool) -> Matrix | None:
    """True against predicted positions, of sequences that are short, or all of one length."""
    lengths = {len(order) for order in system.orders}
    longest = max(lengths)
    if longest > (_LONGEST_MATRIX if len(lengths) > 1 else _LARGEST_MATRIX):
        return None
    assert system.best is not None
    chosen: Iterable[int] = (
        [0] * len(system.items) if system.best.chosen is None else system.best.chosen.tolist()
    )
    cells = np.zeros((longest, longest))
    for item, order, at in zip(system.items, system.orders, chosen, strict=True):
        right = {step: t for t, step in enumerate(item.references[at])}
        for t, step in enumerate(order):
            cells[right[step], t] += 1
    places = tuple(str(t + 1) for t in range(longest))
    return Matrix(
        title="Right and predicted positions" + (f" ({system.name})" if several else ""),
        rows=places,
        columns=places,
        cells=tuple(tuple(row) for row in cells.tolist()),
        row_title="right position",
        column_title="predicted position",
    )

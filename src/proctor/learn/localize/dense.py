"""One label a row: what ``metrics.segmentation`` compares, from executions that may overlap, and back to segments."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["BACKGROUND", "row_labels", "runs_of"]

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

BACKGROUND: Final = "background"
"""Label of rows in which no step is performed."""


def row_labels(rows: int, start: Floats, end: Floats, label: Places, background: int) -> Places:
    """Return the label of each row, shape (rows,): that of the shortest action that holds the row's middle.

    The shortest, because an action within a longer one would else not be seen at all; of equals the one that begins first.

    Args:
        rows: how many.
        start: of each action, in rows (row g stands for g), shape (actions,); likewise ``end``, ``label``.
        end: not part of the action.
        label: of each action, 0 or more.
        background: label of rows without an action.
    """
    found = np.full(rows, background)
    for n in np.lexsort((-start, -(end - start))):
        first, last = np.clip(np.ceil([start[n], end[n]]), 0, rows).astype(np.int64)
        found[first:last] = label[n]
    return found


def runs_of(labels: Places) -> tuple[Places, Places]:
    """Return where runs of one label begin and end, half-open; each of shape (runs,)."""
    edges = np.flatnonzero(np.diff(labels)) + 1
    if not len(labels):
        return edges, edges
    return np.concatenate([[0], edges]), np.concatenate([edges, [len(labels)]])

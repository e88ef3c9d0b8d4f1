"""The cells of a matrix as arrays: their shades, their shares of a row and the ones that matter most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.figure import Matrix

__all__ = ["SHADES", "Cell", "Cells", "diverging", "read_cells", "shade_name"]

SHADES: Final = 8
"""Steps above the ground: ``p0`` to ``p8``, and ``n1`` to ``n8`` below zero, are classes of the style sheet."""
_VOID: Final = -SHADES - 1


@dataclass(frozen=True, slots=True)
class Cell:
    """One defined cell.

    Attributes:
        row: from 0.
        column: from 0.
        value: finite.
        share: of the row, None where shares mean nothing.
    """

    row: int
    column: int
    value: float
    share: float | None


@dataclass(frozen=True, slots=True)
class Cells:
    """All cells.

    Attributes:
        values: nan where undefined.
        totals: of the rows.
        codes: shades, to be named by ``shade_name``.
        counts: the values are counts, so that shares of a row mean something.
    """

    values: NDArray[np.float64]
    totals: NDArray[np.float64]
    codes: NDArray[np.int64]
    counts: bool

    def cell(self, row: int, column: int) -> Cell | None:
        """Return a cell, None when it is undefined."""
        value = float(self.values[row, column])
        if np.isnan(value):
            return None
        total = float(self.totals[row])
        return Cell(row, column, value, value / total if self.counts and total else None)

    def first(self, key: NDArray[np.float64], most: int) -> list[Cell]:
        """Return the cells with the smallest keys, ties from the top left; nan leaves a cell out."""
        flat = key.ravel()
        found = np.flatnonzero(~np.isnan(flat))
        if len(found) > most:
            limit = np.partition(flat[found], most - 1)[most - 1]
            found = found[flat[found] <= limit]
        order = found[np.argsort(flat[found], kind="stable")][:most]
        places = (divmod(int(place), self.values.shape[1]) for place in order)
        return [cell for row, column in places if (cell := self.cell(row, column)) is not None]


def read_cells(matrix: Matrix) -> Cells:
    """Return the cells of a matrix whose rows are equally long; what is not finite is undefined."""
    values = np.array(matrix.cells, dtype=np.float64).reshape(len(matrix.rows), len(matrix.columns))
    values = np.where(np.isfinite(values), values, np.nan)
    totals = np.nansum(values, axis=1)
    return Cells(values, totals, _codes(matrix, values, totals), matrix.kind == "counts")


def diverging(matrix: Matrix) -> bool:
    """Whether values lie on both sides of zero."""
    return matrix.kind != "counts" and matrix.low < 0 < matrix.high


def shade_name(code: int) -> str:
    """Return the class of a cell: ``p0`` (ground) to ``p8``, ``n1`` to ``n8`` below zero, ``void`` when undefined."""
    return "void" if code == _VOID else f"n{-code}" if code < 0 else f"p{code}"


def _codes(matrix: Matrix, values: NDArray[np.float64], totals: NDArray[np.float64]) -> NDArray[np.int64]:
    known = np.nan_to_num(values)
    if matrix.kind == "counts":
        steps = _steps(known / np.where(totals > 0, totals, 1.0)[:, None])
        steps = np.where((known > 0) & (steps == 0), 1, steps)
    elif diverging(matrix):
        steps = np.where(known < 0, -1, 1) * _steps(np.abs(known) / max(-matrix.low, matrix.high))
    else:
        span = matrix.high - matrix.low
        steps = _steps((known - matrix.low) / span if span > 0 else np.zeros_like(known))
    return np.where(np.isnan(values), _VOID, steps)


def _steps(shares: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.rint(SHADES * np.clip(shares, 0.0, 1.0)).astype(np.int64)

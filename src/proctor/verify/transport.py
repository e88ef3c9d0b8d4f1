"""The transportation problem behind dealing with constraints: so many of each kind, to columns, as evenly as can be.

Kinds of items (rows) are sent to columns (pairs of people, or people). Some cells are forbidden, some groups of
columns have a limit. Sought is the integral solution with the least sum of squares of the column totals, and next
to it of the column totals inside every stratum: that is the evenest one. Squares are convex, so each is laid out as
segments of rising slope, fine around the present solution and coarse far from it, and solved again until nothing
improves; without limits that span columns the matrix is that of a network, and its corners are integral.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array
from scipy.sparse.csgraph import maximum_flow

__all__ = ["Limit", "Shortage", "find_shortage", "send_evenly"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_OVERALL = 100
"""Weight of a column's total against its totals inside strata: evenness overall comes first."""
_ROUNDS = 40


@dataclass(frozen=True, slots=True)
class Limit:
    """At most ``most`` units in all of ``columns`` together."""

    columns: tuple[int, ...]
    most: int


@dataclass(frozen=True, slots=True)
class Shortage:
    """Why a demand can't be met: what ``rows`` ask of ``columns`` is more than these can take.

    Attributes:
        rows: whose demand is too much.
        columns: the only ones with which these rows could still be served.
        wanted: units that the rows ask for, over and above what cells to other columns can carry.
        room: units that ``columns`` can take.
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    wanted: int
    room: int


def find_shortage(
    supply: Sequence[int], allowed: Bools, cell_most: Sequence[int], room: Sequence[int]
) -> Shortage | None:
    """Return None when every row can be served, else a smallest cut that says why not (max flow = min cut).

    Args:
        supply: units of each row, shape (rows,).
        allowed: cells that may be used, shape (rows, columns).
        cell_most: most units in any one cell of each row, shape (rows,).
        room: most units of each column, shape (columns,).
    """
    rows, columns = allowed.shape
    source, sink, size = rows + columns, rows + columns + 1, rows + columns + 2
    r, c = np.nonzero(allowed)
    start = np.concatenate([np.full(rows, source), r, rows + np.arange(columns)])
    end = np.concatenate([np.arange(rows), rows + c, np.full(columns, sink)])
    most = np.concatenate([np.asarray(supply), np.asarray(cell_most)[r], np.asarray(room)])
    most = np.minimum(most, int(np.sum(supply))).astype(np.int32)
    graph = coo_array((most, (start, end)), shape=(size, size)).tocsr()
    result = maximum_flow(graph, source, sink)
    if result.flow_value >= int(np.sum(supply)):
        return None
    reached = _reachable((graph - result.flow).tocsr(), source)
    cut_rows = tuple(i for i in range(rows) if i in reached)
    full = tuple(j for j in range(columns) if rows + j in reached)
    elsewhere = sum(
        int(cell_most[i])
        for i in cut_rows
        for j in range(columns)
        if allowed[i, j] and rows + j not in reached
    )
    wanted = sum(int(supply[i]) for i in cut_rows) - elsewhere
    return Shortage(cut_rows, full, wanted, sum(int(room[j]) for j in full))


def _reachable(residual: coo_array, source: int) -> set[int]:
    seen, stack = {source}, [source]
    while stack:
        node = stack.pop()
        begin, stop = residual.indptr[node], residual.indptr[node + 1]
        for other, left in zip(residual.indices[begin:stop], residual.data[begin:stop], strict=True):
            if left > 0 and int(other) not in seen:
                seen.add(int(other))
                stack.append(int(other))
    return seen


def send_evenly(
    supply: Sequence[int],
    allowed: Bools,
    *,
    cell_most: Sequence[int] | None = None,
    strata: Sequence[Sequence[int]] = (),
    limits: Sequence[Limit] = (),
) -> Ints | None:
    """Return the evenest integral shipment, shape (rows, columns), or None when there is none.

    Args:
        supply: units of each row, shape (rows,); all of them are sent.
        allowed: cells that may be used, shape (rows, columns).
        cell_most: most units in any one cell of each row; the row's supply by default.
        strata: for each way to divide the rows (finer ones inside coarser ones), the stratum's number of each row.
        limits: on groups of columns.
    """
    problem = _Problem(
        np.asarray(supply, dtype=np.int64),
        allowed,
        np.asarray(supply if cell_most is None else cell_most, dtype=np.int64),
        [np.asarray(division, dtype=np.int64) for division in strata],
        tuple(limits),
    )
    best = problem.solve(None)
    if best is None:
        return None
    for _ in range(_ROUNDS):
        better = problem.solve(best)
        if better is None or problem.cost(better) >= problem.cost(best):
            break
        best = better
    return best


class _Problem:
    def __init__(
        self,
        supply: Ints,
        allowed: Bools,
        cell_most: Ints,
        divisions: Sequence[Ints],
        limits: tuple[Limit, ...],
    ) -> None:
        self.supply, self.shape = supply, allowed.shape
        self.row, self.column = np.nonzero(allowed)
        self.cells = len(self.row)
        self.most = np.minimum(cell_most, supply)[self.row]
        self.limits = limits
        self.network = all(len(limit.columns) == 1 for limit in limits)
        columns = self.shape[1]
        # a measure is a total whose square counts: first each column, then each column inside each stratum
        self.measures = columns
        self.belongs = [self.column]
        sent = [int(supply.sum())]
        for strata in divisions:
            kinds, place = np.unique(strata, return_inverse=True)
            self.belongs.append(self.measures + columns * place[self.row] + self.column)
            self.measures += columns * len(kinds)
            sent += np.bincount(place, weights=supply).astype(int).tolist()
        self.middle = np.repeat([total // max(1, columns) for total in sent], columns)
        self.weight = np.where(np.arange(self.measures) < columns, _OVERALL, 1)
        self.ceiling = self._sums(self.most)

    def totals(self, sent: Ints) -> Ints:
        """Return every measure of a shipment."""
        return self._sums(sent[self.row, self.column])

    def _sums(self, units: Ints) -> Ints:
        sums = [np.bincount(b, weights=units, minlength=self.measures) for b in self.belongs]
        return np.asarray(np.sum(sums, axis=0), dtype=np.int64)

    def cost(self, sent: Ints) -> int:
        return int((self.weight * (self.totals(sent) - self.middle) ** 2).sum())

    def solve(self, near: Ints | None) -> Ints | None:
        """Solve with segments that are exact within one unit of ``near``."""
        centre = self.middle if near is None else self.totals(near)
        owner, width, slope = self._segments(centre)
        cost = np.concatenate([np.zeros(self.cells), slope])
        upper = np.concatenate([self.most, width])
        matrix, low, high = self._rows(owner)
        whole = np.concatenate([np.full(self.cells, not self.network), np.zeros(len(width), dtype=bool)])
        units = self._run(cost, upper, matrix, low, high, whole)
        if units is not None and np.abs(units - np.round(units)).max(initial=0.0) > 1e-6:
            whole[: self.cells] = True
            units = self._run(cost, upper, matrix, low, high, whole)
        if units is None:
            return None
        sent = np.zeros(self.shape, dtype=np.int64)
        sent[self.row, self.column] = np.round(units).astype(np.int64)
        return sent

    def _segments(self, centre: Ints) -> tuple[Ints, NDArray[np.float64], NDArray[np.float64]]:
        owner, width, slope = [], [], []
        for measure, (middle, here, end) in enumerate(zip(self.middle, centre, self.ceiling, strict=True)):
            steps = [1 << p for p in range(int(end).bit_length() + 1)]
            marks = {0, int(end), int(here), *(int(here) + s for s in steps), *(int(here) - s for s in steps)}
            points = sorted(m for m in marks if 0 <= m <= end)
            for a, b in pairwise(points):
                owner.append(measure)
                width.append(b - a)
                slope.append(self.weight[measure] * (a + b - 2 * middle))
        return np.array(owner, dtype=np.int64), np.array(width, dtype=float), np.array(slope, dtype=float)

    def _rows(self, owner: Ints) -> tuple[coo_array, NDArray[np.float64], NDArray[np.float64]]:
        cells = np.arange(self.cells)
        rows, columns, values = [self.row], [cells], [np.ones(self.cells)]
        first = self.shape[0]
        for belongs in self.belongs:
            rows.append(first + belongs)
            columns.append(cells)
            values.append(np.ones(self.cells))
        rows.append(first + owner)
        columns.append(self.cells + np.arange(len(owner)))
        values.append(-np.ones(len(owner)))
        first += self.measures
        for n, limit in enumerate(self.limits):
            inside = np.flatnonzero(np.isin(self.column, limit.columns))
            rows.append(np.full(len(inside), first + n))
            columns.append(inside)
            values.append(np.ones(len(inside)))
        shape = (first + len(self.limits), self.cells + len(owner))
        at = (np.concatenate(rows), np.concatenate(columns))
        exact = np.concatenate([self.supply, np.zeros(self.measures)]).astype(float)
        low = np.concatenate([exact, np.full(len(self.limits), -np.inf)])
        high = np.concatenate([exact, [float(limit.most) for limit in self.limits]])
        return coo_array((np.concatenate(values), at), shape=shape).tocsr(), low, high

    def _run(
        self,
        cost: NDArray[np.float64],
        upper: NDArray[np.float64],
        matrix: coo_array,
        low: NDArray[np.float64],
        high: NDArray[np.float64],
        whole: Bools,
    ) -> NDArray[np.float64] | None:
        if not len(cost):
            return None if self.supply.any() else np.zeros(0)
        result = milp(
            cost,
            integrality=whole.astype(int),
            bounds=Bounds(0, upper),
            constraints=LinearConstraint(matrix, low, high),
            # a fixed number of nodes, not of seconds: the same input gives the same deal on a slow machine
            options={"mip_rel_gap": 1e-4, "node_limit": 200},
        )
        return None if result.x is None else np.asarray(result.x[: self.cells])

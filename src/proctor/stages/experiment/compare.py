"""Cells of a grid side by side: what each is measured by, paired differences with intervals, cost, and whose orders agree."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import msgspec

from proctor.errors import UserError
from proctor.exam.concur import ConcurrenceTable, MarkSheet, concur
from proctor.metrics.bootstrap import bootstrap_interval, cluster_sums
from proctor.metrics.significance import Comparison, compare_all_pairs
from proctor.records import atomic_write, iter_jsonl, write_json
from proctor.spreadsheet import safe_cell
from proctor.stages.experiment.stage import Plan, Unit

__all__ = ["COMPARISON_FILE", "TABLE_FILE", "CellRow", "Grid", "Pair", "compare_cells", "write_grid"]

COMPARISON_FILE: Final = "cells.json"
TABLE_FILE: Final = "cells.csv"
_COLUMNS: Final = (
    "system", "measure", "cell", "against", "n", "value", "low", "high", "p_holm", "detectable", "cost", "least", "most",
    "coverage", "judge",
)  # fmt: skip


class CellRow(msgspec.Struct, frozen=True, kw_only=True):
    """One number of one cell.

    Attributes:
        cell: its name.
        system: who answered; empty for what was asked and approved.
        measure: what was measured.
        n: questions or examples in the number.
        value: their mean, from 0 to 100; None where there is none.
        low: lower end of the interval, clustered.
        high: upper end.
        least: the mean with everything as wrong that has no mark.
        most: the mean with everything as right that has no mark.
        coverage: share of the questions or examples that have a mark.
        judge: who gave the marks; empty where they are computed.
    """

    cell: str
    system: str
    measure: str
    n: int
    value: float | None
    low: float | None
    high: float | None
    least: float | None = None
    most: float | None = None
    coverage: float | None = None
    judge: str = ""


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """Two cells by one measure on the questions or examples that both have: ``comparison.b`` against ``comparison.a``."""

    system: str
    measure: str
    scale: float
    comparison: Comparison


class Grid(msgspec.Struct, frozen=True, kw_only=True):
    """All cells side by side.

    Attributes:
        costs: of every cell, US dollars of what its questions, answers and marks took, whoever paid; None where no price is
            known.
        rows: its numbers.
        pairs: every two cells, corrected over all pairs of a measure (Holm).
        agreement: how alike every two measures rank the systems (Kendall's tau).
    """

    costs: Mapping[str, float | None]
    rows: tuple[CellRow, ...]
    pairs: tuple[Pair, ...]
    agreement: tuple[ConcurrenceTable, ...]


class _Costs(msgspec.Struct):
    cost: str | float | None = None
    details: dict[str, Any] = {}
    provenance: dict[str, Any] = {}

    @property
    def dollars(self) -> float | None:
        found = self.cost or self.details.get("cost") or self.provenance.get("cost")
        return float(found) if found else None


def compare_cells(plan: Plan, cells: Mapping[str, Path], *, resamples: int = 10_000, seed: int = 0) -> Grid:
    """Compare finished cells.

    Args:
        plan: of the experiment.
        cells: their workspaces by name.
        resamples: of the bootstrap.
        seed: of the bootstrap.
    """
    units = {name: list(plan.measure(root)) for name, root in cells.items()}
    groups: dict[tuple[str, str], dict[str, Unit]] = {}
    for cell, found in units.items():
        for unit in found:
            groups.setdefault((unit.system, unit.measure), {})[cell] = unit
    rows = [
        _row(cell, unit, resamples, seed) for of_cell in groups.values() for cell, unit in of_cell.items()
    ]
    pairs = [pair for of_cell in groups.values() for pair in _pairs(of_cell, resamples, seed)]
    return Grid(
        costs={name: _cost(root, plan.costs) for name, root in cells.items()},
        rows=tuple(rows),
        pairs=tuple(pairs),
        agreement=tuple(_agreement(units, resamples, seed)),
    )


def _row(cell: str, unit: Unit, resamples: int, seed: int) -> CellRow:
    marks = {id_: mark for id_, mark in unit.marks.items() if mark is not None}
    value = low = high = least = most = None
    asked = len(unit.marks)
    if asked:
        least = unit.scale * sum(marks.values()) / asked
        most = least + 100.0 * (asked - len(marks)) / asked
    if marks:
        value = unit.scale * sum(marks.values()) / len(marks)
        sums = cluster_sums([list(marks.values()), [1.0] * len(marks)], [unit.clusters[id_] for id_ in marks])
        found = bootstrap_interval(sums, resamples=resamples, seed=seed)
        low, high = (None if end is None else unit.scale * end for end in (found.low, found.high))
    return CellRow(
        cell=cell, system=unit.system, measure=unit.measure, n=len(marks), value=value, low=low, high=high,
        least=least, most=most, coverage=len(marks) / asked if asked else None, judge=unit.judge,
    )  # fmt: skip


def _pairs(cells: Mapping[str, Unit], resamples: int, seed: int) -> Iterator[Pair]:
    """Compare every two cells on what both were measured on; cells that asked about nothing in common are not compared."""
    common = set.intersection(*(set(unit.marks) for unit in cells.values()))
    if len(cells) < 2 or not common:
        return
    first = next(iter(cells.values()))
    runs = {name: {id_: unit.marks[id_] for id_ in sorted(common)} for name, unit in cells.items()}
    clusters = {id_: first.clusters[id_] for id_ in common}
    for comparison in compare_all_pairs(runs, clusters, resamples=resamples, seed=seed):
        yield Pair(system=first.system, measure=first.measure, scale=first.scale, comparison=comparison)


def _agreement(units: Mapping[str, Sequence[Unit]], resamples: int, seed: int) -> Iterator[ConcurrenceTable]:
    """Say how alike every two measures rank the systems that both have: judges, ROUGE, BERTScore; of all cells."""
    sheets: dict[str, dict[str, Mapping[str, float | None]]] = {}
    for cell, found in units.items():
        for unit in found:
            if unit.system:
                name = f"{unit.measure} ({cell})" if cell else unit.measure
                sheets.setdefault(name, {})[unit.system] = unit.marks
    named = [MarkSheet(benchmark=name, marks=marks) for name, marks in sheets.items() if len(marks) > 1]
    for a, b in combinations(named, 2):
        if len(a.marks.keys() & b.marks.keys()) > 1:
            try:
                yield concur(a, b, resamples=resamples, seed=seed)
            except UserError:  # no question that all systems have a mark for
                continue


def _cost(root: Path, patterns: Sequence[str]) -> float | None:
    found: list[float | None] = []
    for pattern in patterns:
        for path in sorted(root.glob(pattern)):
            records: Iterator[_Costs] = iter_jsonl(path, _Costs)
            found += (record.dollars for record in records)
    known = [cost for cost in found if cost is not None]
    return sum(known) if known else None


def write_grid(root: Path, grid: Grid) -> str:
    """Write a comparison as JSON and as one table.

    Args:
        root: the workspace of the experiment.
        grid: what was compared.

    Returns:
        The path of the table.
    """
    write_json(root / COMPARISON_FILE, grid)
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(_COLUMNS)
    for row in grid.rows:
        cost = grid.costs[row.cell]
        shown = (row.n, row.value, row.low, row.high, None, None, cost, row.least, row.most, row.coverage)
        whose = map(safe_cell, (row.system, row.measure, row.cell, ""))
        table.writerow((*whose, *map(_number, shown), safe_cell(row.judge)))
    for pair in grid.pairs:
        c = pair.comparison
        ends = (None if x is None else pair.scale * x for x in (c.difference, c.low, c.high))
        further = (
            c.p_holm,
            None if c.detectable is None else pair.scale * c.detectable,
            None,
            None,
            None,
            None,
        )
        names = map(safe_cell, (pair.system, pair.measure, c.b, c.a))
        table.writerow((*names, *map(_number, (c.n, *ends, *further)), ""))
    with atomic_write(root / TABLE_FILE) as stream:
        stream.write(text.getvalue().encode())
    return str(root / TABLE_FILE)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"

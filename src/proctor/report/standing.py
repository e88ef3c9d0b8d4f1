"""How the runs of an exam stand: best first, every two of them compared; what became of each of their answers.

Numbers are those of the score tables; this module orders and compares them. An answer that failed, or that nobody marked, is
counted and never becomes 0.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.exam.table import Resampling, ScoreRow, ScoreTable, compare_tables
from proctor.metrics.significance import Comparison
from proctor.report.data import Exam, ReportOptions, Run
from proctor.report.naming import RunName, name_runs

__all__ = ["ALPHA", "Lack", "Line", "Standing", "Told", "lacks", "split_failure", "stand"]

ALPHA: Final = 0.05
"""Level at which two runs are told apart, after correction for the number of pairs."""

_SHARES: Final = frozenset({"accuracy", "circular_accuracy", "consistency"})
"""Measures whose tables hold shares from 0 to 1; the page prints all scores from 0 to 100."""
_CODE: Final = re.compile(r"(?P<code>[a-z][a-z0-9_-]{1,40}): ?(?P<message>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Told:
    """A comparison read as ``run`` minus ``other``, in points."""

    difference: float
    low: float | None
    high: float | None
    p: float | None
    stored: Comparison

    @property
    def decided(self) -> bool:
        """Whether the two can be told apart."""
        return self.p is not None and self.p < ALPHA


@dataclass(frozen=True, slots=True)
class Line:
    """One run with its scores, in points from 0 to 100."""

    run: Run
    name: RunName
    rows: Mapping[tuple[str, str], ScoreRow]
    main: str

    def row(self, slice_: str = "all", measure: str = "") -> ScoreRow | None:
        """Return the score of a slice, of the exam's first measure unless another is named."""
        return self.rows.get((slice_, measure or self.main))

    @property
    def value(self) -> float | None:
        """Score over all items."""
        row = self.row()
        return None if row is None else row.value

    def mark(self, item_id: str) -> float | None:
        """Return the mark of one item, in points."""
        mark = self.run.table.item_marks.get(item_id) if self.run.table is not None else None
        return None if mark is None else _scale(self.main) * mark

    @property
    def skipped(self) -> int:
        """Items that were not asked."""
        row = self.row()
        return row.skipped if row is not None else 0


@dataclass(frozen=True, slots=True)
class Standing:
    """The runs of an exam.

    Attributes:
        exam: whose.
        lines: best first, undefined last, those without scores at the end.
        measures: first the one that runs are compared by.
        compared: difference of every two runs, both ways round, by their names.
        note: why runs are not compared; empty when they are.
    """

    exam: Exam
    lines: tuple[Line, ...]
    measures: tuple[str, ...]
    compared: Mapping[tuple[str, str], Told]
    note: str = ""

    @property
    def scored(self) -> tuple[Line, ...]:
        """The runs that have a score."""
        return tuple(line for line in self.lines if line.value is not None)

    @property
    def names(self) -> Mapping[str, RunName]:
        """How the page calls each run."""
        return {line.run.name: line.name for line in self.lines}

    def best(self, role: str, slice_: str = "all") -> ScoreRow | None:
        """Return the best score that a run of a role has on a slice."""
        rows = [row for line in self.lines if line.run.role == role and (row := line.row(slice_)) is not None]
        return max((r for r in rows if r.value is not None), key=lambda r: r.value or 0.0, default=None)

    def slices(self) -> dict[str, dict[str, int]]:
        """Return what the tables cut by, with the names of the slices and how many items each has."""
        found: dict[str, dict[str, int]] = {}
        for line in self.lines:
            for row in line.rows.values():
                sizes = found.setdefault(row.kind, {})
                sizes[row.slice] = max(sizes.get(row.slice, 0), row.n + row.failed + row.skipped)
        return found

    @property
    def detectable(self) -> float | None:
        """Median over pairs of systems (of all runs where fewer than two are) of the smallest difference that would have shown."""
        systems = {line.run.name for line in self.lines if line.run.role == "system"}
        found = [told for pair, told in self.compared.items() if systems.issuperset(pair)] or [
            *self.compared.values()
        ]
        values = sorted(self._points(t.stored.detectable) for t in found if t.stored.detectable is not None)
        return values[(len(values) - 1) // 2] if values else None

    def _points(self, value: float) -> float:
        return _scale(self.measures[0]) * value


def stand(exam: Exam, options: ReportOptions | None = None, *, compare: bool = True) -> Standing:
    """Order the runs of an exam and compare every two of them.

    Args:
        exam: with its runs.
        options: of the comparisons.
        compare: False leaves the comparisons out.

    Raises:
        UserError: if two runs have the same name.
    """
    options = options or ReportOptions()
    twice = [name for name, n in Counter(run.name for run in exam.runs).items() if n > 1]
    if twice:
        raise UserError(f"two runs are called '{twice[0][:80]}'.", hint="give every run its own name")
    measures = tuple(dict.fromkeys(row.measure for run in exam.runs if run.table for row in run.table.rows))
    lines = [
        Line(run, RunName(run.name, run.name), _rows(run), measures[0] if measures else "")
        for run in exam.runs
    ]
    lines.sort(key=lambda line: -1.0 if line.value is None else line.value, reverse=True)
    names = name_runs([line.run for line in lines])
    lines = [replace(line, name=names[line.run.name]) for line in lines]
    compared, note = _compare(exam, lines, options) if measures and compare else ({}, "")
    return Standing(exam, tuple(lines), measures, compared, note)


def _rows(run: Run) -> dict[tuple[str, str], ScoreRow]:
    return {(row.slice, row.measure): _in_points(row) for row in (run.table.rows if run.table else ())}


def _scale(measure: str) -> float:
    return 100.0 if measure in _SHARES else 1.0


def _in_points(row: ScoreRow) -> ScoreRow:
    scale = _scale(row.measure)
    if scale == 1.0:
        return row
    ends = {name: getattr(row, name) for name in ("value", "low", "high", "chance")}
    return msgspec.structs.replace(
        row, **{name: None if x is None else scale * x for name, x in ends.items()}
    )


def _compare(
    exam: Exam, lines: list[Line], options: ReportOptions
) -> tuple[dict[tuple[str, str], Told], str]:
    clusters = {item.id: item.question.cluster or item.id for item in exam.items}
    tables: list[ScoreTable] = [
        msgspec.structs.replace(
            line.run.table, predictor=line.run.name, clusters={**clusters, **line.run.table.clusters}
        )
        for line in lines
        if line.run.table is not None and line.value is not None
    ]
    how = Resampling(confidence=options.confidence, resamples=options.resamples, seed=options.seed)
    try:
        found = compare_tables(tables, how) if len(tables) > 1 else ()
    except UserError as error:
        return {}, f"The runs are not compared: {error.message}"
    compared = {}
    scale = _scale(lines[0].main)
    for c in found:
        if c.difference is not None:
            low, high = (None if x is None else scale * x for x in (c.low, c.high))
            difference = scale * c.difference
            compared[c.b, c.a] = Told(difference, low, high, c.p_holm, c)
            compared[c.a, c.b] = Told(-difference, _minus(high), _minus(low), c.p_holm, c)
    return compared, ""


def _minus(value: float | None) -> float | None:
    return None if value is None else -value


# -- answers without a mark ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Lack:
    """An answer without a mark.

    Attributes:
        run: whose.
        item_id: the question.
        kind: ``failed`` (there is no answer) or ``unscored`` (there is one, but no mark).
        code: what it is, in one word.
        message: what was said about it.
    """

    run: str
    item_id: str
    kind: str
    code: str
    message: str


def split_failure(text: str) -> tuple[str, str]:
    """Return the code that a failure begins with and the rest; ``other`` where it begins with none."""
    match = _CODE.fullmatch(text.strip())
    return (match["code"], match["message"].strip()) if match else ("other", text.strip())


def lacks(standing: Standing) -> list[Lack]:
    """Return every answer that was asked for and has no mark, run by run, in the order of the items."""
    order = {item.id: n for n, item in enumerate(standing.exam.items)}
    return [
        lack
        for line in standing.lines
        for lack in sorted(_lacks(line.run), key=lambda lack: order.get(lack.item_id, -1))
    ]


def _lacks(run: Run) -> Iterator[Lack]:
    judged = {j.item_id: j for j in run.judgements}
    for p in run.predictions:
        if p.answer is None:
            yield Lack(run.name, p.item_id, "failed", *split_failure(p.failure or ""))
        elif judged and (found := judged.get(p.item_id)) is None:
            yield Lack(run.name, p.item_id, "unscored", "not_judged", "")
        elif judged and found is not None and found.score is None:
            yield Lack(run.name, p.item_id, "unscored", *split_failure(found.failure or ""))

"""How the runs of an exam stand: best first, every two of them compared; what became of each of their answers.

Numbers are those of the score tables; this module orders and compares them. An answer that failed, or that nobody marked, is
counted and never becomes 0.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.exam.table import Rank, Resampling, ScoreRow, ScoreTable, compare_alike, rank_rows
from proctor.metrics.significance import Comparison
from proctor.report.data import Exam, ReportOptions, Run
from proctor.report.naming import RunName, name_runs

__all__ = ["ALPHA", "Lack", "Line", "Standing", "Told", "lacks", "slice_label", "split_failure", "stand"]

ALPHA: Final = 0.05
"""Level at which two runs are told apart, after correction for the number of pairs."""

_CODE: Final = re.compile(r"(?P<code>[a-z][a-z0-9_-]{1,40}): ?(?P<message>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Told:
    """A comparison read as ``run`` minus ``other``, in points."""

    difference: float
    low: float | None
    high: float | None
    p: float | None
    stored: Comparison
    scale: float

    @property
    def detectable(self) -> float | None:
        """The smallest true difference that would have shown, in points."""
        found = self.stored.detectable
        return None if found is None else self.scale * found

    @property
    def decided(self) -> bool:
        """Whether the two can be told apart."""
        return self.p is not None and self.p < ALPHA


@dataclass(frozen=True, slots=True)
class Line:
    """One run with its scores, in points from 0 to 100, and where it stands."""

    run: Run
    name: RunName
    rows: Mapping[tuple[str, str], ScoreRow]
    main: str
    rank: Rank

    def row(self, slice_: str = "all", measure: str = "") -> ScoreRow | None:
        """Return the score of a slice, of the exam's first measure unless another is named."""
        return self.rows.get((slice_, measure or self.main))

    @property
    def value(self) -> float | None:
        """Score over all items."""
        row = self.row()
        return None if row is None else row.value

    @property
    def judge(self) -> str:
        """Who marked its answers."""
        row = self.row()
        return "" if row is None else row.judge

    def mark(self, item_id: str) -> float | None:
        """Return the mark of one item, in points."""
        mark = self.run.table.item_marks.get(item_id) if self.run.table is not None else None
        return None if mark is None else self.scale * mark

    @property
    def scale(self) -> float:
        """What a mark is multiplied with to be printed, since the page prints all scores from 0 to 100."""
        return 1.0 if self.run.table is None else _scale(self.run.table.row())

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
        lines: best first; after them those with too few marks to be ranked, those without scores at the end.
        measures: first the one that runs are compared by.
        compared: difference of every two runs, both ways round, by their names.
        note: why some runs are not compared; empty when all are.
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
    def ranked(self) -> tuple[Line, ...]:
        """The systems that are ranked."""
        return tuple(line for line in self.lines if line.run.role == "system" and line.rank.place is not None)

    @property
    def judge(self) -> str:
        """Who marked the first of the ranked systems; empty where none is ranked."""
        return next((line.judge for line in self.ranked), "")

    @property
    def best_floor(self) -> str:
        """What the page calls the floor that ``best`` returns: other judges may have marked better ones."""
        lines = [line for line in self.scored if line.run.role == "floor" and not line.rank.why]
        apart = self.judge in {line.judge for line in lines} and len({line.judge for line in lines}) > 1
        return "best floor with the same judge" if apart else "best floor"

    @property
    def board(self) -> tuple[Line, ...]:
        """The runs as a leaderboard lists them: systems and people first, then floors and bounds; best first, unranked ones last."""
        return tuple(sorted(self.lines, key=lambda line: line.run.role not in ("system", "human")))

    @property
    def names(self) -> Mapping[str, RunName]:
        """How the page calls each run."""
        return {line.run.name: line.name for line in self.lines}

    def best(self, role: str, slice_: str = "all") -> ScoreRow | None:
        """Return the best score that a run of a role has on a slice: of the judge who marked the best system, if there is one.

        Runs with too few marks are passed over.
        """
        lines = [line for line in self.lines if line.run.role == role and not line.rank.why]
        lines = [line for line in lines if line.judge == self.judge] or lines
        rows = [row for line in lines if (row := line.row(slice_)) is not None]
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
        values = sorted(told.detectable for told in found if told.detectable is not None)
        return values[(len(values) - 1) // 2] if values else None


def slice_label(name: str) -> str:
    """Return a slice as people read it.

    Example:
        >>> slice_label("style=compare/modalities=text"), slice_label("noisy")
        ('compare/text', 'noisy')
    """
    return "/".join(part.partition("=")[2] or part for part in name.split("/"))


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
        Line(run, RunName(run.name, run.name), _rows(run), measures[0] if measures else "", Rank())
        for run in exam.runs
    ]
    by_name = {line.run.name: line for line in lines}
    ranks = rank_rows(
        {name: line.row() for name, line in by_name.items()},
        [name for name, line in by_name.items() if line.run.role in ("system", "human")],
        options.min_coverage,
    )
    names = name_runs([by_name[name].run for name in ranks])
    lines = [replace(by_name[name], name=names[name], rank=rank) for name, rank in ranks.items()]
    compared, note = _compare(exam, lines, options) if measures and compare else ({}, "")
    return Standing(exam, tuple(lines), measures, compared, note)


def _rows(run: Run) -> dict[tuple[str, str], ScoreRow]:
    return {(row.slice, row.measure): _in_points(row) for row in (run.table.rows if run.table else ())}


def _in_points(row: ScoreRow) -> ScoreRow:
    scale = _scale(row)
    if scale == 1.0:
        return row
    ends = {name: getattr(row, name) for name in ("value", "low", "high", "least", "most", "chance")}
    return msgspec.structs.replace(
        row, full=100.0, **{name: None if x is None else scale * x for name, x in ends.items()}
    )


def _scale(row: ScoreRow) -> float:
    return 1.0 if row.raw else 100.0 / row.full


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
    found = compare_alike(tables, how)
    compared = {}
    scales = {line.run.name: line.scale for line in lines}
    for c in found:
        if c.difference is not None:
            scale = scales[c.a]
            low, high = (None if x is None else scale * x for x in (c.low, c.high))
            difference = scale * c.difference
            compared[c.b, c.a] = Told(difference, low, high, c.p_holm, c, scale)
            compared[c.a, c.b] = Told(-difference, _minus(high), _minus(low), c.p_holm, c, scale)
    apart = len(found) < math.comb(len(tables), 2)
    return (
        compared,
        "Runs are compared only where the same judge marked them in the same way." if apart else "",
    )


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

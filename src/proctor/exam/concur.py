"""Do two benchmarks rank the same systems alike? From the marks of every question, or from printed scores.

SMMQG: a synthetic benchmark is worth something when it ranks systems as one made by people does. With
marks by question the table says how much of the concurrence hangs on the questions that happened to be asked; with printed
scores only tau and its p-value can be had.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.exam.csv_rows import iter_csv_rows
from proctor.exam.retrieval_scores import RetrievalTable
from proctor.exam.table import ScoreTable
from proctor.metrics.concurrence import Concurrence, concurrence_interval, rank_concurrence
from proctor.metrics.errors import MetricInputError
from proctor.metrics.interval import Interval

__all__ = [
    "ConcurrenceTable",
    "MarkSheet",
    "concur",
    "read_mark_sheet",
    "sheet_of_retrieval",
    "sheet_of_runs",
]


_COLUMNS: Final = ("system", "mark")
_PRINTED: Final = "printed score"
"""The only question of a file of printed scores."""


class MarkSheet(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What systems got for the questions of one benchmark.

    Attributes:
        benchmark: its name.
        marks: for each system the mark of each question, higher is better; None where there is none.
        families: what each system is a version of; systems of one family are not independent.
        clusters: what the bootstrap draws whole, by question (a recording); each question by itself where it is missing.
    """

    benchmark: str
    marks: Mapping[str, Mapping[str, float | None]]
    families: Mapping[str, str] = {}
    clusters: Mapping[str, str] = {}


class ConcurrenceTable(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """How alike two benchmarks rank systems.

    Attributes:
        benchmarks: their names, the reference first.
        systems: that both have, sorted.
        scores: mean mark of each of them on both.
        questions: questions of each benchmark that every system has a mark for; 1 for printed scores.
        incomplete: questions of each benchmark left out because some system has no mark for them.
        left_out: systems that only one of the benchmarks has.
        tau: Kendall's tau-b; None where it is undefined.
        p: two-sided p-value; None where it is undefined.
        pairs: pairs of systems.
        discordant: pairs in opposite order.
        tied: pairs tied in either benchmark.
        low: lower end of the bootstrap interval over questions.
        high: upper end.
        signature: how tau and p were found.
        notes: what to beware of.
    """

    benchmarks: tuple[str, str]
    systems: tuple[str, ...]
    scores: Mapping[str, tuple[float, float]]
    questions: tuple[int, int] = (0, 0)
    incomplete: tuple[int, int] = (0, 0)
    left_out: tuple[str, ...] = ()
    tau: float | None = None
    p: float | None = None
    pairs: int = 0
    discordant: int = 0
    tied: int = 0
    low: float | None = None
    high: float | None = None
    signature: str = ""
    notes: tuple[str, ...] = ()


# -- comparing -------------------------------------------------------------------------------------------------


def concur(
    a: MarkSheet, b: MarkSheet, *, confidence: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> ConcurrenceTable:
    """Compare two benchmarks by the marks of their questions.

    Systems are scored on the questions that all of them have a mark for, so that nobody is ranked by easier ones.

    Args:
        a: reference benchmark.
        b: the other one.
        confidence: of the interval (percentile bootstrap over the questions of both).
        resamples: 0 leaves the interval out.
        seed: of the draws.

    Raises:
        UserError: if fewer than two systems are in both, a benchmark has no question that all of them have a mark for, or a
            mark is not finite.
    """
    names = (a.benchmark, b.benchmark)
    common = _common(a.marks, b.marks, names)
    sides = [_complete(sheet, common) for sheet in (a, b)]
    scores = {
        system: (_mean(sides[0][0], column), _mean(sides[1][0], column))
        for column, system in enumerate(common)
    }
    found = _ranked(scores, {**a.families, **b.families})
    interval = None
    if resamples:
        interval = _interval(sides, confidence, resamples, seed)
    return _table(
        names,
        scores,
        tuple(sorted(set(a.marks) ^ set(b.marks))),
        found,
        interval=interval,
        questions=(len(sides[0][0]), len(sides[1][0])),
        incomplete=(sides[0][2], sides[1][2]),
    )


def _common(a: Mapping[str, object], b: Mapping[str, object], names: tuple[str, str]) -> list[str]:
    common = sorted(set(a) & set(b))
    if len(common) < 2:
        raise UserError(
            f"{len(common)} systems are in both benchmarks; an order needs at least two.",
            where=" and ".join(names),
            hint=f"one has {_some(sorted(a))}, the other {_some(sorted(b))}: give systems the same names in both",
        )
    return common


def _some(names: Sequence[str]) -> str:
    return ", ".join(name[:60] for name in names[:5]) + (" …" if len(names) > 5 else "") or "none"


_Side = tuple[list[list[float]], list[str], int]
"""Marks (questions × systems), cluster of each question, questions left out."""


def _complete(sheet: MarkSheet, systems: Sequence[str]) -> _Side:
    known = sorted({question for system in systems for question in sheet.marks[system]})
    rows, clusters, incomplete = [], [], 0
    for question in known:
        marks = [sheet.marks[system].get(question) for system in systems]
        there = [mark for mark in marks if mark is not None]
        if len(there) < len(systems):
            incomplete += 1
            continue
        if not all(map(math.isfinite, there)):
            raise UserError("a mark is no finite number.", where=f"{sheet.benchmark}: {question}")
        rows.append([float(mark) for mark in there])
        clusters.append(sheet.clusters.get(question, question))
    if not rows:
        raise UserError(
            f"no question has a mark from every one of the {len(systems)} systems.",
            where=sheet.benchmark,
            hint="score all systems on the same questions, or leave the incomplete system out",
        )
    return rows, clusters, incomplete


def _mean(rows: Sequence[Sequence[float]], column: int) -> float:
    return math.fsum(row[column] for row in rows) / len(rows)


def _ranked(scores: Mapping[str, tuple[float, float]], families: Mapping[str, str]) -> Concurrence:
    known = [families.get(system, system) for system in scores]
    try:
        return rank_concurrence(
            [a for a, _ in scores.values()], [b for _, b in scores.values()], families=known
        )
    except MetricInputError as error:
        raise UserError(f"{error.message}.", hint=error.hint or None) from None


def _interval(sides: Sequence[_Side], confidence: float, resamples: int, seed: int) -> Interval:
    (rows_a, clusters_a, _), (rows_b, clusters_b, _) = sides
    try:
        return concurrence_interval(
            rows_a,
            rows_b,
            clusters_a=clusters_a,
            clusters_b=clusters_b,
            confidence=confidence,
            resamples=resamples,
            seed=seed,
        )
    except MetricInputError as error:
        raise UserError(f"{error.message}.", hint=error.hint or None) from None


def _table(
    names: tuple[str, str],
    scores: Mapping[str, tuple[float, float]],
    left_out: tuple[str, ...],
    found: Concurrence,
    *,
    interval: Interval | None,
    questions: tuple[int, int],
    incomplete: tuple[int, int],
) -> ConcurrenceTable:
    notes = [found.note, interval.note if interval is not None else ""]
    if left_out:
        notes.append(f"{len(left_out)} systems are in one benchmark only: {_some(left_out)}")
    for name, count in zip(names, incomplete, strict=True):
        if count:
            notes.append(
                f"{name}: {count:,} questions left out, because not every system has a mark for them"
            )
    how = found.signature
    if interval is not None:
        how = how.having(interval=interval.method)
    return ConcurrenceTable(
        benchmarks=names,
        systems=tuple(scores),
        scores=dict(scores),
        questions=questions,
        incomplete=incomplete,
        left_out=left_out,
        tau=found.tau,
        p=found.p,
        pairs=found.pairs,
        discordant=found.discordant,
        tied=found.tied,
        low=interval.low if interval is not None else None,
        high=interval.high if interval is not None else None,
        signature=str(how),
        notes=tuple(note for note in notes if note),
    )


# -- mark sheets -----------------------------------------------------------------------------------------------


def sheet_of_runs(benchmark: str, tables: Iterable[ScoreTable], measures: Sequence[str] = ()) -> MarkSheet:
    """Return the marks of scored runs, one a predictor; questions of one cluster are drawn together.

    Args:
        benchmark: its name.
        tables: of the runs; one without any of the measures is left out.
        measures: by which they are ranked: the first of these that a table has; the first measure of a table by default.

    Raises:
        UserError: if two runs have one predictor.
    """
    marks: dict[str, Mapping[str, float | None]] = {}
    clusters: dict[str, str] = {}
    for table in tables:
        found = next((m for name in measures or table.marks if (m := table.marks.get(name))), None)
        if found is None:
            continue
        if table.predictor in marks:
            raise UserError(f"two runs have the predictor '{table.predictor}'.", where=benchmark)
        marks[table.predictor] = found
        clusters |= table.clusters
    return MarkSheet(benchmark=benchmark, marks=marks, clusters=clusters)


def sheet_of_retrieval(benchmark: str, table: RetrievalTable) -> MarkSheet:
    """Return the recall of each question; every cut-off is a system, and the cut-offs of a retriever are a family."""
    marks: dict[str, Mapping[str, float | None]] = {}
    families: dict[str, str] = {}
    for retriever, by_cut in table.recalls.items():
        for cut, recalls in by_cut.items():
            name = f"{retriever}@{cut.rpartition('@')[2]}"
            marks[name] = dict(recalls)
            families[name] = retriever
    return MarkSheet(benchmark=benchmark, marks=marks, families=families)


def read_mark_sheet(path: Path, benchmark: str = "") -> MarkSheet:
    """Read marks from a CSV file with the columns ``system``, ``question``, ``mark`` and, if wanted, ``family``.

    An empty mark means that there is none. Printed scores, of which only tau and its p-value can be had, are a file without the
    column ``question``: one mark a system.

    Args:
        path: of the file, UTF-8.
        benchmark: name; that of the file by default.

    Raises:
        UserError: for a missing column, a mark that is no number, or a mark that is there twice; with the line.
    """
    marks: dict[str, dict[str, float | None]] = {}
    families: dict[str, str] = {}
    for line, row in iter_csv_rows(path, _COLUMNS):
        system, question = row["system"], row.get("question", _PRINTED)
        if not system or not question:
            raise UserError("a system or a question has no name.", where=f"{path}:{line}")
        if question in marks.setdefault(system, {}):
            raise UserError(f"'{system}' has two marks for '{question}'.", where=f"{path}:{line}")
        marks[system][question] = _mark(row["mark"], f"{path}:{line}")
        if row.get("family"):
            families[system] = row["family"]
    if not marks:
        raise UserError("the file has no marks.", where=str(path))
    return MarkSheet(benchmark=benchmark or path.stem, marks=marks, families=families)


def _mark(text: str, where: str) -> float | None:
    if not text:
        return None
    try:
        mark = float(text)
    except ValueError:
        mark = math.nan
    if not math.isfinite(mark):
        raise UserError(f"a mark is a finite number, not {text[:40]!r}.", where=where)
    return mark

"""Files of marks: which system got what on which item, with the item's cluster and stratum.

Long form: one row for each item and system. Wide form: one row an item, one column a system. Several files: one system each,
called like its file, unless the files have a column ``system``. An empty mark is an answer that failed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from proctor.errors import UserError
from proctor.metrics.bootstrap import Floats, bootstrap_mean_intervals
from proctor.metrics.calibration import (
    BinStrategy,
    brier_decomposition,
    brier_score,
    calibrated_ece,
    calibration_test,
    expected_calibration_error,
    maximum_calibration_error,
    negative_log_likelihood,
    reliability_bins,
)
from proctor.metrics.concurrence import concurrence_interval, rank_concurrence
from proctor.metrics.figure import Figure
from proctor.metrics.interval import Interval
from proctor.metrics.judge_error import (
    JudgeError,
    corrected_share,
    judge_accuracy,
    judge_correlation,
    judge_error,
    prediction_powered_mean,
)
from proctor.metrics.score import Score, Signature
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.stages.scoring.files import Table, explained, read_table
from proctor.stages.scoring.options import SignificanceSettings
from proctor.stages.scoring.settings import Draws, ScoreSettings

__all__ = [
    "CLUSTER",
    "SYSTEM",
    "Marks",
    "concurrence_rows",
    "corrected_rows",
    "drawn_signature",
    "draws_of_tests",
    "grouping_words",
    "item_clusters",
    "judge_headline",
    "judge_note",
    "mark_matrix",
    "mean_scores",
    "read_judge_pairs",
    "read_marks",
    "read_numbers",
    "score_calibration",
]


ITEM: Final = ("item", "item_id", "question", "question_id", "id")

SYSTEM: Final = ("system", "model", "run", "predictor")

VALUE: Final = ("value", "score", "mark", "correct")

CLUSTER: Final = ("cluster", "recording", "recording_id", "video_id")

STRATUM: Final = ("stratum",)

_DRAWS_OF_TESTS: Final = 10_000

"""When the intervals are left out (no resamples), tests still need draws."""

_LARGEST_SMALL: Final = 2.0

_WORDS: Final = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}


@dataclass(frozen=True, slots=True)
class Marks:
    """Marks of systems on items.

    Attributes:
        where: the files, for messages.
        systems: mark of each item by system, in the order of the files; None where the answer failed; items that a system
            was not asked are absent.
        items: all items, sorted.
        clusters: cluster of each item; None when the files have no such column.
        strata: stratum of each item; None when the files have no such column.
        cluster_name: what is drawn, the column of clusters or ``item``.
        stratum_name: the column of strata, ``none`` without one.
    """

    where: str
    systems: Mapping[str, Mapping[str, float | None]]
    items: tuple[str, ...]
    clusters: Mapping[str, str] | None = None
    strata: Mapping[str, str] | None = None
    cluster_name: str = "item"
    stratum_name: str = "none"

    @property
    def digits(self) -> int:
        """Decimal places in print: three for marks around 1, two for larger ones."""
        seen = (abs(v) for row in self.systems.values() for v in row.values() if v is not None)
        return 3 if max(seen, default=0.0) <= _LARGEST_SMALL else 2

    def cluster_of(self, item: str) -> str:
        """Return the item's cluster; the item itself when there are none."""
        return item if self.clusters is None else self.clusters[item]


def drawn_signature(
    settings: ScoreSettings, name: str, *, interval: str = "bca", **parameters: str
) -> Signature:
    """Return the signature of a number whose interval is drawn."""
    if not settings.resamples:
        return Signature(name, parameters)
    drawn = {"resamples": str(settings.resamples), "seed": str(settings.seed)}
    return Signature(
        name, {**parameters, "confidence": f"{settings.confidence:g}", "interval": interval, **drawn}
    )


def draws_of_tests(settings: ScoreSettings) -> Draws:
    """Return the keyword arguments of metrics that draw, tests among them: those need draws without intervals, too."""
    return {**settings.resampling, "resamples": settings.resamples or _DRAWS_OF_TESTS}


@dataclass
class _Gathered:
    systems: dict[str, dict[str, float | None]] = field(default_factory=dict)
    clusters: dict[str, str] = field(default_factory=dict)
    strata: dict[str, str] = field(default_factory=dict)


def read_marks(
    paths: Sequence[Path],
    *,
    systems: Sequence[str] = (),
    cluster: str | None = None,
    stratum: str | None = None,
) -> Marks:
    """Read marks in long or wide form.

    Args:
        paths: one or more tables.
        systems: systems to compare, in this order; all of them when empty.
        cluster: column of clusters; found by its usual names when None.
        stratum: column of strata; ``stratum`` when None and the files have it.

    Raises:
        UserError: if a file or a cell is wrong, a mark occurs twice, an item has two clusters or a system is unknown.
    """
    if not paths:
        raise UserError("no file was given.", hint="name one or more tables of marks")
    gathered = _Gathered()
    tables = [read_table(path) for path in paths]
    groupings = {
        "cluster": (_grouping(tables, cluster, CLUSTER), gathered.clusters),
        "stratum": (_grouping(tables, stratum, STRATUM), gathered.strata),
    }
    for table in tables:
        value = table.find(*VALUE)
        if value is not None and (table.find(*SYSTEM) or len(tables) > 1):
            _read_long(table, value, gathered)
        elif len(tables) > 1:
            table.require(*VALUE)
        else:
            _read_wide(table, [name for name, _ in groupings.values() if name is not None], systems, gathered)
        for what, (column, known) in groupings.items():
            if column is not None:
                table.one_each(column, table.names(*ITEM), table.texts(column), _grouped(what), known)
    where = ", ".join(str(path) for path in paths)
    chosen = _chosen(gathered.systems, systems, where)
    items = sorted({item for marks in chosen.values() for item in marks})
    names = [
        column.replace("|", "/") if into and column else default
        for (column, into), default in zip(groupings.values(), ("item", "none"), strict=True)
    ]
    return Marks(where, chosen, tuple(items), gathered.clusters or None, gathered.strata or None, *names)


def _chosen(
    found: Mapping[str, Mapping[str, float | None]], wanted: Sequence[str], where: str
) -> dict[str, Mapping[str, float | None]]:
    if not wanted:
        return dict(found)
    twice = sorted({name for name in wanted if list(wanted).count(name) > 1})
    if twice:
        raise UserError(f"the system {twice[0]!r} was named twice.", where=where)
    for name in wanted:
        if name not in found:
            known = ", ".join(map(repr, found))
            raise UserError(f"there is no system {name!r}; the systems are {known}.", where=where)
    return {name: found[name] for name in wanted}


def _read_long(table: Table, value: str, gathered: _Gathered) -> None:
    items = table.names(*ITEM)
    column = table.find(*SYSTEM)
    stem = table.path.name.removesuffix(".gz").rsplit(".", 1)[0]
    names = table.texts(column) if column is not None else [stem] * len(table)
    if column is None and names[0] in gathered.systems:
        raise UserError(
            f"two files are called {names[0]!r}, so that their systems cannot be distinguished.",
            where=str(table.path),
            hint="rename one, or add a column 'system'",
        )
    for row, (item, name) in enumerate(zip(items, names, strict=True)):
        marks = gathered.systems.setdefault(name, {})
        if item in marks:
            raise table.wrong(
                row, value, f"the item {item!r} has a second mark of {name!r}.", "keep one row for each"
            )
        marks[item] = read_mark(table, row, value)


def _read_wide(table: Table, groupings: Sequence[str], systems: Sequence[str], gathered: _Gathered) -> None:
    column = table.require(*ITEM)
    items = table.unique(
        column, twice=lambda item, _: (f"the item {item!r} occurs twice.", "keep one row for each item")
    )
    names = list(systems) or [name for name in table.columns if name not in (column, *groupings)]
    if not names:
        raise UserError(
            "there is no column of marks.",
            where=str(table.path),
            hint="write one column a system, or columns 'item', 'system' and 'value'",
        )
    for name in names:
        table.require(name)
        gathered.systems[name] = {item: read_mark(table, row, name) for row, item in enumerate(items)}


def read_mark(table: Table, row: int, column: str) -> float | None:
    """Return one mark: a number, 1 and 0 for yes and no, None for an empty cell.

    Raises:
        UserError: if it is something else.
    """
    value: Any = table.columns[column][row]
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str) and value.strip().lower() in _WORDS:
        return _WORDS[value.strip().lower()]
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise table.wrong(
            row,
            column,
            f"a mark is a finite number or yes/no, got {value!r:.60}.",
            "leave the cell empty if the answer failed; name the columns of marks with --system",
        )
    return number


def _grouping(tables: Sequence[Table], asked: str | None, usual: Sequence[str]) -> str | None:
    """Return the column of clusters (or strata), which one of the tables has."""
    names = (asked,) if asked is not None else tuple(usual)
    column = next((found for table in tables if (found := table.find(*names))), None)
    return tables[0].require(asked) if asked is not None and column is None else column


def _grouped(what: str) -> Callable[[str, str, str], tuple[str, str]]:
    return lambda item, here, before: (
        f"the item {item!r} has the {what} {here!r}, but {before!r} before.",
        f"an item has one {what}",
    )


# -- people's marks ------------------------------------------------------------------------------------------------


def read_numbers(path: Path, column: str) -> dict[tuple[str, str], float]:
    """Read people's marks: by item and system; the system is empty when the file has no such column.

    Args:
        path: a table with ``item``, ``column`` and perhaps ``system``; rows with an empty mark are left out.
        column: of the marks.

    Raises:
        UserError: if a cell is wrong or a mark occurs twice.
    """
    table = read_table(path)
    items = table.names(*ITEM)
    named = table.find(*SYSTEM)
    names = table.texts(named) if named is not None else [""] * len(table)
    value = table.require(column)
    out: dict[tuple[str, str], float] = {}
    for row, key in enumerate(zip(items, names, strict=True)):
        mark = read_mark(table, row, value)
        if mark is None:
            continue
        if key in out:
            raise table.wrong(row, value, f"the item {key[0]!r} has a second mark.", "keep one row for each")
        out[key] = mark
    if not out:
        raise UserError("no item has a mark.", where=str(path), hint=f"fill in the column {value!r}")
    return out


def read_judge_pairs(path: Path) -> tuple[list[bool], list[bool], int]:
    """Read a calibration sample of a judge: yes/no by people and by the judge, and rows left out for an empty cell.

    Args:
        path: a table with the columns ``human`` and ``judge``.

    Raises:
        UserError: if a column is missing or a cell is not yes/no.
    """
    table = read_table(path)
    human, judge = table.require("human"), table.require("judge")
    truth, said, dropped = [], [], 0
    for row in range(len(table)):
        pair = []
        for column in (human, judge):
            mark = read_mark(table, row, column)
            if mark not in (None, 0.0, 1.0):
                raise table.wrong(
                    row,
                    column,
                    f"yes/no or 1/0 was expected, got {mark:g}.",
                    "for other marks give people's marks on items of the benchmark with --human",
                )
            pair.append(mark)
        if None in pair:
            dropped += 1
        else:
            truth.append(pair[0] == 1.0)
            said.append(pair[1] == 1.0)
    return truth, said, dropped


def mark_matrix(marks: Marks) -> Any:
    """Marks, shape (systems, items), nan where there is none."""
    rows = [
        [math.nan if (v := row.get(item)) is None else v for item in marks.items]
        for row in marks.systems.values()
    ]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(marks.items))


def item_clusters(marks: Marks) -> list[str]:
    """The cluster of each item."""
    return [marks.cluster_of(item) for item in marks.items]


def grouping_words(marks: Marks) -> dict[str, str]:
    """What a signature says about clusters and strata."""
    return {"cluster": marks.cluster_name, "strata": marks.stratum_name}


def mean_scores(marks: Marks, drawing: SignificanceSettings) -> dict[str, Score]:
    """The mean mark of each system with its interval."""
    data = mark_matrix(marks)
    signature = drawn_signature(drawing, "mean", **grouping_words(marks))
    intervals: Sequence[Interval] = [Interval(None, None, "none")] * len(data)
    strata = None if marks.strata is None else [marks.strata[item] for item in marks.items]
    if drawing.resamples:
        intervals = bootstrap_mean_intervals(
            data, item_clusters(marks), strata=strata, **draws_of_tests(drawing)
        )
    found = {}
    for (name, row), values, interval in zip(marks.systems.items(), data, intervals, strict=True):
        here = values[~np.isnan(values)]
        failed = sum(v is None for v in row.values())
        note = interval.note if here.size else "no answer of this system has a mark"
        found[name] = Score(
            math.fsum(here) / here.size if here.size else math.nan,
            signature,
            here.size,
            interval.low,
            interval.high,
            failed=failed,
            skipped=len(marks.items) - len(row),
            note=note,
        )
    return found


# Confidences held against what came true, from a file: ECE, Brier score and the reliability diagram.


def corrected_rows(
    marks: Marks, calibration: Path | None, human: Path | None, drawing: SignificanceSettings
) -> tuple[list[ScoreRow], JudgeError | None]:
    """Correct every system's mean by a calibration sample of the judge, by people's marks on items, or by both.

    Raises:
        UserError: if a file is wrong, or the marks do not fit the correction.
    """
    rows: list[ScoreRow] = []
    error = None
    if calibration is not None:
        truth, said, _ = read_judge_pairs(calibration)
        error = judge_error(truth, said, confidence=drawing.confidence)
        for name, marked in marks.systems.items():
            values = [v for v in marked.values() if v is not None]
            wrong = next((v for v in values if v not in (0.0, 1.0)), None)
            if wrong is not None:
                raise UserError(
                    f"correcting by a judge calibration needs marks yes/no or 1/0, {name!r} has {wrong:g}.",
                    where=marks.where,
                    hint="give people's marks on some of the items with --human instead",
                )
            score = corrected_share(int(sum(values)), len(values), error)
            if marks.clusters is not None and score.low is not None:
                score = replace(
                    score,
                    note="; ".join(filter(None, (score.note, "the interval takes items as independent"))),
                )
            rows.append(ScoreRow("corrected", score, name))
    if human is not None:
        rows += _powered(marks, human, drawing)
    return rows, error


def _powered(marks: Marks, human: Path, drawing: SignificanceSettings) -> list[ScoreRow]:
    labels = read_numbers(human, "human")
    named = any(system for _, system in labels)
    if not named and len(marks.systems) > 1:
        raise UserError(
            "people's marks must say which system's answer they are for.",
            where=str(human),
            hint="add a column 'system'",
        )
    rows = []
    used = 0
    for name, marked in marks.systems.items():
        items = [i for i in marks.items if marked.get(i) is not None]
        truth = [labels.get((i, name if named else "")) for i in items]
        used += sum(mark is not None for mark in truth)
        clusters = None if marks.clusters is None else [marks.cluster_of(i) for i in items]
        judge = np.array([marked[i] for i in items], dtype=np.float64)
        for tuned, label in ((False, "PPI"), (True, "PPI tuned")):
            score = prediction_powered_mean(
                truth, judge, clusters=clusters, tuned=tuned, confidence=drawing.confidence
            )
            rows.append(ScoreRow(label, _named(score, marks), name, digits=marks.digits))
        both = [k for k, mark in enumerate(truth) if mark is not None]
        seen = [truth[k] for k in both]
        groups = None if clusters is None else [clusters[k] for k in both]
        for label, metric in (("judge accuracy", judge_accuracy), ("judge r", judge_correlation)):
            score = metric(
                np.array(seen, dtype=np.float64),
                judge[both],
                clusters=groups,
                **drawing.resampling,
            )
            rows.append(ScoreRow(label, _named(score, marks), name))
    if not used:
        raise UserError(
            "none of people's marks is for an item that a system answered.",
            where=str(human),
            hint="items and systems must be called as in the marks",
        )
    return rows


def _named(score: Score, marks: Marks) -> Score:
    """The score with the column of clusters in its signature."""
    return replace(score, signature=score.signature.having(cluster=marks.cluster_name))


def judge_headline(error: JudgeError) -> dict[str, object]:
    """Return the judge's rates with their intervals, for machines."""

    def part(value: float | None, interval: Interval) -> dict[str, float | None]:
        return {"value": value, "low": interval.low, "high": interval.high}

    return {
        "sensitivity": part(error.sensitivity, error.sensitivity_interval),
        "specificity": part(error.specificity, error.specificity_interval),
        "accuracy": part(error.accuracy, error.accuracy_interval),
        "right": error.right,
        "wrong": error.wrong,
    }


def judge_note(error: JudgeError) -> str:
    """Return the judge's rates with their intervals, for people."""

    def part(name: str, value: float | None, interval: Interval, n: int) -> str:
        if value is None or interval.low is None or interval.high is None:
            return f"{name} unknown (no such answer)"
        return f"{name} {value:.3f} [{interval.low:.3f}, {interval.high:.3f}] of {n}"

    return (
        "the judge: "
        + part("sensitivity", error.sensitivity, error.sensitivity_interval, error.right)
        + ", "
        + part("specificity", error.specificity, error.specificity_interval, error.wrong)
    )


def concurrence_rows(
    marks: Marks, means: Mapping[str, Score], path: Path, drawing: SignificanceSettings, notes: list[str]
) -> list[ScoreRow]:
    """Compare the ranking with that of another benchmark."""
    other = read_marks([path])
    lacking = [name for name in marks.systems if name not in other.systems]
    if lacking:
        raise UserError(
            f"the other benchmark has no marks of {lacking[0]!r}.",
            where=str(path),
            hint="give the same systems in both, or choose those to compare with --system",
        )
    other = replace(other, systems={name: other.systems[name] for name in marks.systems})
    theirs = mean_scores(other, msgspec.structs.replace(drawing, resamples=0))
    undefined = [
        name for name in marks.systems if math.isnan(means[name].value) or math.isnan(theirs[name].value)
    ]
    if undefined:
        raise UserError(f"the system {undefined[0]!r} has no mark on one benchmark.", where=str(path))
    found = rank_concurrence([s.value for s in means.values()], [s.value for s in theirs.values()])
    interval = None
    if drawing.resamples and found.tau is not None:
        complete = [_complete(part) for part in (marks, other)]
        dropped = sum(
            len(part.items) - len(matrix) for part, (matrix, _) in zip((marks, other), complete, strict=True)
        )
        if dropped:
            notes.append(f"the interval of τ-b leaves out {dropped} items that some system has no mark on")
        (first, first_clusters), (second, second_clusters) = complete
        interval = concurrence_interval(
            first, second, clusters_a=first_clusters, clusters_b=second_clusters, **draws_of_tests(drawing)
        )
    score = found.as_score(interval)
    if interval is not None:
        score = replace(
            score,
            signature=score.signature.having(
                interval=interval.method, resamples=str(drawing.resamples), seed=str(drawing.seed)
            ),
        )
    p = Score(
        math.nan if found.p is None else found.p,
        found.signature.having(of="p"),
        found.n,
        note="" if found.p is not None else found.note or "undefined",
    )
    notes.append(
        f"concurrence with {path}: {found.discordant} of {found.pairs} pairs of systems are ranked the other way round"
        + (f", {found.tied} are tied" if found.tied else "")
    )
    return [ScoreRow("τ-b", score, "concurrence"), ScoreRow("p", p, "concurrence", digits=4)]


def _complete(marks: Marks) -> tuple[Any, list[str]]:
    """Marks of the items that every system has a mark on, shape (items, systems), and their clusters."""
    data = mark_matrix(marks).T
    here = ~np.isnan(data).any(axis=1)
    names = [name for name, kept in zip(item_clusters(marks), here, strict=True) if kept]
    return data[here], names


_USUAL: Final = 0.95

"""Pictures say the level of their intervals when it is another."""

_DRAWS: Final = 2_000

"""Draws of calibrated systems at most: each draws every item anew."""


def score_calibration(drawing: SignificanceSettings) -> ScoreTable:
    """Hold confidences against what came true, system by system.

    Raises:
        UserError: if the file or an option is wrong.
    """
    if len(drawing.files) > 1:
        raise UserError("--calibration reads one file.", hint="put a column 'system' into it")
    for name in (
        "judge_calibration",
        "human",
        "reference",
        "systems",
        "concurrence",
        "difference",
        "stratum",
    ):
        if getattr(drawing, name):
            flag = name.removesuffix("s").replace("_", "-")
            raise UserError(f"--{flag} does not go with --calibration.", hint="leave one of them out")
    (path,), bins, binning = drawing.files, drawing.bins, drawing.binning
    table = read_table(path)
    truth, stated = table.flags("correct").astype(np.float64), table.numbers("confidence")
    wrong = np.flatnonzero((stated < 0) | (stated > 1))
    if wrong.size:
        row = int(wrong[0])
        hint = "divide percentages by 100" if 1 < stated[row] <= 100 else "write a probability"
        raise table.wrong(row, "confidence", f"a confidence lies between 0 and 1, got {stated[row]:g}.", hint)
    system = table.find(*SYSTEM)
    names = np.array(table.texts(system) if system else ["all"] * len(table), dtype=object)
    column = table.named(drawing.cluster, *CLUSTER)
    clusters = table.texts(column) if column is not None else None
    rows: list[ScoreRow] = []
    figures: list[Figure] = []
    with explained(path):
        for name in dict.fromkeys(names.tolist()):
            here = np.flatnonzero(names == name)
            # The order of the rows must not matter, not even in the last digit of a sum.
            here = here[np.lexsort((stated[here], truth[here]))]
            if clusters is not None:
                here = np.array(sorted(here.tolist(), key=clusters.__getitem__), dtype=np.intp)
            groups = None if clusters is None else [clusters[i] for i in here]
            rows += _calibration_rows(name, truth[here], stated[here], groups, column, bins, binning, drawing)
            found = reliability_bins(
                truth[here], stated[here], bins=bins, strategy=binning, interval_confidence=drawing.confidence
            )
            title = "Reliability" if name == "all" and system is None else f"Reliability of {name}"
            if drawing.confidence != _USUAL:
                title += f" ({100 * drawing.confidence:g} % intervals)"
            figures.append(found.as_figure(title))
    notes = []
    if clusters is None and drawing.resamples:
        notes.append("there is no column of clusters, so items count as independent")
    notes.append(
        "ECE has no interval, because resampling biases it upwards: compare it with 'ECE if calibrated'"
    )
    counts = {"items": len(table), "systems": len(figures)}
    return ScoreTable(
        "significance",
        tuple(sorted(rows, key=lambda row: row.chance)),
        counts=counts,
        notes=tuple(notes),
        figures=tuple(figures),
    )


def _calibration_rows(
    name: str,
    truth: Floats,
    stated: Floats,
    clusters: Sequence[str] | None,
    column: str | None,
    bins: int,
    binning: BinStrategy,
    drawing: SignificanceSettings,
) -> list[ScoreRow]:
    n = int(truth.size)
    grouping = {"cluster": "item" if column is None else column.replace("|", "/")}
    groups = clusters if clusters is not None else [f"{i:012}" for i in range(n)]
    plain = [("accuracy", "accuracy", truth), ("confidence", "mean_confidence", stated)]
    brier = brier_score(truth, stated)
    values = np.stack([*(v for _, _, v in plain), (stated - truth) ** 2])
    intervals: Sequence[Interval] = [Interval(None, None, "none")] * 3
    if drawing.resamples:
        intervals = bootstrap_mean_intervals(values, groups, **draws_of_tests(drawing))
    scores = [Score(math.fsum(v) / n, drawn_signature(drawing, key, **grouping), n) for _, key, v in plain]
    scores.append(Score(brier.value, drawn_signature(drawing, "brier_score", classes="1", **grouping), n))
    scores = [replace(s, low=i.low, high=i.high, note=i.note) for s, i in zip(scores, intervals, strict=True)]
    options: dict[str, Any] = {"bins": bins, "strategy": binning}
    draws: dict[str, Any] = {"resamples": min(_DRAWS, drawing.resamples or _DRAWS), "seed": drawing.seed}
    parts = brier_decomposition(truth, stated)
    chance = Score(parts.uncertainty, Signature("brier_score", {"classes": "1", "forecast": "base-rate"}), n)
    return [
        ScoreRow("accuracy", scores[0], name),
        ScoreRow("confidence", scores[1], name),
        ScoreRow("ECE", expected_calibration_error(truth, stated, **options), name),
        ScoreRow(
            "ECE if calibrated", calibrated_ece(stated, level=drawing.confidence, **options, **draws), name
        ),
        ScoreRow(
            "p (calibrated)", calibration_test(truth, stated, **options, **draws).as_score(), name, digits=4
        ),
        ScoreRow("MCE", maximum_calibration_error(truth, stated, **options), name),
        ScoreRow("Brier", scores[2], name),
        ScoreRow("NLL", negative_log_likelihood(truth, stated), name),
        ScoreRow("Brier", chance, f"{name}: always its base rate", chance=True),
    ]

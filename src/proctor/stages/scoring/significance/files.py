"""Files of marks: which system got what on which item, with the item's cluster and stratum.

Long form: one row for each item and system. Wide form: one row an item, one column a system. Several files: one system each,
called like its file, unless the files have a column ``system``. An empty mark is an answer that failed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from proctor.errors import UserError
from proctor.metrics.bootstrap import bootstrap_mean_intervals
from proctor.metrics.interval import Interval
from proctor.metrics.score import Score, Signature
from proctor.stages.scoring.files import Table, read_table
from proctor.stages.scoring.settings import Draws, ScoreSettings
from proctor.stages.scoring.significance import SignificanceSettings

__all__ = [
    "CLUSTER",
    "SYSTEM",
    "Marks",
    "drawn_signature",
    "draws_of_tests",
    "grouping_words",
    "item_clusters",
    "mark_matrix",
    "mean_scores",
    "read_judge_pairs",
    "read_marks",
    "read_numbers",
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
    groupings = [
        _grouping(tables, cluster, CLUSTER, gathered.clusters, "cluster"),
        _grouping(tables, stratum, STRATUM, gathered.strata, "stratum"),
    ]
    for table in tables:
        value = table.find(*VALUE)
        if value is not None and (table.find(*SYSTEM) or len(tables) > 1):
            _read_long(table, value, gathered)
        elif len(tables) > 1:
            table.require(*VALUE)
        else:
            _read_wide(table, [name for name, _ in groupings if name is not None], systems, gathered)
        for _, read in groupings:
            read(table)
    where = ", ".join(str(path) for path in paths)
    chosen = _chosen(gathered.systems, systems, where)
    items = sorted({item for marks in chosen.values() for item in marks})
    names = [
        column.replace("|", "/") if into and column else default
        for (column, _), into, default in zip(
            groupings, (gathered.clusters, gathered.strata), ("item", "none"), strict=True
        )
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
            f"two files are called {names[0]!r}, so that their systems cannot be told apart.",
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


def _grouping(
    tables: Sequence[Table], asked: str | None, usual: Sequence[str], into: dict[str, str], what: str
) -> tuple[str | None, Callable[[Table], None]]:
    """Return the column of clusters (or strata) and a function that reads it from a table into ``into``."""
    names = (asked,) if asked is not None else tuple(usual)
    column = next((found for table in tables if (found := table.find(*names))), None)
    if asked is not None and column is None:
        tables[0].require(asked)

    def read(table: Table) -> None:
        if column is None:
            return
        items = table.names(*ITEM)
        for row, (item, name) in enumerate(zip(items, table.texts(column), strict=True)):
            if into.setdefault(item, name) != name:
                raise table.wrong(
                    row,
                    column,
                    f"the item {item!r} has the {what} {name!r}, but {into[item]!r} before.",
                    f"an item has one {what}",
                )

    return column, read


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

"""Error recognition from files: which steps there are, which of them are mistakes, and what was predicted.

A sample is one step of one recording. The label of a step comes from the rows of the reference (all its
executions and sub-steps), its score from the rows of the prediction; the two are joined by recording and step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.metrics.classification import Aggregation, Repeated, Steps, aggregate_scores, group_steps
from proctor.stages.scoring.files import Table, explained, read_table
from proctor.stages.scoring.options import ClassificationSettings

__all__ = ["KIND_PREFIX", "Level", "Samples", "read_samples"]


Level = Literal["step", "sub-step"]

Floats = NDArray[np.float64]

Flags = NDArray[np.bool_]

Key = tuple[str, ...]

RECORDING: Final = ("recording", "recording_id", "video", "video_id")

STEP: Final = ("step", "step_id", "id", "item", "frame")

SEGMENT: Final = ("segment", "execution")

SUBSTEP: Final = ("substep", "sub_step", "second")

LABEL: Final = ("label", "error", "target")

IS_ERROR: Final = ("is_error", "has_errors")

"""Preferred: beside them, a column ``label`` may hold the name of the step."""

SCORE: Final = ("score", "probability", "prob")

CALL: Final = ("predicted", "prediction", "pred")

KINDS: Final = ("kinds", "kind", "tags")

KIND_PREFIX: Final = "score:"

"""Columns ``score:Timing`` hold the scores of a detector of one kind of mistake."""


@dataclass(frozen=True)
class Samples:
    """Labels and scores of one level, parallel, sorted by recording and step.

    Attributes:
        level: what one sample is.
        recordings: of each sample.
        labels: whether it is a mistake.
        scores: higher is more suspicious; None when only decisions were given.
        calls: decisions; None when scores were given.
        kinds: by kind of mistake, which samples have it.
        kind_scores: by kind, the scores of its own detector.
        slices: by column of the reference, the value of each sample.
        failed: samples whose prediction is there and empty.
        skipped: samples without a prediction.
        counts: what was read, merged and left out.
    """

    level: Level
    recordings: tuple[str, ...]
    labels: Flags
    scores: Floats | None
    calls: Flags | None
    kinds: Mapping[str, Flags] = field(default_factory=dict)
    kind_scores: Mapping[str, Floats] = field(default_factory=dict)
    slices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    failed: int = 0
    skipped: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.labels)

    def where(self, kept: Flags) -> Samples:
        """Return the samples at these positions; failed and skipped ones are counted with the whole only."""
        return replace(
            self,
            recordings=tuple(r for r, k in zip(self.recordings, kept, strict=True) if k),
            labels=self.labels[kept],
            scores=None if self.scores is None else self.scores[kept],
            calls=None if self.calls is None else self.calls[kept],
            kinds={name: flags[kept] for name, flags in self.kinds.items()},
            kind_scores={name: values[kept] for name, values in self.kind_scores.items()},
            slices={
                name: tuple(v for v, k in zip(values, kept, strict=True) if k)
                for name, values in self.slices.items()
            },
            failed=0,
            skipped=0,
        )


@dataclass(frozen=True)
class _Rows:
    """A file with the columns that say which sample a row belongs to."""

    table: Table
    recordings: list[str]
    steps: list[str]
    segments: list[str] | None
    substeps: list[str] | None

    @classmethod
    def of(cls, table: Table) -> _Rows:
        recording, segment, substep = table.find(*RECORDING), table.find(*SEGMENT), table.find(*SUBSTEP)
        steps = table.names(*STEP)
        return cls(
            table,
            table.names(recording) if recording else [""] * len(table),
            steps,
            table.texts(segment) if segment else None,
            table.texts(substep) if substep else None,
        )

    def keys(self, *, segments: bool = True) -> list[Key]:
        """Return what tells the rows apart: recording, step, execution, sub-step."""
        empty = [""] * len(self.steps)
        executions = self.segments if segments and self.segments is not None else empty
        substeps = empty if self.substeps is None else self.substeps
        return list(zip(self.recordings, self.steps, executions, substeps, strict=True))


def read_samples(
    gt: Path | None, pred: Path, settings: ClassificationSettings
) -> dict[str, dict[Level, Samples]]:
    """Read labels and predictions.

    Args:
        gt: the reference; None when the file of predictions holds the labels too.
        pred: the predictions.
        settings: how sub-steps and repeated steps are joined, what may be missing, and the columns to slice by. A column
            that only the predictions have (observed fraction, system) divides *them*: every value is scored on the
            whole reference.

    Returns:
        By slice of the predictions (``""`` when they are not divided, else ``observed=0.5``), samples by level.

    Raises:
        UserError: with file, row and column of what is wrong.
    """
    found = _Rows.of(read_table(pred))
    truth = found if gt is None else _Rows.of(read_table(gt))
    _require_alike(truth, found)
    divided = [name for name in settings.slices if gt is not None and name not in truth.table]
    for name in divided:
        found.table.require(name)
    reference = _Reference(
        truth, [name for name in settings.slices if name not in divided], settings.repeated
    )
    return {
        name: _join(reference, part, settings.aggregate, settings.allow_missing, same=gt is None)
        for name, part in _divide(found, divided)
    }


def _require_alike(truth: _Rows, found: _Rows) -> None:
    has, lacks = truth.table, found.table
    if bool(has.find(*RECORDING)) != bool(lacks.find(*RECORDING)):
        if lacks.find(*RECORDING):
            has, lacks = lacks, has
        raise UserError(
            f"there is no column 'recording', and {has.path.name} has one.",
            where=str(lacks.path),
            hint="name the recording of every step in both files: step ids are shared by recordings",
        )
    if truth.substeps is not None and found.substeps is None:
        raise UserError(
            f"there is no column 'substep', and {truth.table.path.name} has one.",
            where=str(found.table.path),
            hint="give a score for every sub-step, or labels for whole steps",
        )


def _divide(found: _Rows, columns: Sequence[str]) -> Iterator[tuple[str, _Rows]]:
    if not columns:
        yield "", found
        return
    values = list(zip(*(found.table.texts(name) for name in columns), strict=True))
    for value in sorted(set(values), key=lambda v: tuple(map(_natural, v))):
        name = ", ".join(f"{c}={v}" for c, v in zip(columns, value, strict=True))
        yield name, _Rows.of(found.table.at([k for k, v in enumerate(values) if v == value]))


def _natural(text: str) -> tuple[int, float, str]:
    """Sort numbers by value, before texts."""
    try:
        return (0, float(text), text)
    except ValueError:
        return (1, 0.0, text)


class _Reference:
    """What is true of every step, and of every sub-step where the reference has them."""

    def __init__(self, rows: _Rows, slices: Sequence[str], repeated: Repeated) -> None:
        self.rows = rows
        table = rows.table
        self.labels = table.flags(table.find(*IS_ERROR) or table.require(*LABEL))
        self.segments = rows.segments
        if rows.substeps is not None or rows.segments is not None:
            _require_unique(rows, rows.keys())
        else:
            self.segments = _occurrences(rows)
        self.kinds = _kinds_of_rows(rows)
        with explained(table.path):
            self.steps = self._group(self.labels, repeated)
            self.step_kinds = {
                kind: self._group(flags, repeated).reference for kind, flags in self.kinds.items()
            }
        self.keys = list(zip(self.steps.recordings, self.steps.names, strict=True))
        self.position = {key: k for k, key in enumerate(self.keys)}
        self.slices = {name: table.texts(name) for name in slices}
        self.step_slices = {name: self._of_steps(name) for name in slices}

    def _group(self, labels: Flags, repeated: Repeated) -> Steps:
        return group_steps(labels, self.rows.recordings, self.rows.steps, self.segments, repeated=repeated)

    def _of_steps(self, name: str) -> list[str]:
        out = self.rows.table.one_each(
            name,
            self.steps.index.tolist(),
            self.slices[name],
            lambda step, here, before: (
                f"step {self.keys[step][1]!r} of {self.keys[step][0]!r} has {before!r} and {here!r}.",
                (
                    "a slice must be the same in all rows of a step; to compare several predictions of one step, give the "
                    "labels by themselves (--gt)"
                ),
            ),
        )
        return [out[k] for k in range(len(self.keys))]


def _kinds_of_rows(rows: _Rows) -> dict[str, Flags]:
    column = rows.table.find(*KINDS)
    if not column:
        return {}
    of_row = [
        [str(kind).strip() for kind in kinds if str(kind).strip()]
        for kinds in rows.table.id_lists(column, spaces=True)
    ]
    names = sorted({kind for kinds in of_row for kind in kinds})
    return {name: np.array([name in kinds for kinds in of_row], dtype=np.bool_) for name in names}


def _occurrences(rows: _Rows) -> list[str]:
    """Number the rows of each step: without further columns, every row is one execution."""
    seen: dict[tuple[str, str], int] = {}
    out = []
    for key in zip(rows.recordings, rows.steps, strict=True):
        seen[key] = seen.get(key, 0) + 1
        out.append(str(seen[key]))
    return out


def _require_unique(rows: _Rows, keys: Sequence[Key]) -> None:
    seen: dict[Key, int] = {}
    for row, key in enumerate(keys):
        if (first := seen.setdefault(key, row)) != row:
            names = " ".join(part for part in key if part)
            raise UserError(
                f"{names!r} is given twice (first in {rows.table.unit} {rows.table.lines[first]}).",
                where=rows.table.place(row),
                hint="remove one; a column 'segment' (which execution) or 'substep' tells rows of a step apart",
            )


@dataclass(frozen=True)
class _Predictions:
    """Values of the rows of a file of predictions; ``nan`` where a value is empty."""

    rows: _Rows
    values: Floats
    decided: bool
    of_kinds: Mapping[str, Floats]

    @classmethod
    def read(cls, rows: _Rows) -> _Predictions:
        table = rows.table
        score = table.find(*SCORE)
        kinds = {
            name.removeprefix(KIND_PREFIX): name for name in table.columns if name.startswith(KIND_PREFIX)
        }
        column = score or table.find(*CALL)
        if column is None:
            seen = ", ".join(map(repr, table.columns))
            raise UserError(
                f"there is no column 'score' (or 'predicted' for yes/no decisions); the columns are {seen}.",
                where=str(table.path),
                hint="add the score of every step: higher is more likely a mistake",
            )
        values = _values(table, column, decided=score is None)
        of_kinds = {kind: _values(table, name, decided=False) for kind, name in sorted(kinds.items())}
        for numbers in of_kinds.values():
            values = np.where(np.isnan(numbers), np.nan, values)
        return cls(rows, values, score is None, of_kinds)


def _values(table: Table, column: str, *, decided: bool) -> Floats:
    """Return a column as numbers, ``nan`` where it is empty."""
    cells = table.columns[column]
    given = [k for k, value in enumerate(cells) if value is not None and value != ""]
    part = table.at(given)
    out = np.full(len(cells), np.nan)
    if given:
        out[given] = part.flags(column) if decided else part.numbers(column)
    return out


def _join(
    reference: _Reference, rows: _Rows, aggregate: Aggregation, allow_missing: bool, *, same: bool
) -> dict[Level, Samples]:
    found = _Predictions.read(rows)
    if not same or rows.substeps is not None or rows.segments is not None:
        _require_unique(rows, rows.keys())
    places = [reference.position.get(key, -1) for key in zip(rows.recordings, rows.steps, strict=True)]
    place = np.array(places, dtype=np.int64)
    out: dict[Level, Samples] = {"step": _steps(reference, found, place, aggregate)}
    if rows.substeps is not None:
        out["sub-step"] = _substeps(reference, found, place)
    step = out["step"]
    if (step.skipped or step.failed) and not allow_missing:
        raise _missing(reference, rows, place, step)
    if not len(step):
        raise UserError(
            "no step has a prediction.", where=str(rows.table.path), hint="compare the ids of both files"
        )
    return out


def _missing(reference: _Reference, rows: _Rows, place: NDArray[np.int64], step: Samples) -> UserError:
    absent = sorted(set(range(len(reference.keys))) - set(place.tolist()))
    first = (
        f"; the first is {' '.join(part for part in reference.keys[absent[0]] if part)!r}" if absent else ""
    )
    return UserError(
        f"{step.skipped + step.failed:,} of {len(reference.keys):,} steps have no score "
        f"({step.skipped:,} are not there, {step.failed:,} are empty){first}.",
        where=str(rows.table.path),
        hint="add them, compare the ids of both files, or leave them out and have them counted: --allow-missing",
    )


def _steps(
    reference: _Reference, found: _Predictions, place: NDArray[np.int64], aggregate: Aggregation
) -> Samples:
    known = place >= 0
    usable = known & ~np.isnan(found.values)
    count = len(reference.keys)
    with explained(found.rows.table.path):
        values = aggregate_scores(found.values[usable], place[usable], count, method=aggregate)
        of_kinds = {
            kind: aggregate_scores(numbers[usable], place[usable], count, method=aggregate)
            for kind, numbers in found.of_kinds.items()
        }
    kept = ~np.isnan(values)
    there = np.bincount(place[known], minlength=count) > 0
    steps = reference.steps
    whole = Samples(
        "step",
        steps.recordings,
        steps.reference,
        None if found.decided else values,
        values > 0.5 if found.decided else None,
        reference.step_kinds,
        of_kinds,
        {name: tuple(values) for name, values in reference.step_slices.items()},
        counts={
            "rows of the reference": len(reference.labels),
            "predictions": len(place),
            "steps": count,
            "repeated steps merged": steps.repeated,
            "of them with both labels": steps.mixed,
            "predictions without a step": int((~known).sum()),
        },
    )
    return replace(whole.where(kept), failed=int((there & ~kept).sum()), skipped=int((~there).sum()))


def _substeps(reference: _Reference, found: _Predictions, place: NDArray[np.int64]) -> Samples:
    """One sample a row of the predictions; its label is its own, or that of its execution or step."""
    rows = found.rows
    if reference.rows.substeps is not None:
        both = rows.segments is not None and reference.rows.segments is not None
        own = {key: k for k, key in enumerate(reference.rows.keys(segments=both))}
        source = np.array([own.get(key, -1) for key in rows.keys(segments=both)], dtype=np.int64)
        labels, kinds, slices = reference.labels, reference.kinds, reference.slices
    else:
        labels, kinds = reference.steps.reference, reference.step_kinds
        source, slices = place, reference.step_slices
    usable = (source >= 0) & ~np.isnan(found.values)
    keys = rows.keys()
    order = np.array(sorted(np.flatnonzero(usable).tolist(), key=keys.__getitem__), dtype=np.int64)
    at = source[order]
    values = found.values[order]
    wanted = len(labels) if reference.rows.substeps is not None else 0
    failed = int(((source >= 0) & np.isnan(found.values)).sum())
    return Samples(
        "sub-step",
        tuple(rows.recordings[k] for k in order),
        labels[at],
        None if found.decided else values,
        values > 0.5 if found.decided else None,
        {kind: flags[at] for kind, flags in kinds.items()},
        {kind: numbers[order] for kind, numbers in found.of_kinds.items()},
        {name: tuple(texts[k] for k in at) for name, texts in slices.items()},
        failed=failed,
        skipped=max(wanted - len(at) - failed, 0),
        counts={"sub-steps": len(at)},
    )

"""A run as a folder: what was asked, what came out of every step, and hashes that tell whether it is whole.

``predictions.jsonl`` (test) and ``validation.jsonl`` are what ``proctor metrics classification --pred … --validation …``
reads; ``run.json`` is written last and holds their hashes, so a folder that was left half written is told from a run.
The trainer keeps ``log.jsonl``, ``last.pt`` and ``best.pt`` beside them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.learn.recogniser import Reason
from proctor.learn.samples import StepData
from proctor.records import (
    atomic_write,
    content_hash,
    file_sha256,
    is_there,
    read_json,
    read_jsonl,
    write_json,
    write_jsonl,
)
from proctor.version import __version__

if TYPE_CHECKING:
    from proctor.learn.features.store import FeatureStore

__all__ = [
    "PREDICTIONS",
    "RECORD",
    "VALIDATION",
    "FeatureSource",
    "PredictedStep",
    "Run",
    "RunRecord",
    "predicted_steps",
    "read_record",
    "read_run",
    "read_tables",
    "require_free",
    "write_run",
    "write_tables",
]

RECORD: Final = "run.json"
PREDICTIONS: Final = "predictions.jsonl"
VALIDATION: Final = "validation.jsonl"
FORMAT: Final = 1
KIND_PREFIX: Final = "score:"
"""Before a kind's name in the column of its own scores, as ``proctor metrics classification`` has it."""

_ASKED: Final = (
    "model", "split", "seed", "protocol", "observed", "target", "data", "data_hash", "features", "settings",
)  # fmt: skip
"""What a run is the answer to; another answer to the same question may take its place."""


class FeatureSource(msgspec.Struct, frozen=True):
    """A feature store that a model was given."""

    modality: str
    backbone: str
    hash: str
    width: int = 0
    seconds: float = 1.0

    @classmethod
    def of(cls, store: FeatureStore) -> FeatureSource:
        """Return what a run says of a store."""
        return cls(store.modality, store.backbone, store.hash, store.width, store.seconds)


class _Written(msgspec.Struct, frozen=True):
    """A file of the run as it was written."""

    rows: int
    sha256: str


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked, chosen and found.

    Attributes:
        model: its name, as on the command line.
        split: letter of the split.
        data: name of the data set; ``data_hash`` of its annotations.
        seed: of everything that draws.
        protocol: paper, code or right.
        observed: share of each execution, from its start, that was seen.
        target: what a positive is; ``mistake`` is any kind.
        features: the stores, in the order in which the model was given them.
        settings: of the model and its training.
        code: version of the package.
        chosen: what was chosen on the validation part.
        results: figures of the test and the validation part.
        files: by name, rows and hash; filled in by ``write_run``.
        format: of this file.
    """

    model: str
    split: str
    data: str
    data_hash: str
    seed: int = 0
    protocol: str = "right"
    observed: float = 1.0
    target: str = "mistake"
    features: tuple[FeatureSource, ...] = ()
    settings: dict[str, object] = msgspec.field(default_factory=dict)
    code: str = __version__
    chosen: dict[str, object] = msgspec.field(default_factory=dict)
    results: dict[str, object] = msgspec.field(default_factory=dict)
    files: dict[str, _Written] = msgspec.field(default_factory=dict)
    format: int = FORMAT

    @property
    def configuration(self) -> str:
        """Hash of what was asked, without what was found."""
        return content_hash(self.asked)

    @property
    def asked(self) -> dict[str, object]:
        """What the run is the answer to, as plain values."""
        return {name: msgspec.to_builtins(getattr(self, name), enc_hook=_plain) for name in _ASKED}


class PredictedStep(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One row of a file of predictions.

    Attributes:
        recording: its id.
        step: id of the step, unique in a recording.
        label: whether it is a mistake.
        kinds: of mistakes that it carries.
        score: the probability of a mistake, or anything that is higher for more suspicious steps.
        observed: share of the step that was seen.
        reasons: what moved the score most, the largest first; empty where the model cannot say.
        activity: the recipe, for people.
        text: the instruction.
        times: start and end of each execution, in seconds.
        kind_scores: by kind of mistake, the score of its own detector; columns ``score:KIND`` of the file.
    """

    recording: str
    step: str
    label: bool
    score: float
    kinds: tuple[str, ...] = ()
    observed: float = 1.0
    reasons: tuple[Reason, ...] = ()
    activity: str = ""
    text: str = ""
    times: tuple[tuple[float, float], ...] = ()
    kind_scores: dict[str, float] = msgspec.field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """A run that was read, whole.

    Attributes:
        folder: where it is.
        record: what was asked and found.
        test: steps of the test part, in the order of the file.
        val: steps of the validation part.
    """

    folder: Path
    record: RunRecord
    test: tuple[PredictedStep, ...]
    val: tuple[PredictedStep, ...]


def predicted_steps(
    data: StepData,
    places: NDArray[np.int64],
    scores: NDArray[np.float64],
    *,
    reasons: Sequence[tuple[Reason, ...]] = (),
    kind_scores: Mapping[str, NDArray[np.float64]] | None = None,
    observed: float = 1.0,
    target: NDArray[np.bool_] | None = None,
) -> list[PredictedStep]:
    """Return the rows of samples at these places.

    Args:
        data: all steps.
        places: of the samples in ``data``; shape (n,).
        scores: shape (n,).
        reasons: one tuple a place, or empty.
        kind_scores: by kind of mistake, scores of its own detector; each of shape (n,).
        observed: share of each step that was seen.
        target: what was recognised of all samples, ``data.labels()`` when not given; shape (samples,).

    Raises:
        ValueError: if the parts are not equally long.
    """
    labels = data.labels() if target is None else target
    why = reasons or [()] * len(places)
    by_kind = {kind: values.tolist() for kind, values in (kind_scores or {}).items()}
    if not len(places) == len(scores) == len(why) or any(len(v) != len(places) for v in by_kind.values()):
        raise ValueError("places, scores, reasons and scores of kinds must be parallel")
    rows = []
    for k, (place, score) in enumerate(zip(places.tolist(), scores.tolist(), strict=True)):
        sample = data.samples[place]
        rows.append(
            PredictedStep(
                recording=sample.recording_id,
                step=sample.step,
                label=bool(labels[place]),
                score=score,
                kinds=tuple(sorted(sample.kinds)),
                observed=observed,
                reasons=tuple(why[k]),
                activity=graph.name if (graph := data.graphs.get(sample.activity_id)) else sample.activity_id,
                text=sample.text,
                times=tuple((e.start, e.end) for e in sample.executions),
                kind_scores={kind: values[k] for kind, values in by_kind.items()},
            )
        )
    return rows


# -- writing -----------------------------------------------------------------------------------------------------


def require_free(folder: Path, record: RunRecord, *, overwrite: bool = False) -> None:
    """See before any training that the folder may take this run: nothing there, or a run of the same configuration.

    Raises:
        UserError: if it holds a run of another configuration, or something that is no run.
    """
    if overwrite or not folder.exists():
        return
    hint = "name another folder, remove this one, or add --overwrite (learn mistakes, learn localize)"
    if is_there(folder / RECORD):
        old = read_record(folder)
        if old.configuration != record.configuration:
            differ = [name for name in _ASKED if old.asked[name] != record.asked[name]]
            raise UserError(
                f"there is a run of another configuration ({', '.join(differ)}).",
                where=str(folder),
                hint=hint,
            )
    elif not folder.is_dir() or is_there(folder / PREDICTIONS):
        raise UserError(
            f"there is something here already that is no whole run (it has no {RECORD}).",
            where=str(folder),
            hint=hint,
        )


def write_run(
    folder: Path,
    record: RunRecord,
    test: Sequence[PredictedStep],
    val: Sequence[PredictedStep],
    *,
    overwrite: bool = False,
) -> RunRecord:
    """Write a run and return its record with the hashes of its files; equal runs give equal bytes.

    Raises:
        UserError: if a score is not finite, a step is there twice, or the folder may not or cannot be written
            (see ``require_free``).
    """
    require_free(folder, record, overwrite=overwrite)
    files: dict[str, _Written] = {}
    for name, steps in ((PREDICTIONS, test), (VALIDATION, val)):
        _require_sound(steps, folder / name)
    # Without hashes first: what a kill leaves behind is an unfinished run of this configuration, which may be repeated.
    _write_record(folder, msgspec.structs.replace(record, files={}))
    for name, steps in ((PREDICTIONS, test), (VALIDATION, val)):
        write_jsonl(folder / name, map(_as_row, steps))
        files[name] = _Written(len(steps), file_sha256(folder / name))
    written = msgspec.structs.replace(record, files=files)
    _write_record(folder, written)
    return written


def write_tables(
    folder: Path,
    record: RunRecord,
    tables: Mapping[str, tuple[int, bytes]],
    *,
    overwrite: bool = False,
) -> RunRecord:
    """Write a run whose results are tables of another kind than ``PredictedStep``; else as ``write_run``.

    Args:
        folder: of the run.
        record: what was asked and found.
        tables: rows and bytes by name of the file.
        overwrite: write over a run of another configuration.

    Raises:
        UserError: if the folder may not or cannot be written.
    """
    require_free(folder, record, overwrite=overwrite)
    _write_record(folder, msgspec.structs.replace(record, files={}))
    files: dict[str, _Written] = {}
    for name, (rows, content) in tables.items():
        with atomic_write(folder / name) as stream:
            stream.write(content)
        files[name] = _Written(rows, file_sha256(folder / name))
    written = msgspec.structs.replace(record, files=files)
    _write_record(folder, written)
    return written


def _write_record(folder: Path, record: RunRecord) -> None:
    write_json(folder / RECORD, msgspec.to_builtins(record, enc_hook=_plain))


def _plain(value: object) -> object:
    """Numbers of numpy and paths, as they stand in settings and choices."""
    if isinstance(value, np.generic):
        plain: object = value.item()
        return plain
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"a run's record cannot hold a {type(value).__name__}")


def _as_row(step: PredictedStep) -> dict[str, object]:
    """Name every column that a table needs, also where it holds nothing."""
    row: dict[str, object] = {name: getattr(step, name) for name in step.__struct_fields__}
    del row["kind_scores"]
    return row | {KIND_PREFIX + kind: score for kind, score in sorted(step.kind_scores.items())}


def _require_sound(steps: Sequence[PredictedStep], path: Path) -> None:
    """Refuse what no figure may be computed from."""
    first: dict[tuple[str, str], int] = {}
    for number, step in enumerate(steps, start=1):
        where = f"{path}:{number}"
        if (seen := first.setdefault((step.recording, step.step), number)) != number:
            raise UserError(
                f"step {step.step!r} of recording {step.recording!r} is there twice (first in line {seen}).",
                where=where,
                hint="a run has one score a step; write another run for another share observed",
            )
        wrong = [n for n, v in {"score": step.score, **step.kind_scores}.items() if not math.isfinite(v)]
        if wrong:
            raise UserError(
                f"the score of step {step.step!r} of recording {step.recording!r} is not a finite number ({wrong[0]}).",
                where=where,
                hint="did the training diverge? look at log.jsonl, lower the learning rate and train again",
            )
        if step.kind_scores.keys() != steps[0].kind_scores.keys():
            raise UserError(
                "it has scores of other kinds than the first step.",
                where=where,
                hint="score all kinds or none",
            )


# -- reading -----------------------------------------------------------------------------------------------------


def read_run(folder: Path) -> Run:
    """Read a run.

    Raises:
        UserError: if the folder is no run, a file of it is missing, cut off, changed, or of another version, or a
            score is not a number.
    """
    record = read_record(folder)
    parts = {}
    for name in (PREDICTIONS, VALIDATION):
        written = record.files.get(name)
        if written is None:
            raise UserError(
                f"it does not name {name}: the run was not finished.",
                where=str(folder / RECORD),
                hint="run the same command again",
            )
        rows: list[dict[str, object]] = read_jsonl(folder / name, dict[str, object])
        steps = [_step(row, f"{folder / name}:{n}") for n, row in enumerate(rows, start=1)]
        _require_sound(steps, folder / name)
        if len(steps) != written.rows or file_sha256(folder / name) != written.sha256:
            raise UserError(
                f"the file is not the one that the run wrote: {len(steps):,} rows where {written.rows:,} were written."
                if len(steps) != written.rows
                else "the file was changed after the run: its hash differs.",
                where=str(folder / name),
                hint="restore it, or run the same command again",
            )
        parts[name] = tuple(steps)
    return Run(folder, record, parts[PREDICTIONS], parts[VALIDATION])


def read_tables(folder: Path) -> RunRecord:
    """Return the record of a run of other tables than steps (``write_tables``).

    Raises:
        UserError: if the folder is no run, the run was not finished, or a table of it is missing or changed.
    """
    record = read_record(folder)
    if not record.files:
        raise UserError(
            "it names no table: the run was not finished.",
            where=str(folder / RECORD),
            hint="run the same command again",
        )
    for name, written in record.files.items():
        if not is_there(folder / name) or file_sha256(folder / name) != written.sha256:
            raise UserError(
                "the file was changed after the run: its hash differs."
                if is_there(folder / name)
                else "the file is not there.",
                where=str(folder / name),
                hint="restore it, or run the same command again",
            )
    return record


def read_record(folder: Path) -> RunRecord:
    """Return what stands in ``run.json``; whether the run is whole is not looked at.

    Raises:
        UserError: if the folder is no run, or the file cannot be read or is of another version.
    """
    if not is_there(folder / RECORD):
        what = (
            "there is no such folder"
            if not folder.exists()
            else f"this is no finished run: it has no {RECORD}"
        )
        raise UserError(f"{what}.", where=str(folder), hint="name a folder that proctor learn … --out wrote")
    record: RunRecord = read_json(folder / RECORD, RunRecord)
    if record.format != FORMAT:
        raise UserError(
            f"the run is of format {record.format}, this version reads {FORMAT}.",
            where=str(folder / RECORD),
            hint="run the same command again with this version",
        )
    return record


def _step(row: dict[str, object], where: str) -> PredictedStep:
    """Read one row; a number that is not there is what JSON makes of NaN."""
    kinds = {name.removeprefix(KIND_PREFIX): row.pop(name) for name in [*row] if name.startswith(KIND_PREFIX)}
    for name, value in {"score": row.get("score"), **kinds}.items():
        if value is None:
            raise UserError(
                f"it has no score ({name}).", where=where, hint="a run scores every step; run it again"
            )
    try:
        return msgspec.convert(row | {"kind_scores": kinds}, PredictedStep)
    except msgspec.ValidationError as error:
        raise UserError(f"{error}.", where=where, hint="run the same command again") from None

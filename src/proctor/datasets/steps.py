"""Rows of steps: one JSON object a line, the same for every data set of step-annotated videos.

Reads every ``*.jsonl`` and ``*.jsonl.gz`` of a folder, line by line: ``dataset``, ``video_id``, ``task`` or ``goal``,
``task_id`` or ``goal_category``, ``split``, ``duration`` or ``end``, ``steps`` (``start``, ``end``, ``text``, and
``i``, ``category``, ``has_errors``, ``substeps`` where the data set has them). This is how the project keeps the real
annotations of YouCook2, HiREST, Goal-Step and CaptainCook4D.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from proctor.datasets.dataset import Corrections, DataFile, Dataset, Log, checker, reader
from proctor.datasets.json_files import LONG_LINE, decode_json, iter_lines
from proctor.datasets.step_rows import (
    REASONS,
    RULES,
    UNKNOWN,
    StepRows,
    accept_id,
    clean_text,
    describe,
    measured,
    read_duration,
    released_split,
    text_attributes,
)
from proctor.errors import UserError
from proctor.procedure.recording import Mistake, Recording, Segment

__all__ = ["DATASET"]

_MAX_UNUSABLE: Final = 1_000
"""Lines of one file that may be no rows before it is taken for a file of another kind."""

_NOT_PERFORMED: Final = -1
"""Start and end of a step that was not performed, in rows of CaptainCook4D."""
_NAMES: Final = ("task", "goal", "task_id", "goal_category")
_IDS: Final = ("task_id", "goal_category", "task", "goal")


def _iterate(root: Path, _corrections: Corrections, log: Log, /, **options: str) -> Iterator[Recording]:
    DATASET.check_options(options)
    whole = options.get("continued", "kept") == "kept"
    DATASET.require_files(root)
    paths = sorted(p for pattern in ("*.jsonl", "*.jsonl.gz") for p in root.glob(pattern))
    if not paths:
        raise UserError(
            "there are no rows of steps (*.jsonl or *.jsonl.gz) in it.",
            where=str(root),
            hint="give the folder that holds them",
        )
    seen: set[str] = set()
    for path in paths:
        for where, row in _rows(path, log):
            id_ = accept_id(row.get("video_id"), seen, log, where)
            recording = None if id_ is None else _recording(id_, row, log, whole=whole)
            if recording is not None:
                yield recording


def _rows(path: Path, log: Log) -> Iterator[tuple[str, Mapping[str, Any]]]:
    lines = unusable = 0
    for number, line in iter_lines(path, log):
        lines += 1
        where = f"{path.name}:{number}"
        row = _row(line, where, log)
        if row is not None:
            yield where, row
            continue
        unusable += 1
        if unusable == _MAX_UNUSABLE:
            raise UserError(
                f"{unusable:,} lines are no rows of steps, the last is line {number}.",
                where=str(path),
                hint="is it another kind of file?",
            )
    if not lines:
        raise UserError("the file is empty.", where=str(path), hint="restore a copy, or take it away")


def _row(line: bytes, where: str, log: Log) -> Mapping[str, Any] | None:
    log.counts["videos"] += 1
    try:
        document = decode_json(line, where)
    except UserError as error:
        log.drop(where, "not-json", error.message[:300])
        return None
    document.tell_repeated(log, where)
    row = document.value
    if not isinstance(row, dict) or not isinstance(row.get("steps"), list):
        log.drop(where, "bad-record", f"it is {describe(row)} without a list of steps")
        return None
    return row


def _recording(id_: str, row: Mapping[str, Any], log: Log, *, whole: bool) -> Recording | None:
    length = row.get("duration", row.get("end"))
    duration = None if length is None else read_duration(length, id_, log)
    steps = StepRows(id_, log, duration)
    skipped: list[Segment] = []
    for number, step in enumerate(row["steps"], 1):
        log.counts["steps"] += 1
        if isinstance(step, dict) and step.get("is_continued") is True and not whole:
            steps.drop(str(number), "continued-step", "it comes back to an earlier one")
        elif isinstance(step, dict):
            _add(steps, skipped, str(number), step)
        else:
            steps.drop(str(number), "bad-time", f"the step is {describe(step)}")
    if not steps.taken and not skipped:
        log.drop(id_, "no-steps", f"{len(row['steps'])} step(s)")
        return None
    values = text_attributes({name: row.get(name) for name in _NAMES}, id_, log, optional=_NAMES)
    activity, name = _first(values, _IDS), _first(values, _NAMES)
    if not activity:
        log.find("no-activity", id_, "none of task, task_id, goal, goal_category says it")
    given = ("dataset", "split")
    attributes = text_attributes({n: row.get(n) for n in given}, id_, log, optional=given)
    attributes |= _moment(row, id_, log)
    segments = (*skipped, *steps.finish())
    return Recording(id_, activity or UNKNOWN, name or UNKNOWN, segments, duration, attributes=attributes)


def _first(values: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((values[name] for name in names if name in values), "")


def _moment(row: Mapping[str, Any], id_: str, log: Log) -> dict[str, str]:
    moment = row.get("moment")
    if moment is None:
        return {}
    if not isinstance(moment, list) or len(moment) != 2:
        log.find("odd-field", id_, f"the moment is {describe(moment)}")
        return {}
    return text_attributes({"moment_start": moment[0], "moment_end": moment[1]}, id_, log)


def _add(steps: StepRows, skipped: list[Segment], place: str, step: Mapping[str, Any]) -> None:
    step_id = _step_id(steps, place, step)
    mistakes = _mistakes(steps, place, step)
    substeps = step.get("substeps", [])
    if isinstance(substeps, list):
        steps.log.counts["substeps"] += len(substeps)
    else:
        steps.drop(place, "bad-substeps", f"they are {describe(substeps)}")
    text = clean_text(step.get("text"))
    if _is_mark(step.get("start")) and _is_mark(step.get("end")) and text:
        steps.log.counts["not_performed"] += 1
        skipped.append(Segment(step_id, text, mistakes=mistakes))
        return
    steps.add(place, step_id, step.get("text"), step.get("start"), step.get("end"), mistakes=mistakes)


def _is_mark(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == _NOT_PERFORMED


def _step_id(steps: StepRows, place: str, step: Mapping[str, Any]) -> str:
    """Return the label of a step, else its number, else its place, which is told."""
    for name in ("category", "i"):
        value = step.get(name)
        if isinstance(value, int | str) and not isinstance(value, bool) and (text := clean_text(str(value))):
            return text[:200]
        if value is not None:
            steps.find("odd-label", place, f"{name} is {describe(value)}")
    steps.find("no-step-id", place, "neither category nor i")
    return str(int(place) - 1)


def _mistakes(steps: StepRows, place: str, step: Mapping[str, Any]) -> tuple[Mistake, ...]:
    marked = step.get("has_errors", False)
    if not isinstance(marked, bool):
        steps.find("odd-flag", place, f"has_errors is {describe(marked)}")
    return (Mistake("other"),) if marked is True else ()


DATASET: Final = Dataset(
    name="steps",
    title="Rows of steps",
    version="1",
    licence="that of the data set which the rows come from",
    citation="that of the data set which the rows come from",
    homepage="docs/datasets/steps.md",
    files=(
        DataFile("*.jsonl", "one video a line, with its steps", required=False),
        DataFile("*.jsonl.gz", "the same, packed", required=False),
    ),
    read=reader(_iterate),
    check=checker(_iterate),
    iterate=_iterate,
    options={"continued": ("kept", "dropped")},
    rules={
        **RULES,
        **REASONS,
        LONG_LINE: "left out: the line has more than 64 MB",
        "not-json": "left out: the line is not JSON, or not UTF-8",
        "bad-substeps": "left out: the substeps of a step are no list",
        "continued-step": "left out with `continued=dropped`: the step goes on with an earlier one (`is_continued`)",
        "odd-label": "the category or the number of a step is neither a text nor a whole number",
        "odd-flag": "`has_errors` is neither true nor false",
    },
    access="Whatever the data set which the rows come from asks for.",
    seen="real",
    notes=(
        (
            "One object a line, the same for every data set: `dataset`, `video_id`, `task` or `goal`, `task_id` or "
            "`goal_category`, `split`, `duration` (or `end`), `moment`, and `steps` with `start`, `end`, `text`, and `i`, "
            "`category`, `has_errors` where there are such. All files of a folder are read one after the other, line by "
            "line; a line that cannot be read is listed and the next one read."
        ),
        (
            "The id of a step is its category, else its number `i`. A step that begins and ends at −1 was not performed. "
            "`has_errors` becomes a mistake of the kind `other`, as the rows do not say which. Substeps are counted and "
            "not passed on: the reader `goalstep` gives them."
        ),
        "Of several data sets in one folder every video has to have an id of its own.",
    ),
    measure=measured(_iterate),
    splits=(released_split(_iterate),),
)

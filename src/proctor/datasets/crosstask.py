"""CrossTask: 83 tasks with ordered steps, and videos of YouTube with times."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import StringIO
from itertools import groupby
from pathlib import Path
from typing import Final

from proctor.datasets.annotation_rows import (
    ROW_RULES,
    is_there,
    iter_rows,
    seconds_from,
    shown,
    text_from,
    token_from,
    whole_from,
)
from proctor.datasets.dataset import Corrections, DataFile, Dataset, Log, checker, reader
from proctor.datasets.interchange.reading import load_text
from proctor.datasets.step_rows import STEP_RULES, StepRows
from proctor.procedure.recording import Recording, Segment

__all__ = ["DATASET", "Task", "iter_crosstask", "load_tasks"]

_PRIMARY: Final = "tasks_primary.txt"
_RELATED: Final = "tasks_related.txt"
_VIDEOS: Final = "videos.csv"
_VALIDATION: Final = "videos_val.csv"
_ANNOTATIONS: Final = "annotations/*.csv"
_LINES: Final = 5
_NAME: Final = re.compile(r"(?P<task>[^_]+)_(?P<video>.+)")

_Videos = Mapping[tuple[str, str], str]


@dataclass(frozen=True, slots=True)
class Task:
    """A task of a task file.

    Attributes:
        id: number of the task, as text.
        title: of the task.
        role: ``primary`` (its videos have times) or ``related`` (they have none).
        steps: texts in the order of the list; the annotations count them from 1.
        url: of the article that it is from.
    """

    id: str
    title: str
    role: str
    steps: tuple[str, ...]
    url: str


def iter_crosstask(
    root: Path, _corrections: Corrections, log: Log, /, **_options: str
) -> Iterator[Recording]:
    """Yield one recording for each file of annotations, by file name.

    Both correction modes are the same: no correction of CrossTask is known.

    Raises:
        UserError: if a file is missing or no text.
    """
    DATASET.require_files(root)
    tasks = load_tasks(root, log)
    videos = _videos(root / _VIDEOS, log)
    validation = _videos(root / _VALIDATION, log) if is_there(root / _VALIDATION) else {}
    for key in sorted(validation.keys() - videos.keys()):
        log.find("unlisted-video", "_".join(key), f"in {_VALIDATION}, not in {_VIDEOS}")
    annotated = set[tuple[str, str]]()
    for path in sorted(root.glob(_ANNOTATIONS)):
        named = _key(path, log)
        if named is None:
            continue
        annotated.add(named)
        task = tasks.get(named[0])
        if task is None:
            log.drop(path.stem, "unknown-task", f"task {shown(named[0])} is in no task file")
            continue
        if named not in videos:
            log.find("unlisted-video", path.stem, f"not in {_VIDEOS}")
        segments = _steps(path, task, log)
        if segments:
            yield _recording(path.stem, segments, task, named, videos, validation)
    _tell_not_annotated(tasks, videos, annotated, log)


# -- tasks and videos --------------------------------------------------------------------------------------------


def load_tasks(root: Path, log: Log) -> dict[str, Task]:
    """Read the task files of a folder.

    Raises:
        UserError: if one cannot be read or is empty.
    """
    found: dict[str, Task] = {}
    for name, role in ((_PRIMARY, "primary"), (_RELATED, "related")):
        if role == "related" and not is_there(root / name):
            continue
        for line, block in _blocks(load_text(root / name)):
            task = _task(block, role)
            where = f"{name}:{line}"
            if task is None:
                log.drop(where, "bad-task", shown(" | ".join(text[:60] for text in block[:_LINES])))
            elif task.id in found:
                log.drop(where, "duplicate-id", f"task {task.id} is there already")
            else:
                found[task.id] = task
                log.counts[f"{role} tasks"] += 1
    return found


def _blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the first line and the lines of each block; blank lines are between blocks."""
    lines = enumerate((line.strip() for line in StringIO(text, newline=None)), start=1)
    for filled, block in groupby(lines, key=lambda numbered: bool(numbered[1])):
        if filled:
            numbered = list(block)
            yield numbered[0][0], [line for _, line in numbered]


def _task(block: list[str], role: str) -> Task | None:
    """Return the task of a block; None where it has other lines, or another number of steps than it says.

    A comma within a step would shift all numbers after it, so a wrong number of steps is not guessed away.
    """
    if len(block) != _LINES:
        return None
    id_, title, url, number, listed = block
    steps = tuple(step.strip() for step in listed.split(","))
    known = token_from(id_)
    if known is None or "_" in known or whole_from(number) != len(steps) or None in map(text_from, steps):
        return None
    return Task(known, title, role, steps, url)


def _videos(path: Path, log: Log) -> dict[tuple[str, str], str]:
    """Return the addresses of a list of videos by task and video."""
    found: dict[tuple[str, str], str] = {}
    for line, row in iter_rows(path, log, path.name, cells=(3, 3), header=_names_columns):
        task, video, url = row
        if token_from(task) is None or token_from(video) is None or not url:
            log.drop(f"{path.name}:{line}", "bad-row", shown(row))
        elif (task, video) in found:
            log.find("listed-twice", f"{path.name}:{line}", f"{task}_{video}")
        else:
            found[task, video] = url
    return found


def _names_columns(cell: str) -> bool:
    return cell.lower() in ("task", "task_id", "step", "step_id")


# -- recordings --------------------------------------------------------------------------------------------------


def _key(path: Path, log: Log) -> tuple[str, str] | None:
    """Return task and video of a file name; the video may have underscores, the task has none."""
    match = _NAME.fullmatch(path.stem) if token_from(path.stem) == path.stem else None
    if match is None:
        log.drop(shown(path.name), "bad-id", "the file is not named task_video.csv")
        return None
    return match["task"], match["video"]


def _steps(path: Path, task: Task, log: Log) -> tuple[Segment, ...]:
    found = StepRows(path.stem, log)
    for line, (number, start, end) in iter_rows(path, log, path.stem, cells=(3, 3), header=_names_columns):
        step = whole_from(number)
        if step is None or not 1 <= step <= len(task.steps):
            seen = f"{shown(number)}, the task has steps 1 to {len(task.steps)}"
            found.drop(str(line), "unknown-step", seen)
        else:
            found.add(
                str(line), f"{task.id}.{step}", task.steps[step - 1], seconds_from(start), seconds_from(end)
            )
    return found.segments()


def _recording(
    id_: str,
    segments: tuple[Segment, ...],
    task: Task,
    key: tuple[str, str],
    videos: _Videos,
    validation: _Videos,
) -> Recording:
    attributes = {"youtube_id": key[1], "role": task.role}
    if key in videos or key in validation:
        attributes["url"] = videos.get(key) or validation[key]
        attributes["split"] = "val" if key in validation else "train"
    return Recording(id_, task.id, task.title, segments, attributes=attributes)


def _tell_not_annotated(
    tasks: Mapping[str, Task], videos: _Videos, annotated: set[tuple[str, str]], log: Log
) -> None:
    """Tell for each primary task how many listed videos have no file of annotations."""
    listed: dict[str, list[bool]] = {}
    for key in videos:
        listed.setdefault(key[0], []).append(key in annotated)
    for task, have in listed.items():
        missing = have.count(False)
        log.counts["videos without annotations"] += missing
        if task not in tasks:
            log.find(
                "unknown-task", f"{_VIDEOS}: task {task}", f"{len(have)} videos of a task in no task file"
            )
        elif missing and tasks[task].role == "primary":
            log.find("not-annotated", f"task {task}", f"{missing} of {len(have)} listed videos have no file")


DATASET = Dataset(
    name="crosstask",
    title="CrossTask",
    version="as released; the files name none",
    licence="not stated for the annotations (the authors' loader code is BSD-3-Clause)",
    citation="Zhukov et al. 2019: Cross-task weakly supervised learning from instructional videos. CVPR.",
    homepage="https://github.com/DmZhukov/CrossTask",
    files=(
        DataFile(
            _PRIMARY, "tasks whose videos have times: id, title, address, number of steps, steps, blank line"
        ),
        DataFile(_VIDEOS, "task, video, address; no header line"),
        DataFile(
            _ANNOTATIONS,
            "one video a file, named task_video.csv: step (from 1), start, end in seconds",
        ),
        DataFile(_RELATED, "tasks whose videos have no times, in the same form", required=False),
        DataFile(_VALIDATION, "videos that the authors hold out, in the form of videos.csv", required=False),
    ),
    read=reader(iter_crosstask),
    check=checker(iter_crosstask),
    iterate=iter_crosstask,
    access="The authors' page links to one archive with all annotation files; the videos are on YouTube.",
    rules={
        **ROW_RULES,
        **STEP_RULES,
        "bad-task": "a block of a task file has not five lines, or another number of steps than it says; it is left out",
        "unknown-task": "annotations or videos belong to a task that no task file has; such annotations are left out",
        "unknown-step": "a step number is no whole number from 1 to the number of steps of its task; it is left out",
        "unlisted-video": "an annotated or held-out video is not in videos.csv; it is kept",
        "listed-twice": "a video is in a list twice; the first address counts",
        "not-annotated": "listed videos of a primary task have no file of annotations",
    },
    notes=(
        (
            "Only the primary tasks have annotated videos. Related tasks are read so that annotations of one could be "
            "named; videos without annotations are counted and give no recording."
        ),
        (
            "Steps are counted from 1 within their task. `step_id` is `task.number`, so that it means one step "
            "in the whole data set; `text` is the step of the task file."
        ),
        (
            "The steps of a task are an ordered list. That is one way to do the task and no task graph, so no graph is made: "
            "`proctor graph induce` makes one from many recordings, with its support."
        ),
        (
            "Steps are parted by commas. A block whose number of steps is not the number that it states is left out with all "
            "its videos: a comma inside a step would give every later step another text."
        ),
        (
            "`split` is `val` for the videos of `videos_val.csv`, `train` for the others of `videos.csv`. Lengths of videos are "
            "not in the release, so steps beyond the end of a video cannot be found."
        ),
        (
            "Not verified on a real file: all of it (the reader was built from the documented forms). A header line in a "
            "table, which the documentation does not mention, is recognised and reported."
        ),
    ),
)

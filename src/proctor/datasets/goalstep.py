"""Ego4D Goal-Step: long first-person videos with a goal, its steps and their substeps.

Reads ``goalstep_*.json`` (``{split, videos: [{video_uid, goal_category, segments: [{…, segments: […]}]}]}``), one file a
split. Option ``level``: ``step`` yields the top-level steps, ``leaf`` the substeps of a step that has any, else the step
itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from proctor.datasets.dataset import Corrections, DataFile, Dataset, Log, Published, checker, reader
from proctor.datasets.json_files import read_json_document
from proctor.datasets.step_rows import (
    REASONS,
    RULES,
    UNKNOWN,
    StepRows,
    accept_id,
    clean_text,
    describe,
    finite_number,
    in_time_order,
    measured,
    read_duration,
    released_split,
    text_attributes,
)
from proctor.errors import UserError
from proctor.procedure.clip import leaf_segments
from proctor.procedure.recording import Recording, Segment

__all__ = ["DATASET"]

_FILES: Final = "goalstep_*.json"
_RELEVANCE: Final = ("essential", "optional", "irrelevant")
_FLAGS: Final = ("is_continued", "is_procedural")
_RELEVANT: Final = "is_relevant"
_ATTRIBUTES: Final = {
    "wikihow": "goal_wikihow_url",
    "procedural": "is_procedural",
}


def _iterate(root: Path, _corrections: Corrections, log: Log, /, **options: str) -> Iterator[Recording]:
    DATASET.require_files(root)
    leaf = options.get("level", "step") == "leaf"
    seen: set[str] = set()
    for path in sorted(root.glob(_FILES)):
        document = read_json_document(path)
        document.tell_repeated(log, path.name)
        videos = _videos(document.value, path)
        split = clean_text(document.value.get("split"))
        if not split:
            log.find("odd-field", path.name, f"the split is {describe(document.value.get('split'))}")
        for number, video in enumerate(videos, 1):
            log.counts["videos"] += 1
            where = f"{path.name}: video {number}"
            if not isinstance(video, dict) or not isinstance(video.get("segments"), list):
                _tell_unusable(video, where, log)
                continue
            id_ = accept_id(video.get("video_uid"), seen, log, where)
            recording = None if id_ is None else _recording(id_, video, split, leaf, log)
            if recording is not None:
                yield recording


def _videos(document: Any, path: Path) -> list[Any]:
    videos = document.get("videos") if isinstance(document, dict) else None
    if not isinstance(videos, list) or not videos:
        raise UserError(
            "there is no list of 'videos' in it.",
            where=str(path),
            hint='expected {"split": …, "videos": [{"video_uid": …, "segments": […]}]}; is it another file?',
        )
    return videos


def _tell_unusable(video: object, where: str, log: Log) -> None:
    uid = clean_text(video.get("video_uid")) if isinstance(video, dict) else ""
    place = uid[:200] if uid else where
    if isinstance(video, dict) and isinstance(video.get("step_segments"), list):
        log.drop(place, "no-times", f"{len(video['step_segments'])} step(s) without times")
    else:
        log.drop(place, "bad-record", f"it is {describe(video)} without a list of segments")


# -- one video ---------------------------------------------------------------------------------------------------


def _recording(id_: str, video: Mapping[str, Any], split: str, leaf: bool, log: Log) -> Recording | None:
    end = read_duration(video.get("end_time"), id_, log)
    start = finite_number(video.get("start_time"))
    levels = list(_levels(id_, video["segments"], start or 0.0, end, log))
    kept = leaf_segments(levels) if leaf else tuple(step for step, _ in levels)
    segments = in_time_order(s for s in kept if s is not _NO_STEP)
    if not segments:
        log.drop(id_, "no-steps", f"{len(video['segments'])} segment(s)")
        return None
    category, goal = clean_text(video.get("goal_category")), clean_text(video.get("goal_description"))
    if not category:
        log.find("no-activity", id_, f"the goal category is {describe(video.get('goal_category'))}")
    values = {name: video.get(field) for name, field in _ATTRIBUTES.items()}
    attributes = {"split": split} if split else {}
    attributes |= text_attributes(values, id_, log, optional=_ATTRIBUTES)
    if start is None:
        log.find("odd-field", id_, f"the start time is {describe(video.get('start_time'))}")
    else:
        attributes["annotated_from"] = f"{start:.10g}"
    return Recording(
        id_, category or UNKNOWN, goal or category or UNKNOWN, segments, end, attributes=attributes
    )


_NO_STEP: Final = Segment("", "")
"""Stands for a step that was dropped; its substeps are used where they are asked for."""


def _levels(
    id_: str, rows: list[object], start: float, duration: float | None, log: Log
) -> Iterator[tuple[Segment, list[Segment]]]:
    steps = StepRows(id_, log, duration)
    for number, row in enumerate(rows, 1):
        log.counts["steps"] += 1
        step = _step(steps, str(number), row, start)
        yield step or _NO_STEP, list(_substeps(id_, str(number), row, step, start, duration, log))
    steps.finish()


def _substeps(
    id_: str, parent: str, row: object, step: Segment | None, start: float, duration: float | None, log: Log
) -> Iterator[Segment]:
    rows = row.get("segments", []) if isinstance(row, dict) else []
    if not isinstance(rows, list):
        log.drop(f"{id_}: step {parent}", "bad-substeps", f"the substeps are {describe(rows)}")
        return
    substeps = StepRows(id_, log, duration, level="substep")
    for number, inner in enumerate(rows, 1):
        log.counts["substeps"] += 1
        place = f"{parent}.{number}"
        substep = _step(substeps, place, inner, start)
        if isinstance(inner, dict) and inner.get("segments"):
            log.drop(f"{id_}: step {place}", "third-level", f"below it: {describe(inner['segments'])}")
        if substep is None:
            continue
        if step is not None and not _within(substep, step):
            seen = f"{_span(substep)} is not within {_span(step)}"
            substeps.find("outside-step", place, seen)
        yield substep
    substeps.finish()


def _step(steps: StepRows, number: str, row: object, start: float) -> Segment | None:
    if not isinstance(row, dict):
        steps.drop(number, "bad-time", f"the step is {describe(row)}")
        return None
    category = clean_text(row.get("step_category"))
    text = row.get("step_description")
    step = steps.add(number, category or UNKNOWN, text, row.get("start_time"), row.get("end_time"))
    if step is None:
        return None
    if not category:
        steps.find("no-category", number, f"the category is {describe(row.get('step_category'))}")
    if step.start is not None and step.start < start:
        steps.find("before-video", number, f"from {step.start:g} s, the annotated part begins at {start:g} s")
    _tell_flags(steps, number, row)
    return step


def _tell_flags(steps: StepRows, number: str, row: Mapping[str, Any]) -> None:
    missing = [flag for flag in (*_FLAGS, _RELEVANT) if flag not in row]
    if missing:
        steps.find("missing-flags", number, f"without {', '.join(missing)}")
    for flag in _FLAGS:
        if flag in row and not isinstance(row[flag], bool):
            steps.find("odd-flag", number, f"{flag} is {describe(row[flag])}")
    relevance = row.get(_RELEVANT)
    if _RELEVANT in row and relevance not in _RELEVANCE:
        steps.find("undocumented-relevance", number, f"{_RELEVANT} is {describe(relevance)}")
    if isinstance(relevance, str) and relevance in (*_RELEVANCE, "unsure"):
        steps.log.counts[f"{steps.level}s_{relevance}"] += 1


def _within(inner: Segment, outer: Segment) -> bool:
    times = (inner.start, inner.end, outer.start, outer.end)
    start, end, first, last = (0.0 if t is None else t for t in times)  # none of ours is skipped
    return first <= start and end <= last


def _span(segment: Segment) -> str:
    return f"{segment.start:g} to {segment.end:g} s"


# -- declaration -------------------------------------------------------------------------------------------------


_SUBSTEP_RULES: Final = {
    f"substep-{rule}": f"the same of a substep: {what}"
    for rule, what in RULES.items()
    if rule in ("overlap", "overlap-earlier", "unsorted", "zero-length", "beyond-video", "repeated-step")
}

_FLAG_RULES: Final = {
    "undocumented-relevance": "`is_relevant` is none of essential, optional, irrelevant (`unsure`, mostly)",
    "missing-flags": "a step lacks `is_continued`, `is_procedural` or `is_relevant`",
    "odd-flag": "`is_continued` or `is_procedural` is neither true nor false",
    "no-category": "a step has no category; its id is `unknown`",
    "before-video": "a step begins before the annotated part of the video does",
}

DATASET: Final = Dataset(
    name="goalstep",
    title="Ego4D Goal-Step",
    version="1.0",
    licence="MIT",
    citation=(
        "Yale Song, Eugene Byrne, Tushar Nagarajan, Huiyu Wang, Miguel Martin, Lorenzo Torresani: Ego4D Goal-Step: "
        "Toward Hierarchical Understanding of Procedural Activities. NeurIPS 2023, Datasets and Benchmarks"
    ),
    homepage="https://github.com/facebookresearch/ego4d-goalstep",
    files=(
        DataFile(
            _FILES,
            "goals, steps and substeps, one file a split (`goalstep_train.json`, `goalstep_valid.json`)",
        ),
    ),
    read=reader(_iterate),
    check=checker(_iterate),
    iterate=_iterate,
    options={"level": ("step", "leaf")},
    rules={
        **RULES,
        **REASONS,
        **_FLAG_RULES,
        **_SUBSTEP_RULES,
        **{f"substep-{rule}": f"the same of a substep: {what}" for rule, what in _FLAG_RULES.items()},
        "substep-outside-step": "a substep begins before its step does, or ends after it",
        "no-times": "left out: the steps have no times (the test file has only descriptions and numbers)",
        "bad-substeps": "left out: the substeps of a step are no list",
        "third-level": "left out: segments below a substep; the release has two levels",
    },
    access="The annotations are open. The videos are Ego4D's, whose licence has to be signed.",
    seen="sample",
    notes=(
        (
            "The reader was tried on two videos of the release in their original layout, and on the 134 videos of the "
            "validation split after they had been taken apart and put together again."
        ),
        (
            "The id of a step is its category (`Group: step`), the activity of a video its goal category. `level=leaf` puts "
            "the substeps of a step in its place; the check reports both "
            "levels whatever is chosen, rules of substeps begin with `substep-`."
        ),
        (
            "The length of a video is the end of its annotated part. Some steps reach beyond it by fractions of a second, "
            "and many substeps beyond their step; nothing is cut."
        ),
        (
            "`is_relevant` also has the value `unsure`, which is not documented. Whether a step is continued, procedural and "
            "relevant is counted and not passed on; summaries are not passed on either."
        ),
        "The test file has no times and gives no recordings.",
    ),
    published=(
        Published("recordings_val", 134, "an earlier count"),
        Published(
            "mean_video_minutes",
            27.9,
            "an earlier count (validation)",
            "the file gives 27.97 minutes; the figure may have been cut and not rounded",
            digits=1,
        ),
        Published("steps_per_recording", 25.0, "an earlier count (validation)", digits=1),
        Published("substeps", 4347, "an earlier count (validation)"),
    ),
    measure=measured(_iterate),
    splits=(released_split(_iterate),),
)

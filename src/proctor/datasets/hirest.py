"""HiREST: videos found for a query, the moment in them that answers it, and the steps that tile the moment.

Reads ``all_data_*.json`` (``{query: {"video.mp4": {relevant, clip, v_duration, bounds, steps}}}``). A recording is a
video with steps; pairs without them are listed among what is left out.
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
    StepRows,
    accept_id,
    clean_text,
    describe,
    finite_number,
    measured,
    read_duration,
    released_split,
)
from proctor.errors import UserError
from proctor.procedure.recording import Recording, Segment

__all__ = ["DATASET"]

_FILES: Final = "all_data_*.json"


def _iterate(root: Path, _corrections: Corrections, log: Log, /, **_options: str) -> Iterator[Recording]:
    DATASET.require_files(root)
    seen: set[str] = set()
    for path in sorted(root.glob(_FILES)):
        document = read_json_document(path)
        document.tell_repeated(log, path.name)
        if not isinstance(document.value, dict) or not document.value:
            raise UserError(
                "there are no queries in it.",
                where=str(path),
                hint='expected {"<query>": {"<video>.mp4": {"bounds": […], "steps": […]}}}; is it another file?',
            )
        split = path.stem.removeprefix("all_data_")
        for query, videos in document.value.items():
            log.counts["queries"] += 1
            yield from _videos(query, videos, split, path.name, seen, log)


def _videos(
    query: str, videos: object, split: str, file: str, seen: set[str], log: Log
) -> Iterator[Recording]:
    task = clean_text(query)
    if not isinstance(videos, dict):
        log.drop(f"{file}: {describe(query)}", "bad-record", f"its videos are {describe(videos)}")
        return
    if not videos:
        log.find("no-videos", f"{file}: {describe(query)}", "the query has no videos")
    for name, pair in videos.items():
        log.counts["pairs"] += 1
        where = f"{file}: {describe(query)}: {describe(name)}"
        if not isinstance(pair, dict) or not isinstance(pair.get("steps"), list):
            log.drop(where, "bad-record", f"it is {describe(pair)} without a list of steps")
        elif _has_steps(pair, where, log):
            id_ = accept_id(_free_id(name.removesuffix(".mp4"), seen, where, log), seen, log, where)
            recording = None if id_ is None else _recording(id_, task, pair, split, log)
            if recording is not None:
                yield recording


def _has_steps(pair: Mapping[str, Any], where: str, log: Log) -> bool:
    """Say whether a pair has steps, and tell of one that has none why."""
    for flag in ("relevant", "clip"):
        if not isinstance(pair.get(flag), bool):
            log.find("odd-flag", where, f"{flag} is {describe(pair.get(flag))}")
    if pair["steps"]:
        for flag in ("relevant", "clip"):
            if pair.get(flag) is False:
                log.find("steps-without-moment", where, f"{flag} is false, yet there are steps")
        return True
    if pair.get("relevant") is False:
        log.drop(where, "not-relevant", "no steps")
    elif pair.get("clip") is False:
        log.drop(where, "no-moment", "no steps")
    else:
        log.drop(where, "no-steps", "0 steps")
    return False


def _free_id(name: str, seen: set[str], where: str, log: Log) -> str:
    """Return the id of the video, numbered when another query has it too: a moment is one recording."""
    if name not in seen:
        return name
    number = 2
    while f"{name}+{number}" in seen:
        number += 1
    log.find("video-again", where, f"the video was read for another query; this one is {name[:80]}+{number}")
    return f"{name}+{number}"


def _recording(id_: str, task: str, pair: Mapping[str, Any], split: str, log: Log) -> Recording | None:
    duration = read_duration(pair.get("v_duration"), id_, log)
    steps = StepRows(id_, log, duration, distinct=True)
    for number, step in enumerate(pair["steps"], 1):
        log.counts["steps"] += 1
        _add(steps, str(number), step)
    if not steps.taken:
        log.drop(id_, "no-steps", f"{len(pair['steps'])} step(s)")
        return None
    if not task:
        log.find("no-activity", id_, "the query is empty or no text")
    log.counts["videos"] += 1
    attributes = {"split": split} if clean_text(split) else {}
    attributes |= _moment(pair.get("bounds"), steps.taken, id_, log)
    # every query is an activity of its own; it has no other id than its words
    return Recording(
        id_, task or "unknown", task or "unknown", steps.finish(), duration, attributes=attributes
    )


def _add(steps: StepRows, place: str, step: object) -> None:
    bounds = step.get("absolute_bounds") if isinstance(step, dict) else None
    if not isinstance(step, dict) or not isinstance(bounds, list) or len(bounds) != 2:
        seen = f"its bounds are {describe(bounds)}" if isinstance(step, dict) else f"it is {describe(step)}"
        steps.drop(place, "bad-time", seen)
        return
    own = step.get("index")
    known = isinstance(own, int) and not isinstance(own, bool)
    if not known:
        steps.find("no-step-id", place, f"its index is {describe(own)}")
    step_id = str(own)[:200] if known else str(int(place) - 1)
    steps.add(place, step_id, step.get("heading"), bounds[0], bounds[1])


def _moment(bounds: object, segments: list[Segment], id_: str, log: Log) -> dict[str, str]:
    """Return the moment as attributes; told when there is none, or when the steps do not tile it."""
    pair = bounds if isinstance(bounds, list) and len(bounds) == 2 else [None, None]
    start, end = finite_number(pair[0]), finite_number(pair[1])
    if start is None or end is None or not 0 <= start <= end:
        log.find("odd-moment", id_, f"the bounds are {describe(bounds)}")
        return {}
    edge: float | None = start
    for segment in segments:
        if segment.start != edge:
            break
        edge = segment.end
    if edge != end:
        log.find("not-tiled", id_, f"the steps do not follow each other from {start:g} to {end:g} s")
    return {"moment_start": f"{start:.10g}", "moment_end": f"{end:.10g}"}


DATASET: Final = Dataset(
    name="hirest",
    title="HiREST",
    version="splits of 2023",
    licence="MIT",
    citation=(
        "Abhay Zala, Jaemin Cho, Satwik Kottur, Xilun Chen, Barlas Oğuz, Yashar Mehdad, Mohit Bansal: Hierarchical "
        "Video-Moment Retrieval and Step-Captioning. CVPR 2023"
    ),
    homepage="https://github.com/j-min/HiREST",
    files=(
        DataFile(
            _FILES,
            "queries with their videos, moments and steps, one file a split: `all_data_train.json`, "
            "`all_data_val.json`, `all_data_test.json`",
        ),
    ),
    read=reader(_iterate),
    check=checker(_iterate),
    iterate=_iterate,
    rules={
        **RULES,
        **REASONS,
        "not-relevant": "left out: the video does not answer the query, and has no steps",
        "no-moment": "left out: the whole video is the answer (`clip` is false), and it has no steps",
        "no-videos": "a query has no videos",
        "video-again": "the video was read for another query already; its id is numbered here (`+2`)",
        "steps-without-moment": "the pair has steps although `relevant` or `clip` is false",
        "odd-flag": "`relevant` or `clip` is missing or neither true nor false",
        "odd-moment": "the bounds of the moment are no two times",
        "not-tiled": "the steps do not follow each other from the beginning of the moment to its end",
    },
    access="The annotations are open. The videos stay on YouTube.",
    seen="sample",
    notes=(
        (
            "The reader was tried on four queries of the release in their original layout, and on all 628 videos with steps "
            "after they had been taken apart and put together again. The names of the files come from memory."
        ),
        (
            "A recording is a video of a query that has steps: they exist for 550 videos of the training and 78 of the "
            "validation split, and for none of the test split. All other pairs are listed among what is left out."
        ),
        (
            "Times are whole seconds of the whole video. The steps of a video tile its moment (`moment_start`, `moment_end`); "
            "18 of them have no length."
        ),
        "Every query is an activity of its own; ids of steps are numbers in their own video.",
    ),
    published=(
        Published("recordings", 628, "an earlier count"),
        Published("recordings_train", 550, "an earlier count"),
        Published("recordings_val", 78, "an earlier count"),
        Published("steps", 4751, "an earlier count"),
        Published("steps_per_recording", 7.57, "an earlier count", digits=2),
    ),
    measure=measured(_iterate),
    splits=(released_split(_iterate),),
)

"""COIN: 180 everyday tasks in videos of YouTube, steps with times."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from proctor.datasets.annotation_rows import (
    ROW_RULES,
    FirstMeaning,
    load_object,
    number_from,
    seconds_from,
    shown,
    text_from,
    token_from,
)
from proctor.datasets.dataset import Corrections, DataFile, Dataset, Log, checker, reader
from proctor.datasets.step_rows import MAX_SECONDS, STEP_RULES, StepRows
from proctor.errors import UserError
from proctor.procedure.recording import Recording

__all__ = ["DATASET", "iter_coin"]

_FILE: Final = "COIN.json"
_SPLITS: Final = {"training": "train", "validation": "val", "testing": "test"}


def iter_coin(root: Path, _corrections: Corrections, log: Log, /, **_options: str) -> Iterator[Recording]:
    """Yield one recording a video, in the order of the file.

    Both correction modes are the same: no correction of COIN is known.

    Raises:
        UserError: if the file is missing, no JSON, or has no object ``database``.
    """
    DATASET.require_files(root)
    _, database = load_object(root / _FILE, log, "database")
    if not database:
        raise UserError("its 'database' is empty.", where=str(root / _FILE), hint="is the file complete?")
    tasks = FirstMeaning(log, "task-name-differs")
    steps = FirstMeaning(log, "step-name-differs")
    seen = set[str]()
    for video, entry in database.items():
        id_ = token_from(video)
        if id_ is None:
            log.drop(shown(video), "bad-id", "of a video")
        elif id_ in seen:
            log.drop(id_, "duplicate-id", shown(video))
        elif not isinstance(entry, dict):
            log.drop(id_, "bad-record", shown(entry))
        else:
            seen.add(id_)
            recording = _recording(id_, entry, log, tasks, steps)
            if recording is not None:
                yield recording


def _recording(
    id_: str, entry: dict[str, Any], log: Log, tasks: FirstMeaning, steps: FirstMeaning
) -> Recording | None:
    task, name = token_from(entry.get("recipe_type")), text_from(entry.get("class"))
    annotations = entry.get("annotation")
    if task is None or name is None or not isinstance(annotations, list):
        fields = ("recipe_type", "class", "annotation")
        seen = (f"{key}: {shown(entry[key])}" if key in entry else f"no {key}" for key in fields)
        log.drop(id_, "bad-record", ", ".join(seen))
        return None
    tasks.tell(id_, task, name)
    duration = _duration(id_, entry, log)
    found = StepRows(id_, log, duration)
    region = _region(id_, entry, log)
    for number, one in enumerate(annotations, start=1):
        _add(found, str(number), one, steps, region)
    segments = found.segments()
    attributes = _attributes(id_, entry, region, log)
    return Recording(id_, task, name, segments, duration, attributes=attributes) if segments else None


def _add(
    found: StepRows, place: str, one: object, steps: FirstMeaning, region: tuple[float, float] | None
) -> None:
    entry = one if isinstance(one, dict) else {}
    step, label, times = token_from(entry.get("id")), text_from(entry.get("label")), entry.get("segment")
    if step is None or label is None or not isinstance(times, list) or len(times) != 2:
        found.drop(place, "bad-record", shown(one))
        return
    segment = found.add(place, step, label, seconds_from(times[0]), seconds_from(times[1]))
    if segment is None or segment.start is None or segment.end is None:
        return
    steps.tell(found.named(place), step, label)
    if region is not None and (segment.start < region[0] or segment.end > region[1]):
        seen = f"{segment.start:g} to {segment.end:g} s, the region is {region[0]:g} to {region[1]:g} s"
        found.find("outside-region", place, seen)


def _duration(id_: str, entry: dict[str, Any], log: Log) -> float | None:
    seconds = number_from(entry.get("duration"))
    if seconds is None or not 0 < seconds <= MAX_SECONDS:
        log.drop(f"{id_}/duration", "bad-field", shown(entry.get("duration")))
        return None
    return seconds


def _region(id_: str, entry: dict[str, Any], log: Log) -> tuple[float, float] | None:
    """Return the region of interest in seconds."""
    start, end = number_from(entry.get("start")), number_from(entry.get("end"))
    if start is None or end is None or not 0 <= start <= end <= MAX_SECONDS:
        log.drop(
            f"{id_}/region", "bad-field", f"start {shown(entry.get('start'))}, end {shown(entry.get('end'))}"
        )
        return None
    return start + 0.0, end + 0.0


def _attributes(
    id_: str, entry: dict[str, Any], region: tuple[float, float] | None, log: Log
) -> dict[str, str]:
    found: dict[str, str] = {}
    subset, url = text_from(entry.get("subset")), text_from(entry.get("video_url"))
    if subset is None:
        log.drop(f"{id_}/subset", "bad-field", shown(entry.get("subset")))
    else:
        if subset not in _SPLITS:
            log.find("unknown-subset", id_, shown(subset))
        found |= {"subset": subset, "split": _SPLITS.get(subset, subset)}
        log.counts[f"videos in {subset if subset in _SPLITS else 'unknown subsets'}"] += 1
    if url is None:
        log.drop(f"{id_}/video_url", "bad-field", shown(entry.get("video_url")))
    else:
        found["url"] = url
    if region is not None:
        found |= {"region_start": f"{region[0]:.12g}", "region_end": f"{region[1]:.12g}"}
    return found


DATASET = Dataset(
    name="coin",
    title="COIN",
    version="as released; the files name none",
    licence="CC BY-NC, research only (version as the home page says)",
    citation="Tang et al. 2019: COIN: A Large-scale Dataset for Comprehensive Instructional Video Analysis. CVPR.",
    homepage="https://coin-dataset.github.io",
    files=(
        DataFile(_FILE, "all videos: task, subset, region of interest, steps with times in seconds (JSON)"),
    ),
    read=reader(iter_coin),
    check=checker(iter_coin),
    iterate=iter_coin,
    access="The annotations are open on the home page, for research and not for commerce; the videos are on YouTube.",
    rules={
        **ROW_RULES,
        **STEP_RULES,
        "unknown-subset": "a subset is none of training, validation and testing; it is kept as it is written",
        "task-name-differs": "a task number (recipe_type) has another name (class) than before",
        "step-name-differs": "a step id has another label than before",
        "outside-region": "a step starts before the region of interest, or ends after it; it is kept",
    },
    notes=(
        (
            "The held-out subset is called `validation` in the documentation; the released file may say `testing`. Both are "
            "accepted. The attribute `subset` is the word of the release, `split` is `train`, `val` or `test`: look which of "
            "`val` and `test` your copy has before you compare with a paper."
        ),
        (
            "`start` and `end` of a video are its region of interest; they become the attributes `region_start` and "
            "`region_end`. Times of steps are taken as seconds from the start of the *video*, not of the region. The documented "
            "field list does not say which, and no real file was at hand. Were it otherwise, `proctor datasets check` "
            "would list many steps `outside-region`."
        ),
        (
            "The steps of a task are labels, not an order: COIN has no task graph, and none is made. `step_id` is COIN's own "
            "step number, which is one for all tasks; `activity_id` is `recipe_type`, `activity_name` is `class`. The domains "
            "above the tasks are in a separate taxonomy file, which is not read."
        ),
        (
            "Not verified on a real file: all fields (the reader was built from the documented field list), above all whether "
            "`id` is text or number (both are read) and the word of the held-out subset."
        ),
    ),
)

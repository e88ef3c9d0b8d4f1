"""YouCook2: 2,000 cooking videos of 89 recipes from YouTube, each step with times and a sentence.

Reads ``*annotations_trainval.json`` (``{"database": {video: {duration, subset, recipe_type, annotations}}}``), the
1,790 videos whose annotations are public.
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
    common_measures,
    describe,
    read_duration,
    released_split,
    text_attributes,
)
from proctor.errors import UserError
from proctor.procedure.recording import Recording

__all__ = ["DATASET"]

_FILE: Final = "*annotations_trainval.json"
_SPLITS: Final = {"training": "train", "validation": "val", "testing": "test"}


def _iterate(root: Path, _corrections: Corrections, log: Log, /, **_options: str) -> Iterator[Recording]:
    DATASET.require_files(root)
    seen: set[str] = set()
    for path in sorted(root.glob(_FILE)):
        document = read_json_document(path)
        document.tell_repeated(log, path.name)
        for key, entry in _database(document.value, path).items():
            log.counts["videos"] += 1
            where = f"{path.name}: {describe(key)}"
            if not isinstance(entry, dict) or not isinstance(entry.get("annotations"), list):
                log.drop(where, "bad-record", f"it is {describe(entry)} without a list of annotations")
                continue
            id_ = accept_id(key, seen, log, where)
            recording = None if id_ is None else _recording(id_, entry, log)
            if recording is not None:
                yield recording


def _database(document: Any, path: Path) -> Mapping[str, Any]:
    database = document.get("database") if isinstance(document, dict) else None
    if not isinstance(database, dict) or not database:
        raise UserError(
            "there is no 'database' of videos in it.",
            where=str(path),
            hint='expected {"database": {"<video>": {"duration": …, "annotations": […]}}}; is it another file?',
        )
    return database


def _recording(id_: str, entry: Mapping[str, Any], log: Log) -> Recording | None:
    duration = read_duration(entry.get("duration"), id_, log)
    steps = StepRows(id_, log, duration, distinct=True)
    for number, step in enumerate(entry["annotations"], 1):
        log.counts["steps"] += 1
        _add(steps, str(number), step)
    if not steps.taken:
        log.drop(id_, "no-steps", f"{len(entry['annotations'])} annotation(s)")
        return None
    subset = clean_text(entry.get("subset"))
    if subset not in _SPLITS:
        log.find("unknown-subset", id_, f"the subset is {describe(entry.get('subset'))}")
    recipe = text_attributes({"recipe": entry.get("recipe_type")}, id_, log).get("recipe")
    attributes = {"split": _SPLITS.get(subset, subset), "subset": subset} if subset else {}
    attributes |= text_attributes({"url": entry.get("video_url")}, id_, log, optional=("url",))
    return Recording(
        id_, recipe or UNKNOWN, f"recipe {recipe or UNKNOWN}", steps.finish(), duration, attributes=attributes
    )


def _add(steps: StepRows, place: str, step: object) -> None:
    segment = step.get("segment") if isinstance(step, dict) else None
    if not isinstance(step, dict) or not isinstance(segment, list) or len(segment) != 2:
        seen = f"the segment is {describe(segment)}" if isinstance(step, dict) else f"it is {describe(step)}"
        steps.drop(place, "bad-time", seen)
        return
    own = step.get("id")
    known = isinstance(own, int | str) and not isinstance(own, bool) and bool(clean_text(str(own)))
    if not known:
        steps.find("no-step-id", place, f"its id is {describe(own)}")
    step_id = clean_text(str(own))[:200] if known else str(int(place) - 1)
    steps.add(place, step_id, step.get("sentence"), segment[0], segment[1])


DATASET: Dataset = Dataset(
    name="youcook2",
    title="YouCook2",
    version="training and validation annotations of 2018",
    licence="MIT",
    citation=(
        "Luowei Zhou, Chenliang Xu, Jason J. Corso: Towards Automatic Learning of Procedures from Web Instructional "
        "Videos. AAAI 2018"
    ),
    homepage="http://youcook2.eecs.umich.edu",
    files=(
        DataFile(
            _FILE, "all videos with their steps (`youcookii_annotations_trainval.json`, or the same layout)"
        ),
    ),
    read=reader(_iterate),
    check=checker(_iterate),
    iterate=_iterate,
    rules={
        **RULES,
        **REASONS,
        "unknown-subset": "the subset is none of training, validation, testing",
    },
    access="The annotations are open. The videos stay on YouTube; many are gone by now.",
    seen="sample",
    notes=(
        (
            "The reader was tried on five entries of the release in their original layout, and on all 1,790 videos after "
            "they had been taken apart and put together again."
        ),
        (
            "A recipe has a number and no name in this file: the activity of a video is its number, and it is shown as "
            "`recipe 113`. Names are in another file of the release, which is not read."
        ),
        "Times are whole seconds. Steps that overlap their neighbour are kept as they are (43 of them).",
        (
            "Steps have no labels that several videos share: the id of a step is its number in its own video, so that equal "
            "ids in two videos mean nothing."
        ),
        "The 210 test videos have no public annotations.",
    ),
    published=(
        Published("recordings", 1790, "an earlier count"),
        Published("recordings_train", 1333, "an earlier count"),
        Published("recordings_val", 457, "an earlier count"),
        Published("activities", 89, "an earlier count"),
        Published("mean_video_seconds", 315, "an earlier count"),
        Published(
            "steps_per_recording",
            7.5,
            "InstructionBench, rule 2 of trimming",
            "the paper gives one mean for its data sets; this is YouCook2 alone",
            digits=1,
        ),
    ),
    measure=lambda root: common_measures(DATASET.read(root).recordings),
    splits=(released_split(_iterate),),
)

"""Whether the files of CaptainCook4D agree with each other.

The steps are told in three files, ids and texts in four look-ups, and eleven files name recordings of subsets.
"""

from __future__ import annotations

import csv
import io
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from proctor.datasets.captaincook4d.raw import (
    COMPLETE,
    ERRORS,
    VIDEOS,
    Raw,
    RawRecording,
    is_there,
)
from proctor.datasets.dataset import Finding
from proctor.errors import UserError
from proctor.records import decode_text, read_bytes, read_json

__all__ = [
    "ACTIVITY_STEPS",
    "AVERAGES",
    "CATEGORIES",
    "FILE_RULES",
    "RECORDING_STEPS",
    "SPLIT_FILES",
    "STEPS",
    "STEP_TEXTS",
    "find_in_files",
]

STEPS: Final = "annotation_json/step_annotations.json"
STEP_TEXTS: Final = "annotation_json/step_idx_description.json"
ACTIVITY_STEPS: Final = "annotation_json/activity_idx_step_idx.json"
RECORDING_STEPS: Final = "annotation_json/recording_id_step_idx.json"
CATEGORIES: Final = "annotation_json/error_category_idx.json"
AVERAGES: Final = "metadata/average_segment_length.csv"
SPLIT_FILES: Final[tuple[str, ...]] = (
    *(
        f"data_splits/{name}_data_split_{part}.json"
        for name in ("environment", "person", "recipes", "recordings")
        for part in ("combined", "normal")
    ),
    *(f"er_annotations/{name}_combined_splits.json" for name in ("environment", "person", "recordings")),
)

FILE_RULES: Final[dict[str, str]] = {
    "files-differ": "two files say different things of one step of a recording",
    "lookup-differs": "a look-up file does not say what the steps say",
    "unknown-tag": "a kind of mistake that is not in the look-up of kinds",
    "shared-id": "a step id that two recipes use for steps of their own",
    "text-of-several-ids": "a text that stands with several step ids",
    "id-of-several-texts": "a step id that stands with several texts",
    "unused-id": "a number below the largest step id that no step has",
    "id-hole": "a number below the largest id of a task graph that no node has",
    "twin-text": "a text that several nodes of one task graph have",
    "background": "time of the videos that is in no step",
    "average-differs": "the mean step length of a recipe is not what the table of averages says",
    "video-lacks": "a recording without a row in the table of videos, or a row without a recording",
    "split-empty": "a split whose subsets are all empty",
    "split-lacks": "a recording that is in no subset of a split",
    "split-unknown": "a split names a recording that there is not",
    "split-twice": "a recording that is in several subsets of one split",
    "file-missing": "a file of the release that is not in the folder; what it says was not compared",
}  # fmt: skip

_AVERAGE_DIGITS: Final = 2


class _Listed(msgspec.Struct):
    step_id: int
    start_time: float
    end_time: float
    description: str
    has_errors: bool


class _ListedRecording(msgspec.Struct):
    steps: list[_Listed] | None = None
    recording_id: str = ""
    activity_id: int | None = None


def find_in_files(root: Path, raw: Raw) -> list[Finding]:
    """Return the findings about the files of a folder, file after file.

    Raises:
        UserError: if a file of the release is there and cannot be read.
    """
    return [
        *_step_files(root, raw),
        *_lookups(root, raw),
        *_ids_and_texts(raw),
        *_graphs(raw),
        *_videos(root, raw),
        *_splits(root, raw),
    ]


def _present(root: Path, path: str) -> Iterator[Finding]:
    """Tell a file that is not there."""
    if not is_there(root / path):
        yield Finding("file-missing", path, "not in the folder")


# -- the same steps in three files -------------------------------------------------------------------------------


def _step_files(root: Path, raw: Raw) -> Iterator[Finding]:
    for path in (COMPLETE, STEPS):
        yield from _present(root, path)
        if is_there(root / path):
            listed: dict[str, _ListedRecording] = read_json(root / path, dict[str, _ListedRecording])
            yield from _compare(raw.recordings, listed, path)


def _compare(
    recordings: Sequence[RawRecording], listed: Mapping[str, _ListedRecording], path: str
) -> Iterator[Finding]:
    known = {r.recording_id for r in recordings}
    for id_ in listed.keys() - known:
        yield Finding("files-differ", id_, f"in {path} only")
    for r in recordings:
        other = listed.get(r.recording_id)
        if other is None:
            yield Finding("files-differ", r.recording_id, f"not in {path}")
            continue
        if other.activity_id not in (None, r.activity_id):
            seen = f"activity {r.activity_id} in {ERRORS}, {other.activity_id} in {path}"
            yield Finding("files-differ", r.recording_id, seen)
        if other.steps is None:
            yield Finding("files-differ", r.recording_id, f"no steps in {path}")
            continue
        if len(other.steps) != len(r.step_annotations):
            seen = f"{len(r.step_annotations)} steps in {ERRORS}, {len(other.steps)} in {path}"
            yield Finding("files-differ", r.recording_id, seen)
        yield from _compare_steps(r, other.steps, path)


def _compare_steps(r: RawRecording, listed: Sequence[_Listed], path: str) -> Iterator[Finding]:
    for n, (a, b) in enumerate(zip(r.step_annotations, listed, strict=False), 1):
        ours = (a.step_id, a.start_time, a.end_time, a.description, bool(a.errors))
        theirs = (b.step_id, b.start_time, b.end_time, b.description, b.has_errors)
        if ours == theirs:
            continue
        names = ("step_id", "start_time", "end_time", "description", "has_errors")
        for name, x, y in zip(names, ours, theirs, strict=True):
            if x != y:
                seen = f"{name} is {str(x)[:80]!r} in {ERRORS}, {str(y)[:80]!r} in {path}"
                yield Finding("files-differ", f"{r.recording_id}: entry {n}", seen)


# -- look-ups ----------------------------------------------------------------------------------------------------


def _lookups(root: Path, raw: Raw) -> Iterator[Finding]:
    ids = {r.recording_id: [s.step_id for s in r.step_annotations] for r in raw.recordings}
    of_activity: dict[str, list[int]] = defaultdict(list)
    for r in raw.recordings:
        of_activity[str(r.activity_id)] += ids[r.recording_id]
    for path, steps in ((RECORDING_STEPS, ids), (ACTIVITY_STEPS, dict(of_activity))):
        yield from _present(root, path)
        if is_there(root / path):
            lookup: dict[str, list[int]] = read_json(root / path, dict[str, list[int]])
            for key in sorted(lookup.keys() | steps.keys()):
                if lookup.get(key) != steps.get(key):
                    yield Finding(
                        "lookup-differs", f"{path}: {key[:80]}", _difference(lookup.get(key), steps.get(key))
                    )
    yield from _texts(root, raw)
    yield from _categories(root, raw)


def _difference(there: list[int] | None, here: list[int] | None) -> str:
    if there is None or here is None:
        return "only among the steps" if there is None else "not among the steps"
    if len(there) != len(here):
        return f"{len(there)} step ids, {len(here)} among the steps"
    place = next(n for n, (a, b) in enumerate(zip(there, here, strict=True)) if a != b)
    return f"step id {there[place]} at place {place + 1}, {here[place]} among the steps"


def _texts(root: Path, raw: Raw) -> Iterator[Finding]:
    yield from _present(root, STEP_TEXTS)
    if not is_there(root / STEP_TEXTS):
        return
    lookup: dict[str, str] = read_json(root / STEP_TEXTS, dict[str, str])
    texts: dict[str, set[str]] = defaultdict(set)
    for r in raw.recordings:
        for s in r.step_annotations:
            texts[str(s.step_id)].add(s.description)
    for id_ in sorted(lookup.keys() | texts.keys()):
        if lookup.get(id_, "") not in texts.get(id_, ()):
            seen = f"{lookup.get(id_, 'nothing')[:80]!r}, no step with this id says so"
            yield Finding("lookup-differs", f"{STEP_TEXTS}: {id_[:80]}", seen)


def _categories(root: Path, raw: Raw) -> Iterator[Finding]:
    yield from _present(root, CATEGORIES)
    if not is_there(root / CATEGORIES):
        return
    kinds: dict[str, int] = read_json(root / CATEGORIES, dict[str, int])
    tags = Counter(e.tag for r in raw.recordings for s in r.step_annotations for e in s.errors)
    for tag, n in tags.items():
        if tag not in kinds:
            yield Finding("unknown-tag", CATEGORIES, f"{tag[:80]!r}, {n} times")


# -- ids, texts and graphs ---------------------------------------------------------------------------------------


def _ids_and_texts(raw: Raw) -> Iterator[Finding]:
    texts: dict[int, Counter[str]] = defaultdict(Counter)
    ids: dict[str, Counter[int]] = defaultdict(Counter)
    recipes: dict[int, set[int]] = defaultdict(set)
    for r in raw.recordings:
        for s in r.step_annotations:
            texts[s.step_id][s.description] += 1
            ids[s.description][s.step_id] += 1
            recipes[s.step_id].add(r.activity_id)
    for id_, activities in sorted(recipes.items()):
        if len(activities) > 1:
            yield Finding("shared-id", f"step {id_}", f"activities {', '.join(map(str, sorted(activities)))}")
    for text, numbers in ids.items():
        if len(numbers) > 1:
            seen = ", ".join(f"{i} ({n} times)" for i, n in numbers.most_common())
            yield Finding("text-of-several-ids", repr(text[:80]), f"step ids {seen}")
    for id_, found in sorted(texts.items()):
        if len(found) > 1:
            seen = ", ".join(f"{text[:60]!r} ({n} times)" for text, n in found.most_common())
            yield Finding("id-of-several-texts", f"step {id_}", seen)
    largest = max(texts, default=0)
    if largest <= 100 * len(texts):
        for id_ in range(1, largest):
            if id_ not in texts:
                yield Finding("unused-id", f"step {id_}", f"ids run to {largest}")


def _graphs(raw: Raw) -> Iterator[Finding]:
    for key, graph in raw.graphs.items():
        numbers = {int(s.id) for s in graph.steps}
        largest = max(numbers)
        if largest <= 100 * len(numbers):
            for hole in sorted(set(range(largest)) - numbers):
                yield Finding("id-hole", f"{key}: node {hole}", f"ids run to {largest}")
        twins: dict[str, list[str]] = defaultdict(list)
        for step in graph.actions:
            twins[step.text].append(step.id)
        for text, nodes in twins.items():
            if len(nodes) > 1:
                yield Finding("twin-text", f"{key}: nodes {', '.join(nodes)}", repr(text[:80]))


# -- videos ------------------------------------------------------------------------------------------------------


def _videos(root: Path, raw: Raw) -> Iterator[Finding]:
    yield from _present(root, VIDEOS)
    if raw.videos:
        yield from _missing_rows(raw)
        total, free = background_seconds(raw)
        if total:
            seen = f"{free / total:.1%} of {total / 3600:.2f} h"
            yield Finding("background", VIDEOS, seen)
    yield from _present(root, AVERAGES)
    if is_there(root / AVERAGES):
        yield from _averages(root / AVERAGES, raw)


def _missing_rows(raw: Raw) -> Iterator[Finding]:
    known = {r.recording_id for r in raw.recordings}
    for id_ in sorted(known ^ raw.videos.keys()):
        seen = "no row in the table" if id_ in known else "only in the table"
        yield Finding("video-lacks", id_[:80], seen)


def background_seconds(raw: Raw) -> tuple[float, float]:
    """Return the seconds of the listed videos, and those of them that are in no step."""
    total = free = 0.0
    for r in raw.recordings:
        video = raw.videos.get(r.recording_id)
        if video is None:
            continue
        covered = reached = 0.0
        for start, end in sorted((s.start_time, s.end_time) for s in r.step_annotations if s.end_time >= 0):
            first, last = max(start, reached), min(end, video.duration)
            if last > first:
                covered, reached = covered + last - first, last
        total += video.duration
        free += video.duration - covered
    return total, free


def _averages(path: Path, raw: Raw) -> Iterator[Finding]:
    """Compare the table of mean step lengths (no header: activity, name, seconds) with the steps."""
    lengths: dict[str, list[float]] = defaultdict(list)
    for r in raw.recordings:
        lengths[str(r.activity_id)] += [
            s.end_time - s.start_time for s in r.step_annotations if s.end_time >= 0
        ]
    for row in _rows(path):
        if len(row) < 3 or row[0] not in lengths or not lengths[row[0]]:
            continue
        found = math.fsum(lengths[row[0]]) / len(lengths[row[0]])
        try:
            said = float(row[2])
        except ValueError:
            yield Finding(
                "average-differs", f"activity {row[0][:80]}", f"{row[2][:80]!r} is no number of seconds"
            )
            continue
        if round(said, _AVERAGE_DIGITS) != round(found, _AVERAGE_DIGITS):
            yield Finding("average-differs", f"activity {row[0][:80]}", f"{said:.2f} s, {found:.2f} s found")


def _rows(path: Path) -> list[list[str]]:
    try:
        return list(csv.reader(io.StringIO(decode_text(read_bytes(path), str(path)), newline="")))
    except csv.Error as error:
        raise UserError(f"not a table: {error}.", where=str(path)) from None


# -- splits ------------------------------------------------------------------------------------------------------


def _splits(root: Path, raw: Raw) -> Iterator[Finding]:
    normal = {r.recording_id for r in raw.recordings if not r.is_error}
    every = {r.recording_id for r in raw.recordings}
    for path in SPLIT_FILES:
        yield from _present(root, path)
        if is_there(root / path):
            split: dict[str, list[str]] = read_json(root / path, dict[str, list[str]])
            yield from _split(path, split, normal if path.endswith("_normal.json") else every, every)


def _split(
    path: str, split: Mapping[str, Sequence[str]], wanted: set[str], every: set[str]
) -> Iterator[Finding]:
    named = Counter(i for ids in split.values() for i in ids)
    if not named:
        yield Finding("split-empty", path, f"{len(split)} subsets without recordings")
        return
    for id_ in sorted(wanted - named.keys()):
        yield Finding("split-lacks", f"{path}: {id_}", "in no subset")
    for id_, n in named.items():
        if id_ not in every:
            yield Finding("split-unknown", f"{path}: {id_[:80]}", "no such recording")
        elif n > 1:
            yield Finding("split-twice", f"{path}: {id_}", f"named {n} times")

"""ActivityNet's ground truth JSON, the format of most temporal localisation code.

``{"version", "taxonomy": [{nodeId, nodeName, parentId, parentName}], "database": {video: {"subset", "duration",
"resolution", "url", "annotations": [{"segment": [start, end], "label"}]}}}``, seconds. What ActivityNet has no key
for is written under further keys, which its readers pass over: ``activity_id``, ``activity_name``, ``video``,
``attributes`` and ``untimed`` (skipped steps) of a video; ``step_id``, ``text`` (where it is not the label),
``performed`` and ``mistakes`` of an annotation.

Predictions (``"results"``) are no recordings; ``proctor.metrics.activitynet`` reads and writes those.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec

from proctor.datasets.interchange.checks import (
    UNKNOWN_ACTIVITY,
    Collector,
    mistakes_from,
    plain_text,
    writable,
)
from proctor.datasets.interchange.format import Format, Imported
from proctor.datasets.interchange.reading import load_json
from proctor.errors import UserError
from proctor.procedure.recording import Recording, Segment
from proctor.records import Dropped, atomic_write

__all__ = ["FORMATS", "read_activitynet", "write_activitynet"]

_VERSION: Final = "VERSION 1.3"
_SUBSETS: Final = {"training": "train", "validation": "val", "testing": "test"}
_SUBSET_OF: Final = {split: subset for subset, split in _SUBSETS.items()} | {
    "training": "training",
    "validation": "validation",
    "valid": "validation",
    "testing": "testing",
}
_ENTRY: Final = (
    "subset",
    "duration",
    "annotations",
    "activity_id",
    "activity_name",
    "video",
    "attributes",
    "untimed",
)
_ANNOTATION: Final = ("segment", "label", "label_id", "step_id", "text", "performed", "mistakes")


# -- reading ---------------------------------------------------------------------------------------------------


def read_activitynet(path: Path, *, activity: str = UNKNOWN_ACTIVITY) -> Imported[Recording]:
    """Read a ground truth.

    Labels become texts and, where an annotation has neither ``step_id`` nor ``label_id``, step ids too. Subsets
    become the attribute ``split`` (``train``, ``val``, ``test``); further plain values of a video become attributes.

    Args:
        path: the JSON file.
        activity: id of the activity where the file names none.

    Raises:
        UserError: if the file is no ActivityNet ground truth.
    """
    document = load_json(path)
    database = document.get("database") if isinstance(document, dict) else None
    if not isinstance(database, dict):
        predictions = isinstance(document, dict) and "results" in document
        raise UserError(
            "these are predictions, not recordings."
            if predictions
            else "there is no object 'database' in it.",
            where=str(path),
            hint='ActivityNet\'s ground truth is {"database": {video: {"annotations": [...]}}}',
        )
    collector = Collector()
    for video, entry in database.items():
        _add_entry(collector, video, entry, activity)
    return collector.result()


def _add_entry(collector: Collector, video: str, entry: object, activity: str) -> None:
    annotations = entry.get("annotations", []) if isinstance(entry, dict) else None
    if not video or not isinstance(entry, dict) or not isinstance(annotations, list):
        collector.drop(
            video, "bad_field", "no video id" if not video else "annotations: an array was expected"
        )
        return
    segments = []
    for number, one in enumerate(annotations):
        segment = _segment(collector, f"{video}/{number}", one)
        if segment is not None:
            segments.append(segment)
    untimed = entry.get("untimed", [])
    for number, one in enumerate(untimed if isinstance(untimed, list) else [untimed]):
        segment = _labelled(collector, f"{video}/untimed/{number}", one)
        if segment is not None:
            segments.append(segment)
    named = entry.get("activity_id")
    if not isinstance(named, str):
        named = activity
        collector.warn(f"the file names no activity for some videos: '{activity[:80]}' is taken.")
    name, file = entry.get("activity_name"), entry.get("video")
    collector.add(
        Recording(
            id=video,
            activity_id=named,
            activity_name=name if isinstance(name, str) else named,
            segments=tuple(segments),
            duration=collector.duration(video, entry.get("duration")),
            video=file if isinstance(file, str) else None,
            attributes=_attributes(collector, video, entry),
        )
    )


def _attributes(collector: Collector, video: str, entry: Mapping[str, Any]) -> dict[str, str]:
    own = entry.get("attributes")
    if isinstance(own, dict) and all(isinstance(v, str) for v in own.values()):
        return dict(own)
    found = {}
    subset = plain_text(entry.get("subset"))
    if subset is not None:
        found["split"] = _SUBSETS.get(subset.lower(), subset)
    for key, value in entry.items():
        if key in _ENTRY and key != "attributes":
            continue
        text = plain_text(value)
        if text is not None:
            found[key] = text
        elif value is not None:
            collector.drop(video, "bad_field", f"{key}: not a plain value")
    return found


def _segment(collector: Collector, id_: str, annotation: object) -> Segment | None:
    segment = _labelled(collector, id_, annotation)
    pair = annotation.get("segment") if isinstance(annotation, dict) else None
    if segment is None:
        return None
    if not isinstance(pair, list) or len(pair) != 2:
        collector.drop(id_, "no_time", f"segment: {pair!r}"[:100])
        return None
    times = collector.times(id_, *pair)
    return None if times is None else replace(segment, start=times[0], end=times[1])


def _labelled(collector: Collector, id_: str, annotation: object) -> Segment | None:
    """Return the step of an annotation without its times."""
    if not isinstance(annotation, dict):
        collector.drop(id_, "bad_field", "an object was expected")
        return None
    label = annotation.get("label")
    label = None if isinstance(label, bool) else plain_text(label)
    if not label:
        collector.drop(id_, "no_label", f"label: {annotation.get('label')!r}"[:100])
        return None
    mistakes = mistakes_from(annotation.get("mistakes", []))
    text, performed = annotation.get("text", label), annotation.get("performed")
    step = plain_text(annotation.get("step_id", annotation.get("label_id", label)))
    if mistakes is None or step is None or not isinstance(text, str) or not isinstance(performed, str | None):
        collector.drop(id_, "bad_field", "step_id, text, performed or mistakes is of another type")
        return None
    for key in annotation.keys() - set(_ANNOTATION):
        collector.warn(f"annotations have the key '{key[:60]}', which a recording has no place for.")
    return Segment(step, text, performed=performed, mistakes=mistakes)


# -- writing ---------------------------------------------------------------------------------------------------


def write_activitynet(recordings: Iterable[Recording], path: Path) -> tuple[Dropped, ...]:
    """Write a ground truth; videos in the order given.

    Args:
        recordings: with unique ids.
        path: the JSON file.

    Raises:
        UserError: if ids are not unique or the file cannot be written.
    """
    dropped: list[Dropped] = []
    kept = list(writable(recordings, dropped))
    document = {
        "version": _VERSION,
        "taxonomy": _taxonomy(kept),
        "database": {r.id: _entry(r) for r in kept},
    }
    with atomic_write(path) as stream:
        stream.write(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
    return tuple(dropped)


def _entry(recording: Recording) -> dict[str, Any]:
    split = recording.attributes.get("split", "")
    entry: dict[str, Any] = {"subset": _SUBSET_OF.get(split.lower(), split or "training")}
    if recording.duration is not None:
        entry["duration"] = recording.duration
    for key in ("resolution", "url"):
        if key in recording.attributes:
            entry[key] = recording.attributes[key]
    entry["annotations"] = [
        {"segment": [s.start, s.end]} | _label(s) for s in recording.segments if s.start is not None
    ]
    untimed = [_label(s) for s in recording.segments if s.start is None]
    if untimed:
        entry["untimed"] = untimed
    entry |= {"activity_id": recording.activity_id, "activity_name": recording.activity_name}
    if recording.video is not None:
        entry["video"] = recording.video
    entry["attributes"] = dict(recording.attributes)
    return entry


def _label(segment: Segment) -> dict[str, Any]:
    label = segment.text or segment.step_id or "step"
    entry: dict[str, Any] = {"label": label, "step_id": segment.step_id}
    if segment.text != label:
        entry["text"] = segment.text
    if segment.performed is not None:
        entry["performed"] = segment.performed
    if segment.mistakes:
        entry["mistakes"] = [{"kind": m.kind, "text": m.text} for m in segment.mistakes]
    return entry


def _taxonomy(recordings: Iterable[Recording]) -> list[dict[str, Any]]:
    """Root, activities below it, labels below those; numbers in the order of their first appearance."""
    nodes: list[dict[str, Any]] = [{"nodeId": 0, "nodeName": "Root", "parentId": None, "parentName": None}]
    activities: dict[str, int] = {}
    labels: set[tuple[str, str]] = set()

    def add(name: str, parent: int) -> int:
        above = nodes[parent]["nodeName"]
        nodes.append({"nodeId": len(nodes), "nodeName": name, "parentId": parent, "parentName": above})
        return len(nodes) - 1

    for recording in recordings:
        if recording.activity_id not in activities:
            activities[recording.activity_id] = add(recording.activity_name or recording.activity_id, 0)
        for segment in recording.segments:
            label = str(_label(segment)["label"])
            if (recording.activity_id, label) not in labels:
                labels.add((recording.activity_id, label))
                add(label, activities[recording.activity_id])
    return nodes


FORMATS = (
    Format(
        name="activitynet",
        title="ActivityNet JSON (ground truth, 1.3)",
        suffixes=(".json",),
        kind="recordings",
        lossless=True,
        loss=("fine-grained actions",),
        read=read_activitynet,
        write=write_activitynet,
        options=("activity",),
    ),
)

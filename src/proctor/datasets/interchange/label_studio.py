"""Label Studio tasks (JSON, as 1.23 exports and imports them), times in frames or in seconds.

Two conventions are in use, and both are read, also within one file:

* ``frames``: ``TimelineLabels`` on a ``Video``; ``value: {"ranges": [{"start": 31, "end": 90}], "timelinelabels":
  ["Fill the kettle"]}``. Label Studio counts frames from 1 and both ends belong to the range (its editor shows
  ``end - start + 1`` as the length), so frame *k* is the time from ``(k - 1) / fps`` to ``k / fps``. Its machine
  learning examples count from 0 and leave the last frame out: ``base`` (1 or 0) and ``end`` (``inclusive`` or
  ``exclusive``) say which. The frame rate is nowhere in an annotation: it is written into the task's ``data.fps``,
  the others into ``data.frame_base`` and ``data.frame_end``, and they have to be given for other files.
* ``seconds``: ``Labels`` on an ``Audio`` that plays the video (Label Studio's own template for video timelines);
  ``value: {"start": 1.0, "end": 3.0, "channel": 0, "labels": ["Fill the kettle"]}``. ``timeserieslabels`` are read
  the same way: in frames where they have ``ranges``, else in seconds.

Mistakes and performed texts are text areas of a region (``perRegion``), which have the region's id; a mistake is
one line, ``kind: text``. Fine-grained actions are regions of a second control, ``actions``, whose text area ``action``
holds ``verb: noun`` (``checks.render_action``). The task's ``data`` keeps what a recording is, which label means which step, and the steps
without times. Beside the tasks a labelling configuration is written, ``<name>.config.xml``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec

from proctor.datasets.interchange.checks import (
    UNKNOWN_ACTIVITY,
    Collector,
    fault_of,
    number_of,
    parse_action,
    parse_mistake,
    plain_text,
    render_action,
    render_mistake,
    writable,
)
from proctor.datasets.interchange.format import Format, Imported
from proctor.datasets.interchange.reading import load_json
from proctor.datasets.interchange.safe_xml import clean_text, render_element
from proctor.errors import UserError
from proctor.procedure.recording import Action, Mistake, Recording, Segment
from proctor.records import Dropped, atomic_write

__all__ = ["FORMATS", "Convention", "read_label_studio", "write_label_studio"]

Convention = Literal["frames", "seconds"]
FrameEnd = Literal["inclusive", "exclusive"]

_MEDIA: Final = ("video", "video_url", "audio", "audio_url", "url")
_OWN: Final = (
    "recording_id", "activity_id", "activity_name", "duration", "fps", "frame_base", "frame_end", "steps",
    "untimed", "attributes",
)  # fmt: skip
_TIMELINE: Final = ("timelinelabels", "labels", "timeserieslabels")
_DEFAULT_FPS: Final = 30.0
_MAX_FPS: Final = 100_000.0


# -- reading ---------------------------------------------------------------------------------------------------


def read_label_studio(
    path: Path,
    *,
    fps: float | None = None,
    base: int = 1,
    end: FrameEnd = "inclusive",
    activity: str = UNKNOWN_ACTIVITY,
) -> Imported[Recording]:
    """Read exported tasks (the formats JSON and JSON-MIN).

    Of several annotations of a task the one marked as ground truth counts, else the first that was not cancelled;
    the others and all predictions are listed as dropped. A label is the step's text and, without ``data.steps``,
    its id; regions with several labels become one step for each.

    Args:
        path: the JSON file.
        fps: frames a second, for ranges in frames of tasks without ``data.fps``.
        base: number of the first frame, 1 or 0, where ``data.frame_base`` does not say.
        end: whether the last frame of a range belongs to it, where ``data.frame_end`` does not say.
        activity: id of the activity where a task names none.

    Raises:
        UserError: if the file holds no tasks, or a task has ranges in frames and no frame rate is known.
    """
    _check_frames(base, end, fps)
    document = load_json(path)
    tasks = document if isinstance(document, list) else [document]
    if not tasks or not all(isinstance(t, dict) and _is_task(t) for t in tasks):
        hint = "export the project as JSON or JSON-MIN; a task has 'data' and 'annotations'"
        raise UserError("this is no list of Label Studio tasks.", where=str(path), hint=hint)
    collector = Collector()
    for number, task in enumerate(tasks, start=1):
        _Task(collector, path, task, number, fps, activity, base, end).add()
    return collector.result()


def _check_frames(base: object, end: object, fps: float | None = None) -> None:
    if fps is not None and not 0 < fps <= _MAX_FPS:
        hint = "give frames a second, for example 29.97"
        raise UserError(f"{fps} is no frame rate.", where="fps", hint=hint)
    if base not in (0, 1) or end not in ("inclusive", "exclusive"):
        seen = f"frames from {base!r} with {end!r} ends are not known."
        raise UserError(seen, where="base, end", hint="base is 0 or 1, end is inclusive or exclusive")


def _is_task(task: Mapping[str, Any]) -> bool:
    data = task.get("data")
    return isinstance(data, dict) or (
        "data" not in task and any(key in task for key in (*_MEDIA, "recording_id"))
    )


@dataclass(slots=True)
class _Region:
    """One region of an annotation: what carries one id."""

    labels: list[str] = field(default_factory=list)
    spans: list[tuple[object, object]] = field(default_factory=list)
    actions: list[str] | None = None
    mistakes: list[Mistake] = field(default_factory=list)
    performed: str | None = None


@dataclass(slots=True)
class _Task:
    """A task while it is read."""

    collector: Collector
    path: Path
    task: Mapping[str, Any]
    number: int
    given_fps: float | None
    activity: str
    base: int
    end: str

    @property
    def data(self) -> Mapping[str, Any]:
        data = self.task.get("data", self.task)
        return data if isinstance(data, dict) else {}

    @property
    def min_form(self) -> bool:
        return "data" not in self.task

    def add(self) -> None:
        """Give the recording of this task to the collector."""
        data, collector = self.data, self.collector
        name = self._name()
        results = self._min_results() if self.min_form else self._results(name)
        regions = list(self._regions(name, results))
        segments = [s for key, one in regions if one.actions is None for s in self._segments(name, key, one)]
        segments += self._untimed(name)
        actions = [a for key, one in regions for a in self._actions(f"{name}/{key}", one)]
        activity_id, activity_name = data.get("activity_id"), data.get("activity_name")
        if not isinstance(activity_id, str):
            activity_id = self.activity
            collector.warn(f"the file names no activity for some recordings: '{activity_id[:80]}' is taken.")
        collector.add(
            Recording(
                id=name,
                activity_id=activity_id,
                activity_name=activity_name if isinstance(activity_name, str) else activity_id,
                segments=tuple(segments),
                duration=collector.duration(name, data.get("duration", self._length(results))),
                video=self._media(),
                attributes=self._attributes(name),
                actions=tuple(actions),
            )
        )

    def _media(self) -> str | None:
        if "recording_id" in self.data:  # ours: the path as it was, be it empty
            value = self.data.get("video")
            return value if isinstance(value, str) else None
        for key in _MEDIA:
            value = self.data.get(key)
            if isinstance(value, str) and value:
                return _local(value)
        return None

    def _length(self, results: list[Any]) -> object:
        """Return the length that Label Studio noted of the media of other people's tasks."""
        if "recording_id" in self.data:
            return None
        lengths = (one.get("original_length") for one in results if isinstance(one, dict))
        return next((length for length in lengths if length is not None), None)

    def _name(self) -> str:
        named = self.data.get("recording_id")
        if isinstance(named, str) and named:
            return named
        media = self._media()
        stem = PurePosixPath(media).stem if media else ""
        id_ = plain_text(self.task.get("id"))
        return stem or f"task-{self.number if id_ is None else id_}"

    def _attributes(self, name: str) -> dict[str, str]:
        own = self.data.get("attributes")
        if isinstance(own, dict) and all(isinstance(v, str) for v in own.values()):
            return dict(own)
        found = {}
        skipped = {*_MEDIA, *(k for k in _OWN if k != "attributes"), *(_NOT_DATA if self.min_form else ())}
        for key, value in self.data.items():
            text = plain_text(value)
            if key in skipped or value is None or (self.min_form and isinstance(value, list)):
                continue
            if text is None:
                self.collector.drop(name, "bad_field", f"data.{key}: not a plain value")
            else:
                found[key] = text
        return found

    # regions

    def _results(self, name: str) -> list[Any]:
        """Return the results of the annotation that counts."""
        annotations = self.task.get("annotations") or []
        if not isinstance(annotations, list) or not all(isinstance(a, dict) for a in annotations):
            self.collector.drop(name, "bad_field", "annotations: an array of objects was expected")
            return []
        valid = [a for a in annotations if not a.get("was_cancelled")]
        chosen = next((a for a in valid if a.get("ground_truth") is True), valid[0] if valid else None)
        for number, other in enumerate(annotations):
            if other is not chosen:
                reason = "cancelled" if other.get("was_cancelled") else "other_annotation"
                self.collector.drop(f"{name}/annotation {other.get('id', number)}", reason)
        predictions = self.task.get("predictions")
        for number, one in enumerate(predictions if isinstance(predictions, list) else []):
            if isinstance(one, dict):
                self.collector.drop(f"{name}/prediction {one.get('id', number)}", "prediction")
        if chosen is None:
            self.collector.warn(f"task {self.number} ('{name[:80]}') has no annotation.")
            return []
        results = chosen.get("result")
        if isinstance(results, list):
            return results
        self.collector.drop(name, "bad_field", "result: an array was expected")
        return []

    def _min_results(self) -> list[Any]:
        """Return the regions of a JSON-MIN task as results; text areas there are not tied to regions."""
        found: list[Any] = []
        for key in ("mistakes", "performed"):
            if self.task.get(key):
                self.collector.drop(f"{self._name()}/{key}", "no_step", "JSON-MIN does not say of which step")
        for key, value in self.task.items():
            for one in value if isinstance(value, list) else []:
                type_ = next((t for t in _TIMELINE if isinstance(one, dict) and t in one), None)
                if type_ is not None:
                    found.append({"id": f"{key}/{len(found)}", "type": type_, "from_name": key, "value": one})
        return found

    def _regions(self, name: str, results: list[Any]) -> Iterator[tuple[str, _Region]]:
        regions: dict[str, _Region] = {}
        for number, result in enumerate(results):
            value = result.get("value") if isinstance(result, dict) else None
            if not isinstance(result, dict) or not isinstance(value, dict):
                self.collector.drop(
                    f"{name}/result {number}", "bad_field", "an object with 'value' was expected"
                )
                continue
            key = plain_text(result.get("id"))
            key = f"result {number}" if key is None else key
            region = regions.setdefault(key, _Region())
            if not self._read_result(region, result, value):
                self.collector.drop(f"{name}/{key}", "not_a_step", f"type {result.get('type')!r}"[:100])
        yield from ((key, r) for key, r in regions.items() if self._has_span(name, key, r))

    def _has_span(self, name: str, key: str, region: _Region) -> bool:
        if region.spans:
            return True
        if region.mistakes or region.performed is not None:
            self.collector.drop(f"{name}/{key}", "no_step", "a text without a region on the timeline")
        return False

    def _read_result(self, region: _Region, result: Mapping[str, Any], value: Mapping[str, Any]) -> bool:
        """Add one result to its region; False if it is of a type that a recording has no place for."""
        type_, control = plain_text(result.get("type")), result.get("from_name")
        if type_ in _TIMELINE:
            labels = value.get(type_)
            region.labels = (
                [one for one in labels if isinstance(one, str)] if isinstance(labels, list) else []
            )
            region.spans = self._spans(value)
            if control == "actions" and region.labels == ["Action"] and region.actions is None:
                region.actions = []
            return True
        lines = (
            value.get("text") if type_ == "textarea" else value.get("choices") if type_ == "choices" else None
        )
        lines = [lines] if isinstance(lines, str) else lines
        if not isinstance(lines, list) or not all(isinstance(one, str) for one in lines):
            return False
        if control == "action":
            region.actions = [*(region.actions or ()), *lines]
            return True
        if control == "mistakes":
            region.mistakes += [parse_mistake(line) for line in lines]
            return True
        if control == "performed" and len(lines) == 1:
            region.performed = lines[0]
            return True
        return False

    def _spans(self, value: Mapping[str, Any]) -> list[tuple[object, object]]:
        ranges = value.get("ranges")
        if isinstance(ranges, list):
            fps = self._fps() if ranges else 1.0
            base, end = self.data.get("frame_base", self.base), self.data.get("frame_end", self.end)
            _check_frames(base, end)
            return [_seconds_of(one, fps, base, int(end == "inclusive")) for one in ranges]
        return [(value.get("start"), value.get("end"))]

    def _fps(self) -> float:
        fps = number_of(self.data.get("fps"))
        fps = self.given_fps if fps is None else fps
        if fps is None or not 0 < fps <= _MAX_FPS:
            unknown = "times are in frames, and the frame rate is not known."
            seen, where = f"{fps} is no frame rate.", f"{self.path}: task {self.number}"
            hint = "give the frames a second of the videos (--fps), or write them into data.fps of each task"
            raise UserError(unknown if fps is None else seen, where=where, hint=hint)
        return fps

    def _segments(self, name: str, key: str, region: _Region) -> Iterator[Segment]:
        where = f"{name}/{key}"
        if not region.labels:
            self.collector.drop(where, "no_label", "the region has no label")
        for start, end in region.spans:
            for label in region.labels:
                times = self.collector.times(where, start, end)
                if times is not None:
                    step_id, text = self._step(label)
                    yield Segment(step_id, text, *times, region.performed, tuple(region.mistakes))

    def _actions(self, where: str, region: _Region) -> Iterator[Action]:
        for start, end in region.spans if region.actions is not None else ():
            times = self.collector.times(where, start, end)
            found = [parse_action(line, *times) for line in region.actions or [""]] if times else []
            yield from (a for a in found if a is not None)
            if None in found:
                self.collector.drop(where, "no_label", "an action without a verb")

    def _step(self, label: str) -> tuple[str, str]:
        steps = self.data.get("steps")
        known = steps.get(label) if isinstance(steps, dict) else None
        if (
            isinstance(known, dict)
            and isinstance(known.get("id"), str)
            and isinstance(known.get("text"), str)
        ):
            return known["id"], known["text"]
        return label, label

    def _untimed(self, name: str) -> list[Segment]:
        given = self.data.get("untimed")
        if given is None:
            return []
        try:
            segments = msgspec.convert(given, list[Segment])
        except (msgspec.ValidationError, RecursionError) as error:
            self.collector.drop(name, "bad_field", f"data.untimed: {error}")
            return []
        return self.collector.possible(segments, f"{name}/untimed")


_NOT_DATA: Final = (
    "id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "mistakes", "performed",
)  # fmt: skip
"""Keys of a JSON-MIN task that tell of the annotation, not of the recording."""


def _seconds_of(range_: object, fps: float, base: int, more: int) -> tuple[object, object]:
    """Return the seconds of a range of frames that are counted from ``base``; ``more`` is 1 where its end is included."""
    if not isinstance(range_, dict):
        return None, None
    start, end = number_of(range_.get("start")), number_of(range_.get("end"))
    if start is None or end is None:
        return range_.get("start"), range_.get("end")
    if start < base:
        return -1.0, end / fps  # listed as negative: there is no such frame
    return (start - base) / fps, (end - base + more) / fps


def _local(url: str) -> str:
    """Return the path behind Label Studio's links to files (``/data/local-files/?d=…``, ``/data/upload/…``)."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    if parts.path.endswith("/data/local-files/"):
        return parse_qs(parts.query).get("d", [url])[0]
    if parts.path.startswith("/data/upload/"):
        return re.sub(r"\A[0-9a-f]{8}-", "", unquote(PurePosixPath(parts.path).name))
    return url


# -- writing ---------------------------------------------------------------------------------------------------


def write_label_studio(
    recordings: Iterable[Recording],
    path: Path,
    *,
    convention: Convention = "seconds",
    fps: float | None = None,
    base: int = 1,
    end: FrameEnd = "inclusive",
    results: Literal["annotations", "predictions"] = "annotations",
    media_prefix: str = "",
) -> tuple[Dropped, ...]:
    """Write tasks with their annotations, ready for Label Studio's import, and a labelling configuration beside.

    Args:
        recordings: with unique ids.
        path: the JSON file; the configuration is ``<stem>.config.xml`` in the same folder.
        convention: ``seconds`` keeps times exactly; ``frames`` rounds them to whole frames.
        fps: frames a second for ``frames``, written into every task; by default those of the attribute ``fps`` of a
            recording (``30000/1001``), else 30.
        base: number of the first frame, 1 or 0.
        end: whether the last frame of a range belongs to it.
        results: ``predictions`` are shown to annotators to begin with (pre-labels).
        media_prefix: put in front of the videos' paths (``/data/local-files/?d=``); the plain path is kept too.

    Returns:
        Segments whose times are none.

    Raises:
        UserError: if ids are not unique, the convention or frame rate is none, or a file cannot be written.
    """
    if convention not in ("frames", "seconds"):
        raise UserError(f"there is no convention '{convention}'.", hint="known: frames, seconds")
    _check_frames(base, end, fps)
    if results not in ("annotations", "predictions"):
        raise UserError(f"there are no results '{results}'.", hint="known: annotations, predictions")
    dropped: list[Dropped] = []
    kept = list(writable(recordings, dropped, actions=True))
    names = _label_names(kept)
    tasks = []
    for r in kept:
        place = _Place(convention, _rate(r) if fps is None else fps, base, end == "exclusive")
        tasks.append(_task(r, names[r.activity_id], place, media_prefix, results, dropped))
    config = path.with_name(f"{path.stem}.config.xml")
    if config.exists() and not path.exists():
        seen = "there is something here already, and it is not of these tasks."
        raise UserError(seen, where=str(config), hint="name another target")
    with atomic_write(path) as stream:
        stream.write(msgspec.json.format(msgspec.json.encode(tasks), indent=2) + b"\n")
    with atomic_write(config) as stream:
        stream.write(_config(names, convention).encode("utf-8"))
    return tuple(dropped)


@dataclass(frozen=True, slots=True)
class _Place:
    """How places on the timeline are written."""

    convention: Convention
    fps: float
    base: int
    exclusive: bool

    def value(self, start: float | None, end: float | None, label: str) -> dict[str, Any] | None:
        """Return the place on the timeline; None for what has none, or not one whole frame."""
        if start is None or end is None:
            return None
        if self.convention == "seconds":
            return {"start": start, "end": end, "channel": 0, "labels": [label]}
        first, last = round(start * self.fps), round(end * self.fps)
        if last <= first or fault_of(first / self.fps, last / self.fps) is not None:
            return None
        last += self.base - (0 if self.exclusive else 1)
        return {"ranges": [{"start": first + self.base, "end": last}], "timelinelabels": [label]}


def _rate(recording: Recording) -> float:
    """Return the frame rate that the attributes of a recording know."""
    try:
        fps = float(Fraction(recording.attributes.get("fps", "")))
    except (ValueError, ZeroDivisionError, OverflowError):
        return _DEFAULT_FPS
    return fps if 0 < fps <= _MAX_FPS else _DEFAULT_FPS


_Labels = dict[tuple[str, str], str]
"""(step id, text) to the label that stands for it."""


def _label_names(recordings: Iterable[Recording]) -> dict[str, _Labels]:
    """Return the labels of each activity: the text, with the step's id where two steps have one text."""
    found: dict[str, _Labels] = {}
    for recording in recordings:
        labels = found.setdefault(recording.activity_id, {})
        for s in recording.segments:
            labels.setdefault((s.step_id, s.text), "")
    for labels in found.values():
        texts = [" ".join(clean_text(text)[0].split()) or "step" for _, text in labels]
        counts = Counter(texts)
        taken: set[str] = set()
        for (pair, _), text in zip(list(labels.items()), texts, strict=True):
            label = text if counts[text] == 1 and text not in taken else f"{text} ({clean_text(pair[0])[0]})"
            number = 2
            while label in taken:
                label, number = f"{text} #{number}", number + 1
            taken.add(label)
            labels[pair] = label
    return found


def _task(
    recording: Recording, labels: _Labels, place: _Place, prefix: str, kind: str, dropped: list[Dropped]
) -> dict[str, Any]:
    results: list[dict[str, Any]] = []
    untimed = []
    for number, s in enumerate(recording.segments, start=1):
        value = place.value(s.start, s.end, labels[s.step_id, s.text])
        if value is None:
            untimed.append(s)
        else:
            texts = {"mistakes": [render_mistake(m) for m in s.mistakes]}
            texts["performed"] = [] if s.performed is None else [s.performed]
            results += _region(f"s{number:04}", "labels", value, texts)
    for number, a in enumerate(recording.actions, start=1):
        value = place.value(a.start, a.end, "Action")
        if value is None:
            dropped.append(Dropped(f"{recording.id}/action"[:120], "no_length", render_action(a)[:120]))
        else:
            results += _region(f"a{number:04}", "actions", value, {"action": [render_action(a)]})
    data: dict[str, Any] = {
        "recording_id": recording.id,
        "activity_id": recording.activity_id,
        "activity_name": recording.activity_name,
        "attributes": dict(recording.attributes),
        "steps": {label: {"id": step, "text": text} for (step, text), label in labels.items()},
    }
    if recording.video is not None:
        data["video"] = recording.video
    data["media"] = "" if recording.video is None else prefix + recording.video
    if recording.duration is not None:
        data["duration"] = recording.duration
    if place.convention == "frames":
        data |= {"fps": place.fps, "frame_base": place.base}
        data["frame_end"] = "exclusive" if place.exclusive else "inclusive"
    if untimed:
        data["untimed"] = untimed
    if kind == "predictions":
        return {"data": data, "predictions": [{"result": results, "model_version": "proctor"}]}
    return {"data": data, "annotations": [{"result": results, "was_cancelled": False, "ground_truth": False}]}


def _region(
    id_: str, control: str, value: dict[str, Any], texts: Mapping[str, list[str]]
) -> Iterator[dict[str, Any]]:
    frames = "timelinelabels" in value
    place = {k: v for k, v in value.items() if k not in _TIMELINE}
    common = {"id": id_, "to_name": "video" if frames else "audio", "origin": "manual"}
    yield common | {"from_name": control, "type": "timelinelabels" if frames else "labels", "value": value}
    for name, lines in texts.items():
        if lines:
            yield common | {"from_name": name, "type": "textarea", "value": place | {"text": lines}}


def _config(names: Mapping[str, _Labels], convention: Convention) -> str:
    frames = convention == "frames"
    target = "video" if frames else "audio"
    values = dict.fromkeys(label for labels in names.values() for label in labels.values())
    labels = [render_element("Label", {"value": clean_text(label)[0]}, indent=2) for label in values]
    video = {"name": "video", "value": "$media"} | ({"frameRate": "$fps"} if frames else {"sync": "audio"})
    audio = {"name": "audio", "value": "$media", "sync": "video"}
    timeline = "TimelineLabels" if frames else "Labels"
    action = [render_element("Label", {"value": "Action"}, indent=2)]
    area = {"toName": target, "perRegion": "true"}
    parts = [
        render_element("Header", {"value": "$activity_name"}, indent=1),
        render_element("Video", video, indent=1),
        "" if frames else render_element("Audio", audio, indent=1),
        render_element(timeline, {"name": "labels", "toName": target}, labels, indent=1),
        render_element(timeline, {"name": "actions", "toName": target}, action, indent=1),
        render_element("TextArea", area | {"name": "action", "placeholder": "verb: noun"}, indent=1),
        render_element(
            "TextArea", area | {"name": "mistakes", "placeholder": "kind: what went wrong"}, indent=1
        ),
        render_element(
            "TextArea",
            area | {"name": "performed", "maxSubmissions": "1", "placeholder": "what was done instead"},
            indent=1,
        ),
    ]
    return render_element("View", {}, parts)


FORMATS = (
    Format(
        name="label-studio",
        title="Label Studio tasks (JSON; seconds or frames)",
        suffixes=(".json",),
        kind="recordings",
        lossless=True,
        loss=("times finer than a frame, with `convention=frames`",),
        read=read_label_studio,
        write=write_label_studio,
        options=("convention", "fps", "base", "end", "results", "media_prefix", "activity"),
    ),
)

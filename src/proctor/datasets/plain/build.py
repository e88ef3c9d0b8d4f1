"""The types of ``format`` to procedures and recordings; checks everything that a shape cannot say, times included."""

from __future__ import annotations

import errno
import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from proctor.datasets.plain.format import (
    ID_RULE,
    MAX_ID_BYTES,
    MAX_SECONDS,
    Place,
    PlainAction,
    PlainActivity,
    PlainRecording,
    PlainSegment,
    Problems,
    Value,
)
from proctor.datasets.plain.parse import Parsed, nearest
from proctor.procedure.graph import GraphError, Step, TaskGraph, closing_edges
from proctor.procedure.recording import MISTAKE_KINDS, Action, Mistake, Recording, Segment

__all__ = ["StepNames", "build_graph", "build_recording", "parse_time", "shown"]

_CLOCK = re.compile(r"(?:(?P<h>\d{1,4}):)?(?P<m>\d{1,5}):(?P<s>\d{2}(?:\.\d{1,9})?)", re.ASCII)


def parse_time(value: float | str) -> float:
    """Return a time in seconds.

    Raises:
        ValueError: for anything that is not a time between 0 and ``MAX_SECONDS``; the message is a sentence part
            that starts with what was seen.
    """
    seconds = _parse_clock(value) if isinstance(value, str) else float(value)
    if not math.isfinite(seconds):
        raise ValueError(f"{value} is not a finite number")
    if seconds < 0:
        raise ValueError(f"{shown(value)} is before the start of the recording")
    if seconds > MAX_SECONDS:
        raise ValueError(f"{shown(value)} is more than {MAX_SECONDS:,.0f} seconds (is it milliseconds?)")
    return seconds + 0.0  # turns -0.0 into 0.0


def shown(value: float | str) -> str:
    """Return a time as its author would recognise it."""
    return f"'{value[:40]}'" if isinstance(value, str) else f"{value:.10g}"


def _parse_clock(text: str) -> float:
    match = _CLOCK.fullmatch(text.strip())
    if match is None:
        hint = " (decimals take a point)" if "," in text else ""
        raise ValueError(f"{shown(text)} is not a time like 12.5, '01:05' or '00:01:05.250'{hint}")
    hours, minutes, seconds = match["h"], int(match["m"]), float(match["s"])
    if seconds >= 60:
        raise ValueError(f"{shown(text)} has {match['s']} seconds; a minute ends at 59")
    if hours is not None and minutes >= 60:
        raise ValueError(f"{shown(text)} has {match['m']} minutes; an hour ends at 59")
    return int(hours or 0) * 3600 + minutes * 60 + seconds


# -- the types of ``format`` to procedures and recordings; checks everything that a shape cannot say ---------------

_ID: Final = re.compile(r"\w(?:[\w .-]*[\w.-])?")
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_DRIVE: Final = re.compile(r"[A-Za-z]:")


# -- activities ------------------------------------------------------------------------------------------------


def build_graph(activity: PlainActivity, place: Place, problems: Problems) -> TaskGraph | None:
    """Return the task graph, or None when the activity has problems (they are in ``problems``)."""
    before = problems.count
    id_ = _checked_id(activity.id, place / "id", problems)
    name = _checked_text(activity.name, place / "name", problems)
    steps = []
    for i, step in enumerate(activity.steps):
        here = place / "steps" / i
        steps.append(
            Step(
                _checked_id(step.id, here / "id", problems),
                _checked_text(step.text, here / "text", problems),
                step.optional,
            )
        )
    names = StepNames(steps)

    def find(value: str | int | None, where: Place) -> str | None:
        return None if value is None else names.find(value, where, problems)

    edges = [
        (find(a, place / "edges" / i / 0), find(b, place / "edges" / i / 1))
        for i, (a, b) in enumerate(activity.edges)
    ]
    given = set(edges)
    for i, step in enumerate(activity.steps):
        for j, earlier in enumerate(step.after):
            edge = (find(earlier, place / "steps" / i / "after" / j), str(step.id))
            if edge not in given:  # an edge may be told in both ways
                edges.append(edge)
    start, end = find(activity.start, place / "start"), find(activity.end, place / "end")
    for i, step in enumerate(activity.steps):
        for key, said in (("optional", step.optional), ("last", step.last)):
            if said and str(step.id) in (start, end):
                problems.add(
                    place / "steps" / i / key,
                    "the start and the end are no steps that are done.",
                    f"remove '{key}'",
                )
    if problems.count > before:
        return None
    found = [(a, b) for a, b in edges if a is not None and b is not None]
    last = [str(step.id) for step in activity.steps if step.last]
    found += closing_edges([s.id for s in steps], found, last, start, end)
    try:
        return TaskGraph(id_, name, tuple(steps), tuple(found), start, end)
    except GraphError as error:
        for problem in error.problems:
            problems.add(place, f"{problem}.", "an edge [a, b] means that a must be done before b")
        return None


class StepNames:
    """Finds a step by its id or by its exact text."""

    def __init__(self, steps: Iterable[Step]) -> None:
        self._texts: dict[str, list[str]] = defaultdict(list)
        self._ids: dict[str, str] = {}
        for step in steps:
            self._ids[step.id] = step.text
            self._texts[_normal(step.text)].append(step.id)

    def find(self, value: str | int, place: Place, problems: Problems) -> str | None:
        """Return the id of the step that is meant; None, with a problem noted, when that is not clear."""
        name = str(value)
        if name in self._ids:
            return name
        matches = self._texts.get(_normal(name), [])
        if len(matches) == 1:
            return matches[0]
        if matches:
            problems.add(
                place,
                f"{len(matches)} steps have the text '{name[:60]}': {', '.join(matches)}.",
                "name the step by its id",
            )
        else:
            problems.add(
                place, f"'{name[:60]}' is not a step of the activity.", lambda: self._suggestion(name)
            )
        return None

    def _suggestion(self, name: str) -> str:
        close = nearest(name, [*self._ids, *self._ids.values()])
        return f"did you mean '{close}'?" if close else f"its steps are {', '.join(self._ids)[:200]}"


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", " ".join(text.split()))


def _checked_id(value: str | int, place: Place, problems: Problems) -> str:
    id_ = str(value)
    if _ID.fullmatch(id_) is None:
        problems.add(place, f"'{id_[:60]}' cannot be an id.", ID_RULE)
    elif len(id_.encode()) > MAX_ID_BYTES:
        problems.add(place, f"'{id_[:60]}…' is too long for an id.", f"at most {MAX_ID_BYTES} bytes")
    return id_


def _checked_text(text: str, place: Place, problems: Problems) -> str:
    if not text.strip():
        problems.add(place, "the text is empty.", "say it in words")
    return text


# -- recordings ------------------------------------------------------------------------------------------------


def build_recording(
    parsed: Parsed[PlainRecording],
    graphs: Mapping[str, TaskGraph | None],
    names: Mapping[str, StepNames],
    root: Path,
    place: Place,
    problems: Problems,
) -> Recording | None:
    """Return the recording with its segments in the order of the file, or None when it has problems.

    Args:
        parsed: what the file says.
        graphs: by activity id; None for an activity that has problems of its own.
        names: by activity id.
        root: the folder; a video has to lie inside it.
        place: where it was read.
        problems: takes what was found.
    """
    before, plain = problems.count, parsed.value
    id_ = _checked_id(plain.id, place / "id", problems)
    activity = str(plain.activity)
    if activity not in graphs:
        problems.add(
            place / "activity",
            f"there is no activity '{activity[:60]}'.",
            lambda: _suggest_activity(activity, list(graphs)),
        )
    if parsed.complete and not plain.segments:
        problems.add(place / "segments", "the recording has no segments.", "list the steps that were done")
    graph = graphs.get(activity)
    segments = [
        _build_segment(segment, graph, names.get(activity), place / "segments" / i, problems)
        for i, segment in zip(parsed.positions["segments"], plain.segments, strict=True)
    ]
    actions = [
        _build_action(action, names.get(activity), place / "actions" / i, problems)
        for i, action in zip(parsed.positions.get("actions", ()), plain.actions, strict=True)
    ]
    duration = _time(plain.duration, place / "duration", problems)
    if duration == 0:
        problems.add(place / "duration", "the video lasts no time.", "leave it out where it is not known")
    video = _checked_video(plain.video, root, place / "video", problems)
    if problems.count > before or graph is None or not parsed.complete:
        return None
    attributes = {key: _attribute(value) for key, value in plain.attributes.items()}
    kept = tuple(s for s in segments if s is not None)
    done = tuple(sorted((a for a in actions if a is not None), key=lambda a: a.start))
    return Recording(id_, graph.id, graph.name, kept, duration, video, attributes, done)


def _build_action(
    plain: PlainAction, names: StepNames | None, place: Place, problems: Problems
) -> Action | None:
    start, end = (_time(t, place / key, problems) for key, t in (("start", plain.start), ("end", plain.end)))
    _check_order(start, end, place, problems)
    _checked_text(plain.verb, place / "verb", problems)
    step = None
    if plain.step is not None and names is not None:
        step = names.find(plain.step, place / "step", problems)
    if start is None or end is None:
        return None  # the recording is refused whole
    return Action(start, end, plain.verb, plain.noun, plain.source, step)


def _suggest_activity(name: str, known: list[str]) -> str:
    if not known:
        return "add it to activities/"
    close = nearest(name, known)
    return f"did you mean '{close}'?" if close else f"the activities are {', '.join(known)[:200]}"


def _build_segment(
    plain: PlainSegment, graph: TaskGraph | None, names: StepNames | None, place: Place, problems: Problems
) -> Segment | None:
    start = _time(plain.start, place / "start", problems)
    end = _time(plain.end, place / "end", problems)
    _check_span(plain, start, end, place, problems)
    mistakes = []
    for i, mistake in enumerate(plain.mistakes):
        kind = _checked_text(mistake.kind, place / "mistakes" / i / "kind", problems)
        lowered = kind.strip().lower()
        mistakes.append(Mistake(lowered if lowered in MISTAKE_KINDS else kind, mistake.text))
    if plain.performed is not None:
        _checked_text(plain.performed, place / "performed", problems)
    if graph is None or names is None:
        return None
    step_id = names.find(plain.step, place / "step", problems)
    if step_id is None:
        return None
    if step_id in (graph.start, graph.end):
        problems.add(
            place / "step",
            f"'{step_id}' is the {'start' if step_id == graph.start else 'end'} of the activity; "
            "it is not a step that is done.",
            "remove the segment",
        )
    return Segment(step_id, graph[step_id].text, start, end, plain.performed, tuple(mistakes))


def _check_span(
    plain: PlainSegment, start: float | None, end: float | None, place: Place, problems: Problems
) -> None:
    given = [key for key in ("start", "end") if getattr(plain, key) is not None]
    if plain.skipped and given:
        problems.add(
            place,
            f"the step is skipped, yet it has a {' and an '.join(given)}.",
            "remove the one or the other",
        )
    elif not plain.skipped and len(given) < 2:
        lacking = " and ".join(f"'{key}'" for key in ("start", "end") if key not in given)
        problems.add(place, f"{lacking} missing.", 'give start and end, or "skipped": true')
    else:
        _check_order(start, end, place, problems)


def _check_order(start: float | None, end: float | None, place: Place, problems: Problems) -> None:
    if start is not None and end is not None and end <= start:
        problems.add(
            place,
            f"it ends at {shown(end)} s and starts at {shown(start)} s.",
            "are start and end swapped?" if end < start else "it takes some time: end after start",
        )


def _time(value: float | str | None, place: Place, problems: Problems) -> float | None:
    if value is None:
        return None
    try:
        return parse_time(value)
    except ValueError as error:
        problems.add(
            place, f"{error}.", "seconds from the start as a number, or 'MM:SS' or 'HH:MM:SS' in quotes"
        )
        return None


def _attribute(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) and value.is_integer() else str(value)


def _checked_video(video: str | None, root: Path, place: Place, problems: Problems) -> str | None:
    if video is None:
        return None
    hint = "give a path inside the folder, like videos/tea_1.mp4"
    parts = video.split("/")
    if _URL.match(video):
        problems.add(place, f"'{video[:80]}' is an address.", "download it; " + hint)
    elif not video.strip() or video.startswith("/") or "\\" in video or _DRIVE.match(video):
        problems.add(place, f"'{video[:80]}' is not a relative path with '/' between its parts.", hint)
    elif ".." in parts or "" in parts or "." in parts:
        problems.add(place, f"'{video[:80]}' goes out of the folder or has empty parts.", hint)
    else:
        _check_inside(video, root, place, problems)
    return video


def _follow(path: Path) -> None:
    """Raise OSError for a link to itself, which ``Path.resolve`` passes over from Python 3.13 on."""
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise


def _check_inside(video: str, root: Path, place: Place, problems: Problems) -> None:
    try:
        _follow(root / video)
        inside = (root / video).resolve(strict=False).is_relative_to(root.resolve())
    except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: a symlink loop before Python 3.13
        problems.add(place, f"'{video[:80]}' cannot be followed: {error}.", "is it a link to itself?")
        return
    if not inside:
        problems.add(place, f"'{video[:80]}' is a link out of the folder.", "copy the video into the folder")

"""From annotated steps as a release has them to the segments of a recording; nothing is lost or corrected in silence.

``StepRows`` takes the steps of one recording in the order of the file, drops with a reason what cannot be a step, and
tells what is legal but odd. Steps are counted from 1 in whatever is told. Source of the rules:


A step overlaps when it begins before a step that is listed or sorted before it has ended. It is reported once: as
``overlap`` when that step is its neighbour in the list (these are the overlaps that docs/datasets/steps.md names), else as
``overlap-earlier``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from proctor.datasets.dataset import Iterate, Log, Split, SplitRule
from proctor.procedure.clip import finite_number
from proctor.procedure.recording import Mistake, Recording, Segment

__all__ = [
    "MAX_SECONDS",
    "REASONS",
    "RULES",
    "STEP_RULES",
    "UNKNOWN",
    "StepRows",
    "accept_id",
    "clean_text",
    "common_measures",
    "describe",
    "finite_number",
    "in_time_order",
    "measured",
    "read_duration",
    "released_split",
    "text_attributes",
]

REASONS: Final = {
    "bad-record": "left out: the entry is not an object with the fields of the format",
    "bad-id": "left out: the id of the recording is no printable text without slashes, of at most 200 characters",
    "duplicate-id": "left out: a recording of this id was read before",
    "repeated-key": "left out: the key stands twice in one JSON object; the first value counts",
    "no-steps": "left out: the recording has no step that can be used",
    "bad-time": "left out: start or end of the step is missing, no finite number or beyond 1,000,000 s (11 days)",
    "negative-time": "left out: the step begins before the recording does",
    "swapped-times": "left out: the step ends before it begins",
    "no-text": "left out: the step has no text",
}
"""Why something is dropped."""

RULES: Final = {
    "overlap": "a step begins before the one that is listed before it ends",
    "overlap-earlier": "a step begins before an earlier one ends that is not the one listed before it",
    "unsorted": "a step is listed after one that begins later; segments are sorted by start and end",
    "zero-length": "a step ends when it begins",
    "beyond-video": "a step ends after the video does",
    "repeated-step": "the recording has a step of the same id, times and text already; both are kept",
    "repeated-step-id": "the recording has another step of this number already; both are kept",
    "no-step-id": "a step has no number of its own; its place in the list is used",
    "odd-duration": "the length of the video is missing or no positive number; it is unknown then",
    "no-activity": "the recording does not say what is done in it",
    "odd-field": "a field of the recording has a value of another type; it is left empty",
}
"""What is reported and changes nothing."""

STEP_RULES: Final[Mapping[str, str]] = {
    rule: text
    for rule, text in (REASONS | RULES).items()
    if rule not in ("repeated-step-id", "no-step-id", "no-activity", "odd-field", "odd-duration")
}
"""Meaning of what ``StepRows`` itself drops and tells of steps whose ids are labels."""

UNKNOWN: Final = "unknown"
"""Activity of a recording that does not say it."""

MAX_SECONDS: Final = 1_000_000.0
"""Longest time that is believed; a larger number is a slip, often milliseconds or frames."""

_HALF: Final = re.compile("[\ud800-\udfff]")
_MAX_ID: Final = 200


# -- values ------------------------------------------------------------------------------------------------------


def clean_text(value: object) -> str:
    """Return a text without the spaces around it; empty for anything else and for a text with half a character."""
    if not isinstance(value, str) or _HALF.search(value):
        return ""
    return value.strip()


def describe(value: object) -> str:
    """Return a short, printable picture of any value for a message; huge values are cut before they are shown."""
    if isinstance(value, str):
        return ascii(value[:60]) + ("…" if len(value) > 60 else "")
    if isinstance(value, Mapping):
        return f"an object of {len(value)} field(s)"
    if isinstance(value, list):
        plain = value if len(value) < 3 and not any(isinstance(v, list | dict) for v in value) else []
        return f"a list of {len(value)}" + (f": {', '.join(map(describe, plain))}" if plain else "")
    if isinstance(value, int) and abs(value) >= 10**20:
        return "a number of more than 20 digits"
    return "nothing" if value is None else str(value)


def accept_id(value: object, seen: set[str], log: Log, where: str) -> str | None:
    """Return the id of a recording and remember it, or drop the recording with its reason.

    Args:
        value: as the file has it.
        seen: ids so far.
        log: gets the reason.
        where: names the recording when its id cannot.
    """
    id_ = value if isinstance(value, str) else ""
    printable = id_.isprintable() and id_ == id_.strip() and not {"/", "\\"} & set(id_)
    if not id_ or not printable or len(id_) > _MAX_ID or id_ in (".", ".."):
        log.drop(where, "bad-id", describe(value))
        return None
    if id_ in seen:
        log.drop(id_, "duplicate-id", where)
        return None
    seen.add(id_)
    return id_


def read_duration(value: object, recording_id: str, log: Log) -> float | None:
    """Return the length of a video in seconds; None, and told, when there is no positive number."""
    seconds = finite_number(value)
    if seconds is None or seconds <= 0:
        log.find("odd-duration", recording_id, f"the length is {describe(value)}")
        return None
    return seconds


def text_attributes(
    values: Mapping[str, object], recording_id: str, log: Log, optional: Iterable[str] = ()
) -> dict[str, str]:
    """Return the values that are texts, numbers or booleans as plain texts; others are told and left out.

    Args:
        values: by the name of the attribute; None and empty texts are left out.
        recording_id: for what is told.
        log: gets it.
        optional: names whose absence is nothing to tell.
    """
    found: dict[str, str] = {}
    expected = set(values) - set(optional)
    for name, value in values.items():
        number = finite_number(value)
        if isinstance(value, bool):
            found[name] = "true" if value else "false"
        elif number is not None:
            found[name] = f"{number:g}" if isinstance(value, float) else str(value)
        elif text := clean_text(value):
            found[name] = text
        elif name in expected or value not in (None, ""):
            log.find("odd-field", recording_id, f"{name} is {describe(value)}")
    return found


# -- steps -------------------------------------------------------------------------------------------------------


class StepRows:
    """Takes the steps of one recording, or of one level of it, one by one in the order of the file.

    Args:
        recording_id: for what is told.
        log: gets what is dropped and what is odd.
        duration: of the video in seconds, where it is known.
        level: ``step``, or ``substep``, whose rules then carry the word before their name.
        distinct: the id of a step is its own number, which no other of the recording should have.
    """

    def __init__(
        self,
        recording_id: str,
        log: Log,
        duration: float | None = None,
        *,
        level: str = "step",
        distinct: bool = False,
    ) -> None:
        self.taken: list[Segment] = []
        self.recording_id = recording_id
        self.level = level
        self.log = log
        self._duration = duration
        self._places: list[str] = []
        self._overlapping: set[int] = set()
        self._prefix = "" if level == "step" else f"{level}-"
        self._distinct = distinct
        self._ids: set[str] = set()
        self._seen: set[tuple[str, float | None, float | None, str]] = set()

    def add(
        self,
        place: str,
        step_id: str,
        text: object,
        start: object,
        end: object,
        *,
        mistakes: tuple[Mistake, ...] = (),
    ) -> Segment | None:
        """Take one step, or drop it.

        Args:
            place: number of the step or line in the file, from 1 (``3``, of a substep ``3.2``).
            step_id: label id, or the step's own number.
            text: what is done.
            start: seconds, a number (for cells and frames see ``annotation_rows.seconds_from``).
            end: seconds, exclusive.
            mistakes: that are marked.
        """
        begin, finish = finite_number(start), finite_number(end)
        said = clean_text(text)
        if begin is None or finish is None or max(begin, finish) > MAX_SECONDS:
            self.drop(place, "bad-time", f"from {describe(start)} to {describe(end)}")
        elif begin < 0:
            self.drop(place, "negative-time", f"from {begin:g} to {finish:g} s")
        elif finish < begin:
            self.drop(place, "swapped-times", f"from {begin:g} to {finish:g} s")
        elif not said:
            self.drop(place, "no-text", f"the text is {describe(text)}")
        else:
            begin += 0.0  # minus zero is zero
            segment = Segment(step_id, said, begin, finish + 0.0, mistakes=mistakes)
            self._tell(place, segment, begin, finish)
            self.taken.append(segment)
            self._places.append(place)
            return segment
        return None

    def finish(self) -> tuple[Segment, ...]:
        """Tell the overlaps that are seen only when all steps are there; return the steps by start, then end.

        Equal ones stay in the order of the file.
        """
        self._tell_far_overlaps()
        return in_time_order(self.taken)

    def segments(self) -> tuple[Segment, ...]:
        """Return ``finish()`` and count recording and steps; a recording without any is told as dropped."""
        if not self.taken:
            self.log.drop(self.recording_id, "no-steps", "none, or none that can be used")
            return ()
        self.log.counts["recordings"] += 1
        self.log.counts["steps"] += len(self.taken)
        return self.finish()

    def named(self, place: str) -> str:
        """Return the name of a place of this recording."""
        return f"{self.recording_id}: step {place}"

    def find(self, rule: str, place: str, seen: str) -> None:
        """Tell an oddity of a step."""
        self.log.find(f"{self._prefix}{rule}", self.named(place), seen)

    def drop(self, place: str, reason: str, seen: str) -> None:
        """Tell that a step is left out."""
        self.log.drop(self.named(place), reason, seen)

    def _tell(self, place: str, segment: Segment, start: float, end: float) -> None:
        if self.taken:
            before, (last_start, last_end) = self._places[-1], _times(self.taken[-1])
            if (start, end) < (last_start, last_end):
                self.find("unsorted", place, f"from {start:g} s, after step {before} from {last_start:g} s")
            if start < last_end:
                self._overlapping.add(len(self.taken))
                self.find("overlap", place, f"from {start:g} s, before step {before} ends at {last_end:g} s")
        if start == end:
            self.find("zero-length", place, f"at {start:g} s")
        if self._duration is not None and end > self._duration:
            self.find("beyond-video", place, f"until {end:g} s in a video of {self._duration:g} s")
        key = (segment.step_id, segment.start, segment.end, segment.text)
        if key in self._seen:
            self.find("repeated-step", place, f"{self.named(place)} says what another one says")
        elif self._distinct and segment.step_id in self._ids:
            self.find("repeated-step-id", place, f"its number {segment.step_id} is another's")
        self._seen.add(key)
        self._ids.add(segment.step_id)

    def _tell_far_overlaps(self) -> None:
        order = sorted(range(len(self.taken)), key=lambda number: _times(self.taken[number]))
        latest = order[0] if order else 0
        for _, number in pairwise(order):
            start, ends = _times(self.taken[number])[0], _times(self.taken[latest])[1]
            if start < ends and abs(number - latest) > 1 and number not in self._overlapping:
                seen = f"from {start:g} s, before step {self._places[latest]} ends at {ends:g} s"
                self.find("overlap-earlier", self._places[number], seen)
            if _times(self.taken[number])[1] > ends:
                latest = number


def _times(segment: Segment) -> tuple[float, float]:
    assert segment.start is not None
    assert segment.end is not None
    return segment.start, segment.end


def in_time_order(segments: Iterable[Segment]) -> tuple[Segment, ...]:
    """Sort by start, then end, skipped ones first; equal ones stay in their order."""
    return tuple(
        sorted(
            segments,
            key=lambda s: (-1.0, -1.0) if s.start is None or s.end is None else (s.start, s.end),
        )
    )


# -- declarations ------------------------------------------------------------------------------------------------


def released_split(iterate: Iterate) -> SplitRule:
    """Return the split that each recording names under the attribute ``split``."""

    def make(root: Path) -> Split:
        parts: dict[str, list[str]] = {}
        for recording in iterate(root, "published", Log()):
            parts.setdefault(recording.attributes.get("split", UNKNOWN), []).append(recording.id)
        return {name: tuple(ids) for name, ids in parts.items()}

    return SplitRule("released", "the subset that the release puts each recording in", make)


def measured(iterate: Iterate) -> Callable[[Path], Mapping[str, float]]:
    """Return a ``measure`` of what a reader yields and counts."""

    def measure(root: Path) -> Mapping[str, float]:
        log = Log()
        return common_measures(iterate(root, "published", log), log.counts)

    return measure


def common_measures(
    recordings: Iterable[Recording], counts: Mapping[str, Any] | None = None
) -> dict[str, float]:
    """Return figures that papers print of such data sets: means of lengths are over recordings that have one."""
    whole = list(recordings)
    lengths = [r.duration for r in whole if r.duration is not None]
    steps = sum(len(r.segments) for r in whole)
    found: dict[str, float] = {
        "recordings": len(whole),
        "steps": steps,
        "activities": len({r.activity_id for r in whole}),
    }
    if whole:
        found["steps_per_recording"] = steps / len(whole)
    if lengths:
        found["mean_video_seconds"] = math.fsum(lengths) / len(lengths)
        found["mean_video_minutes"] = found["mean_video_seconds"] / 60
        found["hours"] = math.fsum(lengths) / 3600
    for recording in whole:
        key = f"recordings_{recording.attributes.get('split', UNKNOWN)}"
        found[key] = found.get(key, 0) + 1
    return found | {name: float(n) for name, n in (counts or {}).items() if name not in found}

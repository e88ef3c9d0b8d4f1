"""What every importer and exporter of recordings checks: times, ids, order, and what was left out and why.

Reason codes: ``no_time`` (a time is missing or no number), ``not_finite``, ``negative``, ``too_large``,
``no_length`` (the end is not after the start), ``half_timed`` (only one of both times), ``no_label``,
``bad_field`` (a field of another type), ``duplicate_id``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

import msgspec

from proctor.datasets.interchange.format import Imported
from proctor.errors import UserError
from proctor.procedure.recording import MISTAKE_KINDS, Action, Mistake, Recording, Segment
from proctor.records import Dropped

__all__ = [
    "MAX_SECONDS", "UNKNOWN_ACTIVITY", "About", "Collector", "fault_of", "in_order", "milliseconds",
    "mistakes_from", "number_of", "parse_action", "parse_mistake", "plain_text", "render_action",
    "render_mistake", "writable",
]  # fmt: skip

T = TypeVar("T")

MAX_SECONDS: Final = 1_000_000.0
"""Longest time that is believed (11.5 days); beyond it the number is a slip, often milliseconds or frames."""

UNKNOWN_ACTIVITY: Final = "procedure"
"""Activity id of recordings from files that name none."""

_SHOWN: Final = 120


def fault_of(start: float, end: float) -> tuple[str, str] | None:
    """Return reason code and detail if these cannot be the times of a segment in seconds."""
    seen = f"{start:g} to {end:g} s"
    if not (math.isfinite(start) and math.isfinite(end)):
        return "not_finite", seen
    if start < 0 or end < 0:
        return "negative", seen
    if start > MAX_SECONDS or end > MAX_SECONDS:
        return "too_large", f"{seen} (milliseconds or frames?)"
    return ("no_length", seen) if end <= start else None


def milliseconds(seconds: float) -> int:
    """Return the nearest whole millisecond, the one that is nearest to the decimal number a person sees."""
    return round(round(seconds, 3) * 1000)


def number_of(value: object) -> float | None:
    """Return a JSON number as float; None for anything else, ``true`` and ``false`` included."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


def plain_text(value: object) -> str | None:
    """Return a text, number or truth value as text; None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else None


def mistakes_from(value: object) -> tuple[Mistake, ...] | None:
    """Return the mistakes of ``[{"kind": …, "text": …}]``; None if it is anything else."""
    if not isinstance(value, list):
        return None
    found = []
    for one in value:
        kind, text = (one.get("kind"), one.get("text", "")) if isinstance(one, dict) else (None, None)
        if not isinstance(kind, str) or not isinstance(text, str):
            return None
        found.append(Mistake(kind, text))
    return tuple(found)


def in_order(segments: Iterable[Segment]) -> tuple[Segment, ...]:
    """Return segments by start; those without times come first, equal starts keep their order."""
    return tuple(sorted(segments, key=lambda s: -1.0 if s.start is None else s.start))


class About(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What a recording is, without its segments: kept as JSON by formats that have no other place for it."""

    id: str
    activity_id: str
    activity_name: str
    duration: float | None = None
    video: str | None = None
    attributes: dict[str, str] = {}
    actions: tuple[Action, ...] = ()

    @classmethod
    def of(cls, recording: Recording) -> About:
        """Return what a recording is."""
        known = {name: getattr(recording, name) for name in cls.__struct_fields__}
        return cls(**known | {"attributes": dict(recording.attributes)})


# -- import ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Collector:
    """Gathers recordings, warnings and what was dropped while a file is read."""

    warnings: list[str] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    _recordings: dict[str, Recording] = field(default_factory=dict)

    def warn(self, sentence: str) -> None:
        """Note something about the file as a whole; the same sentence once."""
        if sentence not in self.warnings:
            self.warnings.append(sentence)

    def drop(self, id_: str, reason: str, detail: object = "") -> None:
        """Note something that does not become part of a recording."""
        text = detail if isinstance(detail, str) else repr(detail)
        self.dropped.append(Dropped(id_[:_SHOWN], reason, text[:_SHOWN]))

    def times(self, id_: str, start: object, end: object) -> tuple[float, float] | None:
        """Return both times in seconds, or drop the segment."""
        a, b = number_of(start), number_of(end)
        if a is None or b is None:
            self.drop(id_, "no_time", f"{start!r} to {end!r}"[:_SHOWN])
            return None
        fault = fault_of(a, b)
        if fault is not None:
            self.drop(id_, *fault)
            return None
        return a + 0.0, b + 0.0  # turns -0.0 into 0.0

    def add(self, recording: Recording) -> bool:
        """Keep a recording with its segments in order; False if its id came before, then it is dropped."""
        if recording.id in self._recordings:
            self.drop(recording.id, "duplicate_id", f"{len(recording.segments)} segment(s) with it")
            return False
        limit = recording.duration
        beyond = 0 if limit is None else sum(s.end is not None and s.end > limit for s in recording.segments)
        if beyond:
            self.warn(f"recording '{recording.id[:_SHOWN]}': {beyond} segment(s) end after the video does.")
        actions = tuple(sorted(recording.actions, key=lambda a: a.start))
        self._recordings[recording.id] = replace(
            recording, segments=in_order(recording.segments), actions=actions
        )
        return True

    def add_about(self, about: About, segments: Iterable[Segment]) -> None:
        """Keep the recording of a file of ours, as ``add`` does."""
        found = msgspec.structs.asdict(about) | {"segments": tuple(segments)}
        found["duration"] = self.duration(about.id, about.duration)
        found["actions"] = tuple(a for a in about.actions if self.times(about.id, a.start, a.end))
        self.add(Recording(**found))

    def stored(self, text: str, type_: type[T], id_: str, where: str) -> T | None:
        """Return what a file keeps as JSON; None, and dropped, for what is no such value."""
        try:
            return msgspec.json.decode(text.encode(), type=type_)
        except (msgspec.MsgspecError, RecursionError) as error:
            self.drop(id_, "bad_field", f"{where}: {error}")
            return None

    def possible(self, segments: Iterable[Segment], where: str) -> list[Segment]:
        """Return skipped segments and those with times that can be; others are dropped by their number."""
        return [
            s
            for number, s in enumerate(segments)
            if (s.start is None and s.end is None)
            or self.times(f"{where}/{number}", s.start, s.end) is not None
        ]

    def duration(self, id_: str, value: object) -> float | None:
        """Return a length in seconds; None, with a warning, for what cannot be one."""
        seconds = number_of(value)
        if value is None:
            return None
        if seconds is None or not 0 <= seconds <= MAX_SECONDS:
            self.drop(id_, "bad_field", f"duration: {value!r}"[:_SHOWN])
            return None
        return seconds

    def result(self) -> Imported[Recording]:
        """Return everything that was gathered."""
        return Imported(tuple(self._recordings.values()), tuple(self.warnings), tuple(self.dropped))


# -- export ----------------------------------------------------------------------------------------------------


def writable(
    recordings: Iterable[Recording], dropped: list[Dropped], *, actions: bool = False
) -> Iterator[Recording]:
    """Yield recordings whose segments another tool can read; what cannot be said is listed in ``dropped``.

    ``actions`` says that the format has a place for fine-grained ones.

    Raises:
        UserError: if two recordings have one id, a recording has none, or a text is no Unicode text.
    """
    seen: set[str] = set()
    for recording in recordings:
        id_ = recording.id
        if not id_ or id_ in seen:
            problem = "two recordings have this id" if id_ else "a recording has no id"
            raise UserError(f"{problem}.", where=repr(id_[:_SHOWN]), hint="ids must be unique: rename one")
        seen.add(id_)
        _require_unicode(recording)
        kept = []
        for segment in recording.segments:
            fault = _fault(segment)
            if fault is None:
                kept.append(segment)
            else:
                dropped.append(Dropped(f"{id_}/{segment.step_id}"[:_SHOWN], *fault))
        done = []
        for a in recording.actions:
            fault = fault_of(a.start, a.end) if actions else ("action_lost", render_action(a)[:_SHOWN])
            done += [a] if fault is None else []
            dropped += [] if fault is None else [Dropped(f"{id_}/action"[:_SHOWN], *fault)]
        duration = recording.duration
        if duration is not None and not 0 <= duration <= MAX_SECONDS:
            dropped.append(Dropped(id_[:_SHOWN], "bad_field", f"duration: {duration!r}"))
            duration = None
        yield replace(recording, segments=in_order(kept), duration=duration, actions=tuple(done))


def _fault(segment: Segment) -> tuple[str, str] | None:
    if segment.start is None and segment.end is None:
        return None
    if segment.start is None or segment.end is None:
        return "half_timed", f"{segment.start!r} to {segment.end!r}"
    return fault_of(segment.start, segment.end)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Recording):
        yield from (value.id, value.activity_id, value.activity_name, value.video or "")
        yield from _texts(value.attributes)
        for s in value.segments:
            yield from (s.step_id, s.text, s.performed or "")
            yield from (t for m in s.mistakes for t in (m.kind, m.text))
        for a in value.actions:
            yield from (a.verb, a.noun, a.source, a.step_id or "")
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield key
            yield one


def _require_unicode(recording: Recording) -> None:
    for text in _texts(recording):
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise UserError(
                f"{text[max(0, error.start - 20) : error.end + 20]!r} is no Unicode text (half a character).",
                where=f"recording {recording.id[:_SHOWN]!r}",
                hint="repair the text in the source",
            ) from None


# -- mistakes as one line of text, for tools whose annotations hold nothing else: ``order: too early`` -------------

_HEAD: Final = re.compile(r"((?:[^\\:]|\\[\s\S])*):(?: |\Z)")


def render_mistake(mistake: Mistake) -> str:
    r"""Return ``kind: text``, or ``kind:`` where there is no text; ``:`` and ``\`` in a kind get a backslash."""
    kind = re.sub(r"([\\:])", r"\\\1", mistake.kind)
    return f"{kind}: {mistake.text}" if mistake.text else f"{kind}:"


def parse_mistake(text: str) -> Mistake:
    """Return the mistake of a line; a line without ``kind:`` is a kind that Proctor knows, or ``other``."""
    found = _HEAD.match(text)
    if found is not None:
        return Mistake(re.sub(r"\\([\s\S])", r"\1", found[1]), text[found.end() :])
    word = text.strip().lower()
    return Mistake(word) if word in MISTAKE_KINDS else Mistake("other", text.strip())


def render_action(action: Action) -> str:
    r"""Return ``verb: noun``, and what is known of ``step <id>`` and ``source <name>`` behind ``|``, which texts escape."""
    parts = [render_mistake(Mistake(action.verb, action.noun))]
    parts += [] if action.step_id is None else [f"step {action.step_id}"]
    parts += [f"source {action.source}"] if action.source else []
    return " | ".join(re.sub(r"([\\|])", r"\\\1", part) for part in parts)


def parse_action(text: str, start: float, end: float) -> Action | None:
    """Return the action of a line (``cut: onion``, ``cut onion``), None where it has no verb."""
    head, *rest = (re.sub(r"\\([\s\S])", r"\1", part) for part in text.split(" | "))
    found = _HEAD.match(head)
    if found is None:
        verb, _, noun = head.strip().partition(" ")
    else:
        verb, noun = re.sub(r"\\([\s\S])", r"\1", found[1]), head[found.end() :]
    known = {key: value for key, _, value in (part.partition(" ") for part in rest)}
    return Action(start, end, verb, noun, known.get("source", ""), known.get("step")) if verb else None

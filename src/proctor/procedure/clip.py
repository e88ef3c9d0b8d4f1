"""A stretch of a recording as a value: which steps it shows and when, and which it leaves out and why.

Conventions: a clip is half-open, ``[start, end)`` in seconds of its recording; the times of the segments in it are
counted from the clip's start. A segment is named by its *position* in the recording's segments: nothing else tells
two performances of one step apart. Nothing is repaired silently: a segment whose times cannot be right is left out with
a reason, and one that the clip shows only a part of says on which side it is cut.

``span_clip`` cuts any stretch, ``prefix_clip`` one that begins with the recording and ends at a moment: what a person
or a model may see who is asked at that moment (ProMQA, where every clip begins at 0).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

from proctor.errors import UserError
from proctor.procedure.recording import Recording, Segment

__all__ = [
    "REASONS",
    "ROUNDING",
    "Category",
    "Clip",
    "ClipSegment",
    "Cut",
    "Edge",
    "LeftOut",
    "Placed",
    "finite_number",
    "grouped",
    "leaf_segments",
    "make_clip",
    "place_segments",
    "prefix_clip",
    "span_clip",
    "step_moments",
    "video_seconds",
]

Cut = Literal["", "start", "end", "both"]
"""On which side a clip shows only a part of a segment."""

Edge = Literal["cut", "drop"]
"""What becomes of a segment that runs across a clip's edge: its visible part is in the clip, or none of it is."""

Category = Callable[[Segment], str]
"""Says of which kind a segment is; its ``step_id`` by default."""

REASONS: Final = {
    "skipped": "the step was not performed",
    "no_start": "the segment has an end and no start",
    "not_a_time": "a time is not a finite number",
    "negative": "the segment begins before the recording does",
    "swapped": "the segment ends before it begins",
    "outside_video": "the segment is not within the video",
    "earlier": "the segment ends before the clip begins",
    "later": "the segment begins when the clip has ended, or later",
    "crosses_edge": "the segment runs across an edge of the clip",
    "barely_begun": "less of the segment is shown than the margin",
    "reaches_in": "the clip shows a part of the segment, which belongs to another stretch",
    "no_length": "its stretch shows nothing: all steps in it are instants",
    "few_steps": "its stretch has too few steps",
    "few_categories": "its stretch has too few categories for its steps",
    "long_run": "one category runs too long in its stretch",
    "tail": "its stretch is what is left when the last clip was cut off",
}
"""Why a segment is not in a clip. Several may be joined by ``+``."""

ROUNDING: Final = 0.01
"""Seconds that a span may end after the video: lengths of videos are often written to hundredths, moments are not (in
CaptainCook4D 9 of 5,111 moments lie up to 5 ms after the end)."""

_SHORTER_THAN_MARGIN: Final = 0.9
"""Of a segment that is shorter than the margin: this share of it has to be seen (ProMQA's code)."""


@dataclass(frozen=True, slots=True)
class ClipSegment:
    """A segment in a clip.

    Attributes:
        segment: as in the recording, but its times are seconds from the clip's start.
        position: in the recording's segments.
        category: of which kind it is, for rules that count kinds.
        cut: on which side the clip shows only a part of it.
    """

    segment: Segment
    position: int
    category: str
    cut: Cut = ""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Segments that were left out for one reason (see ``REASONS``), by their positions, ascending."""

    reason: str
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Clip:
    """A stretch of a recording.

    Attributes:
        id: unique; made of the recording's id and the span.
        recording_id: what it is cut from.
        start: seconds of the recording.
        end: seconds of the recording, exclusive.
        segments: what happens in it, in the order of their start.
        rules: by which rules it was made, as a signature.
        left_out: segments that are not in it, by reason. A prefix clip lists all; a trimmed one those that it shows
            a part of (``reaches_in``), as ``Trimmed`` lists the rest.
        activity_id: of the recording.
        activity_name: of the recording.
        video: path of the recording's video relative to the data set's root, if there is one.
    """

    id: str
    recording_id: str
    start: float
    end: float
    segments: tuple[ClipSegment, ...]
    rules: str = ""
    left_out: tuple[LeftOut, ...] = ()
    activity_id: str = ""
    activity_name: str = ""
    video: str | None = None

    @property
    def seconds(self) -> float:
        """How long it is."""
        return self.end - self.start

    @property
    def positions(self) -> tuple[int, ...]:
        """Which of the recording's segments are in it, in the order of their start."""
        return tuple(s.position for s in self.segments)

    @property
    def categories(self) -> frozenset[str]:
        """The kinds of steps in it."""
        return frozenset(s.category for s in self.segments)


# -- reading times -------------------------------------------------------------------------------------------------


class Placed(NamedTuple):
    """A segment with sound times, in seconds of the recording."""

    start: float
    end: float
    category: str
    segment: Segment
    position: int
    cut: Cut = ""

    @property
    def order(self) -> tuple[object, ...]:
        """Sorts by start and end, and then by what was done: the order of the annotations decides nothing."""
        s = self.segment
        words = (s.step_id, s.text, s.description, tuple((m.kind, m.text) for m in s.mistakes))
        return self.start, self.end, self.category, *words, self.position


def video_seconds(recording: Recording) -> float | None:
    """Return the length of a recording's video, None where it is not known.

    Raises:
        UserError: if it is no length.
    """
    if recording.duration is None:
        return None
    seconds = finite_number(recording.duration)
    if seconds is None or seconds <= 0:
        raise UserError(
            f"the duration is {recording.duration!r}.",
            where=f"recording '{recording.id[:80]}'",
            hint="give seconds above 0, or none where the length is not known",
        )
    return seconds


def place_segments(
    recording: Recording,
    category: Category | None = None,
    edges: Literal["keep", "cut", "drop"] = "keep",
) -> tuple[list[Placed], list[tuple[int, str]]]:
    """Return the segments with sound times, in the order of their start, and the others as (position, reason).

    Args:
        recording: what happened.
        category: says of which kind a segment is.
        edges: what becomes of a segment that ends after the video: ``keep`` its times, ``cut`` them at the video's
            end, or ``drop`` it. One that begins after the video is dropped unless all is kept.

    Raises:
        UserError: if the recording's duration is no length.
    """
    seconds = video_seconds(recording)
    placed: list[Placed] = []
    out: list[tuple[int, str]] = []
    for position, segment in enumerate(recording.segments):
        found = _times(segment)
        if isinstance(found, str):
            out.append((position, found))
            continue
        start, end = found
        cut: Cut = ""
        if edges != "keep" and seconds is not None and end > seconds:
            if edges == "drop" or start >= seconds:
                out.append((position, "outside_video"))
                continue
            end, cut = seconds, "end"
        name = segment.step_id if category is None else category(segment)
        placed.append(Placed(start, end, name, segment, position, cut))
    placed.sort(key=lambda p: p.order)
    return placed, out


def _times(segment: Segment) -> tuple[float, float] | str:
    """Return the times of a segment, or the reason why they cannot be right."""
    if segment.skipped:
        return "skipped"
    if segment.start is None or segment.end is None:
        return "no_start"
    start, end = finite_number(segment.start), finite_number(segment.end)
    if start is None or end is None:
        return "not_a_time"
    if end < start:
        return "swapped"
    if start < 0:
        return "negative"
    return start, end


def finite_number(value: object) -> float | None:
    """Return a JSON number as a float; None for anything else, for NaN and for what a float cannot hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def leaf_segments(steps: Iterable[tuple[Segment, Iterable[Segment]]]) -> tuple[Segment, ...]:
    """Return the finest level of a hierarchy: the substeps of a step that has any, else the step itself.

    Source: InstructionBench's supplement, option *leaf*.
    """
    return tuple(leaf for step, substeps in steps for leaf in (tuple(substeps) or (step,)))


# -- making clips --------------------------------------------------------------------------------------------------


def grouped(out: Iterable[tuple[int, str]]) -> tuple[LeftOut, ...]:
    """Group what was left out by reason, sorted."""
    by_reason: defaultdict[str, list[int]] = defaultdict(list)
    for position, reason in out:
        by_reason[reason].append(position)
    return tuple(LeftOut(reason, tuple(sorted(by_reason[reason]))) for reason in sorted(by_reason))


def make_clip(
    recording: Recording,
    start: float,
    end: float,
    inside: Iterable[Placed],
    *,
    rules: str = "",
    left_out: Iterable[tuple[int, str]] = (),
) -> Clip:
    """Put a clip together; ``inside`` are its segments in seconds of the recording, cut at its edges already."""
    segments = tuple(
        ClipSegment(
            replace(p.segment, start=p.start - start, end=p.end - start), p.position, p.category, p.cut
        )
        for p in inside
    )
    return Clip(
        id=f"{recording.id}_{_clock(start)}-{_clock(end)}",
        recording_id=recording.id,
        start=start,
        end=end,
        segments=segments,
        rules=rules,
        left_out=grouped(left_out),
        activity_id=recording.activity_id,
        activity_name=recording.activity_name,
        video=recording.video,
    )


def _clock(seconds: float) -> str:
    """Return seconds as they stand in an id: exact, and without a needless point."""
    return repr(seconds).removesuffix(".0")


def span_clip(
    recording: Recording,
    start: float,
    end: float,
    *,
    edge: Edge = "cut",
    margin: float = 0.0,
    category: Category | None = None,
) -> Clip:
    """Return ``[start, end)`` of a recording with the segments in it.

    Every segment of the recording is either in the clip or left out with a reason: those with times that cannot be
    right, ``earlier``, ``later``, and of those across an edge either ``crosses_edge`` (``edge="drop"``) or
    ``barely_begun``, when less is shown than the margin.

    Args:
        recording: what happened.
        start: seconds, not negative.
        end: seconds, exclusive, not after the video (but for ``ROUNDING``).
        edge: ``cut`` keeps the visible part of a segment that runs across an edge, ``drop`` leaves it out.
        margin: seconds of such a segment that have to be shown, at least, or nine tenths of a shorter one.
        category: says of which kind a segment is.

    Raises:
        UserError: if that is no span of the recording, or the margin is no length.
    """
    edge, margin = _checked_edge(edge), _checked_margin(margin)
    first, last = _checked_span(recording, start, end)
    placed, out = place_segments(recording, category)
    inside: list[Placed] = []
    for segment in placed:
        found = _within(segment, first, last, edge, margin)
        if isinstance(found, str):
            out.append((segment.position, found))
        else:
            inside.append(found)
    rules = f"span|edge:{edge}|margin:{margin:g}"
    return make_clip(recording, first, last, inside, rules=rules, left_out=out)


def prefix_clip(
    recording: Recording,
    moment: float,
    *,
    edge: Edge = "cut",
    margin: float = 0.0,
    category: Category | None = None,
) -> Clip:
    """Return what is seen of a recording until a moment: ``span_clip`` from 0.

    With ``margin=2.0`` a step that has begun less than two seconds ago is left out, which is what ``examples`` calls a
    moment without overlap (ProMQA's code).

    Raises:
        UserError: if the moment is not within the recording.
    """
    return span_clip(recording, 0.0, moment, edge=edge, margin=margin, category=category)


def step_moments(recording: Recording) -> tuple[float, ...]:
    """Return the moments at which something was just completed, in seconds, ascending and different.

    These are the ends of ProMQA's clips: at each step, in the order of their start, the latest end so far
    (ProMQA's code). Segments whose times cannot be right count for nothing.
    """
    moments: dict[float, None] = {}
    latest = 0.0
    for segment in place_segments(recording)[0]:
        latest = max(latest, segment.end)
        moments[latest] = None
    return tuple(moments)


def _within(segment: Placed, first: float, last: float, edge: Edge, margin: float) -> Placed | str:
    """Return what a span shows of a segment, or why it shows nothing."""
    # an instant at the very start is in the span, one at its end is not: spans are half-open
    instant = segment.start == segment.end
    if segment.start >= last:
        return "later"
    if segment.end < first or (segment.end == first and not instant):
        return "earlier"
    before, after = segment.start < first, segment.end > last
    if not (before or after):
        return segment
    if edge == "drop":
        return "crosses_edge"
    length = segment.end - segment.start
    needed = margin if length >= margin else _SHORTER_THAN_MARGIN * length
    begin, stop = max(first, segment.start), min(last, segment.end)
    if needed and begin + needed >= stop:
        return "barely_begun"
    return segment._replace(start=begin, end=stop, cut=_side(before, after))


def _side(before: bool, after: bool) -> Cut:
    if before and after:
        return "both"
    return "start" if before else "end"


def _checked_span(recording: Recording, start: float, end: float) -> tuple[float, float]:
    where = f"recording '{recording.id[:80]}'"
    first, last = finite_number(start), finite_number(end)
    if first is None or last is None or not 0 <= first < last:
        raise UserError(
            f"[{_said(start)}, {_said(end)}) is not a span of a recording.",
            where=where,
            hint="give 0 <= start < end in seconds",
        )
    seconds = video_seconds(recording)
    if seconds is not None and last > seconds + ROUNDING:
        raise UserError(
            f"the span ends at {last!r} s, the video at {seconds!r} s.",
            where=where,
            hint="give a moment within the video; nothing is cut shorter than it was asked for",
        )
    return first, last


def _checked_edge(edge: Edge) -> Edge:
    if edge not in ("cut", "drop"):
        raise UserError(f"there is no way {edge!r} with segments across an edge.", hint="known: cut, drop")
    return edge


def _checked_margin(margin: float) -> float:
    number = finite_number(margin)
    if number is None or number < 0:
        raise UserError(f"the margin is {_said(margin)}.", hint="give seconds, 0 or more")
    return number


def _said(value: object) -> str:
    return repr(value)[:40]

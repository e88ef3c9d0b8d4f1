"""Timelines: known steps of a recording, each marked from start to end, with what went wrong, actions and narration.

Seconds are the truth, half-open ``[start, end)``; frames follow from them with the exact frame rate (``frame_at``).
Several segments of a step and overlaps are legal. docs/rounds.md, *Timelines*.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec

from proctor.verify.desk.records import InvalidError
from proctor.verify.desk.sheets import is_bad_text
from proctor.verify.rounds.kind import TaskKind

if TYPE_CHECKING:
    from proctor.exam.question import Footage

__all__ = [
    "KIND",
    "TAGS",
    "ActionMark",
    "ErrorMark",
    "Narration",
    "OrderMistake",
    "SegmentMark",
    "TimelineLook",
    "TimelineOptions",
    "TimelineSheet",
    "TimelineStep",
    "TimelineTask",
    "frame_at",
    "order_mistakes",
    "timeline_notes",
]

Tag = Literal["preparation", "measurement", "timing", "technique", "temperature", "missing", "order", "other"]
"""A kind of mistake (``procedure.recording.MISTAKE_KINDS``)."""
TAGS: Final[dict[str, str]] = {
    "preparation": "Preparation",
    "measurement": "Measurement",
    "timing": "Timing",
    "technique": "Technique",
    "temperature": "Temperature",
    "missing": "Missing step",
    "order": "Order",
    "other": "Other",
}
"""Kinds of mistakes with their names, in the order of the keys 1 to 8."""

MarkId = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
_ROUNDING: Final = 0.01
"""Seconds that a segment may end after the video: lengths are often written to hundredths."""
_GAP: Final = 2.0
_MAX_OVERLAPS: Final = 500


class TimelineStep(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A step that can be marked; ``optional`` ones may be left out without being missing."""

    id: str
    text: str
    optional: bool = False


class SegmentMark(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One stretch in which a step is done, in seconds."""

    id: MarkId
    step: str
    start_s: float
    end_s: float


class ErrorMark(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that went wrong in a step.

    Attributes:
        origin: ``script`` (planned), ``live`` (noted while it was recorded), ``review`` (by the annotator), ``auto``
            (proposed by the page and confirmed).
    """

    step: str
    tag: Tag
    text: str = ""
    origin: Literal["script", "live", "review", "auto"] = "review"


class ActionMark(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A fine-grained action, in seconds.

    Attributes:
        source: where it comes from: ``manual``, ``narration`` or a model's name.
        step: that it belongs to; empty for none.
    """

    id: MarkId
    start_s: float
    end_s: float
    verb: str
    noun: str = ""
    source: str = "manual"
    step: str = ""


class Narration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What somebody said about the video while it stood still.

    Attributes:
        id: of the sound clip.
        video_s: at which second of the video.
        text: as it stands, corrected by hand.
        asr: as a transcriber wrote it; None before that.
        ms: length of the sound.
    """

    id: MarkId
    video_s: float
    text: str = ""
    asr: str | None = None
    ms: Annotated[int, msgspec.Meta(ge=0, le=3_600_000)] = 0


class TimelineTask(msgspec.Struct, frozen=True, kw_only=True):
    """A recording to be annotated.

    Attributes:
        recording: its id.
        title: of the activity, for people.
        duration_s: length of the video.
        fps_num: frames a second as a fraction, constant over the video.
        fps_den: likewise.
        frames: of the video.
        steps: that can be marked, in the order of the graph.
        script: ids of steps in the order in which they were to be done; that of ``steps`` where it is not known.
        before: edges of the task graph, (before, after).
        prelabels: segments to begin with, such as those of a localizer.
        planned: errors that are known beforehand (of the script).
        video: path relative to the data set's root.
        dataset: reader of the data set; empty for a folder of videos.
        activity: id of the task graph.
    """

    recording: str
    title: str
    duration_s: float
    fps_num: int
    fps_den: int
    frames: int
    steps: tuple[TimelineStep, ...]
    script: tuple[str, ...] = ()
    before: tuple[tuple[str, str], ...] = ()
    prelabels: tuple[SegmentMark, ...] = ()
    planned: tuple[ErrorMark, ...] = ()
    video: str = ""
    dataset: str = ""
    activity: str = ""

    @property
    def fps(self) -> Fraction:
        """Frames a second."""
        return Fraction(self.fps_num, self.fps_den)


class TimelineSheet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an annotator marked; ``dismissed`` are the edges whose proposed order mistake is none."""

    segments: Annotated[tuple[SegmentMark, ...], msgspec.Meta(max_length=2_000)] = ()
    errors: Annotated[tuple[ErrorMark, ...], msgspec.Meta(max_length=2_000)] = ()
    dismissed: Annotated[tuple[tuple[str, str], ...], msgspec.Meta(max_length=2_000)] = ()
    actions: Annotated[tuple[ActionMark, ...], msgspec.Meta(max_length=5_000)] = ()
    narrations: Annotated[tuple[Narration, ...], msgspec.Meta(max_length=2_000)] = ()
    note: str = ""


class TimelineOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How timelines are annotated.

    Attributes:
        complete: every step that is not optional has a segment or the tag *Missing step*.
        actions: fine-grained actions are asked for.
        narration: sound clips may be recorded.
    """

    complete: bool = True
    actions: bool = True
    narration: bool = True


class OrderMistake(msgspec.Struct, frozen=True):
    """Step ``after`` began before ``before``, which the graph wants first; the mistake is that of ``after``."""

    before: str
    after: str


class TimelineLook(msgspec.Struct, frozen=True, kw_only=True):
    """What stands out on a timeline.

    Attributes:
        order: mistakes of order that are neither confirmed nor dismissed.
        gaps: stretches of more than two seconds without a step: (start, end) in seconds.
        overlaps: ids of two segments at the same time.
    """

    order: tuple[OrderMistake, ...] = ()
    gaps: tuple[tuple[float, float], ...] = ()
    overlaps: tuple[tuple[str, str], ...] = ()


def frame_at(seconds: float, fps: Fraction) -> int:
    """Return the frame whose beginning is nearest to a moment; frames count from 0."""
    return round(Fraction(seconds) * fps)


def order_mistakes(
    starts: Mapping[str, float], before: Iterable[tuple[str, str]]
) -> tuple[OrderMistake, ...]:
    """Return the edges of a graph that were violated: a step began before one that has to come first.

    A prerequisite that was not done stands for its own prerequisites: with a → x → b and x missing, a has to come
    before b. There is a mistake if and only if the steps that were done are in no order of the graph.

    Args:
        starts: first start of each step that was done, in seconds.
        before: edges of the task graph, (before, after).
    """
    needs: dict[str, list[str]] = defaultdict(list)
    for a, b in before:
        needs[b].append(a)
    found = []
    for step in starts:
        open_, seen = list(needs[step]), {step}
        while open_:
            earlier = open_.pop(0)
            if earlier in seen:
                continue
            seen.add(earlier)
            if earlier not in starts:
                open_ += needs.get(earlier, ())
            elif starts[earlier] > starts[step]:
                found.append(OrderMistake(earlier, step))
    return tuple(found)


def timeline_notes(sheet: TimelineSheet, task: TimelineTask) -> TimelineLook:
    """Return what stands out on a timeline; none of it is wrong by itself."""
    marked = [s for s in sheet.segments if s.start_s < s.end_s]
    marked.sort(key=lambda s: (s.start_s, s.end_s, s.id))
    starts: dict[str, float] = {}
    for s in marked:
        starts.setdefault(s.step, s.start_s)
    confirmed = {e.step for e in sheet.errors if e.tag == "order"}
    order = tuple(
        m
        for m in order_mistakes(starts, task.before)
        if m.after not in confirmed and (m.before, m.after) not in sheet.dismissed
    )
    gaps: list[tuple[float, float]] = []
    overlaps: list[tuple[str, str]] = []
    upto = 0.0
    for n, s in enumerate(marked):
        if s.start_s - upto > _GAP:
            gaps.append((upto, s.start_s))
        upto = max(upto, s.end_s)
        for later in marked[n + 1 :]:
            if later.start_s >= s.end_s or len(overlaps) == _MAX_OVERLAPS:
                break
            overlaps.append((s.id, later.id))
    return TimelineLook(order=order, gaps=tuple(gaps), overlaps=tuple(overlaps))


class Timeline(TaskKind[TimelineTask, TimelineSheet, TimelineOptions]):
    """Timelines of recordings."""

    name = "timeline"
    title = "Timeline"
    detail = "Mark each step of a recording from its start to its end, and what went wrong in it."
    task = TimelineTask
    sheet = TimelineSheet
    options = TimelineOptions

    def footage(self, task: TimelineTask) -> Footage | None:
        """Return the whole recording."""
        from proctor.exam.question import Footage

        return Footage(recording=task.recording, end=task.duration_s, video=task.video, dataset=task.dataset)

    def rate(self, task: TimelineTask) -> Fraction:
        """Return the frame rate: each frame has to be shown."""
        return task.fps

    def look(self, sheet: TimelineSheet, task: TimelineTask, options: TimelineOptions) -> TimelineLook:  # noqa: ARG002
        """Return what stands out on a timeline that is being filled in."""
        return timeline_notes(sheet, task)

    def check(self, sheet: TimelineSheet, task: TimelineTask, options: TimelineOptions) -> TimelineSheet:
        """Return the sheet in the order of time, texts trimmed.

        Raises:
            InvalidError: with everything that is missing or wrong; fields are called ``segment-<id>``,
                ``error-<position>``, ``action-<id>``, ``narration-<id>``, ``step-<id>``, ``order-<before>-<after>``,
                ``segments`` and ``note``.
        """
        return _Check(sheet, task, options).run()


class _Check:
    """One sheet while it is checked."""

    def __init__(self, sheet: TimelineSheet, task: TimelineTask, options: TimelineOptions) -> None:
        self.sheet, self.task, self.options = sheet, task, options
        self.names = {s.id: f"step {n} ({s.text[:60]})" for n, s in enumerate(task.steps, 1)}
        self.errors: list[tuple[str, str]] = []

    def run(self) -> TimelineSheet:
        sheet = self.sheet
        self.spans("segment", sheet.segments)
        self.steps()
        self.mistakes()
        self.spans("action", sheet.actions)
        self.words()
        if self.errors:
            raise InvalidError(self.errors)
        done = {s.step for s in sheet.segments}
        return TimelineSheet(
            segments=tuple(sorted(sheet.segments, key=lambda s: (s.start_s, s.end_s, s.step, s.id))),
            errors=tuple(msgspec.structs.replace(e, text=e.text.strip()) for e in sheet.errors),
            dismissed=tuple(dict.fromkeys(p for p in sheet.dismissed if done.issuperset(p))),
            actions=tuple(
                sorted(
                    (
                        msgspec.structs.replace(
                            a, verb=a.verb.strip(), noun=a.noun.strip(), source=a.source.strip() or "manual"
                        )
                        for a in sheet.actions
                    ),
                    key=lambda a: (a.start_s, a.end_s, a.id),
                )
            ),
            narrations=tuple(msgspec.structs.replace(n, text=n.text.strip()) for n in sheet.narrations),
            note=sheet.note.strip(),
        )

    def add(self, field: str, message: str) -> None:
        self.errors.append((field, message))

    def spans(self, kind: str, marks: Sequence[SegmentMark | ActionMark]) -> None:
        """Check the times of segments or actions, their steps, and that none is there twice."""
        ids = Counter(m.id for m in marks)
        seen: set[tuple[object, ...]] = set()
        for m in marks:
            field, what = f"{kind}-{m.id}", self.names.get(m.step, f"this {kind}")
            about: tuple[object, ...] = (m.step, m.start_s, m.end_s)
            if isinstance(m, ActionMark):
                about = (*about, m.verb.strip(), m.noun.strip())
            if ids[m.id] > 1:
                self.add(field, f"Two of the {kind}s have the id '{m.id}'.")
            elif m.step not in self.names and (m.step or kind == "segment"):
                self.add(field, f"There is no step '{m.step[:60]}' in this recording.")
            elif fault := self.time_fault(m.start_s, m.end_s):
                self.add(field, f"{what[:1].upper()}{what[1:]}: {fault}")
            elif about in seen:
                self.add(field, f"{what[:1].upper()}{what[1:]} is marked twice from {_clock(m.start_s)}.")
            seen.add(about)

    def time_fault(self, start: float, end: float) -> str:
        last = self.task.duration_s
        if not (math.isfinite(start) and math.isfinite(end)):
            return "a time is not a number."
        if start < 0:
            return "it starts before the video."
        if end <= start:
            return f"it ends at {_clock(end)}, not after its start at {_clock(start)}."
        if end > last + _ROUNDING:
            return f"it ends at {_clock(end)}, and the video at {_clock(last)}."
        return ""

    def steps(self) -> None:
        """Check that every step is marked or missing."""
        done = {s.step for s in self.sheet.segments}
        tagged = {e.step for e in self.sheet.errors}
        missing = {e.step for e in self.sheet.errors if e.tag == "missing"}
        if not done and not missing:
            self.add("segments", "Nothing is marked yet: mark a step, or tag steps that were left out.")
            return
        for step in self.task.steps:
            wanted = (self.options.complete and not step.optional) or step.id in tagged
            if wanted and step.id not in done | missing:
                name = self.names[step.id]
                self.add(f"step-{step.id}", f"Mark {name}, or tag it as a missing step.")

    def mistakes(self) -> None:
        """Check error tags, and that proposed mistakes of order are decided."""
        done = {s.step for s in self.sheet.segments}
        seen: set[tuple[str, str, str]] = set()
        for n, e in enumerate(self.sheet.errors):
            name, about = self.names.get(e.step, ""), (e.step, e.tag, e.text.strip())
            if not name:
                self.add(f"error-{n}", f"The error '{TAGS[e.tag]}' belongs to no step of this recording.")
            elif e.tag == "missing" and e.step in done:
                self.add(f"error-{n}", f"{name[:1].upper()}{name[1:]} is tagged as missing, and is marked.")
            elif about in seen:
                self.add(f"error-{n}", f"The error '{TAGS[e.tag]}' stands twice at {name}.")
            elif is_bad_text(e.text):
                self.add(f"error-{n}", "The sentence is too long, or is no text.")
            seen.add(about)
        for m in timeline_notes(self.sheet, self.task).order:
            if m.after not in self.names or m.before not in self.names:
                continue  # said at the segment
            self.add(
                f"order-{m.before}-{m.after}",
                f"{self.names[m.after]} began before {self.names[m.before]}: confirm the order mistake or dismiss it.",
            )

    def words(self) -> None:
        """Check the texts of actions and narrations, and the note."""
        for a in self.sheet.actions:
            if not a.verb.strip():
                self.add(f"action-{a.id}", f"The action at {_clock(a.start_s)} has no verb.")
            elif any(len(t) > 200 or is_bad_text(t) for t in (a.verb, a.noun, a.source)):
                self.add(f"action-{a.id}", f"A word of the action at {_clock(a.start_s)} is too long.")
        ids = Counter(n.id for n in self.sheet.narrations)
        for n in self.sheet.narrations:
            if ids[n.id] > 1:
                self.add(f"narration-{n.id}", f"Two narrations have the id '{n.id}'.")
            elif not 0 <= n.video_s <= self.task.duration_s + _ROUNDING:  # NaN too
                self.add(f"narration-{n.id}", "A narration belongs to a moment outside the video.")
            elif is_bad_text(n.text):
                self.add(f"narration-{n.id}", "A narration is too long, or is no text.")
        if is_bad_text(self.sheet.note):
            self.add("note", "The note is too long, or is no text.")


def _clock(seconds: float) -> str:
    """Return a time as the page shows it: ``01:05.250``."""
    if not math.isfinite(seconds) or abs(seconds) > 1e7:
        return f"{seconds:g}"
    milliseconds = round(abs(seconds) * 1000)
    return f"{'-' if seconds < 0 else ''}{milliseconds // 60_000:02}:{milliseconds // 1000 % 60:02}.{milliseconds % 1000:03}"


KIND: Final = Timeline()

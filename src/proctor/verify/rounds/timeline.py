"""Timelines: known steps of a recording, each marked from start to end, with what went wrong, actions and narration.

Seconds are the truth, half-open ``[start, end)``; frames follow from them with the exact frame rate (``frame_at``).
Several segments of a step and overlaps are legal. docs/rounds.md, *Timelines*.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Final, Literal, get_args

import msgspec

from proctor.procedure.recording import MISTAKE_NAMES
from proctor.said import say
from proctor.verify.desk.records import InvalidError
from proctor.verify.desk.sheets import is_bad_text
from proctor.verify.rounds.kind import TaskKind

if TYPE_CHECKING:
    from proctor.drawing.svg import Tell
    from proctor.exam.question import Footage

__all__ = [
    "KIND", "TAGS", "ActionMark", "ErrorMark", "Narration", "SegmentMark", "TimelineOptions", "TimelineSheet",
    "TimelineStep", "TimelineTask", "frame_at", "order_mistakes",
]  # fmt: skip

Tag = Literal["preparation", "measurement", "timing", "technique", "temperature", "missing", "order", "other"]
"""A kind of mistake (``procedure.recording.MISTAKE_KINDS``)."""
_GAP: Final = 2.0
_MAX_OVERLAPS: Final = 500
TAGS: Final[Mapping[str, str]] = {tag: MISTAKE_NAMES[tag] for tag in get_args(Tag)}
"""Kinds of mistakes with their names, in the order of the keys 1 to 8."""

MarkId = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
_ROUNDING: Final = 0.01
"""Seconds that a segment may end after the video: lengths are often written to hundredths."""


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
    """One thing that went wrong in a step: planned, noted while it was recorded, by the annotator, or proposed and confirmed."""

    step: str
    tag: Tag
    text: str = ""
    origin: Literal["script", "live", "review", "auto"] = "review"


class ActionMark(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A fine-grained action, in seconds (``procedure.recording.Action``); ``step`` is empty where it belongs to none."""

    id: MarkId
    start_s: float
    end_s: float
    verb: str
    noun: str = ""
    source: str = "manual"
    step: str = ""


class Narration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What somebody said while the video stood at ``video_s``, in ``ms`` of sound; ``asr`` is what a transcriber wrote."""

    id: MarkId
    video_s: float
    text: str = ""
    asr: str | None = None
    ms: Annotated[int, msgspec.Meta(ge=0, le=3_600_000)] = 0


class TimelineTask(msgspec.Struct, frozen=True, kw_only=True):
    """A recording to be annotated.

    Attributes:
        title: of the activity, for people.
        fps_num: over ``fps_den``: frames a second, the same over the whole video.
        frames: of the video.
        steps: that can be marked, in the order of the graph.
        script: ids of steps in the order in which they were to be done; that of ``steps`` where it is not known.
        before: edges of the task graph, (before, after).
        prelabels: segments to begin with, such as those of a localizer; ``planned``: errors that are known beforehand.
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
    """How timelines are annotated and settled.

    Attributes:
        complete: every step that is not optional has a segment or the tag *Missing step*.
        actions: fine-grained actions are asked for.
        narration: sound may be recorded.
        least_iou: overlap from which two annotators' segments agree.
    """

    complete: bool = True
    actions: bool = True
    narration: bool = True
    least_iou: float = 0.5


class TimelineLook(msgspec.Struct, frozen=True, kw_only=True):
    """What stands out on a timeline.

    Attributes:
        order: (before, after) of mistakes of order that are neither confirmed nor dismissed.
        gaps: stretches of more than two seconds without a step: (start, end) in seconds.
        overlaps: ids of two segments at the same time.
    """

    order: tuple[tuple[str, str], ...] = ()
    gaps: tuple[tuple[float, float], ...] = ()
    overlaps: tuple[tuple[str, str], ...] = ()


def frame_at(seconds: float, fps: Fraction) -> int:
    """Return the frame whose beginning is nearest to a moment; frames count from 0."""
    return round(Fraction(seconds) * fps)


def order_mistakes(
    starts: Mapping[str, float], before: Iterable[tuple[str, str]]
) -> tuple[tuple[str, str], ...]:
    """Return (before, after) where a step began before one that has to come first; the mistake is that of ``after``.

    A prerequisite that was not done stands for its own prerequisites: with a → x → b and x missing, a has to come
    before b. There is a mistake if and only if the steps that were done are in no order of the graph.

    Args:
        starts: first start of each step that was done, in seconds.
        before: edges of the task graph.
    """
    needs: dict[str, list[str]] = defaultdict(list)
    for a, b in before:
        needs[b].append(a)
    found = []
    for step in starts:
        open_ = list(needs[step])
        for earlier in open_:
            if earlier not in starts:
                open_ += [one for one in needs[earlier] if one not in open_]
            elif starts[earlier] > starts[step]:
                found.append((earlier, step))
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
        (a, b)
        for a, b in order_mistakes(starts, task.before)
        if b not in confirmed and (a, b) not in sheet.dismissed
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


class _Timeline(TaskKind[TimelineTask, TimelineSheet, TimelineOptions]):
    name = "timeline"
    title = say("Timeline")
    detail = say("Mark each step of a recording from its start to its end, and what went wrong in it.")
    task = TimelineTask
    sheet = TimelineSheet
    options = TimelineOptions

    def footage(self, task: TimelineTask) -> Footage | None:
        from proctor.exam.question import Footage

        return Footage(recording=task.recording, end=task.duration_s, video=task.video, dataset=task.dataset)

    def rate(self, task: TimelineTask) -> Fraction:
        return task.fps

    def look(
        self,
        sheet: TimelineSheet,
        task: TimelineTask,
        options: TimelineOptions,  # noqa: ARG002
        tell: Tell = str,  # noqa: ARG002
    ) -> TimelineLook:
        return timeline_notes(sheet, task)

    def check(self, sheet: TimelineSheet, task: TimelineTask, options: TimelineOptions) -> TimelineSheet:
        """Return the sheet in the order of time, texts trimmed.

        Raises:
            InvalidError: with everything that is missing or wrong; fields are called ``segment-<id>``,
                ``error-<position>``, ``action-<id>``, ``narration-<id>``, ``step-<id>``, ``order-<before>-<after>``,
                ``segments`` and ``note``.
        """
        errors = list(_faults(sheet, task, complete=options.complete))
        if errors:
            raise InvalidError(errors)
        put, done = msgspec.structs.replace, {s.step for s in sheet.segments}
        actions = [
            put(a, verb=a.verb.strip(), noun=a.noun.strip(), source=a.source.strip()) for a in sheet.actions
        ]
        return TimelineSheet(
            segments=tuple(sorted(sheet.segments, key=lambda s: (s.start_s, s.end_s, s.step, s.id))),
            errors=tuple(put(e, text=e.text.strip()) for e in sheet.errors),
            dismissed=tuple(dict.fromkeys(p for p in sheet.dismissed if done.issuperset(p))),
            actions=tuple(sorted(actions, key=lambda a: (a.start_s, a.end_s, a.id))),
            narrations=tuple(put(n, text=n.text.strip()) for n in sheet.narrations),
            note=sheet.note.strip(),
        )


_Faults = Iterator[tuple[str, str]]


def _faults(sheet: TimelineSheet, task: TimelineTask, *, complete: bool) -> _Faults:
    """Yield what is missing or wrong, with its field."""
    names = {s.id: say("Step {n} ({text})", n=n, text=s.text[:60]) for n, s in enumerate(task.steps, 1)}
    done = {s.step for s in sheet.segments}
    missing = {e.step for e in sheet.errors if e.tag == "missing"}
    yield from _spans("segment", sheet.segments, names, task.duration_s)
    if not done and not missing:
        yield "segments", say("Nothing is marked yet: mark a step, or tag steps that were left out.")
    for step in task.steps if done or missing else ():
        wanted = (complete and not step.optional) or any(e.step == step.id for e in sheet.errors)
        if wanted and step.id not in done and step.id not in missing:
            yield f"step-{step.id}", say("{step}: mark it, or tag it as a missing step.", step=names[step.id])
    told = Counter((e.step, e.tag, e.text.strip()) for e in sheet.errors)
    for n, e in enumerate(sheet.errors):
        name, field = names.get(e.step, ""), f"error-{n}"
        if not name:
            yield field, say("The error '{error}' belongs to no step of this recording.", error=TAGS[e.tag])
        elif e.tag == "missing" and e.step in done:
            yield field, say("{step} is tagged as missing, and is marked.", step=name)
        elif told[e.step, e.tag, e.text.strip()] > 1:
            yield field, say("The error '{error}' stands twice at {step}.", error=TAGS[e.tag], step=name)
        elif is_bad_text(e.text):
            yield field, say("{step}: the sentence is too long, or is not text.", step=name)
    for a, b in timeline_notes(sheet, task).order:
        if a in names and b in names:  # else it is said at the segment
            yield (
                f"order-{a}-{b}",
                say(
                    "{step} began before {other}: confirm the order mistake or dismiss it.",
                    step=names[b],
                    other=names[a],
                ),
            )
    yield from _spans("action", sheet.actions, names, task.duration_s)
    ids = Counter(n.id for n in sheet.narrations)
    for said in sheet.narrations:
        if ids[said.id] > 1:
            yield f"narration-{said.id}", say("Two narrations have the id '{id}'.", id=said.id)
        elif not 0 <= said.video_s <= task.duration_s + _ROUNDING:  # NaN too
            yield f"narration-{said.id}", say("A narration belongs to a moment outside the video.")
        elif is_bad_text(said.text):
            yield f"narration-{said.id}", say("A narration is too long, or is not text.")
    if is_bad_text(sheet.note):
        yield "note", say("The note is too long, or is not text.")


def _spans(
    kind: str, marks: Sequence[SegmentMark | ActionMark], names: Mapping[str, str], last: float
) -> _Faults:
    """Yield what is wrong with segments or actions: times, steps, words, and what is there twice."""
    ids = Counter(m.id for m in marks)
    seen: set[tuple[object, ...]] = set()
    for m in marks:
        field, of_step = f"{kind}-{m.id}", kind == "segment"
        what = names.get(m.step) or (say("This segment") if of_step else say("This action"))
        words = (m.verb.strip(), m.noun.strip(), m.source) if isinstance(m, ActionMark) else ("-",)
        about = (m.step, m.start_s, m.end_s, *words[:2])
        if ids[m.id] > 1:
            yield (
                field,
                say("Two segments have the id '{id}'.", id=m.id)
                if of_step
                else say("Two actions have the id '{id}'.", id=m.id),
            )
        elif m.step not in names and (m.step or of_step):
            yield field, say("There is no step '{step}' in this recording.", step=m.step[:60])
        elif not (math.isfinite(m.start_s) and math.isfinite(m.end_s)):
            yield field, say("{what}: a time is not a number.", what=what)
        elif m.start_s < 0:
            yield field, say("{what} starts before the video.", what=what)
        elif m.end_s <= m.start_s:
            yield (
                field,
                say("{what} does not end after its start at {time}.", what=what, time=_clock(m.start_s)),
            )
        elif m.end_s > last + _ROUNDING:
            yield (
                field,
                say(
                    "{what} ends at {time}, and the video at {last}.",
                    what=what,
                    time=_clock(m.end_s),
                    last=_clock(last),
                ),
            )
        elif about in seen:
            yield field, say("{what} is marked twice from {time}.", what=what, time=_clock(m.start_s))
        elif not words[0]:
            yield field, say("The action at {time} has no verb.", time=_clock(m.start_s))
        elif any(len(text) > 200 or is_bad_text(text) for text in words):
            yield (
                field,
                say("A word of the action at {time} is too long, or is not text.", time=_clock(m.start_s)),
            )
        seen.add(about)


def _clock(seconds: float) -> str:
    """Return a time as the page shows it: ``01:05.250``."""
    minutes, rest = divmod(round(seconds * 1000), 60_000)
    return f"{minutes:02}:{rest // 1000:02}.{rest % 1000:03}"


KIND: Final = _Timeline()

"""Clips with what a model may be told of them: whole videos where those are short, trimmed ones where they are not.

InstructionBench's supplement: YouCook2 and HiREST are taken as whole videos, Goal-Step and Ego-Exo4D are cut
into clips. Steps are numbered ``s1``, ``s2`` … in the order of their start, substeps of ``s3`` are ``s3.1``, ``s3.2`` …

Nothing is repaired: a step whose times cannot be right is left out and counted, a video with too few steps is listed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

import msgspec

from proctor.ask.clip.record import ShownClip, ShownStep
from proctor.errors import UserError
from proctor.procedure.clip import Clip, Placed, place_segments
from proctor.procedure.recording import Recording
from proctor.procedure.showing import shown_text
from proctor.procedure.trim_rules import DEFAULT, TrimRules, trim_recording
from proctor.records import Dropped

__all__ = [
    "MIN_STEPS",
    "TRIMMED",
    "ClipSet",
    "Narration",
    "Trimming",
    "clips_of",
    "dataset_key",
]

TRIMMED: Final = frozenset({"goalstep", "egoexo4d"})
"""Data sets whose videos are cut into clips unless told otherwise (paper)."""

MIN_STEPS: Final = 2
"""Steps that a clip has at least: of a single one no event-level question can be asked."""

Trimming = TrimRules | Literal["auto"] | None
"""Rules of trimming; None takes whole videos; ``auto`` trims the data sets of ``TRIMMED`` by the default rules."""

_NAMES: Final = {
    "youcook2": "youcook2",
    "youcookii": "youcook2",
    "hirest": "hirest",
    "ego4dgoalstep": "goalstep",
    "goalstep": "goalstep",
    "egoexo4d": "egoexo4d",
    "egoexo4dkeysteps": "egoexo4d",
}
_NUMBERED: Final = re.compile(r"\+\d+$")
"""HiREST: the second and further moments of one video."""
_NUMBER_ONLY: Final = re.compile(r"(?:recipe\s+)?\d+|unknown", re.IGNORECASE)
_WORDS: Final = re.compile(r"[^\W\d_]+.*\s")
"""A category that is worth showing is made of words; numbers and codes are the data set's own."""


class Narration(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is said in a video.

    Attributes:
        start: seconds of the video.
        text: what is said.
        video_id: the recording; needed in files only.
    """

    start: float
    text: str
    video_id: str = ""


@dataclass(frozen=True, slots=True)
class ClipSet:
    """What recordings gave.

    Attributes:
        clips: in the order of the recordings, of one recording in time order; ids unique.
        dropped: videos and stretches that give no clip.
        counts: ``recordings``, ``videos`` (that have a clip), ``clips``, ``steps``, ``substeps``, ``narrations`` (that belong to
            a step), and ``left_out:<reason>`` for steps with times that cannot be right.
    """

    clips: tuple[ShownClip, ...]
    dropped: tuple[Dropped, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)


def dataset_key(name: str) -> str:
    """Return the reader's name of a data set by whatever it is called: ``Ego4D Goal-Step`` is ``goalstep``."""
    plain = re.sub(r"[^a-z0-9]", "", name.casefold())
    return _NAMES.get(plain, plain or "steps")


def clips_of(
    recordings: Iterable[Recording],
    dataset: str,
    *,
    trimming: Trimming = "auto",
    leaves: Mapping[str, Recording] | None = None,
    narrations: Mapping[str, Sequence[Narration]] | None = None,
    task_names: Mapping[str, str] | None = None,
    min_steps: int = MIN_STEPS,
) -> ClipSet:
    """Return the clips of recordings.

    Args:
        recordings: of one data set; taken once and not kept.
        dataset: name of the reader. Where a recording says of which data set it is (rows of ``steps``), that counts.
        trimming: see ``Trimming``.
        leaves: the same recordings by id as the reader gives them at its finest level; what lies in a step is its substep.
        narrations: by the id of the recording.
        task_names: what an activity is called, by its id; for data sets that only number them (YouCook2's recipes).
        min_steps: of a clip, at least.

    Raises:
        UserError: if two clips have the same id, a duration is no length, or ``min_steps`` is below 1.
    """
    if min_steps < 1:
        raise UserError(f"min_steps is {min_steps}.", hint="it has to be at least 1")
    making = _Making(
        dataset, trimming, leaves or {}, narrations or {}, task_names or {}, min_steps, Counter(), []
    )
    clips: list[ShownClip] = []
    seen: set[str] = set()
    videos: set[str] = set()
    for recording in recordings:
        making.counts["recordings"] += 1
        for clip in making.clips(recording):
            if clip.id in seen:
                raise UserError(
                    f"two clips are called '{clip.id[:80]}'.",
                    where=dataset,
                    hint="every recording needs an id of its own",
                )
            seen.add(clip.id)
            videos.add(clip.video_id)
            clips.append(clip)
    counts = Counter(making.counts)
    counts["clips"], counts["videos"] = len(clips), len(videos)
    return ClipSet(tuple(clips), tuple(making.dropped), dict(sorted(counts.items())))


# -- making ------------------------------------------------------------------------------------------------------


class _Span(NamedTuple):
    """A stretch of a recording with its own steps, in seconds of the recording."""

    id: str
    start: float
    end: float
    steps: tuple[Placed, ...]


class _Within(NamedTuple):
    """What is known to happen within steps, by the positions of these: substeps, and what is said."""

    nested: Mapping[int, tuple[Placed, ...]]
    said: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class _Making:
    """Settings, and what is counted on the way."""

    dataset: str
    trimming: Trimming
    leaves: Mapping[str, Recording]
    narrations: Mapping[str, Sequence[Narration]]
    task_names: Mapping[str, str]
    min_steps: int
    counts: Counter[str]
    dropped: list[Dropped]

    def clips(self, recording: Recording) -> Iterator[ShownClip]:
        """Yield the clips of a recording; those that are none are listed."""
        dataset = dataset_key(recording.attributes.get("dataset") or self.dataset)
        steps = self._sound(recording)
        within = _Within(_nested(steps, self.leaves.get(recording.id)), self._said(recording, steps))
        for span in self._spans(recording, steps, self._rules(dataset)):
            if len(span.steps) < self.min_steps:
                reason = "one_step" if len(span.steps) == 1 else "few_steps"
                self.dropped.append(Dropped(span.id, reason, f"{len(span.steps)} of {self.min_steps} steps"))
                continue
            yield self._clip(recording, dataset, span, within)

    def _rules(self, dataset: str) -> TrimRules | None:
        if self.trimming == "auto":
            return DEFAULT if dataset in TRIMMED else None
        return self.trimming

    def _sound(self, recording: Recording) -> list[Placed]:
        """Return the steps that have sound times and a text; the others are counted."""
        placed, odd = place_segments(recording, edges="cut")
        for _, reason in odd:
            self.counts[f"left_out:{reason}"] += 1
        steps = [step for step in placed if _line(step.segment.description)]
        if len(steps) < len(placed):
            self.counts["left_out:no_text"] += len(placed) - len(steps)
        return steps

    def _said(self, recording: Recording, steps: Sequence[Placed]) -> dict[int, str]:
        return _said(steps, self.narrations.get(recording.id, ()))

    def _spans(
        self, recording: Recording, steps: Sequence[Placed], rules: TrimRules | None
    ) -> Iterator[_Span]:
        if not steps:
            self.dropped.append(Dropped(recording.id, "no_steps", f"{len(recording.segments)} annotated"))
        elif rules is None:
            last = max(step.end for step in steps)
            length = last if recording.duration is None else float(recording.duration)
            yield _Span(recording.id, 0.0, length, tuple(steps))
        else:
            yield from self._trimmed(recording, rules, {step.position: step for step in steps})

    def _trimmed(
        self, recording: Recording, rules: TrimRules, steps: Mapping[int, Placed]
    ) -> Iterator[_Span]:
        trimmed = trim_recording(recording, rules)
        for stretch in trimmed.rejected:
            name = f"{recording.id}_{stretch.start:g}-{stretch.end:g}"
            detail = f"{len(stretch.positions)} steps in {stretch.end - stretch.start:g} s"
            self.dropped.append(Dropped(name, stretch.reason, detail))
        for clip in trimmed.clips:
            yield _span(clip, steps)

    def _clip(self, recording: Recording, dataset: str, span: _Span, within: _Within) -> ShownClip:
        nested, said = within
        steps: list[ShownStep] = []
        for number, placed in enumerate(span.steps, 1):
            inner = nested.get(placed.position, ())
            steps.append(_step(f"s{number}", placed, span.start, said.get(placed.position, "")))
            for n, substep in enumerate(inner, 1):
                # it may begin before its step does, and the clip with the step
                start = min(max(substep.start, span.start), span.end)
                shown = substep._replace(start=start, end=max(min(substep.end, span.end), start))
                steps.append(_step(f"s{number}.{n}", shown, span.start, ""))
            self.counts["steps"] += 1
            self.counts["substeps"] += len(inner)
            self.counts["narrations"] += placed.position in said
        task = self.task_names.get(recording.activity_id, recording.activity_name)
        return ShownClip(
            id=span.id,
            dataset=dataset,
            video_id=_NUMBERED.sub("", recording.id) if dataset == "hirest" else recording.id,
            task=""
            if _NUMBER_ONLY.fullmatch(task.strip())
            else _line(task),  # a number is no help to anybody
            start=span.start,
            end=span.end,
            steps=tuple(steps),
            video=recording.video,
            split=recording.attributes.get("split", ""),
        )


def _span(clip: Clip, steps: Mapping[int, Placed]) -> _Span:
    """Return a trimmed clip with its steps as the clip has them: a part that it does not show is not told either."""
    inside = tuple(
        steps[s.position]._replace(
            start=clip.start + (s.segment.start or 0.0), end=clip.start + (s.segment.end or 0.0), cut=s.cut
        )
        for s in clip.segments
        if s.position in steps
    )
    return _Span(clip.id, clip.start, clip.end, inside)


def _step(id_: str, placed: Placed, origin: float, narration: str) -> ShownStep:
    text = shown_text(_line(placed.segment.description))
    category = shown_text(_line(placed.category))
    shown = category if _WORDS.search(category) and category.casefold() != text.casefold() else ""
    return ShownStep(
        id=id_,
        text=text,
        start=_seconds(placed.start - origin),
        end=_seconds(placed.end - origin),
        category=shown,
        narration=narration,
    )


def _line(text: str) -> str:
    return " ".join(text.split())


def _seconds(value: float) -> float:
    return round(value, 3)


def _nested(steps: Sequence[Placed], leaves: Recording | None) -> dict[int, tuple[Placed, ...]]:
    """Return the substeps of each step: the finest steps that lie mostly in it, without the step itself.

    A substep belongs to the step that it shares most time with, of several equal ones to the first; one that shares no time with
    any belongs to another clip.
    """
    if leaves is None or not steps:
        return {}
    own = {_identity(step) for step in steps}
    found: dict[int, list[Placed]] = {}
    for leaf in place_segments(leaves)[0]:
        if _identity(leaf) in own or not _line(leaf.segment.description):
            continue
        shared = [(_overlap(step, leaf), -n) for n, step in enumerate(steps)]
        most, place = max(shared)
        if most > 0:
            found.setdefault(steps[-place].position, []).append(leaf)
    return {position: tuple(inner) for position, inner in found.items()}


def _identity(placed: Placed) -> tuple[object, ...]:
    return placed.start, placed.end, placed.segment.step_id, placed.segment.text


def _overlap(step: Placed, leaf: Placed) -> float:
    """Return the seconds that two share; an instant within a step shares next to nothing, and still something."""
    if leaf.start == leaf.end:
        return 1e-9 if step.start <= leaf.start < step.end else 0.0
    return min(step.end, leaf.end) - max(step.start, leaf.start)


def _said(steps: Sequence[Placed], narrations: Sequence[Narration]) -> dict[int, str]:
    """Return what is said in each step: narrations that begin in it, of overlapping steps in the one that began last."""
    starts = [step.start for step in steps]
    texts: dict[int, list[str]] = {}
    for narration in sorted(narrations, key=lambda n: (n.start, n.text)):
        at = bisect_right(starts, narration.start) - 1
        holder = next((s for s in reversed(steps[: at + 1]) if narration.start < s.end), None)
        if holder is not None and _line(narration.text):
            texts.setdefault(holder.position, []).append(_line(narration.text))
    return {position: " ".join(said) for position, said in texts.items()}

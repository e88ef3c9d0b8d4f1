"""Recordings to examples: which moments may be asked about, and every fact that decides the answer.

As ProMQA made them: for each performed step the clip that ends with it is a moment, unless a later step already
runs (overlap). At each moment one may ask what comes ``next``, what is ``missing``, and about every mistake of
the step just done.

Two protocols. ``published`` reproduces the 11,781 examples of the release. ``corrected`` (default) differs where
the release is wrong: all recordings are used and not only those with a 4K video; a step
that ends early is not forgotten; a step that is done again gets a moment of its own, and what it spoils is open again
(``procedure.progress.find_effects``); and a moment counts as noisy whenever an earlier step was done wrongly, whatever the
question type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from proctor.exam.kinds.example import Example, Performed, StepRef
from proctor.procedure.graph import TaskGraph
from proctor.procedure.progress import Effect, Progress, find_effects, progress_after
from proctor.procedure.recording import Recording, Segment
from proctor.records import Dropped, content_hash

__all__ = ["CORRECTED", "PUBLISHED", "DeriveRules", "Protocol", "derive_examples", "rules_for"]

Protocol = Literal["published", "corrected"]

START_CLIP: Final = "-1"
"""What stands for the step in the id of the clip before the first step."""

EMISSION: Final = ("order", "preparation", "measurement", "timing", "technique", "temperature")
"""Mistake types in the order in which they are emitted for one clip; it matters for seeded sampling."""


@dataclass(frozen=True, slots=True)
class DeriveRules:
    """What may differ between protocols.

    Attributes:
        protocol: its name, for signatures.
        require: attributes that a recording must have with these values.
        min_end: clips that end earlier (seconds) are not emitted: there is nothing to see yet.
        forget_early: a step that ends before ``min_end`` does not count as done.
        number_repeats: a step that is done again gets its own id; otherwise the first moment wins.
        follow_repeats: a step that is done again may open others again; otherwise what was ever done stays done.
        quiet: for a question type, mistake kinds of earlier steps that do not make the moment noisy.
        overlap_seconds: a later step has to run this long before the clip ends to spoil it.
    """

    protocol: Protocol
    require: Mapping[str, str] = field(default_factory=dict)
    min_end: float = 5.0
    forget_early: bool = False
    number_repeats: bool = True
    follow_repeats: bool = True
    quiet: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    overlap_seconds: float = 2.0


PUBLISHED: Final = DeriveRules(
    protocol="published",
    require={"video_4k": "yes"},
    forget_early=True,
    number_repeats=False,
    follow_repeats=False,
    quiet={"missing": ("missing",), "order": ("order", "missing")},
)
CORRECTED: Final = DeriveRules(protocol="corrected")


def rules_for(protocol: Protocol) -> DeriveRules:
    """Return the rules of a protocol by name."""
    return PUBLISHED if protocol == "published" else CORRECTED


def derive_examples(
    recordings: Iterable[Recording], graphs: Mapping[str, TaskGraph], rules: DeriveRules = CORRECTED
) -> Iterator[Example | Dropped]:
    """Yield the examples of every recording in order, and what was left out with the reason.

    Reasons: ``no_graph``, ``not_eligible`` (a required attribute), ``early`` (clip before ``min_end``),
    ``overlap``, ``repeated``, ``unclear_repeat`` (what is open again is not known).

    Raises:
        KeyError: if a segment names a step that its graph does not have (readers make sure of it).
    """
    for recording in recordings:
        graph = graphs.get(recording.activity_id)
        if graph is None:
            yield Dropped(recording.id, "no_graph", f"no task graph for activity '{recording.activity_id}'")
            continue
        lacking = [
            f"{k} is not '{v}'" for k, v in rules.require.items() if recording.attributes.get(k, v) != v
        ]
        if lacking:
            yield Dropped(recording.id, "not_eligible", "; ".join(lacking))
            continue
        yield from _of_recording(recording, graph, rules)


@dataclass(frozen=True, slots=True)
class _Moment:
    """A clip that may be asked about."""

    clip_id: str
    end: float
    current: Performed | None
    previous: tuple[Performed, ...]
    progress: Progress


def _of_recording(recording: Recording, graph: TaskGraph, rules: DeriveRules) -> Iterator[Example | Dropped]:
    recording_hash = content_hash(recording)
    emitted: set[str] = set()
    for moment in _moments(recording, graph, rules):
        if isinstance(moment, Dropped):
            yield moment
            continue
        for example in _examples(recording, graph, moment, rules, recording_hash):
            if example.id in emitted:
                yield Dropped(example.id, "repeated", "the step is done again; only its first moment is kept")
            else:
                emitted.add(example.id)
                yield example


def _moments(recording: Recording, graph: TaskGraph, rules: DeriveRules) -> Iterator[_Moment | Dropped]:
    steps = [s for s in recording.segments if not s.skipped]
    previous: list[Performed] = []
    times_done: Counter[str] = Counter()
    ids = [s.step_id for s in steps]
    effects = find_effects(graph, ids) if rules.follow_repeats else tuple(map(Effect, ids))
    begin = min((s.start for s in steps if s.start is not None), default=0.0)
    clip_end = begin
    for i, (segment, effect) in enumerate([(None, Effect(START_CLIP)), *zip(steps, effects, strict=True)]):
        if segment is not None:
            times_done[segment.step_id] += 1
            clip_end = max(clip_end, _end(segment))
        own_end = begin if segment is None else _end(segment)
        clip_id = _clip_id(recording, segment, times_done, rules)
        current = None if segment is None else _performed(segment, graph, effect)
        if own_end < rules.min_end:
            yield Dropped(clip_id, "early", f"it ends at {own_end:.1f} s")
            if rules.forget_early or current is None:
                continue
        elif _overlapped(steps[i:], clip_end, rules):
            yield Dropped(clip_id, "overlap", f"a later step already runs at {clip_end:.1f} s")
        elif effect.kind == "unclear":
            yield Dropped(clip_id, "unclear_repeat", "steps that depend on it are done; are they open again?")
        else:
            progress = progress_after(graph, [*previous, current] if current is not None else previous)
            yield _Moment(clip_id, clip_end, current, tuple(previous), progress)
        if current is not None:
            previous.append(current)


def _clip_id(
    recording: Recording, segment: Segment | None, done: Mapping[str, int], rules: DeriveRules
) -> str:
    if segment is None:
        return f"{recording.id}_{START_CLIP}"
    n = done[segment.step_id]
    return f"{recording.id}_{segment.step_id}" + (f".{n}" if n > 1 and rules.number_repeats else "")


def _end(segment: Segment) -> float:
    return segment.end if segment.end is not None else -1.0


def _overlapped(later: Iterable[Segment], clip_end: float, rules: DeriveRules) -> bool:
    """True when a later step runs for more than the margin before the clip ends.

    A step shorter than the margin has to run for nine tenths of its length.
    """
    for s in later:
        if s.start is None or s.end is None or (rules.forget_early and s.end < rules.min_end):
            continue
        length = s.end - s.start
        margin = rules.overlap_seconds if length >= rules.overlap_seconds else 0.9 * length
        if max(0.0, s.start + margin) < min(clip_end, s.end):
            return True
    return False


def _performed(segment: Segment, graph: TaskGraph, effect: Effect) -> Performed:
    return Performed(
        step_id=segment.step_id,
        text=segment.description,
        instruction=graph[segment.step_id].text,
        mistakes=segment.mistakes,
        start=segment.start,
        end=segment.end,
        reopens=effect.reopens,
    )


def _refs(graph: TaskGraph, step_ids: Iterable[str]) -> tuple[StepRef, ...]:
    return tuple(StepRef(i, graph[i].text) for i in step_ids)


def _examples(
    recording: Recording, graph: TaskGraph, moment: _Moment, rules: DeriveRules, recording_hash: str
) -> Iterator[Example]:
    following, missing = _refs(graph, moment.progress.next), _refs(graph, moment.progress.missing)
    kinds = {m.kind for p in moment.previous for m in p.mistakes}
    for kind, texts in _types(moment.current):
        yield Example(
            id=f"{moment.clip_id}_{kind}",
            clip_id=moment.clip_id,
            recording_id=recording.id,
            activity_id=recording.activity_id,
            activity_name=recording.activity_name,
            type=kind,
            end=moment.end,
            state=moment.progress.state,
            noisy=bool(kinds - set(rules.quiet.get(kind, ()))),
            current=moment.current,
            previous=moment.previous,
            next_steps=following if kind == "next" else None,
            missing_steps=missing if kind == "missing" else None,
            mistake_texts=texts,
            blocking=moment.progress.out_of_order,
            all_next=following,
            all_missing=missing,
            video=recording.video,
            recording_hash=recording_hash,
        )


def _types(current: Performed | None) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each question type that the moment allows, with the annotators' words for mistake types."""
    yield "next", ()
    if current is None:
        return
    yield "missing", ()
    for kind in EMISSION:
        texts = tuple(m.text for m in current.mistakes if m.kind == kind)
        if texts:
            yield kind, texts

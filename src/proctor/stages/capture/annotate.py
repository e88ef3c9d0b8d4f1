"""From what was noted while recording, and what the review says, to an annotated recording. docs/capture.md, *Annotation*.

Times come from events: a step lasts from its ``step_start``, else from the end of the step before, to its
``step_done``. Mistakes come from the review alone: what a script planned is not what happened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from proctor.capture.records import Event, Manifest, Review, Script, StepReview
from proctor.procedure.graph import TaskGraph
from proctor.procedure.recording import Mistake, Recording, Segment

__all__ = ["Annotated", "annotate", "step_spans"]


@dataclass(frozen=True, slots=True)
class Annotated:
    """A recording with its steps, and what somebody should look at."""

    recording: Recording
    notes: tuple[str, ...]


def step_spans(
    timed: Iterable[tuple[Event, int]], known: TaskGraph, start_ns: int, duration: float
) -> tuple[list[tuple[str, float, float]], list[str]]:
    """Return (step, start, end) in seconds for each step that was done, in the order of time, and notes on odd events.

    Args:
        timed: events with their host times, from ``sync.clock.event_times``.
        known: steps of others are left out, with a note.
        start_ns: host time of the first picture.
        duration: of the video, in seconds; what is outside is cut, with a note.
    """
    found, notes, begun, before = list[tuple[str, float, float]](), list[str](), dict[str, float](), 0.0
    for event, at_ns in sorted(timed, key=lambda pair: (pair[1], pair[0].n)):
        if event.kind not in ("step_start", "step_done"):
            continue
        if event.step not in known:
            notes.append(f"{event.kind} of a step '{event.step[:40]}' that the activity does not have")
            continue
        at = (at_ns - start_ns) / 1e9
        if not 0 <= at <= duration:
            notes.append(f"{event.kind} of {event.step} at {at:.1f} s is outside the video")
            at = min(max(at, 0.0), duration)
        if event.kind == "step_start":
            begun[event.step] = at
            continue
        start = begun.pop(event.step, before)
        if start >= at:
            notes.append(f"{event.step} ends at {at:.1f} s, not after its start: left out")
        else:
            found.append((event.step, start, at))
        before = max(before, at)
    notes += [f"{step} was begun and never finished" for step in begun]
    return sorted(found, key=lambda s: (s[1], s[2])), notes


def annotate(
    manifest: Manifest, script: Script, graph: TaskGraph, timed: Iterable[tuple[Event, int]],
    review: Review | None, *, start_ns: int, duration: float, video: str | None = None,
) -> Annotated:  # fmt: skip
    """Return a recording of what was done.

    A step without times that is not optional counts as left out (mistake ``missing``), unless the review says
    that it was done. Without a review there are no other mistakes, and ``reviewed`` is ``no``.
    """
    spans, notes = step_spans(timed, graph, start_ns, duration)
    said, done = {s.step: s for s in (review.steps if review else ())}, {step for step, _, _ in spans}
    for step, one in said.items():
        if step not in graph:
            notes.append(f"the review names a step '{step[:40]}' that the activity does not have")
        elif one.done and step not in done:
            notes.append(f"{step} was done by the review, and has no times: look at the video")
    wording = {s.step: s.modified for s in script.steps if s.modified is not None}
    attributes = {
        "person": manifest.participant, "environment": manifest.environment, "strategy": manifest.strategy,
        "reviewed": "no" if review is None else "yes",
    }  # fmt: skip
    segments = (*_skipped(graph, done, said), *_segments(graph, spans, said, wording))
    attributes = {name: value for name, value in attributes.items() if value}
    recording = Recording(manifest.id, graph.id, graph.name, segments, duration, video, attributes)
    return Annotated(recording, (*notes, *_order_notes(graph, recording)))


def _segments(
    graph: TaskGraph, spans: Sequence[tuple[str, float, float]], said: Mapping[str, StepReview],
    wording: Mapping[str, str],
) -> Iterator[Segment]:  # fmt: skip
    """Yield what was done; mistakes stand at a step's first stretch."""
    seen: set[str] = set()
    for step, start, end in spans:
        one, performed = said.get(step), None
        mistakes = one.mistakes if one is not None and one.done and step not in seen else ()
        if one is not None:
            performed = wording.get(step) if one.performed is None and one.as_planned else one.performed
        seen.add(step)
        yield Segment(
            step_id=step, text=graph[step].text, start=round(start, 3), end=round(end, 3), performed=performed,
            mistakes=tuple(Mistake(m.kind, m.text) for m in mistakes if m.kind != "missing"),
        )  # fmt: skip


def _skipped(graph: TaskGraph, done: set[str], said: Mapping[str, StepReview]) -> Iterator[Segment]:
    """Yield the steps that were not done, in the order of the graph."""
    for step in graph.actions:
        if step.id in done:
            continue
        one = said.get(step.id)
        texts = [m.text for m in one.mistakes if m.kind == "missing"] if one is not None else []
        if one is not None and one.done and not texts:
            continue  # done, and nobody knows when: a note says so
        if texts or not step.optional:
            yield Segment(step.id, step.text, mistakes=(Mistake("missing", texts[0] if texts else ""),))


def _order_notes(graph: TaskGraph, recording: Recording) -> list[str]:
    """Say where the order of what was done and the mistakes of order do not fit."""
    order = list(dict.fromkeys(s.step_id for s in recording.performed))
    wrong = {a for n, a in enumerate(order) for b in order[n + 1 :] if graph.comes_before(b, a)}
    marked = {s.step_id for s in recording.segments for m in s.mistakes if m.kind == "order"}
    early = "came before a step that it needs, and no mistake of order is named"
    late = "has a mistake of order, and came after all that it needs"
    return [f"{s} {early}" for s in sorted(wrong - marked)] + [f"{s} {late}" for s in sorted(marked - wrong)]

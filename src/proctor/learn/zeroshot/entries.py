"""What is asked about: every line of the annotation of a recording, also those of steps that nobody carried out.

The published evaluation counts 5,700 such entries, 287 of them without times, which have no clip. Which part of the video
stands for these is a policy: the *gap* where the task graph would have the step, the *whole* recording, or none (*skip*).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from proctor.ask.step.entry import Entry
from proctor.datasets.dataset import Performance
from proctor.learn.samples import StepData
from proctor.procedure.graph import TaskGraph
from proctor.procedure.recording import Recording
from proctor.procedure.showing import shown_text
from proctor.records import Dropped

__all__ = ["Missing", "entries_of"]

Missing = Literal["gap", "whole", "skip"]

_LEAST = 1.0
"""Seconds of a gap that shows something."""


def entries_of(data: StepData, missing: Missing = "gap") -> tuple[list[Entry], list[Dropped]]:
    """Return all entries of a data set in its order, and those that the policy leaves out.

    Args:
        data: as annotated.
        missing: which part of the video stands for an entry without times. A gap of less than a second, or one that would
            end before it begins, is no gap: the whole recording stands for the step then.
    """
    found: list[Entry] = []
    dropped: list[Dropped] = []
    for performance in data.performances.values():
        for entry, timed in _entries(performance, data.graphs.get(performance.recording.activity_id)):
            if timed or missing != "skip":
                kept = entry if timed or missing == "gap" else _whole(entry, performance.recording)
                found.append(kept)
            else:
                kinds = ", ".join(entry.kinds) or "no mistake"
                dropped.append(Dropped(entry.id, "no_clip", f"{kinds}; --missing skip leaves it out"))
    return found, dropped


def _entries(performance: Performance, graph: TaskGraph | None) -> Iterator[tuple[Entry, bool]]:
    recording = performance.recording
    for number, (key, segment) in enumerate(zip(performance.keys, recording.segments, strict=True)):
        timed = segment.start is not None and segment.end is not None and segment.end > segment.start
        entry = Entry(
            recording.id, number, key, shown_text(segment.text), recording.activity_name, recording.activity_id,
            segment.start or 0.0, segment.end or 0.0,
            kinds=tuple(dict.fromkeys(m.kind for m in segment.mistakes)),
            before=_before(graph, segment.step_id), video=recording.video or "",
        )  # fmt: skip
        yield (entry if timed else _gap(entry, recording, graph, segment.step_id)), timed


def _before(graph: TaskGraph | None, node: str) -> tuple[str, ...]:
    if graph is None or not node:
        return ()
    actions = {step.id: step.text for step in graph.actions}
    return tuple(shown_text(actions[n]) for n in sorted(graph.predecessors(node)) if n in actions)


def _gap(entry: Entry, recording: Recording, graph: TaskGraph | None, node: str) -> Entry:
    """Place an entry without times behind what the graph has before it, and in front of what it has after it."""
    if graph is None or not node:
        return _whole(entry, recording)
    before, after = graph.ancestors(node), graph.descendants(node)
    timed = [
        (s.step_id, s.start, s.end) for s in recording.segments if s.start is not None and s.end is not None
    ]
    start = max((end for id_, _, end in timed if id_ in before), default=0.0)
    end = min((begin for id_, begin, _ in timed if id_ in after), default=_length(recording))
    return (
        replace(entry, start=start, end=end, clip="gap")
        if end - start >= _LEAST
        else _whole(entry, recording)
    )


def _whole(entry: Entry, recording: Recording) -> Entry:
    return replace(entry, start=0.0, end=_length(recording), clip="whole")


def _length(recording: Recording) -> float:
    last = max((s.end for s in recording.segments if s.end is not None), default=_LEAST)
    return recording.duration or last

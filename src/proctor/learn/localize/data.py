"""What is to be found in time: the executions of steps in whole recordings. Source: CaptainCook4D, Section 4.2.

Classes are the annotation's own step ids, never texts: some texts belong to several ids. A step without times, with times
that make no sense, of no length, outside the video, or a repetition of another execution cannot be found; it is counted and
listed. So is what is cut off at the end of the video. ``docs/localize.md`` says what the released code does instead.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from proctor.learn.samples import StepData
from proctor.metrics.localization import Segments
from proctor.metrics.localization.segments import EMPTY_LENGTH, SAME_TIME, sorted_names
from proctor.procedure.graph import TaskGraph
from proctor.procedure.recording import Segment
from proctor.records import Dropped

__all__ = ["LocalizeData", "StepSpan", "TimedRecording", "localize_data"]


@dataclass(frozen=True, slots=True)
class StepSpan:
    """One execution of a step: ``[start, end)`` in seconds, and whether it carries a mistake of any kind.

    ``step`` is the annotation's own id, ``node`` the node of the task graph, empty where the step is in none.
    """

    step: str
    node: str
    start: float
    end: float
    mistaken: bool = False


@dataclass(frozen=True, slots=True)
class TimedRecording:
    """A recording: its executions by start, its length in seconds, and whether any of its steps carries a mistake.

    A mistake of a step that was never executed (missing) makes a recording mistaken, too.
    """

    id: str
    activity_id: str
    seconds: float
    spans: tuple[StepSpan, ...]
    mistaken: bool


@dataclass(frozen=True)
class LocalizeData:
    """All recordings of a data set.

    Attributes:
        recordings: by id, in the order of the data set.
        classes: every step id that a recording has, sorted; what a localizer may predict.
        texts: instruction by step id.
        nodes: node of the task graph by (activity, step id), where the step is in it.
        graphs: task graph by activity id.
        dropped: what cannot be found, with its reason.
        changed: what was changed so that it can be found: executions cut off at an end of the video, and videos whose
            length was not known; also recordings whose features end before steps begin (``splits.with_stores``).
        name: of the data set.
        hash: of the annotations.
    """

    recordings: Mapping[str, TimedRecording]
    classes: tuple[str, ...]
    texts: Mapping[str, str]
    nodes: Mapping[tuple[str, str], str]
    graphs: Mapping[str, TaskGraph]
    dropped: tuple[Dropped, ...]
    name: str
    hash: str
    changed: tuple[Dropped, ...] = ()

    def truth(self, ids: Collection[str]) -> Segments:
        """Return the executions of these recordings as ground truth, with the column ``has_error``."""
        found = [(r, s) for r in (self.recordings[i] for i in ids) for s in r.spans]
        return Segments.of(
            [r.id for r, _ in found],
            [s.start for _, s in found],
            [s.end for _, s in found],
            [s.step for _, s in found],
            videos=ids,
            columns={"has_error": [str(int(s.mistaken)) for _, s in found]},
        )


def localize_data(data: StepData, labels: Mapping[str, str] | None = None) -> LocalizeData:
    """Return the executions of every recording of ``read_step_data``.

    Args:
        data: all steps.
        labels: class by text, as the released code trains (``reference_labels``); when None the class is the step's id.
    """
    recordings: dict[str, TimedRecording] = {}
    texts: dict[str, str] = {}
    nodes: dict[tuple[str, str], str] = {}
    # What the reader found wrong has lost its times there; it is not listed a second time as never executed.
    dropped = [d for d in data.dropped if d.reason != "no_times"]
    told = Counter(d.id for d in dropped)
    changed: list[Dropped] = []
    for performance in data.performances.values():
        recording = performance.recording
        seconds = recording.duration
        if seconds is not None and not (math.isfinite(seconds) and seconds > 0):
            seconds = None
        spans: list[StepSpan] = []
        for key, segment in zip(performance.keys, recording.segments, strict=True):
            texts.setdefault(key, segment.text)
            if segment.step_id:
                nodes.setdefault((recording.activity_id, key), segment.step_id)
            where = f"{recording.id}:{key}"
            step = key if labels is None else labels[segment.text]
            span = _span(where, step, segment, seconds, changed)
            if isinstance(span, StepSpan):
                spans.append(span)
            elif span.reason == "no_times" and told[where]:
                told[where] -= 1
            else:
                dropped.append(span)
        ordered = _without_repetitions(recording.id, spans, dropped)
        if seconds is None:
            seconds = max((s.end for s in ordered), default=0.0)
            changed.append(
                Dropped(recording.id, "no_duration", f"taken to end with its last step, at {seconds:g} s")
            )
        recordings[recording.id] = TimedRecording(
            recording.id, recording.activity_id, seconds, ordered, recording.has_mistakes
        )
    classes = tuple(
        str(name) for name in sorted_names({s.step for r in recordings.values() for s in r.spans})
    )
    return LocalizeData(
        recordings, classes, texts, nodes, data.graphs, tuple(dropped), data.name, data.hash, tuple(changed)
    )


def _span(
    where: str, step: str, segment: Segment, seconds: float | None, changed: list[Dropped]
) -> StepSpan | Dropped:
    """Return an execution inside of the video, or why there is none."""
    start, end = segment.start, segment.end
    if start is None or end is None:
        return Dropped(where, "no_times", "the step was not executed")
    seen = f"from {start:g} to {end:g} s"
    if not (math.isfinite(start) and math.isfinite(end)):
        return Dropped(where, "bad_times", seen)
    if end < start:
        return Dropped(where, "swapped", seen)
    last = end if seconds is None else seconds
    if end <= 0 or start >= last:
        return Dropped(where, "outside", f"{seen}, of a video of {last:g} s")
    inside = max(start, 0.0), min(end, last)
    if inside[1] - inside[0] < EMPTY_LENGTH:
        return Dropped(where, "no_length", seen)
    if inside != (start, end):
        changed.append(Dropped(where, "clipped", f"{seen}, of a video of {last:g} s"))
    return StepSpan(step, segment.step_id, *inside, bool(segment.mistakes))


def _without_repetitions(
    recording_id: str, spans: Sequence[StepSpan], dropped: list[Dropped]
) -> tuple[StepSpan, ...]:
    """Return executions by start, one of each that is annotated twice; it is mistaken if either is."""
    kept: list[StepSpan] = []
    for span in sorted(spans, key=lambda s: (s.start, s.end, s.step, s.mistaken)):
        for place, other in enumerate(kept):
            apart = max(abs(span.start - other.start), abs(span.end - other.end))
            if other.step == span.step and apart <= SAME_TIME:
                kept[place] = replace(other, mistaken=other.mistaken or span.mistaken)
                detail = f"from {span.start:g} to {span.end:g} s"
                dropped.append(Dropped(f"{recording_id}:{span.step}", "repeated", detail))
                break
        else:
            kept.append(span)
    return tuple(kept)

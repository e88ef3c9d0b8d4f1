"""What is to be found in time: the executions of steps in whole recordings. Source: CaptainCook4D, Section 4.2.

Classes are the annotation's own step ids, never texts: some texts belong to several ids. A step without times, or of no
length, or a repetition of another execution cannot be found; it is counted and listed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from proctor.learn.samples import StepData
from proctor.metrics.localization import Segments
from proctor.metrics.localization.segments import EMPTY_LENGTH, sorted_names
from proctor.procedure.graph import TaskGraph
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


def localize_data(data: StepData) -> LocalizeData:
    """Return the executions of every recording of ``read_step_data``."""
    recordings: dict[str, TimedRecording] = {}
    texts: dict[str, str] = {}
    nodes: dict[tuple[str, str], str] = {}
    dropped: list[Dropped] = []
    for performance in data.performances.values():
        recording = performance.recording
        spans: dict[tuple[str, float, float], StepSpan] = {}
        for key, segment in zip(performance.keys, recording.segments, strict=True):
            texts.setdefault(key, segment.text)
            if segment.step_id:
                nodes.setdefault((recording.activity_id, key), segment.step_id)
            where = f"{recording.id}:{key}"
            if segment.start is None or segment.end is None:
                dropped.append(Dropped(where, "no_times", "the step was not executed"))
            elif segment.end - segment.start < EMPTY_LENGTH:
                dropped.append(
                    Dropped(where, "no_length", f"from {segment.start:g} to {segment.end:g} seconds")
                )
            elif (key, segment.start, segment.end) in spans:
                dropped.append(
                    Dropped(where, "repeated", f"from {segment.start:g} to {segment.end:g} seconds")
                )
            else:
                spans[key, segment.start, segment.end] = StepSpan(
                    key, segment.step_id, segment.start, segment.end, bool(segment.mistakes)
                )
        ordered = tuple(sorted(spans.values(), key=lambda s: (s.start, s.end, s.step)))
        last = max((s.end for s in ordered), default=0.0)
        recordings[recording.id] = TimedRecording(
            recording.id,
            recording.activity_id,
            last if recording.duration is None else recording.duration,
            ordered,
            recording.has_mistakes,
        )
    classes = tuple(
        str(name) for name in sorted_names({s.step for r in recordings.values() for s in r.spans})
    )
    return LocalizeData(recordings, classes, texts, nodes, data.graphs, tuple(dropped), data.name, data.hash)

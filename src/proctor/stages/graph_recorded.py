"""Activities whose task graph is known, with the recordings that an inferred one is judged by.

A recording is *normal* when no step has a tag for order or for a missing step. These are the performances of the published
protocol (195 of CaptainCook4D's 384; the published list lacks ``2_28``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from proctor.datasets.dataset import guess_dataset
from proctor.errors import UserError
from proctor.procedure.graph import TaskGraph
from proctor.procedure.induce import Performance, observe_order, observe_recording
from proctor.procedure.recording import Recording
from proctor.records import Dropped

__all__ = ["Recorded", "Steps", "performances_of", "read_recorded"]

_ORDER_KINDS: Final = frozenset({"order", "missing"})

Steps = Literal["times", "list"]
"""What orders the steps of a recording: when they begin, or their place in the file of annotations."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """An activity: its graph, and all its recordings as annotated, sorted by id."""

    graph: TaskGraph
    recordings: tuple[Recording, ...]

    @property
    def normal(self) -> tuple[Recording, ...]:
        """Recordings without a tag for order or a missing step."""
        return tuple(
            r for r in self.recordings if not _ORDER_KINDS & {m.kind for s in r.segments for m in s.mistakes}
        )

    @property
    def texts(self) -> dict[str, str]:
        """Text of every step by id."""
        return {s.id: s.text for s in self.graph.actions}


def read_recorded(folder: Path) -> tuple[list[Recorded], str, list[Dropped]]:
    """Read the activities of a folder of annotations, sorted by id.

    Returns:
        The activities, the name of the data set, and what was left out: performed steps without times, or in no graph.

    Raises:
        UserError: if the data set is not known, has no graphs or no recordings as annotated, or a file cannot be read.
    """
    dataset = guess_dataset(folder)
    found = None if dataset.performances is None else dataset.performances(folder)
    if found is None or not any(graph.edges for graph in found.graphs.values()):
        raise UserError(
            f"{dataset.title} has no task graphs with recordings of them.",
            where=str(folder),
            hint="use CaptainCook4D's annotations, or a plain folder with graphs (docs/datasets/plain.md)",
        )
    dropped = list(found.dropped)
    recordings: dict[str, list[Recording]] = {id_: [] for id_ in found.graphs}
    for performance in sorted(found.all, key=lambda p: p.recording.id):
        recording = performance.recording
        graph = found.graphs.get(recording.activity_id)
        if graph is None:
            dropped.append(Dropped(recording.id, "no_task_graph", recording.activity_name))
            continue
        kept = []
        for segment, key in zip(recording.segments, performance.keys, strict=True):
            if segment.step_id not in graph:
                dropped.append(Dropped(f"{recording.id}:{key}", "not_in_graph", segment.text[:100]))
                continue
            if segment.start is None and all(m.kind != "missing" for m in segment.mistakes):
                dropped.append(Dropped(f"{recording.id}:{key}", "no_times", segment.text[:100]))
            kept.append(segment)
        recordings[recording.activity_id].append(replace(recording, segments=tuple(kept)))
    activities = [
        Recorded(found.graphs[id_], tuple(recordings[id_]))
        for id_ in sorted(found.graphs, key=lambda id_: (int(id_) if id_.isdecimal() else 0, id_))
    ]
    return activities, dataset.name, dropped


def performances_of(recordings: Sequence[Recording], steps: Steps = "times") -> list[Performance]:
    """Return recordings as performances, those without any timed step left out; the first performance of a step counts."""
    if steps == "times":
        found = [observe_recording(r) for r in recordings]
    else:
        found = [
            observe_order(r.id, (s.step_id for s in r.performed if s.start is not None)) for r in recordings
        ]
    return [p for p in found if p.spans]

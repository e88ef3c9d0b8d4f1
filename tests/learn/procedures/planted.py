"""Recordings of one procedure with planted key steps: what a way to find procedures is proven on.

Each step has a direction of its own; rows of a step are the direction, a slow drift along it, and noise, rows of the
background noise alone. Some steps change places from recording to recording, and lengths differ, so that time alone tells
little. A learner sees the rows alone.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from proctor.datasets.dataset import Performance
from proctor.learn.features.store import FeatureStore, StoreWriter
from proctor.learn.samples import Execution, StepData, StepSample
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Recording, Segment
from proctor.records import content_hash

__all__ = ["plant_procedure"]


def plant_procedure(
    folder: Path,
    *,
    recordings: int = 8,
    steps: int = 8,
    width: int = 32,
    shift: float = 2.0,
    background: float = 0.2,
    swaps: int = 2,
    activities: int = 1,
    seed: int = 0,
) -> tuple[StepData, FeatureStore]:
    """Plant procedures, and write the features, a row a second, to a folder.

    Args:
        folder: of the store.
        recordings: of each activity.
        steps: of each activity.
        width: of a row.
        shift: length of the direction of a step, in deviations of the noise.
        background: share of the time outside of steps.
        swaps: pairs of neighbours that may change places, in each recording with one chance in two.
        activities: how many.
        seed: of everything.
    """
    samples: list[StepSample] = []
    performances: dict[str, Performance] = {}
    graphs: dict[str, TaskGraph] = {}
    with StoreWriter(
        folder, width=width, seconds=1.0, modality="video", backbone="planted", source="planted steps"
    ) as writer:
        for number in range(1, activities + 1):
            generator = np.random.default_rng([seed, number])
            activity, names = str(number), [f"{number}-{step}" for step in range(1, steps + 1)]
            directions = generator.normal(size=(steps, width))
            directions *= shift / np.linalg.norm(directions, axis=1, keepdims=True)
            swapped = generator.choice(steps // 2, min(swaps, steps // 2), replace=False) * 2
            graphs[activity] = _graph(activity, names, {int(first) for first in swapped})
            for recording in range(1, recordings + 1):
                id_ = f"{activity}_{recording}"
                order = list(range(steps))
                for first in swapped.tolist():
                    if generator.random() < 0.5:
                        order[first : first + 2] = order[first : first + 2][::-1]
                rows, spans = [], []
                at = 0
                for step in order:
                    for there in (False, True):
                        usual = generator.integers(15, 60)
                        length = int(usual) if there else int(usual * background / (1 - background))
                        drift = np.linspace(0.7, 1.3, length)[:, None] * directions[step]
                        rows.append(generator.normal(size=(length, width)) + (drift if there else 0.0))
                        if there:
                            spans.append((step, float(at), float(at + length)))
                        at += length
                writer.add(id_, np.concatenate(rows))
                segments = tuple(Segment(names[s], f"Step {names[s]}", begin, end) for s, begin, end in spans)
                made = Recording(id_, activity, f"Activity {activity}", segments, float(at))
                performances[id_] = Performance(made, tuple(names[s] for s, _, _ in spans))
                samples += [
                    StepSample(id_, names[s], names[s], activity, f"Step {names[s]}", (Execution(b, e),))
                    for s, b, e in spans
                ]
    store = FeatureStore.open(folder)
    data = StepData(tuple(samples), performances, graphs, (), "planted", content_hash([samples, store.hash]))
    return data, store


def _graph(activity: str, names: list[str], swapped: set[int]) -> TaskGraph:
    """Each step after all before it, but for the pairs that change places."""
    edges, before = [], [""]
    at = 0
    while at < len(names):
        now = names[at : at + 2] if at in swapped else names[at : at + 1]
        edges += [(a, b) for a in before if a for b in now]
        before, at = now, at + len(now)
    return TaskGraph(
        activity, f"Activity {activity}", tuple(Step(n, f"Step {n}") for n in names), tuple(edges)
    )

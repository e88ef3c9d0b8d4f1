"""Made recordings of two recipes with planted mistakes, for tests of what learns from times and graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from proctor.learn.samples import Division, Execution, StepData, StepSample
from proctor.procedure.graph import Step, TaskGraph

TEXTS = (
    "Chop 2 onions",
    "Heat the pan",
    "Fry for 2 minutes",
    "Add salt",
    "Stir",
    "Taste",
    "Serve",
    "Wash up",
)
EDGES = ((0, 2), (1, 2), (2, 3), (2, 4), (3, 5), (4, 5), (5, 6), (6, 7))


def make_graph(activity: str) -> TaskGraph:
    """Make a graph of eight steps that joins, forks and joins again."""
    steps = tuple(Step(f"n{i}", text) for i, text in enumerate(TEXTS))
    return TaskGraph(activity, f"Recipe {activity}", steps, tuple((f"n{a}", f"n{b}") for a, b in EDGES))


def make_data(seed: int = 0, recordings: int = 40) -> tuple[StepData, Division]:
    """Make recordings of which about half hold mistakes.

    These are one step begun too early, steps that take thrice as long, and mistakes of technique, which only the rest of the
    recording tells.
    """
    rng = np.random.default_rng(seed)
    graphs = {activity: make_graph(activity) for activity in ("1", "2")}
    samples: list[StepSample] = []
    for n in range(recordings):
        samples += _make_recording(rng, f"{1 + n % 2}_{n}", str(1 + n % 2), mistaken=rng.random() < 0.5)
    data = StepData(tuple(samples), {}, graphs, (), "made", "0")
    home = {name: min(i * 5 // recordings, 4) for i, name in enumerate(dict.fromkeys(data.recordings))}
    part = np.array([home[r] for r in data.recordings])
    places = [np.flatnonzero(part < 3), np.flatnonzero(part == 3), np.flatnonzero(part == 4)]
    return data, Division("R", *places)


def _make_recording(rng: np.random.Generator, name: str, activity: str, mistaken: bool) -> list[StepSample]:
    order = [0, 1, 2, 3, 4, 5, 6, 7] if rng.random() < 0.5 else [1, 0, 2, 4, 3, 5, 6, 7]
    early = int(rng.integers(2, 7)) if mistaken else -1
    if mistaken:
        order.remove(early)
        order.insert(0, early)
    now, samples = 5.0 * rng.random(), []
    for i in order:
        slow = mistaken and rng.random() < 0.3
        usual = (10 + 5 * i) * (1 if activity == "1" else 2)
        seconds = float(usual * np.exp(0.2 * rng.normal()) * (3 if slow else 1))
        clumsy = mistaken and rng.random() < 0.3
        planted = {"order": i == early, "timing": slow, "technique": clumsy}
        kinds = tuple(kind for kind, here in planted.items() if here)
        executions = [Execution(now, now + seconds, kinds)]
        if rng.random() < 0.1:
            executions.append(Execution(now + seconds + 1, now + seconds + 4))
        samples.append(StepSample(name, f"{activity}{i}", f"n{i}", activity, TEXTS[i], tuple(executions)))
        now = executions[-1].end + 4 * rng.random() - 1
    return samples


def with_samples(data: StepData, samples: Sequence[StepSample]) -> StepData:
    """Exchange the samples."""
    return replace(data, samples=tuple(samples))


def renamed(data: StepData, names: Mapping[str, str]) -> StepData:
    """Give recordings other names."""
    return with_samples(data, [replace(s, recording_id=names[s.recording_id]) for s in data.samples])


def flipped(data: StepData, recording_id: str) -> StepData:
    """Make every normal execution of a recording a mistake of technique, and every other a normal one."""
    return with_samples(
        data,
        [
            s
            if s.recording_id != recording_id
            else replace(
                s,
                executions=tuple(replace(e, kinds=() if e.kinds else ("technique",)) for e in s.executions),
            )
            for s in data.samples
        ],
    )

"""Made recordings whose rows show which step is performed, for tests of what finds steps in time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from proctor.learn.features.store import FeatureStore, StoreWriter
from proctor.learn.localize.data import LocalizeData, StepSpan, TimedRecording
from proctor.learn.localize.localizer import LocalizeTask
from proctor.records import content_hash

WIDTH = 8


@dataclass(frozen=True)
class Made:
    """A task, and the store of its features."""

    task: LocalizeTask
    store: FeatureStore


def make(
    folder: Path, recordings: int = 12, classes: int = 4, rows: int = 80, noise: float = 0.3, seed: int = 0
) -> Made:
    """Make recordings in which each step is performed once, in an order of chance, with pauses; a row a second."""
    generator = np.random.default_rng(seed)
    looks = generator.normal(size=(classes, WIDTH))
    found: dict[str, TimedRecording] = {}
    with StoreWriter(
        folder / "rows", width=WIDTH, seconds=1.0, modality="video", backbone="made", source="a test"
    ) as writer:
        for n in range(recordings):
            each = rows + int(generator.integers(0, 20))
            x = generator.normal(size=(each, WIDTH)) * noise
            spans, now = [], float(generator.uniform(0, 5))
            for step in generator.permutation(classes).tolist():
                end = now + float(generator.uniform(6, rows / classes - 5))
                spans.append(StepSpan(str(step + 1), "", now, end))
                x[int(now + 0.5) : int(end + 0.5)] += looks[step]
                now = end + float(generator.uniform(1, 4))
            found[f"r{n:02}"] = TimedRecording(f"r{n:02}", "1", float(each), tuple(spans), mistaken=False)
            writer.add(f"r{n:02}", x.astype(np.float16))
    names = tuple(str(c + 1) for c in range(classes))
    data = LocalizeData(found, names, {}, {}, {}, (), "made", content_hash([recordings, classes, rows, seed]))
    ids = list(found)
    a, b = recordings * 2 // 3, recordings * 5 // 6
    task = LocalizeTask(data, tuple(ids[:a]), tuple(ids[a:b]), tuple(ids[b:]))
    return Made(task, FeatureStore.open(folder / "rows"))

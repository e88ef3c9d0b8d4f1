"""Recordings whose frames follow smooth curves in a few directions, but for the planted mistakes, which leave these."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from proctor.datasets.dataset import Performance
from proctor.learn.features.store import FeatureStore, StoreWriter
from proctor.learn.samples import Division, Execution, StepData, StepSample
from proctor.procedure.recording import Mistake, Recording, Segment

WIDTH = 16
STEPS = 4
SHAPE = (16, 4, 4)


def planted(
    folder: Path,
    *,
    strength: float,
    recordings: int = 24,
    seed: int = 0,
    shape: tuple[int, ...] = (),
    apart: float = 1.0,
) -> tuple[StepData, Division, FeatureStore]:
    """Make data and a store: one recording of two has a mistake, the frames of which are ``strength`` deviations off.

    Args:
        folder: for the store.
        strength: 0 for mistakes that nobody can see.
        recordings: half to train, a quarter each to choose and test.
        seed: of everything.
        shape: of maps; vectors when empty.
        apart: how different the steps look.
    """
    rng = np.random.default_rng(seed)
    directions = np.linalg.qr(rng.normal(size=(WIDTH, WIDTH)))[0]
    of_step = apart * rng.normal(size=(STEPS, 4))
    samples: list[StepSample] = []
    performances: dict[str, Performance] = {}
    width = int(np.prod(shape)) if shape else WIDTH
    about = {"width": width, "seconds": 1.0, "modality": "video", "backbone": "made", "source": "made"}
    with StoreWriter(folder, **about, shape=shape) as store:  # type: ignore[arg-type]
        for n in range(recordings):
            id_ = f"1_{n}"
            wrong = int(rng.integers(STEPS)) if n % 2 else -1
            inner = np.zeros((0, 4))
            segments = []
            off: list[float] = [0.0] * 5  # background
            codes = [0] * 5
            for step in rng.permutation(STEPS).tolist():
                seconds = int(rng.integers(15, 30))
                kinds = ("technique",) if step == wrong else ()
                start = float(len(off))
                segment = Segment(
                    str(step), f"step {step}", start, start + seconds, None, tuple(map(Mistake, kinds))
                )
                segments.append(segment)
                samples.append(
                    StepSample(
                        id_, str(step), str(step), "1", "", (Execution(start, start + seconds, kinds),)
                    )
                )
                off += [strength if kinds else 0.0] * seconds
                codes += [step] * seconds
            frames = len(off)
            inner = np.zeros((frames, 4))
            for t in range(1, frames):
                inner[t] = 0.95 * inner[t - 1] + np.sqrt(1 - 0.95**2) * rng.normal(size=4)
            inner += of_step[codes]
            noise = 0.3 * rng.normal(size=(frames, WIDTH))
            rows = inner @ directions[:4] + noise + 0.3 * np.array(off)[:, None] * directions[4]
            if shape:
                rows = np.maximum(_as_maps(rows, shape, rng), 0).reshape(frames, -1)
            store.add(id_, rows)
            recording = Recording(id_, "1", "made", tuple(segments), float(frames))
            performances[id_] = Performance(recording, tuple(s.step_id for s in segments))
    home = np.array([min(4 * int(s.recording_id[2:]) // recordings, 3) for s in samples])
    data = StepData(tuple(samples), performances, {}, (), "made", "0")
    parts = [np.flatnonzero(home < 2), np.flatnonzero(home == 2), np.flatnonzero(home == 3)]
    return data, Division("R", *parts), FeatureStore.open(folder)


def _as_maps(rows: np.ndarray, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Spread each vector over the places of a map, with a little noise."""
    noise = 0.1 * rng.normal(size=(len(rows), *shape))
    maps: np.ndarray = rows[:, :, None, None] + 2.0 + noise
    return maps

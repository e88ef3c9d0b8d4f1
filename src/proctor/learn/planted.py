"""Steps and features with a planted signal whose best possible recognition is known: what a recogniser is proven on.

Rows are Gaussian noise. In a mistaken step each row carries, with a known chance, a shift of known size in one hidden
direction; nothing else differs. The best recogniser is the likelihood ratio of the step (Neyman and Pearson), which is known
here, and so its ROC-AUC on these very steps, the Bayes AUC, is too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from proctor.learn.features.store import FeatureStore, Modality, StoreWriter
from proctor.learn.recogniser import Task
from proctor.learn.samples import Division, Execution, StepData, StepSample
from proctor.metrics.classification import roc_auc
from proctor.records import content_hash

__all__ = ["DIFFICULTIES", "Difficulty", "Planted", "plant", "shuffled"]

Floats = NDArray[np.float64]

MODALITIES: Final[tuple[Modality, ...]] = ("video", "audio", "text", "depth")


@dataclass(frozen=True)
class Difficulty:
    """How strongly a mistake shows.

    Attributes:
        share: of the rows of a mistaken step that carry the signal.
        shift: its size, in standard deviations of the noise; divided among the modalities by their squares.
    """

    share: float
    shift: float


DIFFICULTIES: Final = {
    "easy": Difficulty(0.5, 1.6),
    "medium": Difficulty(0.4, 1.1),
    "hard": Difficulty(0.35, 0.8),
}


@dataclass(frozen=True)
class Planted:
    """What was planted.

    Attributes:
        task: half of the recordings train, a sixth chooses, a third tests.
        stores: one for each modality.
        ratios: log likelihood ratio of each step, as far as it is observed; shape (samples,).
        bayes: ROC-AUC of these on the test part: nobody does better, but by luck.
    """

    task: Task
    stores: tuple[FeatureStore, ...]
    ratios: Floats
    bayes: float

    def share(self, auc: float) -> float:
        """Return how much of what can be recognised a model does: 0 is chance, 1 the Bayes AUC."""
        return (auc - 0.5) / (self.bayes - 0.5)


def plant(
    folder: Path,
    difficulty: Difficulty | Literal["easy", "medium", "hard"],
    *,
    recordings: int = 120,
    steps: int = 10,
    width: int = 32,
    modalities: int = 1,
    lengths: tuple[int, int] = (8, 40),
    seed: int = 0,
) -> Planted:
    """Plant a signal, and write the features below a folder.

    Args:
        folder: for the stores.
        difficulty: of DIFFICULTIES, or another one.
        recordings: at least six.
        steps: of each recording; one in five has two executions.
        width: of a row of each modality.
        modalities: one store each; the signal shows in all of them at once.
        lengths: rows of an execution, at least and at most.
        seed: of everything.
    """
    how = DIFFICULTIES[difficulty] if isinstance(difficulty, str) else difficulty
    generator = np.random.default_rng(seed)
    directions = generator.normal(size=(modalities, width))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    directions *= how.shift / np.sqrt(modalities)
    samples: list[StepSample] = []
    ratios: list[float] = []
    rows: list[tuple[str, Floats]] = []
    for number in range(recordings):
        name = f"{number % 24 + 1}_{number}"
        made, found, noise = _recording(name, generator, how.share, directions, steps, lengths)
        samples += made
        ratios += found
        rows.append((name, noise))
    stores = tuple(_store(folder / m, m, rows, i) for i, m in enumerate(MODALITIES[:modalities]))
    data = StepData(tuple(samples), {}, {}, (), "planted", content_hash([samples, [s.hash for s in stores]]))
    division = _divided(data)
    task = Task(data, division, data.labels(), seed)
    bayes = roc_auc(task.target[division.test], np.array(ratios)[division.test]).value
    return Planted(task, stores, np.array(ratios), bayes)


def shuffled(planted: Planted, seed: int = 0) -> Task:
    """Return the task with its labels dealt out anew among the steps of each part: nothing is left to be recognised."""
    generator = np.random.default_rng(seed)
    target = planted.task.target.copy()
    for part in ("train", "val", "test"):
        places = planted.task.division[part]
        target[places] = generator.permutation(target[places])
    return replace(planted.task, target=target)


def _recording(
    name: str,
    generator: np.random.Generator,
    share: float,
    directions: Floats,
    steps: int,
    lengths: tuple[int, int],
) -> tuple[list[StepSample], list[float], Floats]:
    """Draw the steps of a recording, their log likelihood ratios, and all rows, shape (T, modalities, width)."""
    samples: list[StepSample] = []
    ratios: list[float] = []
    noise: list[Floats] = []
    at = 0
    for step in range(steps):
        mistaken = bool(generator.random() < 0.35)
        executions: list[Execution] = []
        ratio = 0.0
        for _ in range(2 if generator.random() < 0.2 else 1):
            n = int(generator.integers(lengths[0], lengths[1] + 1))
            rows = generator.normal(size=(n, *directions.shape))
            if mistaken:
                rows += (generator.random(n) < share)[:, None, None] * directions
            # log of the mean of e^(x·d - |d|²/2) with the chance of a signal, and of 1 without
            exponent = np.einsum("nmw,mw->n", rows, directions) - (directions**2).sum() / 2
            ratio += float(np.logaddexp(np.log1p(-share), np.log(share) + exponent).sum())
            noise.append(rows)
            executions.append(Execution(float(at), float(at + n), ("technique",) if mistaken else ()))
            at += n
        samples.append(StepSample(name, str(step), "", name.split("_")[0], f"Step {step}", tuple(executions)))
        ratios.append(ratio)
    return samples, ratios, np.concatenate(noise)


def _store(path: Path, modality: Modality, rows: Sequence[tuple[str, Floats]], place: int) -> FeatureStore:
    width = rows[0][1].shape[2]
    with StoreWriter(
        path, width=width, seconds=1.0, modality=modality, backbone="planted", source="planted signal"
    ) as writer:
        for name, one in rows:
            writer.add(name, one[:, place])
    return FeatureStore.open(path)


def _divided(data: StepData) -> Division:
    homes = ["train"] * 3 + ["val"] + ["test"] * 2
    part = [homes[int(r.split("_")[1]) % 6] for r in data.recordings]
    train, val, test = (
        np.array([i for i, p in enumerate(part) if p == name], np.int64) for name in ("train", "val", "test")
    )
    return Division("planted", train, val, test)

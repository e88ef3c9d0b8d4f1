"""Frames of recordings, which of them are anomalous, and what detectors may learn from: normal recordings alone.

A frame is one row of a feature store: a vector, or a map of (channels, height, width). It is anomalous when its middle
lies inside an execution that carries a mistake; all executions of a step count, overlapping ones too (CaptainCook4D, Peddi
et al. 2024, Section 4.1). A recording is normal when nothing in it is a mistake, not even a step that was left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.learn.features.store import FeatureStore
from proctor.learn.samples import Division, StepData, StepSample
from proctor.records import Dropped

__all__ = [
    "BACKGROUND",
    "Detector",
    "FrameTask",
    "Normalisation",
    "RecordingFrames",
    "frame_task",
    "normal_recordings",
]

Floats = NDArray[np.float64]
Rows = NDArray[np.float32]

BACKGROUND: Final = -1
"""In place of a step, for frames outside of every step."""

_CHUNK: Final = 4_096
"""Rows of a store that are looked at together."""

_AGAIN: Final = "convert or extract the features once more; proctor features check shows what is wrong"


def normal_recordings(data: StepData) -> frozenset[str]:
    """Return the recordings without any mistake, whatever their number says they were meant to be."""
    return frozenset(
        id_ for id_, p in data.performances.items() if not any(s.mistakes for s in p.recording.segments)
    )


@dataclass(frozen=True)
class RecordingFrames:
    """What is true of the frames of one recording.

    Attributes:
        id: of the recording.
        step: place in ``StepData.samples`` of the step that each frame is in, the one that began last where steps
            overlap; ``BACKGROUND`` outside; shape (frames,).
        mistaken: whether the frame is inside an execution with a mistake; shape (frames,).
        inside: by place of a step, which frames are in one of its executions; shape (frames,) each.
    """

    id: str
    step: NDArray[np.int64]
    mistaken: NDArray[np.bool_]
    inside: Mapping[int, NDArray[np.bool_]]

    @classmethod
    def of(
        cls, id_: str, steps: Sequence[tuple[int, StepSample]], frames: int, seconds: float
    ) -> RecordingFrames:
        """Label frames.

        Args:
            id_: of the recording.
            steps: its samples with their places.
            frames: how many there are.
            seconds: from one frame to the next; the first begins at 0.
        """
        middle = (np.arange(frames) + 0.5) * seconds
        step = np.full(frames, BACKGROUND, np.int64)
        mistaken = np.zeros(frames, np.bool_)
        inside = {place: np.zeros(frames, np.bool_) for place, _ in steps}
        executions = [(e.start, place, e) for place, sample in steps for e in sample.executions]
        for start, place, execution in sorted(executions, key=lambda found: found[:2]):
            here = (middle >= start) & (middle < execution.end)
            step[here] = place
            inside[place] |= here
            if execution.kinds:
                mistaken |= here
        return cls(id_, step, mistaken, inside)


@dataclass(frozen=True)
class FrameTask:
    """What anomalies are to be found in.

    Attributes:
        data: all steps.
        store: of features; of the recordings below it has rows.
        train: normal recordings of the training part: all that may be learned from.
        choose: normal recordings of the validation part: what training is stopped by.
        val: all recordings of the validation part.
        test: all recordings of the test part.
        frames: by recording.
        dropped: recordings and steps that the store has no rows of.
        seed: of everything that draws.
    """

    data: StepData
    store: FeatureStore
    train: tuple[str, ...]
    choose: tuple[str, ...]
    val: tuple[str, ...]
    test: tuple[str, ...]
    frames: Mapping[str, RecordingFrames]
    dropped: tuple[Dropped, ...]
    seed: int = 0

    @property
    def channels(self) -> int:
        """Numbers of a vector, or channels of a map."""
        return self.store.shape[0] if self.store.shape else self.store.width

    def rows(self, id_: str) -> NDArray[np.float16]:
        """Return the features of a recording as they are in the store, (frames, width) or (frames, C, H, W)."""
        rows = self.store.rows(id_)
        return rows.reshape(-1, *self.store.shape) if self.store.shape else rows

    def vectors(self, id_: str) -> Iterator[tuple[slice, Rows]]:
        """Yield the frames of a recording as vectors, (frames, channels), in parts; of maps the mean over their places."""
        rows = self.rows(id_)
        for first in range(0, len(rows), _CHUNK):
            part = np.asarray(rows[first : first + _CHUNK], np.float32)
            yield slice(first, first + len(part)), part.mean((2, 3)) if part.ndim == 4 else part

    def steps(self, id_: str) -> NDArray[np.str_]:
        """Return the id of the step of each frame, the same in all recordings; empty in the background."""
        ids = [sample.step for sample in self.data.samples]
        return np.array(
            [ids[place] if place != BACKGROUND else "" for place in self.frames[id_].step], np.str_
        )


class Detector(Protocol):
    """Learns what is normal from ``train``, stops by ``choose``, and never looks at a label."""

    name: str
    fallen: dict[str, int]
    """By recording that was scored, frames that were not compared with their own step, as was asked."""

    def fit(self, task: FrameTask) -> Mapping[str, object]:
        """Learn; returns what was learned from and chosen, for the run's record."""
        ...

    def scores(self, id_: str) -> Floats:
        """Return how far each frame of a recording is from the normal; shape (frames,)."""
        ...


@dataclass(frozen=True)
class Normalisation:
    """Mean and standard deviation of each channel over normal training frames; 1 for channels that never change."""

    mean: Rows
    deviation: Rows

    @classmethod
    def of(cls, task: FrameTask) -> Normalisation:
        """Measure, in two passes over the training recordings that hold a part of one recording in memory."""
        frames = sum(len(task.frames[id_].step) for id_ in task.train)
        total = np.zeros(task.channels)
        for id_ in task.train:
            for _, part in task.vectors(id_):
                total += part.sum(0, dtype=np.float64)
        mean = total / frames
        squares = np.zeros(task.channels)
        for id_ in task.train:
            for _, part in task.vectors(id_):
                squares += ((part - mean) ** 2).sum(0)
        deviation = np.sqrt(squares / frames)
        deviation[deviation < 1e-6 * np.maximum(1.0, np.abs(mean))] = 1.0
        return cls(mean.astype(np.float32), deviation.astype(np.float32))

    def apply(self, rows: Rows) -> Rows:
        """Return rows (frames, channels) with mean 0 and deviation 1, as far as they are normal."""
        return (rows - self.mean) / self.deviation


def frame_task(data: StepData, division: Division, store: FeatureStore, seed: int = 0) -> FrameTask:
    """Label the frames of all recordings and choose what may be learned from.

    Raises:
        UserError: if the store has nothing of a part, or holds what is no number, or a part has no normal recording to learn
            or choose from.
    """
    if division.split == "S":
        raise UserError(
            "the split S divides the steps of each recording, so no recording is whole in a part.",
            where="--split",
            hint="use R, P or E",
        )
    of_recording: dict[str, list[tuple[int, StepSample]]] = {}
    for place, sample in enumerate(data.samples):
        of_recording.setdefault(sample.recording_id, []).append((place, sample))
    dropped: list[Dropped] = []
    frames: dict[str, RecordingFrames] = {}
    parts: dict[str, tuple[str, ...]] = {}
    for part, places in (("train", division.train), ("val", division.val), ("test", division.test)):
        there = []
        for id_ in dict.fromkeys(data.samples[i].recording_id for i in places):
            rows = len(store.rows(id_)) if id_ in store else 0
            if not rows:
                dropped.append(Dropped(id_, "no_features", f"recording of the part '{part}'"))
                continue
            there.append(id_)
            _require_numbers(store, id_)
            frames[id_] = RecordingFrames.of(id_, of_recording[id_], rows, store.seconds)
            short = [data.samples[p].id for p, inside in frames[id_].inside.items() if not inside.any()]
            dropped += [
                Dropped(step, "no_frames", f"{rows} rows of {store.seconds:g} s end before it")
                for step in short
            ]
        if not there:
            raise UserError(
                f"the store has no recording of the part '{part}' of the split {division.split}.",
                where=str(store.path),
            )
        parts[part] = tuple(there)
    normal = normal_recordings(data)
    train, choose = (tuple(id_ for id_ in parts[part] if id_ in normal) for part in ("train", "val"))
    for part, found in (("train", train), ("val", choose)):
        if not found:
            raise UserError(
                f"no recording of the part '{part}' with features is free of mistakes, so what is normal cannot be "
                + ("learned." if part == "train" else "checked while learning."),
                where=str(store.path),
                hint="add features of normal recordings, or use another split",
            )
    return FrameTask(data, store, train, choose, parts["val"], parts["test"], frames, tuple(dropped), seed)


def _require_numbers(store: FeatureStore, id_: str) -> None:
    rows = store.rows(id_)
    for first in range(0, len(rows), _CHUNK):
        if not np.isfinite(rows[first : first + _CHUNK]).all():
            raise UserError(
                f"the features of recording '{id_}' hold what is no number.",
                where=str(store.path),
                hint=_AGAIN,
            )

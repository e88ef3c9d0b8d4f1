"""Steps guessed from the recipe and the length of a recording alone: what a localizer that sees pixels has to beat.

The model holds no weights. Every execution of a step in the training recordings of the same activity is carried over to the
length of the recording: when it begins and ends relative to the whole, or how long it lasts in seconds, or between the two.
These are samples of where the step may be. Guesses are taken from among them, each time the one that hits most of the
samples that no former guess hits: the first is the usual place, the next are other places (modes). The score of a guess is
the share of the training recordings, near in length counting more, whose execution it newly hits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.learn.localize.data import LocalizeData
from proctor.learn.localize.localizer import LocalizeTask
from proctor.metrics.localization import TIOU, Segments, localization_scores
from proctor.metrics.temporal import temporal_ious

__all__ = ["StepPrior"]

Floats = NDArray[np.float64]

_GUESSES: Final = 10
"""Of one step in one recording, at most."""
_FOLDS: Final = 5
"""Of the training recordings, where no validation part is there to choose on."""
_SHORTEST: Final = 0.05
"""Seconds; shorter guesses are left out."""


class _Setting(NamedTuple):
    """What is chosen.

    Attributes:
        stretch: 1 lets durations grow with the recording, 0 keeps their seconds.
        nearness: by what a recording counts less whose length differs by this factor's logarithm; infinite for not at all.
    """

    stretch: float
    nearness: float


_GRID: Final = tuple(_Setting(s, n) for s in (0.0, 0.5, 1.0) for n in (0.2, 0.4, np.inf))


@dataclass(frozen=True)
class _Samples:
    """Executions of one step in training recordings of one activity: middle (share of the recording), seconds, and whose.

    All of shape (n,); ``recording`` numbers the recordings of the activity, whose lengths are ``lengths``.
    """

    middle: Floats
    seconds: Floats
    recording: NDArray[np.int64]


@dataclass(frozen=True)
class _Activity:
    lengths: Floats
    steps: Mapping[str, _Samples]


class StepPrior:
    """The localizer; see the module."""

    name = "prior"

    def __init__(self) -> None:
        self._data: LocalizeData | None = None
        self._activities: Mapping[str, _Activity] = {}
        self._setting = _GRID[0]

    def fit(self, task: LocalizeTask) -> Mapping[str, object]:
        """Count; how durations stretch and whose length counts is chosen by mAP, on ``val`` or in folds of ``train``.

        Raises:
            UserError: if no recording that is trained on has a timed step.
        """
        if not any(task.data.recordings[i].spans for i in task.train):
            raise UserError(
                "no recording that is trained on has a timed step.", hint="check annotations and split"
            )
        self._data = task.data
        folds = [(task.train, task.val)] if task.val else _folds(task.data, task.train)
        reached = [np.mean([self._tried(s, *fold) for fold in folds]) for s in _GRID]
        best = int(np.argmax(reached))
        self._setting = _GRID[best]
        self._activities = _counted(task.data, task.train)
        return {
            "stretch": self._setting.stretch,
            "nearness": None if np.isinf(self._setting.nearness) else self._setting.nearness,
            "chosen_on": "val" if task.val else f"{len(folds)} folds of train",
            "chosen_by": "average mAP",
            "reached": float(reached[best]),
        }

    def predict(self, ids: Sequence[str]) -> Segments:
        """Return guesses for these recordings; none for one whose activity was not trained on."""
        assert self._data is not None, "fit first"
        return _guessed(self._data, ids, self._activities, self._setting)

    def _tried(self, setting: _Setting, train: Sequence[str], val: Sequence[str]) -> float:
        assert self._data is not None
        truth = self._data.truth(val)
        if not len(truth):
            return 0.0
        return localization_scores(
            truth, _guessed(self._data, val, _counted(self._data, train), setting)
        ).average_map


def _folds(data: LocalizeData, ids: Sequence[str]) -> list[tuple[list[str], list[str]]]:
    """Deal the recordings of each activity out in turn, in the order of their ids, which no input order changes."""
    place: dict[str, int] = {}
    counts: dict[str, int] = {}
    for id_ in sorted(ids):
        activity = data.recordings[id_].activity_id
        place[id_] = counts.get(activity, 0) % _FOLDS
        counts[activity] = counts.get(activity, 0) + 1
    return [
        ([i for i in ids if place[i] != fold], [i for i in ids if place[i] == fold])
        for fold in range(_FOLDS)
        if fold in place.values()
    ]


def _counted(data: LocalizeData, ids: Sequence[str]) -> dict[str, _Activity]:
    groups: dict[str, list[str]] = {}
    for id_ in sorted(ids):
        if data.recordings[id_].seconds > 0:
            groups.setdefault(data.recordings[id_].activity_id, []).append(id_)
    found = {}
    for activity, members in groups.items():
        lengths = np.array([data.recordings[i].seconds for i in members])
        rows: dict[str, list[tuple[float, float, int]]] = {}
        for number, id_ in enumerate(members):
            for span in data.recordings[id_].spans:
                middle = (span.start + span.end) / 2 / lengths[number]
                rows.setdefault(span.step, []).append((middle, span.end - span.start, number))
        steps = {
            step: _Samples(
                np.array([m for m, _, _ in r]), np.array([s for _, s, _ in r]), np.array([n for _, _, n in r])
            )
            for step, r in rows.items()
        }
        found[activity] = _Activity(lengths, steps)
    return found


def _guessed(
    data: LocalizeData, ids: Sequence[str], activities: Mapping[str, _Activity], setting: _Setting
) -> Segments:
    video: list[str] = []
    label: list[str] = []
    parts: list[Floats] = []
    for id_ in ids:
        recording = data.recordings[id_]
        activity = activities.get(recording.activity_id)
        if activity is None or not recording.seconds > 0:
            continue
        far = np.log(recording.seconds / activity.lengths) / setting.nearness
        weight = np.exp(-(far**2) / 2)
        # With nobody near, every recording counts alike.
        weight = weight / weight.sum() if weight.sum() > 1e-12 else np.full(len(weight), 1 / len(weight))
        for step, samples in activity.steps.items():
            guesses = _guesses(samples, weight, recording.seconds, activity.lengths, setting.stretch)
            parts.append(guesses)
            video += [id_] * len(guesses)
            label += [step] * len(guesses)
    table = np.concatenate(parts) if parts else np.zeros((0, 3))
    return Segments.of(video, table[:, 0], table[:, 1], label, table[:, 2], videos=ids)


def _guesses(samples: _Samples, weight: Floats, seconds: float, lengths: Floats, stretch: float) -> Floats:
    """Return guesses of one step in a recording of this length: start, end and score; shape (guesses, 3)."""
    long = samples.seconds * (seconds / lengths[samples.recording]) ** stretch
    middle = samples.middle * seconds
    start, end = np.clip(middle - long / 2, 0, seconds), np.clip(middle + long / 2, 0, seconds)
    iou = temporal_ious(start[:, None], end[:, None], start, end)
    # How many of the thresholds of the metric are reached, as a share: a guess that lies better is worth more.
    worth = (iou[:, :, None] >= np.array(TIOU)).mean(axis=2)
    own = weight[samples.recording]
    left = np.ones(len(own))
    chosen: list[tuple[float, float, float]] = []
    for _ in range(min(_GUESSES, len(own))):
        gain = np.minimum(worth, left) @ own
        best = int(np.argmax(gain))
        if gain[best] <= 1e-9:
            break
        chosen.append((start[best], end[best], gain[best]))
        left = np.maximum(left - worth[best], 0)
    found: Floats = np.array([row for row in chosen if row[1] - row[0] > _SHORTEST]).reshape(-1, 3)
    return found

"""What training recordings tell of each step: how often it goes wrong, how long it takes, what mostly comes before it.

A training sample must not see its own label, so the recordings are dealt into folds and each learns its tables from the
other folds; recordings of ``val`` and ``test`` use the tables of all training recordings. Leaving out one recording at a
time would not do: a rate that lacks one label tells that label. Folds follow the order of the data, never the name of a
recording, since its number tells what the script intended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from proctor.learn.samples import KINDS, StepData

__all__ = ["FOLDS", "Histories", "History", "StepKeys", "fold_recordings", "learn_histories", "learn_history"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Places = NDArray[np.int64]

FOLDS: Final = 8
"""Parts that the training recordings are dealt into: 24 recipes of about 12 recordings, so every part has most recipes."""

STRENGTH: Final = 4.0
"""Executions with the overall rate that are added to each step's own (about 11 of a step are in training)."""

_LEAST_SCATTER: Final = 0.15
"""Of log seconds, about 15 %: a step that was timed alike twice must not make every other length an oddity."""


@dataclass(frozen=True)
class StepKeys:
    """Numbers of the annotation's step ids and of the activities, in the order of the data.

    Attributes:
        step: number of each sample's step; shape (samples,).
        activity: number of each sample's activity; shape (samples,).
        steps: number by step id.
        activities: number by activity id.
    """

    step: Places
    activity: Places
    steps: Mapping[str, int]
    activities: Mapping[str, int]

    @classmethod
    def of(cls, data: StepData) -> StepKeys:
        """Number what a data set holds."""
        steps: dict[str, int] = {}
        activities: dict[str, int] = {}
        step = [steps.setdefault(s.step, len(steps)) for s in data.samples]
        activity = [activities.setdefault(s.activity_id, len(activities)) for s in data.samples]
        return cls(np.array(step, np.int64), np.array(activity, np.int64), steps, activities)


@dataclass(frozen=True)
class History:
    """Tables of one set of training samples.

    Attributes:
        rate: of mistakes by step, smoothed towards the overall rate; shape (steps,).
        kinds: likewise of each kind; shape (steps, kinds), columns as ``samples.KINDS``.
        recipe: likewise of any mistake by activity; shape (activities,).
        count: samples of each step; shape (steps,).
        usual: median of the log seconds of a normal execution; shape (steps,).
        scatter: robust standard deviation of the log seconds; shape (steps,).
        rank: median share of the recording's executions that began before the step; shape (steps,).
        earlier: ``earlier[a, b]`` is how often a begins before b where both are done, smoothed to one half; shape
            (steps, steps).
    """

    rate: Floats
    kinds: Floats
    recipe: Floats
    count: Floats
    usual: Floats
    scatter: Floats
    rank: Floats
    earlier: Floats


@dataclass(frozen=True)
class Histories:
    """A table for each fold of training recordings, without that fold, and one of all for the others."""

    whole: History
    without: tuple[History, ...]
    fold: Mapping[str, int]

    def of(self, recording_id: str) -> History:
        """Return what may be known of steps when this recording is looked at."""
        fold = self.fold.get(recording_id)
        return self.whole if fold is None else self.without[fold]


def fold_recordings(data: StepData, places: Places, seed: int, folds: int = FOLDS) -> dict[str, int]:
    """Deal the recordings of these samples into folds, each activity evenly; returns the fold by recording."""
    rng = np.random.default_rng((seed, 16))
    groups: dict[str, dict[str, None]] = {}
    for place in places:
        sample = data.samples[place]
        groups.setdefault(sample.activity_id, {})[sample.recording_id] = None
    dealt: dict[str, int] = {}
    for group in groups.values():
        names = list(group)
        for place in rng.permutation(len(names)):
            dealt[names[place]] = len(dealt) % folds
    return dealt


def learn_histories(
    data: StepData, places: Places, target: Bools, seed: int, folds: int = FOLDS, keys: StepKeys | None = None
) -> Histories:
    """Learn tables for every fold of the training samples, and for everyone else.

    Args:
        data: all samples.
        places: of the training samples.
        target: whether each sample of the data counts as a mistake; only those at ``places`` are looked at.
        seed: of the dealing of folds.
        folds: at least two.
        keys: of the data, where they are known.
    """
    keys = keys or StepKeys.of(data)
    fold = fold_recordings(data, places, seed, folds)
    home = np.array([fold[data.samples[p].recording_id] for p in places])
    without = tuple(
        learn_history(data, places[home != f], target, keys) for f in range(max(fold.values()) + 1)
    )
    return Histories(learn_history(data, places, target, keys), without, fold)


def learn_history(
    data: StepData,
    places: Places,
    target: Bools,
    keys: StepKeys,
    normal: Literal["executions", "recordings"] = "executions",
) -> History:
    """Learn the tables of these samples.

    Args:
        data: all samples.
        places: which of them are looked at.
        target: by sample of the data.
        keys: of the data.
        normal: whose lengths are usual: those of normal executions, or of recordings without any mistake.
    """
    n = len(keys.steps)
    step = keys.step[places]
    count = np.bincount(step, minlength=n).astype(np.float64)
    kinds = np.stack([data.of_kind(kind)[places] for kind in KINDS], axis=1)
    columns = [_rates(step, column, n) for column in (target[places], *kinds.T)]
    usual, scatter = _usual_lengths(data, places, keys, normal)
    rank, earlier = _usual_order(data, places, keys)
    recipe = _rates(keys.activity[places], target[places], len(keys.activities))
    return History(
        columns[0], np.stack(columns[1:], axis=1), recipe, count, usual, scatter, rank, earlier
    )  # fmt: skip


def _rates(group: Places, hit: Bools, n: int) -> Floats:
    overall = float(hit.mean()) if hit.size else 0.0
    hits = np.bincount(group, weights=hit.astype(np.float64), minlength=n)
    rates: Floats = (hits + STRENGTH * overall) / (np.bincount(group, minlength=n) + STRENGTH)
    return rates


def _usual_lengths(
    data: StepData, places: Places, keys: StepKeys, normal: Literal["executions", "recordings"]
) -> tuple[Floats, Floats]:
    samples = [data.samples[p] for p in places]
    mistaken = {s.recording_id for s in samples if s.mistaken}
    lengths: list[list[float]] = [[] for _ in keys.steps]
    for sample in samples:
        for execution in sample.executions:
            odd = execution.kinds if normal == "executions" else sample.recording_id in mistaken
            if not odd and execution.seconds > 0:
                lengths[keys.steps[sample.step]].append(float(np.log(execution.seconds)))
    pooled = np.array([value for each in lengths for value in each] or [0.0])
    middle = float(np.median(pooled))
    usual = np.array([np.median(each) if each else middle for each in lengths])
    spread = [_deviation(each) for each in lengths]
    common = float(np.median([d for d, each in zip(spread, lengths, strict=True) if len(each) > 2] or [0.5]))
    weight = np.array([len(each) for each in lengths], np.float64)
    scatter = (weight * np.array(spread) + STRENGTH * common) / (weight + STRENGTH)
    return usual, np.maximum(scatter, _LEAST_SCATTER)


def _deviation(values: Sequence[float]) -> float:
    """Median absolute deviation, scaled to a normal distribution's standard deviation; 0 of nothing."""
    if not values:
        return 0.0
    array = np.array(values)
    return float(1.4826 * np.median(np.abs(array - np.median(array))))


def _usual_order(data: StepData, places: Places, keys: StepKeys) -> tuple[Floats, Floats]:
    n = len(keys.steps)
    begun: dict[str, list[tuple[float, int]]] = {}
    for place in places:
        sample = data.samples[place]
        first = min(e.start for e in sample.executions)
        begun.setdefault(sample.recording_id, []).append((first, int(keys.step[place])))
    wins, both = np.zeros((n, n)), np.zeros((n, n))
    ranks: list[list[float]] = [[] for _ in range(n)]
    for steps in begun.values():
        starts = np.array([start for start, _ in steps])
        which = np.array([step for _, step in steps])
        sooner = starts[:, None] < starts[None, :]
        grid = np.ix_(which, which)
        wins[grid] += sooner + 0.5 * (starts[:, None] == starts[None, :])
        both[grid] += 1
        for step, share in zip(which, sooner.sum(axis=0) / len(steps), strict=True):
            ranks[step].append(float(share))
    rank = np.array([np.median(each) if each else 0.5 for each in ranks])
    return rank, (wins + 0.5) / (both + 1.0)

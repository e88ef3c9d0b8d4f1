"""Are steps found as well where things go wrong? Three questions that the published table of robustness does not answer.

Three trainings: on recordings without mistakes alone, on all, and on as many of all as are without mistakes, so that what
more recordings give is not taken for what mistakes give. Each is tested on recordings without and with mistakes, by the
annotated flag; ground truth *and* predictions are restricted to these, and classes to those that every training has seen.
The classes of both parts differ, so the gap is told over the classes of both, too. And within the same recordings, are
mistaken steps found less often than right ones?

The published table splits predictions in two by the *number* of the recording and keeps the whole ground truth, so that the
recalls of both halves add up to those of all: ``split_in_two`` shows it. See ``docs/localize.md``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.datasets.captaincook4d.check import is_normal_number
from proctor.errors import UserError
from proctor.learn.evaluate import Figure
from proctor.learn.localize.figures import LocalizedRow, LocalizeFigures, localized, rows_of
from proctor.learn.localize.localizer import LocalizeTask
from proctor.learn.localize.splits import classes_of
from proctor.metrics.bootstrap import Floats, bootstrap_interval, cluster_sums, mean_of_sums
from proctor.metrics.interval import Interval
from proctor.metrics.localization import (
    MULTIPLES,
    TIOU,
    Matches,
    Segments,
    apply_protocol,
    localization_scores,
    match_segments,
    weighted_scores,
)
from proctor.metrics.localization.scores import centred_intervals

__all__ = [
    "TRAININGS",
    "Gap",
    "Halves",
    "RobustTraining",
    "Training",
    "Within",
    "is_normal_script",
    "robust_tasks",
    "robust_training",
    "split_in_two",
]

Training = Literal["normal", "all", "matched"]
TRAININGS: Final[tuple[Training, ...]] = get_args(Training)
MISTAKEN: Final = "has_error"
"""Column of the ground truth: 1 for a mistaken step."""


class Gap(msgspec.Struct, frozen=True):
    """Figures of recordings without mistakes less those of recordings with mistakes; above 0 where mistakes hurt.

    Attributes:
        classes: that are compared.
        rows: by overlap, with intervals over recordings of both parts.
        average_map: mean of mAP over the overlaps.
    """

    classes: int
    rows: tuple[LocalizedRow, ...]
    average_map: Figure


class Within(msgspec.Struct, frozen=True):
    """Recall of right and of mistaken steps of the same recordings, at each overlap.

    A recording counts by its mistaken steps in both, so that the difference is within recordings.

    Attributes:
        k: of recall at k×.
        recordings: with steps of both sorts.
        mistaken_steps: in these.
        right: recall of the right steps.
        mistaken: recall of the mistaken steps.
        difference: the first less the second, with an interval over recordings.
    """

    k: int
    recordings: int
    mistaken_steps: int
    right: tuple[float, ...]
    mistaken: tuple[float, ...]
    difference: tuple[Figure, ...]


class RobustTraining(msgspec.Struct, frozen=True):
    """What one training finds in recordings without and with mistakes.

    Attributes:
        trained_on: recordings.
        normal: figures of the test recordings without mistakes.
        mistaken: of those with mistakes.
        gap: the first less the second, each over its own classes.
        common_gap: the same over the classes that both have; None where there is none.
        within: right against mistaken steps of the same recordings, for each k; empty where no recording has both.
    """

    trained_on: int
    normal: LocalizeFigures
    mistaken: LocalizeFigures
    gap: Gap
    common_gap: Gap | None
    within: tuple[Within, ...]


class Halves(msgspec.Struct, frozen=True):
    """The published split in two: the whole ground truth in all three; shares from 0 to 1 at each overlap.

    Attributes:
        whole: mAP, R@1x and R@5x of all predictions.
        normal: of the predictions in recordings whose script is in order.
        mistaken: of the others.
        segments: of the ground truth in recordings of both sorts: what recall of each half is at most, of all.
    """

    whole: dict[str, tuple[float, ...]]
    normal: dict[str, tuple[float, ...]]
    mistaken: dict[str, tuple[float, ...]]
    segments: tuple[int, int]


def is_normal_script(recording_id: str) -> bool:
    """Say whether the number of a recording of CaptainCook4D stands for a script in order, whatever happened then."""
    digits = recording_id.rpartition("_")[2]
    return digits.isdecimal() and is_normal_number(int(digits))


def robust_tasks(task: LocalizeTask) -> dict[Training, LocalizeTask]:
    """Return the three trainings; the recordings of ``matched`` are drawn by the task's seed.

    Raises:
        UserError: if no training or test recording is without mistakes, or none is with mistakes.
    """
    recordings = task.data.recordings
    for part, ids in (("train", task.train), ("test", task.test)):
        kinds = {recordings[i].mistaken for i in ids}
        if len(kinds) < 2:
            what = "without mistakes" if kinds == {True} else "with mistakes"
            raise UserError(
                f"no recording of '{part}' is {what}, so there is nothing to compare.",
                hint="take another split, or leave --robust out",
            )

    def normal(ids: Sequence[str]) -> tuple[str, ...]:
        return tuple(i for i in ids if not recordings[i].mistaken)

    def matched(ids: Sequence[str], part: int) -> tuple[str, ...]:
        generator = np.random.default_rng([task.seed, part])
        drawn = {*generator.permutation(sorted(ids))[: len(normal(ids))].tolist()}
        return tuple(i for i in ids if i in drawn)

    return {
        "normal": replace(task, train=normal(task.train), val=normal(task.val)),
        "all": task,
        "matched": replace(task, train=matched(task.train, 0), val=matched(task.val, 1)),
    }


def robust_training(
    tasks: Mapping[Training, LocalizeTask],
    name: Training,
    predictions: Segments,
    *,
    resamples: int,
    seed: int,
) -> RobustTraining:
    """Compare the predictions of one training in recordings without and with mistakes.

    Args:
        tasks: of ``robust_tasks``.
        name: of the training.
        predictions: of all test recordings.
        resamples: draws of the intervals over recordings; 0 for none.
        seed: of these.

    Raises:
        UserError: if no class of a part was seen by every training.
    """
    data, test = tasks[name].data, tasks[name].test
    seen = frozenset.intersection(*(classes_of(data, t.train) for t in tasks.values()))
    ids = [tuple(i for i in test if data.recordings[i].mistaken == wrong) for wrong in (False, True)]
    truths = [_with_labels(data.truth(part), seen) for part in ids]
    if not all(len(truth) for truth in truths):
        raise UserError(
            "of the test recordings without mistakes, or of those with, no class was seen in every training.",
            hint="take another split, or --with-val; a few recordings are too few for --robust",
        )
    given = [predictions.take(predictions.in_videos(part)) for part in ids]
    figures = [localized(t, p, resamples=resamples, seed=seed) for t, p in zip(truths, given, strict=True)]
    common = frozenset.intersection(*(frozenset(map(str, t.used_labels())) for t in truths))
    matches = [match_segments(t, p) for t, p in zip(truths, given, strict=True)]
    shared = [
        match_segments(_with_labels(t, common), p) for t, p in zip(truths, given, strict=True) if common
    ]
    return RobustTraining(
        len(tasks[name].train),
        figures[0],
        figures[1],
        _gap(matches[0], matches[1], resamples, seed),
        _gap(shared[0], shared[1], resamples, seed) if common else None,
        within_recordings(truths[1], matches[1], resamples=resamples, seed=seed),
    )


def _with_labels(truth: Segments, labels: Collection[str]) -> Segments:
    return truth.take(truth.with_labels(labels))


def _gap(normal: Matches, mistaken: Matches, resamples: int, seed: int) -> Gap:
    """Return the difference of two sets of recordings, each drawn by itself."""
    sizes = [len(m.videos) for m in (normal, mistaken)]
    at = [weighted_scores(m, np.ones((1, n)))[0] for m, n in zip((normal, mistaken), sizes, strict=True)]
    estimate: Floats = at[0] - at[1]
    intervals: Sequence[Interval] = ()
    if resamples and min(sizes) > 1:
        draws = []
        for part, (matches, n) in enumerate(zip((normal, mistaken), sizes, strict=True)):
            generator = np.random.default_rng([seed, part])
            weights = generator.multinomial(n, np.full(n, 1 / n), size=resamples).astype(np.float64)
            draws.append(weighted_scores(matches, weights))
        intervals = centred_intervals(estimate, draws[0] - draws[1], clusters=min(sizes), low=-1.0)
    classes = len({*normal.classes} | {*mistaken.classes})
    return Gap(classes, *rows_of(estimate, intervals))


def within_recordings(truth: Segments, matches: Matches, *, resamples: int, seed: int) -> tuple[Within, ...]:
    """Compare right and mistaken steps of the recordings that have both.

    Args:
        truth: with the column ``has_error``, 1 for a mistaken step.
        matches: of this truth.
        resamples: draws of the intervals over recordings; 0 for none.
        seed: of these.
    """
    wrong = truth.columns[MISTAKEN] == "1"
    video, n = matches.truth_video, len(matches.videos)

    def counted(chosen: NDArray[np.bool_]) -> Floats:
        return np.bincount(video[chosen], minlength=n).astype(np.float64)

    right_steps, wrong_steps = counted(~wrong), counted(wrong)
    both = (right_steps > 0) & (wrong_steps > 0)
    if not both.any():
        return ()
    names = [str(matches.videos[v]) for v in np.flatnonzero(both).tolist()]
    weight, total = wrong_steps[both], float(wrong_steps[both].sum())
    found = []
    for k in MULTIPLES:
        right, mistaken, difference = [], [], []
        for t in range(len(TIOU)):
            recalled = matches.recalled(k)[:, t]
            # Recall of the right steps of a recording, as if it had as many of them as mistaken ones.
            as_many = counted(recalled & ~wrong)[both] / right_steps[both] * weight
            hit = counted(recalled & wrong)[both]
            right.append(float(as_many.sum() / total))
            mistaken.append(float(hit.sum() / total))
            interval = None
            if resamples:
                sums = cluster_sums([as_many - hit, weight], names)
                interval = bootstrap_interval(sums, mean_of_sums, resamples=resamples, seed=seed)
            ends = () if interval is None else (interval.low, interval.high, interval.note)
            difference.append(Figure(right[-1] - mistaken[-1], *ends))
        found.append(Within(k, int(both.sum()), int(total), tuple(right), tuple(mistaken), tuple(difference)))
    return tuple(found)


def split_in_two(truth: Segments, predictions: Segments, normal: Collection[str]) -> Halves:
    """Score predictions as the published table does, all and by halves, against the ground truth of all recordings.

    Args:
        truth: of all test recordings.
        predictions: of these.
        normal: recordings of the first half.

    Raises:
        MetricInputError: if there is no ground truth.
    """
    first = predictions.in_videos(normal)

    def scored(given: Segments) -> dict[str, tuple[float, ...]]:
        prepared = apply_protocol(truth, given, "published")
        scores = localization_scores(prepared.truth, prepared.predictions)
        tables = {"mAP": scores.mean_ap, "R@1x": scores.mean_recall[1], "R@5x": scores.mean_recall[5]}
        return {name: tuple(map(float, values)) for name, values in tables.items()}

    inside = int(truth.in_videos(normal).sum())
    return Halves(
        scored(predictions),
        scored(predictions.take(first)),
        scored(predictions.take(~first)),
        (inside, len(truth) - inside),
    )

"""How well clusters of frames match key steps, beside what no knowledge scores on the same frames.

Protocol (Bansal et al. 2022; CaptainCook4D, Peddi et al. 2024, Tables 6 and 15): background is a class, the frames of all
recordings of an activity are matched together, and activities are averaged. Three rows know nothing. ``random`` labels each
frame anew, as published; at fifteen frames a second that is far below what any labels score that last. ``random_rows`` labels
each row of features anew, so that its labels last as long as those it is compared with: *the* row of chance. ``by_time`` cuts
each recording into equal parts and sees no pixel, and is the row to beat before anything was understood.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.learn.procedures.videos import NO_STEP, Procedure
from proctor.metrics.bootstrap import bootstrap_interval, cluster_sums
from proctor.metrics.clustering import (
    Background,
    Overlap,
    match_key_steps,
    measure_key_steps,
    merge_overlaps,
    random_clustering,
    stacked_counts,
)

__all__ = [
    "PUBLISHED",
    "Evaluated",
    "Figures",
    "Margin",
    "Means",
    "by_time",
    "evaluate_procedure",
    "matches",
    "mean_of",
    "overlaps_of",
]

Labels = NDArray[np.int64]
Floats = NDArray[np.float64]

DRAWS: Final = 20


class Figures(msgspec.Struct, frozen=True):
    """Precision, recall, intersection over union and F1 (of mean precision and recall), between 0 and 1."""

    precision: float
    recall: float
    iou: float
    f1: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Figures:
        """Take the four numbers of ``MEASURES``."""
        return cls(*map(float, values))


PUBLISHED: Final[Mapping[str, tuple[float, float, float]]] = {
    "Random": (0.0761, 0.0392, 0.0222),
    "M1 (TCC)": (0.1562, 0.1085, 0.0578),
    "M2 (TCC and C-IDM)": (0.1578, 0.1068, 0.0582),
}
"""Precision, recall and IoU of Tables 6 and 15 of CaptainCook4D, means of 24 recipes. The released code takes no gradient of
C-IDM, so M1 and M2 are the same model, trained twice."""


class Margin(msgspec.Struct, frozen=True):
    """How far one row is above another, with a 95 % interval; without ends where one recording is all there is."""

    value: float
    low: float | None
    high: float | None
    note: str = ""


class Evaluated(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of one procedure, each the mean over key steps; ``pooled`` divides sums.

    Attributes:
        activity: its id, and ``name`` for people.
        recordings: how many; likewise ``frames``, and ``steps``, which counts the key steps without background.
        clusters: how many labels there could be; 0 without features.
        found: of the clusters; None without features. Likewise ``pooled``.
        random: each frame has a label of its own.
        random_spread: standard deviation of one draw of it.
        random_rows: each row of features has.
        random_rows_spread: likewise.
        by_time: parts of equal length.
        margins: of ``found`` over ``random_rows``, by measure, drawn over recordings.
        chosen: what was chosen for this procedure, such as the number of clusters and the epoch.
    """

    activity: str
    name: str
    recordings: int
    frames: int
    steps: int
    clusters: int
    random: Figures
    random_spread: Figures
    random_rows: Figures
    random_rows_spread: Figures
    by_time: Figures
    found: Figures | None = None
    pooled: Figures | None = None
    random_pooled: Figures | None = None
    margins: Mapping[str, Margin] = {}
    chosen: Mapping[str, object] = {}


class Means(msgspec.Struct, frozen=True, kw_only=True):
    """Means over procedures, and of ``found`` over ``random_rows`` and ``by_time`` the margins by measure.

    Margins are drawn over activities, with one activity over its recordings.
    """

    activities: int
    random: Figures
    random_rows: Figures
    by_time: Figures
    found: Figures | None = None
    pooled: Figures | None = None
    random_pooled: Figures | None = None
    margins: Mapping[str, Margin] = {}
    margins_by_time: Mapping[str, Margin] = {}


@dataclass(frozen=True)
class _Chance:
    """Draws of labels of rows: overlaps of each, by draw and recording; shape (draws, videos, classes, clusters)."""

    counts: Floats
    values: Floats


def overlaps_of(
    procedure: Procedure, labels: Mapping[str, Labels], background: Background
) -> dict[str, Overlap]:
    """Count the frames that steps and clusters share, by recording.

    Args:
        procedure: its frames.
        labels: of the rows of each recording.
        background: ``class`` as published, or ``dropped`` as its code does.
    """
    found = {}
    for video in procedure.videos:
        truth, clusters = video.steps, labels[video.id][video.rows]
        if background == "dropped":
            there = truth != NO_STEP
            truth, clusters = truth[there], clusters[there]
        found[video.id] = _overlap(truth, clusters)
    return found


def _overlap(truth: NDArray[np.str_], clusters: Labels) -> Overlap:
    """``count_overlap`` without a text for every frame: there are millions."""
    if not len(truth):
        return Overlap((), (), np.zeros((0, 0), np.int64))
    classes, rows = np.unique(truth, return_inverse=True)
    names, columns = np.unique(clusters, return_inverse=True)
    cells = np.bincount(rows * len(names) + columns, minlength=len(classes) * len(names))
    steps = tuple(map(str, classes))
    return Overlap(
        steps,
        tuple(map(str, names)),
        cells.reshape(len(classes), len(names)).astype(np.int64),
        steps.index(NO_STEP) if NO_STEP in steps else None,
    )


def by_time(procedure: Procedure, clusters: int) -> dict[str, Labels]:
    """Return labels that cut each recording into parts of equal length."""
    return {
        v.id: np.minimum(np.arange(v.row_count) * clusters // max(v.row_count, 1), clusters - 1)
        for v in procedure.videos
    }


def matches(overlaps: Mapping[str, Overlap]) -> dict[int, str]:
    """Return the step that each matched cluster is the cluster of; background is ``NO_STEP``."""
    steps = match_key_steps(merge_overlaps(overlaps))
    return {int(step.cluster): step.name for step in steps if step.cluster is not None}


def evaluate_procedure(
    procedure: Procedure,
    labels: Mapping[str, Labels] | None,
    clusters: int,
    *,
    background: Background = "class",
    draws: int = DRAWS,
    resamples: int = 2_000,
    seed: int = 0,
    chosen: Mapping[str, object] | None = None,
) -> Evaluated:
    """Evaluate the clusters of one procedure, and what no knowledge scores.

    Args:
        procedure: its frames.
        labels: of the rows of each recording; None for the rows of chance alone.
        clusters: how many labels there could be, as many as chance has.
        background: ``class`` as published, or ``dropped`` as its code does.
        draws: of random labels.
        resamples: of the bootstrap over recordings; 0 leaves intervals out.
        seed: of draws and bootstrap.
        chosen: is passed on.
    """
    # one label for everything: of its overlaps only the frames of each step matter
    unlabelled = {v.id: np.zeros(v.row_count, np.int64) for v in procedure.videos}
    frames = {procedure.id: overlaps_of(procedure, unlabelled, background)}
    random = random_clustering(frames, clusters, draws=draws, seed=seed)
    drawn = _random_rows(procedure, clusters, background, draws, seed)
    timed = overlaps_of(procedure, by_time(procedure, clusters), background)
    spread = _spread_of_random(frames, clusters, draws, seed)
    evaluated = Evaluated(
        activity=procedure.id,
        name=procedure.name,
        recordings=len(procedure.videos),
        frames=sum(len(v.steps) for v in procedure.videos),
        steps=len(procedure.steps),
        clusters=clusters,
        random=Figures.of([score.value for score in random]),
        random_spread=Figures.of(spread),
        random_rows=Figures.of(drawn.values.mean(0)),
        random_rows_spread=Figures.of(drawn.values.std(0, ddof=1) if draws > 1 else [math.nan] * 4),
        by_time=Figures.of(measure_key_steps(merge_overlaps(timed).counts)),
        chosen=chosen or {},
    )
    if labels is None:
        return evaluated
    overlaps = overlaps_of(procedure, labels, background)
    stack, _ = stacked_counts(overlaps, background)
    return msgspec.structs.replace(
        evaluated,
        found=Figures.of(measure_key_steps(stack.sum(0))),
        pooled=Figures.of(measure_key_steps(stack.sum(0), average="pooled")),
        random_pooled=Figures.of(
            np.mean([measure_key_steps(c.sum(0), average="pooled") for c in drawn.counts], axis=0)
        ),
        margins=_margins(stack, drawn.counts, resamples, seed),
    )


def mean_of(evaluated: Sequence[Evaluated], *, resamples: int = 2_000, seed: int = 0) -> Means:
    """Average procedures; with one alone its margins are taken over."""
    found = [e.found for e in evaluated if e.found is not None]
    several = len(found) > 1
    return Means(
        activities=len(evaluated),
        random=_mean([e.random for e in evaluated]),
        random_rows=_mean([e.random_rows for e in evaluated]),
        by_time=_mean([e.by_time for e in evaluated]),
        found=_mean(found) if found else None,
        pooled=_mean([e.pooled for e in evaluated if e.pooled is not None]) if found else None,
        random_pooled=_mean([e.random_pooled for e in evaluated if e.random_pooled is not None])
        if found
        else None,
        margins=_over_activities(evaluated, lambda e: e.random_rows, resamples, seed)
        if several
        else (evaluated[0].margins if found else {}),
        margins_by_time=_over_activities(evaluated, lambda e: e.by_time, resamples, seed) if several else {},
    )


def _mean(figures: Sequence[Figures]) -> Figures:
    return Figures.of(np.mean([msgspec.structs.astuple(f) for f in figures], axis=0))


def _over_activities(
    evaluated: Sequence[Evaluated], other: Callable[[Evaluated], Figures], resamples: int, seed: int
) -> dict[str, Margin]:
    """Return the mean differences by measure, drawn over activities."""
    margins = {}
    for name in Figures.__struct_fields__:
        gained = [getattr(e.found, name) - getattr(other(e), name) for e in evaluated if e.found is not None]
        low = high = None
        note = ""
        if resamples:
            sums = cluster_sums([gained, [1.0] * len(gained)], [e.activity for e in evaluated])
            interval = bootstrap_interval(sums, resamples=resamples, seed=seed)
            low, high, note = interval.low, interval.high, interval.note
        margins[name] = Margin(math.fsum(gained) / len(gained), low, high, note)
    return margins


def _random_rows(
    procedure: Procedure, clusters: int, background: Background, draws: int, seed: int
) -> _Chance:
    """Label every row of features at random, many times; frames of one row have one label."""
    generator = np.random.default_rng([seed, 1])
    classes = np.array(sorted({NO_STEP, *procedure.steps}))
    counts = np.zeros((draws, len(procedure.videos), len(classes), clusters))
    for place, video in enumerate(procedure.videos):
        steps = np.searchsorted(classes, video.steps)
        kept = np.ones(len(steps), np.bool_) if background == "class" else video.steps != NO_STEP
        cells, rows = steps[kept] * clusters, video.rows[kept]
        for draw in range(draws):
            labels = generator.integers(0, clusters, video.row_count)
            found = np.bincount(cells + labels[rows], minlength=len(classes) * clusters)
            counts[draw, place] = found.reshape(len(classes), clusters)
    values = np.array([measure_key_steps(one.sum(0)) for one in counts])
    return _Chance(counts, values)


def _spread_of_random(
    frames: Mapping[str, Mapping[str, Overlap]], clusters: int, draws: int, seed: int
) -> list[float]:
    """Return the deviations of single draws of random labels of frames."""
    single = [
        [score.value for score in random_clustering(frames, clusters, draws=1, seed=seed + 1 + draw)]
        for draw in range(min(draws, 10))
    ]
    return [float(v) for v in np.std(single, axis=0, ddof=1)] if len(single) > 1 else [math.nan] * 4


def _margins(found: Floats, random: Floats, resamples: int, seed: int) -> dict[str, Margin]:
    """Return by how much clusters are above random rows, by measure: recordings are drawn, and both are matched anew."""
    few = random[: min(len(random), 4)]
    shape = found.shape[1:]
    parts = [found, *few]
    sizes = [int(np.prod(part.shape[1:])) for part in parts]
    sums = np.concatenate([part.reshape(len(found), -1) for part in parts], axis=1)
    cuts = np.cumsum(sizes)[:-1]
    memo: dict[bytes, Floats] = {}

    def gained(row: Floats) -> Floats:
        key = row.tobytes()
        if key not in memo:
            mine, *others = np.split(row, cuts)
            chance = [measure_key_steps(o.reshape(few.shape[2:])) for o in others]
            memo[key] = np.array(measure_key_steps(mine.reshape(shape))) - np.mean(chance, axis=0)
        return memo[key]

    exact = np.array(measure_key_steps(found.sum(0))) - np.mean(
        [measure_key_steps(one.sum(0)) for one in random], axis=0
    )
    margins = {}
    for place, name in enumerate(Figures.__struct_fields__):
        low = high = None
        note = "one recording: no interval" if len(found) < 2 else ""
        if resamples and len(found) > 1:
            interval = bootstrap_interval(
                sums,
                lambda drawn, place=place: np.array([gained(row)[place] for row in drawn]),  # type: ignore[misc]
                resamples=resamples,
                seed=seed,
            )
            low, high, note = interval.low, interval.high, interval.note
        margins[name] = Margin(float(exact[place]), low, high, note)
    return margins

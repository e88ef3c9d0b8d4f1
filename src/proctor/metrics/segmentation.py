"""Temporal action segmentation: every frame of a video has one label, and so has every prediction.

Conventions: a video is a 1-D array of labels (texts or whole numbers), one a frame; the reference comes first, both
have the same length, and a function takes a *list of videos* so that pooling is explicit. A segment is a maximal run
of one label, in frames, half-open ``[start, end)``; runs never cross videos. Labels may be declared *background*:
their runs are no segments, so they are neither asked for nor counted as false; what that means for frames is said
by each function. A video without frames holds nothing to score and is left out. Scores are 0 to 1; tables
print them in per cent, as the field does.

How the published protocol (MS-TCN) counts, and where it is unfair:

* Frame accuracy (MoF) pools the frames of all videos, background included; long videos weigh more.
* The edit score is the mean over videos of 1 - distance / longer, distance and length in segments. Background
  runs are removed *without* joining their neighbours: ``A bg A`` stays two segments.
* Segmental F1 at overlap t: every predicted segment looks up the *one* reference segment of its label with the
  largest IoU (the earliest among equals). It is a true positive if that IoU is at least t and nobody before it took
  that segment; all other predictions are false positives, references that nobody took false negatives. Counts are
  summed over videos, F1 is computed once.
* Defect: a prediction whose best reference segment is already taken is counted false although another reference
  segment, still free, overlaps it enough (below t = 0.5 only: from there on a segment has one partner at most).
  ``matching="corrected"`` counts the largest one-to-one assignment instead; it never finds fewer.

References: Lea et al. 2017 (*Temporal Convolutional Networks for Action Segmentation and Detection*: edit score,
segmental F1), Farha and Gall 2019 (*MS-TCN*: the evaluation as used since).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.bootstrap import bootstrap_intervals
from proctor.metrics.catalogue import Entries
from proctor.metrics.errors import MetricInputError
from proctor.metrics.interval import Interval
from proctor.metrics.labelled_videos import (
    Floats,
    Integers,
    Label,
    Runs,
    Timeline,
    Videos,
    changes,
    frames_from_segments,
    hidden_labels,
    plain_score,
    require_rate,
    share_of,
    timeline,
)
from proctor.metrics.score import Score, Signature

__all__ = [
    "MATCHINGS",
    "METRICS",
    "OVERLAPS",
    "BoundaryErrors",
    "Matching",
    "Pairs",
    "SegmentationStatistics",
    "assignment",
    "boundaries_of_pairs",
    "edit_distance",
    "edit_score",
    "edit_signature",
    "edits",
    "f1_signature",
    "frame_accuracy",
    "frame_confusion",
    "frame_counts",
    "frame_signature",
    "frames_from_segments",
    "majority_prediction",
    "over_segmentation_ratio",
    "overlapping_pairs",
    "random_prediction",
    "ratio_signature",
    "require_overlap",
    "segment_boundary_errors",
    "segmental_f1",
    "segmentation_scores",
    "segmentation_statistics",
    "taken_corrected",
    "taken_published",
    "true_positives",
]


# Segments of both sides that overlap, and who is matched with whom.

Matching = Literal["published", "corrected"]
MATCHINGS: Final[tuple[Matching, ...]] = get_args(Matching)
OVERLAPS: Final = (0.1, 0.25, 0.5)
"""The overlaps that the field prints as F1@{10,25,50}."""


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Segments of one label that overlap: index in the reference, in the prediction, IoU; in the order of time."""

    wanted: Integers
    given: Integers
    iou: Floats


def overlapping_pairs(wanted: Runs, given: Runs) -> Pairs:
    """Find all pairs of one label that overlap.

    Two families of disjoint intervals cut the time into pieces; two intervals share at most one piece. So the
    pairs are among the pieces: as many as segments, not as many as their product.
    """
    cuts = np.union1d(np.union1d(wanted.start, wanted.end), np.union1d(given.start, given.end))
    a = np.searchsorted(wanted.start, cuts, side="right") - 1
    b = np.searchsorted(given.start, cuts, side="right") - 1
    keep = (a >= 0) & (b >= 0)
    cuts, a, b = cuts[keep], a[keep], b[keep]
    keep = (cuts < wanted.end[a]) & (cuts < given.end[b])
    keep[keep] = wanted.code[a[keep]] == given.code[b[keep]]
    a, b = a[keep], b[keep]
    shared = np.minimum(wanted.end[a], given.end[b]) - np.maximum(wanted.start[a], given.start[b])
    union = wanted.end[a] - wanted.start[a] + given.end[b] - given.start[b] - shared
    return Pairs(a.astype(np.int64), b.astype(np.int64), shared / union)


def taken_published(pairs: Pairs, overlap: float) -> Integers:
    """Reference segments that some prediction of enough overlap likes best: each counts once."""
    order = np.lexsort((pairs.wanted, -pairs.iou, pairs.given))
    best = order[changes(pairs.given[order])]
    return np.unique(pairs.wanted[best[pairs.iou[best] >= overlap]])


def taken_corrected(pairs: Pairs, overlap: float) -> Integers:
    """Reference segments of the largest one-to-one assignment with enough overlap."""
    enough = pairs.iou >= overlap
    a, b = pairs.wanted[enough], pairs.given[enough]
    return a[assignment(a, b, np.ones(len(a)))]


def assignment(wanted: Integers, given: Integers, weight: Floats) -> Integers:
    """Pairs (as indices) of the one-to-one assignment with the largest sum of weights.

    In the order of time the pairs of one segment are neighbours, because the segments of a side are disjoint. So
    what may be chosen depends only on whether the two segments of the last pair are still free: a dynamic programme
    over four states, linear in the number of pairs.

    Args:
        wanted: index of the reference segment of each pair, not falling.
        given: index of the predicted segment, not falling.
        weight: above 0.
    """
    same_a, same_b = np.diff(wanted) == 0, np.diff(given) == 0
    linked = (
        np.concatenate([[False], same_a | same_b, [False]]) if len(wanted) else np.zeros(1, dtype=np.bool_)
    )
    alone = ~linked[:-1] & ~linked[1:] if len(wanted) else np.zeros(0, dtype=np.bool_)
    chosen = np.flatnonzero(alone).tolist()
    rows = np.flatnonzero(~alone).tolist()
    first = [0, *(i for i in range(1, len(rows)) if not linked[rows[i]]), len(rows)]
    for begin, end in pairwise(first):
        part = rows[begin:end]
        if part:
            chosen += _best_chain(part, same_a, same_b, weight)
    return np.array(sorted(chosen), dtype=np.int64)


_Trail = tuple["_Trail", int] | None
"""Chosen pairs, the last one first."""


def _best_chain(
    rows: list[int], same_a: NDArray[np.bool_], same_b: NDArray[np.bool_], weight: Floats
) -> list[int]:
    """The best pairs of one chain; a state is (reference segment taken, predicted segment taken)."""
    states: dict[tuple[bool, bool], tuple[float, _Trail]] = {(False, False): (0.0, None)}
    for position, row in enumerate(rows):
        arriving: dict[tuple[bool, bool], tuple[float, _Trail]] = {}
        for (a, b), reached in states.items():
            key = (a and bool(same_a[row - 1]), b and bool(same_b[row - 1])) if position else (a, b)
            if key not in arriving or reached[0] > arriving[key][0]:
                arriving[key] = reached
        states = arriving
        if (free := arriving.get((False, False))) is not None:
            total = free[0] + float(weight[row])
            if (True, True) not in states or total > states[True, True][0]:
                states[True, True] = (total, (free[1], row))
    trail = max(states.values(), key=lambda state: state[0])[1]
    chosen = []
    while trail is not None:
        trail, row = trail
        chosen.append(row)
    return chosen


def require_overlap(overlap: float) -> None:
    """Make sure that an overlap is above 0 and at most 1."""
    if not 0 < overlap <= 1:
        raise MetricInputError(
            f"an overlap is an IoU above 0 and up to 1, got {overlap!r}", "F1@10 is an overlap of 0.1"
        )


# How far the boundaries of matched segments are off.


@dataclass(frozen=True, slots=True, eq=False)
class BoundaryErrors:
    """How far the boundaries of matched segments are off.

    Attributes:
        video: index of the video of each matched pair.
        start: predicted start less reference start: negative is too early.
        end: predicted end less reference end.
        iou: of each matched pair.
        unit: ``s`` or ``frames``.
        overlap: smallest IoU of a matched pair.
        wanted: reference segments.
        given: predicted segments.
        videos: how many there were.
    """

    video: Integers
    start: Floats
    end: Floats
    iou: Floats
    unit: str
    overlap: float
    wanted: int
    given: int
    videos: int


def segment_boundary_errors(
    gt: Videos,
    pred: Videos,
    *,
    rate: float | None = None,
    overlap: float = 0.1,
    background: Collection[Label] = (),
) -> BoundaryErrors:
    """Boundary errors of matched segments: signed, predicted less reference.

    Segments of one label are matched one to one, so that the sum of their IoU is as large as possible, among pairs
    with at least this overlap. Segments without a partner have no boundary error: read the numbers beside F1, and
    the smaller the overlap the more difficult segments are in. The begin and end of a video count like any boundary.

    Args:
        gt: labels of each video.
        pred: parallel to ``gt``.
        rate: frames per second; the errors are in frames if None.
        overlap: smallest IoU of a match, above 0.
        background: labels whose runs are no segments.

    Raises:
        MetricInputError: if videos or lengths differ, or labels or options are invalid.
    """
    line = timeline(gt, pred, background)
    wanted, given = line.foreground_runs(line.reference), line.foreground_runs(line.predicted)
    return boundaries_of_pairs(
        overlapping_pairs(wanted, given), wanted, given, rate, overlap, len(line.first) - 1
    )


def boundaries_of_pairs(
    pairs: Pairs, wanted: Runs, given: Runs, rate: float | None, overlap: float, videos: int
) -> BoundaryErrors:
    """Match the pairs one to one and compare their boundaries."""
    require_overlap(overlap)
    if rate is not None:
        require_rate(rate)
    enough = pairs.iou >= overlap
    a, b = pairs.wanted[enough], pairs.given[enough]
    chosen = assignment(a, b, pairs.iou[enough])
    a, b = a[chosen], b[chosen]
    scale = 1.0 if rate is None else rate
    return BoundaryErrors(
        video=wanted.video[a],
        start=(given.start[b] - wanted.start[a]) / scale,
        end=(given.end[b] - wanted.end[a]) / scale,
        iou=pairs.iou[enough][chosen],
        unit="frames" if rate is None else "s",
        overlap=overlap,
        wanted=len(wanted.start),
        given=len(given.start),
        videos=videos,
    )


# Predictions of no knowledge, to compare scores with.


def majority_prediction(gt: Videos) -> list[NDArray[np.generic]]:
    """Predict the most frequent label of all frames everywhere (of equals the first in sorted order): chance.

    Raises:
        MetricInputError: if labels are invalid.
    """
    labels, codes, first = _coded_reference(gt)
    if not labels:
        return [np.zeros(0, dtype=np.int64) for _ in gt]
    best = int(np.bincount(codes).argmax())
    return [np.full(int(n), labels[best]) for n in np.diff(first)]


def random_prediction(gt: Videos, rng: np.random.Generator) -> list[NDArray[np.generic]]:
    """Predict every frame independently and uniformly among the labels of the reference: chance.

    Raises:
        MetricInputError: if labels are invalid.
    """
    labels, codes, first = _coded_reference(gt)
    if not labels:
        return [np.zeros(0, dtype=np.int64) for _ in gt]
    drawn = np.array(labels)[rng.integers(0, len(labels), size=len(codes))]
    return list(np.split(drawn, first[1:-1]))


def _coded_reference(gt: Videos) -> tuple[tuple[Label, ...], Integers, Integers]:
    line = timeline(gt, gt, ())
    return line.labels, line.reference, line.first


# Scores that count segments: segmental F1 and over-segmentation.


def true_positives(pairs: Pairs, wanted: Runs, overlap: float, matching: Matching, videos: int) -> Integers:
    """Reference segments found, by video."""
    require_overlap(overlap)
    if matching not in MATCHINGS:
        raise MetricInputError(f"a matching is one of {', '.join(MATCHINGS)}, got {matching!r}")
    take = taken_published if matching == "published" else taken_corrected
    return np.bincount(wanted.video[take(pairs, overlap)], minlength=videos)


def segmental_f1(
    gt: Videos,
    pred: Videos,
    *,
    overlap: float = 0.5,
    background: Collection[Label] = (),
    matching: Matching = "published",
) -> Score:
    """Segmental F1 at one overlap, 0 to 1: 2 TP / (2 TP + FP + FN), counts summed over videos.

    Args:
        gt: labels of each video.
        pred: parallel to ``gt``.
        overlap: smallest IoU of a hit, above 0; 0.1, 0.25 and 0.5 for F1@{10,25,50}.
        background: labels whose runs are no segments, on both sides.
        matching: ``published`` or ``corrected``, see the package.

    Raises:
        MetricInputError: if videos or lengths differ, labels or options are invalid, or neither side has a segment.
    """
    line = timeline(gt, pred, background)
    wanted, given = line.foreground_runs(line.reference), line.foreground_runs(line.predicted)
    tp = true_positives(
        overlapping_pairs(wanted, given), wanted, overlap, matching, len(line.first) - 1
    ).sum()
    value = share_of(2.0 * float(tp), len(wanted.start) + len(given.start), "neither side has a segment")
    return plain_score(value, f1_signature(hidden_labels(background), matching, overlap), line)


def f1_signature(background: str, matching: Matching, overlap: float) -> Signature:
    """Without what is drawn and the interval."""
    parameters = {"background": background, "counts": "summed", "matching": matching}
    return Signature("segmental_f1", {**parameters, "overlap": f"{overlap:g}"})


def over_segmentation_ratio(gt: Videos, pred: Videos, *, background: Collection[Label] = ()) -> Score:
    """Predicted segments for each reference segment, summed over videos: above 1 the prediction flickers.

    Raises:
        MetricInputError: if videos or lengths differ, labels are invalid, or the reference has no segment.
    """
    line = timeline(gt, pred, background)
    wanted, given = line.foreground_runs(line.reference), line.foreground_runs(line.predicted)
    value = share_of(len(given.start), len(wanted.start), "the reference has no segment")
    return plain_score(value, ratio_signature(hidden_labels(background)), line)


def ratio_signature(background: str) -> Signature:
    """Without what is drawn and the interval."""
    return Signature("over_segmentation_ratio", {"background": background, "counts": "summed"})


# The edit score: the order of the segments' labels, without their times.


def edit_distance(first: Sequence[int], second: Sequence[int]) -> int:
    """Levenshtein distance of two sequences: the fewest insertions, deletions and replacements.

    All columns of one row are updated at once as the bits of whole numbers (Myers 1999, Hyyrö 2003), so that a
    thousand segments against a thousand take a thousand steps.
    """
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    if not shorter:
        return len(longer)
    places: dict[int, int] = {}
    for place, item in enumerate(longer):
        places[item] = places.get(item, 0) | 1 << place
    every, last = (1 << len(longer)) - 1, 1 << (len(longer) - 1)
    more, less, distance = every, 0, len(longer)
    for item in shorter:
        same = places.get(item, 0)
        diagonal = (((same & more) + more) ^ more) | same | less
        up, down = less | (every & ~(diagonal | more)), diagonal & more
        distance += bool(up & last) - bool(down & last)
        up = (up << 1) | 1
        more = ((down << 1) | (every & ~(diagonal | up))) & every
        less = up & diagonal & every
    return distance


def edit_score(gt: Videos, pred: Videos, *, background: Collection[Label] = ()) -> Score:
    """Segmental edit score, 0 to 1: mean over videos of 1 - edit distance / longer sequence of segments.

    Only the order of the segments' labels counts, not their times. A video without segments on both sides scores
    1: there was nothing to say, and nothing was said.

    Args:
        gt: labels of each video.
        pred: parallel to ``gt``.
        background: labels whose runs are removed on both sides, without joining their neighbours (published).

    Raises:
        MetricInputError: if videos or lengths differ, labels are invalid, or no video has a frame.
    """
    line = timeline(gt, pred, background)
    some = np.diff(line.first) > 0
    values = edits(line, line.foreground_runs(line.reference), line.foreground_runs(line.predicted))[some]
    value = share_of(math.fsum(values.tolist()), len(values), "no video has a frame")
    return plain_score(value, edit_signature(hidden_labels(background)), line)


def edit_signature(background: str) -> Signature:
    """Without what is drawn and the interval."""
    return Signature("edit_score", {"average": "videos", "background": background, "norm": "longer"})


def edits(line: Timeline, wanted: Runs, given: Runs) -> Floats:
    """Edit score of each video."""
    n = len(line.first) - 1
    sides = [
        np.split(runs.code, np.searchsorted(runs.video, np.arange(1, n))) if n else []
        for runs in (wanted, given)
    ]
    return np.array([_edit(a.tolist(), b.tolist()) for a, b in zip(*sides, strict=True)], dtype=np.float64)


def _edit(wanted: list[int], given: list[int]) -> float:
    longer = max(len(wanted), len(given))
    return 1.0 - edit_distance(wanted, given) / longer if longer else 1.0


# Scores of frames: accuracy (MoF) and confusion.


def frame_accuracy(
    gt: Videos,
    pred: Videos,
    *,
    background: Collection[Label] = (),
    average: Literal["frames", "videos"] = "frames",
) -> Score:
    """Share of frames with the right label (MoF, mean over frames), 0 to 1.

    Args:
        gt: labels of each video.
        pred: parallel to ``gt``.
        background: frames whose *reference* is one of these are left out ("MoF without background"); published
            figures leave nothing out.
        average: ``frames`` pools the frames of all videos (published); ``videos`` is the mean of the videos' shares.

    Raises:
        MetricInputError: if videos or lengths differ, labels are invalid, or no frame is left to score.
    """
    line = timeline(gt, pred, background)
    frames, correct = frame_counts(line)
    some = frames > 0
    if average == "frames":
        value = share_of(float(correct.sum()), float(frames.sum()), "no frame is left to score")
    else:
        shares = float((correct[some] / frames[some]).sum())
        value = share_of(shares, int(some.sum()), "no video has a frame left to score")
    return plain_score(value, frame_signature(average, hidden_labels(background, "scored")), line)


def frame_signature(average: str, background: str) -> Signature:
    """Without what is drawn and the interval."""
    return Signature("frame_accuracy", {"average": average, "background": background})


def frame_counts(line: Timeline) -> tuple[Integers, Integers]:
    """Frames and right frames of each video, those of the background left out."""
    shown = ~line.background[line.reference] if len(line.labels) else np.zeros(0, dtype=np.bool_)
    videos, n = line.video_of_frame, len(line.first) - 1
    right = shown & (line.reference == line.predicted)
    return np.bincount(videos[shown], minlength=n), np.bincount(videos[right], minlength=n)


def frame_confusion(gt: Videos, pred: Videos) -> tuple[tuple[Label, ...], Integers]:
    """Return the labels, sorted, and how many frames of each (row) were given each (column).

    Raises:
        MetricInputError: if videos or lengths differ or labels are invalid.
    """
    line = timeline(gt, pred, ())
    n = len(line.labels)
    cells = np.bincount(line.reference * n + line.predicted, minlength=n * n)
    return line.labels, cells.reshape(n, n)


# What every video contributes, counted once for all scores.


@dataclass(frozen=True, slots=True, eq=False)
class SegmentationStatistics:
    """What every video contributes: enough for all scores, their intervals and any slice of videos.

    Attributes:
        frames: of each video; shape (videos,).
        correct: frames with the right label.
        shown_frames: frames whose reference is no background.
        shown_correct: the right ones of these.
        edit: edit score, 0 to 1.
        wanted: reference segments.
        given: predicted segments.
        overlaps: of the F1 scores.
        found: true positives by overlap and video; shape (overlaps, videos).
        matching: how they were found.
        background: labels that are no segments, sorted.
        boundaries: boundary errors of matched segments.
    """

    frames: Integers
    correct: Integers
    shown_frames: Integers
    shown_correct: Integers
    edit: Floats
    wanted: Integers
    given: Integers
    overlaps: tuple[float, ...]
    found: Integers
    matching: Matching
    background: tuple[str, ...]
    boundaries: BoundaryErrors

    def __len__(self) -> int:
        return len(self.frames)


def segmentation_statistics(
    gt: Videos,
    pred: Videos,
    *,
    background: Collection[Label] = (),
    overlaps: Sequence[float] = OVERLAPS,
    matching: Matching = "published",
    rate: float | None = None,
    boundary_overlap: float = 0.1,
) -> SegmentationStatistics:
    """Count everything once, video by video.

    Args:
        gt: labels of each video.
        pred: parallel to ``gt``.
        background: labels whose runs are no segments.
        overlaps: of the F1 scores, each above 0 and up to 1.
        matching: of the F1 scores, ``published`` or ``corrected``.
        rate: frames per second, for boundary errors in seconds.
        boundary_overlap: smallest IoU of the segments whose boundaries are compared.

    Raises:
        MetricInputError: if videos or lengths differ, or labels or options are invalid.
    """
    line = timeline(gt, pred, background)
    n = len(line.first) - 1
    wanted, given = line.foreground_runs(line.reference), line.foreground_runs(line.predicted)
    pairs = overlapping_pairs(wanted, given)
    found = [true_positives(pairs, wanted, overlap, matching, n) for overlap in overlaps]
    right = line.reference == line.predicted
    shown, shown_right = frame_counts(line)
    return SegmentationStatistics(
        frames=np.diff(line.first),
        correct=np.bincount(line.video_of_frame[right], minlength=n),
        shown_frames=shown,
        shown_correct=shown_right,
        edit=edits(line, wanted, given),
        wanted=np.bincount(wanted.video, minlength=n),
        given=np.bincount(given.video, minlength=n),
        overlaps=tuple(float(t) for t in overlaps),
        found=np.array(found, dtype=np.int64).reshape(len(overlaps), n),
        matching=matching,
        background=tuple(sorted({str(label) for label in background})),
        boundaries=boundaries_of_pairs(pairs, wanted, given, rate, boundary_overlap, n),
    )


# All scores of a set of videos with their intervals, from the statistics.

Statistic = Callable[[Floats], Floats]


def _ratio(top: int, bottom: int, scale: float = 1.0) -> Statistic:
    """The statistic ``scale`` * column / column of sums."""

    def statistic(sums: Floats) -> Floats:
        result: Floats = np.divide(
            scale * sums[:, top], sums[:, bottom], out=np.full(len(sums), np.nan), where=sums[:, bottom] > 0
        )
        return result

    return statistic


def _quantile(values: Floats, q: float) -> Statistic:
    """The statistic quantile: column i of the sums counts how often ``values[i]`` occurs (sorted)."""

    def statistic(sums: Floats) -> Floats:
        counts = np.cumsum(sums, axis=1)
        total = counts[:, -1]
        place = np.maximum(total - 1, 0) * q
        low, high = (
            np.minimum((counts <= np.floor(place + part)[:, None]).sum(axis=1), len(values) - 1)
            for part in (1e-9, 1.0 + 1e-9)
        )
        share = np.clip(place - np.floor(place + 1e-9), 0.0, 1.0)
        mixed = values[low] + share * (values[high] - values[low])
        result: Floats = np.where(total > 0, mixed, np.nan)
        return result

    return statistic


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One score to compute: sums by video, the statistic on them, and what to say when it is undefined."""

    label: str
    signature: Signature
    sums: Floats
    statistic: Statistic
    undefined: str


def segmentation_scores(
    stats: SegmentationStatistics,
    *,
    failed: int = 0,
    skipped: int = 0,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[tuple[str, Score], ...]:
    """All scores with intervals, as (label, score): videos are drawn by the bootstrap, n counts videos.

    Args:
        stats: from ``segmentation_statistics``.
        failed: videos without a prediction.
        skipped: videos that were not asked.
        confidence: of the intervals (BCa).
        resamples: 0 leaves the intervals out.
        seed: of the draws.

    Returns:
        MoF (published: pooled, background included), MoF without background (if there is any), MoF per video,
        edit, F1 at each overlap, over-segmentation, then boundary errors: median, mean and 90th percentile of the
        absolute difference, of starts and ends.

    Raises:
        ValueError: if an option is out of range.
    """
    some = stats.frames > 0
    n, empty = int(some.sum()), int((~some).sum())
    asked = [*_frame_scores(stats), *_segment_scores(stats), *_boundary_scores(stats.boundaries)]
    sums = [one.sums[some] for one in asked]
    values = [
        float(one.statistic(part.sum(axis=0, keepdims=True))[0]) if n else math.nan
        for one, part in zip(asked, sums, strict=True)
    ]
    intervals: Sequence[Interval | None] = [None] * len(asked)
    if resamples and n:
        # One pass: all columns side by side, every statistic reads its own.
        ends = np.cumsum([part.shape[1] for part in sums]).tolist()
        intervals = bootstrap_intervals(
            np.concatenate(sums, axis=1),
            [
                _reading(one.statistic, end - part.shape[1], end)
                for one, part, end in zip(asked, sums, ends, strict=True)
            ],
            confidence=confidence,
            resamples=resamples,
            seed=seed,
        )
    out = []
    for one, value, interval in zip(asked, values, intervals, strict=True):
        undefined = math.isnan(value)
        if interval is None or undefined:
            note = (one.undefined if n else "no video was scored") if undefined else ""
            interval = Interval(None, None, "none", note)
        score = Score(
            value,
            one.signature.having(cluster="video", interval=interval.method),
            n,
            interval.low,
            interval.high,
            failed,
            skipped + empty,
            interval.note,
        )
        out.append((one.label, score))
    return tuple(out)


def _reading(statistic: Statistic, begin: int, end: int) -> Statistic:
    """The statistic of these columns."""
    return lambda sums: statistic(sums[:, begin:end])


def _frame_scores(stats: SegmentationStatistics) -> list[_Wanted]:
    ones = np.ones(len(stats))
    share = np.divide(stats.correct, stats.frames, out=np.zeros(len(stats)), where=stats.frames > 0)
    pooled = frame_signature("frames", "scored")
    result = [
        _Wanted("MoF", pooled, _columns(stats.correct, stats.frames), _ratio(0, 1), "no video has a frame")
    ]
    if stats.background:
        result.append(
            _Wanted(
                "MoF-bg",
                frame_signature("frames", hidden_labels(stats.background)),
                _columns(stats.shown_correct, stats.shown_frames),
                _ratio(0, 1),
                "all frames of the reference are background",
            )
        )
    result.append(
        _Wanted(
            "MoF/video",
            frame_signature("videos", "scored"),
            _columns(share, ones),
            _ratio(0, 1),
            "no video has a frame",
        )
    )
    return result


def _segment_scores(stats: SegmentationStatistics) -> list[_Wanted]:
    ones = np.ones(len(stats))
    hidden = hidden_labels(stats.background)
    result = [
        _Wanted(
            "Edit",
            edit_signature(hidden),
            _columns(stats.edit, ones),
            _ratio(0, 1),
            "no video has a frame",
        )
    ]
    for overlap, found in zip(stats.overlaps, stats.found, strict=True):
        signature = f1_signature(hidden, stats.matching, overlap)
        sums = _columns(found, stats.wanted + stats.given)
        label = f"F1@{100 * overlap:g}"
        result.append(_Wanted(label, signature, sums, _ratio(0, 1, 2.0), "neither side has a segment"))
    result.append(
        _Wanted(
            "segments ratio",
            ratio_signature(hidden),
            _columns(stats.given, stats.wanted),
            _ratio(0, 1),
            "the reference has no segment",
        )
    )
    return result


def _boundary_scores(errors: BoundaryErrors) -> list[_Wanted]:
    result = []
    for side, signed in (("start", errors.start), ("end", errors.end)):
        values, which = np.unique(np.abs(signed), return_inverse=True)
        counts = np.zeros((errors.videos, max(len(values), 1)))
        np.add.at(counts, (errors.video, which), 1.0)
        signature = Signature(
            "segment_boundary_error",
            {
                "matching": "one-to-one",
                "overlap": f"{errors.overlap:g}",
                "side": side,
                "unit": errors.unit,
            },
        )
        sums = np.bincount(errors.video, weights=np.abs(signed), minlength=errors.videos)
        pairs = np.bincount(errors.video, minlength=errors.videos)
        known = values if len(values) else np.zeros(1)
        nothing = f"no segment overlaps one of its label by {errors.overlap:g}"
        for name, columns, statistic in (
            ("median", counts, _quantile(known, 0.5)),
            ("mean", _columns(sums, pairs), _ratio(0, 1)),
            ("p90", counts, _quantile(known, 0.9)),
        ):
            label = f"{side} off, {name} ({errors.unit})"
            result.append(_Wanted(label, signature.having(statistic=name), columns, statistic, nothing))
    return result


def _columns(*columns: NDArray[np.generic]) -> Floats:
    return np.stack([np.asarray(c, dtype=np.float64) for c in columns], axis=1)


# The metrics of this family, for the catalogue.

_entry: Final = Entries("segmentation", "segmentation")

METRICS: Final = (
    _entry(
        "frame_accuracy",
        "MoF",
        "Frames with the right label / frames, pooled over videos.",
        signature="average:frames|background:scored|cluster:video|interval:bca-95",
        citation="Lea et al. 2017; Farha and Gall 2019 (MS-TCN)",
        traps="Background counts in published figures; predicting it everywhere can look good, so compare with the "
        "majority row. Long videos and long actions dominate; it is blind to flicker. The mean per video and the "
        "value without background are other numbers: look at the signature.",
    ),
    _entry(
        "edit_score",
        "Edit",
        "1 - Levenshtein distance of the segments' labels / length of the longer sequence, mean over videos.",
        signature="average:videos|background:none|cluster:video|interval:bca-95|norm:longer",
        citation="Lea et al. 2016, 2017; Farha and Gall 2019",
        traps="Ignores time altogether. Background runs are removed without joining their neighbours. A mean over "
        "videos, whereas F1 sums counts over videos.",
    ),
    _entry(
        "segmental_f1",
        "F1@{10,25,50}",
        "2 TP / (2 TP + FP + FN); TP are predictions whose best reference segment of their label has enough IoU "
        "and is still free; counts summed over videos.",
        signature="background:none|cluster:video|counts:summed|interval:bca-95|matching:published|overlap:0.5",
        citation="Lea et al. 2017, section 4; Farha and Gall 2019 (counts summed over videos)",
        traps="The published rule looks at one reference segment only: a prediction whose best one is taken is false "
        "although another one fits (below overlap 0.5). matching:corrected counts the largest one-to-one "
        "assignment and is never lower. Not a mean over classes or videos.",
    ),
    _entry(
        "segment_boundary_error",
        "boundary error",
        "|predicted - reference| start (and end) of segments of one label, matched one to one by the largest sum "
        "of IoU; median, mean, 90th percentile over pairs.",
        range="0 s to the length of the video",
        direction="lower",
        function="segment_boundary_errors",
        signature="cluster:video|interval:bca-95|matching:one-to-one|overlap:0.1|side:start|"
        "statistic:median|unit:s",
        citation="ours; temporal precision beside F1",
        traps="Knows only matched segments: a system that finds little can have small errors. In frames unless a rate "
        "is given.",
    ),
    _entry(
        "over_segmentation_ratio",
        "segments ratio",
        "Predicted segments / reference segments, summed over videos.",
        range="0 upwards, 1 is the reference",
        direction="neither",
        signature="background:none|cluster:video|counts:summed|interval:bca-95",
        citation="ours; what the edit score and F1 punish",
        traps="1 does not mean that the segments are right.",
    ),
)

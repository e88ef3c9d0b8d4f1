"""Average precision and recall of localized steps, from the record of matches.

All values are in per cent, 0 to 100. Macro values are means over the classes *of the ground truth*; a class that
is never predicted counts 0, a predicted class that the ground truth lacks counts nothing.

Every score can be computed under whole-number weights on videos: a weight of 2 scores the data with that video
copied, 0 leaves it out. Matching inside a video does not depend on other videos, so a resample of videos needs no
new matching.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proctor.metrics.errors import MetricInputError
from proctor.metrics.localization.matching import MULTIPLES, TIOU, Matches, match_segments
from proctor.metrics.localization.segments import Floats, Integers, Segments

__all__ = [
    "LocalizationScores",
    "average_precision",
    "interpolated_average_precision",
    "localization_scores",
    "macro_mean",
    "mean_average_precision",
    "micro_recall_at_kx",
    "recall_at_kx",
    "weighted_scores",
]

_CELLS = 4_000_000
"""Numbers held in memory at a time by one step of the resampling."""


def interpolated_average_precision(precision: ArrayLike, recall: ArrayLike) -> float:
    """Area under the precision envelope: Σ (rise of recall) × (highest precision at this or any later recall).

    The curve starts at recall 0 and is not carried on behind its last point (precision 0 at recall 1).

    Args:
        precision: after each prediction, 0 to 1, shape (n,).
        recall: after each prediction, 0 to 1, never falling, shape (n,).

    Returns:
        0 to 1; 0 without any prediction.

    Raises:
        MetricInputError: if the lists are not parallel, leave 0 to 1, or recall falls.
    """
    p, r = np.asarray(precision, dtype=np.float64), np.asarray(recall, dtype=np.float64)
    if p.shape != r.shape or p.ndim != 1:
        raise MetricInputError(
            f"precision and recall must be parallel lists, got shapes {p.shape} and {r.shape}"
        )
    if not p.size:
        return 0.0
    if (
        not (np.isfinite(p).all() and np.isfinite(r).all())
        or min(p.min(), r.min()) < 0
        or max(p.max(), r.max()) > 1
    ):
        raise MetricInputError("precision and recall must lie between 0 and 1")
    if (np.diff(r) < 0).any():
        raise MetricInputError("recall must never fall", "sort the points by falling score first")
    envelope = np.maximum.accumulate(p[::-1])[::-1]
    return float(np.sum(np.diff(r, prepend=0.0) * envelope))


def average_precision(matches: Matches) -> Floats:
    """Average precision in per cent of each class at each threshold, shape (C, T)."""
    return 100.0 * _areas(matches, None)[:, :, 0].T


def recall_at_kx(matches: Matches, multiple: int) -> Floats:
    """R@k× in per cent of each class at each threshold, shape (C, T).

    For every video with n segments of a class, its k·n best-scored predictions of that class are kept; a segment
    is recalled if one of them overlaps it enough. Several segments may be recalled by one prediction.
    """
    recalled = matches.recalled(multiple)
    total = np.bincount(matches.truth_class, minlength=len(matches.classes))
    found = np.zeros((len(matches.classes), recalled.shape[1]))
    np.add.at(found, matches.truth_class, recalled)
    result: Floats = 100.0 * found / total[:, None]
    return result


def micro_recall_at_kx(matches: Matches, multiple: int, among: NDArray[np.bool_] | None = None) -> Floats:
    """R@k× in per cent over all segments alike, shape (T,).

    Args:
        matches: from ``match_segments``.
        multiple: k, one of ``matches.multiples``.
        among: which segments of the ground truth count (a slice); all when None. The predictions that are kept
            stay the same: n still counts all segments of the video and class.

    Raises:
        MetricInputError: if no segment counts.
    """
    recalled = matches.recalled(multiple)
    recalled = recalled if among is None else recalled[among]
    if not len(recalled):
        raise MetricInputError("the slice has no segments", "leave it out")
    result: Floats = 100.0 * recalled.mean(axis=0)
    return result


def macro_mean(by_class: Floats) -> Floats:
    """Mean over classes of a table (C, T), shape (T,)."""
    result: Floats = by_class.mean(axis=0)
    return result


def mean_average_precision(truth: Segments, predictions: Segments, tiou: Sequence[float] = TIOU) -> Floats:
    """Mean over the classes of the ground truth of the average precision, in per cent at each threshold, shape (T,).

    Args:
        truth: ground truth of the videos that were scored, no others.
        predictions: with scores.
        tiou: thresholds, rising.

    Raises:
        MetricInputError: if the ground truth is empty or the predictions have no scores.

    Source: ActivityNet's evaluation; CaptainCook4D (Peddi et al. 2024), section 4.2 and Table 4.
    """
    return macro_mean(average_precision(match_segments(truth, predictions, tiou, ())))


@dataclass(frozen=True, slots=True, eq=False)
class LocalizationScores:
    """Everything at once, in per cent; C classes, T thresholds.

    Attributes:
        matches: the record behind the numbers.
        ap: (C, T) by class.
        recall: k to (C, T) by class.
        mean_ap: (T,) macro.
        mean_recall: k to (T,) macro.
        micro_recall: k to (T,).
        average_map: mean of ``mean_ap`` over the thresholds.
    """

    matches: Matches
    ap: Floats
    recall: dict[int, Floats]
    mean_ap: Floats
    mean_recall: dict[int, Floats]
    micro_recall: dict[int, Floats]
    average_map: float


def localization_scores(
    truth: Segments,
    predictions: Segments,
    *,
    tiou: Sequence[float] = TIOU,
    multiples: Sequence[int] = MULTIPLES,
) -> LocalizationScores:
    """Match once and compute every score.

    Raises:
        MetricInputError: as ``match_segments``.
    """
    matches = match_segments(truth, predictions, tiou, multiples)
    ap = average_precision(matches)
    recall = {k: recall_at_kx(matches, k) for k in matches.multiples}
    mean_ap = macro_mean(ap)
    return LocalizationScores(
        matches=matches,
        ap=ap,
        recall=recall,
        mean_ap=mean_ap,
        mean_recall={k: macro_mean(table) for k, table in recall.items()},
        micro_recall={k: micro_recall_at_kx(matches, k) for k in matches.multiples},
        average_map=float(mean_ap.mean()),
    )


def weighted_scores(matches: Matches, weights: Floats) -> Floats:
    """Compute every headline score under weights on videos.

    Args:
        matches: from ``match_segments``.
        weights: (B, V) how often each of ``matches.videos`` counts; whole numbers from 0.

    Returns:
        (B, T + 1 + 2·K·T) in per cent: mAP at each threshold; average mAP; for each k the macro recall at each
        threshold; for each k the micro recall. Classes whose videos all have weight 0 leave the macro means;
        nan where no segment counts at all.
    """
    rows = max(1, _CELLS // max(1, matches.found_by.size, len(matches.classes) * len(matches.tiou)))
    parts = [_weighted(matches, weights[k : k + rows]) for k in range(0, len(weights), rows)]
    return np.concatenate(parts) if parts else np.zeros((0, _columns(matches)))


def _columns(matches: Matches) -> int:
    return len(matches.tiou) * (1 + 2 * len(matches.multiples)) + 1


def _weighted(matches: Matches, weights: Floats) -> Floats:
    by_class = np.argsort(matches.truth_class, kind="stable")
    first = np.searchsorted(matches.truth_class[by_class], np.arange(len(matches.classes)))
    of_segment = np.ascontiguousarray(weights.T)[matches.truth_video[by_class]]
    segments = np.add.reduceat(of_segment, first, axis=0)
    classes, total = (segments > 0).sum(axis=0), segments.sum(axis=0)
    mean_ap = _shares(_areas(matches, weights).sum(axis=1), classes)
    macro, micro = [], []
    share = np.divide(1.0, segments, out=np.zeros_like(segments), where=segments > 0)
    for multiple in matches.multiples:
        for found in matches.recalled(multiple)[by_class].T:
            recalled = np.add.reduceat(np.where(found[:, None], of_segment, 0.0), first, axis=0)
            macro.append(_shares((recalled * share).sum(axis=0), classes))
            micro.append(_shares(recalled.sum(axis=0), total))
    return np.column_stack([*mean_ap, mean_ap.mean(axis=0), *macro, *micro])


def _shares(part: Floats, whole: NDArray[np.int64] | Floats) -> Floats:
    result: Floats = np.divide(
        100.0 * part, whole, out=np.full(np.shape(part), np.nan), where=np.asarray(whole) > 0
    )
    return result


def _areas(matches: Matches, weights: Floats | None) -> Floats:
    """Average precision (0 to 1) at each threshold, of each class, under each row of weights: (T, C, B).

    Recall rises only at true positives, and behind each of them precision is highest at a true positive, so only
    these few places of the curve are needed.
    """
    classes, thresholds = len(matches.classes), len(matches.tiou)
    rank = np.empty(len(matches.prediction_class), dtype=np.int64)
    rank[matches.order] = np.arange(len(matches.order))
    threshold, segment = np.nonzero(matches.found_by.T >= 0)
    row = matches.found_by[segment, threshold]
    group = threshold * classes + matches.truth_class[segment]
    arranged = np.lexsort((rank[row], group))
    row, group, segment = row[arranged], group[arranged], segment[arranged]
    if weights is None:
        begin = np.searchsorted(matches.prediction_class[matches.order], np.arange(classes))
        predicted = (rank[row] - begin[group % classes] + 1.0)[:, None]
        weight = np.ones((len(row), 1))
        total = np.bincount(matches.truth_class, minlength=classes).astype(np.float64)[:, None]
    else:
        by_video = np.ascontiguousarray(weights.T)
        predicted = _weighted_ranks(matches, row, rank, by_video)
        weight = by_video[matches.truth_video[segment]]
        total = _by_class(matches.truth_class, by_video[matches.truth_video], classes)
    area = np.zeros((thresholds * classes, weight.shape[1]))
    if len(row):
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        area[group[starts]] = _envelope_area(weight, predicted, starts)
    by_threshold = area.reshape(thresholds, classes, -1)
    return np.divide(by_threshold, total, out=np.zeros_like(by_threshold), where=total > 0)


def _by_class(label: Integers, values: Floats, classes: int) -> Floats:
    order = np.argsort(label, kind="stable")
    result: Floats = np.add.reduceat(values[order], np.searchsorted(label[order], np.arange(classes)), axis=0)
    return result


def _envelope_area(weight: Floats, predicted: Floats, starts: Integers) -> Floats:
    """Σ weight × envelope of precision within each group of true positives (rows from each start to the next)."""
    found = np.cumsum(weight, axis=0)
    size = np.diff(np.append(starts, len(weight)))
    found -= np.repeat(found[starts] - weight[starts], size, axis=0)
    envelope = np.divide(found, predicted, out=np.zeros_like(found), where=predicted > 0)
    for place in range(int(size.max()) - 2, -1, -1):
        rows = starts[size > place + 1] + place
        envelope[rows] = np.maximum(envelope[rows], envelope[rows + 1])
    result: Floats = np.add.reduceat(envelope * weight, starts, axis=0)
    return result


def _weighted_ranks(matches: Matches, rows: Integers, rank: Integers, by_video: Floats) -> Floats:
    """Weight of all predictions of the class up to and including each of these rows: (rows, B).

    Counting per video first turns the sums over thousands of predictions into one product of matrices.
    """
    places, back = np.unique(rank[rows], return_inverse=True)
    label = matches.prediction_class[matches.order]
    video = matches.prediction_video[matches.order]
    of_place = label[places] if len(places) else places
    result = np.empty((len(places), by_video.shape[1]))
    step = max(1, _CELLS // len(by_video))
    begin = 0
    while begin < len(places):
        # Whole classes at a time: the counts start anew with each class.
        end = max(
            int(np.searchsorted(of_place, of_place[begin], side="right")),
            int(np.searchsorted(of_place, of_place[min(begin + step, len(places)) - 1], side="left")),
        )
        result[begin:end] = (
            _counts(places[begin:end], of_place[begin:end], label, video, len(by_video)) @ by_video
        )
        begin = end
    return result[back]


def _counts(places: Integers, of_place: Integers, label: Integers, video: Integers, videos: int) -> Floats:
    """How many predictions of its class each video has up to and including each place: (places, V)."""
    low = int(np.searchsorted(label, of_place[0], side="left"))
    high = int(places[-1]) + 1
    following = np.searchsorted(places, np.arange(low, high))
    same = of_place[following] == label[low:high]
    cells = following[same] * videos + video[low:high][same]
    counts = np.bincount(cells, minlength=len(places) * videos).reshape(len(places), videos)
    counts = np.cumsum(counts, axis=0)
    starts = np.flatnonzero(np.diff(of_place, prepend=-1))
    before = np.zeros((len(starts), videos), dtype=counts.dtype)
    before[1:] = counts[starts[1:] - 1]
    counts -= np.repeat(before, np.diff(np.append(starts, len(places))), axis=0)
    return counts.astype(np.float64)

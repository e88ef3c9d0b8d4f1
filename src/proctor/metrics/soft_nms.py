"""Suppression of overlapping detections: Gaussian soft-NMS and hard NMS, class by class.

Conventions: times are seconds; ``group`` names what competes (one class of one video), so that all classes and
videos are handled in one call. Ties are broken by start and end, never by the order of the rows. Lengths are
enlarged by 1e-6 s, as in ActionFormer, so that the IoU of two instants is defined; a segment that ends before it
starts has the length 0.

Source: Bodla et al. 2017 (soft-NMS), with the options of ActionFormer (Zhang, Wu and Li 2022): σ 0.9, smallest
score 1e-3, 2000 detections a video.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proctor.metrics.errors import MetricInputError
from proctor.metrics.localization.segments import Floats, Integers, Segments
from proctor.metrics.temporal import require_times

__all__ = ["hard_nms", "soft_nms", "suppress_segments"]

_MARGIN: Final = 1e-6
_CELLS: Final = 400_000
"""Detections (with padding) that are worked on at a time: what stays in the processor's cache."""

_LEAST: Final = float(np.finfo(np.float64).tiny)
"""Stands for a score of 0, that has no logarithm."""
_COMPILED_FROM: Final = 50_000
"""Detections in one call from which on a compiled loop, where numba is installed, repays the second that compiling takes."""

Decay = Callable[[Floats, Floats], Floats]
"""Scores and their IoU with the detection just taken, to the scores that are left."""


def soft_nms(
    start: ArrayLike,
    end: ArrayLike,
    score: ArrayLike,
    group: ArrayLike | None = None,
    *,
    sigma: float = 0.9,
    min_score: float = 1e-3,
    cap: int | None = None,
) -> tuple[Integers, Floats]:
    """Take the best detection of each group again and again; the others decay by exp(−IoU²/σ).

    Args:
        start: seconds, shape (n,).
        end: seconds, shape (n,).
        score: from 0, shape (n,).
        group: whole numbers, shape (n,): only detections of one group compete; all do when None.
        sigma: width of the Gaussian; small values suppress more.
        min_score: what falls below is discarded, at the beginning too.
        cap: only so many best-scored detections of each group take part; all when None, as in the reference.

    Returns:
        Rows of the detections that are left and their new scores, by falling new score.

    Raises:
        MetricInputError: if lists are not parallel, a number is not finite, a score is negative, or an option
            makes no sense.
    """
    if not sigma > 0:
        raise MetricInputError(f"sigma must be positive, got {sigma:g}")

    def decay(scores: Floats, iou: Floats) -> Floats:
        # A factor of exactly 0 would turn the -inf of what is taken into nan.
        result: Floats = scores * np.maximum(np.exp(-(iou * iou) / sigma), np.finfo(np.float64).tiny)
        return result

    return _suppress(start, end, score, group, decay, min_score, cap, sigma)


def hard_nms(
    start: ArrayLike,
    end: ArrayLike,
    score: ArrayLike,
    group: ArrayLike | None = None,
    *,
    threshold: float = 0.5,
    min_score: float = 0.0,
    cap: int | None = None,
) -> tuple[Integers, Floats]:
    """Take the best detection of each group again and again; others with an IoU of the threshold or more go.

    Args:
        start: seconds, shape (n,).
        end: seconds, shape (n,).
        score: from 0, shape (n,).
        group: whole numbers, shape (n,): only detections of one group compete; all do when None.
        threshold: IoU above 0, at most 1.
        min_score: lower scores are discarded at the beginning.
        cap: only so many best-scored detections of each group take part; all when None.

    Returns:
        Rows of the detections that are left and their scores, by falling score.

    Raises:
        MetricInputError: as ``soft_nms``.
    """
    if not 0 < threshold <= 1:
        raise MetricInputError(f"the IoU threshold must be above 0 and at most 1, got {threshold:g}")

    def decay(scores: Floats, iou: Floats) -> Floats:
        result: Floats = np.where(iou >= threshold, -np.inf, scores)
        return result

    return _suppress(start, end, score, group, decay, min_score, cap)


def suppress_segments(
    segments: Segments,
    *,
    sigma: float | None = 0.9,
    threshold: float = 0.5,
    min_score: float = 1e-3,
    cap: int | None = None,
    limit: int | None = 2000,
) -> Segments:
    """Suppress within each video and class, then keep the best of each video.

    Args:
        segments: predictions with scores.
        sigma: of soft-NMS; hard NMS when None.
        threshold: IoU for hard NMS.
        min_score: lower scores are discarded.
        cap: only so many best of each video and class take part.
        limit: detections that a video keeps; all when None.

    Returns:
        The remaining predictions with their new scores, by video, then falling score.

    Raises:
        MetricInputError: as ``soft_nms``; or if there are no scores.
    """
    if segments.score is None:
        raise MetricInputError("the segments have no scores", "suppress predictions, not ground truth")
    if limit is not None and limit < 1:
        raise MetricInputError(f"the limit must be positive, got {limit}")
    group = segments.video * max(1, len(segments.labels)) + segments.label
    parts = (segments.start, segments.end, segments.score, group)
    if sigma is None:
        rows, scores = hard_nms(*parts, threshold=threshold, min_score=min_score, cap=cap)
    else:
        rows, scores = soft_nms(*parts, sigma=sigma, min_score=min_score, cap=cap)
    # Within a video the rows are in order: by falling score, then label, start and end.
    order = np.argsort(segments.video[rows], kind="stable")
    rows, scores = rows[order], scores[order]
    if limit is not None:
        within = _rank(segments.video[rows]) < limit
        rows, scores = rows[within], scores[within]
    left = segments.take(rows)
    return Segments(
        left.video, left.start, left.end, left.label, scores, left.videos, left.labels, left.columns
    )


def _suppress(
    start: ArrayLike,
    end: ArrayLike,
    score: ArrayLike,
    group: ArrayLike | None,
    decay: Decay,
    min_score: float,
    cap: int | None,
    sigma: float | None = None,
) -> tuple[Integers, Floats]:
    """Suppress group by group; a ``sigma`` says that the decay is soft-NMS's, which can be compiled."""
    starts, ends, scores = (np.asarray(x, dtype=np.float64) for x in (start, end, score))
    groups = np.zeros(scores.shape, dtype=np.int64) if group is None else np.asarray(group)
    _require(starts, ends, scores, groups, min_score, cap)
    order = _by_score(scores, ends, starts)
    order = order[scores[order] >= min_score]
    small = groups.dtype.kind in "iu" and groups.size and groups.min() >= 0 and groups.max() < 2**16
    keys = groups.astype(np.uint16) if small else groups  # numbers of two bytes are sorted by counting
    order = order[np.argsort(keys[order], kind="stable")]
    if cap is not None:
        order = order[_rank(groups[order]) < cap]
    if not order.size:
        return order, scores[order]
    first = np.flatnonzero(np.concatenate([[True], groups[order[1:]] != groups[order[:-1]]]))
    if sigma is not None and len(order) >= _COMPILED_FROM and find_spec("numba") is not None:
        row, remaining = _compiled()(
            np.append(first, len(order)), order, starts[order], ends[order], scores[order], sigma, min_score
        )
        final = _by_score(remaining, ends[row], starts[row], groups[row])
        return row[final], remaining[final]
    size = np.diff(np.append(first, len(order)))
    rows: list[Integers] = []
    left: list[Floats] = []
    # Groups of like size share a table, so that little of it is padding.
    by_size = np.argsort(-size, kind="stable")
    begin = 0
    while begin < len(by_size):
        batch = by_size[begin : begin + max(1, _CELLS // int(size[by_size[begin]]))]
        begin += len(batch)
        columns = np.arange(size[batch[0]])
        inside = columns < size[batch][:, None]
        place = order[np.where(inside, first[batch][:, None] + columns, first[batch][:, None])]
        _run(starts, ends, np.where(inside, scores[place], -np.inf), place, decay, min_score, rows, left)
    row, remaining = np.concatenate(rows), np.concatenate(left)
    final = _by_score(remaining, ends[row], starts[row], groups[row])
    return row[final], remaining[final]


def _by_score(score: Floats, *keys: NDArray[np.generic]) -> Integers:
    """Return rows by falling score; those of equal score, which are few, by keys, the last one first."""
    order: Integers = np.argsort(-score)
    same = np.diff(score[order]) == 0
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same)) if same.any() else order[:0]
    rows = order[tied]
    order[tied] = rows[np.lexsort((*(key[rows] for key in keys), -score[rows]))]
    return order


def _run(
    starts: Floats,
    ends: Floats,
    scores: Floats,
    place: Integers,
    decay: Decay,
    min_score: float,
    rows: list[Integers],
    left: list[Floats],
) -> None:
    """Suppress a table of groups, one a line; what is taken or out has the score −inf."""
    a, b = starts[place], ends[place]
    length = np.maximum(b - a, 0.0) + _MARGIN
    while len(scores):
        line = np.arange(len(scores))
        best = scores.argmax(axis=1)
        top = scores[line, best]
        going = top > -np.inf
        if not going.all():
            # A group that is empty stays so: the table shrinks with the groups that are done.
            scores, a, b, length, place = (x[going] for x in (scores, a, b, length, place))
            continue
        rows.append(place[line, best])
        left.append(top)
        scores[line, best] = -np.inf
        low, high = a[line, best][:, None], b[line, best][:, None]
        shared = np.maximum(np.minimum(b, high) - np.maximum(a, low), 0.0)
        iou = shared / (length + length[line, best][:, None] - shared)
        scores = decay(scores, iou)
        scores[scores < min_score] = -np.inf


Loop = Callable[[Integers, Integers, Floats, Floats, Floats, float, float], tuple[Integers, Floats]]


@cache
def _compiled() -> Loop:
    """Compile ``_one_by_one``; many detections then take a tenth of the time of tables."""
    import numba

    compiled: Loop = numba.njit(cache=True)(_one_by_one)
    return compiled


def _one_by_one(
    bounds: Integers, row: Integers, start: Floats, end: Floats, score: Floats, sigma: float, min_score: float
) -> tuple[Integers, Floats]:
    """Do what ``_run`` does, one detection after the other: slow as it stands, fast when compiled.

    Args:
        bounds: where each group begins, and where the last one ends; shape (groups + 1,).
        row: of each detection, by group and then falling score; shape (n,).
        start: likewise; this and ``end`` are written over.
        end: likewise.
        score: likewise, at least ``min_score``.
        sigma: width of the Gaussian.
        min_score: what falls below is discarded.

    Returns:
        Rows and scores in the order in which they are taken, group after group.
    """
    taken, left = np.empty_like(row), np.empty_like(score)
    # Of logarithms a decay is subtracted; what has lost nothing keeps its score to the last bit.
    first = np.log(np.maximum(score, _LEAST))
    now, place = first.copy(), np.arange(len(row))
    least = np.log(min_score) if min_score > 0 else -np.inf
    count = 0
    for group in range(len(bounds) - 1):
        begin, stop = bounds[group], bounds[group + 1]
        best = begin
        while stop > begin:
            a, b, at = start[best], end[best], place[best]
            taken[count], left[count] = row[at], score[at] * np.exp(now[best] - first[at])
            count += 1
            length = max(b - a, 0.0) + _MARGIN
            if best == begin:
                begin += 1
                best = -1
            kept, following = begin, begin
            for i in range(begin, stop):
                if i == best:
                    continue
                after = now[i]
                shared = min(end[i], b) - max(start[i], a)
                if shared > 0:
                    iou = shared / (length + end[i] - start[i] + _MARGIN - shared)
                    after -= iou * iou / sigma
                    if after < least:
                        continue
                if kept != i:  # what is left moves together, in its order
                    place[kept], start[kept], end[kept] = place[i], start[i], end[i]
                now[kept] = after
                if after > now[following]:
                    following = kept
                kept += 1
            stop, best = kept, following
    return taken[:count], left[:count]


def _require(
    starts: Floats,
    ends: Floats,
    scores: Floats,
    groups: NDArray[np.generic],
    min_score: float,
    cap: int | None,
) -> None:
    require_times(starts, ends, "detections")
    if scores.shape != starts.shape or groups.shape != starts.shape:
        raise MetricInputError(
            f"detections: {len(starts)} starts, scores of shape {scores.shape}, groups of shape {groups.shape}",
            "give one score and one group for each detection",
        )
    wrong = np.flatnonzero(~np.isfinite(scores) | (scores < 0))
    if wrong.size:
        raise MetricInputError(
            f"detections: the score of row {wrong[0]} is {scores[wrong[0]]:g}",
            "give finite scores from 0, such as probabilities",
        )
    if not min_score >= 0:
        raise MetricInputError(f"min_score must not be negative, got {min_score:g}")
    if cap is not None and cap < 1:
        raise MetricInputError(f"the cap must be positive, got {cap}")


def _rank(sorted_keys: NDArray[np.generic]) -> Integers:
    """Position of each row within its run of equal keys."""
    count = np.arange(len(sorted_keys))
    first = np.ones(len(sorted_keys), dtype=np.bool_)
    first[1:] = sorted_keys[1:] != sorted_keys[:-1]
    result: Integers = count - np.maximum.accumulate(np.where(first, count, 0))
    return result

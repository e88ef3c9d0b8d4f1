"""Which prediction found which segment, at each overlap that is asked for.

Conventions: predictions of one class are taken in the order of falling score over all videos; ties are broken by
video, start and end, so that the order of the rows never changes a result. Each prediction looks at the ground
truth of its own video and class in the order of falling temporal IoU and takes the first segment that no earlier
prediction has taken and that it overlaps with an IoU of at least the threshold.

Source: ActivityNet's evaluation, as ActionFormer (Zhang, Wu and Li 2022) and CaptainCook4D use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.errors import MetricInputError
from proctor.metrics.localization.segments import Floats, Integers, Name, Segments, sorted_names
from proctor.metrics.temporal import temporal_ious

__all__ = ["MULTIPLES", "TIOU", "Matches", "match_segments", "require_multiples", "require_tiou"]

TIOU: Final = (0.1, 0.2, 0.3, 0.4, 0.5)
"""Thresholds of CaptainCook4D's tables."""
MULTIPLES: Final = (1, 5)
"""k of R@k×."""
_PAIRS: Final = 4_000_000
"""Pairs of a prediction and a segment held in memory at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """The record of every match: what all scores, slices and resamples are computed from.

    G segments of ground truth, P predictions, T thresholds, K multiples.

    Attributes:
        tiou: thresholds, rising.
        multiples: k of R@k×.
        classes: labels of the ground truth, sorted.
        videos: videos of either side, sorted.
        truth_class: (G,) position in ``classes``.
        truth_video: (G,) position in ``videos``.
        found_by: (G, T) the prediction that took the segment, -1 where none did.
        best_iou: (G, K) highest IoU with one of the k·n best-scored predictions of the segment's video and class,
            n being how many segments that video has of that class.
        prediction_class: (P,) position in ``classes``, -1 for a class that the ground truth lacks.
        prediction_video: (P,) position in ``videos``.
        order: predictions with a class, by class, then falling score.
    """

    tiou: tuple[float, ...]
    multiples: tuple[int, ...]
    classes: tuple[Name, ...]
    videos: tuple[Name, ...]
    truth_class: Integers
    truth_video: Integers
    found_by: Integers
    best_iou: Floats
    prediction_class: Integers
    prediction_video: Integers
    order: Integers

    def recalled(self, multiple: int) -> NDArray[np.bool_]:
        """Return (G, T): whether one of the k·n best predictions overlaps the segment enough.

        Several segments may be recalled by one prediction: nothing is taken here.
        """
        best = self.best_iou[:, self.multiples.index(multiple)]
        result: NDArray[np.bool_] = best[:, None] >= np.array(self.tiou)
        return result

    def matched(self) -> Integers:
        """Return (P, T): the segment that each prediction took, -1 for a false positive."""
        result = np.full((len(self.prediction_class), len(self.tiou)), -1, dtype=np.int64)
        segment, threshold = np.nonzero(self.found_by >= 0)
        result[self.found_by[segment, threshold], threshold] = segment
        return result


def require_tiou(tiou: Sequence[float]) -> tuple[float, ...]:
    """Return thresholds that make sense.

    Raises:
        MetricInputError: if there is none, one is not above 0 and at most 1, or they do not rise.
    """
    values = tuple(float(t) for t in tiou)
    if not values:
        raise MetricInputError("no tIoU threshold was given", "give at least one, such as 0.5")
    wrong = [t for t in values if not 0.0 < t <= 1.0]
    if wrong:
        raise MetricInputError(
            f"a tIoU threshold must be above 0 and at most 1, got {wrong[0]:g}", "give shares, not per cent"
        )
    if any(b <= a for a, b in pairwise(values)):
        raise MetricInputError(f"tIoU thresholds must rise, got {', '.join(f'{t:g}' for t in values)}")
    return values


def require_multiples(multiples: Sequence[int]) -> tuple[int, ...]:
    """Return the k of R@k× that make sense.

    Raises:
        MetricInputError: if one is not a positive whole number or occurs twice.
    """
    values = tuple(multiples)
    if any(k != int(k) or k < 1 for k in values) or len(set(values)) != len(values):
        raise MetricInputError(f"k of R@kx must be different positive whole numbers, got {list(values)}")
    return tuple(int(k) for k in values)


def match_segments(
    truth: Segments,
    predictions: Segments,
    tiou: Sequence[float] = TIOU,
    multiples: Sequence[int] = MULTIPLES,
) -> Matches:
    """Match predictions with the ground truth of their video and class, greedily by score.

    Args:
        truth: ground truth; segments without a length overlap nothing and stay unfound.
        predictions: with scores.
        tiou: thresholds, rising, above 0.
        multiples: k of R@k×.

    Raises:
        MetricInputError: if the ground truth is empty, predictions have no scores, both sides share no video, one
            writes its labels as numbers and the other as texts, or an option makes no sense.
    """
    thresholds, ks = require_tiou(tiou), require_multiples(multiples)
    if not len(truth):
        raise MetricInputError(
            "the ground truth has no segments", "check the file, the subset and the list of videos"
        )
    if predictions.score is None:
        raise MetricInputError("the predictions have no scores", "give each prediction its confidence")
    _require_common_names(truth, predictions)
    classes = truth.used_labels()
    videos = tuple(sorted_names({*truth.used_videos(), *predictions.used_videos()}))
    truth_class, truth_video = _recoded(truth, classes, videos)
    prediction_class, prediction_video = _recoded(predictions, classes, videos)
    order = _falling(predictions, predictions.score, prediction_class, prediction_video)
    pairs = _Pairs.of(
        truth, predictions, truth_class * len(videos) + truth_video, prediction_class, prediction_video,
        order, len(videos), thresholds[0], ks,
    )  # fmt: skip
    found_by = np.full((len(truth), len(thresholds)), -1, dtype=np.int64)
    _take_lone(pairs, thresholds, found_by)
    _take_in_turn(pairs, thresholds, found_by)
    return Matches(
        thresholds, ks, classes, videos, truth_class, truth_video, found_by, pairs.best_iou,
        prediction_class, prediction_video, order,
    )  # fmt: skip


def _require_common_names(truth: Segments, predictions: Segments) -> None:
    """Refuse what would be 0 whatever was predicted: no video in common, or labels of another type."""
    for what, wanted, given in (
        ("video", {*truth.videos}, {*predictions.videos}),
        ("label", {*truth.used_labels()}, {*predictions.used_labels()}),
    ):
        if not given or wanted & given:
            continue
        if {str(name) for name in wanted} & {str(name) for name in given}:
            kinds = [type(next(iter(names))).__name__ for names in (wanted, given)]
            raise MetricInputError(
                f"no {what} of the predictions is in the ground truth: there they are {kinds[0]}, here {kinds[1]}",
                "write both alike, as texts or as whole numbers",
            )
        if what == "video":
            raise MetricInputError(
                f"no video of the predictions is in the ground truth (for example {min(given, key=repr)!r} against "
                f"{min(wanted, key=repr)!r})",
                "name videos alike in both",
            )


def _recoded(
    segments: Segments, classes: tuple[Name, ...], videos: tuple[Name, ...]
) -> tuple[Integers, Integers]:
    """Return class and video of each segment as positions in common lists, -1 where a list lacks it."""
    codes = []
    for own, common, values in (
        (segments.labels, classes, segments.label),
        (segments.videos, videos, segments.video),
    ):
        position = {name: k for k, name in enumerate(common)}
        table = np.array([position.get(name, -1) for name in own], dtype=np.int64)
        codes.append(table[values] if len(values) else np.zeros(0, dtype=np.int64))
    return codes[0], codes[1]


def _falling(segments: Segments, score: Floats, label: Integers, video: Integers) -> Integers:
    """Order by class and falling score, ties by video, start and end; rows of class -1 are left out.

    Sorting by all five at once costs several times as much; only the tied rows need it.
    """
    known = np.flatnonzero(label >= 0)
    order = known[np.argsort(-score[known], kind="stable")]
    order = order[_stable(label[order])]
    tied = (score[order[1:]] == score[order[:-1]]) & (label[order[1:]] == label[order[:-1]])
    if tied.any():
        member = np.zeros(len(order), dtype=np.bool_)
        member[1:] |= tied
        member[:-1] |= tied
        run = np.concatenate([[0], np.cumsum(~tied)])[member]
        rows = order[member]
        order[member] = rows[np.lexsort((segments.end[rows], segments.start[rows], video[rows], run))]
    return order


def _stable(keys: Integers) -> Integers:
    """Stable order of non-negative keys; NumPy sorts 16-bit numbers in linear time."""
    small = keys.astype(np.uint16) if len(keys) and keys.max() < 2**16 else keys
    order: Integers = np.argsort(small, kind="stable")
    return order


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """Predictions and segments of one video and class that overlap enough for the lowest threshold.

    Sorted by group, then falling score of the prediction, then falling IoU, then start and end of the segment.
    """

    prediction: Integers
    segment: Integers
    iou: Floats
    lone: NDArray[np.bool_]
    """True where the segment is the only one of its video and class."""
    best_iou: Floats

    @classmethod
    def of(
        cls,
        truth: Segments,
        predictions: Segments,
        truth_key: Integers,
        prediction_class: Integers,
        prediction_video: Integers,
        order: Integers,
        videos: int,
        lowest: float,
        multiples: tuple[int, ...],
    ) -> _Pairs:
        segments = np.lexsort((truth.end, truth.start, truth_key))
        keys, first, size = np.unique(truth_key[segments], return_index=True, return_counts=True)
        key = prediction_class[order] * videos + prediction_video[order]
        group = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
        inside = keys[group] == key
        rows, group = order[inside], group[inside]
        grouped = _stable(group)
        rows, group = rows[grouped], group[grouped]
        begin = np.searchsorted(group, np.arange(len(keys)))
        rank = np.arange(len(rows)) - begin[group]
        kept: list[tuple[Integers, Integers, Floats]] = []
        best_iou = np.zeros((len(truth), len(multiples)))
        for part in _portions(size[group]):
            count = size[group[part]]
            which = np.repeat(np.arange(part.start, part.stop), count)
            number = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)
            segment = segments[first[group[which]] + number]
            a, b = rows[which], segment
            iou = temporal_ious(truth.start[b], truth.end[b], predictions.start[a], predictions.end[a])
            for column, multiple in enumerate(multiples):
                among = (iou > 0) & (rank[which] < multiple * size[group[which]])
                np.maximum.at(best_iou[:, column], segment[among], iou[among])
            enough = iou >= lowest
            kept.append((which[enough], segment[enough], iou[enough]))
        nothing = np.zeros(0, dtype=np.int64)
        which = np.concatenate([nothing, *(k[0] for k in kept)])
        segment = np.concatenate([nothing, *(k[1] for k in kept)])
        iou = np.concatenate([np.zeros(0), *(k[2] for k in kept)])
        lone = size[group[which]] == 1
        turn = np.flatnonzero(~lone)
        turn = turn[np.lexsort((-iou[turn], which[turn]))]  # stable: equal IoU stay by start and end
        arranged = np.concatenate([np.flatnonzero(lone), turn])
        return cls(rows[which[arranged]], segment[arranged], iou[arranged], lone[arranged], best_iou)


def _portions(counts: Integers) -> list[slice]:
    """Cut rows into stretches that make at most so many pairs each (one row at least)."""
    total = np.cumsum(counts)
    if not len(total):
        return []
    cuts = np.searchsorted(total, np.arange(_PAIRS, total[-1], _PAIRS))
    edges = np.unique(np.concatenate([[0], cuts, [len(counts)]])).tolist()
    return [slice(a, b) for a, b in pairwise(edges)]


def _take_lone(pairs: _Pairs, thresholds: tuple[float, ...], found_by: Integers) -> None:
    """A segment alone in its video and class goes to the best-scored prediction that overlaps it enough."""
    prediction, segment, iou = pairs.prediction[pairs.lone], pairs.segment[pairs.lone], pairs.iou[pairs.lone]
    for column, threshold in enumerate(thresholds):
        enough = iou >= threshold
        s, p = segment[enough], prediction[enough]
        first = np.ones(len(s), dtype=np.bool_)
        first[1:] = s[1:] != s[:-1]
        found_by[s[first], column] = p[first]


def _take_in_turn(pairs: _Pairs, thresholds: tuple[float, ...], found_by: Integers) -> None:
    """Predictions choose one after the other, at all thresholds at once: one bit a threshold."""
    turn = ~pairs.lone
    reached = np.searchsorted(np.array(thresholds), pairs.iou[turn], side="right").tolist()
    everything = (1 << len(thresholds)) - 1
    taken: dict[int, int] = {}
    now, wanting = -1, 0
    for prediction, segment, level in zip(
        pairs.prediction[turn].tolist(), pairs.segment[turn].tolist(), reached, strict=True
    ):
        if prediction != now:
            now, wanting = prediction, everything
        before = taken.get(segment, 0)
        takes = wanting & ((1 << level) - 1) & ~before
        if takes:
            taken[segment] = before | takes
            wanting &= ~takes
            for column in range(takes.bit_length()):
                if takes >> column & 1:
                    found_by[segment, column] = prediction

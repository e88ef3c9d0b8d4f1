"""All scores of a set of videos with their intervals, from the statistics."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.bootstrap import bootstrap_intervals
from proctor.metrics.interval import Interval
from proctor.metrics.score import Score, Signature
from proctor.metrics.segmentation.boundaries import BoundaryErrors
from proctor.metrics.segmentation.counts import f1_signature, ratio_signature
from proctor.metrics.segmentation.edit import edit_signature
from proctor.metrics.segmentation.frames import frame_signature
from proctor.metrics.segmentation.statistics import SegmentationStatistics
from proctor.metrics.segmentation.videos import Floats, hidden_labels

__all__ = ["segmentation_scores"]

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

"""Scores of frames, and means over groups of videos with their intervals."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from proctor.metrics.bootstrap import Floats, bootstrap_interval, cluster_sums
from proctor.metrics.clustering.measures import AVERAGES, MEASURES, Average, measure_key_steps
from proctor.metrics.clustering.overlap import (
    BACKGROUNDS,
    Background,
    Overlap,
    count_overlap,
    require_choice,
    stacked_counts,
)
from proctor.metrics.errors import require_options
from proctor.metrics.interval import Interval
from proctor.metrics.score import Score, Signature

__all__ = [
    "NOTHING",
    "key_step_f1",
    "key_step_iou",
    "key_step_precision",
    "key_step_recall",
    "mean_over_groups",
]

NOTHING: Final = "no frame has a key step"


def key_step_precision(reference: Sequence[object], predicted: Sequence[object], **options: str) -> Score:
    """Share of each matched cluster that belongs to its key step, averaged over key steps.

    Args:
        reference: true label of each frame of everything that was clustered together.
        predicted: cluster of each frame, parallel.
        **options: ``average``, ``background``, ``background_label``: see ``count_overlap``, ``measure_key_steps``.

    Returns:
        Between 0 and 1, ``n`` in frames; undefined with a note when no frame has a class. For intervals and the
        mean over recipes see ``mean_over_groups``.

    Raises:
        MetricInputError: if lengths differ or an option is unknown.
    """
    return _of_frames(0, reference, predicted, options)


def key_step_recall(reference: Sequence[object], predicted: Sequence[object], **options: str) -> Score:
    """Share of each key step that its matched cluster covers, averaged over key steps; see ``key_step_precision``."""
    return _of_frames(1, reference, predicted, options)


def key_step_iou(reference: Sequence[object], predicted: Sequence[object], **options: str) -> Score:
    """Common frames over the frames of either, averaged over key steps; see ``key_step_precision``."""
    return _of_frames(2, reference, predicted, options)


def key_step_f1(reference: Sequence[object], predicted: Sequence[object], **options: str) -> Score:
    """Harmonic mean of the averaged precision and recall (not a mean of F1); see ``key_step_precision``."""
    return _of_frames(3, reference, predicted, options)


def _of_frames(
    measure: int, reference: Sequence[object], predicted: Sequence[object], options: Mapping[str, str]
) -> Score:
    require_options(options, ("average", "background", "background_label"))
    average, background = options.get("average", "per-key-step"), options.get("background", "class")
    require_choice(average, AVERAGES, "average")
    require_choice(background, BACKGROUNDS, "background")
    overlap = count_overlap(
        reference,
        predicted,
        background_label=options.get("background_label", "0"),
        background=background,  # type: ignore[arg-type]  # checked above
    )
    ignored = overlap.background if background == "matched" else None
    value = measure_key_steps(overlap.counts, average=average, ignored=ignored)[measure]  # type: ignore[arg-type]
    signature = Signature(
        MEASURES[measure], {"average": average, "background": background, "interval": "none"}
    )
    frames = int(overlap.counts.sum())
    return Score(value, signature, frames, note=NOTHING if math.isnan(value) else "")


def mean_over_groups(
    groups: Mapping[str, Mapping[str, Overlap]],
    *,
    average: Average = "per-key-step",
    background: Background = "class",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    settings: Mapping[str, str] | None = None,
) -> tuple[Score, ...]:
    """Score several clusterings (recipes) and average them.

    Args:
        groups: overlaps by video, by group; the videos of a group share their clusters and are pooled.
        average: see ``measure_key_steps``.
        background: see ``count_overlap``.
        confidence: of the intervals.
        resamples: of the bootstrap; 0 leaves the intervals out. Groups are drawn; with one group its videos are,
            and every resample is matched anew.
        seed: of the bootstrap.
        settings: further parts of the signature (rate, clusters).

    Returns:
        The scores in the order of ``MEASURES``; ``n`` counts groups with a class, ``skipped`` the others. With
        one group ``n`` counts its videos.

    Raises:
        MetricInputError: if an option is unknown.
    """
    require_choice(average, AVERAGES, "average")
    require_choice(background, BACKGROUNDS, "background")
    stacks = {name: stacked_counts(videos, background) for name, videos in sorted(groups.items())}
    measures = {
        name: measure_key_steps(stack.sum(axis=0), average=average, ignored=ignored)
        for name, (stack, ignored) in stacks.items()
    }
    kept = [name for name, values in measures.items() if not math.isnan(values[0])]
    skipped = len(measures) - len(kept)
    parts = {"average": average, "background": background, **(settings or {})}
    if not kept:
        return tuple(
            Score(math.nan, Signature(m, {**parts, "interval": "none"}), 0, skipped=skipped, note=NOTHING)
            for m in MEASURES
        )
    sampling = {"confidence": confidence, "resamples": resamples, "seed": seed}
    out = []
    memo: dict[bytes, tuple[float, ...]] = {}
    for k, measure in enumerate(MEASURES):
        value = math.fsum(measures[name][k] for name in kept) / len(kept)
        n, interval = len(kept), None
        if len(kept) == 1:
            n = len(groups[kept[0]])
        if resamples and len(kept) > 1:
            sums = cluster_sums([[measures[name][k] for name in kept], [1.0] * len(kept)], kept)
            interval = bootstrap_interval(sums, **sampling)  # type: ignore[arg-type]
        elif resamples:
            stack, ignored = stacks[kept[0]]
            statistic = _rematched(stack.shape[1:], average, ignored, k, memo)
            interval = bootstrap_interval(stack.reshape(len(stack), -1), statistic, **sampling)  # type: ignore[arg-type]
        unit = "group" if len(kept) > 1 else "video"
        out.append(_with_interval(value, Signature(measure, parts), n, interval, unit, sampling, skipped))
    return tuple(out)


def _rematched(
    shape: tuple[int, ...],
    average: Average,
    ignored: int | None,
    measure: int,
    memo: dict[bytes, tuple[float, ...]],
) -> Callable[[Floats], Floats]:
    """Return the statistic of resampled overlaps; all four measures see the same draws, matched once."""

    def one(row: Floats) -> float:
        key = hashlib.blake2b(row.tobytes(), digest_size=16).digest()
        if key not in memo:
            memo[key] = measure_key_steps(row.reshape(shape), average=average, ignored=ignored)
        return memo[key][measure]

    return lambda sums: np.array([one(row) for row in sums])


def _with_interval(
    value: float,
    signature: Signature,
    n: int,
    interval: Interval | None,
    unit: str,
    sampling: Mapping[str, float],
    skipped: int,
) -> Score:
    if interval is None:
        return Score(value, signature.having(interval="none"), n, skipped=skipped)
    parts = {
        "cluster": unit,
        "interval": interval.method,
        "resamples": str(sampling["resamples"]),
        "seed": str(sampling["seed"]),
    }
    return Score(
        value, signature.having(**parts), n, interval.low, interval.high, skipped=skipped, note=interval.note
    )

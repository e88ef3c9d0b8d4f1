"""Do annotators mark the same steps at the same times?

Conventions: a segment is (step id, start, end) in seconds, half-open ``[start, end)``, and longer than 0. Nobody is
the reference: every number here is the same when the two annotators change places. Segments are compared within one
recording and one step id only. A step done several times is matched one to one so that the total overlap is largest,
equal totals by the nearest boundaries; as many executions are matched as the one with fewer of them has, even where
they do not overlap (the same step marked at two places is a disagreement about time, not two missing steps). What is
left over is missing, counted, and scores 0 where a mean over steps is taken.

- *Mean IoU per step*: for each recording, pair of annotators and step, the sum of the IoU of matched executions over
  the larger number of executions; then the mean.
- *Boundary error*: absolute difference of matched starts and ends in seconds, as median and 90 % quantile (linear
  between order statistics, as NumPy's default).
- *Detection F1* at a threshold: 2 TP / (executions of both), where TP is the largest number of one-to-one matches of
  the same step with IoU at or above the threshold.

Intervals are percentile bootstraps over recordings.

Reference: temporal IoU as in action localization; the measures are ours.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Literal, get_args

import numpy as np

from proctor.metrics.agreement import bootstrap_signature, ratio_score, require_resampling, resampled_interval
from proctor.metrics.bootstrap import Floats
from proctor.metrics.catalogue import Entries
from proctor.metrics.errors import MetricInputError
from proctor.metrics.score import Score
from proctor.metrics.temporal import temporal_ious

__all__ = [
    "METRICS",
    "Boundary",
    "Missing",
    "StepComparison",
    "TimedStep",
    "boundary_error",
    "compare_segments",
    "detection_agreement",
    "mean_segment_iou",
    "segment_counts",
]

TimedStep = tuple[str, float, float]
"""Step id, start and end in seconds."""
Missing = Literal["zero", "skip"]
Boundary = Literal["start", "end", "both"]

_NO_PAIR: Final = "no recording was marked by two annotators"
_BLOCK: Final = 2_000_000
"""Errors held in memory at a time while resampling (about 16 MB, several times over)."""
_TIE: Final = 1e-6
"""Weight of the distance of boundaries beside IoU: enough to settle ties."""


@dataclass(frozen=True, slots=True, eq=False)
class StepComparison:
    """One step of one recording as two annotators marked it.

    Attributes:
        recording: its id.
        step: its id.
        a: the annotator whose name sorts first.
        b: the other.
        overlap: IoU of every two executions, shape (executions of a, executions of b), in order of time.
        matched: places of matched executions in both.
        start_difference: of matched executions, ``b - a`` in seconds.
        end_difference: likewise.
    """

    recording: str
    step: str
    a: str
    b: str
    overlap: Floats
    matched: tuple[tuple[int, int], ...]
    start_difference: Floats
    end_difference: Floats

    @property
    def matched_overlap(self) -> float:
        """Sum of the IoU of matched executions."""
        return math.fsum(float(self.overlap[pair]) for pair in self.matched)

    @property
    def missing(self) -> int:
        """Executions of one annotator without a partner."""
        return int(max(self.overlap.shape) - min(self.overlap.shape))


def compare_segments(
    recordings: Mapping[str, Mapping[str, Sequence[TimedStep]]],
) -> tuple[StepComparison, ...]:
    """Match the segments of every two annotators of every recording, step by step.

    Args:
        recordings: recording id to annotator to segments; an empty list says that nothing was done.

    Returns:
        One comparison for each recording, pair of annotators and step that either marked, sorted.

    Raises:
        MetricInputError: if a time is not finite, a segment does not end after its start, or one is there twice.
    """
    found = []
    for recording, by in sorted(recordings.items()):
        steps = {who: _by_step(recording, who, by[who]) for who in sorted(by)}
        for a, b in combinations(sorted(by), 2):
            found += [
                _compare(recording, step, a, b, steps[a].get(step, _NOTHING), steps[b].get(step, _NOTHING))
                for step in sorted({*steps[a], *steps[b]})
            ]
    return tuple(found)


_NOTHING: Final = np.zeros((0, 2))


def _by_step(recording: str, annotator: str, segments: Sequence[TimedStep]) -> dict[str, Floats]:
    """Starts and ends of each step in order of time, shape (executions, 2)."""
    times: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for segment in segments:
        try:
            step, start, end = segment[0], float(segment[1]), float(segment[2])
        except (TypeError, ValueError, IndexError):
            raise MetricInputError(
                f"recording {recording!r}, annotator {annotator!r}: a segment is (step, start, end), got {segment!r}"
            ) from None
        where = f"recording {recording!r}, annotator {annotator!r}, step {step!r}"
        if not (math.isfinite(start) and math.isfinite(end)):
            raise MetricInputError(
                f"{where}: the times are not finite ({start:g}, {end:g})", "repair or remove it"
            )
        if end <= start:
            raise MetricInputError(
                f"{where}: the segment ends at {end:g} s, not after its start at {start:g} s",
                "repair or remove it",
            )
        if (start, end) in times[step]:
            raise MetricInputError(
                f"{where}: the segment from {start:g} to {end:g} s is there twice", "remove one"
            )
        times[step].append((start, end))
    return {step: np.array(sorted(listed)) for step, listed in times.items()}


def _compare(recording: str, step: str, a: str, b: str, one: Floats, two: Floats) -> StepComparison:
    overlap = temporal_ious(one[:, None, 0], one[:, None, 1], two[None, :, 0], two[None, :, 1])
    apart = np.abs(one[:, None, :] - two[None, :, :]).sum(axis=2)
    apart /= max(float(apart.sum()), 1e-300)
    # Of matchings that are equally far apart the one with the most even distances: else the order of rows would decide.
    matched = _assign(overlap - _TIE * (apart + 1e-3 * apart**2))
    difference = np.array([two[j] - one[i] for i, j in matched]).reshape(-1, 2)
    return StepComparison(recording, step, a, b, overlap, matched, difference[:, 0], difference[:, 1])


def _assign(gain: Floats) -> tuple[tuple[int, int], ...]:
    """Match rows with columns one to one for the largest total."""
    if not gain.size:
        return ()
    if 1 in gain.shape:
        i, j = np.unravel_index(int(gain.argmax()), gain.shape)
        return ((int(i), int(j)),)
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(gain, maximize=True)
    return tuple(zip(rows.tolist(), columns.tolist(), strict=True))


def segment_counts(comparisons: Sequence[StepComparison]) -> dict[str, int]:
    """Count what was compared: steps (of a recording and a pair of annotators) and executions.

    Returns:
        ``steps``, ``steps in both``, ``steps missing`` (marked by one of the two only), ``executions matched`` and
        ``executions missing``.
    """
    both = sum(bool(c.overlap.size) for c in comparisons)
    return {
        "steps": len(comparisons),
        "steps in both": both,
        "steps missing": len(comparisons) - both,
        "executions matched": sum(len(c.matched) for c in comparisons),
        "executions missing": sum(c.missing for c in comparisons),
    }


def _ratio_over_recordings(
    name: str,
    comparisons: Sequence[StepComparison],
    columns: Floats,
    n: int,
    skipped: int,
    why_undefined: str,
    confidence: float,
    resamples: int,
    seed: int,
    **more: str,
) -> Score:
    require_resampling(confidence, resamples, seed)
    signature = bootstrap_signature(name, (), confidence, resamples, seed, **more)
    if resamples:
        signature = signature.having(cluster="recording")
    why = why_undefined if comparisons else _NO_PAIR
    recordings = [c.recording for c in comparisons]
    return ratio_score(columns, recordings, signature, n, why, confidence, resamples, seed, skipped=skipped)


def mean_segment_iou(
    comparisons: Sequence[StepComparison],
    *,
    missing: Missing = "zero",
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Score:
    """Mean IoU per step, 0 to 1.

    Args:
        comparisons: from ``compare_segments``.
        missing: ``zero`` divides by the larger number of executions, so a step that only one annotator marked scores
            0; ``skip`` divides by the matched executions, and leaves out steps that only one marked.
        confidence: of the interval over recordings.
        resamples: of the bootstrap; 0 for no interval.
        seed: of the bootstrap.

    Returns:
        The score: ``n`` steps (of a recording and a pair of annotators); with ``skip`` those that only one marked are
        skipped.

    Raises:
        MetricInputError: if an option is unknown or out of range.
    """
    if missing not in get_args(Missing):
        raise MetricInputError(f"missing must be one of {', '.join(get_args(Missing))}, got {missing!r}")
    sizes = [max(c.overlap.shape) if missing == "zero" else min(c.overlap.shape) for c in comparisons]
    values = [c.matched_overlap / size if size else 0.0 for c, size in zip(comparisons, sizes, strict=True)]
    counted = [float(size > 0) for size in sizes]
    return _ratio_over_recordings(
        "mean_segment_iou", comparisons, np.array([values, counted]), int(sum(counted)),
        len(comparisons) - int(sum(counted)), "no step was marked by both", confidence, resamples, seed,
        missing=missing,
    )  # fmt: skip


def detection_agreement(
    comparisons: Sequence[StepComparison],
    threshold: float,
    *,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Score:
    """F1 of one annotator's segments against the other's at an IoU threshold, 0 to 1, the same both ways.

    Args:
        comparisons: from ``compare_segments``.
        threshold: of IoU, above 0, at most 1; reached counts.
        confidence: of the interval over recordings.
        resamples: of the bootstrap; 0 for no interval.
        seed: of the bootstrap.

    Returns:
        The score; ``n`` counts the executions of both annotators.

    Raises:
        MetricInputError: if an option is out of range.
    """
    if not 0.0 < threshold <= 1.0:
        raise MetricInputError(f"the threshold must lie above 0 and not above 1, got {threshold}")
    reached = [c.overlap >= threshold for c in comparisons]
    hits = [2.0 * sum(int(one[pair]) for pair in _assign(one.astype(np.float64))) for one in reached]
    sizes = [float(sum(c.overlap.shape)) for c in comparisons]
    return _ratio_over_recordings(
        "detection_agreement", comparisons, np.array([hits, sizes]), int(sum(sizes)), 0, _NO_PAIR,
        confidence, resamples, seed, tiou=f"{threshold:g}",
    )  # fmt: skip


def boundary_error(
    comparisons: Sequence[StepComparison],
    quantile: float = 0.5,
    *,
    boundary: Boundary = "both",
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Score:
    """Quantile of the absolute difference of matched boundaries, in seconds, 0 or more.

    Args:
        comparisons: from ``compare_segments``.
        quantile: 0.5 for the median.
        boundary: starts, ends, or both thrown together.
        confidence: of the interval over recordings.
        resamples: of the bootstrap; 0 for no interval.
        seed: of the bootstrap.

    Returns:
        The score: ``n`` matched executions, ``skipped`` those without a partner.

    Raises:
        MetricInputError: if an option is unknown or out of range.
    """
    require_resampling(confidence, resamples, seed)
    if not 0.0 <= quantile <= 1.0:
        raise MetricInputError(f"the quantile must lie between 0 and 1, got {quantile}")
    if boundary not in get_args(Boundary):
        raise MetricInputError(f"boundary must be one of {', '.join(get_args(Boundary))}, got {boundary!r}")
    signature = bootstrap_signature(
        "boundary_error", (), confidence, resamples, seed, quantile=f"{quantile:g}", boundary=boundary
    )
    if resamples:
        signature = signature.having(cluster="recording")
    counts = segment_counts(comparisons)
    n, skipped = counts["executions matched"], counts["executions missing"]
    if not n:
        why = "no step was marked by both" if comparisons else _NO_PAIR
        return Score(math.nan, signature, 0, skipped=skipped, note=why)
    sides = ("start", "end") if boundary == "both" else (boundary,)
    errors, recordings = [], []
    for side in sides:
        for c in comparisons:
            difference = c.start_difference if side == "start" else c.end_difference
            errors += np.abs(difference).tolist()
            recordings += [c.recording] * len(difference)
    value = np.array(errors)
    order = np.argsort(value, kind="stable")
    names, cluster = np.unique(np.array(recordings), return_inverse=True)

    def of_draws(uses: Floats) -> Floats:
        """Each error occurs as often as its recording was drawn."""
        rows = max(1, _BLOCK // len(value))
        parts = np.split(uses, range(rows, len(uses), rows))
        return np.concatenate(
            [_weighted_quantile(value[order], p[:, cluster[order]], quantile) for p in parts]
        )

    interval = resampled_interval(
        np.eye(len(names)), of_draws, confidence=confidence, resamples=resamples, seed=seed
    )
    middle = float(np.quantile(value, quantile))
    return Score(middle, signature, n, interval.low, interval.high, skipped=skipped, note=interval.note)


def _weighted_quantile(values: Floats, uses: Floats, quantile: float) -> Floats:
    """Quantile of sorted values that occur so many times each, one for each row of uses; linear in between."""
    upto = np.cumsum(uses, axis=1)
    place = (upto[:, -1] - 1) * quantile
    low = np.floor(place)
    # How many sorted values end before the place: searchsorted, for all rows at once.
    first = values[(upto <= low[:, None]).sum(axis=1)]
    second = values[(upto <= np.ceil(place)[:, None]).sum(axis=1)]
    result: Floats = first + (place - low) * (second - first)
    return result


_REST: Final = "cluster:recording|interval:percentile-95|"

_entry: Final = Entries("agreement", "segment_agreement")

METRICS: Final = (
    _entry(
        "mean_segment_iou",
        "IoU per step",
        "Mean over recordings, pairs of annotators and steps of the IoU of matched executions, summed and "
        "divided by the larger number of executions.",
        signature=f"{_REST}missing:zero|resamples:2000|seed:0",
        citation="ours; temporal IoU as in action localization",
        traps="A step that one annotator left out scores 0 by default; leaving it out of the mean (missing:skip) "
        "flatters.",
    ),
    _entry(
        "detection_agreement",
        "F1@IoU",
        "2 TP / (executions of both annotators), TP the largest number of one-to-one matches of the same "
        "step with IoU at or above the threshold.",
        signature=f"{_REST}resamples:2000|seed:0|tiou:0.5",
        citation="ours; temporal IoU as in action localization",
        traps="Pooled over steps, so steps done often count more than in the mean IoU per step.",
    ),
    _entry(
        "boundary_error",
        "boundary error",
        "Median (or another quantile) of the absolute difference of matched starts and ends.",
        range="0 or more, in seconds",
        direction="lower",
        signature=f"boundary:both|{_REST}quantile:0.5|resamples:2000|seed:0",
        citation="ours; temporal IoU as in action localization",
        traps="Only of matched executions: read it with the number of missing ones. Executions that do not overlap "
        "are matched too, and show in the 90 % quantile.",
    ),
)

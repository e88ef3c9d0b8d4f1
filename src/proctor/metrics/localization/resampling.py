"""Intervals of localization scores: whole videos are drawn, because steps of one video share its difficulty.

Macro scores need care. A resample holds about 63 % of the videos, the rest of its places are copies; so a class
meets fewer false positives of other videos, and mAP of resamples lies several points above the mAP of the data.
The plain percentile interval then lies too high, and BCa, which takes this for a bias of the estimate, too low.
What is wanted is the spread: how much the score moves from one draw of videos to the next. So the resampled scores
are moved to have their mean at the estimate ("centred"). In simulated data with 19 videos the 95 % interval of mAP
covered the truth in 95 % of the runs; the percentile interval in 84 %, BCa in 70 %
(``tests/metrics/localization/test_resampling.py`` repeats this in small).
"""

from __future__ import annotations

import numpy as np

from proctor.metrics.bootstrap import FEW_CLUSTERS
from proctor.metrics.errors import MetricInputError
from proctor.metrics.interval import Interval, require_confidence
from proctor.metrics.localization.matching import Matches
from proctor.metrics.localization.scores import weighted_scores
from proctor.metrics.localization.segments import Floats

__all__ = ["centred_intervals", "score_intervals"]


def score_intervals(
    matches: Matches, *, resamples: int = 1000, confidence: float = 0.95, seed: int = 0
) -> tuple[Interval, ...]:
    """Interval of every headline score, in the order of the columns of ``weighted_scores``.

    Args:
        matches: from ``match_segments``.
        resamples: draws of as many videos as there are, with replacement.
        confidence: coverage aimed at.
        seed: of the draws.

    Returns:
        Intervals in per cent, cut at 0 and 100. They have no ends with fewer than two videos.

    Raises:
        MetricInputError: if an option is out of range.
    """
    if resamples < 1:
        raise MetricInputError(f"resamples must be positive, got {resamples}")
    videos = len(matches.videos)
    estimate = weighted_scores(matches, np.ones((1, videos)))[0]
    if videos < 2:
        _require(confidence)
        note = "one video was scored: variation between videos is unknown"
        return tuple(Interval(None, None, _method(confidence), note) for _ in estimate)
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(videos, np.full(videos, 1.0 / videos), size=resamples).astype(np.float64)
    return centred_intervals(
        estimate, weighted_scores(matches, drawn), confidence=confidence, clusters=videos
    )


def centred_intervals(
    estimate: Floats, draws: Floats, *, confidence: float = 0.95, clusters: int, high: float = 100.0
) -> tuple[Interval, ...]:
    """Percentile intervals of resampled scores, moved so that the mean of the resamples is the estimate.

    Args:
        estimate: (M,) scores of the data.
        draws: (B, M) scores of resamples; those that are not finite are left out.
        confidence: coverage aimed at.
        clusters: how many clusters were drawn, for the note on few of them.
        high: the best possible score; 0 is the worst.

    Raises:
        MetricInputError: if the confidence is out of range.
    """
    _require(confidence)
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    few = f"only {clusters} videos: the interval is too narrow" if clusters < FEW_CLUSTERS else ""
    out = []
    for value, column in zip(estimate, draws.T, strict=True):
        column = column[np.isfinite(column)]
        if not np.isfinite(value) or not column.size:
            out.append(Interval(None, None, _method(confidence), "no resample has a defined value"))
            continue
        ends = np.clip(np.quantile(column, tails) - column.mean() + value, 0.0, high)
        # Rounding and skewed resamples must not leave the value outside its own interval.
        low, top = min(float(ends[0]), float(value)), max(float(ends[1]), float(value))
        note = few or ("no variation between videos: the interval has no width" if low == top else "")
        out.append(Interval(low, top, _method(confidence), note))
    return tuple(out)


def _require(confidence: float) -> None:
    try:
        require_confidence(confidence)
    except ValueError as error:
        raise MetricInputError(str(error)) from None


def _method(confidence: float) -> str:
    return f"centred-{100 * confidence:g}"

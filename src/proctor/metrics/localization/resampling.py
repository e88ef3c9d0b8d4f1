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

from proctor.metrics.bootstrap import FEW_CLUSTERS, FEW_CLUSTERS_NOTE, interval_tails
from proctor.metrics.errors import MetricInputError
from proctor.metrics.interval import Interval, require_confidence
from proctor.metrics.localization.matching import Matches
from proctor.metrics.localization.scores import weighted_scores
from proctor.metrics.localization.segments import Floats, Name, sorted_names

__all__ = ["centred_intervals", "difference_intervals", "score_intervals"]


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
        Intervals, cut at 0 and 1. They have no ends with fewer than two videos.

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


def difference_intervals(
    first: Matches, second: Matches, *, resamples: int = 1000, confidence: float = 0.95, seed: int = 0
) -> tuple[tuple[float, Interval], ...]:
    """How much the second system lies above the first in every headline score, both on the same resamples.

    Two systems find the same videos hard, so the difference moves less than each of them.

    Args:
        first: matches of one system.
        second: matches of the other one with the same ground truth, thresholds and multiples.
        resamples: draws of videos.
        confidence: coverage aimed at.
        seed: of the draws.

    Returns:
        Difference and interval of each column of ``weighted_scores``, from −1 to 1.

    Raises:
        MetricInputError: if the two do not have the same ground truth, or an option is out of range.
    """
    if resamples < 1:
        raise MetricInputError(f"resamples must be positive, got {resamples}")
    _require_same(first, second)
    videos = sorted_names({*first.videos, *second.videos})
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(len(videos), np.full(len(videos), 1.0 / len(videos)), size=resamples)
    weights = np.concatenate([np.ones((1, len(videos))), drawn.astype(np.float64)])
    place = {name: k for k, name in enumerate(videos)}
    scores = [weighted_scores(m, weights[:, [place[name] for name in m.videos]]) for m in (first, second)]
    difference = scores[1] - scores[0]
    if len(videos) < 2:
        _require(confidence)
        note = "one video was scored: variation between videos is unknown"
        return tuple((float(d), Interval(None, None, _method(confidence), note)) for d in difference[0])
    intervals = centred_intervals(
        difference[0], difference[1:], confidence=confidence, clusters=len(videos), low=-1.0
    )
    return tuple(zip(difference[0].tolist(), intervals, strict=True))


def _require_same(first: Matches, second: Matches) -> None:
    """Compare what the record says about the ground truth: settings, classes, and segments by class and video."""
    if (first.tiou, first.multiples) != (second.tiou, second.multiples):
        raise MetricInputError(
            "the two systems were matched at different thresholds or multiples", "match both alike"
        )

    def segments(m: Matches) -> list[tuple[Name, Name]]:
        pairs = zip(m.truth_class.tolist(), m.truth_video.tolist(), strict=True)
        return [(m.classes[label], m.videos[video]) for label, video in pairs]

    if sorted(segments(first), key=repr) != sorted(segments(second), key=repr):
        raise MetricInputError(
            f"the two systems were matched with different ground truth ({len(first.truth_class)} and "
            f"{len(second.truth_class)} segments)",
            "score both on the same videos: name them in a list",
        )


def centred_intervals(
    estimate: Floats,
    draws: Floats,
    *,
    confidence: float = 0.95,
    clusters: int,
    low: float = 0.0,
    high: float = 1.0,
) -> tuple[Interval, ...]:
    """Percentile intervals of resampled scores, moved so that the mean of the resamples is the estimate.

    Args:
        estimate: (M,) scores of the data.
        draws: (B, M) scores of resamples; those that are not finite are left out.
        confidence: coverage aimed at.
        clusters: how many clusters were drawn, for the note on few of them.
        low: the worst possible score.
        high: the best possible score.

    Raises:
        MetricInputError: if the confidence is out of range.
    """
    _require(confidence)
    tails = interval_tails(confidence, clusters)
    few = f"only {clusters} videos: {FEW_CLUSTERS_NOTE}" if clusters < FEW_CLUSTERS else ""
    out = []
    for value, column in zip(estimate, draws.T, strict=True):
        column = column[np.isfinite(column)]
        if not np.isfinite(value) or not column.size:
            out.append(Interval(None, None, _method(confidence), "no resample has a defined value"))
            continue
        ends = np.clip(np.quantile(column, tails) - column.mean() + value, low, high)
        # Rounding and skewed resamples must not leave the value outside its own interval.
        bottom, top = min(float(ends[0]), float(value)), max(float(ends[1]), float(value))
        note = few or ("no variation between videos: the interval has no width" if bottom == top else "")
        out.append(Interval(bottom, top, _method(confidence), note))
    return tuple(out)


def _require(confidence: float) -> None:
    try:
        require_confidence(confidence)
    except ValueError as error:
        raise MetricInputError(str(error)) from None


def _method(confidence: float) -> str:
    return f"centred-{100 * confidence:g}"

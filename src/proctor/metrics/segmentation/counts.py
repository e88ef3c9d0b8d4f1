"""Scores that count segments: segmental F1 and over-segmentation."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from proctor.metrics.errors import MetricInputError
from proctor.metrics.score import Score, Signature
from proctor.metrics.segmentation.pairs import (
    MATCHINGS,
    Matching,
    Pairs,
    overlapping_pairs,
    require_overlap,
    taken_corrected,
    taken_published,
)
from proctor.metrics.segmentation.videos import (
    Integers,
    Label,
    Runs,
    Videos,
    hidden_labels,
    plain_score,
    share_of,
    timeline,
)

__all__ = ["f1_signature", "over_segmentation_ratio", "ratio_signature", "segmental_f1", "true_positives"]


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

"""Scores of frames: accuracy (MoF) and confusion."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

import numpy as np

from proctor.metrics.score import Score, Signature
from proctor.metrics.segmentation.videos import (
    Integers,
    Label,
    Timeline,
    Videos,
    hidden_labels,
    plain_score,
    share_of,
    timeline,
)

__all__ = ["frame_accuracy", "frame_confusion", "frame_counts", "frame_signature"]


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

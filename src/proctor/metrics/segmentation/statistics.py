"""What every video contributes, counted once for all scores."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from proctor.metrics.segmentation.boundaries import BoundaryErrors, boundaries_of_pairs
from proctor.metrics.segmentation.counts import true_positives
from proctor.metrics.segmentation.edit import edits
from proctor.metrics.segmentation.frames import frame_counts
from proctor.metrics.segmentation.pairs import OVERLAPS, Matching, overlapping_pairs
from proctor.metrics.segmentation.videos import Floats, Integers, Label, Videos, timeline

__all__ = ["SegmentationStatistics", "segmentation_statistics"]


@dataclass(frozen=True, slots=True, eq=False)
class SegmentationStatistics:
    """What every video contributes: enough for all scores, their intervals and any slice of videos.

    Attributes:
        frames: of each video; shape (videos,).
        correct: frames with the right label.
        shown_frames: frames whose reference is no background.
        shown_correct: the right ones of these.
        edit: edit score, 0 to 1.
        wanted: reference segments.
        given: predicted segments.
        overlaps: of the F1 scores.
        found: true positives by overlap and video; shape (overlaps, videos).
        matching: how they were found.
        background: labels that are no segments, sorted.
        boundaries: boundary errors of matched segments.
    """

    frames: Integers
    correct: Integers
    shown_frames: Integers
    shown_correct: Integers
    edit: Floats
    wanted: Integers
    given: Integers
    overlaps: tuple[float, ...]
    found: Integers
    matching: Matching
    background: tuple[str, ...]
    boundaries: BoundaryErrors

    def __len__(self) -> int:
        return len(self.frames)


def segmentation_statistics(
    gt: Videos,
    pred: Videos,
    *,
    background: Collection[Label] = (),
    overlaps: Sequence[float] = OVERLAPS,
    matching: Matching = "published",
    rate: float | None = None,
    boundary_overlap: float = 0.1,
) -> SegmentationStatistics:
    """Count everything once, video by video.

    Args:
        gt: labels of each video.
        pred: parallel to ``gt``.
        background: labels whose runs are no segments.
        overlaps: of the F1 scores, each above 0 and up to 1.
        matching: of the F1 scores, ``published`` or ``corrected``.
        rate: frames per second, for boundary errors in seconds.
        boundary_overlap: smallest IoU of the segments whose boundaries are compared.

    Raises:
        MetricInputError: if videos or lengths differ, or labels or options are invalid.
    """
    line = timeline(gt, pred, background)
    n = len(line.first) - 1
    wanted, given = line.foreground_runs(line.reference), line.foreground_runs(line.predicted)
    pairs = overlapping_pairs(wanted, given)
    found = [true_positives(pairs, wanted, overlap, matching, n) for overlap in overlaps]
    right = line.reference == line.predicted
    shown, shown_right = frame_counts(line)
    return SegmentationStatistics(
        frames=np.diff(line.first),
        correct=np.bincount(line.video_of_frame[right], minlength=n),
        shown_frames=shown,
        shown_correct=shown_right,
        edit=edits(line, wanted, given),
        wanted=np.bincount(wanted.video, minlength=n),
        given=np.bincount(given.video, minlength=n),
        overlaps=tuple(float(t) for t in overlaps),
        found=np.array(found, dtype=np.int64).reshape(len(overlaps), n),
        matching=matching,
        background=tuple(sorted({str(label) for label in background})),
        boundaries=boundaries_of_pairs(pairs, wanted, given, rate, boundary_overlap, n),
    )

"""Temporal action segmentation: every frame of a video has one label, and so has every prediction.

Conventions: a video is a 1-D array of labels (texts or whole numbers), one a frame; the reference comes first, both
have the same length, and a function takes a *list of videos* so that pooling is explicit. A segment is a maximal run
of one label, in frames, half-open ``[start, end)``; runs never cross videos. Labels may be declared *background*:
their runs are no segments, so they are neither asked for nor counted as false; what that means for frames is said
by each function. A video without frames holds nothing to score and is left out. Scores are 0 to 1; tables
print them in per cent, as the field does.

How the published protocol (MS-TCN) counts, and where it is unfair:

* Frame accuracy (MoF) pools the frames of all videos, background included; long videos weigh more.
* The edit score is the mean over videos of 1 - distance / longer, distance and length in segments. Background
  runs are removed *without* joining their neighbours: ``A bg A`` stays two segments.
* Segmental F1 at overlap t: every predicted segment looks up the *one* reference segment of its label with the
  largest IoU (the earliest among equals). It is a true positive if that IoU is at least t and nobody before it took
  that segment; all other predictions are false positives, references that nobody took false negatives. Counts are
  summed over videos, F1 is computed once.
* Defect: a prediction whose best reference segment is already taken is counted false although another reference
  segment, still free, overlaps it enough (below t = 0.5 only: from there on a segment has one partner at most).
  ``matching="corrected"`` counts the largest one-to-one assignment instead; it never finds fewer.

References: Lea et al. 2017 (*Temporal Convolutional Networks for Action Segmentation and Detection*: edit score,
segmental F1), Farha and Gall 2019 (*MS-TCN*: the evaluation as used since).
"""

from __future__ import annotations

from proctor.metrics.segmentation.boundaries import BoundaryErrors, segment_boundary_errors
from proctor.metrics.segmentation.chance import majority_prediction, random_prediction
from proctor.metrics.segmentation.conversion import Segments, frames_from_segments, segments_from_frames
from proctor.metrics.segmentation.counts import over_segmentation_ratio, segmental_f1
from proctor.metrics.segmentation.edit import edit_distance, edit_score
from proctor.metrics.segmentation.entries import METRICS
from proctor.metrics.segmentation.frames import frame_accuracy, frame_confusion
from proctor.metrics.segmentation.pairs import MATCHINGS, OVERLAPS, Matching
from proctor.metrics.segmentation.scores import segmentation_scores
from proctor.metrics.segmentation.statistics import SegmentationStatistics, segmentation_statistics

__all__ = [
    "MATCHINGS",
    "METRICS",
    "OVERLAPS",
    "BoundaryErrors",
    "Matching",
    "SegmentationStatistics",
    "Segments",
    "edit_distance",
    "edit_score",
    "frame_accuracy",
    "frame_confusion",
    "frames_from_segments",
    "majority_prediction",
    "over_segmentation_ratio",
    "random_prediction",
    "segment_boundary_errors",
    "segmental_f1",
    "segmentation_scores",
    "segmentation_statistics",
    "segments_from_frames",
]

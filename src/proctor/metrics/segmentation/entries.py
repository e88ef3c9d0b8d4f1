"""The metrics of this family, for the catalogue."""

from __future__ import annotations

from typing import Final

from proctor.metrics.metric import Metric

__all__ = ["METRICS"]


METRICS: Final = (
    Metric(
        name="frame_accuracy",
        label="MoF",
        family="segmentation",
        function="segmentation:frame_accuracy",
        signature="frame_accuracy|average:frames|background:scored|cluster:video|interval:bca-95",
        range="0 to 1",
        direction="higher",
        definition="Frames with the right label / frames, pooled over videos.",
        citation="Lea et al. 2017; Farha and Gall 2019 (MS-TCN)",
        traps=(
            "Background counts in published figures; predicting it everywhere can look good, so compare with the "
            "majority row. Long videos and long actions dominate; it is blind to flicker. The mean per video and the "
            "value without background are other numbers: look at the signature."
        ),
    ),
    Metric(
        name="edit_score",
        label="Edit",
        family="segmentation",
        function="segmentation:edit_score",
        signature="edit_score|average:videos|background:none|cluster:video|interval:bca-95|norm:longer",
        range="0 to 1",
        direction="higher",
        definition=(
            "1 - Levenshtein distance of the segments' labels / length of the longer sequence, mean over videos."
        ),
        citation="Lea et al. 2016, 2017; Farha and Gall 2019",
        traps=(
            "Ignores time altogether. Background runs are removed without joining their neighbours. A mean over "
            "videos, whereas F1 sums counts over videos."
        ),
    ),
    Metric(
        name="segmental_f1",
        label="F1@{10,25,50}",
        family="segmentation",
        function="segmentation:segmental_f1",
        signature=(
            "segmental_f1|background:none|cluster:video|counts:summed|interval:bca-95|matching:published|overlap:0.5"
        ),
        range="0 to 1",
        direction="higher",
        definition=(
            "2 TP / (2 TP + FP + FN); TP are predictions whose best reference segment of their label has enough IoU "
            "and is still free; counts summed over videos."
        ),
        citation="Lea et al. 2017, section 4; Farha and Gall 2019 (counts summed over videos)",
        traps=(
            "The published rule looks at one reference segment only: a prediction whose best one is taken is false "
            "although another one fits (below overlap 0.5). matching:corrected counts the largest one-to-one "
            "assignment and is never lower. Not a mean over classes or videos."
        ),
    ),
    Metric(
        name="segment_boundary_error",
        label="boundary error",
        family="segmentation",
        function="segmentation:segment_boundary_errors",
        signature=(
            "segment_boundary_error|cluster:video|interval:bca-95|matching:one-to-one|overlap:0.1|side:start|"
            "statistic:median|unit:s"
        ),
        range="0 s to the length of the video",
        direction="lower",
        definition=(
            "|predicted - reference| start (and end) of segments of one label, matched one to one by the largest sum "
            "of IoU; median, mean, 90th percentile over pairs."
        ),
        citation="ours; temporal precision beside F1",
        traps=(
            "Knows only matched segments: a system that finds little can have small errors. In frames unless a rate "
            "is given."
        ),
    ),
    Metric(
        name="over_segmentation_ratio",
        label="segments ratio",
        family="segmentation",
        function="segmentation:over_segmentation_ratio",
        signature="over_segmentation_ratio|background:none|cluster:video|counts:summed|interval:bca-95",
        range="0 upwards, 1 is the reference",
        direction="neither",
        definition="Predicted segments / reference segments, summed over videos.",
        citation="ours; what the edit score and F1 punish",
        traps="1 does not mean that the segments are right.",
    ),
)

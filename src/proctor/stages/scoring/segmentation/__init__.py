"""Options of ``proctor score segmentation``; what it computes is in ``score``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from proctor.settings import option
from proctor.stages.scoring.settings import ScoreSettings

__all__ = ["SegmentationSettings"]


class SegmentationSettings(ScoreSettings, frozen=True, kw_only=True):
    """Score labels of frames: accuracy (MoF), edit score, segmental F1, boundary error, over-segmentation.

    Reference and prediction are each one of: a table of frames (columns video, frame, label), a table of segments
    (video, start, end, label; seconds, half-open; in the reference also duration, unless --length predicted), or a folder with one text file a video and
    one label a line (as groundTruth/ of MS-TCN; its result files are read too). Tables are CSV, TSV, JSON or JSON
    Lines. Segments become frames with --rate; frames in none are the first --background label.

    Intervals are bootstrapped over videos. Beside the scores stand two that know nothing: the most frequent label
    everywhere, and a random label for every frame. Videos without a prediction are counted, not scored as 0.

    Example: proctor score segmentation --gt groundTruth --pred results --background background --rate 15
    """

    gt: Annotated[Path, option("Reference: a table or a folder.", metavar="FILE")]
    pred: Annotated[Path, option("Prediction: a table or a folder.", metavar="FILE")]
    rate: Annotated[float | None, option("Labelled frames per second; segments need it.", metavar="FPS")] = (
        None
    )
    background: Annotated[
        tuple[str, ...], option("A label that is no action (several times).", metavar="LABEL")
    ] = ()
    overlaps: Annotated[str, option("Overlaps of F1, in per cent.", metavar="LIST")] = "10,25,50"
    matching: Annotated[
        Literal["published", "corrected"],
        option("F1: the field's rule, or the largest one-to-one assignment."),
    ] = "published"
    lengths: Annotated[
        Literal["error", "trim"], option("Videos of unequal length: an error, or cut both to the shorter.")
    ] = "error"
    length: Annotated[
        Literal["reference", "predicted"],
        option(
            "Of a video of segments: the reference's duration, or where unknown the last segment of either side."
        ),
    ] = "reference"
    conflict: Annotated[
        Literal["error", "later"], option("Overlapping segments of a file: an error, or the later one wins.")
    ] = "error"
    boundary_overlap: Annotated[float, option("Smallest IoU of segments whose boundaries are compared.")] = (
        0.1
    )

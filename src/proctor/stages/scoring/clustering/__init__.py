"""Options of ``proctor score clustering``; what it computes is in ``score``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from proctor.settings import option
from proctor.stages.scoring.settings import ScoreSettings

__all__ = ["ClusteringSettings"]


class ClusteringSettings(ScoreSettings, frozen=True, kw_only=True):
    """Score discovered key steps: precision, recall, IoU and F1 after Hungarian matching.

    Clusters are matched one to one to key steps so that as many frames as possible agree, for all videos of a
    group together. "per key step" is the mean over key steps (as published), "pooled" divides sums. Below stands
    what random clusters reach on the same frames: it depends on frame rate, number of clusters and pooling.

    Files are CSV, TSV, JSON Lines or JSON with one row a frame. Without a column frame, the rows of a video are
    taken in order. Both files must have the same frames.

    \b
      gt.csv                        pred.csv
      video,frame,label,recipe      video,frame,cluster
      1_7,0,0,coffee                1_7,0,12
      1_7,1,3,coffee                1_7,1,4

    Intervals come from drawing groups, or videos if there is one group.

    Example: proctor score clustering --gt gt.csv --pred pred.csv --group recipe --clusters 30 --rate "15 fps"
    """  # noqa: D301  # \b keeps the lines of the example apart

    gt: Annotated[Path, option("Reference: video, frame, label.", metavar="FILE")]
    pred: Annotated[Path, option("Clusters: video, frame, cluster.", metavar="FILE")]
    group: Annotated[
        str | None, option("Column of --gt: videos clustered together (recipe).", metavar="COLUMN")
    ] = None
    per_video: Annotated[bool, option("Match clusters within each video instead.")] = False
    background: Annotated[
        Literal["class", "matched", "dropped"],
        option("Background frames: a class, matched but not scored, or left out."),
    ] = "class"
    background_label: Annotated[str, option("The label of background frames.")] = "0"
    clusters: Annotated[
        int | None, option("Clusters of the model (30 as published); for the chance row.", ge=1)
    ] = None
    rate: Annotated[str | None, option('Frames a second, for the signature ("15 fps").')] = None
    draws: Annotated[int, option("Random clusterings behind the chance row.", ge=1)] = 20

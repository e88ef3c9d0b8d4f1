"""``proctor score clustering``: key steps discovered, from files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from proctor.cli.console import JsonFlag, command_app
from proctor.cli.scoring.common import (
    ConfidenceOption,
    LatexFlag,
    ReportOption,
    ResamplesOption,
    SeedOption,
    emit_scores,
)

app = command_app()


@app.command()
def clustering(
    gt: Annotated[Path, typer.Option("--gt", metavar="FILE", help="Reference: video, frame, label.")],
    pred: Annotated[Path, typer.Option("--pred", metavar="FILE", help="Clusters: video, frame, cluster.")],
    group: Annotated[
        str | None,
        typer.Option("--group", metavar="COLUMN", help="Column of --gt: videos clustered together (recipe)."),
    ] = None,
    per_video: Annotated[
        bool, typer.Option("--per-video", help="Match clusters within each video instead.")
    ] = False,
    background: Annotated[
        Literal["class", "matched", "dropped"],
        typer.Option("--background", help="Background frames: a class, matched but not scored, or left out."),
    ] = "class",
    background_label: Annotated[
        str, typer.Option("--background-label", help="The label of background frames.")
    ] = "0",
    clusters: Annotated[
        int | None,
        typer.Option(
            "--clusters", min=1, help="Clusters of the model (30 as published); for the chance row."
        ),
    ] = None,
    rate: Annotated[
        str | None, typer.Option("--rate", help='Frames a second, for the signature ("15 fps").')
    ] = None,
    draws: Annotated[
        int, typer.Option("--draws", min=1, help="Random clusterings behind the chance row.")
    ] = 20,
    confidence: ConfidenceOption = 0.95,
    resamples: ResamplesOption = 10_000,
    seed: SeedOption = None,
    as_json: JsonFlag = False,
    latex: LatexFlag = False,
    report: ReportOption = None,
) -> None:
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
    from proctor.stages.scoring.clustering import score_clustering

    table = score_clustering(
        gt,
        pred,
        group=group,
        per_video=per_video,
        background=background,
        background_label=background_label,
        clusters=clusters,
        rate=rate,
        draws=draws,
        confidence=confidence,
        resamples=resamples,
        seed=seed or 0,
    )
    emit_scores(table, as_json=as_json, latex=latex, report=report)

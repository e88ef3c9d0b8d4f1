"""``proctor score segmentation``: labels of frames, from files."""

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
def segmentation(
    gt: Annotated[Path, typer.Option("--gt", metavar="FILE", help="Reference: a table or a folder.")],
    pred: Annotated[Path, typer.Option("--pred", metavar="FILE", help="Prediction: a table or a folder.")],
    rate: Annotated[
        float | None,
        typer.Option("--rate", metavar="FPS", help="Labelled frames per second; segments need it."),
    ] = None,
    background: Annotated[
        list[str] | None,
        typer.Option("--background", metavar="LABEL", help="A label that is no action (several times)."),
    ] = None,
    overlaps: Annotated[
        str, typer.Option("--overlaps", metavar="LIST", help="Overlaps of F1, in per cent.")
    ] = "10,25,50",
    matching: Annotated[
        Literal["published", "corrected"],
        typer.Option("--matching", help="F1: the field's rule, or the largest one-to-one assignment."),
    ] = "published",
    lengths: Annotated[
        Literal["error", "trim"],
        typer.Option("--lengths", help="Videos of unequal length: an error, or cut both to the shorter."),
    ] = "error",
    length: Annotated[
        Literal["reference", "predicted"],
        typer.Option(
            "--length",
            help="Of a video of segments: the reference's duration, or where unknown the last segment of either side.",
        ),
    ] = "reference",
    conflict: Annotated[
        Literal["error", "later"],
        typer.Option("--conflict", help="Overlapping segments of a file: an error, or the later one wins."),
    ] = "error",
    boundary_overlap: Annotated[
        float,
        typer.Option("--boundary-overlap", help="Smallest IoU of segments whose boundaries are compared."),
    ] = 0.1,
    confidence: ConfidenceOption = 0.95,
    resamples: ResamplesOption = 10_000,
    seed: SeedOption = None,
    as_json: JsonFlag = False,
    latex: LatexFlag = False,
    report: ReportOption = None,
) -> None:
    """Score labels of frames: accuracy (MoF), edit score, segmental F1, boundary error, over-segmentation.

    Reference and prediction are each one of: a table of frames (columns video, frame, label), a table of segments
    (video, start, end, label; seconds, half-open; in the reference also duration, unless --length predicted), or a folder with one text file a video and
    one label a line (as groundTruth/ of MS-TCN; its result files are read too). Tables are CSV, TSV, JSON or JSON
    Lines. Segments become frames with --rate; frames in none are the first --background label.

    Intervals are bootstrapped over videos. Beside the scores stand two that know nothing: the most frequent label
    everywhere, and a random label for every frame. Videos without a prediction are counted, not scored as 0.

    Example: proctor score segmentation --gt groundTruth --pred results --background background --rate 15
    """
    from proctor.stages.scoring.segmentation import score_segmentation

    table = score_segmentation(
        gt,
        pred,
        rate=rate,
        background=background or (),
        overlaps=_overlaps(overlaps),
        matching=matching,
        lengths=lengths,
        length=length,
        conflict=conflict,
        boundary_overlap=boundary_overlap,
        confidence=confidence,
        resamples=resamples,
        seed=seed or 0,
    )
    emit_scores(table, as_json=as_json, latex=latex, report=report)


def _overlaps(text: str) -> tuple[float, ...]:
    """Parse ``10,25,50``."""
    from proctor.errors import UserError

    try:
        values = sorted({float(part) for part in text.split(",")})
        if not all(0 < value <= 100 for value in values):
            raise ValueError
    except ValueError:
        raise UserError(
            f"--overlaps are percentages above 0 and up to 100, got {text!r}.",
            hint="as in --overlaps 10,25,50",
        ) from None
    return tuple(value / 100 for value in values)

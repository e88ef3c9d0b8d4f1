"""``proctor score classification``: mistakes recognised, from files."""

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
def classification(
    pred: Annotated[
        Path,
        typer.Option("--pred", metavar="FILE", help="Predictions: recording, step, score (or predicted)."),
    ],
    gt: Annotated[
        Path | None,
        typer.Option(
            "--gt", metavar="FILE", help="Reference: recording, step, label. Left out: --pred has it."
        ),
    ] = None,
    validation: Annotated[
        Path | None,
        typer.Option(
            "--validation", metavar="FILE", help="Predictions on validation data; they choose the threshold."
        ),
    ] = None,
    validation_gt: Annotated[
        Path | None,
        typer.Option("--validation-gt", metavar="FILE", help="Their labels, if not in the same file."),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", help="A fixed threshold (default 0.5 without --validation)."),
    ] = None,
    protocol: Annotated[
        Literal["corrected", "published"],
        typer.Option(
            "--protocol", help="published: rescale over the test set, then --threshold 0.6 (S) or 0.4 (R)."
        ),
    ] = "corrected",
    aggregate: Annotated[
        Literal["mean", "vote"],
        typer.Option("--aggregate", help="How sub-steps become steps: mean score, or share above 0.5."),
    ] = "mean",
    repeated: Annotated[
        Literal["or", "last"],
        typer.Option(
            "--repeated", help="Label of a step done several times: any, or the last (as released)."
        ),
    ] = "or",
    slices: Annotated[
        list[str] | None,
        typer.Option("--slice", metavar="COLUMN", help="Also score every value of this column by itself."),
    ] = None,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Leave steps without a score out, and count them.")
    ] = False,
    confidence: ConfidenceOption = 0.95,
    resamples: ResamplesOption = 10_000,
    seed: SeedOption = None,
    as_json: JsonFlag = False,
    latex: LatexFlag = False,
    report: ReportOption = None,
) -> None:
    """Score the recognition of mistakes: accuracy, precision, recall, F1, ROC-AUC, PR-AUC, EER.

    Every result stands beside what knowing nothing gives: always saying "mistake", never saying it, and guessing
    at the rate of mistakes. Intervals come from drawing whole recordings.

    Files are CSV, TSV, JSON Lines or JSON. The reference has the columns recording, step and label (1, true or
    yes for a mistake); the predictions have recording, step and score (higher: more likely a mistake), or
    predicted (yes/no decisions). One file may hold both.

    \b
      gt.csv                        pred.csv
      recording,step,label,kinds    recording,step,score
      1_7,4,0,                      1_7,4,0.12
      1_7,5,1,Timing|Order          1_7,5,0.80

    Further columns: substep (seconds or clips of a step; scored as they are and joined to steps), segment (which
    execution of a repeated step), kinds in the reference (kinds of mistake, each scored against the rest, with
    the columns score:Timing, score:Order, ... of the predictions if they are there). --slice takes a column of
    the reference (person), or one that only the predictions have (observed fraction, system): there every value
    is a prediction of its own, and all pairs are compared on the same resamples. For frames of videos, write video and frame instead of recording and step.

    The threshold is chosen on validation data (best F1), never on what is scored.

    Example: proctor score classification --gt gt.csv --pred pred.csv --validation val.csv
    """  # noqa: D301  # \b keeps the lines of the example apart
    from proctor.stages.scoring.classification import score_classification

    table = score_classification(
        pred,
        gt=gt,
        validation=validation,
        validation_gt=validation_gt,
        protocol=protocol,
        threshold=threshold,
        aggregate=aggregate,
        repeated=repeated,
        slices=tuple(slices or ()),
        allow_missing=allow_missing,
        confidence=confidence,
        resamples=resamples,
        seed=seed or 0,
    )
    emit_scores(table, as_json=as_json, latex=latex, report=report)

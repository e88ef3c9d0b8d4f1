"""``proctor score localization``: steps found in time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
def localization(
    gt: Annotated[Path, typer.Option("--gt", metavar="FILE", help="Ground truth: the segments to be found.")],
    pred: Annotated[
        Path, typer.Option("--pred", metavar="FILE", help="Predictions with scores, raw labels.")
    ],
    protocol: Annotated[
        str, typer.Option("--protocol", help="published, activitynet or corrected (see above).")
    ] = "corrected",
    label_map: Annotated[
        Path | None,
        typer.Option(
            "--label-map", metavar="FILE", help="JSON {raw label: renumbered label} of the ground truth."
        ),
    ] = None,
    tiou: Annotated[
        str, typer.Option("--tiou", help="Thresholds: a list, or first:last:step such as 0.5:0.95:0.05.")
    ] = "0.1,0.2,0.3,0.4,0.5",
    subset: Annotated[
        str | None, typer.Option("--subset", help="Only the videos of this subset of the ground truth.")
    ] = None,
    videos: Annotated[
        str | None,
        typer.Option(
            "--videos",
            metavar="FILE|predicted",
            help="The evaluated videos, one a line, or those with predictions (protocol corrected).",
        ),
    ] = None,
    label_key: Annotated[
        str | None,
        typer.Option(
            "--label-key", help="Column or key of the class, such as label_id, where it is not 'label'."
        ),
    ] = None,
    drop_duplicates: Annotated[
        bool,
        typer.Option(
            "--drop-duplicates", help="Leave out segments whose label and ends (within 1 ms) repeat."
        ),
    ] = False,
    drop_empty: Annotated[
        bool, typer.Option("--drop-empty", help="Leave out segments shorter than 1 ms.")
    ] = False,
    slice_column: Annotated[
        str | None,
        typer.Option(
            "--slice", metavar="COLUMN", help="Also recall by a column of the ground truth (has_error)."
        ),
    ] = None,
    matches: Annotated[
        Path | None,
        typer.Option(
            "--matches",
            metavar="FILE",
            help="Also write how each segment was found (CSV): score of its match, best overlap.",
        ),
    ] = None,
    resamples: ResamplesOption = 1000,
    confidence: ConfidenceOption = 0.95,
    seed: SeedOption = None,
    as_json: JsonFlag = False,
    latex: LatexFlag = False,
    report: ReportOption = None,
) -> None:
    """Score steps found in time: mAP and recall at k× at each temporal IoU, with intervals.

    Both files are CSV, TSV or JSON Lines (each also .gz), or ActivityNet JSON ('database' and 'results').

    \b
    Columns of the ground truth: video-id, t-start, t-end (seconds), label
    Columns of the predictions:  video-id, t-start, t-end (seconds), label, score

    Protocols: corrected scores all videos of the ground truth, or those that --videos names: in a video without
    any prediction nothing was found. --videos predicted leaves such videos out. activitynet always keeps the
    ground truth of all videos. published reproduces the figures released with CaptainCook4D: as activitynet, and
    predicted labels that the ground truth lacks collide with its renumbered classes.

    If the ground truth holds labels renumbered 0 to C-1, --label-map says what they were.

    Intervals come from a bootstrap over videos. Lines of chance say what the same segments get with their labels
    shuffled. Repeated and empty segments stay unless you drop them; either way
    they are counted.

    Example: proctor score localization --gt gt.csv --pred predictions.csv.gz --protocol corrected --slice has_error
    """  # noqa: D301  # \b keeps the lines of the columns apart
    from proctor.metrics.localization import PREDICTED
    from proctor.stages.scoring.localization import parse_tiou, score_localization

    table = score_localization(
        gt,
        pred,
        protocol=protocol,
        label_map=label_map,
        tiou=parse_tiou(tiou),
        subset=subset,
        videos=PREDICTED if videos == PREDICTED else Path(videos) if videos is not None else None,
        label_key=label_key,
        drop_duplicates=drop_duplicates,
        drop_empty=drop_empty,
        slice_column=slice_column,
        matches=matches,
        resamples=resamples,
        confidence=confidence,
        seed=seed or 0,
    )
    emit_scores(table, as_json=as_json, latex=latex, report=report)

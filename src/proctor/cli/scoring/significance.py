"""``proctor score significance FILE…``: systems compared, confidences calibrated, judges corrected."""

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
from proctor.errors import UserError

app = command_app()


@app.command()
def significance(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE…", help="CSV, TSV, JSONL or JSON array, also .gz.")
    ],
    test: Annotated[
        Literal["sign-flip", "mcnemar", "mcnemar-mid-p", "permutation", "mann-whitney", "fisher"],
        typer.Option(help="Same items: the first three. Different items in each system: the last three."),
    ] = "sign-flip",
    system: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Compare these only, in this order (repeatable)."),
    ] = None,
    reference: Annotated[
        str | None, typer.Option(metavar="NAME", help="Compare the others with this system only.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="What is drawn together; 'cluster', 'recording' or 'video_id' if the file has it, else the item.",
        ),
    ] = None,
    stratum: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Draw within its values; 'stratum' if the file has it."),
    ] = None,
    difference: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="Also say how many items it takes to find this difference."),
    ] = None,
    judge_calibration: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Yes/no by people and judge (columns 'human', 'judge'): corrects shares."
        ),
    ] = None,
    human: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="People's marks on some items ('item', 'human'): corrects means."),
    ] = None,
    concurrence: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Marks of the same systems on another benchmark: are they ranked alike?"
        ),
    ] = None,
    calibration: Annotated[
        bool, typer.Option("--calibration", help="FILE holds confidences: see below.")
    ] = False,
    bins: Annotated[int, typer.Option(min=1, help="Of --calibration.")] = 10,
    binning: Annotated[
        Literal["width", "mass"],
        typer.Option(help="Bins of --calibration: as wide, or as full, as each other."),
    ] = "width",
    confidence: ConfidenceOption = 0.95,
    resamples: ResamplesOption = 10_000,
    seed: SeedOption = None,
    as_json: JsonFlag = False,
    latex: LatexFlag = False,
    report: ReportOption = None,
) -> None:
    """Say which systems differ, and how far the numbers can be believed.

    FILE holds marks in one of three forms. Wide: a column 'item' and one column of marks a system. Long: columns 'item',
    'system' and 'value'. Several files: 'item' and 'value', one system a file. A column 'recording' (or 'cluster') says which
    items are not independent, 'stratum' which make-up was fixed. Marks are numbers or yes/no; an empty mark is an answer that
    failed: it is left out and counted, never 0.

    Printed: each system's mean with its interval (BCa bootstrap over clusters, the same draws for all); for each pair the
    difference with its interval, p, p corrected over all pairs (Holm), the effect (mean over standard deviation), and the
    smallest difference that these items would show (power 0.8 at 0.05).

    Judges. If a machine gave the marks, --judge-calibration FILE corrects shares of yes/no by its sensitivity and specificity;
    --human FILE with people's marks on a random part of the items (and a column 'system' if there are several) gives the mean
    that people would have given (prediction-powered inference, PPI), and how far judge and people agree. Both carry the uncertainty of the calibration.

    Benchmarks. --concurrence FILE with marks of the same systems on other items gives Kendall's tau-b of the two rankings, its
    exact p, and an interval over the questions of both.

    Confidences. With --calibration FILE has 'confidence' (0 to 1) and 'correct' (yes/no), perhaps 'system' and 'recording';
    printed are accuracy, ECE (beside what a calibrated system would show by chance), MCE, Brier score and log loss; --report draws the reliability diagram.

    Example: proctor score significance marks.csv --reference baseline --report comparison.html
    """
    from proctor.stages.scoring.significance import score_significance
    from proctor.stages.scoring.significance_calibration import score_calibration
    from proctor.stages.scoring.significance_files import Drawing

    drawing = Drawing(confidence, resamples, 0 if seed is None else seed)
    if calibration:
        if len(files) > 1:
            raise UserError("--calibration reads one file.", hint="put a column 'system' into it")
        for given, name in (
            (judge_calibration, "--judge-calibration"),
            (human, "--human"),
            (reference, "--reference"),
            (system, "--system"),
            (concurrence, "--concurrence"),
            (difference, "--difference"),
            (stratum, "--stratum"),
        ):
            if given:
                raise UserError(f"{name} does not go with --calibration.", hint="leave one of them out")
        table = score_calibration(files[0], bins=bins, binning=binning, cluster=cluster, drawing=drawing)
    else:
        table = score_significance(
            files,
            test=test,
            systems=system or (),
            reference=reference,
            cluster=cluster,
            stratum=stratum,
            difference=difference,
            judge_calibration=judge_calibration,
            human=human,
            concurrence=concurrence,
            drawing=drawing,
        )
    emit_scores(table, as_json=as_json, latex=latex, report=report)

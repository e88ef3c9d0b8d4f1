"""``proctor score agreement FILE``: how far annotators agree on labels, orders, or segments in time."""

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
def agreement(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV, TSV, JSONL or JSON array, also .gz.")],
    kind: Annotated[
        Literal["labels", "orders", "alternatives", "segments"],
        typer.Option(help="What the annotators gave."),
    ] = "labels",
    level: Annotated[
        Literal["nominal", "ordinal", "interval", "ratio"],
        typer.Option(help="Of labels: how far two of them are apart."),
    ] = "nominal",
    order: Annotated[
        str, typer.Option(metavar="LOW,…,HIGH", help="Labels from low to high, for --level ordinal on words.")
    ] = "",
    missing: Annotated[
        list[str] | None,
        typer.Option(metavar="LABEL", help="A label that stands for none, such as NA (repeatable)."),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="What the intervals draw together; 'cluster' or 'recording' if the file has it, else the unit.",
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option("--slice", metavar="COLUMN", help="Score each of its values too (repeatable)."),
    ] = None,
    semantics: Annotated[
        Literal["order", "ranks"],
        typer.Option(help="Lists of steps are orders, or ranks of the steps 0 to N-1."),
    ] = "order",
    matching: Annotated[
        Literal["greedy", "hungarian"], typer.Option(help="Of alternative orders.")
    ] = "greedy",
    penalty: Annotated[
        Literal["union", "tau"],
        typer.Option(help="Of an alternative order without a partner, against the authored order."),
    ] = "union",
    pooling: Annotated[
        Literal["pooled", "pair_mean"],
        typer.Option(help="All scores of a unit alike, or all its pairs of annotators."),
    ] = "pooled",
    quorum: Annotated[
        int, typer.Option(min=1, help="Annotators that it takes to vote for alternative orders.")
    ] = 1,
    threshold: Annotated[
        list[float] | None,
        typer.Option(help="IoU at which two segments are the same (repeatable; default 0.1, 0.25, 0.5)."),
    ] = None,
    confidence: ConfidenceOption = 0.95,
    resamples: ResamplesOption = 2_000,
    seed: SeedOption = None,
    as_json: JsonFlag = False,
    latex: LatexFlag = False,
    report: ReportOption = None,
) -> None:
    """Compare annotators, pair by pair and all together.

    FILE has one row for each unit and annotator (columns 'unit' and 'annotator'), and by kind:

    labels: 'label'; an empty one is missing, and so is what --missing names. Gives raw and specific agreement, prevalence, Cohen's kappa (weighted too
    from --level ordinal on), Krippendorff's alpha, by slice and by pair, and the mean of the pairs.

    orders: 'order', a list of step ids, first step first: a JSON array, or in CSV ids with spaces or | between. Gives
    kappa on pairs of steps, which is Kendall's tau.

    alternatives: 'gold', the authored order, and 'orders', the list of other orders that the annotator accepts, may be
    empty; in CSV '1 2 3' and '2 1 3|1 3 2'. Gives Algorithm 1 of Wu et al. 2022, Jaccard indices, alpha on pairs of steps, and the
    reference orders of the majority.

    segments: columns 'recording', 'annotator', 'step', 'start' and 'end' (seconds), one row a segment. Gives IoU per
    step, boundary errors and detection F1.

    A column 'recording' (or 'cluster') is what the intervals draw, since judgements of one recording are not
    independent. Put everything that was judged into the file: agreement on accepted units only says nothing.

    Example: proctor score agreement verdicts.csv --slice type --report agreement.html
    """
    from proctor.metrics.segment_agreement import DETECTION_THRESHOLDS
    from proctor.stages.scoring.agreement import Resampling, score_agreement

    table = score_agreement(
        file,
        kind,
        level=level,
        order=[label.strip() for label in order.split(",")] if order else (),
        missing=missing or (),
        cluster=cluster,
        slices=by or (),
        semantics=semantics,
        matching=matching,
        penalty=penalty,
        pooling=pooling,
        quorum=quorum,
        thresholds=threshold or DETECTION_THRESHOLDS,
        resampling=Resampling(confidence, resamples, 0 if seed is None else seed),
    )
    emit_scores(table, as_json=as_json, latex=latex, report=report)

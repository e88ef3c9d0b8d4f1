"""``proctor score ordering``: predicted orders of steps."""

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
def ordering(
    gt: Annotated[Path, typer.Option("--gt", metavar="FILE", help="Right orders.")],
    pred: Annotated[Path, typer.Option("--pred", metavar="FILE", help="Predicted orders.")],
    mode: Annotated[
        str,
        typer.Option(
            "--mode",
            metavar="strict|repair",
            help="strict refuses predictions that lack, repeat or invent steps; repair drops and appends, and counts.",
        ),
    ] = "strict",
    references: Annotated[
        str,
        typer.Option(
            "--references",
            metavar="joint|independent|first",
            help="Which of several acceptable orders counts: the best one, the best of each measure, the first.",
        ),
    ] = "joint",
    constraints: Annotated[
        Path | None,
        typer.Option("--constraints", metavar="FILE", help="What must come before what, item by item."),
    ] = None,
    constraints_from_references: Annotated[
        bool,
        typer.Option(
            "--constraints-from-references", help="Constraints: what all references of an item agree on."
        ),
    ] = False,
    compare: Annotated[
        Path | None,
        typer.Option(
            "--compare", metavar="FILE", help="Predictions of another system; differences are FILE − pred."
        ),
    ] = None,
    slices: Annotated[
        list[str] | None,
        typer.Option(
            "--slice", metavar="COLUMN", help="A line for each value of this column of --gt (repeatable)."
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster", metavar="COLUMN", help="Bootstrap by this column of --gt (one manual, many items)."
        ),
    ] = None,
    confidence: ConfidenceOption = 0.95,
    resamples: ResamplesOption = 10_000,
    seed: SeedOption = None,
    as_json: JsonFlag = False,
    latex: LatexFlag = False,
    report: ReportOption = None,
) -> None:
    """Score predicted orders of steps: Acc, PMR, Lq, Lr, tau, Dist, with intervals and chance.

    --gt has one line an item: "id" and "order", the list of step ids as they are done, or "references", a list of
    such lists of which the first is the authored order. Optional: "presented" (the steps as the model saw them;
    repair and tied scores need it), "semantics" ("ranks" if the lists say when each step is done instead),
    "constraints" (a list of [before, after]; with them "order" may be left out), and any columns for --slice and
    --cluster. --pred has "id" and "order", or "scores": an object from step id to number, or a list of numbers in
    presented order; smaller is earlier. --constraints has "id" and "constraints", or "id", "before" and "after".
    JSON Lines, JSON, CSV or TSV; lists in CSV are written a|b|c or as JSON.

    An item without a prediction is counted as failed, never left out silently. Ties of scores are broken by
    presented slot. With --compare both systems are measured on the items that both predicted: McNemar's exact test
    for PMR, sign-flip test and paired bootstrap for the others.

    Example: proctor score ordering --gt gold.jsonl --pred model.jsonl --mode repair --compare baseline.jsonl
    """
    from proctor.stages.scoring.ordering import score_ordering

    table = score_ordering(
        gt,
        pred,
        mode=mode,  # type: ignore[arg-type]  # the stage refuses other words
        references=references,  # type: ignore[arg-type]
        constraints=constraints,
        constraints_from_references=constraints_from_references,
        compare=compare,
        slices=slices or (),
        cluster=cluster,
        confidence=confidence,
        resamples=resamples,
        seed=seed or 0,
    )
    emit_scores(table, as_json=as_json, latex=latex, report=report)

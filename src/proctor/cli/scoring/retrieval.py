"""``proctor score retrieval``: rankings of sources, from files."""

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
def retrieval(
    gt: Annotated[Path, typer.Option("--gt", metavar="FILE", help="Questions with their gold sources.")],
    pred: Annotated[Path, typer.Option("--pred", metavar="FILE", help="A ranking for each question.")],
    k: Annotated[
        list[int] | None,
        typer.Option("-k", "--k", min=1, help="Cut-off; several times (default 5 and 10)."),
    ] = None,
    recall: Annotated[
        Literal["fractional", "all", "any"],
        typer.Option("--recall", help="Several gold sources: the share found, all or nothing, any one."),
    ] = "fractional",
    gain: Annotated[
        Literal["linear", "exponential"],
        typer.Option("--gain", help="Of nDCG with graded gold: the grade, or 2^grade - 1."),
    ] = "linear",
    missing: Annotated[
        Literal["failed", "zero"],
        typer.Option("--missing", help="Questions without a ranking: left out and counted, or 0."),
    ] = "failed",
    pool: Annotated[
        str | None,
        typer.Option(
            "--pool", metavar="N|FILE", help="How many sources are ranked, or a table of them (id, modality)."
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", metavar="COLUMN", help="Draw the bootstrap by this column of --gt."),
    ] = None,
    confidence: ConfidenceOption = 0.95,
    resamples: ResamplesOption = 10_000,
    seed: SeedOption = None,
    as_json: JsonFlag = False,
    latex: LatexFlag = False,
    report: ReportOption = None,
) -> None:
    """Score rankings of sources: recall@k, all gold@k, nDCG, MRR, MAP; by style and combination of modalities.

    --gt is a table (JSON Lines, JSON, CSV, TSV) with id and gold (a list of source ids; a|b in CSV; or objects with
    id, modality, gain), optionally modalities (a list beside gold), modality (the name of a combination) and style;
    or TREC qrels (.qrels, .trec). --pred has id and ranking (a list of source ids, best first), or is a TREC run
    (.run, .trec; ordered by score, equal scores by falling id, as trec_eval does). Repeated ids are removed before
    the cut and counted. With --pool stands beside the scores what a random order would get. Tables are in per
    cent, every question weighing the same.

    Example: proctor score retrieval --gt items.jsonl --pred bm25.jsonl -k 5 -k 10 --pool sources.jsonl
    """
    from proctor.stages.scoring.retrieval import score_retrieval

    table = score_retrieval(
        gt,
        pred,
        k=k or (5, 10),
        recall=recall,
        gain=gain,
        missing=missing,
        pool=pool,
        cluster=cluster,
        confidence=confidence,
        resamples=resamples,
        seed=seed or 0,
    )
    emit_scores(table, as_json=as_json, latex=latex, report=report)

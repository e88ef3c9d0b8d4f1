"""``proctor score text``: length, variety and similarity of texts, from a file."""

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
def text(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Table with a column of texts.")],
    column: Annotated[
        str | None,
        typer.Option(
            "--column", metavar="NAME", help="Of texts or lists of texts (default: question, text, answer)."
        ),
    ] = None,
    vectors: Annotated[
        Path | None,
        typer.Option("--vectors", metavar="FILE.npy", help="Embeddings, one row a line, in the same order."),
    ] = None,
    slices: Annotated[
        list[str] | None,
        typer.Option("--slice", metavar="COLUMN", help="Also describe every value of this column by itself."),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster", metavar="COLUMN", help="Column the bootstrap draws by (default: recording)."
        ),
    ] = None,
    window: Annotated[int, typer.Option("--window", min=1, help="Words in the window of MATTR.")] = 50,
    threshold: Annotated[
        float, typer.Option("--threshold", help="Cosine above which texts are near-duplicates.")
    ] = 0.95,
    confidence: ConfidenceOption = 0.95,
    resamples: ResamplesOption = 10_000,
    seed: SeedOption = None,
    as_json: JsonFlag = False,
    latex: LatexFlag = False,
    report: ReportOption = None,
) -> None:
    """Describe texts: words and tokens, type-token ratio, HD-D, distinct-n, first words, similarity of vectors.

    The file is CSV, TSV, JSON Lines or JSON with a column of texts (in JSON also lists of texts). Words are split
    at white space; tokens count punctuation too, as published figures do. Type-token ratio and distinct-n fall
    with the amount of text: to compare slices of unlike size use HD-D, the type-token ratio of 42 words drawn at
    random. "vocabulary" is the share of all different words that a slice uses.

    \b
      questions.csv
      id,question,type,recording
      q1,Did I miss a step?,missing,1_7

    Vectors come from a model of your choice, saved with numpy.save; the JSON lists the most similar pairs.

    Example: proctor score text questions.csv --column question --slice type --vectors e5.npy
    """  # noqa: D301  # \b keeps the lines of the example apart
    from proctor.stages.scoring.text import score_text

    table = score_text(
        file,
        column=column,
        vectors=vectors,
        slices=tuple(slices or ()),
        cluster=cluster,
        window=window,
        threshold=threshold,
        confidence=confidence,
        resamples=resamples,
        seed=seed or 0,
    )
    emit_scores(table, as_json=as_json, latex=latex, report=report)

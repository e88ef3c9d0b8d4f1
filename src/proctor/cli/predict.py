"""``proctor predict``: a predictor answers the benchmark."""

from __future__ import annotations

from typing import Annotated

import typer

from proctor.cli.console import (
    JsonFlag,
    LimitOption,
    SeedOption,
    WorkspaceArgument,
    command_app,
    emit,
    progress,
    table,
)

app = command_app()


@app.command()
def predict(
    workspace: WorkspaceArgument,
    predictor: Annotated[
        list[str] | None,
        typer.Option(
            "--predictor",
            "-p",
            help=(
                "'constant' (most frequent answer of each type), 'recipe-text' (question and recipe only), "
                "'random-step' (any valid step), 'annotations' (upper bound). May be repeated; all when left out."
            ),
        ),
    ] = None,
    run: Annotated[str | None, typer.Option(help="Name of the run (default: the predictor's).")] = None,
    seed: SeedOption = None,
    limit: LimitOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Answer the benchmark and write runs/<run>/predictions.jsonl.

    The floors tell what a score is worth: a model that does not beat them has not looked. Items that a run has
    answered are not asked again.

    Example: proctor predict bench -p recipe-text -p annotations
    """
    from proctor.errors import UserError
    from proctor.stages import predict as stage

    chosen = predictor or list(stage.PREDICTORS)
    if run is not None and len(chosen) > 1:
        raise UserError("--run names one run, but there are several predictors.", hint="give one --predictor")
    results = []
    for name in chosen:
        with progress(name, quiet=as_json) as seen:
            results.append(stage.predict(workspace, name, run=run, seed=seed, limit=limit, seen=seen))
    rows = [(r["run"], r["items"], r["answered"], r["asked_now"], r["failed"]) for r in results]
    text = (
        table(rows, ("run", "items", "answered", "asked now", "failed"))
        + f"\n\nnext: proctor judge {workspace}"
    )
    emit({"runs": results}, text, as_json=as_json)

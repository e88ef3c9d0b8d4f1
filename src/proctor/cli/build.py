"""``proctor build``: the benchmark and its release folder."""

from __future__ import annotations

from typing import Annotated

import typer

from proctor.cli.console import JsonFlag, SeedOption, WorkspaceArgument, command_app, emit, table

app = command_app()


@app.command()
def build(
    workspace: WorkspaceArgument,
    accept: Annotated[
        str | None,
        typer.Option(
            help="Who must accept: 'oracle' (default), 'humans' (as published), 'models', 'any', 'all', 'majority'."
        ),
    ] = None,
    min_confidence: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Verdicts that state a lower confidence count as unsure."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the benchmark.")] = None,
    version: Annotated[str | None, typer.Option(help="Version of the release.")] = None,
    licence: Annotated[str | None, typer.Option(help="Licence of questions and annotations (SPDX).")] = None,
    parquet: Annotated[
        bool | None, typer.Option("--parquet/--no-parquet", help="Write Parquet, too.")
    ] = None,
    seed: SeedOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Build the benchmark from what was accepted.

    Writes items.jsonl, build.dropped.jsonl and release/, which `datasets.load_dataset` reads as it is.

    Example: proctor build bench --name kitchen --version 1.0.0 --licence CC-BY-4.0
    """
    from proctor.stages import build as stage

    result = stage.build(
        workspace,
        accept=accept,
        min_confidence=min_confidence,
        name=name,
        version=version,
        licence=licence,
        parquet=parquet,
        seed=seed,
    )
    dropped = ", ".join(f"{n} {reason}" for reason, n in result["dropped"].items()) or "none"
    text = (
        table([*result["by_type"].items(), ("all", result["items"])], ("type", "items"))
        + f"\n\n{result['golds']} gold answers, {result['recordings']} recordings; dropped: {dropped}"
        + f"\nrelease: {result['release']}\nnext: proctor predict {workspace}"
    )
    emit(result, text, as_json=as_json)

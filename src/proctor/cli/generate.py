"""``proctor generate``: examples to candidates."""

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
def generate(
    workspace: WorkspaceArgument,
    generator: Annotated[str | None, typer.Option(help="Who asks: 'rules' (no model).")] = None,
    sample: Annotated[
        str | None,
        typer.Option(
            help="'quota' balances types, noise and targets (default); 'published' is the release's; 'all'."
        ),
    ] = None,
    examples: Annotated[
        int | None, typer.Option(min=1, help="How many examples to draw (default 500).")
    ] = None,
    per_example: Annotated[
        int | None, typer.Option(min=1, help="Candidates with other wording per example.")
    ] = None,
    seed: SeedOption = None,
    limit: LimitOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Choose examples and generate candidate questions with all their answers.

    Writes candidates.jsonl, and generate.dropped.jsonl with the reason for every example that gave none.

    Example: proctor generate bench --examples 200 --seed 7
    """
    from proctor.stages import generate as stage

    with progress("generating", examples or 500, quiet=as_json) as seen:
        result = stage.generate(
            workspace,
            generator=generator,
            sample=sample,
            examples=examples,
            per_example=per_example,
            seed=seed,
            limit=limit,
            seen=seen,
        )
    dropped = ", ".join(f"{n} {reason}" for reason, n in result["dropped"].items()) or "none"
    text = (
        table([*result["by_type"].items(), ("all", result["candidates"])], ("type", "candidates"))
        + f"\n\nfrom {result['sampled']} of {result['examples']} examples; left out: {dropped}"
        + f"\nnext: proctor verify {workspace}"
    )
    emit(result, text, as_json=as_json)

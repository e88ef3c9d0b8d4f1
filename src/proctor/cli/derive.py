"""``proctor derive``: recordings to examples."""

from __future__ import annotations

from typing import Annotated

import typer

from proctor.cli.console import JsonFlag, WorkersOption, WorkspaceArgument, command_app, emit, table, warn

app = command_app()


@app.command()
def derive(
    workspace: WorkspaceArgument,
    protocol: Annotated[
        str | None,
        typer.Option(help="'corrected' or 'published'; the default is how the recordings were read."),
    ] = None,
    workers: WorkersOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Derive every moment that may be asked about, with the facts that decide the answer.

    Writes examples.jsonl, and derive.dropped.jsonl with the reason for every moment that was left out.

    Example: proctor derive bench --protocol published
    """
    from proctor.compute import place_of
    from proctor.stages import derive as stage

    result = stage.derive(workspace, protocol, place=place_of(workers))
    rows = [*result["by_type"].items(), ("all", result["examples"])]
    if without := result["dropped"].get("no_graph"):
        warn(
            f"{without:,} recording(s) have no task graph: 'proctor graph induce {workspace} --write' finds one"
        )
    dropped = ", ".join(f"{n} {reason}" for reason, n in result["dropped"].items()) or "none"
    text = (
        table(rows, ("type", "examples"))
        + f"\n\n{result['recordings']} recordings, {result['noisy']} noisy examples; left out: {dropped}"
        + f"\nnext: proctor generate {workspace}"
    )
    emit(result, text, as_json=as_json)

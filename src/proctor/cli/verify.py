"""``proctor verify``: candidates to verdicts."""

from __future__ import annotations

from typing import Annotated

import typer

from proctor.cli.console import JsonFlag, LimitOption, WorkspaceArgument, command_app, emit, progress, table

app = command_app()


@app.command()
def verify(
    workspace: WorkspaceArgument,
    store: Annotated[
        str | None,
        typer.Option(help="Where verdicts are kept: a file in the workspace, or a postgresql:// URL."),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="Confidence from 0.5 to 1 below which the oracle says 'unsure' (default 0.8)."),
    ] = None,
    limit: LimitOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Have every candidate judged by the task-graph oracle; people's verdicts live in the same store.

    A candidate that has a verdict already is not judged again unless it changed. docs/oracle.md tells how the
    oracle decides and how far it agrees with people.

    Example: proctor verify bench --threshold 0.9
    """
    from proctor.stages import verify as stage

    with progress("verifying", quiet=as_json) as seen:
        result = stage.verify(workspace, store=store, threshold=threshold, limit=limit, seen=seen)
    values = ("right", "wrong", "unsure")
    rows = [
        (name, what, *(said[what].get(v, 0) for v in values))
        for name, said in result["annotators"].items()
        for what in ("questions", "answers")
    ]
    text = table(rows, ("annotator", "of", *values)) + f"\n\nnext: proctor build {workspace}"
    emit(result, text, as_json=as_json)

"""``proctor judge``: marks for answers."""

from __future__ import annotations

from typing import Annotated

import typer

from proctor.cli.console import JsonFlag, WorkspaceArgument, command_app, emit, progress, table

app = command_app()

RunsOption = Annotated[
    list[str] | None, typer.Option("--run", "-r", help="Name of a run; may be repeated; all when left out.")
]


@app.command()
def judge(
    workspace: WorkspaceArgument,
    run: RunsOption = None,
    judge: Annotated[str, typer.Option(help="Who marks: 'rules' (no model).")] = "rules",
    as_json: JsonFlag = False,
) -> None:
    """Mark every answer 0 (wrong), 1 (partial) or 2 (match) against its best gold, with the reason.

    Writes runs/<run>/judgements.jsonl. An answer that failed stays unscored: it is never counted as 0.

    Example: proctor judge bench --run recipe-text
    """
    from proctor.stages import judge as stage

    with progress("judging", quiet=as_json) as seen:
        result = stage.judge(workspace, run or (), judge=judge, seen=seen)
    marks = ("match", "partial", "wrong", "unscored")
    rows = [(name, *(counts.get(m, 0) for m in marks)) for name, counts in result["runs"].items()]
    text = table(rows, ("run", *marks)) + f"\n\njudge: {result['judge']}\nnext: proctor score {workspace}"
    emit(result, text, as_json=as_json)

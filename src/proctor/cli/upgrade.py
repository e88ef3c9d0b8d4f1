"""``proctor upgrade``: a workspace of an older version in today's form."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proctor.cli.console import JsonFlag, WorkspaceArgument, command_app, emit, progress, table

app = command_app()


@app.command()
def upgrade(
    workspace: WorkspaceArgument,
    output: Annotated[
        Path | None,
        typer.Option(help="The upgraded copy; WORKSPACE-upgraded by default.", show_default=False),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Bring a copy of a workspace of an older version up to date.

    The workspace itself stays as it is; let nothing run in it meanwhile. Nothing is asked again: answers, marks and verdicts are
    taken over. Tables of scores are made anew by the commands that are named at the end.

    Example: proctor upgrade bench --output bench-2
    """
    from proctor.stages.upgrade.copying import files_of
    from proctor.stages.upgrade.upgrade import upgrade as stage

    total = sum(1 for _ in files_of(workspace)) if workspace.is_dir() else None
    with progress("Copying files", total, quiet=as_json) as seen:
        done = stage(workspace, output, seen=seen)
    parts = [f"{workspace} was copied to {done.output}, and the copy brought up to date."]
    if done.changed:
        parts.append(
            table([(name, str(n)) for name, n in done.changed.items()], ("brought up to date", "records"))
        )
    parts += done.notes
    if done.left_out:
        parts.append(table([(name, str(n)) for name, n in done.left_out.items()], ("left out", "files")))
    if done.again:
        commands = "\n".join(f"  {command}" for command in done.again)
        parts.append(f"Make them again, from what is there (no model is asked):\n{commands}")
    emit(done, "\n\n".join(parts), as_json=as_json)

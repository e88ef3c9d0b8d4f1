"""``proctor upgrade``: a workspace of an older version in today's form."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from proctor.cli.console import WorkspaceArgument, command_app, emit, table
from proctor.cli.options import Output, with_settings
from proctor.settings import Settings, option
from proctor.terminal import progress

app = command_app()


class Copy(Settings, frozen=True, kw_only=True):
    """Where the upgraded workspace goes."""

    copy: Annotated[Path | None, option("The upgraded copy; WORKSPACE-upgraded by default.", "--output")] = (
        None
    )


@app.command()
@with_settings
def upgrade(workspace: WorkspaceArgument, to: Copy, output: Output) -> None:
    """Bring a copy of a workspace of an older version up to date.

    The workspace itself stays as it is; run nothing else in it meanwhile. Nothing is asked again: answers, marks and verdicts are
    taken over. Tables of scores are recomputed by the commands that are named at the end.

    Example: proctor upgrade bench --output bench-2
    """
    from proctor.stages.upgrade.copying import files_of
    from proctor.stages.upgrade.upgrade import upgrade as stage

    total = sum(1 for _ in files_of(workspace)) if workspace.is_dir() else None
    with progress("Copying files", total, quiet=output.as_json) as seen:
        done = stage(workspace, to.copy, seen=seen)
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
    emit(done, "\n\n".join(parts), as_json=output.as_json)

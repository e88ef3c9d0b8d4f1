"""``proctor report``: one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proctor.cli.console import JsonFlag, WorkspaceArgument, command_app, emit, progress

app = command_app()


@app.command()
def report(
    workspace: WorkspaceArgument,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file (default: report.html in the workspace).")
    ] = None,
    frames: Annotated[
        int | None, typer.Option(min=0, help="Pictures for each item where its video exists (default 4).")
    ] = None,
    videos: Annotated[
        Path | None, typer.Option(help="Folder of the recordings' videos (default: the data set's).")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Write everything about the benchmark and its runs as one page that works offline, in light, dark and print.

    Example: proctor report bench --title "Kitchen questions" --output kitchen.html
    """
    from proctor.stages import report as stage

    with progress("extracting frames", quiet=as_json) as seen:
        result = stage.report(workspace, output=output, frames=frames, title=title, videos=videos, seen=seen)
    without = ", ".join(f"{n} items: {reason}" for reason, n in result["without_frames"].items())
    size = result["bytes"] / 2**20
    text = f"{result['report']}  ({size:.1f} MB, {result['items']} items, {len(result['runs'])} runs)"
    if without:
        text += f"\nwithout frames: {without}"
    emit(result, f"{text}\nopen it in a browser", as_json=as_json)

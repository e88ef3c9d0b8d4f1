"""``proctor report``: one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proctor.cli.console import WorkspaceArgument, command_app, emit, progress
from proctor.cli.options import Output, with_settings
from proctor.stages.settings import ReportFiles, ReportSettings

app = command_app()


@app.command()
@with_settings
def report(
    workspace: WorkspaceArgument,
    files: ReportFiles,
    settings: ReportSettings,
    styled: Annotated[
        bool,
        typer.Option(
            "--styled",
            help="Report on the questions about a corpus (without being asked where there are no others).",
        ),
    ] = False,
    *,
    output: Output,
) -> None:
    """Write everything about the benchmark and its runs as one page that works offline, in light, dark and print.

    Example: proctor report bench --title "Kitchen questions" --output kitchen.html
    """
    if styled or _has_only(workspace, "styled.jsonl"):
        _report_styled(workspace, files.output, as_json=output.as_json)
        return
    if _has_only(workspace, "pairs.jsonl"):
        _report_clips(workspace, files.output, files.videos, as_json=output.as_json)
        return
    from proctor.stages import report as stage

    with progress("extracting frames", quiet=output.as_json) as seen:
        result = stage.report(workspace, settings, output=files.output, videos=files.videos, seen=seen)
    without = ", ".join(f"{n} items: {reason}" for reason, n in result.without_frames.items())
    size = result.bytes / 2**20
    text = f"{result.report}  ({size:.1f} MB, {result.items} items, {len(result.runs)} runs)"
    if without:
        text += f"\nwithout frames: {without}"
    emit(result, f"{text}\nopen it in a browser", as_json=output.as_json)


def _has_only(workspace: Path, name: str) -> bool:
    from proctor.workspace import is_there

    return is_there(workspace / name) and not is_there(workspace / "items.jsonl")


def _report_clips(workspace: Path, output: Path | None, videos: Path | None, *, as_json: bool) -> None:
    from proctor.stages.instructional.report import report as stage

    with progress("writing examples", quiet=as_json) as seen:
        result = stage(workspace, out=output, videos=videos, seen=seen)
    size = result["bytes"] / 2**20
    text = f"{result['report']}  ({size:.1f} MB, {result['pairs']} pairs, {result['choices']} with options)"
    emit(result, f"{text}\nopen it in a browser", as_json=as_json)


def _report_styled(workspace: Path, output: Path | None, *, as_json: bool) -> None:
    from proctor.stages.styled.report import report as stage

    with progress("writing examples", quiet=as_json) as seen:
        result = stage(workspace, out=output, seen=seen)
    size = result["bytes"] / 2**20
    text = f"{result['report']}  ({size:.1f} MB, {result['questions']} questions, {result['examples']} of them with their sources)"
    emit(result, f"{text}\nopen it in a browser", as_json=as_json)

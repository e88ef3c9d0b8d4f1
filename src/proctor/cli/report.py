"""``proctor report``: one HTML page."""

from __future__ import annotations

from proctor.cli.console import WorkspaceArgument, command_app, emit
from proctor.cli.options import Output, with_settings
from proctor.stages.settings import ReportFiles, ReportSettings
from proctor.terminal import progress

app = command_app()


@app.command()
@with_settings
def report(
    workspace: WorkspaceArgument,
    files: ReportFiles,
    settings: ReportSettings,
    *,
    output: Output,
) -> None:
    """Write everything about the benchmark and its runs as one page that works offline, in light, dark and print.

    All kinds of questions of a workspace are on the same page.

    Example: proctor report bench --title "Kitchen questions" --output kitchen.html
    """
    from proctor.stages import report as stage

    with progress("writing examples", quiet=output.as_json) as seen:
        result = stage.report(workspace, settings, output=files.output, videos=files.videos, seen=seen)
    items = "; ".join(f"{title}: {n:,}" for title, n in result.items.items())
    size = result.bytes / 2**20
    text = f"{result.report}  ({size:.1f} MB; {items or 'no questions yet'}; {len(result.runs)} runs, {result.examples:,} examples)"
    if result.without_frames:
        text += "\nwithout frames: " + ", ".join(
            f"{n} items: {reason}" for reason, n in result.without_frames.items()
        )
    emit(result, f"{text}\nopen it in a browser", as_json=output.as_json)

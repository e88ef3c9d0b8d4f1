"""``proctor build``: the benchmark and its release folder."""

from __future__ import annotations

from proctor.cli.console import WorkspaceArgument, command_app, counted, emit, table
from proctor.cli.options import Output, with_settings
from proctor.stages.settings import BuildSettings

app = command_app()


@app.command()
@with_settings
def build(workspace: WorkspaceArgument, settings: BuildSettings, output: Output) -> None:
    """Build the benchmark from what was accepted.

    Writes items.jsonl, build.dropped.jsonl and release/, which `datasets.load_dataset` reads as it is.

    Example: proctor build bench --name kitchen --version 1.0.0 --licence CC-BY-4.0
    """
    from proctor.stages import build as stage

    result = stage.build(workspace, settings)
    text = (
        table([*result.by_type.items(), ("all", result.items)], ("type", "items"))
        + f"\n\n{result.golds} gold answers, {result.recordings} recordings; dropped: {counted(result.dropped)}"
        + f"\nrelease: {result.release}\nnext: proctor predict {workspace}"
    )
    emit(result, text, as_json=output.as_json)

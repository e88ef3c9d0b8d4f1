"""``proctor derive``: recordings to examples."""

from __future__ import annotations

from proctor.cli.console import WorkspaceArgument, command_app, counted, emit, table
from proctor.cli.options import Output, Spread, with_settings
from proctor.stages.settings import DeriveSettings
from proctor.terminal import warn

app = command_app()


@app.command()
@with_settings
def derive(workspace: WorkspaceArgument, settings: DeriveSettings, spread: Spread, output: Output) -> None:
    """Derive every moment that may be asked about, with the facts that decide the answer.

    Writes examples.jsonl, and derive.dropped.jsonl with the reason for every moment that was left out.

    Example: proctor derive bench --protocol published
    """
    from proctor.compute import place_of
    from proctor.stages import derive as stage

    result = stage.derive(workspace, settings, place=place_of(spread.workers))
    rows = [*result.by_type.items(), ("all", result.examples)]
    if without := result.dropped.get("no_graph"):
        warn(
            f"{without:,} recording(s) have no task graph: 'proctor graph induce {workspace} --write' finds one"
        )
    text = (
        table(rows, ("type", "examples"))
        + f"\n\n{result.recordings} recordings, {result.noisy} noisy examples; left out: {counted(result.dropped)}"
        + f"\nnext: proctor generate {workspace}"
    )
    emit(result, text, as_json=output.as_json)

"""The commands ``proctor capture simulate`` and ``proctor capture residuals``."""

from __future__ import annotations

from proctor.cli.console import WorkspaceArgument, command_app, emit, table
from proctor.cli.options import Output, with_settings
from proctor.terminal import note, progress
from proctor_rehearsal.kitchen.settings import ResidualSettings, SimulateSettings

__all__ = ["residuals", "simulate"]

simulate, residuals = command_app(), command_app()


@simulate.command("simulate")
@with_settings
def _simulate(workspace: WorkspaceArgument, settings: SimulateSettings, output: Output) -> None:
    """Make the recordings of the plan that are still to do, with simulated sensors and people.

    Written at once, or with --live by the recorder itself in real time; a live one that was killed goes on with --resume.

    Example: proctor capture simulate kitchen --fault pv.gaps=5+2
    """
    from proctor_rehearsal.kitchen.simulate import simulate as stage

    with progress("simulating", quiet=output.as_json) as step:

        def seen(line: str) -> None:
            note(line)
            step()

        done = stage(workspace, settings, seen=seen)
    rows = [(one.id, one.state, f"{one.seconds:.1f}", one.mistakes) for one in done]
    text = table(rows, ("recording", "state", "seconds", "mistakes")) if rows else "nothing is to do"
    emit(done, f"{text}\nnext: proctor capture sync {workspace}", as_json=output.as_json)


@residuals.command("residuals")
@with_settings
def _residuals(settings: ResidualSettings, output: Output) -> None:
    """Measure synchronisation on simulated sensors whose truth is known, ours beside the published rule.

    Example: proctor capture residuals --markdown docs/capture.md
    """
    from proctor_rehearsal.kitchen.residuals import HEAD, residual_cells, write_residuals
    from proctor_rehearsal.kitchen.residuals import residuals as stage

    with progress("measuring", quiet=output.as_json) as seen:
        rows = stage(settings, seen=seen)
    write_residuals(settings, rows)
    emit(rows, table(residual_cells(rows), HEAD), as_json=output.as_json)

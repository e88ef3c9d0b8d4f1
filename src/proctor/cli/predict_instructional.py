"""``proctor predict instructional``: models and floors answer questions about clips."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from proctor.cli.console import (
    JsonFlag,
    LimitOption,
    SeedOption,
    WorkspaceArgument,
    command_app,
    emit,
    progress,
    table,
    warn,
)
from proctor.cli.instructional_options import VideosOption
from proctor.cli.models import DryRunFlag, closing_text, emit_estimates, end_with_status
from proctor.cli.options import with_settings
from proctor.errors import UserError
from proctor.stages.limits import Limits

app = command_app()


@app.command()
@with_settings
def instructional(
    workspace: WorkspaceArgument,
    predictor: Annotated[
        str | None,
        typer.Option("--predictor", "-p", help="Model that answers; without one the floors are scored."),
    ] = None,
    show: Annotated[
        str,
        typer.Option(
            help="frames:8, frames:16, frames:fps1, frames:8@quarter-side, question (blind) or steps (text only)."
        ),
    ] = "frames:8",
    style: Annotated[
        str,
        typer.Option(help="Of prompts with frames: a, b (an opened bracket), c, or d (a series of frames)."),
    ] = "d",
    open_ended: Annotated[
        bool,
        typer.Option("--open", help="Ask open-ended questions; a judge says whether answers mean the same."),
    ] = False,
    judge: Annotated[str | None, typer.Option("--judge", "-j", help="Of open-ended answers.")] = None,
    shuffle: Annotated[
        int | None,
        typer.Option(help="Seed of an own order of the options for each question (default: as printed)."),
    ] = None,
    circular: Annotated[
        bool, typer.Option("--circular", help="Ask every rotation of the options; right only if all are.")
    ] = False,
    videos: VideosOption = None,
    limit: LimitOption = None,
    seed: SeedOption = None,
    *,
    limits: Limits,
    dry_run: DryRunFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Have a model answer questions about clips, with options or open-ended, and score it.

    Accuracy by letter, by category, level, data set and place in the clip, with intervals over videos. A reply without a letter
    is wrong and counted apart; a failed call is in no mean.

    Example: proctor predict bench -p openai/gpt-4o --show frames:16 --style d --videos videos --dry-run
    """
    from proctor.stages.instructional.answer import PredictOptions, estimate, floors
    from proctor.stages.instructional.answer import predict as stage

    if predictor is None:
        found = floors(workspace, seed=seed or 0)
        emit({"runs": found}, "\n\n".join(run_text(run) for run in found), as_json=as_json)
        return
    if style not in ("a", "b", "c", "d"):
        raise UserError(f"there is no style {style!r}.", hint="one of a, b, c, d")
    options = PredictOptions(
        model=predictor, form="open" if open_ended else "choice", view=show, style=style,  # type: ignore[arg-type]
        shuffle=shuffle, circular=circular, judge=judge, videos=videos, limit=limit, seed=seed or 0,
    )  # fmt: skip
    if dry_run:
        emit_estimates([estimate(workspace, options, limits=limits)], as_json=as_json)
        return
    with progress("answering", quiet=as_json) as seen:
        result = stage(workspace, options, limits=limits, seen=seen)
    emit(result, f"{run_text(result)}\n\n{closing_text(result['calls'])}", as_json=as_json)
    end_with_status(result["calls"])
    if result["calls"]["stopped"]:
        warn(f"stopped early: {result['calls']['stopped']}; the same command goes on from here")
        raise typer.Exit(3)


def run_text(run: dict[str, Any]) -> str:
    """Return the scores of a run."""
    rows = [
        (
            row["slice"],
            "" if row["value"] is None else f"{100 * row['value']:.1f}",
            f"[{100 * row['low']:.1f}, {100 * row['high']:.1f}]" if row.get("low") is not None else "",
            row.get("n", 0),
        )
        for row in run["table"]["rows"]
    ]
    counts = ", ".join(f"{n:,} {name}" for name, n in run["table"].get("counts", {}).items())
    return (
        f"{run['system']}\n"
        + table(rows, ("slice", "percent", "interval", "n"))
        + (f"\n{counts}" if counts else "")
    )

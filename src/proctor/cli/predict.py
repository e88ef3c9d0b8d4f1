"""``proctor predict``: a predictor answers the benchmark."""

from __future__ import annotations

from pathlib import Path
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
)
from proctor.cli.models import DryRunFlag, closing_text, emit_estimates, end_with_status
from proctor.cli.options import with_settings
from proctor.stages.limits import Limits

app = command_app()


@app.command()
@with_settings
def predict(
    workspace: WorkspaceArgument,
    predictor: Annotated[
        list[str] | None,
        typer.Option(
            "--predictor",
            "-p",
            help=(
                "'constant' (most frequent answer of each type), 'recipe-text' (question and recipe only), "
                "'random-step' (any valid step), 'annotations' (upper bound), or a model: openai/gpt-4o, "
                "compat/NAME@http://host:8000/v1, ... May be repeated; all of Proctor's own when left out."
            ),
        ),
    ] = None,
    run: Annotated[str | None, typer.Option(help="Name of the run (default: the predictor's).")] = None,
    show: Annotated[
        str,
        typer.Option(
            help="What a model sees: question, recipe, captions (a captioner describes frames), frames, or video (the clip "
            "itself); or all in one, such as frames:50@765p:published, captions:50@288p, video:360p."
        ),
    ] = "recipe",
    frames: Annotated[int | None, typer.Option(min=1, help="Frames at most (default 50).")] = None,
    height: Annotated[
        int | None, typer.Option(min=16, help="Of frames or clip, in pixels (default 360).")
    ] = None,
    sampling: Annotated[
        str | None,
        typer.Option(
            help="Of the frames: published (default; 1 a second, counted back), uniform, fps, or steps (middles of the "
            "annotated steps; the run is marked, for it is told what others are not)."
        ),
    ] = None,
    captioner: Annotated[str, typer.Option(help="Model that describes frames, for --show captions.")] = "",
    shrink: Annotated[
        bool,
        typer.Option(
            "--shrink/--no-shrink",
            help="What is too large for a provider is shrunk, and this is reported: as many frames as it takes by the same sampling; "
            "then, for bytes, a lower height. --no-shrink makes it an error.",
        ),
    ] = True,
    videos: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the recordings' videos: by the path that the data set gives, else by the recording's id "
            "(1_7.mp4, 1_7_360p.mp4). Default: the data set's folder."
        ),
    ] = None,
    *,
    limits: Limits,
    dry_run: DryRunFlag = False,
    seed: SeedOption = None,
    limit: LimitOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Answer the benchmark and write runs/<run>/predictions.jsonl.

    The floors show what a score is worth: a model that does not beat them has not looked. Items that a run has
    answered are not asked again. Calls of models are kept in the workspace's call store: running the command again
    pays for nothing twice. Keys come from the environment (OPENAI_API_KEY, ANTHROPIC_API_KEY, GOOGLE_API_KEY).

    Example: proctor predict bench -p recipe-text -p annotations

    Example: proctor predict bench -p openai/gpt-4o --show frames --frames 50 --height 765 --dry-run

    Example: proctor predict bench -p google/gemini-2.5-pro --show video:360p --videos gopro --max-cost 20
    """
    from proctor.errors import UserError
    from proctor.exam.kind import ViewOptions
    from proctor.exam.kinds.moment import KIND
    from proctor.stages import predict as stage

    chosen = predictor or list(stage.PREDICTORS)
    if run is not None and len(chosen) > 1:
        raise UserError("--run names one run, but there are several predictors.", hint="give one --predictor")
    view = KIND.view(show, ViewOptions(frames=frames, height=height, sampling=sampling, captioner=captioner))
    if dry_run:
        models = [name for name in chosen if "/" in name]
        found = [
            stage.estimate_prediction(
                workspace, m, run=run, limit=limit, view=view, limits=limits, videos=videos, shrink=shrink
            )
            for m in models
        ]
        emit_estimates(found, as_json=as_json)
        return
    results = []
    for name in chosen:
        with progress(name, quiet=as_json) as seen:
            results.append(
                stage.predict(
                    workspace,
                    name,
                    run=run,
                    seed=seed,
                    limit=limit,
                    view=view,
                    limits=limits,
                    videos=videos,
                    shrink=shrink,
                    seen=seen,
                )
            )
    rows = [(r["run"], r["items"], r["answered"], r["asked_now"], r["failed"]) for r in results]
    text = table(rows, ("run", "items", "answered", "asked now", "failed"))
    text += "".join(f"\n\n{r['run']}: {told}" for r in results if (told := _told(r)))
    emit({"runs": results}, text + f"\n\nnext: proctor judge {workspace}", as_json=as_json)
    end_with_status(*(r.get("calls") for r in results))


def _told(result: dict[str, Any]) -> str:
    """Return what is to be said of a run beside its row."""
    lines = [result["note"]] if "note" in result else []
    if "calls" in result:
        lines.append(closing_text(result["calls"]))
    if result["failures"]:
        kinds = ", ".join(f"{kind} {n:,}" for kind, n in result["failures"].items())
        lines.append(f"failed: {kinds}")
    if result.get("shrunk"):
        ways = "; ".join(f"{n:,} × {way}" for way, n in list(result["shrunk"].items())[:3])
        more = len(result["shrunk"]) - 3
        total = sum(result["shrunk"].values())
        lines.append(f"shrunk for {total:,} questions: {ways}" + (f"; {more} other ways" if more > 0 else ""))
    return "\n".join(lines)

"""``proctor predict``: a predictor answers the benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
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
from proctor.cli.models import (
    CallsOption,
    DryRunFlag,
    MaxCallsOption,
    MaxCostOption,
    MaxTokensOption,
    PricesOption,
    PromptsOption,
    closing_text,
    estimate_text,
    limits_of,
)

app = command_app()


@app.command()
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
            help="What a model sees: question, recipe, frames, or captions (a captioner describes the frames)."
        ),
    ] = "recipe",
    frames: Annotated[int, typer.Option(min=1, help="Frames at most.")] = 50,
    height: Annotated[int, typer.Option(min=16, help="Of the frames, in pixels.")] = 360,
    sampling: Annotated[str, typer.Option(help="published, uniform or fps.")] = "published",
    captioner: Annotated[str, typer.Option(help="Model that describes frames, for --show captions.")] = "",
    videos: Annotated[
        Path | None,
        typer.Option(help="Folder that the videos' paths are relative to (default: the data set's)."),
    ] = None,
    max_cost: MaxCostOption = None,
    max_calls: MaxCallsOption = None,
    max_tokens: MaxTokensOption = None,
    calls: CallsOption = None,
    prompts: PromptsOption = None,
    prices: PricesOption = None,
    dry_run: DryRunFlag = False,
    seed: SeedOption = None,
    limit: LimitOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Answer the benchmark and write runs/<run>/predictions.jsonl.

    The floors tell what a score is worth: a model that does not beat them has not looked. Items that a run has
    answered are not asked again. Calls of models are kept in the workspace's call store: running the command again
    pays for nothing twice. Keys come from the environment (OPENAI_API_KEY, ANTHROPIC_API_KEY, GOOGLE_API_KEY).

    Example: proctor predict bench -p recipe-text -p annotations

    Example: proctor predict bench -p openai/gpt-4o --show frames --frames 50 --height 765 --dry-run
    """
    from proctor.errors import UserError
    from proctor.evaluate.view import View
    from proctor.stages import predict as stage

    chosen = predictor or list(stage.PREDICTORS)
    if run is not None and len(chosen) > 1:
        raise UserError("--run names one run, but there are several predictors.", hint="give one --predictor")
    limits = limits_of(max_cost, max_calls, max_tokens, calls, prompts, prices)
    view = View(kind=show, frames=frames, height=height, sampling=sampling, captioner=captioner)  # type: ignore[arg-type]
    if dry_run:
        models = [name for name in chosen if "/" in name]
        found = [
            stage.estimate_prediction(workspace, m, limit=limit, view=view, limits=limits, videos=videos)
            for m in models
        ]
        text = "\n\n".join(map(estimate_text, found)) or "No model is asked: it costs nothing."
        emit({"estimates": [msgspec.to_builtins(e) for e in found]}, text, as_json=as_json)
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
                    seen=seen,
                )
            )
    rows = [(r["run"], r["items"], r["answered"], r["asked_now"], r["failed"]) for r in results]
    text = table(rows, ("run", "items", "answered", "asked now", "failed"))
    text += "".join(f"\n\n{r['run']}: {closing_text(r['calls'])}" for r in results if "calls" in r)
    emit({"runs": results}, text + f"\n\nnext: proctor judge {workspace}", as_json=as_json)

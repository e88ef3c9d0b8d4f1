"""``proctor generate``: examples to candidates."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

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
from proctor.cli.models import DryRunFlag, closing_text, estimate_text
from proctor.cli.options import with_settings
from proctor.stages.limits import Limits

app = command_app()


@app.command()
@with_settings
def generate(
    workspace: WorkspaceArgument,
    generator: Annotated[
        list[str] | None,
        typer.Option(
            help="Who asks: 'rules' (no model), or a model such as openai/gpt-4o-2024-08-06. May be repeated: each asks "
            "about every example."
        ),
    ] = None,
    sample: Annotated[
        str | None,
        typer.Option(
            help="'quota' balances types, noise and targets (default); 'published' is the release's; 'all'."
        ),
    ] = None,
    examples: Annotated[
        int | None, typer.Option(min=1, help="How many examples to draw (default 500).")
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            help="Caps of the quota sampler by name: 'corrected' (none, default), or 'paper' (at most one example of a "
            "type from a recording)."
        ),
    ] = None,
    per_recording: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Examples of one type from one recording, at most; 0 for any number (default). Recordings take turns.",
        ),
    ] = None,
    max_mistaken: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Leave out examples with more earlier steps done wrongly; 0 for any number (default 5).",
        ),
    ] = None,
    max_targets: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Leave out examples with more steps that are right answers; 0 for any number (default 5).",
        ),
    ] = None,
    per_example: Annotated[
        int | None, typer.Option(min=1, help="Candidates with other wording per example.")
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(
            help="How a model is shown procedure and recording: excerpt-steps (default), dot-steps, dot-excerpt-steps, ..."
        ),
    ] = None,
    pairs: Annotated[
        int | None, typer.Option(min=1, help="Questions that a model is asked for at once (default 3).")
    ] = None,
    form: Annotated[
        str | None, typer.Option(help="Of a model's reply: text (default), or json (structured output).")
    ] = None,
    frames: Annotated[
        int | None, typer.Option(min=1, help="Frames at most, for templates that show some (default 50).")
    ] = None,
    height: Annotated[
        int | None, typer.Option(min=16, help="Of the frames, in pixels (default 360).")
    ] = None,
    sampling: Annotated[
        str | None, typer.Option(help="Of the frames: published (default), uniform or fps.")
    ] = None,
    videos: Annotated[
        Path | None,
        typer.Option(help="Folder that the videos' paths are relative to (default: the data set's)."),
    ] = None,
    *,
    limits: Limits,
    dry_run: DryRunFlag = False,
    seed: SeedOption = None,
    limit: LimitOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Choose examples and generate candidate questions with all their answers.

    Writes candidates.jsonl, and generate.dropped.jsonl with the reason for everything that is not in it. A model is
    asked for several questions about each example, of which one is picked by the seed. Its calls are kept in the
    workspace's call store: running the command again pays for nothing twice.

    Example: proctor generate bench --examples 200 --seed 7

    Example: proctor generate bench --generator openai/gpt-4o-2024-08-06 --template excerpt-steps --dry-run
    """
    from proctor.stages import generate as stage

    options: stage.GenerateOptions = {
        "generator": generator,
        "sample": sample,
        "protocol": protocol,
        "examples": examples,
        "per_recording": per_recording,
        "max_mistaken": max_mistaken,
        "max_targets": max_targets,
        "per_example": per_example,
        "seed": seed,
        "template": template,
        "pairs": pairs,
        "form": form,
        "frames": frames,
        "height": height,
        "sampling": sampling,
    }
    if dry_run:
        estimate = stage.estimate_generation(workspace, limit=limit, videos=videos, limits=limits, **options)
        found = [estimate] if estimate is not None else []
        text = estimate_text(estimate) if estimate is not None else "No model is asked: it costs nothing."
        emit({"estimates": [msgspec.to_builtins(e) for e in found]}, text, as_json=as_json)
        return
    total = None if sample == "all" else (examples or 500) * len(generator or ("",))
    with progress("generating", total, quiet=as_json) as seen:
        result = stage.generate(workspace, limit=limit, videos=videos, limits=limits, seen=seen, **options)
    dropped = ", ".join(f"{n:,} {reason}" for reason, n in result["dropped"].items()) or "none"
    text = (
        sampling_text(result["sampling"])
        + table([*result["by_type"].items(), ("all", result["candidates"])], ("type", "candidates"))
        + f"\n\nfrom {result['sampled']:,} of {result['examples']:,} examples; without a candidate: {dropped}"
    )
    if "funnel" in result:
        funnels = result.get("funnels", {"": result["funnel"]})
        text += "".join(f"\n\n{name and name + chr(10)}{funnel_text(funnels[name])}" for name in funnels)
        text += f"\n\n{closing_text(result['calls'])}"
    emit(result, text + f"\nnext: proctor verify {workspace}", as_json=as_json)


def sampling_text(sampling: Mapping[str, Any]) -> str:
    """Return cell by cell what was wanted, there and drawn, and why fewer; empty where there were no quotas."""
    if not sampling:
        return ""
    rows = [
        (name, *(cell[key] for key in ("wanted", "there", "drawn", "why")))
        for name, cell in sampling["cells"].items()
    ]
    sums = [sum(row[column] for row in rows) for column in (1, 2, 3)]
    left_out = "".join(f"\nleft out: {n:,}: {reason}" for reason, n in sampling["left_out"].items())
    header = ("type / earlier mistakes / target", "wanted", "there", "drawn", "why fewer")
    return table([*rows, ("all", *sums, "")], header) + left_out + "\n\n"


def funnel_text(funnel: Mapping[str, int]) -> str:
    """Return how many examples came how far, and how many of those before."""
    steps = ("examples", "asked", "replied", "parsed", "picked")
    rows = [
        (step, funnel[step], f"{funnel[step] / funnel[before]:.0%}" if funnel[before] else "")
        for before, step in zip((steps[0], *steps), steps, strict=False)
    ]
    text = table(rows, ("funnel", "examples", "of those before"))
    return (
        text
        + f"\nread in a second round: {funnel['repaired']}; with fewer questions than asked for: {funnel['fewer']}"
    )

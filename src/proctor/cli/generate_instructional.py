"""``proctor generate instructional``: pairs about instructional videos from their step annotations."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from proctor.cli.console import (
    JsonFlag,
    SeedOption,
    WorkspaceArgument,
    command_app,
    emit,
    progress,
    table,
)
from proctor.cli.instructional_options import (
    CategoriserOption,
    DataOption,
    DatasetOption,
    LevelOption,
    PairGeneratorOption,
    PerClipOption,
    TotalPairsOption,
)
from proctor.cli.models import DryRunFlag, closing_text, emit_estimates, end_unfinished
from proctor.cli.options import with_settings
from proctor.stages.limits import Limits

app = command_app()


@app.command()
@with_settings
def instructional(
    workspace: WorkspaceArgument,
    generator: PairGeneratorOption,
    data: DataOption = None,
    dataset: DatasetOption = None,
    categoriser: CategoriserOption = None,
    level: LevelOption = None,
    total: TotalPairsOption = None,
    per_clip: PerClipOption = None,
    videos: Annotated[
        int | None, typer.Option("--max-videos", min=1, help="Recordings of each data set at most.")
    ] = None,
    seed: SeedOption = None,
    *,
    limits: Limits,
    dry_run: DryRunFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Write question–answer pairs about clips of annotated videos: coarse (events) and fine (objects).

    Long videos are cut into clips first. A model reads the steps, never the pictures; every pair cites its steps. Pairs are
    spread over categories, levels and places in the clip; rounds go on until the quota is met. Writes clips.jsonl,
    pairs.jsonl and pairs.json.

    Example: proctor generate instructional bench --data youcook2 -g openai/gpt-4o --total 200 --dry-run
    """
    from proctor.generate.instructional.pairs import PairModels
    from proctor.generate.instructional.record import LEVELS
    from proctor.stages.instructional.pairs import PairOptions, estimate_pairs
    from proctor.stages.instructional.pairs import generate as stage

    options = PairOptions(
        models=PairModels(generator=generator, categoriser=categoriser or ""), data=tuple(data or ()),
        datasets=tuple(dataset or ()), levels=tuple(level or LEVELS), total=total, per_clip=per_clip,  # type: ignore[arg-type]
        videos=videos, seed=seed or 0,
    )  # fmt: skip
    if dry_run:
        emit_estimates([estimate_pairs(workspace, options, limits=limits)], as_json=as_json)
        return
    with progress("writing pairs", quiet=as_json) as seen:
        result = stage(workspace, options, limits=limits, seen=seen)
    emit(
        result,
        f"{pairs_text(result)}\n\n{closing_text(result['calls'])}\nnext: proctor filter {workspace}",
        as_json=as_json,
    )
    end_unfinished(result, f"{result['postponed']:,} tasks are postponed")


def pairs_text(result: dict[str, Any]) -> str:
    """Return how many pairs of which kind there are, and what was left out."""
    summary = result["summary"]
    rows = [*summary["by_level"].items(), *summary["by_category"].items(), ("all", result["pairs"])]
    text = table(rows, ("level, category", "pairs"))
    text += f"\n\nabout {result['clips']:,} clips of {result['videos']:,} videos; {result['asked']:,} were asked for"
    if result["dropped"]:
        text += "\nleft out: " + ", ".join(f"{n:,} {reason}" for reason, n in result["dropped"].items())
    return text

"""``proctor experiment instructional``: InstructionBench's whole experiment in one command."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from proctor.cli.console import (
    JsonFlag,
    SeedOption,
    WorkspaceArgument,
    command_app,
    emit,
    progress,
    table,
    warn,
)
from proctor.cli.instructional_options import (
    AssistantOption,
    BenchmarkShareOption,
    DataOption,
    DatasetOption,
    FilterJudgeOption,
    PairGeneratorOption,
    PerClipOption,
    TotalPairsOption,
    TypedOption,
    VideosOption,
)
from proctor.cli.lazy import STANDIN
from proctor.cli.models import rehearsed
from proctor.cli.options import with_settings
from proctor.errors import UserError
from proctor.stages.limits import Limits

if TYPE_CHECKING:
    from proctor.stages.styled.experiment import Done

app = command_app()


@app.command()
@with_settings
def instructional(
    workspace: WorkspaceArgument,
    generator: PairGeneratorOption,
    data: DataOption = None,
    dataset: DatasetOption = None,
    total: TotalPairsOption = None,
    per_clip: PerClipOption = None,
    max_videos: Annotated[
        int | None, typer.Option(min=1, help="Recordings of each data set at most.")
    ] = None,
    judge: FilterJudgeOption = None,
    assistant: AssistantOption = None,
    benchmark_share: BenchmarkShareOption = 1.0,
    typed: TypedOption = 0,
    predictor: Annotated[
        list[str] | None, typer.Option("--predictor", "-p", help="Model that answers; may be repeated.")
    ] = None,
    show: Annotated[
        list[str] | None,
        typer.Option(
            help="What models are shown: frames:8, frames:16, question, steps (default: question and steps)."
        ),
    ] = None,
    style: Annotated[str, typer.Option(help="Of prompts with frames: a, b, c or d.")] = "d",
    open_judge: Annotated[
        str | None, typer.Option(help="Judge of open-ended answers; without one there are none.")
    ] = None,
    videos: VideosOption = None,
    rehearse: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            hidden=not STANDIN.is_installed,
            metavar="QUALITY",
            help="Play all models on this machine: no key, no cost.",
        ),
    ] = None,
    seed: SeedOption = None,
    *,
    limits: Limits,
    as_json: JsonFlag = False,
) -> None:
    """Write pairs, filter them, give them options, have models and floors answer, and report: InstructionBench with your models.

    The same command goes on where it ended, and nothing is paid for twice. Each stage is a command of its own: generate instructional,
    filter, choices, predict, report.

    Example: proctor experiment instructional bench --data youcook2 -g openai/gpt-4o -j openai/gpt-4o -a openai/gpt-4o
    -a google/gemini-2.0-flash -a anthropic/claude-sonnet-4-5 -p openai/gpt-4o-mini --max-cost 20
    """
    from proctor.stages.instructional.experiment import InstructionalPlan, conduct
    from proctor.stages.instructional.settings import ChoiceOptions, FilterOptions, PairOptions

    if style not in ("a", "b", "c", "d"):
        raise UserError(f"there is no style {style!r}.", hint="one of a, b, c, d")
    judges, assistants = tuple(judge or (generator,)), tuple(assistant or ())
    if not assistants:
        raise UserError(
            "nobody votes on options.",
            hint="name assistants, three as in the paper: -a MODEL -a MODEL -a MODEL",
        )
    plan = InstructionalPlan(
        pairs=PairOptions(
            generator=generator, data=tuple(data or ()), dataset=tuple(dataset or ()), total=total, per_clip=per_clip,
            max_videos=max_videos, seed=seed or 0,
        ),
        filters=FilterOptions(judge=judges, assistant=assistants, benchmark_share=benchmark_share, seed=seed or 0),
        choices=ChoiceOptions(writer=generator, assistant=assistants, typed=typed, seed=seed or 0),
        systems=tuple(predictor or ()), views=tuple(show or ("question", "steps")), style=style, judge=open_judge,
        videos=videos, seed=seed or 0,
    )  # fmt: skip
    showing = partial(progress, quiet=as_json)
    with rehearsed(limits, workspace, rehearse, seed=seed or 0, quiet=as_json) as limits:
        done = conduct(workspace, plan, limits=limits, show=showing)
    if done.stopped:
        warn(f"stopped early: {done.stopped}; the same command goes on from here")
    facts = {
        "stages": [{"stage": part.name, **part.counts} for part in done.parts],
        "report": done.report,
        "stopped": done.stopped,
    }
    emit(facts, _text(done), as_json=as_json)
    if done.stopped:
        raise typer.Exit(3)


def _text(done: Done) -> str:
    called = [part for part in done.parts if part.calls is not None]
    rows = [
        (p.name, (p.calls or {})["sent"], (p.calls or {})["from_store"], (p.calls or {})["cost"])
        for p in called
    ]
    text = table(rows, ("stage", "sent", "from the store", "cost")) if rows else ""
    for part in done.parts:
        if part.name == "filter":
            text += "\n\n" + "\n".join(part.counts["lines"])
        if part.name == "choices":
            text += f"\n\n{part.counts['achieved']:,} of {part.counts['asked']:,} questions got options"
    scores = [(_score(part.counts), part.name) for part in done.parts if "table" in part.counts]
    if scores:
        text += "\n\n" + table(
            [(name, *score) for score, name in scores], ("system", "percent", "interval", "n")
        )
    return text + (f"\n\nreport: {done.report}" if done.report else "")


def _score(counts: dict[str, Any]) -> tuple[object, ...]:
    row = counts["table"]["rows"][0]
    value = "" if row["value"] is None else f"{100 * row['value']:.1f}"
    ends = f"[{100 * row['low']:.1f}, {100 * row['high']:.1f}]" if row.get("low") is not None else ""
    return (value, ends, row.get("n", 0))

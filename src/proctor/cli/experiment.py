"""``proctor experiment``: the whole published experiment in one command."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from proctor.cli.console import JsonFlag, WorkspaceArgument, command_app, emit, progress, table, warn
from proctor.cli.lazy import STANDIN
from proctor.cli.models import DryRunFlag, estimate_text, rehearsed
from proctor.cli.options import with_settings
from proctor.stages.limits import Limits

if TYPE_CHECKING:
    from proctor.errors import UserError
    from proctor.stages.experiment import Done, Plan

app = command_app()


@app.command()
@with_settings
def experiment(
    workspace: WorkspaceArgument,
    data: Annotated[
        Path | None, typer.Option(help="Folder of the data set; needed the first time only.")
    ] = None,
    dataset: Annotated[str, typer.Option(help="Its reader; see 'proctor read'.")] = "captaincook4d",
    published: Annotated[
        Path | None,
        typer.Option(help="File of published ProMQA questions to use in place of questions of one's own."),
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(help="How data are read and examples derived: corrected (default) or published."),
    ] = None,
    sample: Annotated[
        str | None, typer.Option(help="How examples are chosen: quota (default), published or all.")
    ] = None,
    examples: Annotated[int | None, typer.Option(min=1, help="How many (default 500).")] = None,
    generator: Annotated[
        list[str] | None,
        typer.Option("--generator", "-g", help="Who asks: rules (default) or a model; may be repeated."),
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(help="How a generator is shown procedure and recording (default excerpt-steps)."),
    ] = None,
    verifier: Annotated[
        list[str] | None,
        typer.Option(help="Model that checks questions beside the task graph; may be repeated."),
    ] = None,
    accept: Annotated[
        str | None,
        typer.Option(help="Who lets a question in: oracle (default), humans, models, any, all or majority."),
    ] = None,
    min_confidence: Annotated[
        float | None, typer.Option(min=0, max=1, help="Verdicts below this count as unsure (default 0.8).")
    ] = None,
    predictor: Annotated[
        list[str] | None,
        typer.Option(
            "--predictor",
            "-p",
            help="Model that answers; may be repeated. MODEL=VIEW,VIEW shows it something else than --show says.",
        ),
    ] = None,
    show: Annotated[
        list[str] | None,
        typer.Option(
            help="What every predictor is shown, once for each way: question, recipe, captions:50@288p, frames:50@765p, "
            "frames:100@288p:uniform, video:360p (default: question, recipe, frames:50@360p)."
        ),
    ] = None,
    captioner: Annotated[
        str | None, typer.Option(help="Model that describes frames, for the view captions.")
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option("--judge", "-j", help="Model that marks; may be repeated; scores are the first one's."),
    ] = None,
    rubric: Annotated[
        list[str] | None,
        typer.Option(
            help="How judges are asked: ternary-step (default, the paper's figure), ternary-step-mistakes (the released code, which shows the mistakes too), ...; may be repeated: the first judge is asked by all of them."
        ),
    ] = None,
    repeats: Annotated[int | None, typer.Option(min=1, help="Times that a judge is asked the same.")] = None,
    human: Annotated[
        list[Path] | None,
        typer.Option(help="File of marks by people, to calibrate the judges; may be repeated."),
    ] = None,
    videos: Annotated[
        Path | None, typer.Option(help="Folder of the recordings' videos (default: the data set's).")
    ] = None,
    rehearse: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            hidden=not STANDIN.is_installed,
            metavar="QUALITY",
            help="Play all models on this machine, right with this probability: no key, no cost. For new workspaces.",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of everything that is drawn.")] = None,
    *,
    limits: Limits,
    dry_run: DryRunFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Ask, check, answer, mark, calibrate, score and report: ProMQA's whole experiment with your models.

    The plan is kept in experiment.json in the workspace; the same command, or only the workspace's name, goes on
    where it ended, and nothing is paid for twice. --max-cost and the like hold for all stages together.

    Example: proctor experiment bench --data captaincook4d -p openai/gpt-4o -p google/gemini-1.5-pro -j openai/gpt-4o --dry-run

    Example: proctor experiment bench --data captaincook4d -g openai/gpt-4o -p openai/gpt-4o -j openai/gpt-4o --rehearse 0.7
    """
    from proctor.stages.experiment import FORMER_RUNS, Plan, Source, conduct, foresee, kept_plan
    from proctor.workspace import Workspace

    given = {
        "protocol": protocol,
        "sample": sample,
        "examples": examples,
        "generators": tuple(generator or ()),
        "template": template,
        "verifiers": tuple(verifier or ()),
        "accept": accept,
        "min_confidence": min_confidence,
        "predictors": tuple(predictor or ()),
        "views": tuple(show or ()),
        "captioner": captioner,
        "judges": tuple(judge or ()),
        "rubrics": tuple(rubric or ()),
        "repeats": repeats,
        "videos": str(videos.absolute()) if videos is not None else None,
        "seed": seed,
    }
    kept = kept_plan(Workspace(workspace)) or Plan()
    plan = msgspec.structs.replace(kept, **{k: v for k, v in given.items() if v not in (None, ())})
    if published is not None and data is None:
        raise UserError(
            "published questions need the annotations that they are about.",
            where=str(published),
            hint="name their folder, too: --data FOLDER",
        )
    source = Source(data, dataset, published) if data is not None else None
    options: dict[str, Any] = {"source": source}
    if dry_run:
        estimate = foresee(workspace, plan, limits=limits, **options)
        emit(msgspec.to_builtins(estimate), estimate_text(estimate), as_json=as_json)
        return
    showing = partial(progress, quiet=as_json)
    if rehearse is not None:
        plan.check()
    with rehearsed(limits, workspace, rehearse, seed=plan.seed, quiet=as_json) as limits:
        done = conduct(workspace, plan, limits=limits, human=human or (), show=showing, **options)
    for part in done.parts:
        if part.name == "set aside":
            warn(
                f"these runs answered other questions and are now in {FORMER_RUNS}: {', '.join(part.counts['runs'])}"
            )
    if done.stopped:
        warn(f"stopped early: {done.stopped}; the same command goes on from here")
    emit(_facts(done, plan), _text(done, workspace), as_json=as_json)
    if done.stopped:
        raise typer.Exit(3)


def _facts(done: Done, plan: Plan) -> dict[str, Any]:
    scores = done.scores
    return {
        "plan": msgspec.to_builtins(plan),
        "stages": [{"stage": part.name, **part.counts} for part in done.parts],
        "scores": {n: msgspec.to_builtins(t.row("all")) for n, t in scores.tables.items()} if scores else {},
        "calibration": done.calibration.hash if done.calibration else "",
        "report": done.report,
        "sheet": done.sheet,
        "stopped": done.stopped,
    }


def _text(done: Done, workspace: Path) -> str:
    called = [part for part in done.parts if part.calls]
    rows = [
        (
            p.name,
            p.calls["sent"],
            p.calls["from_store"],
            sum(p.calls["outcomes"].values()) - p.calls["outcomes"].get("reply", 0),
            p.calls["cost"],
        )
        for p in called
    ]
    text = table(rows, ("stage", "sent", "from the store", "not replied", "cost")) if rows else ""
    if done.scores is not None:
        scored = [
            (
                name,
                f"{row.value:.1f}" if row.value is not None else "not scored",
                f"[{row.low:.1f}, {row.high:.1f}]" if row.low is not None else "",
                row.n,
            )
            for name, scores in done.scores.tables.items()
            for row in (scores.row("all"),)
        ]
        text += "\n\n" + table(scored, ("run", "score", "interval", "n"))
    if done.report:
        text += f"\n\nreport: {done.report}"
        if done.calibration is not None:
            choice = done.calibration.file.calibration.choice
            text += f"\njudge chosen by people's marks: {choice.judge}"
        elif done.sheet:
            text += (
                f"\nThe judges are not calibrated. For a start, have people fill in the column 'human' of {done.sheet}\n"
                f"(0 wrong, 1 partly right, 2 right), then: proctor experiment {workspace} --human {done.sheet}"
            )
    return text + ("" if done.report else f"\nnext: proctor experiment {workspace}")

"""``proctor experiment``: a whole published experiment in one command, or a grid of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import typer

from proctor.cli.console import WorkspaceArgument, emit, table
from proctor.cli.lazy import STANDIN
from proctor.cli.models import emit_estimates, estimate_text, rehearsed
from proctor.cli.options import DryRun, Output, command_of
from proctor.settings import Given, Settings, option
from proctor.stages.experiment.settings import OUTLINES
from proctor.stages.limits import Limits
from proctor.terminal import progress, warn

if TYPE_CHECKING:
    from proctor.stages.experiment.compare import Grid
    from proctor.stages.experiment.stage import Done, Plan

__all__ = ["Trying", "apps", "conduct_plan"]


class Trying(DryRun, frozen=True, kw_only=True):
    """What varies, and whether models are played or nothing is sent at all."""

    vary: Annotated[
        tuple[str, ...],
        option(
            "Run it with several values of any setting of any stage, and compare them; may be repeated: every combination is a cell.",
            metavar="STAGE.SETTING=VALUE,VALUE",
        ),
    ] = ()
    rehearse: Annotated[
        float | None,
        option(
            "Simulate all models on this machine; QUALITY is the probability of a right answer. No key, no cost; for new workspaces.",
            metavar="QUALITY",
            ge=0,
            le=1,
            hidden=not STANDIN.is_installed,
        ),
    ] = None


def conduct_plan(
    name: str, workspace: Path, given: Given, limits: Limits, trying: Trying, output: Output
) -> None:
    """Do one experiment, or say what it would take, and print what came of it."""
    from proctor.stages.experiment.conduct import choose, conduct, kept_settings
    from proctor.stages.experiment.foresee import foresee
    from proctor.stages.experiment.stage import Done

    plan: Plan = import_module(f"proctor.stages.experiment.{name}").PLAN
    kept = kept_settings(workspace, plan)
    chosen = choose(workspace, plan, given)
    vary = trying.vary or (kept.vary if kept is not None else ())
    showing = partial(progress, quiet=output.as_json)
    if trying.dry_run:
        foreseen = Done()
        estimate = foresee(workspace, plan, chosen, vary=vary, limits=limits, show=showing, done=foreseen)
        for line in foreseen.notes:
            warn(line)
        if estimate is None:
            emit_estimates([], as_json=output.as_json)
        else:
            emit(estimate, estimate_text(estimate), as_json=output.as_json)
        return
    seed = getattr(chosen[plan.stages[1].name], "seed", 0)
    with rehearsed(limits, workspace, trying.rehearse, seed=seed, quiet=output.as_json) as limits:
        done = conduct(workspace, plan, chosen, vary=vary, limits=limits, show=showing)
    for line in done.notes:
        warn(line)
    if done.stopped:
        warn(
            f"stopped early: {done.stopped}; the same command continues from here (--accept-failures: all the same)"
        )
    emit(_facts(done, chosen), _text(done, workspace, plan), as_json=output.as_json)
    if done.stopped:
        raise typer.Exit(3)


def _facts(done: Done, chosen: Mapping[str, Settings]) -> dict[str, Any]:
    return {
        "settings": {name: msgspec.to_builtins(settings, enc_hook=str) for name, settings in chosen.items()},
        "stages": [{"stage": part.name, **part.counts} for part in done.parts],
        "scores": msgspec.to_builtins(done.scores),
        "calibration": done.calibration.hash if done.calibration else "",
        "grid": msgspec.to_builtins(done.grid),
        "report": done.report,
        "sheet": done.sheet,
        "stopped": done.stopped,
        "notes": done.notes,
    }


def _text(done: Done, workspace: Path, plan: Plan) -> str:
    rows = [
        (
            part.name,
            part.calls.sent,
            part.calls.from_store,
            sum(part.calls.outcomes.values()) - part.calls.outcomes.get("reply", 0),
            part.calls.cost,
        )
        for part in done.parts
        if part.calls
    ]
    parts = [table(rows, ("stage", "sent", "from the store", "not replied", "cost"))] if rows else []
    parts += ["\n".join(done.lines)] if done.lines else []
    if done.searched:
        from proctor.cli.retrieve import cells_text

        cells = [
            {**msgspec.to_builtins(cell), "slice": name}
            for name, found in done.searched.items()
            for cell in found
        ]
        parts.append(cells_text(cells, "questions"))
    parts += _grid(done.grid) if done.grid is not None else ()
    if done.scores and (done.grid is None or len(done.grid.costs) == 1):
        scored = [
            (
                name,
                row.measure,
                _shown(row.value),
                _ends(row.low, row.high),
                _ends(row.least, row.most),
                f"{row.n:,} of {row.asked:,}",
                row.judge or "–",
            )
            for name, of_system in done.scores.items()
            for row in of_system
        ]
        head = ("system", "measure", "value", "interval", "failures wrong to right", "marked", "judge")
        parts.append(table(scored, head))
    if not done.report:
        parts.append(f"next: proctor experiment {plan.name} {workspace}")
        return "\n\n".join(parts)
    parts.append(f"report: {done.report}")
    if done.calibration is not None and not (done.grid and done.grid.pairs):
        parts[-1] += f"\njudge chosen by people's marks: {done.calibration.file.calibration.choice.judge}"
    elif done.sheet:
        parts[-1] += (
            f"\nThe judges are not calibrated. For a start, have people fill in the column 'human' of {done.sheet}\n"
            f"(0 wrong, 1 partly right, 2 right), then: proctor experiment {workspace} --human {done.sheet}"
        )
    return "\n\n".join(parts)


def _grid(grid: Grid) -> list[str]:
    """Return the tables of several cells."""
    costs = {name: "not known" if cost is None else f"{cost:.4f}" for name, cost in grid.costs.items()}
    rows = [
        (
            r.system,
            r.measure,
            r.cell,
            _shown(r.value),
            _ends(r.low, r.high),
            _ends(r.least, r.most),
            r.n,
            costs[r.cell],
            r.judge or "–",
        )
        for r in grid.rows
    ]
    head = ("system", "measure", "cell", "value", "interval", "failures wrong to right", "n", "USD", "judge")
    parts = [table(rows, head)] if len(costs) > 1 else []
    pairs = [
        (
            p.system,
            p.measure,
            c.b,
            c.a,
            _shown(c.difference, p.scale),
            _ends(c.low, c.high, p.scale),
            c.n,
            _p(c.p_holm),
        )
        for p in grid.pairs
        for c in (p.comparison,)
    ]
    if pairs:
        header = ("system", "measure", "cell", "against", "difference", "interval", "n", "p (Holm)")
        parts.append(table(pairs, header))
    agreed = [
        (*found.benchmarks, len(found.systems), _shown(found.tau), _ends(found.low, found.high), _p(found.p))
        for found in grid.agreement
        if len(found.systems) > 2  # the order of two says nothing
    ]
    if agreed:
        parts.append(table(agreed, ("order by", "and by", "systems", "Kendall's tau", "interval", "p")))
    return parts


def _shown(value: float | None, scale: float = 1.0) -> str:
    return (
        "" if value is None else f"{scale * value:.3g}" if abs(scale * value) < 1 else f"{scale * value:.1f}"
    )


def _ends(low: float | None, high: float | None, scale: float = 1.0) -> str:
    return "" if low is None or high is None else f"[{_shown(low, scale)}, {_shown(high, scale)}]"


def _p(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


_EXPERIMENTS: Final = {
    "moment": """Ask, check, answer, mark, calibrate, score and report: ProMQA's whole experiment with your models.

    What is chosen is kept in experiment.json in the workspace; run the same command again, or only with the workspace's name, to continue where it stopped; nothing is paid for twice. --max-cost and the like hold for all stages together.

    Example: proctor experiment bench --data captaincook4d -p openai/gpt-4o -p google/gemini-1.5-pro -j openai/gpt-4o --dry-run

    Example: proctor experiment bench --data captaincook4d -g openai/gpt-4o -p openai/gpt-4o -j openai/gpt-4o --rehearse 0.7
    """,
    "documents": """Build a corpus, generate questions in styles, search, answer, mark, compare and report: SMMQG with your models.

    Run the same command again to continue where it stopped; nothing is paid for twice. --max-cost and the like hold for all stages
    together. Each stage is a command of its own: corpus build, generate documents, retrieve,
    build, predict, judge, score, report.

    Example: proctor experiment documents bench --from manuals -g openai/gpt-4o -m openai/gpt-4o-mini -j openai/gpt-4o --max-cost 20

    Example: proctor experiment documents rehearsal --from manuals -g openai/gpt-4o -m openai/gpt-4o-mini -j openai/gpt-4o --rehearse 0.8
    """,
    "clip": """Write pairs, filter them, give them options, have models and baselines answer, and report: InstructionBench with your models.

    Run the same command again to continue where it stopped; nothing is paid for twice. Each stage is a command of its own: generate clip,
    filter, choices, build, predict, judge, score, report.

    Example: proctor experiment clip bench --data youcook2 -g openai/gpt-4o -j openai/gpt-4o -a openai/gpt-4o
    -a google/gemini-2.0-flash -a anthropic/claude-sonnet-4-5 -p openai/gpt-4o-mini --max-cost 20
    """,
}
"""The published experiments: the module of each plan, and what it does, for people."""


def _app(name: str, help: str) -> typer.Typer:
    """Return the command of one experiment."""

    def experiment(
        workspace: WorkspaceArgument, given: Given, limits: Limits, trying: Trying, output: Output
    ) -> None:
        conduct_plan(name, workspace, given, limits, trying, output)

    experiment.__annotations__["given"] = Annotated[Given, OUTLINES[name]]
    return command_of(name, help, experiment)


apps = {name: _app(name, help) for name, help in _EXPERIMENTS.items()}

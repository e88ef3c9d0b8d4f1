"""``proctor filter``: unspecific, tricky, hallucinated and blind-solvable questions are dropped."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
from proctor.cli.instructional_options import AssistantOption, BenchmarkShareOption, FilterJudgeOption
from proctor.cli.models import (
    DryRunFlag,
    closing_text,
    emit_estimates,
    end_unfinished,
    end_with_status,
)
from proctor.cli.options import with_settings
from proctor.errors import UserError
from proctor.stages.limits import Limits

if TYPE_CHECKING:
    from proctor.stages.instructional.filter import FilterOptions

app = command_app()


@app.command("filter")
@with_settings
def filter_(
    workspace: WorkspaceArgument,
    judge: FilterJudgeOption = None,
    assistant: AssistantOption = None,
    consistency: Annotated[
        str | None,
        typer.Option(help="Model that says whether two answers mean the same (default: the first judge)."),
    ] = None,
    on: Annotated[
        str | None, typer.Option(help="pairs, candidates (ProMQA's) or styled; found out by the files.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="unspecific, tricky, hallucination, blind; may be repeated (default: all)."),
    ] = None,
    votes: Annotated[
        int, typer.Option(min=1, help="Of judges on each filter but blind; odd, a majority drops.")
    ] = 1,
    benchmark_share: BenchmarkShareOption = 1.0,
    cap: Annotated[
        int | None, typer.Option(min=1, help="Pairs of the benchmark at most (published: 5,000).")
    ] = None,
    seed: SeedOption = None,
    limit: LimitOption = None,
    audit: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Audit the filters: plant so many questions of each fault by rule, and say how many are caught.",
        ),
    ] = None,
    *,
    limits: Limits,
    dry_run: DryRunFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Ask four filters about every question, cheap ones first; what one drops is dropped for good.

    unspecific, tricky and hallucination are asked of a judge that knows the steps (or sources); the last must cite them. For blind,
    assistants answer without seeing anything: what two of them answer rightly is dropped. What cannot be read is dropped, too; a model
    that is down postpones. With --benchmark-share, kept pairs are split by video into open.jsonl and training.jsonl.

    Example: proctor filter bench -j openai/gpt-4o -a openai/gpt-4o -a google/gemini-2.0-flash --audit 100

    Example: proctor filter bench -j openai/gpt-4o -a openai/gpt-4o -a google/gemini-2.0-flash -a anthropic/claude-sonnet-4-5 --dry-run
    """
    from proctor.generate.instructional.filters import FilterModels, FilterSettings
    from proctor.generate.instructional.record import FILTERS
    from proctor.stages.instructional.filter import FilterOptions, estimate_filters, filter_questions

    if not judge and not assistant:
        raise UserError("nobody was named who filters.", hint="name a judge (-j) and assistants (-a)")
    filters = tuple(only or (FILTERS if assistant else FILTERS[:-1]))
    settings = FilterSettings(
        filters=filters,  # type: ignore[arg-type]
        votes={name: votes for name in filters if name != "blind"} if votes > 1 else {},  # type: ignore[misc]
        solved_by=min(2, len(assistant or ()) or 2),
    )
    models = FilterModels(
        judges=tuple(judge or ()), assistants=tuple(assistant or ()), consistency=consistency or ""
    )
    options = FilterOptions(
        models=models,
        subject=on,  # type: ignore[arg-type]
        settings=settings,
        limit=limit,
        benchmark_share=benchmark_share,
        cap=cap,
        seed=seed or 0,
    )
    if audit is not None:
        _audit(workspace, options, audit, limits, as_json=as_json)
        return
    if dry_run:
        emit_estimates([estimate_filters(workspace, options, limits=limits)], as_json=as_json)
        return
    if not assistant and "blind" not in filters:
        warn("no assistants were named: the filter 'blind' is left out")
    with progress("filtering", quiet=as_json) as seen:
        result = filter_questions(workspace, options, limits=limits, seen=seen)
    text = "\n".join(result["lines"])
    if "training" in result:
        text += f"\n{result['benchmark']:,} for the benchmark, {result['training']:,} for training, no video in both"
    emit(
        result,
        f"{text}\n\n{closing_text(result['calls'])}\nnext: proctor choices {workspace}",
        as_json=as_json,
    )
    end_unfinished(result, f"{result['postponed']:,} questions are postponed")


def _audit(workspace: Path, options: FilterOptions, each: int, limits: Limits, *, as_json: bool) -> None:
    from proctor.stages.instructional.audit import audit as stage

    with progress("auditing", quiet=as_json) as seen:
        result = stage(workspace, options, each=each, limits=limits, seen=seen)
    report = result["report"]
    rows = [
        (
            row["filter"],
            row["catches"],
            row["dropped"],
            *(_rate(row[name]) for name in ("precision", "recall", "false_alarm", "f1")),
        )
        for row in report["rows"]
    ]
    text = table(rows, ("filter", "catches", "dropped", "precision", "recall", "false alarm", "F1"))
    text += f"\n\nall together: precision {_rate(report['precision'])}, recall {_rate(report['recall'])}"
    if result["missing"]:
        text += "\nfewer than asked for: " + ", ".join(f"{n} {kind}" for kind, n in result["missing"].items())
    emit(result, f"{text}\n\n{closing_text(result['calls'])}", as_json=as_json)
    end_with_status(result["calls"])


def _rate(rate: Mapping[str, Any]) -> str:
    if rate["value"] is None:
        return ""
    return f"{100 * rate['value']:.1f} [{100 * rate['low']:.0f}, {100 * rate['high']:.0f}]"

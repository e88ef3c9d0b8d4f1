"""``proctor filter``: unspecific, tricky, hallucinated and blind-solvable questions are dropped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from proctor.cli.console import WorkspaceArgument, command_app, emit, table
from proctor.cli.models import closing_text, emit_estimates, end_unfinished, end_with_status
from proctor.cli.options import DryRun, Output, with_settings
from proctor.settings import Settings, option
from proctor.stages.clip.settings import FilterOptions
from proctor.stages.limits import Limits
from proctor.terminal import progress, warn

if TYPE_CHECKING:
    from proctor.ask.clip.audit import Rate

app = command_app()


class Audit(Settings, frozen=True, kw_only=True):
    """Whether filters are measured in place of being used."""

    audit: Annotated[
        int | None,
        option(
            "Audit the filters: plant this many questions with each fault, and report how many are caught.",
            ge=1,
        ),
    ] = None


@app.command("filter")
@with_settings
def filter_(
    workspace: WorkspaceArgument,
    options: FilterOptions,
    auditing: Audit,
    limits: Limits,
    trying: DryRun,
    output: Output,
) -> None:
    """Put every question through four filters, the cheapest first; what one drops is not asked again.

    unspecific, tricky and hallucination are asked of a judge that knows the steps (or sources); the last must cite them. For blind,
    assistants answer without seeing anything: what two of them answer rightly is dropped. Questions with unreadable replies are dropped; while a model is down they are postponed. With --benchmark-share, kept pairs are split by video into open.jsonl and training.jsonl.

    Example: proctor filter bench -j openai/gpt-4o -a openai/gpt-4o -a google/gemini-2.0-flash --audit 100

    Example: proctor filter bench -j openai/gpt-4o -a openai/gpt-4o -a google/gemini-2.0-flash -a anthropic/claude-sonnet-4-5 --dry-run
    """
    from proctor.stages.clip.audit import estimate_audit
    from proctor.stages.clip.filter import estimate_filters, filter_questions
    from proctor.stages.trial import trial

    if trying.dry_run:
        with trial(workspace, limits) as (workspace, limits):
            found = (
                estimate_filters(workspace, options, limits=limits)
                if auditing.audit is None
                else estimate_audit(workspace, options, each=auditing.audit, limits=limits)
            )
        emit_estimates([found], as_json=output.as_json)
        return
    if auditing.audit is not None:
        _audit(workspace, options, auditing.audit, limits, as_json=output.as_json)
        return
    if not options.assistant and "blind" not in options.only:
        warn("no assistants were named: the filter 'blind' is left out")
    with progress("filtering", quiet=output.as_json) as seen:
        result = filter_questions(workspace, options, limits=limits, seen=seen)
    text = "\n".join(result.lines)
    if result.training is not None:
        text += (
            f"\n{result.benchmark:,} for the benchmark, {result.training:,} for training, no video in both"
        )
    following = "choices" if "pairs" in result.subject.split("+") else "build"
    text += f"\n\n{closing_text(result.calls)}\nnext: proctor {following} {workspace}"
    emit(result, text, as_json=output.as_json)
    end_unfinished(result, f"{result.postponed:,} questions are postponed", accepted=limits.accept_failures)


def _audit(workspace: Path, options: FilterOptions, each: int, limits: Limits, *, as_json: bool) -> None:
    from proctor.stages.clip.audit import audit as stage

    with progress("auditing", quiet=as_json) as seen:
        result = stage(workspace, options, each=each, limits=limits, seen=seen)
    report = result.report
    rows = [
        (
            row.filter,
            row.catches,
            row.dropped,
            *map(_rate, (row.precision, row.recall, row.false_alarm, row.f1)),
        )
        for row in report.rows
    ]
    text = table(rows, ("filter", "catches", "dropped", "precision", "recall", "false alarm", "F1"))
    text += f"\n\nall together: precision {_rate(report.precision)}, recall {_rate(report.recall)}"
    if result.missing:
        text += "\nfewer than asked for: " + ", ".join(f"{n} {kind}" for kind, n in result.missing.items())
    emit(result, f"{text}\n\n{closing_text(result.calls)}", as_json=as_json)
    end_with_status(result.calls, accepted=limits.accept_failures)


def _rate(rate: Rate) -> str:
    if rate.value is None or rate.low is None or rate.high is None:
        return ""
    return f"{100 * rate.value:.1f} [{100 * rate.low:.0f}, {100 * rate.high:.0f}]"

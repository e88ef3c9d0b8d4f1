"""``proctor judge``: marks for answers."""

from __future__ import annotations

from proctor.cli.console import WorkspaceArgument, command_app, emit, table
from proctor.cli.models import closing_text, emit_estimates, end_with_status, next_step
from proctor.cli.options import DryRun, Output, Spread, with_settings
from proctor.stages.exam_settings import JudgeSettings
from proctor.stages.limits import Limits
from proctor.terminal import progress

app = command_app()


@app.command()
@with_settings
def judge(
    workspace: WorkspaceArgument,
    settings: JudgeSettings,
    limits: Limits,
    dry_run: DryRun,
    spread: Spread,
    output: Output,
) -> None:
    """Mark every answer 0 (wrong), 1 (partial) or 2 (match), with the reason.

    Rules mark letters of questions with options, and answers about moments against their best gold; a model marks every answer in
    words. Answers of baselines and of the upper bound are marked by rules all the same, unless --judge-floors is given: they need no calls. Writes runs/<run>/judgements.jsonl. An answer that failed stays unscored: it is never counted as 0. Marks of a model are also kept in runs/<run>/judgements/, with those of other judges, for 'proctor calibrate'. A model's default for moments,
    ternary-step, is what the paper's figure shows; --mistakes (ternary-step-mistakes) is what the released code sends.
    With --match-options a model is asked which option a reply means, for replies in which no rule finds one.
    'proctor judge read FILE' shows how replies of a judge model are read.

    Example: proctor judge bench --run recipe-text

    Example: proctor judge bench --judge openai/gpt-4o-2024-08-06 --scale ternary --context step --dry-run

    Example: proctor judge bench --run gpt-4o-frames --match-options openai/gpt-4o-2024-08-06
    """
    from proctor.compute import place_of
    from proctor.stages import judge as stage
    from proctor.stages.trial import trial

    place = place_of(spread.workers)
    if dry_run.dry_run:
        with trial(workspace, limits) as (workspace, limits):
            estimate = stage.estimate_judging(workspace, settings, limits=limits)
        emit_estimates([estimate], as_json=output.as_json)
        return
    with progress("judging", quiet=output.as_json) as seen:
        result = stage.judge(workspace, settings, limits=limits, place=place, seen=seen)
    marks = dict.fromkeys(("match", "partial", "wrong", "unscored"))
    for counts in result.runs.values():
        marks |= dict.fromkeys(counts)  # how replies with options were read, where a model matched some
    rows = [(name, *(counts.get(m, 0) for m in marks)) for name, counts in result.runs.items()]
    text = table(rows, ("run", *marks)) + f"\n\njudge: {result.judge}"
    if result.by_rule:
        rules = ", ".join(dict.fromkeys(result.by_rule.values()))
        text += f"\nby {rules}, as no model answered: {', '.join(result.by_rule)} (--judge-floors has the model mark them)"
    text += "".join(f"\nnot marked: {name}: {why}" for name, why in result.skipped.items())
    text += f"\n{closing_text(result.calls)}" if result.calls is not None else ""
    said = result.calls is not None and result.calls.outcomes.get("reply", 0) > 0
    if unread := [run for run, counts in result.runs.items() if said and not counts.keys() - {"unscored"}]:
        text += "\nno reply could be read as a mark; the reasons: "
        text += ", ".join(str(workspace / "runs" / run / "judgements.jsonl") for run in unread)
        text += "\nnext: save a few replies and see how they are read: proctor judge read replies.jsonl"
    else:
        text += f"\n{next_step(f'proctor score {workspace}', result.calls, accepted=limits.accept_failures)}"
    emit(result, text, as_json=output.as_json)
    end_with_status(result.calls, accepted=limits.accept_failures)

"""``proctor judge``: marks for answers."""

from __future__ import annotations

from typing import Annotated

import typer

from proctor.cli.console import JsonFlag, WorkersOption, WorkspaceArgument, command_app, emit, progress, table
from proctor.cli.models import DryRunFlag, closing_text, emit_estimates, end_with_status
from proctor.cli.options import with_settings
from proctor.stages.limits import Limits

app = command_app()

RunsOption = Annotated[
    list[str] | None, typer.Option("--run", "-r", help="Name of a run; may be repeated; all when left out.")
]


@app.command()
@with_settings
def judge(
    workspace: WorkspaceArgument,
    run: RunsOption = None,
    judge: Annotated[
        str, typer.Option(help="Who marks: 'rules' (no model), or a model such as openai/gpt-4o-2024-08-06.")
    ] = "rules",
    scale: Annotated[str, typer.Option(help="A model's scale: ternary (0, 1, 2) or binary.")] = "ternary",
    context: Annotated[
        str,
        typer.Option(
            help="What a model sees beside question and golds: none, recipe or step (performed steps)."
        ),
    ] = "step",
    mistakes: Annotated[
        bool,
        typer.Option(
            "--mistakes",
            help="Show annotated mistakes below the steps, as the released code does and the paper's figure does not.",
        ),
    ] = False,
    form: Annotated[str, typer.Option(help="Of the verdict: text, or json (structured output).")] = "text",
    repeats: Annotated[int, typer.Option(min=1, help="Ask a model so many times.")] = 1,
    *,
    limits: Limits,
    dry_run: DryRunFlag = False,
    workers: WorkersOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Mark every answer 0 (wrong), 1 (partial) or 2 (match) against its best gold, with the reason.

    Writes runs/<run>/judgements.jsonl. An answer that failed stays unscored: it is never counted as 0. Marks of a model
    are also kept beside those of other judges in runs/<run>/judgements/, for 'proctor calibrate'. A model's default,
    ternary-step, is what the paper's figure shows; --mistakes (ternary-step-mistakes) is what the released code sends.
    'proctor judge read FILE' says what replies of a judge model are read as.

    Example: proctor judge bench --run recipe-text

    Example: proctor judge bench --judge openai/gpt-4o-2024-08-06 --scale ternary --context step --dry-run
    """
    from proctor.compute import place_of
    from proctor.errors import UserError
    from proctor.exam.judge_prompt import CONTEXTS, Rubric
    from proctor.stages import judge as stage

    for value, allowed, name in (
        (scale, ("ternary", "binary"), "--scale"),
        (context, CONTEXTS, "--context"),
        (form, ("text", "json"), "--form"),
    ):
        if value not in allowed:
            raise UserError(f"{name} is {value!r}.", hint=f"one of {', '.join(allowed)}")
    place = place_of(workers)
    rubric = Rubric(scale=scale, context=context, with_mistakes=mistakes, form=form)  # type: ignore[arg-type]
    if dry_run:
        estimate = stage.estimate_judging(
            workspace, run or (), judge=judge, rubric=rubric, repeats=repeats, limits=limits
        )
        emit_estimates([estimate], as_json=as_json)
        return
    with progress("judging", quiet=as_json) as seen:
        result = stage.judge(
            workspace,
            run or (),
            judge=judge,
            rubric=rubric,
            repeats=repeats,
            limits=limits,
            place=place,
            seen=seen,
        )
    marks = ("match", "partial", "wrong", "unscored")
    rows = [(name, *(counts.get(m, 0) for m in marks)) for name, counts in result["runs"].items()]
    text = table(rows, ("run", *marks)) + f"\n\njudge: {result['judge']}"
    text += f"\n{closing_text(result['calls'])}" if "calls" in result else ""
    text += f"\nnext: proctor score {workspace}"
    emit(result, text, as_json=as_json)
    end_with_status(result.get("calls"))

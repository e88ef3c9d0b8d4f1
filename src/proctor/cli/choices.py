"""``proctor choices``: open-ended questions become multiple choice."""

from __future__ import annotations

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
from proctor.cli.instructional_options import AssistantOption, TypedOption, WriterOption
from proctor.cli.models import DryRunFlag, closing_text, end_unfinished, estimate_text
from proctor.cli.options import with_settings
from proctor.errors import UserError
from proctor.stages.limits import Limits

app = command_app()


@app.command()
@with_settings
def choices(
    workspace: WorkspaceArgument,
    writer: WriterOption,
    assistant: AssistantOption = None,
    on: Annotated[
        str | None,
        typer.Option(
            help="pairs (those that filters keep), items (ProMQA's) or styled; found out by the files."
        ),
    ] = None,
    typed: TypedOption = 0,
    attempts: Annotated[int, typer.Option(min=1, help="At a question; then it stays open-ended.")] = 10,
    confirm: Annotated[
        str, typer.Option(help="A fresh vote after acceptance: off, report, or require.")
    ] = "report",
    seed: SeedOption = None,
    limit: LimitOption = None,
    *,
    limits: Limits,
    dry_run: DryRunFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Give every question four wrong answers that hold: not right by the steps, and not to be guessed without them.

    Six are written, the best four picked; assistants vote with the steps (most of them wrong: an option may be right) and without
    (most of them right: too easy); at most ten attempts. Retrying until a vote passes selects luck: a fresh vote says how much. Letters are
    exactly balanced.

    Example: proctor choices bench -w openai/gpt-4o -a openai/gpt-4o -a google/gemini-2.0-flash -a anthropic/claude-sonnet-4-5
    """
    from proctor.generate.instructional.choices import ChoiceModels, ChoiceSettings
    from proctor.stages.instructional.choices import ChoiceOptions, estimate_choices, make, planned_calls

    if confirm not in ("off", "report", "require"):
        raise UserError(f"--confirm is {confirm!r}.", hint="one of off, report, require")
    options = ChoiceOptions(
        models=ChoiceModels(writer=writer, assistants=tuple(assistant or ())),
        subject=on,
        settings=ChoiceSettings(attempts=attempts, typed=typed, confirm=confirm),  # type: ignore[arg-type]
        seed=seed or 0,
        limit=limit,
    )
    if dry_run:
        found = planned_calls(workspace, options)
        estimate = estimate_choices(workspace, options, limits=limits)
        text = (
            f"{found['questions']:,} questions: at least {found['least']:,} calls (every first attempt is accepted), at most "
            f"{found['most']:,} (every attempt fails at its last vote)"
        )
        text += f"\n\nevery first attempt accepted:\n{estimate_text(estimate)}"
        emit({**found, "estimates": [msgspec.to_builtins(estimate)]}, text, as_json=as_json)
        return
    with progress("making options", quiet=as_json) as seen:
        result = make(workspace, options, limits=limits, seen=seen)
    emit(
        result,
        f"{choices_text(result)}\n\n{closing_text(result['calls'])}\nnext: proctor predict {workspace} --style d",
        as_json=as_json,
    )
    end_unfinished(result, f"{result['postponed']:,} questions are postponed")


def choices_text(result: dict[str, Any]) -> str:
    """Return how many questions got options, and what became of attempts."""
    summary = result["summary"]
    text = table(list(summary["outcomes"].items()), ("attempts", "how many"))
    text += f"\n\n{result['achieved']:,} of {result['asked']:,} questions got options; {result['open_ended']:,} stay open-ended"
    return text

"""``proctor choices``: open-ended questions become multiple choice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from proctor.cli.console import WorkspaceArgument, command_app, emit, table
from proctor.cli.models import closing_text, end_unfinished, estimate_text
from proctor.cli.options import DryRun, Output, with_settings
from proctor.stages.clip.settings import ChoiceOptions
from proctor.stages.limits import Limits
from proctor.terminal import progress

if TYPE_CHECKING:
    from proctor.stages.clip.choices import ChoicesMade

app = command_app()


@app.command()
@with_settings
def choices(
    workspace: WorkspaceArgument, options: ChoiceOptions, limits: Limits, trying: DryRun, output: Output
) -> None:
    """Give every question four plausible wrong answers: wrong by the steps, and not to be guessed without them.

    Six are written and the best four picked; assistants vote with the steps (most of them wrong: an option may be right) and without
    (most of them right: too easy); at most ten attempts. Retrying until a vote passes favours lucky votes: a fresh vote measures how much. Letters are
    exactly balanced.

    Example: proctor choices bench -w openai/gpt-4o -a openai/gpt-4o -a google/gemini-2.0-flash -a anthropic/claude-sonnet-4-5
    """
    from proctor.stages.clip.choices import estimate_choices, make, planned_calls
    from proctor.stages.trial import trial

    if trying.dry_run:
        with trial(workspace, limits) as (workspace, limits):
            found = planned_calls(workspace, options)
            estimate = estimate_choices(workspace, options, limits=limits)
        text = (
            f"{found.questions:,} questions: at least {found.least:,} calls (every first attempt is accepted), at most "
            f"{found.most:,} (every attempt fails at its last vote)"
        )
        text += f"\n\nevery first attempt accepted:\n{estimate_text(estimate)}"
        facts = {**msgspec.to_builtins(found), "estimates": [msgspec.to_builtins(estimate)]}
        emit(facts, text, as_json=output.as_json)
        return
    with progress("making options", quiet=output.as_json) as seen:
        result = make(workspace, options, limits=limits, seen=seen)
    text = f"{choices_text(result)}\n\n{closing_text(result.calls)}\nnext: proctor build {workspace}"
    emit(result, text, as_json=output.as_json)
    end_unfinished(result, f"{result.postponed:,} questions are postponed", accepted=limits.accept_failures)


def choices_text(result: ChoicesMade) -> str:
    """Return how many questions got options, and what became of attempts."""
    text = table(list(result.summary.outcomes.items()), ("attempts", "how many"))
    text += f"\n\n{result.achieved:,} of {result.asked:,} questions got options; {result.open_ended:,} stay open-ended"
    return text

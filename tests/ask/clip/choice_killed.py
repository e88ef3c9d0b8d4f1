"""Giving questions options as a work that can be killed (``tests.lives``)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
from tests.ask.clip.choice_player import PROMPTS, maker, question

from proctor.ask.clip.choice_prompt import ChoicePrompts
from proctor.ask.clip.choice_run import make_choices
from proctor.ask.clip.choices import ChoiceModels
from proctor.records import write_json, write_jsonl
from proctor.stages.models import Limits, open_models
from proctor.workspace import Workspace

__all__ = ["live"]

CONNECTIONS = 12
QUESTIONS = 14


def live(workspace: str, url: str) -> None:
    """Give questions options in a workspace and write what came of it."""
    folder = Path(workspace)
    names = ChoiceModels(
        writer=f"compat/writer@{url}/v1",
        assistants=tuple(f"compat/assistant{n}@{url}/v1" for n in range(3)),
    )
    with open_models(Workspace(folder), Limits(max_connections=CONNECTIONS)) as models:
        made = maker(models=names, price=models.price, attempts=4)
        made = replace(made, prompts=ChoicePrompts(PROMPTS.prompts, models.secret))
        run = make_choices([question(n) for n in range(QUESTIONS)], made, models.ask("choices"))
    assert run.is_complete
    write_jsonl(folder / "choices.jsonl", run.items)
    write_jsonl(folder / "choices.attempts.jsonl", run.attempts)
    write_jsonl(folder / "choices.dropped.jsonl", run.dropped)
    write_json(folder / "choices.json", msgspec.to_builtins(run.summary))

"""Generating questions as a work that can be killed (``tests.lives``)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
from tests.ask.documents.rehearsed import PROMPTS, corpus, embed_words, generator, plan

from proctor.ask.documents.pipeline import DocumentsModels
from proctor.ask.documents.prompting import PromptKit
from proctor.ask.documents.run import generate_documents
from proctor.records import write_json, write_jsonl
from proctor.stages.models import Limits, open_models
from proctor.workspace import Workspace

__all__ = ["live"]

CONNECTIONS = 12


def live(workspace: str, url: str) -> None:
    """Generate questions in a workspace and write what came of it."""
    folder = Path(workspace)
    targets = plan(per_cell=1)
    names = {
        role: f"compat/{role}@{url}/v1"
        for role in ("entity", "generator", "verifier", "generator_lmm", "verifier_lmm")
    }
    with open_models(Workspace(folder), Limits(max_connections=CONNECTIONS)) as models:
        kit = PromptKit(PROMPTS, models.secret)
        made = generator(targets, corpus=corpus(30), models=DocumentsModels(**names), price=models.price)
        made = replace(made, kit=kit)
        run = generate_documents(targets, made, models.ask("generate"), embed=embed_words)
    assert run.is_complete
    write_jsonl(folder / "documents.jsonl", run.questions)
    write_jsonl(folder / "documents.attempts.jsonl", run.attempts)
    write_json(folder / "documents.json", msgspec.to_builtins(run.summary))

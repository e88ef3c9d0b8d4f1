"""The style overlap of generated questions: a model says of which styles each one is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from proctor.ask.documents.style import load_styles
from proctor.exam.predict_prompt import evaluation_prompts
from proctor.exam.style_overlap import OverlapTable, StyleClaim, StyleClassifier, score_overlap
from proctor.records import is_there, read_json, write_json, write_jsonl
from proctor.stages.documents.reading import WRITTEN, load_questions
from proctor.stages.models import Closing, Limits, open_models
from proctor.workspace import Workspace

__all__ = ["load_overlap", "style_overlap"]

_OVERLAP: Final = "overlap.json"


class Overlapped(msgspec.Struct, frozen=True):
    """The table of overlaps, and what the calls came to."""

    table: OverlapTable
    calls: Closing


def style_overlap(
    root: Path,
    model: str,
    *,
    styles: Sequence[str] | None = None,
    limits: Limits | None = None,
    seen: Callable[[], None] | None = None,
) -> Overlapped:
    """Ask a model of which styles each generated question is, and write the table of overlaps.

    Args:
        root: the workspace.
        model: that says yes or no.
        styles: names or files; by default those of the questions, as they were generated.
        limits: what calls may cost.
        seen: called after each call.

    Raises:
        UserError: if there are no questions, or a style cannot be read.
    """
    workspace = Workspace(root)
    questions = load_questions(workspace, "styled")
    record = workspace.stages().get("documents")
    named = styles or (
        record.settings["styles"] if record is not None else sorted({q.facets["style"] for q in questions})
    )
    with open_models(workspace, limits) as models:
        models.require_prices(model)
        who = StyleClassifier(
            model=model,
            styles={style.name: style.description for style in load_styles(tuple(named))},
            prompts=evaluation_prompts(limits.prompts if limits else None),
            secret=models.secret,
            price=models.price,
            replying=models.replying,
        )
        claims: list[StyleClaim] = who.classify(questions, models.ask("overlap", seen))
        closing = models.closing()
    table = score_overlap(questions, claims)
    write_jsonl(workspace.file("overlap.jsonl"), claims)
    write_json(workspace.file(_OVERLAP), table)
    workspace.record("overlap", settings={"model": model, "styles": list(named)}, counts={"questions": len(questions)},
                     inputs=(WRITTEN,), outputs=(_OVERLAP,))  # fmt: skip
    return Overlapped(table, closing)


def load_overlap(workspace: Workspace) -> OverlapTable | None:
    """Return the table of overlaps; None where nobody was asked."""
    path = workspace.file(_OVERLAP)
    if not is_there(path):
        return None
    table: OverlapTable = read_json(path, OverlapTable)
    return table

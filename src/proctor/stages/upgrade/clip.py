"""Questions about clips: systems had folders under ``clip-runs/<form>/``, and options changed no question's id."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from proctor.errors import UserError
from proctor.exam.choice import right_letter
from proctor.exam.kinds.clip import KIND
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Choice, Item
from proctor.records import content_hash, is_there, read_json, read_jsonl
from proctor.stages.predict import RunInfo, form_of, items_hash
from proctor.stages.upgrade.part import Part
from proctor.stages.upgrade.runs import built_items, take_over, told
from proctor.workspace import Workspace

__all__ = ["upgrade_clips"]


def upgrade_clips(workspace: Workspace) -> Part:
    """Bring models' answers about clips into today's runs; systems without a model are left out, for they ask nobody.

    Raises:
        UserError: if a file of a run is broken.
    """
    found = sorted(workspace.root.glob("clip-runs/*/*/predictions.jsonl"))
    if not found:
        return Part()
    try:
        items = [item for item in built_items(workspace) if item.question.kind == KIND.name]
    except UserError as error:
        return told("clips", 0, 0, 0, (), error)
    runs = floors = tables = 0
    others: list[str] = []
    for path in found:
        old, form = path.parent, path.parent.parent.name
        asked = [item for item in items if form_of(item) == form]
        predictions: list[Prediction] = read_jsonl(path, Prediction)
        if not any("model" in p.details for p in predictions):
            floors += 1
            shutil.rmtree(old)
        elif not _answers(old, predictions, asked):
            others.append(old.name)
        else:
            tables += is_there(old / "table.json")
            runs += 1
            _take(workspace, old, asked, predictions)
    return told("clips", runs, tables, floors, others, None)


def _take(workspace: Workspace, old: Path, asked: Sequence[Item], predictions: Sequence[Prediction]) -> None:
    named = {item.question.parent or item.id: item.id for item in asked}
    first, marks = predictions[0], old / "judgements.jsonl"
    view = next((p.details["view"] for p in predictions if "view" in p.details), "")
    made: list[Judgement] = read_jsonl(marks, Judgement) if is_there(marks) else []
    info = RunInfo(
        predictor=first.predictor,
        role="system" if view == "frames" else "floor",
        privilege="the annotated steps" if view == "steps" else "",
        items=items_hash(asked),
        kind=KIND.name,
        form=form_of(asked[0]),
        show=first.predictor.rpartition(" (")[2].removesuffix(")"),
    )
    answers = [msgspec.structs.replace(p, item_id=named[p.item_id]) for p in predictions]
    take_over(workspace, old, info, answers, [made] if made else [], f"clips/{old.parent.name}/{old.name}")


def _answers(old: Path, predictions: Sequence[Prediction], asked: Sequence[Item]) -> bool:
    """Tell whether these are answers to the items as they are now; a run may be of the first ones only."""
    known = {item.question.parent or item.id for item in asked}
    if any(p.item_id not in known for p in predictions):
        return False
    if not is_there(old / "table.json"):
        return True
    table: dict[str, Any] = read_json(old / "table.json", dict[str, Any])
    first = asked[: len(table.get("item_marks", ()))]
    return str(table.get("benchmark", "")).rpartition("@")[2] == content_hash([_asked(i) for i in first])[:12]


def _asked(item: Item) -> tuple[str, str, tuple[str, ...], str]:
    form = item.question.form
    options = form.options if isinstance(form, Choice) else ()
    letter = (right_letter(item) or "") if options else ""
    return item.question.parent or item.id, item.question.text, options, letter

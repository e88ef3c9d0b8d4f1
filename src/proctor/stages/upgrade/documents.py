"""Questions about documents: systems had folders under ``answers/<set>/``, with a file of marks for each judge."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from proctor.errors import UserError
from proctor.exam.kinds.documents import KIND
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Item
from proctor.records import is_there, read_jsonl
from proctor.stages.predict import RunInfo, items_hash
from proctor.stages.upgrade.part import Part
from proctor.stages.upgrade.runs import built_items, take_over, told
from proctor.workspace import Workspace

__all__ = ["upgrade_documents"]


def upgrade_documents(workspace: Workspace) -> Part:
    """Bring models' answers about documents, and what judges said of them, into today's runs.

    Raises:
        UserError: if a file of a run is broken.
    """
    found = sorted(workspace.root.glob("answers/*/*/predictions.jsonl"))
    if not found:
        return Part()
    try:
        items = [item for item in built_items(workspace) if item.question.kind == KIND.name]
    except UserError as error:
        return told("documents", 0, 0, 0, (), error)
    runs = tables = 0
    others: list[str] = []
    for path in found:
        old, which = path.parent, path.parent.parent.name
        asked = [item for item in items if item.question.provenance.get("set") == which]
        predictions: list[Prediction] = read_jsonl(path, Prediction)
        known = {item.id for item in asked}
        changed = workspace.changed(f"answer/{which}/{old.name}")
        if not predictions or changed or any(p.item_id not in known for p in predictions):
            others.append(old.name)
        else:
            tables += is_there(old / "table.json")
            runs += 1
            _take(workspace, old, asked, predictions)
    return told("documents", runs, tables, 0, others, None)


def _take(workspace: Workspace, old: Path, asked: Sequence[Item], predictions: Sequence[Prediction]) -> None:
    which, predictor = old.parent.name, predictions[0].predictor
    info = RunInfo(
        predictor=predictor,
        items=items_hash(asked),
        kind=KIND.name,
        questions=which,
        show=predictor.rpartition(" (")[2].removesuffix(")"),
    )
    record = f"answer/{which}/{old.name}"
    there = workspace.stages().get(record)
    judges = [f"{name} (source " for name in (there.settings.get("judges") or () if there else ())]
    marks: list[list[Judgement]] = [read_jsonl(p, Judgement) for p in sorted(old.glob("judgements.*.jsonl"))]

    def place(made: Sequence[Judgement]) -> tuple[int, str]:
        order = [n for n, name in enumerate(judges) if made[0].judge.startswith(name)]
        return order[0] if order else len(judges), made[0].judge

    take_over(workspace, old, info, predictions, sorted(filter(None, marks), key=place), record)

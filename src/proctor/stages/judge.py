"""The stage ``judge``: predictions to judgements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from proctor.benchmark.item import Item
from proctor.errors import UserError
from proctor.evaluate.judge import RuleJudge, judge_predictions
from proctor.evaluate.prediction import Judgement
from proctor.records import write_jsonl
from proctor.stages.inputs import load_items, load_predictions
from proctor.stages.predict import items_hash, read_run_info
from proctor.workspace import Workspace

__all__ = ["chosen_runs", "judge"]


def judge(
    root: Path, runs: Sequence[str] = (), *, judge: str = "rules", seen: Callable[[], None] | None = None
) -> dict[str, Any]:
    """Mark the answers of runs and write ``runs/<run>/judgements.jsonl``.

    Args:
        root: the workspace.
        runs: names; all runs by default.
        judge: ``rules``.
        seen: called after each answer.

    Raises:
        UserError: if there are no runs, no such judge, or a run answered other items.
    """
    workspace = Workspace(root)
    graphs = workspace.graphs()
    items = load_items(workspace, graphs)
    if judge != "rules":
        raise UserError(f"there is no judge '{judge}'.", hint="known: rules")
    marker, result = RuleJudge(), {}
    for name in chosen_runs(workspace, runs):
        folder = workspace.run_folder(name)
        _require_same_items(folder, items)
        predictions = load_predictions(folder, items)
        marks = list(judge_predictions(items, graphs, predictions, marker, progress=seen))
        write_jsonl(folder / "judgements.jsonl", marks)
        result[name] = _count(marks)
        workspace.record(
            f"judge/{name}",
            settings={"judge": marker.name},
            counts=result[name],
            inputs=("items.jsonl", "graphs.json", f"runs/{name}/predictions.jsonl"),
            outputs=(f"runs/{name}/judgements.jsonl",),
        )
    return {"judge": marker.name, "runs": result}


def chosen_runs(workspace: Workspace, names: Sequence[str]) -> list[str]:
    """Return the runs that were named, or all.

    Raises:
        UserError: if there is none, or one that was named has no predictions.
    """
    known = workspace.run_names()
    if not known:
        raise UserError(
            "there are no runs yet.",
            where=str(workspace.root),
            hint=f"run first: proctor predict {workspace.root}",
        )
    unknown = [n for n in names if n not in known]
    if unknown:
        raise UserError(
            f"there is no run '{unknown[0]}'.", where=str(workspace.runs), hint=f"known: {', '.join(known)}"
        )
    return list(names) or known


def _require_same_items(folder: Path, items: Sequence[Item]) -> None:
    if read_run_info(folder).items != items_hash(items):
        raise UserError(
            f"the run '{folder.name}' answered other items than items.jsonl holds now.",
            where=str(folder),
            hint="run 'proctor predict' again for this benchmark",
        )


def _count(marks: Sequence[Judgement]) -> dict[str, int]:
    names = {0: "wrong", 1: "partial", 2: "match", None: "unscored"}
    return dict(Counter(names[m.score] for m in marks))

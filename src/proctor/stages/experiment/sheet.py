"""A sheet of answers for people to mark, so that judges can be held against them (``proctor calibrate --human``)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from proctor.errors import UserError
from proctor.exam.kinds.moment_question import moment_example
from proctor.exam.prediction import Prediction
from proctor.exam.question import Item, gold_texts
from proctor.records import atomic_write
from proctor.spreadsheet import csv_text, is_formula
from proctor.stages.inputs import load_items, load_predictions
from proctor.workspace import Workspace

__all__ = ["COLUMNS", "write_sheet"]

COLUMNS: Final = ("item_id", "human", "question", "references", "answer", "activity", "run")
"""``human`` is empty: 0 wrong, 1 partly right, 2 right. The run comes last, out of the eye of whoever marks."""


def write_sheet(root: Path, runs: Sequence[str], path: Path, *, answers: int = 200, seed: int = 0) -> int:
    """Draw answers of some runs, as many of each, and write them as CSV in an order that tells nothing of the run.

    Which answers are drawn depends on seed, run and item alone. Texts that a spreadsheet would take for formulas get an
    apostrophe in front.

    Args:
        root: the workspace.
        runs: whose answers; failed ones are left out.
        path: the file; one that is there is not touched, since people may have written into it.
        answers: how many at most.
        seed: of the draw.

    Returns:
        How many rows the sheet has; 0 when it was there already.

    Raises:
        UserError: if there are no answers to mark, or the file cannot be written.
    """
    if path.exists():
        return 0
    workspace = Workspace(root)
    items = {item.id: item for item in load_items(workspace, workspace.graphs())}
    drawn: list[tuple[str, Item, str, str]] = []
    for number, run in enumerate(runs):
        there = sorted(_answers(workspace, run, items, seed))
        most = answers // len(runs) + (number < answers % len(runs))
        drawn += [(place, items[p.item_id], p.answer or "", run) for place, _, p in there[:most]]
    if not drawn:
        raise UserError("there are no answers to mark.", where=str(root))
    rows = []
    for _, item, answer, run in sorted(drawn, key=lambda row: row[0]):
        activity = moment_example(item.question).activity_name
        shown = (item.question.text, " | ".join(gold_texts(item)), answer, activity)
        rows.append((item.id, "", *shown, run))
    with atomic_write(path) as stream:
        stream.write(csv_text(COLUMNS, rows).encode())
    return len(drawn)


def _answers(
    workspace: Workspace, run: str, items: dict[str, Item], seed: int
) -> Iterator[tuple[str, str, Prediction]]:
    for p in load_predictions(workspace.run_folder(run), list(items.values())):
        if p.failure is None and not is_formula(p.item_id):
            yield hashlib.sha256(f"mark\n{seed}\n{run}\n{p.item_id}".encode()).hexdigest(), p.item_id, p

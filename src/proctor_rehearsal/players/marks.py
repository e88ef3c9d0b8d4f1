"""Marks as people would give them, for calibrating judges before there are people: by rule, with slips.

The annotators are called ``human/rehearsal-1`` and so on, so that nobody takes them for people.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from proctor.errors import UserError
from proctor.exam.judge import RuleJudge
from proctor.exam.kinds.moment_question import moment_example
from proctor.records import atomic_write
from proctor.stages.inputs import load_items, load_predictions
from proctor.workspace import Workspace
from proctor_rehearsal.standin.call import draw

__all__ = ["write_marks"]

Row = tuple[str, str, str, int]


def write_marks(
    root: Path, path: Path, *, people: int = 2, share: float = 1.0, quality: float = 0.95, seed: int = 0
) -> int:
    """Write a file of marks that ``proctor calibrate --human`` reads: item, run, annotator, mark.

    Args:
        root: the workspace; all its runs are marked.
        path: CSV file to write.
        people: how many mark each answer.
        share: of the answers that are marked; whether one is depends on seed, item and run alone.
        quality: share of the marks that are those of the rule-based judge; the others are neighbouring ones.
        seed: of every draw.

    Returns:
        How many marks were written.

    Raises:
        UserError: if there are no runs, or a number makes no sense.
    """
    if people < 1 or not 0 < share <= 1 or not 0 <= quality <= 1:
        raise UserError(
            f"{people} people, a share of {share:g} and a quality of {quality:g} make no marks.",
            hint="at least one person, a share above 0 up to 1, a quality from 0 to 1",
        )
    rows = list(_marks(Workspace(root), people, share, quality, seed))
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(("item_id", "run", "annotator", "human"))
    table.writerows(rows)
    with atomic_write(path) as stream:
        stream.write(text.getvalue().encode())
    return len(rows)


def _marks(workspace: Workspace, people: int, share: float, quality: float, seed: int) -> Iterator[Row]:
    graphs = workspace.graphs()
    items = load_items(workspace, graphs)
    by_id = {item.id: item for item in items}
    runs = workspace.run_names()
    if not runs:
        raise UserError(
            "there are no runs to mark.", where=str(workspace.root), hint="run first: proctor predict"
        )
    judge = RuleJudge()
    for run in runs:
        for prediction in load_predictions(workspace.run_folder(run), items):
            name = (seed, run, prediction.item_id)
            if draw("share", *name) >= share:
                continue
            item = by_id[prediction.item_id]
            score = judge.judge(item, graphs[moment_example(item.question).activity_id], prediction).score
            if score is None:
                continue
            for person in range(1, people + 1):
                yield item.id, run, f"human/rehearsal-{person}", _mark(score, person, quality, name)


def _mark(score: int, person: int, quality: float, name: tuple[object, ...]) -> int:
    """Return the mark of a person: now and then a neighbouring one."""
    if draw("slip", person, *name) < quality:
        return score
    if score == 1:
        return 2 if draw("way", person, *name) < 0.5 else 0
    return 1

"""The stage ``concur``: do two benchmarks rank the same systems alike?"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal, get_args

from proctor.errors import UserError, did_you_mean
from proctor.exam.concur import (
    ConcurrenceTable,
    MarkSheet,
    concur,
    read_mark_sheet,
    sheet_of_retrieval,
    sheet_of_runs,
)
from proctor.exam.kinds.documents import KIND
from proctor.stages.documents.reading import QUESTION_SETS
from proctor.stages.documents.retrieve import load_table
from proctor.stages.score import scored_tables
from proctor.workspace import Workspace

__all__ = ["MEASURES", "Measure", "compare", "mark_sheet", "sheets_of"]

Measure = Literal["retrieval", "answers"]
MEASURES: Final[tuple[Measure, ...]] = get_args(Measure)

_JUDGED: Final = ("judge", "reference judge")


def compare(
    a: str, b: str, *, by: str = "retrieval", confidence: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> ConcurrenceTable:
    """Compare two benchmarks.

    Args:
        a: reference: a CSV file of marks, or ``WORKSPACE:SET`` with the set ``styled`` or ``data``.
        b: the other one, likewise.
        by: what systems are ranked by where a workspace is named: ``retrieval`` (recall) or ``answers`` (marks of the judge).
        confidence: of the interval.
        resamples: of the bootstrap over questions.
        seed: of the bootstrap.

    Raises:
        UserError: if something is missing, or fewer than two systems are in both.
    """
    if by not in MEASURES:
        raise UserError(f"systems cannot be ranked by {by!r}.", hint=did_you_mean(by, MEASURES))
    return concur(mark_sheet(a, by), mark_sheet(b, by), confidence=confidence, resamples=resamples, seed=seed)


def mark_sheet(text: str, by: str) -> MarkSheet:
    """Return the marks that are named on the command line.

    Raises:
        UserError: if there are none.
    """
    root, _, which = text.rpartition(":")
    path = Path(text)
    if root and which in QUESTION_SETS and not path.is_file():
        workspace = Workspace(Path(root))
        workspace.require_folder("corpus")
        sheets = sheets_of(workspace, which)
        if by in sheets:
            return sheets[by]
        answered = f"predict {root} --kind documents --questions {which}, proctor judge {root} and proctor score {root}"
        command = f"retrieve {root} --questions {which}" if by == "retrieval" else answered
        raise UserError(
            f"there are no marks of {by} over the set {which!r}.",
            where=root,
            hint=f"run first: proctor {command}",
        )
    if not path.is_file():
        raise UserError(
            "this names neither a file of marks nor a set of questions of a workspace.",
            where=text,
            hint="name a CSV file (system,question,mark; of printed scores system,mark), or WORKSPACE:styled or WORKSPACE:data",
        )
    return read_mark_sheet(path)


def sheets_of(workspace: Workspace, which: str) -> dict[str, MarkSheet]:
    """Return the marks that a workspace has over a set of questions, by measure."""
    name = f"{workspace.root.resolve().name}:{which}"
    sheets: dict[str, MarkSheet] = {}
    table = load_table(workspace, which)
    if table is not None:
        sheets["retrieval"] = sheet_of_retrieval(name, table)
    scored = scored_tables(workspace, KIND.name)
    tables = {table.predictor: table for info, table in scored if info.questions in ("", which)}
    answers = sheet_of_runs(name, tables.values(), _JUDGED)
    if answers.marks:
        sheets["answers"] = answers
    return sheets

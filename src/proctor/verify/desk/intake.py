"""Verdicts from elsewhere, taken in: what is known here and fits counts, the rest is dropped with a reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from sqlalchemy import Connection, func, select

from proctor.errors import UserError
from proctor.records import Dropped
from proctor.verify.adjudicate import open_case
from proctor.verify.desk import items
from proctor.verify.desk.cases import take_over_verdicts
from proctor.verify.schema import tables
from proctor.verify.store import alike_versions, append_verdicts, split_stale
from proctor.verify.verdict import Verdict

if TYPE_CHECKING:
    from proctor.verify.desk.desk import Desk

__all__ = ["TakenIn", "read_verdicts", "take_in"]


class TakenIn(NamedTuple):
    """How many verdicts are new, which were dropped, and how many items were told again."""

    new: int
    dropped: list[Dropped]
    items: int


def read_verdicts(rows: Iterable[Mapping[str, Any]], where: str) -> Iterator[Verdict]:
    """Yield the verdicts of rows: a verdict each, or raw rows of another studio, of which the others are left out.

    Raises:
        UserError: if one is no verdict; it names the row after ``where``.
    """
    for number, row in enumerate(rows, start=1):
        if "table" in row and row["table"] != "verdict":
            continue
        try:
            yield msgspec.convert(row.get("verdict", row) if "table" in row else row, Verdict)
        except msgspec.ValidationError as error:
            raise UserError(
                f"this is no verdict: {error}.",
                where=f"{where}:{number}",
                hint="each line holds a verdict, as 'proctor studio export WORKSPACE rows FILE' writes them",
            ) from None


def take_in(desk: Desk, given: Sequence[Verdict]) -> TakenIn:
    """Take verdicts in; all of those that fit, or none where the store fails."""
    questions = {q.id: q for q in desk.read(lambda c: list(items.iter_questions(c)))}
    current, dropped = split_stale(given, questions, desk.read(alike_versions))
    good = []
    for verdict in current:
        try:
            open_case(questions[verdict.candidate_id], [verdict])
        except UserError:  # it would stand in the way of all others
            dropped.append(Dropped(verdict.candidate_id, "answers-do-not-fit", verdict.annotator))
        else:
            good.append(verdict)

    def job(connection: Connection) -> tuple[int, int]:
        count = select(func.count()).select_from(tables().verdicts)
        before = int(connection.execute(count).scalar_one())
        append_verdicts(desk.database, connection, good)
        return int(connection.execute(count).scalar_one()) - before, take_over_verdicts(desk, connection)

    new, told = desk.write(job).result()
    return TakenIn(new, dropped, told)

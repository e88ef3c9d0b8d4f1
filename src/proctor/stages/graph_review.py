"""Edges of inferred graphs as a table that people fill in: accept or refuse, most doubtful first.

A row is an edge, or an open pair that was not taken. The column ``decision`` is empty, ``accept`` or ``refuse``; nothing else
but ``graph``, ``before`` and ``after`` is read back. A row of one's own, with other steps of the graph, is a decision as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

import msgspec

from proctor.errors import UserError
from proctor.exam.csv_rows import iter_csv_rows
from proctor.procedure.graph import TaskGraph
from proctor.procedure.graph_review import ReviewError, revise
from proctor.records import atomic_write, read_jsonl, write_jsonl
from proctor.spreadsheet import csv_text, safe_cell
from proctor.stages.graph_methods import Belief, Inferred

__all__ = [
    "Decided", "Decision", "Review", "ReviewRow", "apply_review", "read_review", "review_rows", "write_review", "write_rows",
]  # fmt: skip

_LONGEST: Final = 300
"""Characters of a step's text that a row shows."""
_KEYS: Final = ("graph", "before", "after", "decision")
_HINT: Final = "write accept, refuse or nothing into the column decision"

Pair = tuple[str, str]
Decision = Literal["accept", "refuse"]


class ReviewRow(msgspec.Struct, frozen=True, kw_only=True):
    """One row: a pair, what is known of it, and what a person decided.

    Attributes:
        kind: ``edge`` of the graph, or ``open`` pair that was not taken.
        probability: that the pair is an edge of the graph; None where the method gives none.
        decision: ``accept``, ``refuse`` or nothing yet.
    """

    graph: str
    before: str
    after: str
    kind: str = ""
    probability: float | None = None
    agreeing: int = 0
    contradicting: int = 0
    together: int = 0
    before_text: str = ""
    after_text: str = ""
    decision: str = ""


class Decided(msgspec.Struct, frozen=True):
    """What a person decided about a pair of steps."""

    graph: str
    before: str
    after: str
    decision: Decision


@dataclass(frozen=True, slots=True)
class Review:
    """Decisions of a file, each with the place where it stands."""

    file: Path
    rows: tuple[tuple[str, ReviewRow], ...]


# -- writing -----------------------------------------------------------------------------------------------------


def write_review(path: Path, inferred: Iterable[Inferred], decided: Iterable[Decided] = ()) -> int:
    """Write the file and return how many rows it has; what was decided before stands in it again.

    Raises:
        UserError: if it ends neither in .csv nor in .jsonl, or cannot be written.
    """
    said = {(d.graph, d.before, d.after): d.decision for d in decided}
    rows = sorted(_rows(inferred, said), key=lambda pair: pair[0])
    write_rows(path, [row for _, row in rows])
    return len(rows)


def write_rows(path: Path, rows: Iterable[ReviewRow]) -> None:
    """Write rows as ``write_review`` does."""
    if _is_csv(path):
        with atomic_write(path) as stream:
            stream.write(_csv(rows).encode("utf-8-sig", "replace"))
    else:
        write_jsonl(path, rows)


def _is_csv(path: Path) -> bool:
    if path.suffix.lower() not in (".csv", ".jsonl"):
        raise UserError(
            "a review is a .csv or a .jsonl file.",
            where=str(path),
            hint="end the name in .csv for a spreadsheet",
        )
    return path.suffix.lower() == ".csv"


def _rows(
    inferred: Iterable[Inferred], said: Mapping[tuple[str, str, str], str]
) -> Iterator[tuple[tuple[object, ...], ReviewRow]]:
    for one in inferred:
        graph = one.graph
        for kind, beliefs in (("edge", one.edges), ("open", one.open)):
            for b in beliefs:
                sure, support, *pair = b.doubt(taken=kind == "edge")
                row = ReviewRow(
                    graph=graph.id, before=b.before, after=b.after, kind=kind, probability=b.probability,
                    agreeing=b.agreeing, contradicting=b.contradicting, together=b.together,
                    before_text=_cut(graph[b.before].text), after_text=_cut(graph[b.after].text),
                    decision=said.get((graph.id, b.before, b.after), ""),
                )  # fmt: skip
                yield (sure, support, graph.id, *pair), row


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _csv(rows: Iterable[ReviewRow]) -> str:
    cells = (msgspec.structs.astuple(row) for row in rows)
    return csv_text(
        ReviewRow.__struct_fields__,
        ([f"{c:.3f}" if isinstance(c, float) else c for c in row] for row in cells),
    )


# -- reading -----------------------------------------------------------------------------------------------------


def read_review(path: Path) -> Review:
    """Read a file that people have filled in.

    Raises:
        UserError: if it cannot be read, lacks a column, or a decision is another word.
    """
    rows = list(_read(path, _KEYS))
    for where, row in rows:
        if _decision(row) not in ("", "accept", "refuse"):
            raise UserError(f"the decision is '{row.decision[:60]}'.", where=where, hint=_HINT)
    return Review(path, tuple((where, row) for where, row in rows if _decision(row)))


def review_rows(path: Path) -> list[ReviewRow]:
    """Return all rows of a file, decided or not, with what is known of them.

    Raises:
        UserError: as ``read_review``, and where a number is none.
    """
    return [row for _, row in _read(path, ReviewRow.__struct_fields__)]


def _read(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, ReviewRow]]:
    """Yield rows with the place where they stand; of a spreadsheet these columns."""
    if not _is_csv(path):
        rows: list[ReviewRow] = read_jsonl(path, ReviewRow)
        yield from ((f"{path}: row {number}", row) for number, row in enumerate(rows, start=1))
        return
    for line, cells in iter_csv_rows(path, _KEYS):
        given = {name: cells[name] for name in columns if name in _KEYS or cells.get(name)}
        try:
            yield f"{path}:{line}", msgspec.convert(given, ReviewRow, strict=False)
        except msgspec.ValidationError as error:
            raise UserError(f"{error}.", where=f"{path}:{line}") from None


def _decision(row: ReviewRow) -> str:
    return row.decision.strip().lower()


def apply_review(
    review: Review, inferred: Inferred, evidence: Callable[[str, str], Belief]
) -> tuple[Inferred, list[Decided]]:
    """Return what was inferred with the decisions about its graph put in, and these decisions.

    Args:
        review: decisions about other graphs are passed over.
        inferred: before the review.
        evidence: what the performances say of a pair that was neither an edge nor open before.

    Raises:
        UserError: if a row names a step that the graph does not have, two rows contradict each other, or the decisions
            together make no order.
    """
    graph = inferred.graph
    names = _names(graph)
    said: dict[Pair, Decision] = {}
    for where, row in review.rows:
        if row.graph.strip() not in _shown(graph.id):
            continue
        pair = (_step(row.before, names, graph, where), _step(row.after, names, graph, where))
        decision: Decision = "accept" if _decision(row) == "accept" else "refuse"
        if said.setdefault(pair, decision) != decision:
            raise UserError(
                f"'{pair[0][:60]}' → '{pair[1][:60]}' is accepted in one row and refused in another.",
                where=where,
                hint="leave one of them",
            )
    accepted = [p for p, word in said.items() if word == "accept"]
    refused = [p for p, word in said.items() if word == "refuse"]
    try:
        revised = revise(graph, accepted=accepted, refused=refused)
    except ReviewError as error:
        raise UserError(
            f"the decisions about '{(graph.name or graph.id)[:60]}' make no order: {error}.",
            where=str(review.file),
            hint="refuse one of the edges on that way, or take back what you accepted",
        ) from None
    known = {(b.before, b.after): b for b in (*inferred.edges, *inferred.open)}
    edges = tuple(known.get(pair) or evidence(*pair) for pair in revised.edges)
    open_ = tuple(
        b
        for b in inferred.open
        if (b.before, b.after) not in said
        and not revised.comes_before(b.before, b.after)
        and not revised.comes_before(b.after, b.before)
    )
    decided = [Decided(graph.id, *pair, word) for pair, word in said.items()]
    return replace(inferred, graph=revised, edges=edges, open=open_), decided


def _shown(id_: str) -> set[str]:
    """Return how a cell may hold an id: as it is, or as a spreadsheet shows it."""
    return {id_.strip(), safe_cell(id_).strip()}


def _names(graph: TaskGraph) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for id_ in graph.index:
        for name in _shown(id_):
            names.setdefault(name, []).append(id_)
    return names


def _step(cell: str, names: Mapping[str, list[str]], graph: TaskGraph, where: str) -> str:
    found = [cell] if cell in graph else names.get(cell.strip(), [])
    if len(found) != 1:
        problem = "several steps are" if found else "no step is"
        raise UserError(
            f"{problem} called '{cell[:60]}' in the graph '{graph.id[:60]}'.",
            where=where,
            hint="the columns before and after hold ids of steps, as --review wrote them",
        )
    return found[0]

"""Tables of a PDF page that are drawn with lines, found by pdfplumber; cells that span rows or columns are expanded."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from proctor.corpus.ingest.pdf_layout import Box, Word, rows_of
from proctor.corpus.ingest.reading import CannotReadError
from proctor.corpus.ingest.tables import join_headers, split_header, trimmed

if TYPE_CHECKING:
    from pdfplumber.page import Page

__all__ = ["PageTable", "find_tables"]

_SAME_EDGE: Final = 3.0
"""Points within which two edges are one."""
_MAX_DRAWN: Final = 20_000
"""Lines and frames on a page; looking for crossings takes time with their square."""


@dataclass(frozen=True)
class PageTable:
    """A table and where it stands on its page."""

    box: Box
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def find_tables(page: Page, words: Sequence[Word], max_cells: int) -> list[PageTable]:
    """Return the tables of a page from top to bottom; a frame around a paragraph is none.

    Raises:
        CannotReadError: if one has more than ``max_cells``.
    """
    drawn = len(page.rects) + len(page.lines) + len(page.curves)
    if drawn < 3:
        return []
    if drawn > _MAX_DRAWN:
        raise CannotReadError(
            "drawing", f"{drawn} lines are drawn here; tables are not looked for among so many."
        )
    found: list[PageTable] = []
    for table in page.find_tables():
        cells = [Box(*map(float, cell)) for cell in table.cells]
        made = _table(Box(*map(float, table.bbox)), cells, words, max_cells)
        if made is not None:
            found.append(made)
    return sorted(found, key=lambda t: (t.box.top, t.box.x0))


def _table(box: Box, cells: Sequence[Box], words: Sequence[Word], max_cells: int) -> PageTable | None:
    columns = _edges([e for c in cells for e in (c.x0, c.x1)])
    rows = _edges([e for c in cells for e in (c.top, c.bottom)])
    if len(columns) < 3 or len(rows) < 3:
        return None
    if (len(columns) - 1) * (len(rows) - 1) > max_cells:
        raise CannotReadError("table-too-large", f"a table of more than {max_cells} cells. Raise max_cells.")
    owners = _owners(cells, columns, rows)
    texts = _texts(owners, columns, rows, words)
    grid = [[texts.get((r, c), "") for c in range(len(columns) - 1)] for r in range(len(rows) - 1)]
    names = _name_rows(owners, len(rows) - 1, len(columns) - 1)
    header, body = split_header(trimmed(_with_one_header(grid, names)))
    if len(header or (body or [()])[0]) < 2 or len(body) + bool(header) < 2:
        return None
    return PageTable(box, header, tuple(body))


def _edges(values: Sequence[float]) -> list[float]:
    edges: list[float] = []
    for value in sorted(values):
        if not edges or value - edges[-1] > _SAME_EDGE:
            edges.append(value)
    return edges


def _name_rows(owners: dict[tuple[int, int], int], rows: int, columns: int) -> int:
    """Return over how many rows the names of columns go: as many as the tallest cell of the first row, or two below a wide one."""
    first = [owners.get((0, column)) for column in range(columns)]
    tallest = 1
    for column, owner in enumerate(first):
        while owner is not None and tallest < rows and owners.get((tallest, column)) == owner:
            tallest += 1
    wide = any(owner is not None and first.count(owner) > 1 for owner in first)
    return max(tallest, 2 if wide and len(set(first)) > 1 else 1)


def _with_one_header(grid: list[list[str]], names: int) -> list[list[str]]:
    if not 1 < names < len(grid):
        return grid
    return [list(join_headers(grid[:names])), *grid[names:]]


def _owners(cells: Sequence[Box], columns: list[float], rows: list[float]) -> dict[tuple[int, int], int]:
    """Return for every place of the grid which cell covers it, the smallest where several do."""
    owners: dict[tuple[int, int], int] = {}
    by_size = sorted(enumerate(cells), key=lambda of: (of[1].x1 - of[1].x0) * (of[1].bottom - of[1].top))
    for number, cell in by_size:
        for row in range(_edge(rows, cell.top), _edge(rows, cell.bottom)):
            for column in range(_edge(columns, cell.x0), _edge(columns, cell.x1)):
                owners.setdefault((row, column), number)
    return owners


def _texts(
    owners: dict[tuple[int, int], int], columns: list[float], rows: list[float], words: Sequence[Word]
) -> dict[tuple[int, int], str]:
    inside: dict[int, list[Word]] = {}
    for word in words:
        x, y = (word.box.x0 + word.box.x1) / 2, (word.box.top + word.box.bottom) / 2
        owner = owners.get((bisect_right(rows, y) - 1, bisect_right(columns, x) - 1))
        if owner is not None:
            inside.setdefault(owner, []).append(word)
    said = {
        owner: " ".join(w.text for row in rows_of(found) for w in sorted(row, key=lambda w: w.box.x0))
        for owner, found in inside.items()
    }
    return {place: said.get(owner, "") for place, owner in owners.items()}


def _edge(edges: Sequence[float], value: float) -> int:
    """Return the number of the edge that a value belongs to."""
    return bisect_right(edges, value + _SAME_EDGE / 2) - 1 if value >= edges[0] else 0

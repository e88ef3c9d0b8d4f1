"""What a PDF page shows and ingestion cannot take: figures drawn with lines, tables without lines. They are listed, by page.

Only what is surely more than decoration counts: rules, frames, underlines and marked words are none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from proctor.corpus.ingest.pdf_layout import Box, Word, rows_of

if TYPE_CHECKING:
    from pdfplumber.page import Page

__all__ = ["drawings", "unruled_tables"]

_CELL: Final = 6.0
"""Points: side of a square of the raster; shapes in the same or in neighbouring squares belong together."""
_MAX_SQUARES: Final = 250
"""Along one side of a page, so that a poster takes no longer than a page."""
_BACKGROUND: Final = 0.5
"""Of its page that a shape covers which is no part of a figure."""
_RULE: Final = 3.0
"""Points up to which a shape is a line across the page, as under words and between paragraphs."""
_SHAPES: Final = 5
_WIDE, _HIGH = 50.0, 30.0
_WORDS: Final = 0.45
"""Of its area that words may cover in a figure; more is text that is marked or framed."""
_ROWS: Final = 3
"""Rows of words in columns, at least, that make a table."""
_CELLS: Final = 3
_GAP: Final = 0.9
"""Times the size of letters between the cells of a row, at least."""
_SAME_EDGE: Final = 3.0
_CELL_WORDS: Final = 4.0
"""Words of a cell, at most on average: columns of running text have more."""


def drawings(page: Page, words: Sequence[Word], taken: Sequence[Box]) -> list[tuple[Box, int]]:
    """Return where lines and shapes make a figure, and of how many.

    Args:
        page: with its lines, frames and curves.
        words: on the page.
        taken: tables and images that were read.
    """
    width, height = float(page.width), float(page.height)
    shapes = [
        box
        for shape in (*page.rects, *page.lines, *page.curves)
        if (box := _clipped(shape, width, height)) is not None
        and (box.x1 - box.x0) * (box.bottom - box.top) < _BACKGROUND * width * height
        and not any(_middle_in(box, other) for other in taken)
    ]
    if len(shapes) < _SHAPES:
        return []
    return [
        (box, len(group))
        for group in _together(shapes, width, height)
        if _is_figure(group, box := _around(group), words)
    ]


def _clipped(shape: dict[str, float], width: float, height: float) -> Box | None:
    """Return the part of a shape that is on the page; None for one beside it."""
    x0, x1 = max(0.0, float(shape["x0"])), min(width, float(shape["x1"]))
    top, bottom = max(0.0, float(shape["top"])), min(height, float(shape["bottom"]))
    return Box(x0, top, x1, bottom) if x0 <= x1 and top <= bottom else None


def _middle_in(inner: Box, outer: Box) -> bool:
    return outer.covers((inner.x0 + inner.x1) / 2, (inner.top + inner.bottom) / 2)


def _around(boxes: Sequence[Box]) -> Box:
    return Box(
        min(b.x0 for b in boxes),
        min(b.top for b in boxes),
        max(b.x1 for b in boxes),
        max(b.bottom for b in boxes),
    )


def _together(shapes: Sequence[Box], width: float, height: float) -> list[list[Box]]:
    """Group shapes that touch or nearly touch, from top to bottom."""
    side = max(_CELL, width / _MAX_SQUARES, height / _MAX_SQUARES)
    raster = np.zeros((int(height / side) + 3, int(width / side) + 3), dtype=bool)
    for box in shapes:
        rows = slice(int(box.top / side), int(box.bottom / side) + 2)
        raster[rows, int(box.x0 / side) : int(box.x1 / side) + 2] = True
    labels = _components(raster)
    groups: dict[int, list[Box]] = {}
    for box in sorted(shapes, key=lambda b: (b.top, b.x0)):
        groups.setdefault(labels[int(box.top / side), int(box.x0 / side)], []).append(box)
    return list(groups.values())


def _components(raster: np.ndarray) -> dict[tuple[int, int], int]:
    """Number the connected parts of a raster."""
    labels: dict[tuple[int, int], int] = {}
    marked = {(int(row), int(column)) for row, column in np.argwhere(raster)}
    for number, first in enumerate(sorted(marked)):
        waiting = [] if first in labels else [first]
        while waiting:
            row, column = waiting.pop()
            if (row, column) in labels or (row, column) not in marked:
                continue
            labels[row, column] = number
            waiting += [(row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)]
    return labels


def _is_figure(shapes: Sequence[Box], box: Box, words: Sequence[Word]) -> bool:
    drawn = 0
    for s in shapes:
        # neither the side of a frame, nor a band from its left to its right: such as behind lines of code
        left, right = abs(s.x0 - box.x0) <= _SAME_EDGE, abs(s.x1 - box.x1) <= _SAME_EDGE
        framing = (left and right) or ((left or right) and s.x1 - s.x0 <= _RULE)
        drawn += s.bottom - s.top > _RULE and not framing
    width, height = box.x1 - box.x0, box.bottom - box.top
    if len(shapes) < _SHAPES or drawn < 2 or width < _WIDE or height < _HIGH:
        return False
    inside = (w.box for w in words if _middle_in(w.box, box))
    return sum((b.x1 - b.x0) * (b.bottom - b.top) for b in inside) < _WORDS * width * height


# -- tables without lines --------------------------------------------------------------------------------------


def unruled_tables(words: Sequence[Word], taken: Sequence[Box]) -> list[tuple[Box, int]]:
    """Return where rows of short texts stand in columns, and how many rows; tables that were read are left out."""
    free = [w for w in words if not any(_middle_in(w.box, box) for box in taken)]
    rows = [_cells(row) for row in rows_of(free)]
    return [
        (_around([cell for row in run for cell, _ in row]), len(run)) for run in _runs(rows) if _is_table(run)
    ]


_Cells = list[tuple[Box, int]]
"""The cells of a row: where each is, and how many words it has."""


def _cells(row: Sequence[Word]) -> _Cells:
    cells: list[list[Word]] = []
    for word in sorted(row, key=lambda w: w.box.x0):
        if cells and word.box.x0 - cells[-1][-1].box.x1 <= _GAP * max(word.size, cells[-1][-1].size):
            cells[-1].append(word)
        else:
            cells.append([word])
    return [(_around([w.box for w in cell]), len(cell)) for cell in cells]


def _runs(rows: Sequence[_Cells]) -> Iterator[list[_Cells]]:
    """Yield rows one below the other of which each has cells that line up with those of the row above."""
    run: list[_Cells] = []
    for row in rows:
        if len(row) < _CELLS or (
            run and sum(any(_same_column(a, b) for a, _ in run[-1]) for b, _ in row) < _CELLS
        ):
            yield run
            run = []
        if len(row) >= _CELLS:
            run.append(row)
    yield run


def _same_column(a: Box, b: Box) -> bool:
    middles = (a.x0 + a.x1) / 2, (b.x0 + b.x1) / 2
    return any(abs(p - q) <= _SAME_EDGE for p, q in ((a.x0, b.x0), (a.x1, b.x1), middles))


def _is_table(run: Sequence[_Cells]) -> bool:
    if len(run) < _ROWS or any(b[0][0].top - a[0][0].bottom > _WIDE for a, b in pairwise(run)):
        return False
    counts = [words for row in run for _, words in row]
    return sum(counts) <= _CELL_WORDS * len(counts)

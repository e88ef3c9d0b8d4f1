"""Confusion matrices and heat-maps: a table of coloured cells, or a drawing when there are too many to print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from proctor.metrics.figure import Matrix
from proctor.report.figures.parts import (
    join,
    label,
    nothing,
    numbered,
    require_equal_lengths,
    scrolling,
)
from proctor.report.numbers import show_value

__all__ = ["SHADES", "Cell", "Cells", "diverging", "draw_matrix", "matrix_guide", "read_cells", "shade_name"]

_MOST_IN_TABLE: Final = 30
_MOST_DRAWN: Final = 500
_MOST_HOVERS: Final = 4000
_MOST_LISTED: Final = 20
_FEW: Final = 8
"""Up to so many columns there is room for the share below the count."""
_MANY: Final = 20
"""Up to so many columns cells have their full size."""
_DRAWING: Final = 720
_MARGIN: Final = 44


def matrix_guide(matrix: Matrix) -> str:
    """Return how to read it."""
    if matrix.kind == "counts":
        return (
            "Rows are what the reference says, or the first of two people; columns are what the other says of the same "
            f"items. The stronger its colour, the larger a cell's share of the row. {_where_same(matrix)}Shares do not "
            "depend on how often a class occurs, counts do."
        )
    if diverging(matrix):
        return (
            "Blue cells lie above zero, orange and brown ones below, and the stronger the colour the farther. Zero is "
            f"no agreement beyond chance, or no difference. {_HATCHED}"
        )
    return (
        f"The stronger the colour of a cell, the higher its value, on the scale below the table. {_HATCHED}"
    )


_HATCHED: Final = "A hatched cell is not defined: one with itself, or two that share nothing."


def _where_same(matrix: Matrix) -> str:
    if matrix.rows != matrix.columns:
        return ""
    if len(matrix.rows) > _MOST_IN_TABLE:
        return "On the diagonal both say the same, everything beside it is a confusion. "
    return "In a framed cell both say the same, everything beside the frames is a confusion. "


def draw_matrix(matrix: Matrix) -> Markup:
    """Draw it: numbers in the cells up to 30 rows and columns, a drawing with hover titles beyond.

    Raises:
        ValueError: if a row has not as many cells as there are columns.
    """
    require_equal_lengths(matrix.title, rows=matrix.rows, lines=matrix.cells)
    for line in matrix.cells:
        require_equal_lengths(matrix.title, columns=matrix.columns, cells=line)
    if not matrix.rows or not matrix.columns:
        return nothing("There is no class to show.")
    cells = read_cells(matrix)
    if max(len(matrix.rows), len(matrix.columns)) <= _MOST_IN_TABLE:
        body = scrolling(matrix.title, _table(matrix, cells))
    else:
        body = _drawing(matrix, cells)
    return body + _legend(matrix, cells) + _listed(matrix, cells) + _names(matrix)


# -- a table -----------------------------------------------------------------------------------------------------


def _table(matrix: Matrix, cells: Cells) -> Markup:
    columns = len(matrix.columns)
    names = [label(c) for c in matrix.columns]
    upright = columns > _FEW or (columns > 3 and max(map(len, names)) > 14)
    room = "few" if columns <= _FEW else "many" if columns <= _MANY else "many crowded"
    classes = ["heat", room, "upright" if upright else "level"]
    counts = matrix.kind == "counts"
    head = join(
        Markup('<th scope="col"><span title="{0}"><bdi>{0}</bdi></span></th>').format(n) for n in names
    )
    total = Markup('<th scope="col" class="total">all</th>') if counts else Markup("")
    titles = Markup(
        '<tr><td></td><th class="axis-title" colspan="{}"><bdi>{}</bdi>&nbsp;<span aria-hidden="true">→</span></th>{}</tr>'
    ).format(columns, label(matrix.column_title or "columns"), Markup("<td></td>") if counts else Markup(""))
    corner = Markup(
        '<th class="axis-title corner"><span><bdi>{}</bdi>&nbsp;<span aria-hidden="true">↓</span></span></th>'
    ).format(label(matrix.row_title or "rows"))
    rows = join(_row(matrix, cells, n) for n in range(len(matrix.rows)))
    return Markup('<table class="{}"><thead>{}<tr>{}{}{}</tr></thead><tbody>{}</tbody></table>').format(
        " ".join(classes), titles, corner, head, total, rows
    )


def _row(matrix: Matrix, cells: Cells, number: int) -> Markup:
    """Draw a row; a page may lead from the cells, counted row by row, and behind them from the sums of the rows."""
    data = join(_data(matrix, cells, number, column) for column in range(len(matrix.columns)))
    name = label(matrix.rows[number])
    behind = len(matrix.rows) * len(matrix.columns) + number
    total = numbered(behind, _count(float(cells.totals[number]), exact=True))
    last = Markup('<td class="total">{}</td>').format(total) if cells.counts else Markup("")
    return Markup('<tr><th scope="row" title="{0}"><bdi>{0}</bdi></th>{1}{2}</tr>').format(name, data, last)


def _data(matrix: Matrix, cells: Cells, row: int, column: int) -> Markup:
    cell = cells.cell(row, column)
    classes = shade_name(int(cells.codes[row, column]))
    if cells.counts and matrix.rows == matrix.columns and row == column:
        classes += " right"
    if cells.counts and cell is not None and cell.value == 0:
        classes += " zero"
    share = Markup("")
    if cell is not None and cell.value and cell.share is not None and len(matrix.columns) <= _FEW:
        share = Markup("<small>{} %</small>").format(show_value(100 * cell.share, 0))
    return Markup('<td class="{}" title="{}">{}{}</td>').format(
        classes,
        _hover(matrix, row, column, cell),
        numbered(
            row * len(matrix.columns) + column, _cell_text(matrix, None if cell is None else cell.value)
        ),
        share,
    )


def _cell_text(matrix: Matrix, value: float | None) -> str:
    if matrix.kind != "counts":
        return show_value(value, 2)
    return "–" if value is None else _count(value, exact=len(matrix.columns) <= _FEW)


def _count(value: float, *, exact: bool) -> str:
    if not exact and value >= 10_000:
        return f"{value / 1000:,.0f}k"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def _hover(matrix: Matrix, row: int, column: int, cell: Cell | None) -> str:
    number = "undefined" if cell is None else _exact(matrix, cell.value)
    share = "" if cell is None or cell.share is None else f" ({show_value(100 * cell.share, 1)} % of the row)"
    return "\n".join(
        [
            f"{label(matrix.row_title or 'row')}: {label(matrix.rows[row])}",
            f"{label(matrix.column_title or 'column')}: {label(matrix.columns[column])}",
            number + share,
        ]
    )


def _exact(matrix: Matrix, value: float) -> str:
    return _count(value, exact=True) if matrix.kind == "counts" else show_value(value, 3)


# -- a drawing ---------------------------------------------------------------------------------------------------


def _drawing(matrix: Matrix, cells: Cells) -> Markup:
    rows, columns = len(matrix.rows), len(matrix.columns)
    if max(rows, columns) > _MOST_DRAWN:
        return nothing(
            f"{rows:,} rows and {columns:,} columns are too many to draw; the lists below name the cells that matter most."
        )
    size = max(1, _DRAWING // max(rows, columns))
    width, height = columns * size, rows * size
    body = _grid_lines(rows, columns, size) + _paths(cells, size) + _hovers(matrix, cells, size)
    what = f"{label(matrix.title)}: {rows} rows by {columns} columns; the numbers stand in the lists below."
    return Markup(
        '<p class="axis-title"><bdi>{}</bdi> ↓ &emsp; <bdi>{}</bdi> →</p>'
        '<svg class="cells" viewBox="-{} -{} {} {}" role="img" aria-label="{}">{}</svg>'
    ).format(
        label(matrix.row_title or "rows"), label(matrix.column_title or "columns"),
        _MARGIN, _MARGIN // 2, width + _MARGIN + _MARGIN // 2, height + _MARGIN // 2 + 10, what, body,
    )  # fmt: skip


def _grid_lines(rows: int, columns: int, size: int) -> Markup:
    """Number every tenth class, or every fiftieth where there are many, from 1."""
    step = 10 if max(rows, columns) <= 120 else 50
    frame = Markup('<rect class="ground" width="{}" height="{}"/>').format(columns * size, rows * size)
    across = join(
        Markup('<text x="{}" y="-6" text-anchor="middle">{}</text>').format(n * size - size / 2, n)
        for n in (1, *range(step, columns + 1, step))
    )
    down = join(
        Markup('<text x="-6" y="{}" text-anchor="end" dominant-baseline="central">{}</text>').format(
            n * size - size / 2, n
        )
        for n in (1, *range(step, rows + 1, step))
    )
    return frame + across + down


def _paths(cells: Cells, size: int) -> Markup:
    """Draw one path a shade, in which neighbouring cells of a row are one stroke: small however dense it is."""
    strokes: dict[int, list[str]] = {}
    for row, codes in enumerate(cells.codes):
        starts = np.flatnonzero(np.diff(codes, prepend=codes[0] - 1))
        ends = [*starts[1:].tolist(), len(codes)]
        for start, end in zip(starts.tolist(), ends, strict=True):
            stroke = f"M{start * size} {row * size + size / 2:g}h{(end - start) * size}"
            strokes.setdefault(int(codes[start]), []).append(stroke)
    return join(
        Markup('<path class="{}" stroke-width="{}" d="{}"/>').format(shade_name(code), size, "".join(found))
        for code, found in sorted(strokes.items())
        if code
    )


def _hovers(matrix: Matrix, cells: Cells, size: int) -> Markup:
    """Cover the largest cells with shapes that say what they are when they are pointed at."""
    key = np.where(cells.values == 0, np.nan, -np.abs(cells.values))
    largest = cells.first(key, _MOST_HOVERS)
    return join(
        Markup('<rect class="hit" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>').format(
            c.column * size, c.row * size, size, size, _hover(matrix, c.row, c.column, c)
        )
        for c in sorted(largest, key=lambda c: (c.row, c.column))
    )


# -- below -------------------------------------------------------------------------------------------------------


def _legend(matrix: Matrix, cells: Cells) -> Markup:
    down = [f"n{n}" for n in range(SHADES, 0, -1)] if diverging(matrix) else []
    strip = join(
        Markup('<i class="{}"></i>').format(c) for c in (*down, *(f"p{n}" for n in range(SHADES + 1)))
    )
    reach = max(-matrix.low, matrix.high)
    ends = (
        ("0", "100 % of the row")
        if matrix.kind == "counts"
        else (show_value(-reach, 2), show_value(reach, 2))
        if diverging(matrix)
        else (show_value(matrix.low, 2), show_value(matrix.high, 2))
    )
    items = [
        Markup('<li>{} <span class="strip" aria-hidden="true">{}</span> {}</li>').format(
            ends[0], strip, ends[1]
        )
    ]
    if matrix.kind == "counts" and matrix.rows == matrix.columns and len(matrix.rows) <= _MOST_IN_TABLE:
        items.append(
            Markup(
                '<li><span class="strip" aria-hidden="true"><i class="p0 right"></i></span> both the same</li>'
            )
        )
    if np.isnan(cells.values).any():
        items.append(
            Markup('<li><span class="strip" aria-hidden="true"><i class="void"></i></span> undefined</li>')
        )
    return Markup('<ul class="legend">{}</ul>').format(join(items))


def _listed(matrix: Matrix, cells: Cells) -> Markup:
    """List the cells that matter most, where the picture has too many to find them."""
    large = max(len(matrix.rows), len(matrix.columns)) > _MOST_IN_TABLE
    square = matrix.rows == matrix.columns
    if matrix.kind == "counts":
        if len(matrix.columns) <= _FEW or not square:
            return (
                _cell_list(matrix, "The largest cells", _ordered(cells, falling=True))
                if large
                else Markup("")
            )
        return _cell_list(matrix, "The most frequent confusions", _ordered(cells, falling=True, off=True))
    if not large:
        return Markup("")
    return _cell_list(matrix, "The highest values", _ordered(cells, falling=True, off=square)) + _cell_list(
        matrix, "The lowest values", _ordered(cells, falling=False, off=square)
    )


def _ordered(cells: Cells, *, falling: bool, off: bool = False) -> list[Cell]:
    """Cells by value; ``off`` leaves out the diagonal. Zero counts say nothing."""
    key = -cells.values if falling else cells.values.copy()
    if off:
        np.fill_diagonal(key, np.nan)
    if cells.counts:
        key[cells.values == 0] = np.nan
    return cells.first(key, _MOST_LISTED)


def _cell_list(matrix: Matrix, title: str, cells: list[Cell]) -> Markup:
    if not cells:
        return Markup("")
    counts = matrix.kind == "counts"
    share = Markup('<th scope="col" class="num">share of the row</th>') if counts else Markup("")
    lines = join(
        Markup('<tr><td><bdi>{}</bdi></td><td><bdi>{}</bdi></td><td class="num">{}</td>{}</tr>').format(
            label(matrix.rows[c.row]),
            label(matrix.columns[c.column]),
            _exact(matrix, c.value),
            Markup('<td class="num">{} %</td>').format(show_value(100 * (c.share or 0), 1))
            if counts
            else Markup(""),
        )
        for c in cells
    )
    return Markup(
        '<details><summary>{}</summary><table class="listed"><thead><tr><th scope="col"><bdi>{}</bdi></th>'
        '<th scope="col"><bdi>{}</bdi></th><th scope="col" class="num">{}</th>{}</tr></thead><tbody>{}</tbody></table></details>'
    ).format(
        title, label(matrix.row_title or "row"), label(matrix.column_title or "column"),
        "count" if counts else "value", share, lines,
    )  # fmt: skip


def _names(matrix: Matrix) -> Markup:
    """List the classes by number where the picture has no room for their names."""
    if max(len(matrix.rows), len(matrix.columns)) <= _MOST_IN_TABLE:
        return Markup("")
    lists = [("Rows by number", matrix.rows)]
    if matrix.columns != matrix.rows:
        lists.append(("Columns by number", matrix.columns))
    return join(
        Markup('<details><summary>{}</summary><ol class="names">{}</ol></details>').format(
            title, join(Markup("<li><bdi>{}</bdi></li>").format(label(n)) for n in names)
        )
        for title, names in lists
    )


SHADES: Final = 8
"""Steps above the ground: ``p0`` to ``p8``, and ``n1`` to ``n8`` below zero, are classes of the style sheet."""
_VOID: Final = -SHADES - 1


@dataclass(frozen=True, slots=True)
class Cell:
    """One defined cell.

    Attributes:
        row: from 0.
        column: from 0.
        value: finite.
        share: of the row, None where shares mean nothing.
    """

    row: int
    column: int
    value: float
    share: float | None


@dataclass(frozen=True, slots=True)
class Cells:
    """All cells.

    Attributes:
        values: nan where undefined.
        totals: of the rows.
        codes: shades, to be named by ``shade_name``.
        counts: the values are counts, so that shares of a row mean something.
    """

    values: NDArray[np.float64]
    totals: NDArray[np.float64]
    codes: NDArray[np.int64]
    counts: bool

    def cell(self, row: int, column: int) -> Cell | None:
        """Return a cell, None when it is undefined."""
        value = float(self.values[row, column])
        if np.isnan(value):
            return None
        total = float(self.totals[row])
        return Cell(row, column, value, value / total if self.counts and total else None)

    def first(self, key: NDArray[np.float64], most: int) -> list[Cell]:
        """Return the cells with the smallest keys, ties from the top left; nan leaves a cell out."""
        flat = key.ravel()
        found = np.flatnonzero(~np.isnan(flat))
        if len(found) > most:
            limit = np.partition(flat[found], most - 1)[most - 1]
            found = found[flat[found] <= limit]
        order = found[np.argsort(flat[found], kind="stable")][:most]
        places = (divmod(int(place), self.values.shape[1]) for place in order)
        return [cell for row, column in places if (cell := self.cell(row, column)) is not None]


def read_cells(matrix: Matrix) -> Cells:
    """Return the cells of a matrix whose rows are equally long; what is not finite is undefined."""
    values = np.array(matrix.cells, dtype=np.float64).reshape(len(matrix.rows), len(matrix.columns))
    values = np.where(np.isfinite(values), values, np.nan)
    totals = np.nansum(values, axis=1)
    return Cells(values, totals, _codes(matrix, values, totals), matrix.kind == "counts")


def diverging(matrix: Matrix) -> bool:
    """Whether values lie on both sides of zero."""
    return matrix.kind != "counts" and matrix.low < 0 < matrix.high


def shade_name(code: int) -> str:
    """Return the class of a cell: ``p0`` (ground) to ``p8``, ``n1`` to ``n8`` below zero, ``void`` when undefined."""
    return "void" if code == _VOID else f"n{-code}" if code < 0 else f"p{code}"


def _codes(matrix: Matrix, values: NDArray[np.float64], totals: NDArray[np.float64]) -> NDArray[np.int64]:
    known = np.nan_to_num(values)
    if matrix.kind == "counts":
        steps = _steps(known / np.where(totals > 0, totals, 1.0)[:, None])
        steps = np.where((known > 0) & (steps == 0), 1, steps)
    elif diverging(matrix):
        steps = np.where(known < 0, -1, 1) * _steps(np.abs(known) / max(-matrix.low, matrix.high))
    else:
        span = matrix.high - matrix.low
        steps = _steps((known - matrix.low) / span if span > 0 else np.zeros_like(known))
    return np.where(np.isnan(values), _VOID, steps)


def _steps(shares: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.rint(SHADES * np.clip(shares, 0.0, 1.0)).astype(np.int64)

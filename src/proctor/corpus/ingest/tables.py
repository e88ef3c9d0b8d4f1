"""Grids of cells (spans expanded, headers told from rows, empty edges taken off), and CSV and TSV files."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from proctor.corpus.ingest.blocks import Block, TableBlock, single_spaced
from proctor.corpus.ingest.decoding import decode_text, told_guess
from proctor.corpus.ingest.reading import CannotReadError, Reading
from proctor.records import read_bytes

__all__ = ["Cell", "expand_spans", "find_delimiter", "join_headers", "read_table", "split_header", "trimmed"]

_NUMBER: Final = re.compile(r"[-+(]?[$€£¥]?\s*\d[\d.,\s/:]*\s*[%)]?$")
MAX_SPAN: Final = 1_000
"""Columns of one cell; HTML has the same limit."""


@dataclass(frozen=True)
class Cell:
    """One cell as it is written: its text and how many rows and columns it covers (``rows`` 0: all that follow)."""

    text: str
    columns: int = 1
    rows: int = 1


def expand_spans(written: Sequence[Sequence[Cell]], max_cells: int) -> list[list[str]]:
    """Return a full grid: a cell that covers several places stands in each of them.

    Args:
        written: the cells of each row, as HTML lists them.
        max_cells: places that the grid may have.

    Raises:
        CannotReadError: if it would have more.
    """
    grid: list[list[str]] = []
    hanging: dict[int, tuple[str, int]] = {}  # column: text and rows still to cover
    places = 0
    for number, row in enumerate(written):
        line: dict[int, str] = {c: text for c, (text, _) in hanging.items()}
        hanging = {c: (text, left - 1) for c, (text, left) in hanging.items() if left > 1}
        column = 0
        for cell in row:
            while column in line:
                column += 1
            below = (len(written) - number if cell.rows == 0 else cell.rows) - 1
            for covered in range(column, column + min(max(cell.columns, 1), MAX_SPAN)):
                line.setdefault(covered, cell.text)
                if below > 0:
                    hanging[covered] = (cell.text, below)
        width = max(line, default=-1) + 1
        places += width
        if places > max_cells:
            raise CannotReadError(
                "table-too-large", f"a table of more than {max_cells} cells. Split it, or raise max_cells."
            )
        grid.append([line.get(c, "") for c in range(width)])
    width = max(map(len, grid), default=0)
    if width * len(grid) > max_cells:
        raise CannotReadError(
            "table-too-large",
            f"a table of {len(grid)} rows and {width} columns. Split it, or raise max_cells.",
        )
    return [row + [""] * (width - len(row)) for row in grid]


def trimmed(grid: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the grid with single spaces, without rows that are empty and without empty columns at its right end."""
    rows = [[single_spaced(cell) for cell in row] for row in grid]
    rows = [row for row in rows if any(row)]
    width = max((max(i for i, cell in enumerate(row) if cell) + 1 for row in rows), default=0)
    return [row[:width] for row in rows]


def split_header(grid: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Take the first row for the names of columns where it looks like names: different words, no numbers, one gap at most."""
    rows = [tuple(row) for row in grid]
    if len(rows) < 2 or not _names(rows[0]):
        return (), rows
    return rows[0], rows[1:]


def _names(row: Sequence[str]) -> bool:
    named = [cell for cell in row if cell]
    return (
        bool(named)
        and len(named) >= len(row) - 1
        and len(set(named)) == len(named)
        and not any(_NUMBER.match(cell) for cell in named)
    )


def join_headers(rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Make one name of each column out of several rows of names; what is repeated is said once."""
    return tuple(
        " / ".join(dict.fromkeys(cell for cell in column if cell)) for column in zip(*rows, strict=True)
    )


# -- CSV and TSV files: encoding and delimiter are found out -------------------------------------------------------

_DELIMITERS: Final = ",;\t|"
_SAMPLE_ROWS: Final = 200
_SAMPLE: Final = 1 << 18


def read_table(reading: Reading) -> Iterator[Block]:
    """Yield the table of a CSV or TSV file, ``table_rows`` rows at a time.

    Raises:
        CannotReadError: if it is no text, or a quote in it is never closed.
    """
    decoded = decode_text(read_bytes(reading.path))
    yield from told_guess(decoded)
    text = decoded.text
    first = "\t" if reading.path.suffix.lower() == ".tsv" else ","
    with _any_cell_length(len(text)):
        delimiter = find_delimiter(text[:_SAMPLE], first)
        rows = trimmed(_rows(text, delimiter))
    if not rows:
        return
    header, body = split_header(rows)
    step = reading.options.table_rows
    for start in range(0, len(body), step):
        reading.check_time()
        yield TableBlock(header, tuple(body[start : start + step]), first_row=start + 1)


def find_delimiter(sample: str, first: str = ",") -> str:
    """Return which of comma, semicolon, tab and bar cuts most rows into the same number of cells, two or more.

    Args:
        sample: the beginning of the file.
        first: the one that is taken when several do as well, or none does.
    """
    best, chosen = (0.0, 0, False), first
    for delimiter in _DELIMITERS:
        widths = Counter(len(row) for row in _some_rows(sample, delimiter) if row)
        width, rows = max(
            ((w, n) for w, n in widths.items() if w > 1), key=lambda x: (x[1], x[0]), default=(0, 0)
        )
        score = (rows / max(widths.total(), 1), width, delimiter == first)
        if width and (round(score[0], 2), score[2], score[1]) > (round(best[0], 2), best[2], best[1]):
            best, chosen = score, delimiter
    return chosen


def _some_rows(sample: str, delimiter: str) -> Iterator[list[str]]:
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
    try:
        for row, _ in zip(reader, range(_SAMPLE_ROWS), strict=False):
            yield row
    except csv.Error:
        return


def _rows(text: str, delimiter: str) -> list[list[str]]:
    try:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        if "end of data" in str(error):
            raise CannotReadError(
                "unclosed-quote",
                "a quote is opened and never closed, so rows run together. Close or double it.",
            ) from None
    try:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise CannotReadError(
            "damaged-table", f"no CSV: {error}. Write it again with a spreadsheet."
        ) from None


@contextmanager
def _any_cell_length(length: int) -> Iterator[None]:
    """The csv module refuses cells of 128 KiB; its limit is one for the whole process."""
    before = csv.field_size_limit(max(length, 1))
    try:
        yield
    finally:
        csv.field_size_limit(before)

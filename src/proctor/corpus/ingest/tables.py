"""CSV and TSV files: encoding and delimiter are found out, the first row is the header where it looks like one."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from proctor.corpus.ingest.blocks import Block, Problem, TableBlock
from proctor.corpus.ingest.decoding import decode_text
from proctor.corpus.ingest.grids import split_header, trimmed
from proctor.corpus.ingest.reading import CannotReadError, Reading
from proctor.records import read_bytes

__all__ = ["find_delimiter", "read_table"]

_DELIMITERS: Final = ",;\t|"
_SAMPLE_ROWS: Final = 200
_SAMPLE: Final = 1 << 18


def read_table(reading: Reading) -> Iterator[Block]:
    """Yield the table of a CSV or TSV file, ``table_rows`` rows at a time.

    Raises:
        CannotReadError: if it is no text, or a quote in it is never closed.
    """
    decoded = decode_text(read_bytes(reading.path))
    if decoded.guessed:
        yield Problem(
            "encoding-guessed", f"read as {decoded.encoding}. Save it as UTF-8 to be sure.", "#encoding"
        )
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
            "damaged-table", f"no CSV: {error}. Write it anew with a spreadsheet."
        ) from None


@contextmanager
def _any_cell_length(length: int) -> Iterator[None]:
    """The csv module refuses cells of 128 KiB; its limit is one for the whole process."""
    before = csv.field_size_limit(max(length, 1))
    try:
        yield
    finally:
        csv.field_size_limit(before)

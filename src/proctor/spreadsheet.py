"""Cells of tables: how wide they may be, and that text which a spreadsheet would take for a formula stays text.

Texts come from data sets, models and people; one that begins with ``=`` would be calculated, and could call other programs or
send what stands beside it (OWASP, "CSV injection").
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

__all__ = ["csv_text", "is_formula", "safe_cell", "wide_cells"]

_SIGNS: Final = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
"""Signs that begin a formula, or a cell of its own; full-width ones count in East Asian spreadsheets."""
_PASSED_OVER: Final = " \u00a0\ufeff"
"""What spreadsheets pass over in front of a formula."""


def is_formula(text: str) -> bool:
    """True for what a spreadsheet could take for a formula: it begins with ``= + - @``, a tab or the end of a line."""
    return text.lstrip(_PASSED_OVER).startswith(_SIGNS)


def safe_cell(text: str) -> str:
    """Return a text that no spreadsheet calculates with: with an apostrophe in front where it looks like a formula."""
    return f"'{text}" if is_formula(text) else text


def csv_text(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as CSV; texts are cells that no spreadsheet calculates with."""
    stream = io.StringIO()
    safe = [[safe_cell(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    csv.writer(stream, lineterminator="\n").writerows([head, *safe])
    return stream.getvalue()


@contextmanager
def wide_cells(limit: int) -> Iterator[None]:
    """Let the csv module read cells of up to so many characters; its limit holds for the whole process, so it is put back."""
    before = csv.field_size_limit(limit)
    try:
        yield
    finally:
        csv.field_size_limit(before)

"""Tables that people fill in, as CSV: rows by column with their line, and a message with the line for whatever is wrong."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from proctor.errors import UserError
from proctor.records import decode_text, read_bytes

__all__ = ["iter_csv_rows"]


def iter_csv_rows(
    path: Path, columns: Sequence[str] | None, delimiter: str = ""
) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield the line and the cells of each row by column, blanks around them taken off; further columns come with them.

    Args:
        path: of the file, UTF-8; its first line names the columns, parted by commas, semicolons (Excel in many countries)
            or tabs.
        columns: that must be there; None for any, each named once.
        delimiter: of the file; guessed by default.

    Raises:
        UserError: if the file is not UTF-8 or no CSV, a column is missing or named twice, or a row has too few or too many
            cells.
    """
    text = decode_text(read_bytes(path), str(path))
    delimiter = delimiter or _delimiter(text.partition("\n")[0], columns)
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True, delimiter=delimiter)
    try:
        _check_columns(reader.fieldnames or (), columns, path)
        for row in reader:
            if None in row or None in row.values():
                raise UserError(
                    "the row has not as many cells as there are columns.", where=f"{path}:{reader.line_num}"
                )
            yield reader.line_num, {name.strip(): cell.strip() for name, cell in row.items()}
    except csv.Error as error:
        raise UserError(f"this is no CSV: {error}.", where=f"{path}:{reader.line_num}") from None


def _delimiter(line: str, columns: Sequence[str] | None) -> str:
    """Return the sign that parts the first line into the wanted columns, or that it has most of; a comma where none does."""
    if columns is None:
        return max(",;\t", key=line.count)
    for delimiter in ",;\t":
        names = {name.strip().strip('"') for name in line.split(delimiter)}
        if names.issuperset(columns):
            return delimiter
    return ","


def _check_columns(found: Sequence[str], columns: Sequence[str] | None, path: Path) -> None:
    names = [name.strip() for name in found]
    wanted = [name for name in names if name] if columns is None else columns
    hint = f"the first line names the columns {', '.join(wanted)}"
    if missing := [name for name in wanted if name not in names]:
        raise UserError(f"the columns {', '.join(missing)} are missing.", where=str(path), hint=hint)
    if twice := [name for name in wanted if names.count(name) > 1]:
        raise UserError(f"the column {twice[0]} is named twice.", where=str(path), hint=hint)

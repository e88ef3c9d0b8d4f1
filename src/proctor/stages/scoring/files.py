"""Tables of numbers and texts from files: CSV, TSV, JSON Lines or a JSON array, each also gzipped.

Whatever is wrong with a file, the message names the file, the row, the column and what was seen there. Rows are
counted as an editor shows them: the line number in CSV and JSON Lines, the position (from 1) in a JSON array.
"""

from __future__ import annotations

import csv
import gc
import gzip
import io
import math
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.metrics.errors import MetricInputError
from proctor.records import decode, read_bytes
from proctor.spreadsheet import wide_cells

__all__ = ["Table", "explained", "read_json_document", "read_lines", "read_table", "some_names"]

K = TypeVar("K")
T = TypeVar("T")

_SHOWN: Final = 60
"""Characters of a wrong value that a message quotes."""
_LARGEST_UNPACKED: Final = 4 * 2**30
_FIELD_LIMIT: Final = 256 * 2**20
_MISSING: Final = (None, "")


_SEVERAL: Final = re.compile(r"""[,;"'\[\]{}]""")
"""What a single id between bars does not hold."""


class Table:
    """Rows of a file by column, with the place of every row for messages.

    Args:
        path: the file, for messages.
        columns: values by column name, all of one length; None where a row has nothing.
        lines: row number of each row.
        unit: what a row number counts (``line`` or ``element``).
    """

    def __init__(
        self, path: Path, columns: Mapping[str, Sequence[Any]], lines: Sequence[int], unit: str = "line"
    ) -> None:
        self.path = path
        self.columns = dict(columns)
        self.lines = lines
        self.unit = unit

    def __len__(self) -> int:
        return len(self.lines)

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def place(self, row: int, column: str = "") -> str:
        """Return ``file, line 7, column 'score'`` for messages."""
        return f"{self.path}, {self.unit} {self.lines[row]}" + (f", column {column!r}" if column else "")

    def wrong(self, row: int, column: str, message: str, hint: str = "") -> UserError:
        """Return the error for one cell, to be raised."""
        return UserError(message, where=self.place(row, column), hint=hint or None)

    def find(self, *names: str) -> str | None:
        """Return the first of these columns that the file has."""
        return next((name for name in names if name in self.columns), None)

    def require(self, *names: str) -> str:
        """Return the first of these columns that the file has.

        Raises:
            UserError: if it has none of them.
        """
        if found := self.find(*names):
            return found
        seen = ", ".join(map(repr, self.columns)) or "none"
        others = f" (or {', '.join(map(repr, names[1:]))})" if len(names) > 1 else ""
        raise UserError(
            f"there is no column {names[0]!r}{others}; the columns are {seen}.",
            where=str(self.path),
            hint=f"add it, or rename the column that holds it to {names[0]!r}",
        )

    def named(self, asked: str | None, *usual: str) -> str | None:
        """Return the column that was asked for, else the first of the usual ones that the file has.

        Raises:
            UserError: if the column that was asked for is missing.
        """
        return self.find(*usual) if asked is None else self.require(asked)

    def at(self, rows: Sequence[int]) -> Table:
        """Return the table of these rows."""
        columns = {name: [values[row] for row in rows] for name, values in self.columns.items()}
        return Table(self.path, columns, [self.lines[row] for row in rows], self.unit)

    def texts(self, *names: str) -> list[str]:
        """Return a column as texts; numbers are written as JSON writes them.

        Raises:
            UserError: if the column or a value is missing, or a value is a list or an object.
        """
        column = self.require(*names)
        values = self.columns[column]
        if all(type(v) is str and v for v in values):
            return list(values)
        return [self._text(row, column, value) for row, value in enumerate(values)]

    def names(self, *names: str) -> list[str]:
        """Return a column of ids or labels as texts without space around them, as they are compared.

        Raises:
            UserError: as ``texts``, or if nothing but space is left.
        """
        column = self.require(*names)
        found = [text.strip() for text in self.texts(column)]
        for row in (row for row, text in enumerate(found) if not text):
            raise self.wrong(row, column, "the value is blank.", "fill it in or remove the row")
        return found

    def unique(self, *names: str, twice: Callable[[str, int], tuple[str, str]]) -> list[str]:
        """Return a column of ids of which each may occur once.

        Args:
            *names: of the column.
            twice: from an id and its first row to the message and the hint.

        Raises:
            UserError: as ``names``, or if an id occurs again.
        """
        column = self.require(*names)
        ids = self.names(column)
        first: dict[str, int] = {}
        for row, name in enumerate(ids):
            if first.setdefault(name, row) != row:
                raise self.wrong(row, column, *twice(name, first[name]))
        return ids

    def one_each(
        self,
        column: str,
        keys: Iterable[K],
        values: Iterable[T],
        wrong: Callable[[K, T, T], tuple[str, str]],
        known: dict[K, T] | None = None,
    ) -> dict[K, T]:
        """Return the one value of each key, where several rows have a key.

        Args:
            column: the name of the values' column.
            keys: of the rows.
            values: of the rows.
            wrong: from a key, its value here and its value before to the message and the hint.
            known: values of keys that were read before; it is added to.

        Raises:
            UserError: if a key has two values.
        """
        found: dict[K, T] = {} if known is None else known
        for row, (key, value) in enumerate(zip(keys, values, strict=True)):
            if found.setdefault(key, value) != value:
                raise self.wrong(row, column, *wrong(key, value, found[key]))
        return found

    def _text(self, row: int, column: str, value: Any) -> str:
        if value in _MISSING:
            raise self.wrong(row, column, "the value is missing.", "fill it in or remove the row")
        if isinstance(value, str):
            return value
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int | float):
            return f"{value:.0f}" if isinstance(value, float) and value.is_integer() else str(value)
        raise self.wrong(row, column, f"a text was expected, got {_shown(value)}.")

    def numbers(self, *names: str) -> NDArray[np.float64]:
        """Return a column as finite numbers.

        Raises:
            UserError: if the column is missing or a value is missing, not a number, or not finite.
        """
        column = self.require(*names)
        values = self.columns[column]
        try:
            if any(isinstance(v, bool) for v in values):
                raise ValueError
            result = np.array(values, dtype=np.float64)
            if result.ndim == 1 and np.isfinite(result).all():
                return result
        except (TypeError, ValueError, OverflowError):
            pass
        return np.array(
            [self._number(row, column, value) for row, value in enumerate(values)], dtype=np.float64
        )

    def _number(self, row: int, column: str, value: Any) -> float:
        if value in _MISSING:
            raise self.wrong(row, column, "the number is missing.", "fill it in or remove the row")
        try:
            if isinstance(value, bool):
                raise TypeError
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            raise self.wrong(row, column, f"a number was expected, got {_shown(value)}.") from None
        if not math.isfinite(number):
            raise self.wrong(row, column, f"a finite number was expected, got {_shown(value)}.")
        return number

    def times(
        self, starts: Sequence[str], ends: Sequence[str]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return starts and ends of segments, in seconds.

        Raises:
            UserError: as ``numbers``, or if a segment ends before it starts.
        """
        start, end = self.numbers(*starts), self.numbers(*ends)
        for row in np.flatnonzero(end < start)[:1].tolist():
            raise self.wrong(
                row,
                self.require(*ends),
                f"the segment ends at {end[row]:g} s, before its start at {start[row]:g} s.",
                "exchange its times or remove the row",
            )
        return start, end

    def integers(self, *names: str) -> NDArray[np.int64]:
        """Return a column as whole numbers.

        Raises:
            UserError: as ``numbers``, or if a number is not whole or does not fit into 64 bits.
        """
        column = self.require(*names)
        numbers = self.numbers(column)
        for row in np.flatnonzero((numbers != np.floor(numbers)) | (np.abs(numbers) >= 2.0**62)):
            raise self.wrong(int(row), column, f"a whole number was expected, got {numbers[row]:g}.")
        return numbers.astype(np.int64)

    def flags(self, *names: str) -> NDArray[np.bool_]:
        """Return a column as yes or no: true/false, yes/no, 1/0 in any letter case.

        Raises:
            UserError: if the column is missing or a value is something else.
        """
        column = self.require(*names)
        words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        out = []
        for row, text in enumerate(self.texts(column)):
            if text.strip().lower() not in words:
                raise self.wrong(row, column, f"yes/no, true/false or 1/0 was expected, got {_shown(text)}.")
            out.append(words[text.strip().lower()])
        return np.array(out, dtype=np.bool_)

    def lists(self, *names: str) -> list[list[Any]]:
        """Return a column whose values are lists: JSON arrays, or texts split at ``|`` in CSV.

        Raises:
            UserError: if the column is missing or a value is neither.
        """
        column = self.require(*names)
        out: list[list[Any]] = []
        for row, value in enumerate(self.columns[column]):
            if isinstance(value, list):
                out.append(value)
            elif value in _MISSING:
                out.append([])
            elif isinstance(value, str):
                found = _json_list(value)
                out.append([part.strip() for part in value.split("|")] if found is None else found)
            else:
                raise self.wrong(row, column, f"a list was expected, got {_shown(value)}.")
        return out

    def id_lists(self, *names: str, spaces: bool = False) -> list[list[Any]]:
        """Return a column of lists of ids: JSON arrays, or ids separated by ``|``.

        A text without ``|`` is one id. It is refused if it looks like several, or like a list that is no JSON: one
        long id would be found nowhere, and the score would be 0 without a word.

        Args:
            names: of the column.
            spaces: whether an id may hold a space.

        Raises:
            UserError: as ``lists``, or if a text holds a comma, a semicolon, a quotation mark, a bracket or a space.
        """
        column = self.require(*names)
        found = self.lists(column)
        for row, raw in enumerate(self.columns[column]):
            if not isinstance(raw, str) or found[row] != [raw.strip()]:
                continue
            if _SEVERAL.search(raw) or (not spaces and len(raw.split()) > 1):
                raise self.wrong(
                    row,
                    column,
                    f"a list of ids was expected, got {_shown(raw)}.",
                    "separate ids by | (a|b|c), or write a JSON array; an id that holds such a sign goes into an array",
                )
        return found


def _json_list(text: str) -> list[Any] | None:
    if not text.lstrip().startswith("["):
        return None
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
    return value if isinstance(value, list) else None


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text):,} characters)"


@contextmanager
def explained(where: str | Path) -> Iterator[None]:
    """Turn what a metric says about its input into an error that the user can fix.

    Raises:
        UserError: with the metric's message and hint.
    """
    try:
        yield
    except MetricInputError as error:
        text = error.message if error.message.endswith((".", "?", "!")) else f"{error.message}."
        raise UserError(text, where=str(where), hint=error.hint or None) from error


def read_json_document(path: Path) -> Any:
    """Read one JSON document, gzipped or not.

    Raises:
        UserError: if the file is missing, not readable, or not JSON.
    """
    return decode(_unpacked(path), Any, str(path))


def read_lines(path: Path) -> list[str]:
    """Read the lines of a text file, gzipped or not, without their ends.

    Raises:
        UserError: if the file is missing, not readable, or not UTF-8.
    """
    return _decoded(path, _unpacked(path)).replace("\r\n", "\n").split("\n")


def read_table(path: Path, *, required: Sequence[str] = ()) -> Table:
    """Read a table; the kind is taken from the file's name, without regard to ``.gz``.

    Args:
        path: ``.csv``, ``.tsv``, ``.jsonl``/``.ndjson`` or ``.json`` (an array of objects).
        required: columns that must be there.

    Raises:
        UserError: if the file is missing, broken, of another kind, empty, or lacks a required column.
    """
    name = path.name.lower().removesuffix(".gz")
    readers: dict[str, Callable[[Path, bytes], Table]] = {
        ".csv": lambda p, d: _read_csv(p, d, ","),
        ".tsv": lambda p, d: _read_csv(p, d, "\t"),
        ".jsonl": _read_jsonl,
        ".ndjson": _read_jsonl,
        ".json": _read_json,
    }
    reader = next((read for suffix, read in readers.items() if name.endswith(suffix)), None)
    if reader is None:
        raise UserError(
            f"a table ends in {', '.join(readers)} (or any of them with .gz).",
            where=str(path),
            hint="rename the file to what it holds",
        )
    table = reader(path, _unpacked(path))
    if not len(table):
        raise UserError("the file has no rows.", where=str(path), hint="nothing can be scored without them")
    for column in required:
        table.require(column)
    return table


def _unpacked(path: Path) -> bytes:
    data = read_bytes(path)
    if not (path.name.lower().endswith(".gz") or data[:2] == b"\x1f\x8b"):
        return data.removeprefix(b"\xef\xbb\xbf")
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            unpacked = stream.read(_LARGEST_UNPACKED + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(
            f"the gzip file is broken ({error}).", where=str(path), hint="copy or download it again"
        ) from None
    if len(unpacked) > _LARGEST_UNPACKED:
        raise UserError("the file unpacks to more than 4 GiB.", where=str(path), hint="split it")
    return unpacked.removeprefix(b"\xef\xbb\xbf")


def _read_csv(path: Path, data: bytes, delimiter: str) -> Table:
    text = _decoded(path, data)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        with wide_cells(_FIELD_LIMIT), _without_collector():
            head = [name.strip() for name in next(reader, [])]
            _require_header(path, head)
            rows, lines = _csv_rows(path, reader, len(head))
    except csv.Error as error:
        raise UserError(f"not a valid table: {error}.", where=f"{path}, line {reader.line_num}") from None
    columns = zip(*rows, strict=True) if rows else ([] for _ in head)
    return Table(
        path, {name: list(values) for name, values in zip(head, columns, strict=True) if name}, lines
    )


def _csv_rows(path: Path, reader: Any, width: int) -> tuple[list[list[str]], list[int]]:
    rows: list[list[str]] = []
    lines: list[int] = []
    for row in reader:
        if not row or (len(row) == 1 and not row[0].strip()):
            continue
        if len(row) != width:
            raise UserError(
                f"{len(row)} values for {width} columns.",
                where=f"{path}, line {reader.line_num}",
                hint="quote values that hold the separator, and complete cut-off lines",
            )
        rows.append(row)
        lines.append(reader.line_num)
    return rows, lines


@contextmanager
def _without_collector() -> Iterator[None]:
    """Stop the garbage collector while millions of rows are made: it would look at all of them again and again."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def _decoded(path: Path, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"not UTF-8 at byte {error.start:,}.", where=f"{path}, line {line}", hint="save the file as UTF-8"
        ) from None


def _require_header(path: Path, head: Sequence[str]) -> None:
    named = [name for name in head if name]
    if not named:
        raise UserError("the first line must name the columns.", where=str(path))
    twice = sorted({name for name in named if named.count(name) > 1})
    if twice:
        raise UserError(f"the column {twice[0]!r} occurs twice.", where=f"{path}, line 1", hint="rename one")


def _read_jsonl(path: Path, data: bytes) -> Table:
    rows: list[dict[str, object]] = []
    lines: list[int] = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.strip():
            rows.append(_record(decode(line, Any, f"{path}, line {number}"), f"{path}, line {number}"))
            lines.append(number)
    return _of_records(path, rows, lines, "line")


def _read_json(path: Path, data: bytes) -> Table:
    value: Any = decode(data, Any, str(path))
    if not isinstance(value, list):
        raise UserError(
            f"an array of objects was expected, got {_kind(value)}.",
            where=str(path),
            hint="see 'proctor metrics FAMILY --help' for what the file has to hold",
        )
    rows = [_record(item, f"{path}, element {n}") for n, item in enumerate(value, start=1)]
    return _of_records(path, rows, range(1, len(rows) + 1), "element")


def some_names(names: Iterable[str]) -> str:
    """Write the first names in sorted order, for messages."""
    known = sorted(names)
    shown = ", ".join(map(repr, known[:3]))
    return f"{shown}, …" if len(known) > 3 else shown


def missing_note(what: str, lacks: str, names: Iterable[str], counted: bool = False) -> str:
    """Return the sentence about items without a prediction, empty if there are none.

    Args:
        what: the items, in the plural (``questions``).
        lacks: what they lack (``ranking``).
        names: of these items.
        counted: whether they count as 0; otherwise they are left out.
    """
    known = list(names)
    if not known:
        return ""
    fate = "count as 0" if counted else "were left out of every number (failed)"
    return f"{len(known):,} {what} without a {lacks} {fate}: {some_names(known)}."


def _record(value: Any, where: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise UserError(f"an object was expected, got {_kind(value)}.", where=where)
    return value


def _kind(value: object) -> str:
    names = {dict: "an object", list: "an array", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _of_records(path: Path, rows: Sequence[dict[str, object]], lines: Sequence[int], unit: str) -> Table:
    names = list(dict.fromkeys(name for row in rows for name in row))
    return Table(path, {name: [row.get(name) for row in rows] for name in names}, lines, unit)

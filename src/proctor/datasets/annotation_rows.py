"""Files of step annotations to plain values: rows of tables, ids, cells; every file may be broken.

A line that makes no sense is dropped and reported, the file goes on; a file that is not text at all is refused.
"""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Any, Final

from proctor.datasets.dataset import Log, refuse_special
from proctor.datasets.interchange.reading import load_text
from proctor.datasets.json_files import read_json_document
from proctor.errors import UserError

__all__ = [
    "MAX_BAD_ROWS",
    "ROW_RULES",
    "FirstMeaning",
    "is_there",
    "iter_rows",
    "load_object",
    "number_from",
    "option_fps",
    "seconds_from",
    "shown",
    "text_from",
    "token_from",
    "whole_from",
]

MAX_BAD_ROWS: Final = 1_000
"""Lines of one file that may make no sense before it is taken for a file of another kind."""

ROW_RULES: Final[Mapping[str, str]] = {
    "bad-row": "a line of a table has another number of cells, or a quote without its partner; it is left out",
    "blank-line": "a table has blank lines; they are passed over, reported once for each file",
    "header": "a table that is documented without a header line has one; it is passed over",
    "bad-field": "a field is missing or of another type; what the field says is left out",
}
"""Meaning of the rules and reasons that reading rows and fields brings."""

_MAX_ID: Final = 200
_SHOWN: Final = 120
_MAX_DIGITS: Final = 1_000
_NUMBER: Final = re.compile(
    r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?:nan|inf(?:inity)?)", re.I
)


# -- values ------------------------------------------------------------------------------------------------------


def shown(value: object) -> str:
    """Return a value as messages quote it: in one line, at most 120 characters."""
    text = repr(value[: 2 * _SHOWN] if isinstance(value, str) else value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def text_from(value: object) -> str | None:
    """Return a text that says something and can be written as UTF-8; None for anything else."""
    if not isinstance(value, str) or not value.strip():
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        return None
    return value.strip()


def token_from(value: object) -> str | None:
    """Return an id: a text or whole number that can be part of a file name; None for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value) if abs(value) < 10**18 else ""
    text = text_from(value)
    if text is None or len(text) > _MAX_ID or not text.isprintable() or set("/\\") & set(text):
        return None
    return None if text in (".", "..") else text


def number_from(value: object) -> float | None:
    """Return a JSON number or the number in a cell (ASCII digits, a point); None for anything else.

    Infinity and NaN are numbers here: whoever asks for a time has to refuse them with what was seen.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        text = value.strip()
        return float(text) if len(text) <= _MAX_DIGITS and _NUMBER.fullmatch(text) else None
    if isinstance(value, int | float):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    return None


def whole_from(value: object) -> int | None:
    """Return a whole number (``7``, ``"7"``, ``"7.0"``); None for anything else or beyond what a float holds exactly."""
    number = number_from(value)
    if number is None or not math.isfinite(number) or number != int(number) or abs(number) > 2**53:
        return None
    return int(number)


def seconds_from(time: object, fps: float | None = None) -> object:
    """Return the time of a cell or a JSON number in seconds; what is none stays as it is, for ``StepRows`` to refuse.

    Args:
        time: as the release has it.
        fps: frames a second where times are whole numbers of frames; None for seconds.
    """
    number = number_from(time)
    if number is None:
        return time
    if fps is None:
        return number
    return number / fps if number.is_integer() else f"frame {number:g}"


def option_fps(given: str | None, default: float) -> float:
    """Return the frame rate of the option ``fps`` in frames a second.

    Raises:
        UserError: if it is not a number above 0 and up to 1,000.
    """
    if given is None:
        return default
    rate = number_from(given)
    if rate is None or not 0 < rate <= 1_000:
        raise UserError(
            f"fps is {shown(given)}.", hint=f"frames a second, as {default:g}; above 0 and up to 1,000"
        )
    return rate


# -- files -------------------------------------------------------------------------------------------------------


def iter_rows(
    path: Path,
    log: Log,
    name: str,
    *,
    cells: tuple[int, int],
    delimiter: str = ",",
    header: Callable[[str], bool] | None = None,
) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of each line; cells lose the spaces around them.

    Each line is parsed alone, so that a lone quote costs one line and not the rest of the file.

    Args:
        path: of the file; an empty one has no rows.
        log: is told each line that makes no sense, and at the end that there are blank lines.
        name: what the drops are named by, ``name:line``.
        cells: fewest and most cells of a row; empty ones at the end are no cells beyond the most.
        delimiter: between cells.
        header: says of the first cell of the first row whether that row names the columns.

    Raises:
        UserError: if the file cannot be read, is no UTF-8, or ``MAX_BAD_ROWS`` lines make no sense.
    """
    bad = 0
    first = True
    blank: list[int] = []
    for line, text in enumerate(StringIO(_text(path), newline=None), start=1):
        row = _cells(text, delimiter)
        if row == []:
            blank.append(line)
            continue
        while row is not None and len(row) > cells[1] and not row[-1]:
            row.pop()
        if first and row and header is not None and header(row[0]):
            log.find("header", name, shown(text.strip()))
        elif row is not None and cells[0] <= len(row) <= cells[1]:
            yield line, row
        else:
            bad += 1
            log.drop(f"{name}:{line}", "bad-row", shown(text.strip()))
            if bad >= MAX_BAD_ROWS:
                raise UserError(
                    f"{bad:,} lines make no sense, the last is line {line}.",
                    where=str(path),
                    hint=f"rows of {cells[0]} to {cells[1]} cells were expected; is it the right file?",
                )
        first = False
    if blank:
        log.find("blank-line", name, f"{len(blank)}, the first is line {blank[0]}")


def _text(path: Path) -> str:
    """Return the text of a file, which may be empty: a video without annotated steps."""
    refuse_special(path)
    try:
        empty = path.is_file() and path.stat().st_size == 0
    except (OSError, ValueError):
        empty = False  # load_text says what is wrong
    return "" if empty else _unless_blank(path)


def _unless_blank(path: Path) -> str:
    try:
        return load_text(path)
    except UserError as error:
        if error.message == "the file is empty.":  # only spaces and line ends
            return ""
        raise


def _cells(text: str, delimiter: str) -> list[str] | None:
    """Return the cells of a line; none where it is blank, None where it cannot be parsed."""
    if not text.strip():
        return []
    try:
        found = list(csv.reader([text.rstrip("\r\n")], delimiter=delimiter, strict=True))
    except csv.Error:
        return None
    return [cell.strip() for cell in found[0]] if len(found) == 1 else None


def load_object(path: Path, log: Log, key: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a JSON document and the object that it holds under a key; what repeated keys hide is told.

    Raises:
        UserError: as ``read_json_document``, or if there is no such object.
    """
    read = read_json_document(path)
    read.tell_repeated(log, path.name)
    document = read.value
    inner = document.get(key) if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(inner, dict):
        raise UserError(
            f"there is no object '{key}' in it.", where=str(path), hint="is it the file of annotations?"
        )
    return document, inner


def is_there(path: Path) -> bool:
    """True when something has this name, be it a broken link: then it has to be read, or refused."""
    return os.path.lexists(path)


# -- names of ids that occur again and again in annotations: the second meaning of one id is told ------------------


class FirstMeaning:
    """Remembers what each id meant first, and tells once for each other meaning.

    Args:
        log: is told.
        rule: that findings carry.
    """

    def __init__(self, log: Log, rule: str) -> None:
        self._log = log
        self._rule = rule
        self._first: dict[str, str] = {}
        self._told: set[tuple[str, str]] = set()

    def tell(self, where: str, id_: str, name: str) -> None:
        """Compare a name with the first one of its id."""
        first = self._first.setdefault(id_, name)
        if name != first and (id_, name) not in self._told:
            self._told.add((id_, name))
            self._log.find(self._rule, where, f"{shown(id_)} is {shown(name)}, before it was {shown(first)}")

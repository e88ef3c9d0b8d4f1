"""JSON and JSON Lines as releases have them, with what is odd in them told instead of refused or lost.

Python's own decoder is used because it lets two things be seen that a strict one refuses or hides: ``NaN`` and
``Infinity``, which Python's encoder writes, become numbers that are not finite, for the reader to drop with their
record; of a key that occurs twice in one object the first value counts, and the key is named.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, TypeVar, cast

import msgspec

from proctor.datasets.dataset import Log, refuse_special
from proctor.errors import UserError, shortened
from proctor.records import decode_text, read_bytes

__all__ = [
    "LONG_LINE",
    "MAX_BYTES",
    "MAX_LINE_BYTES",
    "REPEATED_KEY",
    "JsonDocument",
    "decode_json",
    "iter_lines",
    "iter_typed",
    "read_json_document",
]

MAX_BYTES: Final = 256 * 2**20
"""A larger document is refused before it fills the memory; the files of the releases at hand have a few MB."""

REPEATED_KEY: Final = "repeated-key"
"""Reason code of what stood under a key that its object had already."""


@dataclass(frozen=True, slots=True)
class JsonDocument:
    """A decoded document.

    Attributes:
        value: of dicts, lists, texts (maybe with half characters), numbers (maybe not finite), booleans and None.
        repeated: keys that occur more than once in one object, with how many values were left out.
    """

    value: Any
    repeated: Counter[str]

    def tell_repeated(self, log: Log, where: str) -> None:
        """Drop what the repeated keys hid, by name; ``where`` is the file, or file and line."""
        for key, times in self.repeated.items():
            shown = "".join(c if c.isprintable() else "?" for c in key[:80]) or "(empty)"
            log.drop(shown, REPEATED_KEY, f"{where}: {times} more value(s) of one key; the first counts")


def decode_json(data: bytes, where: str) -> JsonDocument:
    """Decode a document; a byte order mark at its start is left out.

    Raises:
        UserError: if it is empty, not UTF-8, not JSON, nested too deeply, or has a number of thousands of digits.
    """
    repeated: Counter[str] = Counter()

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values: dict[str, Any] = dict(pairs)
        if len(values) < len(pairs):
            repeated.update(Counter(key for key, _ in pairs) - Counter(values.keys()))
            values = {}
            for key, value in pairs:
                values.setdefault(key, value)
        return values

    try:
        text = decode_text(data, where)
        if not text.strip():
            raise UserError(
                "the file is empty, a JSON document was expected.", where=where, hint="restore a copy of it"
            )
        value = json.loads(text, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        near = text[max(0, error.pos - 20) : error.pos + 20]
        raise UserError(
            f"not valid JSON: {error.msg} in line {error.lineno}, column {error.colno}, near {near!a}.",
            where=where,
            hint="is the file complete?",
        ) from None
    except RecursionError:
        raise UserError(
            "it is nested too deeply to be read.", where=where, hint="restore a copy of the file"
        ) from None
    except ValueError as error:  # numbers of thousands of digits
        raise UserError(
            f"not readable as JSON: {error}.", where=where, hint="restore a copy of the file"
        ) from None
    return JsonDocument(value, repeated)


def read_json_document(path: Path) -> JsonDocument:
    """Read and decode a file of at most ``MAX_BYTES``.

    Raises:
        UserError: as ``decode_json``, or if the file cannot be read, is too large, or is a device or a pipe.
    """
    refuse_special(path)
    try:
        found = path.stat()
    except (OSError, ValueError):
        return decode_json(read_bytes(path), str(path))  # which says what is wrong
    if found.st_size > MAX_BYTES:
        raise UserError(
            f"the file is larger than {MAX_BYTES >> 20} MB.",
            where=str(path),
            hint="no release has such a file; is it the right one?",
        )
    return decode_json(read_bytes(path), str(path))


# -- releases in JSON Lines, packed with gzip or not: a broken line costs only itself ------------------------------

T = TypeVar("T")

MAX_LINE_BYTES: Final = 64 * 2**20
"""A longer line is left out: it is no record of any release; the longest have some hundred thousand bytes."""

LONG_LINE: Final = "line-too-long"
"""Reason code of such a line."""

_PATIENCE: Final = 1_000
"""Broken lines after which a file without any other is taken for something else."""

_PIECE: Final = 2**20

_BOM: Final = b"\xef\xbb\xbf"


def iter_lines(path: Path, log: Log) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank with their numbers, counted from 1.

    A line of more than ``MAX_LINE_BYTES`` is dropped and reported, the reading goes on; it is never held as a whole.

    Raises:
        UserError: if the file is missing, a folder, a pipe or device, unreadable, packed and damaged, or has nothing
            but lines that are too long.
    """
    refuse_special(path)
    with _opened(path) as stream:
        number = sound = too_long = 0
        while line := stream.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) > MAX_LINE_BYTES:
                while line and not line.endswith(b"\n"):  # to its end, in pieces
                    line = stream.readline(_PIECE)
                too_long += 1
                log.drop(f"{path.name}:{number}", LONG_LINE, f"more than {MAX_LINE_BYTES:,} bytes")
                continue
            if number == 1:
                line = line.removeprefix(_BOM)
            if line.strip():
                sound += 1
                yield number, line
    if too_long and not sound:
        raise UserError(
            f"it has nothing but lines of more than {MAX_LINE_BYTES:,} bytes.",
            where=str(path),
            hint="one record a line was expected",
        )


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    try:
        if path.suffix == ".gz":
            with gzip.open(path, "rb") as stream:
                yield cast("IO[bytes]", stream)
        else:
            with path.open("rb") as plain:
                yield plain
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UserError(
            f"cannot be unpacked: {error}.", where=str(path), hint="download it again; is the file complete?"
        ) from None
    except (OSError, ValueError) as error:  # also a name that none can have
        raise UserError(
            f"cannot be read: {getattr(error, 'strerror', None) or error}.",
            where=str(path),
            hint="check the path, its links and permissions",
        ) from None


def iter_typed(path: Path, type_: type[T], log: Log, what: str) -> Iterator[tuple[int, T]]:
    """Yield every line that is a value of a type, with its number; any other is dropped and reported.

    Args:
        path: of the file.
        type_: that each line has to be.
        log: told ``line-too-long``, ``not-json`` for a line that cannot be decoded, ``wrong-shape`` for one of another shape.
        what: a record is, for the message (``"question"``).

    Raises:
        UserError: as ``iter_lines``; also if the file is empty, or none of its (first 1,000) lines is such a value.
    """
    read = msgspec.json.Decoder(type_).decode
    good = bad = 0
    first = ""
    for number, line in iter_lines(path, log):
        try:
            value = read(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            bad += 1
            reason, seen = _reason(error, line)
            first = first or f"line {number}: {seen}"
            log.drop(f"{path.name}:{number}", reason, seen)
            if not good and bad >= _PATIENCE:
                raise _none_of(path, bad, what, first) from None
        else:
            good += 1
            yield number, value
    if bad and not good:
        raise _none_of(path, bad, what, first)
    if not good:
        raise UserError("the file is empty.", where=str(path), hint="download it again, or restore a copy")


def _none_of(path: Path, lines: int, what: str, first: str) -> UserError:
    return UserError(
        f"none of its first {lines:,} lines is a {what}; {first}.",
        where=str(path),
        hint="is this the file of the release?",
    )


def _reason(error: Exception, line: bytes) -> tuple[str, str]:
    """Reason code and what was seen; a line of the right syntax has the wrong shape."""
    if isinstance(error, msgspec.ValidationError):
        return "wrong-shape", shortened(str(error), 300)
    try:
        line.decode()  # msgspec 0.23 says no longer where it is not UTF-8
    except UnicodeDecodeError as undecoded:
        return "not-json", f"not UTF-8: {undecoded.reason} at byte {undecoded.start}"
    return "not-json", shortened(str(error) or type(error).__name__, 300)

"""Releases in JSON Lines, packed with gzip or not: one line at a time, and a broken line costs only itself."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, TypeVar, cast

import msgspec

from proctor.datasets.dataset import Log
from proctor.datasets.special_files import refuse_special
from proctor.errors import UserError

__all__ = ["LONG_LINE", "MAX_LINE_BYTES", "iter_lines", "iter_typed"]

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
                _pass_over(stream, line)
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


def _pass_over(stream: IO[bytes], line: bytes) -> None:
    """Read to the end of a line in pieces."""
    while line and not line.endswith(b"\n"):
        line = stream.readline(_PIECE)


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
            reason, seen = _reason(error)
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


def _reason(error: Exception) -> tuple[str, str]:
    """Reason code and what was seen; a line of the right syntax has the wrong shape."""
    if isinstance(error, msgspec.ValidationError):
        return "wrong-shape", _short(str(error))
    if isinstance(error, UnicodeDecodeError):
        return "not-json", f"not UTF-8: {error.reason} at byte {error.start}"
    return "not-json", _short(str(error) or type(error).__name__)


def _short(text: str, limit: int = 300) -> str:
    return text if len(text) <= limit else f"{text[: limit // 2]} … {text[-limit // 2 :]}"

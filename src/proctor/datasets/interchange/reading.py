"""Files of other tools to text or JSON: limits on size and encodings; JSON in which nothing is lost on the way."""

from __future__ import annotations

import codecs
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any, Final, Never

from proctor.errors import UserError
from proctor.records import decode_text, read_bytes

__all__ = ["MAX_BYTES", "MAX_FILES", "load_json", "load_text", "parse_json", "read_limited", "text_of"]

_HALF: Final = re.compile(r"\\u[dD][89a-fA-F]")


class _RefusedError(ValueError):
    pass


def parse_json(data: bytes, where: str) -> object:
    """Return the document.

    Raises:
        UserError: if it is not UTF-8, not JSON, nested too deeply, or has a repeated key, a number that is none, or
            a half character (a lone surrogate).
    """
    text = decode_text(data, where)
    try:
        value: object = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
        if _HALF.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise UserError(
            "a text has half of a character (a lone surrogate).", where=where, hint="correct the text"
        ) from None
    except json.JSONDecodeError as error:
        raise UserError(
            f"not valid JSON: {error.msg} in line {error.lineno}, column {error.colno}.",
            where=where,
            hint="is the file complete?",
        ) from None
    except _RefusedError as error:
        raise UserError(f"{error}.", where=where, hint="correct the file") from None
    except RecursionError:
        raise UserError("it is nested too deeply to be read.", where=where) from None
    except ValueError as error:  # numbers of thousands of digits
        raise UserError(f"not readable as JSON: {error}.", where=where) from None
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise _RefusedError(f"the key '{twice[:60]}' occurs twice in one object")
    return values


def _no_constant(name: str) -> Never:
    raise _RefusedError(f"{name} is not a JSON number")


# -- files of other tools to text, with a limit on their size and on the encodings that are guessed ----------------

MAX_BYTES: Final = 512 * 2**20
"""Largest file that is read whole; annotations of a large data set are a tenth of it."""

MAX_FILES: Final = 1_000_000
"""Most files of one folder that are looked at."""

_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def read_limited(path: Path) -> bytes:
    """Read a whole file of at most ``MAX_BYTES``.

    Raises:
        UserError: if it is missing, a folder, unreadable, empty or larger.
    """
    try:
        size = path.stat().st_size if path.is_file() else 0
    except (OSError, ValueError):
        size = 0  # read_bytes says what is wrong
    if size > MAX_BYTES:
        raise UserError(
            f"the file has {size >> 20:,} MB, at most {MAX_BYTES >> 20} are read.",
            where=str(path),
            hint="split it, or use JSON Lines or Parquet",
        )
    data = read_bytes(path)
    if not data.removeprefix(codecs.BOM_UTF8).strip():
        raise UserError("the file is empty.", where=str(path), hint="export it again, or restore a copy")
    return data


def text_of(data: bytes, where: str) -> str:
    """Decode UTF-8, or UTF-16 that starts with its mark; nothing else is guessed.

    Raises:
        UserError: naming the first byte that does not fit.
    """
    encoding, skip = "utf-8", 0
    for mark, name in _BOMS:
        if data.startswith(mark):
            encoding, skip = name, len(mark)
            break
    try:
        return data[skip:].decode(encoding)
    except UnicodeDecodeError as error:
        raise UserError(
            f"not {encoding.upper()}: {error.reason} at byte {error.start + skip}.",
            where=where,
            hint="save the file as UTF-8",
        ) from None


def load_text(path: Path) -> str:
    """Read a text file; see ``read_limited`` and ``text_of``."""
    data = read_limited(path)
    if data.startswith(b"PK\x03\x04"):  # .xlsx, .ods, .zip
        raise UserError(
            "this is a workbook or an archive, not text.",
            where=str(path),
            hint="save a sheet as CSV, in UTF-8",
        )
    return text_of(data, str(path))


def load_json(path: Path) -> Any:
    """Read one JSON document; see ``read_limited`` and ``text_of``.

    Raises:
        UserError: also if it is not JSON, nested deeper than any annotation, or has a key twice in one object.
    """
    return parse_json(load_text(path).encode("utf-8"), str(path))

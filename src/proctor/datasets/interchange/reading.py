"""Files of other tools to text, with a limit on their size and on the encodings that are guessed."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import Any, Final

from proctor.datasets.interchange.strict_json import parse_json
from proctor.errors import UserError
from proctor.records import read_bytes

__all__ = ["MAX_BYTES", "MAX_FILES", "load_json", "load_text", "read_limited", "text_of"]

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
        raise UserError("the file is empty.", where=str(path), hint="export it anew, or restore a copy")
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
    return text_of(read_limited(path), str(path))


def load_json(path: Path) -> Any:
    """Read one JSON document; see ``read_limited`` and ``text_of``.

    Raises:
        UserError: also if it is not JSON, nested deeper than any annotation, or has a key twice in one object.
    """
    return parse_json(load_text(path).encode("utf-8"), str(path))

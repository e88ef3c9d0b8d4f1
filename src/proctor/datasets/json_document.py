"""JSON as releases have it: decoded as a whole, with what is odd in it told instead of refused or lost.

Python's own decoder is used because it lets two things be seen that a strict one refuses or hides: ``NaN`` and
``Infinity``, which Python's encoder writes, become numbers that are not finite, for the reader to drop with their
record; of a key that occurs twice in one object the first value counts, and the key is named.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from proctor.datasets.dataset import Log
from proctor.datasets.special_files import refuse_special
from proctor.errors import UserError
from proctor.records import read_bytes

__all__ = ["MAX_BYTES", "REPEATED_KEY", "JsonDocument", "decode_json", "read_json_document"]

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
        text = data.decode("utf-8-sig")
        if not text.strip():
            raise UserError(
                "the file is empty, a JSON document was expected.", where=where, hint="restore a copy of it"
            )
        value = json.loads(text, object_pairs_hook=once)
    except UnicodeDecodeError as error:
        raise UserError(
            f"not UTF-8: {error.reason} at byte {error.start}.", where=where, hint="save the file as UTF-8"
        ) from None
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

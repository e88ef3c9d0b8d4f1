"""Names of documents and ids of sources: the same in every run, unique, and safe in JSON, addresses and terminals."""

from __future__ import annotations

import os
from pathlib import Path, PurePath
from typing import Final

__all__ = ["caption_from_name", "document_id", "safe_name"]

_SAFE: Final = frozenset("._-/()+,=@")


def document_id(path: Path, folder: Path) -> str:
    """Return the path of a document relative to its folder; one that is no text (bytes that are not UTF-8) in its safe form."""
    name = path.relative_to(folder).as_posix()
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return safe_name(name)
    return name


def safe_name(name: str) -> str:
    """Return a name without spaces, ``#``, ``:`` and control characters; letters and digits of any script stay.

    Everything else becomes ``%`` and two hex digits a byte, as in addresses, so different names stay different.
    """
    return "".join(
        c if c.isalnum() or c in _SAFE else "".join(f"%{byte:02X}" for byte in os.fsencode(c)) for c in name
    )


def caption_from_name(path: PurePath) -> str:
    """Return the name of an image file as words: ``red_kettle-2.jpg`` is "red kettle 2"."""
    words = path.stem.replace("_", " ").replace("-", " ").split()
    return " ".join(words).encode("utf-8", "replace").decode("utf-8") or path.suffix.lstrip(".")

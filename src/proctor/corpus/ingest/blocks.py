"""What a reader finds in a document, in reading order, and how documents and sources are named."""

from __future__ import annotations

import os
from pathlib import Path, PurePath
from typing import Final

import msgspec

__all__ = [
    "Block",
    "Heading",
    "Paragraph",
    "Picture",
    "Problem",
    "TableBlock",
    "Title",
    "caption_from_name",
    "document_id",
    "safe_name",
    "single_spaced",
]


class Title(msgspec.Struct, frozen=True, tag="title"):
    """What the document calls itself; the last one counts."""

    text: str


class Heading(msgspec.Struct, frozen=True, tag="heading"):
    """Begins a section; ``level`` counts from 1, ``page`` too (0 where there are no pages)."""

    text: str
    level: int = 1
    page: int = 0


class Paragraph(msgspec.Struct, frozen=True, tag="paragraph"):
    """Running text; white space is made single by who uses it."""

    text: str
    page: int = 0


class TableBlock(msgspec.Struct, frozen=True, tag="table"):
    """A table with its spans expanded.

    Attributes:
        header: empty where it has none.
        rows: without the header.
        caption: empty where none was found.
        page: from 1; 0 where there are no pages.
        first_row: number of the first of ``rows`` in the whole table, from 1.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    page: int = 0
    first_row: int = 1


class Picture(msgspec.Struct, frozen=True, tag="picture"):
    """An image whose pixels were checked.

    Attributes:
        file: what ``Source.image`` will say.
        sha256: of the file's bytes.
        width: in pixels.
        height: in pixels.
        caption: empty where none was found.
        page: from 1; 0 where there are no pages.
        original: absolute path of the local file it was taken from; empty for one out of a document.
    """

    file: str
    sha256: str
    width: int
    height: int
    caption: str = ""
    page: int = 0
    original: str = ""


class Problem(msgspec.Struct, frozen=True, tag="problem"):
    """Something that is left out.

    Attributes:
        reason: code that is counted.
        detail: what was seen and what to do.
        place: behind the name of the document (``#p3``); empty for all of it.
    """

    reason: str
    detail: str
    place: str = ""


Block = Title | Heading | Paragraph | TableBlock | Picture | Problem


def single_spaced(text: str) -> str:
    """Make every run of white space one space; lone surrogates, which no file can hold, become question marks."""
    return " ".join(text.split()).encode("utf-8", "replace").decode("utf-8")


# -- names of documents and ids of sources: the same in every run, unique, safe everywhere -------------------------

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

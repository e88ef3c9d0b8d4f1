"""What a reader finds in a document, in reading order: the only thing that readers and the making of sources share."""

from __future__ import annotations

import msgspec

__all__ = ["Block", "Heading", "Paragraph", "Picture", "Problem", "TableBlock", "Title", "single_spaced"]


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

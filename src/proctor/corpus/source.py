"""A source: one text, table or image of a corpus, as SMMQG describes it.

The three kinds share one record, so that a corpus is one stream and one table. A text has a ``title`` and a ``body``; a
table has a ``title``, a ``section``, a ``header`` and ``rows``; an image has a caption, which stands in ``title``, an
``image`` (where its pixels are) and, where somebody described it, a ``verbalisation``.

``render_source`` is the one text of a source: for embeddings, for BM25 and for prompts without pixels.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Final, Literal, get_args

import msgspec

__all__ = [
    "MIN_TEXT_LENGTH",
    "MODALITIES",
    "Modality",
    "Source",
    "body_length",
    "image_source",
    "is_long_enough",
    "render_source",
    "render_table",
    "table_source",
    "text_source",
]

Modality = Literal["text", "table", "image"]
MODALITIES: Final[tuple[Modality, ...]] = get_args(Modality)
"""In the order in which SMMQG counts them."""

MIN_TEXT_LENGTH: Final = 200
"""Characters that the body of a text must have for SMMQG to use it (paper; measured by ``body_length``)."""


class Source(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """One text, table or image; make it with ``text_source``, ``table_source`` or ``image_source``.

    Attributes:
        id: unique in its corpus, the same in every run.
        modality: ``text``, ``table`` or ``image``.
        title: of a text or a table; of an image its caption.
        body: of a text.
        section: of a table: the heading under which it stands, if there is one.
        header: of a table: names of its columns; empty where it has none.
        rows: of a table: its cells, row by row.
        image: of an image: path relative to the data set's folder, or an address. Nothing says that the pixels are there.
        verbalisation: of an image: what a model or a person says that it shows; None where nobody did.
        doc_id: which document (page) it is from; sources of one page share it.
        locator: where in the document.
        url: of the document.
        content_hash: SHA-256 as hex digits: of the rendering with its spaces made single, of an image of its bytes, or of
            caption and path where its pixels are missing. Equal contents have equal hashes.
        licence: SPDX, where it is known.
        meta: whatever else is known, plain text values.
    """

    id: str
    modality: Modality
    title: str = ""
    body: str = ""
    section: str = ""
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    image: str = ""
    verbalisation: str | None = None
    doc_id: str = ""
    locator: str = ""
    url: str | None = None
    content_hash: str = ""
    licence: str | None = None
    meta: Mapping[str, str] = {}

    @property
    def caption(self) -> str:
        """Caption of an image."""
        return self.title


# -- making ----------------------------------------------------------------------------------------------------


def text_source(
    id: str,
    title: str,
    body: str,
    *,
    doc_id: str = "",
    locator: str = "",
    url: str | None = None,
    licence: str | None = None,
    meta: Mapping[str, str] | None = None,
) -> Source:
    """Return a text with its content hash."""
    return Source(
        id=id,
        modality="text",
        title=title,
        body=body,
        doc_id=doc_id,
        locator=locator,
        url=url,
        content_hash=_text_hash(_render_text(title, body)),
        licence=licence,
        meta=meta or {},
    )


def table_source(
    id: str,
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    section: str = "",
    doc_id: str = "",
    locator: str = "",
    url: str | None = None,
    licence: str | None = None,
    meta: Mapping[str, str] | None = None,
) -> Source:
    """Return a table with its content hash; rows may be of different lengths."""
    return Source(
        id=id,
        modality="table",
        title=title,
        section=section,
        header=tuple(header),
        rows=tuple(map(tuple, rows)),
        doc_id=doc_id,
        locator=locator,
        url=url,
        content_hash=_text_hash(render_table(title, section, header, rows)),
        licence=licence,
        meta=meta or {},
    )


def image_source(
    id: str,
    caption: str,
    image: str,
    *,
    pixels_sha256: str | None = None,
    verbalisation: str | None = None,
    doc_id: str = "",
    locator: str = "",
    url: str | None = None,
    licence: str | None = None,
    meta: Mapping[str, str] | None = None,
) -> Source:
    """Return an image with its content hash.

    Args:
        id: of the source.
        caption: of the image.
        image: path or address of the pixels.
        pixels_sha256: of the image file's bytes, where it is at hand.
        verbalisation: what it shows, in words.
        doc_id: of the document.
        locator: in the document.
        url: of the document.
        licence: of the image.
        meta: further plain text values.
    """
    return Source(
        id=id,
        modality="image",
        title=caption,
        image=image,
        verbalisation=verbalisation,
        doc_id=doc_id,
        locator=locator,
        url=url,
        content_hash=pixels_sha256 or _text_hash(f"{caption}\n{image}"),
        licence=licence,
        meta=meta or {},
    )


def _text_hash(text: str) -> str:
    # one space for every run of white space, and one way to write each letter
    single = " ".join(text.split())
    return hashlib.sha256(
        (single if single.isascii() else unicodedata.normalize("NFC", single)).encode("utf-8")
    ).hexdigest()


# -- length ----------------------------------------------------------------------------------------------------


def body_length(source: Source) -> int:
    """Characters (code points) of the body after every run of white space became one space; the title does not count."""
    return len(" ".join(source.body.split()))


def is_long_enough(source: Source, minimum: int = MIN_TEXT_LENGTH) -> bool:
    """False for a text whose body is shorter than ``minimum``; tables and images have no such rule (paper)."""
    return source.modality != "text" or body_length(source) >= minimum


# -- rendering -------------------------------------------------------------------------------------------------


def render_source(source: Source) -> str:
    """Return the text of a source.

    A text is ``title: body``. A table is its title, its section (where it has one), its header and its rows, one a line, cells
    joined by `` | ``; bars and line breaks within a cell become spaces. An image is ``caption. verbalisation``, or the
    caption alone.
    """
    if source.modality == "text":
        return _render_text(source.title, source.body)
    if source.modality == "table":
        return render_table(source.title, source.section, source.header, source.rows)
    return f"{source.title}. {source.verbalisation}" if source.verbalisation else source.title


def _render_text(title: str, body: str) -> str:
    return f"{title}: {body}"


def render_table(
    title: str,
    section: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    limit: int | None = None,
) -> str:
    """Return the text of a table; see ``render_source``.

    Args:
        title: first line.
        section: second line, left out where it is empty.
        header: next line, left out where there are no columns.
        rows: one line each.
        limit: at most so many rows; None for all.
    """
    lines = [_one_line(title)]
    if section:
        lines.append(_one_line(section))
    if header:
        lines.append(_joined(header))
    lines += map(_joined, rows[:limit])
    return "\n".join(lines)


def _joined(cells: Sequence[str]) -> str:
    return " | ".join(_one_line(cell.replace("|", " ")) for cell in cells)


def _one_line(text: str) -> str:
    """Every line break of Unicode becomes a space; other spaces stay."""
    lines = text.splitlines()
    return text if len(lines) == 1 and lines[0] == text else " ".join(lines)

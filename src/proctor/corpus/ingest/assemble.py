"""Blocks of one document to sources: passages, parts of tables, images, with ids, titles and locators.

Passages are whole paragraphs up to a length, never across sections, with character offsets.

The text of a document is its paragraphs, white space made single, joined by line breaks. A passage is a slice of it: the
body of a passage is ``document_text(sections)[start:end]``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from proctor.corpus.ingest.blocks import (
    Block,
    Heading,
    Paragraph,
    Picture,
    Problem,
    TableBlock,
    Title,
    caption_from_name,
    safe_name,
    single_spaced,
)
from proctor.corpus.ingest.reading import IngestOptions
from proctor.corpus.source import MIN_TEXT_LENGTH, Modality, Source, image_source, table_source, text_source
from proctor.records import Dropped

__all__ = ["Passage", "Section", "assemble", "cut_passages", "document_text"]

_SENTENCE_END: Final = re.compile(r"[.!?…][\"'”’)\]]* |[。！？]")


@dataclass
class Section:
    """What stands under one heading; the text before the first heading is a section without a name."""

    name: str = ""
    paragraphs: list[Paragraph] = field(default_factory=list)


@dataclass(frozen=True)
class Passage:
    """A slice of a document.

    Attributes:
        body: the text.
        start: offset of its first character in the text of the document.
        end: offset behind its last one.
        section: name of its section.
        page: on which it begins; 0 where there are no pages.
        last_page: page of its last paragraph.
    """

    body: str
    start: int
    end: int
    section: str
    page: int
    last_page: int


@dataclass(frozen=True)
class _Piece:
    start: int
    end: int
    page: int


def document_text(sections: Sequence[Section]) -> str:
    """Return the text that offsets count in."""
    return "\n".join(text for section in sections for text, _ in _texts(section))


def cut_passages(
    sections: Sequence[Section], *, length: int = 1_000, minimum: int = MIN_TEXT_LENGTH
) -> Iterator[Passage]:
    """Yield the passages of a document in order; together they hold every word.

    Paragraphs are packed while they fit. A paragraph that is longer than ``length`` is cut behind a sentence, or else between words,
    or else anywhere. A passage below ``minimum`` takes in what follows although it does not fit; a short last one of a section
    joins the one before. So a passage has fewer than ``length + 2 * minimum + 2`` characters, and is below ``minimum`` only
    where its whole section is.

    Args:
        sections: of the document, in order.
        length: characters that a passage should not exceed.
        minimum: characters that a passage should have.
    """
    text = document_text(sections)
    offset = 0
    for section in sections:
        pieces: list[_Piece] = []
        for paragraph, page in _texts(section):
            pieces += (_Piece(offset + start, offset + end, page) for start, end in _spans(paragraph, length))
            offset += len(paragraph) + 1
        for group in _packed(pieces, length, minimum):
            first, last = group[0], group[-1]
            yield Passage(
                text[first.start : last.end], first.start, last.end, section.name, first.page, last.page
            )


def _texts(section: Section) -> Iterator[tuple[str, int]]:
    for paragraph in section.paragraphs:
        if text := single_spaced(paragraph.text):
            yield text, paragraph.page


def _packed(pieces: Sequence[_Piece], length: int, minimum: int) -> list[list[_Piece]]:
    groups: list[list[_Piece]] = []
    for piece in pieces:
        if groups and (_size(groups[-1]) < minimum or piece.end - groups[-1][0].start <= length):
            groups[-1].append(piece)
        else:
            groups.append([piece])
    if len(groups) > 1 and _size(groups[-1]) < minimum:
        short = groups.pop()
        groups[-1] += short
    return groups


def _size(group: Sequence[_Piece]) -> int:
    return group[-1].end - group[0].start


def _spans(text: str, length: int) -> Iterator[tuple[int, int]]:
    """Cut a single-spaced text into slices of at most ``length``; the spaces between them belong to none."""
    start = 0
    while len(text) - start > length:
        end = _cut(text, start, length)
        yield start, end
        start = end + (text[end] == " ")
    if start < len(text):
        yield start, len(text)


def _cut(text: str, start: int, length: int) -> int:
    """Return where to cut: behind the last sentence of the window, else its last word, else its last character."""
    stop = start + length
    found = _SENTENCE_END.finditer(text, start, stop + 1)
    ends = [end for m in found if (end := m.end() - (text[m.end() - 1] == " ")) <= stop]
    if ends and ends[-1] > start + length // 4:
        return ends[-1]
    space = text.rfind(" ", start, stop + 1)
    return space if space > start else stop


# -- blocks of one document to sources: passages, parts of tables, images, with ids, titles and locators -----------


def assemble(doc_id: str, blocks: Sequence[Block], options: IngestOptions) -> Iterator[Source | Dropped]:
    """Yield the sources of a document: its passages, then its tables, then its images, then what was left out.

    A title is the document's, with the section behind it (``Handbook – Safety``), so that a passage says by itself what
    it is about. Ids are modality, document, and a number that counts within a page (``text:a.pdf#p3-2``), or within the
    document where there are no pages (``text:a.md#2``).

    Args:
        doc_id: path of the document.
        blocks: what its reader found.
        options: lengths and licence.
    """
    yield from _Assembly(doc_id, blocks, options).sources()


class _Assembly:
    def __init__(self, doc_id: str, blocks: Sequence[Block], options: IngestOptions) -> None:
        self._doc = doc_id
        self._safe = safe_name(doc_id)
        self._options = options
        self._blocks = blocks
        titles = [b.text for b in blocks if isinstance(b, Title) and b.text.strip()]
        self._title = single_spaced(titles[-1]) if titles else caption_from_name(PurePosixPath(doc_id))
        self._numbers: Counter[tuple[Modality, int]] = Counter()

    def sources(self) -> Iterator[Source | Dropped]:
        sections = [Section()]
        placed: list[tuple[TableBlock | Picture, str]] = []
        problems: list[Problem] = []
        for block in self._blocks:
            if isinstance(block, Heading):
                sections.append(Section(single_spaced(block.text)))
            elif isinstance(block, Paragraph):
                sections[-1].paragraphs.append(block)
            elif isinstance(block, TableBlock | Picture):
                placed.append((block, sections[-1].name))
            elif isinstance(block, Problem):
                problems.append(block)
        passages = cut_passages(
            sections, length=self._options.passage_length, minimum=self._options.min_passage
        )
        yield from map(self._text, passages)
        for block, section in placed:
            if isinstance(block, TableBlock):
                yield from self._table(block, section)
        for block, section in placed:
            if isinstance(block, Picture):
                yield self._image(block, section)
        for problem in problems:
            yield Dropped(self._doc + problem.place, problem.reason, problem.detail)

    def _id(self, modality: Modality, page: int) -> str:
        self._numbers[modality, page] += 1
        number = self._numbers[modality, page]
        return f"{modality}:{self._safe}#p{page}-{number}" if page else f"{modality}:{self._safe}#{number}"

    def _named(self, section: str) -> str:
        return f"{self._title} – {section}" if section and section != self._title else self._title

    def _text(self, passage: Passage) -> Source:
        pages = (
            f"{passage.page}-{passage.last_page}" if passage.last_page > passage.page else str(passage.page)
        )
        where = [f"pages {pages}" if "-" in pages else f"page {pages}"] if passage.page else []
        meta = {"start": str(passage.start), "end": str(passage.end)}
        return text_source(
            self._id("text", passage.page),
            self._named(passage.section),
            passage.body,
            doc_id=self._doc,
            locator=_locator(
                *where, _in_section(passage.section), f"characters {passage.start}-{passage.end}"
            ),
            licence=self._options.licence,
            meta=meta | _meta(passage.section, passage.page),
        )

    def _image(self, picture: Picture, section: str) -> Source:
        caption = single_spaced(picture.caption)
        said_by = "document" if caption else "section"
        return image_source(
            self._id("image", picture.page),
            caption or self._named(section),
            picture.file,
            pixels_sha256=picture.sha256,
            doc_id=self._doc,
            locator=_locator(_page(picture.page), _in_section(section)),
            licence=self._options.licence,
            meta=_meta(section, picture.page)
            | {"caption_from": said_by, "width": str(picture.width), "height": str(picture.height)},
        )

    # -- tables ------------------------------------------------------------------------------------------------

    def _table(self, table: TableBlock, section: str) -> Iterator[Source | Dropped]:
        header = tuple(map(single_spaced, table.header))
        limit = self._options.max_cell
        page = f"#p{table.page}" if table.page else ""
        if any(len(name) > limit for name in header):
            yield Dropped(
                f"{self._doc}{page}-table-{table.first_row}",
                "cell-too-long",
                f"a name of a column has more than {limit} characters, so the table is left out. Shorten it, or raise max_cell.",
            )
            return
        part: list[tuple[str, ...]] = []
        first, size = table.first_row, 0
        for number, row in enumerate(table.rows, table.first_row):
            cells = tuple(map(single_spaced, row))
            own = sum(map(len, cells))
            if any(len(cell) > limit for cell in cells):
                yield Dropped(
                    f"{self._doc}{page}-row-{number}",
                    "cell-too-long",
                    f"row {number} has a cell of {max(map(len, cells))} characters, {limit} are allowed. Raise max_cell.",
                )
                continue
            if part and (len(part) >= self._options.table_rows or size + own > self._options.table_length):
                yield self._part(table, header, part, first, number - 1, section)
                part, first, size = [], number, 0
            part.append(cells)
            size += own
        if part:
            yield self._part(table, header, part, first, table.first_row + len(table.rows) - 1, section)

    def _part(
        self,
        table: TableBlock,
        header: tuple[str, ...],
        rows: list[tuple[str, ...]],
        first: int,
        last: int,
        section: str,
    ) -> Source:
        caption = single_spaced(table.caption)
        return table_source(
            self._id("table", table.page),
            f"{self._title} – {caption}" if caption and caption != self._title else self._title,
            header,
            rows,
            section=section if section != self._title else "",
            doc_id=self._doc,
            locator=_locator(_page(table.page), _in_section(section), f"rows {first}-{last}"),
            licence=self._options.licence,
            meta=_meta(section, table.page),
        )


def _locator(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _page(page: int) -> str:
    return f"page {page}" if page else ""


def _in_section(name: str) -> str:
    return f'section "{name}"' if name else ""


def _meta(section: str, page: int) -> dict[str, str]:
    meta = {"section": section} if section else {}
    return meta | ({"page": str(page)} if page else {})

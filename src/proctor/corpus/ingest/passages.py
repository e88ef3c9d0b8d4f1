"""Passages: whole paragraphs up to a length, never across sections, with character offsets.

The text of a document is its paragraphs, white space made single, joined by line breaks. A passage is a slice of it: the
body of a passage is ``document_text(sections)[start:end]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from proctor.corpus.ingest.blocks import Paragraph, single_spaced
from proctor.corpus.source import MIN_TEXT_LENGTH

__all__ = ["Passage", "Section", "cut_passages", "document_text"]

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

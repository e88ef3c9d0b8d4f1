"""Which reader reads which file; Markdown and plain text.

Markdown (CommonMark with pipe tables, by markdown-it-py) is read as HTML from what it renders to. So raw HTML within
Markdown (figures, tables with spans) is read as well, and what HTML ignores is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

from proctor.corpus.ingest.blocks import Block, Paragraph, Title, single_spaced
from proctor.corpus.ingest.decoding import decode_text, told_guess
from proctor.corpus.ingest.html import html_blocks, read_html
from proctor.corpus.ingest.images import IMAGE_ENDINGS
from proctor.corpus.ingest.pdf import read_pdf
from proctor.corpus.ingest.reading import Reading, package
from proctor.corpus.ingest.tables import read_table
from proctor.errors import MissingExtraError
from proctor.records import read_bytes

__all__ = ["KINDS", "READERS", "Kind", "kind_of", "read_markdown", "read_plain", "require_packages"]

_FRONT: Final = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_TITLE: Final = re.compile(r"^title:[ \t]*(.+)$", re.MULTILINE)


def read_markdown(reading: Reading) -> Iterator[Block]:
    """Yield the blocks of a Markdown file; of its front matter (``---``) the title is used.

    Raises:
        CannotReadError: if it is no text.
        MissingExtraError: without the extra ``corpus``.
    """
    decoded = decode_text(read_bytes(reading.path))
    yield from told_guess(decoded)
    text = decoded.text.replace("\r\n", "\n").replace("\r", "\n")
    front = _FRONT.match(text)
    parser = package("markdown_it").MarkdownIt("commonmark").enable("table").enable("strikethrough")
    yield from html_blocks(parser.render(text[front.end() :] if front else text), reading)
    if front and (title := _TITLE.search(front[1])):
        yield Title(single_spaced(title[1]).strip("\"'"))


# -- plain text: paragraphs with empty lines between them ----------------------------------------------------------

_BETWEEN: Final = re.compile(r"\n[ \t]*\n|\f")


def read_plain(reading: Reading) -> Iterator[Block]:
    """Yield the paragraphs of a text file.

    Raises:
        CannotReadError: if it is no text.
    """
    decoded = decode_text(read_bytes(reading.path))
    yield from told_guess(decoded)
    for text in _BETWEEN.split(decoded.text.replace("\r\n", "\n").replace("\r", "\n")):
        if text.strip():
            yield Paragraph(text)


# -- which reader reads which file ---------------------------------------------------------------------------------

Kind = Literal["pdf", "html", "markdown", "plain", "table", "image"]

KINDS: Final[dict[str, Kind]] = {
    ".pdf": "pdf",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "plain",
    ".text": "plain",
    ".csv": "table",
    ".tsv": "table",
    **dict.fromkeys(sorted(IMAGE_ENDINGS), "image"),
}
"""Kind of a document by the ending of its name, in small letters."""

READERS: Final[dict[Kind, Callable[[Reading], Iterator[Block]]]] = {
    "pdf": read_pdf,
    "html": read_html,
    "markdown": read_markdown,
    "plain": read_plain,
    "table": read_table,
}
"""Images have a reader of another shape."""

_NEEDS: Final[dict[Kind, tuple[str, ...]]] = {
    "pdf": ("pdfplumber", "pypdfium2", "PIL"),
    "html": ("selectolax", "charset_normalizer", "PIL"),
    "markdown": ("markdown_it", "selectolax", "charset_normalizer", "PIL"),
    "plain": ("charset_normalizer",),
    "table": ("charset_normalizer",),
    "image": ("PIL", "charset_normalizer"),
}


def kind_of(path: Path) -> Kind | None:
    """Return which kind of document the name of a file promises; None for one that nobody reads."""
    return KINDS.get(path.suffix.lower())


def require_packages(kind: Kind) -> None:
    """Look whether the packages are there before a file is opened.

    Raises:
        MissingExtraError: naming the first that is missing.
    """
    for name in _NEEDS[kind]:
        if find_spec(name) is None:
            raise MissingExtraError(name, "corpus", f"reading {kind} files")

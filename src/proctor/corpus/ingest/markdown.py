"""Markdown (CommonMark with pipe tables, by markdown-it-py): what it renders to is read as HTML is.

So raw HTML within Markdown (figures, tables with spans) is read as well, and what HTML ignores is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from proctor.corpus.ingest.blocks import Block, Problem, Title, single_spaced
from proctor.corpus.ingest.decoding import decode_text
from proctor.corpus.ingest.html import html_blocks
from proctor.corpus.ingest.reading import Reading, package
from proctor.records import read_bytes

__all__ = ["read_markdown"]

_FRONT: Final = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_TITLE: Final = re.compile(r"^title:[ \t]*(.+)$", re.MULTILINE)


def read_markdown(reading: Reading) -> Iterator[Block]:
    """Yield the blocks of a Markdown file; of its front matter (``---``) the title is used.

    Raises:
        CannotReadError: if it is no text.
        MissingExtraError: without the extra ``corpus``.
    """
    decoded = decode_text(read_bytes(reading.path))
    if decoded.guessed:
        yield Problem(
            "encoding-guessed", f"read as {decoded.encoding}. Save it as UTF-8 to be sure.", "#encoding"
        )
    text = decoded.text.replace("\r\n", "\n").replace("\r", "\n")
    front = _FRONT.match(text)
    parser = package("markdown_it").MarkdownIt("commonmark").enable("table").enable("strikethrough")
    yield from html_blocks(parser.render(text[front.end() :] if front else text), reading)
    if front and (title := _TITLE.search(front[1])):
        yield Title(single_spaced(title[1]).strip("\"'"))

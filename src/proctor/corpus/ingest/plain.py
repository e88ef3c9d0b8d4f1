"""Plain text: paragraphs with empty lines between them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from proctor.corpus.ingest.blocks import Block, Paragraph, Problem
from proctor.corpus.ingest.decoding import decode_text
from proctor.corpus.ingest.reading import Reading
from proctor.records import read_bytes

__all__ = ["read_plain"]

_BETWEEN: Final = re.compile(r"\n[ \t]*\n|\f")


def read_plain(reading: Reading) -> Iterator[Block]:
    """Yield the paragraphs of a text file.

    Raises:
        CannotReadError: if it is no text.
    """
    decoded = decode_text(read_bytes(reading.path))
    if decoded.guessed:
        yield Problem(
            "encoding-guessed", f"read as {decoded.encoding}. Save it as UTF-8 to be sure.", "#encoding"
        )
    for text in _BETWEEN.split(decoded.text.replace("\r\n", "\n").replace("\r", "\n")):
        if text.strip():
            yield Paragraph(text)

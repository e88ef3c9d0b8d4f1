"""Which reader reads which file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

from proctor.corpus.ingest.blocks import Block
from proctor.corpus.ingest.html import read_html
from proctor.corpus.ingest.images import IMAGE_ENDINGS
from proctor.corpus.ingest.markdown import read_markdown
from proctor.corpus.ingest.pdf import read_pdf
from proctor.corpus.ingest.plain import read_plain
from proctor.corpus.ingest.reading import Reading
from proctor.corpus.ingest.tables import read_table
from proctor.errors import MissingExtraError

__all__ = ["KINDS", "READERS", "Kind", "kind_of", "require_packages"]

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

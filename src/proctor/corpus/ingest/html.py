"""HTML: headings as sections, paragraphs, tables with their spans, local images with alt text or figure caption.

selectolax (Lexbor) parses as browsers do and runs nothing. The tree is walked without recursion: pages nest as deep as
they like. Scripts, styles, navigation, forms and what is hidden from readers are not content; where a page says which
part is its main one (``<main>``), only that part is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from proctor.corpus.ingest.blocks import (
    Block,
    Heading,
    Paragraph,
    Problem,
    TableBlock,
    Title,
    single_spaced,
)
from proctor.corpus.ingest.decoding import decode_text, told_guess
from proctor.corpus.ingest.pictures import Pictures
from proctor.corpus.ingest.reading import CannotReadError, Reading, package
from proctor.corpus.ingest.tables import Cell, expand_spans, join_headers, split_header, trimmed
from proctor.procedure.inflect import word_set
from proctor.records import read_bytes

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

__all__ = ["html_blocks", "read_html"]

_TEXT: Final = "-text"
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_NO_CONTENT: Final = word_set(
    "script style noscript template nav head form button select option input textarea svg math iframe "
    "object embed audio video canvas applet frame frameset dialog"
)
_NO_ROLE: Final = frozenset({"navigation", "search", "contentinfo", "menu", "menubar", "toolbar"})
_INLINE: Final = word_set(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark meter nobr output "
    "picture progress q rp rt ruby s samp small source span strike strong sub sup time tt u var wbr"
)
_HIDDEN: Final = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)


def read_html(reading: Reading) -> Iterator[Block]:
    """Yield the blocks of an HTML file.

    Raises:
        CannotReadError: if it is no text.
        MissingExtraError: without the extra ``corpus``.
    """
    decoded = decode_text(read_bytes(reading.path), html=True)
    yield from told_guess(decoded)
    yield from html_blocks(decoded.text, reading)


def html_blocks(text: str, reading: Reading) -> Iterator[Block]:
    """Yield the blocks of HTML that is at hand.

    Raises:
        MissingExtraError: without the extra ``corpus``.
    """
    tree = package("selectolax.lexbor").LexborHTMLParser(text)
    body = tree.body
    if body is None:
        return
    if title := _title(tree):
        yield Title(title)
    mains = [node for node in body.css("main") if not _is_hidden(node)]
    yield from _Walk(reading).blocks(mains[0] if len(mains) == 1 and _text_of(mains[0]) else body)


def _title(tree: Any) -> str:
    """Return the only first-level heading, else what ``<title>`` says."""
    headings = [node for node in tree.css("h1") if not _is_hidden(node)]
    if len(headings) == 1 and (said := _text_of(headings[0])):
        return said
    title = tree.css_first("head title")
    return single_spaced(title.text(deep=True)) if title is not None else ""


class _Walk:
    """One walk over a tree: text is gathered until a block ends."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._pictures = Pictures(reading)
        self._text: list[str] = []
        self._captions: list[str] = []  # of the figures around
        self._problems = 0

    def blocks(self, root: LexborNode) -> Iterator[Block]:
        stack: list[tuple[LexborNode, bool]] = [(root, False)]
        while stack:
            node, leaving = stack.pop()
            if leaving:
                yield from self._flushed()
                if node.tag == "figure":
                    self._captions.pop()
                continue
            yield from self._entered(node, stack)
        yield from self._flushed()
        yield from self._pictures.problems()

    def _entered(self, node: LexborNode, stack: list[tuple[LexborNode, bool]]) -> Iterator[Block]:
        tag = node.tag or ""
        if tag == _TEXT:
            self._text.append(node.text_content or "")
        elif tag == "img":
            yield from self._picture(node)
        elif tag == "br":
            self._text.append(" ")
        elif _is_hidden(node) or (tag == "figcaption" and self._captions and self._captions[-1]):
            return
        elif tag in _INLINE:
            stack += ((child, False) for child in _reversed_children(node))
        else:
            yield from self._flushed()
            self._reading.check_time()
            yield from self._block(node, tag, stack)

    def _block(self, node: LexborNode, tag: str, stack: list[tuple[LexborNode, bool]]) -> Iterator[Block]:
        if tag in _HEADINGS:
            if text := _text_of(node):
                yield Heading(text, _HEADINGS[tag])
            yield from self._pictures_below(node)
            return
        if tag == "table" and (rows := _data_rows(node)):
            yield from self._table(node, rows)
            yield from self._pictures_below(node)
            return
        if tag == "figure":
            self._captions.append(_figure_caption(node))
        stack.append((node, True))
        stack += ((child, False) for child in _reversed_children(node))

    def _flushed(self) -> Iterator[Block]:
        text = single_spaced("".join(self._text))
        self._text.clear()
        if text:
            yield Paragraph(text)

    def _pictures_below(self, node: LexborNode) -> Iterator[Block]:
        for below in _nodes_below(node):
            if below.tag == "img":
                yield from self._picture(below)

    def _picture(self, node: LexborNode) -> Iterator[Block]:
        said = node.attributes
        address = said.get("src") or said.get("data-src") or ""
        figure = self._captions[-1] if self._captions else ""
        caption = figure or said.get("alt") or said.get("title") or ""
        if not address.strip():
            return
        try:
            yield from self._pictures.linked(address, caption)
        except CannotReadError as problem:
            yield self._problem(problem)

    def _table(self, node: LexborNode, rows: list[LexborNode]) -> Iterator[Block]:
        try:
            block = _table_block(node, rows, self._reading.options.max_cells)
        except CannotReadError as problem:
            yield self._problem(problem)
            return
        if block is None:  # one column, or one row: no table but a list
            for row in rows:
                if text := _text_of(row):
                    yield Paragraph(text)
            return
        figure = self._captions[-1] if self._captions else ""
        yield TableBlock(block.header, block.rows, block.caption or figure)

    def _problem(self, problem: CannotReadError) -> Problem:
        self._problems += 1
        return Problem(problem.reason, problem.detail, f"#left-out-{self._problems}")


# -- the tree --------------------------------------------------------------------------------------------------


def _reversed_children(node: LexborNode) -> Iterator[LexborNode]:
    child = node.last_child
    while child is not None:
        yield child
        child = child.prev


def _children(node: LexborNode) -> Iterator[LexborNode]:
    child = node.child
    while child is not None:
        yield child
        child = child.next


def _nodes_below(node: LexborNode) -> Iterator[LexborNode]:
    """Yield what is below a node in the order of the document, without what is hidden."""
    stack = list(_reversed_children(node))
    while stack:
        below = stack.pop()
        if below.tag != _TEXT and _is_hidden(below):
            continue
        yield below
        stack += _reversed_children(below)


def _is_hidden(node: LexborNode) -> bool:
    tag = node.tag or ""
    if tag in _NO_CONTENT or tag[:1] in "-_!":
        return True
    said = node.attributes
    return bool(said) and (
        "hidden" in said
        or (said.get("aria-hidden") or "").lower() == "true"
        or (said.get("role") or "").lower() in _NO_ROLE
        or bool(_HIDDEN.search(said.get("style") or ""))
    )


def _text_of(node: LexborNode) -> str:
    parts: list[str] = []
    for below in _nodes_below(node):
        if below.tag == _TEXT:
            parts.append(below.text_content or "")
        elif below.tag not in _INLINE:
            parts.append(" ")
    return single_spaced("".join(parts))


def _figure_caption(figure: LexborNode) -> str:
    """Return the caption of a figure that shows an image or a table; other captions are text like any other."""
    below = list(_nodes_below(figure))
    caption = next((node for node in below if node.tag == "figcaption"), None)
    if caption is None or not any(node.tag in ("img", "table") for node in below):
        return ""
    return _text_of(caption)


# -- tables ----------------------------------------------------------------------------------------------------


def _data_rows(table: LexborNode) -> list[LexborNode]:
    """Return the rows of a table that holds data; none of one that only lays out a page."""
    if (table.attributes.get("role") or "").lower() in ("presentation", "none"):
        return []
    if any(node.tag == "table" for node in _nodes_below(table)):
        return []
    rows: list[LexborNode] = []
    for child in _children(table):
        if child.tag == "tr" and not _is_hidden(child):
            rows.append(child)
        elif child.tag in ("thead", "tbody", "tfoot") and not _is_hidden(child):
            rows += (row for row in _children(child) if row.tag == "tr" and not _is_hidden(row))
    return rows


def _table_block(table: LexborNode, rows: list[LexborNode], max_cells: int) -> TableBlock | None:
    cells = [[node for node in _children(row) if node.tag in ("td", "th")] for row in rows]
    grid = expand_spans(
        [
            [
                Cell(
                    _text_of(n), _span(n.attributes.get("colspan"), 1), _span(n.attributes.get("rowspan"), 0)
                )
                for n in row
            ]
            for row in cells
        ],
        max_cells,
    )
    names = 0  # rows with the names of the columns
    for row, here in zip(rows, cells, strict=True):
        in_head = row.parent is not None and row.parent.tag == "thead"
        if not here or not (in_head or all(cell.tag == "th" for cell in here)):
            break
        names += 1
    caption = next((_text_of(node) for node in _children(table) if node.tag == "caption"), "")
    if (
        names > 1 and len(cells[0]) == 1 and len(set(grid[0])) == 1
    ):  # one cell over all columns says what the table is
        caption, grid, names = caption or grid[0][0], grid[1:], names - 1
    body = trimmed(grid[names:])
    if names and grid:
        header = join_headers([[single_spaced(cell) for cell in row] for row in grid[:names]])
    else:
        header, rest = split_header(body)
        body = [list(row) for row in rest]
    if len(header or (body or [[]])[0]) < 2 or len(body) + bool(header) < 2:
        return None
    return TableBlock(header, tuple(map(tuple, body)), caption)


def _span(said: str | None, least: int) -> int:
    """Read a span as browsers do: what is no number is 1."""
    text = (said or "1").strip()
    return max(least, int(text)) if text.isascii() and text.isdigit() and len(text) < 7 else 1

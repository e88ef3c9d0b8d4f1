"""Words on a page to lines, columns, headings and paragraphs. Pure: positions in, text out.

Positions are in points, from the left and the top of the page.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Final

__all__ = [
    "Box",
    "Line",
    "Word",
    "body_size",
    "heading_level",
    "join_lines",
    "lines_in_order",
    "paragraphs",
    "rows_of",
    "running_key",
    "running_lines",
]

_COLUMN_SHARE: Final = 0.2
"""Of the width of a region that a column must have."""
_PROSE_SHARE: Final = 0.55
"""Of its column that the middle line of a column of prose must fill; cells of a table without lines mostly do not."""
_MIN_COLUMN_LINES: Final = 3
_LARGER: Final = 1.12
"""Times the size of running text from which on a line is a heading."""
_MAX_HEADING: Final = 150
_ITEM: Final = re.compile(r"(?:[•▪◦‣·–—*-]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)])$")
_RUNNING: Final = 3
"""Pages that a running head is on at least; that of a chapter is not on half of them."""
_DIGITS: Final = re.compile(r"\d+")
_BREAK_HYPHEN: Final = re.compile(r"[^\W\d_][-\u2010\u00ad]$")


@dataclass(frozen=True)
class Box:
    """A rectangle on a page."""

    x0: float
    top: float
    x1: float
    bottom: float

    def covers(self, x: float, y: float) -> bool:
        """True when the point is inside."""
        return self.x0 <= x <= self.x1 and self.top <= y <= self.bottom

    def beside(self, other: Box) -> bool:
        """True when both share some part of the page's width."""
        return self.x0 < other.x1 and other.x0 < self.x1


@dataclass(frozen=True)
class Word:
    """One word with the size of its letters."""

    text: str
    box: Box
    size: float
    bold: bool = False


@dataclass(frozen=True)
class Line:
    """Words beside each other, without a gap as wide as between columns."""

    words: tuple[Word, ...]
    page: int = 0
    column: int = 0

    @property
    def text(self) -> str:
        """Its words with single spaces."""
        return " ".join(word.text for word in self.words)

    @property
    def box(self) -> Box:
        """Around all words."""
        boxes = [word.box for word in self.words]
        return Box(
            min(b.x0 for b in boxes),
            min(b.top for b in boxes),
            max(b.x1 for b in boxes),
            max(b.bottom for b in boxes),
        )

    @property
    def size(self) -> float:
        """The size that most letters have, to half a point."""
        letters: Counter[float] = Counter()
        for word in self.words:
            letters[round(word.size * 2) / 2] += len(word.text)
        return max(letters, key=lambda size: (letters[size], size))

    @property
    def bold(self) -> bool:
        """True when all words are."""
        return all(word.bold for word in self.words)


# -- lines and columns -------------------------------------------------------------------------------------


def lines_in_order(words: Sequence[Word], page: int = 0) -> list[Line]:
    """Return the lines of a page in reading order: columns one after the other, what spans them between.

    A gutter is a vertical strip with at least three lines of prose on either side; lines across it part the page into bands.
    """
    ordered: list[Line] = []
    for column, segments in enumerate(_columns(_segments(words))):
        ordered += (
            Line(tuple(sorted(row, key=lambda w: w.box.x0)), page, column)
            for row in rows_of([word for segment in segments for word in segment.words])
        )
    return ordered


def rows_of(words: Sequence[Word]) -> list[list[Word]]:
    """Group words whose middles are on one height; the tallest word of a row says how much is one height."""
    rows: list[list[Word]] = []
    middle, reach = 0.0, 0.0
    for word in sorted(words, key=lambda w: ((w.box.top + w.box.bottom) / 2, w.box.x0)):
        own = (word.box.top + word.box.bottom) / 2
        if rows and own - middle <= max(reach, word.size * 0.4):
            rows[-1].append(word)
            reach = max(reach, word.size * 0.4)
        else:
            rows.append([word])
            middle, reach = own, word.size * 0.4
    return rows


def _segments(words: Sequence[Word]) -> list[Line]:
    """Cut rows where a gap is wider than a letter is high: there a gutter may be."""
    segments: list[Line] = []
    for row in rows_of(words):
        run: list[Word] = []
        for word in sorted(row, key=lambda w: w.box.x0):
            if run and word.box.x0 - run[-1].box.x1 > 0.9 * max(word.size, run[-1].size):
                segments.append(Line(tuple(run)))
                run = []
            run.append(word)
        segments.append(Line(tuple(run)))
    return segments


def _columns(segments: list[Line], depth: int = 0) -> list[list[Line]]:
    """Part segments into groups in reading order; each group is one column."""
    boxed = sorted(((s.box, s) for s in segments), key=lambda p: (p[0].top, p[0].x0))
    gutter = _gutter([box for box, _ in boxed]) if depth < 4 else None
    if gutter is None:
        return [[s for _, s in boxed]] if boxed else []
    groups: list[list[Line]] = []
    for band, across in _bands(boxed, gutter):
        if across:
            groups.append([s for _, s in band])
            continue
        for side in (True, False):
            part = [s for box, s in band if (box.x1 <= gutter) == side]
            groups += _columns(part, depth + 1)
    return groups


def _bands(boxed: Sequence[tuple[Box, Line]], gutter: float) -> Iterator[tuple[list[tuple[Box, Line]], bool]]:
    """Yield runs of segments, from the top, that all cross the gutter or that all do not."""
    run: list[tuple[Box, Line]] = []
    crossing = False
    for box, segment in boxed:
        crosses = box.x0 < gutter < box.x1
        if run and crosses != crossing:
            yield run, crossing
            run = []
        crossing = crosses
        run.append((box, segment))
    if run:
        yield run, crossing


def _gutter(boxes: Sequence[Box]) -> float | None:
    """Return the x of the strip between two columns that fewest lines cross, or None."""
    if len(boxes) < 2 * _MIN_COLUMN_LINES:
        return None
    left, right = min(b.x0 for b in boxes), max(b.x1 for b in boxes)
    width = right - left
    best: tuple[int, float] | None = None
    for x in sorted({b.x0 - 1.0 for b in boxes}):
        if not left + _COLUMN_SHARE * width <= x <= right - _COLUMN_SHARE * width:
            continue
        before = [b for b in boxes if b.x1 <= x]
        behind = [b for b in boxes if b.x0 >= x]
        crossing = len(boxes) - len(before) - len(behind)
        if crossing * 2 > len(boxes) or (best is not None and (crossing, x) >= best):
            continue
        if _is_column(before, width) and _is_column(behind, width) and _side_by_side(before, behind):
            best = (crossing, x)
    return best[1] if best else None


def _is_column(boxes: Sequence[Box], width: float) -> bool:
    if len(boxes) < _MIN_COLUMN_LINES:
        return False
    own = max(b.x1 for b in boxes) - min(b.x0 for b in boxes)
    return own >= _COLUMN_SHARE * width and median(b.x1 - b.x0 for b in boxes) >= _PROSE_SHARE * own


def _side_by_side(before: Sequence[Box], behind: Sequence[Box]) -> bool:
    top = max(min(b.top for b in before), min(b.top for b in behind))
    bottom = min(max(b.bottom for b in before), max(b.bottom for b in behind))
    return sum(top <= b.top and b.bottom <= bottom for b in behind) >= 2


# -- what lines are ------------------------------------------------------------------------------------------


def body_size(lines: Sequence[Line]) -> float:
    """Return the size of most letters; 0 where there are none."""
    letters: Counter[float] = Counter()
    for line in lines:
        letters[line.size] += len(line.text)
    return max(letters, key=lambda size: (letters[size], -size), default=0.0)


def running_lines(pages: Sequence[Sequence[Line]], heights: Sequence[float]) -> set[str]:
    """Return running heads, feet and page numbers: lines in the outer tenth of pages that three of them have.

    Digits count as equal, so "Page 3 of 9" is one line. What is returned is ``running_key`` of the lines.
    """
    seen: Counter[str] = Counter()
    for lines, height in zip(pages, heights, strict=True):
        margin = 0.1 * height
        outer = [line for line in lines if line.box.bottom <= margin or line.box.top >= 0.9 * height]
        seen.update({running_key(line) for line in outer})
    return {key for key, count in seen.items() if count >= _RUNNING}


def running_key(line: Line) -> str:
    """Return the text of a line with every number as ``#``."""
    return _DIGITS.sub("#", line.text)


def heading_level(line: Line, body: float, following: Line | None) -> int:
    """Return 1, 2 or 3 for a heading, 0 for running text.

    Larger letters make a heading, and so does a short bold line that ends no sentence and is followed by lines that are
    not bold.
    """
    text = line.text
    if not any(map(str.isalpha, text)) or len(text) > _MAX_HEADING:
        return 0
    if line.size >= _LARGER * body:
        return 1 if line.size >= 1.6 * body else 2
    alone = following is None or not following.bold
    if line.bold and alone and line.size >= 0.95 * body and len(text) <= 80 and text[-1] not in ".,;:":
        return 3
    return 0


def paragraphs(lines: Sequence[Line]) -> list[list[Line]]:
    """Part the lines of running text into paragraphs.

    One begins below a gap that is wider than usual, at an indented line, at the sign of a list, and where the size of
    letters changes; a column or page that ends in the middle of a sentence goes on in the next one.
    """
    usual = _usual_gap(lines)
    left = {
        key: min(x.box.x0 for x in lines if (x.page, x.column) == key)
        for key in {(x.page, x.column) for x in lines}
    }
    groups: list[list[Line]] = []
    for line in lines:
        if groups and _goes_on(groups[-1], line, usual, left[line.page, line.column]):
            groups[-1].append(line)
        else:
            groups.append([line])
    return groups


def _usual_gap(lines: Sequence[Line]) -> float:
    gaps = [
        b.box.top - a.box.top
        for a, b in pairwise(lines)
        if (a.page, a.column) == (b.page, b.column) and b.box.top > a.box.top
    ]
    return median(gaps) if gaps else 0.0


def _goes_on(group: Sequence[Line], line: Line, usual: float, left: float) -> bool:
    last = group[-1]
    if _ITEM.match(line.words[0].text) and len(line.words) > 1:
        return False
    if abs(last.size - line.size) > 0.1 * line.size:
        return False
    if (last.page, last.column) != (line.page, line.column):
        return last.text[-1] not in '.!?:…"”' and not line.text[0].isupper()
    pitch = line.box.top - last.box.top
    if pitch > 1.3 * max(min(usual, 1.6 * line.size), line.size):
        return False
    indented = line.box.x0 - left > 0.8 * line.size
    return not (
        indented and line.box.x0 - last.box.x0 > 0.8 * line.size and not _ITEM.match(group[0].words[0].text)
    )


def join_lines(lines: Sequence[Line]) -> str:
    """Return the text of a paragraph; a word that was broken at the end of a line is made whole."""
    text = ""
    for line in lines:
        own = line.text
        if _BREAK_HYPHEN.search(text) and own[:1].islower():
            text = text[:-1] + own
        else:
            text = f"{text} {own}" if text else own
    return text.replace("\u00ad", "")

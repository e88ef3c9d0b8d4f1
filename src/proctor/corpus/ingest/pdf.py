"""PDF: text by page with headings where letters tell them, tables drawn with lines, embedded images with their captions.

pdfplumber (MIT) says where letters and lines are, PDFium decodes images. Two passes: pages first, one at a time; then what only
the whole document shows (size of running text, running heads).
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from proctor.corpus.ingest.blocks import (
    Block,
    Heading,
    Paragraph,
    Picture,
    Problem,
    TableBlock,
    Title,
    single_spaced,
)
from proctor.corpus.ingest.pdf_images import page_images
from proctor.corpus.ingest.pdf_layout import (
    Box,
    Line,
    Word,
    body_size,
    heading_level,
    join_lines,
    lines_in_order,
    paragraphs,
    running_key,
    running_lines,
)
from proctor.corpus.ingest.pdf_tables import find_tables
from proctor.corpus.ingest.pdf_untaken import drawings, unruled_tables
from proctor.corpus.ingest.pictures import Pictures
from proctor.corpus.ingest.reading import CannotReadError, Reading, package
from proctor.errors import MissingExtraError

if TYPE_CHECKING:
    from pdfplumber.page import Page

__all__ = ["read_pdf"]

_ENDS: Final = 4096
_UNMAPPED: Final = re.compile(r"\(cid:\d+\)")
_SCAN_SHARE: Final = 0.85
"""Of its page that an image must cover to be the page itself."""
_FIGURE: Final = re.compile(
    r"(?:fig(?:ure|\.)?|image|photo|plate|illustration|picture|abb(?:ildung|\.)?)\s*[\dA-Z]", re.I
)
_TABLE: Final = re.compile(r"(?:tab(?:le|elle|leau|\.)?)\s*[\dA-Z]", re.I)
_NEAR: Final = 40.0
"""Points between an image or a table and its caption."""
_CAPTION_LINES: Final = 4
_WORD_GAP: Final = 0.15
"""Of the size of letters that a gap between words has at least; set tightly it is little more."""
_NO_TITLE: Final = re.compile(
    r"untitled|\(?anonymous\)?|unspecified|microsoft word - .*|.*\.(?:docx?|indd|tex|dvi|qxd)$", re.I
)


@dataclass
class _Placed:
    """A table or an image with its place on the page."""

    box: Box
    block: TableBlock | Picture


@dataclass
class _PageContent:
    number: int
    height: float
    lines: list[Line] = field(default_factory=list)
    placed: list[_Placed] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def read_pdf(reading: Reading) -> Iterator[Block]:
    """Yield the blocks of a PDF.

    Raises:
        CannotReadError: if it is encrypted, cut off, damaged, longer than ``max_pages``, or has no text (a scan).
        MissingExtraError: without the extra ``corpus``.
    """
    _check_ends(reading.path)
    # What pdfminer finds odd about a file it says in its log, page after page; what matters is told by us.
    logging.getLogger("pdfminer").setLevel(logging.ERROR)
    with closing(_opened(reading.path)) as pdf:
        count = _page_count(pdf, reading)
        pictures = Pictures(reading)
        with closing(_twin(reading.path, count)) as twin:
            pages = [_page(pdf.pages[n], twin[n], n + 1, reading, pictures) for n in range(count)]
        title = _said_title(pdf)
    if not any(
        page.lines or any(isinstance(placed.block, TableBlock) for placed in page.placed) for page in pages
    ):
        raise CannotReadError(
            "no-text",
            f"none of its {count} pages has text: a scan? Run OCR over it (such as ocrmypdf), then ingest that.",
        )
    yield from _blocks(pages, title)
    yield from pictures.problems()


# -- opening ---------------------------------------------------------------------------------------------------


def _check_ends(path: Path) -> None:
    with path.open("rb") as stream:
        head = stream.read(_ENDS)
        size = stream.seek(0, 2)
        stream.seek(max(0, size - _ENDS))
        tail = stream.read()
    if b"%PDF-" not in head:
        raise CannotReadError(
            "damaged-pdf", "it does not begin as a PDF does. Is this another kind of file? Restore a copy."
        )
    if b"%%EOF" not in tail:
        raise CannotReadError("damaged-pdf", "its end is missing. Copy or download it again.")


def _opened(path: Path) -> Any:
    try:
        return package("pdfplumber").open(path)
    except MissingExtraError:
        raise
    except Exception as error:  # pdfminer raises anything on damaged files; pdfplumber wraps some of it
        told = f"{type(error).__name__} {error!r}"
        if "Password" in told or "Encrypt" in told:
            raise CannotReadError(
                "encrypted-pdf",
                "it needs a password. Save it without one (such as: qpdf --decrypt), then ingest that.",
            ) from None
        raise _damaged(error) from None


def _damaged(error: Exception) -> CannotReadError:
    said = single_spaced(str(error))[:200] or type(error).__name__
    return CannotReadError(
        "damaged-pdf", f"it cannot be read ({said}). Restore a copy, or print it to a new PDF."
    )


def _page_count(pdf: Any, reading: Reading) -> int:
    try:
        count = len(pdf.pages)
    except Exception as error:
        raise _damaged(error) from None
    if count > reading.options.max_pages:
        raise CannotReadError(
            "too-many-pages",
            f"{count} pages, {reading.options.max_pages} are allowed. Split it, or raise max_pages.",
        )
    return count


def _twin(path: Path, count: int) -> Any:
    """Open the document in PDFium too; where the two do not see the same pages, pages are lost."""
    try:
        twin = package("pypdfium2").PdfDocument(path)
    except MissingExtraError:
        raise
    except Exception as error:
        raise _damaged(error) from None
    if len(twin) != count or not count:
        seen = len(twin)
        twin.close()
        raise CannotReadError("damaged-pdf", f"{count} of its {seen} pages can be found. Restore a copy.")
    return twin


def _said_title(pdf: Any) -> str:
    said = (pdf.metadata or {}).get("Title")
    title = single_spaced(said) if isinstance(said, str) else ""
    return "" if _NO_TITLE.fullmatch(title) or not title.isprintable() else title


# -- one page --------------------------------------------------------------------------------------------------


def _page(page: Page, twin: Any, number: int, reading: Reading, pictures: Pictures) -> _PageContent:
    reading.check_time()
    content = _PageContent(number, float(page.height))
    try:
        words, sideways, unmapped = _words(page)
        if unmapped:
            content.problems.append(
                _page_problem(
                    "letters-unknown",
                    number,
                    f"{unmapped} words in a font that does not say its letters. Run OCR over it.",
                )
            )
        if sideways:
            content.problems.append(
                _page_problem("sideways-text", number, f"{sideways} words that are not upright.")
            )
        _add_tables(page, words, content, reading)
        boxes = [placed.box for placed in content.placed]
        free = [
            w
            for w in words
            if not any(box.covers((w.box.x0 + w.box.x1) / 2, (w.box.top + w.box.bottom) / 2) for box in boxes)
        ]
        content.lines = lines_in_order(free, number)
        scan = _add_images(page, twin, content, reading, pictures, has_text=bool(words))
        content.problems += _untaken(page, words, content)
    except (CannotReadError, MissingExtraError):
        raise
    except Exception as error:
        raise CannotReadError("damaged-pdf", f"page {number}: {_damaged(error).detail}") from None
    finally:
        twin.close()
        page.close()
    if scan and not words:
        content.problems.append(
            _page_problem("page-without-text", number, "an image of a page. Run OCR over it.")
        )
    return content


def _page_problem(reason: str, page: int, detail: str, index: int = 0) -> Problem:
    return Problem(reason, f"page {page}: {detail}", f"#p{page}-{reason}" + (f"-{index}" if index else ""))


def _words(page: Page) -> tuple[list[Word], int, int]:
    """Return the upright words that can be read, and how many are not upright or of unknown letters."""
    # Letters are printed twice to look bold; to look for them takes long, so first a guess.
    places = {(char["text"], round(char["x0"]), round(char["top"])) for char in page.chars}
    once = page.dedupe_chars(tolerance=1) if len(places) < 0.95 * len(page.chars) else page
    found = once.extract_words(
        x_tolerance_ratio=_WORD_GAP, keep_blank_chars=False, use_text_flow=False, return_chars=True
    )
    words: list[Word] = []
    sideways = unmapped = 0
    for word in found:
        if not word["upright"]:
            sideways += 1
        elif _UNMAPPED.search(word["text"]):
            unmapped += 1
        elif text := single_spaced(word["text"]):
            box = Box(float(word["x0"]), float(word["top"]), float(word["x1"]), float(word["bottom"]))
            words.append(Word(text, box, *_letters(word["chars"])))
    return words, sideways, unmapped


def _letters(chars: Sequence[dict[str, Any]]) -> tuple[float, bool]:
    """Return the size of a word, and whether it is bold: what most of its letters are."""
    fonts = Counter((float(char["size"]), str(char["fontname"])) for char in chars)
    (size, font), _ = fonts.most_common(1)[0]
    return size, any(mark in font.lower() for mark in ("bold", "black", "heavy", "-semib", "demi", "cmbx"))


def _add_tables(page: Page, words: Sequence[Word], content: _PageContent, reading: Reading) -> None:
    try:
        for table in find_tables(page, words, reading.options.max_cells):
            block = TableBlock(table.header, table.rows, page=content.number)
            content.placed.append(_Placed(table.box, block))
    except CannotReadError as problem:
        content.problems.append(_page_problem(problem.reason, content.number, problem.detail))


def _add_images(
    page: Page, twin: Any, content: _PageContent, reading: Reading, pictures: Pictures, *, has_text: bool
) -> bool:
    """Add the images of a page; return True when one of them is the page itself."""
    options, scan, failed = reading.options, False, 0
    area = float(page.width) * float(page.height)
    for image in page_images(page, twin, max_pixels=options.max_pixels, min_side=options.min_image_side):
        reading.check_time()
        try:
            if isinstance(image, CannotReadError):
                raise image
            if (image.box.x1 - image.box.x0) * (image.box.bottom - image.box.top) >= _SCAN_SHARE * area:
                scan = True
                if has_text:
                    pictures.leave_out("page-scan")
                continue
            for picture in pictures.embedded(image.data, "", page=content.number):
                content.placed.append(_Placed(image.box, picture))
        except CannotReadError as problem:
            if problem.reason == "small-image":
                pictures.leave_out("small-image")
                continue
            failed += 1
            content.problems.append(_page_problem(problem.reason, content.number, problem.detail, failed))
    return scan


def _untaken(page: Page, words: Sequence[Word], content: _PageContent) -> Iterator[Problem]:
    """Yield the figures and tables of a page that nobody reads, with their captions where they have one."""
    taken = [placed.box for placed in content.placed]
    if not any(problem.reason == "drawing" for problem in content.problems):
        for number, (box, shapes) in enumerate(drawings(page, words, taken), 1):
            detail = f"{_named(content.lines, box, _FIGURE)}a drawing of {shapes} lines and shapes: only embedded images are "
            yield _page_problem(
                "vector-figure",
                content.number,
                detail + "taken. Save it as an image beside the document.",
                number,
            )
    for number, (box, rows) in enumerate(unruled_tables(words, taken), 1):
        detail = f"{_named(content.lines, box, _TABLE)}{rows} rows in columns without lines: read as text, not as a table."
        yield _page_problem("table-without-lines", content.number, detail, number)


def _named(lines: Sequence[Line], box: Box, marked: re.Pattern[str]) -> str:
    """Return the nearest caption of its kind, to be put before what is said; empty where there is none."""
    near = [(d, x.text) for x in lines if marked.match(x.text) and (d := _distance(x.box, box)) <= _NEAR]
    return f"'{min(near)[1][:80]}', " if near else ""


# -- the whole document ----------------------------------------------------------------------------------------


def _blocks(pages: Sequence[_PageContent], title: str) -> Iterator[Block]:
    running = running_lines([p.lines for p in pages], [p.height for p in pages])
    body = body_size([line for page in pages for line in page.lines])
    text: list[Line] = []
    left_out = 0
    yield from _titles(pages, title, body)
    for page in pages:
        yield from page.problems
        lines = [x for x in page.lines if not (running_key(x) in running and _at_edge(x, page.height))]
        left_out += len(page.lines) - len(lines)
        used, placed = _captioned(page, lines, body)
        elements = _with_placed([x for x in lines if id(x) not in used], placed)
        for element in _headings_joined(elements, body):
            if isinstance(element, Line):
                text.append(element)
                continue
            if isinstance(element, Heading):
                yield from _texts(text)
                text = []
            yield element
    yield from _texts(text)
    if left_out:
        shown = "; ".join(sorted(running))[:200]
        yield Problem(
            "running-heads", f"{left_out} lines at the edges of pages that come again and again: {shown}."
        )


def _at_edge(line: Line, height: float) -> bool:
    return line.box.bottom <= 0.1 * height or line.box.top >= 0.9 * height


def _titles(pages: Sequence[_PageContent], title: str, body: float) -> Iterator[Title]:
    """Yield what the file says it is called, else the largest heading on the first page."""
    if not title and pages:
        lines = [x for x in pages[0].lines if not _at_edge(x, pages[0].height)]
        size = max((x.size for x in lines if heading_level(x, body, None) == 1), default=0.0)
        large = [x for x in lines if x.size == size and heading_level(x, body, None) == 1]
        end = next((n for n in range(1, len(large)) if not _same_heading(large[n - 1], large[n])), len(large))
        title = join_lines(large[:end])
    if title:
        yield Title(title)


def _texts(lines: Sequence[Line]) -> Iterator[Paragraph]:
    for group in paragraphs(lines):
        yield Paragraph(join_lines(group), group[0].page)


_Element = Line | TableBlock | Picture | Heading


def _headings_joined(elements: Sequence[_Element], body: float) -> Iterator[_Element]:
    """Replace lines that are headings; a heading that runs over several lines is one."""
    waiting: list[Line] = []
    level = 0
    for at, element in enumerate(elements):
        own = 0
        if isinstance(element, Line):
            following = next((x for x in elements[at + 1 :] if isinstance(x, Line)), None)
            own = heading_level(element, body, following)
        if waiting and not (
            own == level and isinstance(element, Line) and _same_heading(waiting[-1], element)
        ):
            yield Heading(join_lines(waiting), level, waiting[0].page)
            waiting = []
        if own and isinstance(element, Line):
            waiting.append(element)
            level = own
        else:
            yield element
    if waiting:
        yield Heading(join_lines(waiting), level, waiting[0].page)


def _same_heading(last: Line, line: Line) -> bool:
    pitch = line.box.top - last.box.top
    return last.size == line.size and last.bold == line.bold and 0 < pitch <= 1.5 * line.size


def _with_placed(lines: Sequence[Line], placed: Sequence[_Placed]) -> list[_Element]:
    """Put tables and images behind the last line above them."""
    behind: dict[int, list[_Element]] = {}
    for item in placed:
        above = [
            n for n, x in enumerate(lines) if x.box.beside(item.box) and x.box.bottom <= item.box.top + 3
        ]
        behind.setdefault(max(above, default=-1), []).append(item.block)
    elements: list[_Element] = list(behind.get(-1, ()))
    for number, line in enumerate(lines):
        elements.append(line)
        elements += behind.get(number, ())
    return elements


# -- captions --------------------------------------------------------------------------------------------------


def _captioned(page: _PageContent, lines: Sequence[Line], body: float) -> tuple[set[int], list[_Placed]]:
    """Return the identities of the lines that are captions, and tables and images with their captions."""
    used: set[int] = set()
    placed: list[_Placed] = []
    for item in page.placed:
        others = [x.box for x in page.placed if x is not item]
        caption = _caption(item, others, [x for x in lines if id(x) not in used], body)
        used |= {id(x) for x in caption}
        placed.append(_Placed(item.box, msgspec.structs.replace(item.block, caption=join_lines(caption))))
    return used, placed


def _caption(item: _Placed, others: Sequence[Box], lines: Sequence[Line], body: float) -> list[Line]:
    """Return the nearest line that is marked as a caption ("Figure 2"), else a line of small letters just below an image.

    A marked line may stand to the side (an image in the middle, its caption at the margin) unless another image or table is
    above or below it.
    """
    marked = _TABLE if isinstance(item.block, TableBlock) else _FIGURE
    near: list[tuple[float, int]] = []
    for at, line in enumerate(lines):
        box = line.box
        distance, beside = _distance(box, item.box), box.beside(item.box)
        if distance > _NEAR:
            continue
        if not beside and any(box.beside(x) and _distance(box, x) <= _NEAR for x in others):
            continue
        below = -3 <= box.top - item.box.bottom <= _NEAR / 2
        if marked.match(line.text):
            near.append((distance if beside else distance + _NEAR, at))
        elif isinstance(item.block, Picture) and beside and below and line.size <= 0.95 * body:
            near.append((distance + 2 * _NEAR, at))
    if not near:
        return []
    _, first = min(near)
    return _continued(lines, first)


def _distance(line: Box, placed: Box) -> float:
    """Points between a line and what stands above or below it."""
    return min(abs(line.top - placed.bottom), abs(placed.top - line.bottom))


def _continued(lines: Sequence[Line], first: int) -> list[Line]:
    caption = [lines[first]]
    for line in lines[first + 1 : first + _CAPTION_LINES]:
        last = caption[-1]
        if (
            line.column != last.column
            or line.size != last.size
            or line.bold != last.bold
            or not 0 < line.box.top - last.box.top <= 1.35 * line.size
            or last.box.x1
            < 0.75 * max(x.box.x1 for x in lines[first : first + _CAPTION_LINES] if x.column == last.column)
        ):
            break
        caption.append(line)
    return caption

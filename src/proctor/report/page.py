"""Draws a page: one file that works offline, in light, dark, on a phone and on paper.

Its scripts filter examples, enlarge pictures, and sort and copy tables; without them all of it can be read.

All texts of the page are untrusted. Templates escape them, control characters are made visible, and a content security policy
allows the page's own style and script by their hashes, pictures from ``data:`` and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import textwrap
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from proctor.records import atomic_write
from proctor.report.figures import draw_figure, figure_guide
from proctor.report.parts import (
    LEFT,
    LINES,
    RARE,
    Cell,
    Drawn,
    ExampleView,
    Fold,
    Heat,
    Led,
    Listing,
    Page,
    Paragraph,
    Part,
    Row,
    SourceView,
    Table,
    values_of,
)
from proctor.report.plaintext import clip_line, clip_text, show_text

__all__ = ["asset", "content_policy", "new_environment", "render_page", "standalone_svg", "write_page"]

_OPEN: Final = 1
"""Examples that are shown unfolded."""
_MAX_LINE: Final = 2_000
_MAX_TEXT: Final = 6_000
_BRIEF: Final = 220
"""Characters of a text in the gallery, whose example has it in full."""
_KEYS: Final = frozenset({"text", "run", "mark", "other", "other-mark", "than"})
"""Filters that every page has, as its address names them; a facet of such a name is told apart."""
_MANY: Final = 60
_MOST: Final = 400
"""Values of a facet whose field is folded beyond ``_MANY`` of them, and left out beyond these."""
_THAN: Final = ("better", "equal", "worse", "compared", "not compared")
_ROOM: Final = 250_000
"""Characters of all lines of listings that scripts add; fewer where a page has more than ``_WHOLE`` with them."""
_WHOLE: Final = 4_000_000
_NUMBER: Final = re.compile(r'<data value="(?P<n>\d+)">(?P<text>[^<]*)</data>')
_PICTURE: Final = re.compile(r"data:image/(jpeg|png|webp|gif);base64,[A-Za-z0-9+/=]+")


def write_page(path: Path, page: Page) -> Path:
    """Write the page, whole or not at all, and return its path.

    Raises:
        UserError: if the folder cannot be written.
        ValueError: if a picture's labels and numbers are not equally many.
    """
    text = render_page(page)
    with atomic_write(path) as stream:
        stream.write(text.encode("utf-8", "replace"))
    return path


def render_page(page: Page) -> str:
    """Return the page as HTML; equal pages give equal text.

    Raises:
        ValueError: if a picture's labels and numbers are not equally many, an image is no data address, or two sections have
            the same id.
    """
    text = _render(page, _ROOM)
    over = len(text.encode("utf-8", "replace")) - _WHOLE
    return text if over <= 0 else _render(page, max(0, _ROOM - over))


def _render(page: Page, room: int) -> str:
    """Return the page with so many characters of lines that scripts add."""
    ids = [section.id for section in page.sections]
    if len(set(ids)) < len(ids):
        raise ValueError("two sections have the same id")
    style = asset("base.css") + asset("figures.css") + asset("page.css")
    sortable = any(isinstance(p, Table) and p.sortable for section in page.sections for p in section.parts)
    tables = page.sections and (page.examples or sortable)  # a page without either runs nothing
    lists = {p.id: p for section in page.sections for p in section.parts if isinstance(p, Listing) and p.tags}
    used = (("page.js", page.examples), ("tables.js", tables), ("lists.js", lists))
    scripts = [asset(name) for name, needed in used if needed]
    examples = {example.id: example for example in page.examples}
    picked = [h for h in (page.striking, *page.gallery) if h is not None]
    frames = {h.item: _last_frame(examples[h.item]) for h in picked}
    sources = [
        source
        for source in (*(s for e in page.examples for s in e.sources), *(frames[h.item] for h in picked))
        if source is not None and source.picture
    ]
    for source in sources:
        if not _PICTURE.fullmatch(source.picture):
            raise ValueError(f"the picture of {source.id} is no data address")
    uses = Counter(source.picture for source in sources)
    shared = {picture: n for n, picture in enumerate(p for p, times in uses.items() if times > 1)}
    said: set[str] = set()
    sections = [(section, _parts(section.parts, said)) for section in page.sections]
    found = _Finder(page)
    links = _Links(
        found,
        {e.id: n for n, e in enumerate(page.examples, 1)},
        {key: part.counts for key, part in lists.items()},
    )
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            page=page,
            shared=shared,  # pictures of several questions are defined once
            examples=examples,
            frames=frames,
            places=links.places,
            sections=sections,
            found=found,
            link=links.of,
            region=_Regions(),
            rest=links.rest([*lists.values()], room),
            lines=LINES,
            left=Cell(f"{page.left:,}", among=LEFT),
            charts=_parts(page.charts, said),
            open_examples=_OPEN,
            policy=content_policy(style, scripts),
            style=Markup(style),  # noqa: S704 - our own file
            scripts=[Markup(script) for script in scripts],  # noqa: S704 - our own files
        )
    )


@cache
def _environment() -> Environment:
    environment = new_environment()
    environment.filters.update(
        line=lambda text: _line(str(text)),
        cell=lambda text: _line(str(text)) if text.strip() else "",
        head=lambda text: _head(str(text)) if text.strip() else "",
        text=lambda text: clip_text(str(text), _MAX_TEXT),
        brief=lambda text: textwrap.shorten(show_text(str(text)), _BRIEF, placeholder=" …"),
        full=lambda cell: cell if isinstance(cell, Cell) else Cell(cell),
    )
    return environment


def _shown(text: str) -> str:
    return clip_line(text, _MAX_LINE) if text.strip() else ""


@lru_cache(maxsize=10_000)
def _line(text: str) -> Markup:
    """Return a line as the page shows it; names and numbers stand on a page thousands of times."""
    return escape(clip_line(text, _MAX_LINE))


def _head(text: str) -> Markup:
    """Return a name at the head of a narrow column, which is broken behind its signs rather than inside its words."""
    return Markup(re.sub(r"(?<=[:/_@])(?=\w)", "<wbr>", _line(text)))  # noqa: S704 - escaped by _line


def _last_frame(example: ExampleView) -> SourceView | None:
    return next((s for s in reversed(example.sources) if s.modality == "frame" and s.picture), None)


class _Finder:
    """What examples can be filtered by.

    Attributes:
        facets: of which there are some, but not one for each question: values by name.
        rare: names of those that only numbers lead to, or of many values; their fields are folded.
        than: how the first of two runs may stand.
        systems: that answered.
        codes: their marks.
    """

    def __init__(self, page: Page) -> None:
        answers = [a for e in page.examples for a in e.answers]
        self._all: dict[str, set[str]] = {}
        for example in page.examples:
            for name, value in example.facets.items():
                self._all.setdefault(name, set()).update(values_of(value))
        self.facets = {name: sorted(v) for name, v in self._all.items() if 1 < len(v) <= _MOST}
        self.rare = {name for name, values in self.facets.items() if name in RARE or len(values) > _MANY}
        self.than = _THAN
        self.systems = list(dict.fromkeys(name for a in answers for name in (a.system, *a.also)))
        self.codes = sorted({a.code for a in answers if a.code})
        if any(a.score is not None for a in answers):
            unasked = any(sum(1 + len(a.also) for a in e.answers) < len(self.systems) for e in page.examples)
            lacking = unasked or any(a.score is None for a in answers)
            self.codes += ["marked", "no mark"] * lacking + ["not asked"] * unasked

    def number(self, facet: str) -> int:
        """Return which facet of the page it is."""
        return list(self.facets).index(facet)

    def places(self, facet: str, value: str | tuple[str, ...]) -> str:
        """Return the places of an example's values among those of its facet."""
        return " ".join(str(self.facets[facet].index(one)) for one in values_of(value))

    def key(self, facet: str) -> str:
        """Return what a facet is called in the page's address."""
        return str(_line(facet + "_" if facet in _KEYS else facet))

    def query(self, find: Sequence[tuple[str, str]]) -> str | None:
        """Return the filters as they stand in the page's address, empty for all examples; None where there are no such ones."""
        named = []
        for name, value in find:
            if name in _KEYS:
                known = {"run": self.systems, "other": self.systems, "mark": self.codes, "than": _THAN}.get(
                    name, ()
                )
                if value not in known:
                    return None
                named.append((name, _line(value).unescape()))
            elif value in self.facets.get(name, ()):
                named.append((self.key(name), _line(value).unescape()))
            elif self._all.get(name) != {value}:
                return None
        return urlencode(named)


class _Regions(Counter[str]):
    """Names of regions, each of which is there once: exams have tables of the same title."""

    def __call__(self, title: str) -> str:
        """Return a title, with a number where it is not the first of its kind."""
        self[title] += 1
        return title if self[title] == 1 else title + f" ({self[title]})"


@dataclass(slots=True)
class _Links:
    """Where numbers of a page lead to.

    Attributes:
        found: what examples can be filtered by.
        places: of the examples, by id.
        counts: of the listings' tags, by id of the listing.
    """

    found: _Finder
    places: Mapping[str, int]
    counts: Mapping[str, Mapping[str, int]]

    def of(self, cell: Cell) -> tuple[str, ...]:
        """Return where a cell leads to: an example, or examples and their filters, or a listing and its tag; empty for nowhere."""
        if cell.item in self.places:
            return (f"#item-{self.places[cell.item]}",)
        if cell.find and (query := self.found.query(cell.find)) is not None:
            return "#examples", query
        for id_, tag in (
            cell.among or ("", ""),
            LEFT if cell.find else ("", ""),
        ):  # what no example has is of those without room
            if tag in self.counts.get(id_, ()):
                return f"#list-{id_}", _line(tag).unescape()
        return ()

    def rest(self, listings: Sequence[Listing], room: int) -> dict[str, tuple[str, int]]:
        """Return by listing the lines behind the first ones, packed, and how many these are; some, where not all have room."""
        left, packed = room, {}
        for listing in listings:
            rows = [*zip(listing.table.rows, listing.tags, strict=True)][LINES:]
            while rows and len(text := self._pack(rows, [*listing.counts])) > left:
                rows = rows[: len(rows) // 2]
            if rows:
                packed[listing.id] = text, len(rows)
                left -= len(text)
        return packed

    def _pack(self, rows: Sequence[tuple[Row, tuple[str, ...]]], tags: Sequence[str]) -> str:
        places = {tag: n for n, tag in enumerate(tags)}
        lines = [[[places[tag] for tag in own], *map(self._cell, row)] for row, own in rows]
        text = json.dumps(lines, ensure_ascii=False, separators=(",", ":"))
        return base64.b64encode(zlib.compress(text.encode("utf-8", "replace"), 9)).decode("ascii")

    def _cell(self, cell: str | Cell) -> str | list[Any]:
        """Return a text, or a text, where it leads to and what stands below it, or several of them."""
        if isinstance(cell, str):
            return _shown(cell)
        if cell.parts:
            return [[*map(self._cell, cell.parts)]]
        to = self.of(cell)
        if cell.small:
            return [_shown(cell.text), *(*to, None, None)[:2], _shown(cell.small)]
        return [_shown(cell.text), *to] if to else _shown(cell.text)


def _parts(parts: Sequence[Part], said: set[str]) -> list[dict[str, Any]]:
    """Return what the template needs; warnings that follow each other stand in one box, a line each, and an empty listing nowhere."""
    found: list[Part] = []
    for part in (p for p in parts if not isinstance(p, Listing) or p.tags):
        last = found[-1] if found else None
        if isinstance(part, Paragraph) and isinstance(last, Paragraph) and part.beware and last.beware:
            found[-1] = Paragraph(f"{last.text}\n{part.text}", beware=True)
        else:
            found.append(part)
    return [_part(part, said) for part in found]


def _part(part: Part, said: set[str]) -> dict[str, Any]:
    """Return what the template needs; how to read a kind of picture is said once a page."""
    match part:
        case Paragraph():
            return {"kind": "paragraph", "part": part}
        case Table():
            return {"kind": "table", "part": part}
        case Heat():
            return {"kind": "heat", "part": part}
        case Listing():
            return {"kind": "listing", "part": part, "tags": list(part.counts)}
        case Fold():
            return {"kind": "fold", "part": part, "parts": _parts(part.parts, said)}
        case Drawn():
            drawn = _pieces(part.markup, part.cells)
            return {"kind": "figure", "part": part, "drawn": drawn, "guide": part.guide}
        case _:
            figure, cells = (part.figure, part.cells) if isinstance(part, Led) else (part, ())
            guide = figure_guide(figure)
            told = guide in said
            said.add(guide)
            return {
                "kind": "figure",
                "part": part,
                "drawn": _pieces(draw_figure(figure), cells),
                "guide": "" if told else guide,
            }


def _pieces(drawn: Markup, cells: Sequence[Cell]) -> list[Markup | Cell]:
    """Return a picture cut at those of its numbers that lead somewhere."""
    pieces: list[Markup | Cell] = []
    at = 0
    for number in _NUMBER.finditer(drawn):
        if (n := int(number["n"])) < len(cells):
            pieces.append(drawn[at : number.start()])
            pieces.append(replace(cells[n], text=Markup(number["text"]).unescape(), small=""))  # noqa: S704 - as it was drawn
            at = number.end()
    return [*pieces, drawn[at:]]


_HERE = Path(__file__).parent


@cache
def standalone_svg(drawn: Markup) -> str:
    """Return the first picture of some markup as a file that needs nothing else, in light and dark."""
    picture = str(drawn).partition("</svg>")[0].partition("<svg ")[2]
    style = (
        asset("base.css")
        + asset("figures.css")
        + "svg { background: var(--paper); font-family: sans-serif; }"
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" {picture.replace(">", f"><style><![CDATA[{style}]]></style>", 1)}</svg>\n'
    )


def asset(name: str) -> str:
    """Read one of our own files; a script must not end the element that it stands in."""
    return (_HERE / "static" / name).read_text("utf-8").replace("</script", "<\\/script")


def new_environment() -> Environment:
    """Return templates that escape what they print and fail on a name that they do not know."""
    return Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def content_policy(style: str, scripts: Sequence[str] = (), *, wasm: bool = False) -> str:
    """Return the content security policy of a page with this style sheet and these scripts, and nothing else.

    A page without scripts allows none.
    """
    hashes = " ".join(_source_hash(text) for text in scripts)
    return "; ".join(
        [
            "default-src 'none'",
            *([f"script-src {hashes}" + (" 'wasm-unsafe-eval'" if wasm else "")] if scripts else []),
            f"style-src {_source_hash(style)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _source_hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"

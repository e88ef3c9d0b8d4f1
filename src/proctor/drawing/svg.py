"""Accessible SVG from a layout and the statuses of a moment.

Every element is written here, from numbers and escaped text: there is no link, no script, no id, no style, and
nothing that a layout program wrote. Colours and line styles come from the page's style sheet by class
(``studio/static/graph.css``, ``report/static/report.css``); the status itself is in the shape, in a glyph that is
text, and in words in the accessible name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from markupsafe import Markup

from proctor.drawing.engines import Route
from proctor.drawing.layout import Layout
from proctor.drawing.sketch import GUTTER, LINE, Box, Slot
from proctor.drawing.text import escape_xml, show_step, text_width
from proctor.procedure.graph import TaskGraph
from proctor.said import say_count

__all__ = ["GLYPHS", "Status", "StepMark", "Tell", "count_errors", "draw_layout", "error_pill", "late_pill"]

Status = Literal["done", "current", "todo", "next", "missing"]

GLYPHS: Final[Mapping[str, str]] = {
    "done": "✓",
    "current": "▶\ufe0e",
    "todo": "",
    "next": "→",
    "missing": "!",
}
"""Signs of the statuses; U+FE0E asks for the sign as text and not as a coloured picture."""
ERROR_GLYPH: Final = "▲"
LATE_GLYPH: Final = "⇅"
LATE_WORDS: Final = "out of order"

Tell = Callable[[str], object]
"""Returns a text of ours as it is said to somebody; ``str`` says it in English."""

_PILL: Final = 14.0
_SLIM: Final = 480.0
"""Pixels: a page as wide as a phone fits a drawing of at most this width; a wider one would be too small to read."""
_SMALL: Final = 10.0
_CORNER: Final = 16.0


@dataclass(frozen=True, slots=True)
class StepMark:
    """What a drawing says of one step.

    Attributes:
        status: decides the shape.
        words: status and errors in words, the end of the accessible name.
        errors: number of mistakes.
        late: it was done before something that had to come first.
        start: seconds in the recording when it was done last, for the clip beside the drawing; None when unknown.
        end: seconds likewise.
    """

    status: Status
    words: str
    errors: int = 0
    late: bool = False
    start: float | None = None
    end: float | None = None


def count_errors(errors: int, noun: str = "error") -> str:
    """Return ``1 error``, ``2 errors``."""
    if noun == "error":
        return say_count(errors, "{n} error", "{n} errors")
    return f"{errors} {noun}" if errors == 1 else f"{errors} {noun}s"


def error_pill(errors: int, noun: str = "error", tell: Tell = str) -> tuple[str, int]:
    """Return the text of the mark of a step with mistakes, and its width in pixels."""
    return _measured(f"{ERROR_GLYPH} {tell(count_errors(errors, noun))}")


def late_pill() -> tuple[str, int]:
    """Return the text of the mark of a step out of order, and its width in pixels."""
    return _measured(f"{LATE_GLYPH} {LATE_WORDS}")


def _measured(text: str) -> tuple[str, int]:
    return text, math.ceil(text_width(text, _SMALL) + 10)


def draw_layout(
    layout: Layout,
    graph: TaskGraph,
    marks: Mapping[str, StepMark] | None = None,
    *,
    focusable: bool = False,
    label: str = "Task graph",
    noun: str = "error",
    tell: Tell = str,
) -> Markup:
    """Return a graph as one SVG element.

    Args:
        layout: of this graph.
        graph: whose steps' ids the marks are given for.
        marks: step id to mark. Without marks the drawing has no statuses and is hidden from screen readers: the
            list beside it says the same.
        focusable: steps can be reached with the tabulator key.
        label: name of the whole drawing.
        noun: what mistakes are called.
        tell: how our own words are said to whoever looks.
    """
    placed = layout.placement
    corners = placed.corners if placed is not None else ((0.0, 0.0),) * len(layout.sketch.slots)
    slots = "".join(
        _slot(slot, k, corner, graph, marks, focusable and marks is not None, noun, tell)
        for k, (slot, corner) in enumerate(zip(layout.sketch.slots, corners, strict=True))
    )
    arrows = "".join(map(_arrow, layout.arrows))
    size = shape = ""
    if placed is not None:
        shape = " slim" if placed.width <= _SLIM else ""
        w, h = _n(placed.width), _n(placed.height)
        size = f' viewBox="0 0 {w} {h}" width="{w}" height="{h}"'
    name = (
        f'role="list" aria-label="{escape_xml(str(tell(label)))}"'
        if marks is not None
        else 'aria-hidden="true"'
    )
    return Markup(  # noqa: S704 - numbers, our own words and escaped text
        f'<svg class="graph{shape}"{size} {name} focusable="false">'
        f'<g class="edges" aria-hidden="true">{arrows}</g>{slots}</svg>'
    )


def _slot(
    slot: Slot,
    number: int,
    corner: tuple[float, float],
    graph: TaskGraph,
    marks: Mapping[str, StepMark] | None,
    focusable: bool,
    noun: str,
    tell: Tell,
) -> str:
    frame = ""
    if slot.framed:
        frame = f'<rect class="frame" width="{_n(slot.width)}" height="{_n(slot.height)}" rx="8" aria-hidden="true"/>'
    nodes = "".join(_node(box, graph, marks, focusable, noun, tell) for box in slot.boxes)
    return f'<g class="slot" data-slot="{number}"{_move(*corner)}>{frame}{nodes}</g>'


def _node(
    box: Box, graph: TaskGraph, marks: Mapping[str, StepMark] | None, focusable: bool, noun: str, tell: Tell
) -> str:
    w, h = _n(box.width), _n(box.height)
    if box.terminal:
        return (
            f'<g class="node terminal" aria-hidden="true"{_move(box.x, box.y)}><rect class="box" width="{w}" height="{h}" rx="11"/>'
            f'<text x="{_n(box.width / 2)}" y="15.5" text-anchor="middle">{tell(box.lines[0])}</text></g>'
        )
    step = graph.steps[box.n]
    mark = marks.get(step.id) if marks is not None else None
    classes, inner, sign, badges, name = "node", "", "", "", ""
    if mark is not None:
        classes = f"node is-{mark.status}" + (" has-errors" if mark.errors else "") + (" is-late" * mark.late)
        inner = f'<rect class="inner" width="{w}" height="{h}" rx="5"/>' if mark.status == "current" else ""
        sign = _sign(GLYPHS[mark.status])
        badges = _error_badge(box, mark.errors, noun, tell) if mark.errors else ""
        if mark.late:
            late = _pill(late_pill(), -5.0, -_PILL / 2 - 1, at_end=False)
            badges += f'<g class="badge late" aria-hidden="true">{late}</g>'
        spoken = escape_xml(f"{show_step(step)} ({tell(mark.words)})")
        given = (("start", mark.start), ("end", mark.end))
        times = "".join(f' data-{n}="{t}"' for n, t in given if t is not None and math.isfinite(t))
        name = f' role="listitem" aria-label="{spoken}"' + ((' tabindex="0"' if focusable else "") + times)
    lines = "".join(
        f'<tspan x="{_n(GUTTER)}" y="{_n(18 + k * LINE)}">{escape_xml(line)}</tspan>'
        for k, line in enumerate(box.lines)
    )
    return (
        f'<g class="{classes}" data-step="{box.n}"{name}{_move(box.x, box.y)}>'
        f'<rect class="box" width="{w}" height="{h}" rx="5"/>{inner}{sign}<text class="words" aria-hidden="true">{lines}</text>{badges}</g>'
    )


def _sign(glyph: str) -> str:
    return (
        f'<text class="glyph" x="12" y="18" text-anchor="middle" aria-hidden="true">{glyph}</text>'
        if glyph
        else ""
    )


def _error_badge(box: Box, errors: int, noun: str, tell: Tell) -> str:
    """A filled corner and, across the lower edge, where no arrow ends, a triangle with the count and the word."""
    w, h = _n(box.width), _n(box.height)
    corner = f"{w},{_n(box.height - _CORNER)} {w},{h} {_n(box.width - _CORNER)},{h}"
    return (
        f'<g class="badge error" aria-hidden="true"><polygon class="corner" points="{corner}"/>'
        f"{_pill(error_pill(errors, noun, tell), box.width + 5, box.height - _PILL / 2 + 1, at_end=True)}</g>"
    )


def _pill(said: tuple[str, int], x: float, y: float, *, at_end: bool) -> str:
    text, width = said
    left = x - width if at_end else x
    return (
        f'<rect x="{_n(left)}" y="{_n(y)}" width="{width}" height="{_n(_PILL)}" rx="3"/>'
        f'<text x="{_n(left + width / 2)}" y="{_n(y + 10.6)}" text-anchor="middle">{text}</text>'
    )


def _arrow(route: Route) -> str:
    """A line and its head, which ends where the line ends."""
    p = [_n(v) for v in route.points]
    pairs = [f"{p[k]},{p[k + 1]}" for k in range(0, len(p), 2)]
    path = f"M{pairs[0]}C{' '.join(pairs[1:])}"
    return f'<path d="{path}"/><polygon points="{_head(route.points)}"/>'


def _head(points: tuple[float, ...]) -> str:
    x, y = points[-2:]
    k = len(points) - 4
    while k > 0 and math.dist(points[k : k + 2], (x, y)) < 0.5:
        k -= 2
    dx, dy = x - points[k], y - points[k + 1]
    length = math.hypot(dx, dy) or 1.0
    dx, dy = (dx / length, dy / length) if dx or dy else (0.0, 1.0)
    bx, by = x - 7 * dx, y - 7 * dy
    return f"{_n(x)},{_n(y)} {_n(bx - 3.2 * dy)},{_n(by + 3.2 * dx)} {_n(bx + 3.2 * dy)},{_n(by - 3.2 * dx)}"


def _move(x: float, y: float) -> str:
    return f' transform="translate({_n(x)} {_n(y)})"' if x or y else ""


def _n(value: float) -> str:
    """A number with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")

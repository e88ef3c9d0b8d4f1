"""A procedure as a picture: boxes with the steps in layers, arrows from each step to those that wait for it.

The published system sends the procedure's graph as a picture; two of its templates forget to attach it.
Arrows run between the layers and, past a layer, through gaps that are kept free for them: no arrow crosses a box.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from proctor.errors import MissingExtraError, UserError
from proctor.procedure.graph import TaskGraph

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Box", "Layout", "draw_procedure", "layout_procedure", "writable"]

_BOX: Final = 210
_LINE: Final = 18
_PADDING: Final = 8
_GAP: Final = 26
_PASSAGE: Final = 20
_BETWEEN: Final = 56
_MARGIN: Final = 24
_COLUMNS: Final = 27
_FONT: Final = 15
_SWEEPS: Final = 8
_STEPS: Final = 300
_LARGEST: Final = 40_000_000
"""Pixels of a picture; beyond that no model could read it."""
_WORDS: Final = {"½": "1/2", "¼": "1/4", "¾": "3/4", "–": "-", "—": "-", "‘": "'", "“": '"', "”": '"', "…": "...", "→": "->"} | {
    "ß": "ss", "æ": "ae", "ø": "o", "×": "x", "\u00a0": " ", "ﬁ": "fi",
}  # fmt: skip

Point = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Box:
    """A step in the picture; positions in pixels."""

    left: int
    top: int
    width: int
    height: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything is: boxes by step id, arrows as lines of points by (before, after)."""

    width: int
    height: int
    boxes: Mapping[str, Box]
    arrows: Mapping[tuple[str, str], tuple[Point, ...]]


def writable(text: str) -> str:
    """Return a text in the letters that the picture's font has: accents are left off.

    Raises:
        UserError: if there is a character that cannot be written; a picture with holes would mislead.
    """
    plain = "".join(_WORDS.get(c, c) for c in text.replace("’", "'"))
    plain = "".join(c for c in unicodedata.normalize("NFKD", plain) if not unicodedata.combining(c))
    plain = " ".join(plain.split())
    if unknown := sorted({c for c in plain if not " " <= c <= "~" and c != "°"}):
        raise UserError(
            f"the picture of the procedure cannot be written: its font lacks {unknown[0]!r}.",
            hint="use a template that shows the procedure as text, such as dot-steps",
        )
    return plain


def layout_procedure(graph: TaskGraph) -> Layout:
    """Place the steps of a graph.

    Raises:
        UserError: if a text cannot be written, or the picture would be far too large.
    """
    if len(graph.steps) > _STEPS:
        raise UserError(
            f"a procedure of {len(graph.steps):,} steps cannot be drawn; {_STEPS} are the most.",
            hint="use a template that shows the procedure as text, such as dot-steps",
        )
    edges = list(graph.edges)
    names = {graph.start: "START", graph.end: "END"}
    lines = {
        s.id: tuple(
            textwrap.wrap(f"{writable(s.id)}: {writable(names.get(s.id) or s.text)}", _COLUMNS) or [""]
        )
        for s in graph.steps
    }
    layers, chains = _layers(graph, edges)
    widths = {node: _BOX if node in lines else _PASSAGE for layer in layers for node in layer}
    spans = [sum(widths[n] for n in layer) + _GAP * (len(layer) - 1) for layer in layers]
    width = max(spans) + 2 * _MARGIN
    heights = [max(len(lines[n]) for n in layer if n in lines) * _LINE + 2 * _PADDING for layer in layers]
    height = sum(heights) + _BETWEEN * (len(layers) - 1) + 2 * _MARGIN
    if width * height > _LARGEST:
        raise UserError(f"the picture of the procedure would have {width:,} x {height:,} pixels.")
    top, boxes, passages = _MARGIN, {}, {}
    for layer, span, tall in zip(layers, spans, heights, strict=True):
        left = (width - span) // 2
        for node in layer:
            if node in lines:
                own = len(lines[node]) * _LINE + 2 * _PADDING
                boxes[node] = Box(left, top, _BOX, own, lines[node])
                passages[node] = (left + _BOX // 2, top, top + own, top + tall)
            else:
                passages[node] = (left + _PASSAGE // 2, top, top + tall, top + tall)
            left += widths[node] + _GAP
        top += tall + _BETWEEN
    return Layout(width, height, boxes, {edge: _line(chains[edge], passages) for edge in edges})


def _layers(
    graph: TaskGraph, edges: list[tuple[str, str]]
) -> tuple[list[list[str]], dict[tuple[str, str], list[str]]]:
    """Return the nodes of each layer from left to right, and the nodes that each arrow passes.

    Where an arrow passes a layer there is a node of its own, whose name no step has.
    """
    depth: dict[str, int] = {}
    for node in graph.topological_order:
        depth[node] = max((depth[a] + 1 for a, b in edges if b == node), default=0)
    layers: list[list[str]] = [[] for _ in range(max(depth.values()) + 1)]
    for step in graph.steps:
        layers[depth[step.id]].append(step.id)
    chains = {}
    for number, (a, b) in enumerate(edges):
        passed = [f"\0{number} {level}" for level in range(depth[a] + 1, depth[b])]
        for level, node in enumerate(passed, depth[a] + 1):
            layers[level].append(node)
        chains[a, b] = [a, *passed, b]
    _untangle(layers, chains)
    return layers, chains


def _untangle(layers: list[list[str]], chains: Mapping[tuple[str, str], list[str]]) -> None:
    """Order each layer by where its neighbours are, down and up again a few times; ties keep their order."""
    above: dict[str, list[str]] = {}
    below: dict[str, list[str]] = {}
    for chain in chains.values():
        for a, b in pairwise(chain):
            above.setdefault(b, []).append(a)
            below.setdefault(a, []).append(b)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        neighbours = above if down else below
        for level in range(1, len(layers)) if down else range(len(layers) - 2, -1, -1):
            fixed = layers[level - 1 if down else level + 1]
            place = {n: (k + 0.5) / len(fixed) for k, n in enumerate(fixed)}
            here = {n: (k + 0.5) / len(layers[level]) for k, n in enumerate(layers[level])}

            def middle(
                node: str,
                place: dict[str, float] = place,
                here: dict[str, float] = here,
                near: Any = neighbours,
            ) -> float:
                found = [place[n] for n in near.get(node, ()) if n in place]
                return sum(found) / len(found) if found else here[node]

            layers[level].sort(key=middle)


def _line(chain: list[str], passages: Mapping[str, tuple[int, int, int, int]]) -> tuple[Point, ...]:
    """Return the points of an arrow: out of the first box, down through the passages, to the last box."""
    points: list[Point] = []
    for number, node in enumerate(chain):
        x, top, bottom, end = passages[node]
        if number:
            points.append((x, top))
        if number < len(chain) - 1:
            points += [(x, bottom), (x, end)] if bottom < end or number == 0 else [(x, end)]
    return tuple(dict.fromkeys(points))


def draw_procedure(graph: TaskGraph) -> npt.NDArray[np.uint8]:
    """Return the picture of a graph, RGB; the same graph gives the same picture with the same Pillow.

    Raises:
        UserError: as ``layout_procedure``.
        MissingExtraError: when Pillow is not installed.
    """
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError:
        raise MissingExtraError("pillow", "video", "Drawing procedures") from None
    import numpy as np

    layout = layout_procedure(graph)
    image = Image.new("RGB", (layout.width, layout.height), "white")
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(_FONT)
    for points in layout.arrows.values():
        draw.line(points, fill=(70, 90, 120), width=2, joint="curve")
        x, y = points[-1]
        draw.polygon([(x, y), (x - 5, y - 10), (x + 5, y - 10)], fill=(70, 90, 120))
    for box in layout.boxes.values():
        corner = (box.left + box.width, box.top + box.height)
        draw.rounded_rectangle(
            [(box.left, box.top), corner], 6, fill=(245, 248, 252), outline=(40, 50, 70), width=2
        )
        for number, text in enumerate(box.lines):
            at = (box.left + _PADDING, box.top + _PADDING + number * _LINE)
            draw.text(at, text, fill=(10, 10, 10), font=font)
    return np.asarray(image)

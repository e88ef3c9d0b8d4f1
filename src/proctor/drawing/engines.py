"""Layout programs: sizes and pairs of numbers go in, places and routes come out.

``dot`` of Graphviz is taken where it is installed, else the Python library fast-sugiyama (MIT). Both run as a child
process under a limit of time and memory, because a layout may take exponentially long.
"""

from __future__ import annotations

import importlib.util
import math
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Final

import msgspec

from proctor.drawing.sketch import NotDrawnError, Sketch
from proctor.said import say

__all__ = [
    "Engine",
    "Placement",
    "Route",
    "find_engine",
    "find_graphviz",
    "graphviz_engine",
    "run_limited",
    "sugiyama_engine",
    "write_dot",
]

TIME_LIMIT: Final = 5.0
"""Seconds that one layout may take."""
MEMORY_LIMIT: Final = 1 << 30
"""Bytes of address space that a layout program may use."""

_GAP_X, _GAP_Y = 16.0, 30.0
_MARGIN: Final = 12.0
"""Pixels around the drawing: marks of errors stand over the edges of boxes."""


class Route(msgspec.Struct, frozen=True, array_like=True):
    """One arrow as a cubic Bézier path: ``1 + 3 k`` points, pixels ``x0, y0, x1, y1, …``."""

    points: tuple[float, ...]


class Placement(msgspec.Struct, frozen=True):
    """Where everything stands.

    Attributes:
        width: pixels.
        height: pixels.
        corners: left and top edge of every slot, in the order of the sketch.
        routes: one for each edge of the sketch, in any order.
    """

    width: float
    height: float
    corners: tuple[tuple[float, float], ...]
    routes: tuple[Route, ...]


@dataclass(frozen=True, slots=True)
class Engine:
    """A layout program; ``place`` raises ``NotDrawnError``."""

    name: str
    place: Callable[[Sketch], Placement]


def find_graphviz() -> str | None:
    """Return the path of the ``dot`` program, None when there is none."""
    return shutil.which("dot")


def find_engine() -> Engine | None:
    """Return the best layout program of this machine, None when there is none."""
    program = find_graphviz()
    if program is not None:
        return graphviz_engine(program)
    return sugiyama_engine() if importlib.util.find_spec("fast_sugiyama") is not None else None


def run_limited(arguments: Sequence[str], data: bytes, name: str) -> bytes:
    """Run a program on data under ``TIME_LIMIT`` and ``MEMORY_LIMIT`` and return what it writes.

    Raises:
        NotDrawnError: if it cannot be started, takes too long, fails or writes nothing.
    """
    try:
        process = subprocess.Popen(  # noqa: S603 - no shell, a fixed program, data goes through its input
            list(arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError as error:
        raise NotDrawnError(
            say("{name} could not be started ({why})", name=name, why=error.strerror)
        ) from None
    with process:
        _limit_memory(process.pid)
        try:
            written, _ = process.communicate(data, timeout=TIME_LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            raise NotDrawnError(
                say("{name} took more than {most:g} seconds", name=name, most=TIME_LIMIT)
            ) from None
    if process.returncode != 0 or not written:
        raise NotDrawnError(say("{name} ended with status {status}", name=name, status=process.returncode))
    return written


def _limit_memory(pid: int) -> None:
    """Limit a child that waits for its input; set from here, because code between fork and exec may deadlock."""
    if sys.platform == "linux":
        import resource

        try:
            resource.prlimit(pid, resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
        except (OSError, ValueError):
            return  # it has ended already, or this process may not: the time limit stays


# -- Graphviz ----------------------------------------------------------------------------------------------------


def write_dot(sketch: Sketch) -> str:
    """Return the sketch in the DOT language: node ``n3`` is the fourth slot; there is no text in it."""
    lines = [
        "digraph {",
        f"graph [rankdir=TB, nodesep={_GAP_X / 72:.3f}, ranksep={_GAP_Y / 72:.3f}];",
        'node [shape=box, fixedsize=true, label=""];',
        "edge [dir=none];",
    ]
    lines += [
        f"n{k} [width={s.width / 72:.4f}, height={s.height / 72:.4f}];" for k, s in enumerate(sketch.slots)
    ]
    lines += [f"n{a} -> n{b};" for a, b in sketch.edges]
    return "\n".join([*lines, "}"]) + "\n"


@cache
def graphviz_engine(program: str) -> Engine:
    """Return the layout of Graphviz' ``dot`` at this path."""

    def place(sketch: Sketch) -> Placement:
        written = run_limited([program, "-Tplain"], write_dot(sketch).encode(), "Graphviz")
        try:
            return _read_plain(written.decode("ascii"), sketch)
        except (ValueError, IndexError, KeyError):
            raise NotDrawnError(say("what Graphviz wrote could not be read")) from None

    return Engine("dot", place)


def _read_plain(text: str, sketch: Sketch) -> Placement:
    """Read Graphviz' plain format: inches, y upwards."""
    height, centres, routes = 0.0, {}, []
    for line in text.replace("\\\n", "").splitlines():
        kind, *words = line.split()
        if kind == "graph":
            height = float(words[2]) * 72
        elif kind == "node":
            centres[int(words[0][1:])] = (float(words[1]) * 72, height - float(words[2]) * 72)
        elif kind == "edge":
            numbers = [float(word) * 72 for word in words[3 : 3 + 2 * int(words[2])]]
            points = [v if k % 2 == 0 else height - v for k, v in enumerate(numbers)]
            routes.append(Route(tuple(points)))
    return _frame(sketch, [centres[k] for k in range(len(sketch.slots))], routes)


def _frame(sketch: Sketch, centres: Sequence[tuple[float, float]], routes: Sequence[Route]) -> Placement:
    """Move everything so that the drawing begins at the margin, and say how large it is.

    Raises:
        ValueError: if a number is not finite or an arrow is missing.
    """
    corners = [(x - s.width / 2, y - s.height / 2) for (x, y), s in zip(centres, sketch.slots, strict=True)]
    xs = [x for x, _ in corners] + [x for r in routes for x in r.points[::2]]
    ys = [y for _, y in corners] + [y for r in routes for y in r.points[1::2]]
    xs += [x + s.width for (x, _), s in zip(corners, sketch.slots, strict=True)]
    ys += [y + s.height for (_, y), s in zip(corners, sketch.slots, strict=True)]
    if len(routes) != len(sketch.edges) or not all(map(math.isfinite, (*xs, *ys))):
        raise ValueError("not a layout of this graph")
    left, top = min(xs) - _MARGIN, min(ys) - _MARGIN
    return Placement(
        round(max(xs) - left + _MARGIN, 1),
        round(max(ys) - top + _MARGIN, 1),
        tuple((round(x - left, 1), round(y - top, 1)) for x, y in corners),
        tuple(
            Route(tuple(round(v - (top if k % 2 else left), 1) for k, v in enumerate(r.points)))
            for r in routes
        ),
    )


# -- fast-sugiyama -----------------------------------------------------------------------------------------------


@cache
def sugiyama_engine() -> Engine:
    """Return the layout of the library fast-sugiyama, which runs in a Python process of its own."""

    def place(sketch: Sketch) -> Placement:
        room = max(s.width for s in sketch.slots) + _GAP_X
        request = msgspec.json.encode({"nodes": len(sketch.slots), "edges": sketch.edges, "room": room})
        program = [sys.executable, "-m", "proctor.drawing.sugiyama"]
        written = run_limited(program, request, say("the layout library"))
        try:
            return _place_layers(sketch, *msgspec.json.decode(written, type=_Layers))
        except (msgspec.DecodeError, ValueError, IndexError, KeyError):
            raise NotDrawnError(say("what the layout library wrote could not be read")) from None

    return Engine("fast-sugiyama", place)


_Layers = tuple[list[tuple[float, int]], list[list[tuple[float, int]]]]
"""Horizontal position in pixels and layer of every slot, and of the bends of every edge."""


def _place_layers(
    sketch: Sketch, nodes: list[tuple[float, int]], bends: list[list[tuple[float, int]]]
) -> Placement:
    """Give every layer the height of its highest slot; edges pass between the slots where the library bends them."""
    heights: dict[int, float] = {}
    for (_, layer), slot in zip(nodes, sketch.slots, strict=True):
        heights[layer] = max(heights.get(layer, 0.0), slot.height)
    middle, y = {}, 0.0
    for layer in sorted(heights):
        middle[layer] = y + heights[layer] / 2
        y += heights[layer] + _GAP_Y * 1.4
    routes = []
    for (a, b), bend in zip(sketch.edges, bends, strict=True):
        (x0, upper), (x1, lower) = nodes[a], nodes[b]
        corners = [(x0, middle[upper] + sketch.slots[a].height / 2)]
        for x, layer in bend:
            half = heights[layer] / 2
            corners += [(x, middle[layer] - half), (x, middle[layer] + half)]
        corners.append((x1, middle[lower] - sketch.slots[b].height / 2))
        routes.append(Route(_smooth(corners)))
    return _frame(sketch, [(x, middle[layer]) for x, layer in nodes], routes)


def _smooth(corners: Sequence[tuple[float, float]]) -> tuple[float, ...]:
    """Join points, from top to bottom, by curves that leave and arrive upright."""
    points = [*corners[0]]
    for (x0, y0), (x1, y1) in pairwise(corners):
        half = (y0 + y1) / 2
        points += [x0, half, x1, half, x1, y1]
    return tuple(points)

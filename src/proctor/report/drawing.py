"""The drawings of a report: each graph once, without statuses, for the page to copy and mark.

The drawing itself is that of the studio (``proctor.drawing``). Where a layout program is there, every box has its
place when the report is written. Otherwise the page places the same boxes, with the WebAssembly build of Graphviz
that ships with this package; it gets sizes and pairs of numbers, no text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from proctor.drawing.engines import Engine, find_engine, write_dot
from proctor.drawing.layout import Layout, Layouts
from proctor.drawing.sketch import NotDrawnError, make_sketch
from proctor.drawing.svg import draw_layout
from proctor.drawing.text import show_step
from proctor.procedure.graph import TaskGraph

__all__ = ["Drawing", "draw_graphs", "draw_in_page", "find_engine", "show_step"]


@dataclass(frozen=True, slots=True)
class Drawing:
    """A task graph ready for the page.

    Attributes:
        svg: SVG without statuses, empty when there is none.
        dot: sizes and edges for the page to place, empty when it need not.
        note: why there is no drawing, for people.
        layout: of the SVG; None when there is no SVG.
    """

    svg: str = ""
    dot: str = ""
    note: str = ""
    layout: Layout | None = None

    @property
    def width(self) -> int:
        """Width of the SVG in pixels; 0 when there is none, or none yet."""
        placed = self.layout.placement if self.layout is not None else None
        return round(placed.width) if placed is not None else 0


def draw_graphs(graphs: Mapping[str, TaskGraph], engine: Engine) -> dict[str, Drawing]:
    """Draw every graph; one that cannot be drawn gets a note instead and never stops the others."""
    layouts = _layouts(engine)
    layouts.prepare(graphs.values())
    return {key: _draw(graph, layouts) for key, graph in graphs.items()}


@cache
def _layouts(engine: Engine) -> Layouts:
    return Layouts(engine=engine)


def _draw(graph: TaskGraph, layouts: Layouts) -> Drawing:
    try:
        layout = layouts.find(graph)
    except NotDrawnError as error:
        return Drawing(note=f"Not drawn: {error}.")
    return Drawing(svg=draw_layout(layout, graph), layout=layout)


def draw_in_page(graphs: Iterable[tuple[str, TaskGraph]]) -> dict[str, Drawing]:
    """Give every graph its boxes without places, and the numbers from which the page can place them."""
    drawings = {}
    for key, graph in graphs:
        try:
            sketch = make_sketch(graph)
        except NotDrawnError as error:
            drawings[key] = Drawing(note=f"Not drawn: {error}.")
            continue
        layout = Layout(sketch, None)
        drawings[key] = Drawing(draw_layout(layout, graph), write_dot(sketch), "", layout)
    return drawings

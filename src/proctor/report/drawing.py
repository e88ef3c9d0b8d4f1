"""The drawings of a report: each graph once, by a layout program that is there; a list of steps says the same.

The drawing itself is that of the studio (``proctor.drawing``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from proctor.drawing.engines import Engine, find_engine
from proctor.drawing.layout import Layout, Layouts
from proctor.drawing.sketch import NotDrawnError
from proctor.drawing.svg import draw_layout
from proctor.procedure.graph import TaskGraph

__all__ = ["Drawing", "draw_graphs"]


@dataclass(frozen=True, slots=True)
class Drawing:
    """A task graph ready for the page.

    Attributes:
        svg: SVG without statuses, empty when there is none.
        note: why there is no drawing, for people.
        layout: of the SVG; None when there is no SVG.
    """

    svg: str = ""
    note: str = ""
    layout: Layout | None = None


def draw_graphs(graphs: Mapping[str, TaskGraph], engine: Engine | None = None) -> dict[str, Drawing]:
    """Draw every graph; one that cannot be drawn gets a note instead and never stops the others.

    Args:
        graphs: activity id to task graph.
        engine: the layout program; the one that is installed by default (Graphviz, else the library fast-sugiyama).
    """
    engine = engine or find_engine()
    if engine is None:
        note = (
            "Not drawn: neither Graphviz ('dot') nor the library fast-sugiyama (extra 'studio') is installed."
        )
        return dict.fromkeys(graphs, Drawing(note=note))
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
    return Drawing(draw_layout(layout, graph), layout=layout)

"""What models are shown of a procedure: steps as people read them, without what only a data set's files need.

CaptainCook4D writes a step as ``Verb-Verb the rest`` and closes each graph with two nodes, START and END, that nobody performs.
Whatever else a text says stays as it is, letter by letter.
"""

from __future__ import annotations

from functools import lru_cache

from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.phrase import has_tag, render_step

__all__ = ["shown_graph", "shown_text"]


@lru_cache(maxsize=20_000)
def shown_text(text: str) -> str:
    """Return the text of a step or a remark without its ``Verb-`` tag; a text without one as it is."""
    return render_step(text) if has_tag(text) else text


@lru_cache(maxsize=256)
def shown_graph(graph: TaskGraph) -> TaskGraph:
    """Return a graph without start and end, its steps without their tags; ids and the order of steps stay."""
    steps = tuple(Step(s.id, shown_text(s.text), s.optional) for s in graph.actions)
    ends = (graph.start, graph.end)
    edges = tuple((a, b) for a, b in graph.edges if a not in ends and b not in ends)
    return TaskGraph(graph.id, graph.name, steps, edges)

"""A task graph in Graphviz DOT, for people and models to read.

Nodes are named by the ids of the steps and labelled with their texts. (The published prompts name nodes by text; steps
with equal texts then melt into one, and three of the 24 published recipes get cycles or a self-loop.)
"""

from __future__ import annotations

from proctor.procedure.graph import Step, TaskGraph

__all__ = ["render_dot"]


def render_dot(graph: TaskGraph) -> str:
    """Return the graph as DOT: all nodes, then all edges, each in file order; an edge leads to what comes later."""
    names = {graph.start: "START", graph.end: "END"}
    lines = ["digraph {"]
    lines += [f"  {_quoted(s.id)} [label={_quoted(names.get(s.id) or _label(s))}];" for s in graph.steps]
    lines += [f"  {_quoted(before)} -> {_quoted(after)};" for before, after in graph.edges]
    return "\n".join((*lines, "}"))


def _label(step: Step) -> str:
    return f"{step.text} (optional)" if step.optional else step.text


def _quoted(text: str) -> str:
    """Return a DOT string: quotes and backslashes are escaped, line breaks written as backslash n."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "\\n".join(escaped.splitlines()) + '"'

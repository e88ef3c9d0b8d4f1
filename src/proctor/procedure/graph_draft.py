"""A task graph as somebody wrote it, before anything about it was checked.

``TaskGraph`` refuses what is no task graph. Who wants to know what is wrong with a file needs a value that can hold
the wrong thing: readers of graph files make drafts, the linter looks at them, and ``build`` makes graphs of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from proctor.procedure.graph import Step, TaskGraph

__all__ = ["GraphDraft"]


@dataclass(frozen=True, slots=True)
class GraphDraft:
    """The fields of a ``TaskGraph`` without its promises: cycles, unknown and repeated ids are possible."""

    id: str
    name: str
    steps: tuple[Step, ...]
    edges: tuple[tuple[str, str], ...] = ()
    start: str | None = None
    end: str | None = None

    @classmethod
    def of(cls, graph: TaskGraph) -> GraphDraft:
        """Return a graph as a draft."""
        return cls(graph.id, graph.name, graph.steps, graph.edges, graph.start, graph.end)

    def build(self) -> TaskGraph:
        """Return the task graph.

        Raises:
            GraphError: if it is none; it lists the problems.
        """
        return TaskGraph(self.id, self.name, self.steps, self.edges, self.start, self.end)

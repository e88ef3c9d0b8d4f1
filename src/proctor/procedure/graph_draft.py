"""A task graph as somebody wrote it, before anything about it was checked.

``TaskGraph`` refuses what is no task graph. Who wants to know what is wrong with a file needs a value that can hold
the wrong thing: readers of graph files make drafts, the linter looks at them, and ``build`` makes graphs of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from proctor.procedure.graph import Step, TaskGraph

__all__ = ["GraphDraft", "closing_edges"]


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


def closing_edges(
    ids: Sequence[str],
    edges: Collection[tuple[str, str]],
    last: Iterable[str],
    start: str | None = None,
    end: str | None = None,
) -> list[tuple[str, str]]:
    """Return the edges that make steps close an activity ("wipe the bench"), beside those that are given.

    A last step comes after every step that no other step waits for, and before the end where there is one. Several last
    steps have no order among themselves but for what the edges say.

    Args:
        ids: of all steps, in file order.
        edges: (before, after) pairs that are given.
        last: ids of the steps that close the activity.
        start: node that means "nothing done yet", which is no step.
        end: node that means "all done", which is no step.
    """
    closing = dict.fromkeys(last)
    followed = {a for a, b in edges if b != end and b not in closing}
    tips = [i for i in ids if i not in followed and i not in closing and i not in (start, end)]
    made = [(tip, i) for i in closing for tip in tips]
    if end is not None:
        made += [(i, end) for i in closing]
    return [edge for edge in made if edge not in set(edges)]

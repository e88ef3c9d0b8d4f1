"""What a person decided about single pairs of an inferred order, put into its graph.

* A *refused* edge ``a → b``: b need not wait for a. Only that pair goes: what came before a still comes before b, and a before
  what comes after b, so the reduction may show new edges where the refused one stood for them.
* An *accepted* pair is ordered, with everything that follows from it. An accepted edge stays as it is.

Decisions hold together or not at all: their order makes no difference.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from proctor.procedure.cycles import each_bit, strong_components, topological_order, transposed
from proctor.procedure.graph import TaskGraph

__all__ = ["ReviewError", "revise"]

Pair = tuple[str, str]


class ReviewError(ValueError):
    """The decisions contradict one another, or what is left of the graph."""


def revise(graph: TaskGraph, *, accepted: Iterable[Pair], refused: Collection[Pair]) -> TaskGraph:
    """Return the transitive reduction of a graph after a person's decisions.

    Args:
        graph: start and end, if it has them, stay where they are only as far as edges say so.
        accepted: (before, after) pairs that hold.
        refused: pairs that do not; pairs that the graph does not order are kept from being implied.

    Raises:
        ReviewError: if accepted pairs and the edges that are left form a cycle, or imply a refused pair.
        KeyError: if a pair names an unknown step.
    """
    ids = [s.id for s in graph.steps]
    rows = [graph.mask(graph.descendants(i)) for i in ids]
    # a refused edge of the reduction has nothing between its steps; other refused pairs show up as implied below
    for before, after in refused:
        rows[graph.index[before]] &= ~graph.mask([after])
    for before, after in accepted:
        rows[graph.index[before]] |= graph.mask([after])
    order = topological_order(rows)
    if order is None:
        knot = next(
            c for c in strong_components(rows, transposed(rows)) if len(c) > 1 or rows[c[0]] >> c[0] & 1
        )
        names = ", ".join(f"'{ids[i]}'" for i in knot)
        raise ReviewError(f"the steps {names} would have to come before one another")
    for i in reversed(order):
        for j in list(each_bit(rows[i])):
            rows[i] |= rows[j]
    for before, after in refused:
        if rows[graph.index[before]] >> graph.index[after] & 1:
            raise ReviewError(
                f"'{before}' → '{after}' is refused, but follows from the edges that are left or accepted"
            )
    pairs = tuple((ids[i], ids[j]) for i, row in enumerate(rows) for j in each_bit(row))
    return replace(graph, edges=pairs).transitive_reduction()

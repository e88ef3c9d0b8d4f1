"""Where a person stands at a moment of a recording.

Definitions (promqa.md 3.4 and 3.5): the *passed set* P holds every step performed so far, however badly, and the
start node. *Missing* are the ancestors of P that are not in P. *Next* are steps outside P whose direct
prerequisites are all in P and that have no descendant in P (else they are missing). When nothing is next, the
activity is **finished** if every step is passed and **blocked** if some are missing; the published system
calls both finished.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from proctor.procedure.graph import TaskGraph

__all__ = ["Progress", "ProgressState", "derive_progress"]

ProgressState = Literal["started", "ongoing", "finished", "blocked"]


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a performance.

    Attributes:
        done: steps passed so far, in order of their first performance.
        next: what may be done now, in the graph's scan order.
        missing: what should have been done before something that was done, in the graph's scan order.
        out_of_order: (before, after) pairs, direct prerequisites only: ``after`` was performed when ``before``
            had not been.
        state: ``started`` (nothing done), ``ongoing``, ``finished`` or ``blocked``.
    """

    done: tuple[str, ...]
    next: tuple[str, ...]
    missing: tuple[str, ...]
    out_of_order: tuple[tuple[str, str], ...]
    state: ProgressState

    @property
    def finished(self) -> bool:
        """True when every step was passed."""
        return self.state == "finished"

    @property
    def blocked(self) -> bool:
        """True when nothing can follow before something missing is made up for."""
        return self.state == "blocked"


def derive_progress(graph: TaskGraph, history: Sequence[str]) -> Progress:
    """Say where a person stands after performing these steps in this order; repeats are allowed.

    Raises:
        KeyError: if the history names a step that the graph does not have.
    """
    done = tuple(dict.fromkeys(i for i in history if i not in (graph.start, graph.end)))
    passed = graph.mask(done) | graph.mask([graph.start] if graph.start is not None else [])
    missing = missing_mask(graph, passed)
    following = next_mask(graph, passed)
    return Progress(
        done=done,
        next=graph.ids(following, graph.scan_order),
        missing=graph.ids(missing, graph.scan_order),
        out_of_order=_out_of_order(graph, done),
        state=_state(graph, passed, done, following),
    )


def missing_mask(graph: TaskGraph, passed: int) -> int:
    """Bitset of the actions that should have been passed: the ancestors of ``passed`` outside it."""
    return graph.ancestors_mask(passed) & ~passed & graph.action_mask


def next_mask(graph: TaskGraph, passed: int) -> int:
    """Bitset of the actions that may be done now."""
    return graph.ready_mask(passed) & ~graph.ancestors_mask(passed) & graph.action_mask


def _state(graph: TaskGraph, passed: int, done: Collection[str], following: int) -> ProgressState:
    if not done:
        return "started"
    if following:
        return "ongoing"
    return "finished" if graph.action_mask & ~passed == 0 else "blocked"


def _out_of_order(graph: TaskGraph, done: Sequence[str]) -> tuple[tuple[str, str], ...]:
    pairs, seen = [], set[str]()
    for step_id in done:
        seen.add(step_id)
        pairs += [(p, step_id) for p in graph.predecessors(step_id) if p not in seen and p != graph.start]
    return tuple(pairs)

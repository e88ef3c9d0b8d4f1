"""The state of every step of a task graph at the moment of an example, for drawings and lists."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from proctor.drawing.sketch import list_steps
from proctor.drawing.svg import Status, StepMark
from proctor.exam.kinds.example import Example
from proctor.procedure.graph import TaskGraph
from proctor.procedure.progress import progress_after

__all__ = [
    "MARK_STATUS",
    "STATE_WORDS",
    "StepState",
    "StepStateName",
    "derive_step_states",
    "list_steps",
    "mark_states",
]

StepStateName = Literal["done", "current", "next", "missing", "future"]

STATE_WORDS: Final[dict[str, str]] = {
    "done": "done",
    "current": "just done",
    "next": "next",
    "missing": "missing",
    "future": "later",
    "out_of_order": "out of order",
    "mistaken": "with a mistake",
}
"""The words that stand beside every drawing; colour alone never carries a state."""

MARK_STATUS: Final[dict[str, Status]] = {
    "done": "done",
    "current": "current",
    "next": "next",
    "missing": "missing",
    "future": "todo",
}
"""State to the status that gives its box a shape."""


@dataclass(frozen=True, slots=True)
class StepState:
    """Where one step stands.

    Attributes:
        step_id: id in the task graph.
        name: done, current, next, missing or future.
        out_of_order: it was performed before a direct prerequisite.
        mistakes: kinds of the mistakes made in any performance of it, in order, without repeats.
        errors: how many mistakes these were.
    """

    step_id: str
    name: StepStateName
    out_of_order: bool = False
    mistakes: tuple[str, ...] = ()
    errors: int = 0

    @property
    def words(self) -> str:
        """The state as words: ``"just done, out of order, mistake: measurement"``."""
        parts = [STATE_WORDS[self.name]]
        if self.out_of_order:
            parts.append(STATE_WORDS["out_of_order"])
        if self.mistakes:
            parts.append(
                ("mistake: " if len(self.mistakes) == 1 else "mistakes: ") + ", ".join(self.mistakes)
            )
        return ", ".join(parts)


def mark_states(states: Iterable[StepState]) -> dict[str, StepMark]:
    """Return what a drawing says of every step: step id to mark."""
    return {s.step_id: StepMark(MARK_STATUS[s.name], s.words, s.errors, late=s.out_of_order) for s in states}


def derive_step_states(example: Example, graph: TaskGraph) -> tuple[StepState, ...]:
    """Say for every action of the graph, in the order of ``list_steps``, where it stands.

    Steps that the example names but the graph does not have are ignored. A step that is repeated as the current
    one is *current*, not *done*.
    """
    progress = progress_after(graph, [p for p in example.performed if p.step_id in graph])
    done, following, missing = set(progress.done), set(progress.next), set(progress.missing)
    late = {after for _, after in progress.out_of_order}
    mistakes: dict[str, list[str]] = {}
    for performed in example.performed:
        mistakes.setdefault(performed.step_id, []).extend(m.kind for m in performed.mistakes)
    current = example.current.step_id if example.current is not None else None

    def name(step_id: str) -> StepStateName:
        if step_id == current:
            return "current"
        if step_id in done:
            return "done"
        if step_id in missing:
            return "missing"
        return "next" if step_id in following else "future"

    return tuple(
        StepState(s.id, name(s.id), s.id in late, tuple(dict.fromkeys(kinds)), len(kinds))
        for s in list_steps(graph)
        for kinds in (mistakes.get(s.id, []),)
    )

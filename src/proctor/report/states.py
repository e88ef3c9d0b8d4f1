"""The state of every step of a task graph at the moment of an example, for drawings and lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from proctor.examples.example import Example
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.progress import derive_progress

__all__ = ["STATE_WORDS", "StepState", "StepStateName", "derive_step_states", "list_steps"]

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


@dataclass(frozen=True, slots=True)
class StepState:
    """Where one step stands.

    Attributes:
        step_id: id in the task graph.
        name: done, current, next, missing or future.
        out_of_order: it was performed before a direct prerequisite.
        mistakes: kinds of the mistakes made in any performance of it, in order, without repeats.
    """

    step_id: str
    name: StepStateName
    out_of_order: bool = False
    mistakes: tuple[str, ...] = ()

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


def list_steps(graph: TaskGraph) -> tuple[Step, ...]:
    """Return the actions in an order in which they could be done; every list of the report uses it."""
    return tuple(graph[i] for i in graph.topological_order if i not in (graph.start, graph.end))


def derive_step_states(example: Example, graph: TaskGraph) -> tuple[StepState, ...]:
    """Say for every action of the graph, in the order of ``list_steps``, where it stands.

    Steps that the example names but the graph does not have are ignored. A step that is repeated as the current
    one is *current*, not *done* (promqa.md 10 g).
    """
    history = [p.step_id for p in example.performed if p.step_id in graph]
    progress = derive_progress(graph, history)
    done, following, missing = set(progress.done), set(progress.next), set(progress.missing)
    late = {after for _, after in progress.out_of_order}
    mistakes: dict[str, dict[str, None]] = {}
    for performed in example.performed:
        mistakes.setdefault(performed.step_id, {}).update(dict.fromkeys(m.kind for m in performed.mistakes))
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
        StepState(s.id, name(s.id), s.id in late, tuple(mistakes.get(s.id, ()))) for s in list_steps(graph)
    )

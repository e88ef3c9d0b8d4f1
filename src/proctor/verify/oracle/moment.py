"""The facts of a moment that decide answers: where every step stands, what went wrong, and in which words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from proctor.errors import UserError
from proctor.exam.kinds.example import STEP_TYPES, Example
from proctor.procedure.graph import TaskGraph
from proctor.procedure.progress import Progress, progress_after
from proctor.procedure.recording import Mistake
from proctor.verify.oracle.text import Quantity, content, excess_of, find_quantities, normalise

__all__ = ["Moment", "Standing"]

Standing = Literal["done", "next", "missing", "stuck", "later"]
"""Where a step stands: ``missing`` can be made up for now, ``stuck`` is missing too but something that must come
before it is not done either, ``later`` will come but not yet."""


@dataclass(frozen=True)
class Moment:
    """An example seen through its graph.

    Raises:
        UserError: if the example names a step that the graph does not have.
    """

    example: Example
    graph: TaskGraph

    @cached_property
    def history(self) -> tuple[str, ...]:
        """Ids of the performed steps in order; start and end nodes are no steps."""
        ids = tuple(p.step_id for p in self.example.performed)
        unknown = [i for i in ids if i not in self.graph]
        if unknown:
            raise UserError(
                f"step '{unknown[0]}' was performed but is not in the task graph '{self.graph.name}'.",
                where=self.example.id,
                hint="read the recordings and the graph from the same folder",
            )
        return ids

    @cached_property
    def progress(self) -> Progress:
        """What is done, next and missing.

        Raises:
            UserError: as ``history``.
        """
        return progress_after(self.graph, self.example.performed if self.history else ())

    @cached_property
    def _done(self) -> frozenset[str]:
        return frozenset(self.progress.done)

    @cached_property
    def pending(self) -> frozenset[str]:
        """Every step that is not done and has to be."""
        return frozenset(s.id for s in self.graph.actions if not s.optional) - self._done

    @cached_property
    def missing(self) -> frozenset[str]:
        """Steps that should have been done before something that was."""
        return frozenset(self.progress.missing)

    @cached_property
    def following(self) -> frozenset[str]:
        """Steps that may be done next."""
        return frozenset(self.progress.next)

    def standing(self, step_id: str) -> Standing:
        """Say where a step stands."""
        if step_id in self._done:
            return "done"
        if step_id in self.following:
            return "next"
        if step_id in self.missing:
            return "stuck" if self.unmet(step_id) else "missing"
        return "later"

    def unmet(self, step_id: str) -> frozenset[str]:
        """Steps that must come before this one and are not done; optional ones need not."""
        return frozenset(self.graph.ancestors(step_id)) & self.pending

    @cached_property
    def late(self) -> frozenset[str]:
        """Steps done only after something they had to come before."""
        seen, found = 0, set[str]()
        for step_id in self.progress.done:
            if self.graph.mask(self.graph.descendants(step_id)) & seen:
                found.add(step_id)
            seen |= self.graph.mask([step_id])
        return frozenset(found)

    def came_after(self, step_id: str, other: str | None) -> bool:
        """True when a step was first done after another was."""
        order = self.progress.done
        return step_id in order and other in order and order.index(step_id) > order.index(other)

    def mistakes_of(self, step_ids: Iterable[str]) -> tuple[Mistake, ...]:
        """Mistakes in the performances of these steps, wrong order excepted where nothing else is asked."""
        wanted = frozenset(step_ids)
        return tuple(m for p in self.example.performed if p.step_id in wanted for m in p.mistakes)

    @cached_property
    def current_id(self) -> str | None:
        """The step just performed."""
        return self.example.current.step_id if self.example.current is not None else None

    @cached_property
    def current_mistakes(self) -> tuple[Mistake, ...]:
        """Mistakes of the step just performed."""
        return self.example.current.mistakes if self.example.current is not None else ()

    @cached_property
    def own_mistakes(self) -> int:
        """Performed steps with a mistake other than wrong order."""
        return sum(
            any(m.kind not in ("order", "missing") for m in p.mistakes) for p in self.example.performed
        )

    @cached_property
    def disordered(self) -> bool:
        """True when an annotator marked a performed step as out of order, or the graph says so."""
        return bool(self.progress.out_of_order) or any(
            m.kind == "order" for p in self.example.performed for m in p.mistakes
        )

    @cached_property
    def targets_mistake(self) -> bool:
        """True when the example was made for a mistake of the current step."""
        return self.example.type in STEP_TYPES or self.example.type == "order"

    @cached_property
    def mistake_stems(self) -> frozenset[str]:
        """Content stems of what annotators wrote about mistakes, and of what was done instead."""
        texts = [m.text for p in self.example.performed for m in p.mistakes]
        texts += [p.text for p in self.example.performed if p.mistakes]
        texts += list(self.example.mistake_texts)
        return frozenset(w for t in texts for w in content(normalise(t)))

    @cached_property
    def noted_stems(self) -> frozenset[str]:
        """Content stems of what annotators wrote about the mistake that the example was made for."""
        return frozenset(w for t in self.example.mistake_texts for w in content(normalise(t)))

    @cached_property
    def disorder_stems(self) -> frozenset[str]:
        """Content stems of what annotators wrote about the place of the step just performed."""
        texts = [m.text for m in self.current_mistakes if m.kind == "order"]
        return frozenset(w for t in texts for w in content(normalise(t)))

    @cached_property
    def target_stems(self) -> frozenset[str]:
        """Content stems of the mistakes of the current step and of its instruction."""
        texts = [m.text for m in self.current_mistakes] + list(self.example.mistake_texts)
        if self.current_id is not None:
            texts.append(self.graph[self.current_id].text)
        return frozenset(w for t in texts for w in content(normalise(t)))

    @cached_property
    def required_quantities(self) -> frozenset[Quantity]:
        """Quantities that the current step should have had: of its instruction, and of what was to be done instead."""
        texts = [self.graph[self.current_id].text] if self.current_id is not None else []
        texts += [_without_contrast(normalise(t))[1] for t in self._noted]
        return frozenset(q for t in texts for q in find_quantities(normalise(t)))

    @cached_property
    def _noted(self) -> tuple[str, ...]:
        return tuple(m.text for m in self.current_mistakes) + self.example.mistake_texts

    @cached_property
    def excess(self) -> int:
        """1 when the mistakes of the current step were too much of something, -1 when too little, 0 when unknown."""
        found = {self._excess_of(t) for t in self.example.mistake_texts} - {0}
        if not found and self.example.current is not None and self.current_id is not None:
            done = find_quantities(normalise(self.example.current.text))
            found = {_sign(done, find_quantities(normalise(self.graph[self.current_id].text)))} - {0}
        return found.pop() if len(found) == 1 else 0

    @staticmethod
    def _excess_of(text: str) -> int:
        done, required = _without_contrast(normalise(text))
        turned = bool(_RAISED.search(done)) - bool(_LOWERED.search(done)) if required else 0
        return (
            turned
            or (_sign(find_quantities(done), find_quantities(required)) if required else 0)
            or excess_of(done)
        )

    @cached_property
    def target_quantities(self) -> frozenset[Quantity]:
        """Quantities of the current step's instruction, performance and mistakes."""
        texts = [m.text for m in self.current_mistakes] + list(self.example.mistake_texts)
        if self.example.current is not None:
            texts += [self.example.current.text, self.graph[self.example.current.step_id].text]
        return frozenset(q for t in texts for q in find_quantities(normalise(t)))


_RAISED = re.compile(r"\b(?:increas|rais)\w*|\bturn\w* (?:\w+ ){0,2}up\b")
_LOWERED = re.compile(r"\b(?:decreas|reduc|lower)\w*|\bturn\w* (?:\w+ ){0,2}down\b")
_CONTRAST = re.compile(r"\b(?:instead of|rather than|in place of)\b")


def _without_contrast(plain: str) -> tuple[str, str]:
    """Split "3 turns rather than 2" into what was done and what was to be done, which is empty when it is not said."""
    done, *required = _CONTRAST.split(plain, maxsplit=1)
    return done, "".join(required)


def _sign(done: Iterable[Quantity], required: Iterable[Quantity]) -> int:
    """Return 1 when more was done than required, -1 when less; 0 when they cannot be compared."""
    needed = {unit: value for value, unit in (q.base for q in required)}
    signs = {(v > needed[u]) - (v < needed[u]) for v, u in (q.base for q in done) if u in needed} - {0}
    return signs.pop() if len(signs) == 1 else 0

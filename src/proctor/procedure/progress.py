"""Where a person stands at a moment of a recording.

Definitions (ProMQA): the *passed set* P holds every step performed so far, however badly, and the
start node. *Missing* are the ancestors of P that are not in P. *Next* are steps outside P whose direct
prerequisites are all in P and that have no descendant in P (else they are missing). When nothing is next, the
activity is **finished** if every step is passed and **blocked** if some are missing; the published system
calls both finished.

Two things are not in these definitions. *Optional* steps are never missing and hold nothing up; an activity is finished
when every step that has to be done is passed. And a step that was passed may be *open again*: who roughens the rubber a
second time has to put the cement on again. ``find_effects`` says what each performance of a recording opened again
(``docs/procedure.md`` has the rules), ``progress_after`` counts with it. ``derive_progress`` knows ids only and counts as
the published system does, for which a step that was ever done stays done.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, Protocol

from proctor.procedure.graph import TaskGraph

__all__ = [
    "Act",
    "Effect",
    "EffectKind",
    "Progress",
    "ProgressState",
    "derive_progress",
    "find_effects",
    "progress_after",
]

ProgressState = Literal["started", "ongoing", "finished", "blocked"]

EffectKind = Literal["first", "late", "continuation", "rework", "unclear"]
"""What a performance is. Of a step that stood done: ``continuation`` when nothing that depends on it was done since it was
performed last (the state is as before), ``rework`` when dependent steps were done since and at least one of them is done
again later (they are open again), else ``unclear``. Of a step that did not stand done: ``first``, or ``late`` when steps that
depend on it stood done and some of these are done again later (these are open again); ``unclear`` if others rest on them."""


class Act(Protocol):
    """A step that was performed, and which steps that opened again."""

    @property
    def step_id(self) -> str:
        """Id in the task graph."""

    @property
    def reopens(self) -> tuple[str, ...]:
        """Steps that stood done and are open again since."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What one performance of a recording did to what was done before.

    Attributes:
        step_id: the step that was performed.
        kind: what it is to what was done before.
        reopens: the steps that are open again, in the graph's file order; none where it is unclear.
    """

    step_id: str
    kind: EffectKind = "first"
    reopens: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a performance.

    Attributes:
        done: steps that stand done, in the order in which they were done first, or first again.
        next: what may be done now, in the graph's scan order.
        missing: what should have been done before something that was done, in the graph's scan order.
        out_of_order: (before, after) pairs, direct prerequisites only: ``after`` was performed when ``before``
            did not stand done. An optional step counts only if it was performed at all.
        state: ``started`` (nothing done), ``ongoing``, ``finished`` (optional steps may be left) or ``blocked``.
    """

    done: tuple[str, ...]
    next: tuple[str, ...]
    missing: tuple[str, ...]
    out_of_order: tuple[tuple[str, str], ...]
    state: ProgressState

    @property
    def finished(self) -> bool:
        """True when every step that has to be done was passed."""
        return self.state == "finished"

    @property
    def blocked(self) -> bool:
        """True when nothing can follow before something missing is made up for."""
        return self.state == "blocked"


def derive_progress(graph: TaskGraph, history: Sequence[str]) -> Progress:
    """Say where a person stands after performing these steps in this order; a repeated step changes nothing.

    Raises:
        KeyError: if the history names a step that the graph does not have.
    """
    return progress_after(graph, [Effect(i) for i in history])


def progress_after(graph: TaskGraph, performed: Iterable[Act]) -> Progress:
    """Say where a person stands after these performances, given which steps each of them opened again.

    Raises:
        KeyError: if a performance names a step that the graph does not have.
    """
    acts = [a for a in performed if a.step_id not in (graph.start, graph.end)]
    done: dict[str, None] = {}
    pairs: dict[tuple[str, str], None] = {}
    for act in acts:
        for step_id in act.reopens:
            done.pop(step_id, None)
        if act.step_id not in done:
            before = graph.predecessors(act.step_id)
            pairs |= dict.fromkeys((p, act.step_id) for p in before if p not in done and p != graph.start)
            done[act.step_id] = None
    passed = graph.mask(done) | graph.mask([graph.start] if graph.start is not None else [])
    following = next_mask(graph, passed)
    performed_ids = {a.step_id for a in acts}
    return Progress(
        done=tuple(done),
        next=graph.ids(following, graph.scan_order),
        missing=graph.ids(missing_mask(graph, passed), graph.scan_order),
        out_of_order=tuple((a, b) for a, b in pairs if a in performed_ids or not graph[a].optional),
        state=_state(graph, passed, done, following),
    )


def find_effects(graph: TaskGraph, performed: Sequence[str]) -> tuple[Effect, ...]:
    """Say of every performance of a whole recording what it did to what was done before (``EffectKind``).

    Args:
        graph: of the activity.
        performed: ids of all performed steps of the recording, in order.

    Raises:
        KeyError: if a performance names a step that the graph does not have.
    """
    effects: list[Effect] = []
    passed, latest = 0, dict.fromkeys((s.id for s in graph.steps), -1)
    # for every position the bitset of the steps that are performed after it
    bits = [graph.mask([i]) for i in performed]
    after = list(accumulate(reversed(bits), operator.or_, initial=0))[-2::-1] if bits else []
    for step_id, later in zip(performed, after, strict=True):
        bit, below = graph.mask([step_id]), graph.mask(graph.descendants(step_id)) & passed
        if passed & bit:
            since = graph.mask(i for i in graph.ids(below) if latest[i] > latest[step_id])
            kind, reopened = _repeated(since, since & later)
        else:
            kind, reopened = _caught_up(graph, below & later, passed)
        passed = passed & ~reopened | bit
        latest[step_id] = len(effects)
        effects.append(Effect(step_id, kind, graph.ids(reopened)))
    return tuple(effects)


def _repeated(since: int, again: int) -> tuple[EffectKind, int]:
    """Judge a repetition by its dependent steps that were done since, and those of them that are done again."""
    if not since:
        return "continuation", 0
    return ("rework", since) if again else ("unclear", 0)


def _caught_up(graph: TaskGraph, again: int, passed: int) -> tuple[EffectKind, int]:
    """Judge a step that did not stand done by its dependent steps that did and are done again."""
    if not again:
        return "first", 0
    return ("unclear", 0) if again & graph.ancestors_mask(passed & ~again) else ("late", again)


def missing_mask(graph: TaskGraph, passed: int) -> int:
    """Bitset of the actions that should have been passed: the ancestors of ``passed`` outside it, optional ones excepted."""
    return graph.ancestors_mask(passed) & ~passed & graph.action_mask & ~graph.optional_mask


def next_mask(graph: TaskGraph, passed: int) -> int:
    """Bitset of the actions that may be done now."""
    return graph.ready_mask(passed) & ~graph.ancestors_mask(passed) & graph.action_mask


def _state(graph: TaskGraph, passed: int, done: Collection[str], following: int) -> ProgressState:
    if not done:
        return "started"
    if not graph.action_mask & ~graph.optional_mask & ~passed:
        return "finished"
    return "ongoing" if following else "blocked"

"""A partial order from several performances of one activity.

A step *a* is taken to come before a step *b* when it did so in at least the share ``threshold`` of the performances
that have both, and at least ``min_support`` of them have both. Of a step that was performed more than once the
first performance counts. What was found is closed under transitivity and reduced to the fewest edges that say the
same.

**Cycles.** Above a threshold of one half no two steps come before each other, but longer cycles are possible, even at
1.0 when performances leave steps out (a before b, b before c, c before a, each seen in another one). A cycle is
broken by its least supported pairs: inside each set of steps that lead to one another, all pairs with the lowest
share of agreement (among equals those that the fewest performances show) are removed at once, and so on until no
cycle is left. Pairs with equal evidence leave together, so the outcome depends on neither names nor order of the
input. What was removed is in ``InducedOrder.removed``.

**What it cannot know.** Steps that everybody happens to do in one order come out as ordered although nothing forces
them to be; more performances are the only cure. The support of each edge says on how many performances it rests.

Counts are kept bit-sliced: for each step and each binary digit one integer with one bit for each other step, so that
adding a performance costs a few machine words for each pair of rows and not a dictionary entry for each pair of steps.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final, Literal

from proctor.procedure.cycles import each_bit, strong_components, topological_order, transposed
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Recording

__all__ = [
    "TANGLE_LIMIT",
    "Evidence",
    "InducedOrder",
    "PairSupport",
    "Performance",
    "TangledOrdersError",
    "add_terminals",
    "induce_order",
    "observe_order",
    "observe_recording",
    "support_of",
]

Evidence = Literal["starts", "intervals"]
"""When a performance shows *a* before *b*: ``starts``: a starts before b starts; ``intervals``: a ends before b starts
or at that moment, so that steps done side by side speak for no order."""

TANGLE_LIMIT: Final = 1_000
"""Steps on one cycle beyond which the performances contradict one another too much to make anything of them."""


class TangledOrdersError(ValueError):
    """More than ``TANGLE_LIMIT`` steps lie on one cycle."""


@dataclass(frozen=True, slots=True)
class Performance:
    """One performance: when each step was done first, as (start, end) in seconds or in positions of a list."""

    id: str
    spans: Mapping[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class PairSupport:
    """How far a pair can be trusted: ``together`` performances have both steps, ``agreeing`` show this order.

    ``contradicting`` ones show the opposite order; the others show neither, because the steps begin at once or overlap.
    """

    before: str
    after: str
    agreeing: int
    together: int
    contradicting: int = 0

    @property
    def share(self) -> float:
        """Agreement among the performances that have both."""
        return self.agreeing / self.together


@dataclass(frozen=True, slots=True)
class InducedOrder:
    """A partial order and what it rests on.

    Attributes:
        graph: the steps in the order of their mean position, and the fewest edges that say everything.
        support: of each edge of the graph, in the same order (edges of added terminals have none).
        removed: pairs that met the threshold but lay on a cycle, by position of their steps.
        accepted: pairs that met the threshold and were kept.
        implied: further pairs that follow from these by transitivity without meeting the threshold themselves.
        performances: how many there were.
    """

    graph: TaskGraph
    support: tuple[PairSupport, ...]
    removed: tuple[PairSupport, ...]
    accepted: int
    implied: int
    performances: int


def observe_order(id_: str, steps: Iterable[str]) -> Performance:
    """Return a list of step ids, first to last, as a performance."""
    spans: dict[str, tuple[float, float]] = {}
    for place, step_id in enumerate(steps):
        spans.setdefault(step_id, (float(place), float(place + 1)))
    return Performance(id_, spans)


def observe_recording(recording: Recording) -> Performance:
    """Return when the steps of a recording were done first; skipped ones are left out, badly done ones are not."""
    spans: dict[str, tuple[float, float]] = {}
    for segment in recording.performed:
        if segment.start is None or segment.end is None:
            continue
        if segment.step_id not in spans or segment.start < spans[segment.step_id][0]:
            spans[segment.step_id] = (segment.start, segment.end)
    return Performance(recording.id, spans)


def induce_order(
    performances: Sequence[Performance],
    *,
    threshold: float = 1.0,
    min_support: int = 1,
    evidence: Evidence = "starts",
    texts: Mapping[str, str] | None = None,
    id: str = "induced",
    name: str = "",
) -> InducedOrder:
    """Return the partial order that the performances agree on.

    Args:
        performances: of one activity; the order in which they are given does not matter.
        threshold: share of agreement that a pair needs, above 0.5 and at most 1.
        min_support: how many performances with both steps a pair needs.
        evidence: what counts as one step before another.
        texts: of the steps; the id where there is none.
        id: of the graph.
        name: of the graph; its id by default.

    Raises:
        ValueError: if there is no step, the threshold or the support is out of range, or a time is not finite.
        TangledOrdersError: if more than ``TANGLE_LIMIT`` steps lie on one cycle.
    """
    _check(performances, threshold, min_support)
    ids = _by_mean_position(performances)
    counts = _Counts(ids)
    for performance in performances:
        counts.add(performance, evidence)
    after = [counts.accepted(i, threshold, min_support) for i in range(len(ids))]
    order = topological_order(after)
    removed: list[tuple[int, int]] = []
    if order is None:
        removed = _break_cycles(after, counts)
        order = topological_order(after)
    if order is None:
        raise AssertionError("a cycle is left although every component was taken apart")
    edges, closed = _reduced(after, order)
    steps = tuple(Step(i, (texts or {}).get(i, i)) for i in ids)
    graph = TaskGraph(id, name or id, steps, tuple((ids[a], ids[b]) for a, b in edges))
    accepted = sum(row.bit_count() for row in after)
    return InducedOrder(
        graph,
        tuple(counts.support(a, b) for a, b in edges),
        tuple(counts.support(a, b) for a, b in sorted(removed)),
        accepted,
        closed - accepted,
        len(performances),
    )


def support_of(
    performances: Iterable[Performance], before: str, after: str, evidence: Evidence = "starts"
) -> PairSupport:
    """Count what the performances say of one pair."""
    agreeing = together = contradicting = 0
    for p in performances:
        a, b = p.spans.get(before), p.spans.get(after)
        if a is not None and b is not None:
            together += 1
            agreeing += _shows(a, b, evidence)
            contradicting += _shows(b, a, evidence)
    return PairSupport(before, after, agreeing, together, contradicting)


def _shows(first: tuple[float, float], second: tuple[float, float], evidence: Evidence) -> bool:
    return first[0] < second[0] if evidence == "starts" else max(first) <= second[0]


def _check(performances: Sequence[Performance], threshold: float, min_support: int) -> None:
    if not 0.5 < threshold <= 1.0:
        raise ValueError(f"the threshold is {threshold:g}; a share above 0.5 and at most 1 was expected")
    if min_support < 1:
        raise ValueError(f"the support is {min_support}; at least 1 was expected")
    if not any(p.spans for p in performances):
        raise ValueError("no performance has a step")
    for p in performances:
        for step_id, span in p.spans.items():
            if not all(map(math.isfinite, span)):
                raise ValueError(
                    f"performance '{p.id}': step '{step_id}' has the times {span[0]:g} and {span[1]:g}"
                )


def _by_mean_position(performances: Sequence[Performance]) -> list[str]:
    """Step ids by their mean place (0 first, 1 last) in the performances that have them, then by id."""
    places: dict[str, list[float]] = {}
    for p in performances:
        ranked = sorted(p.spans, key=lambda i: (*p.spans[i], i))
        for k, step_id in enumerate(ranked):
            places.setdefault(step_id, []).append(k / max(1, len(ranked) - 1))
    # fsum is exact, so the order of the performances makes no difference in the last digit
    return sorted(places, key=lambda i: (math.fsum(places[i]) / len(places[i]), i))


class _Counts:
    """How often each pair occurred together and in each order, as planes of bits."""

    def __init__(self, ids: Sequence[str]) -> None:
        self.ids = ids
        self.index = {step_id: i for i, step_id in enumerate(ids)}
        self.together: list[list[int]] = [[] for _ in ids]
        self.agreeing: list[list[int]] = [[] for _ in ids]

    def add(self, performance: Performance, evidence: Evidence) -> None:
        spans = [(*span, self.index[i]) for i, span in performance.spans.items()]
        spans.sort()
        starts = [start for start, _, _ in spans]
        later, mask = [0], 0
        for _, _, i in reversed(spans):
            mask |= 1 << i
            later.append(mask)
        later.reverse()  # later[k]: all steps from the k-th on
        for start, end, i in spans:
            k = bisect_right(starts, start) if evidence == "starts" else bisect_left(starts, max(end, start))
            own = ~(1 << i)
            _add(self.together[i], mask & own)
            _add(self.agreeing[i], later[k] & own)

    def accepted(self, i: int, threshold: float, min_support: int) -> int:
        """Bits of the steps that come after step ``i``."""
        row = 0
        for together, mask in _levels(self.together[i]):
            if together >= min_support:
                # a share that is met exactly must not fail for the last digit of a product
                needed = math.ceil(threshold * together - 1e-9)
                row |= mask & _at_least(self.agreeing[i], needed)
        return row

    def support(self, a: int, b: int) -> PairSupport:
        agreeing, contradicting = _value(self.agreeing[a], b), _value(self.agreeing[b], a)
        return PairSupport(self.ids[a], self.ids[b], agreeing, _value(self.together[a], b), contradicting)


def _add(planes: list[int], mask: int) -> None:
    """Add one to the counts of all columns of a mask."""
    for k, plane in enumerate(planes):
        if not mask:
            return
        planes[k], mask = plane ^ mask, plane & mask
    if mask:
        planes.append(mask)


def _value(planes: Sequence[int], column: int) -> int:
    return sum((plane >> column & 1) << k for k, plane in enumerate(planes))


def _levels(planes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield each count that occurs, except 0, with its columns."""
    everything = 0
    for plane in planes:
        everything |= plane
    found = [(0, everything)] if everything else []
    for k in reversed(range(len(planes))):
        split = []
        for value, mask in found:
            if ones := mask & planes[k]:
                split.append((value | 1 << k, ones))
            if zeros := mask & ~planes[k]:
                split.append((value, zeros))
        found = split
    yield from found


def _at_least(planes: Sequence[int], least: int) -> int:
    """Columns whose count is ``least`` or more (``least`` above 0)."""
    if least.bit_length() > len(planes):
        return 0
    everything = 0
    for plane in planes:
        everything |= plane
    above, equal = 0, everything
    for k in reversed(range(len(planes))):
        if least >> k & 1:
            equal &= planes[k]
        else:
            above |= equal & planes[k]
            equal &= ~planes[k]
    return above | equal


def _break_cycles(after: list[int], counts: _Counts) -> list[tuple[int, int]]:
    """Remove pairs from ``after`` until no cycle is left and return them; see the module's text."""
    before = transposed(after)
    removed = []
    tangles = [m for m in strong_components(after, before) if len(m) > 1]
    while tangles:
        members = tangles.pop()
        if len(members) > TANGLE_LIMIT:
            raise TangledOrdersError(f"{len(members):,} steps come before one another")
        within = sum(1 << m for m in members)
        weakest = _weakest(members, after, within, counts)
        for a, b in weakest:
            after[a] ^= 1 << b
            before[b] ^= 1 << a
        removed += weakest
        tangles += [m for m in strong_components(after, before, within) if len(m) > 1]
    return removed


def _weakest(
    members: Sequence[int], after: Sequence[int], within: int, counts: _Counts
) -> list[tuple[int, int]]:
    """Return all pairs inside a component with the lowest share, and the fewest performances among these."""
    weakest: list[tuple[int, int]] = []
    least: tuple[int, int] | None = None
    for a in members:
        for b in each_bit(after[a] & within):
            agreeing, together = _value(counts.agreeing[a], b), _value(counts.together[a], b)
            if least is not None:
                # shares are compared as fractions: 2/3 is not less than 4/6
                left, right = agreeing * least[1], least[0] * together
                if left > right or (left == right and agreeing > least[0]):
                    continue
                if left < right or agreeing < least[0]:
                    weakest.clear()
            least = (agreeing, together)
            weakest.append((a, b))
    return weakest


def _reduced(after: Sequence[int], order: Sequence[int]) -> tuple[list[tuple[int, int]], int]:
    """Return the edges of the transitive reduction, by position of their steps, and the size of the closure."""
    n = len(order)
    below = [0] * n
    edges = []
    for k in reversed(range(n)):
        left = _permuted(after[order[k]], order)
        while left:
            low = left & -left  # the next in a topological order: nothing between can imply it
            child = low.bit_length() - 1
            edges.append((order[k], order[child]))
            below[k] |= low | below[child]
            left &= ~below[k]
    return sorted(edges), sum(row.bit_count() for row in below)


def _permuted(mask: int, order: Sequence[int]) -> int:
    """Return the mask with bit ``k`` taken from bit ``order[k]``; by way of digits, which is fast for many bits."""
    if len(order) == 1 or not mask:
        return mask
    digits = format(mask, f"0{len(order)}b")[::-1]
    return int("".join(itemgetter(*order)(digits))[::-1], 2)


def add_terminals(graph: TaskGraph, start: str = "START", end: str = "END") -> TaskGraph:
    """Return a graph with a start before all steps that may come first, and an end after all that may come last.

    Raises:
        ValueError: if it has a start or an end already, or a step has one of these ids.
    """
    if graph.start is not None or graph.end is not None:
        raise ValueError(f"task graph '{graph.name}' has a start or an end already")
    if taken := {start, end} & set(graph.index):
        raise ValueError(f"task graph '{graph.name}' has a step '{min(taken)}'")
    steps = (Step(start, "START"), *graph.steps, Step(end, "END"))
    edges = (
        *((start, s.id) for s in graph.steps if not graph.predecessors(s.id)),
        *graph.edges,
        *((s.id, end) for s in graph.steps if not graph.successors(s.id)),
    )
    return TaskGraph(graph.id, graph.name, steps, edges, start, end)

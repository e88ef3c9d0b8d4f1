"""How close one task graph of an activity comes to another: which pairs of steps they order alike.

Compared are *precedence pairs*: (a, b) where a must come before b, implied pairs included, so that a graph and its
transitive reduction are the same. Start and end nodes count as no steps. Steps that only one of the graphs has
cannot be compared: they are listed and left out.

The literature on inferring task graphs compares *edges* of transitive reductions, those from the start and to the end
included (``compare_edges``). That is the harder measure: one pair too many re-routes its neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proctor.procedure.cycles import each_bit
from proctor.procedure.graph import TaskGraph

__all__ = ["EdgeAgreement", "PrecedenceAgreement", "compare_edges", "compare_precedence"]

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class PrecedenceAgreement:
    """Reference and candidate side by side; pairs are in the order of the reference's steps.

    Attributes:
        shared: steps that both have.
        only_reference_steps: left out.
        only_candidate_steps: left out.
        both: number of pairs that both order alike.
        missing: pairs that only the reference orders.
        extra: pairs that only the candidate orders; ``reversed_`` pairs are among these.
        reversed_: pairs that the candidate orders the other way round than the reference.
    """

    shared: tuple[str, ...]
    only_reference_steps: tuple[str, ...]
    only_candidate_steps: tuple[str, ...]
    both: int
    missing: tuple[Pair, ...]
    extra: tuple[Pair, ...]
    reversed_: tuple[Pair, ...]

    @property
    def precision(self) -> float | None:
        """Share of the candidate's pairs that the reference has; None when the candidate has none."""
        found = self.both + len(self.extra)
        return self.both / found if found else None

    @property
    def recall(self) -> float | None:
        """Share of the reference's pairs that the candidate has; None when the reference has none."""
        wanted = self.both + len(self.missing)
        return self.both / wanted if wanted else None

    @property
    def f1(self) -> float | None:
        """Harmonic mean of both; None when neither graph has a pair."""
        total = 2 * self.both + len(self.missing) + len(self.extra)
        return 2 * self.both / total if total else None


def compare_precedence(reference: TaskGraph, candidate: TaskGraph) -> PrecedenceAgreement:
    """Compare the precedence pairs of two graphs whose steps have the same ids."""
    theirs = {s.id for s in candidate.actions}
    shared = tuple(s.id for s in reference.actions if s.id in theirs)
    rank = {step_id: k for k, step_id in enumerate(shared)}
    wanted, found = _below(reference, rank), _below(candidate, rank)
    above = _below(reference, rank, upwards=True)
    known = {s.id for s in reference.actions}

    def pairs(masks: Sequence[int]) -> tuple[Pair, ...]:
        return tuple((a, shared[k]) for a, mask in zip(shared, masks, strict=True) for k in each_bit(mask))

    return PrecedenceAgreement(
        shared,
        tuple(s.id for s in reference.actions if s.id not in theirs),
        tuple(s.id for s in candidate.actions if s.id not in known),
        sum((w & f).bit_count() for w, f in zip(wanted, found, strict=True)),
        pairs([w & ~f for w, f in zip(wanted, found, strict=True)]),
        pairs([f & ~w for w, f in zip(wanted, found, strict=True)]),
        pairs([f & a for f, a in zip(found, above, strict=True)]),
    )


@dataclass(frozen=True, slots=True)
class EdgeAgreement:
    """Edges of the transitive reductions of two graphs; the start and the end are called ``START`` and ``END``.

    Attributes:
        both: edges that both have.
        missing: edges that only the reference has.
        extra: edges that only the candidate has.
    """

    both: frozenset[Pair]
    missing: frozenset[Pair]
    extra: frozenset[Pair]

    @property
    def precision(self) -> float:
        """Share of the candidate's edges that the reference has."""
        return len(self.both) / (len(self.both) + len(self.extra))

    @property
    def recall(self) -> float:
        """Share of the reference's edges that the candidate has."""
        return len(self.both) / (len(self.both) + len(self.missing))

    @property
    def f1(self) -> float:
        """Harmonic mean of both."""
        return 2 * len(self.both) / (2 * len(self.both) + len(self.missing) + len(self.extra))


def compare_edges(reference: TaskGraph, candidate: TaskGraph) -> EdgeAgreement:
    """Compare the edges of two graphs whose steps have the same ids, as published figures do.

    Both graphs get the steps of the reference, a start and an end; steps of the candidate that the reference lacks keep
    their edges, which are wrong. Every graph has an edge from the start and one to the end, so shares are always defined.
    Source: Seminara, Farinella and Furnari (2024), "Differentiable Task Graph Learning", section 4.
    """
    actions = [s.id for s in reference.actions]
    wanted, found = _closed_edges(reference, actions), _closed_edges(candidate, actions)
    return EdgeAgreement(wanted & found, wanted - found, found - wanted)


def _closed_edges(graph: TaskGraph, actions: Sequence[str]) -> frozenset[Pair]:
    """Return the edges of the reduction; what nothing precedes follows START, what nothing follows precedes END."""
    between = {
        edge
        for edge in graph.transitive_reduction().edges
        if graph.start not in edge and graph.end not in edge
    }
    after, before = {a for a, _ in between}, {b for _, b in between}
    steps = dict.fromkeys([*actions, *(s.id for s in graph.actions)])
    ends = {("START", i) for i in steps if i not in before} | {(i, "END") for i in steps if i not in after}
    return frozenset(between | ends)


def _below(graph: TaskGraph, rank: Mapping[str, int], *, upwards: bool = False) -> list[int]:
    """Return for each ranked step the ranked steps that must come after it (``upwards``: before it), as bits."""
    order = graph.topological_order
    masks: dict[str, int] = {}
    for step_id in order if upwards else reversed(order):
        mask = 0
        for other in graph.predecessors(step_id) if upwards else graph.successors(step_id):
            mask |= masks[other] | (1 << rank[other] if other in rank else 0)
        masks[step_id] = mask
    return [masks[step_id] for step_id in rank]

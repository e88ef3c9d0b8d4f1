"""Ways to infer the order of steps from performances, with one shape of result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from proctor.metrics.interval import Interval, wilson_interval
from proctor.procedure.graph import TaskGraph
from proctor.procedure.induce import Evidence, PairSupport, Performance, induce_order
from proctor.procedure.infer import DEFAULT, EdgeBelief, OrderWeights, fit_weights, infer_graph
from proctor.stages.graph_settings import Method

__all__ = [
    "METHODS",
    "Belief",
    "Examples",
    "Infer",
    "Inferred",
    "counted",
    "infer_by_counting",
    "infer_by_likelihood",
]

_MAJORITY: Final = 0.5 + 1e-6
"""Share of agreement from which a pair that is not taken is doubtful, and not simply refuted."""
_FEW: Final = 200
"""With more steps doubtful pairs are not looked for: nobody reads a hundred thousand of them."""


@dataclass(frozen=True, slots=True)
class Belief:
    """How sure it is that one step must come before another, and what that rests on.

    Attributes:
        before: id of the earlier step.
        after: id of the later step.
        probability: that the pair is an edge of the graph; None where the method says nothing of the kind.
        agreeing: performances that show this order.
        contradicting: performances that show the opposite order.
        together: performances that have both steps.
    """

    before: str
    after: str
    probability: float | None
    agreeing: int
    contradicting: int
    together: int

    @property
    def interval(self) -> Interval:
        """Wilson interval of the share that agrees (95 %), performances taken as independent."""
        return wilson_interval(self.agreeing, self.together)

    def doubt(self, taken: bool = True) -> tuple[float, float, str, str]:
        """Sort key, the most doubtful first: how sure it is that the pair was rightly taken, or rightly left open."""
        interval = self.interval
        low, high = interval.low or 0.0, 1.0 if interval.high is None else interval.high
        sure = 1.0 if self.probability is None else self.probability if taken else 1 - self.probability
        return sure, low if taken else 1 - high, self.before, self.after


@dataclass(frozen=True, slots=True)
class Inferred:
    """A graph and what it rests on.

    Attributes:
        graph: the fewest edges that say everything.
        edges: of the graph, in the same order.
        open: doubtful pairs that were not taken.
        removed: pairs that were accepted first and lay on a cycle.
        implied: pairs that follow without being accepted themselves; None where the method knows no such thing.
        performances: how many there were.
    """

    graph: TaskGraph
    edges: tuple[Belief, ...]
    open: tuple[Belief, ...]
    removed: tuple[Belief, ...]
    implied: int | None
    performances: int

    @property
    def pairs(self) -> int:
        """Ordered pairs of steps, implied ones included."""
        return sum(self.graph.ancestors_mask(1 << i).bit_count() for i in range(len(self.graph.steps)))


class Infer(Protocol):
    """Infers the graph of one activity; without ``beliefs`` no probabilities and no doubtful pairs, where they take time.

    Raises:
        ValueError: if no performance has a step, an option is out of range, or a time is not finite.
        TangledOrdersError: if the performances contradict one another too much.
    """

    def __call__(
        self,
        performances: Sequence[Performance],
        texts: Mapping[str, str],
        *,
        id: str,
        name: str,
        beliefs: bool = True,
    ) -> Inferred:
        """Return the graph of the activity with this id and name; ``texts`` are those of the steps by id."""


Examples = Sequence[tuple[Sequence[Performance], TaskGraph]]
"""Performances of other activities with their graphs, to learn from."""


def infer_by_counting(
    performances: Sequence[Performance],
    texts: Mapping[str, str],
    *,
    threshold: float = 1.0,
    min_support: int = 1,
    evidence: Evidence = "starts",
    id: str = "induced",
    name: str = "",
    beliefs: bool = True,
) -> Inferred:
    """Take a pair when enough performances agree on it; see ``procedure.induce``.

    Open are pairs on a cycle, and those that a majority would give: the edges of a threshold of one half.

    Raises:
        ValueError: see ``induce_order``.
    """
    induced = partial(induce_order, performances, evidence=evidence, texts=texts, id=id, name=name)
    found = induced(threshold=threshold, min_support=min_support)
    graph = found.graph
    loose = induced(threshold=_MAJORITY).support if beliefs and len(graph.steps) <= _FEW else ()
    doubtful = {(s.before, s.after): s for s in (*found.removed, *loose)}
    return Inferred(
        graph,
        tuple(map(counted, found.support)),
        tuple(
            counted(s)
            for (a, b), s in sorted(doubtful.items())
            if not graph.comes_before(a, b) and not graph.comes_before(b, a)
        ),
        tuple(map(counted, found.removed)),
        found.implied,
        len(performances),
    )


def counted(support: PairSupport | EdgeBelief, probability: float | None = None) -> Belief:
    """Return a pair with what performances say of it; without a probability where it was counted alone."""
    return Belief(
        support.before, support.after, probability, support.agreeing, support.contradicting, support.together
    )


def infer_by_likelihood(
    performances: Sequence[Performance],
    texts: Mapping[str, str],
    *,
    weights: OrderWeights = DEFAULT,
    id: str = "induced",
    name: str = "",
    beliefs: bool = True,
) -> Inferred:
    """Take the graph that explains performances and texts best; see ``procedure.infer``.

    Raises:
        ValueError: see ``infer_graph``.
    """
    found = infer_graph(performances, texts, weights=weights, id=id, name=name, beliefs=beliefs)
    edges, doubtful = (tuple(counted(b, b.probability) for b in of) for of in (found.edges, found.open))
    return Inferred(found.graph, edges, doubtful, (), None, found.performances)


def _learned(examples: Examples) -> Infer:
    """Return the likelihood with weights of these examples; with the shipped ones where there are none."""
    return partial(infer_by_likelihood, weights=fit_weights(examples)) if examples else infer_by_likelihood


METHODS: Final[Mapping[Method, Callable[[Examples], Infer]]] = {
    "likelihood": _learned,
    "counting": lambda _: infer_by_counting,
}
"""By name: from examples to what infers; counting learns nothing from them."""

"""A task graph from several performances of one activity and the texts of its steps, every edge with a probability.

``induce`` takes pairs that all performances agree on. Few performances agree on much by chance, and one person who begins a
step early hides a need. Here an order is weighed as a whole (``order_weights``): what it makes of the number of possible
orders, of performances that contradict it, of the shape of the graph, and of the texts.

1. **Search.** From the pairs that nearly all performances agree on, single pairs are put in or taken out while one is more
   likely so than not, the surest first.
2. **Trust.** A performance that breaks many edges of what was found is likely one of a careless person: it is weighed by the
   probability that it is not (a mixture of two rates of errors), and the search is done again.
3. **Probabilities.** Orders are drawn one pair at a time, each according to its log odds given the rest (Gibbs sampling of a
   dependency network, Heckerman et al. 2000), in ten short walks from the order that was found. The probability of an edge is
   its share among the draws, with that order counted as four in ten of them. docs/graphs.md says how well it is calibrated.

Nothing depends on the order in which performances are given. Under other ids the draws differ: the probability of a doubtful
edge then moves by some hundredths, at worst by about 0.3.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.induce import Performance, support_of
from proctor.procedure.order_evidence import OrderEvidence, carefulness
from proctor.procedure.order_fit import fit_weights
from proctor.procedure.order_text import StepTexts
from proctor.procedure.order_weights import DEFAULT, OrderScore, OrderWeights
from proctor.procedure.poset import Poset

__all__ = [
    "DEFAULT",
    "STEP_LIMIT",
    "EdgeBelief",
    "InferredGraph",
    "OrderWeights",
    "fit_weights",
    "infer_graph",
]

STEP_LIMIT: Final = 300
"""With more steps the search takes minutes; ``induce_order`` takes thousands."""

_AGREED: Final = 0.85
"""Share of agreement of the pairs that the search begins with."""
_PASSES: Final = 60
_LEAST: Final = 1e-9

_ERRORS: Final = ((0.05, 0.4), (0.01, 0.1), (0.01, 0.1))
"""Shares of the edges that a careful and a careless performance breaks, in each round; those of the first are by chance in part."""

_CHAINS: Final = 10
"""Walks that begin at the order that was found: a single long one stays with some other order for good, and which is chance."""
_BURN_IN: Final = 5
_BURN_IN_FEW: Final = 40
"""More sweeps for one performance, a quarter of them for two and so on: few leave many orders about as likely as the one found."""
_BURN_IN_STEPS: Final = 60
"""With more steps these would take a minute."""
_SWEEPS: Final = 4
_DRAWS: Final = _CHAINS * _SWEEPS
_OF_FOUND: Final = 0.4
_UNSEEN: Final = 2
"""Draws that are counted without having been made, in which no pair is ordered: forty draws are no certainty."""
_OPEN: Final = 0.05
"""Probability from which a pair that is no edge is worth a look."""


@dataclass(frozen=True, slots=True)
class EdgeBelief:
    """How sure an edge is, and what the performances say of it.

    Attributes:
        before: id of the earlier step.
        after: id of the later step.
        probability: that it is an edge of the graph: b waits for a, and for no step that itself waits for a.
        ordered: probability that b must come after a at all, directly or not.
        agreeing: performances in which a begins before b.
        together: performances that have both.
        contradicting: performances in which b begins before a.
    """

    before: str
    after: str
    probability: float
    ordered: float
    agreeing: int
    together: int
    contradicting: int


@dataclass(frozen=True, slots=True)
class InferredGraph:
    """A graph and how sure it is.

    Attributes:
        graph: the steps that performances have, by mean place, and the fewest edges that say everything; without terminals
            (``add_terminals`` makes them).
        edges: what is believed of each edge of the graph, in the same order; none where that was not wanted.
        open: pairs that are no edges of the graph and may be of the true one, the most probable first; likewise.
        trust: probability that each performance is careful, in the order given.
        performances: how many there were.
    """

    graph: TaskGraph
    edges: tuple[EdgeBelief, ...]
    open: tuple[EdgeBelief, ...]
    trust: tuple[float, ...]
    performances: int


def infer_graph(
    performances: Sequence[Performance],
    texts: Mapping[str, str],
    *,
    weights: OrderWeights = DEFAULT,
    id: str = "induced",
    name: str = "",
    beliefs: bool = True,
) -> InferredGraph:
    """Return the graph that best explains performances and texts.

    Args:
        performances: of one activity; a performance may lack steps.
        texts: of the steps; the id where there is none.
        weights: from ``fit_weights``; the shipped ones by default.
        id: of the graph; it also seeds what is drawn.
        name: of the graph; its id by default.
        beliefs: whether it is wanted how sure each edge is; the graph is the same, and found in a third of the time without.

    Raises:
        ValueError: if there is no step, there are more than ``STEP_LIMIT``, or a time is not finite.
    """
    ids = _check(performances)
    # sums of fractions depend on their order in the last digit
    seen = sorted(range(len(performances)), key=lambda k: sorted(performances[k].spans.items()))
    trust = [1.0] * len(seen)
    ordered = [performances[k] for k in seen]
    order = _agreed(OrderEvidence(ids, ordered, trust))
    for slip, careless in _ERRORS:
        trust = carefulness(order, ids, ordered, slip, careless)
        score, order = _search(ids, ordered, trust, texts, weights)
    burn_in = _BURN_IN + (_BURN_IN_FEW // len(ordered) ** 2 if len(ids) <= _BURN_IN_STEPS else 0)
    rng = random.Random(f"infer:{id}")  # noqa: S311 - not a secret
    edges, pairs = _sample(score, order, burn_in, rng) if beliefs else ({}, {})
    places = score.evidence.places
    rank = {i: k for k, i in enumerate(sorted(range(len(ids)), key=lambda i: (places[i], ids[i])))}

    def believe(found: Iterable[tuple[int, int]]) -> tuple[EdgeBelief, ...]:
        supports = ((a, b, support_of(ordered, ids[a], ids[b])) for a, b in found)
        return tuple(
            EdgeBelief(ids[a], ids[b], edges[a, b], pairs[a, b], s.agreeing, s.together, s.contradicting)
            for a, b, s in supports
        )

    chosen = sorted(order.edges(), key=lambda e: (rank[e[0]], rank[e[1]]))
    doubtful = [e for e in edges if edges[e] >= _OPEN and e not in set(chosen)]
    return InferredGraph(
        TaskGraph(
            id,
            name or id,
            tuple(Step(ids[i], texts.get(ids[i], ids[i])) for i in rank),
            tuple((ids[a], ids[b]) for a, b in chosen),
        ),
        believe(chosen) if beliefs else (),
        believe(sorted(doubtful, key=lambda e: (-edges[e], rank[e[0]], rank[e[1]]))),
        tuple(trust[seen.index(k)] for k in range(len(seen))),
        len(performances),
    )


def _check(performances: Sequence[Performance]) -> list[str]:
    """Return the ids of all steps, sorted."""
    ids = sorted({step_id for p in performances for step_id in p.spans})
    if not ids:
        raise ValueError("no performance has a step")
    if len(ids) > STEP_LIMIT:
        raise ValueError(f"there are {len(ids):,} steps; {STEP_LIMIT} at most were expected")
    for p in performances:
        for step_id, span in p.spans.items():
            if not all(map(math.isfinite, span)):
                raise ValueError(
                    f"performance '{p.id}': step '{step_id}' has the times {span[0]:g} and {span[1]:g}"
                )
    return ids


# -- the likeliest order -----------------------------------------------------------------------------------------


def _search(
    ids: Sequence[str],
    performances: Sequence[Performance],
    trust: Sequence[float],
    texts: Mapping[str, str],
    weights: OrderWeights,
) -> tuple[OrderScore, Poset]:
    evidence = OrderEvidence(ids, performances, trust)
    score = OrderScore(evidence, StepTexts([texts.get(i, i) for i in ids], evidence.places), weights)
    return score, _climb(score, _agreed(evidence))


def _agreed(evidence: OrderEvidence) -> Poset:
    """Return the order of the pairs that nearly all agree on, the best supported first, without contradictions."""
    rows, steps = evidence.agreeing, range(len(evidence.ids))
    shown = []
    for a in steps:
        for b in steps:
            together = rows[a][b] + rows[b][a]
            if rows[a][b] > 0 and rows[a][b] >= _AGREED * together:
                shown.append((-rows[a][b] / together, -rows[a][b], a, b))
    return Poset.of(len(evidence.ids), ((a, b) for *_, a, b in sorted(shown)))


def _climb(score: OrderScore, order: Poset) -> Poset:
    """Change pairs while one is more likely the other way, the surest first; each is looked at again before it changes."""

    def surprise(a: int, b: int) -> float:
        odds = score.odds(order, a, b)
        return -odds if order.has(a, b) else odds

    agreeing = score.evidence.agreeing
    steps = range(order.size)
    for _ in range(_PASSES):
        found = []
        for a in steps:
            for b in steps:
                if a != b and order.can_change(a, b) and (order.has(a, b) or agreeing[a][b] > 0):
                    gain = surprise(a, b)
                    if gain > _LEAST:
                        found.append((-gain, a, b))
        if not found:
            break
        for _, a, b in sorted(found):
            if order.can_change(a, b) and surprise(a, b) > _LEAST:
                order.change(a, b)
    return order


# -- probabilities -----------------------------------------------------------------------------------------------


def _sample(
    score: OrderScore, found: Poset, burn_in: int, rng: random.Random
) -> tuple[dict[tuple[int, int], float], dict[tuple[int, int], float]]:
    """Return the shares of draws in which each pair is an edge, and is ordered."""
    agreeing, steps = score.evidence.agreeing, range(found.size)
    shown = [
        (a, b) for a in steps for b in steps if agreeing[a][b] > 0 and 2 * agreeing[a][b] >= agreeing[b][a]
    ]
    edges: Counter[tuple[int, int]] = Counter()
    pairs: Counter[tuple[int, int]] = Counter()
    for _ in range(_CHAINS):
        order = found.copy()
        for sweep in range(burn_in + _SWEEPS):
            rng.shuffle(shown)
            _redraw(score, order, shown, rng)
            if sweep >= burn_in:
                edges.update(order.edges())
                pairs.update((a, b) for a in steps for b in steps if order.has(a, b))
    return _shares(edges, found.edges()), _shares(
        pairs, ((a, b) for a in steps for b in steps if found.has(a, b))
    )


def _redraw(score: OrderScore, order: Poset, shown: Iterable[tuple[int, int]], rng: random.Random) -> None:
    """Draw each pair that can be changed anew, given all others."""
    for a, b in shown:
        if order.can_change(a, b):
            odds = score.odds(order, a, b)
            drawn = rng.random() < 1 / (1 + math.exp(-max(odds, -50.0)))
            if drawn != order.has(a, b):
                order.change(a, b)


def _shares(
    drawn: Mapping[tuple[int, int], int], found: Iterable[tuple[int, int]]
) -> dict[tuple[int, int], float]:
    shares = {pair: (1 - _OF_FOUND) * n / (_DRAWS + _UNSEEN) for pair, n in drawn.items()}
    for pair in found:
        shares[pair] = shares.get(pair, 0.0) + _OF_FOUND
    return shares

"""Which steps have to follow one another and which can be swapped, from the probabilities of pairs.

A pair is always done in one order, always in the other, or in *either*. The log-odds z of a pair say how probable each of these is:
``P(before) = s(slope · z - gap)``, ``P(after) = s(-slope · z - gap)``, with s the logistic function, and the rest is either (McCullagh
1980, proportional odds). Manuals in one order alone cannot tell "either" from "not known". Slope and gap are learned where several
orders of a task or its graph are known (``fit_certainty``); elsewhere a pair is open unless one order has three chances in four.
Source: ours; proScript (Sakaguchi et al. 2021) predicts such graphs.
"""

from __future__ import annotations

from collections.abc import Sequence as List
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from proctor.metrics.ordering import PartialOrder, precedence_f1
from proctor.procedure.poset import Poset

__all__ = ["Certainty", "LikelyPair", "PartlyOrdered", "Relations", "fit_certainty", "partly_ordered"]

Floats = NDArray[np.float64]
Relations = frozenset[tuple[int, int]]
"""Pairs of slots of which the first is always done before the second, implied ones included."""

_THRESHOLDS: Final = tuple(k / 20 for k in range(4, 19))
_ROUNDS: Final = 200
_LEAST: Final = 1e-6


class Certainty(msgspec.Struct, frozen=True, kw_only=True):
    """How sure a pair is from its log-odds, and above which probability of "always before" it is taken."""

    slope: float = 1.0
    gap: float = float(np.log(3))  # half of the width of "either", in log-odds
    threshold: float = 0.5

    def always(self, precedence: Floats) -> Floats:
        """Return the probability that slot i is always before slot j, [N, N], from that of being before it; the diagonal is 0."""
        found: Floats = expit(self.slope * logit(precedence.clip(_LEAST, 1 - _LEAST)) - self.gap)
        np.fill_diagonal(found, 0.0)
        return found


_USUAL: Final = Certainty()


@dataclass(frozen=True, slots=True)
class LikelyPair:
    """Two slots in the likelier order: the probability that it is the only one, and that both orders are right."""

    first: int
    second: int
    before: float
    either: float


@dataclass(frozen=True, slots=True)
class PartlyOrdered:
    """A partial order of slots with how sure it is."""

    edges: tuple[LikelyPair, ...]  # of the transitive reduction, to be shown
    relations: Relations
    swappable: tuple[LikelyPair, ...]  # pairs in no order, the surest first
    skipped: tuple[LikelyPair, ...]  # sure enough, but they would have closed a cycle with surer ones


def partly_ordered(precedence: Floats, certainty: Certainty = _USUAL) -> PartlyOrdered:
    """Take pairs by how sure they are, the surest first, and skip what contradicts what is taken already.

    Both directions of a pair add up to 1 in the precedence, shape [N, N].
    """
    always = certainty.always(precedence)
    count = len(always)

    def pair(i: int, j: int) -> LikelyPair:
        i, j = (i, j) if always[i, j] >= always[j, i] else (j, i)
        return LikelyPair(i, j, float(always[i, j]), float(1 - always[i, j] - always[j, i]))

    sure = [(i, j) for i in range(count) for j in range(count) if always[i, j] > certainty.threshold]
    order = Poset(count)
    skipped = []
    for i, j in sorted(sure, key=lambda p: (-always[p], p)):
        if order.has(j, i):
            skipped.append(pair(i, j))
        else:
            order.insert(i, j)
    free = [(i, j) for i in range(count) for j in range(i) if not order.has(i, j) and not order.has(j, i)]
    return PartlyOrdered(
        edges=tuple(LikelyPair(i, j, float(always[i, j]), pair(i, j).either) for i, j in order.edges()),
        relations=frozenset((i, j) for i in range(count) for j in range(count) if order.has(i, j)),
        swappable=tuple(sorted((pair(*p) for p in free), key=lambda p: (-p.either, p.first, p.second))),
        skipped=tuple(skipped),
    )


def fit_certainty(tasks: List[tuple[Floats, Relations]]) -> Certainty:
    """Learn slope and gap by their likelihood, and the threshold by the mean F1 over precedence pairs.

    Every task counts the same: the precedence of its pairs, [N, N], and which pairs are always in one order. It must not be one
    that the result is judged on.
    """
    from scipy.optimize import minimize

    tasks = [(p, r) for p, r in tasks if len(p) > 1]
    if not tasks:
        return _USUAL
    pairs = [np.argwhere(np.triu(np.ones_like(p), 1) > 0) for p, _ in tasks]
    chances = np.concatenate([p[k[:, 0], k[:, 1]] for (p, _), k in zip(tasks, pairs, strict=True)])
    odds = logit(chances.clip(_LEAST, 1 - _LEAST))
    label = np.array([
        ((i, j) in r) - ((j, i) in r) for (_, r), k in zip(tasks, pairs, strict=True) for i, j in k.tolist()
    ])  # fmt: skip
    weight = np.concatenate([np.full(len(k), 1 / len(k)) for k in pairs])

    def loss(at: Floats) -> float:
        slope, gap = np.exp(at)
        before, after = expit(slope * odds - gap), expit(-slope * odds - gap)
        chance = np.select([label > 0, label < 0], [before, after], 1 - before - after)
        return float(-(weight * np.log(np.maximum(chance, 1e-9))).sum())

    def mean_f1(certainty: Certainty) -> float:
        scores = []
        for precedence, relations in tasks:
            steps, found = range(len(precedence)), partly_ordered(precedence, certainty).relations
            scores.append(precedence_f1(PartialOrder(steps, relations), PartialOrder(steps, found)).value)
        return float(np.nan_to_num(scores, nan=1.0).mean())  # no number: neither orders anything

    slope, gap = np.exp(minimize(loss, np.zeros(2), method="Nelder-Mead", options={"maxiter": _ROUNDS}).x)
    tried = [Certainty(slope=float(slope), gap=float(gap), threshold=threshold) for threshold in _THRESHOLDS]
    return max(tried, key=mean_f1)

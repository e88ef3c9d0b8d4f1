"""The best reading of one recording: which segments are its steps, under scores, habit and the task graph.

A *reading* chooses at most one candidate segment for every step. Its log score is the sum of

- for every chosen segment: what its score says (``score`` x (log score - log ``even``)), its length against that of any
  step, its place in the recording, and the log odds that the step occurs at all;
- for every chosen segment, in order of start: the gap from the latest end so far (negative where they overlap), and the log
  odds of a late step if a step that needs this one was begun before it;
- the gap from the latest end to the end of the recording.

Readings are paths through a lattice of states (set of steps done, segment that ends last); sets are bits of unsigned words,
and only the downsets of the graph are free of a penalty. At most ``beam`` states are kept after each candidate: those with the
most behind them and, of the steps that they lack, before them. While none is dropped, everything is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.learn.localize.order_prior import ActivityPrior, OrderPrior

__all__ = ["BEAM", "Candidates", "DecodeWeights", "Reading", "late_steps", "log_odds", "read_recording"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Words = NDArray[np.uint64]

BEAM: Final = 500
_LEAST: Final = 1e-6
"""Scores below are not told apart."""


class DecodeWeights(msgspec.Struct, frozen=True):
    """How much each part of a reading's log score counts; zero leaves it out.

    Attributes:
        score: power of the localizer's score.
        even: score at which a segment is as likely right as wrong where nothing else is known.
        length: of the step's usual length.
        place: of its usual place in a recording.
        gap: of the usual length of background.
        order: of the task graph.
        mix: share of the probability in new scores, the rest is the localizer's (a geometric mean).
    """

    score: float = 3.0
    even: float = 0.05
    length: float = 1.0
    place: float = 0.5
    gap: float = 0.5
    order: float = 0.5
    mix: float = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Scored segments of one recording: ``step`` is a place among the activity's steps; all of shape (n,).

    ``start`` and ``end`` are seconds, ``score`` is from 0, ``seconds`` is the length of the recording.
    """

    step: Integers
    start: Floats
    end: Floats
    score: Floats
    seconds: float

    def ordered(self) -> Integers:
        """Rows by start, end, step and score, whatever their order was."""
        return np.lexsort((self.score, self.step, self.end, self.start))


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What was decided of one recording.

    Attributes:
        chosen: rows of the candidates of the best reading, by start.
        score: its log score.
        evidence: logarithm of the sum over all readings.
        probability: of each candidate to be in a reading, shape (n,).
        late: probability of each step to be begun after one that needs it, shape (steps,).
        missing: steps that the best reading lacks.
        out_of_order: late steps of the best reading, each with those that need it and were begun before it; by start.
    """

    chosen: Integers
    score: float
    evidence: float
    probability: Floats
    late: Floats
    missing: tuple[int, ...]
    out_of_order: tuple[tuple[int, tuple[int, ...]], ...]


def late_steps(prior: ActivityPrior, begun: Sequence[int]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Return the steps of a sequence that are late, each with the steps that need it and came before it.

    Of a repeated step the first execution counts. A step that never occurs is missing, not late.
    """
    first = list(dict.fromkeys(begun))
    found = ((k, tuple(j for j in first[:n] if prior.after[k, j])) for n, k in enumerate(first))
    return tuple((k, early) for k, early in found if early)


def log_odds(
    candidates: Candidates, prior: ActivityPrior, common: OrderPrior, weights: DecodeWeights
) -> Floats:
    """Return the log odds of each candidate without a look at the others, shape (n,)."""
    k = candidates.step
    total = weights.score * (np.log(np.maximum(candidates.score, _LEAST)) - np.log(weights.even))
    length = np.log(np.maximum(candidates.end - candidates.start, 1e-2))
    own = _log_normal(length, prior.log_seconds[k], prior.log_spread[k])
    total += weights.length * (own - _log_normal(length, common.log_seconds, common.log_spread))
    place = (candidates.start + candidates.end) / 2 / max(candidates.seconds, 1.0)
    total += weights.place * _log_normal(place, prior.place[k], prior.place_spread[k])
    result: Floats = total + np.log1p(-prior.absent[k]) - np.log(prior.absent[k])
    return result


def _log_normal(values: Floats, mean: Floats | float, spread: Floats | float) -> Floats:
    result: Floats = -0.5 * ((values - mean) / spread) ** 2 - np.log(spread * np.sqrt(2 * np.pi))
    return result


def read_recording(
    candidates: Candidates,
    prior: ActivityPrior,
    common: OrderPrior,
    weights: DecodeWeights | None = None,
    beam: int = BEAM,
) -> Reading:
    """Find the best reading of a recording, and how probable each candidate is over all readings.

    Args:
        candidates: of one recording; may be empty.
        prior: of its activity.
        common: what holds for all activities.
        weights: of the parts.
        beam: states that are kept after each candidate, at least 1.
    """
    order = candidates.ordered()
    lattice = _Lattice(candidates, order, prior, common, weights or DecodeWeights(), beam)
    layers, final = lattice.forward()
    ending = np.where(final.last < 0, lattice.nothing, np.append(lattice.closing, 0.0)[final.last])
    evidence = float(np.logaddexp.reduce(final.total + ending))
    probability, late = lattice.backward(layers, final, ending, evidence)
    at = int(np.argmax(final.best + ending))
    path = lattice.trace(layers, int(final.node[at]))
    steps = candidates.step[order[path]].tolist()
    given = np.empty(len(order))
    given[order] = probability
    return Reading(
        order[path],
        float((final.best + ending)[at]),
        evidence,
        given,
        late,
        tuple(k for k in range(len(prior.steps)) if k not in steps),
        late_steps(prior, steps),
    )


class _States(NamedTuple):
    """States after a candidate: steps done, segment that ends last (-1: none), sum and best of readings, own number."""

    done: Words
    last: Integers
    total: Floats
    best: Floats
    node: Integers

    def joined(self, new: _States) -> _States:
        return _States(
            np.concatenate([self.done, new.done]),
            np.concatenate([self.last, new.last]),
            np.concatenate([self.total, new.total]),
            np.concatenate([self.best, new.best]),
            np.concatenate([self.node, new.node]),
        )

    def take(self, kept: Integers) -> _States:
        return _States(self.done[kept], self.last[kept], self.total[kept], self.best[kept], self.node[kept])


class _Layer(NamedTuple):
    """What one candidate made: arcs from states to new states, and of each new state its sum and where its best came from."""

    before: Integers
    to: Integers
    weight: Floats
    late: Flags
    first: int
    total: Floats
    best_before: Integers


class _Lattice:
    """All readings of one recording; rows are candidates by start."""

    def __init__(
        self, found: Candidates, order: Integers, prior: ActivityPrior, common: OrderPrior, weights: DecodeWeights, beam: int
    ) -> None:  # fmt: skip
        self.beam, self.weight_of_gaps, self.gaps = beam, weights.gap, common.gaps
        self.steps = len(prior.steps)
        self.step, self.start, self.end = found.step[order], found.start[order], found.end[order]
        self.odds = log_odds(found, prior, common, weights)[order]
        self.late = weights.order * (np.log(prior.late) - np.log1p(-prior.late))
        # Gaps are held against those of a start anywhere in the recording, so that a reading gains by no gap of its own.
        seconds = max(found.seconds, 1.0)
        self.scale = float(np.log(seconds))
        self.opening = self._gap(self.gaps.first, self.start)
        self.closing = self._gap(self.gaps.last, np.maximum(seconds - self.end, 0.0))
        self.nothing = float(self._gap(self.gaps.last, np.array([seconds]))[0])
        places = np.arange(self.steps)
        self.bit = np.zeros((self.steps, max(1, -(-self.steps // 64))), np.uint64)
        self.bit[places, places // 64] = np.uint64(1) << (places % 64).astype(np.uint64)
        self.needing = np.zeros_like(self.bit)
        for k in range(self.steps):
            self.needing[k] = np.bitwise_or.reduce(self.bit[prior.after[k]], axis=0, initial=0)

    def _gap(self, density: Floats, seconds: Floats) -> Floats:
        result: Floats = self.weight_of_gaps * (self.gaps.log_density(density, seconds) + self.scale)
        return result

    def forward(self) -> tuple[list[_Layer], _States]:
        """Make the states candidate by candidate; returns what each made, and the states left after the last one."""
        none = np.zeros(1)
        states = _States(
            np.zeros((1, self.bit.shape[1]), np.uint64), np.array([-1]), none, none, np.zeros(1, np.int64)
        )
        hope, layers, made = self._hope(), [], 1
        for i in range(len(self.step)):
            layer, new = self._extend(i, states, made)
            layers.append(layer)
            made += len(new.node)
            states = states.joined(new)
            if len(states.node) > self.beam:
                lacking = np.stack([~(states.done & bit).any(axis=1) for bit in self.bit], axis=1)
                worth = states.total + lacking @ hope[i + 1]
                states = states.take(np.sort(np.argsort(-worth, kind="stable")[: self.beam]))
        return layers, states

    def _extend(self, i: int, states: _States, made: int) -> tuple[_Layer, _States]:
        k = self.step[i]
        free = np.flatnonzero(~(states.done & self.bit[k]).any(axis=1))
        done, last = states.done[free], states.last[free]
        late = (done & self.needing[k]).any(axis=1)
        gap = np.where(
            last < 0, self.opening[i], self._gap(self.gaps.between, self.start[i] - self.end[last])
        )
        weight = self.odds[i] + gap + np.where(late, self.late[k], 0.0)
        grown = done | self.bit[k]
        latest = np.where((last < 0) | (self.end[last] <= self.end[i]), i, last)
        key = np.column_stack([grown, latest.astype(np.uint64)])
        _, kept, target = np.unique(key, axis=0, return_index=True, return_inverse=True)
        target = target.reshape(-1)
        total = np.full(len(kept), -np.inf)
        np.logaddexp.at(total, target, states.total[free] + weight)
        reached = states.best[free] + weight
        ranked = np.lexsort((-reached, target))
        winner = ranked[np.searchsorted(target[ranked], np.arange(len(kept)))]
        node = made + np.arange(len(kept))
        layer = _Layer(states.node[free], made + target, weight, late, made, total, states.node[free][winner])
        return layer, _States(grown[kept], latest[kept], total, reached[winner], node)

    def _hope(self) -> Floats:
        """What each step may still bring after each row, were it alone and its gap a usual one; shape (rows + 1, steps)."""
        usual = self.weight_of_gaps * (float(np.log(self.gaps.between.max())) + self.scale)
        sums = np.full((len(self.step) + 1, self.steps), -np.inf)
        for i in range(len(self.step) - 1, -1, -1):
            sums[i] = sums[i + 1]
            sums[i, self.step[i]] = np.logaddexp(sums[i + 1, self.step[i]], self.odds[i] + usual)
        result: Floats = np.logaddexp(0.0, sums)
        return result

    def backward(
        self, layers: list[_Layer], final: _States, ending: Floats, evidence: float
    ) -> tuple[Floats, Floats]:
        """Return the probability of each row, and of each step to be late."""
        totals = np.concatenate([np.zeros(1), *(layer.total for layer in layers)])
        onward = np.full(len(totals), -np.inf)
        onward[final.node] = ending
        probability, late = np.zeros(len(layers)), np.zeros(self.steps)
        for i in range(len(layers) - 1, -1, -1):
            layer = layers[i]
            through = layer.weight + onward[layer.to]
            shares = np.exp(totals[layer.before] + through - evidence)
            probability[i] = shares.sum()
            late[self.step[i]] += shares[layer.late].sum()
            np.logaddexp.at(onward, layer.before, through)
        return np.minimum(probability, 1.0), np.minimum(late, 1.0)

    def trace(self, layers: list[_Layer], node: int) -> Integers:
        """Return the rows of the best reading that ends in a state, by start."""
        firsts = np.array([layer.first for layer in layers], np.int64)
        path = []
        while node > 0:
            i = int(np.searchsorted(firsts, node, side="right")) - 1
            path.append(i)
            node = int(layers[i].best_before[node - layers[i].first])
        return np.array(path[::-1], np.int64)

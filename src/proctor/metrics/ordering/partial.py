"""Partial orders: some steps must come before others, the rest may be done in any order.

A partial order holds *constraints* ``(before, after)`` as somebody listed them. Their *closure* holds all pairs that
follow from them. An order is valid if it violates no constraint, and it then violates no pair of the closure
either; counts and shares of violations, however, depend on which list is counted: here it is the constraints as
given, each once.

Source: ours.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import comb
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.errors import MetricInputError
from proctor.metrics.ordering.measures import MEASURES, Integers, Order, OrderMeasures, measure_orders
from proctor.metrics.ordering.orders import Floats, can_be_id, named, require_order, require_reordering
from proctor.metrics.score import Score, Signature

__all__ = [
    "UNDEFINED",
    "BestOfReferences",
    "PartialMeasures",
    "PartialOrder",
    "ReferenceCounts",
    "ReferenceMode",
    "ReferenceSubset",
    "best_of_references",
    "comparable_tau",
    "distinct_references",
    "is_valid_order",
    "measure_partial_order",
    "measure_partial_orders",
    "partial_order_from_references",
    "precedence_f1",
    "reference_counts",
    "reference_table",
    "violated_constraints",
    "violated_share",
]


UNDEFINED: Final = {
    "violated_share": "no constraints were given",
    "precedence_f1": "neither side puts two steps in order",
    "comparable_tau": "no two steps are comparable",
}
"""Why a measure of one order can have no value."""

Pair = tuple[Hashable, Hashable]
_MOST_STATES: Final = 200_000
"""Sets of finished steps that are visited before counting orders is given up."""


class PartialOrder:
    """Steps and which must come before which.

    Args:
        steps: all steps, in any order; it is the order in which pairs and linear extensions are listed.
        constraints: pairs ``(before, after)`` of these steps; repetitions are dropped.

    Raises:
        MetricInputError: if there are no steps, a step is repeated, a constraint is no pair of two known, different
            steps, or the constraints hold a cycle (which is named).
    """

    def __init__(
        self, steps: Sequence[Hashable], constraints: Iterable[Sequence[object]], *, where: str = ""
    ) -> None:
        place = f"{where}: " if where else ""
        require_order(steps, what="list of steps", where=where)
        self.steps = tuple(steps)
        self.place = {step: i for i, step in enumerate(self.steps)}
        pairs: dict[Pair, None] = {}
        for pair in constraints:
            if isinstance(pair, str | bytes) or len(pair) != 2:
                raise MetricInputError(f"{place}{pair!r} is not a pair of steps", "write [before, after]")
            unknown = [step for step in pair if not can_be_id(step) or step not in self.place]
            if unknown:
                raise MetricInputError(
                    f"{place}the constraint {pair[0]!r} before {pair[1]!r} has the unknown {named(unknown)}",
                    f"the steps are {named(self.steps)}",
                )
            if pair[0] == pair[1]:
                raise MetricInputError(
                    f"{place}{pair[0]!r} cannot come before itself", "remove the constraint"
                )
            before, after = (self.steps[self.place[step]] for step in pair)
            pairs[(before, after)] = None
        self.constraints = tuple(pairs)
        self._direct = [0] * len(self.steps)
        for before, after in self.constraints:
            self._direct[self.place[after]] |= 1 << self.place[before]
        self._before = self._closed(place)

    def __repr__(self) -> str:
        return f"PartialOrder({list(self.steps)!r}, {list(self.constraints)!r})"

    def __eq__(self, other: object) -> bool:
        """Equal when the same steps must come before the same ones, however that was written."""
        return (
            isinstance(other, PartialOrder)
            and self.place.keys() == other.place.keys()
            and set(self.relations) == set(other.relations)
        )

    def __hash__(self) -> int:
        return hash((frozenset(self.steps), frozenset(self.relations)))

    def _closed(self, place: str) -> list[int]:
        """For each step the bits of all that come before it, found by removing steps that wait for nothing."""
        before, left, done = list(self._direct), (1 << len(self.steps)) - 1, 0
        while left:
            ready = [i for i in _bits(left) if not self._direct[i] & ~done]
            if not ready:
                cycle = self._cycle(left)
                raise MetricInputError(
                    f"{place}the constraints hold a cycle: {' → '.join(repr(s) for s in cycle)}",
                    "remove one of these constraints",
                )
            for i in ready:
                for j in _bits(self._direct[i]):
                    before[i] |= before[j]
                done |= 1 << i
                left &= ~(1 << i)
        return before

    def _cycle(self, left: int) -> list[Hashable]:
        """Walk backwards among the steps that are stuck until one comes again."""
        path = [next(_bits(left))]
        while True:
            nearest = next(_bits(self._direct[path[-1]] & left))
            if nearest in path:
                loop = [*path[path.index(nearest) :], nearest]
                return [self.steps[i] for i in reversed(loop)]
            path.append(nearest)

    @cached_property
    def relations(self) -> tuple[Pair, ...]:
        """All pairs ``(before, after)`` that follow from the constraints (the transitive closure)."""
        return self._pairs(self._before)

    @cached_property
    def transitive_reduction(self) -> tuple[Pair, ...]:
        """The fewest constraints from which all others follow: what a drawing shows."""
        reduced = []
        for before in self._before:
            implied = 0
            for j in _bits(before):
                implied |= self._before[j]
            reduced.append(before & ~implied)
        return self._pairs(reduced)

    def _pairs(self, before: Sequence[int]) -> tuple[Pair, ...]:
        found = [(j, i) for i, bits in enumerate(before) for j in _bits(bits)]
        return tuple((self.steps[j], self.steps[i]) for j, i in sorted(found))

    def linear_extensions(self, limit: int = 1_000) -> list[tuple[Hashable, ...]]:
        """Return the orders that the constraints admit, at most ``limit`` of them, first those that keep the steps' order.

        Raises:
            MetricInputError: if the limit is below 1.
        """
        if limit < 1:
            raise MetricInputError(f"limit={limit} admits no order", "ask for at least one")
        found = islice(self._extensions(), limit)
        return [tuple(self.steps[i] for i in order) for order in found]

    def _extensions(self) -> Iterator[tuple[int, ...]]:
        """Depth first without recursion, so that a thousand steps are no problem."""
        order: list[int] = []
        done, choices = 0, [self._ready(0)]
        while choices:
            i = next(choices[-1], None)
            if i is None:
                choices.pop()
                if order:
                    done ^= 1 << order.pop()
                continue
            order.append(i)
            done |= 1 << i
            if len(order) == len(self.steps):
                yield tuple(order)
            choices.append(self._ready(done))

    def _ready(self, done: int) -> Iterator[int]:
        return (i for i in _bits(~done & ((1 << len(self.steps)) - 1)) if not self._before[i] & ~done)

    @cached_property
    def _count(self) -> int | None:
        """Orders of each connected part, times the ways to interleave the parts."""
        total, placed = 1, 0
        for part in self._parts():
            ways = self._count_part(part)
            if ways is None:
                return None
            size = part.bit_count()
            placed += size
            total *= ways * comb(placed, size)
        return total

    def count_linear_extensions(self) -> int:
        """Return how many orders the constraints admit, exactly.

        Raises:
            MetricInputError: if it would take too long: the number of sets of steps that can be finished together
                exceeds 200,000 in a connected part.
        """
        if self._count is None:
            raise MetricInputError(
                f"these {len(self.steps)} steps admit too many orders to count exactly",
                "list some with linear_extensions(limit)",
            )
        return self._count

    def _parts(self) -> list[int]:
        parts: list[int] = []
        for i, bits in enumerate(self._direct):
            joined = bits | 1 << i
            apart = []
            for part in parts:
                if part & joined:
                    joined |= part
                else:
                    apart.append(part)
            parts = [*apart, joined]
        return parts

    def _count_part(self, part: int) -> int | None:
        """Ways to finish each set of steps, sets of one size after another."""
        ways = {0: 1}
        for _ in range(part.bit_count()):
            grown: dict[int, int] = {}
            for done, n in ways.items():
                for i in _bits(part & ~done):
                    if not self._before[i] & ~done:
                        grown[done | 1 << i] = grown.get(done | 1 << i, 0) + n
                if len(grown) > _MOST_STATES:
                    return None
            ways = grown
        return ways[part]


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def partial_order_from_references(
    references: Sequence[Sequence[Hashable]], *, where: str = ""
) -> PartialOrder:
    """Return the partial order in which a comes before b exactly when every reference says so.

    It may admit orders that nobody listed: 1234 and 2143 give {1, 2} before {3, 4}, which four orders keep.

    Raises:
        MetricInputError: if there is no reference or they do not hold the same steps.
    """
    if not len(references):
        raise MetricInputError(
            f"{where + ': ' if where else ''}there is no reference", "give at least one order"
        )
    steps = references[0]
    for order in references:
        require_reordering(steps, order, what="other reference", where=where)
    places = [{step: t for t, step in enumerate(order)} for order in references]
    pairs = [
        (a, b)
        for i, a in enumerate(steps)
        for b in steps[i + 1 :]
        if all(place[a] < place[b] for place in places)
    ]
    return PartialOrder(steps, pairs, where=where)


# -- measures --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PartialMeasures:
    """Predicted orders against partial orders, M items.

    Attributes:
        valid: shape [M], 1.0 where no constraint is violated.
        constraints: shape [M], constraints as given.
        violated: shape [M], how many of them are violated.
        relations: shape [M], pairs of the closure.
        kept: shape [M], pairs of the closure that the prediction keeps.
        predicted: shape [M], pairs that the prediction claims: C(N, 2) for an order.
    """

    valid: Floats
    constraints: Integers
    violated: Integers
    relations: Integers
    kept: Integers
    predicted: Integers

    def __len__(self) -> int:
        return len(self.valid)

    @property
    def violated_share(self) -> Floats:
        """Violated over given constraints; nan without constraints (nothing can be violated, nothing was shown)."""
        return _share(self.violated, self.constraints)

    @property
    def precision(self) -> Floats:
        """Predicted pairs that the closure holds; nan when nothing is claimed."""
        return _share(self.kept, self.predicted)

    @property
    def recall(self) -> Floats:
        """Pairs of the closure that are predicted; nan when there are none."""
        return _share(self.kept, self.relations)

    @property
    def precedence_f1(self) -> Floats:
        """Harmonic mean of both, ``2 · kept / (predicted + relations)``; nan when both are empty."""
        return _share(2 * self.kept, self.predicted + self.relations)

    @property
    def comparable_tau(self) -> Floats:
        """Kept minus inverted over all comparable pairs; nan when no two steps are comparable."""
        return _share(2 * self.kept - self.relations, self.relations)


def _share(part: Integers, whole: Integers) -> Floats:
    shares = np.full(len(whole), np.nan)
    np.divide(part, whole, out=shares, where=whole > 0)
    return shares


def measure_partial_order(reference: PartialOrder, prediction: Sequence[Hashable]) -> PartialMeasures:
    """Measure one predicted order against a partial order: ``PartialMeasures`` of length 1.

    Raises:
        MetricInputError: if the prediction does not hold the same steps, each once.
    """
    return measure_partial_orders([reference], [prediction])


def measure_partial_orders(
    references: Sequence[PartialOrder],
    predictions: Sequence[Sequence[Hashable]],
    *,
    names: Sequence[str] | None = None,
) -> PartialMeasures:
    """Measure many predicted orders, each against its partial order.

    Args:
        references: one partial order an item (the same object may occur often).
        predictions: one order an item.
        names: what messages call each item.

    Raises:
        MetricInputError: if the numbers of items differ or a prediction does not hold the same steps, each once.
    """
    if len(references) != len(predictions):
        raise MetricInputError(f"{len(references)} partial orders and {len(predictions)} predictions")
    rows = np.zeros((len(references), 5), dtype=np.int64)
    for i, (reference, prediction) in enumerate(zip(references, predictions, strict=True)):
        require_reordering(reference.steps, prediction, where=names[i] if names is not None else f"item {i}")
        time = {step: t for t, step in enumerate(prediction)}
        rows[i] = (
            len(reference.constraints),
            sum(time[a] > time[b] for a, b in reference.constraints),
            len(reference.relations),
            sum(time[a] < time[b] for a, b in reference.relations),
            comb(len(prediction), 2),
        )
    constraints, violated, relations, kept, predicted = rows.T
    return PartialMeasures(
        (violated == 0).astype(np.float64), constraints, violated, relations, kept, predicted
    )


def is_valid_order(reference: PartialOrder, prediction: Sequence[Hashable]) -> bool:
    """True if the prediction violates no constraint; any such order is right.

    Raises:
        MetricInputError: if the prediction does not hold the same steps, each once.
    """
    return not violated_constraints(reference, prediction)


def violated_constraints(reference: PartialOrder, prediction: Sequence[Hashable]) -> tuple[Pair, ...]:
    """Return the given constraints ``(before, after)`` that the prediction turns round, in the order given.

    Raises:
        MetricInputError: if the prediction does not hold the same steps, each once.
    """
    require_reordering(reference.steps, prediction)
    time = {step: t for t, step in enumerate(prediction)}
    return tuple((a, b) for a, b in reference.constraints if time[a] > time[b])


def violated_share(reference: PartialOrder, prediction: Sequence[Hashable]) -> Score:
    """Violated over given constraints, 0 to 1, lower is better; undefined without constraints.

    Raises:
        MetricInputError: if the prediction does not hold the same steps, each once.
    """
    return _score("violated_share", measure_partial_order(reference, prediction).violated_share[0])


def precedence_f1(reference: PartialOrder, prediction: PartialOrder | Sequence[Hashable]) -> Score:
    """F1 of predicted precedence pairs against the closure of the reference, 0 to 1.

    An order claims all C(N, 2) pairs, also those that the reference leaves open, so that it cannot reach 1 unless
    the reference is total: its ceiling is ``2R / (C(N, 2) + R)`` with R pairs in the closure. A predicted partial
    order claims its own closure and can reach 1.

    Args:
        reference: the partial order that is right.
        prediction: an order of the same steps, or a partial order over them.

    Returns:
        The F1, undefined when neither side holds a pair.

    Raises:
        MetricInputError: if the prediction does not hold the same steps.
    """
    if not isinstance(prediction, PartialOrder):
        return _score("precedence_f1", measure_partial_order(reference, prediction).precedence_f1[0])
    require_reordering(reference.steps, prediction.steps)
    right, claimed = set(reference.relations), set(prediction.relations)
    pairs = len(right) + len(claimed)
    return _score("precedence_f1", 2 * len(right & claimed) / pairs if pairs else np.nan)


def comparable_tau(reference: PartialOrder, prediction: Sequence[Hashable]) -> Score:
    """Kendall's tau over the comparable pairs only: ``(kept - inverted) / pairs of the closure``, -1 to 1.

    With a total reference it is ``kendall_tau``. Undefined when no two steps are comparable: every order is then right.

    Raises:
        MetricInputError: if the prediction does not hold the same steps, each once.
    """
    return _score("comparable_tau", measure_partial_order(reference, prediction).comparable_tau[0])


def _score(name: str, value: float) -> Score:
    undefined = bool(np.isnan(value))
    return Score(
        float(value),
        Signature(name, {"average": "macro", "interval": "none"}),
        n=1 - undefined,
        skipped=int(undefined),
        note=UNDEFINED[name] if undefined else "",
    )


# Several acceptable orders of one sequence: which of them a prediction is measured against.
#
# ``joint`` (the published rule, repaired): one reference is chosen, the one with the lexicographically largest (Acc,
# PMR, Lr, Lq, tau), then the smallest Dist, then the earliest; all measures are read from it. So a measure other
# than Acc may be worse than against the authored order. The release prefers the *larger* Dist on a tie, which is a
# slip (differs in 3 of 3,000 random trials). ``independent`` takes the best of each measure by itself, which no
# single order need reach. ``first`` is the authored order alone.
#
# Source: Wu et al. 2022, tables 4, 5 and 10.

ReferenceMode = Literal["joint", "independent", "first"]
_PREFERENCE: Final = tuple(
    MEASURES.index(name)
    for name in (
        "position_accuracy",
        "perfect_match_ratio",
        "longest_common_substring",
        "longest_common_subsequence",
        "kendall_tau",
    )
)
_DISPLACEMENT: Final = MEASURES.index("displacement")


@dataclass(frozen=True, slots=True)
class BestOfReferences:
    """Predictions measured against several references each.

    Attributes:
        best: measures under the chosen mode.
        first: measures against the first (authored) reference alone.
        chosen: index of the chosen reference of each item; None for ``independent``, which chooses none.
        references: number of references of each item.
    """

    best: OrderMeasures
    first: OrderMeasures
    chosen: Integers | None
    references: Integers

    @property
    def benefits(self) -> Integers:
        """1 for each item of which any measure is better than against the first reference, else 0."""
        gain = self.best.values - self.first.values
        gain[:, _DISPLACEMENT] *= -1
        better: Integers = np.any(gain > 0, axis=1).astype(np.int64)
        return better


@dataclass(frozen=True, slots=True)
class ReferenceSubset:
    """One line of the published table of several references.

    Attributes:
        name: ``single`` (items with one reference), ``multi`` (with several) or ``all``.
        n: items in it.
        single: means against the first reference, by measure; empty when there are no items.
        multi: means under the mode; equal to ``single`` in the subset of that name.
        benefiting: share of the items of which any measure gets better; None when there are no items.
    """

    name: str
    n: int
    single: dict[str, float]
    multi: dict[str, float]
    benefiting: float | None


@dataclass(frozen=True, slots=True)
class ReferenceCounts:
    """How many references the items with several have, and the mean over all items.

    Attributes:
        count: items with more than one reference.
        low: fewest references of these, None when there are none.
        high: most.
        mean: mean.
        deviation: population standard deviation. (One published cell, 1.4 for counts of 2 to 4 with mean 2.1, is
            impossible: at most 0.44; Wu et al. 2022.)
        mean_all: mean over all items, those with one reference included; None without items.
    """

    count: int
    low: int | None
    high: int | None
    mean: float | None
    deviation: float | None
    mean_all: float | None


def distinct_references(references: Sequence[Order]) -> list[Order]:
    """Return the references without repetitions, first ones kept: a repeated order is no alternative."""
    return list({tuple(order): order for order in references}.values())


def best_of_references(
    references: Sequence[Sequence[Order]],
    predictions: Sequence[Order],
    *,
    mode: ReferenceMode = "joint",
    names: Sequence[str] | None = None,
) -> BestOfReferences:
    """Measure each prediction against its acceptable orders.

    Args:
        references: for each item its orders of the same steps; the first is the authored one.
        predictions: one order an item.
        mode: ``joint``, ``independent`` or ``first``, see above.
        names: what messages call each item.

    Raises:
        MetricInputError: if the numbers of items differ, an item has no reference, the mode is unknown, or an order
            does not hold the same steps.
    """
    if mode not in get_args(ReferenceMode):
        raise MetricInputError(f"the mode {mode!r} is unknown", f"use {', '.join(get_args(ReferenceMode))}")
    if len(references) != len(predictions):
        raise MetricInputError(
            f"{len(references)} lists of references and {len(predictions)} predictions",
            "pass one prediction an item",
        )
    counts = np.array([len(orders) for orders in references], dtype=np.int64)
    if (counts == 0).any():
        empty = int(np.flatnonzero(counts == 0)[0])
        raise MetricInputError(f"{_name(empty, names)} has no reference", "give at least one order")
    item = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    flat = measure_orders(
        [order for orders in references for order in orders],
        [order for order, n in zip(predictions, counts.tolist(), strict=True) for _ in range(n)],
        names=[_name(i, names) for i in item.tolist()] if names is not None else None,
    )
    return choose_references(flat, counts, mode)


def choose_references(flat: OrderMeasures, counts: Integers, mode: ReferenceMode) -> BestOfReferences:
    """Apply the rule to measures against every reference.

    Args:
        flat: measures of all references of the first item, then of the second, and so on.
        counts: number of references of each item, at least 1.
        mode: the rule.
    """
    item = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    starts = np.cumsum(counts) - counts
    first = flat.take(starts)
    if mode == "first":
        return BestOfReferences(first, first, np.zeros(len(counts), dtype=np.int64), counts)
    if mode == "independent":
        return BestOfReferences(_best_of_each(flat, starts), first, None, counts)
    rows = _jointly_best(flat.values, item)
    return BestOfReferences(flat.take(rows), first, rows - starts, counts)


def _name(item: int, names: Sequence[str] | None) -> str:
    return f"item {item}" if names is None else str(names[item])


def _jointly_best(values: Floats, item: Integers) -> Integers:
    """Row of the best reference of each item; the sort is stable, so the earliest wins a full tie."""
    keys = (values[:, _DISPLACEMENT], *(-values[:, column] for column in reversed(_PREFERENCE)), item)
    rows = np.lexsort(keys)
    _, begin = np.unique(item[rows], return_index=True)
    return rows[begin].astype(np.int64)


def _best_of_each(flat: OrderMeasures, starts: Integers) -> OrderMeasures:
    if not len(starts):
        return flat
    values = np.maximum.reduceat(flat.values, starts, axis=0)
    values[:, _DISPLACEMENT] = np.minimum.reduceat(flat.values[:, _DISPLACEMENT], starts)
    return OrderMeasures(values, flat.lengths[starts])


def reference_table(result: BestOfReferences) -> tuple[ReferenceSubset, ...]:
    """Return the published table: items with one reference, with several, and all; single against multi."""
    several = result.references > 1
    subsets = (("single", ~several), ("multi", several), ("all", np.ones_like(several)))
    return tuple(_subset(name, result, rows) for name, rows in subsets)


def _subset(name: str, result: BestOfReferences, rows: NDArray[np.bool_]) -> ReferenceSubset:
    n = int(rows.sum())
    if not n:
        return ReferenceSubset(name, 0, {}, {}, None)
    return ReferenceSubset(
        name,
        n,
        result.first.take(rows).means(),
        result.best.take(rows).means(),
        float(result.benefits[rows].mean()),
    )


def reference_counts(references: Sequence[int] | Integers) -> ReferenceCounts:
    """Describe how many references items have, population standard deviation.

    Args:
        references: number of references of each item.

    Raises:
        MetricInputError: if a number is below 1.
    """
    counts = np.asarray(references, dtype=np.int64)
    if (counts < 1).any():
        raise MetricInputError("an item has no reference", "give at least one order")
    several = counts[counts > 1]
    mean_all = float(counts.mean()) if counts.size else None
    if not several.size:
        return ReferenceCounts(0, None, None, None, None, mean_all)
    return ReferenceCounts(
        int(several.size),
        int(several.min()),
        int(several.max()),
        float(several.mean()),
        float(several.std()),
        mean_all,
    )

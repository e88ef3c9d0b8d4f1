"""Several acceptable orders of one sequence: which of them a prediction is measured against.

``joint`` (the published rule, repaired): one reference is chosen, the one with the lexicographically largest (Acc,
PMR, Lr, Lq, tau), then the smallest Dist, then the earliest; all measures are read from it. So a measure other
than Acc may be worse than against the authored order. The release prefers the *larger* Dist on a tie, which is a
slip (differs in 3 of 3,000 random trials). ``independent`` takes the best of each measure by itself, which no
single order need reach. ``first`` is the authored order alone.

Source: Wu et al. 2022, tables 4, 5 and 10.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.errors import MetricInputError
from proctor.metrics.ordering.measures import MEASURES, Floats, Integers, OrderMeasures
from proctor.metrics.ordering.single import Order, measure_orders

__all__ = [
    "BestOfReferences",
    "ReferenceCounts",
    "ReferenceMode",
    "ReferenceSubset",
    "best_of_references",
    "distinct_references",
    "reference_counts",
    "reference_table",
]

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

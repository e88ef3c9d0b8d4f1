"""How well steps are put in order: measures with intervals over tasks, floors on the same sequences, and calibrated pairs.

Steps that look alike are settled first: nobody can tell them apart, so they stand in the authored order in every prediction, in
every reference and in what chance gets.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from collections.abc import Sequence as List
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from typing import Final, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.learn.sequencing.data import MODALITY, Ordered, Presented, Shown
from proctor.metrics.calibration import brier_score, expected_calibration_error
from proctor.metrics.hypothesis_tests import mcnemar
from proctor.metrics.ordering import (
    MEASURES,
    BestOfReferences,
    OrderMeasures,
    PartialOrder,
    ReferenceSubset,
    best_of_references,
    chance_of_partial_order,
    chance_of_references,
    compare_orders,
    measure_partial_orders,
    reference_table,
    score_orders,
    score_partial_orders,
    settle_alike,
)
from proctor.metrics.score import Score
from proctor.procedure.manual import Order, Sequence
from proctor.procedure.order_heuristics import HEURISTICS

__all__ = [
    "ComparedToFloor",
    "OrderEvaluation",
    "OrderFigures",
    "PairCalibration",
    "PartialFigure",
    "category_of",
    "evaluate_orders",
    "order_figures",
    "pair_truths",
    "predicted_steps",
]

_COMPARED: Final = ("perfect_match_ratio", "kendall_tau")
_ALL_ORDERS: Final = 6
_DRAWS: Final = 2_000
"""Random orders of a longer sequence with steps that look alike."""
_CHANCE: Final[Mapping[str, str]] = {
    "valid_order": "valid",
    "violated_constraints": "violated",
    "violated_share": "violated_share",
    "precedence_f1": "precedence_f1",
    "comparable_tau": "comparable_tau",
}


class OrderFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Means over sequences, against the authored order.

    Attributes:
        n: sequences.
        position_accuracy: 0 to 1, as ``perfect_match_ratio``.
        longest_common_subsequence: steps, as ``longest_common_substring`` and ``displacement``.
        kendall_tau: -1 to 1.
        intervals: 95 %, by name of the figure, over tasks; none of a single task.
    """

    n: int
    position_accuracy: float
    perfect_match_ratio: float
    longest_common_subsequence: float
    longest_common_substring: float
    kendall_tau: float
    displacement: float
    intervals: Mapping[str, tuple[float, float]] = {}


class ComparedToFloor(msgspec.Struct, frozen=True, kw_only=True):
    """A figure less that of the best floor, on the same sequences.

    Attributes:
        floor: which one is best by this figure.
        difference: of the means.
        interval: 95 %, over tasks.
        p: that of sign flips of whole tasks.
        mcnemar: exact p of perfect matches, as if sequences of one task were independent; None of other figures and chance.
        tasks: that were compared.
    """

    floor: str
    difference: float
    interval: tuple[float, float] | None
    p: float | None
    mcnemar: float | None
    tasks: int


class PartialFigure(msgspec.Struct, frozen=True, kw_only=True):
    """A measure against task graphs: over ``n`` sequences, with what a random order gets."""

    value: float
    interval: tuple[float, float] | None
    chance: float | None
    n: int


class PairCalibration(msgspec.Struct, frozen=True, kw_only=True):
    """Probabilities that one slot comes before another, of all pairs that can be told apart, against the authored order.

    Attributes:
        pairs: how many.
        expected_calibration_error: over ten bins of equal width, 0 to 1.
        brier_score: 0 to 1; ¼ for always ½.
    """

    pairs: int
    expected_calibration_error: float
    brier_score: float


class OrderEvaluation(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of a part.

    Attributes:
        test: of the model.
        floors: of what nobody learned; chance is the exact expectation.
        compared: the model less the best floor, by figure.
        references: with several right orders, by subset: ``single``, ``multi``, ``all``; empty where there are none.
        partial: against task graphs; empty where there are none.
        calibration: of pairs; None where the model gives no probabilities.
        by_category, by_alternatives, by_steps: of the model, by top category, whether other orders are right, number of steps.
    """

    test: OrderFigures
    floors: Mapping[str, OrderFigures]
    compared: Mapping[str, ComparedToFloor]
    references: Mapping[str, ReferenceSubset]
    partial: Mapping[str, PartialFigure]
    calibration: PairCalibration | None
    by_category: Mapping[str, OrderFigures]
    by_alternatives: Mapping[str, OrderFigures]
    by_steps: Mapping[str, OrderFigures]


@dataclass(frozen=True)
class _Part:
    """Sequences with what they are scored by.

    Attributes:
        items: as presented.
        alike: for each, from each step to the first that looks like it.
        references: for each, the orders that are right, settled.
        clusters: the task of each.
    """

    items: List[Presented]
    alike: List[Mapping[Hashable, Hashable]]
    references: List[List[Order]]
    clusters: List[str]
    resamples: int

    @classmethod
    def of(cls, items: List[Presented], shown: Shown, resamples: int) -> _Part:
        alike: list[Mapping[Hashable, Hashable]] = [
            dict(enumerate(item.sequence.alike(MODALITY[shown]))) for item in items
        ]
        references = [
            list(dict.fromkeys(_settled(order, a) for order in i.sequence.orders(MODALITY[shown])))
            for i, a in zip(items, alike, strict=True)
        ]
        tasks = [item.sequence.task or item.sequence.id for item in items]
        return cls(items, alike, references, tasks, resamples)

    def settled(self, orders: List[Order]) -> list[Order]:
        """Return steps as they are scored, from slots in predicted order."""
        return [
            _settled(predicted_steps(item, order), alike)
            for item, order, alike in zip(self.items, orders, self.alike, strict=True)
        ]

    def measured(self, orders: List[Order]) -> BestOfReferences:
        return best_of_references(
            self.references, self.settled(orders), names=[i.sequence.id for i in self.items]
        )

    def figures(self, measures: OrderMeasures, keep: NDArray[np.bool_] | None = None) -> OrderFigures:
        rows = np.ones(len(self.items), np.bool_) if keep is None else keep
        clusters = [name for name, kept in zip(self.clusters, rows, strict=True) if kept]
        scores = score_orders(measures.take(rows), clusters=clusters, resamples=self.resamples)
        ends = {name: found for name in MEASURES if (found := _ends(scores[name])) is not None}
        return OrderFigures(
            n=len(clusters), intervals=ends, **{name: scores[name].value for name in MEASURES}
        )


def predicted_steps(item: Presented, order: Order) -> Order:
    """Return the steps that stand in slots, in predicted order."""
    return tuple(item.slots[slot] for slot in order)


def order_figures(
    items: List[Presented], predicted: List[Ordered], shown: Shown, *, resamples: int = 2_000
) -> OrderFigures:
    """Return figures against the authored order; a sequence may be there several times, put in order by several people."""
    part = _Part.of(items, shown, resamples)
    return part.figures(part.measured([one.order for one in predicted]).first)


def evaluate_orders(
    items: List[Presented], predicted: List[Ordered], shown: Shown, *, resamples: int = 2_000
) -> OrderEvaluation:
    """Evaluate predictions of at least one sequence.

    Args:
        items: what was shown.
        predicted: what a model said of each.
        shown: of each step.
        resamples: of the bootstrap over tasks; 0 leaves the intervals out.

    Raises:
        MetricInputError: if a prediction is no order of its slots.
    """
    part = _Part.of(items, shown, resamples)
    orders = [one.order for one in predicted]
    best = part.measured(orders)
    floors = _floors(part)

    def sliced(name_of: Callable[[int, Presented], str]) -> dict[str, OrderFigures]:
        names = np.array([name_of(k, item) for k, item in enumerate(items)])
        found = sorted(
            {n for n in names.tolist() if n}, key=lambda n: (len(n), n) if n.isdecimal() else (0, n)
        )
        return {n: part.figures(best.first, names == n) for n in found}

    several = bool((best.references > 1).any())
    return OrderEvaluation(
        test=part.figures(best.first),
        floors={name: part.figures(measures) for name, measures in floors.items()},
        compared=_compared(part, best.first, floors),
        references={subset.name: subset for subset in reference_table(best)} if several else {},
        partial=_partial(part, orders),
        calibration=_calibration(items, predicted, shown),
        by_category=sliced(lambda _, item: category_of(item.sequence)),
        by_alternatives=sliced(
            lambda k, i: "several orders" if best.references[k] > 1 or _is_open(i) else "one order"
        ),
        by_steps=sliced(lambda _, item: str(len(item.slots))),
    )


def _settled(order: Order, alike: Mapping[Hashable, Hashable]) -> Order:
    authored = tuple(range(len(order)))
    return cast("Order", settle_alike(order, authored, alike))


def _ends(score: Score) -> tuple[float, float] | None:
    return None if score.low is None or score.high is None else (score.low, score.high)


def category_of(sequence: Sequence) -> str:
    """Return the top category, empty where there is none."""
    path = max(sequence.category_paths, key=len, default=())
    return path[1] if len(path) > 1 else "".join(path)


def _is_open(item: Presented) -> bool:
    """Return whether a task graph leaves the order of some pair open."""
    before, count = item.sequence.before, len(item.slots)
    return before is not None and len(PartialOrder(range(count), before).relations) < count * (count - 1) // 2


# -- floors --------------------------------------------------------------------------------------------------------


def _floors(part: _Part) -> dict[str, OrderMeasures]:
    orders = {"presented": [tuple(range(len(item.slots))) for item in part.items]}
    for name, heuristic in HEURISTICS.items():
        texts = ([item.sequence.steps[step].text for step in item.slots] for item in part.items)
        orders[name] = [heuristic(shown) for shown in texts]
    return {"chance": _chance(part)} | {n: part.measured(o).first for n, o in orders.items()}


def _chance(part: _Part) -> OrderMeasures:
    """Return what a random order is expected to get; of steps that look alike over their distinct orders."""
    found = chance_of_references([orders[:1] for orders in part.references]).measures
    values = np.array(found.values)
    for row, alike in enumerate(part.alike):
        if len(set(alike.values())) < len(alike):
            values[row] = _alike_chance(tuple(alike.values()))
    return OrderMeasures(values, found.lengths)


@cache
def _alike_chance(pattern: Order) -> NDArray[np.float64]:
    """Return the expected measures of steps of which each looks like the one that stands at its place in the pattern."""
    count = len(pattern)
    alike: dict[Hashable, Hashable] = dict(enumerate(pattern))
    if count <= _ALL_ORDERS:
        drawn = [*permutations(range(count))]
    else:
        rng = np.random.default_rng([*pattern])
        drawn = [tuple(map(int, rng.permutation(count))) for _ in range(_DRAWS)]
    settled = [_settled(order, alike) for order in drawn]
    means: NDArray[np.float64] = best_of_references(
        [[tuple(range(count))]] * len(settled), settled
    ).first.values.mean(0)
    return means


def _compared(
    part: _Part, model: OrderMeasures, floors: Mapping[str, OrderMeasures]
) -> dict[str, ComparedToFloor]:
    found = {}
    names = [item.sequence.id for item in part.items]
    for figure in _COMPARED:
        column = MEASURES.index(figure)
        best = max(floors, key=lambda name: float(floors[name].values[:, column].mean()))
        one = compare_orders(
            floors[best],
            model,
            names,
            clusters=part.clusters,
            names=(best, "model"),
            resamples=part.resamples,
        )[figure]
        exact = None
        if figure == "perfect_match_ratio" and best != "chance":
            floor, mine = floors[best].values[:, column], model.values[:, column]
            exact = mcnemar(int((floor > mine).sum()), int((mine > floor).sum())).p
        found[figure] = ComparedToFloor(
            floor=best,
            difference=float((model.values[:, column] - floors[best].values[:, column]).mean()),
            interval=None if one.low is None or one.high is None else (one.low, one.high),
            p=one.p,
            mcnemar=exact,
            tasks=one.clusters,
        )
    return found


# -- task graphs and pairs -----------------------------------------------------------------------------------------


def _partial(part: _Part, orders: List[Order]) -> dict[str, PartialFigure]:
    settled = part.settled(orders)
    rows = [k for k, item in enumerate(part.items) if item.sequence.before is not None]
    if not rows:
        return {}
    graphs = [PartialOrder(range(len(settled[k])), part.items[k].sequence.before or ()) for k in rows]
    scores = score_partial_orders(
        measure_partial_orders(graphs, [settled[k] for k in rows]),
        clusters=[part.clusters[k] for k in rows],
        resamples=part.resamples,
    )
    chances = [chance_of_partial_order(graph) for graph in graphs]
    found = {}
    for name, score in scores.items():
        known = [c for chance in chances if (c := chance[_CHANCE[name]]) is not None]
        if score.n:
            found[name] = PartialFigure(
                value=score.value,
                interval=_ends(score),
                n=score.n,
                chance=float(np.mean(known)) if known else None,
            )
    return found


def pair_truths(
    items: List[Presented], predicted: List[Ordered], shown: Shown
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return, for each pair of slots that can be told apart, whether the first comes first, and its probability.

    Both directions of a matrix are averaged first. Pairs are taken once, by presented slot, so that half of them are true.
    """
    truth: list[float] = []
    stated: list[float] = []
    for item, one in zip(items, predicted, strict=True):
        if one.precedence is None:
            continue
        alike = item.sequence.alike(MODALITY[shown])
        both = (one.precedence + 1 - one.precedence.T) / 2
        for i, first in enumerate(item.slots):
            for j in range(i + 1, len(item.slots)):
                if alike[first] != alike[item.slots[j]]:
                    truth.append(float(first < item.slots[j]))
                    stated.append(float(np.clip(both[i, j], 0, 1)))
    return np.array(truth), np.array(stated)


def _calibration(items: List[Presented], predicted: List[Ordered], shown: Shown) -> PairCalibration | None:
    truth, stated = pair_truths(items, predicted, shown)
    if not len(truth):
        return None
    return PairCalibration(
        pairs=len(truth),
        expected_calibration_error=expected_calibration_error(truth, stated).value,
        brier_score=brier_score(truth, stated).value,
    )

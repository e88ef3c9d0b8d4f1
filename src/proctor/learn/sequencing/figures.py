"""How well steps are put in order: measures with intervals over tasks, floors on the same sequences, and calibrated pairs.

Steps that look alike stand in the authored order in every prediction, reference and draw, as in exams (``exam.kinds.order_marks``).
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as List
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.exam.kinds.order_marks import Right, chance_of
from proctor.learn.sequencing.data import MODALITY, Ordered, Presented, Shown
from proctor.metrics.calibration import brier_score, expected_calibration_error
from proctor.metrics.hypothesis_tests import mcnemar
from proctor.metrics.ordering import (
    MEASURES,
    BestOfReferences,
    OrderMeasures,
    ReferenceSubset,
    best_of_references,
    chance_of_partial_order,
    compare_orders,
    measure_partial_orders,
    reference_table,
    score_orders,
    score_partial_orders,
)
from proctor.metrics.score import Score
from proctor.metrics.significance import Comparison
from proctor.procedure.manual import Order, Sequence
from proctor.procedure.order_heuristics import HEURISTICS

__all__ = [
    "ComparedToFloor", "OrderEvaluation", "OrderFigures", "PairCalibration", "PartialFigure", "category_of", "evaluate_orders",
    "order_figures", "pair_truths", "predicted_steps",
]  # fmt: skip


class OrderFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Means over ``n`` sequences, as ``metrics.ordering.MEASURES``, against the authored order.

    ``intervals`` are of 95 %, by name of the figure, over tasks; none of a single task.
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
    """A figure less that of the best floor on the same sequences; ``interval`` (95 %) and ``p`` are over tasks.

    ``mcnemar`` is the exact p of perfect matches, as if sequences of one task were independent; None elsewhere and of chance.
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
    """Of all pairs that can be told apart, in ten bins of equal width; the Brier score of always ½ is ¼."""

    pairs: int
    expected_calibration_error: float
    brier_score: float


class OrderEvaluation(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of a model on a part, and of floors, of which chance is the exact expectation.

    ``references`` (by subset: ``single``, ``multi``, ``all``) and ``partial`` (against task graphs) are empty where no sequence has
    several right orders or a graph; ``calibration`` of pairs is None where the model gives no probabilities.
    """

    test: OrderFigures
    floors: Mapping[str, OrderFigures]
    compared: Mapping[str, ComparedToFloor]
    references: Mapping[str, ReferenceSubset]
    partial: Mapping[str, PartialFigure]
    calibration: PairCalibration | None
    by_category: Mapping[str, OrderFigures]
    by_alternatives: Mapping[str, OrderFigures]


@dataclass(frozen=True)
class _Part:
    """Sequences as presented, with what is right of each, over its steps, and the task of each."""

    items: List[Presented]
    ids: List[str]
    rights: List[Right]
    tasks: List[str]
    resamples: int

    @classmethod
    def of(cls, items: List[Presented], shown: Shown, resamples: int) -> _Part:
        sequences = [item.sequence for item in items]
        rights = [Right(s.orders(MODALITY[shown]), s.before, s.alike(MODALITY[shown])) for s in sequences]
        return cls(items, [s.id for s in sequences], rights, [s.task or s.id for s in sequences], resamples)

    def settled(self, orders: List[Order]) -> list[Order]:
        """Return steps as they are scored, from slots in predicted order."""
        parts = zip(self.items, orders, self.rights, strict=True)
        return [right.settled(predicted_steps(item, order)) for item, order, right in parts]

    def measured(self, orders: List[Order]) -> BestOfReferences:
        references = [right.listed for right in self.rights]
        return best_of_references(references, self.settled(orders), names=self.ids)

    def figures(self, measures: OrderMeasures, keep: NDArray[np.bool_] | None = None) -> OrderFigures:
        rows = np.ones(len(self.items), np.bool_) if keep is None else keep
        tasks = [name for name, kept in zip(self.tasks, rows, strict=True) if kept]
        scores = score_orders(measures.take(rows), clusters=tasks, resamples=self.resamples)
        ends = {name: found for name in MEASURES if (found := _ends(scores[name])) is not None}
        return OrderFigures(n=len(tasks), intervals=ends, **{name: scores[name].value for name in MEASURES})

    def floors(self) -> dict[str, OrderMeasures]:
        """Return what guessing gets on average, and the orders that nobody learned."""
        rules = {"presented": lambda texts: range(len(texts)), **HEURISTICS}
        texts = [[item.sequence.steps[step].text for step in item.slots] for item in self.items]
        drawn = [chance_of(Right(right.orders[:1], None, right.alike)) for right in self.rights]
        chance = np.array([[one[name] for name in MEASURES] for one in drawn])
        return {"chance": OrderMeasures(chance, np.array([*map(len, texts)]))} | {
            name: self.measured([tuple(rule(shown)) for shown in texts]).first for name, rule in rules.items()
        }


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
    """Evaluate what a model said of at least one sequence; no ``resamples`` of the bootstrap over tasks, no intervals.

    Raises:
        MetricInputError: if a prediction is no order of its slots.
    """
    part = _Part.of(items, shown, resamples)
    orders = [one.order for one in predicted]
    best, floors = part.measured(orders), part.floors()
    truth, stated = pair_truths(items, predicted, shown)
    calibration = None
    if len(truth):
        error, brier = expected_calibration_error(truth, stated).value, brier_score(truth, stated).value
        calibration = PairCalibration(pairs=len(truth), expected_calibration_error=error, brier_score=brier)

    def sliced(names: List[str]) -> dict[str, OrderFigures]:
        named = np.array(names)
        return {name: part.figures(best.first, named == name) for name in sorted({*names} - {""})}

    return OrderEvaluation(
        test=part.figures(best.first),
        floors={name: part.figures(measures) for name, measures in floors.items()},
        compared={
            name: _compared(part, best.first, floors, name) for name in ("perfect_match_ratio", "kendall_tau")
        },
        references={s.name: s for s in reference_table(best)} if (best.references > 1).any() else {},
        partial=_partial(part, orders),
        calibration=calibration,
        by_category=sliced([category_of(item.sequence) for item in items]),
        by_alternatives=sliced(["several orders" if r.several else "one order" for r in part.rights]),
    )


def _ends(found: Score | Comparison) -> tuple[float, float] | None:
    return None if found.low is None or found.high is None else (found.low, found.high)


def category_of(sequence: Sequence) -> str:
    """Return the top category, empty where there is none."""
    path = max(sequence.category_paths, key=len, default=())
    return path[1] if len(path) > 1 else "".join(path)


def _compared(
    part: _Part, model: OrderMeasures, floors: Mapping[str, OrderMeasures], figure: str
) -> ComparedToFloor:
    best = max(floors, key=lambda name: float(floors[name].column(figure).mean()))
    one = compare_orders(
        floors[best], model, part.ids, clusters=part.tasks, names=(best, "model"), resamples=part.resamples
    )[figure]
    exact = figure == "perfect_match_ratio" and best != "chance"
    return ComparedToFloor(
        floor=best,
        difference=one.difference or 0.0,
        interval=_ends(one),
        p=one.p,
        mcnemar=mcnemar(one.losses, one.wins).p if exact else None,
        tasks=one.clusters,
    )


def _partial(part: _Part, orders: List[Order]) -> dict[str, PartialFigure]:
    parts = zip(part.rights, part.settled(orders), part.tasks, strict=True)
    if not (known := [(right.graph, order, task) for right, order, task in parts if right.graph is not None]):
        return {}
    graphs, said, tasks = zip(*known, strict=True)
    chances = [chance_of_partial_order(graph) for graph in graphs]
    scores = score_partial_orders(
        measure_partial_orders(graphs, said), clusters=tasks, resamples=part.resamples
    )
    found = {}
    for name, score in scores.items():
        drawn = [x for chance in chances if (x := chance[name]) is not None]
        mean = float(np.mean(drawn)) if drawn else None
        if score.n:
            found[name] = PartialFigure(value=score.value, interval=_ends(score), chance=mean, n=score.n)
    return found


def pair_truths(
    items: List[Presented], predicted: List[Ordered], shown: Shown
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return, for each pair of slots that can be told apart, whether the first comes first, and its probability.

    Both directions of a matrix are averaged first. Pairs are taken once, by presented slot, so that half of them are true.
    """
    truth, stated = [np.zeros(0)], [np.zeros(0)]
    for item, one in zip(items, predicted, strict=True):
        if one.precedence is not None:
            slots = np.array(item.slots)
            alike = np.array(item.sequence.alike(MODALITY[shown]))[slots]
            i, j = np.triu_indices(len(slots), 1)
            i, j = i[alike[i] != alike[j]], j[alike[i] != alike[j]]
            truth.append((slots[i] < slots[j]).astype(np.float64))
            stated.append(((one.precedence + 1 - one.precedence.T) / 2)[i, j].clip(0, 1))
    return np.concatenate(truth), np.concatenate(stated)

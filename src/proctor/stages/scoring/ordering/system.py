"""One file of predicted orders: read against the items, made whole where that is asked for, and measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from proctor.errors import UserError
from proctor.metrics.errors import MetricInputError
from proctor.metrics.ordering import (
    BestOfReferences,
    PartialMeasures,
    PartialOrder,
    RepairedOrder,
    best_of_references,
    kendall_tau_a,
    measure_partial_orders,
    order_by_scores,
    partial_order_from_references,
    repair_order,
    require_reordering,
)
from proctor.stages.scoring.files import explained
from proctor.stages.scoring.ordering import OrderingSettings
from proctor.stages.scoring.ordering.files import Item, Prediction, read_predictions

__all__ = ["System", "build_partial_orders", "measured", "read_system"]


@dataclass(frozen=True, slots=True)
class System:
    """One prediction file, read against the items: only items with a usable order are kept.

    Attributes:
        name: of the lines in the table.
        items: the items scored, sorted by id.
        orders: their predicted orders, made whole.
        failed: items without a prediction.
        counts: what had to be repaired.
        tau_a: tau-a of items that were predicted as scores, by id.
        best: measures against the references; None if only constraints are known.
        constrained: places in ``items`` of those with constraints.
        partial: their measures; None if there are none.
        constrained_failed: failed items with constraints.
    """

    name: str
    items: tuple[Item, ...]
    orders: tuple[tuple[str, ...], ...]
    failed: tuple[Item, ...]
    counts: Mapping[str, int]
    tau_a: Mapping[str, float]
    best: BestOfReferences | None = None
    constrained: tuple[int, ...] = ()
    partial: PartialMeasures | None = None
    constrained_failed: tuple[Item, ...] = ()


# -- predictions -----------------------------------------------------------------------------------------------


def read_system(name: str, path: Path, items: Sequence[Item], options: OrderingSettings) -> System:
    """Read a prediction file; every item ends as scored or as failed, nothing disappears."""
    predictions = read_predictions(path)
    known = {item.id for item in items}
    unknown = [prediction for key, prediction in predictions.items() if key not in known]
    if unknown and options.mode == "strict":
        raise UserError(
            f"{len(unknown)} predictions are for items that the reference does not have.",
            where=unknown[0].place,
            hint="remove them, check that both files are of one split, or use --mode repair to count them",
        )
    counts: Counter[str] = Counter({"predictions without reference": len(unknown)})
    kept: list[Item] = []
    orders: list[tuple[str, ...]] = []
    tau_a: dict[str, float] = {}
    failed: list[Item] = []
    problems: list[UserError] = []
    for item in items:
        prediction = predictions.get(item.id)
        if prediction is None or prediction.empty:
            failed.append(item)
            continue
        try:
            with explained(prediction.place):
                order = _order(item, prediction, options.mode, counts, tau_a)
        except UserError as error:
            problems.append(error)
            continue
        kept.append(item)
        orders.append(order)
    if problems:
        raise _first_of(problems)
    if not kept:
        raise UserError(
            f"none of the {len(items)} items of the reference has a prediction.",
            where=str(path),
            hint="check that the ids of both files are the same",
        )
    return System(name, tuple(kept), tuple(orders), tuple(failed), dict(counts), tau_a)


def _first_of(problems: Sequence[UserError]) -> UserError:
    if len(problems) == 1:
        return problems[0]
    first = problems[0]
    return UserError(
        f"{first.message} ({len(problems) - 1} more predictions have problems.)",
        where=first.where,
        hint=first.hint,
    )


def _order(
    item: Item, prediction: Prediction, mode: str, counts: Counter[str], tau_a: dict[str, float]
) -> tuple[str, ...]:
    """The predicted order, whole; what was done for that is counted."""
    where = f"item {item.id!r}"
    if prediction.order is not None:
        order = prediction.order
    else:
        order = _order_of_scores(item, prediction, mode, counts, tau_a, where)
    if mode == "strict":
        require_reordering(item.steps, order, where=where)
        return order
    repaired = repair_order(order, item.steps, presented=item.presented, where=where)
    _count_repair(counts, repaired)
    return tuple(str(step) for step in repaired.order)


def _count_repair(counts: Counter[str], repaired: RepairedOrder) -> None:
    counts["repaired"] += repaired.repaired
    counts["unknown steps dropped"] += len(repaired.unknown)
    counts["repeated steps dropped"] += len(repaired.repeated)
    counts["missing steps appended"] += len(repaired.missing)


def _order_of_scores(
    item: Item,
    prediction: Prediction,
    mode: str,
    counts: Counter[str],
    tau_a: dict[str, float],
    where: str,
) -> tuple[str, ...]:
    scores = _scores_by_step(item, prediction, where)
    if mode == "strict":
        require_reordering(item.steps, list(scores), where=where)
    known = {step: scores[step] for step in item.steps if step in scores}
    presented = None if item.presented is None else [step for step in item.presented if step in known]
    order = [str(step) for step in order_by_scores(known, presented, where=where)] if known else []
    counts["items with tied scores"] += len(set(known.values())) < len(known)
    if item.references and len(known) == len(item.steps):
        tau_a[item.id] = kendall_tau_a(range(len(item.steps)), [known[step] for step in item.steps]).value
    return (*order, *(step for step in scores if step not in known))


def _scores_by_step(item: Item, prediction: Prediction, where: str) -> Mapping[str, float]:
    scores = prediction.scores
    if isinstance(scores, dict):
        return scores
    values = scores or ()
    if item.presented is None:
        raise MetricInputError(
            f"{where}: a list of scores follows the presented order, which is not known",
            "give 'presented' in the reference file, or write scores as an object from step id to number",
        )
    if len(values) != len(item.presented):
        raise MetricInputError(f"{where}: {len(values)} scores for {len(item.presented)} presented steps")
    return dict(zip(item.presented, values, strict=True))


# -- measuring -------------------------------------------------------------------------------------------------


def build_partial_orders(items: Sequence[Item], *, from_references: bool) -> dict[str, PartialOrder]:
    """Partial order of each item that has constraints; equal ones are built once."""
    built: dict[tuple[object, ...], PartialOrder] = {}
    found = {}
    for item in items:
        with explained(item.place):
            if item.constraints is not None:
                key: tuple[object, ...] = (item.steps, item.constraints)
                if key not in built:
                    built[key] = PartialOrder(item.steps, item.constraints, where=f"item {item.id!r}")
            elif from_references and item.references:
                key = (item.references,)
                if key not in built:
                    built[key] = partial_order_from_references(item.references, where=f"item {item.id!r}")
            else:
                continue
        found[item.id] = built[key]
    if from_references and not found:
        raise UserError(
            "no item has references to take constraints from.", hint="leave --constraints-from-references out"
        )
    if not found and items and not items[0].references:
        raise UserError(
            "the items have neither an order nor constraints.",
            where=items[0].place,
            hint="give 'order', 'references' or 'constraints' in the reference file, or --constraints FILE",
        )
    return found


def measured(system: System, orders: Mapping[str, PartialOrder], options: OrderingSettings) -> System:
    """Return the system with its measures against references and constraints."""
    names = [f"item {item.id!r}" for item in system.items]
    if system.items[0].references:
        system = replace(
            system,
            best=best_of_references(
                [item.references for item in system.items],
                system.orders,
                mode=options.references,
                names=names,
            ),
        )
    rows = tuple(i for i, item in enumerate(system.items) if item.id in orders)
    if not rows:
        return system
    partial = measure_partial_orders(
        [orders[system.items[i].id] for i in rows],
        [system.orders[i] for i in rows],
        names=[names[i] for i in rows],
    )
    failed = tuple(item for item in system.failed if item.id in orders)
    return replace(system, constrained=rows, partial=partial, constrained_failed=failed)

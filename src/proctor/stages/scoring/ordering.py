"""``proctor score ordering``: predicted orders from files against references, constraints and another system."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.metrics.errors import MetricInputError
from proctor.metrics.figure import Figure, IntervalPlot, Matrix
from proctor.metrics.interval import require_confidence
from proctor.metrics.ordering import (
    ORDER_COLUMNS,
    PARTIAL_COLUMNS,
    BestOfReferences,
    PartialMeasures,
    PartialOrder,
    ReferenceMode,
    RepairedOrder,
    best_of_references,
    chance_of_partial_order,
    chance_of_references,
    compare_orders,
    kendall_tau_a,
    measure_partial_orders,
    order_by_scores,
    partial_order_from_references,
    reference_counts,
    reference_table,
    repair_order,
    require_reordering,
    score_orders,
    score_partial_orders,
    violated_constraints,
)
from proctor.metrics.score import Score, Signature
from proctor.metrics.significance import Comparison
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.stages.scoring.files import explained
from proctor.stages.scoring.ordering_files import (
    Item,
    Prediction,
    read_constraints,
    read_items,
    read_predictions,
)

__all__ = ["Mode", "score_ordering"]

Mode = Literal["strict", "repair"]
_LONGEST_MATRIX: Final = 12
_LARGEST_MATRIX: Final = 40
_DIGITS: Final = {"Acc": 2, "PMR": 2, "Acc micro": 2, "valid": 2, "Lq": 2, "Lr": 2, "Dist": 2, "violated": 2}
_PLOTTED: Final = (
    "position_accuracy",
    "perfect_match_ratio",
    "normalised_subsequence",
    "normalised_substring",
    "kendall_tau",
    "normalised_displacement",
)


@dataclass(frozen=True, slots=True)
class _Options:
    mode: Mode
    references: ReferenceMode
    cluster: str | None
    confidence: float
    resamples: int
    seed: int

    @property
    def draws(self) -> dict[str, Any]:
        return {"confidence": self.confidence, "resamples": self.resamples, "seed": self.seed}

    def clusters(self, items: Sequence[Item]) -> list[str] | None:
        return None if self.cluster is None else [item.labels[self.cluster] for item in items]


@dataclass(frozen=True, slots=True)
class _System:
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


def score_ordering(
    gt: Path,
    pred: Path,
    *,
    mode: Mode = "strict",
    references: ReferenceMode = "joint",
    constraints: Path | None = None,
    constraints_from_references: bool = False,
    compare: Path | None = None,
    slices: Sequence[str] = (),
    cluster: str | None = None,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> ScoreTable:
    """Score predicted orders.

    Args:
        gt: items with ``order`` or ``references`` (or only ``presented`` and constraints), see ``read_items``.
        pred: predicted orders or scores, see ``read_predictions``.
        mode: ``strict`` refuses predictions that are not whole; ``repair`` makes them so and counts.
        references: rule for items with several references: ``joint``, ``independent`` or ``first``.
        constraints: a file of precedence constraints, see ``read_constraints``.
        constraints_from_references: take as constraints what all references of an item agree on.
        compare: predictions of another system, compared on the items that both have.
        slices: columns of ``gt`` whose values get a line each.
        cluster: column of ``gt``: items with one value are drawn together by the bootstrap.
        confidence: of the intervals.
        resamples: of the bootstrap; 0 leaves bootstrapped intervals out.
        seed: of everything drawn.

    Raises:
        UserError: if a file or an option is wrong, or in strict mode a prediction is not whole.
    """
    options = _options(mode, references, cluster, confidence, resamples, seed)
    items = read_items(gt, tuple(dict.fromkeys([*slices, *([cluster] if cluster else [])])))
    if constraints is not None:
        items = read_constraints(constraints, items)
    orders = _partial_orders(items, from_references=constraints_from_references)
    names = _names(pred, compare)
    systems = [
        _measured(_read_system(name, path, items, options), orders, options)
        for name, path in zip(names, [pred] if compare is None else [pred, compare], strict=True)
    ]
    main = systems[0]
    rows: list[ScoreRow] = []
    for system in systems:
        rows += _rows(system, options, slices if system is main else ())
    headline: dict[str, Any] = {
        row.score.signature.name: row.score.value for row in rows if row.slice == names[0]
    }
    chance = _chance_rows(main, orders, options)
    rows += chance
    headline["chance"] = {row.score.signature.name: row.score.value for row in chance}
    notes = _notes(systems, chance, options)
    if main.best is not None and references != "first" and (main.best.references > 1).any():
        rows += _reference_rows(main, options)
        headline["references"] = _reference_headline(main)
    if main.partial is not None:
        headline["violations"] = _violations(main, orders)
    if compare is not None:
        found = _comparison(systems, options)
        rows += _comparison_rows(found, names, options)
        headline["comparison"] = _comparison_headline(found)
        if found:
            notes.append(f"a difference is {names[1]} minus {names[0]}, on the items that both predicted")
    return ScoreTable(
        family="ordering",
        rows=tuple(rows),
        headline=headline,
        counts=_counts(systems, items),
        notes=tuple(notes),
        figures=_figures(systems, rows, chance),
    )


def _options(
    mode: Mode, references: ReferenceMode, cluster: str | None, confidence: float, resamples: int, seed: int
) -> _Options:
    for value, allowed, flag in (
        (mode, get_args(Mode), "--mode"),
        (references, get_args(ReferenceMode), "--references"),
    ):
        if value not in allowed:
            raise UserError(f"{flag} {value!r} is unknown.", hint=f"use {', '.join(allowed)}")
    try:
        require_confidence(confidence)
    except ValueError as error:
        raise UserError(f"{error}.", hint="use --confidence 0.95") from None
    if resamples < 0 or seed < 0:
        raise UserError("--resamples and --seed must not be negative.")
    return _Options(mode, references, cluster, confidence, resamples, seed)


def _names(pred: Path, compare: Path | None) -> list[str]:
    """Names of the lines: the files' names where there are two, as short as they differ."""
    if compare is None:
        return ["all"]
    short = [path.name.split(".")[0] for path in (pred, compare)]
    if short[0] != short[1]:
        return short
    full = [str(path) for path in (pred, compare)]
    return full if full[0] != full[1] else [f"{full[0]} (1)", f"{full[1]} (2)"]


# -- predictions -----------------------------------------------------------------------------------------------


def _read_system(name: str, path: Path, items: Sequence[Item], options: _Options) -> _System:
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
    return _System(name, tuple(kept), tuple(orders), tuple(failed), dict(counts), tau_a)


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
    item: Item, prediction: Prediction, mode: Mode, counts: Counter[str], tau_a: dict[str, float]
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
    mode: Mode,
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
        tau_a[item.id] = kendall_tau_a(range(len(item.steps)), [known[step] for step in item.steps])
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


def _partial_orders(items: Sequence[Item], *, from_references: bool) -> dict[str, PartialOrder]:
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


def _measured(system: _System, orders: Mapping[str, PartialOrder], options: _Options) -> _System:
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


def _parameters(options: _Options, *, full: bool) -> dict[str, str]:
    found: dict[str, str] = {"mode": options.mode}
    if full:
        found["references"] = options.references
    if options.cluster is not None:
        found["cluster_by"] = options.cluster.replace("|", "/")
    return found


# -- rows ------------------------------------------------------------------------------------------------------


def _rows(system: _System, options: _Options, slices: Sequence[str]) -> list[ScoreRow]:
    rows = _rows_of(system, options, system.name, None)
    for column in slices:
        for value in sorted({item.labels[column] for item in (*system.items, *system.failed)}):
            rows += _rows_of(system, options, f"{column}={value}", (column, value))
    return rows


def _rows_of(system: _System, options: _Options, name: str, part: tuple[str, str] | None) -> list[ScoreRow]:
    """All scores of the items that a slice (column and value) holds; of all items without one."""

    def inside(item: Item) -> bool:
        return part is None or item.labels[part[0]] == part[1]

    keep = np.array([inside(item) for item in system.items], dtype=np.bool_)
    items = [item for item, kept in zip(system.items, keep, strict=True) if kept]
    rows: list[ScoreRow] = []
    if system.best is not None:
        scores = score_orders(
            system.best.best.take(keep),
            clusters=options.clusters(items),
            failed=sum(map(inside, system.failed)),
            parameters=_parameters(options, full=True),
            **options.draws,
        )
        rows += [_row(column.label, scores[column.name], name) for column in ORDER_COLUMNS]
    if system.tau_a and part is None:
        rows.append(_row("tau-a", _tau_a(system, options), name))
    if system.partial is not None:
        partial = score_partial_orders(
            _taken(system.partial, keep[list(system.constrained)]),
            clusters=options.clusters([system.items[i] for i in system.constrained if keep[i]]),
            failed=sum(map(inside, system.constrained_failed)),
            parameters=_parameters(options, full=False),
            **options.draws,
        )
        rows += [_row(column.label, partial[column.name], name) for column in PARTIAL_COLUMNS]
    return rows


def _row(label: str, score: Score, name: str, *, chance: bool = False) -> ScoreRow:
    return ScoreRow(label, score, name, chance=chance, digits=_DIGITS.get(label, 3))


def _taken(measures: PartialMeasures, rows: NDArray[np.bool_]) -> PartialMeasures:
    return PartialMeasures(
        measures.valid[rows],
        measures.constraints[rows],
        measures.violated[rows],
        measures.relations[rows],
        measures.kept[rows],
        measures.predicted[rows],
    )


def _tau_a(system: _System, options: _Options) -> Score:
    values = list(system.tau_a.values())
    signature = Signature("kendall_tau_a", {"average": "macro", "interval": "none", "mode": options.mode})
    others = len(system.items) - len(values)
    return Score(
        sum(values) / len(values),
        signature,
        len(values),
        failed=len(system.failed),
        skipped=others,
        note="ties count half, against the first reference",
    )


def _reference_rows(system: _System, options: _Options) -> list[ScoreRow]:
    """The published table: items with one reference, with several, all; against the first and by the rule."""
    assert system.best is not None
    several = system.best.references > 1
    rows = []
    for name, keep in (("one reference", ~several), ("several references", several), ("all", several | True)):
        items = [item for item, kept in zip(system.items, keep, strict=True) if kept]
        if not items:
            continue
        failed = {
            "one reference": sum(len(item.references) == 1 for item in system.failed),
            "several references": sum(len(item.references) > 1 for item in system.failed),
            "all": len(system.failed),
        }
        rules: list[tuple[str, Any, ReferenceMode]] = [("first", system.best.first, "first")]
        if name == "several references":
            rules.append((options.references, system.best.best, options.references))
        for label, measures, rule in rules:
            scores = score_orders(
                measures.take(keep),
                clusters=options.clusters(items),
                failed=failed[name],
                parameters=_parameters(replace(options, references=rule), full=True),
                **options.draws,
            )
            shown = name if name == "one reference" else f"{name}: {label}"
            rows += [_row(c.label, scores[c.name], shown) for c in ORDER_COLUMNS]
    return rows


def _reference_headline(system: _System) -> dict[str, Any]:
    assert system.best is not None
    counts = reference_counts(system.best.references)
    return {
        "subsets": {
            subset.name: {
                "n": subset.n,
                "single": _in_printed_units(subset.single),
                "multi": _in_printed_units(subset.multi),
                "benefiting_percent": subset.benefiting,
            }
            for subset in reference_table(system.best)
        },
        "references_of_items_with_several": {
            "count": counts.count,
            "min": counts.low,
            "max": counts.high,
            "mean": counts.mean,
            "population_sd": counts.deviation,
        },
        "mean_references": counts.mean_all,
    }


def _in_printed_units(means: Mapping[str, float]) -> dict[str, float]:
    scale = {column.name: column.scale for column in ORDER_COLUMNS}
    return {name: scale[name] * value for name, value in means.items()}


def _violations(system: _System, orders: Mapping[str, PartialOrder]) -> dict[str, Any]:
    """Which constraints each item violates, and which are violated most often."""
    found = {}
    often: Counter[tuple[object, object]] = Counter()
    for i in system.constrained:
        item = system.items[i]
        if pairs := violated_constraints(orders[item.id], system.orders[i]):
            found[item.id] = [list(pair) for pair in pairs]
            often.update(pairs)
    ranked = sorted(often.items(), key=lambda entry: (-entry[1], str(entry[0])))
    return {
        "items": found,
        "most_often": [{"before": a, "after": b, "items": n} for (a, b), n in ranked[:20]],
    }


# -- chance ----------------------------------------------------------------------------------------------------


def _chance_rows(system: _System, orders: Mapping[str, PartialOrder], options: _Options) -> list[ScoreRow]:
    rows: list[ScoreRow] = []
    if system.best is not None:
        chance = chance_of_references(
            [item.references for item in system.items], mode=options.references, seed=options.seed
        )
        signature = {
            "chance": chance.method,
            "order": "uniform",
            "references": options.references,
        } | ({"seed": str(options.seed)} if chance.simulated else {})
        for column in ORDER_COLUMNS:
            values, weights = column.values(chance.measures), column.weights(chance.measures)
            parameters = signature | ({"unit": "percent"} if column.percent else {})
            score = Score(
                float(values.sum() / weights.sum()) * column.scale,
                Signature(column.name, parameters),
                len(system.items),
            )
            rows.append(_row(column.label, score, "chance", chance=True))
    if system.partial is not None:
        rows += _partial_chance([orders[system.items[i].id] for i in system.constrained])
    return rows


def _partial_chance(orders: Sequence[PartialOrder]) -> list[ScoreRow]:
    known: dict[int, dict[str, float | None]] = {}
    for order in orders:
        if id(order) not in known:
            known[id(order)] = chance_of_partial_order(order)
    keys = ("valid", "violated", "violated_share", "precedence_f1", "comparable_tau")
    rows = []
    for column, key in zip(PARTIAL_COLUMNS, keys, strict=True):
        values = [value for order in orders if (value := known[id(order)][key]) is not None]
        signature = Signature(column.name, {"chance": "exact", "order": "uniform"})
        if column.percent:
            signature = signature.having(unit="percent")
        skipped = len(orders) - len(values)
        if values:
            note = (
                ""
                if not skipped or key != "valid"
                else f"{skipped} items have too many valid orders to count"
            )
            score = Score(
                column.scale * sum(values) / len(values), signature, len(values), skipped=skipped, note=note
            )
        else:
            why = "too many valid orders to count" if key == "valid" else column.undefined
            score = Score(float("nan"), signature, 0, skipped=skipped, note=why)
        rows.append(_row(column.label, score, "chance", chance=True))
    return rows


# -- two systems -----------------------------------------------------------------------------------------------


def _comparison(systems: Sequence[_System], options: _Options) -> dict[str, Comparison]:
    """Full orders of the items that both systems predicted; empty if there are none to compare."""
    first, second = systems
    if first.best is None or second.best is None:
        return {}
    rows = [{item.id: i for i, item in enumerate(system.items)} for system in systems]
    shared = [item for item in first.items if item.id in rows[1]]
    take = [np.array([row[item.id] for item in shared], dtype=np.int64) for row in rows]
    return compare_orders(
        first.best.best.take(take[0]),
        second.best.best.take(take[1]),
        [item.id for item in shared],
        clusters=options.clusters(shared),
        names=(first.name, second.name),
        confidence=options.confidence,
        resamples=options.resamples,
        seed=options.seed,
    )


def _comparison_rows(
    found: Mapping[str, Comparison], names: Sequence[str], options: _Options
) -> list[ScoreRow]:
    rows = []
    for column in ORDER_COLUMNS:
        if column.name not in found:
            continue
        pair = found[column.name]
        parameters = _parameters(options, full=True) | {"paired": pair.method.replace("|", ",")}
        if column.percent:
            parameters["unit"] = "percent"
        signature = Signature(f"{column.name}_difference", parameters)
        if pair.difference is None:
            score = Score(float("nan"), signature, 0, note=pair.note)
        else:
            shown = "p undefined" if pair.p is None else f"p = {pair.p:.4g}"
            wins = (pair.losses, pair.wins) if column.lower else (pair.wins, pair.losses)
            note = f"{shown}, {names[1]} better on {wins[0]}, worse on {wins[1]}, equal on {pair.ties}"
            score = Score(pair.difference, signature, pair.n, pair.low, pair.high, note=note)
        rows.append(_row(column.label, score, f"{names[1]} − {names[0]}"))
    return rows


def _comparison_headline(found: Mapping[str, Comparison]) -> dict[str, Any]:
    from proctor.metrics.hypothesis_tests import holm

    corrected = holm([pair.p for pair in found.values()])
    return {
        name: {
            "a": pair.a,
            "b": pair.b,
            "n": pair.n,
            "mean_a": pair.mean_a,
            "mean_b": pair.mean_b,
            "difference": pair.difference,
            "low": pair.low,
            "high": pair.high,
            "p": pair.p,
            "p_holm": p,
            "higher_b": pair.wins,
            "higher_a": pair.losses,
            "equal": pair.ties,
            "detectable": pair.detectable,
            "method": pair.method,
            "note": pair.note,
        }
        for (name, pair), p in zip(found.items(), corrected, strict=True)
    }


# -- counts, notes, pictures -----------------------------------------------------------------------------------


def _counts(systems: Sequence[_System], items: Sequence[Item]) -> dict[str, int]:
    found = {"items": len(items)}
    for system in systems:
        suffix = f" ({system.name})" if len(systems) > 1 else ""
        found[f"scored{suffix}"] = len(system.items)
        found[f"failed{suffix}"] = len(system.failed)
        found |= {f"{name}{suffix}": n for name, n in system.counts.items() if n}
    repeated = sum(item.repeated for item in items)
    if repeated:
        found["repeated references dropped"] = repeated
    return found


def _notes(systems: Sequence[_System], chance: Sequence[ScoreRow], options: _Options) -> list[str]:
    notes = []
    for system in systems:
        if system.failed:
            total = len(system.items) + len(system.failed)
            notes.append(
                f"{len(system.failed)} of {total} items have no prediction ({system.name}): they are counted as "
                "failed, and the scores stand on the others"
            )
    main = systems[0]
    if main.best is not None:
        notes.append("Dist is the sum over the steps of a sequence; Acc, PMR and valid are in per cent")
    simulated = {row.score.signature.parameters["chance"] for row in chance} - {"exact"}
    if simulated:
        notes.append(f"chance is {simulated.pop()} items with seed {options.seed}")
    if main.partial is not None and len(main.constrained) < len(main.items):
        without = len(main.items) - len(main.constrained)
        notes.append(f"{without} items have no constraints: the scores of partial orders leave them out")
    return notes


def _figures(
    systems: Sequence[_System], rows: Sequence[ScoreRow], chance: Sequence[ScoreRow]
) -> tuple[Figure, ...]:
    if systems[0].best is None:
        return ()
    guessed = {row.score.signature.name: row.score for row in chance}
    lines = [
        (_plotted_label(row, system.name if len(systems) > 1 else ""), row.score)
        for name in _PLOTTED
        for system in systems
        for row in rows
        if row.score.signature.name == name and row.slice == system.name and not row.chance
    ]
    # All six on one scale: percentages become shares, lengths and distances are divided by their largest value.
    plot = IntervalPlot(
        title="Predicted orders: shares of the possible",
        labels=tuple(label for label, _ in lines),
        values=tuple(_share(score, score.value) for _, score in lines),
        low=tuple(_share(score, score.low) for _, score in lines),
        high=tuple(_share(score, score.high) for _, score in lines),
        chance=tuple(
            _share(guessed[score.signature.name], guessed[score.signature.name].value) for _, score in lines
        ),
        scale=(
            min([0.0, *(_share(s, s.low if s.low is not None else s.value) or 0.0 for _, s in lines)]),
            1.0,
        ),
    )
    matrices = (matrix for system in systems if (matrix := _matrix(system, len(systems) > 1)))
    return (plot, *matrices)


def _plotted_label(row: ScoreRow, system: str) -> str:
    better = " (lower is better)" if row.score.signature.name == "normalised_displacement" else ""
    return f"{row.metric}{better}" + (f" ({system})" if system else "")


def _share(score: Score, value: float | None) -> float | None:
    if value is None:
        return None
    return value / 100.0 if score.signature.parameters.get("unit") == "percent" else value


def _matrix(system: _System, several: bool) -> Matrix | None:
    """True against predicted positions, of sequences that are short, or all of one length."""
    lengths = {len(order) for order in system.orders}
    longest = max(lengths)
    if longest > (_LONGEST_MATRIX if len(lengths) > 1 else _LARGEST_MATRIX):
        return None
    assert system.best is not None
    chosen: Iterable[int] = (
        [0] * len(system.items) if system.best.chosen is None else system.best.chosen.tolist()
    )
    cells = np.zeros((longest, longest))
    for item, order, at in zip(system.items, system.orders, chosen, strict=True):
        right = {step: t for t, step in enumerate(item.references[at])}
        for t, step in enumerate(order):
            cells[right[step], t] += 1
    places = tuple(str(t + 1) for t in range(longest))
    return Matrix(
        title="Right and predicted positions" + (f" ({system.name})" if several else ""),
        rows=places,
        columns=places,
        cells=tuple(tuple(row) for row in cells.tolist()),
        row_title="right position",
        column_title="predicted position",
    )

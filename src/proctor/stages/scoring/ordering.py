"""``proctor metrics ordering``: predicted orders from files against references, constraints and another system."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.metrics.errors import MetricInputError
from proctor.metrics.figure import Figure, Matrix
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
from proctor.stages.scoring.options import OrderingSettings
from proctor.stages.scoring.ordering_files import (
    Item,
    Prediction,
    read_constraints,
    read_items,
    read_predictions,
)
from proctor.stages.scoring.tables import as_percent, defined, interval_plot

__all__ = ["System", "build_partial_orders", "measured", "read_system", "score_ordering"]


# One file of predicted orders: read against the items, made whole where that is asked for, and measured.


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


_DIGITS: Final = {"Acc": 2, "PMR": 2, "Acc micro": 2, "valid": 2, "Lq": 2, "Lr": 2, "Dist": 2, "violated": 2}

_PERCENT: Final = frozenset(column.label for column in (*ORDER_COLUMNS, *PARTIAL_COLUMNS) if column.percent)


def _clusters(options: OrderingSettings, items: Sequence[Item]) -> list[str] | None:
    """Return the cluster of each item, None if every item is drawn alone."""
    return None if options.cluster is None else [item.labels[options.cluster] for item in items]


def _parameters(options: OrderingSettings, *, full: bool) -> dict[str, str]:
    found: dict[str, str] = {"mode": options.mode}
    if full:
        found["references"] = options.references
    if options.cluster is not None:
        found["cluster"] = options.cluster.replace("|", "/")
    return found


# -- rows ------------------------------------------------------------------------------------------------------


def system_rows(system: System, options: OrderingSettings, slices: Sequence[str]) -> list[ScoreRow]:
    """Return the scores of all items, then those of each value of each slice column (failed items count there too)."""
    rows = _rows_of(system, options, system.name, None)
    for column in slices:
        for value in sorted({item.labels[column] for item in (*system.items, *system.failed)}):
            rows += _rows_of(system, options, f"{column}={value}", (column, value))
    return rows


def _rows_of(
    system: System, options: OrderingSettings, name: str, part: tuple[str, str] | None
) -> list[ScoreRow]:
    """All scores of the items that a slice (column and value) holds; of all items without one."""

    def inside(item: Item) -> bool:
        return part is None or item.labels[part[0]] == part[1]

    keep = np.array([inside(item) for item in system.items], dtype=np.bool_)
    items = [item for item, kept in zip(system.items, keep, strict=True) if kept]
    rows: list[ScoreRow] = []
    if system.best is not None:
        scores = score_orders(
            system.best.best.take(keep),
            clusters=_clusters(options, items),
            failed=sum(map(inside, system.failed)),
            parameters=_parameters(options, full=True),
            **options.resampling,
        )
        rows += [_row(column.label, scores[column.name], name) for column in ORDER_COLUMNS]
    if system.tau_a and part is None:
        rows.append(_row("tau-a", _tau_a(system, options), name))
    if system.partial is not None:
        partial = score_partial_orders(
            _taken(system.partial, keep[list(system.constrained)]),
            clusters=_clusters(options, [system.items[i] for i in system.constrained if keep[i]]),
            failed=sum(map(inside, system.constrained_failed)),
            parameters=_parameters(options, full=False),
            **options.resampling,
        )
        rows += [_row(column.label, partial[column.name], name) for column in PARTIAL_COLUMNS]
    return rows


def _row(label: str, score: Score, name: str, *, chance: bool = False) -> ScoreRow:
    return ScoreRow(label, score, name, chance, _DIGITS.get(label, 3), label in _PERCENT)


def _taken(measures: PartialMeasures, rows: NDArray[np.bool_]) -> PartialMeasures:
    return PartialMeasures(
        measures.valid[rows],
        measures.constraints[rows],
        measures.violated[rows],
        measures.relations[rows],
        measures.kept[rows],
        measures.predicted[rows],
    )


def _tau_a(system: System, options: OrderingSettings) -> Score:
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


def reference_rows(system: System, options: OrderingSettings) -> list[ScoreRow]:
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
                clusters=_clusters(options, items),
                failed=failed[name],
                parameters=_parameters(msgspec.structs.replace(options, references=rule), full=True),
                **options.resampling,
            )
            shown = name if name == "one reference" else f"{name}: {label}"
            rows += [_row(c.label, scores[c.name], shown) for c in ORDER_COLUMNS]
    return rows


def reference_headline(system: System) -> dict[str, object]:
    """Return the published table of several references, in printed units, and how many references there are."""
    assert system.best is not None
    counts = reference_counts(system.best.references)
    return {
        "subsets": {
            subset.name: {
                "n": subset.n,
                "single": _in_printed_units(subset.single),
                "multi": _in_printed_units(subset.multi),
                "benefiting_percent": as_percent(subset.benefiting),
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
    percent = {column.name for column in ORDER_COLUMNS if column.percent}
    return {name: as_percent(value) if name in percent else value for name, value in means.items()}


def violations_headline(system: System, orders: Mapping[str, PartialOrder]) -> dict[str, object]:
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


def chance_rows(
    system: System, orders: Mapping[str, PartialOrder], options: OrderingSettings
) -> list[ScoreRow]:
    """Return what random orders get on the items that the system was scored on, under the same rule."""
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
            value = float(values.sum() / weights.sum())
            score = Score(value, Signature(column.name, signature), len(system.items))
            rows.append(_row(column.label, score, "chance", chance=True))
    if system.partial is not None:
        rows += _partial_chance([orders[system.items[i].id] for i in system.constrained])
    return rows


def _partial_chance(orders: Sequence[PartialOrder]) -> list[ScoreRow]:
    known: dict[int, dict[str, float | None]] = {}
    for order in orders:
        if id(order) not in known:
            known[id(order)] = chance_of_partial_order(order)
    rows = []
    for column in PARTIAL_COLUMNS:
        values = [value for order in orders if (value := known[id(order)][column.name]) is not None]
        signature = Signature(column.name, {"chance": "exact", "order": "uniform"})
        skipped = len(orders) - len(values)
        if values:
            uncounted = skipped and column.name == "valid_order"
            note = f"{skipped} items have too many valid orders to count" if uncounted else ""
            score = Score(sum(values) / len(values), signature, len(values), skipped=skipped, note=note)
        else:
            why = "too many valid orders to count" if column.name == "valid_order" else column.undefined
            score = Score(float("nan"), signature, 0, skipped=skipped, note=why)
        rows.append(_row(column.label, score, "chance", chance=True))
    return rows


# -- two systems -----------------------------------------------------------------------------------------------


def compared(systems: Sequence[System], options: OrderingSettings) -> dict[str, Comparison]:
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
        clusters=_clusters(options, shared),
        names=(first.name, second.name),
        **options.resampling,
    )


def comparison_rows(
    found: Mapping[str, Comparison], names: Sequence[str], options: OrderingSettings
) -> list[ScoreRow]:
    """Return a row for each difference; p and the counts of better and worse items are in its note."""
    rows = []
    for column in ORDER_COLUMNS:
        if column.name not in found:
            continue
        pair = found[column.name]
        parameters = _parameters(options, full=True) | {"paired": pair.method.replace("|", ",")}
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


def comparison_headline(found: Mapping[str, Comparison]) -> dict[str, object]:
    """Return all of each comparison in printed units, with p corrected over the measures (Holm)."""
    from proctor.metrics.hypothesis_tests import holm

    corrected = holm([pair.p for pair in found.values()])
    percent = {column.name for column in ORDER_COLUMNS if column.percent}

    def printed(name: str, value: float | None) -> float | None:
        return as_percent(value) if name in percent else value

    return {
        name: {
            "a": pair.a,
            "b": pair.b,
            "n": pair.n,
            "mean_a": printed(name, pair.mean_a),
            "mean_b": printed(name, pair.mean_b),
            "difference": printed(name, pair.difference),
            "low": printed(name, pair.low),
            "high": printed(name, pair.high),
            "p": pair.p,
            "p_holm": p,
            "higher_b": pair.wins,
            "higher_a": pair.losses,
            "equal": pair.ties,
            "detectable": printed(name, pair.detectable),
            "method": pair.method,
            "note": pair.note,
        }
        for (name, pair), p in zip(found.items(), corrected, strict=True)
    }


_LONGEST_MATRIX: Final = 12

_LARGEST_MATRIX: Final = 40

_PLOTTED: Final = (
    "position_accuracy",
    "perfect_match_ratio",
    "normalised_subsequence",
    "normalised_substring",
    "kendall_tau",
    "normalised_displacement",
)


def draw_figures(
    systems: Sequence[System], rows: Sequence[ScoreRow], chance: Sequence[ScoreRow]
) -> tuple[Figure, ...]:
    """Return an interval plot with chance and a matrix of positions for each system; nothing without full orders.

    Args:
        systems: measured prediction files.
        rows: all rows of the table.
        chance: the rows of chance.
    """
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
    # All six on one scale: lengths and distances are divided by their largest value.
    plot = interval_plot(
        "Predicted orders: shares of the possible",
        lines,
        chance=[defined(guessed[score.signature.name].value) for _, score in lines],
        scale=(min([0.0, *(s.low if s.low is not None else defined(s.value) or 0.0 for _, s in lines)]), 1.0),
    )
    matrices = (matrix for system in systems if (matrix := _matrix(system, len(systems) > 1)))
    return (plot, *matrices)


def _plotted_label(row: ScoreRow, system: str) -> str:
    better = " (lower is better)" if row.score.signature.name == "normalised_displacement" else ""
    return f"{row.metric}{better}" + (f" ({system})" if system else "")


def _matrix(system: System, several: bool) -> Matrix | None:
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


def score_ordering(settings: OrderingSettings) -> ScoreTable:
    """Score predicted orders.

    Raises:
        UserError: if a file or an option is wrong, or in strict mode a prediction is not whole.
    """
    options, pred, compare, slices = settings, settings.pred, settings.compare, settings.slices
    labels = [*slices, *([settings.cluster] if settings.cluster is not None else [])]
    items = read_items(settings.gt, tuple(dict.fromkeys(labels)))
    if settings.constraints is not None:
        items = read_constraints(settings.constraints, items)
    orders = build_partial_orders(items, from_references=settings.constraints_from_references)
    names = _names(pred, compare)
    systems = [
        measured(read_system(name, path, items, options), orders, options)
        for name, path in zip(names, [pred] if compare is None else [pred, compare], strict=True)
    ]
    main = systems[0]
    rows: list[ScoreRow] = []
    for system in systems:
        rows += system_rows(system, options, slices if system is main else ())
    headline: dict[str, object] = {
        row.score.signature.name: row.shown.value for row in rows if row.slice == names[0]
    }
    chance = chance_rows(main, orders, options)
    rows += chance
    headline["chance"] = {row.score.signature.name: row.shown.value for row in chance}
    notes = _notes(systems, chance, options)
    if main.best is not None and settings.references != "first" and (main.best.references > 1).any():
        rows += reference_rows(main, options)
        headline["references"] = reference_headline(main)
    if main.partial is not None:
        headline["violations"] = violations_headline(main, orders)
    if compare is not None:
        found = compared(systems, options)
        rows += comparison_rows(found, names, options)
        headline["comparison"] = comparison_headline(found)
        if found:
            notes.append(f"a difference is {names[1]} minus {names[0]}, on the items that both predicted")
    return ScoreTable(
        family="ordering",
        rows=tuple(rows),
        headline=headline,
        counts=_counts(systems, items),
        notes=tuple(notes),
        figures=draw_figures(systems, rows, chance),
    )


def _names(pred: Path, compare: Path | None) -> list[str]:
    """Names of the lines: the files' names where there are two, as short as they differ."""
    if compare is None:
        return ["all"]
    short = [path.name.split(".")[0] for path in (pred, compare)]
    if short[0] != short[1]:
        return short
    full = [str(path) for path in (pred, compare)]
    return full if full[0] != full[1] else [f"{full[0]} (1)", f"{full[1]} (2)"]


# -- counts, notes, pictures -----------------------------------------------------------------------------------


def _counts(systems: Sequence[System], items: Sequence[Item]) -> dict[str, int]:
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


def _notes(systems: Sequence[System], chance: Sequence[ScoreRow], options: OrderingSettings) -> list[str]:
    notes = []
    for system in systems:
        if system.failed:
            total = len(system.items) + len(system.failed)
            notes.append(
                f"{len(system.failed)} of {total} items have no prediction ({system.name}): they are counted as "
                "failed, and the scores are of the others"
            )
    main = systems[0]
    if main.best is not None:
        notes.append("Dist is the sum over the steps of a sequence")
    simulated = {row.score.signature.parameters["chance"] for row in chance} - {"exact"}
    if simulated:
        notes.append(f"chance is {simulated.pop()} items with seed {options.seed}")
    if main.partial is not None and len(main.constrained) < len(main.items):
        without = len(main.items) - len(main.constrained)
        notes.append(f"{without} items have no constraints: the scores of partial orders leave them out")
    return notes

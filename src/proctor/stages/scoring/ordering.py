"""``proctor score ordering``: predicted orders from files against references, constraints and another system."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from proctor.errors import UserError
from proctor.metrics.interval import require_confidence
from proctor.metrics.ordering import ReferenceMode
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.stages.scoring.ordering_figures import draw_figures
from proctor.stages.scoring.ordering_files import Item, read_constraints, read_items
from proctor.stages.scoring.ordering_rows import (
    chance_rows,
    compared,
    comparison_headline,
    comparison_rows,
    reference_headline,
    reference_rows,
    system_rows,
    violations_headline,
)
from proctor.stages.scoring.ordering_system import (
    Mode,
    Options,
    System,
    build_partial_orders,
    measured,
    read_system,
)

__all__ = ["Mode", "score_ordering"]


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
    items = read_items(gt, tuple(dict.fromkeys([*slices, *([cluster] if cluster is not None else [])])))
    if constraints is not None:
        items = read_constraints(constraints, items)
    orders = build_partial_orders(items, from_references=constraints_from_references)
    names = _names(pred, compare)
    systems = [
        measured(read_system(name, path, items, options), orders, options)
        for name, path in zip(names, [pred] if compare is None else [pred, compare], strict=True)
    ]
    main = systems[0]
    rows: list[ScoreRow] = []
    for system in systems:
        rows += system_rows(system, options, slices if system is main else ())
    headline: dict[str, Any] = {
        row.score.signature.name: row.shown.value for row in rows if row.slice == names[0]
    }
    chance = chance_rows(main, orders, options)
    rows += chance
    headline["chance"] = {row.score.signature.name: row.shown.value for row in chance}
    notes = _notes(systems, chance, options)
    if main.best is not None and references != "first" and (main.best.references > 1).any():
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


def _options(
    mode: Mode, references: ReferenceMode, cluster: str | None, confidence: float, resamples: int, seed: int
) -> Options:
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
    return Options(mode, references, cluster, confidence, resamples, seed)


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


def _notes(systems: Sequence[System], chance: Sequence[ScoreRow], options: Options) -> list[str]:
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
        notes.append("Dist is the sum over the steps of a sequence")
    simulated = {row.score.signature.parameters["chance"] for row in chance} - {"exact"}
    if simulated:
        notes.append(f"chance is {simulated.pop()} items with seed {options.seed}")
    if main.partial is not None and len(main.constrained) < len(main.items):
        without = len(main.items) - len(main.constrained)
        notes.append(f"{without} items have no constraints: the scores of partial orders leave them out")
    return notes

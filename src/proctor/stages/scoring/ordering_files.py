"""Files of right and predicted orders: items with their references, presented order and constraints.

Step ids are compared as texts, so that 3 in one file is "3" in the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import msgspec

from proctor.errors import UserError
from proctor.metrics.ordering import distinct_references, ranks_to_order, require_order, require_reordering
from proctor.stages.scoring.files import Table, explained, read_table

__all__ = ["Item", "Prediction", "read_constraints", "read_items", "read_predictions"]


Steps = tuple[str, ...]

Pairs = tuple[tuple[str, str], ...]

_SEMANTICS: Final = ("order", "ranks")


@dataclass(frozen=True, slots=True)
class Item:
    """One sequence to be ordered.

    Attributes:
        id: its name.
        place: where it stands in its file, for messages.
        references: acceptable orders, the authored one first, without repetitions; empty if only constraints are known.
        repeated: references dropped because they were repetitions.
        presented: the steps as the model saw them; None when not known.
        constraints: pairs (before, after); None when not given.
        labels: values of the columns that were asked for as slices or clusters.
    """

    id: str
    place: str
    references: tuple[Steps, ...]
    repeated: int = 0
    presented: Steps | None = None
    constraints: Pairs | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def steps(self) -> Steps:
        """Its steps, in the authored order where one is known."""
        return self.references[0] if self.references else self.presented or ()


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a model said about one item.

    Attributes:
        place: where it stands in its file, for messages.
        order: predicted order, None when it gave scores or nothing.
        scores: score of each step (smaller is earlier), or scores in presented order; None when it gave an order.
    """

    place: str
    order: Steps | None = None
    scores: dict[str, float] | tuple[float, ...] | None = None

    @property
    def empty(self) -> bool:
        """True if the model gave neither."""
        return self.order is None and self.scores is None


def read_items(path: Path, labels: Sequence[str] = ()) -> list[Item]:
    """Read the reference file, sorted by id.

    Args:
        path: a table with ``id`` and ``order``, ``references`` or ``presented`` and constraints.
        labels: further columns to keep.

    Raises:
        UserError: if a row is wrong, an id is repeated, or some items have an order and others none.
    """
    table = read_table(path, required=["id"])
    if table.find("order", "references", "constraints", "presented") is None:
        table.require("order", "references")
    items = _unique([_item(table, row, item) for row, item in enumerate(table.names("id"))])
    marks = {name: table.texts(name) for name in labels}
    items = [
        replace(item, labels={name: values[row] for name, values in marks.items()})
        for row, item in enumerate(items)
    ]
    for item in items:
        with explained(item.place):
            _require_same_steps(item)
    without = [item for item in items if not item.references]
    if without and len(without) < len(items):
        raise UserError(
            f"item {without[0].id!r} has no order, but {len(items) - len(without)} other items have one.",
            where=without[0].place,
            hint="give every item an 'order' or 'references', or none (then only constraints are scored)",
        )
    for item in without:
        if not item.presented:
            raise UserError(
                f"item {item.id!r} has neither an order nor the presented steps.",
                where=item.place,
                hint="give 'order' (a list of step ids), 'references' (a list of such lists), or 'presented'",
            )
    return sorted(items, key=lambda item: item.id)


def _require_same_steps(item: Item) -> None:
    where = f"item {item.id!r}"
    if item.steps:
        require_order(item.steps, what="reference" if item.references else "presented order", where=where)
    for order in item.references[1:]:
        require_reordering(item.steps, order, what="other reference", where=where)
    if item.references and item.presented is not None:
        require_reordering(item.steps, item.presented, what="presented order", where=where)


def _unique(items: list[Item]) -> list[Item]:
    seen: dict[str, str] = {}
    for item in items:
        if item.id in seen:
            raise UserError(
                f"the id {item.id!r} occurs again (first in {seen[item.id]}).",
                where=item.place,
                hint="an item has one line; put several acceptable orders into 'references'",
            )
        seen[item.id] = item.place
    return items


def _item(table: Table, row: int, name: str) -> Item:
    ranks = _semantics(table, row) == "ranks"
    orders = []
    if (value := _cell(table, row, "order")) is not None:
        orders.append(_order(table, row, "order", value, ranks=ranks))
    if (value := _cell(table, row, "references")) is not None:
        orders += [
            _order(table, row, "references", order, ranks=ranks)
            for order in _listed(table, row, "references", value)
        ]
    presented = _cell(table, row, "presented")
    constraints = _cell(table, row, "constraints")
    distinct = distinct_references(orders)
    return Item(
        id=name,
        place=table.place(row),
        references=tuple(tuple(map(str, order)) for order in distinct),
        repeated=len(orders) - len(distinct),
        presented=None if presented is None else _ids(table, row, "presented", presented),
        constraints=None if constraints is None else _pairs(table, row, constraints),
    )


def _semantics(table: Table, row: int) -> str:
    value = _cell(table, row, "semantics")
    if value is not None and value not in _SEMANTICS:
        raise table.wrong(
            row,
            "semantics",
            f"'order' or 'ranks' was expected, got {value!r}.",
            "order[t] is the step done at time t; ranks[i] is the time at which step i is done",
        )
    return value or "order"


def _cell(table: Table, row: int, column: str) -> Any:
    """Return a value, None where there is none; texts of CSV that are JSON are read."""
    if column not in table:
        return None
    value = table.columns[column][row]
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text[:1] in ("[", "{"):
        try:
            return msgspec.json.decode(text)
        except msgspec.DecodeError:
            raise table.wrong(row, column, f"{text[:60]!r} is not valid JSON.") from None
    return text or None


def _listed(table: Table, row: int, column: str, value: Any) -> list[Any]:
    if isinstance(value, str):
        return [part.strip() for part in value.split("|")]
    if not isinstance(value, list):
        raise table.wrong(row, column, f"a list was expected, got {value!r:.60}.")
    return value


def _ids(table: Table, row: int, column: str, value: Any) -> Steps:
    return tuple(_id(table, row, column, step) for step in _listed(table, row, column, value))


def _id(table: Table, row: int, column: str, step: Any) -> str:
    if isinstance(step, str):
        return step
    if isinstance(step, float) and step.is_integer():
        return str(int(step))
    if isinstance(step, int | float) and not isinstance(step, bool):
        return str(step)
    raise table.wrong(row, column, f"a step id is a text or a number, got {step!r:.60}.")


def _order(table: Table, row: int, column: str, value: Any, *, ranks: bool) -> Steps:
    steps = _ids(table, row, column, value)
    if not ranks:
        return steps
    if not all(step.isdecimal() for step in steps):
        raise table.wrong(row, column, f"ranks are whole numbers from 0, got {list(steps)!r:.60}.")
    with explained(table.place(row, column)):
        return tuple(str(step) for step in ranks_to_order([int(step) for step in steps]))


def _pairs(table: Table, row: int, value: Any) -> Pairs:
    pairs = []
    for pair in _listed(table, row, "constraints", value):
        if not isinstance(pair, list) or len(pair) != 2:
            raise table.wrong(
                row,
                "constraints",
                f"pairs [before, after] were expected, got {pair!r:.60}.",
                "write [[1, 2], [1, 3]]",
            )
        before, after = (_id(table, row, "constraints", step) for step in pair)
        pairs.append((before, after))
    return tuple(pairs)


def read_constraints(path: Path, items: Sequence[Item]) -> list[Item]:
    """Return the items with the constraints of a file.

    Args:
        path: a table with ``id`` and either ``constraints`` (a list of [before, after]) or the columns ``before``
            and ``after``, one line a constraint.
        items: from ``read_items``; constraints that they already have are replaced where the file has the item.

    Raises:
        UserError: if a row is wrong or names an unknown item.
    """
    table = read_table(path, required=["id"])
    known = {item.id for item in items}
    found: dict[str, list[tuple[str, str]]] = {}
    listed = "constraints" in table
    if not listed:
        table.require("before", "constraints")
        table.require("after")
    for row, name in enumerate(table.names("id")):
        if name not in known:
            raise table.wrong(
                row, "id", f"the item {name!r} is not in the reference file.", "remove it, or add the item"
            )
        pairs = found.setdefault(name, [])
        if listed:
            pairs += _pairs(table, row, _cell(table, row, "constraints") or [])
        else:
            before, after = (_cell(table, row, column) for column in ("before", "after"))
            if before is None or after is None:
                raise table.wrong(row, "before" if before is None else "after", "the step is missing.")
            pairs.append((_id(table, row, "before", before), _id(table, row, "after", after)))
    return [replace(item, constraints=tuple(found[item.id])) if item.id in found else item for item in items]


def read_predictions(path: Path) -> dict[str, Prediction]:
    """Read predicted orders by item id.

    Args:
        path: a table with ``id`` and ``order`` (a list of step ids) or ``scores`` (an object from step id to number,
            or a list of numbers in presented order; smaller is earlier). A row without either is a failed one.

    Raises:
        UserError: if a row is wrong or an id is repeated.
    """
    table = read_table(path, required=["id"])
    table.require("order", "scores")
    again = "the item {!r} is predicted again (first in {})."
    names = table.unique(
        "id", twice=lambda name, first: (again.format(name, table.place(first)), "keep one prediction")
    )
    return {name: _prediction(table, row) for row, name in enumerate(names)}


def _prediction(table: Table, row: int) -> Prediction:
    order, scores = _cell(table, row, "order"), _cell(table, row, "scores")
    if order is not None and scores is not None:
        raise table.wrong(row, "scores", "there is an order as well.", "give one of 'order' and 'scores'")
    if order is not None:
        ranks = _semantics(table, row) == "ranks"
        return Prediction(table.place(row), _order(table, row, "order", order, ranks=ranks))
    if scores is None:
        return Prediction(table.place(row))
    if isinstance(scores, dict):
        return Prediction(
            table.place(row), scores={name: _number(table, row, value) for name, value in scores.items()}
        )
    values = _listed(table, row, "scores", scores)
    return Prediction(table.place(row), scores=tuple(_number(table, row, value) for value in values))


def _number(table: Table, row: int, value: Any) -> float:
    try:
        if isinstance(value, bool):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise table.wrong(row, "scores", f"a number was expected, got {value!r:.60}.") from None

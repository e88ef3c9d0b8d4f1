"""Files of annotators: who said what about which unit, and in which cluster and slices a unit is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final, Generic, Literal, TypeVar

from proctor.errors import UserError
from proctor.metrics.agreement import Label
from proctor.metrics.order_agreement import AlternativeInstance, Order, order_of_ranks
from proctor.metrics.segment_agreement import TimedStep
from proctor.stages.scoring.files import Table, explained
from proctor.stages.scoring.options import AgreementSettings

__all__ = [
    "Alternatives",
    "Judged",
    "Segments",
    "Semantics",
    "read_alternatives",
    "read_labels",
    "read_orders",
    "read_segments",
]


T = TypeVar("T")

Semantics = Literal["order", "ranks"]

_UNIT: Final = ("unit", "item", "item_id", "instance", "id")

_ANNOTATOR: Final = ("annotator", "annotator_id", "worker_id", "rater", "coder")

_LABEL: Final = ("label", "value", "rating")

_LOOKS_MISSING: Final = frozenset({"nan", "na", "n/a", "#n/a", "null", "<na>", "-", "--", "?", "."})

_CLUSTER: Final = ("cluster", "recording", "recording_id")

_RECORDING: Final = ("recording", "recording_id", "video-id", "video_id", "unit")

_STEP: Final = ("step", "step_id", "label")

_START: Final = ("start", "start_time", "t-start")

_END: Final = ("end", "end_time", "t-end")


@dataclass(frozen=True, slots=True)
class Judged(Generic[T]):
    """What annotators said about units.

    Attributes:
        said: unit to annotator to what it said.
        cluster_of: unit to cluster, None when units are drawn alone.
        cluster_name: what is drawn together, for signatures.
        slices: name of a slice (``type=next``) to its units; ``all`` first.
        missing: rows without a label.
        doubtful: sentences about labels that look like none, or like another label.
        values: labels in their order, None to sort them.
    """

    said: Mapping[str, Mapping[str, T]]
    cluster_of: Mapping[str, str] | None
    cluster_name: str
    slices: Mapping[str, frozenset[str]]
    missing: int = 0
    values: tuple[str, ...] | None = None
    doubtful: tuple[str, ...] = ()

    @property
    def annotators(self) -> list[str]:
        """Names of all annotators, sorted."""
        return sorted({who for by in self.said.values() for who in by})

    def pairs(self) -> Iterator[tuple[str, str, dict[str, Mapping[str, T]]]]:
        """Every two annotators with the units that both judged."""
        for a, b in combinations(self.annotators, 2):
            both: dict[str, Mapping[str, T]] = {
                u: {a: by[a], b: by[b]} for u, by in self.said.items() if a in by and b in by
            }
            if both:
                yield a, b, both

    def within(self, units: frozenset[str]) -> dict[str, Mapping[str, T]]:
        """What was said about some units only."""
        return {u: by for u, by in self.said.items() if u in units}

    def counts(self, rows: int) -> dict[str, int]:
        """Numbers to print below the table."""
        return {
            "rows": rows,
            "units": len(self.said),
            "annotators": len(self.annotators),
            "units with two or more": sum(len(by) > 1 for by in self.said.values()),
        }


def judged_units(
    table: Table,
    values: Sequence[T],
    cluster: str | None,
    slices: Sequence[str],
    *,
    missing: int = 0,
    order: tuple[str, ...] | None = None,
) -> Judged[T]:
    """Gather one value a row by unit and annotator.

    Raises:
        UserError: if an annotator judged a unit twice, or a unit has two clusters or two values of a slice.
    """
    units, annotators = table.names(*_UNIT), table.names(*_ANNOTATOR)
    said: dict[str, dict[str, T]] = {}
    for row, (unit, who, value) in enumerate(zip(units, annotators, values, strict=True)):
        if who in said.setdefault(unit, {}):
            raise table.wrong(
                row, table.require(*_ANNOTATOR), f"annotator {who!r} judged unit {unit!r} twice.",
                "keep one of the rows; a later judgement does not replace an earlier one by itself",
            )  # fmt: skip
        said[unit][who] = value
    column = cluster if cluster is not None else table.find(*_CLUSTER)
    cluster_of = None if column is None else _of_units(table, units, column)
    return Judged(said, cluster_of, column or "unit", _sliced(table, units, slices), missing, order)


def _of_units(table: Table, units: Sequence[str], column: str) -> dict[str, str]:
    """One value of a column for each unit."""
    return table.one_each(
        column,
        units,
        table.texts(column),
        lambda unit, here, before: (
            f"unit {unit!r} has {here!r} here and {before!r} further up.",
            "one unit belongs to one; repair the column",
        ),
    )


def _sliced(table: Table, units: Sequence[str], columns: Sequence[str]) -> dict[str, frozenset[str]]:
    slices = {"all": frozenset(units)}
    for column in columns:
        value_of = _of_units(table, units, column)
        for value in sorted(set(value_of.values())):
            slices[f"{column}={value}"] = frozenset(u for u, v in value_of.items() if v == value)
    return slices


def read_labels(table: Table, settings: AgreementSettings) -> Judged[Label]:
    """Read one label a row; rows without a label, or with one that stands for none, are counted."""
    level, order = (
        settings.level,
        tuple(label.strip() for label in settings.order.split(",") if settings.order),
    )
    column = table.require(*_LABEL)
    none = {"", *settings.missing}
    given = [row for row, v in enumerate(table.columns[column]) if v is not None and str(v) not in none]
    if not given:
        raise UserError("there is no label in the whole file.", where=f"{table.path}, column {column!r}")
    kept = table.at(given)
    if order and level in ("interval", "ratio"):
        raise UserError(
            f"--order does not go with the {level} level.",
            hint="numbers have their order; use --level ordinal",
        )
    texts = kept.texts(column)
    labels: list[Label] = list(texts)
    if order:
        for row, text in enumerate(texts):
            if text not in order:
                raise kept.wrong(row, column, f"the label {text!r} is not in --order {','.join(order)}.")
    elif level != "nominal":
        try:
            labels = list(map(float, texts))
        except ValueError:
            hint = (
                "give --order LOW,…,HIGH"
                if level == "ordinal"
                else "use --level nominal, or ordinal with --order"
            )
            raise UserError(
                f"the {level} level needs numbers, got {next(t for t in texts if not _is_number(t))!r}.",
                where=f"{table.path}, column {column!r}",
                hint=hint,
            ) from None
        labels = kept.numbers(column).tolist()
    judged = judged_units(
        kept, labels, settings.cluster, settings.slices, missing=len(table) - len(kept), order=order or None
    )
    return replace(judged, doubtful=tuple(_doubtful_labels(texts)))


def _doubtful_labels(texts: Sequence[str]) -> Iterator[str]:
    """Name labels that look like a missing value, and labels that differ in letter case or space only."""
    known = set(texts)
    for label in sorted(text for text in known if text.strip().casefold() in _LOOKS_MISSING):
        yield (
            f"The label {label!r} ({texts.count(label):,} rows) looks like a missing value, and counts as a label of "
            f"its own; --missing {label} leaves it out."
        )
    alike: dict[str, list[str]] = defaultdict(list)
    for label in sorted(known):
        alike[label.strip().casefold()].append(label)
    for labels in alike.values():
        if len(labels) > 1:
            yield (
                f"The labels {', '.join(map(repr, labels))} differ in letter case or space only, and count as "
                "different ones; write them alike."
            )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _as_order(table: Table, row: int, column: str, value: object, semantics: Semantics) -> Order:
    """Return a list of step ids as texts; ranks are turned over into an order of the steps 0 to N-1."""
    if isinstance(value, str):
        if "," in value or ";" in value:
            raise table.wrong(
                row,
                column,
                f"a list of steps was expected, got {value[:60]!r}.",
                "separate steps by spaces or |",
            )
        value = value.split()
    if not isinstance(value, list) or not value:
        raise table.wrong(row, column, f"a list of steps was expected, got {str(value)[:60]!r}.")
    for step in value:
        if isinstance(step, bool) or not isinstance(step, str | int) or step == "":
            raise table.wrong(row, column, f"a step is a text or a whole number, got {step!r}.")
    if semantics == "order":
        return tuple(map(str, value))
    try:
        ranks = [int(rank) for rank in value]
    except ValueError:
        raise table.wrong(
            row, column, f"ranks are whole numbers, got {value}.", "use --semantics order"
        ) from None
    with explained(table.place(row, column)):
        return order_of_ranks(ranks, [str(step) for step in range(len(ranks))])


def _order_cells(table: Table, column: str) -> list[list[Any]]:
    """Return a column of lists of steps; in a text cell without bars the steps stand between spaces."""
    cells = table.id_lists(column, spaces=True)
    for row, raw in enumerate(table.columns[column]):
        if isinstance(raw, str) and "|" not in raw and not raw.lstrip().startswith("["):
            cells[row] = raw.split()
    return cells


def read_orders(
    table: Table, semantics: Semantics, cluster: str | None, slices: Sequence[str]
) -> Judged[Order]:
    """Read one order of steps a row."""
    column = table.require("order", "steps")
    orders = [
        _as_order(table, row, column, v, semantics) for row, v in enumerate(_order_cells(table, column))
    ]
    return judged_units(table, orders, cluster, slices)


@dataclass(frozen=True, slots=True)
class Alternatives:
    """Series of alternative orders, and the authored order of each unit."""

    judged: Judged[Sequence[Order]]
    gold: Mapping[str, Order]

    def instances(self, said: Mapping[str, Mapping[str, Sequence[Order]]]) -> dict[str, AlternativeInstance]:
        """Put series beside the authored order of their unit."""
        return {unit: AlternativeInstance(self.gold[unit], by) for unit, by in said.items()}


def read_alternatives(
    table: Table, semantics: Semantics, cluster: str | None, slices: Sequence[str]
) -> Alternatives:
    """Read a list of orders a row, and the authored order of its unit."""
    column = table.require("orders", "alternatives")
    series = [
        [_as_order(table, row, column, order, semantics) for order in value]
        for row, value in enumerate(table.lists(column))
    ]
    golds = [_as_order(table, row, "gold", v, semantics) for row, v in enumerate(_order_cells(table, "gold"))]
    of_unit = table.one_each(
        "gold",
        table.names(*_UNIT),
        golds,
        lambda unit, _, before: (
            f"unit {unit!r} has another authored order further up ({' '.join(map(str, before))}).",
            "all rows of a unit name the same one",
        ),
    )
    return Alternatives(judged_units(table, series, cluster, slices), of_unit)


@dataclass(frozen=True, slots=True)
class Segments:
    """Recording to annotator to the steps that this one marked in time; slices of recordings; rows read."""

    said: Mapping[str, Mapping[str, Sequence[TimedStep]]]
    slices: Mapping[str, frozenset[str]]
    rows: int


def read_segments(table: Table, slices: Sequence[str]) -> Segments:
    """Read one segment a row."""
    recordings, annotators = table.names(*_RECORDING), table.names(*_ANNOTATOR)
    steps, starts, ends = table.names(*_STEP), table.numbers(*_START).tolist(), table.numbers(*_END).tolist()
    said: dict[str, dict[str, list[TimedStep]]] = defaultdict(lambda: defaultdict(list))
    seen: set[tuple[str, str, TimedStep]] = set()
    for row, (recording, who) in enumerate(zip(recordings, annotators, strict=True)):
        segment = (steps[row], starts[row], ends[row])
        if segment[2] <= segment[1]:
            raise table.wrong(
                row, table.require(*_END), f"the segment ends at {segment[2]:g} s, not after its start at {segment[1]:g} s.",
                "repair or remove the row",
            )  # fmt: skip
        if (recording, who, segment) in seen:
            raise table.wrong(
                row, table.require(*_STEP),
                f"annotator {who!r} marked step {segment[0]!r} of {recording!r} at these times twice.", "remove one row",
            )  # fmt: skip
        seen.add((recording, who, segment))
        said[recording][who].append(segment)
    return Segments(said, _sliced(table, recordings, slices), len(table))

"""What people answered when they put steps in order, from a file: checked, worker ids hashed, careless assignments set apart.

An export of Label Studio (``.json``) is read, too; see ``order_exchange``. Else a line is an answer: ``{"item_id", "worker_id", "modality", "submitted_order", "phase", …}``, steps counted from 0 in the authored
order. In the phase ``alternative`` people saw the authored order and name another right one, a line each; null says that there is
none. Source: Wu et al. 2022; docs/sequencing.md.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, Literal, cast

import msgspec

from proctor.datasets.sequence_files import MODALITY_NAMES
from proctor.metrics.ordering import measure_order, settle_alike
from proctor.procedure.manual import Modality, Order, Sequence
from proctor.records import Dropped, iter_jsonl

__all__ = ["HELPED", "Answer", "Censored", "OrderRecord", "People", "Spelled", "read_people", "settled"]

HELPED: Final = ("both", "text", "image", "neither")
_CARELESS: Final = 0.2
"""Accuracy that chance reaches with five steps."""

Spelled = Literal["both", "multimodal", "text", "image"]
"""What was shown; the first two are the same."""


class OrderRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the file; ``presented`` is the step that each slot showed, and ``modality`` what was shown."""

    item_id: str
    worker_id: str
    modality: Spelled
    submitted_order: list[int] | None
    presented: list[int] | None = None
    confidence: Annotated[int, msgspec.Meta(ge=1, le=5)] | None = None
    helped: Literal["both", "text", "image", "neither"] | None = None
    seconds: Annotated[float, msgspec.Meta(ge=0)] | None = None
    phase: Literal["qualification", "main", "alternative"] = "main"
    assignment_id: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """An order that a person gave, equal steps in authored order; ``worker`` is a hash."""

    item: Sequence
    worker: str
    modality: Modality
    order: Order
    record: OrderRecord


class Censored(msgspec.Struct, frozen=True):
    """An assignment below what chance reaches: its accuracy (0 to 1), who did it, and the items to be asked about again."""

    assignment: str
    worker: str
    accuracy: float
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class People:
    """What the file holds: answers that count, and assignments whose answers do not; the file keeps them.

    ``series`` is item and modality to person (a hash) to the other orders that this one accepts. Lines that were left out are
    ``unknown-item``, ``no-permutation``, ``all-alike`` (of what was shown) or ``answered-twice``.
    """

    main: tuple[Answer, ...] = ()
    series: Mapping[tuple[str, Modality], Mapping[str, list[Order]]] = field(default_factory=dict)
    censored: tuple[Censored, ...] = ()
    dropped: tuple[Dropped, ...] = ()


def settled(sequence: Sequence, modality: Modality, order: Order) -> Order:
    """Return an order with steps that look the same where the authored one has them: nobody can tell them apart."""
    alike: dict[Hashable, Hashable] = dict(enumerate(sequence.alike(modality)))
    return cast("Order", settle_alike(order, sequence.authored, alike))


def read_people(path: Path, sequences: Mapping[str, Sequence]) -> People:
    """Read the answers to some sequences.

    Raises:
        UserError: if a line cannot be read; with its number.
    """
    main: dict[tuple[str, str, Modality], Answer] = {}
    series: dict[tuple[str, Modality], dict[str, list[Order]]] = defaultdict(dict)
    dropped: list[Dropped] = []
    records: Iterable[OrderRecord] = iter_jsonl(path, OrderRecord)
    if path.suffix == ".json":
        from proctor.stages.order_exchange import read_label_studio_orders  # it knows this module's record

        records = read_label_studio_orders(path, sequences, dropped)
    for number, record in enumerate(records, 1):
        worker = hashlib.sha256(record.worker_id.encode()).hexdigest()[:12]
        modality = MODALITY_NAMES[record.modality]
        key, is_other = (record.item_id, worker, modality), record.phase == "alternative"
        item, order = sequences.get(record.item_id), record.submitted_order
        given = [o for o in (order, record.presented) if o is not None]
        if item is None:
            dropped.append(Dropped(record.item_id[:200], "unknown-item", f"record {number}"))
        elif (order is None and not is_other) or any(sorted(o) != list(item.authored) for o in given):
            dropped.append(Dropped(item.id, "no-permutation", f"record {number}"))
        elif not any(item.alike(modality)):
            dropped.append(Dropped(item.id, "all-alike", f"record {number}"))
        elif is_other:
            series[item.id, modality].setdefault(worker, []).extend([] if order is None else [tuple(order)])
        elif record.phase == "main" and key in main:
            dropped.append(Dropped(item.id, "answered-twice", f"record {number}"))
        elif record.phase == "main":
            main[key] = Answer(item, worker, modality, settled(item, modality, tuple(order or ())), record)
    assignments: dict[tuple[str, str], list[Answer]] = defaultdict(list)
    for a in main.values():
        assignments[a.record.assignment_id, a.worker].append(a)
    kept, censored = list[Answer](), list[Censored]()
    for (name, worker), own in sorted(assignments.items()):
        right = [float(measure_order(a.item.authored, a.order).position_accuracy[0]) for a in own]
        if (accuracy := sum(right) / len(right)) < _CARELESS:
            censored.append(Censored(name, worker, accuracy, tuple(sorted({a.item.id for a in own}))))
        else:
            kept += own
    return People(tuple(kept), series, tuple(censored), tuple(dropped))

"""How good an order is: the published measures against the best of the right orders, and what must come before what.

An order is held against every gold; one of them is chosen for all measures (``metrics.ordering.best_of_references``, joint). Where a
gold has a task graph, every order that keeps it is right as it stands, and the others are held against the listed orders. Steps that
look just the same stand in the order of the gold (``settle_alike``). A reply in which no step is named gets the worst there is.
Source: Wu et al. 2022, Section 4; graphs and look-alikes: ours.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import permutations
from math import fsum, isnan
from typing import Final, NamedTuple, TypeAlias

from proctor.errors import UserError
from proctor.exam.choice import CREDIT
from proctor.exam.kinds.order_reply import OrderRead, read_order
from proctor.exam.prediction import Prediction
from proctor.exam.question import Item, Order, Ordering, Picture, Words
from proctor.exam.table import Computed, Measure
from proctor.metrics.ordering.measures import MEASURES, OrderMeasures
from proctor.metrics.ordering.orders import settle_alike
from proctor.metrics.ordering.partial import PartialOrder, best_of_references, measure_partial_order
from proctor.metrics.ordering.scores import PARTIAL_COLUMNS, chance_of_partial_order, chance_of_references
from proctor.metrics.score import Signature

__all__ = ["Right", "chance_of", "order_measures", "right_orders", "slot_texts"]

_PARSER: Final = "orders-1"
"""Version of ``order_reply.read_order``, for signatures."""
_EVERY_ORDER: Final = 6
_DRAWS: Final = 1_000
Slots: TypeAlias = tuple[int, ...]


class _Kind(NamedTuple):
    """How a measure is shown, its worst and best of N steps, and what it is held against."""

    ends: Callable[[int], tuple[float, float]]
    raw: bool = False
    references: str = "joint"


_KINDS: Final[Mapping[str, _Kind]] = {
    "position_accuracy": _Kind(lambda _: (0.0, 1.0)),
    "perfect_match_ratio": _Kind(lambda _: (0.0, 1.0)),
    "longest_common_subsequence": _Kind(lambda n: (0.0, float(n)), raw=True),
    "longest_common_substring": _Kind(lambda n: (0.0, float(n)), raw=True),
    "kendall_tau": _Kind(lambda _: (-1.0, 1.0), raw=True),
    "displacement": _Kind(lambda n: (float(n * n // 2), 0.0), raw=True),
    "valid_order": _Kind(lambda _: (0.0, 1.0), references="graph"),
    "violated_share": _Kind(lambda _: (1.0, 0.0), raw=True, references="graph"),
    "comparable_tau": _Kind(lambda _: (-1.0, 1.0), raw=True, references="graph"),
}
"""The first one is what systems are compared by. Whole orders are hardly ever right on long manuals, so that their share tells nobody
apart there; the share of right places does, and it is what the best of several orders is chosen by first."""


@dataclass(frozen=True)
class Right:
    """What is right, over the slots 0..N-1: orders, the authored one first, and pairs (before, after) where there is a task graph.

    ``alike`` is of each slot the first one that looks just the same.
    """

    orders: tuple[Slots, ...]
    before: tuple[tuple[int, int], ...] | None
    alike: Slots

    @cached_property
    def graph(self) -> PartialOrder | None:
        """What must come before what."""
        return None if self.before is None else PartialOrder(sorted(self.orders[0]), self.before)

    @cached_property
    def listed(self) -> tuple[Slots, ...]:
        """The right orders, settled, each once."""
        return tuple(dict.fromkeys(map(self.settled, self.orders)))

    @property
    def several(self) -> bool:
        """Whether there are several right orders, listed or by the graph."""
        return len(self.listed if self.graph is None else self.graph.linear_extensions(2)) > 1

    def settled(self, order: Slots) -> Slots:
        """Return an order whose steps that look just the same stand as in the authored order."""
        made = settle_alike(order, self.orders[0], dict(enumerate(self.alike)))
        return tuple(slot for slot in made if isinstance(slot, int))

    def canonical(self) -> Right:
        """Return the same with the steps numbered in the authored order: guessing gets the same on all that are the same then."""
        time = {slot: t for t, slot in enumerate(self.orders[0])}
        first: dict[int, int] = {}
        alike = tuple(first.setdefault(self.alike[slot], t) for t, slot in enumerate(self.orders[0]))
        before = None if self.before is None else tuple(sorted((time[a], time[b]) for a, b in self.before))
        return Right(tuple(tuple(time[slot] for slot in order) for order in self.orders), before, alike)


def slot_texts(item: Item) -> list[str]:
    """Return the texts of the steps as presented, empty where one has none."""
    ids = item.question.form.ids if isinstance(item.question.form, Order) else ()
    texts = {part.id: part.text for part in reversed(item.question.evidence) if isinstance(part, Words)}
    return [texts.get(id_, "") for id_ in ids]


def right_orders(item: Item) -> Right:
    """Return what counts as right.

    Raises:
        UserError: if the item is not answered by an order, or has no gold that is one.
    """
    form, golds = item.question.form, [g.value for g in item.golds if isinstance(g.value, Ordering)]
    if not isinstance(form, Order) or not golds:
        raise UserError("the question has no right order.", where=item.id)
    slot = {id_: n for n, id_ in enumerate(form.ids)}
    graphs = [gold.before for gold in golds if gold.before is not None]
    before = tuple((slot[a], slot[b]) for a, b in graphs[0]) if graphs else None
    parts = [part for part in item.question.evidence if isinstance(part, Words | Picture)]
    looks = [(p.id, type(p), p.text if isinstance(p, Words) else p.sha256 or p.path) for p in parts]
    shown = [[look for part, *look in looks if part == id_] for id_ in form.ids]
    orders = dict.fromkeys(tuple(slot[id_] for id_ in gold.ids) for gold in golds)
    return Right(tuple(orders), before, tuple(map(shown.index, shown)))


def _measured(rights: Sequence[Right], orders: Iterable[Slots]) -> list[dict[str, float]]:
    """Return the numbers of each order by measure; what says nothing of it is left out."""
    kept = [right.settled(order) for right, order in zip(rights, orders, strict=True)]
    references: list[tuple[Slots, ...]] = []
    graphs: list[dict[str, float]] = []
    for right, order in zip(rights, kept, strict=True):
        found: dict[str, float] = {}
        if right.graph is not None:
            made = measure_partial_order(right.graph, order)
            found = {column.name: float(column.values(made)[0]) for column in PARTIAL_COLUMNS}
        references.append((*right.listed, order) if found.get("valid_order") else right.listed)
        graphs.append({name: x for name, x in found.items() if not isnan(x)})
    best = best_of_references(references, kept).best
    return [_row(best, n) | found for n, found in enumerate(graphs)]


def _row(measures: OrderMeasures, n: int) -> dict[str, float]:
    return dict(zip(MEASURES, measures.values[n].tolist(), strict=True))


@cache
def chance_of(right: Right) -> Mapping[str, float]:
    """Return what an order that is drawn evenly gets on average: exactly, or from ``_DRAWS`` orders where that is out of reach."""
    steps = len(right.alike)
    told_apart = len(set(right.alike)) == steps
    if right.before is None and told_apart:
        return _row(chance_of_references([right.orders]).measures, 0)
    orders = list(permutations(range(steps))) if steps <= _EVERY_ORDER else []
    if not orders:
        rng = random.Random(steps)  # noqa: S311 - not a secret
        orders = [tuple(rng.sample(range(steps), steps)) for _ in range(_DRAWS)]
    rows = _measured([right] * len(orders), orders)
    means = {name: fsum(row[name] for row in rows) / len(rows) for name in rows[0]}
    if right.graph is not None and told_apart:
        exact = chance_of_partial_order(right.graph)
        exact["perfect_match_ratio"] = exact["valid_order"]
        means |= {name: x for name, x in exact.items() if name in means and x is not None}
    return means


def order_measures(items: Sequence[Item], predictions: Sequence[Prediction]) -> Computed:
    """Measure the answers of one run; a floor that draws gets what it would on average.

    What counts is the answer, which is read again; what details of a prediction say of it is for people.

    Raises:
        UserError: if an item has no right order.
    """
    rights = {item.id: right_orders(item) for item in items}
    texts = {item.id: slot_texts(item) for item in items}
    chances = {id_: chance_of(right.canonical()) for id_, right in rights.items()}
    answered = {p.item_id: p for p in predictions if p.answer is not None}
    read = {id_: read_order(p.answer or "", texts[id_]) for id_, p in answered.items()}
    orders = {id_: one.order for id_, one in read.items() if one.order is not None}
    numbers: dict[str, Mapping[str, float]] = dict(
        zip(orders, _measured([rights[id_] for id_ in orders], orders.values()), strict=True)
    )
    numbers |= {id_: chances[id_] for id_, p in answered.items() if CREDIT in p.details}
    unread = frozenset(read.keys() - orders.keys())
    measures = []
    for name, kind in _KINDS.items():
        ends = {id_: kind.ends(len(right.alike)) for id_, right in rights.items() if name in chances[id_]}
        marks = {
            p.item_id: ends[p.item_id][0] if p.item_id in unread else numbers.get(p.item_id, {}).get(name)
            for p in predictions
            if p.item_id in ends
        }
        basis = {"references": kind.references, "mode": "repair", "parser": _PARSER, "unparsed": "worst"}
        measure = Measure(
            name=name,
            signature=Signature(name, basis),
            marks=marks,
            unparsed=unread,
            chances={id_: chances[id_][name] for id_ in ends},
            about=frozenset(ends),
            ends=ends,
            raw=kind.raw,
        )
        measures += [measure] if ends else []
    return Computed(measures, *_told(list(read.values())))


def _told(read: Sequence[OrderRead]) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return what became of the replies: counts, and what to say beside the numbers."""
    why = Counter(f"unparsed: {one.rule}" for one in read if one.repaired is None)
    made = [one.repaired for one in read if one.repaired is not None]
    sorts = {name: sum(bool(getattr(r, name)) for r in made) for name in ("unknown", "repeated", "missing")}
    repaired, lost = sum(r.repaired for r in made), why.total()
    counts = {"read": len(made), "repaired": repaired, "unparsed": lost, **dict(sorted(why.items()))}
    counts |= {f"repaired: {name}": n for name, n in sorts.items() if n}
    parts = [f"{repaired:,} of {len(made):,} orders were not whole and were repaired"] if repaired else []
    parts += [f"{lost:,} of {len(read):,} replies give no order and count as wrong"] if lost else []
    return counts, tuple(parts)

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
from math import isnan
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from proctor.errors import UserError
from proctor.exam.choice import CREDIT
from proctor.exam.kinds.order_reply import OrderRead, read_order
from proctor.exam.prediction import Prediction
from proctor.exam.question import Item, Order, Ordering, Picture, Words
from proctor.exam.table import Computed, Measure
from proctor.metrics.ordering.measures import MEASURES, OrderMeasures, measure_orders
from proctor.metrics.ordering.orders import settle_alike
from proctor.metrics.ordering.partial import PartialOrder, choose_references, measure_partial_order
from proctor.metrics.ordering.scores import chance_of_partial_order, chance_of_references
from proctor.metrics.score import Signature

__all__ = ["PARSER", "Right", "chance_of", "order_measures", "read_answer", "right_orders", "slot_texts"]

PARSER: Final = "orders-1"
"""Version of ``order_reply.read_order``, for signatures."""
_EVERY_ORDER: Final = 6
_DRAWS: Final = 1_000
Slots: TypeAlias = tuple[int, ...]


class _Kind(NamedTuple):
    """A measure: how it is measured and shown, and its worst and best of N steps."""

    name: str
    references: str
    ends: Callable[[int], tuple[float, float]]
    raw: bool = False


_ENDS: Final[Mapping[str, Callable[[int], tuple[float, float]]]] = {
    "position_accuracy": lambda _: (0.0, 1.0),
    "perfect_match_ratio": lambda _: (0.0, 1.0),
    "longest_common_subsequence": lambda n: (0.0, float(n)),
    "longest_common_substring": lambda n: (0.0, float(n)),
    "kendall_tau": lambda _: (-1.0, 1.0),
    "displacement": lambda n: (float(n * n // 2), 0.0),
}
_SHARES: Final = ("position_accuracy", "perfect_match_ratio")
_KINDS: Final = (
    *(_Kind(name, "joint", _ENDS[name], name not in _SHARES) for name in MEASURES),
    *(_Kind(f"authored_{name}", "first", _ENDS[name]) for name in _SHARES),
    _Kind("valid_order", "graph", lambda _: (0.0, 1.0)),
    _Kind("violated_share", "graph", lambda _: (1.0, 0.0), raw=True),
    _Kind("comparable_tau", "graph", lambda _: (-1.0, 1.0), raw=True),
)
"""The first one is what systems are compared by. Whole orders are hardly ever right on long manuals, so that their share tells nobody
apart there; the share of right places does, and it is what the best of several orders is chosen by first."""


@dataclass(frozen=True)
class Right:
    """What is right, over the slots 0..N-1.

    Attributes:
        orders: that are listed, the authored one first.
        before: pairs of slots of a task graph; None where there is none.
        alike: of each slot the first one that looks just the same.
    """

    orders: tuple[Slots, ...]
    before: tuple[tuple[int, int], ...] | None
    alike: Slots

    @cached_property
    def graph(self) -> PartialOrder | None:
        """What must come before what."""
        return None if self.before is None else PartialOrder(sorted(self.orders[0]), self.before)

    @property
    def steps(self) -> int:
        """Their number N."""
        return len(self.alike)

    def settled(self, order: Slots, reference: Slots | None = None) -> Slots:
        """Return an order whose steps that look just the same stand as in a reference, the authored order unless given."""
        if len(set(self.alike)) == len(order):
            return order
        made = settle_alike(order, reference or self.orders[0], dict(enumerate(self.alike)))
        return tuple(slot for slot in made if isinstance(slot, int))

    def has(self, references: str) -> bool:
        """Whether measures against such references say anything of it: every one, several orders, or a graph."""
        if references == "first":
            return len(self.orders) > 1
        return references == "joint" or self.before is not None

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
    shown: list[list[tuple[str, str]]] = [[] for _ in form.ids]
    for part in item.question.evidence:
        if isinstance(part, Words | Picture) and part.id in slot:
            kind, what = (
                ("words", part.text) if isinstance(part, Words) else ("picture", part.sha256 or part.path)
            )
            shown[slot[part.id]].append((kind, what))
    orders = dict.fromkeys(tuple(slot[id_] for id_ in gold.ids) for gold in golds)
    return Right(tuple(orders), before, tuple(map(shown.index, shown)))


def read_answer(item: Item, prediction: Prediction) -> OrderRead:
    """Read the order of an answer again: what counts is the answer, what its details say of it is for people."""
    return read_order(prediction.answer or "", slot_texts(item))


# -- numbers of orders ---------------------------------------------------------------------------------------------


def _measured(pairs: Sequence[tuple[Right, Slots]]) -> list[dict[str, float]]:
    """Return the numbers of each order by measure; what says nothing of it is left out."""
    references: list[Slots] = []
    settled: list[Slots] = []
    counts: list[int] = []
    graphs: list[dict[str, float]] = []
    for right, order in pairs:
        kept = right.settled(order)
        found: dict[str, float] = {}
        if right.graph is not None:
            made = measure_partial_order(right.graph, kept)
            found = {"valid_order": float(made.valid[0]), "violated_share": float(made.violated_share[0])}
            found["comparable_tau"] = float(made.comparable_tau[0])
        listed = [*right.orders, *([kept] if found.get("valid_order") else [])]
        references += listed
        settled += [right.settled(order, reference) for reference in listed]
        counts.append(len(listed))
        graphs.append(found)
    best = choose_references(measure_orders(references, settled), np.array(counts, dtype=np.int64), "joint")
    rows: list[dict[str, float]] = []
    for n, ((right, _), found) in enumerate(zip(pairs, graphs, strict=True)):
        rows.append({**_row(best.best, n), **{name: x for name, x in found.items() if not isnan(x)}})
        if right.has("first"):
            rows[-1] |= {f"authored_{name}": x for name, x in _row(best.first, n).items() if name in _SHARES}
    return rows


def _row(measures: OrderMeasures, n: int) -> dict[str, float]:
    return dict(zip(MEASURES, measures.values[n].tolist(), strict=True))


@cache
def chance_of(right: Right) -> Mapping[str, float]:
    """Return what an order that is drawn evenly gets on average: exactly, or from ``_DRAWS`` orders where that is out of reach."""
    steps = right.steps
    if right.before is None and len(set(right.alike)) == steps:
        joint, first = (chance_of_references([right.orders], mode=m).measures for m in ("joint", "first"))
        authored = {f"authored_{name}": x for name, x in _row(first, 0).items() if name in _SHARES}
        return {**_row(joint, 0), **(authored if right.has("first") else {})}
    orders: Iterable[Slots] = permutations(range(steps))
    if steps > _EVERY_ORDER:
        rng = random.Random(steps)  # noqa: S311 - not a secret
        orders = [tuple(rng.sample(range(steps), steps)) for _ in range(_DRAWS)]
    rows = _measured([(right, order) for order in orders])
    means = {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}
    if right.graph is not None and len(set(right.alike)) == steps:
        made = chance_of_partial_order(right.graph)
        named = {**made, "valid_order": made["valid"], "perfect_match_ratio": made["valid"]}
        means |= {name: x for name, x in named.items() if name in means and x is not None}
    return means


# -- measures ------------------------------------------------------------------------------------------------------


def order_measures(items: Sequence[Item], predictions: Sequence[Prediction]) -> Computed:
    """Measure the answers of one run; a floor that draws gets what it would on average.

    Raises:
        UserError: if an item has no right order.
    """
    rights = {item.id: right_orders(item) for item in items}
    by_id = {item.id: item for item in items}
    chances = {id_: chance_of(right.canonical()) for id_, right in rights.items()}
    answered = {p.item_id: p for p in predictions if p.answer is not None}
    read = {id_: read_answer(by_id[id_], p) for id_, p in answered.items()}
    orders = {id_: one.order for id_, one in read.items() if one.order is not None}
    made = _measured([(rights[id_], order) for id_, order in orders.items()]) if orders else []
    numbers = dict(zip(orders, made, strict=True))
    numbers |= {id_: dict(chances[id_]) for id_, p in answered.items() if CREDIT in p.details}
    unread = frozenset(id_ for id_ in read if id_ not in orders)
    measures = [
        measure
        for kind in _KINDS
        if (
            measure := _measure(kind, rights, [p.item_id for p in predictions], numbers, unread, chances)
        ).about
    ]
    return Computed(measures, *_told(read.values()))


def _measure(
    kind: _Kind,
    rights: Mapping[str, Right],
    asked: Sequence[str],
    numbers: Mapping[str, Mapping[str, float]],
    unread: frozenset[str],
    chances: Mapping[str, Mapping[str, float]],
) -> Measure:
    about = [id_ for id_, right in rights.items() if right.has(kind.references) and kind.name in chances[id_]]
    ends = {id_: kind.ends(rights[id_].steps) for id_ in about}
    marks = {
        id_: ends[id_][0] if id_ in unread else numbers.get(id_, {}).get(kind.name)
        for id_ in asked
        if id_ in ends
    }
    basis = {"references": kind.references, "mode": "repair", "parser": PARSER, "unparsed": "worst"}
    return Measure(
        name=kind.name,
        signature=Signature(kind.name.removeprefix("authored_"), basis),
        marks=marks,
        unparsed=unread,
        chances={id_: chances[id_][kind.name] for id_ in about},
        about=frozenset(about),
        ends=ends,
        raw=kind.raw,
    )


def _told(read: Iterable[OrderRead]) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return what became of the replies: counts, and what to say beside the numbers."""
    replies = list(read)
    why = Counter(one.rule for one in replies if one.repaired is None)
    made = [one.repaired for one in replies if one.repaired is not None]
    sorts = {name: sum(bool(getattr(r, name)) for r in made) for name in ("unknown", "repeated", "missing")}
    repaired = sum(r.repaired for r in made)
    counts = {
        "read": len(made),
        "repaired": repaired,
        **{f"repaired: {name}": n for name, n in sorts.items() if n},
        "unparsed": why.total(),
        **{f"unparsed: {rule}": n for rule, n in sorted(why.items())},
    }
    parts = [f"{repaired:,} of {len(made):,} orders were not whole and were repaired"] if repaired else []
    parts += [f"{why.total():,} of {len(replies):,} replies give no order and count as wrong"] if why else []
    return counts, tuple(parts)

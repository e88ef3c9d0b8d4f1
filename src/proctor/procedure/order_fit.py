"""Weights for the log odds of pairs, learnt from activities whose graphs are known.

**What is learnt from.** Of a known graph, every pair that can be changed alone is an example: an edge that holds given all
else, or a pair that could be ordered and is not. The weights make these examples likely (pseudo-likelihood, Besag 1975), by
logistic regression with a normal prior on every weight. Each activity is shown with all its performances, with few of them,
and with performances that are drawn from its graph, so that evidence weighs right at any number.

**Without texts** the graphs of the activities alone would teach the shape of recipes; random graphs with random orders are
added, so that any graph is found when there are performances enough.

Draws are seeded with the activity's id: the same activities give the same weights, in any order.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from proctor.procedure.graph import TaskGraph
from proctor.procedure.induce import Performance, observe_order
from proctor.procedure.order_evidence import STATED, OrderEvidence, carefulness
from proctor.procedure.order_text import StepTexts
from proctor.procedure.order_weights import SHAPE, OrderWeights, shape
from proctor.procedure.poset import Poset

__all__ = ["draw_order", "fit_weights"]

Floats = NDArray[np.float64]
_Features = Mapping[tuple[str, str], float]
_Seen = tuple[tuple[str, tuple[tuple[str, float, float], ...]], ...]

_EXPECTED: Final = {"gain": 0.3, "against": -2.5, "against_overlapping": -1.25}
"""Mean of the prior of a weight; 0 of the others. A performance that contradicts a needed pair is an error of about 8 %."""
_STRICTNESS: Final = 4.0
"""Precision of the prior, for a weight whose feature has a spread of 1."""
_WIDEST: Final = 2.0

_SLIP: Final = 0.01
_CARELESS: Final = 0.1
"""Shares of a known graph's edges that careful and careless performances break: the careless ones weigh less, as in ``infer``."""

_SUBSETS: Final = 3
_FEW: Final = (1, 2)
_DRAWN: Final = (2, 15, 40)
_OF_DRAWN: Final = 0.15
"""Weight of an example with drawn performances; those with the real ones weigh 1 together."""

_RANDOM: Final = 40
_OF_RANDOM: Final = 0.3
_SIZES: Final = (6, 8, 10, 15, 20, 30)
_COUNTS: Final = (1, 2, 3, 5, 8, 12, 20, 40, 80)


def fit_weights(activities: Sequence[tuple[Sequence[Performance], TaskGraph]]) -> OrderWeights:
    """Return the weights that make the graphs of activities likely, given their performances and texts.

    To judge the weights on an activity, leave it out. Takes a second for 24 activities the first time; what is learnt of
    each is kept.

    Args:
        activities: performances and graph of each, whose steps have texts; their order does not matter.

    Raises:
        ValueError: if there is no activity, none has a performance, or a performance has a step that its graph lacks.
    """
    if not activities:
        raise ValueError("there is no activity to learn from")
    for seen, graph in activities:
        unknown = {i for p in seen for i in p.spans} - {s.id for s in graph.actions}
        if unknown:
            raise ValueError(
                f"a performance has the step '{min(unknown)}', which the graph '{graph.name}' lacks"
            )
    ordered = sorted(activities, key=lambda a: a[1].id)
    lessons = [lesson for seen, graph in ordered for lesson in _lessons(_hashable(seen), graph)]
    if not lessons:
        raise ValueError("no activity has a performance to learn from")
    bare: list[_Lesson] = [
        ([{name: row[name] for name in _ORDER} for row in rows], truth, weight)
        for rows, truth, weight in lessons
    ]
    plain = _solve([*bare, *_random_lessons()], _ORDER)
    full = _solve(lessons, sorted({name for rows, _, _ in lessons for row in rows for name in row}))
    tables: dict[str, dict[str, float]] = {part: {} for part in ("order", "pair", "edge", "first", "last")}
    for (part, name), weight in full.items():
        tables[part][name] = weight
    return OrderWeights(**tables, plain={name: weight for (_, name), weight in plain.items()})


# -- examples ----------------------------------------------------------------------------------------------------

_ORDER: Final = [("order", name) for name in (*STATED, *SHAPE)]
_Lesson = tuple[list[_Features], list[bool], float]
"""Features of pairs, whether each is ordered, and the weight of an example."""


def _hashable(performances: Iterable[Performance]) -> _Seen:
    """Return performances as tuples, in an order that does not depend on the given one."""
    return tuple(
        sorted((p.id, tuple((i, *span) for i, span in sorted(p.spans.items()))) for p in performances)
    )


@lru_cache(maxsize=256)
def _lessons(seen: _Seen, graph: TaskGraph) -> tuple[_Lesson, ...]:
    """Return the examples of one activity, without what no performance shows."""
    performances = [Performance(id_, {i: (a, b) for i, a, b in spans}) for id_, spans in seen if spans]
    if not performances:
        return ()
    rng = random.Random(f"order weights:{graph.id}")  # noqa: S311 - not a secret
    counts = [len(performances), *(rng.randint(2, max(2, len(performances))) for _ in range(_SUBSETS)), *_FEW]
    sets = [rng.sample(performances, min(count, len(performances))) for count in counts]
    ids = sorted(s.id for s in graph.actions)
    order = _order_of(graph, ids)
    found = [(*_examples(order, s, ids, graph), 1 / len(sets)) for s in sets]
    for count in _DRAWN:
        drawn = [observe_order(str(k), [ids[i] for i in draw_order(order, rng)]) for k in range(count)]
        found.append((*_examples(order, drawn, ids, graph), _OF_DRAWN))
    return tuple(found)


def _order_of(graph: TaskGraph, ids: Sequence[str]) -> Poset:
    number = {step_id: i for i, step_id in enumerate(ids)}
    pairs = [(i, number[b]) for i, a in enumerate(ids) for b in graph.descendants(a) if b in number]
    return Poset.of(len(ids), pairs)


def _examples(
    order: Poset, performances: Sequence[Performance], ids: Sequence[str], graph: TaskGraph | None = None
) -> tuple[list[_Features], list[bool]]:
    """Return features and truth of every pair that can be changed; with texts where a graph gives them."""
    trust = carefulness(order, ids, performances, _SLIP, _CARELESS)
    evidence = OrderEvidence(ids, performances, trust)
    texts = StepTexts([graph[i].text for i in ids], evidence.places) if graph else None
    rows, truth = [], []
    for a in range(order.size):
        for b in range(order.size):
            if a != b and order.can_change(a, b):
                rows.append(_features(order, evidence, texts, a, b))
                truth.append(order.has(a, b))
    return rows, truth


def _features(order: Poset, evidence: OrderEvidence, texts: StepTexts | None, a: int, b: int) -> _Features:
    around = order.around(a, b)
    values = (*evidence.stated(a, b), *shape(evidence.agreeing[a][b], around))
    found = dict(zip(_ORDER, values, strict=True))
    if texts is None:
        return found
    kinship = texts.kinship(a, b)
    found |= {("pair", name): value for name, value in kinship.items()}
    first, second = texts.kinds[a], texts.kinds[b]
    found |= {("pair", name): 1.0 for name in (f"{first}>", f">{second}", f"{first}>{second}")}
    found |= {("edge", name): value for name, value in kinship.items()}
    spared = [(x, b) for x in around.spared_before] + [(a, y) for y in around.spared_after]
    for edge in spared:
        for name, value in texts.kinship(*edge).items():
            found["edge", name] = found.get(("edge", name), 0.0) - value
    if around.opens:
        found["first", second] = 1.0
    if around.closes:
        found["last", first] = 1.0
    return found


# -- random graphs -----------------------------------------------------------------------------------------------


def draw_order(order: Poset, rng: random.Random) -> list[int]:
    """Draw an order of the steps that keeps a partial order, nearly uniformly.

    A random topological order is mixed by swaps of neighbours, four times the squared number of steps; as many lead close
    to the uniform distribution for graphs of up to some thirty steps (Bubley and Dyer 1999 bound what is enough for all).
    """
    drawn: list[int] = []
    done, left = 0, list(range(order.size))
    while left:
        step = rng.choice([i for i in left if not order.before[i] & ~done])
        drawn.append(step)
        left.remove(step)
        done |= 1 << step
    for _ in range(4 * order.size**2 if order.size > 1 else 0):
        k = rng.randrange(order.size - 1)
        a, b = drawn[k : k + 2]
        if rng.random() < 0.9 and not order.has(a, b):
            drawn[k], drawn[k + 1] = b, a
    return drawn


def _random_tree(size: int, rng: random.Random) -> Iterator[tuple[int, int]]:
    """Yield edges of a graph in which most steps wait for one or two of the last eight."""
    for b in range(1, size):
        count = rng.choice((0, 1, 1, 1, 2, 2, 3))
        yield from ((a, b) for a in rng.sample(range(max(0, b - 8), b), min(count, b, 8)))


def _random_layers(size: int, rng: random.Random) -> Iterator[tuple[int, int]]:
    """Yield edges from layer to layer of three steps, half of those possible."""
    for b in range(3, size):
        above = b // 3 * 3 - 3
        yield from ((a, b) for a in range(above, above + 3) if rng.random() < 0.5)


_MAKERS: Final[tuple[Callable[[int, random.Random], Iterator[tuple[int, int]]], ...]] = (
    _random_tree,
    # edges between any two steps, two a step on average
    lambda size, rng: ((a, b) for b in range(size) for a in range(b) if rng.random() < 2 / size),
    _random_layers,
)


@lru_cache(maxsize=1)
def _random_lessons() -> tuple[_Lesson, ...]:
    found = []
    for k in range(_RANDOM):
        rng = random.Random(f"random order:{k}")  # noqa: S311 - not a secret
        size, count = rng.choice(_SIZES), rng.choice(_COUNTS)
        order = Poset.of(size, _MAKERS[k % len(_MAKERS)](size, rng))
        ids = [f"{i:02d}" for i in range(size)]
        seen = [observe_order(str(n), [ids[i] for i in draw_order(order, rng)]) for n in range(count)]
        rows, truth = _examples(order, seen, ids)
        found.append((rows, truth, _OF_RANDOM * min(1.0, 30 / max(1, len(rows)))))
    return tuple(found)


# -- logistic regression -----------------------------------------------------------------------------------------


def _solve(lessons: Sequence[_Lesson], names: Sequence[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """Return the most likely weights under the prior, by Newton steps."""
    column = {name: k for k, name in enumerate(names)}
    rows = [row for found, _, _ in lessons for row in found]
    x = np.zeros((len(rows), len(names)))
    for values, row in zip(x, rows, strict=True):
        values[[column[name] for name in row]] = list(row.values())
    y = np.array([true for _, found, _ in lessons for true in found], np.float64)
    weight = np.concatenate([np.full(len(found), w) for found, _, w in lessons])
    expected = np.array([_EXPECTED.get(name, 0.0) if part == "order" else 0.0 for part, name in names])
    # what is measured in larger units may have a smaller weight; remarks of texts are all 0 or 1
    spread = np.minimum(x.std(axis=0), _WIDEST) ** 2 + 1e-4
    precision = _STRICTNESS * np.where([part == "order" for part, _ in names], spread, 1.0)
    return dict(zip(names, _newton(x, y, weight, expected, precision).tolist(), strict=True))


def _newton(x: Floats, y: Floats, weight: Floats, expected: Floats, precision: Floats) -> Floats:
    found = expected.copy()
    for _ in range(50):
        chance = 1 / (1 + np.exp(-np.clip(x @ found, -500, 500)))
        slope = x.T @ (weight * (chance - y)) + precision * (found - expected)
        bend = (x * (weight * chance * (1 - chance))[:, None]).T @ x + np.diag(precision)
        step = np.linalg.solve(bend, slope)
        found = found - step
        if np.abs(step).max() < 1e-9:
            break
    return found

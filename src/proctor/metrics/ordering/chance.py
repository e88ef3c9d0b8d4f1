"""What a uniformly random order gets: printed beside every result, computed for the lengths at hand.

Everything is exact except the longest common subsequence of more than 40 steps, which is simulated with a seed.

- Acc: 1/N. PMR: 1/N!. tau: 0. Dist: (N² - 1) / 3.
- Lq: by the correspondence of permutations with pairs of Young tableaux (Schensted 1961) the longest increasing
  subsequence is the first row of a shape that occurs with probability f² / N!, f from the hook lengths.
- Lr: a permutation is cut into maximal runs of consecutive steps; for m runs no longer than k there are as many
  permutations as compositions of N into m such parts, times permutations of m without a run of two.

Against several references, or under the independent rule, chance is higher: ``chance_of_references`` measures all
N! orders under the same rule up to six steps, and draws orders beyond.

Source: ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from math import factorial
from typing import Final

import numpy as np

from proctor.metrics.errors import MetricInputError
from proctor.metrics.ordering.measures import MEASURES, Floats, Integers, OrderMeasures
from proctor.metrics.ordering.partial import PartialOrder
from proctor.metrics.ordering.permutation import measure_arrays, measure_ranks
from proctor.metrics.ordering.references import ReferenceMode, choose_references
from proctor.metrics.ordering.single import Order

__all__ = [
    "Chance",
    "chance_measures",
    "chance_of_partial_order",
    "chance_of_references",
    "expected_measures",
]

EXACT_SUBSEQUENCE: Final = 40
"""Up to this many steps the expected Lq is summed over all shapes (37,338 of them for 40)."""
_ALL_ORDERS: Final = 6
_DRAWS: Final = 20_000
_ALL_DRAWS: Final = 2_000_000
"""Simulated orders over all items together, against several references."""
_FEWEST_DRAWS: Final = 100


@dataclass(frozen=True, slots=True)
class Chance:
    """Expected measures of random orders, one row an item.

    Attributes:
        measures: expected values; they are means, so perfect match and the lengths are no whole numbers.
        simulated: how many items' values come from seeded draws instead of an exact computation.
    """

    measures: OrderMeasures
    simulated: int

    @property
    def method(self) -> str:
        """``exact`` or how many items were simulated."""
        return "exact" if not self.simulated else f"simulated for {self.simulated} of {len(self.measures)}"


def expected_measures(steps: int, *, seed: int = 0) -> dict[str, float]:
    """Return the expected six measures of a uniformly random order of N steps.

    Args:
        steps: N, at least 1.
        seed: of the draws for Lq above 40 steps; nothing is drawn below.

    Raises:
        MetricInputError: if there are no steps.
    """
    if steps < 1:
        raise MetricInputError(f"an order of {steps} steps does not exist", "at least one step is needed")
    row = _expected(steps, seed if steps > EXACT_SUBSEQUENCE else 0)
    return dict(zip(MEASURES, row, strict=True))


@cache
def _expected(steps: int, seed: int) -> tuple[float, ...]:
    return (
        1 / steps,
        1 / factorial(steps) if steps <= 170 else 0.0,
        _expected_subsequence(steps, seed),
        _expected_substring(steps),
        1.0 if steps == 1 else 0.0,
        (steps * steps - 1) / 3,
    )


def chance_measures(lengths: Sequence[int] | Integers, *, seed: int = 0) -> Chance:
    """Return what random orders of these lengths get against one reference each.

    Raises:
        MetricInputError: if a length is below 1.
    """
    sizes = np.asarray(lengths, dtype=np.int64)
    found, index = np.unique(sizes, return_inverse=True)
    rows = [tuple(expected_measures(int(n), seed=seed).values()) for n in found]
    values = np.array(rows).reshape(-1, len(MEASURES))[index]
    return Chance(OrderMeasures(values, sizes), int((sizes > EXACT_SUBSEQUENCE).sum()))


def _expected_substring(steps: int) -> float:
    """Sum over k of the probability that the longest run is longer than k."""
    without = _without_successions(steps)
    total = factorial(steps)
    expected = 0.0
    for longest in range(steps):
        shorter = sum(ways * without[m] for m, ways in enumerate(_compositions(steps, longest)) if ways)
        chance = (total - shorter) / total
        expected += chance
        if chance < 1e-18:
            break
    return expected


def _without_successions(steps: int) -> list[int]:
    """Permutations of m in which no number is followed by the next one, for m = 0..steps."""
    counts = [1, 1]
    for m in range(2, steps + 1):
        counts.append((m - 1) * counts[m - 1] + (m - 2) * counts[m - 2])
    return counts


def _compositions(steps: int, largest: int) -> list[int]:
    """Ways to write N as a sum of m ordered parts of 1..largest, by m = 0..N."""
    ways = [[0] * (steps + 1) for _ in range(steps + 1)]
    ways[0][0] = 1
    for m in range(1, steps + 1):
        window = 0
        for n in range(1, steps + 1):
            window += ways[m - 1][n - 1]
            if n > largest:
                window -= ways[m - 1][n - 1 - largest]
            ways[m][n] = window
    return [row[steps] for row in ways] if largest else [0] * (steps + 1)


def _expected_subsequence(steps: int, seed: int) -> float:
    if steps > EXACT_SUBSEQUENCE:
        rng = np.random.default_rng([seed, steps])
        draws = max(_FEWEST_DRAWS, min(_DRAWS, _DRAWS * 64 // steps))
        ranks = rng.permuted(np.tile(np.arange(steps), (draws, 1)), axis=1)
        return float(measure_ranks(ranks).longest_common_subsequence.mean())
    total = factorial(steps)
    weighted = 0
    for shape in _shapes(steps, steps):
        weighted += (total // _hooks(shape)) ** 2 * shape[0]
    return weighted / total


def _shapes(total: int, largest: int) -> Iterator[tuple[int, ...]]:
    if not total:
        yield ()
        return
    for first in range(min(total, largest), 0, -1):
        for rest in _shapes(total - first, first):
            yield (first, *rest)


def _hooks(shape: tuple[int, ...]) -> int:
    columns = [sum(row > j for row in shape) for j in range(shape[0])]
    product = 1
    for i, row in enumerate(shape):
        for j in range(row):
            product *= row - j + columns[j] - i - 1
    return product


# -- several references ----------------------------------------------------------------------------------------


def chance_of_references(
    references: Sequence[Sequence[Order]], *, mode: ReferenceMode = "joint", seed: int = 0
) -> Chance:
    """Return what random orders get when the best of several references counts.

    Items with one reference, and the mode ``first``, are exact as in ``chance_measures``. With several references
    all N! orders are measured under the mode up to six steps; beyond, 100 to 20,000 orders a kind of item are drawn
    with the seed (fewer when there are many kinds).

    Args:
        references: for each item its orders of the same steps; the first is the authored one.
        mode: the rule, see ``best_of_references``.
        seed: of the draws.
    """
    kinds: dict[tuple[tuple[int, ...], ...], list[int]] = {}
    for item, orders in enumerate(references):
        used = orders[:1] if mode == "first" else orders
        place = {step: i for i, step in enumerate(used[0])}
        kinds.setdefault(tuple(tuple(place[step] for step in order) for order in used), []).append(item)
    lengths = np.array([len(orders[0]) for orders in references], dtype=np.int64)
    values = np.array(chance_measures(lengths, seed=seed).measures.values)
    hard = [kind for kind in sorted(kinds) if len(kind) > 1 and len(kind[0]) > _ALL_ORDERS]
    draws = max(_FEWEST_DRAWS, min(_DRAWS, _ALL_DRAWS // max(1, sum(map(len, hard)))))
    simulated = int((lengths > EXACT_SUBSEQUENCE).sum())
    for kind, items in kinds.items():
        if len(kind) == 1:
            continue
        if len(kind[0]) <= _ALL_ORDERS:
            orders_drawn = _every_order(len(kind[0]))
        else:
            rng = np.random.default_rng([seed, len(kind[0]), len(kind)])
            orders_drawn = rng.permuted(np.tile(np.arange(len(kind[0])), (draws, 1)), axis=1)
            simulated += len(items) if len(kind[0]) <= EXACT_SUBSEQUENCE else 0
        values[items] = _mean_of_best(kind, orders_drawn, mode)
    return Chance(OrderMeasures(values, lengths), simulated)


@cache
def _every_order(steps: int) -> Integers:
    return np.array(list(permutations(range(steps))), dtype=np.int64)


def _mean_of_best(kind: tuple[tuple[int, ...], ...], orders: Integers, mode: ReferenceMode) -> Floats:
    against = [measure_arrays(np.broadcast_to(reference, orders.shape), orders) for reference in kind]
    flat = np.stack([measures.values for measures in against], axis=1).reshape(-1, len(MEASURES))
    lengths = np.full(len(flat), orders.shape[1], dtype=np.int64)
    counts = np.full(len(orders), len(kind), dtype=np.int64)
    means: Floats = choose_references(OrderMeasures(flat, lengths), counts, mode).best.values.mean(axis=0)
    return means


# -- partial orders --------------------------------------------------------------------------------------------


def chance_of_partial_order(reference: PartialOrder) -> dict[str, float | None]:
    """Return what a uniformly random order gets against a partial order, exactly.

    Returns:
        ``valid`` (linear extensions over N!; None when they are too many to count), ``violated_share`` (1/2),
        ``violated`` (half the constraints), ``precedence_f1`` (``R / (C(N, 2) + R)`` with R pairs in the closure)
        and ``comparable_tau`` (0); None where the measure itself is undefined.
    """
    steps, given, related = len(reference.steps), len(reference.constraints), len(reference.relations)
    pairs = steps * (steps - 1) // 2
    try:
        valid: float | None = reference.count_linear_extensions() / factorial(steps)
    except MetricInputError:
        valid = None
    return {
        "valid": valid,
        "violated": given / 2,
        "violated_share": 0.5 if given else None,
        "precedence_f1": related / (pairs + related) if pairs else None,
        "comparable_tau": 0.0 if related else None,
    }

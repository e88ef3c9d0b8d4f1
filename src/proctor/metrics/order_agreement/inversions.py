"""One alternative order of each annotator, compared by the pairs of steps that they turn round."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import combinations

from proctor.metrics.order_agreement.orders import Order, Step, binary_kappa, pair_vector, require_same_steps

__all__ = [
    "Pair",
    "alternative_pair_kappa",
    "alternative_pair_score",
    "inverted_pairs",
    "score_of_inversions",
]

Pair = tuple[Step, Step]


def inverted_pairs(gold: Order, order: Order) -> frozenset[Pair]:
    """Return the pairs of steps, as in ``gold``, that ``order`` turns round.

    Raises:
        MetricInputError: if the two do not hold the same ids.
    """
    require_same_steps(gold, order)
    rank: dict[Hashable, int] = {step: i for i, step in enumerate(order)}
    return frozenset((x, y) for x, y in combinations(gold, 2) if rank[x] > rank[y])


def score_of_inversions(one: frozenset[Pair], two: frozenset[Pair]) -> float:
    """Score two sets of inverted pairs: 1 where both turn round the same."""
    both, first, second = len(one & two), len(one - two), len(two - one)
    if not first and not second:
        return 1.0
    return -2.0 * first * second / (first**2 + second**2 + both * (first + second)) + 0.0


def alternative_pair_score(gold: Order, a: Order, b: Order) -> float:
    """Agreement f of two alternative orders, from -1 to 1, in closed form: 1 if identical, else 0 or below.

    Raises:
        MetricInputError: if the three do not hold the same ids.
    """
    return score_of_inversions(inverted_pairs(gold, a), inverted_pairs(gold, b))


def alternative_pair_kappa(gold: Order, a: Order, b: Order) -> float | None:
    """The same by its definition; None where kappa is 0/0 (``alternative_pair_score`` says 1 there).

    The difference vectors tell where the one-hot vector of an order differs from the authored one; kappa is computed
    on the positions where either does.

    Raises:
        MetricInputError: if the three do not hold the same ids.
    """
    reference = pair_vector(gold, gold)
    one, two = pair_vector(a, gold) ^ reference, pair_vector(b, gold) ^ reference
    union = (one | two).astype(bool)
    return binary_kappa(one[union], two[union])

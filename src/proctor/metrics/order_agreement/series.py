"""Series of alternative orders of two annotators: matched as Algorithm 1 does, and scored."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.errors import MetricInputError
from proctor.metrics.order_agreement.inversions import Pair, inverted_pairs, score_of_inversions
from proctor.metrics.order_agreement.orders import (
    Order,
    Step,
    mean_or_none,
    require_same_steps,
    tau_of_orders,
)

__all__ = [
    "Matching",
    "Penalty",
    "Pooling",
    "alternative_instance_agreement",
    "alternative_series_scores",
    "distinct_orders",
]

Matching = Literal["greedy", "hungarian"]
Penalty = Literal["union", "tau"]
Pooling = Literal["pooled", "pair_mean"]


def distinct_orders(series: Sequence[Order]) -> list[tuple[Step, ...]]:
    """Every order once, where it first stands."""
    return list(dict.fromkeys(tuple(order) for order in series))


def alternative_series_scores(
    gold: Order,
    a: Sequence[Order],
    b: Sequence[Order],
    *,
    matching: Matching = "greedy",
    penalty: Penalty = "union",
) -> tuple[float, ...]:
    """Match two annotators' series of orders (Algorithm 1): the scores of the matches, then of what was left over.

    The best pair is taken first, ties by the place in the shorter series, then in the longer one (for series of equal
    length, by the place in ``a``, then ``b``). An order listed twice counts once. Both series empty: one score of 1,
    both say that there is no other order.

    Args:
        gold: the authored order.
        a: orders of one annotator.
        b: orders of the other.
        matching: ``greedy`` as published, or ``hungarian`` for the best total of the matched pairs.
        penalty: what an order without a partner scores: ``union`` is f against the authored order (0, or 1 if it is
            the authored order itself); ``tau`` is Kendall's tau against it.

    Raises:
        MetricInputError: if the orders do not all hold the same ids, or an option is unknown.
    """
    _require_option("matching", matching, get_args(Matching))
    _require_option("penalty", penalty, get_args(Penalty))
    short, long = sorted((distinct_orders(a), distinct_orders(b)), key=len)
    require_same_steps(gold)
    inverted = [[inverted_pairs(gold, order) for order in series] for series in (short, long)]
    if not long:
        return (1.0,)
    scores = np.array(
        [[score_of_inversions(x, y) for y in inverted[1]] for x in inverted[0]], dtype=np.float64
    )
    scores = scores.reshape(len(short), len(long))
    pairs = _greedy(scores) if matching == "greedy" else _best_total(scores)
    left = sorted(set(range(len(long))) - {n for _, n in pairs})
    found = [float(scores[pair]) for pair in pairs]
    return (*found, *(_penalty(gold, long[n], inverted[1][n], penalty) for n in left))


def _require_option(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise MetricInputError(f"{name} must be one of {', '.join(known)}, got {value!r}")


def _greedy(scores: NDArray[np.float64]) -> list[tuple[int, int]]:
    """The largest score first; equal ones by row, then column."""
    left = scores.copy()
    pairs = []
    for _ in range(min(scores.shape)):
        m, n = (int(i) for i in np.unravel_index(int(left.argmax()), left.shape))
        pairs.append((m, n))
        left[m, :] = left[:, n] = -np.inf
    return pairs


def _best_total(scores: NDArray[np.float64]) -> list[tuple[int, int]]:
    if not scores.size:
        return []
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(scores, maximize=True)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def _penalty(gold: Order, order: Order, inverted: frozenset[Pair], penalty: Penalty) -> float:
    if penalty == "union":
        return score_of_inversions(frozenset(), inverted)
    tau = tau_of_orders(gold, order)
    return 1.0 if tau is None else tau


def alternative_instance_agreement(
    gold: Order,
    series: Sequence[Sequence[Order]],
    *,
    matching: Matching = "greedy",
    penalty: Penalty = "union",
    pooling: Pooling = "pooled",
) -> float | None:
    """Agreement of one instance's series of alternative orders, -1 to 1; None below two annotators.

    Args:
        gold: the authored order.
        series: one list of orders an annotator, empty for "no other".
        matching: as in ``alternative_series_scores``.
        penalty: as there.
        pooling: ``pooled`` is the mean over all scores of all pairs of annotators (the paper's box); ``pair_mean`` the
            mean over pairs of the mean of each (its prose). They differ when series differ in length.

    Raises:
        MetricInputError: if the orders do not all hold the same ids, or an option is unknown.
    """
    _require_option("pooling", pooling, get_args(Pooling))
    require_same_steps(gold, *(order for one in series for order in one))
    pairs = [
        alternative_series_scores(gold, a, b, matching=matching, penalty=penalty)
        for a, b in combinations(series, 2)
    ]
    if pooling == "pooled":
        return mean_or_none([score for scores in pairs for score in scores])
    return mean_or_none([math.fsum(scores) / len(scores) for scores in pairs])

"""Orders of the same steps: checks, pairs of steps as a vector, kappa and tau of two orders."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.errors import MetricInputError
from proctor.metrics.inversions import count_inversions

__all__ = [
    "Order",
    "Step",
    "binary_kappa",
    "mean_or_none",
    "order_of_ranks",
    "order_pair_kappa",
    "order_pair_tau",
    "pair_vector",
    "places_in",
    "require_same_steps",
    "tau_of_orders",
]


Step = str | int
Order = Sequence[Step]


def require_same_steps(reference: Order, *others: Order) -> None:
    """Make sure that all orders hold the same ids, each once.

    Raises:
        MetricInputError: naming the first id that is there twice, missing or unknown.
    """
    orders = (reference, *others)
    try:
        known = set(reference)
        if all(len(o) == len(known) and not isinstance(o, str) and known == set(o) for o in orders):
            return
        counted = [Counter(order) for order in orders]
    except TypeError:
        raise MetricInputError("an order is a list of step ids, each a text or a number") from None
    for order, count in zip(orders, counted, strict=True):
        if isinstance(order, str):
            raise MetricInputError(f"an order is a list of step ids, got the text {order!r}", "split it")
        if twice := [step for step, n in count.items() if n > 1]:
            raise MetricInputError(f"the order {_shown(order)} holds the step {twice[0]!r} twice")
    for order in others:
        if known == set(order):
            continue
        missing, unknown = known - set(order), set(order) - known
        what = (
            f"lacks {min(missing, key=repr)!r}"
            if missing
            else f"has the unknown step {min(unknown, key=repr)!r}"
        )
        raise MetricInputError(
            f"the order {_shown(order)} {what}; the steps are those of {_shown(reference)}",
            "all orders of one instance must hold the same steps",
        )


def _shown(order: Order) -> str:
    shown = " ".join(map(str, order[:12]))
    return f"({shown}{' …' if len(order) > 12 else ''})"


def places_in(reference: Order, order: Order) -> NDArray[np.int64]:
    """For each step of ``order`` its place in ``reference``."""
    place: dict[Hashable, int] = {step: i for i, step in enumerate(reference)}
    return np.array([place[step] for step in order], dtype=np.int64)


def order_of_ranks(ranks: Sequence[int], steps: Order) -> tuple[Step, ...]:
    """Return the order in which ``ranks[i]`` says at which time (from 0) ``steps[i]`` is done.

    Raises:
        MetricInputError: if the ranks are not 0 to N-1, each once.
    """
    if sorted(ranks) != list(range(len(steps))):
        raise MetricInputError(f"ranks must be 0 to {len(steps) - 1}, each once, got {list(ranks)}")
    return tuple(step for _, step in sorted(zip(ranks, steps, strict=True), key=lambda pair: pair[0]))


def pair_vector(order: Order, steps: Order | None = None) -> NDArray[np.uint8]:
    """Return the one-hot vector over the N(N-1) ordered pairs of ``steps``: 1 where the first precedes the second.

    Pairs are in lexicographic order of their places in ``steps`` (12, 13, 21, 23, 31, 32), the sorted ids when not
    given: 123 is 110100 and 231 is 001110.

    Raises:
        MetricInputError: if the two do not hold the same ids.
    """
    listed = sorted(order, key=lambda s: (isinstance(s, str), s)) if steps is None else list(steps)
    require_same_steps(listed, order)
    rank = places_in(order, listed)
    precedes = rank[:, None] < rank
    return precedes[~np.eye(len(listed), dtype=bool)].astype(np.uint8)


def order_pair_kappa(a: Order, b: Order) -> float | None:
    """Agreement of two orders by its definition: Cohen's kappa of their one-hot pair vectors; None below two steps.

    Raises:
        MetricInputError: if the two do not hold the same ids.
    """
    require_same_steps(a, b)
    if len(a) < 2:
        return None
    return binary_kappa(pair_vector(a, a), pair_vector(b, a))


def binary_kappa(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> float | None:
    """Cohen's kappa of two vectors of 0 and 1; None where chance is certain or there is nothing."""
    if not len(a):
        return None
    n = len(a)
    same, ones_a, ones_b = int((a == b).sum()), int(a.sum()), int(b.sum())
    chance = ones_a * ones_b + (n - ones_a) * (n - ones_b)
    return None if chance == n * n else (n * same - chance) / (n * n - chance)


def order_pair_tau(a: Order, b: Order) -> float | None:
    """Agreement of two orders the fast way: Kendall's tau, ``1 - 2 inversions / C(N, 2)``; None below two steps.

    Raises:
        MetricInputError: if the two do not hold the same ids.
    """
    require_same_steps(a, b)
    return tau_of_orders(a, b)


def tau_of_orders(a: Order, b: Order) -> float | None:
    """Kendall's tau of two orders, None below two steps."""
    if len(a) < 2:
        return None
    pairs = len(a) * (len(a) - 1) // 2
    place: dict[Hashable, int] = {step: i for i, step in enumerate(a)}
    return (pairs - 2 * count_inversions(place[step] for step in b)) / pairs


def mean_or_none(values: Sequence[float]) -> float | None:
    """The mean, None of nothing."""
    return math.fsum(values) / len(values) if values else None

"""An order from pairwise probabilities: which order agrees best with "i comes before j, probably".

Source: ours; programming over sets as Held and Karp 1962.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proctor.metrics.errors import MetricInputError
from proctor.metrics.ordering.orders import Floats
from proctor.metrics.ordering.partial import PartialOrder

__all__ = ["Before", "DecodingMethod", "PairwiseDecoding", "decode_pairwise", "decode_pairwise_many"]

Before = Collection[tuple[int, int]]
"""Pairs of slots, the first surely done before the second."""

DecodingMethod = Literal["exact", "borda", "search"]
_MOST_EXACT: Final = 16
_SMALLEST: Final = 1e-12
"""Probabilities are kept this far from 0, so that one certain pair cannot make all orders equally impossible."""
_TOLERANCE: Final = 1e-12
_FORBIDDEN: Final = -1e6
"""Instead of the logarithm for what a constraint forbids: less than any order that keeps all constraints is worth."""
_AT_ONCE: Final = 1 << 19
"""Numbers of one table that are worked on at once: what fits into the processor's cache."""


@dataclass(frozen=True, slots=True)
class PairwiseDecoding:
    """Slots (indices of the matrix) in the order they are done; only the method ``exact`` is sure to find the best."""

    order: tuple[int, ...]
    log_probability: float  # that the order claims, summed over all pairs
    method: DecodingMethod


def decode_pairwise(
    probabilities: ArrayLike, *, method: DecodingMethod | None = None, before: Before = ()
) -> PairwiseDecoding:
    """Return the order that maximises the sum of ``log P(before, after)`` over all its pairs.

    Both directions of a pair are averaged first: ``½ (P[i, j] + 1 - P[j, i])``. ``exact`` visits all sets of slots
    (2^N · N work, up to 16 slots); ``borda`` sorts by row sums; ``search`` starts there and moves single slots as
    long as that helps. Ties are broken by slot (``borda``: smaller first; ``exact``: built from its end, smaller slot
    taken first, as the published recursion does), so number slots as they were presented, never in the right order.

    Args:
        probabilities: shape [N, N], that slot i is done before slot j; the diagonal does not matter.
        method: ``exact`` up to 16 slots and ``search`` beyond when not given.
        before: what is known already; only orders that keep it are looked at.

    Raises:
        MetricInputError: if the matrix is not square, empty or no probabilities, the method is unknown, there are too
            many slots for ``exact``, or the constraints hold a cycle or unknown slots.
    """
    matrix = _symmetric(probabilities, axes=2)
    count = len(matrix)
    chosen: DecodingMethod = method or ("exact" if count <= _MOST_EXACT else "search")
    if chosen not in get_args(DecodingMethod):
        raise MetricInputError(f"the method {chosen!r} is unknown", "use exact, borda or search")
    logs = _logs(matrix, [before])
    if chosen == "exact":
        order = _exact(logs[None])[0].tolist()
    else:
        # Of what may come next, always the slot that Borda's method has first. Rounding lets equal sums differ in the last
        # digits, and the slot must decide then.
        ranked = np.argsort(-np.round(matrix.sum(axis=1), 12), kind="stable").tolist()
        kept = PartialOrder(ranked, before)
        order = [ranked[kept.place[slot]] for slot in kept.linear_extensions(1)[0]]
        if chosen == "search":
            order = _searched(logs, order)
    return PairwiseDecoding(tuple(order), float(np.triu(logs[np.ix_(order, order)], 1).sum()), chosen)


def decode_pairwise_many(
    probabilities: ArrayLike, *, before: Sequence[Before | None] | None = None
) -> NDArray[np.int64]:
    """Return the orders, shape [M, N], that ``decode_pairwise`` finds with ``exact``, much faster than one by one.

    Args:
        probabilities: shape [M, N, N], N of 1 to 16; M may be 0.
        before: for each matrix what is known already, or None.

    Raises:
        MetricInputError: as ``decode_pairwise``, also if there is not one entry of ``before`` for each matrix.
    """
    matrices = _symmetric(probabilities, axes=3)
    many, count = matrices.shape[:2]
    if before is not None and len(before) != many:
        raise MetricInputError(f"{len(before)} lists of constraints for {many} matrices", "give one for each")
    logs = _logs(matrices, before or ())
    step = max(1, _AT_ONCE // (count << count))
    parts = [_exact(logs[first : first + step]) for first in range(0, many, step)]
    return np.concatenate([np.zeros((0, count), dtype=np.int64), *parts])


def _symmetric(probabilities: ArrayLike, *, axes: int) -> Floats:
    matrix = np.array(probabilities, dtype=np.float64)
    if matrix.ndim != axes or matrix.shape[-1] != matrix.shape[-2] or not matrix.shape[-1]:
        many = "a stack of square matrices" if axes > 2 else "a square matrix"
        raise MetricInputError(f"{many} is needed, got shape {list(matrix.shape)}")
    matrix[..., range(len(matrix.T)), range(len(matrix.T))] = 0.5
    wrong = np.argwhere(~((matrix >= 0) & (matrix <= 1)))  # NaN fails both comparisons
    if len(wrong):
        at = wrong[0].tolist()
        raise MetricInputError(f"P{at} = {matrix[tuple(at)]} is no probability")
    result: Floats = (matrix + 1.0 - matrix.swapaxes(-1, -2)) / 2.0
    return result


def _logs(matrices: Floats, before: Sequence[Before | None]) -> Floats:
    """Return what it is worth to have one slot before another, shape as ``matrices``."""
    logs: Floats = np.log(np.clip(matrices, _SMALLEST, 1.0))
    count = logs.shape[-1]
    logs[..., range(count), range(count)] = 0.0
    for own, known in zip(logs.reshape(-1, count, count), before, strict=False):
        for first, second in PartialOrder(range(count), known or ()).constraints:
            own[second, first] = _FORBIDDEN  # type: ignore[index]
    return logs


def _exact(logs: Floats) -> NDArray[np.int64]:
    """Best order of each set of slots that are done first; then walk back from the full set; for M matrices at once."""
    many, count = logs.shape[:2]
    if count > _MOST_EXACT:
        wrong = f"{count} slots are too many for an exact order (at most {_MOST_EXACT})"
        raise MetricInputError(wrong, "use method='search'")
    sets = np.arange(1 << count)
    sizes = np.array([int(s).bit_count() for s in sets])
    # behind[i, S]: what placing slot i behind all of S is worth; each slot doubles the sets that are known.
    behind = np.zeros((count, 1 << count, many))
    for j in range(count):
        behind[:, 1 << j : 2 << j] = behind[:, : 1 << j] + logs[:, j].T[:, None]
    best = np.full((1 << count, many), -np.inf)
    best[0] = 0.0
    for size in range(1, count + 1):
        members = sets[sizes == size]
        for i in range(count):
            having = members[(members >> i & 1) == 1]
            rest = having ^ (1 << i)
            best[having] = np.maximum(best[having], best[rest] + behind[i, rest])
    orders = np.empty((many, count), dtype=np.int64)
    left, each = np.full(many, (1 << count) - 1), np.arange(many)
    bits = 1 << np.arange(count)[:, None]
    for time in reversed(range(count)):
        # Sums of logarithms that should be equal differ in the last digits: the slot must decide then.
        reached = best[left, each] - _TOLERANCE * (1 + abs(best[left, each]))
        rest = left & ~bits
        good = (best[rest, each] + behind[np.arange(count)[:, None], rest, each] >= reached) & (rest != left)
        orders[:, time] = good.argmax(axis=0)
        left = rest[orders[:, time], each]
    return orders


def _searched(logs: Floats, start: list[int]) -> list[int]:
    """Move the one slot whose move helps most until none does; the sum rises each time, so this ends."""
    order = list(start)
    while True:
        moves = []
        for source, slot in enumerate(order):
            others = np.array(order[:source] + order[source + 1 :], dtype=np.int64)
            # worth[k]: the slot behind the first k of the others.
            worth = np.concatenate([[0.0], np.cumsum(logs[others, slot] - logs[slot, others])])
            target = int(np.argmax(worth))
            moves.append((float(worth[target] - worth[source]), -source, -target))
        gain, source, target = max(moves)
        if gain <= _TOLERANCE:
            return order
        order.insert(-target, order.pop(-source))

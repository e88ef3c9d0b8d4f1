"""An order from pairwise probabilities: which order agrees best with "i comes before j, probably".

Source: ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from proctor.metrics.errors import MetricInputError
from proctor.metrics.ordering.measures import Floats

__all__ = ["DecodingMethod", "PairwiseDecoding", "decode_pairwise"]

DecodingMethod = Literal["exact", "borda", "search"]
_MOST_EXACT: Final = 16
_SMALLEST: Final = 1e-12
"""Probabilities are kept this far from 0, so that one certain pair cannot make all orders equally impossible."""
_TOLERANCE: Final = 1e-12


@dataclass(frozen=True, slots=True)
class PairwiseDecoding:
    """A decoded order.

    Attributes:
        order: slots (indices of the matrix) in the order they are done.
        log_probability: sum over all pairs of the log of the probability that the order claims.
        method: how it was found; only ``exact`` is sure to be the best.
    """

    order: tuple[int, ...]
    log_probability: float
    method: DecodingMethod


def decode_pairwise(probabilities: ArrayLike, *, method: DecodingMethod | None = None) -> PairwiseDecoding:
    """Return the order that maximises the sum of ``log P(before, after)`` over all its pairs.

    Both directions of a pair are averaged first: ``½ (P[i, j] + 1 - P[j, i])``. ``exact`` visits all sets of slots
    (2^N · N work, up to 16 slots); ``borda`` sorts by row sums; ``search`` starts there and moves single slots as
    long as that helps. Ties are broken by slot (``borda``: smaller first; ``exact``: built from its end, smaller slot
    taken first, as the published recursion does), so number slots as they were presented, never in the right
    order.

    Args:
        probabilities: shape [N, N], ``P[i, j]`` the probability that slot i is done before slot j; the diagonal
            does not matter.
        method: ``exact`` up to 16 slots and ``search`` beyond when not given.

    Raises:
        MetricInputError: if the matrix is not square, empty or no probabilities, the method is unknown, or there
            are too many slots for ``exact``.
    """
    matrix = _symmetric(probabilities)
    count = len(matrix)
    chosen: DecodingMethod = method or ("exact" if count <= _MOST_EXACT else "search")
    if chosen not in get_args(DecodingMethod):
        raise MetricInputError(
            f"the method {chosen!r} is unknown", f"use {', '.join(get_args(DecodingMethod))}"
        )
    logs = np.log(np.clip(matrix, _SMALLEST, 1.0))
    np.fill_diagonal(logs, 0.0)
    if chosen == "exact":
        if count > _MOST_EXACT:
            raise MetricInputError(
                f"{count} slots are too many for an exact order (at most {_MOST_EXACT})",
                "use method='search'",
            )
        order = _exact(logs)
    else:
        order = _borda(matrix)
        if chosen == "search":
            order = _searched(logs, order)
    return PairwiseDecoding(tuple(order), float(np.triu(logs[np.ix_(order, order)], 1).sum()), chosen)


def _symmetric(probabilities: ArrayLike) -> Floats:
    matrix = np.array(probabilities, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise MetricInputError(f"a square matrix is needed, got shape {list(matrix.shape)}")
    np.fill_diagonal(matrix, 0.5)
    if not ((matrix >= 0) & (matrix <= 1)).all():  # NaN fails both comparisons
        i, j = np.argwhere(~((matrix >= 0) & (matrix <= 1)))[0]
        raise MetricInputError(f"P[{i}, {j}] = {matrix[i, j]} is no probability")
    result: Floats = (matrix + 1.0 - matrix.T) / 2.0
    return result


def _borda(matrix: Floats) -> list[int]:
    # Rounding lets equal sums differ in the last digits, and the slot must decide then.
    sums = np.round(matrix.sum(axis=1), 12)
    return [int(i) for i in np.argsort(-sums, kind="stable")]


def _exact(logs: Floats) -> list[int]:
    """Best order of each set of slots that are done first; then walk back from the full set."""
    count = len(logs)
    sets = np.arange(1 << count)
    sizes = np.array([int(s).bit_count() for s in sets])
    # behind[i, S]: what placing slot i behind all of S is worth; each slot doubles the sets that are known.
    behind = np.zeros((count, 1 << count))
    for j in range(count):
        behind[:, 1 << j : 2 << j] = behind[:, : 1 << j] + logs[j][:, None]
    best = np.full(1 << count, -np.inf)
    best[0] = 0.0
    for size in range(1, count + 1):
        members = sets[sizes == size]
        for i in range(count):
            having = members[(members >> i & 1) == 1]
            rest = having ^ (1 << i)
            best[having] = np.maximum(best[having], best[rest] + behind[i, rest])
    order: list[int] = []
    left = (1 << count) - 1
    while left:
        # Sums of logarithms that should be equal differ in the last digits: the slot must decide then.
        reached = best[left] - _TOLERANCE * (1 + abs(best[left]))
        last = next(
            i
            for i in range(count)
            if left >> i & 1 and best[left ^ (1 << i)] + behind[i, left ^ (1 << i)] >= reached
        )
        order.append(last)
        left ^= 1 << last
    return order[::-1]


def _searched(logs: Floats, start: list[int]) -> list[int]:
    """Move the one slot whose move helps most until none does; the sum rises each time, so this ends."""
    order = list(start)
    while True:
        gain, source, target = max(_moves(logs, order), key=lambda move: (move[0], -move[1], -move[2]))
        if gain <= _TOLERANCE:
            return order
        order.insert(target, order.pop(source))


def _moves(logs: Floats, order: list[int]) -> list[tuple[float, int, int]]:
    """For each place the best place to move its slot to, and what that gains."""
    moves = []
    for source, slot in enumerate(order):
        others = np.array(order[:source] + order[source + 1 :], dtype=np.int64)
        # worth[k]: the slot behind the first k of the others.
        worth = np.concatenate([[0.0], np.cumsum(logs[others, slot] - logs[slot, others])])
        target = int(np.argmax(worth))
        moves.append((float(worth[target] - worth[source]), source, target))
    return moves

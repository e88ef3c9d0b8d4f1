"""What a ranking of the whole pool in random order would get: exact expectations, not simulations."""

from __future__ import annotations

import numpy as np

from proctor.metrics.errors import MetricInputError
from proctor.metrics.retrieval.gains import graded_gains, ideal_gains
from proctor.metrics.retrieval.ranking import Floats, Gain, Integers, RankedGold
from proctor.metrics.retrieval.recalls import RECALL_READINGS, RecallReading, require_cut

__all__ = [
    "expected_average_precisions",
    "expected_ndcgs_at_k",
    "expected_precisions_at_k",
    "expected_recalls_at_k",
    "expected_reciprocal_ranks",
]


def _require_pool(ranked: RankedGold, pool: object) -> None:
    largest = int(ranked.needed.max(initial=0))
    if isinstance(pool, bool) or not isinstance(pool, int | np.integer) or pool < max(largest, 1):
        raise MetricInputError(
            f"a pool of {pool} sources cannot hold the {largest} gold sources of a question",
            "give the number of all sources that a ranking is drawn from",
        )


def _share_without(ranked: RankedGold, pool: int, ranks: Integers) -> Floats:
    """Probability that no gold source is at any of this many places; shape (distinct, ranks)."""
    needed = ranked.needed[:, None] if ranks.ndim else ranked.needed
    result = np.ones(np.broadcast_shapes(needed.shape, ranks.shape))
    for i in range(int(ranked.needed.max(initial=0))):
        result *= np.where(needed > i, np.maximum(pool - ranks - i, 0) / (pool - i), 1.0)
    return result


def expected_recalls_at_k(
    ranked: RankedGold, pool: int, k: int, reading: RecallReading = "fractional"
) -> Floats:
    """Expected recall@k of each question when the pool is ranked at random.

    Fractional: k / pool (whatever the number of gold sources). Any: one less the hypergeometric probability of no
    hit. All: the probability that every gold source falls among the first k.

    Args:
        ranked: from ``rank_gold``; only the numbers of gold sources matter.
        pool: number of sources that are ranked.
        k: cut.
        reading: see the package.

    Raises:
        MetricInputError: if an option is not valid or the pool is smaller than a question's gold.
    """
    require_cut(k)
    _require_pool(ranked, pool)
    cut = min(k, pool)
    if reading == "fractional":
        return np.full(len(ranked), cut / pool)
    if reading == "any":
        return 1.0 - _share_without(ranked, pool, np.asarray(cut, dtype=np.int64))
    if reading == "all":
        result = np.ones(len(ranked))
        for i in range(int(ranked.needed.max(initial=0))):
            result *= np.where(ranked.needed > i, max(cut - i, 0) / (pool - i), 1.0)
        return result
    raise MetricInputError(f"a reading of recall is one of {', '.join(RECALL_READINGS)}, got {reading!r}")


def expected_precisions_at_k(ranked: RankedGold, pool: int, k: int) -> Floats:
    """Expected precision@k of each question when the pool is ranked at random."""
    require_cut(k)
    _require_pool(ranked, pool)
    return ranked.needed.astype(np.float64) * (min(k, pool) / (pool * k))


def expected_ndcgs_at_k(ranked: RankedGold, pool: int, k: int, gain: Gain = "linear") -> Floats:
    """Expected nDCG@k of each question when the pool is ranked at random."""
    require_cut(k)
    _require_pool(ranked, pool)
    gains = graded_gains(ranked.gain, gain)
    discounts = float((1.0 / np.log2(np.arange(min(k, pool)) + 2.0)).sum())
    return ranked.per_question(gains) * (discounts / pool) / ideal_gains(ranked, gains, k)


def expected_reciprocal_ranks(ranked: RankedGold, pool: int, k: int | None = None) -> Floats:
    """Expected reciprocal rank of each question when the pool is ranked at random (and cut at k)."""
    depth = _depth(ranked, pool, k)
    distinct, where = np.unique(ranked.needed, return_inverse=True)
    result = np.zeros(len(distinct))
    ranks = np.arange(1, depth + 1)
    for index, needed in enumerate(distinct):
        # The first hit is at rank r with probability P(none before) * needed / (pool - r + 1).
        none_before = np.cumprod(
            np.concatenate([[1.0], np.maximum(pool - needed - ranks[:-1] + 1, 0) / (pool - ranks[:-1] + 1)])
        )
        result[index] = float((none_before * needed / (pool - ranks + 1) / ranks).sum())
    return result[where]


def expected_average_precisions(ranked: RankedGold, pool: int, k: int | None = None) -> Floats:
    """Expected average precision of each question when the pool is ranked at random (and cut at k).

    A gold source is at rank r with probability 1 / pool each; then (r - 1)(gold - 1) / (pool - 1) others are
    expected before it.
    """
    depth = _depth(ranked, pool, k)
    harmonic = float((1.0 / np.arange(1, depth + 1)).sum())
    before = (ranked.needed - 1) / max(pool - 1, 1)
    return (harmonic + before * (depth - harmonic)) / pool


def _depth(ranked: RankedGold, pool: int, k: int | None) -> int:
    if k is not None:
        require_cut(k)
    _require_pool(ranked, pool)
    return pool if k is None else min(k, pool)

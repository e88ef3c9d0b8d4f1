"""Measures that look at every place: nDCG and average precision."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import get_args

import numpy as np

from proctor.metrics.errors import MetricInputError
from proctor.metrics.retrieval.ranking import Floats, Gain, Gold, RankedGold, rank_gold
from proctor.metrics.retrieval.recalls import rows_found

__all__ = [
    "average_precision",
    "graded_gains",
    "ideal_gains",
    "ndcg_at_k",
    "ndcgs_at_k",
    "ranking_average_precisions",
]


def ndcgs_at_k(ranked: RankedGold, k: int, gain: Gain = "linear") -> Floats:
    """Normalised discounted cumulative gain of the first k, of each question, 0 to 1.

    A source at rank r gives its gain divided by log2(r + 1). The sum is divided by that of the best possible
    ranking, which has all gold sources first, by falling gain, and is cut at k as well.

    Args:
        ranked: from ``rank_gold``.
        k: cut.
        gain: ``linear`` (the gain itself, as trec_eval) or ``exponential`` (2^gain - 1). The same without grades.

    Raises:
        MetricInputError: if k or the gain is not valid, or a gain overflows.
    """
    gains = graded_gains(ranked.gain, gain)
    found = rows_found(ranked, k)
    discount = np.log2(np.where(found, ranked.rank, 1) + 1.0)
    reached = ranked.per_question(np.where(found, gains / discount, 0.0))
    return reached / ideal_gains(ranked, gains, k)


def graded_gains(values: Floats, gain: Gain) -> Floats:
    """Return what a source of each gain is worth."""
    if gain not in get_args(Gain):
        raise MetricInputError(f"a gain is 'linear' or 'exponential', got {gain!r}")
    if gain == "linear":
        return values
    if values.size and float(values.max()) > 1000:
        raise MetricInputError(f"2^{values.max():g} is too large", "use gain='linear' or smaller grades")
    return np.exp2(values) - 1


def ideal_gains(ranked: RankedGold, gains: Floats, k: int) -> Floats:
    """Discounted gain of the best ranking, cut at k."""
    order = np.lexsort((-gains, ranked.question))
    first = np.cumsum(ranked.needed) - ranked.needed
    place = np.arange(len(order)) - np.repeat(first, ranked.needed)
    return ranked.per_question(np.where(place < k, gains[order] / np.log2(place + 2.0), 0.0))


def ndcg_at_k(gold: Gold, ranking: Sequence[Hashable], k: int, gain: Gain = "linear") -> float:
    """Normalised discounted cumulative gain of one question; see ``ndcgs_at_k``."""
    return float(ndcgs_at_k(rank_gold([gold], [ranking]), k, gain)[0])


def ranking_average_precisions(ranked: RankedGold, k: int | None = None) -> Floats:
    """Average precision of each question: precision at the rank of every gold source, 0 for those not found.

    The divisor is the number of all gold sources, also with a cut k (as trec_eval).
    """
    found = rows_found(ranked, k)
    order = np.lexsort((ranked.rank, ranked.question))
    order = order[found[order]]
    hits = np.bincount(ranked.question[order], minlength=len(ranked))
    nth = np.arange(len(order)) - np.repeat(np.cumsum(hits) - hits, hits) + 1
    precision = np.zeros(len(ranked.rank))
    precision[order] = nth / ranked.rank[order]
    return ranked.per_question(precision) / ranked.needed


def average_precision(gold: Gold, ranking: Sequence[Hashable], k: int | None = None) -> float:
    """Average precision of one question; the mean over questions is the MAP."""
    return float(ranking_average_precisions(rank_gold([gold], [ranking]), k)[0])

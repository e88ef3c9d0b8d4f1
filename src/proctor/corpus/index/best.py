"""The best few of many scores, the same in every run: equal scores in the order of positions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from proctor.corpus.index.hits import NOTHING, Hits

__all__ = ["best", "hits_of", "merge_hits", "no_hits"]


def best(scores: NDArray[Any], k: int) -> NDArray[np.int64]:
    """Return where the ``k`` highest of some scores stand, highest first, equal ones in the order of positions.

    Args:
        scores: one dimension, no NaN.
        k: how many; all of them where there are fewer.
    """
    n = len(scores)
    if k >= n:
        return np.argsort(-scores, kind="stable").astype(np.int64, copy=False)
    if k <= 0:
        return np.empty(0, np.int64)
    least = np.partition(scores, n - k)[n - k]
    above = np.flatnonzero(scores > least)
    equal = np.flatnonzero(scores == least)[: k - len(above)]
    chosen = np.concatenate((above, equal))
    return chosen[np.lexsort((chosen, -scores[chosen]))].astype(np.int64, copy=False)


def no_hits(queries: int, k: int) -> Hits:
    """Return the hits of queries that found nothing."""
    return Hits(np.full((queries, k), NOTHING, np.int64), np.full((queries, k), -np.inf, np.float32))


def hits_of(found: list[tuple[NDArray[np.int64], NDArray[np.float32]]], k: int) -> Hits:
    """Return hits from what each query found: positions and scores, best first, at most ``k``."""
    hits = no_hits(len(found), k)
    for row, (positions, scores) in enumerate(found):
        hits.positions[row, : len(positions)] = positions
        hits.scores[row, : len(scores)] = scores
    return hits


def merge_hits(parts: list[Hits], k: int) -> Hits:
    """Return the best of several searches of the same queries in different sources."""
    positions = np.concatenate([part.positions for part in parts], axis=1)
    scores = np.concatenate([part.scores for part in parts], axis=1)
    key = np.where(positions == NOTHING, np.iinfo(np.int64).max, positions)
    order = np.lexsort((key, -scores), axis=1)[:, :k]
    merged = no_hits(len(positions), k)
    merged.positions[:, : order.shape[1]] = np.take_along_axis(positions, order, axis=1)
    merged.scores[:, : order.shape[1]] = np.take_along_axis(scores, order, axis=1)
    return merged

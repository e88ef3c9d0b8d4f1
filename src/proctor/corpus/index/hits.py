"""What a search finds: positions of sources and their scores, best first; and which sources it may find."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from proctor.corpus.source import MODALITIES, Modality
from proctor.errors import UserError

__all__ = [
    "CODES",
    "NOTHING",
    "Hits",
    "Modalities",
    "best",
    "checked_k",
    "checked_modalities",
    "hits_of",
    "merge_hits",
    "no_hits",
    "positions_within",
]

NOTHING = -1
"""Position where a query has fewer hits than were asked for."""


@dataclass(frozen=True, slots=True)
class Hits:
    """Hits of some queries.

    Attributes:
        positions: of sources in their corpus, best first; equal scores in the order of positions. Shape (queries, k), int64;
            ``NOTHING`` (-1) after the last hit.
        scores: of the same shape, float32, higher is better; -inf after the last hit.
    """

    positions: NDArray[np.int64]
    scores: NDArray[np.float32]

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.positions)


# -- the best few of many scores, the same in every run: equal scores in the order of positions --------------------


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


# -- modalities as numbers: which sources a search may find --------------------------------------------------------

Modalities = NDArray[np.int8]
"""One number for each source: 0 text, 1 table, 2 image."""

CODES: Final[dict[Modality, int]] = {modality: code for code, modality in enumerate(MODALITIES)}


def checked_modalities(modalities: NDArray[Any] | None, sources: int) -> Modalities:
    """Return one number for each source; without any, all are texts.

    Raises:
        UserError: if there are not as many as sources, or one is no modality.
    """
    if modalities is None:
        return np.zeros(sources, np.int8)
    codes = np.asarray(modalities)
    if codes.shape != (sources,):
        raise UserError(f"There are {sources} sources, but {codes.size} modalities.")
    if sources and not (codes.min() >= 0 and codes.max() < len(MODALITIES)):
        raise UserError(
            f"A modality is a number from 0 to {len(MODALITIES) - 1}; seen: {codes.min()} to {codes.max()}."
        )
    return codes.astype(np.int8, copy=False)


def checked_k(k: int) -> int:
    """Return how many hits are asked for.

    Raises:
        UserError: if that is less than one.
    """
    if k < 1:
        raise UserError(f"A search finds at least one source, not {k}.")
    return k


def positions_within(modalities: Modalities, within: Modality | None) -> NDArray[np.int64]:
    """Return the positions of a modality's sources in order; of all sources for None.

    Raises:
        UserError: if there is no such modality.
    """
    if within is None:
        return np.arange(len(modalities), dtype=np.int64)
    if within not in CODES:
        raise UserError(f"There is no modality {within!r}.", hint=f"One of {', '.join(MODALITIES)}.")
    return np.flatnonzero(modalities == CODES[within]).astype(np.int64, copy=False)

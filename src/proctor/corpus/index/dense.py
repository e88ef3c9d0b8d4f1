"""Search by vectors: exact over all sources or those of one modality, vectors in memory or mapped from files.

Vectors of one modality lie together, so that a search within it reads nothing else and never finds fewer than there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proctor.corpus.embed.embedder import Vectors
from proctor.corpus.index.exact import exact_top
from proctor.corpus.index.hits import (
    Hits,
    Modalities,
    checked_k,
    checked_modalities,
    hits_of,
    merge_hits,
    no_hits,
    positions_within,
)
from proctor.corpus.index.vectors import check_vectors, checked_queries
from proctor.corpus.source import MODALITIES, Modality
from proctor.errors import UserError

__all__ = ["DenseIndex"]


class DenseIndex:
    """Exact search by cosine; make it with ``build``.

    Args:
        parts: vectors of each modality, in the order of positions; may be memory-mapped.
        modalities: one number for each source.
        embedder: name of what made the vectors.
    """

    def __init__(self, parts: Mapping[Modality, Vectors], modalities: Modalities, embedder: str = "") -> None:
        self.parts = parts
        self.modalities = modalities
        self.embedder = embedder
        self.positions = {modality: positions_within(modalities, modality) for modality in MODALITIES}
        for modality, positions in self.positions.items():
            if len(parts[modality]) != len(positions):
                raise UserError(
                    f"There are {len(positions)} sources of the modality {modality}, but {len(parts[modality])} vectors."
                )
        self._sums: dict[Modality, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}

    @classmethod
    def build(
        cls,
        vectors: NDArray[Any],
        modalities: NDArray[Any] | None = None,
        *,
        embedder: str = "",
        names: list[str] | None = None,
    ) -> DenseIndex:
        """Build an index in memory.

        Args:
            vectors: one row for each source, in the order of positions.
            modalities: one number for each source; None if all are texts.
            embedder: name of what made the vectors.
            names: ids of the sources, for messages.

        Raises:
            UserError: if a vector is not finite, zero or not of length one; if numbers of rows differ.
        """
        check_vectors(vectors, names=names)
        codes = checked_modalities(modalities, len(vectors))
        parts = {
            m: np.ascontiguousarray(vectors[positions_within(codes, m)]) if (codes != code).any() else vectors
            for code, m in enumerate(MODALITIES)
        }
        return cls(parts, codes, embedder)

    def __len__(self) -> int:
        """Return the number of sources."""
        return len(self.modalities)

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""
        return int(self.parts["text"].shape[1])

    @property
    def signature(self) -> str:
        """Names the function: which vectors are searched and how."""
        return f"dense|{self.embedder}|exact"

    def search(self, queries: NDArray[Any], k: int, within: Modality | None = None) -> Hits:
        """Return the ``k`` sources of highest cosine for each query.

        Args:
            queries: shape (queries, dimension), rows of length one.
            k: at most so many.
            within: only sources of this modality.

        Raises:
            UserError: if a query is no such vector, ``k`` is less than one, or there is no such modality.
        """
        vectors, k = checked_queries(queries, self.dimension), checked_k(k)
        if within is not None:
            positions_within(self.modalities[:0], within)
        parts = [
            self._search(vectors, k, m) for m in MODALITIES if within in (None, m) and len(self.positions[m])
        ]
        return merge_hits(parts, k) if parts else no_hits(len(vectors), k)

    def moments(
        self, queries: NDArray[Any], within: Modality
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and standard deviation of each query's cosines with a modality's sources; 0 without any.

        They follow from the vectors' mean and second moments, which are summed once: no query scans the vectors.
        """
        vectors = checked_queries(queries, self.dimension).astype(np.float64)
        if not len(self.positions[within]):
            return np.zeros(len(vectors)), np.zeros(len(vectors))
        if within not in self._sums:
            self._sums[within] = _sums(self.parts[within])
        mean, covariance = self._sums[within]
        variance = np.einsum("qd,de,qe->q", vectors, covariance, vectors, optimize=True)
        variance[variance < 1e-12] = 0.0  # nothing but rounding is left
        return vectors @ mean, np.sqrt(variance)

    def _search(self, queries: Vectors, k: int, modality: Modality) -> Hits:
        positions = self.positions[modality]
        found = exact_top(queries, self.parts[modality], k)
        return hits_of([(positions[rows], scores.astype(np.float32)) for rows, scores in found], k)


def _sums(vectors: Vectors, rows: int = 16_384) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and covariance in float64, in blocks."""
    n, dimension = vectors.shape
    mean = np.zeros(dimension)
    for start in range(0, n, rows):
        mean += vectors[start : start + rows].sum(axis=0, dtype=np.float64)
    mean /= n
    covariance = np.zeros((dimension, dimension))
    for start in range(0, n, rows):
        block = vectors[start : start + rows].astype(np.float64) - mean
        covariance += block.T @ block
    return mean, covariance / n

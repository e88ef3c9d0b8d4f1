"""Search by vectors that looks at a part of them: a graph (HNSW) or cells (IVF) of faiss for each modality.

What is found is scored exactly, and its recall against the exact search is measured, never assumed. Graphs and cells are built
by one thread, so that equal vectors give equal ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from proctor.corpus.embed.embedder import Vectors
from proctor.corpus.index.dense import DenseIndex
from proctor.corpus.index.exact import (
    Found,
    cosines,
    exact_top,
    import_faiss,
    in_parts,
    one_thread,
    ranked,
)
from proctor.corpus.index.hits import NOTHING, Hits, checked_k, hits_of, merge_hits, no_hits, positions_within
from proctor.corpus.index.vectors import checked_queries
from proctor.corpus.source import MODALITIES, Modality
from proctor.errors import UserError

__all__ = ["ApproximateIndex", "Method", "Recall", "measure_recall", "parse_method"]

_METHOD: Final = re.compile(r"(hnsw|ivf)(?::(\d+))?(?:/(\d+))?")
_SMALL: Final = 10_000
"""Vectors of a modality up to which the exact search is used: it is as fast there."""
_MORE: Final = 8
_CELLS: Final = 2
"""Cells for each root of the number of sources: with four, 300,000 sources take five times as long to build."""
_SAMPLE: Final = 40
"""Vectors from which a cell's centre is computed."""
_QUERIES: Final = 1024


@dataclass(frozen=True, slots=True)
class Method:
    """How an approximate search works.

    Attributes:
        kind: ``hnsw`` (links of neighbours) or ``ivf`` (cells around centres).
        size: links of a source in the graph; number of cells (0: twice the root of the number of sources).
        effort: candidates that a search of the graph keeps; cells that it looks into.
    """

    kind: Literal["hnsw", "ivf"]
    size: int
    effort: int

    def __str__(self) -> str:
        """Return it as ``parse_method`` reads it."""
        return f"{self.kind}:{self.size}/{self.effort}"


def parse_method(text: str) -> Method:
    """Return the method that a text names: ``hnsw``, ``ivf``, with size and effort ``hnsw:16/64``.

    Raises:
        UserError: if it names none.
    """
    match = _METHOD.fullmatch(text)
    if match is None:
        raise UserError(
            f"There is no approximate search {text!r}.",
            hint="hnsw or ivf, if need be with links or cells and effort: hnsw:16/64, ivf:1024/32.",
        )
    if match[1] == "hnsw":
        method = Method("hnsw", int(match[2] or 16), int(match[3] or 160))
    else:
        method = Method("ivf", int(match[2] or 0), int(match[3] or 32))
    if method.effort < 1 or (method.kind == "hnsw" and not 2 <= method.size <= 512):
        raise UserError(
            f"The search {text!r} cannot work: its effort is at least 1, its links from 2 to 512."
        )
    return method


class ApproximateIndex:
    """Approximate search by cosine; make it with ``build``.

    Args:
        exact: index over the same vectors; it scores what is found, and searches modalities with few sources.
        method: how to search.
        structures: faiss' index of each modality that is large enough to have one.
    """

    def __init__(self, exact: DenseIndex, method: Method, structures: Mapping[Modality, Any]) -> None:
        self.exact = exact
        self.method = method
        self.structures = structures

    @classmethod
    def build(
        cls,
        exact: DenseIndex,
        method: Method,
        *,
        small: int = _SMALL,
        seen: Callable[[Modality], None] | None = None,
    ) -> ApproximateIndex:
        """Build graphs or cells over the vectors of an exact index.

        Args:
            exact: holds the vectors.
            method: what to build.
            small: modalities of up to so many sources are searched exactly.
            seen: called with each modality that is done.

        Raises:
            MissingExtraError: without faiss.
        """
        structures: dict[Modality, Any] = {}
        for modality in MODALITIES:
            if len(exact.parts[modality]) > small:
                structures[modality] = _structure(exact.parts[modality], method)
            if seen is not None:
                seen(modality)
        return cls(exact, method, structures)

    def __len__(self) -> int:
        """Return the number of sources."""
        return len(self.exact)

    @property
    def signature(self) -> str:
        """Names the function: which vectors are searched and how."""
        return f"dense|{self.exact.embedder}|{self.method}"

    def search(self, queries: NDArray[Any], k: int, within: Modality | None = None) -> Hits:
        """Return about the ``k`` sources of highest cosine for each query; as many as there are.

        Args:
            queries: shape (queries, dimension), rows of length one.
            k: at most so many.
            within: only sources of this modality.

        Raises:
            UserError: if a query is no such vector, ``k`` is less than one, or there is no such modality.
        """
        vectors, k = checked_queries(queries, self.exact.dimension), checked_k(k)
        if within is not None:
            positions_within(self.exact.modalities[:0], within)
        parts = [
            self._search(vectors, k, m)
            for m in MODALITIES
            if within in (None, m) and len(self.exact.positions[m])
        ]
        return merge_hits(parts, k) if parts else no_hits(len(vectors), k)

    def moments(
        self, queries: NDArray[Any], within: Modality
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and standard deviation of each query's cosines with a modality's sources: exact."""
        return self.exact.moments(queries, within)

    def _search(self, queries: Vectors, k: int, modality: Modality) -> Hits:
        positions, vectors = self.exact.positions[modality], self.exact.parts[modality]
        if modality not in self.structures:
            found = exact_top(queries, vectors, k)
        else:
            found = self._found(queries, k, vectors, self.structures[modality])
        return hits_of([(positions[rows], scores.astype(np.float32)) for rows, scores in found], k)

    def _found(self, queries: Vectors, k: int, vectors: Vectors, structure: Any) -> list[Found]:
        found: list[Found] = []
        for start in range(0, len(queries), _QUERIES):
            found += in_parts(
                lambda part: self._part(part, k, vectors, structure), queries[start : start + _QUERIES]
            )
        return found

    def _part(self, queries: Vectors, k: int, vectors: Vectors, structure: Any) -> list[Found]:
        wanted = min(k, len(vectors))
        rows = _candidates(structure, queries, min(wanted + _MORE, len(vectors)), self.method)
        scores = cosines(queries, vectors[rows])
        return [
            ranked(s[r != NOTHING], r[r != NOTHING], k)
            if np.count_nonzero(r != NOTHING) >= wanted
            else exact_top(queries[n : n + 1], vectors, k)[0]  # cells or links gave too few
            for n, (r, s) in enumerate(zip(rows, scores, strict=True))
        ]


@dataclass(frozen=True, slots=True)
class Recall:
    """How much of the exact search an approximate one finds.

    Attributes:
        recall: share of the exact hits that it found, over all queries.
        k: hits of a query.
        queries: that were asked.
    """

    recall: float
    k: int
    queries: int


def measure_recall(
    index: ApproximateIndex, queries: NDArray[Any], k: int, within: Modality | None = None
) -> Recall:
    """Return the recall of an approximate search against the exact one.

    A hit counts by its score, not its number: one of two equal sources is as good as the other.

    Raises:
        UserError: without queries or sources to find.
    """
    exact = index.exact.search(queries, k, within)
    there = exact.positions != NOTHING
    if not there.any():
        raise UserError("The recall of a search needs at least one query and one source.")
    last = np.where(there, exact.scores, np.inf).min(axis=1, keepdims=True)
    found = index.search(queries, k, within)
    good = (found.positions != NOTHING) & (found.scores >= last)
    return Recall(float(good.sum() / there.sum()), k, len(exact))


# -- faiss -----------------------------------------------------------------------------------------------------


def _structure(vectors: Vectors, method: Method) -> Any:
    faiss = import_faiss("Approximate search by vectors")
    dimension = vectors.shape[1]
    if method.kind == "hnsw":
        structure = faiss.IndexHNSWFlat(dimension, method.size, faiss.METRIC_INNER_PRODUCT)
        structure.hnsw.efConstruction = max(100, 4 * method.size)
        with one_thread(faiss):
            structure.add(np.ascontiguousarray(vectors))
        return structure
    cells = min(method.size or round(_CELLS * len(vectors) ** 0.5), len(vectors))
    structure = faiss.IndexIVFFlat(faiss.IndexFlatIP(dimension), dimension, cells, faiss.METRIC_INNER_PRODUCT)
    structure.own_fields = False
    structure.cp.seed = 1234
    structure.cp.spherical = True
    structure.cp.min_points_per_centroid = 1
    structure.cp.max_points_per_centroid = _SAMPLE
    with one_thread(faiss):
        structure.train(np.ascontiguousarray(vectors))
        structure.add(np.ascontiguousarray(vectors))
    return structure


def _candidates(structure: Any, queries: Vectors, k: int, method: Method) -> NDArray[np.int64]:
    faiss = import_faiss("Approximate search by vectors")
    if method.kind == "hnsw":
        parameters = faiss.SearchParametersHNSW(efSearch=max(method.effort, k))
    else:
        parameters = faiss.SearchParametersIVF(nprobe=min(method.effort, structure.nlist))
    _, rows = structure.search(queries, k, params=parameters)
    found: NDArray[np.int64] = rows.astype(np.int64, copy=False)
    return found

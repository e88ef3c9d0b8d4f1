"""The nearest vectors, exactly, and the same in every run.

A matrix product sums in an order that depends on the number of queries and threads, so its last digits do, too. It only
chooses candidates here, a few more than are asked for. Their cosines are then summed once more, each in one order that
depends on nothing, and ranked by these. Where so many lie close that a few more may not be enough, all that could be among
the best are summed anew: the result is exact whatever the data.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from proctor.corpus.embed.embedder import Vectors
from proctor.corpus.index.hits import best
from proctor.errors import MissingExtraError

__all__ = ["Found", "cosines", "exact_top", "import_faiss", "in_parts", "one_thread", "ranked"]

Found = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Rows and cosines, best first."""

_MORE: Final = 8
"""Candidates beyond those that are asked for."""
_NOISE: Final = 2e-5
"""What two ways of summing a float32 scalar product of unit vectors may differ by, with a wide margin."""
_SUMMED: Final = 2**22
"""Numbers that are summed anew at a time (32 MiB)."""
_QUERIES: Final = 1024
_ROWS: Final = 2**18
_PRODUCTS_FROM: Final = 20
"""Queries from which a product of matrices is faster than each query on its own."""


def import_faiss(purpose: str = "Search by vectors") -> Any:
    """Return the module faiss.

    Raises:
        MissingExtraError: if it is not installed.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of SWIG's types, under newer Pythons
            import faiss  # type: ignore[import-untyped,unused-ignore]
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or "faiss", "corpus", purpose) from None
    # faiss 1.15 multiplies matrices only for hundreds of queries at a time: some tens take five times as long without
    faiss.cvar.distance_compute_blas_threshold = _PRODUCTS_FROM
    return faiss


@contextmanager
def one_thread(faiss: Any) -> Iterator[None]:
    """Let what this thread asks faiss for be computed by this thread alone."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def in_parts(search: Callable[[Vectors], list[Found]], queries: Vectors) -> list[Found]:
    """Search for parts of the queries at the same time, each by one thread.

    faiss' own threads meet after every thousand vectors, and whoever is late there keeps the others busy with waiting.

    Args:
        search: returns what each of some queries finds, whatever the others are.
        queries: shape (queries, dimension).
    """
    faiss = import_faiss()

    def alone(part: Vectors) -> list[Found]:
        with one_thread(faiss):
            return search(part)

    least = 1 if len(queries) < _PRODUCTS_FROM else _PRODUCTS_FROM
    number = max(1, min(faiss.omp_get_max_threads(), len(queries) // least))
    parts = np.array_split(queries, number)
    if number == 1:
        return alone(parts[0])
    with ThreadPoolExecutor(number) as pool:
        return [found for part in pool.map(alone, parts) for found in part]


def cosines(queries: Vectors, rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return scalar products in float64, each summed in the same order whatever else is asked.

    Args:
        queries: shape (queries, dimension).
        rows: candidates of each query, shape (queries, candidates, dimension).
    """
    products = rows.astype(np.float64)
    products *= queries[:, None, :]
    total: NDArray[np.float64] = products.sum(axis=2)
    return total


def ranked(scores: NDArray[np.float64], rows: NDArray[np.int64], k: int) -> Found:
    """Return the best rows; ties (of float32, as hits show them) in the order of rows."""
    order = np.argsort(rows)
    rows, scores = rows[order], scores[order]
    found = best(scores.astype(np.float32), k)
    return rows[found], scores[found]


def exact_top(queries: Vectors, vectors: Vectors, k: int) -> list[Found]:
    """Return the ``k`` rows of highest cosine for each query, all rows where there are fewer.

    Args:
        queries: shape (queries, dimension), rows of length one.
        vectors: shape (rows, dimension), rows of length one; may be memory-mapped.
        k: at least one.

    Raises:
        MissingExtraError: without faiss.
    """
    if not len(vectors):
        return [(np.empty(0, np.int64), np.empty(0))] * len(queries)
    found: list[Found] = []
    for start in range(0, len(queries), _QUERIES):
        found += in_parts(
            lambda part: _top(part, vectors, min(k, len(vectors))), queries[start : start + _QUERIES]
        )
    return found


def _top(queries: Vectors, vectors: Vectors, k: int) -> list[Found]:
    taken = min(k + _MORE, len(vectors))
    rough, rows = import_faiss().knn(queries, vectors, taken, metric=0)  # 0: scalar product
    crowded = (taken < len(vectors)) & (rough[:, -1] >= rough[:, k - 1] - _NOISE)
    found = _summed_anew(queries, vectors, rows.astype(np.int64, copy=False), k)
    for query in np.flatnonzero(crowded):
        found[query] = _among_all(queries[query : query + 1], vectors, float(rough[query, k - 1]), k)
    return found


def _summed_anew(queries: Vectors, vectors: Vectors, rows: NDArray[np.int64], k: int) -> list[Found]:
    step = max(1, _SUMMED // rows[0].size // queries.shape[1])
    found: list[Found] = []
    for start in range(0, len(queries), step):
        part = rows[start : start + step]
        scores = cosines(queries[start : start + step], vectors[part])
        found += [ranked(s, r, k) for s, r in zip(scores, part, strict=True)]
    return found


def _among_all(query: Vectors, vectors: Vectors, least: float, k: int) -> Found:
    """Sum anew whatever could be among the best: everything not clearly below the k-th of the rough ranking."""
    rows: list[NDArray[np.int64]] = []
    for start in range(0, len(vectors), _ROWS):
        rough = vectors[start : start + _ROWS] @ query[0]
        rows.append(np.flatnonzero(rough >= least - _NOISE).astype(np.int64, copy=False) + start)
    close = np.concatenate(rows)
    step = max(1, _SUMMED // query.shape[1])
    scores = [cosines(query, vectors[close[n : n + step]][None])[0] for n in range(0, len(close), step)]
    return ranked(np.concatenate(scores), close, k)

"""How alike texts are, from their embedding vectors: self-similarity, near-duplicates, likeness of pairs.

Conventions: vectors are given, one row a text, shape (n, d), any finite numbers; they are brought to length 1 here in
double precision, so every similarity is a cosine between -1 and 1. A vector of length 0 has no direction: it is an
error, because the text was empty or was not embedded. Cosines depend on the model that made the vectors: name it in
the signature, and compare only numbers of one model. Many models place all texts within a narrow cone (E5: 0.7 to 1).

References: Zhu et al. 2018 (self-similarity by another measure); SMMQG C (duplicates at cosine above 0.95).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proctor.metrics.catalogue import Entries
from proctor.metrics.errors import MetricInputError
from proctor.metrics.score import Score, Signature

__all__ = [
    "DUPLICATE",
    "METRICS",
    "NearDuplicates",
    "mean_pairwise_cosine",
    "near_duplicates",
    "nearest_cosines",
    "paired_cosines",
    "unit_vectors",
]

Floats = NDArray[np.float64]

DUPLICATE: Final = 0.95
"""Cosine above which two questions are taken for near-duplicates (ours)."""

_CELLS: Final = 8_000_000
"""Similarities held in memory at a time (64 MB)."""
_NO_NUMBERS: Final = "cmM"
"""Kinds that NumPy would make numbers of: half a complex number, days and seconds."""


def unit_vectors(vectors: ArrayLike, what: str = "vectors") -> Floats:
    """Return the rows at length 1.

    Args:
        vectors: shape (n, d).
        what: name for messages.

    Raises:
        MetricInputError: if it is no table of finite numbers or a row has length 0, naming the first such row (from 0).
    """
    try:
        given = np.asarray(vectors)
        if given.dtype.kind in _NO_NUMBERS:
            raise TypeError
        table = given.astype(np.float64)
    except (TypeError, ValueError):
        raise MetricInputError(f"{what}: a table of numbers is wanted, one row a text") from None
    if table.ndim != 2 or (len(table) and not table.shape[1]):
        raise MetricInputError(f"{what}: shape (texts, dimensions) is wanted, got {table.shape}")
    bad = np.flatnonzero(~np.isfinite(table).all(axis=1))
    if bad.size:
        raise MetricInputError(f"{what}: row {bad[0]} is not finite", "embed that text again")
    if not len(table):
        return table
    largest = np.abs(table).max(axis=1)
    empty = np.flatnonzero(largest == 0)
    if empty.size:
        raise MetricInputError(
            f"{what}: row {empty[0]} has length 0 and no direction",
            "leave out texts that are empty or not embedded",
        )
    table /= largest[
        :, None
    ]  # first the largest entry: squares of 1e200 or 1e-200 leave the range of numbers
    unit: Floats = table / np.linalg.norm(table, axis=1, keepdims=True)
    return unit


def mean_pairwise_cosine(vectors: ArrayLike, *, name: str = "given") -> Score:
    """Self-similarity: mean cosine over all pairs of different rows, from the sum of the unit vectors in O(n d).

    Args:
        vectors: shape (n, d), n >= 2.
        name: of the vectors, for the signature.

    Returns:
        (|Σu|² - n) / (n (n - 1)), -1/(n-1) to 1, to twelve places, so that the order of the rows does not show. Less is
        more varied.

    Raises:
        MetricInputError: if there are fewer than two rows, or as ``unit_vectors``.
    """
    unit = unit_vectors(vectors)
    n = len(unit)
    _require_two(n)
    total = unit.sum(axis=0)
    value = float(np.round(np.clip((total @ total - n) / (n * (n - 1)), -1.0, 1.0), 12))
    return Score(value, Signature("mean_pairwise_cosine", {"vectors": name}), n)


def paired_cosines(reference: ArrayLike, prediction: ArrayLike) -> Floats:
    """Cosine of each row with the same row of the other table, shape (n,): likeness of answers to their references.

    Raises:
        MetricInputError: if the shapes differ, or as ``unit_vectors``.
    """
    a, b = unit_vectors(reference, "reference"), unit_vectors(prediction, "prediction")
    if a.shape != b.shape:
        raise MetricInputError(
            f"reference and prediction must be parallel, got shapes {a.shape} and {b.shape}"
        )
    result: Floats = np.clip(np.einsum("ij,ij->i", a, b), -1.0, 1.0)
    return result


def nearest_cosines(vectors: ArrayLike) -> tuple[Floats, NDArray[np.int64]]:
    """Cosine of each row with its nearest other row, and which row that is.

    Args:
        vectors: shape (n, d), n >= 2.

    Returns:
        Cosines, shape (n,), and row numbers from 0, shape (n,); the smallest number of equally near ones. Computed in
        blocks: n = 50,000 needs 64 MB, not 20 GB.

    Raises:
        MetricInputError: if there are fewer than two rows, or as ``unit_vectors``.
    """
    unit = unit_vectors(vectors)
    _require_two(len(unit))
    best = np.empty(len(unit))
    which = np.empty(len(unit), dtype=np.int64)
    for first, block in _blocks(unit):
        rows = np.arange(len(block))
        block[rows, first + rows] = -np.inf
        found = block.argmax(axis=1)
        which[first : first + len(block)] = found
        best[first : first + len(block)] = block[rows, found]
    return np.clip(best, -1.0, 1.0), which


def _blocks(unit: Floats, *, upper: bool = False) -> Iterator[tuple[int, Floats]]:
    """Yield the first row of each block and its similarities with all rows, or with those from the first row on.

    They are rounded to twelve places, so that equal vectors tie whatever the order of additions was.
    """
    rows = max(1, _CELLS // len(unit))
    for first in range(0, len(unit), rows):
        block = unit[first : first + rows] @ unit[first if upper else 0 :].T
        yield first, np.round(block, 12, out=block)


@dataclass(frozen=True, slots=True)
class NearDuplicates:
    """Pairs of texts that are nearly the same.

    Attributes:
        threshold: cosine above which a pair counts.
        pairs: number of pairs (unordered) above it.
        flagged: rows with at least one such partner, shape (n,).
        nearest: the pairs of highest cosine, ``(row, row, cosine)`` with the smaller row first; highest cosine first,
            then by rows.
    """

    threshold: float
    pairs: int
    flagged: NDArray[np.bool_]
    nearest: tuple[tuple[int, int, float], ...]

    @property
    def share(self) -> float:
        """Share of the texts that have a near-duplicate."""
        return float(self.flagged.mean())


def near_duplicates(vectors: ArrayLike, *, threshold: float = DUPLICATE, keep: int = 100) -> NearDuplicates:
    """Find pairs of rows whose cosine is above a threshold, among all n (n - 1) / 2 (exact search, in blocks).

    Args:
        vectors: shape (n, d), n >= 2.
        threshold: strictly above it a pair counts; -1 to 1.
        keep: how many pairs to list; all are counted.

    Raises:
        MetricInputError: if there are fewer than two rows or an option is out of range, or as ``unit_vectors``.
    """
    if not -1.0 <= threshold <= 1.0:
        raise MetricInputError(f"a threshold of cosines lies between -1 and 1, got {threshold}")
    if keep < 0:
        raise MetricInputError(f"the number of pairs to keep must not be negative, got {keep}")
    unit = unit_vectors(vectors)
    _require_two(len(unit))
    pairs = 0
    flagged = np.zeros(len(unit), dtype=np.bool_)
    heap: list[tuple[float, int, int]] = []
    for first, block in _blocks(unit, upper=True):
        size = len(block)
        block[:, :size][np.tri(size, dtype=np.bool_)] = -np.inf
        above = block > threshold
        pairs += int(above.sum())
        flagged[first : first + size] |= above.any(axis=1)
        flagged[first:] |= above.any(axis=0)
        heap = heapq.nlargest(keep, heap + _top(block, above, first, keep))
    nearest = tuple((-i, -j, min(1.0, cosine)) for cosine, i, j in heap)
    return NearDuplicates(threshold, pairs, flagged, nearest)


def _top(block: Floats, above: NDArray[np.bool_], first: int, keep: int) -> list[tuple[float, int, int]]:
    """The best pairs of a block as ``(cosine, -row, -row)``, so that the largest come first in printing order."""
    rows, columns = np.nonzero(above)
    cosines = block[rows, columns]
    if cosines.size > keep > 0:
        order = np.lexsort((columns, rows, -cosines))[:keep]
        rows, columns, cosines = rows[order], columns[order], cosines[order]
    return [
        (float(c), -int(first + i), -int(first + j))
        for c, i, j in zip(cosines[:keep], rows, columns, strict=False)
    ]


def _require_two(n: int) -> None:
    if n < 2:
        raise MetricInputError(f"similarity needs at least two texts, got {n}")


_TRAP: Final = (
    "Depends on the embedding model, many of which place all texts within a narrow cone (E5: 0.7 to 1)."
)

_entry: Final = Entries("text", "embedding")

METRICS: Final = (
    _entry(
        "mean_pairwise_cosine",
        "self-similarity",
        "(|Σu|² - n) / (n(n-1)) with u the unit vectors: the mean cosine over all pairs of texts.",
        range="1 to -1/(n-1)",
        direction="lower",
        signature="vectors:NAME",
        citation="closed form ours; after Zhu et al. 2018 (Self-BLEU)",
        traps=f"{_TRAP} Including each text with itself adds 1/n.",
    ),
    _entry(
        "nearest_cosine",
        "nearest",
        "Mean over the texts of the cosine with the nearest other text.",
        range="1 to -1",
        direction="lower",
        function="nearest_cosines",
        signature="search:exact|vectors:NAME",
        citation="SMMQG (k nearest others)",
        traps=f"{_TRAP} It grows with the number of texts: compare sets of like size.",
    ),
    _entry(
        "near_duplicates",
        "near-duplicates",
        "Share of texts with another text at a cosine above the threshold.",
        range="1 to 0",
        direction="lower",
        signature="above:0.95|search:exact|vectors:NAME",
        citation="ours (0.95)",
        traps="Questions about different steps can differ in one word and be near-duplicates by cosine.",
    ),
    _entry(
        "paired_cosine",
        "cosine",
        "Mean cosine of each answer's vector with that of its reference.",
        range="-1 to 1",
        function="paired_cosines",
        signature="vectors:NAME",
        citation="Reimers and Gurevych 2019",
        traps=f"{_TRAP} Yes and no are near each other.",
    ),
)

"""Several retrievers as one: reciprocal rank fusion, the sum of standardised scores, and filling up.

References: Cormack, Clarke and Büttcher 2009 (reciprocal rank fusion, constant 60); Lee 1997 and Renda and Straccia 2003
(combining scores that were made comparable first). Neither is part of SMMQG; they are further entries of its table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from proctor.corpus.index.hits import NOTHING, Hits, hits_of
from proctor.errors import UserError
from proctor.exam.retrieval import Query, Retriever

__all__ = [
    "FUSE",
    "FUSIONS",
    "RRF_CONSTANT",
    "Fusion",
    "HybridRetriever",
    "filled_up",
    "reciprocal_rank_fusion",
    "zscore_fusion",
]

RRF_CONSTANT: Final = 60
Fusion = Literal["rrf", "zscore", "fill"]
FUSIONS: Final[tuple[Fusion, ...]] = get_args(Fusion)

_Floats = NDArray[np.float64]
_Integers = NDArray[np.int64]


def reciprocal_rank_fusion(runs: Sequence[Hits], k: int, *, constant: int = RRF_CONSTANT) -> Hits:
    """Fuse hits by ``sum of 1 / (constant + rank)``; a source that a run has not found gets nothing from it.

    Args:
        runs: hits of the same queries by different retrievers; their order changes nothing.
        k: sources to return for each query.
        constant: how little the first ranks matter more than later ones.

    Raises:
        UserError: if there are no runs, they answer different numbers of queries, or an option is out of range.
    """
    _require(runs, k)
    if constant < 0:
        raise UserError(f"the constant of reciprocal rank fusion cannot be negative, got {constant}.")
    parts: list[tuple[_Integers, _Integers, _Floats]] = []
    for run in runs:
        queries, columns = np.nonzero(run.positions != NOTHING)
        values: _Floats = 1.0 / (constant + 1.0 + columns.astype(np.float64))
        parts.append((queries, run.positions[queries, columns], values))
    return _fused(parts, len(runs[0]), k)


def zscore_fusion(runs: Sequence[Hits], k: int) -> Hits:
    """Fuse hits by the sum of standardised scores (mean 0, deviation 1 over the hits of a run for one query).

    A source that a run has not found counts there like its last hit. Sums are shifted so that this is 0, which changes
    no order.

    Args:
        runs: hits of the same queries by different retrievers; their order changes nothing.
        k: sources to return for each query.

    Raises:
        UserError: if there are no runs, they answer different numbers of queries, k is out of range, or a hit has no
            finite score.
    """
    _require(runs, k)
    parts = []
    for run in runs:
        there = run.positions != NOTHING
        queries, columns = np.nonzero(there)
        values = _standardised(run.scores.astype(np.float64), there)
        parts.append((queries, run.positions[queries, columns], values[queries, columns]))
    return _fused(parts, len(runs[0]), k)


def filled_up(runs: Sequence[Hits], k: int) -> Hits:
    """Return the hits of the first run and, where they are fewer than k, those of the next ones behind them (ours).

    So a search by words decides wherever a word is shared, and vectors give what is left. Scores are 1 over the place.

    Args:
        runs: hits of the same queries by different retrievers, the one that decides first.
        k: sources to return for each query.

    Raises:
        UserError: if there are no runs, they answer different numbers of queries, or k is out of range.
    """
    _require(runs, k)
    found: list[tuple[_Integers, NDArray[np.float32]]] = []
    for row in range(len(runs[0])):
        ranked = dict.fromkeys(at for run in runs for at in run.positions[row].tolist() if at != NOTHING)
        positions = np.array(list(ranked)[:k], dtype=np.int64)
        found.append((positions, (1.0 / np.arange(1, len(positions) + 1)).astype(np.float32)))
    return hits_of(found, k)


def _require(runs: Sequence[Hits], k: int) -> None:
    if not runs:
        raise UserError("there are no hits to fuse.", hint="name at least one retriever")
    if len({len(run) for run in runs}) > 1:
        counts = ", ".join(str(len(run)) for run in runs)
        raise UserError(f"the retrievers answered different numbers of queries ({counts}).")
    if k < 1:
        raise UserError(f"at least one source must be asked for, got {k}.")


def _standardised(scores: _Floats, there: NDArray[np.bool_]) -> _Floats:
    """Scores of each row in units of its deviation, above its smallest one; shape (queries, hits)."""
    if not np.isfinite(scores[there]).all():
        raise UserError("a hit has no finite score, so scores cannot be standardised.", hint="use rrf")
    lowest = np.where(there, scores, np.inf).min(axis=1, keepdims=True, initial=np.inf)
    above = np.where(there, scores - np.where(np.isfinite(lowest), lowest, 0.0), 0.0)
    count = np.maximum(there.sum(axis=1, keepdims=True), 1)
    mean = above.sum(axis=1, keepdims=True) / count
    spread = np.sqrt((np.where(there, above - mean, 0.0) ** 2).sum(axis=1, keepdims=True) / count)
    result: _Floats = np.divide(above, spread, out=np.zeros_like(above), where=spread > 0)
    return result


def _fused(parts: Sequence[tuple[_Integers, _Integers, _Floats]], queries: int, k: int) -> Hits:
    """Sum what each run gives to each source of each query, and keep the best k."""
    once = [_first_mentions(*part) for part in parts]
    query, position, value = (np.concatenate(column) for column in zip(*once, strict=True))
    # In the order of the values: the same sum to the last bit whatever the order of the runs.
    order = np.lexsort((value, position, query))
    query, position, value = query[order], position[order], value[order]
    begins = np.flatnonzero(np.diff(query, prepend=-1) | np.diff(position, prepend=-1))
    # Rounded as they are stored, so that scores that look equal are ties.
    sums = (np.add.reduceat(value, begins) if len(begins) else value).astype(np.float32)
    query, position = query[begins], position[begins]
    order = np.lexsort((position, -sums, query))
    query, position, sums = query[order], position[order], sums[order]
    place = np.arange(len(query)) - np.searchsorted(query, query)
    kept = place < k
    positions = np.full((queries, k), NOTHING, dtype=np.int64)
    scores = np.full((queries, k), -np.inf, dtype=np.float32)
    positions[query[kept], place[kept]] = position[kept]
    scores[query[kept], place[kept]] = sums[kept]
    return Hits(positions, scores)


def _first_mentions(
    query: _Integers, position: _Integers, value: _Floats
) -> tuple[_Integers, _Integers, _Floats]:
    """Leave out sources that a run names again for the same query."""
    both = query * (int(position.max(initial=0)) + 1) + position
    _, first = np.unique(both, return_index=True)
    return query[first], position[first], value[first]


FUSE: Final[Mapping[Fusion, Callable[[Sequence[Hits], int], Hits]]] = {
    "rrf": reciprocal_rank_fusion,
    "zscore": zscore_fusion,
    "fill": filled_up,
}


@dataclass(frozen=True)
class HybridRetriever:
    """Several retrievers, fused.

    Attributes:
        retrievers: at least two.
        fusion: ``rrf``, ``zscore`` or ``fill``.
        depth: sources that each of them is asked for; more than k, because a source may be low in one list.
        constant: of reciprocal rank fusion.
    """

    retrievers: tuple[Retriever, ...]
    fusion: Fusion = "rrf"
    depth: int = 100
    constant: int = RRF_CONSTANT

    def __post_init__(self) -> None:
        """Refuse what is no fusion.

        Raises:
            UserError: with fewer than two retrievers, an unknown fusion or a depth below 1.
        """
        if len(self.retrievers) < 2:
            raise UserError("a hybrid needs at least two retrievers.")
        if self.fusion not in FUSIONS:
            raise UserError(f"there is no fusion {self.fusion!r}.", hint=f"there are {', '.join(FUSIONS)}")
        if self.depth < 1:
            raise UserError(f"a hybrid asks for at least one source, got {self.depth}.")

    @property
    def name(self) -> str:
        """Name on the rankings, such as ``rrf(bm25+lsa-256)``."""
        return f"{self.fusion}({'+'.join(r.name for r in self.retrievers)})"

    @property
    def settings(self) -> Mapping[str, str]:
        """Choices that change the result."""
        parts = {f"{r.name}.{key}": value for r in self.retrievers for key, value in r.settings.items()}
        constant = {"rrf": str(self.constant)} if self.fusion == "rrf" else {}
        return parts | constant | {"fusion": self.fusion, "depth": str(self.depth)}

    @property
    def embedders(self) -> frozenset[str]:
        """Names of the embedders that take part."""
        return frozenset[str]().union(*(r.embedders for r in self.retrievers))

    def search(self, queries: Sequence[Query], k: int) -> Hits:
        """Return the k best sources of each query."""
        runs = [retriever.search(queries, max(k, self.depth)) for retriever in self.retrievers]
        if self.fusion == "rrf":
            return reciprocal_rank_fusion(runs, k, constant=self.constant)
        return FUSE[self.fusion](runs, k)

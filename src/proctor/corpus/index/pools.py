"""Which sources compete for a question, and by which scores (SMMQG says neither).

Pools: ``all`` sources in one ranking; those of the ``required_modalities`` in one ranking; ``per_modality`` the required modalities
each in a ranking of their own, of which the question's counts are taken in turn (two texts, one table, two texts …).

Scores: ``raw``, or ``zscore`` within the modality: what a query gives to captions and to passages is then comparable
(scores of CLIP between texts are mostly above those between text and image).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, Protocol, TypeVar, cast, get_args

import numpy as np
from numpy.typing import NDArray

from proctor.corpus.index.hits import NOTHING, Hits, merge_hits, no_hits
from proctor.corpus.source import MODALITIES, Modality
from proctor.errors import UserError

__all__ = ["POOLS", "SCORES", "Pool", "Score", "Searchable", "search_pool"]

Pool = Literal["all", "required_modalities", "per_modality"]
Score = Literal["raw", "zscore"]
POOLS: Final[tuple[Pool, ...]] = get_args(Pool)
SCORES: Final[tuple[Score, ...]] = get_args(Score)

Q = TypeVar("Q", bound="Sequence[str] | NDArray[Any]")
Q_contra = TypeVar("Q_contra", bound="Sequence[str] | NDArray[Any]", contravariant=True)
Counts = tuple[int, int, int]


class Searchable(Protocol[Q_contra]):
    """What pools need of an index: ``LexicalIndex`` (queries are texts) or ``DenseIndex`` (vectors)."""

    def search(self, queries: Q_contra, k: int, within: Modality | None = None) -> Hits:
        """Return the best sources of each query."""
        ...

    def moments(self, queries: Q_contra, within: Modality) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and standard deviation of each query's scores over a modality's sources."""
        ...


def search_pool(
    index: Searchable[Q],
    queries: Q,
    required: Sequence[Counts],
    k: int,
    *,
    pool: Pool = "all",
    score: Score = "raw",
) -> Hits:
    """Return the best sources of each query in its pool.

    Args:
        index: to search.
        queries: texts or vectors, as the index takes them.
        required: how many texts, tables and images each query needs; with the pool ``all`` it is not looked at.
        k: at most so many.
        pool: who competes.
        score: by what. Rankings ``per_modality`` cannot be compared: the scores of what they are dealt to are 1 over the place.

    Raises:
        UserError: if pool or score is unknown, there are not as many requirements as queries, or one that the pool needs has
            no modality.
    """
    if pool not in POOLS:
        raise UserError(f"There is no pool {pool!r}.", hint=f"One of {', '.join(POOLS)}.")
    if score not in SCORES:
        raise UserError(f"There is no score {score!r} of a pool.", hint=f"One of {', '.join(SCORES)}.")
    if pool == "all":
        return _one_ranking(index, queries, MODALITIES, k, score)
    if len(required) != len(queries):
        raise UserError(f"{len(queries)} queries were asked with the requirements of {len(required)}.")
    whole = no_hits(len(queries), k)
    for counts, rows in _groups(required).items():
        asked = _taken(queries, rows)
        modalities = [m for m, n in zip(MODALITIES, counts, strict=True) if n]
        if pool == "required_modalities":
            hits = _one_ranking(index, asked, modalities, k, score)
        else:
            hits = _dealt([index.search(asked, k, m) for m in modalities], [n for n in counts if n], k)
        whole.positions[rows], whole.scores[rows] = hits.positions, hits.scores
    return whole


def _groups(required: Sequence[Counts]) -> dict[Counts, list[int]]:
    groups: dict[Counts, list[int]] = {}
    for row, counts in enumerate(required):
        if len(counts) != len(MODALITIES) or min(counts) < 0 or not sum(counts):
            raise UserError(
                f"Query {row} needs {counts} texts, tables and images; a pool by modalities needs at least one.",
                hint="Use the pool 'all' for questions whose modalities are not known.",
            )
        groups.setdefault(counts, []).append(row)
    return groups


def _taken(queries: Q, rows: list[int]) -> Q:
    if isinstance(queries, np.ndarray):
        return cast(Q, queries[rows])
    return cast(Q, [queries[row] for row in rows])


def _one_ranking(
    index: Searchable[Q], queries: Q, modalities: Sequence[Modality], k: int, score: Score
) -> Hits:
    if score == "raw" and len(modalities) == len(MODALITIES):
        return index.search(queries, k, None)
    parts = [index.search(queries, k, modality) for modality in modalities]
    if score == "zscore":
        moments = [index.moments(queries, modality) for modality in modalities]
        parts = [_standard(part, *both) for part, both in zip(parts, moments, strict=True)]
    return merge_hits(parts, k)


def _standard(hits: Hits, mean: NDArray[np.float64], deviation: NDArray[np.float64]) -> Hits:
    """Distance of scores from the mean in standard deviations; 0 where all scores are equal."""
    divisor = np.where(deviation > 0, deviation, np.inf)[:, None]
    found = hits.positions != NOTHING
    scores = np.where(found, hits.scores, 0).astype(np.float64)
    standard = np.where(found, (scores - mean[:, None]) / divisor, -np.inf)
    return Hits(hits.positions, standard.astype(np.float32))


def _dealt(parts: list[Hits], counts: list[int], k: int) -> Hits:
    """Take from the rankings in turn, of each as many as its count."""
    hits = no_hits(len(parts[0]), k)
    turns = [(place // n, m, place) for m, n in enumerate(counts) for place in range(k)]
    order = sorted(turns)
    for row in range(len(hits)):
        dealt = [parts[m].positions[row, place] for _, m, place in order]
        found = [position for position in dealt if position != NOTHING][:k]
        hits.positions[row, : len(found)] = found
        hits.scores[row, : len(found)] = 1 / np.arange(1, len(found) + 1)
    return hits

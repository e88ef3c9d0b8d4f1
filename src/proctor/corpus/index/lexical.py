"""Search by words: BM25 over the texts of sources (SMMQG), by bm25s.

    score(q, s) = Σ over the different words t of q:  idf(t) · f (k1 + 1) / (f + k1 (1 − b + b · len(s) / mean length))
    idf(t) = ln(1 + (N − n + 0.5) / (n + 0.5))

with k1 = 1.2 and b = 0.75 (the paper gives none). Words are runs of letters, digits and underscores in lower case; none is
left out or stemmed. A source without any of a query's words is no hit.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from proctor.corpus.index.hits import (
    Hits,
    Modalities,
    best,
    checked_k,
    checked_modalities,
    hits_of,
    positions_within,
)
from proctor.corpus.source import Modality
from proctor.errors import MissingExtraError, UserError

__all__ = ["EXTRA", "K1", "B", "LexicalIndex", "Postings", "words_of"]

K1: Final = 1.2
B: Final = 0.75
EXTRA: Final = "corpus"

_WORD: Final = re.compile(r"\w+")
_COMPILE_FROM: Final = 20_000
"""Sources from which compiling the scorer (a second) is worth it; both add up in the same order."""


def words_of(text: str) -> list[str]:
    """Return the words of a text, in lower case and in order."""
    return _WORD.findall(text.lower())


@dataclass(frozen=True, slots=True)
class Postings:
    """Scores of words in sources, sorted by word (a sparse matrix, column by column)."""

    scores: NDArray[np.float32]
    sources: NDArray[np.int32]
    starts: NDArray[np.int64]


class LexicalIndex:
    """BM25 over texts; make it with ``build``."""

    def __init__(
        self, vocabulary: Sequence[str], postings: Postings, modalities: Modalities, k1: float, b: float
    ) -> None:
        self.vocabulary = vocabulary
        self.postings = postings
        self.modalities = modalities
        self.k1 = k1
        self.b = b
        self._ids = {word: id_ for id_, word in enumerate(vocabulary)}
        self._score = _scorer(postings, len(modalities))
        self._positions: dict[Modality | None, NDArray[np.int64]] = {}

    def __len__(self) -> int:
        """Return the number of sources."""
        return len(self.modalities)

    @property
    def signature(self) -> str:
        """Names the function: what is scored and how."""
        return f"bm25|k1={self.k1:g}|b={self.b:g}|idf=lucene|tokens=\\w+ lower"

    @classmethod
    def build(
        cls,
        texts: Iterable[str],
        modalities: NDArray[Any] | None = None,
        *,
        k1: float = K1,
        b: float = B,
        seen: Callable[[], None] | None = None,
    ) -> LexicalIndex:
        """Build an index over the texts of sources, in the order of their positions.

        Args:
            texts: one for each source; an empty one is never found.
            modalities: one number for each source; None if all are texts.
            k1: how fast repeating a word stops to count; 0 or more.
            b: how much long texts pay; from 0 to 1.
            seen: called after each text (for progress bars).

        Raises:
            UserError: if a parameter makes no sense, or there are not as many modalities as texts.
            MissingExtraError: without bm25s.
        """
        if not (k1 >= 0 and 0 <= b <= 1):
            raise UserError(f"BM25 needs k1 of 0 or more and b from 0 to 1, not k1 = {k1} and b = {b}.")
        ids: defaultdict[str, int] = defaultdict()
        ids.default_factory = ids.__len__  # the next number
        documents: list[array[int]] = []
        for text in texts:
            documents.append(array("i", map(ids.__getitem__, words_of(text))))
            if seen is not None:
                seen()
        codes = checked_modalities(modalities, len(documents))
        return cls(list(ids), _postings(documents, len(ids), k1, b), codes, k1, b)

    def scores(self, query: str) -> NDArray[np.float32]:
        """Return the score of every source, 0 where no word is shared; shape (sources,)."""
        known = [self._ids[word] for word in dict.fromkeys(words_of(query)) if word in self._ids]
        return self._score(np.asarray(known, np.int32))

    def search(self, queries: Sequence[str], k: int, within: Modality | None = None) -> Hits:
        """Return the ``k`` best sources of each query that share a word with it.

        Args:
            queries: questions or entities.
            k: at most so many.
            within: only sources of this modality (scores are those of the whole corpus).

        Raises:
            UserError: if ``k`` is less than one, or there is no such modality.
        """
        k = checked_k(k)
        positions = self._within(within)
        return hits_of([self._find(query, k, positions, within) for query in queries], k)

    def moments(
        self, queries: Sequence[str], within: Modality
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and standard deviation of each query's scores over a modality's sources; 0 without any."""
        positions = self._within(within)
        if not len(positions):
            return np.zeros(len(queries)), np.zeros(len(queries))
        values = [self.scores(query)[positions].astype(np.float64) for query in queries]
        return np.array([v.mean() for v in values]), np.array([v.std() for v in values])

    def _within(self, within: Modality | None) -> NDArray[np.int64]:
        if within not in self._positions:
            self._positions[within] = positions_within(self.modalities, within)
        return self._positions[within]

    def _find(
        self, query: str, k: int, positions: NDArray[np.int64], within: Modality | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        scores = self.scores(query)
        if within is not None:
            scores = scores[positions]
        found = best(scores, k)
        found = found[scores[found] > 0]
        return positions[found], scores[found]


# -- bm25s -----------------------------------------------------------------------------------------------------


def _postings(documents: list[array[int]], words: int, k1: float, b: float) -> Postings:
    if not words:  # bm25s divides by the mean length
        return Postings(np.empty(0, np.float32), np.empty(0, np.int32), np.zeros(1, np.int64))
    built = _bm25s(k1, b).build_index_from_ids(range(words), documents, show_progress=False)
    return Postings(
        built["data"].astype(np.float32, copy=False),
        built["indices"].astype(np.int32, copy=False),
        built["indptr"].astype(np.int64, copy=False),
    )


def _scorer(postings: Postings, sources: int) -> Callable[[NDArray[np.int32]], NDArray[np.float32]]:
    model = _bm25s(K1, B)  # its parameters are in the postings already
    model.scores = {
        "data": postings.scores,
        "indices": postings.sources,
        "indptr": postings.starts,
        "num_docs": sources,
    }
    model.nonoccurrence_array = None
    if sources >= _COMPILE_FROM and _has_numba():
        model.activate_numba_scorer()

    def score(words: NDArray[np.int32]) -> NDArray[np.float32]:
        if not len(words):
            return np.zeros(sources, np.float32)
        found: NDArray[np.float32] = model.get_scores_from_ids(words)
        return found

    return score


def _bm25s(k1: float, b: float) -> Any:
    """ATIRE's form of the term's part has the factor (k1 + 1); Lucene's of the idf is ours."""
    try:
        import bm25s  # type: ignore[import-untyped,unused-ignore]
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or "bm25s", EXTRA, "Search by words") from None
    return bm25s.BM25(k1=k1, b=b, method="atire", idf_method="lucene", dtype="float32", int_dtype="int32")


def _has_numba() -> bool:
    from importlib.util import find_spec

    return find_spec("numba") is not None

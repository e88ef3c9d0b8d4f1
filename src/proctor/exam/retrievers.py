"""The entries of SMMQG's retrieval table: words (BM25), vectors of texts (E5 and its like), vectors of pixels (CLIP).

Each is an index of ``proctor.corpus.index`` with a pool (which sources compete, ``proctor.corpus.index.pools``) and, for
vectors, the embedder of the questions. CLIP is a dense retriever, too: ``embed_corpus`` gives
it the pixels where they are at hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from numpy.typing import NDArray

from proctor.corpus.embed.embedder import Embedder
from proctor.corpus.index.hits import Hits
from proctor.corpus.index.lexical import LexicalIndex
from proctor.corpus.index.pools import Pool, Score, Searchable, search_pool
from proctor.errors import UserError
from proctor.exam.retrieval import Query

__all__ = ["BM25", "DenseRetriever", "LexicalRetriever", "VectorIndex"]


BM25: Final = "bm25"
"""Name of the search by words."""


class VectorIndex(Searchable[NDArray[Any]], Protocol):
    """An index of vectors (``DenseIndex``, ``ApproximateIndex``)."""

    @property
    def signature(self) -> str:
        """Names the function: which vectors are searched and how."""
        ...

    def __len__(self) -> int:
        """Return the number of sources."""
        ...


@dataclass(frozen=True)
class LexicalRetriever:
    """Search by words.

    Attributes:
        index: over the texts of the corpus.
        pool: which sources compete.
        score: raw, or standardised within the modality.
    """

    index: LexicalIndex
    pool: Pool = "all"
    score: Score = "raw"

    @property
    def name(self) -> str:
        """``bm25``, with pool and score where they are not the usual ones."""
        return BM25 + _suffix(self.pool, self.score)

    @property
    def settings(self) -> Mapping[str, str]:
        """Index, pool and score."""
        return {"index": self.index.signature, "pool": self.pool, "score": self.score}

    @property
    def embedders(self) -> frozenset[str]:
        """No embedder, but what may have chosen the questions' sources."""
        return frozenset({BM25})

    def search(self, queries: Sequence[Query], k: int) -> Hits:
        """Return the k best sources of each query."""
        texts = [query.text for query in queries]
        return search_pool(
            self.index, texts, [q.modalities for q in queries], k, pool=self.pool, score=self.score
        )


@dataclass(frozen=True)
class DenseRetriever:
    """Search by vectors.

    Attributes:
        embedder: of the questions, the same as of the sources.
        index: over the vectors of the sources.
        pool: which sources compete.
        score: raw, or standardised within the modality: for CLIP, whose cosines between texts are above those between text
            and picture.
        label: name in tables; the embedder's where it is empty.
    """

    embedder: Embedder
    index: VectorIndex
    pool: Pool = "all"
    score: Score = "raw"
    label: str = ""

    def __post_init__(self) -> None:
        """Refuse an index of other vectors.

        Raises:
            UserError: if the index was made by another embedder.
        """
        made_by = _embedder_of(self.index)
        if made_by not in ("", self.embedder.name):
            raise UserError(
                f"the index holds vectors of '{made_by}', the questions are embedded by "
                f"'{self.embedder.name}'.",
                hint="embed the sources with the same embedder, or open the one of the index",
            )

    @property
    def name(self) -> str:
        """Name of the embedder, with pool and score where they are not the usual ones."""
        return (self.label or self.embedder.name) + _suffix(self.pool, self.score)

    @property
    def settings(self) -> Mapping[str, str]:
        """Embedder, index, pool and score."""
        return {
            "embedder": self.embedder.name,
            "index": self.index.signature,
            "pool": self.pool,
            "score": self.score,
        }

    @property
    def embedders(self) -> frozenset[str]:
        """The embedder."""
        return frozenset({self.embedder.name})

    def search(self, queries: Sequence[Query], k: int) -> Hits:
        """Return the k best sources of each query."""
        vectors = self.embedder.embed([query.text for query in queries], "query")
        required = [query.modalities for query in queries]
        return search_pool(self.index, vectors, required, k, pool=self.pool, score=self.score)


def _embedder_of(index: object) -> str:
    """Return the embedder of an index, or of the exact one that an approximate index rests on; empty where it is not said."""
    for holder in (index, getattr(index, "exact", None)):
        name = getattr(holder, "embedder", "")
        if isinstance(name, str) and name:
            return name
    return ""


def _suffix(pool: Pool, score: Score) -> str:
    parts = [word for word, usual in ((pool, "all"), (score, "raw")) if word != usual]
    return f" [{', '.join(parts)}]" if parts else ""

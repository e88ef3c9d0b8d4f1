"""The entries of SMMQG's retrieval table: words (BM25), vectors of texts (E5 and its like), vectors of pixels (CLIP).

Each is an index of ``proctor.corpus.index`` with a pool (which sources compete, ``proctor.corpus.index.pools``) and, for
vectors, the embedder of the questions. CLIP is a dense retriever whose index was made with ``pixel_vectors``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from proctor.corpus.collection import Corpus
from proctor.corpus.embed.embedder import Embedder, PixelEmbedder, Vectors
from proctor.corpus.index.hits import Hits
from proctor.corpus.index.lexical import LexicalIndex
from proctor.corpus.index.pools import Pool, Score, Searchable, search_pool
from proctor.corpus.source import render_source
from proctor.errors import UserError
from proctor.evaluate.retrieval import Query

__all__ = ["DenseRetriever", "LexicalRetriever", "PixelTexts", "VectorIndex", "pixel_vectors"]

_BATCH: Final = 256
"""Texts or pictures that are embedded at a time."""


class VectorIndex(Searchable[NDArray[Any]], Protocol):
    """An index of vectors (``DenseIndex``, ``ApproximateIndex``)."""

    @property
    def signature(self) -> str:
        """Names the function: which vectors are searched and how."""
        ...

    def __len__(self) -> int:
        """Return the number of sources."""
        ...


class PixelTexts(Embedder, PixelEmbedder, Protocol):
    """An embedder of texts and of pictures, whose vectors can be compared."""


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
        return "bm25" + _suffix(self.pool, self.score)

    @property
    def settings(self) -> Mapping[str, str]:
        """Index, pool and score."""
        return {"index": self.index.signature, "pool": self.pool, "score": self.score}

    @property
    def embedders(self) -> frozenset[str]:
        """None takes part."""
        return frozenset()

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


def pixel_vectors(
    corpus: Corpus, embedder: PixelTexts, *, seen: Callable[[], None] | None = None
) -> tuple[Vectors, tuple[str, ...]]:
    """Embed a corpus as SMMQG's CLIP entry does: pictures by their pixels, texts and tables by their words.

    Args:
        corpus: of the sources.
        embedder: of both.
        seen: called after each source (for progress bars).

    Returns:
        One row a source, and the ids of images that were embedded by caption and description, because their pixels are missing.

    Raises:
        UserError: if a picture cannot be read or a text is empty.
    """
    paths = {place: path for place, s in enumerate(corpus) if (path := corpus.pixels(s)) is not None}
    words = [place for place in range(len(corpus)) if place not in paths]
    vectors = np.zeros((len(corpus), embedder.dimension), dtype=np.float32)
    for places in _batched(words):
        texts = [render_source(corpus.sources[place]) for place in places]
        vectors[places] = embedder.embed(texts, "passage")
        _tell(seen, len(places))
    for places in _batched(list(paths)):
        vectors[places] = embedder.embed_images([paths[place] for place in places])
        _tell(seen, len(places))
    return vectors, tuple(corpus.sources[p].id for p in words if corpus.sources[p].modality == "image")


def _batched(places: Sequence[int]) -> list[list[int]]:
    return [list(places[begin : begin + _BATCH]) for begin in range(0, len(places), _BATCH)]


def _tell(seen: Callable[[], None] | None, times: int) -> None:
    for _ in range(times if seen is not None else 0):
        assert seen is not None
        seen()

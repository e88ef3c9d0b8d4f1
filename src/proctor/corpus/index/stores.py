"""Stores of vectors behind one search: the embedded index, and servers for corpora that outgrow one machine.

``DenseIndex`` and ``ApproximateIndex`` are the embedded store; ``qdrant:http://host:6333`` names a Qdrant server and
``postgresql://user@host/database`` PostgreSQL with the extension pgvector. All find the same sources with the same scores: a
server chooses candidates, and what it returns is scored and ranked here like everywhere else.

On a server the vectors' place is named after the corpus' fingerprint, the embedder and the numbers of both, so that an index
cannot be out of step with its corpus: another corpus has another place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from proctor.corpus.embed.embedder import Vectors
from proctor.corpus.index.exact import Found, cosines, ranked
from proctor.corpus.index.hits import Hits, Modalities
from proctor.corpus.source import Modality
from proctor.errors import UserError
from proctor.records import content_hash

__all__ = ["Fetch", "VectorStore", "build_store", "check_complete", "settled", "store_name"]

_MORE: Final = 8
_NOISE: Final = 2e-5
_WIDER: Final = 4

Fetch: TypeAlias = Callable[[Vectors, int, bool], list[tuple[NDArray[np.int64], Vectors]]]
"""Returns positions and vectors of about the nearest sources of each query: (queries, how many, exactly?)."""


class VectorStore(Protocol):
    """Vectors of all sources of a corpus, wherever they are."""

    def __len__(self) -> int:
        """Return the number of sources."""
        ...

    @property
    def signature(self) -> str:
        """Names the function: which vectors are searched and how."""
        ...

    def search(self, queries: NDArray[Any], k: int, within: Modality | None = None) -> Hits:
        """Return the ``k`` sources of highest cosine for each query, of one modality or of all."""
        ...


def build_store(
    place: str,
    vectors: Vectors,
    modalities: Modalities,
    *,
    corpus: str,
    embedder: str,
    exact: bool = True,
    seen: Callable[[int], None] | None = None,
) -> VectorStore:
    """Write vectors to a server and return them as a store; goes on where an earlier call was interrupted.

    Args:
        place: ``qdrant:URL`` or ``postgresql://…``.
        vectors: one row of length one for each source.
        modalities: one number for each source.
        corpus: fingerprint of the corpus.
        embedder: name of what made the vectors.
        exact: search exactly; otherwise by the server's graphs (HNSW).
        seen: called with the number of sources that are there, after each batch.

    Raises:
        UserError: if there is no such kind of place, the server cannot be reached or refuses, or a vector is unusable.
        MissingExtraError: without the server's client.
    """
    kind, at = _kind_of(place)
    if kind == "qdrant":
        from proctor.corpus.index.qdrant import QdrantStore

        return QdrantStore.build(
            at, vectors, modalities, corpus=corpus, embedder=embedder, exact=exact, seen=seen
        )
    from proctor.corpus.index.pgvector import PgvectorStore

    return PgvectorStore.build(
        at, vectors, modalities, corpus=corpus, embedder=embedder, exact=exact, seen=seen
    )


def _kind_of(place: str) -> tuple[str, str]:
    if place.startswith("qdrant:"):
        return "qdrant", place.removeprefix("qdrant:")
    if place.startswith(("postgresql://", "postgres://")):
        return "pgvector", place
    raise UserError(
        f"there is no store of vectors '{place.partition('://')[0]}'.",
        hint="qdrant:http://host:6333 or postgresql://user@host/database; folders are opened by open_vectors.",
    )


def store_name(corpus: str, embedder: str, dimension: int, sources: int) -> str:
    """Return the name of a corpus' vectors on a server."""
    return f"proctor_{content_hash([corpus, embedder, dimension, sources])}"


def check_complete(there: int, sources: int, where: str) -> None:
    """See that all vectors are on a server.

    Raises:
        UserError: if they are not.
    """
    if there != sources:
        raise UserError(
            f"{there} of {sources} vectors of this corpus are there.",
            where=where,
            hint="Build the index again.",
        )


def settled(queries: Vectors, k: int, there: int, fetch: Fetch, *, exact: bool, where: str) -> list[Found]:
    """Return the best sources of each query among what a server returns.

    An exact search asks for more where the last candidates are too close for the server's rounding; an approximate one is
    repeated exactly where it returned fewer than there are.

    Args:
        queries: shape (queries, dimension).
        k: at most so many.
        there: sources that may be found.
        fetch: asks the server.
        exact: whether the search is.
        where: the server, for messages.

    Raises:
        UserError: if the server lacks sources.
    """
    wanted, limit = min(k, there), min(k + _MORE, there)
    if not wanted:
        return [(np.empty(0, np.int64), np.empty(0))] * len(queries)
    found: list[Found] = []
    for n, (rows, vectors) in enumerate(fetch(queries, limit, exact)):
        query, sure = queries[n : n + 1], exact
        if not exact and len(rows) < wanted:
            ((rows, vectors),), sure = fetch(query, limit, True), True
        scores, asked = cosines(query, vectors[None])[0], limit
        while sure and asked < there:
            spare = len(scores) - wanted
            if spare >= 0 and scores.min() < np.partition(scores, spare)[spare] - _NOISE:
                break  # nothing that was not returned can be among the best
            asked = min(_WIDER * asked, there)
            rows, vectors = fetch(query, asked, True)[0]
            scores = cosines(query, vectors[None])[0]
        if len(rows) < wanted:
            raise UserError(
                f"the store returned {len(rows)} of {wanted} sources.",
                where=where,
                hint="Build the index again.",
            )
        found.append(ranked(scores, rows, k))
    return found

"""Vectors on a Qdrant server, or in its client's own memory (``:memory:``) for trying it out."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from proctor.corpus.embed.embedder import Vectors
from proctor.corpus.index.hits import (
    CODES,
    Hits,
    Modalities,
    checked_k,
    checked_modalities,
    hits_of,
    positions_within,
)
from proctor.corpus.index.stores import check_complete, settled, store_name
from proctor.corpus.index.vectors import check_vectors, checked_queries
from proctor.corpus.source import Modality
from proctor.errors import MissingExtraError, UserError

__all__ = ["EXTRA", "KEY", "QdrantStore"]

EXTRA: Final = "qdrant"
KEY: Final = "QDRANT_API_KEY"
"""Environment variable with the server's key, if it wants one."""

_ROWS: Final = 256
_QUERIES: Final = 16
_SECONDS: Final = 60
_MEMORY: Final = ":memory:"
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


class QdrantStore:
    """Search by cosine in a collection of Qdrant; make it with ``build`` or ``open``.

    Args:
        client: of the server.
        url: of the server, or ``:memory:``.
        name: of the collection.
        modalities: one number for each source.
        embedder: name of what made the vectors.
        dimension: numbers in a vector.
        exact: whether the server compares with all vectors.
    """

    def __init__(
        self,
        client: Any,
        url: str,
        name: str,
        modalities: Modalities,
        *,
        embedder: str,
        dimension: int,
        exact: bool = True,
    ) -> None:
        self._client = client
        self.url = url
        self.name = name
        self.modalities = modalities
        self.embedder = embedder
        self.dimension = dimension
        self.exact = exact

    @classmethod
    def build(
        cls,
        url: str,
        vectors: Vectors,
        modalities: Modalities,
        *,
        corpus: str,
        embedder: str,
        exact: bool = True,
        client: Any = None,
        seen: Callable[[int], None] | None = None,
    ) -> QdrantStore:
        """Write vectors to the server; see ``build_store``.

        Args:
            url: of the server, or ``:memory:``.
            vectors: one row of length one for each source.
            modalities: one number for each source.
            corpus: fingerprint of the corpus.
            embedder: name of what made the vectors.
            exact: whether searches compare with all vectors.
            client: one that is connected already.
            seen: called with the number of sources that are there, after each batch.
        """
        check_vectors(vectors)
        codes = checked_modalities(modalities, len(vectors))
        client = client or _connect(url)
        name = store_name(corpus, embedder, vectors.shape[1], len(vectors))
        models = _models()
        with _told(url):
            if not client.collection_exists(name):
                size = models.VectorParams(size=vectors.shape[1], distance=models.Distance.DOT, on_disk=True)
                client.create_collection(name, vectors_config=size)
                if url != _MEMORY:
                    client.create_payload_index(name, "modality", models.PayloadSchemaType.INTEGER)
            first = (
                client.count(name, exact=True).count // _ROWS * _ROWS
            )  # written in order, a batch or nothing
            for start in range(first, len(vectors), _ROWS):
                stop = min(start + _ROWS, len(vectors))
                batch = models.Batch(
                    ids=list(range(start, stop)),
                    vectors=np.asarray(vectors[start:stop]).tolist(),
                    payloads=[{"modality": int(code)} for code in codes[start:stop]],
                )
                client.upsert(name, points=batch, wait=True)
                if seen is not None:
                    seen(stop)
        return cls.open(
            url,
            codes,
            corpus=corpus,
            embedder=embedder,
            dimension=vectors.shape[1],
            exact=exact,
            client=client,
        )

    @classmethod
    def open(
        cls,
        url: str,
        modalities: Modalities,
        *,
        corpus: str,
        embedder: str,
        dimension: int,
        exact: bool = True,
        client: Any = None,
    ) -> QdrantStore:
        """Return what ``build`` wrote."""
        client = client or _connect(url)
        name = store_name(corpus, embedder, dimension, len(modalities))
        with _told(url):
            there = client.count(name, exact=True).count if client.collection_exists(name) else 0
        check_complete(there, len(modalities), url)
        return cls(client, url, name, modalities, embedder=embedder, dimension=dimension, exact=exact)

    def __len__(self) -> int:
        """Return the number of sources."""
        return len(self.modalities)

    @property
    def signature(self) -> str:
        """Names the function: which vectors are searched and how."""
        return f"dense|{self.embedder}|{'exact' if self.exact else 'qdrant-hnsw'}"

    def search(self, queries: NDArray[Any], k: int, within: Modality | None = None) -> Hits:
        """Return the ``k`` sources of highest cosine for each query.

        Args:
            queries: shape (queries, dimension), rows of length one.
            k: at most so many.
            within: only sources of this modality; the server filters while it searches.

        Raises:
            UserError: if a query is no such vector, ``k`` is less than one, there is no such modality, or the server does not
                answer.
        """
        vectors, k = checked_queries(queries, self.dimension), checked_k(k)
        there = len(positions_within(self.modalities, within))

        def fetch(part: Vectors, limit: int, exact: bool) -> list[tuple[NDArray[np.int64], Vectors]]:
            return self._fetch(part, limit, exact, within)

        return hits_of(
            [
                (rows, scores.astype(np.float32))
                for start in range(0, len(vectors), _QUERIES)
                for rows, scores in settled(
                    vectors[start : start + _QUERIES], k, there, fetch, exact=self.exact, where=self.url
                )
            ],
            k,
        )

    def _fetch(
        self, queries: Vectors, limit: int, exact: bool, within: Modality | None
    ) -> list[tuple[NDArray[np.int64], Vectors]]:
        models = _models()
        only = models.FieldCondition(
            key="modality", match=models.MatchValue(value=-1 if within is None else CODES[within])
        )
        requests = [
            models.QueryRequest(
                query=query.tolist(),
                limit=limit,
                with_vector=True,
                filter=None if within is None else models.Filter(must=[only]),
                params=None if self.url == _MEMORY else models.SearchParams(exact=exact),
            )
            for query in queries
        ]
        with _told(self.url):
            answers = self._client.query_batch_points(self.name, requests=requests)
        return [
            (
                np.array([point.id for point in answer.points], np.int64),
                np.array([point.vector for point in answer.points], np.float32).reshape(-1, self.dimension),
            )
            for answer in answers
        ]


def _connect(url: str) -> Any:
    try:
        from qdrant_client import QdrantClient
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or "qdrant-client", EXTRA, "A Qdrant store") from None
    if url == _MEMORY:
        return QdrantClient(_MEMORY)
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UserError("this is no address of a Qdrant server.", where=url, hint="qdrant:http://host:6333")
    key = os.environ.get(KEY) or None
    if key is not None and parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise UserError(
            f"the key in {KEY} would be sent to the server unencrypted.",
            where=url,
            hint="Use https, or unset it.",
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a key on the loopback, which nobody else reads
        return QdrantClient(url=url, api_key=key, timeout=_SECONDS, check_compatibility=False)


def _models() -> Any:
    try:
        from qdrant_client import models
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or "qdrant-client", EXTRA, "A Qdrant store") from None
    return models


@contextmanager
def _told(url: str) -> Iterator[None]:
    """Tell what the server did instead of answering."""
    from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

    try:
        yield
    except UnexpectedResponse as error:
        reason = f"{error.status_code} {error.reason_phrase}".strip()
        hint = f"Is the key in {KEY} right?" if error.status_code in (401, 403) else "See the server's log."
        raise UserError(f"the Qdrant server answered {reason}.", where=url, hint=hint) from None
    except ResponseHandlingException as error:
        raise UserError(
            f"the Qdrant server cannot be asked: {error}.",
            where=url,
            hint="Does it run, and is this its address?",
        ) from None
    except ApiException as error:
        raise UserError(f"the Qdrant server cannot be asked: {error}.", where=url) from None

"""Vectors in PostgreSQL with the extension pgvector: one table for each corpus and embedder."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
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
    merge_hits,
    no_hits,
    positions_within,
)
from proctor.corpus.index.stores import check_complete, settled, store_name
from proctor.corpus.index.vectors import check_vectors, checked_queries
from proctor.corpus.source import MODALITIES, Modality
from proctor.errors import MissingExtraError, UserError

if TYPE_CHECKING:
    from psycopg import Connection

__all__ = ["EXTRA", "PgvectorStore"]

EXTRA: Final = "pgvector"

_ROWS: Final = 4096
_EFFORT: Final = 100
_MOST_EFFORT: Final = 1000
_MOST_INDEXED: Final = 2000
"""Numbers in a vector that pgvector can index."""
_MOST_PLAIN: Final = 1900
"""Numbers in a vector that fits into a page, so that a scan need not look elsewhere for it."""


class PgvectorStore:
    """Search by cosine in a table of PostgreSQL; make it with ``build`` or ``open``. May be used by several threads in turn.

    Args:
        connection: of psycopg, to which the type ``vector`` is known.
        where: the server without its password, for messages.
        name: of the table.
        modalities: one number for each source.
        embedder: name of what made the vectors.
        dimension: numbers in a vector.
        exact: whether all vectors are compared with.
    """

    def __init__(
        self,
        connection: Connection[Any],
        where: str,
        name: str,
        modalities: Modalities,
        *,
        embedder: str,
        dimension: int,
        exact: bool = True,
    ) -> None:
        self._connection = connection
        self._turn = threading.Lock()
        self.where = where
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
        seen: Callable[[int], None] | None = None,
    ) -> PgvectorStore:
        """Write vectors to the server; see ``build_store``. Graphs are of one modality each, so that no filter follows a search."""
        check_vectors(vectors)
        codes = checked_modalities(modalities, len(vectors))
        dimension = vectors.shape[1]
        if not exact and dimension > _MOST_INDEXED:
            raise UserError(
                f"pgvector has graphs for vectors of up to {_MOST_INDEXED} numbers; these have {dimension}.",
                hint="Search exactly.",
            )
        name, where = store_name(corpus, embedder, dimension, len(vectors)), _where(url)
        connection = _connect(url)
        with _closed_on_error(connection), _told(where):
            connection.execute("SELECT pg_advisory_lock(hashtext(%s))", [name])
            _fill(connection, name, vectors, codes, seen)
            if not exact:
                _add_graphs(connection, name, codes)
            connection.execute("SELECT pg_advisory_unlock(hashtext(%s))", [name])
        return cls(connection, where, name, codes, embedder=embedder, dimension=dimension, exact=exact)

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
    ) -> PgvectorStore:
        """Return what ``build`` wrote."""
        name, where = store_name(corpus, embedder, dimension, len(modalities)), _where(url)
        connection = _connect(url)
        with _closed_on_error(connection), _told(where):
            found = connection.execute("SELECT to_regclass(%s)", [name]).fetchone()
            there = _count(connection, name) if found is not None and found[0] is not None else 0
            check_complete(there, len(modalities), where)
        return cls(connection, where, name, modalities, embedder=embedder, dimension=dimension, exact=exact)

    def __len__(self) -> int:
        """Return the number of sources."""
        return len(self.modalities)

    def __enter__(self) -> PgvectorStore:
        """Return the store, to be closed at the end of the block."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the connection."""
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @property
    def signature(self) -> str:
        """Names the function: which vectors are searched and how."""
        return f"dense|{self.embedder}|{'exact' if self.exact else 'pgvector-hnsw'}"

    def search(self, queries: NDArray[Any], k: int, within: Modality | None = None) -> Hits:
        """Return the ``k`` sources of highest cosine for each query.

        Args:
            queries: shape (queries, dimension), rows of length one.
            k: at most so many.
            within: only sources of this modality.

        Raises:
            UserError: if a query is no such vector, ``k`` is less than one, there is no such modality, or the server does not
                answer.
        """
        vectors, k = checked_queries(queries, self.dimension), checked_k(k)
        if within is None and not self.exact:  # a graph of each modality
            parts = [self._search(vectors, k, modality) for modality in MODALITIES]
            return merge_hits(parts, k)
        return self._search(vectors, k, within)

    def _search(self, queries: Vectors, k: int, within: Modality | None) -> Hits:
        there = len(positions_within(self.modalities, within))
        if not there:
            return no_hits(len(queries), k)

        def fetch(part: Vectors, limit: int, exact: bool) -> list[tuple[NDArray[np.int64], Vectors]]:
            return self._fetch(part, limit, exact, within)

        found = settled(queries, k, there, fetch, exact=self.exact, where=self.where)
        return hits_of([(rows, scores.astype(np.float32)) for rows, scores in found], k)

    def _fetch(
        self, queries: Vectors, limit: int, exact: bool, within: Modality | None
    ) -> list[tuple[NDArray[np.int64], Vectors]]:
        from psycopg import sql

        # the number stands in the text: a partial index is used only where the planner sees that it applies
        only = sql.SQL("") if within is None else sql.SQL("WHERE modality = {}").format(CODES[within])
        ask = sql.SQL("SELECT position, embedding FROM {} {} ORDER BY embedding <#> %b LIMIT {}").format(
            sql.Identifier(self.name), only, limit
        )
        found: list[tuple[NDArray[np.int64], Vectors]] = []
        with self._turn, _told(self.where), self._connection.transaction():
            for setting in _settings(exact, limit):
                self._connection.execute(setting)
            for query in queries:
                with self._connection.cursor(binary=True) as cursor:
                    rows = cursor.execute(ask, [query]).fetchall()
                numbers = [vector.to_numpy() for _, vector in rows]
                found.append(
                    (
                        np.array([position for position, _ in rows], np.int64),
                        np.array(numbers, np.float32).reshape(-1, self.dimension),
                    )
                )
        return found


def _settings(exact: bool, limit: int) -> list[str]:
    if exact:
        return ["SET LOCAL enable_indexscan = off"]
    effort = min(max(_EFFORT, limit), _MOST_EFFORT)
    return [f"SET LOCAL hnsw.ef_search = {effort}", "SET LOCAL enable_seqscan = off"]


# -- writing ---------------------------------------------------------------------------------------------------


def _fill(
    connection: Connection[Any],
    name: str,
    vectors: Vectors,
    modalities: Modalities,
    seen: Callable[[int], None] | None,
) -> None:
    from psycopg import sql

    table, dimension = sql.Identifier(name), vectors.shape[1]
    connection.execute(
        sql.SQL(
            "CREATE TABLE IF NOT EXISTS {} "
            "(position bigint PRIMARY KEY, modality smallint NOT NULL, embedding vector({}) NOT NULL)"
        ).format(table, dimension)
    )
    if dimension <= _MOST_PLAIN:
        connection.execute(sql.SQL("ALTER TABLE {} ALTER COLUMN embedding SET STORAGE PLAIN").format(table))
    copy_in = sql.SQL("COPY {} (position, modality, embedding) FROM STDIN (FORMAT BINARY)").format(table)
    for start in range(_count(connection, name), len(vectors), _ROWS):  # written in order, a batch or nothing
        stop = min(start + _ROWS, len(vectors))
        with connection.transaction(), connection.cursor() as cursor, cursor.copy(copy_in) as copy:
            copy.set_types(["int8", "int2", "vector"])
            for position in range(start, stop):
                copy.write_row((position, int(modalities[position]), np.asarray(vectors[position])))
        if seen is not None:
            seen(stop)


def _add_graphs(connection: Connection[Any], name: str, modalities: Modalities) -> None:
    from psycopg import sql

    for modality, code in CODES.items():
        if (modalities == code).any():
            connection.execute(
                sql.SQL(
                    "CREATE INDEX IF NOT EXISTS {} ON {} USING hnsw (embedding vector_ip_ops) WHERE modality = {}"
                ).format(sql.Identifier(f"{name}_{modality}"), sql.Identifier(name), code)
            )


def _count(connection: Connection[Any], name: str) -> int:
    from psycopg import sql

    row = connection.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(name))).fetchone()
    return int(row[0]) if row is not None else 0


# -- connection ------------------------------------------------------------------------------------------------


def _connect(url: str) -> Connection[Any]:
    try:
        import psycopg
        from pgvector.psycopg import register_vector
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or "pgvector", EXTRA, "A store in PostgreSQL") from None
    with _told(_where(url)):
        connection = psycopg.connect(url, autocommit=True, connect_timeout=30)
        with _closed_on_error(connection):
            connection.execute("SET client_min_messages = warning")
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            register_vector(connection)
    return connection


def _where(url: str) -> str:
    """The server's address without user and password."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "PostgreSQL"
    return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}"


@contextmanager
def _closed_on_error(connection: Connection[Any]) -> Iterator[None]:
    """Nobody gets the connection when this fails; what it had locked is free then."""
    try:
        yield
    except BaseException:
        connection.close()
        raise


@contextmanager
def _told(where: str) -> Iterator[None]:
    """Tell what the server did instead of answering."""
    import psycopg

    try:
        yield
    except psycopg.errors.FeatureNotSupported as error:
        raise UserError(
            f"PostgreSQL lacks the extension pgvector: {_line(error)}.",
            where=where,
            hint="Install pgvector on the server, and let its owner run CREATE EXTENSION vector.",
        ) from None
    except psycopg.errors.UndefinedFile as error:
        raise UserError(
            f"PostgreSQL lacks the extension pgvector: {_line(error)}.",
            where=where,
            hint="Install pgvector on the server.",
        ) from None
    except psycopg.Error as error:
        raise UserError(f"PostgreSQL cannot be asked: {_line(error)}.", where=where) from None


def _line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")

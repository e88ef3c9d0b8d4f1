"""The append-only store of verdicts: SQLite in one file by default, PostgreSQL by URL.

Nothing is ever changed or deleted. A later verdict of the same annotator in the same role on the same candidate
supersedes the earlier one; both stay in the history. "Later" means saved later, not dated later: clocks may be
set back. A verdict is identified by the hash of its whole content, so saving it twice (a retry after a lost
connection) stores it once.

An append is acknowledged when it is on disk: SQLite runs with a write-ahead log and full synchronisation, writers
take their turn (``BEGIN IMMEDIATE``, a busy timeout; an advisory lock on PostgreSQL). SQLAlchemy is imported when
a store is opened, not before.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from proctor.errors import MissingExtraError, UserError
from proctor.generate.candidate import Candidate
from proctor.records import Dropped, canonical_json, content_hash, decode
from proctor.verify.verdict import Verdict

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, Select, Table

__all__ = ["SCHEMA_VERSION", "StoredVerdict", "VerdictStore", "split_stale", "verdict_key"]

SCHEMA_VERSION: Final = 1
BUSY_SECONDS: Final = 30.0
"""How long a writer waits for its turn before it gives up."""

_LOCK_KEY: Final = 0x70726F63
"""Names the advisory lock of PostgreSQL; any number that nobody else uses."""


class StoredVerdict(NamedTuple):
    """A verdict with its place in the history: 1, 2, 3, ... with gaps."""

    sequence: int
    verdict: Verdict


def verdict_key(verdict: Verdict) -> tuple[str, str, str]:
    """Return what a later verdict supersedes an earlier one by: candidate, annotator and role."""
    return verdict.candidate_id, verdict.annotator, verdict.role


def split_stale(
    verdicts: Iterable[Verdict], candidates: Mapping[str, Candidate]
) -> tuple[list[Verdict], list[Dropped]]:
    """Split off the verdicts that were given on something else than today's candidates.

    Returns:
        The verdicts that hold, and for each of the others the reason: ``candidate-unknown`` or
        ``candidate-changed`` (its content hash is not the one that the annotator saw).
    """
    hashes = {name: content_hash(candidate) for name, candidate in candidates.items()}
    good: list[Verdict] = []
    stale: list[Dropped] = []
    for verdict in verdicts:
        now = hashes.get(verdict.candidate_id)
        who = f"{verdict.role} {verdict.annotator}"
        if now is None:
            stale.append(Dropped(verdict.candidate_id, "candidate-unknown", who))
        elif verdict.candidate_hash and verdict.candidate_hash != now:
            detail = f"{who} saw {verdict.candidate_hash}, it is {now} now"
            stale.append(Dropped(verdict.candidate_id, "candidate-changed", detail))
        else:
            good.append(verdict)
    return good, stale


class VerdictStore:
    """A store of verdicts; use ``VerdictStore.open`` and close it, or use it in a ``with`` block."""

    def __init__(self, engine: Engine, place: str) -> None:
        self._engine = engine
        self._place = place

    @classmethod
    def open(
        cls, target: str | Path, *, create: bool = True, busy_seconds: float = BUSY_SECONDS
    ) -> VerdictStore:
        """Open a store, made if there is none.

        Args:
            target: path of the SQLite file, or a ``postgresql://`` URL.
            create: make a store where there is none.
            busy_seconds: how long a writer waits for others.

        Raises:
            UserError: if it cannot be opened, is no store of verdicts, or was written by a newer Proctor.
            MissingExtraError: for a PostgreSQL URL without psycopg.
        """
        text = str(target)
        if "://" in text:
            engine, place = _postgres_engine(text, busy_seconds)
        else:
            path = Path(target)
            _check_file(path, create=create)
            engine, place = _sqlite_engine(path, busy_seconds), str(path)
        store = cls(engine, place)
        try:
            store._prepare(create=create)
        except BaseException:
            store.close()
            raise
        return store

    def close(self) -> None:
        """Give all connections back. Errors while closing are of no use to anybody."""
        with suppress(Exception):
            self._engine.dispose()

    def __enter__(self) -> VerdictStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- writing ---------------------------------------------------------------------------------------------

    def append(self, verdict: Verdict) -> bool:
        """Save one verdict; when this returns it is on disk. False when exactly this one was there already."""
        return self.append_many([verdict]) == 1

    def append_many(self, verdicts: Iterable[Verdict]) -> int:
        """Save verdicts, all or none, and return how many were new.

        Raises:
            UserError: if the disk is full, the file cannot be written, or other writers do not finish in time.
        """
        from sqlalchemy import func, select

        rows = [_row_of(verdict) for verdict in verdicts]
        if not rows:
            return 0
        table = _tables().verdicts
        with self._transaction(write=True) as connection:
            before = int(
                connection.execute(select(func.coalesce(func.max(table.c.sequence), 0))).scalar_one()
            )
            connection.execute(_insert_new(connection, table), rows)
            new = select(func.count()).select_from(table).where(table.c.sequence > before)
            return int(connection.execute(new).scalar_one())

    # -- reading ---------------------------------------------------------------------------------------------

    def history(
        self, candidate_id: str | None = None, *, annotator: str | None = None, after: int = 0
    ) -> list[StoredVerdict]:
        """Return every verdict ever saved, oldest first, superseded ones included.

        Args:
            candidate_id: only of this candidate.
            annotator: only of this annotator.
            after: only those with a later sequence number.
        """
        from sqlalchemy import select

        table = _tables().verdicts
        query = select(table.c.sequence, table.c.body).where(table.c.sequence > after)
        if candidate_id is not None:
            query = query.where(table.c.candidate_id == candidate_id)
        if annotator is not None:
            query = query.where(table.c.annotator == annotator)
        return self._read(query.order_by(table.c.sequence))

    def latest(self, candidate_id: str | None = None) -> list[Verdict]:
        """Return the verdicts that hold: the last one of each annotator and role on each candidate."""
        from sqlalchemy import func, select

        table = _tables().verdicts
        last = select(func.max(table.c.sequence)).group_by(
            table.c.candidate_id, table.c.annotator, table.c.role
        )
        query = select(table.c.sequence, table.c.body).where(table.c.sequence.in_(last.scalar_subquery()))
        if candidate_id is not None:
            query = query.where(table.c.candidate_id == candidate_id)
        return [stored.verdict for stored in self._read(query.order_by(table.c.sequence))]

    def __len__(self) -> int:
        """Return how many verdicts were ever saved."""
        with self._transaction() as connection:
            return _count(connection, _tables().verdicts)

    def _read(self, query: Select[Any]) -> list[StoredVerdict]:
        with self._transaction() as connection:
            rows = connection.execute(query).all()
        return [
            StoredVerdict(n, decode(_bytes(body), Verdict, f"{self._place}: verdict {n}")) for n, body in rows
        ]

    # -- plumbing --------------------------------------------------------------------------------------------

    @contextmanager
    def _transaction(self, *, write: bool = False) -> Iterator[Connection]:
        from sqlalchemy.exc import DBAPIError, IntegrityError

        try:
            with self._engine.connect() as connection:
                connection = connection.execution_options(proctor_write=write)
                with connection.begin():
                    if write and connection.dialect.name == "postgresql":
                        from sqlalchemy import func, select

                        # One writer at a time keeps sequence numbers in the order of commits, so that a reader
                        # who asks for everything after n never misses a verdict that was still on its way.
                        connection.execute(select(func.pg_advisory_xact_lock(_LOCK_KEY)))
                    yield connection
        except IntegrityError:
            raise
        except DBAPIError as error:
            raise self._explain(error) from error
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._explain(error) from error

    def _explain(self, error: Exception) -> UserError:
        cause = str(getattr(error, "orig", None) or error).strip().splitlines()
        text = cause[0] if cause else type(error).__name__
        hints = {
            "not a database": "this is not an SQLite file; give another path or restore a copy",
            "malformed": "the file is damaged; restore a copy",
            "disk I/O error": "check free space and permissions; what was saved before is safe",
            "full": "free some space and save again; what was saved before is safe",
            "readonly": "make the file and its folder writable",
            "unable to open": "check that the folder exists and is writable",
            "codec": "the file is damaged; restore a copy",
            "locked": "another process has been writing for too long; try again",
        }
        hint = next(
            (h for sign, h in hints.items() if sign in text), "check the address and that it can be used"
        )
        return UserError(f"the store of verdicts cannot be used: {text}.", where=self._place, hint=hint)

    def _prepare(self, *, create: bool) -> None:
        """Make sure that the tables are there and are ours."""
        version = self._version()
        if version is None and create:
            self._refuse_foreign_file()
            self._use_write_ahead_log()
            with self._transaction(write=True) as connection:
                _create_tables(connection)
            version = self._version()
        if version is None:
            raise UserError(
                "there is no store of verdicts here.", where=self._place, hint="verify something first"
            )
        if not version.isdecimal():
            raise UserError(
                f"its schema version is {version[:40]!r}, a number was expected.",
                where=self._place,
                hint="restore a copy",
            )
        if int(version) > SCHEMA_VERSION:
            raise UserError(
                f"it was written by a newer Proctor (schema {version}; this one knows {SCHEMA_VERSION}).",
                where=self._place,
                hint="pip install --upgrade proctor-bench",
            )

    def _refuse_foreign_file(self) -> None:
        """A file that another program keeps its tables in is left alone; a PostgreSQL database may be shared."""
        from sqlalchemy import inspect

        if self._engine.dialect.name != "sqlite":
            return
        tables = _tables()
        with self._transaction() as connection:
            names = set(inspect(connection).get_table_names())
        others = names - {tables.meta.name, tables.verdicts.name}
        if others:
            raise UserError(
                f"this database belongs to something else: it has a table '{min(others)[:40]}'.",
                where=self._place,
                hint="give a new file for the verdicts",
            )

    def _use_write_ahead_log(self) -> None:
        """Switch the file for good; SQLite does not wait for other processes here, so this does."""
        if self._engine.dialect.name != "sqlite":
            return
        give_up = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                with closing(self._engine.raw_connection()) as connection:
                    connection.cursor().execute("PRAGMA journal_mode = WAL")
            except sqlite3.Error as error:
                if "locked" not in str(error) or time.monotonic() > give_up:
                    raise self._explain(error) from error
                time.sleep(0.02)
            else:
                return

    def _version(self) -> str | None:
        from sqlalchemy import inspect, select

        meta = _tables().meta
        with self._transaction() as connection:
            if not inspect(connection).has_table(meta.name):
                return None
            value = connection.execute(select(meta.c.value).where(meta.c.key == "schema_version")).scalar()
        return None if value is None else str(value)


# -- tables --------------------------------------------------------------------------------------------------


class _Tables(NamedTuple):
    meta: Table
    verdicts: Table


@cache
def _tables() -> _Tables:
    from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, Table, Text

    metadata = MetaData()
    meta = Table(
        "proctor_verdicts_meta",
        metadata,
        Column("key", Text, primary_key=True),
        Column("value", Text, nullable=False),
    )
    verdicts = Table(
        "proctor_verdicts",
        metadata,
        Column(
            "sequence", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True
        ),
        Column("digest", Text, nullable=False, unique=True),
        Column("candidate_id", Text, nullable=False),
        Column("annotator", Text, nullable=False),
        Column("role", Text, nullable=False),
        Column("body", Text, nullable=False),
        sqlite_autoincrement=True,
    )
    Index("proctor_verdicts_key", verdicts.c.candidate_id, verdicts.c.annotator, verdicts.c.role)
    return _Tables(meta, verdicts)


def _create_tables(connection: Connection) -> None:
    """Make what is not there yet; another process may be doing the same."""
    tables = _tables()
    tables.verdicts.metadata.create_all(connection, checkfirst=True)
    row = {"key": "schema_version", "value": str(SCHEMA_VERSION)}
    connection.execute(_insert_new(connection, tables.meta), [row])


def _insert_new(connection: Connection, table: Table) -> Any:
    """Return an INSERT that leaves rows alone which are there already."""
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import insert as insert_postgres

        return insert_postgres(table).on_conflict_do_nothing()
    from sqlalchemy.dialects.sqlite import insert as insert_sqlite

    return insert_sqlite(table).on_conflict_do_nothing()


def _count(connection: Connection, table: Table) -> int:
    from sqlalchemy import func, select

    return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def _row_of(verdict: Verdict) -> dict[str, str]:
    try:
        body = canonical_json(verdict)
    except UnicodeEncodeError as error:
        raise UserError(f"a verdict holds text that is not Unicode: {error.reason}.") from None
    if any("\x00" in part for part in verdict_key(verdict)):
        # PostgreSQL cannot hold NUL in text. In the body JSON writes it as an escape.
        raise UserError("a candidate id or an annotator's name holds a NUL character.")
    return {
        "digest": hashlib.sha256(body).hexdigest(),
        "candidate_id": verdict.candidate_id,
        "annotator": verdict.annotator,
        "role": verdict.role,
        "body": body.decode(),
    }


def _bytes(body: object) -> bytes:
    return body if isinstance(body, bytes) else str(body).encode("utf-8", "replace")


# -- engines -------------------------------------------------------------------------------------------------


def _check_file(path: Path, *, create: bool) -> None:
    if path.is_dir():
        raise UserError(
            "this is a folder, a file for the verdicts was expected.",
            where=str(path),
            hint=f"try {path / 'verification.sqlite'}",
        )
    try:
        there = path.exists()
    except OSError as error:
        raise UserError(f"cannot be opened: {error.strerror or error}.", where=str(path)) from None
    if not there and not create:
        raise UserError("there is no such file.", where=str(path), hint="verify something first")
    if not there:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f"its folder cannot be made: {error.strerror or error}.", where=str(path)
            ) from None


def _sqlite_engine(path: Path, busy_seconds: float) -> Engine:
    from sqlalchemy import URL, create_engine, event

    engine = create_engine(
        URL.create("sqlite", database=str(path.absolute())), connect_args={"timeout": busy_seconds}
    )

    @event.listens_for(engine, "connect")
    def _connect(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # transactions are begun below, not by the driver
        cursor = connection.cursor()
        try:
            cursor.execute(f"PRAGMA busy_timeout = {int(busy_seconds * 1000)}")
            cursor.execute("PRAGMA synchronous = FULL")
        except BaseException:
            connection.close()  # a connection that fails here never reaches the pool that would close it
            raise
        finally:
            with suppress(sqlite3.ProgrammingError):  # it was closed with its connection
                cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        write = connection.get_execution_options().get("proctor_write")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


def _postgres_engine(text: str, busy_seconds: float) -> tuple[Engine, str]:
    from sqlalchemy import create_engine, make_url
    from sqlalchemy.exc import ArgumentError

    shown = text.split("://", 1)[0] + "://…"
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise UserError("this is not a database URL.", where=shown, hint=_URL_FORM) from None
    if url.get_backend_name() not in ("postgresql", "postgres"):
        raise UserError(f"'{url.drivername}' databases are not supported.", where=shown, hint=_URL_FORM)
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise MissingExtraError("psycopg", "postgres", "a store of verdicts in PostgreSQL") from None
    options = {"connect_timeout": 10, "options": f"-c lock_timeout={int(busy_seconds * 1000)}"}
    engine = create_engine(url.set(drivername="postgresql+psycopg"), connect_args=options, pool_pre_ping=True)
    return engine, url.render_as_string(hide_password=True)


_URL_FORM: Final = "give a file name or postgresql://user:password@host:port/database"

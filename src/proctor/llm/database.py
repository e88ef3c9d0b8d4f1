"""The tables of the call store, and how SQLite and PostgreSQL are opened. SQLAlchemy is imported when a store is opened.

SQLite runs with a write-ahead log and full synchronisation: what was committed survives a killed process and a lost
power supply. Writers take their turn (``BEGIN IMMEDIATE`` with a busy timeout; an advisory lock on PostgreSQL), so that
whoever is in a writing transaction is alone in it and may look before it writes.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from proctor.errors import MissingExtraError, UserError

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, Table

__all__ = ["SCHEMA_VERSION", "Database", "Tables", "tables"]

SCHEMA_VERSION: Final = 1

_LOCK_KEY: Final = 0x70726F64
"""Names the advisory lock of PostgreSQL; the store of verdicts uses another number."""
_PAGE_BYTES: Final = 8192
"""Of a new file: a request of a few thousand characters and its outcome fit on one page."""
_CACHE_KIB: Final = 16_384
_URL_FORM: Final = "give a file name or postgresql://user:password@host:port/database"
_HINTS: Final = {
    "not a database": "this is not an SQLite file; give another path or restore a copy",
    "malformed": "the file is damaged; restore a copy",
    "disk I/O error": "check free space and permissions; what was saved before is safe",
    "full": "free some space and run again; what was saved before is safe",
    "readonly": "make the file and its folder writable",
    "unable to open": "check that the folder exists and is writable",
    "codec": "the file is damaged; restore a copy",
    "locked": "another process has been writing for too long; try again",
    "no such column": "the tables are not Proctor's; give another path or restore a copy",
    "no such table": "the tables are not complete; give another path or restore a copy",
}


class Tables(NamedTuple):
    """What a store consists of."""

    meta: Table
    calls: Table
    attempts: Table
    owners: Table
    claims: Table


@cache
def tables() -> Tables:
    """Return the tables; wide columns come last, since SQLite walks over them to reach what is behind."""
    from sqlalchemy import BigInteger, Column, Double, Index, Integer, MetaData, Table, Text

    metadata = MetaData()
    big = BigInteger().with_variant(Integer, "sqlite")
    meta = Table(
        "proctor_calls_meta",
        metadata,
        Column("key", Text, primary_key=True),
        Column("value", Text, nullable=False),
    )
    calls = Table(
        "proctor_calls",
        metadata,
        Column("key", Text, primary_key=True),
        Column("model", Text, nullable=False),
        Column("stage", Text, nullable=False),
        Column("kind", Text, nullable=False),
        Column("created", Double, nullable=False),
        Column("seconds", Double),
        Column("input", big),
        Column("output", big),
        Column("cached", big),
        Column("cost", big),
        Column("outcome", Text),
        Column("request", Text, nullable=False),
    )
    attempts = Table(
        "proctor_call_attempts",
        metadata,
        Column("sequence", big, primary_key=True, autoincrement=True),
        Column("key", Text, nullable=False),
        Column("number", Integer, nullable=False),
        Column("started", Double, nullable=False),
        Column("seconds", Double, nullable=False),
        Column("kind", Text, nullable=False),
        Column("status", Integer),
        Column("input", big),
        Column("output", big),
        Column("cached", big),
        Column("reasoning", big),
        Column("cost", big),
        Column("retry_after", Double),
        Column("message", Text, nullable=False),
    )
    Index("proctor_call_attempts_key", attempts.c.key)
    owners = Table(
        "proctor_call_owners",
        metadata,
        Column("owner", Text, primary_key=True),
        Column("host", Text, nullable=False),
        Column("pid", big, nullable=False),
        Column("began", Text, nullable=False),
        Column("beat", big, nullable=False),
    )
    claims = Table(
        "proctor_call_claims",
        metadata,
        Column("key", Text, primary_key=True),
        Column("owner", Text, nullable=False),
    )
    Index("proctor_call_claims_owner", claims.c.owner)
    return Tables(meta, calls, attempts, owners, claims)


class Database:
    """An engine, and transactions whose errors are explained.

    Args:
        engine: of SQLAlchemy.
        place: file or URL without a password, for messages.
        busy_seconds: how long a writer waits for others.
    """

    def __init__(self, engine: Engine, place: str, busy_seconds: float) -> None:
        self.engine = engine
        self.place = place
        self._busy_seconds = busy_seconds

    @classmethod
    def open(cls, target: str | Path, *, create: bool, busy_seconds: float) -> Database:
        """Connect and make sure that the tables are there and are ours.

        Raises:
            UserError: if it cannot be opened, is no store of calls, or was written by a newer Proctor.
            MissingExtraError: for a PostgreSQL URL without psycopg.
        """
        text = str(target)
        if "://" in text:
            engine, place = _postgres_engine(text, busy_seconds)
        else:
            path = Path(target)
            _check_file(path, create=create)
            engine, place = _sqlite_engine(path, busy_seconds), str(path)
        database = cls(engine, place, busy_seconds)
        try:
            database._prepare(create=create)
        except BaseException:
            database.close()
            raise
        return database

    def close(self) -> None:
        """Give all connections back. Errors while closing are of no use to anybody."""
        with suppress(Exception):
            self.engine.dispose()

    @property
    def is_sqlite(self) -> bool:
        """True for SQLite, false for PostgreSQL."""
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Yield a connection; nothing is begun yet."""
        with self.explained(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def transaction(
        self, connection: Connection | None = None, *, write: bool = False
    ) -> Iterator[Connection]:
        """Yield a connection in a transaction, committed at the end.

        Args:
            connection: to be used; one of the pool when None.
            write: take the turn of a writer at once.

        Raises:
            UserError: if the database cannot be used: a full disk, a lost connection, no turn in time.
        """
        if connection is None:
            with self.connection() as own, self.transaction(own, write=write):
                yield own
            return
        with self.explained():
            connection.execution_options(proctor_write=write)
            with connection.begin():
                if write and not self.is_sqlite:
                    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK_KEY})")
                yield connection

    def insert_new(self, table: Table) -> Any:
        """Return an INSERT that leaves rows alone which are there already."""
        return self.insert(table).on_conflict_do_nothing()

    def insert(self, table: Table) -> Any:
        """Return the dialect's own INSERT, which knows ON CONFLICT."""
        if self.is_sqlite:
            from sqlalchemy.dialects.sqlite import insert as insert_sqlite

            return insert_sqlite(table)
        from sqlalchemy.dialects.postgresql import insert as insert_postgres

        return insert_postgres(table)

    def prepared(self, statement: Any, names: Sequence[str]) -> Callable[[Connection, Sequence[Row]], None]:
        """Compile a statement once for many rows; binding them one by one costs several times the statement itself.

        Args:
            statement: of SQLAlchemy Core.
            names: of its parameters; each row has them all.
        """
        compiled = statement.compile(dialect=self.engine.dialect, column_keys=list(names))
        sql, order = str(compiled), compiled.positiontup
        if order is None:
            return lambda connection, rows: _exec(connection, sql, list(rows))
        pick = itemgetter(*order) if len(order) > 1 else lambda row: (row[order[0]],)
        return lambda connection, rows: _exec(connection, sql, list(map(pick, rows)))

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn errors of the database into ones that say what to do."""
        from sqlalchemy.exc import DBAPIError

        try:
            yield
        except (DBAPIError, sqlite3.Error, UnicodeDecodeError) as error:
            raise self._explain(error) from error

    def _explain(self, error: Exception) -> UserError:
        cause = str(getattr(error, "orig", None) or error).strip().splitlines()
        text = cause[0] if cause else type(error).__name__
        hint = next((h for sign, h in _HINTS.items() if sign in text), None)
        return UserError(
            f"the store of calls cannot be used: {text}.",
            where=self.place,
            hint=hint or "check the address and that it can be used",
        )

    # -- the first time ------------------------------------------------------------------------------------

    def _prepare(self, *, create: bool) -> None:
        version = self._version()
        if version is None and create:
            self._refuse_foreign_file()
            self._use_write_ahead_log()
            with self.transaction(write=True) as connection:
                tables().meta.metadata.create_all(connection, checkfirst=True)
                row = {"key": "schema_version", "value": str(SCHEMA_VERSION)}
                connection.execute(self.insert_new(tables().meta), [row])
            version = self._version()
        if version is None:
            raise UserError("there is no store of calls here.", where=self.place, hint="run something first")
        if not version.isdecimal():
            raise UserError(
                f"its schema version is {version[:40]!r}, a number was expected.",
                where=self.place,
                hint="restore a copy",
            )
        if int(version) > SCHEMA_VERSION:
            raise UserError(
                f"it was written by a newer Proctor (schema {version}; this one knows {SCHEMA_VERSION}).",
                where=self.place,
                hint="pip install --upgrade proctor-bench",
            )

    def _version(self) -> str | None:
        from sqlalchemy import inspect, select

        meta = tables().meta
        with self.transaction() as connection:
            if not inspect(connection).has_table(meta.name):
                return None
            value = connection.execute(select(meta.c.value).where(meta.c.key == "schema_version")).scalar()
        return None if value is None else str(value)

    def _refuse_foreign_file(self) -> None:
        """A file that another program keeps its tables in is left alone; a PostgreSQL database may be shared."""
        from sqlalchemy import inspect

        if not self.is_sqlite:
            return
        with self.transaction() as connection:
            names = set(inspect(connection).get_table_names())
        others = names - {table.name for table in tables()}
        if others:
            raise UserError(
                f"this database belongs to something else: it has a table '{min(others)[:40]}'.",
                where=self.place,
                hint="give a new file for the calls",
            )

    def _use_write_ahead_log(self) -> None:
        """Switch the file for good; SQLite does not wait for other processes here, so this does."""
        if not self.is_sqlite:
            return
        give_up = time.monotonic() + self._busy_seconds
        while True:
            try:
                with closing(self.engine.raw_connection()) as connection:
                    connection.cursor().execute(f"PRAGMA page_size = {_PAGE_BYTES}")
                    connection.cursor().execute("PRAGMA journal_mode = WAL")
            except sqlite3.Error as error:
                if "locked" not in str(error) or time.monotonic() > give_up:
                    raise self._explain(error) from error
                time.sleep(0.02)
            else:
                return


Row = Mapping[str, Any]


def _exec(connection: Connection, sql: str, rows: list[Any]) -> None:
    connection.exec_driver_sql(sql, rows)


# -- engines -------------------------------------------------------------------------------------------------


def _check_file(path: Path, *, create: bool) -> None:
    if path.is_dir():
        raise UserError(
            "this is a folder, a file for the calls was expected.",
            where=str(path),
            hint=f"try {path / 'calls.sqlite'}",
        )
    try:
        there = path.exists()
    except (OSError, ValueError) as error:
        raise UserError(
            f"cannot be opened: {getattr(error, 'strerror', None) or error}.", where=str(path)
        ) from None
    if not there and not create:
        raise UserError(
            "there is no such file.", where=str(path), hint="check the path, or run something first"
        )
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
        try:
            with closing(connection.cursor()) as cursor:
                cursor.execute(f"PRAGMA busy_timeout = {int(busy_seconds * 1000)}")
                cursor.execute("PRAGMA synchronous = FULL")
                cursor.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        except BaseException:
            with suppress(sqlite3.ProgrammingError):
                connection.close()  # one that fails here never reaches the pool that would close it
            raise

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
        raise MissingExtraError("psycopg", "postgres", "a store of calls in PostgreSQL") from None
    options = {"connect_timeout": 10, "options": f"-c lock_timeout={int(busy_seconds * 1000)}"}
    engine = create_engine(url.set(drivername="postgresql+psycopg"), connect_args=options, pool_pre_ping=True)
    return engine, url.render_as_string(hide_password=True)

"""Databases that stores keep their rows in: SQLite in one file, PostgreSQL by URL, opened and used alike.

SQLite runs with a write-ahead log and full synchronisation: what was committed survives a killed process and a lost
power supply. Writers take their turn (``BEGIN IMMEDIATE`` with a busy timeout; an advisory lock on PostgreSQL), so that
whoever is in a writing transaction is alone in it and may look before it writes. SQLAlchemy is imported when a database
is opened, not before.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from proctor.errors import MissingExtraError, UserError

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, Table

__all__ = ["Database", "Row", "StoreKind"]

Row = Mapping[str, Any]

_URL_FORM: Final = "give a file name or postgresql://user:password@host:port/database"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreKind:
    """What a store is: its tables, and its words in messages.

    Attributes:
        things: what it keeps (``verdicts``).
        file_name: of the file, as a hint.
        first: what makes a store where there is none (``verify something first``).
        again: what to do when there is space again (``save again``).
        schema_version: of the tables; any other is refused.
        lock_key: names the advisory lock of PostgreSQL; every kind its own.
        tables: returns all tables; the first one has the columns ``key`` and ``value``, for the version.
        page_bytes: of a new file; SQLite's own when None.
        cache_kib: pages kept in memory; SQLite's own when None.
    """

    things: str
    file_name: str
    first: str
    again: str
    schema_version: int
    lock_key: int
    tables: Callable[[], Sequence[Table]]
    page_bytes: int | None = None
    cache_kib: int | None = None

    @property
    def hints(self) -> Mapping[str, str]:
        """What to do about an error, by a sign in its text."""
        return {
            "not a database": "this is not an SQLite file; give another path or restore a copy",
            "malformed": "the file is damaged; restore a copy",
            "disk I/O error": "check free space and permissions; what was saved before is safe",
            "full": f"free some space and {self.again}; what was saved before is safe",
            "readonly": "make the file and its folder writable",
            "unable to open": "check that the folder exists and is writable",
            "codec": "the file is damaged; restore a copy",
            "locked": "another process has been writing for too long; try again",
            "no such column": "the tables are not Proctor's; give another path or restore a copy",
            "no such table": "the tables are not complete; give another path or restore a copy",
        }


class Database:
    """An engine, and transactions whose errors are explained.

    Args:
        kind: of the store.
        engine: of SQLAlchemy.
        place: file or URL without a password, for messages.
        busy_seconds: how long a writer waits for others.
    """

    def __init__(self, kind: StoreKind, engine: Engine, place: str, busy_seconds: float) -> None:
        self.kind = kind
        self.engine = engine
        self.place = place
        self._busy_seconds = busy_seconds

    @classmethod
    def open(cls, kind: StoreKind, target: str | Path, *, create: bool, busy_seconds: float) -> Database:
        """Connect and make sure that the tables are there and are ours.

        Args:
            kind: of the store.
            target: path of the SQLite file, or a ``postgresql://`` URL.
            create: make a store where there is none.
            busy_seconds: how long a writer waits for others.

        Raises:
            UserError: if it cannot be opened, is no store of this kind, or was written by a newer Proctor.
            MissingExtraError: for a PostgreSQL URL without psycopg.
        """
        text = str(target)
        if "://" in text:
            engine, place = _postgres_engine(kind, text, busy_seconds)
        else:
            path = Path(target)
            _check_file(kind, path, create=create)
            engine, place = _sqlite_engine(kind, path, busy_seconds), str(path)
        database = cls(kind, engine, place, busy_seconds)
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
                    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({self.kind.lock_key})")
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
        """Turn errors of the database into ones that say what to do; a broken constraint is a mistake of ours."""
        from sqlalchemy.exc import DBAPIError, IntegrityError

        try:
            yield
        except IntegrityError:
            raise
        except (DBAPIError, sqlite3.Error, UnicodeDecodeError) as error:
            raise self._explain(error) from error

    def _explain(self, error: Exception) -> UserError:
        cause = str(getattr(error, "orig", None) or error).strip().splitlines()
        text = cause[0] if cause else type(error).__name__
        hint = next((h for sign, h in self.kind.hints.items() if sign in text), None)
        return UserError(
            f"the store of {self.kind.things} cannot be used: {text}.",
            where=self.place,
            hint=hint or "check the address and that it can be used",
        )

    # -- the first time ------------------------------------------------------------------------------------

    def _prepare(self, *, create: bool) -> None:
        kind = self.kind
        version = self._version()
        if version is None and create:
            self._refuse_foreign_file()
            self._use_write_ahead_log()
            meta = kind.tables()[0]
            with self.transaction(write=True) as connection:
                meta.metadata.create_all(connection, checkfirst=True)
                row = {"key": "schema_version", "value": str(kind.schema_version)}
                connection.execute(self.insert_new(meta), [row])
            version = self._version()
        if version is None:
            raise UserError(f"there is no store of {kind.things} here.", where=self.place, hint=kind.first)
        if not version.isdecimal():
            raise UserError(
                f"its schema version is {version[:40]!r}, a number was expected.",
                where=self.place,
                hint="restore a copy",
            )
        if int(version) > kind.schema_version:
            raise UserError(
                f"it was written by a newer Proctor (schema {version}; this one knows {kind.schema_version}).",
                where=self.place,
                hint="pip install --upgrade proctor-bench",
            )
        if int(version) < kind.schema_version:
            raise UserError(
                f"it was written by an older Proctor (schema {version}; this one needs {kind.schema_version}).",
                where=self.place,
                hint="go on with that version, or begin another store",
            )

    def _version(self) -> str | None:
        from sqlalchemy import inspect, select

        meta = self.kind.tables()[0]
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
        others = names - {table.name for table in self.kind.tables()}
        if others:
            raise UserError(
                f"this database belongs to something else: it has a table '{min(others)[:40]}'.",
                where=self.place,
                hint=f"give a new file for the {self.kind.things}",
            )

    def _use_write_ahead_log(self) -> None:
        """Switch the file for good; SQLite does not wait for other processes here, so this does."""
        if not self.is_sqlite:
            return
        give_up = time.monotonic() + self._busy_seconds
        while True:
            try:
                with closing(self.engine.raw_connection()) as connection:
                    if self.kind.page_bytes is not None:
                        connection.cursor().execute(f"PRAGMA page_size = {self.kind.page_bytes}")
                    connection.cursor().execute("PRAGMA journal_mode = WAL")
            except sqlite3.Error as error:
                if "locked" not in str(error) or time.monotonic() > give_up:
                    raise self._explain(error) from error
                time.sleep(0.02)
            else:
                return


def _exec(connection: Connection, sql: str, rows: list[Any]) -> None:
    connection.exec_driver_sql(sql, rows)


# -- engines -------------------------------------------------------------------------------------------------


def _check_file(kind: StoreKind, path: Path, *, create: bool) -> None:
    if path.is_dir():
        raise UserError(
            f"this is a folder, a file for the {kind.things} was expected.",
            where=str(path),
            hint=f"try {path / kind.file_name}",
        )
    try:
        there = path.exists()
    except (OSError, ValueError) as error:
        raise UserError(
            f"cannot be opened: {getattr(error, 'strerror', None) or error}.", where=str(path)
        ) from None
    if not there and not create:
        raise UserError("there is no such file.", where=str(path), hint=f"check the path, or {kind.first}")
    if not there:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f"its folder cannot be made: {error.strerror or error}.", where=str(path)
            ) from None


def _sqlite_engine(kind: StoreKind, path: Path, busy_seconds: float) -> Engine:
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
                if kind.cache_kib is not None:
                    cursor.execute(f"PRAGMA cache_size = -{kind.cache_kib}")
        except BaseException:
            with suppress(sqlite3.ProgrammingError):
                connection.close()  # one that fails here never reaches the pool that would close it
            raise

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        write = connection.get_execution_options().get("proctor_write")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


def _postgres_engine(kind: StoreKind, text: str, busy_seconds: float) -> tuple[Engine, str]:
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
        raise MissingExtraError("psycopg", "postgres", f"a store of {kind.things} in PostgreSQL") from None
    options = {"connect_timeout": 10, "options": f"-c lock_timeout={int(busy_seconds * 1000)}"}
    engine = create_engine(url.set(drivername="postgresql+psycopg"), connect_args=options, pool_pre_ping=True)
    return engine, url.render_as_string(hide_password=True)

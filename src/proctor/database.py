"""Databases that stores keep their rows in: SQLite in one file, PostgreSQL by URL, opened and used alike.

SQLite runs with a write-ahead log and full synchronisation: what was committed survives a killed process and a lost
power supply. Writers take their turn (``BEGIN IMMEDIATE`` with a busy timeout; an advisory lock on PostgreSQL), so that
whoever is in a writing transaction is alone in it and may look before it writes. SQLAlchemy is imported when a database
is opened, not before.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from itertools import starmap
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from proctor.errors import MissingExtraError, UserError

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, Select, Table

__all__ = [
    "Database",
    "NoTurnError",
    "Note",
    "Row",
    "StoreKind",
    "ask_along",
    "fetch_all",
    "fetch_one",
    "fetch_together",
    "forget_known",
    "run",
]

Row = Mapping[str, Any]
T = TypeVar("T")

_WAITING: Final = "proctor_waiting"
"""In a connection's ``info``: statements that are sent with the next question; see ``Database.transaction``."""
_LOST: Final = "proctor_lost"
"""In a connection's ``info``: what statements failed with that others had left waiting."""
_PREPARED: Final = "proctor_prepared"
"""In a connection's ``info``: names of its prepared statements."""
_KNOWN: Final = "proctor_known"
"""In a connection's ``info``: see ``Note``."""
_MOST_WAITING: Final = 256
"""Statements that wait together: a long write is sent in parts."""
_IDLE_SECONDS: Final = 0.5
"""A connection that rested for so long is asked whether it still stands before it is used."""
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
        upgrade: brings the tables of an older version (given) to this one, inside a writing transaction.
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
    upgrade: Callable[[Connection, int], None] | None = None

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
            "lock timeout": "another process has been writing for too long; try again",
            "locked": "another process has been writing for too long; try again",
            "no such column": "the tables are not Proctor's; give another path or restore a copy",
            "no such table": "the tables are not complete; give another path or restore a copy",
        }


class NoTurnError(UserError):
    """Others were writing for longer than a writer waits."""


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
        self,
        connection: Connection | None = None,
        *,
        write: bool = False,
        deferred: bool = False,
        first: Callable[[Connection], None] | None = None,
    ) -> Iterator[Connection]:
        """Yield a connection in a transaction, committed at the end.

        Every message to PostgreSQL and its answer cost more than most statements. ``deferred`` lets the turn, what ``run``
        is given, and the commit wait for the next question, and go with it in one message. Within the transaction nobody
        can tell, for whatever is asked comes after what waits; only an error comes later than its statement, so the
        writes of several people must not share such a transaction unless all of them are taken back at an error. SQLite
        is called like a function, and nothing waits.

        Args:
            connection: to be used; one of the pool when None.
            write: take the turn of a writer at once, or with the first question when ``deferred``.
            deferred: see above.
            first: asks, with ``ask_along``, what every transaction of the caller needs.

        Raises:
            NoTurnError: if the turn of a writer did not come in time.
            UserError: if the database cannot be used: a full disk, a lost connection.
        """
        if connection is None:
            with (
                self.connection() as own,
                self.transaction(own, write=write, deferred=deferred, first=first),
            ):
                yield own
            return
        with self.explained():
            connection.execution_options(proctor_write=write)
            try:
                with connection.begin():
                    self._begin(connection, write, deferred, first)
                    if not deferred:
                        _send_waiting(connection)
                        connection.info.pop(_WAITING, None)
                    yield connection
                    if _LOST in connection.info:
                        raise connection.info[_LOST]  # whoever went on after it did not know what was lost
                    if _WAITING in connection.info:
                        # SQLAlchemy's own commit then finds nothing to commit.
                        run(connection, _commit())
                        _send_waiting(connection)
            finally:
                if not connection.invalidated:  # asking a lost one for its ``info`` would connect anew
                    for name in (_WAITING, _LOST, _KNOWN):
                        connection.info.pop(name, None)

    def _begin(
        self, connection: Connection, write: bool, deferred: bool, first: Callable[[Connection], None] | None
    ) -> None:
        connection.info[_KNOWN] = {}
        if not self.is_sqlite:
            connection.info[_WAITING] = []
            if write:
                run(connection, _turn(self.kind.lock_key, deferred))
        if first is not None:
            first(connection)

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
        no_turn = "lock timeout" in text or "is locked" in text
        return (NoTurnError if no_turn else UserError)(
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
        if int(version) < kind.schema_version and kind.upgrade is not None:
            self._upgrade(int(version), kind.upgrade)
        elif int(version) < kind.schema_version:
            raise UserError(
                f"it was written by an older Proctor (schema {version}; this one needs {kind.schema_version}).",
                where=self.place,
                hint="keep using that version, or begin another store",
            )

    def _upgrade(self, version: int, upgrade: Callable[[Connection, int], None]) -> None:
        """Bring older tables to today's, in one transaction, after a copy of the file was put beside it."""
        meta = self.kind.tables()[0]
        with self.transaction(write=True) as connection:
            # Another process may have been here first: whoever has the writer's turn looks again, and only then makes
            # the copy, or it would put today's tables where the copy of the old ones lies.
            now = connection.execute(select_version(meta)).scalar_one()
            if int(now) < self.kind.schema_version:
                self.back_up(f"schema-{version}")
                upgrade(connection, int(now))
                row = meta.update().where(meta.c.key == "schema_version")
                connection.execute(row.values(value=str(self.kind.schema_version)))

    def back_up(self, label: str) -> Path | None:
        """Copy an SQLite file, open or not, to ``<file>.<label>.bak`` beside it; PostgreSQL has its own tools.

        Raises:
            UserError: if it cannot be written.
        """
        if not self.is_sqlite or not self.engine.url.database:
            return None
        source = Path(self.engine.url.database)
        copy = source.with_name(f"{source.name}.{label}.bak")
        part = copy.with_name(f".{copy.name}.{os.getpid()}.tmp")
        try:
            part.unlink(missing_ok=True)
            with closing(sqlite3.connect(source)) as one, closing(sqlite3.connect(part)) as other:
                one.backup(other)
            part.replace(copy)
        except (sqlite3.Error, OSError) as error:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            raise UserError(
                f"no copy of the store of {self.kind.things} could be made: {error}.",
                where=str(copy),
                hint="free some space and make the folder writable",
            ) from error
        return copy

    def _version(self) -> str | None:
        from sqlalchemy import inspect

        meta = self.kind.tables()[0]
        with self.transaction() as connection:
            if not inspect(connection).has_table(meta.name):
                return None
            value = connection.execute(select_version(meta)).scalar()
        return None if value is None else str(value)

    def _refuse_foreign_file(self) -> None:
        """A file that another program keeps its tables in is left alone; a PostgreSQL database may be shared."""
        from sqlalchemy import inspect

        if not self.is_sqlite:
            return
        with self.transaction() as connection:
            names = set(inspect(connection).get_table_names())
        others = names - {table.name for table in self.kind.tables()} - {"proctor_verdicts_revision"}
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


# -- statements that are run for every save ------------------------------------------------------------------


class _Compiled:
    """SQL of a statement in one dialect, the order of its parameters, and the type of its rows."""

    def __init__(self, statement: Any, connection: Connection, names: Sequence[str] | None) -> None:
        keys = names if statement.is_insert else None
        dialect: Any = connection.dialect
        if not dialect.positional:  # one like it whose statements take their parameters in order
            dialect = type(dialect)(paramstyle="numeric_dollar")
        compiled = statement.compile(dialect=dialect, column_keys=keys)
        self.sql = str(compiled)
        self._order = compiled.positiontup
        self._fixed = {k: v for k, v in compiled.params.items() if v is not None}
        self.row: Any = None

    def bind(self, values: Row) -> Any:
        every = {**self._fixed, **values}
        return tuple(every[name] for name in self._order)

    def rows(self, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[Any]:
        """Return rows of this statement as named tuples."""
        if self.row is None:
            make: Any = namedtuple
            self.row = make("Row", names, rename=True)
        return list(starmap(self.row, rows))


_COMPILED: Final[dict[tuple[int, str], tuple[Any, _Compiled]]] = {}


def _compiled(statement: Any, connection: Connection, names: Sequence[str] | None = None) -> _Compiled:
    key = (id(statement), connection.dialect.name)
    found = _COMPILED.get(key)
    if found is None:
        # The statement is kept beside it, so that no other can come to have its id.
        found = _COMPILED[key] = (statement, _Compiled(statement, connection, names))
    return found[1]


class _Bound(NamedTuple):
    """A statement with its parameters, with those of many rows when ``many``, and who gets its rows."""

    compiled: _Compiled
    parameters: Any
    many: bool = False
    then: Callable[[list[Any]], object] | None = None

    @property
    def each(self) -> Sequence[Any]:
        return self.parameters if self.many else [self.parameters]


def _ask(connection: Connection, asked: Sequence[_Bound]) -> list[list[Any]]:
    """Run statements, those that wait before them, and return the rows of each of those asked."""
    if connection.dialect.driver == "psycopg":  # a server, another process; SQLite is called like a function
        return _ask_at_once(connection, asked)
    return [_ask_one(connection, bound) for bound in asked]


def _ask_one(connection: Connection, bound: _Bound) -> list[Any]:
    sql = bound.compiled.sql
    with _as_sqlalchemy(connection, sql), closing(connection.connection.cursor()) as cursor:
        (cursor.executemany if bound.many else cursor.execute)(sql, bound.parameters)
        names = [column[0] for column in cursor.description or ()]
        return bound.compiled.rows(names, cursor.fetchall()) if names else []


def _ask_at_once(connection: Connection, asked: Sequence[_Bound]) -> list[list[Any]]:
    from proctor.postgres import Statement, ask_at_once

    waiting = connection.info.get(_WAITING)
    every = [*(waiting or ()), *asked]
    if waiting:
        waiting.clear()
    statements = [Statement(bound.compiled.sql, values) for bound in every for values in bound.each]
    driver: Any = connection.connection.driver_connection
    prepared = connection.info.setdefault(_PREPARED, {})
    try:
        with _as_sqlalchemy(connection, statements[0].sql):
            answers = ask_at_once(driver, prepared, statements)
    except Exception as error:
        if waiting is not None:
            connection.info[_LOST] = error
        raise
    at = 0
    for bound in every:
        if bound.then is not None:
            bound.then(bound.compiled.rows(*answers[at]))
        at += len(bound.each)
    last = answers[len(answers) - len(asked) :]
    return [bound.compiled.rows(*answer) for bound, answer in zip(asked, last, strict=True)]


@contextmanager
def _as_sqlalchemy(connection: Connection, sql: str) -> Iterator[None]:
    """Raise the driver's errors as SQLAlchemy's."""
    from sqlalchemy.exc import DBAPIError

    try:
        yield
    except Exception as error:
        module = connection.dialect.dbapi
        if module is not None and isinstance(error, module.Error):
            raise DBAPIError.instance(sql, None, error, module.Error) from error
        raise


def _send_waiting(connection: Connection) -> None:
    if connection.info.get(_WAITING):
        _ask(connection, ())


@dataclass(frozen=True)
class Note(Generic[T]):
    """Something that is noted about the database for the rest of a transaction; gone after it, and after a rollback.

    Only a writer who is alone in the transaction may rely on it.

    Attributes:
        name: what is noted.
    """

    name: str

    def get(self, connection: Connection) -> T | None:
        """Return what was noted, None for nothing."""
        found: T | None = connection.info.get(_KNOWN, {}).get(self.name)
        return found

    def put(self, connection: Connection, value: T | None) -> None:
        """Note a value; None takes the note back."""
        connection.info.setdefault(_KNOWN, {})[self.name] = value


def forget_known(connection: Connection) -> None:
    """Forget what was noted, for a savepoint was rolled back."""
    connection.info[_KNOWN] = {}


def fetch_all(connection: Connection, statement: Any, values: Row = MappingProxyType({})) -> list[Any]:
    """Run a query that is made once per process, and return its rows as named tuples.

    SQLAlchemy's own ``execute`` costs several times what SQLite does for a row by its key. Values come as the driver
    gives them: a Boolean of SQLite is 0 or 1.

    Args:
        connection: in a transaction.
        statement: of SQLAlchemy Core, kept for good by the caller (a cached function).
        values: its parameters.
    """
    compiled = _compiled(statement, connection, list(values) or None)
    return _ask(connection, [_Bound(compiled, compiled.bind(values))])[0]


def fetch_together(connection: Connection, *asked: tuple[Any, Row]) -> list[list[Any]]:
    """Return the rows of several queries, as ``fetch_all`` does; PostgreSQL is asked for all of them at once.

    Args:
        connection: in a transaction.
        asked: statements and their values; none may need the answer of another.
    """
    compiled = [_compiled(statement, connection, list(values) or None) for statement, values in asked]
    pairs = zip(compiled, asked, strict=True)
    return _ask(connection, [_Bound(one, one.bind(values)) for one, (_, values) in pairs])


def fetch_one(connection: Connection, statement: Any, values: Row = MappingProxyType({})) -> Any:
    """Return the first row of ``fetch_all``, None when there is none."""
    rows = fetch_all(connection, statement, values)
    return rows[0] if rows else None


def ask_along(
    connection: Connection, statement: Any, values: Row, then: Callable[[list[Any]], object]
) -> None:
    """Ask for rows that are not needed at once: in a deferred transaction they come with the next answer.

    Args:
        connection: in a transaction.
        statement: see ``fetch_all``.
        values: its parameters.
        then: gets the rows.
    """
    compiled = _compiled(statement, connection, list(values) or None)
    bound = _Bound(compiled, compiled.bind(values), then=then)
    waiting = connection.info.get(_WAITING)
    if waiting is None:
        then(_ask(connection, [bound._replace(then=None)])[0])
    else:
        waiting.append(bound)


def run(connection: Connection, statement: Any, *rows: Row) -> None:
    """Run a statement whose rows nobody needs, once for each row of values; see ``fetch_all``.

    The rows of an INSERT name every column that has no default in the database, always the same ones.
    """
    rows = rows or ({},)
    compiled = _compiled(statement, connection, list(rows[0]))
    each = [compiled.bind(row) for row in rows]
    bound = _Bound(compiled, each if len(each) != 1 else each[0], many=len(each) != 1)
    waiting = connection.info.get(_WAITING)
    if waiting is None:
        _ask(connection, [bound])
        return
    waiting.append(bound)
    if len(waiting) >= _MOST_WAITING:
        _send_waiting(connection)


@cache
def _commit() -> Any:
    from sqlalchemy import text

    return text("COMMIT")


@cache
def _turn(key: int, by_index: bool) -> Any:
    """The turn of writers to PostgreSQL; it ends with the transaction.

    Args:
        key: of the lock.
        by_index: the statements that follow look for single rows. They are planned once for a connection, and in a new
            store the tables are small then: a plan that reads them whole would stay while they grow.
    """
    from sqlalchemy import func, select

    turn = func.pg_advisory_xact_lock(key)
    return select(turn, func.set_config("enable_seqscan", "off", True)) if by_index else select(turn)


def select_version(meta: Table) -> Select[Any]:
    """Return the query for the schema version in a table of keys and values."""
    from sqlalchemy import select

    return select(meta.c.value).where(meta.c.key == "schema_version")


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
        URL.create("sqlite", database=str(path.absolute())),
        connect_args={"timeout": busy_seconds},
        hide_parameters=True,  # an error that reaches a log must not bring what people wrote with it
    )

    @event.listens_for(engine, "connect")
    def _connect(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # transactions are begun below, not by the driver
        try:
            with closing(connection.cursor()) as cursor:
                cursor.execute(f"PRAGMA busy_timeout = {int(busy_seconds * 1000)}")
                cursor.execute("PRAGMA synchronous = FULL")
                cursor.execute("PRAGMA foreign_keys = ON")
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

    @event.listens_for(engine, "rollback_savepoint")
    def _rolled_back(connection: Connection, *_: object) -> None:
        forget_known(connection)

    return engine


def _postgres_engine(kind: StoreKind, text: str, busy_seconds: float) -> tuple[Engine, str]:
    from sqlalchemy import create_engine, event, make_url
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
    options = {
        "connect_timeout": 10,
        "options": f"-c lock_timeout={int(busy_seconds * 1000)}",
        "prepare_threshold": None,  # see ask_at_once
    }
    engine = create_engine(
        url.set(drivername="postgresql+psycopg"),
        connect_args=options,
        hide_parameters=True,
    )
    _ask_after_a_rest(engine)

    @event.listens_for(engine, "before_cursor_execute")
    def _before(connection: Connection, *_: object) -> None:
        _send_waiting(connection)

    @event.listens_for(engine, "rollback_savepoint")
    def _rolled_back(connection: Connection, *_: object) -> None:
        # What waited before the savepoint was sent with it; what came since is taken back unsent, or its failure would
        # keep the rollback from the server.
        if _WAITING in connection.info:
            connection.info[_WAITING].clear()
        connection.info.pop(_LOST, None)
        forget_known(connection)

    return engine, url.render_as_string(hide_password=True)


def _ask_after_a_rest(engine: Engine) -> None:
    """Have a connection that was not used for a while tried before it is; the pool replaces one that fails.

    SQLAlchemy's own ``pool_pre_ping`` asks every time, which costs as much as the shortest query.
    """
    from sqlalchemy import event
    from sqlalchemy.exc import DisconnectionError

    @event.listens_for(engine, "checkin")
    def _rest(_connection: object, record: Any) -> None:
        record.info["rests_since"] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def _ask(connection: Any, record: Any, _proxy: object) -> None:
        if time.monotonic() - record.info.get("rests_since", time.monotonic()) < _IDLE_SECONDS:
            return
        try:
            engine.dialect.do_ping(connection)
        except Exception as error:
            raise DisconnectionError("it was closed while it rested") from error

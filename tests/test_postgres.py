"""Messages to PostgreSQL over a wire that is cut: what was acknowledged is there once, what was not is told, the next works."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import bindparam, event, func, make_url, select
from sqlalchemy.exc import IntegrityError
from tests.patience import PATIENCE

from proctor.database import Database, fetch_all, run
from proctor.errors import UserError
from proctor.verify.desk.writer import Writer
from proctor.verify.schema import tables
from proctor.verify.store import VERDICTS

pytestmark = pytest.mark.postgres
META = tables().meta
ALL = META.select().where(META.c.key != "schema_version").order_by(META.c.key)
INSERT = META.insert()
SLEEP = select(func.pg_sleep(600))


class Wire:
    """A TCP proxy that can cut the wire after so many bytes, after some that mean nothing when told so."""

    def __init__(self, host: str, port: int) -> None:
        self._to = (host, port)
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        self.left: dict[str, int | None] = {"there": None, "back": None}
        self.spoil = False
        self.passed = {"there": 0, "back": 0}
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._server.accept()
            except OSError:
                return
            far = socket.create_connection(self._to)
            for way, one, other in (("there", near, far), ("back", far, near)):
                threading.Thread(target=self._pump, args=(way, one, other), daemon=True).start()

    def _pump(self, way: str, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65_536):
                self.passed[way] += len(data)
                left = self.left[way]
                if left is not None and len(data) >= left:
                    self.left[way] = None
                    other.sendall(data[:left] + (b"\xff" * 64 if self.spoil else b""))
                    break
                if left is not None:
                    self.left[way] = left - len(data)
                other.sendall(data)
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def close(self) -> None:
        self._server.close()


@pytest.fixture
def wire(postgres_url: str) -> Iterator[Wire]:
    url = make_url(postgres_url)
    found = Wire(str(url.host), int(url.port or 5432))
    yield found
    found.close()


@pytest.fixture
def far(postgres_url: str, wire: Wire) -> Iterator[Database]:
    url = make_url(postgres_url).set(port=wire.port).update_query_dict({"sslmode": "disable"})
    opened = Database.open(VERDICTS, url.render_as_string(hide_password=False), create=True, busy_seconds=5.0)
    yield opened
    opened.close()


def keys(database: Database) -> list[str]:
    with database.transaction() as connection:
        return [row.key for row in fetch_all(connection, ALL)]


def a_job(key: str, value: str = "v") -> Any:
    def job(connection: Any) -> str:
        run(connection, INSERT, {"key": key, "value": value})
        assert key in [row.key for row in fetch_all(connection, ALL)]
        run(connection, INSERT, {"key": f"{key}+", "value": value})
        return key

    return job


@pytest.mark.parametrize("way", ["there", "back"])
@pytest.mark.parametrize("spoil", [False, True])
def test_a_wire_cut_anywhere_in_a_save(far: Database, wire: Wire, way: str, spoil: bool) -> None:
    """Each save is cut a little later than the one before; whatever was acknowledged is there, whole, and once."""
    writer = Writer(far)
    try:
        writer.submit(a_job("warm")).result(PATIENCE)
        wire.passed = {"there": 0, "back": 0}
        writer.submit(a_job("again")).result(PATIENCE)
        length = wire.passed[way]
        told, refused = {"warm", "again"}, set()
        for at in range(0, length, 23):
            wire.left[way], wire.spoil = at + 1, spoil
            try:
                told.add(writer.submit(a_job(f"k{at:05}")).result(PATIENCE))
            except UserError:
                refused.add(f"k{at:05}")
            wire.left[way] = None
            told.add(writer.submit(a_job(f"n{at:05}")).result(PATIENCE))  # the next one is fine
        found = keys(far)
    finally:
        writer.close()
    there = {key.removesuffix("+") for key in found}
    assert told <= there <= told | refused
    assert refused
    assert len(found) == 2 * len(there)


def test_a_wire_cut_under_a_group_acknowledges_nobody_wrongly(far: Database, wire: Wire) -> None:
    """Writes that share a transaction are tried again after a cut; one whose COMMIT was cut is not there twice."""
    writer = Writer(far)
    told: set[str] = set()
    try:
        for at in range(1, 1500, 97):
            gate, entered = threading.Event(), threading.Event()

            def hold(_: Any, gate: threading.Event = gate, entered: threading.Event = entered) -> None:
                entered.set()
                assert gate.wait(60)

            held = writer.submit(hold)
            assert entered.wait(60)
            jobs = {f"g{at:04}-{n}": writer.submit(a_job(f"g{at:04}-{n}")) for n in range(3)}
            wire.left["back"] = at
            gate.set()
            with contextlib.suppress(UserError):
                held.result(60)
            for key, future in jobs.items():
                error = future.exception(10)
                if error is None:
                    told.add(key)
            wire.left["back"] = None
        assert writer.submit(a_job("last")).result(PATIENCE) == "last"
        found = keys(far)
    finally:
        writer.close()
    there = {key.removesuffix("+") for key in found}
    assert told <= there
    assert len(told) > 3
    assert len(found) == 2 * len(there)


# -- a job that goes on after an error -----------------------------------------------------------------------


def swallows(connection: Any) -> None:
    """A broken constraint that nobody hears of."""
    with contextlib.suppress(IntegrityError):
        connection.execute(INSERT, [{"key": "twice", "value": "v"}] * 2)


def swallows_what_waits(connection: Any) -> None:
    with contextlib.suppress(ValueError):
        fetch_all(connection, META.select().where(META.c.key == bindparam("wanted")), {"wanted": "\ud800"})


@pytest.mark.parametrize("bad", [swallows, swallows_what_waits])
def test_what_was_not_committed_is_not_acknowledged(far: Database, bad: Any) -> None:
    """PostgreSQL answers COMMIT with ROLLBACK after an error, and calls that no error."""

    def attempt() -> None:
        with far.transaction(write=True, deferred=True) as connection:
            run(connection, INSERT, {"key": "other", "value": "v"})
            bad(connection)

    with pytest.raises((UserError, UnicodeEncodeError)):
        attempt()
    assert keys(far) == []
    with far.transaction(write=True, deferred=True) as connection:
        run(connection, INSERT, {"key": "after", "value": "v"})
    assert keys(far) == ["after"]


def test_a_savepoint_takes_back_what_failed_while_it_waited(far: Database) -> None:
    with far.transaction(write=True, deferred=True) as connection:
        run(connection, INSERT, {"key": "a", "value": "v"})
        nested = connection.begin_nested()
        run(connection, INSERT, {"key": "a", "value": "v"})  # never sent
        nested.rollback()
        nested = connection.begin_nested()
        run(connection, INSERT, {"key": "a", "value": "v"})
        with pytest.raises(IntegrityError):
            fetch_all(connection, ALL)
        nested.rollback()
        run(connection, INSERT, {"key": "b", "value": "v"})
    assert keys(far) == ["a", "b"]


# -- prepared statements -------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", ["DISCARD ALL", "ALTER TABLE {} ALTER COLUMN value TYPE varchar(90)"])
def test_statements_are_prepared_anew_when_the_server_does_not_know_them(far: Database, other: str) -> None:
    """A pooler, or a migration by another process, between two saves: at most one of them is refused."""
    assert keys(far) == []
    with far.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql(other.format(META.name))
    with contextlib.suppress(UserError):
        keys(far)
    with far.transaction(write=True, deferred=True) as connection:
        run(connection, INSERT, {"key": "after", "value": "v"})
    assert keys(far) == ["after"]


def test_a_name_tells_the_statement(far: Database) -> None:
    """Two clients of one pooler must not run each other's statements by a number that both have given."""
    with far.transaction() as connection:
        fetch_all(connection, ALL)
        names = connection.exec_driver_sql("SELECT name, statement FROM pg_prepared_statements").all()
    assert names
    for name, statement in names:
        assert name.endswith(hashlib.sha256(statement.encode()).hexdigest()[:16])


# -- who does not wait ---------------------------------------------------------------------------------------


def test_an_interrupt_ends_a_question_at_once(far: Database) -> None:
    """Ctrl-C while the server is thinking: the question is given up there too, and the connection stays good."""

    def interrupt(_signal: int, _frame: Any) -> None:
        raise KeyboardInterrupt

    def attempt() -> None:
        with far.transaction(write=True, deferred=True) as connection:
            run(connection, INSERT, {"key": "never", "value": "v"})
            fetch_all(connection, SLEEP)

    before = signal.signal(signal.SIGUSR1, interrupt)
    timer = threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGUSR1))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            attempt()
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)
    with far.transaction(write=True, deferred=True) as connection:
        assert fetch_all(connection, ALL) == []
        run(connection, INSERT, {"key": "after", "value": "v"})
    assert keys(far) == ["after"]


def test_a_lost_server_is_told_without_connecting_again(far: Database, wire: Wire) -> None:
    """Whoever loses the connection in the middle does not wait for another one that cannot be had."""
    tried: list[str] = []

    def attempt() -> None:
        with far.transaction(write=True, deferred=True) as connection:
            fetch_all(connection, ALL)
            event.listen(far.engine.dialect, "do_connect", lambda *_: tried.append("again"))
            wire.left["there"] = 1
            fetch_all(connection, ALL)

    with pytest.raises(UserError, match="cannot be used"):
        attempt()
    assert tried == []

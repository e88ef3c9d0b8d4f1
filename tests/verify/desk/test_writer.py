"""The writer: writes share a transaction, and never their misfortune."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE

from proctor.database import Database
from proctor.errors import UserError
from proctor.verify.desk.writer import MOST_TOGETHER, Writer
from proctor.verify.schema import tables
from proctor.verify.store import VERDICTS


class Room:
    """A writer on a database, with its transactions counted and a way to make jobs wait in the queue together."""

    def __init__(self, target: str, busy_seconds: float = 10.0) -> None:
        self.database = Database.open(VERDICTS, target, create=True, busy_seconds=busy_seconds)
        self.writer = Writer(self.database)
        self.transactions = 0
        whole = self.database.transaction

        def counted(*args: Any, **more: Any) -> Any:
            self.transactions += bool(more.get("write")) and not args  # it calls itself with a connection
            return whole(*args, **more)

        self.database.transaction = counted  # type: ignore[method-assign]

    def note(self, key: str, fail: Exception | None = None) -> Any:
        """A job that writes a row, and may then fail."""

        def job(connection: Any) -> str:
            connection.execute(tables().meta.insert(), {"key": key, "value": "x"})
            if fail is not None:
                raise fail
            return key

        return job

    def together(self, *jobs: Any) -> list[Any]:
        """Submit jobs while the writer is busy, so that they wait in the queue together; returns their futures."""
        gate, entered = threading.Event(), threading.Event()

        def hold(_connection: Any) -> None:
            entered.set()
            assert gate.wait(60)

        held = self.writer.submit(hold)
        assert entered.wait(60)
        futures = [self.writer.submit(job) for job in jobs]
        gate.set()
        held.result(60)
        return futures

    def keys(self) -> set[str]:
        with self.database.transaction() as connection:
            found = {row.key for row in connection.execute(tables().meta.select())}
        return found - {"schema_version"}


@pytest.fixture
def room(target: str) -> Iterator[Room]:
    room = Room(target)
    yield room
    room.writer.close()
    room.database.close()


def test_writes_that_wait_share_one_transaction(room: Room) -> None:
    futures = room.together(*(room.note(f"k{n}") for n in range(MOST_TOGETHER)))
    assert [f.result(60) for f in futures] == [f"k{n}" for n in range(MOST_TOGETHER)]
    assert room.keys() == {f"k{n}" for n in range(MOST_TOGETHER)}
    assert room.transactions == 2  # the one that held the writer, and one for all


def test_more_than_the_most_take_another_turn(room: Room) -> None:
    futures = room.together(*(room.note(f"k{n}") for n in range(MOST_TOGETHER + 1)))
    assert all(f.result(60) for f in futures)
    assert room.transactions == 3


@pytest.mark.parametrize("error", [ValueError("mine"), UserError("refused.")])
def test_who_fails_is_rolled_back_alone(room: Room, error: Exception) -> None:
    one, bad, two = room.together(room.note("a"), room.note("bad", error), room.note("b"))
    assert (one.result(60), two.result(60)) == ("a", "b")
    with pytest.raises(type(error), match=r"mine|refused"):
        bad.result(60)
    assert room.keys() == {"a", "b"}
    # PostgreSQL tries without savepoints first.
    assert room.transactions == (2 if room.database.is_sqlite else 3)


def test_a_broken_constraint_is_rolled_back_alone(room: Room) -> None:
    from sqlalchemy.exc import IntegrityError

    one, bad, two = room.together(room.note("a"), room.note("a"), room.note("b"))
    assert (one.result(60), two.result(60)) == ("a", "b")
    with pytest.raises(IntegrityError):
        bad.result(60)
    assert room.keys() == {"a", "b"}


def test_what_the_database_cannot_take_refuses_nobody_else(room: Room) -> None:
    def broken(connection: Any) -> None:
        connection.exec_driver_sql("INSERT INTO no_such_table VALUES (1)")

    one, bad, two = room.together(room.note("a"), broken, room.note("b"))
    assert (one.result(60), two.result(60)) == ("a", "b")
    with pytest.raises(UserError, match="cannot be used"):
        bad.result(60)
    assert room.keys() == {"a", "b"}
    assert room.writer.submit(room.note("later")).result(PATIENCE) == "later"


def test_a_commit_that_fails_acknowledges_nobody_and_keeps_nothing(room: Room) -> None:
    """The disk is full in the moment of the flush, for all of them and for each alone."""
    from contextlib import contextmanager

    whole = room.database.transaction

    @contextmanager
    def full(connection: Any = None, *, write: bool = False, **more: Any) -> Iterator[Any]:
        with room.database.explained(), whole(connection, write=write, **more) as found:
            yield found
            if write:
                raise sqlite3.OperationalError("database or disk is full")

    room.database.transaction = full  # type: ignore[method-assign,assignment]
    first, second = room.writer.submit(room.note("a")), room.writer.submit(room.note("b"))
    for future in (first, second):
        with pytest.raises(UserError, match="full"):
            future.result(60)
    room.database.transaction = whole  # type: ignore[method-assign]
    assert room.keys() == set()
    assert room.writer.submit(room.note("a")).result(PATIENCE) == "a"


def test_no_turn_in_time_is_told_to_all_at_once(tmp_path: Path) -> None:
    """Twenty who each wait for their turn as long as the first did would make the last wait for minutes."""
    room = Room(str(tmp_path / "store.sqlite"), busy_seconds=0.3)
    other = sqlite3.connect(tmp_path / "store.sqlite", isolation_level=None, check_same_thread=False)
    whole = room.database.transaction

    def late(*args: Any, **more: Any) -> Any:
        """Another process takes the turn before the writer's second transaction."""
        if more.get("write") and not args and room.transactions == 1 and not other.in_transaction:
            other.execute("BEGIN IMMEDIATE")
        return whole(*args, **more)

    room.database.transaction = late  # type: ignore[method-assign]
    futures = room.together(*(room.note(f"k{n}") for n in range(20)))
    for future in futures:
        with pytest.raises(UserError, match="locked"):
            future.result(60)
    assert (
        room.transactions == 2
    )  # the one that held the writer, and one for all: nobody waited for a turn alone
    other.execute("ROLLBACK")
    other.close()
    assert room.writer.submit(room.note("after")).result(PATIENCE) == "after"
    room.writer.close()
    room.database.close()


def test_close_finishes_what_was_queued_and_refuses_more(room: Room) -> None:
    futures = room.together(*(room.note(f"k{n}") for n in range(30)))
    room.writer.close()
    assert all(f.done() and f.exception() is None for f in futures)
    with pytest.raises(UserError, match="closed"):
        room.writer.submit(room.note("late"))
    room.writer.close()  # twice is no mistake
    assert len(room.keys()) == 30


def test_who_asked_may_go_away(room: Room) -> None:
    """A request that is given up takes nobody with it, and the writer goes on."""
    gate, entered = threading.Event(), threading.Event()

    def hold(_connection: Any) -> None:
        entered.set()
        assert gate.wait(60)

    room.writer.submit(hold)
    assert entered.wait(60)
    gone, stays = room.writer.submit(room.note("gone")), room.writer.submit(room.note("stays"))
    assert gone.cancel()
    gate.set()
    assert stays.result(60) == "stays"
    assert room.writer.submit(room.note("next")).result(PATIENCE) == "next"


def test_many_threads_at_once_lose_nothing(room: Room) -> None:
    seen: list[str] = []

    def work(who: int) -> None:
        seen.extend(room.writer.submit(room.note(f"{who}-{n}")).result(30) for n in range(12))

    threads = [threading.Thread(target=work, args=(who,)) for who in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(seen) == 16 * 12
    assert room.keys() == set(seen)

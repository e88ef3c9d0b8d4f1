"""Statements that are compiled once and handed to the driver: the same rows, the same errors as SQLAlchemy's own way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import bindparam
from sqlalchemy.exc import IntegrityError

from proctor import database as rules
from proctor.database import (
    Database,
    Note,
    NoTurnError,
    ask_along,
    fetch_all,
    fetch_one,
    fetch_together,
    forget_known,
    run,
)
from proctor.errors import UserError
from proctor.verify.schema import tables
from proctor.verify.store import VERDICTS


@pytest.fixture
def database(target: str) -> Iterator[Database]:
    opened = Database.open(VERDICTS, target, create=True, busy_seconds=5.0)
    yield opened
    opened.close()


META = tables().meta
BY_KEY = META.select().where(META.c.key == bindparam("wanted"))
ALL = META.select().where(META.c.key != "schema_version").order_by(META.c.key)
INSERT = META.insert()
UPDATE = META.update().where(META.c.key == bindparam("wanted")).values(value=bindparam("fresh"))
HARD = ("%s %(key)s :key ?", "é\u2028\U0001f600", "'; DROP TABLE x; --", "")


def test_rows_are_those_of_sqlalchemy(database: Database) -> None:
    rows = [{"key": f"k{n}", "value": text} for n, text in enumerate(HARD)]
    with database.transaction(write=True) as connection:
        run(connection, INSERT, rows[0])
        run(connection, INSERT, *rows[1:])
        assert [tuple(r) for r in fetch_all(connection, ALL)] == [tuple(r) for r in connection.execute(ALL)]
        assert [r.value for r in fetch_all(connection, ALL)] == list(HARD)
        assert fetch_one(connection, BY_KEY, {"wanted": "k2"}).value == HARD[2]
        assert fetch_one(connection, BY_KEY, {"wanted": "none"}) is None
        run(connection, UPDATE, {"wanted": "k0", "fresh": "x"}, {"wanted": "k1", "fresh": "y"})
        assert [r.value for r in fetch_all(connection, ALL)][:2] == ["x", "y"]


def test_returning_gives_the_new_number(database: Database) -> None:
    events = tables().events
    statement = events.insert().returning(events.c.id)
    row: dict[str, Any] = {"at": 1.5, "actor": "a", "kind": "k", "subject": "s", "body": "{}", "digest": "d"}
    with database.transaction(write=True) as connection:
        first, second = (fetch_one(connection, statement, row).id for _ in range(2))
    assert second == first + 1


def test_a_broken_constraint_is_sqlalchemys_error(database: Database) -> None:
    row = {"key": "k", "value": "v"}
    with pytest.raises(IntegrityError), database.transaction(write=True) as connection:
        run(connection, INSERT, row, row)
    with database.transaction() as connection:
        assert fetch_all(connection, ALL) == []


def test_a_database_that_fails_is_explained(database: Database) -> None:
    with database.transaction(write=True) as connection:
        connection.exec_driver_sql("DROP TABLE proctor_final_answers")
    gone = tables().final_answers.select()
    with pytest.raises(UserError, match="cannot be used"), database.transaction() as connection:
        fetch_all(connection, gone)


def test_questions_together_get_the_answers_that_each_gets_alone(database: Database) -> None:
    with database.transaction(write=True) as connection:
        run(connection, INSERT, *({"key": f"k{n}", "value": text} for n, text in enumerate(HARD)))
        asked = [
            (BY_KEY, {"wanted": "k2"}),
            (ALL, {}),
            (BY_KEY, {"wanted": "none"}),
            (BY_KEY, {"wanted": "k0"}),
        ]
        together = fetch_together(connection, *asked)
        assert together == [fetch_all(connection, *one) for one in asked]
        assert [len(rows) for rows in together] == [1, len(HARD), 0, 1]


def test_values_come_back_as_they_went_in(database: Database) -> None:
    people = tables().people
    row = {c.name: "" for c in people.columns if c.name not in ("id", "consent_watching")}
    row |= {
        "pid": "p",
        "handle": "h",
        "name": "é\u2028\U0001f600 %s $1",
        "created_at": 1e-7,
        "consent_version": 2**31 - 1,
    }
    row |= {c.name: 0 for c in people.columns if c.name.endswith("version") and c.name != "consent_version"}
    row |= {"consent_watching": True, "state": "active"}
    row |= {c.name: None for c in people.columns if c.nullable and c.name not in row}
    with database.transaction(write=True, deferred=True) as connection:
        run(connection, people.insert(), row)
        (ours,) = fetch_all(connection, people.select())
        (theirs,) = connection.execute(people.select())
    assert ours._asdict() == theirs._asdict()
    assert (ours.name, ours.created_at, ours.consent_version) == (row["name"], 1e-7, 2**31 - 1)


# -- what waits for the next question ------------------------------------------------------------------------


@pytest.mark.parametrize("look", ["ours", "SQLAlchemy's"])
def test_whatever_is_asked_comes_after_what_waits(database: Database, look: str) -> None:
    with database.transaction(write=True, deferred=True) as connection:
        run(connection, INSERT, {"key": "a", "value": "1"}, {"key": "b", "value": "1"})
        run(connection, UPDATE, {"wanted": "a", "fresh": "2"})
        found = fetch_all(connection, ALL) if look == "ours" else connection.execute(ALL).all()
        assert [tuple(row) for row in found] == [("a", "2"), ("b", "1")]
        run(connection, INSERT, {"key": "c", "value": "1"})
    with database.transaction() as connection:  # what waited at the end was sent, too
        assert [row.key for row in fetch_all(connection, ALL)] == ["a", "b", "c"]


def test_more_than_waits_at_once_and_more_than_the_wire_holds(database: Database) -> None:
    many = [{"key": f"k{n:04}", "value": "x" * 40} for n in range(3_000)]
    large = [{"key": f"m{n}", "value": chr(65 + n) * 3_000_000} for n in range(5)]
    with database.transaction(write=True, deferred=True) as connection:
        for row in (*many, *large):
            run(connection, INSERT, row)
        asked = [(BY_KEY, {"wanted": row["key"]}) for row in (*many[::10], *large, *large)]
        assert [rows[0].value for rows in fetch_together(connection, *asked)] == [
            row["value"] for row in (*many[::10], *large, *large)
        ]


@pytest.mark.parametrize("last", [lambda _: None, lambda c: fetch_all(c, ALL), lambda c: c.execute(ALL)])
def test_an_error_of_what_waited_keeps_nothing(database: Database, last: Any) -> None:
    def attempt() -> None:
        with database.transaction(write=True, deferred=True) as connection:
            run(connection, INSERT, {"key": "k", "value": "v"})
            run(connection, INSERT, {"key": "k", "value": "v"})
            last(connection)

    with pytest.raises(IntegrityError):
        attempt()
    with database.transaction(write=True) as connection:  # the connection is as good as new
        assert fetch_all(connection, ALL) == []


def test_an_error_of_the_caller_sends_nothing(database: Database) -> None:
    def attempt() -> None:
        with database.transaction(write=True, deferred=True) as connection:
            run(connection, INSERT, {"key": "k", "value": "v"})
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        attempt()
    with database.transaction(write=True) as connection:
        assert fetch_all(connection, ALL) == []
        run(connection, INSERT, {"key": "after", "value": "v"})  # nothing waits any more
        assert [row.key for row in connection.execute(ALL)] == ["after"]


def test_statements_stay_prepared_after_rollbacks_and_savepoints(database: Database) -> None:
    """psycopg would prepare what it has seen five times, and make the server forget everything at a rollback."""

    def attempt(n: int) -> None:
        with database.transaction(write=True) as connection:
            run(connection, INSERT, {"key": f"k{n}", "value": "v"})
            connection.execute(ALL)
            nested = connection.begin_nested()
            run(connection, INSERT, {"key": f"n{n}", "value": "v"})
            nested.rollback()
            assert [row.key for row in fetch_all(connection, ALL)] == [f"k{n}"]
            raise ValueError("back")

    for n in range(12):
        with pytest.raises(ValueError, match="back"):
            attempt(n)
    with database.transaction() as connection:
        assert fetch_all(connection, ALL) == []


# -- PostgreSQL alone ----------------------------------------------------------------------------------------


@pytest.fixture
def far(postgres_url: str) -> Iterator[Database]:
    opened = Database.open(VERDICTS, postgres_url, create=True, busy_seconds=5.0)
    yield opened
    opened.close()


def process_of(connection: Any) -> int:
    return int(connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one())


def test_text_that_the_database_cannot_hold_is_explained(far: Database) -> None:
    def attempt() -> None:
        with far.transaction(write=True) as connection:
            run(connection, INSERT, {"key": "k", "value": "a\0b"})

    with pytest.raises(UserError, match="cannot be used"):
        attempt()
    with far.transaction() as connection:
        assert fetch_all(connection, ALL) == []


def test_a_connection_that_was_cut_is_replaced(
    far: Database, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restart of PostgreSQL: whoever is in the middle is told, whoever comes after a rest notices nothing."""

    def cut(process: int) -> None:
        other = Database.open(VERDICTS, postgres_url, create=False, busy_seconds=5.0)
        with other.transaction() as connection:
            connection.exec_driver_sql(f"SELECT pg_terminate_backend({process}, 5000)")
        other.close()

    def attempt() -> None:
        with far.transaction(write=True) as connection:
            run(connection, INSERT, {"key": "k", "value": "v"})
            cut(process_of(connection))
            fetch_all(connection, ALL)

    with pytest.raises(UserError, match="cannot be used"):
        attempt()
    monkeypatch.setattr(rules, "_IDLE_SECONDS", 0.0)
    for _ in range(3):
        with far.transaction(write=True) as connection:
            assert fetch_all(connection, ALL) == []
            process = process_of(connection)
        cut(process)


# -- what is known in a transaction --------------------------------------------------------------------------


def test_what_is_known_ends_with_the_transaction_and_with_a_rollback(database: Database) -> None:
    last, other = Note[int]("last"), Note[int]("other")
    with database.transaction(write=True) as connection:
        last.put(connection, 1)
        assert (last.get(connection), other.get(connection)) == (1, None)
        nested = connection.begin_nested()
        last.put(connection, 2)
        nested.rollback()
        assert last.get(connection) is None
        last.put(connection, 3)
        forget_known(connection)
        assert last.get(connection) is None
        last.put(connection, 4)
        last.put(connection, None)
        assert last.get(connection) is None
        last.put(connection, 5)
    with database.transaction(write=True) as connection:
        assert last.get(connection) is None


# -- taking turns --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deferred", [False, True])
def test_the_turn_and_what_is_asked_along_come_with_the_first_answer(
    database: Database, deferred: bool
) -> None:
    found: list[list[Any]] = []

    def first(connection: Any) -> None:
        ask_along(connection, ALL, {}, found.append)
        ask_along(connection, BY_KEY, {"wanted": "a"}, found.append)

    with database.transaction(write=True) as connection:
        run(connection, INSERT, {"key": "a", "value": "1"})
    with database.transaction(write=True, deferred=deferred, first=first) as connection:
        run(connection, INSERT, {"key": "b", "value": "2"})
        assert [row.key for row in fetch_all(connection, ALL)] == ["a", "b"]
        assert [[row.key for row in rows] for rows in found] == [["a"], ["a"]]
    with database.transaction() as connection:
        assert [row.key for row in fetch_all(connection, ALL)] == ["a", "b"]


@pytest.mark.parametrize("deferred", [False, True])
def test_who_gets_no_turn_in_time_is_told_so(target: str, deferred: bool) -> None:
    one, two = (Database.open(VERDICTS, target, create=True, busy_seconds=0.3) for _ in range(2))

    def attempt() -> None:
        with two.transaction(write=True, deferred=deferred) as connection:
            fetch_all(connection, ALL)

    with one.transaction(write=True) as connection:
        run(connection, INSERT, {"key": "a", "value": "1"})
        with pytest.raises(NoTurnError, match="cannot be used"):
            attempt()
    attempt()
    for opened in (one, two):
        opened.close()


def test_a_deferred_transaction_is_committed_whole_or_not_at_all(database: Database, target: str) -> None:
    other = Database.open(VERDICTS, target, create=False, busy_seconds=5.0)
    with database.transaction(write=True, deferred=True) as connection:
        run(connection, INSERT, {"key": "a", "value": "1"})
        assert len(fetch_all(connection, ALL)) == 1
        run(connection, INSERT, {"key": "b", "value": "1"})
        with other.transaction() as looking:
            assert fetch_all(looking, ALL) == []
    with other.transaction() as looking:
        assert [row.key for row in fetch_all(looking, ALL)] == ["a", "b"]
    with database.transaction(write=True, deferred=True):
        pass  # nothing is asked at all
    other.close()


def test_writers_look_for_rows_by_index_though_tables_were_small(far: Database) -> None:
    """A plan is kept for a connection; one that reads a table whole would stay while the table grows."""

    def scans(connection: Any) -> str:
        return str(connection.exec_driver_sql("SHOW enable_seqscan").scalar_one())

    with far.transaction(write=True, deferred=True) as connection:
        assert scans(connection) == "off"
    with far.transaction(write=True) as connection:
        assert scans(connection) == "on"
    with far.transaction() as connection:
        assert scans(connection) == "on"

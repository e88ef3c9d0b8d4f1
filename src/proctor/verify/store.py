"""The append-only store of verdicts: SQLite in one file by default, PostgreSQL by URL.

Nothing is ever changed or deleted. A later verdict of the same annotator in the same role on the same candidate
supersedes the earlier one; both stay in the history. "Later" means saved later, not dated later: clocks may be
set back. A verdict is identified by the hash of its whole content, so saving it twice (a retry after a lost
connection) stores it once.

A person's verdict holds as long as they would see the same again: ``proctor_seen`` keeps, for every version of a candidate
that was ever here, the hash of what is seen of it (``exam.question.seen_hash``), so that another provenance voids nothing.
Machines also look at the facts, and judge every new version again. Stored verdicts are never rewritten.

An append is acknowledged when it is on disk: SQLite runs with a write-ahead log and full synchronisation, writers
take their turn (``BEGIN IMMEDIATE``, a busy timeout; an advisory lock on PostgreSQL). SQLAlchemy is imported when
a store is opened, not before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import msgspec

from proctor.database import Database, StoreKind, fetch_all, fetch_together, run
from proctor.errors import UserError
from proctor.exam.kind import kind_named
from proctor.exam.question import Question, version_of
from proctor.records import Dropped, canonical_json, decode
from proctor.verify.schema import SCHEMA_VERSION, tables
from proctor.verify.verdict import Verdict

if TYPE_CHECKING:
    from sqlalchemy import Connection, Select, Table

__all__ = [
    "VERDICTS",
    "StoredVerdict",
    "VerdictStore",
    "alike_versions",
    "append_verdicts",
    "latest_verdicts",
    "note_seen",
    "seen_of",
    "seen_versions",
    "split_stale",
    "unfinished_items",
    "verdict_key",
]

BUSY_SECONDS: Final = 30.0
"""How long a writer waits for its turn before it gives up."""


class StoredVerdict(NamedTuple):
    """A verdict with its place in the history: 1, 2, 3, ... with gaps."""

    sequence: int
    verdict: Verdict


def verdict_key(verdict: Verdict) -> tuple[str, str, str]:
    """Return what a later verdict supersedes an earlier one by: candidate, annotator and role."""
    return verdict.candidate_id, verdict.annotator, verdict.role


Alike: TypeAlias = Mapping[tuple[str, str], str]
"""From a candidate's id and the hash of a version of it to today's hash, where people see the same of both."""


def split_stale(
    verdicts: Iterable[Verdict], questions: Mapping[str, Question], alike: Alike = MappingProxyType({})
) -> tuple[list[Verdict], list[Dropped]]:
    """Split off the verdicts that were given on something else than today's questions.

    Args:
        verdicts: of any questions.
        questions: today's, by id.
        alike: versions of which people see the same as today (``alike_versions``); only for verdicts that were not
            read by ``VerdictStore.latest`` or ``VerdictStore.latest_on``.

    Returns:
        The verdicts that hold, and for each of the others the reason: ``candidate-unknown`` or
        ``candidate-changed`` (its hash, ``version_of``, is not the one that the annotator saw).
    """
    hashes = {name: version_of(question) for name, question in questions.items()}
    good: list[Verdict] = []
    stale: list[Dropped] = []
    for verdict in verdicts:
        now = hashes.get(verdict.candidate_id)
        who = f"{verdict.role} {verdict.annotator}"
        if now is None:
            stale.append(Dropped(verdict.candidate_id, "candidate-unknown", who))
        elif verdict.candidate_hash and _under_today(verdict, alike).candidate_hash != now:
            detail = f"{who} saw {verdict.candidate_hash}, it is {now} now"
            stale.append(Dropped(verdict.candidate_id, "candidate-changed", detail))
        else:
            good.append(verdict)
    return good, stale


class VerdictStore:
    """A store of verdicts; use ``VerdictStore.open`` and close it, or use it in a ``with`` block."""

    def __init__(self, database: Database) -> None:
        self._database = database

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
        return cls(Database.open(VERDICTS, target, create=create, busy_seconds=busy_seconds))

    def close(self) -> None:
        """Give all connections back. Errors while closing are of no use to anybody."""
        self._database.close()

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
        rows = [_row_of(verdict) for verdict in verdicts]
        if not rows:
            return 0
        # One writer at a time keeps sequence numbers in the order of commits, so that a reader who asks for everything
        # after n never misses a verdict that was still on its way.
        with self._database.transaction(write=True) as connection:
            return _append(self._database, connection, rows)

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

        table = tables().verdicts
        query = select(table.c.sequence, table.c.body).where(table.c.sequence > after)
        if candidate_id is not None:
            query = query.where(table.c.candidate_id == candidate_id)
        if annotator is not None:
            query = query.where(table.c.annotator == annotator)
        with self._database.transaction() as connection:
            rows = connection.execute(query.order_by(table.c.sequence)).all()
            return _decoded(rows, self._database.place)

    def latest(self, candidate_id: str | None = None) -> list[Verdict]:
        """Return the verdicts that hold: the last one of each annotator and role on each candidate.

        Void ones are passed over, as if they had never been given. A person's verdict on an earlier version of an item of
        the studio of which people see the same comes under the item's hash.
        """
        with self._database.transaction() as connection:
            return latest_verdicts(connection, candidate_id, place=self._database.place)

    def latest_on(self, questions: Iterable[Question]) -> list[Verdict]:
        """Note what people see of today's questions, and return the verdicts that hold, as ``latest`` does.

        A person's verdict on another version of a question of which people see the same comes under the hash of this one.

        Raises:
            UserError: if questions are new to the store and it cannot be written.
        """
        versions = {(q.id, version_of(q)): q for q in questions}
        with self._database.transaction() as connection:
            known = seen_versions(connection)
        new = [question for version, question in versions.items() if version not in known]
        if new:
            with self._database.transaction(write=True) as connection:
                known = note_seen(self._database, connection, new)
        today = dict(versions.keys())
        alike = {
            (name, was): today[name]
            for (name, was), seen in known.items()
            if name in today and known[name, today[name]] == seen
        }
        return [_under_today(verdict, alike) for verdict in self.latest()]

    def unfinished(self) -> dict[str, str]:
        """Return the candidates on which people are still at work in the studio, with the state of each."""
        with self._database.transaction() as connection:
            return unfinished_items(connection)

    def __len__(self) -> int:
        """Return how many verdicts were ever saved."""
        with self._database.transaction() as connection:
            return _count(connection, tables().verdicts)


UNFINISHED: Final = ("judging", "case", "held", "returned")
"""States of the studio's items that nothing may be published of."""


# -- inside a transaction ------------------------------------------------------------------------------------


def append_verdicts(database: Database, connection: Connection, verdicts: Iterable[Verdict]) -> list[str]:
    """Save verdicts inside a writing transaction of the caller, and return their digests."""
    rows = [_row_of(verdict) for verdict in verdicts]
    if rows:
        run(connection, _insert_new(database), *rows)
    return [row["digest"] for row in rows]


def unfinished_items(connection: Connection) -> dict[str, str]:
    """Return the candidates on which people are still at work, with the state of each."""
    t = tables().items
    query = t.select().with_only_columns(t.c.candidate_id, t.c.state).where(t.c.state.in_(UNFINISHED))
    return {row.candidate_id: row.state for row in connection.execute(query)}


def latest_verdicts(
    connection: Connection, candidate_id: str | None = None, *, place: str = "the store of verdicts"
) -> list[Verdict]:
    """Return the verdicts that hold, of one candidate or of all: see ``VerdictStore.latest``."""
    one = candidate_id is not None
    values = {"candidate": candidate_id} if one else {}
    given, versions = fetch_together(
        connection, (_latest_of_one() if one else _latest(), values), (_alike(of_one=one), values)
    )
    alike = {(name, was): now for name, was, now in versions}
    return [_under_today(stored.verdict, alike) for stored in _decoded(given, place)]


def seen_versions(connection: Connection) -> dict[tuple[str, str], str]:
    """Return what people see of every version of a candidate that was ever here: its id and hash to the hash of that."""
    return {
        (row.candidate_id, row.candidate_hash): row.seen for row in connection.execute(tables().seen.select())
    }


def note_seen(
    database: Database, connection: Connection, questions: Iterable[Question]
) -> dict[tuple[str, str], str]:
    """Note what people see of questions that are new, in a writing transaction of the caller; see ``seen_versions``."""
    known, rows = seen_versions(connection), []
    for question in questions:
        version = (question.id, version_of(question))
        if version not in known:
            known[version] = seen_of(question)
            rows.append({"candidate_id": version[0], "candidate_hash": version[1], "seen": known[version]})
    if rows:
        connection.execute(database.insert_new(tables().seen), rows)
    return known


def seen_of(question: Question) -> str:
    """Return the hash of what people see of a question; a kind may show more of the facts (``Kind.seen``)."""
    return kind_named(question.kind).seen(question)


def alike_versions(connection: Connection) -> Alike:
    """Return the versions of the studio's items of which people see the same as of today's."""
    return {(name, was): now for name, was, now in fetch_all(connection, _alike(of_one=False))}


def _under_today(verdict: Verdict, alike: Alike) -> Verdict:
    """Return a person's verdict under the hash of the version that shows the same today; machines also see the facts."""
    now = alike.get((verdict.candidate_id, verdict.candidate_hash))
    if now is None or verdict.annotator_kind != "human":
        return verdict
    return msgspec.structs.replace(verdict, candidate_hash=now)


def _append(database: Database, connection: Connection, rows: list[dict[str, str]]) -> int:
    from sqlalchemy import func, select

    table = tables().verdicts
    before = int(connection.execute(select(func.coalesce(func.max(table.c.sequence), 0))).scalar_one())
    connection.execute(database.insert_new(table), rows)
    new = select(func.count()).select_from(table).where(table.c.sequence > before)
    return int(connection.execute(new).scalar_one())


def _insert_new(database: Database) -> Any:
    """Return the dialect's insert; making one anew for every verdict costs more than running it."""
    kind = "sqlite" if database.is_sqlite else "postgresql"
    if kind not in _INSERTS:
        _INSERTS[kind] = database.insert_new(tables().verdicts)
    return _INSERTS[kind]


_INSERTS: Final[dict[str, Any]] = {}


@cache
def _latest() -> Select[Any]:
    from sqlalchemy import func, select

    table, voids = tables().verdicts, tables().voids
    last = (
        select(func.max(table.c.sequence))
        .where(table.c.digest.not_in(select(voids.c.digest)))
        .group_by(table.c.candidate_id, table.c.annotator, table.c.role)
    )
    query = select(table.c.sequence, table.c.body).where(table.c.sequence.in_(last.scalar_subquery()))
    return query.order_by(table.c.sequence)


@cache
def _latest_of_one() -> Select[Any]:
    from sqlalchemy import bindparam, func, select

    table, voids = tables().verdicts, tables().voids
    last = (
        select(func.max(table.c.sequence))
        .where(table.c.candidate_id == bindparam("candidate"))
        .where(table.c.digest.not_in(select(voids.c.digest)))
        .group_by(table.c.annotator, table.c.role)
    )
    query = select(table.c.sequence, table.c.body).where(table.c.sequence.in_(last.scalar_subquery()))
    return query.order_by(table.c.sequence)


@cache
def _alike(*, of_one: bool) -> Select[Any]:
    from sqlalchemy import bindparam, select

    was, item = tables().seen, tables().items
    now = was.alias()
    query = select(was.c.candidate_id, was.c.candidate_hash, item.c.candidate_hash.label("now")).where(
        was.c.candidate_id == item.c.candidate_id,
        was.c.candidate_hash != item.c.candidate_hash,
        now.c.candidate_id == item.c.candidate_id,
        now.c.candidate_hash == item.c.candidate_hash,
        now.c.seen == was.c.seen,
    )
    return query.where(was.c.candidate_id == bindparam("candidate")) if of_one else query


def _decoded(rows: Iterable[Any], place: str) -> list[StoredVerdict]:
    found = []
    for n, body in rows:
        data = body if isinstance(body, bytes) else str(body).encode("utf-8", "replace")
        found.append(StoredVerdict(n, decode(data, Verdict, f"{place}: verdict {n}")))
    return found


# -- the kind of store ---------------------------------------------------------------------------------------


def _upgrade(connection: Connection, version: int) -> None:
    from proctor.verify.migrations import upgrade

    upgrade(connection, version)


VERDICTS: Final = StoreKind(
    things="verdicts",
    file_name="verification.sqlite",
    first="verify something first",
    again="save again",
    schema_version=SCHEMA_VERSION,
    lock_key=0x70726F63,
    tables=tables,
    upgrade=_upgrade,
)


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

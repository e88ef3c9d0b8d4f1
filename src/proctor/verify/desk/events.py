"""The chain of events: who did what and when, each bound to the one before it, so that a later edit shows.

A record's digest covers the digest of the one before. Whoever changes a row in the database by hand has to change all
later ones as well; a copy of the last digest (in a backup, an export) then tells.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from sqlalchemy import Connection, func, or_, select

from proctor.database import Note, fetch_all, run
from proctor.records import canonical_json
from proctor.verify.schema import tables

if TYPE_CHECKING:
    from proctor.verify.desk.desk import Desk

__all__ = [
    "Checked",
    "Event",
    "add_event",
    "check_chain",
    "check_events",
    "head",
    "is_short",
    "list_events",
    "look_back",
    "newest_event",
    "note_head",
]

SHORT: Final = 3_000
"""Events up to which a page checks the chain while somebody waits: some 10 ms."""

_WINDOW: Final = 20_000
"""Events that one page of a filtered list looks through."""
_FIRST: Final = "0" * 64
_HEAD: Final = Note[str]("event digest")


class Event(NamedTuple):
    """One entry: its number, seconds since 1970, who, what, about what, details."""

    id: int
    at: float
    actor: str
    kind: str
    subject: str
    body: Mapping[str, Any]


def add_event(
    desk: Desk, connection: Connection, kind: str, subject: str, actor: str, **body: object
) -> None:
    """Append an event inside a writing transaction (writers take turns, so nobody comes in between)."""
    now = desk.now()
    text = canonical_json(body).decode()
    last = _HEAD.get(connection) or note_head(connection, fetch_all(connection, head()))
    digest = _digest(last, now, actor, kind, subject, text)
    fresh = {"at": now, "actor": actor, "kind": kind, "subject": subject, "body": text, "digest": digest}
    run(connection, _insert(), fresh)
    _HEAD.put(connection, digest)


def note_head(connection: Connection, rows: Sequence[Any]) -> str:
    """Note what ``head`` found, for the events of this transaction, and return it; only the one writer may rely on it."""
    digest = str(rows[0].digest) if rows else _FIRST
    _HEAD.put(connection, digest)
    return digest


def list_events(connection: Connection, *, subject: str | None = None, limit: int = 100) -> list[Event]:
    """Return events, newest first.

    Args:
        connection: in a transaction.
        subject: only about this pid.
        limit: at most so many.
    """
    table = tables().events
    query = table.select().order_by(table.c.id.desc()).limit(limit)
    if subject is not None:
        query = query.where(table.c.subject == subject)
    return [_event(row) for row in connection.execute(query)]


def look_back(
    connection: Connection,
    *,
    before: int | None = None,
    actor: str | None = None,
    begins: Sequence[str] = (),
    limit: int = 100,
) -> tuple[list[Event], int | None]:
    """Return a page of events, newest first, and where the next page begins; None at the end.

    A filter that hardly anything passes looks through so many events and no more: the page may then be short, or
    empty, and the next one goes on from there.

    Args:
        connection: in a transaction.
        before: only those with a smaller number.
        actor: only by this pid.
        begins: only those whose kind begins with one of these.
        limit: at most so many.
    """
    table = tables().events
    top = newest_event(connection) + 1 if before is None else before
    low = max(0, top - _WINDOW)
    query = table.select().where(table.c.id < top, table.c.id >= low).order_by(table.c.id.desc()).limit(limit)
    if actor is not None:
        query = query.where(table.c.actor == actor)
    if begins:
        query = query.where(or_(*(table.c.kind.startswith(kind, autoescape=True) for kind in begins)))
    found = [_event(row) for row in connection.execute(query)]
    if len(found) == limit:
        return found, found[-1].id if found[-1].id > 1 else None
    return found, low if low > 1 else None


def newest_event(connection: Connection) -> int:
    """Return the number of the last event, 0 before the first."""
    return int(connection.execute(select(func.max(tables().events.c.id))).scalar() or 0)


class Checked(NamedTuple):
    """What a look at every event found: how many there are, and the number of the first that does not fit."""

    events: int
    broken: int | None


def is_short(connection: Connection) -> bool:
    """True when the chain can be checked while somebody waits; a long one is checked beside the requests."""
    return newest_event(connection) <= SHORT


def check_events(desk: Desk, connection: Connection) -> Checked:  # noqa: ARG001 - as work beside the requests is called
    """Check the chain; see ``check_chain``."""
    return check_chain(connection)


def check_chain(connection: Connection) -> Checked:
    """Tell the digest of every event again, from the first to the last, up to one that does not fit what stands before it."""
    table = tables().events
    last, count = _FIRST, 0
    query = table.select().order_by(table.c.id).execution_options(yield_per=2_000)
    with connection.execute(query) as rows:
        for row in rows:
            last = _digest(last, row.at, row.actor, row.kind, row.subject, row.body)
            count += 1
            if last != row.digest:
                return Checked(count, int(row.id))
    return Checked(count, None)


def _event(row: Any) -> Event:
    return Event(row.id, row.at, row.actor, row.kind, row.subject, msgspec.json.decode(row.body))


def _digest(last: str, at: float, *texts: str) -> str:
    return hashlib.sha256(canonical_json([last, at, *texts])).hexdigest()


@cache
def head() -> Any:
    """Return the query for the digest of the last event."""
    table = tables().events
    return select(table.c.digest).order_by(table.c.id.desc()).limit(1)


@cache
def _insert() -> Any:
    return tables().events.insert()

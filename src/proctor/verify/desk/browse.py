"""Looking through items: pages of lists that stay quick at 100,000, and everything that was ever said of one item.

A list is read by key: from the last item of the page before, never by counting rows to skip. An index answers for one
value of its first columns, in the order of the items' numbers; for several values (all question types, both kinds of
disagreement) each gives its own few rows, and they are merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import Connection, func, select

from proctor.exam.question import Choice, Form, Proposed, Question, Text
from proctor.verify.desk import comments
from proctor.verify.desk.events import Event
from proctor.verify.desk.records import Item, Person, Sheet
from proctor.verify.schema import tables

__all__ = [
    "MOST_COUNTED",
    "WINDOW",
    "Listing",
    "Narrow",
    "Reading",
    "Revision",
    "around",
    "count_items_up_to",
    "has_judged",
    "item_events",
    "item_readings",
    "page_items",
    "said_of",
    "search_items",
]

MOST_COUNTED: Final = 1_000
"""Items of a narrowed list are counted up to here."""
WINDOW: Final = 5_000
"""Items whose texts one search looks through; the next page goes on from there."""

_DIFFER: Final[Mapping[str, tuple[str, ...]]] = {
    "any": ("question", "answers"),
    "question": ("question",),
    "answers": ("answers",),
}


class Narrow(NamedTuple):
    """What a list is narrowed to; empty for all.

    Attributes:
        state: of the items.
        stratum: question type.
        differ: where people differ: ``any``, ``question`` or ``answers``.
        pair: names of two annotators who both judged the item.
        asked: only those with a question to the coordinators that waits.
    """

    state: str = ""
    stratum: str = ""
    differ: str = ""
    pair: tuple[str, str] | None = None
    asked: bool = False


class Listing(NamedTuple):
    """One item of a list."""

    id: int
    pid: str
    candidate_id: str
    body: Question
    stratum: str
    title: str
    state: str
    agreement: str
    reason: str
    changed_at: float


class Revision(NamedTuple):
    """One submitted sheet; ``answers`` by place in source order, ``void`` why it does not count ("" when it does)."""

    rev: int
    at: float
    active_ms: int
    guideline: int
    sheet: Sheet
    answers: Mapping[int, str]
    void: str


class Reading(NamedTuple):
    """One assignment of an item with all that was submitted in it, the first revision first."""

    pid: str
    person: str
    stage: str
    slot: int
    state: str
    live: bool
    blind_repeat: bool
    reason: str
    active_ms: int
    lease_until: float | None
    created_at: float
    revisions: tuple[Revision, ...]


# -- lists -----------------------------------------------------------------------------------------------------


def page_items(
    connection: Connection,
    narrow: Narrow,
    strata: Sequence[str],
    *,
    after: int = 0,
    before: int = 0,
    limit: int = 50,
) -> list[Listing]:
    """Return items in the order of their numbers.

    Args:
        connection: in a transaction.
        narrow: which.
        strata: every question type there is.
        after: only larger numbers (the last one of the page before).
        before: only smaller ones, the nearest, for going back; ``after`` then does not count.
        limit: at most so many.
    """
    t = tables().items
    rows: list[Any] = []
    for query in _queries(narrow, strata):
        query = query.with_only_columns(*_columns()).limit(limit)
        query = (
            query.where(t.c.id < before).order_by(t.c.id.desc())
            if before
            else query.where(t.c.id > after).order_by(t.c.id)
        )
        rows.extend(connection.execute(query))
    rows.sort(key=lambda row: -row.id if before else row.id)
    return sorted(map(_listing, rows[:limit]))


def count_items_up_to(connection: Connection, narrow: Narrow, strata: Sequence[str]) -> int:
    """Return how many items a list has; ``MOST_COUNTED`` + 1 for all that have more."""
    t, found = tables().items, 0
    for query in _queries(narrow, strata):
        some = query.with_only_columns(t.c.id).limit(MOST_COUNTED + 1 - found).subquery()
        found += int(connection.execute(select(func.count()).select_from(some)).scalar_one())
        if found > MOST_COUNTED:
            break
    return found


def search_items(
    connection: Connection, text: str, narrow: Narrow, *, after: int = 0, limit: int = 50
) -> tuple[list[Listing], int]:
    """Return items whose question or an answer holds a text (capital letters or not), or that it names.

    Args:
        connection: in a transaction.
        text: words, or the id of an item, a candidate or an assignment.
        narrow: which, apart from that.
        after: only larger numbers.
        limit: at most so many.

    Returns:
        The items, and the number up to which items were looked through; 0 when that was the end.
    """
    named = _named(connection, text) if not after else []
    if named:
        return named, 0
    t = tables().items
    wanted = text.casefold()
    inside = msgspec.json.encode(text).decode()[1:-1]
    query = t.select().with_only_columns(*_columns()).where(t.c.id > after, t.c.id <= after + WINDOW)
    query = _narrowed(query, narrow).order_by(t.c.id)
    if inside.isascii():  # SQLite knows capital letters of ASCII only; others are looked for below
        column = t.c.body
        like = column.contains if connection.dialect.name == "sqlite" else column.icontains
        query = query.where(like(inside, autoescape=True))
    found: list[Listing] = []
    for row in connection.execute(query):
        texts = _TEXTS.decode(row.body)
        options = texts.form.options if isinstance(texts.form, Choice) else ()
        proposed = (p.value.text for p in texts.proposals if isinstance(p.value, Text))
        if any(wanted in part.casefold() for part in (texts.text, *options, *proposed)):
            found.append(_listing(row))
            if len(found) == limit:
                return found, found[-1].id
    later = connection.execute(
        t.select().with_only_columns(t.c.id).where(t.c.id > after + WINDOW).limit(1)
    ).first()
    return found, after + WINDOW if later is not None else 0


def _named(connection: Connection, text: str) -> list[Listing]:
    t, a = tables().items, tables().assignments
    name = text.rstrip("/").rpartition("/")[2]
    query = t.select().with_only_columns(*_columns())
    row = connection.execute(query.where((t.c.candidate_id == text) | (t.c.pid == name))).first()
    if row is None:
        of = a.select().with_only_columns(a.c.item_id).where(a.c.pid == name).scalar_subquery()
        row = connection.execute(query.where(t.c.id == of)).first()
    return [_listing(row)] if row is not None else []


def said_of(connection: Connection, candidates: Iterable[str]) -> dict[str, list[str]]:
    """Return the bodies of all verdicts that count of some candidates, the latest last, in one query."""
    v, voids = tables().verdicts, tables().voids
    query = v.select().with_only_columns(v.c.candidate_id, v.c.body)
    query = query.where(v.c.candidate_id.in_(list(candidates)))
    query = query.where(v.c.digest.not_in(voids.select().with_only_columns(voids.c.digest))).order_by(
        v.c.sequence
    )
    found: dict[str, list[str]] = {}
    for name, body in connection.execute(query):
        found.setdefault(name, []).append(body)
    return found


def _queries(narrow: Narrow, strata: Sequence[str]) -> list[Any]:
    """Return one query for each value of an index's first columns; without any filter the numbers themselves lead."""
    t = tables().items
    if narrow.asked or narrow.pair is not None or not (narrow.state or narrow.stratum or narrow.differ):
        # Few have a question. Many items have to be asked for a pair; in the order of their numbers the first ones end it.
        return [_narrowed(t.select(), narrow)]
    kinds = (narrow.stratum,) if narrow.stratum else tuple(strata)
    if narrow.differ:
        return [
            _narrowed(t.select(), narrow._replace(stratum=kind, differ=where))
            for where, kind in product(_DIFFER.get(narrow.differ, ()), kinds)
        ]
    if narrow.state:
        return [_narrowed(t.select(), narrow._replace(stratum=kind)) for kind in kinds]
    return [_narrowed(t.select(), narrow)]


def _narrowed(query: Any, narrow: Narrow) -> Any:
    t, v = tables().items, tables().verdicts
    if narrow.state and (narrow.differ or narrow.pair):
        # Both indexes begin well, only one holds the other's column: an expression keeps the planner from the wrong one.
        query = query.where(func.coalesce(t.c.state, "") == narrow.state)
    elif narrow.state:
        query = query.where(t.c.state == narrow.state)
    if narrow.stratum:
        query = query.where(t.c.stratum == narrow.stratum)
    if narrow.differ:
        column: Any = t.c.agreement if narrow.pair is None else func.coalesce(t.c.agreement, "")  # as above
        query = query.where(column.in_(_DIFFER.get(narrow.differ, ())))
    if narrow.asked:
        query = query.where(t.c.id.in_(comments.waiting_items()))
    for name in narrow.pair or ():
        judged = v.select().with_only_columns(v.c.sequence)
        judged = judged.where(
            v.c.candidate_id == t.c.candidate_id, v.c.annotator == name, v.c.role == "annotator"
        )
        query = query.where(judged.exists())
    return query


def _columns() -> list[Any]:
    return [tables().items.c[name] for name in Listing._fields]


class _Texts(msgspec.Struct):
    """What is searched of a question; reading no more of it is three times as quick."""

    text: str
    form: Form
    proposals: tuple[Proposed, ...] = ()


_TEXTS: Final = msgspec.json.Decoder(_Texts)
_QUESTION: Final = msgspec.json.Decoder(Question)


def _listing(row: Any) -> Listing:
    return Listing(**{**row._mapping, "body": _QUESTION.decode(row.body)})


def has_judged(connection: Connection, person: Person) -> bool:
    """True when somebody has submitted a reading, whatever became of it."""
    a = tables().assignments
    query = (
        a.select()
        .with_only_columns(a.c.id)
        .where(a.c.person_id == person.id, a.c.stage == "judge", a.c.rev > 0)
    )
    return connection.execute(query.limit(1)).first() is not None


def around(connection: Connection, item: Item) -> tuple[str, str]:
    """Return the pids of the items before and after one, empty at the ends."""
    t = tables().items
    pids = t.select().with_only_columns(t.c.pid).limit(1)
    before = connection.execute(pids.where(t.c.id < item.id).order_by(t.c.id.desc())).scalar()
    after = connection.execute(pids.where(t.c.id > item.id).order_by(t.c.id)).scalar()
    return before or "", after or ""


# -- one item --------------------------------------------------------------------------------------------------


def item_readings(connection: Connection, item: Item) -> list[Reading]:
    """Return everything that was submitted of an item, by anybody, in any stage, void or not; in order of time."""
    t = tables()
    a, p = t.assignments, t.people
    query = (
        a.join(p, p.c.id == a.c.person_id)
        .select()
        .with_only_columns(*a.c, p.c.pid.label("person"))
        .where(a.c.item_id == item.id)
        .order_by(a.c.id)
    )
    rows = connection.execute(query).all()
    revisions = _revisions(connection, [row.id for row in rows])
    names = Reading._fields[:-1]
    return [
        Reading(**{name: getattr(row, name) for name in names}, revisions=tuple(revisions.get(row.id, ())))
        for row in rows
    ]


def _revisions(connection: Connection, assignments: Sequence[int]) -> dict[int, list[Revision]]:
    t = tables()
    r, j, v = t.responses, t.answer_judgements, t.voids
    rows = connection.execute(
        r.outerjoin(v, v.c.digest == r.c.verdict_digest)
        .select()
        .with_only_columns(*r.c, v.c.reason.label("void"))
        .where(r.c.assignment_id.in_(assignments))
        .order_by(r.c.rev)
    ).all()
    judged: dict[int, dict[int, str]] = {}
    for one in connection.execute(j.select().where(j.c.response_id.in_([row.id for row in rows]))):
        judged.setdefault(one.response_id, {})[one.target] = one.value
    found: dict[int, list[Revision]] = {}
    for row in rows:
        found.setdefault(row.assignment_id, []).append(
            Revision(
                rev=row.rev,
                at=row.created_at,
                active_ms=row.active_ms,
                guideline=row.guideline_version,
                sheet=msgspec.json.decode(row.sheet, type=Sheet),
                answers=judged.get(row.id, {}),
                void=row.void or "",
            )
        )
    return found


def item_events(connection: Connection, item: Item, readings: Sequence[Reading]) -> list[Event]:
    """Return the events about an item and its assignments, newest first."""
    e = tables().events
    subjects = [item.pid, *(reading.pid for reading in readings)]
    query = e.select().where(e.c.subject.in_(subjects)).order_by(e.c.id.desc()).limit(200)
    return [
        Event(row.id, row.at, row.actor, row.kind, row.subject, msgspec.json.decode(row.body))
        for row in connection.execute(query)
    ]

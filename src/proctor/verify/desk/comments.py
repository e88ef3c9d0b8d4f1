"""Questions to the coordinators: a thread for each item, or task of a round, and person who asks.

Whoever judges must not learn what others think, so a thread has two sides: the person who began it and the coordinators, who
see every thread of an item. What coordinators write for each other stands in a thread of its own (``NOTES``), which stays
theirs when the role of one of them changes. Comments are appended; a withdrawal of consent alone empties a text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, func, select

from proctor.said import say
from proctor.verify.desk.desk import Desk, new_pid
from proctor.verify.desk.events import add_event
from proctor.verify.desk.records import MAX_TEXT, Assignment, GoneError, InvalidError, Person, at_least
from proctor.verify.desk.sheets import is_bad_text
from proctor.verify.schema import tables

__all__ = [
    "MAX_COMMENTS", "NOTES", "About", "Comment", "Thread", "Waiting", "about_assignment", "all_threads", "answers_for",
    "ask", "count_open", "find_about", "open_by_item", "open_threads", "own_thread", "reply", "waiting_items",
]  # fmt: skip

MAX_COMMENTS: Final = 200
"""Comments of one thread."""
NOTES: Final = 0
"""The thread of what coordinators write for each other: no person has this number."""
_ANSWERS: Final = 5
_ANSWER_DAYS: Final = 30


class About(NamedTuple):
    """What is asked about: the pid and number of an item or a task, 0 for the other; of a task its name and its round's pid."""

    pid: str
    item_id: int
    task_id: int
    name: str = ""
    round: str = ""


class Comment(NamedTuple):
    """One comment: who wrote it (pid and name), what ("" after a withdrawal), and when, in seconds since 1970."""

    person: str
    name: str
    text: str
    at: float


class Thread(NamedTuple):
    """A person's thread (pid and name, both "" for the coordinators' notes); ``open`` while it waits for an answer."""

    person: str
    name: str
    open: bool
    comments: tuple[Comment, ...]


class Waiting(NamedTuple):
    """A thread that waits: what it is about (pid, a name, the round's pid or ""), who asked, and the last words."""

    about: str
    name: str
    round: str
    who: str
    text: str
    at: float


def about_assignment(connection: Connection, assignment: Assignment) -> About:
    """Return what the work of an assignment is about."""
    table = tables().tasks if assignment.stage == "task" else tables().items
    number = assignment.task_id or assignment.item_id
    pid = connection.execute(select(table.c.pid).where(table.c.id == number)).scalar_one()
    return About(pid, assignment.item_id, assignment.task_id)


def find_about(connection: Connection, pid: str) -> About:
    """Return the item or the task of a pid.

    Raises:
        GoneError: if there is neither.
    """
    i, t, r = tables().items, tables().tasks, tables().rounds
    item = connection.execute(select(i.c.id).where(i.c.pid == pid)).scalar()
    if item is not None:
        return About(pid, int(item), 0)
    query = select(t.c.id, t.c.name, r.c.pid).join(r, r.c.id == t.c.round_id).where(t.c.pid == pid)
    task = connection.execute(query).first()
    if task is None:
        raise GoneError
    return About(pid, 0, *task)


def own_thread(connection: Connection, about: About, person: Person) -> Thread:
    """Return somebody's own thread, and no comment of any other; it has no comments before the first one."""
    found = _threads(connection, about, person.id)
    return found[0] if found else Thread(person.pid, person.name, open=False, comments=())


def all_threads(connection: Connection, about: About, reader: Person) -> list[Thread]:
    """Return every thread about an item or task in the order in which they began, the coordinators' notes last.

    Raises:
        GoneError: unless the reader is a coordinator or owner.
    """
    if not at_least(reader.role, "coordinator"):
        raise GoneError
    return sorted(_threads(connection, about), key=lambda thread: not thread.person)


def _threads(connection: Connection, about: About, thread: int | None = None) -> list[Thread]:
    c, p = tables().comments, tables().people
    query = select(c.c.thread, c.c.body, c.c.created_at, c.c.closed_at, p.c.pid, p.c.name)
    query = query.join(p, p.c.id == c.c.person_id).where(_is_about(about)).order_by(c.c.id)
    rows = connection.execute(query if thread is None else query.where(c.c.thread == thread)).all()
    begun = {row.thread: None for row in rows}
    known = select(p.c.id, p.c.pid, p.c.name).where(p.c.id.in_(list(begun)))
    names = {row.id: (row.pid, row.name) for row in connection.execute(known)}
    found = []
    for number in begun:
        mine = [row for row in rows if row.thread == number]
        waits = number != NOTES and any(row.closed_at is None for row in mine)
        comments = tuple(Comment(row.pid, row.name, row.body, row.created_at) for row in mine)
        found.append(Thread(*names.get(number, ("", "")), open=waits, comments=comments))
    return found


def _is_about(about: About) -> Any:
    c = tables().comments
    return c.c.item_id == about.item_id if about.item_id else c.c.task_id == about.task_id


def _is_open() -> Any:
    c = tables().comments
    return c.c.closed_at.is_(None) & (c.c.thread != NOTES)


def waiting_items() -> Any:
    """Return the query for the numbers of items with a thread that waits for an answer."""
    c = tables().comments
    return select(c.c.item_id).where(_is_open(), c.c.item_id.is_not(None))


def count_open(connection: Connection) -> int:
    """Return how many threads wait for an answer."""
    c = tables().comments
    some = select(c.c.item_id, c.c.task_id, c.c.thread).where(_is_open()).distinct().subquery()
    return int(connection.execute(select(func.count()).select_from(some)).scalar_one())


def open_by_item(connection: Connection, items: Iterable[int]) -> dict[int, int]:
    """Return how many threads wait of those of some items that have any."""
    c = tables().comments
    query = select(c.c.item_id, c.c.thread).where(_is_open(), c.c.item_id.in_(list(items))).distinct()
    return Counter(connection.execute(query).scalars())


def open_threads(connection: Connection, *, round_id: int = 0, limit: int = 100) -> list[Waiting]:
    """Return threads that wait for an answer, the longest waiting first; with ``round_id`` those of its tasks alone."""
    t = tables()
    c, i, k, r, p = t.comments, t.items, t.tasks, t.rounds, t.people
    last = select(func.max(c.c.id)).where(_is_open()).group_by(c.c.item_id, c.c.task_id, c.c.thread)
    joined = c.outerjoin(i, i.c.id == c.c.item_id).outerjoin(k, k.c.id == c.c.task_id)
    joined = joined.outerjoin(r, r.c.id == k.c.round_id).join(p, p.c.id == c.c.thread)
    query = select(
        func.coalesce(i.c.pid, k.c.pid), func.coalesce(i.c.title, k.c.name), func.coalesce(r.c.pid, ""),
        p.c.name, c.c.body, c.c.created_at,
    ).select_from(joined)  # fmt: skip
    query = query.where(c.c.id.in_(last)).order_by(c.c.id).limit(limit)
    if round_id:
        query = query.where(k.c.round_id == round_id)
    return [Waiting(*row) for row in connection.execute(query)]


def answers_for(desk: Desk, connection: Connection, person: Person) -> list[tuple[str, str, float]]:
    """Return the last threads of somebody in which a coordinator has the last word: their assignment, what they asked, when it came."""
    c, a = tables().comments, tables().assignments
    query = select(c).where(c.c.thread == person.id).order_by(c.c.id.desc()).limit(_ANSWERS * MAX_COMMENTS)
    threads: dict[tuple[int | None, int | None], list[Any]] = {}
    for row in connection.execute(query):
        threads.setdefault((row.item_id, row.task_id), []).append(row)
    since = desk.now() - _ANSWER_DAYS * 24 * 3600
    found = []
    for (item, task), rows in threads.items():
        if rows[0].person_id == person.id or rows[0].created_at < since:
            continue
        same = a.c.item_id == item if item is not None else a.c.task_id == task
        mine = select(a.c.pid).where(same, a.c.person_id == person.id)
        pid = connection.execute(mine.order_by(a.c.live.desc(), a.c.id.desc()).limit(1)).scalar()
        asked = next((row.body for row in rows if row.person_id == person.id), "")
        if pid is not None:
            found.append((pid, asked, rows[0].created_at))
    return found[:_ANSWERS]


def ask(desk: Desk, connection: Connection, about: About, person: Person, text: str) -> Thread:
    """Append to somebody's own thread, which then waits for an answer; return it.

    Raises:
        InvalidError: if the text is empty, too long or no text, or the thread is full.
    """
    _append(desk, connection, about, person, text, person.id, to=person.pid, close=False)
    return own_thread(connection, about, person)


def reply(
    desk: Desk,
    connection: Connection,
    about: About,
    person: Person,
    text: str,
    *,
    to: str = "",
    close: bool = False,
) -> None:
    """Append to the thread of the person with the pid ``to``, as a coordinator; to the notes without one. A text that closes may be empty.

    Raises:
        GoneError: unless they are a coordinator or owner, and the thread has begun.
        InvalidError: as ``ask``.
    """
    p, number = tables().people, NOTES
    if not at_least(person.role, "coordinator"):
        raise GoneError
    if to:
        number = connection.execute(select(p.c.id).where(p.c.pid == to)).scalar() or -1
        begun = _threads(connection, about, number)
        if not begun:
            raise GoneError
        close = close or not begun[0].open  # the person alone opens it again
    close = close and number != NOTES
    if text.strip() or not close:
        _append(desk, connection, about, person, text, number, to=to, close=close)
    else:
        _close(connection, about, number, desk.now())
        add_event(desk, connection, "comment.closed", about.pid, person.pid, thread=to)


def _append(
    desk: Desk,
    connection: Connection,
    about: About,
    person: Person,
    text: str,
    thread: int,
    *,
    to: str,
    close: bool,
) -> None:
    c, now, pid = tables().comments, desk.now(), new_pid()
    text = text.replace("\r\n", "\n").strip()
    query = select(c.c.person_id, c.c.body).where(_is_about(about), c.c.thread == thread)
    before: Sequence[Any] = connection.execute(query.order_by(c.c.id)).all()
    if before and tuple(before[-1]) == (person.id, text) and not close:
        return  # sent twice: the first answer got lost on its way, or the button was pressed again
    if not text:
        raise InvalidError([("text", say("Write something first."))])
    if is_bad_text(text):
        raise InvalidError(
            [("text", say("A comment holds at most {most:,} characters of text.", most=MAX_TEXT))]
        )
    if len(before) >= MAX_COMMENTS:
        raise InvalidError([("text", say("A thread holds at most {most} comments.", most=MAX_COMMENTS))])
    if close:
        _close(connection, about, thread, now)
    row = {"pid": pid, "item_id": about.item_id or None, "task_id": about.task_id or None, "thread": thread,
           "person_id": person.id, "body": text, "created_at": now, "closed_at": now if close else None}  # fmt: skip
    connection.execute(c.insert(), row)
    add_event(desk, connection, "comment.added", about.pid, person.pid, comment=pid, thread=to, closed=close)


def _close(connection: Connection, about: About, thread: int, now: float) -> None:
    c = tables().comments
    where = _is_about(about) & (c.c.thread == thread) & c.c.closed_at.is_(None)
    connection.execute(c.update().where(where).values(closed_at=now))

"""Items: questions as people meet them, copied into the store so that a page reads one row, however many there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeVar

import msgspec
from sqlalchemy import Connection, bindparam, func

from proctor.corpus.source import Source
from proctor.database import fetch_one
from proctor.errors import UserError
from proctor.exam.question import Procedure, Question, part_of, type_of, version_of
from proctor.procedure.graph import TaskGraph
from proctor.records import canonical_json
from proctor.said import say
from proctor.verify.desk.desk import Desk, new_pid
from proctor.verify.desk.events import add_event
from proctor.verify.desk.records import GoneError, Item
from proctor.verify.schema import tables
from proctor.verify.store import note_seen

__all__ = [
    "ITEM_STATES",
    "Synced",
    "count_items",
    "find_item",
    "get_item",
    "item_of_assignment",
    "iter_questions",
    "load_graphs",
    "load_sources",
    "sync_items",
    "to_item",
]

ITEM_STATES: Final[Mapping[str, str]] = {
    "undealt": say("Nobody has been asked"),
    "machine": say("Settled by machines"),
    "judging": say("Waiting for readings"),
    "case": say("Waiting for an adjudicator"),
    "settled": say("Accepted"),
    "rejected": say("Rejected"),
    "held": say("Held for the coordinator"),
    "returned": say("Returned: could not be judged"),
    "training": say("In the training set"),
    "gone": say("No longer among the candidates"),
}
"""Every state of an item, in the words for people."""

_CHUNK: Final = 2_000

T = TypeVar("T")
GONE: Final = "the candidate is gone"
"""Why somebody lost an item; they get it again when it comes back."""


class Synced(msgspec.Struct, frozen=True):
    """What a look at the candidates changed: items that are new, changed, gone, and the same as before."""

    new: int
    changed: int
    gone: int
    same: int


# -- into the store ------------------------------------------------------------------------------------------


def sync_items(
    desk: Desk,
    connection: Connection,
    questions: Iterable[Question],
    graphs: Mapping[str, TaskGraph],
    *,
    sources: Iterable[Source] = (),
    actor: str,
    seen: Callable[[], None] | None = None,
) -> Synced:
    """Bring the items in line with the questions that are there.

    A question of which people see something else has to be judged anew: what was said of its old text stays in the
    history, and everybody who had it gets it again. One that only came about in another way keeps all that was said of
    it, and counts as the same. One that is gone is taken from everybody's list; when it comes back, they have it again.

    Args:
        desk: the desk.
        connection: in a writing transaction.
        questions: all of them, of any kind.
        graphs: task graphs by the id of their procedure.
        sources: of the corpus, those that questions name.
        actor: who asked for it.
        seen: called once for each question.
    """
    t = tables().items
    known = {
        row.candidate_id: (row.id, row.candidate_hash, row.state)
        for row in connection.execute(
            t.select().with_only_columns(t.c.id, t.c.candidate_id, t.c.candidate_hash, t.c.state)
        )
    }
    now, fresh, counts = desk.now(), [], {"new": 0, "changed": 0, "same": 0}
    questions, left = list(questions), set(known)
    seen_of = note_seen(desk.database, connection, questions)
    renamed: dict[int, tuple[str, Mapping[str, Any]]] = {}
    for question in questions:
        row = _row(question)
        left.discard(question.id)
        old = known.get(question.id)
        if old is None:
            counts["new"] += 1
            fresh.append({**row, "pid": new_pid(), "state": "undealt", "changed_at": now})
            if len(fresh) >= _CHUNK:
                connection.execute(t.insert(), fresh)
                fresh = []
        elif seen_of.get((question.id, old[1])) != seen_of[question.id, row["candidate_hash"]]:
            counts["changed"] += 1
            _replace(desk, connection, old[0], row)
        else:
            counts["same"] += 1
            if old[1] != row["candidate_hash"]:
                renamed[old[0]] = (old[1], row)
            if old[2] == "gone":
                _give_slots_back(connection, old[0])
                _set_begun(connection, old[0], now)
        if seen is not None:
            seen()
    if fresh:
        connection.execute(t.insert(), fresh)
    if renamed:
        _rename(connection, renamed)
    gone = [known[name][0] for name in sorted(left) if known[name][2] != "gone"]
    for item_id in gone:
        _remove(desk, connection, item_id)
    _write_library(connection, graphs, sources)
    result = Synced(new=counts["new"], changed=counts["changed"], gone=len(gone), same=counts["same"])
    if result.new or result.changed or result.gone:
        add_event(desk, connection, "items.synced", "items", actor, **msgspec.to_builtins(result))
    return result


def _row(question: Question) -> dict[str, Any]:
    topic, title = _topic(question)
    texts = (question.id, question.kind, type_of(question), question.cluster, topic, title)
    if any("\x00" in text for text in texts):
        raise UserError("an id or a name holds a NUL character.", where=f"candidate {question.id!r}")
    return {
        "candidate_id": question.id,
        "candidate_hash": version_of(question),
        "kind": question.kind,
        "body": canonical_json(question).decode(),
        "stratum": type_of(question),
        "cluster": question.cluster,
        "topic": topic,
        "title": title,
        "place": question.place,
    }


def _topic(question: Question) -> tuple[str, str]:
    """Return what a question is about, and in words: the procedure, or the goal of a clip; empty where nothing says so."""
    procedure = part_of(question, Procedure)
    goal = str(question.facts.get("goal", ""))
    return (goal, goal) if procedure is None else (procedure.id, procedure.title)


def _rename(connection: Connection, renamed: Mapping[int, tuple[str, Mapping[str, Any]]]) -> None:
    """Take other versions of which people see the same; training references that were written for them stay good.

    Args:
        connection: in a writing transaction.
        renamed: by number of the item the hash that it had, and its new row.
    """
    i, t = tables().items, tables().training
    rows = [{**row, "item": item_id} for item_id, (_, row) in renamed.items()]
    connection.execute(i.update().where(i.c.id == bindparam("item")), rows)
    for lesson in connection.execute(t.select()).all():
        was, row = renamed.get(lesson.item_id, ("", {}))
        reference = msgspec.json.decode(lesson.reference)
        if was and reference.get("candidate_hash") == was:
            reference["candidate_hash"] = row["candidate_hash"]
            values = {"reference": msgspec.json.encode(reference).decode()}
            connection.execute(t.update().where(t.c.item_id == lesson.item_id).values(**values))


def _replace(desk: Desk, connection: Connection, item_id: int, row: Mapping[str, Any]) -> None:
    """Take the new text; everybody gets the item anew, under another address.

    A page or a draft of the old text must not be taken for a judgement of the new one.
    """
    t, a = tables().items, tables().assignments
    now = desk.now()
    values = {**row, "changed_at": now, "agreement": "", "reason": ""}
    connection.execute(t.update().where(t.c.id == item_id).values(**values))
    for derived in (tables().cases, tables().final_answers):
        connection.execute(derived.delete().where(derived.c.item_id == item_id))
    _give_slots_back(connection, item_id)
    mine = (a.c.item_id == item_id, a.c.live.is_(True))
    p = tables().people  # who has left gets nothing new
    here = p.select().with_only_columns(p.c.id).where(p.c.state == "active")
    slots = connection.execute(a.select().where(*mine, a.c.stage == "judge", a.c.person_id.in_(here))).all()
    connection.execute(
        a.update().where(*mine).values(live=False, state="void", reason="the candidate changed")
    )
    for old in slots:
        again = {
            "pid": new_pid(),
            "item_id": item_id,
            "person_id": old.person_id,
            "stage": old.stage,
            "slot": old.slot,
            "state": "open",
            "live": True,
            "queue_pos": old.queue_pos,
            "created_at": now,
        }
        connection.execute(a.insert(), again)
    _set_begun(connection, item_id, now)


def _give_slots_back(connection: Connection, item_id: int) -> None:
    """Whoever had an item before it was gone has it again, if they are still here."""
    a, p = tables().assignments, tables().people
    here = p.select().with_only_columns(p.c.id).where(p.c.state == "active")
    taken = a.select().with_only_columns(a.c.slot, a.c.person_id)
    live = connection.execute(
        taken.where(a.c.item_id == item_id, a.c.stage == "judge", a.c.live.is_(True))
    ).all()
    lost = a.select().where(a.c.item_id == item_id, a.c.stage == "judge", a.c.live.is_(False))
    lost = lost.where(a.c.state == "moved", a.c.reason == GONE, a.c.person_id.in_(here)).order_by(
        a.c.id.desc()
    )
    slots, people = {row.slot for row in live}, {row.person_id for row in live}
    for row in connection.execute(lost).all():
        if row.slot in slots or row.person_id in people:
            continue
        connection.execute(a.update().where(a.c.id == row.id).values(live=True, state="open", reason=""))
        slots.add(row.slot)
        people.add(row.person_id)


def _set_begun(connection: Connection, item_id: int, now: float) -> None:
    """An item that somebody has is being judged; what more is known of it, its verdicts tell (``cases``)."""
    t, a = tables().items, tables().assignments
    waiting = connection.execute(
        a.select().where(a.c.item_id == item_id, a.c.stage == "judge", a.c.live.is_(True))
    ).first()
    state = "judging" if waiting is not None else "undealt"
    one = t.update().where(t.c.id == item_id)
    connection.execute(one.where(t.c.in_training.is_(False)).values(state=state, changed_at=now))
    connection.execute(one.where(t.c.in_training.is_(True)).values(state="training", changed_at=now))


def _remove(desk: Desk, connection: Connection, item_id: int) -> None:
    t, a = tables().items, tables().assignments
    connection.execute(t.update().where(t.c.id == item_id).values(state="gone", changed_at=desk.now()))
    connection.execute(
        a.update()
        .where(a.c.item_id == item_id, a.c.live.is_(True), a.c.state == "open")
        .values(live=False, state="moved", reason=GONE)
    )


def _write_library(
    connection: Connection, graphs: Mapping[str, TaskGraph], sources: Iterable[Source]
) -> None:
    t = tables().library
    connection.execute(t.delete())
    parts: list[tuple[str, str, TaskGraph | Source]] = [
        ("graph", name, graph) for name, graph in graphs.items()
    ]
    parts += [("source", source.id, source) for source in sources]
    rows = [
        {"part": part, "id": name, "body": canonical_json(what).decode()}
        for part, name, what in sorted(parts, key=lambda p: p[:2])
    ]
    if rows:
        connection.execute(t.insert(), rows)


# -- out of it -----------------------------------------------------------------------------------------------


def get_item(connection: Connection, item_id: int) -> Item:
    """Return an item by its number.

    Raises:
        GoneError: if there is none.
    """
    return to_item(fetch_one(connection, _by_id(), {"item": item_id}))


def find_item(connection: Connection, pid: str) -> Item:
    """Return an item by its public id.

    Raises:
        GoneError: if there is none.
    """
    t = tables().items
    return to_item(connection.execute(t.select().where(t.c.pid == pid)).first())


def count_items(connection: Connection) -> dict[str, dict[str, int]]:
    """Return for each question type how many items are in each state."""
    t = tables().items
    query = (
        t.select().with_only_columns(t.c.stratum, t.c.state, func.count()).group_by(t.c.stratum, t.c.state)
    )
    counts: dict[str, dict[str, int]] = {}
    for stratum, state, n in connection.execute(query):
        counts.setdefault(stratum, {})[state] = n
    return counts


def iter_questions(connection: Connection) -> Iterable[Question]:
    """Yield the questions in the order of their numbers; those that are gone left out."""
    t = tables().items
    query = t.select().with_only_columns(t.c.body).where(t.c.state != "gone").order_by(t.c.id)
    decoder = msgspec.json.Decoder(Question)
    with connection.execute(query.execution_options(yield_per=_CHUNK)) as rows:
        for (body,) in rows:
            yield decoder.decode(body)


def load_graphs(connection: Connection) -> dict[str, TaskGraph]:
    """Return the task graphs by the id of their procedure."""
    return _from_library(connection, "graph", TaskGraph)


def load_sources(connection: Connection) -> dict[str, Source]:
    """Return the sources that questions name, by id."""
    return _from_library(connection, "source", Source)


def _from_library(connection: Connection, part: str, type_: type[T]) -> dict[str, T]:
    t = tables().library
    rows: Sequence[Any] = connection.execute(t.select().where(t.c.part == part)).all()
    return {row.id: msgspec.json.decode(row.body, type=type_) for row in rows}


@cache
def _by_id() -> Any:
    t = tables().items
    return t.select().where(t.c.id == bindparam("item"))


@cache
def item_of_assignment() -> Any:
    """Return the query for the item of an assignment, by ``assignment_pid``."""
    t, a = tables().items, tables().assignments
    return t.select().where(t.c.id == a.c.item_id, a.c.pid == bindparam("assignment_pid"))


_QUESTION: Final = msgspec.json.Decoder(Question)


def to_item(row: Any) -> Item:
    """Return a row of the table of items as the record.

    Raises:
        GoneError: if there is none.
    """
    if row is None:
        raise GoneError
    return Item(
        id=row.id,
        pid=row.pid,
        question=_QUESTION.decode(row.body),
        candidate_hash=row.candidate_hash,
        state=row.state,
        stratum=row.stratum,
        title=row.title,
        wanted=row.wanted,
        reason=row.reason,
        agreement=row.agreement,
        in_training=bool(row.in_training),
    )

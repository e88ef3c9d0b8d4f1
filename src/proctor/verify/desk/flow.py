"""What a person does next, and how far they are."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import Connection, bindparam, func, select

from proctor.database import fetch_one
from proctor.verify.desk.cases import standing
from proctor.verify.desk.desk import Desk, new_pid
from proctor.verify.desk.documents import Protocol
from proctor.verify.desk.events import add_event
from proctor.verify.desk.items import get_item, to_item
from proctor.verify.desk.records import STAGES, Assignment, Item, Person, Stage, at_least
from proctor.verify.queue import Ready, adjudication_order, is_leased, lease_until
from proctor.verify.schema import tables

__all__ = [
    "Neighbours",
    "StageCount",
    "closed_kinds",
    "ensure_training",
    "following",
    "item_kinds",
    "neighbours",
    "next_work",
    "pending_training",
    "question_of",
    "stage_counts",
    "upcoming",
]

LOOK_AHEAD: Final = 300
"""Open cases that are looked at when one is chosen for an adjudicator."""


class StageCount(NamedTuple):
    """How far a person is in a stage: what waits for them, what they have done, what they gave back."""

    stage: Stage
    waiting: int
    done: int
    returned: int


class Neighbours(NamedTuple):
    """Where *Back* and *Next* lead: pids, None at the ends; and the place in the person's list."""

    previous: str | None
    following: str | None
    position: int
    total: int


def next_work(
    desk: Desk, connection: Connection, person: Person, protocol: Protocol, stage: Stage | None = None
) -> str | None:
    """Return the pid of what a person does next, None when there is nothing for them right now.

    Training comes first, then the person's own queue, then - for adjudicators - a case that is reserved for them for
    a while. Call it in a writing transaction: it reserves.
    """
    if person.state != "active":
        return None
    closed = closed_kinds(connection, person, protocol)
    for one in STAGES if stage is None else (stage,):
        if one == "training":
            ensure_training(desk, connection, person, closed)
        if one == "adjudicate" and not at_least(person.role, "adjudicator"):
            continue
        if one in protocol.frozen_stages:
            continue
        mine = _next_open(connection, person, one, closed if one != "training" else ())
        if mine is not None:
            return str(mine.pid)
        if one == "adjudicate":
            reserved = _reserve_case(desk, connection, person, protocol, closed)
            if reserved is not None:
                return reserved
    return None


def item_kinds(connection: Connection) -> tuple[str, ...]:
    """Return the kinds of the questions that there are, sorted."""
    t = tables().items
    query = t.select().with_only_columns(t.c.kind).where(t.c.state != "gone").distinct()
    return tuple(sorted(row.kind for row in connection.execute(query)))


def closed_kinds(connection: Connection, person: Person, protocol: Protocol) -> tuple[str, ...]:
    """Return the kinds of which somebody gets training only, as they have not passed the gate; coordinators need none.

    A kind without training items holds nobody back: there is nothing that they could do to pass.
    """
    if not protocol.training_required or at_least(person.role, "coordinator"):
        return ()
    kinds = item_kinds(connection) or tuple(person.gates) or ("",)
    gates = {kind: person.gate_of(kind) for kind in kinds}
    if "training" in gates.values():
        i = tables().items
        query = i.select().with_only_columns(i.c.kind).where(i.c.state == "training").distinct()
        taught = {row.kind for row in connection.execute(query)}
        gates = {k: g if g != "training" or k in taught else "open" for k, g in gates.items()}
    return tuple(kind for kind, gate in gates.items() if gate != "open")


def pending_training(connection: Connection, person: Person, protocol: Protocol) -> int:
    """Return how many training items a person has still to do, those that they were not given yet included."""
    closed = closed_kinds(connection, person, protocol)
    if not closed:
        return 0
    t, a = tables().training, tables().assignments
    done = a.select().with_only_columns(a.c.item_id)
    done = done.where(
        a.c.person_id == person.id, a.c.stage == "training", a.c.live.is_(True), a.c.state != "open"
    )
    query = t.select().with_only_columns(func.count())
    query = query.where(t.c.item_id.not_in(done), t.c.item_id.in_(_lessons(closed)))
    return int(connection.execute(query).scalar_one())


def question_of(body: str) -> str:
    """Return the text of a question as it is stored."""
    return str(msgspec.json.decode(body)["text"])


def ensure_training(desk: Desk, connection: Connection, person: Person, kinds: Sequence[str]) -> None:
    """Give a person every training item of these kinds that they do not have yet."""
    if not kinds:
        return
    t, a, i = tables().training, tables().assignments, tables().items
    mine = a.select().with_only_columns(a.c.item_id)
    mine = mine.where(a.c.person_id == person.id, a.c.stage == "training", a.c.live.is_(True))
    missing = connection.execute(
        t.join(i, i.c.id == t.c.item_id)
        .select()
        .with_only_columns(t.c.item_id, t.c.position, i.c.kind)
        .where(t.c.item_id.not_in(mine), t.c.item_id.in_(_lessons(kinds)))
        .order_by(t.c.position)
    ).all()
    for row in missing:
        _assign(
            desk,
            connection,
            row.item_id,
            person,
            "training",
            slot=person.id,
            queue_pos=row.position,
            guideline_version=person.guidelines.get(row.kind, 0),
        )


def _lessons(kinds: Sequence[str]) -> Any:
    """Items of the training set that are still among the questions."""
    i = tables().items
    return i.select().with_only_columns(i.c.id).where(i.c.state == "training", i.c.kind.in_(kinds))


# -- cases -----------------------------------------------------------------------------------------------------


def _reserve_case(
    desk: Desk, connection: Connection, person: Person, protocol: Protocol, closed: Collection[str]
) -> str | None:
    """Reserve the case whose turn it is; the items that are repeated blindly stand in the same queue."""
    _release_expired(desk, connection, protocol.lease_minutes * 60)
    whose = {"person": person.id, "name": person.pid}
    cases = {row.candidate_id: row for row in connection.execute(_waiting_cases(), whose).all()}
    repeats = _repeats(connection, person, protocol)
    ready = [
        Ready(row.candidate_id, row.stratum, row.since)
        for row in (*cases.values(), *repeats.values())
        if row.kind not in closed
    ]
    served = [row.stratum for row in connection.execute(_served(), {"person": person.id})][::-1]
    order = adjudication_order(ready, person.pid, secret=desk.secret, now=desk.now(), served=served)
    if not order:
        return None
    repeat = order[0] in repeats
    item = get_item(connection, (repeats if repeat else cases)[order[0]].id)
    pid = _assign(
        desk,
        connection,
        item.id,
        person,
        "adjudicate",
        slot=1 if repeat else 0,
        queue_pos=_last_place(connection, person),
        lease_until=lease_until(desk.now(), protocol.lease_minutes * 60),
        case_hash="" if repeat else standing(desk, connection, item).case.hash,
        blind_repeat=repeat,
        guideline_version=person.guidelines.get(item.question.kind, 0),
    )
    add_event(desk, connection, "adjudicate.reserved", pid, person.pid, item=item.pid)
    return pid


def _repeats(connection: Connection, person: Person, protocol: Protocol) -> dict[str, Any]:
    if protocol.repeat_share <= 0:
        return {}
    values = {"person": person.id, "share": protocol.repeat_share}
    return {row.candidate_id: row for row in connection.execute(_settled_unrepeated(), values)}


def _release_expired(desk: Desk, connection: Connection, lease_seconds: float) -> None:
    """Take cases from those whose time ran out; what they wrote stays with the old assignment."""
    a = tables().assignments
    expired = connection.execute(
        a.select().where(
            a.c.stage == "adjudicate", a.c.state == "open", a.c.live.is_(True), a.c.lease_until.is_not(None)
        )
    ).all()
    for row in expired:
        if is_leased(row.lease_until, desk.now(), lease_seconds):
            continue
        connection.execute(
            a.update().where(a.c.id == row.id).values(live=False, state="moved", reason="time ran out")
        )
        add_event(desk, connection, "adjudicate.expired", row.pid, "studio")


def _last_place(connection: Connection, person: Person) -> int:
    a = tables().assignments
    query = a.select().with_only_columns(func.coalesce(func.max(a.c.queue_pos), 0))
    return (
        int(
            connection.execute(
                query.where(a.c.person_id == person.id, a.c.stage == "adjudicate")
            ).scalar_one()
        )
        + 1
    )


def _assign(
    desk: Desk, connection: Connection, item_id: int, person: Person, stage: Stage, **values: Any
) -> str:
    pid = new_pid()
    row = {
        "pid": pid,
        "item_id": item_id,
        "person_id": person.id,
        "stage": stage,
        "state": "open",
        "live": True,
        "created_at": desk.now(),
        **values,
    }
    connection.execute(tables().assignments.insert(), row)
    return pid


# -- where somebody is -----------------------------------------------------------------------------------------


def stage_counts(connection: Connection, person: Person, protocol: Protocol) -> tuple[StageCount, ...]:
    """Return how far a person is in each stage; cases that anybody may take count as waiting for adjudicators."""
    a = tables().assignments
    # These states are those of assignments that stand, a returned case apart; asking for them and not for ``live``, the
    # count is read from an index alone.
    query = (
        a.select()
        .with_only_columns(a.c.stage, a.c.state, func.count())
        .where(
            a.c.person_id == person.id,
            a.c.stage.in_(STAGES),
            a.c.state.in_(("open", "submitted", "returned")),
        )
        .group_by(a.c.stage, a.c.state)
    )
    counts = {(stage, state): n for stage, state, n in connection.execute(query)}
    counts.pop(("adjudicate", "returned"), None)
    extra = 0
    if at_least(person.role, "adjudicator"):
        waiting = connection.execute(_count_waiting(), {"person": person.id, "name": person.pid}).scalar_one()
        extra = int(waiting) + len(_repeats(connection, person, protocol))
    return tuple(
        StageCount(
            stage,
            counts.get((stage, "open"), 0) + (extra if stage == "adjudicate" else 0),
            counts.get((stage, "submitted"), 0),
            counts.get((stage, "returned"), 0),
        )
        for stage in STAGES
    )


def neighbours(connection: Connection, assignment: Assignment) -> Neighbours:
    """Return what stands before and after an assignment in its person's list of the stage."""
    a = tables().assignments
    mine = [a.c.person_id == assignment.person_id, a.c.stage == assignment.stage, a.c.live.is_(True)]
    if assignment.batch_id:
        mine.append(a.c.batch_id == assignment.batch_id)
    pids = a.select().with_only_columns(a.c.pid)
    before = pids.where(*mine, a.c.queue_pos < assignment.queue_pos).order_by(a.c.queue_pos.desc()).limit(1)
    after = pids.where(*mine, a.c.queue_pos > assignment.queue_pos).order_by(a.c.queue_pos).limit(1)
    position = a.select().with_only_columns(func.count()).where(*mine, a.c.queue_pos <= assignment.queue_pos)
    total = a.select().with_only_columns(func.count()).where(*mine)
    return Neighbours(
        connection.execute(before).scalar(),
        connection.execute(after).scalar(),
        int(connection.execute(position).scalar_one()),
        int(connection.execute(total).scalar_one()),
    )


def following(connection: Connection, assignment: Assignment, limit: int) -> list[str]:
    """Return the pids of the next open assignments of a person's stage behind one, in their order."""
    a = tables().assignments
    mine = (
        a.c.person_id == assignment.person_id,
        a.c.stage == assignment.stage,
        a.c.state == "open",
        a.c.live.is_(True),
    )
    query = a.select().with_only_columns(a.c.pid).where(*mine, a.c.queue_pos > assignment.queue_pos)
    return [row.pid for row in connection.execute(query.order_by(a.c.queue_pos, a.c.id).limit(limit))]


def upcoming(connection: Connection, person: Person, limit: int) -> tuple[Item, ...]:
    """Return the items of a person's first open assignments, in the order in which they will see them."""
    a, i = tables().assignments, tables().items
    query = (
        i.select()
        .join(a, a.c.item_id == i.c.id)
        .where(a.c.person_id == person.id, a.c.state == "open", a.c.live.is_(True))
        .order_by(a.c.stage.desc(), a.c.queue_pos, a.c.id)  # training, judge, adjudicate: as in ``next_work``
        .limit(limit)
    )
    return tuple(to_item(row) for row in connection.execute(query))


def _next_open(connection: Connection, person: Person, stage: Stage, closed: Sequence[str]) -> Any:
    """Return a person's first open assignment of a stage, of a kind that is not closed to them."""
    values = {"person": person.id, "stage": stage}
    if not closed:
        return fetch_one(connection, _first_open(), values)
    a, i = tables().assignments, tables().items
    open_ = i.select().with_only_columns(i.c.id).where(i.c.kind.not_in(closed))
    return connection.execute(_first_open().where(a.c.item_id.in_(open_)), values).first()


@cache
def _first_open() -> Any:
    a = tables().assignments
    return (
        a.select()
        .with_only_columns(a.c.pid)
        .where(
            a.c.person_id == bindparam("person"),
            a.c.stage == bindparam("stage"),
            a.c.state == "open",
            a.c.live.is_(True),
        )
        .order_by(a.c.queue_pos, a.c.id)
        .limit(1)
    )


@cache
def _served() -> Any:
    """Question types of the latest cases that a person has had, the latest first."""
    a, i = tables().assignments, tables().items
    return (
        a.join(i, i.c.id == a.c.item_id)
        .select()
        .with_only_columns(i.c.stratum)
        .where(a.c.person_id == bindparam("person"), a.c.stage == "adjudicate")
        .order_by(a.c.id.desc())
        .limit(32)
    )


@cache
def _waiting_cases() -> Any:
    """Open cases that nobody works on and that the person did not judge, here or elsewhere."""
    t = tables()
    i, a, k, v = t.items, t.assignments, t.cases, t.verdicts
    taken = (
        a.select()
        .with_only_columns(a.c.id)
        .where(
            a.c.item_id == i.c.id,
            ((a.c.stage == "adjudicate") & a.c.live.is_(True) & a.c.blind_repeat.is_(False))
            | ((a.c.stage == "judge") & (a.c.person_id == bindparam("person"))),
        )
    )
    judged = v.select().with_only_columns(v.c.sequence)
    judged = judged.where(
        v.c.candidate_id == i.c.candidate_id, v.c.annotator == bindparam("name"), v.c.role == "annotator"
    )
    return (
        i.join(k, k.c.item_id == i.c.id)
        .select()
        .with_only_columns(i.c.id, i.c.candidate_id, i.c.kind, i.c.stratum, k.c.opened_at.label("since"))
        .where(i.c.state == "case", ~taken.exists(), ~judged.exists())
        .order_by(k.c.opened_at, i.c.id)
        .limit(LOOK_AHEAD)
    )


@cache
def _count_waiting() -> Any:
    """How many cases wait, ``LOOK_AHEAD`` at most; without their order it need not look at all of them."""
    return select(func.count()).select_from(_waiting_cases().order_by(None).subquery())


@cache
def _settled_unrepeated() -> Any:
    """Items that people have settled, that nobody repeats, and that the person has never seen."""
    i, a = tables().items, tables().assignments
    seen = (
        a.select()
        .with_only_columns(a.c.id)
        .where(
            a.c.item_id == i.c.id,
            (a.c.blind_repeat.is_(True) & a.c.live.is_(True)) | (a.c.person_id == bindparam("person")),
        )
    )
    return (
        i.select()
        .with_only_columns(i.c.id, i.c.candidate_id, i.c.kind, i.c.stratum, i.c.changed_at.label("since"))
        .where(i.c.state == "settled", i.c.repeat_lot < bindparam("share"), ~seen.exists())
        .order_by(i.c.changed_at, i.c.id)
        .limit(LOOK_AHEAD)
    )

"""Rounds on the desk: tasks taken in, batches reserved for people, and what they said of them. docs/rounds.md."""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import Connection, bindparam, func, literal_column, select

from proctor.database import fetch_one, fetch_together
from proctor.errors import UserError, did_you_mean
from proctor.said import say
from proctor.verify.batches import Free, draw_tasks, mix_in
from proctor.verify.desk import people
from proctor.verify.desk.desk import Desk, new_pid
from proctor.verify.desk.events import add_event
from proctor.verify.desk.records import ConflictError, GoneError, Person
from proctor.verify.rounds.kind import Offer, TaskKind, task_kind
from proctor.verify.rounds.records import Batch, Reading, Round, RoundSettings, Task
from proctor.verify.schema import tables

__all__ = [
    "BatchCount",
    "Progress",
    "add_round",
    "batch_of",
    "count_batch",
    "count_waiting",
    "current_batch",
    "expire",
    "find_round",
    "get_round",
    "give_out_again",
    "list_offers",
    "list_rounds",
    "list_tasks",
    "open_batch",
    "progress",
    "read_readings",
    "round_named",
    "round_of_task",
    "set_state",
    "stop_batch",
    "worker",
]

_KEEP_IDS: Final = 180 * 86400.0
"""Seconds for which a platform's ids are kept: until everybody is paid."""


class BatchCount(NamedTuple):
    """How far somebody is in a batch; ``following`` is the pid of what is next, None at its end."""

    done: int
    total: int
    following: str | None


class Progress(NamedTuple):
    """How far a round is: real tasks, readings of them that are wanted and done, tasks held, people, batches by state."""

    tasks: int
    wanted: int
    done: int
    held: tuple[tuple[Task, str], ...]
    people: int
    batches: dict[str, int]


# -- making ----------------------------------------------------------------------------------------------------


def add_round(
    desk: Desk,
    connection: Connection,
    *,
    name: str,
    kind: str,
    tasks: Sequence[Task],
    settings: RoundSettings,
    options: msgspec.Struct,
    actor: str,
) -> Round:
    """Begin a round.

    Raises:
        UserError: if there is one of that name, there are no real tasks, or a task stands twice.
    """
    names = Counter(task.name for task in tasks)
    twice = [task for task, count in names.items() if count > 1]
    if not name.strip() or len(name) > 80 or not name.isprintable():
        raise UserError(f"a round is called by 1 to 80 printable characters, not {name[:40]!r}.")
    if connection.execute(select(tables().rounds.c.id).where(tables().rounds.c.name == name)).first():
        raise UserError(f"there is a round '{name}' already.", hint="give another name with --name")
    if not any(task.role == "real" for task in tasks):
        raise UserError(
            f"the round '{name}' has no tasks.", hint=f"see why in round-{kind}.dropped.jsonl, if it is there"
        )
    if twice:
        raise UserError(f"the task '{twice[0][:60]}' is there twice in the round '{name}'.")
    t = tables().rounds
    pid = new_pid()
    row = {
        "pid": pid,
        "name": name,
        "kind": task_kind(kind).name,
        "settings": msgspec.json.encode(
            settings
        ).decode(),  # canonical JSON would sort choices, whose order is shown
        "options": msgspec.json.encode(options).decode(),
        "state": "open",
        "made_by": actor,
        "created_at": desk.now(),
    }
    number = connection.execute(t.insert().returning(t.c.id), row).scalar_one()
    rows = [
        {
            "pid": new_pid(),
            "round_id": number,
            "name": task.name,
            "body": bytes(task.body).decode(),
            "stratum": task.stratum,
            "cluster": task.group,
            "variant": task.variant,
            "role": task.role,
            "wanted": task.wanted if task.wanted is not None else settings.wanted,
            "held": False,
        }
        for task in tasks
    ]
    connection.execute(tables().tasks.insert(), rows)
    add_event(desk, connection, "round.added", pid, actor, round=name, of=kind, tasks=len(rows))
    return get_round(connection, number)


def set_state(desk: Desk, connection: Connection, round_: Round, state: str, *, actor: str) -> None:
    """Close a round, or open it again; nothing is given out or changed in a closed one."""
    t = tables().rounds
    connection.execute(t.update().where(t.c.id == round_.id).values(state=state))
    add_event(desk, connection, f"round.{state}", round_.pid, actor)


def give_out_again(desk: Desk, connection: Connection, round_: Round, pid: str, *, actor: str) -> None:
    """Let a task be given out again that somebody could not do.

    Raises:
        GoneError: if the round has no such task.
    """
    t = tables().tasks
    found = connection.execute(t.update().where(t.c.pid == pid, t.c.round_id == round_.id).values(held=False))
    if not found.rowcount:
        raise GoneError
    add_event(desk, connection, "task.given-out-again", pid, actor)


# -- looking ---------------------------------------------------------------------------------------------------


def list_rounds(connection: Connection) -> list[Round]:
    """Return all rounds, the newest first."""
    t = tables().rounds
    return [_round(row) for row in connection.execute(t.select().order_by(t.c.id.desc()))]


def find_round(connection: Connection, pid: str) -> Round:
    """Return the round of an address.

    Raises:
        GoneError: if there is none.
    """
    return _one_round(connection, tables().rounds.c.pid == pid)


def get_round(connection: Connection, number: int) -> Round:
    """Return a round by its number in the store."""
    return _round(fetch_one(connection, _by_id("rounds"), {"id": number}))


def round_named(connection: Connection, name: str) -> Round:
    """Return the round of a name.

    Raises:
        UserError: if there is none.
    """
    for round_ in list_rounds(connection):
        if round_.name == name:
            return round_
    known = (r.name for r in list_rounds(connection))
    raise UserError(f"there is no round '{name[:60]}'.", hint=did_you_mean(name, known))


def round_of_task(connection: Connection, task_id: int) -> tuple[Round, Task]:
    """Return a task with its round."""
    row = fetch_one(connection, _by_id("tasks"), {"id": task_id})
    return get_round(connection, row.round_id), _task(row)


def list_tasks(connection: Connection, round_: Round) -> list[Task]:
    """Return the tasks of a round."""
    t = tables().tasks
    return [
        _task(row) for row in connection.execute(t.select().where(t.c.round_id == round_.id).order_by(t.c.id))
    ]


def batch_of(connection: Connection, number: int) -> Batch:
    """Return a batch by its number in the store."""
    return _batch(fetch_one(connection, _by_id("batches"), {"id": number}))


def current_batch(connection: Connection, round_: Round, person: Person) -> Batch | None:
    """Return the last batch that somebody took in a round."""
    t = tables().batches
    query = t.select().where(t.c.round_id == round_.id, t.c.person_id == person.id)
    row = connection.execute(query.order_by(t.c.id.desc()).limit(1)).first()
    return _batch(row) if row is not None else None


def count_batch(connection: Connection, batch: Batch) -> BatchCount:
    """Return how far a batch is; what was given back counts as done."""
    counts, first = fetch_together(connection, *((query, {"batch": batch.id}) for query in _counting()))
    done = {row.state: row.n for row in counts}
    return BatchCount(
        done.get("submitted", 0) + done.get("returned", 0),
        sum(done.get(state, 0) for state in ("open", "submitted", "returned")),
        first[0].pid if first else None,
    )


def progress(connection: Connection, round_: Round) -> Progress:
    """Return how far a round is."""
    t, a, b = tables().tasks, tables().assignments, tables().batches
    mine = t.c.round_id == round_.id
    real = connection.execute(
        select(func.count(), func.coalesce(func.sum(t.c.wanted), 0)).where(mine, t.c.role == "real")
    ).one()
    done = select(func.count()).select_from(a.join(t, t.c.id == a.c.task_id))
    done = done.where(mine, t.c.role == "real", a.c.live.is_(True), a.c.state == "submitted")
    reasons = (
        a.select().with_only_columns(a.c.task_id, a.c.reason).where(a.c.state == "returned").order_by(a.c.id)
    )
    held = connection.execute(t.select().where(mine, t.c.held.is_(True)).order_by(t.c.id)).all()
    why = {row.task_id: row.reason for row in connection.execute(reasons)} if held else {}
    states = select(b.c.state, func.count()).where(b.c.round_id == round_.id).group_by(b.c.state)
    who = select(func.count(b.c.person_id.distinct())).where(b.c.round_id == round_.id)
    return Progress(
        int(real[0]),
        int(real[1]),
        int(connection.execute(done).scalar_one()),
        tuple((_task(row), why.get(row.id, "")) for row in held),
        int(connection.execute(who).scalar_one()),
        {row[0]: int(row[1]) for row in connection.execute(states)},
    )


def read_readings(connection: Connection, round_: Round) -> Iterator[Reading]:
    """Yield what was submitted and stands, by task and person; test and attention tasks among it."""
    a, t, r, p, b = (getattr(tables(), n) for n in ("assignments", "tasks", "responses", "people", "batches"))
    joined = (
        a.join(t, t.c.id == a.c.task_id)
        .join(r, (r.c.assignment_id == a.c.id) & (r.c.rev == a.c.rev))
        .join(p, p.c.id == a.c.person_id)
        .join(b, b.c.id == a.c.batch_id)
    )
    query = (
        select(
            *(
                t.c.name,
                t.c.cluster,
                t.c.variant,
                t.c.stratum,
                t.c.role,
                t.c.body,
                p.c.pid,
                b.c.pid.label("batch"),
                b.c.state,
            ),
            *(r.c.sheet, r.c.active_ms, r.c.rev, r.c.created_at, a.c.pid.label("assignment")),
        )
        .select_from(joined)
        .where(t.c.round_id == round_.id, a.c.live.is_(True), a.c.state == "submitted")
        .order_by(t.c.id, a.c.id)
    )
    corrected = _corrections(connection, round_)
    for row in connection.execute(query):
        yield Reading(
            round=round_.name,
            kind=round_.kind,
            task=row.name,
            person=row.pid,
            batch=row.batch,
            sheet=msgspec.Raw(row.sheet.encode()),
            seconds=row.active_ms / 1000,
            rev=row.rev,
            at=row.created_at,
            group=row.cluster,
            variant=row.variant,
            stratum=row.stratum,
            role=row.role,
            counts=row.state != "refused",
            assignment=row.assignment,
            corrected=corrected.get(row.assignment),
            body=msgspec.Raw(row.body.encode()),
        )


def _corrections(connection: Connection, round_: Round) -> dict[str, msgspec.Raw]:
    """Return the last correction of each reading, by the pid of its assignment."""
    r, a, b = tables().reviews, tables().assignments, tables().batches
    joined = r.join(a, a.c.id == r.c.assignment_id).join(b, b.c.id == r.c.batch_id)
    query = select(a.c.pid, r.c.after).select_from(joined).order_by(r.c.id)
    rows = connection.execute(query.where(b.c.round_id == round_.id, r.c.action == "correct"))
    return {row.pid: msgspec.Raw(row.after.encode()) for row in rows}


# -- reserving -------------------------------------------------------------------------------------------------


def list_offers(
    desk: Desk, connection: Connection, round_: Round, person: Person
) -> list[tuple[Task, Offer]]:
    """Return what somebody may choose now, their own first; nothing where tasks are drawn."""
    kind = task_kind(round_.kind)
    if type(kind).offer is TaskKind.offer:
        return []
    free = {f.id for f in _free(desk, connection, round_, person) if f.left > 0}
    tasks = [t for t in list_tasks(connection, round_) if t.id in free]
    found = [(t, kind.offer(msgspec.json.decode(t.body, type=kind.task))) for t in tasks]
    return sorted(((t, offer) for t, offer in found if offer is not None), key=lambda one: not one[1].owner)


def count_waiting(desk: Desk, connection: Connection, round_: Round, person: Person) -> int:
    """Return how many tasks of an open round wait for somebody: what their open batch still has, or what the next one would have."""
    if round_.state != "open":
        return 0
    last = current_batch(connection, round_, person)
    if last is None or last.state != "open":
        return len(_choose(desk, connection, round_, person))
    count = count_batch(connection, last)
    return count.total - count.done


def open_batch(
    desk: Desk, connection: Connection, round_: Round, person: Person, *, task: str = ""
) -> Batch | None:
    """Return the batch that somebody has open in a round, or a new one; None when there is nothing for them.

    ``task`` is the pid of the one that they chose, if it is still theirs to choose. Call it in a writing transaction. That a task is
    done by no more people than wanted is a rule of the tables, too.

    Raises:
        ConflictError: if the round is closed.
    """
    t, a = tables().batches, tables().assignments
    r = tables().rounds  # who draws in this round at the same time in another process waits here
    state = connection.execute(select(r.c.state).where(r.c.id == round_.id).with_for_update()).scalar_one()
    expire(desk, connection, round_)
    last = current_batch(connection, round_, person)
    if last is not None and last.state == "open":
        return last
    if state != "open":
        raise ConflictError(say("This round is closed."))
    chosen = _choose(desk, connection, round_, person, task)
    if not chosen:
        return None
    now, lease = desk.now(), round_.settings.lease_minutes
    pid = new_pid()
    row = {
        "pid": pid,
        "round_id": round_.id,
        "person_id": person.id,
        "state": "open",
        "code": round_.settings.code or new_pid()[:10].upper(),
        "lease_until": now + lease * 60 if lease else None,
        "created_at": now,
    }
    number = connection.execute(t.insert().returning(t.c.id), row).scalar_one()
    seats = _free_seats(connection, chosen)
    rows = [
        {
            "pid": new_pid(),
            "task_id": task,
            "batch_id": number,
            "person_id": person.id,
            "stage": "task",
            "slot": seats.get(
                task, -person.id
            ),  # tests and checks are done by everybody: each has a seat of their own
            "state": "open",
            "live": True,
            "queue_pos": place,
            "created_at": now,
        }
        for place, task in enumerate(chosen)
    ]
    connection.execute(a.insert(), rows)
    add_event(desk, connection, "batch.taken", pid, person.pid, round=round_.pid, tasks=len(rows))
    return batch_of(connection, number)


def _choose(desk: Desk, connection: Connection, round_: Round, person: Person, task: str = "") -> list[int]:
    """Return the tasks of somebody's next batch; none where they have had as many batches as they may."""
    settings, b = round_.settings, tables().batches
    had = select(func.count()).where(
        b.c.round_id == round_.id, b.c.person_id == person.id, b.c.state != "expired"
    )
    turn = int(connection.execute(had).scalar_one())
    if settings.batches and turn >= settings.batches:
        return []
    if task:
        return [t.id for t, _ in list_offers(desk, connection, round_, person) if t.pid == task]
    key = f"{settings.seed}\0{round_.name}\0{person.pid}\0{turn}"
    free = _free(desk, connection, round_, person)
    real = [f for f in free if f.left > 0]
    order = select(func.count(tables().batches.c.person_id.distinct())).where(
        tables().batches.c.round_id == round_.id, tables().batches.c.person_id < person.id
    )
    chosen = draw_tasks(
        real, settings.batch, key=key, turn=turn + int(connection.execute(order).scalar_one())
    )
    if not chosen:
        return []
    others: list[int] = []
    for role, count in (("test", settings.tests), ("attention", settings.attention)):
        pool = _checks(connection, round_, person, role) if count else []
        others += draw_tasks(pool, count, key=f"{key}\0{role}")
    return mix_in(chosen, others, key=key)


def _free(desk: Desk, connection: Connection, round_: Round, person: Person) -> list[Free]:
    """Return the real tasks that somebody may get now."""
    t, a = tables().tasks, tables().assignments
    taken = (
        select(a.c.task_id, func.count().label("n"))
        .select_from(a.join(t, t.c.id == a.c.task_id))
        .where(t.c.round_id == round_.id, a.c.live.is_(True))
        .group_by(a.c.task_id)
        .subquery()
    )
    query = (
        select(
            t.c.id, t.c.stratum, t.c.cluster, t.c.variant, t.c.wanted, func.coalesce(taken.c.n, 0).label("n")
        )
        .select_from(t.outerjoin(taken, taken.c.task_id == t.c.id))
        .where(t.c.round_id == round_.id, t.c.role == "real", t.c.held.is_(False))
        .order_by(t.c.id)
    )
    had, resting = _had(desk, connection, round_, person)
    barred = resting | set(task_kind(round_.kind).barred(connection, round_, person))
    return [
        Free(row.id, row.stratum, row.cluster, row.variant, row.n, row.wanted - row.n)
        for row in connection.execute(query)
        if row.id not in had and row.cluster not in barred
    ]


def _had(desk: Desk, connection: Connection, round_: Round, person: Person) -> tuple[set[int], set[str]]:
    """Return the tasks that somebody had, and the groups of which they get none now."""
    t, a, r = tables().tasks, tables().assignments, tables().rounds
    joined = a.join(t, t.c.id == a.c.task_id).join(r, r.c.id == t.c.round_id)
    query = select(t.c.id, t.c.cluster, t.c.round_id, r.c.name, a.c.created_at).select_from(joined)
    # What was taken and not submitted before the time ran out may come again.
    rows = connection.execute(query.where(a.c.person_id == person.id, a.c.state != "moved")).all()
    since = desk.now() - round_.settings.rest_days * 86400
    had = {row.id for row in rows if row.round_id == round_.id}
    resting = {
        row.cluster
        for row in rows
        if row.cluster
        and ((row.round_id == round_.id and row.created_at > since) or row.name in round_.settings.not_rounds)
    }
    return had, resting


def _checks(connection: Connection, round_: Round, person: Person, role: str) -> list[Free]:
    t, a = tables().tasks, tables().assignments
    mine = select(a.c.task_id).where(a.c.person_id == person.id, a.c.task_id.is_not(None))
    query = select(t.c.id).where(
        t.c.round_id == round_.id, t.c.role == role, t.c.held.is_(False), t.c.id.not_in(mine)
    )
    return [Free(row.id) for row in connection.execute(query.order_by(t.c.id))]


def _free_seats(connection: Connection, chosen: Sequence[int]) -> dict[int, int]:
    """Return the first seat of each real task that nobody has."""
    t, a = tables().tasks, tables().assignments
    real = select(t.c.id).where(t.c.id.in_(chosen), t.c.role == "real")
    seats = {row.id: 0 for row in connection.execute(real)}
    query = select(a.c.task_id, a.c.slot).where(a.c.task_id.in_(list(seats)), a.c.live.is_(True))
    for row in connection.execute(query.order_by(a.c.task_id, a.c.slot)):
        seats[row.task_id] += row.slot == seats[row.task_id]
    return seats


def expire(desk: Desk, connection: Connection, round_: Round) -> None:
    """Take back what is open in batches whose time ran out; what was submitted in them stays."""
    t = tables().batches
    late = desk.now() - round_.settings.grace_minutes * 60
    query = t.select().where(t.c.round_id == round_.id, t.c.state == "open", t.c.lease_until < late)
    for row in connection.execute(query).all():
        _end(desk, connection, _batch(row), "expired", "studio")


def stop_batch(desk: Desk, connection: Connection, batch: Batch, person: Person) -> None:
    """End a batch that somebody does not want to go on with; what they submitted stays, the rest goes to others."""
    if batch.state == "open":
        _end(desk, connection, batch, "expired", person.pid)


def _end(desk: Desk, connection: Connection, batch: Batch, state: str, actor: str) -> None:
    t, a = tables().batches, tables().assignments
    connection.execute(t.update().where(t.c.id == batch.id).values(state=state, ended_at=desk.now()))
    still = a.update().where(a.c.batch_id == batch.id, a.c.state == "open")
    moved = connection.execute(still.values(state="moved", live=False, reason="time ran out")).rowcount
    add_event(desk, connection, f"batch.{state}", batch.pid, actor, given_back=moved)


# -- people of platforms ---------------------------------------------------------------------------------------


def worker(
    desk: Desk, connection: Connection, platform_id: str, *, study: str = "", session: str = ""
) -> Person:
    """Return who comes from a platform under an id, made at the first time; the id itself is kept apart, for paying."""
    secret = hmac.new(desk.secret, f"worker\0{platform_id}".encode(), hashlib.sha256).hexdigest()
    handle = f"w.{secret[:24]}"
    person = people.by_handle(desk, connection, handle)
    if person is None:
        person = people.add(
            desk, connection, handle=handle, name="Participant", role="worker", actor="platform", gate="open"
        )
        row = {
            "person_id": person.id,
            "platform_id": platform_id,
            "study": study,
            "session": session,
            "keep_until": desk.now() + _KEEP_IDS,
        }
        connection.execute(tables().platform_ids.insert(), row)
    return person


# -- rows ------------------------------------------------------------------------------------------------------


@cache
def _by_id(table: str) -> Any:
    t = getattr(tables(), table)
    return t.select().where(t.c.id == bindparam("id"))


@cache
def _counting() -> tuple[Any, Any]:
    """How many assignments of a batch are in each state, and the first that is open."""
    a = tables().assignments
    mine = a.c.batch_id == bindparam("batch")
    first = (
        select(a.c.pid).where(mine, a.c.state == "open").order_by(a.c.queue_pos).limit(literal_column("1"))
    )
    return select(a.c.state, func.count().label("n")).where(mine).group_by(a.c.state), first


def _one_round(connection: Connection, where: Any) -> Round:
    row = connection.execute(tables().rounds.select().where(where)).first()
    if row is None:
        raise GoneError
    return _round(row)


def _round(row: Any) -> Round:
    return Round(
        id=row.id,
        pid=row.pid,
        name=row.name,
        kind=row.kind,
        settings=msgspec.json.decode(row.settings, type=RoundSettings),
        options=msgspec.Raw(row.options.encode()),
        state=row.state,
        created_at=row.created_at,
    )


def _task(row: Any) -> Task:
    return Task(
        name=row.name,
        body=msgspec.Raw(row.body.encode()),
        stratum=row.stratum,
        group=row.cluster,
        variant=row.variant,
        role=row.role,
        wanted=row.wanted,
        held=bool(row.held),
        id=row.id,
        pid=row.pid,
    )


def _batch(row: Any) -> Batch:
    names = ("id", "pid", "round_id", "person_id", "state", "code", "created_at", "lease_until")
    return Batch(**{name: getattr(row, name) for name in names})

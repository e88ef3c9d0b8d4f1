"""One person's work on one task of a round; what ``desk.work`` does for a question, it does here for every other kind."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, bindparam, select

from proctor.database import fetch_one
from proctor.said import say
from proctor.verify.desk import rounds
from proctor.verify.desk.desk import Desk
from proctor.verify.desk.events import add_event
from proctor.verify.desk.records import Assignment, ConflictError, Draft, Person, Submitted
from proctor.verify.rounds.kind import TaskKind, task_kind
from proctor.verify.rounds.records import Batch, Round, Task
from proctor.verify.schema import tables

__all__ = [
    "Asked",
    "TaskWork",
    "asked_of",
    "every_task",
    "give_back",
    "keep",
    "kind_of",
    "refuse_closed",
    "take_back",
]

_LATE = say(
    "The time for this batch ran out. What you had submitted counts; what is open has gone to others."
)


class Asked(NamedTuple):
    """A task as it is asked: its kind, what is asked (``kind.task``) and the options of the round (``kind.options``)."""

    kind: TaskKind[Any, Any, Any]
    body: Any
    options: Any
    round: Round
    task: Task


class TaskWork(NamedTuple):
    """Everything that the page of a task needs."""

    assignment: Assignment
    asked: Asked
    batch: Batch
    draft: Draft[Any] | None
    submitted: Any


def asked_of(connection: Connection, assignment: Assignment) -> Asked:
    """Return what an assignment of a task asks."""
    return _asked(*rounds.round_of_task(connection, assignment.task_id))


def every_task(connection: Connection) -> Iterator[Asked]:
    """Yield every task of the rounds that are open."""
    for round_ in rounds.list_rounds(connection):
        for task in rounds.list_tasks(connection, round_) if round_.state == "open" else ():
            yield _asked(round_, task)


def _asked(round_: Round, task: Task) -> Asked:
    kind = task_kind(round_.kind)
    body = msgspec.json.decode(task.body, type=kind.task)
    return Asked(kind, body, msgspec.json.decode(round_.options, type=kind.options), round_, task)


def kind_of(connection: Connection, assignment: Assignment) -> TaskKind[Any, Any, Any]:
    """Return the kind of an assignment's task, without reading what is asked."""
    return task_kind(fetch_one(connection, _kind_of_task(), {"task": assignment.task_id}).kind)


@cache
def _kind_of_task() -> Any:
    t, r = tables().tasks, tables().rounds
    query = select(r.c.kind).select_from(t.join(r, r.c.id == t.c.round_id))
    return query.where(t.c.id == bindparam("task"))


def refuse_closed(desk: Desk, connection: Connection, assignment: Assignment, round_: Round) -> None:
    """Let nothing be changed in a round that is closed, or in a batch whose time ran out or that was reviewed.

    Raises:
        ConflictError: if so.
    """
    if round_.state != "open":
        raise ConflictError(say("This round is closed; nothing can be changed any more."), rev=assignment.rev)
    batch = rounds.batch_of(connection, assignment.batch_id)
    grace = round_.settings.grace_minutes * 60
    late = batch.lease_until is not None and desk.now() > batch.lease_until + grace
    if batch.state in ("expired", "refused") or (late and batch.state == "open"):
        raise ConflictError(_LATE, rev=assignment.rev)


def keep(
    desk: Desk, connection: Connection, assignment: Assignment, person: Person, asked: Asked, rev: int
) -> Submitted:
    """Note that a task was submitted, end its batch when it was the last one, and say what is next."""
    add_event(desk, connection, "task.submitted", assignment.pid, person.pid, rev=rev, task=asked.task.pid)
    return Submitted(rev=rev, stage="task", queued=_go_on(desk, connection, assignment, person))


def _go_on(desk: Desk, connection: Connection, assignment: Assignment, person: Person) -> str | None:
    batch = rounds.batch_of(connection, assignment.batch_id)
    following = rounds.count_batch(connection, batch).following
    t = tables().batches
    state = "open" if following is not None else "complete"
    if batch.state in ("open", "complete") and batch.state != state:
        ended = desk.now() if state == "complete" else None
        connection.execute(t.update().where(t.c.id == batch.id).values(state=state, ended_at=ended))
        add_event(desk, connection, f"batch.{state}", batch.pid, person.pid)
    return following


def take_back(desk: Desk, connection: Connection, assignment: Assignment, person: Person) -> None:
    """Note that a submitted task is open again."""
    add_event(desk, connection, "task.undone", assignment.pid, person.pid, rev=assignment.rev)
    _go_on(desk, connection, assignment, person)


def give_back(
    desk: Desk, connection: Connection, assignment: Assignment, person: Person, reason: str
) -> None:
    """Hold a task that somebody cannot do for the coordinator; nobody else gets it meanwhile, and it counts for nobody."""
    round_, task = rounds.round_of_task(connection, assignment.task_id)
    refuse_closed(desk, connection, assignment, round_)
    a, t = tables().assignments, tables().tasks
    gone = {"state": "returned", "live": False, "reason": reason}
    connection.execute(a.update().where(a.c.id == assignment.id).values(**gone))
    connection.execute(t.update().where(t.c.id == task.id).values(held=True))
    add_event(desk, connection, "task.returned", assignment.pid, person.pid, task=task.pid)
    _go_on(desk, connection, assignment, person)

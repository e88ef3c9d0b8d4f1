"""Somebody takes their consent back: nothing they judged counts any more, and nothing says who they were."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Connection

from proctor.errors import UserError
from proctor.verify.desk import people
from proctor.verify.desk.cases import refresh_item
from proctor.verify.desk.records import ConflictError, GoneError, Person
from proctor.verify.desk.roster import apply_person_change, list_seats, plan_person_change
from proctor.verify.schema import tables

if TYPE_CHECKING:
    from proctor.verify.desk.desk import Desk

__all__ = ["withdraw_consent"]


def withdraw_consent(desk: Desk, connection: Connection, person: Person, *, actor: str) -> None:
    """Void what somebody judged, give their items to others where others can take them, and forget who they are.

    It cannot fail for want of other people: items that nobody can take wait for the coordinator. Rows stay, void;
    drafts, which nobody has submitted, go.

    Raises:
        GoneError: if they have withdrawn already.
        ConflictError: if it would leave nobody as owner.
    """
    now = people.by_id(desk, connection, person.id)
    if now is None or now.state == "withdrawn":
        raise GoneError
    if now.state == "active":
        _hand_over(desk, connection, now, actor)
    _void_the_rest(desk, connection, now)
    people.withdraw(desk, connection, now, actor=actor)


def _hand_over(desk: Desk, connection: Connection, person: Person, actor: str) -> None:
    seated = {seat.annotator for seat in list_seats(connection)}
    others = [
        p
        for p in people.list_people(desk, connection, state="active")
        if p.pid in seated and p.id != person.id
    ]
    savepoint = connection.begin_nested()
    try:
        repair = plan_person_change(desk, connection, "annul", person, others)
        apply_person_change(desk, connection, repair, actor=actor, reason="withdrawn")
    except ConflictError:
        savepoint.rollback()
        raise
    except UserError:  # nobody is left who could take the items
        savepoint.rollback()
    else:
        savepoint.commit()


def _void_the_rest(desk: Desk, connection: Connection, person: Person) -> None:
    """Void every verdict of a person, older revisions too: one of them would count again when the last one is void."""
    a, d, v, c = tables().assignments, tables().drafts, tables().verdicts, tables().comments
    digests = connection.execute(v.select().where(v.c.annotator == person.pid)).all()
    rows = [
        {"digest": row.digest, "at": desk.now(), "actor": person.pid, "reason": "withdrawn"}
        for row in digests
    ]
    if rows:
        connection.execute(desk.database.insert_new(tables().voids), rows)
    mine = connection.execute(a.select().where(a.c.person_id == person.id)).all()
    for row in mine:
        connection.execute(d.delete().where(d.c.assignment_id == row.id))
    # A comment is free text, and may say who they were.
    connection.execute(c.update().where(c.c.person_id == person.id).values(body=""))
    waiting = c.update().where(c.c.thread == person.id, c.c.closed_at.is_(None))
    connection.execute(waiting.values(closed_at=desk.now()))
    left = a.update().where(a.c.person_id == person.id, a.c.live.is_(True))
    done = a.c.state == "submitted"
    connection.execute(left.where(done).values(live=False, state="void", reason="withdrawn"))
    connection.execute(left.where(~done).values(live=False, state="moved", reason="withdrawn"))
    for item_id in dict.fromkeys(row.item_id for row in mine if row.item_id is not None):
        refresh_item(desk, connection, item_id)

"""What somebody has worked on in rounds of a kind, so that other rounds do not give it to them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from sqlalchemy import func, or_, select

from proctor.verify.schema import tables

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from proctor.verify.desk.records import Person
    from proctor.verify.rounds.records import Round

__all__ = ["groups_done"]


def groups_done(
    connection: Connection,
    person: Person,
    kind: str,
    *,
    days: float | None = None,
    but: Round | None = None,
) -> set[str]:
    """Return the groups of tasks that a person has begun or still has, whatever became of them.

    Args:
        connection: to the store.
        person: who.
        kind: of the rounds.
        days: only what was done in so many days; None for ever.
        but: a round that does not count.
    """
    t = tables()
    a, done = t.assignments, func.coalesce(t.assignments.c.submitted_at, t.assignments.c.created_at)
    found = (
        select(t.tasks.c.cluster)
        .distinct()
        .join_from(a, t.tasks, a.c.task_id == t.tasks.c.id)
        .join(t.rounds, t.rounds.c.id == t.tasks.c.round_id)
        .where(a.c.person_id == person.id, t.rounds.c.kind == kind)
        .where(or_(a.c.live, a.c.started_at.is_not(None), a.c.submitted_at.is_not(None)))
    )
    if days is not None:
        found = found.where(done > time.time() - days * 86_400)
    if but is not None:
        found = found.where(t.rounds.c.id != but.id)
    return set(connection.execute(found).scalars())

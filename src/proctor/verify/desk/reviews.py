"""What a reviewer says of a batch, and corrects in it; what was submitted stays as it was. docs/rounds.md.

A reviewer sees neither the source nor the stratum of a sample (SMMQG: forms are reviewed blind).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, select

from proctor.records import canonical_json
from proctor.verify.desk import rounds
from proctor.verify.desk.desk import Desk
from proctor.verify.desk.events import add_event
from proctor.verify.desk.records import MAX_TEXT, GoneError, InvalidError, Person
from proctor.verify.rounds.form import FormSheet, check_form
from proctor.verify.rounds.rate import BatchChecks, Marked, RateTask, batch_checks, options_of
from proctor.verify.rounds.records import Batch, Reading, Round
from proctor.verify.schema import tables

__all__ = ["Action", "Rated", "Reviewed", "decide", "review_batches"]


class Action(NamedTuple):
    """A line of the review: what was done, by whom (name), why, and when."""

    action: str
    by: str
    reason: str
    at: float


class Rated(NamedTuple):
    """A sample of a batch with what its rater submitted and, where a reviewer corrected it, what stands now.

    ``failed`` are the fields that are known to be wrong, of a test or an attention check.
    """

    assignment: str
    body: RateTask
    role: str
    sheet: FormSheet
    corrected: FormSheet | None
    failed: tuple[str, ...]


class Reviewed(NamedTuple):
    """A batch as its reviewer sees it, in the order of its rater; ``minutes`` of work."""

    batch: Batch
    rated: tuple[Rated, ...]
    checks: BatchChecks
    actions: tuple[Action, ...]
    minutes: float


def review_batches(connection: Connection, round_: Round) -> list[Reviewed]:
    """Return the batches of a round in which something was submitted, in the order in which they were taken."""
    t, b, a = tables().tasks, tables().batches, tables().assignments
    rights = options_of(round_).rights
    query = select(t.c.name, t.c.body).where(t.c.round_id == round_.id)
    bodies = {row.name: msgspec.json.decode(row.body, type=RateTask) for row in connection.execute(query)}
    readings = {r.assignment: r for r in rounds.read_readings(connection, round_)}
    own = select(b.c.id, a.c.pid).join(a, a.c.batch_id == b.c.id).where(b.c.round_id == round_.id)
    found: dict[int, list[Reading]] = {}
    for number, pid in connection.execute(own.order_by(b.c.id, a.c.queue_pos)):
        if pid in readings:
            found.setdefault(number, []).append(readings[pid])
    reviewed = []
    for number, done in found.items():
        batch = rounds.batch_of(connection, number)
        marked = [Marked(r.task, r.role, msgspec.json.decode(r.sheet, type=FormSheet)) for r in done]
        rated = tuple(
            Rated(
                r.assignment, bodies[r.task], r.role, m.sheet,
                None if r.corrected is None else msgspec.json.decode(r.corrected, type=FormSheet),
                m.faults(rights),
            )
            for r, m in zip(done, marked, strict=True)
        )  # fmt: skip
        actions = tuple(_actions(connection, batch))
        minutes = sum(r.seconds for r in done) / 60
        reviewed.append(Reviewed(batch, rated, batch_checks(marked, rights), actions, minutes))
    return reviewed


def _actions(connection: Connection, batch: Batch) -> Iterator[Action]:
    r, p = tables().reviews, tables().people
    query = select(r.c.action, p.c.name, r.c.reason, r.c.created_at).join(p, p.c.id == r.c.person_id)
    for row in connection.execute(query.where(r.c.batch_id == batch.id).order_by(r.c.id)):
        yield Action(*row)


def decide(
    desk: Desk,
    connection: Connection,
    round_: Round,
    reviewed: Reviewed,
    person: Person,
    *,
    action: str,
    reason: str = "",
    one: Rated | None = None,
    sheet: FormSheet | None = None,
) -> None:
    """Accept a batch, set it aside (its samples are rated again by others), pay its bonus, or correct a rating in it.

    Raises:
        GoneError: if there is no sample to correct.
        InvalidError: if work is to be set aside with fewer failed attention checks than the rule asks for, a bonus is not due or was
            paid, a correction is incomplete, or no reason is given for what needs one.
    """
    batch, done = reviewed.batch, [one.action for one in reviewed.actions]
    before, after, number = str(batch.state), action, None
    if action not in ("accept", "refuse", "bonus", "correct"):
        raise InvalidError([("action", "There is no such action.")])
    if action in ("refuse", "correct") and not 0 < len(reason) <= MAX_TEXT:
        raise InvalidError([("reason", "Say why, in a sentence.")])
    if action == "refuse" and (kept := reviewed.checks.why_kept(round_.settings)):
        raise InvalidError([("action", f"{kept}. You can correct ratings instead.")])
    if action == "bonus" and (not reviewed.checks.has_bonus or "bonus" in done):
        raise InvalidError([("action", "The bonus is for all test samples right, and once.")])
    if batch.state == "open":
        raise InvalidError([("action", "This batch is still being worked on.")])
    if action == "correct":
        if one is None or sheet is None:
            raise GoneError
        before = canonical_json(one.corrected or one.sheet).decode()
        after = canonical_json(check_form(sheet, options_of(round_).fields)).decode()
        a = tables().assignments
        number = connection.execute(select(a.c.id).where(a.c.pid == one.assignment)).scalar_one()
    elif action == "refuse" or (action == "accept" and batch.state == "refused"):
        _set_state(connection, batch, "refused" if action == "refuse" else "complete")
    row: dict[str, Any] = {
        "batch_id": batch.id,
        "assignment_id": number,
        "person_id": person.id,
        "action": action,
        "before": before,
        "after": after,
        "reason": reason,
        "created_at": desk.now(),
    }
    connection.execute(tables().reviews.insert(), row)
    add_event(
        desk, connection, f"batch.review-{action}", batch.pid, person.pid, rated=one.assignment if one else ""
    )


def _set_state(connection: Connection, batch: Batch, state: str) -> None:
    """Set a batch aside, or take it back; who rates its samples instead is one more person each."""
    b, t, a = tables().batches, tables().tasks, tables().assignments
    more = (state == "refused") - (batch.state == "refused")
    connection.execute(b.update().where(b.c.id == batch.id).values(state=state))
    if more:
        mine = select(a.c.task_id).where(a.c.batch_id == batch.id, a.c.live.is_(True))
        change = t.update().where(t.c.id.in_(mine), t.c.role == "real")
        connection.execute(change.values(wanted=t.c.wanted + more))

"""What a reviewer says of a batch of a round with checks, and corrects in it; what was submitted stays. docs/rounds.md.

A reviewer is told neither the source nor the stratum of a sample (SMMQG: forms are reviewed blind).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, func, select

from proctor.records import canonical_json
from proctor.said import say
from proctor.verify.desk import rounds
from proctor.verify.desk.desk import Desk
from proctor.verify.desk.events import add_event
from proctor.verify.desk.records import MAX_TEXT, GoneError, InvalidError, Person
from proctor.verify.rounds.checked import BatchChecks, batch_checks, checked_options, faults
from proctor.verify.rounds.form import FormSheet
from proctor.verify.rounds.kind import task_kind
from proctor.verify.rounds.records import Batch, Reading, Round
from proctor.verify.schema import tables

__all__ = ["Rated", "Reviewed", "decide", "review_batches"]


class Rated(NamedTuple):
    """A sample of a batch with what its rater submitted and, where a reviewer corrected it, what stands now. ``body`` is of ``kind.task``.

    ``failed`` are the fields that are known to be wrong, of a test or an attention check.
    """

    assignment: str
    body: Any
    role: str
    sheet: FormSheet
    corrected: FormSheet | None
    failed: tuple[str, ...]


class Reviewed(NamedTuple):
    """A batch as its reviewer sees it, in the order of its rater.

    ``actions``: what was done, by whom (name), and why; ``minutes`` of work; ``platform``: the rater's id there, to be paid.
    """

    batch: Batch
    rated: tuple[Rated, ...]
    checks: BatchChecks
    actions: tuple[tuple[str, ...], ...]
    minutes: float
    platform: str

    def did(self, action: str) -> bool:
        """True when the review says so already."""
        return any(done[0] == action for done in self.actions)


def review_batches(connection: Connection, round_: Round) -> list[Reviewed]:
    """Return the batches of a round in which something was submitted, in the order in which they were taken."""
    every = tables()
    t, b, a = every.tasks, every.batches, every.assignments
    r, p, i = every.reviews, every.people, every.platform_ids
    rights, kind = checked_options(round_).rights, task_kind(round_.kind)
    query = select(t.c.name, t.c.body).where(t.c.round_id == round_.id)
    bodies = {row.name: msgspec.json.decode(row.body, type=kind.task) for row in connection.execute(query)}
    readings = {one.assignment: one for one in rounds.read_readings(connection, round_)}
    joined = b.join(a, a.c.batch_id == b.c.id).outerjoin(i, i.c.person_id == b.c.person_id)
    own = select(b.c.id, i.c.platform_id, a.c.pid).select_from(joined).where(b.c.round_id == round_.id)
    found: dict[tuple[int, str | None], list[Reading]] = {}
    for number, platform, pid in connection.execute(own.order_by(b.c.id, a.c.queue_pos)):
        if pid in readings:
            found.setdefault((number, platform), []).append(readings[pid])
    said = select(r.c.action, p.c.name, r.c.reason).join(p, p.c.id == r.c.person_id).order_by(r.c.id)
    reviewed = []
    for (number, platform), done in found.items():
        sheets = [(o, _sheet(o.sheet), _sheet(o.corrected) if o.corrected else None) for o in done]
        rated = (
            Rated(o.assignment, bodies[o.task], o.role, s, c, faults(o.task, s, rights)) for o, s, c in sheets
        )
        checks = batch_checks(((o.task, o.role, s) for o, s, _ in sheets), rights)
        actions = (tuple(row) for row in connection.execute(said.where(r.c.batch_id == number)))
        minutes = sum(o.seconds for o in done) / 60
        batch = rounds.batch_of(connection, number)
        reviewed.append(Reviewed(batch, tuple(rated), checks, tuple(actions), minutes, platform or ""))
    return reviewed


def _sheet(raw: msgspec.Raw) -> FormSheet:
    return msgspec.json.decode(raw, type=FormSheet)


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
    batch, number = reviewed.batch, None
    before, after, wrong = str(batch.state), action, ("action", "")
    if action not in ("accept", "refuse", "bonus", "correct"):
        wrong = ("action", say("There is no such action."))
    elif batch.state == "open":
        wrong = ("action", say("This batch is still being worked on."))
    elif action in ("refuse", "correct") and not 0 < len(reason) <= MAX_TEXT:
        wrong = ("reason", say("Say why, in a sentence."))
    elif action == "refuse" and (kept := reviewed.checks.why_kept(round_.settings)):
        wrong = ("action", say("{why}. You can correct ratings instead.", why=kept))
    elif action == "bonus" and (not reviewed.checks.has_bonus or reviewed.did("bonus")):
        wrong = ("action", say("A bonus is paid once, and only when all test samples are right."))
    if wrong[1]:
        raise InvalidError([wrong])
    if action == "correct":
        if one is None or sheet is None:
            raise GoneError
        before = canonical_json(one.corrected or one.sheet).decode()
        after = canonical_json(
            task_kind(round_.kind).check(sheet, one.body, checked_options(round_))
        ).decode()
        a = tables().assignments
        number = connection.execute(select(a.c.id).where(a.c.pid == one.assignment)).scalar_one()
    elif (action == "refuse") != (batch.state == "refused") and action != "bonus":
        _set_aside(connection, batch, refused=action == "refuse")
    row = {"batch_id": batch.id, "assignment_id": number, "person_id": person.id, "action": action, "before": before,
           "after": after, "reason": reason, "created_at": desk.now()}  # fmt: skip
    connection.execute(tables().reviews.insert(), row)
    rated = one.assignment if one else ""
    add_event(desk, connection, f"batch.review-{action}", batch.pid, person.pid, rated=rated)


def _set_aside(connection: Connection, batch: Batch, *, refused: bool) -> None:
    """Set a batch aside, or take it back; its samples want one person more, or fewer."""
    b, t, a = tables().batches, tables().tasks, tables().assignments
    state = "refused" if refused else "complete"
    connection.execute(b.update().where(b.c.id == batch.id).values(state=state))
    mine = select(a.c.task_id).where(a.c.batch_id == batch.id, a.c.live.is_(True))
    real = t.c.id.in_(mine) & (t.c.role == "real")
    theirs = select(func.count()).where(a.c.task_id == t.c.id, a.c.live.is_(True)).scalar_subquery()
    if not refused and connection.execute(select(t.c.id).where(real, theirs >= t.c.wanted)).first():
        raise InvalidError([("action", say("Others already have its samples."))])
    change = t.update().where(real).values(wanted=t.c.wanted + (1 if refused else -1))
    connection.execute(change)

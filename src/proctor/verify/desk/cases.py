"""What becomes of an item: its state told again from the verdicts, whenever one of them changes.

The rules are those of ``verify.adjudicate``; here they meet the rows. An item whose readings are all in is settled,
rejected, or a case for an adjudicator. One that is accepted without any answer, or that an adjudicator disputes, is
held for the coordinator.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, case
from sqlalchemy.dialects import postgresql, sqlite

from proctor.database import fetch_all, run
from proctor.verify.adjudicate import Case, Merge, find_adjudication, merge, open_case
from proctor.verify.desk.desk import Desk
from proctor.verify.desk.events import add_event
from proctor.verify.desk.items import get_item
from proctor.verify.desk.records import Item
from proctor.verify.queue import repeat_lot
from proctor.verify.schema import tables
from proctor.verify.store import latest_verdicts
from proctor.verify.verdict import Verdict

__all__ = ["Standing", "human_verdicts", "refresh_item", "standing", "take_over_verdicts"]


class Standing(NamedTuple):
    """Where an item stands: the case, its outcome, and the adjudication that was used."""

    case: Case
    outcome: Merge
    adjudication: Verdict | None
    verdicts: tuple[Verdict, ...]


def human_verdicts(connection: Connection, item: Item) -> list[Verdict]:
    """Return what people say of today's text of an item: annotators and adjudicators, void ones left out."""
    return [
        v
        for v in latest_verdicts(connection, item.question.id)
        if v.annotator_kind == "human" and v.candidate_hash in ("", item.candidate_hash)
    ]


def standing(desk: Desk, connection: Connection, item: Item) -> Standing:
    """Return where an item stands by what people said so far."""
    verdicts = human_verdicts(connection, item)
    case = open_case(item.question, verdicts, seed=desk.seed)
    adjudication, _ = find_adjudication(case, verdicts)
    return Standing(case, merge(case, adjudication), adjudication, tuple(verdicts))


def refresh_item(
    desk: Desk,
    connection: Connection,
    item_id: int,
    item: Item | None = None,
    slots: Iterable[tuple[str, str]] | None = None,
) -> str:
    """Bring an item's row, its case and its final answers in line with what people said, and return its state.

    Args:
        desk: the desk.
        connection: in a writing transaction.
        item_id: which.
        item: as it was read in this transaction, if it was.
        slots: state and reason of its slots as first readings, if they are known.
    """
    item = item or get_item(connection, item_id)
    if item.state in ("gone", "training"):
        return item.state
    if slots is None:
        slots = fetch_all(connection, _live_slots(), {"item": item_id})
    waiting, returned, count = _count(slots)
    if waiting and not returned and item.state == "judging" and not item.agreement:
        return "judging"  # nothing is known before everybody has spoken; half of all submits end here
    stands = standing(desk, connection, item)
    state, reason = _state(item, stands, waiting=waiting, returned=returned, slots=count)
    agreement = "" if waiting else _agreement(stands, stands.case.annotators)
    now = desk.now()
    lot = repeat_lot(desk.secret, item.question.id) if (state, agreement) == ("settled", "same") else None
    values = {"item": item_id, "new": state, "why": reason, "agree": agreement, "now": now, "lot": lot}
    run(connection, _set_state(), values)
    _write_case(desk, connection, item_id, state, stands)
    if item.state not in ("judging", "undealt"):
        _free_case(desk, connection, item_id, stands.case.hash)
    if state == "settled" or item.state == "settled":
        _write_final(connection, item_id, stands if state == "settled" else None)
    return state


def take_over_verdicts(desk: Desk, connection: Connection) -> int:
    """Bring every item in line with verdicts that came from elsewhere, and return how many items had some."""
    t, v = tables().items, tables().verdicts
    judged = v.select().with_only_columns(v.c.sequence)
    judged = judged.where(v.c.candidate_id == t.c.candidate_id, v.c.body.contains('"human"'))
    query = t.select().with_only_columns(t.c.id).where(judged.exists(), t.c.state != "gone").order_by(t.c.id)
    numbers = [row.id for row in connection.execute(query)]
    for number in numbers:
        refresh_item(desk, connection, number)
    return len(numbers)


def _count(slots: Iterable[tuple[str, str]]) -> tuple[int, str, int]:
    """Count the first-stage slots that wait, tell why one was returned, and count them all."""
    waiting, returned, count = 0, "", 0
    for state, reason in slots:
        count += 1
        waiting += state == "open"
        if state == "returned":
            returned = reason or "could not be judged"
    return waiting, returned, count


def _state(item: Item, stands: Standing, *, waiting: int, returned: str, slots: int) -> tuple[str, str]:
    if item.reason.startswith("dispute") and item.state == "held":
        return "held", item.reason
    if returned:
        return "returned", returned
    if waiting:
        return "judging", ""
    if max(slots, stands.case.annotators) < item.wanted:
        return "returned", "a reader is missing, and nobody can take their place"
    if not stands.case.annotators:
        return ("machine" if item.state == "machine" else "undealt"), ""
    if stands.outcome.state == "rejected":
        return "rejected", ""
    if stands.outcome.state == "open":
        return "case", ""
    return ("settled", "") if stands.outcome.answers else ("held", "accepted without any answer")


def _agreement(stands: Standing, readings: int) -> str:
    if readings < 2:
        return ""
    if stands.case.question_init is None:
        return "question"
    differ = any(row.source == "machine" and row.init is None for row in stands.case.rows)
    return "answers" if differ and not stands.case.rejected else "same"


def _write_case(desk: Desk, connection: Connection, item_id: int, state: str, stands: Standing) -> None:
    """Keep the case of an item that waits for an adjudicator, or that one has decided; forget any other."""
    if state not in ("case", "held") and stands.adjudication is None:
        run(connection, _forget_case(), {"item": item_id})
        return
    now, case = desk.now(), stands.case
    row = {
        "item_id": item_id,
        "case_hash": case.hash,
        "open_question": case.question_init is None,
        "open_answers": sum(r.init is None for r in case.rows),
        "may_add": case.may_add,
        "opened_at": now,
        "decided_at": None if stands.adjudication is None else now,
    }
    if state in ("case", "held"):
        run(connection, _keep_case(desk.database.is_sqlite), row)
    else:
        run(connection, _change_case(), {f"new_{name}": value for name, value in row.items()})


def _free_case(desk: Desk, connection: Connection, item_id: int, case_hash: str) -> None:
    """Take a case from the adjudicator who decided or has reserved another one, so that somebody is asked again.

    A verdict from elsewhere, or one that became void, changes what is to be decided; the old word does not fit it.
    """
    a = tables().assignments
    for row in connection.execute(_adjudicators_of(), {"item": item_id}).all():
        if row.case_hash in ("", case_hash):
            continue
        state = "void" if row.state == "submitted" else "moved"
        values = {"live": False, "state": state, "reason": "what is to be decided has changed"}
        connection.execute(a.update().where(a.c.id == row.id).values(**values))
        add_event(desk, connection, "adjudicate.outdated", row.pid, "studio")


def _write_final(connection: Connection, item_id: int, stands: Standing | None) -> None:
    run(connection, _forget_final(), {"item": item_id})
    if stands is None:
        return
    rows = [
        {"item_id": item_id, "position": n, "text": a.text, "source": a.source, "approved_by": a.approved_by}
        for n, a in enumerate(stands.outcome.answers)
    ]
    if rows:
        run(connection, _insert_final(), *rows)


@cache
def _set_state() -> Any:
    t = tables().items
    values = {"state": "new", "reason": "why", "agreement": "agree", "changed_at": "now", "repeat_lot": "lot"}
    return (
        t.update()
        .where(t.c.id == bindparam("item"))
        .values({column: bindparam(name) for column, name in values.items()})
    )


@cache
def _keep_case(is_sqlite: bool) -> Any:
    """The case as it is now; the same one stays open since it was opened."""
    t = tables().cases
    insert: Any = (sqlite if is_sqlite else postgresql).insert(t)
    new = insert.excluded
    values = {c.name: new[c.name] for c in t.columns if c.name != "item_id"}
    values["opened_at"] = case((t.c.case_hash == new.case_hash, t.c.opened_at), else_=new.opened_at)
    return insert.on_conflict_do_update(index_elements=[t.c.item_id], set_=values)


@cache
def _change_case() -> Any:
    t = tables().cases
    values: dict[str, Any] = {c.name: bindparam(f"new_{c.name}") for c in t.columns if c.name != "item_id"}
    same = t.c.case_hash == bindparam("new_case_hash")
    values["opened_at"] = case((same, t.c.opened_at), else_=bindparam("new_opened_at"))
    return t.update().where(t.c.item_id == bindparam("new_item_id")).values(values)


@cache
def _forget_case() -> Any:
    t = tables().cases
    return t.delete().where(t.c.item_id == bindparam("item"))


@cache
def _forget_final() -> Any:
    t = tables().final_answers
    return t.delete().where(t.c.item_id == bindparam("item"))


@cache
def _insert_final() -> Any:
    return tables().final_answers.insert()


@cache
def _live_slots() -> Any:
    a = tables().assignments
    return (
        a.select()
        .with_only_columns(a.c.state, a.c.reason)
        .where(a.c.item_id == bindparam("item"), a.c.stage == "judge", a.c.live.is_(True))
    )


@cache
def _adjudicators_of() -> Any:
    a = tables().assignments
    return (
        a.select()
        .with_only_columns(a.c.id, a.c.pid, a.c.state, a.c.case_hash)
        .where(
            a.c.item_id == bindparam("item"),
            a.c.stage == "adjudicate",
            a.c.live.is_(True),
            a.c.blind_repeat.is_(False),
        )
    )

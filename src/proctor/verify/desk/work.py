"""One person's work on one item: what is on the page, the draft, the submitted sheet, and taking it back.

Everything here runs inside one writing transaction, so a sheet is in the store as a whole - the response, its typed
rows, the verdict, the assignment's state, the event and what became of the item - or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, Literal, NamedTuple, TypeVar

import msgspec
from sqlalchemy import Connection, bindparam, select

from proctor.database import fetch_all, fetch_one, fetch_together, run
from proctor.exam.kind import kind_named
from proctor.exam.question import Choice, proposed_texts
from proctor.records import canonical_json
from proctor.said import say
from proctor.verify.adjudicate import Case
from proctor.verify.desk import documents, rounds, tasks, training
from proctor.verify.desk.cases import refresh_item, standing
from proctor.verify.desk.desk import Desk
from proctor.verify.desk.documents import Protocol
from proctor.verify.desk.events import add_event
from proctor.verify.desk.items import get_item, item_of_assignment, to_item
from proctor.verify.desk.records import (
    CANT_REASONS,
    MAX_TEXT,
    Assignment,
    ConflictError,
    Draft,
    GoneError,
    InvalidError,
    Item,
    Person,
    Saved,
    Sheet,
    Submitted,
    at_least,
)
from proctor.verify.desk.sheets import Cards, check_sheet, is_bad_text
from proctor.verify.desk.tasks import TaskWork
from proctor.verify.queue import card_order, lease_until
from proctor.verify.schema import tables
from proctor.verify.store import append_verdicts
from proctor.verify.verdict import AnswerVerdict, Verdict

__all__ = [
    "Cards",
    "Work",
    "cant_judge",
    "check_sheet",
    "find_assignment",
    "is_begun",
    "load_task",
    "load_work",
    "own_assignment",
    "read_sheet",
    "save_draft",
    "submit",
    "undo",
]

S = TypeVar("S", bound=msgspec.Struct)

SHEET_VERSION: Final = 1
_CLOSED: Final = say("This item is closed; it can no longer be changed.")
"""Said to an annotator whose item an adjudicator has: why it is closed would tell what the other one said."""
MAX_DRAFT: Final = 256 * 1024
"""Bytes of one draft."""


class Work(NamedTuple):
    """Everything that the page of an assignment needs."""

    assignment: Assignment
    item: Item
    cards: Cards
    draft: Draft[Sheet] | None
    submitted: Sheet | None


# -- looking ---------------------------------------------------------------------------------------------------


def own_assignment(connection: Connection, pid: str, person: Person) -> Assignment:
    """Return an assignment if it is this person's and still stands.

    Raises:
        GoneError: if there is none, it is somebody else's, or it was given to somebody else.
    """
    return _own(fetch_all(connection, _by_pid(), {"pid": pid}), person)


def _own(rows: Sequence[Any], person: Person) -> Assignment:
    row = rows[0] if rows else None
    if row is None or row.person_id != person.id or not row.live:
        raise GoneError
    if row.stage == "adjudicate" and not at_least(person.role, "adjudicator"):
        raise GoneError  # their role was changed since
    return to_assignment(row)


def find_assignment(connection: Connection, pid: str, person: Person) -> Assignment | None:
    """Return an assignment of this person even when it no longer stands; None for everybody else's."""
    row = fetch_one(connection, _by_pid(), {"pid": pid})
    return to_assignment(row) if row is not None and row.person_id == person.id else None


def load_work(desk: Desk, connection: Connection, pid: str, person: Person) -> Work:
    """Return what a person's page shows.

    Raises:
        GoneError: as ``own_assignment``.
    """
    assignment = own_assignment(connection, pid, person)
    item = get_item(connection, assignment.item_id)
    cards = cards_of(desk, connection, assignment, item, person)
    return Work(assignment, item, cards, *_filled_in(connection, assignment, Sheet))


def load_task(connection: Connection, assignment: Assignment) -> TaskWork:
    """Return what the page of a task of a round shows."""
    asked = tasks.asked_of(connection, assignment)
    batch = rounds.batch_of(connection, assignment.batch_id)
    return TaskWork(assignment, asked, batch, *_filled_in(connection, assignment, asked.kind.sheet))


def _filled_in(
    connection: Connection, assignment: Assignment, sheet: type[S]
) -> tuple[Draft[S] | None, S | None]:
    draft = _draft(connection, assignment.id, sheet)
    return draft, _submitted_sheet(connection, assignment, sheet) if assignment.state == "submitted" else None


def read_sheet(raw: msgspec.Raw, sheet: type[S]) -> S:
    """Return what a page sent as a sheet.

    Raises:
        InvalidError: if it is none, with the field that is wrong.
    """
    try:
        return msgspec.json.decode(raw, type=sheet)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        message = str(error)
        where = message.rpartition("`$.")[2].rstrip("`") if "`$." in message else "sheet"
        raise InvalidError([(where[:80], message[:300])]) from None


def cards_of(desk: Desk, connection: Connection, assignment: Assignment, item: Item, person: Person) -> Cards:
    """Return what is to be decided; an adjudicator's cards say nothing of who wrote or judged them."""
    if assignment.stage != "adjudicate":
        texts = proposed_texts(item.question)
        add: Literal["yes", "no"] = "no" if isinstance(item.question.form, Choice) else "yes"
        return Cards(
            True, texts, tuple(range(len(texts))), add, kind_named(item.question.kind).judging.reasons
        )
    case = standing(desk, connection, item).case
    every = assignment.blind_repeat
    targets = [
        i for i, row in enumerate(case.rows) if every or row.init is None or case.question_init is None
    ]
    order = card_order(desk.secret, item.question.id, person.pid, len(targets))
    shown = tuple(targets[i] for i in order)
    question_open = every or case.question_init is None
    # A repeat must look like a case whose question is in conflict, or it would not be blind.
    options = isinstance(item.question.form, Choice)
    may_add: Literal["no", "if-valid"] = "if-valid" if question_open and not options else "no"
    return Cards(
        question_open,
        tuple(case.rows[i].text for i in shown),
        shown,
        may_add,
        kind_named(item.question.kind).judging.reasons,
    )


# -- drafts ----------------------------------------------------------------------------------------------------


def save_draft(
    desk: Desk,
    connection: Connection,
    pid: str,
    person: Person,
    *,
    sheet: Sheet | msgspec.Raw,
    client_id: str,
    seq: int,
    base: int,
    active_ms: int = 0,
) -> Saved:
    """Keep a draft: one row for each assignment, the last one wins unless two pages write at once.

    Args:
        desk: the desk.
        connection: in a writing transaction.
        pid: of the assignment.
        person: who is signed in.
        sheet: as it stands on the page; as the page sent it, or read.
        client_id: of the page (a tab).
        seq: counts up on that page; an older one that comes late is passed over.
        base: version that the page knows.
        active_ms: milliseconds of work on it so far.

    Raises:
        GoneError: as ``own_assignment``.
        ConflictError: if another page has saved since ``base``.
        InvalidError: if it is too large.
    """
    mine, drafts = fetch_together(
        connection, (_by_pid(), {"pid": pid}), (_draft_of_pid(), {"assignment_pid": pid})
    )
    assignment, old = _own(mine, person), drafts[0] if drafts else None
    form = tasks.kind_of(connection, assignment).sheet if assignment.stage == "task" else Sheet
    encoded = msgspec.json.encode(read_sheet(sheet, form) if isinstance(sheet, msgspec.Raw) else sheet)
    if len(encoded) > MAX_DRAFT:
        raise InvalidError([("sheet", say("A draft holds at most {most} kB.", most=MAX_DRAFT // 1024))])
    now = desk.now()
    row = {
        "sheet": encoded.decode(),
        "client_id": client_id[:64],
        "seq": seq,
        "active_ms": active_ms,
        "saved_at": now,
    }
    if old is None:
        run(connection, _insert("drafts"), {**row, "assignment_id": assignment.id, "version": 1})
        _begin(desk, connection, assignment, person, "" if assignment.stage == "task" else None)
        version = 1
    elif old.client_id == row["client_id"] and seq <= old.seq:
        return Saved(version=old.version, saved_at=old.saved_at, stale=True)
    elif old.client_id != row["client_id"] and base != old.version:
        theirs = msgspec.json.decode(old.sheet, type=form)
        raise ConflictError(
            say("This was changed on another page or device."),
            rev=assignment.rev,
            version=old.version,
            theirs=theirs,
        )
    else:
        version = old.version + 1
        run(connection, _update_draft(), {**row, "a_id": assignment.id, "version": version})
    if assignment.lease_until is not None:
        # An adjudicator's time begins anew with every draft.
        a = tables().assignments
        lease = lease_until(now, documents.protocol(connection).lease_minutes * 60)
        connection.execute(a.update().where(a.c.id == assignment.id).values(lease_until=lease))
    return Saved(version=version, saved_at=now)


def _kind_of(connection: Connection, assignment: Assignment) -> str:
    t = tables().items
    query = t.select().with_only_columns(t.c.kind).where(t.c.id == assignment.item_id)
    return str(connection.execute(query).scalar_one_or_none() or "")


def _begin(
    desk: Desk, connection: Connection, assignment: Assignment, person: Person, kind: str | None = None
) -> Assignment:
    """Note when work began, and the version of the guideline that it keeps from then on: the one the person has read."""
    if assignment.rev or assignment.state != "open":
        return assignment
    read = person.guidelines.get(_kind_of(connection, assignment) if kind is None else kind, 0)
    run(connection, _set_started(), {"a_id": assignment.id, "guideline": read, "now": desk.now()})
    return msgspec.structs.replace(assignment, guideline_version=read)


def is_begun(connection: Connection, assignment: Assignment) -> bool:
    """True when somebody has written something on an assignment: it keeps its version of the guideline."""
    begun = assignment.rev > 0 or assignment.state != "open"
    return begun or fetch_one(connection, _draft_of(), {"assignment": assignment.id}) is not None


# -- submitting ------------------------------------------------------------------------------------------------


def submit(
    desk: Desk,
    connection: Connection,
    pid: str,
    person: Person,
    *,
    sheet: Sheet | msgspec.Raw,
    rev: int,
    key: str,
    active_ms: int = 0,
    protocol: Protocol | None = None,
) -> Submitted:
    """Keep a sheet for good.

    Args:
        desk: the desk.
        connection: in a writing transaction.
        pid: of the assignment.
        person: who is signed in.
        sheet: what was decided.
        rev: that the page knows; 0 before the first.
        key: made with the form; the same one again gets the first answer again.
        active_ms: milliseconds of work on it.
        protocol: the project's settings; those in force when None.

    Raises:
        GoneError: as ``own_assignment``.
        ConflictError: if another revision, another verdict or an adjudicator was faster, or the stage is frozen.
        InvalidError: if something is missing.
    """
    own = {"assignment_pid": pid}
    mine, found, slots, queue = fetch_together(
        connection,
        (_by_pid(), {"pid": pid}),
        (item_of_assignment(), own),
        (_slots_beside(), own),
        (_queue_around(), own),
    )
    assignment = _own(mine, person)
    if assignment.stage == "task":
        return _submit_task(
            desk, connection, assignment, person, sheet, rev=rev, key=key, active_ms=active_ms
        )
    protocol = protocol if protocol is not None else documents.protocol(connection)
    sheet = read_sheet(sheet, Sheet) if isinstance(sheet, msgspec.Raw) else sheet
    before = _before(connection, assignment, key)
    if before:
        return _again(desk, connection, assignment, person, sheet, before)
    _refuse_stale(connection, assignment, rev)
    item = to_item(found[0] if found else None)
    _refuse_closed(desk, connection, assignment, item, protocol)
    cards = cards_of(desk, connection, assignment, item, person)
    kept = check_sheet(sheet, cards)
    kind = item.question.kind
    if assignment.guideline_version != person.guidelines.get(kind, 0) and not is_begun(
        connection, assignment
    ):
        assignment = _begin(desk, connection, assignment, person, kind)
    new_rev = assignment.rev + 1
    verdict = _verdict(desk, connection, assignment, item, person, kept, cards, new_rev)
    digest = append_verdicts(desk.database, connection, [verdict])[0] if verdict is not None else ""
    _write_response(
        desk, connection, assignment, kept, cards, digest=digest, key=key, rev=new_rev, active_ms=active_ms
    )
    _mark_submitted(desk, connection, assignment, new_rev, active_ms)
    add_event(
        desk,
        connection,
        f"{assignment.stage}.submitted",
        assignment.pid,
        person.pid,
        rev=new_rev,
        item=item.pid,
    )
    if assignment.stage == "training":
        training.open_gate(desk, connection, person, protocol, kind)
    elif not assignment.blind_repeat:
        now = [("submitted" if row.id == assignment.id else row.state, row.reason) for row in slots]
        refresh_item(desk, connection, item.id, item, now)
    queued = next((row.pid for row in queue if row.pid != pid), None)
    return Submitted(rev=new_rev, stage=assignment.stage, queued=queued)


def _submit_task(
    desk: Desk,
    connection: Connection,
    assignment: Assignment,
    person: Person,
    sheet: msgspec.Struct | msgspec.Raw,
    *,
    rev: int,
    key: str,
    active_ms: int,
) -> Submitted:
    """Keep what was filled in for a task of a round."""
    asked = tasks.asked_of(connection, assignment)
    given = read_sheet(sheet, asked.kind.sheet) if isinstance(sheet, msgspec.Raw) else sheet
    before = _before(connection, assignment, key)
    if before:
        stored = msgspec.json.decode(before.sheet, type=asked.kind.sheet)
        return _same_again(
            assignment, before, lambda: asked.kind.check(given, asked.body, asked.options), stored
        )
    _refuse_stale(connection, assignment, rev, asked.kind.sheet)
    tasks.refuse_closed(desk, connection, assignment, asked.round)
    kept = asked.kind.check(given, asked.body, asked.options)
    new_rev = assignment.rev + 1
    _insert_response(desk, connection, assignment, kept, key=key, rev=new_rev, active_ms=active_ms)
    _mark_submitted(desk, connection, assignment, new_rev, active_ms)
    return tasks.keep(desk, connection, assignment, person, asked, new_rev)


def _before(connection: Connection, assignment: Assignment, key: str) -> Any:
    """Return what was submitted under a key before, None for nothing."""
    own = {"assignment": assignment.id, "key": key}
    return fetch_one(connection, _by_key(), own) if assignment.rev else None


def _again(
    desk: Desk, connection: Connection, assignment: Assignment, person: Person, sheet: Sheet, before: Any
) -> Submitted:
    item = get_item(connection, assignment.item_id)
    cards = cards_of(desk, connection, assignment, item, person)
    stored = msgspec.json.decode(before.sheet, type=Sheet)
    return _same_again(assignment, before, lambda: check_sheet(sheet, cards), stored)


def _same_again(
    assignment: Assignment, before: Any, check: Callable[[], msgspec.Struct], stored: msgspec.Struct
) -> Submitted:
    """Return the first answer again - unless the sheet is another one.

    The browser's back button brings a form with its old key; what was changed there must not be lost silently.
    """
    try:
        same = check() == stored
    except InvalidError:
        same = False
    if not same and assignment.state == "submitted":
        raise ConflictError(
            say("This form was submitted before, with other contents."), rev=assignment.rev, theirs=stored
        )
    return Submitted(rev=before.rev, stage=assignment.stage, again=True)


def _refuse_stale(
    connection: Connection, assignment: Assignment, rev: int, form: type[msgspec.Struct] = Sheet
) -> None:
    if rev != assignment.rev:
        raise ConflictError(
            say("This was submitted from another page in the meantime."),
            rev=assignment.rev,
            theirs=_submitted_sheet(connection, assignment, form),
        )


def _refuse_frozen(assignment: Assignment, protocol: Protocol) -> None:
    if assignment.stage in protocol.frozen_stages:
        raise ConflictError(
            say("The coordinator has closed this stage; nothing can be changed any more."), rev=assignment.rev
        )


def _refuse_closed(
    desk: Desk, connection: Connection, assignment: Assignment, item: Item, protocol: Protocol
) -> None:
    _refuse_frozen(assignment, protocol)
    if item.state == "gone":
        raise ConflictError(say("This item is no longer part of the project."), rev=assignment.rev)
    if assignment.stage == "training" and assignment.rev:
        raise ConflictError(
            say("The reference of a training item has been shown; it stays as it is."), rev=assignment.rev
        )
    if assignment.stage == "judge" and item.state != "judging" and _is_adjudicated(connection, item.id):
        raise ConflictError(_CLOSED, rev=assignment.rev)
    if assignment.stage == "adjudicate" and not assignment.blind_repeat:
        case = standing(desk, connection, item).case
        if assignment.case_hash and assignment.case_hash != case.hash:
            raise ConflictError(
                say("What is to be decided has changed since the page was opened. Reload it."),
                rev=assignment.rev,
            )


def _is_adjudicated(connection: Connection, item_id: int) -> bool:
    return connection.execute(_adjudicators(), {"item": item_id}).first() is not None


def _verdict(
    desk: Desk,
    connection: Connection,
    assignment: Assignment,
    item: Item,
    person: Person,
    sheet: Sheet,
    cards: Cards,
    rev: int,
) -> Verdict | None:
    """Return the sheet as a verdict; training and blind repeats are none."""
    if assignment.stage == "training" or assignment.blind_repeat:
        return None
    origin = {"response": f"{assignment.pid}/{rev}"}
    case = standing(desk, connection, item).case if assignment.stage == "adjudicate" else None
    question = sheet.question or (case.question_init if case is not None else None) or "unsure"
    return Verdict(
        candidate_id=item.question.id,
        annotator=person.pid,
        annotator_kind="human",
        at=datetime.fromtimestamp(desk.now(), UTC).isoformat(),
        question=AnswerVerdict(question, reason=", ".join(sheet.reasons), evidence=origin),
        answers=_source_order(sheet, cards, case, len(item.question.proposals))
        if question == "right"
        else (),
        own_answers=sheet.own_answers,
        role="adjudicator" if case is not None else "annotator",
        candidate_hash=item.candidate_hash,
        note=sheet.note,
        case_hash=case.hash if case is not None else "",
    )


def _source_order(sheet: Sheet, cards: Cards, case: Case | None, answers: int) -> tuple[AnswerVerdict, ...]:
    """Return the judgements in source order; what was settled keeps its value."""
    said = dict(zip(cards.targets, sheet.answers, strict=True))
    if case is None:
        return tuple(AnswerVerdict(said[n] or "unsure") for n in range(answers))
    return tuple(AnswerVerdict(said.get(n) or row.init or "unsure") for n, row in enumerate(case.rows))


def _write_response(
    desk: Desk,
    connection: Connection,
    assignment: Assignment,
    sheet: Sheet,
    cards: Cards,
    *,
    digest: str,
    key: str,
    rev: int,
    active_ms: int,
) -> None:
    _insert_response(
        desk, connection, assignment, sheet, digest=digest, key=key, rev=rev, active_ms=active_ms
    )
    # The rows find the response by its revision: waiting for its number would be a way to PostgreSQL and back.
    its = {"assignment": assignment.id, "rev": rev}
    if sheet.question is not None:
        reasons = canonical_json(sheet.reasons).decode()
        said = {**its, "value": sheet.question, "reasons": reasons}
        run(connection, _insert_of_response("question_judgements", "value", "reasons"), said)
    judged = [
        {**its, "target": target, "value": value}
        for target, value in zip(cards.targets, sheet.answers, strict=False)
    ]
    if judged:
        run(connection, _insert_of_response("answer_judgements", "target", "value"), *judged)
    own = [{**its, "position": n, "text": text} for n, text in enumerate(sheet.own_answers)]
    if own:
        run(connection, _insert_of_response("own_answers", "position", "text"), *own)


def _insert_response(
    desk: Desk,
    connection: Connection,
    assignment: Assignment,
    sheet: msgspec.Struct,
    *,
    key: str,
    rev: int,
    active_ms: int,
    digest: str = "",
) -> None:
    row = {
        "assignment_id": assignment.id,
        "rev": rev,
        "idem_key": key,
        "sheet": msgspec.json.encode(sheet).decode(),
        "schema_version": SHEET_VERSION,
        "guideline_version": assignment.guideline_version,
        "verdict_digest": digest,
        "active_ms": active_ms,
        "created_at": desk.now(),
    }
    run(connection, _insert("responses"), row)


def _mark_submitted(desk: Desk, connection: Connection, assignment: Assignment, rev: int, ms: int) -> None:
    run(connection, _set_submitted(), {"a_id": assignment.id, "now": desk.now(), "new_rev": rev, "ms": ms})


# -- taking back -----------------------------------------------------------------------------------------------


def undo(
    desk: Desk, connection: Connection, pid: str, person: Person, *, rev: int, protocol: Protocol
) -> Submitted:
    """Take a submitted sheet back: the item is open again with everything as it was filled in.

    Raises:
        GoneError: as ``own_assignment``.
        ConflictError: if it is not submitted, was submitted again since, or others have built on it.
    """
    assignment = own_assignment(connection, pid, person)
    if assignment.state != "submitted":
        raise ConflictError(say("There is nothing to take back: this is not submitted."), rev=assignment.rev)
    if assignment.stage == "task":
        return _undo_task(desk, connection, assignment, person, rev)
    _refuse_stale(connection, assignment, rev)
    item = get_item(connection, assignment.item_id)
    if assignment.stage == "training":
        raise ConflictError(
            say("The reference of a training item has been shown; it stays as it is."), rev=assignment.rev
        )
    _refuse_frozen(assignment, protocol)
    if assignment.stage == "judge" and _is_adjudicated(connection, item.id):
        raise ConflictError(_CLOSED, rev=assignment.rev)
    void_response(desk, connection, assignment, person.pid, "taken back")
    a = tables().assignments
    lease = assignment.lease_until and lease_until(desk.now(), protocol.lease_minutes * 60)
    connection.execute(
        a.update().where(a.c.id == assignment.id).values(state="open", submitted_at=None, lease_until=lease)
    )
    _keep_as_draft(desk, connection, assignment)
    add_event(
        desk, connection, f"{assignment.stage}.undone", assignment.pid, person.pid, rev=rev, item=item.pid
    )
    if not assignment.blind_repeat:
        refresh_item(desk, connection, item.id)
    return Submitted(rev=assignment.rev, stage=assignment.stage)


def _undo_task(
    desk: Desk, connection: Connection, assignment: Assignment, person: Person, rev: int
) -> Submitted:
    asked = tasks.asked_of(connection, assignment)
    _refuse_stale(connection, assignment, rev, asked.kind.sheet)
    tasks.refuse_closed(desk, connection, assignment, asked.round)
    a = tables().assignments
    connection.execute(a.update().where(a.c.id == assignment.id).values(state="open", submitted_at=None))
    _keep_as_draft(desk, connection, assignment, asked.kind.sheet)
    tasks.take_back(desk, connection, assignment, person)
    return Submitted(rev=assignment.rev, stage="task")


def _keep_as_draft(
    desk: Desk, connection: Connection, assignment: Assignment, form: type[msgspec.Struct] = Sheet
) -> None:
    """Let what was submitted without any draft (a plain form) be the draft, so that nothing is filled in twice."""
    sheet = _submitted_sheet(connection, assignment, form)
    if sheet is None or fetch_one(connection, _draft_of(), {"assignment": assignment.id}) is not None:
        return
    row = {
        "assignment_id": assignment.id,
        "sheet": msgspec.json.encode(sheet).decode(),
        "version": 1,
        "client_id": "taken back",
        "seq": 0,
        "active_ms": 0,
        "saved_at": desk.now(),
    }
    run(connection, _insert("drafts"), row)


def void_response(
    desk: Desk, connection: Connection, assignment: Assignment, actor: str, reason: str
) -> None:
    """Let no verdict of this assignment count any more; responses and verdicts stay in the store.

    All revisions become void: with the last one alone, the one before it would count again.
    """
    t = tables()
    query = t.responses.select().where(
        t.responses.c.assignment_id == assignment.id, t.responses.c.verdict_digest != ""
    )
    rows = [
        {"digest": row.verdict_digest, "at": desk.now(), "actor": actor, "reason": reason}
        for row in connection.execute(query)
    ]
    if rows:
        connection.execute(desk.database.insert_new(t.voids), rows)


def cant_judge(
    desk: Desk, connection: Connection, pid: str, person: Person, *, reason: str, note: str = ""
) -> None:
    """Give an item back to the coordinator; it does not count as a judgement.

    Raises:
        GoneError: as ``own_assignment``.
        InvalidError: if the reason is unknown, or is "other" without words.
        ConflictError: if it was submitted already, or the stage is frozen.
    """
    assignment = own_assignment(connection, pid, person)
    if reason not in CANT_REASONS:
        raise InvalidError([("reason", say("Choose a reason."))])
    if reason == "other" and not note.strip():
        raise InvalidError([("note", say("Say in a few words why it cannot be judged."))])
    if is_bad_text(note):
        raise InvalidError(
            [("note", say("A note holds at most {most:,} characters of text.", most=MAX_TEXT))]
        )
    if assignment.state == "returned":
        return
    if assignment.state != "open":
        raise ConflictError(say("It is submitted; take that back first."), rev=assignment.rev)
    words = str(CANT_REASONS[reason]) + (f": {note.strip()}" if note.strip() else "")
    if assignment.stage == "task":
        tasks.give_back(desk, connection, assignment, person, words)
        return
    protocol = documents.protocol(connection)
    _refuse_frozen(assignment, protocol)
    a, i = tables().assignments, tables().items
    connection.execute(a.update().where(a.c.id == assignment.id).values(state="returned", reason=words))
    item = get_item(connection, assignment.item_id)
    add_event(
        desk,
        connection,
        f"{assignment.stage}.returned",
        assignment.pid,
        person.pid,
        reason=reason,
        item=item.pid,
    )
    if assignment.stage == "training":
        training.open_gate(desk, connection, person, protocol, item.question.kind)
    elif assignment.stage == "judge":
        refresh_item(desk, connection, item.id)
    else:
        connection.execute(a.update().where(a.c.id == assignment.id).values(live=False))
        connection.execute(
            i.update()
            .where(i.c.id == item.id)
            .values(state="held", reason=f"dispute: {words}", changed_at=desk.now())
        )
        final = tables().final_answers  # of a settled item that was shown again
        connection.execute(final.delete().where(final.c.item_id == item.id))


# -- rows ------------------------------------------------------------------------------------------------------


def to_assignment(row: Any) -> Assignment:
    """Return a row of the table of assignments as the record."""
    return Assignment(
        id=row.id,
        pid=row.pid,
        item_id=row.item_id or 0,
        person_id=row.person_id,
        stage=row.stage,
        slot=row.slot,
        state=row.state,
        live=bool(row.live),
        blind_repeat=bool(row.blind_repeat),
        queue_pos=row.queue_pos,
        guideline_version=row.guideline_version,
        case_hash=row.case_hash,
        lease_until=row.lease_until,
        submitted_at=row.submitted_at,
        rev=row.rev,
        reason=row.reason,
        task_id=row.task_id or 0,
        batch_id=row.batch_id or 0,
    )


def _draft(connection: Connection, assignment_id: int, form: type[S]) -> Draft[S] | None:
    row = fetch_one(connection, _draft_of(), {"assignment": assignment_id})
    if row is None:
        return None
    sheet = msgspec.json.decode(row.sheet, type=form)
    return Draft(
        sheet=sheet, version=row.version, client_id=row.client_id, seq=row.seq, saved_at=row.saved_at
    )


def _submitted_sheet(connection: Connection, assignment: Assignment, form: type[S]) -> S | None:
    row = fetch_one(connection, _last_response(), {"assignment": assignment.id})
    return msgspec.json.decode(row.sheet, type=form) if row is not None else None


@cache
def _by_pid() -> Any:
    t = tables().assignments
    return t.select().where(t.c.pid == bindparam("pid"))


@cache
def _draft_of() -> Any:
    t = tables().drafts
    return t.select().where(t.c.assignment_id == bindparam("assignment"))


@cache
def _update_draft() -> Any:
    t = tables().drafts
    names = ("sheet", "client_id", "seq", "active_ms", "saved_at", "version")
    return t.update().where(t.c.assignment_id == bindparam("a_id")).values({n: bindparam(n) for n in names})


@cache
def _by_key() -> Any:
    t = tables().responses
    return t.select().where(t.c.assignment_id == bindparam("assignment"), t.c.idem_key == bindparam("key"))


@cache
def _last_response() -> Any:
    t = tables().responses
    return t.select().where(t.c.assignment_id == bindparam("assignment")).order_by(t.c.rev.desc()).limit(1)


@cache
def _draft_of_pid() -> Any:
    t, a = tables().drafts, tables().assignments
    return t.select().where(t.c.assignment_id == a.c.id, a.c.pid == bindparam("assignment_pid"))


@cache
def _slots_beside() -> Any:
    """The first readings of the item of an assignment, its own among them."""
    t = tables().assignments
    own = t.alias()
    query = t.select().with_only_columns(t.c.id, t.c.state, t.c.reason)
    return query.where(
        t.c.item_id == own.c.item_id,
        own.c.pid == bindparam("assignment_pid"),
        t.c.stage == "judge",
        t.c.live.is_(True),
    )


@cache
def _queue_around() -> Any:
    """The first two open assignments of the person and stage of an assignment: one of them may be itself."""
    t = tables().assignments
    own = t.alias()
    mine = own.select().where(own.c.pid == bindparam("assignment_pid"))
    # As values, not as a join: PostgreSQL then reads the queue's index in order, and stops after two.
    return (
        t.select()
        .with_only_columns(t.c.pid)
        .where(
            t.c.person_id == mine.with_only_columns(own.c.person_id).scalar_subquery(),
            t.c.stage == mine.with_only_columns(own.c.stage).scalar_subquery(),
            t.c.state
            == "open",  # what is open also stands (``live``), and the index of the queue knows states
        )
        .order_by(t.c.queue_pos, t.c.id)
        .limit(2)
    )


@cache
def _insert_of_response(table: str, *columns: str) -> Any:
    """Return an INSERT of a row that belongs to the response of an assignment and revision."""
    t, r = getattr(tables(), table), tables().responses
    values = [bindparam(name, type_=t.c[name].type).label(name) for name in columns]
    response = select(r.c.id, *values).where(
        r.c.assignment_id == bindparam("assignment"), r.c.rev == bindparam("rev")
    )
    return t.insert().from_select(["response_id", *columns], response)


@cache
def _set_started() -> Any:
    t = tables().assignments
    values: dict[str, Any] = {"guideline_version": bindparam("guideline"), "started_at": bindparam("now")}
    return t.update().where(t.c.id == bindparam("a_id"), t.c.started_at.is_(None)).values(values)


@cache
def _insert(table: str) -> Any:
    return getattr(tables(), table).insert()


@cache
def _set_submitted() -> Any:
    t = tables().assignments
    values: dict[str, Any] = {
        "rev": bindparam("new_rev"),
        "submitted_at": bindparam("now"),
        "active_ms": bindparam("ms"),
    }
    return t.update().where(t.c.id == bindparam("a_id")).values({"state": "submitted", **values})


@cache
def _adjudicators() -> Any:
    """Somebody has decided the item as an adjudicator, or is about to."""
    t = tables().assignments
    return (
        t.select()
        .with_only_columns(t.c.id)
        .where(
            t.c.item_id == bindparam("item"),
            t.c.stage == "adjudicate",
            t.c.live.is_(True),
            t.c.blind_repeat.is_(False),
        )
    )

"""The training set: items whose right reading is known, what a newcomer said of them, and the gate behind.

Training verdicts never enter the store of verdicts; they are responses only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from sqlalchemy import Connection, func

from proctor.exam.question import proposed_texts
from proctor.said import say
from proctor.verify.desk import people
from proctor.verify.desk.cases import human_verdicts
from proctor.verify.desk.desk import Desk
from proctor.verify.desk.documents import Protocol
from proctor.verify.desk.events import add_event
from proctor.verify.desk.items import get_item
from proctor.verify.desk.records import MAX_TEXT, ConflictError, InvalidError, Item, Person, Sheet
from proctor.verify.desk.sheets import Cards, check_sheet, is_bad_text
from proctor.verify.schema import tables
from proctor.verify.store import latest_verdicts

if TYPE_CHECKING:
    from proctor.verify.verdict import Verdict

__all__ = [
    "Feedback",
    "Lesson",
    "Reference",
    "Score",
    "add_training",
    "change_training",
    "feedback_on",
    "list_training",
    "open_gate",
    "proposed_reference",
    "remove_training",
    "score_of",
    "scores",
    "tallies",
]


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """The right reading of an item, and why; ``whys`` stand beside the answers.

    ``candidate_hash`` says for which text of the item it was written; "" when that was not noted.
    """

    sheet: Sheet
    why: str = ""
    whys: tuple[str, ...] = ()
    candidate_hash: str = ""


class Lesson(NamedTuple):
    """One item of the training set."""

    item: Item
    reference: Reference
    position: int

    @property
    def is_stale(self) -> bool:
        """True when the item's text changed after the reference was written."""
        return self.reference.candidate_hash not in ("", self.item.candidate_hash)


class Score(NamedTuple):
    """A person's training so far: statements as in the reference, statements, items done, items of the set."""

    agreed: int
    statements: int
    done: int
    total: int


class Feedback(NamedTuple):
    """One statement: what it is about, what they said, what is right, and why."""

    label: str
    text: str
    yours: str
    right: str
    why: str


def add_training(desk: Desk, connection: Connection, item: Item, reference: Reference, *, actor: str) -> None:
    """Put an item into the training set; nobody judges it as work from then on.

    Raises:
        InvalidError: if the reference does not judge everything.
        ConflictError: if it is there already, or people have judged it as work.
    """
    t, i = tables().training, tables().items
    kept = _checked(item, reference)
    if connection.execute(t.select().where(t.c.item_id == item.id)).first() is not None:
        raise ConflictError(say("This item is in the training set already."))
    if item.state not in ("undealt", "machine"):
        raise ConflictError(say("This item is dealt as work; choose one that nobody has been asked about."))
    if human_verdicts(connection, item):
        raise ConflictError(say("People have judged this item as work; choose one that nobody has judged."))
    places = [row.position for row in connection.execute(t.select())]
    row = {
        "item_id": item.id,
        "position": max(places, default=0) + 1,
        "reference": msgspec.json.encode(kept).decode(),
        "explanation": kept.why,
        "made_by": actor,
        "created_at": desk.now(),
    }
    connection.execute(t.insert(), row)
    connection.execute(i.update().where(i.c.id == item.id).values(in_training=True, state="training"))
    add_event(desk, connection, "training.added", item.pid, actor)


def change_training(
    desk: Desk, connection: Connection, item: Item, reference: Reference, *, actor: str
) -> None:
    """Write another reference for an item of the set; the event keeps the one before.

    Raises:
        InvalidError: if it is not in the set, or the reference does not judge everything.
    """
    t = tables().training
    kept = _checked(item, reference)
    row = connection.execute(t.select().where(t.c.item_id == item.id)).first()
    if row is None:
        raise InvalidError([("item", say("This item is not in the training set."))])
    before = _reference(row)
    if before == kept:
        return
    values = {"reference": msgspec.json.encode(kept).decode(), "explanation": kept.why, "made_by": actor}
    connection.execute(t.update().where(t.c.item_id == item.id).values(**values))
    add_event(desk, connection, "training.changed", item.pid, actor, before=msgspec.to_builtins(before))


def proposed_reference(connection: Connection, item: Item) -> tuple[Reference, bool]:
    """Return a reference to begin with, and whether the task-graph oracle has filled it in.

    What it is not sure of is None in the sheet: a person decides it. Items that people have judged are no training.
    """
    blank: tuple[None, ...] = (None,) * len(item.question.proposals)
    for verdict in latest_verdicts(connection, item.question.id):
        if verdict.annotator_kind == "oracle" and verdict.candidate_hash in ("", item.candidate_hash):
            return _by_oracle(item, verdict), True
    return Reference(sheet=Sheet(answers=blank), candidate_hash=item.candidate_hash), False


def _by_oracle(item: Item, verdict: Verdict) -> Reference:
    said = [a.value if a.value != "unsure" else None for a in verdict.answers]
    said += [None] * (len(item.question.proposals) - len(said))
    question = verdict.question.value if verdict.question.value != "unsure" else None
    return Reference(
        sheet=Sheet(question=question, answers=tuple(said[: len(item.question.proposals)])),
        why=verdict.question.reason,
        whys=tuple(a.reason for a in verdict.answers)[: len(item.question.proposals)],
        candidate_hash=item.candidate_hash,
    )


def _checked(item: Item, reference: Reference) -> Reference:
    texts = proposed_texts(item.question)
    sheet = check_sheet(reference.sheet, Cards(True, texts, tuple(range(len(texts)))))
    long: list[tuple[str, str]] = [
        (name, say("An explanation holds at most {most:,} characters of text.", most=MAX_TEXT))
        for name, text in (("why", reference.why), *((f"whys.{n}", w) for n, w in enumerate(reference.whys)))
        if is_bad_text(text)
    ]
    if long:
        raise InvalidError(long)
    return msgspec.structs.replace(reference, sheet=sheet, candidate_hash=item.candidate_hash)


def remove_training(desk: Desk, connection: Connection, item: Item, *, actor: str) -> None:
    """Take an item out of the training set; what was said of it stays, and the event keeps the reference.

    Raises:
        InvalidError: if it is not in it.
    """
    t, i, a = tables().training, tables().items, tables().assignments
    row = connection.execute(t.select().where(t.c.item_id == item.id)).first()
    if row is None:
        raise InvalidError([("item", say("This item is not in the training set."))])
    connection.execute(t.delete().where(t.c.item_id == item.id))
    back = "gone" if item.state == "gone" else "undealt"
    connection.execute(i.update().where(i.c.id == item.id).values(in_training=False, state=back))
    connection.execute(
        a.update()
        .where(a.c.item_id == item.id, a.c.stage == "training", a.c.live.is_(True), a.c.state == "open")
        .values(live=False, state="moved", reason="no longer in the training set")
    )
    before = msgspec.to_builtins(_reference(row))
    add_event(desk, connection, "training.removed", item.pid, actor, before=before)


def list_training(connection: Connection) -> list[Lesson]:
    """Return the training set in its order."""
    t = tables().training
    return [
        Lesson(get_item(connection, row.item_id), _reference(row), row.position)
        for row in connection.execute(t.select().order_by(t.c.position)).all()
    ]


def feedback_on(connection: Connection, item: Item, sheet: Sheet) -> list[Feedback]:
    """Compare what a person said of a training item with the reference: the question, then each answer.

    Raises:
        InvalidError: if the item is not in the training set.
    """
    t = tables().training
    row = connection.execute(t.select().where(t.c.item_id == item.id)).first()
    if row is None:
        raise InvalidError([("item", say("This item is not in the training set any more."))])
    reference = _reference(row)
    right = reference.sheet
    compared = [
        Feedback(
            say("Question"), item.question.text, sheet.question or "", right.question or "", reference.why
        )
    ]
    texts = proposed_texts(item.question) if right.question == "right" else ()
    for n, (text, value) in enumerate(zip(texts, right.answers, strict=False)):
        said = sheet.answers[n] if n < len(sheet.answers) else None
        why = reference.whys[n] if n < len(reference.whys) else ""
        compared.append(Feedback(say("Answer {number}", number=n + 1), text, said or "", value or "", why))
    return compared


def score_of(connection: Connection, person: Person, kind: str = "") -> Score:
    """Return how far a person's training (with questions of a kind, or of all) agrees with the reference."""
    return scores(connection, [person.id], kind)[person.id]


def scores(connection: Connection, numbers: Sequence[int] | None = None, kind: str = "") -> dict[int, Score]:
    """Return the training of people by their numbers in the store; of everybody who has done some by default.

    Args:
        connection: in a transaction.
        numbers: of the people.
        kind: of the questions that count; all by default.
    """
    right = _references(connection, kind)
    found = {number: Score(0, 0, 0, len(right)) for number in numbers or ()}
    for row in _submitted(connection, numbers):
        reference = right.get(row.item_id)
        if reference is None:
            continue
        agreed, statements = _tally(reference, msgspec.json.decode(row.sheet, type=Sheet))
        old = found.get(row.person_id, Score(0, 0, 0, len(right)))
        found[row.person_id] = Score(
            old.agreed + agreed, old.statements + statements, old.done + 1, old.total
        )
    return found


def tallies(connection: Connection) -> dict[int, tuple[int, int, int]]:
    """Return for each item of the set (by number) how many statements agreed, of how many, by how many people."""
    right = _references(connection)
    found: dict[int, tuple[int, int, int]] = dict.fromkeys(right, (0, 0, 0))
    for row in _submitted(connection, None):
        if row.item_id in right:
            agreed, statements = _tally(right[row.item_id], msgspec.json.decode(row.sheet, type=Sheet))
            old = found[row.item_id]
            found[row.item_id] = (old[0] + agreed, old[1] + statements, old[2] + 1)
    return found


def _references(connection: Connection, kind: str = "") -> dict[int, Reference]:
    t, i = tables().training, tables().items
    query = t.join(i, i.c.id == t.c.item_id).select().with_only_columns(t.c.item_id, t.c.reference)
    query = query.where(i.c.state == "training", *((i.c.kind == kind,) if kind else ()))
    return {row.item_id: _reference(row) for row in connection.execute(query)}


def _submitted(connection: Connection, numbers: Iterable[int] | None) -> Sequence[Any]:
    a, r = tables().assignments, tables().responses
    query = (
        a.join(r, (r.c.assignment_id == a.c.id) & (r.c.rev == a.c.rev))
        .select()
        .with_only_columns(a.c.person_id, a.c.item_id, r.c.sheet)
        .where(a.c.stage == "training", a.c.state == "submitted", a.c.live.is_(True))
    )
    if numbers is not None:
        query = query.where(a.c.person_id.in_(list(numbers)))
    return connection.execute(query).all()


def _tally(reference: Reference, sheet: Sheet) -> tuple[int, int]:
    """Count the statements of a reference, and on how many a sheet says the same."""
    right = reference.sheet
    pairs = [(right.question, sheet.question)]
    if right.question == "right":
        said = (*sheet.answers, *([None] * len(right.answers)))
        pairs += list(zip(right.answers, said, strict=False))
    return sum(a == b for a, b in pairs), len(pairs)


def open_gate(desk: Desk, connection: Connection, person: Person, protocol: Protocol, kind: str) -> str:
    """Move somebody on whose training with a kind of questions is done: to the coordinator, or straight to work.

    Returns:
        Their gate.
    """
    now = people.by_id(desk, connection, person.id)
    if now is None or now.state != "active" or now.gate_of(kind) != "training":
        return "" if now is None else now.gate_of(kind)
    score = score_of(connection, now, kind)
    returned = _returned(connection, now, kind)
    if score.done + returned < score.total:
        return now.gate_of(kind)
    passed = protocol.gate == "automatic" and score.agreed >= protocol.pass_at * max(1, score.statements)
    gate = "open" if passed else "waiting"
    people.set_gate(desk, connection, now, gate, actor="proctor", kind=kind)
    return gate


def _returned(connection: Connection, person: Person, kind: str) -> int:
    """Count the training items that somebody could not judge: they are done with them."""
    a, i = tables().assignments, tables().items
    query = a.join(i, i.c.id == a.c.item_id).select().with_only_columns(func.count())
    mine = (a.c.person_id == person.id, a.c.stage == "training", a.c.live.is_(True), a.c.state == "returned")
    return int(connection.execute(query.where(*mine, i.c.state == "training", i.c.kind == kind)).scalar_one())


def _reference(row: Any) -> Reference:
    return msgspec.json.decode(row.reference, type=Reference)

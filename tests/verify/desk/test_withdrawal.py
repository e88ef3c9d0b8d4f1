"""Withdrawing consent: nothing counts any more, nothing says who it was, and it cannot fail for want of people."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from proctor.ask.moment.candidate import Answer, Candidate, Provenance
from proctor.ask.moment.question import moment_question
from proctor.exam.kinds.example import Example
from proctor.exam.question import Question
from proctor.verify.desk import people, roster, work
from proctor.verify.desk.desk import Desk
from proctor.verify.desk.documents import Protocol
from proctor.verify.desk.events import check_chain
from proctor.verify.desk.items import sync_items
from proctor.verify.desk.records import ConflictError, GoneError, Person, Sheet
from proctor.verify.desk.withdrawal import withdraw_consent
from proctor.verify.policy import Policy
from proctor.verify.schema import tables
from proctor.verify.store import latest_verdicts

ITEMS = 6


class Room:
    """A desk with items dealt in pairs."""

    def __init__(self, target: str, *handles: str) -> None:
        self.desk = Desk.open(target, secret=b"s" * 32, clock=lambda: 1_700_000_000.0)
        self.owner = self.do(people.add, handle="olga", name="Olga", role="owner", actor="cli")
        self.people = {
            h: self.do(people.add, handle=h, name=h.title(), role="annotator", actor="cli", gate="open")
            for h in handles
        }
        pairs = [self._pair(n) for n in range(ITEMS)]
        self.do(sync_items, pairs, {}, actor="cli")
        dealt = self.desk.read(
            lambda c: roster.plan_deal(self.desk, c, list(self.people.values()), Policy(name="everything"))
        )
        self.do(roster.apply_deal, dealt, actor="cli")

    @staticmethod
    def _pair(n: int) -> Question:
        example = Example(
            id=f"r{n}_next",
            clip_id=f"r{n}",
            recording_id=f"r{n}",
            activity_id="g",
            activity_name="Tea",
            type="next",
            end=10.0,
            state="ongoing",
            noisy=False,
        )
        candidate = Candidate(
            id=f"c{n}",
            example_id=example.id,
            recording_id=example.recording_id,
            type="next",
            question="What now?",
            answers=(Answer("Stir."), Answer("Pour.")),
            provenance=Provenance(generator="hand", version="1"),
        )
        return moment_question(candidate, example)

    def do(self, function: Callable[..., Any], *args: Any, **more: Any) -> Any:
        return self.desk.write(lambda c: function(self.desk, c, *args, **more)).result()

    def table(self, name: str) -> list[Any]:
        with self.desk.reading() as connection:
            return list(connection.execute(getattr(tables(), name).select()).all())

    def assignments(self, person: Person, *states: str) -> list[Any]:
        return [a for a in self.table("assignments") if a.person_id == person.id and a.state in states]

    def submit(self, person: Person, *, rev: int = 0, question: Any = "right") -> None:
        """Submit all that is open, or was submitted at a revision."""
        for row in self.assignments(person, "open", "submitted"):
            if row.rev == rev:
                sheet = Sheet(question=question, answers=("right", "wrong") if question == "right" else ())
                self.do(
                    work.submit,
                    row.pid,
                    person,
                    sheet=sheet,
                    key=f"{row.pid}-{rev}",
                    rev=rev,
                    active_ms=1_000,
                    protocol=Protocol(),
                )

    def judges(self) -> list[str]:
        return [verdict.annotator for verdict in self.desk.read(latest_verdicts)]


@pytest.fixture
def make(target: str) -> Iterator[Callable[..., Room]]:
    rooms: list[Room] = []

    def open_room(*handles: str) -> Room:
        rooms.append(Room(target, *handles))
        return rooms[-1]

    yield open_room
    for room in rooms:
        room.desk.close()


def test_what_they_judged_counts_no_more_in_any_revision(make: Callable[..., Room]) -> None:
    room = make("ana", "ben", "cyd")
    ana = room.people["ana"]
    room.submit(ana)
    room.submit(ana, rev=1, question="wrong")  # an edit: the first revision must not come back
    room.submit(room.people["ben"])
    assert ana.pid in room.judges()
    responses = room.table("responses")
    room.do(withdraw_consent, ana, actor=ana.pid)
    assert ana.pid not in room.judges()
    assert room.people["ben"].pid in room.judges()
    assert room.table("responses") == responses  # rows stay, void
    assert not any(a.live for a in room.table("assignments") if a.person_id == ana.id)
    text = repr([room.table(name) for name in tables()._fields])
    assert "Ana" not in text
    assert "'ana'" not in text
    assert room.desk.read(check_chain)[1] is None


def test_others_take_the_items_over(make: Callable[..., Room]) -> None:
    room = make("ana", "ben", "cyd")
    ana = room.people["ana"]
    room.submit(ana)
    room.do(withdraw_consent, ana, actor=ana.pid)
    live = [a for a in room.table("assignments") if a.live and a.stage == "judge"]
    assert len(live) == 2 * ITEMS
    assert {a.person_id for a in live} == {room.people["ben"].id, room.people["cyd"].id}


def test_it_does_not_need_anybody_who_could(make: Callable[..., Room]) -> None:
    room = make("ana", "ben")
    ana, ben = room.people["ana"], room.people["ben"]
    room.submit(ana)
    room.do(withdraw_consent, ana, actor=ana.pid)
    assert ana.pid not in room.judges()
    assert room.desk.read(lambda c: people.by_id(room.desk, c, ana.id)).state == "withdrawn"  # type: ignore[union-attr]
    room.submit(ben)
    room.do(withdraw_consent, ben, actor=ben.pid)
    assert room.judges() == []
    assert not any(a.live for a in room.table("assignments"))


def test_drafts_go(make: Callable[..., Room]) -> None:
    room = make("ana", "ben", "cyd")
    ana = room.people["ana"]
    row = room.assignments(ana, "open")[0]
    room.do(
        work.save_draft,
        row.pid,
        ana,
        sheet=Sheet(note="about my allergy"),
        client_id="c",
        seq=1,
        base=0,
        active_ms=5,
    )
    assert "allergy" in repr(room.table("drafts"))
    room.do(withdraw_consent, ana, actor=ana.pid)
    assert room.table("drafts") == []


def test_who_left_before_can_withdraw_what_stayed(make: Callable[..., Room]) -> None:
    room = make("ana", "ben", "cyd")
    ana = room.people["ana"]
    room.submit(ana)
    room.do(people.leave, ana, actor="cli")
    room.do(withdraw_consent, ana, actor=ana.pid)
    assert ana.pid not in room.judges()
    with pytest.raises(GoneError):
        room.do(withdraw_consent, ana, actor=ana.pid)


def test_the_last_owner_stays_and_nothing_is_void(make: Callable[..., Room]) -> None:
    room = make("ana", "ben")
    room.submit(room.people["ana"])
    before = room.table("assignments"), room.judges()
    with pytest.raises(ConflictError):
        room.do(withdraw_consent, room.owner, actor=room.owner.pid)
    assert (room.table("assignments"), room.judges()) == before
    assert room.table("people")[0].name == "Olga"

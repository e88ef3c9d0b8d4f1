"""Roles that depend on what somebody did before, and pages that know less than the server."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from proctor.verify.desk import documents
from proctor.verify.desk.records import Sheet
from proctor.verify.schema import tables
from proctor.verify.store import latest_verdicts


@pytest.fixture
def own(open_house: Any) -> Any:
    """A project in which nothing is a case yet."""
    house = open_house()
    i = tables().items
    house.desk.write(lambda c: c.execute(i.update().where(i.c.state == "case").values(state="held"))).result()
    return house


def make_case(house: Any, first: str, second: str) -> int:
    """Let two people differ on an item that is new to them; returns the item."""
    house.deal([first, second], 4)
    a = tables().assignments
    ids = {h: house.person(h).id for h in (first, second)}
    rows = house.desk.read(
        lambda c: c.execute(a.select().where(a.c.state == "open", a.c.stage == "judge")).all()
    )
    mine = {h: {r.item_id: r.pid for r in rows if r.person_id == ids[h]} for h in ids}
    item: int = next(i for i in mine[first] if i in mine[second])
    for handle, value in ((first, "right"), (second, "wrong")):
        cards = house.load(mine[handle][item], handle).cards
        house.say(mine[handle][item], handle, Sheet(question="right", answers=(value,) * len(cards.texts)))
    return item


def test_nobody_adjudicates_what_they_judged(own: Any) -> None:
    own.hire("both", "adjudicator")
    own.hire("reader")
    item = make_case(own, "both", "reader")
    state = own.desk.read(
        lambda c: c.execute(tables().items.select().where(tables().items.c.id == item)).one().state
    )
    assert state == "case"

    def no_repeats(connection: Any) -> None:
        settings = msgspec.structs.replace(documents.protocol(connection), repeat_share=0.0)
        documents.set_protocol(own.desk, connection, settings, actor="cli")

    own.desk.write(no_repeats).result()
    assert own.next_for("both", "adjudicate") is None
    answer = own.visitor("both").post("/next", {"stage": "adjudicate"})
    assert answer.headers["location"] == "/"
    own.hire("third", "adjudicator")
    taken = own.next_for("third", "adjudicate")
    assert taken is not None
    assert own.load(taken, "third").item.id == item
    assert own.visitor("both").get(f"/w/{taken}").status_code == 404


def test_an_annotator_gets_no_case_by_asking(own: Any) -> None:
    own.hire("reader")
    own.hire("second")
    make_case(own, "reader", "second")
    visitor, before = own.visitor("ana"), len(own.work_of("ana"))
    with own.unchanged():
        answer = visitor.post("/next", {"stage": "adjudicate"})
    assert answer.headers["location"] == "/"
    assert before == len(own.work_of("ana"))
    assert "adjudicate" not in {
        t.stage
        for t in own.desk.read(
            lambda c: c.execute(
                tables().assignments.select().where(tables().assignments.c.person_id == own.person("ana").id)
            ).all()
        )
    }


def test_a_coordinators_judgement_counts_once(own: Any) -> None:
    """Who coordinates and judges too has one verdict of each item, however often it is sent."""
    own.hire("gita", "coordinator")
    own.hire("reader")
    item = make_case(own, "gita", "reader")
    a = tables().assignments
    person = own.person("gita")
    pid = own.desk.read(
        lambda c: c.execute(a.select().where(a.c.person_id == person.id, a.c.item_id == item)).one().pid
    )
    visitor = own.visitor("gita")
    count = len(own.load(pid, "gita").cards.texts)
    for rev in (1, 2):
        sheet = {"question": "right", "answers": ["wrong"] * count, "note": f"revision {rev}"}
        assert visitor.submit(pid, sheet, rev=rev).status_code == 200
    name = own.load(pid, "gita").item.question.id
    verdicts = own.desk.read(latest_verdicts)
    assert len([v for v in verdicts if v.candidate_id == name and v.annotator == person.pid]) == 1


# -- two tabs, double clicks, late saves ---------------------------------------------------------------------------


def test_a_double_click_is_one_submit(own: Any, says: Any) -> None:
    """Twenty at once under one key: one row, one answer for all."""
    visitor, pid = own.visitor("ana"), own.work_of("ana")
    headers = {**says.data, "If-Match": '"0"', "Idempotency-Key": "k" * 20}
    body = {"sheet": {"question": "wrong", "note": "once"}}

    async def go() -> list[Any]:
        return await asyncio.gather(
            *(visitor.http.post(f"/w/{pid}/submit", json=body, headers=headers) for _ in range(20))
        )

    answers = own.loop.run_until_complete(go())
    assert {a.status_code for a in answers} == {200}
    assert {a.json()["rev"] for a in answers} == {1}
    assert len([a for a in answers if not a.json()["again"]]) == 1
    rows = own.desk.read(lambda c: c.execute(tables().responses.select()).all())
    assert len([r for r in rows if '"once"' in r.sheet]) == 1


def test_two_tabs_that_submit_at_once(own: Any, says: Any) -> None:
    """Different keys, the same revision: one is kept, the other is shown it and loses no text."""
    visitor, pid = own.visitor("ana"), own.work_of("ana")

    async def go() -> list[Any]:
        return await asyncio.gather(
            *(
                visitor.http.post(
                    f"/w/{pid}/submit",
                    json={"sheet": {"question": "wrong", "note": f"tab {n}"}},
                    headers={**says.data, "If-Match": '"0"', "Idempotency-Key": f"key-of-tab-{n}"},
                )
                for n in range(6)
            )
        )

    answers = own.loop.run_until_complete(go())
    kept = [a for a in answers if a.status_code == 200]
    late = [a for a in answers if a.status_code == 409]
    assert (len(kept), len(late)) == (1, 5)
    winner = own.load(pid, "ana").submitted
    assert winner is not None
    for answer in late:
        told = answer.json()
        assert told["theirs"]["note"] == winner.note
        assert told["mine"]["note"].startswith("tab ")
        assert told["mine"]["note"] != winner.note
        assert told["rev"] == 1


def test_two_tabs_that_save_drafts(own: Any) -> None:
    visitor, pid = own.visitor("ana"), own.work_of("ana")
    assert visitor.draft(pid, {"note": "one"}, client="tab1").json()["version"] == 1
    late = visitor.draft(pid, {"note": "two"}, client="tab2", base=0)
    assert late.status_code == 409
    assert (late.json()["theirs"]["note"], late.json()["version"]) == ("one", 1)
    assert visitor.draft(pid, {"note": "two"}, client="tab2", base=1, seq=2).json()["version"] == 2


def test_saves_that_overtake_each_other(own: Any) -> None:
    visitor, pid = own.visitor("ana"), own.work_of("ana")
    for seq in (1, 5, 3, 2, 4):
        answer = visitor.draft(pid, {"note": f"seq {seq}"}, seq=seq)
        assert answer.status_code == 200
        assert answer.json().get("stale", False) is (seq < 5 and seq != 1)
    draft = own.load(pid, "ana").draft
    assert draft is not None
    assert draft.sheet.note == "seq 5"


def test_two_people_on_one_account(own: Any) -> None:
    """Two browsers with sessions of their own are two pages: the second is told, and nothing is lost."""
    here, there, pid = own.visitor("ana"), own.visitor("ana"), own.work_of("ana")
    assert here.draft(pid, {"note": "here"}, client="here").status_code == 200
    assert there.draft(pid, {"note": "there"}, client="there").status_code == 409
    assert here.submit(pid, {"question": "wrong", "note": "here"}).status_code == 200
    stale = there.submit(pid, {"question": "wrong", "note": "there"})
    assert stale.status_code == 409
    assert stale.json()["mine"]["note"] == "there"
    assert stale.json()["theirs"]["note"] == "here"


def test_a_page_of_somebody_else_saves_nothing(own: Any, says: Any) -> None:
    """Ben signs in where Ana's page is still open: what it sends is not taken for his."""
    ana, pid = own.person("ana"), own.work_of("ben")
    visitor = own.visitor("ben")
    with own.unchanged():
        body = {"client_id": "t", "seq": 1, "base": 0, "sheet": {"note": "Ana's"}}
        answer = visitor.send(
            "PUT", f"/w/{pid}/draft", json=body, headers={**says.data, "Proctor-Person": ana.pid}
        )
    assert answer.status_code == 401


def test_undo_needs_the_revision_that_it_undoes(own: Any, says: Any) -> None:
    visitor, pid = own.visitor("ana"), own.work_of("ana")
    assert visitor.submit(pid, {"question": "wrong"}).json()["rev"] == 1
    with own.unchanged():
        for rev in ("0", "2", "x", ""):
            headers = {**says.data, "If-Match": f'"{rev}"'}
            assert visitor.send("POST", f"/w/{pid}/undo", json={}, headers=headers).status_code == 409
    headers = {**says.data, "If-Match": '"1"'}
    assert visitor.send("POST", f"/w/{pid}/undo", json={}, headers=headers).status_code == 200
    with own.unchanged():
        assert visitor.send("POST", f"/w/{pid}/undo", json={}, headers=headers).status_code in (200, 409)

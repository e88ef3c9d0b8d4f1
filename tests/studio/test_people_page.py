"""People: invitations, roles, gate, links, and what becomes of the work when somebody goes, over HTTP."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from tests.patience import least_effort

from proctor.verify.desk import people, roster, training
from proctor.verify.desk.items import get_item
from proctor.verify.desk.records import Person, Sheet
from proctor.verify.policy import Policy
from proctor.verify.store import latest_verdicts


@pytest.fixture
def carla(office: Any) -> Person:
    found: Person = office.hire("carla", "coordinator")
    office.hire("olga", "owner")
    return found


def _deal(office: Any, *persons: Person, items: int = 12) -> None:
    office.sync(items)

    def job(desk: Any, c: Any) -> None:
        plan = roster.plan_deal(desk, c, list(persons), Policy(name="everything"))
        roster.apply_deal(desk, c, plan, actor="cli")

    office.do(job)


def _judges(office: Any) -> set[str]:
    return {v.annotator for v in office.desk.read(latest_verdicts) if v.annotator_kind == "human"}


# -- the list, invitations, roles --------------------------------------------------------------------------------


def test_the_list_tells_progress_and_training(
    office: Any, carla: Person, words: Callable[[Any], str]
) -> None:
    ana, ben = office.hire("ana"), office.hire("ben")
    _deal(office, ana, ben, items=4)
    office.submit(office.open_work(ana)[0].pid, ana)
    said = words(office.get(carla, "/people"))
    assert "1 of 4" in said
    assert "0 of 4" in said
    assert said.count("nothing dealt") == 2


def test_an_invitation_is_shown_once_and_makes_an_account(
    office: Any, carla: Person, words: Callable[[Any], str]
) -> None:
    page = office.post(carla, "/people/invite", role="annotator", email="dev@example.org")
    link = re.search(rf"{office.origin}(/invite/[\w-]+)", page.text)
    assert link is not None
    assert page.headers["cache-control"] == "no-store"
    assert link.group(1) not in office.get(carla, "/people").text
    assert "dev@example.org" in words(office.get(carla, "/people"))
    assert office.visit(link.group(1)).status_code == 200
    assert link.group(1).rpartition("/")[2] not in repr(office.rows("invites"))
    assert office.events("invited")[0].actor == carla.pid


def test_an_invitation_is_taken_back(office: Any, carla: Person) -> None:
    office.post(carla, "/people/invite", role="adjudicator")
    pid = re.search(r"/people/invites/(\w+)/withdraw", office.get(carla, "/people").text)
    assert pid is not None
    assert office.post(carla, pid.group(0)).status_code == 303
    assert "/people/invites/" not in office.get(carla, "/people").text
    assert office.post(carla, pid.group(0)).status_code == 404


def test_nobody_lifts_above_oneself_nor_touches_those_above(office: Any, carla: Person) -> None:
    ana = office.hire("ana")
    olga = next(p for p in office.rows("people") if p.handle == "olga")
    assert office.post(carla, "/people/invite", role="owner").status_code == 422
    assert office.post(carla, f"/people/{ana.pid}/role", role="owner").status_code == 404
    for act in ("link", "revoke", "role", "approve", "leave", "annul", "withdraw"):
        assert office.post(carla, f"/people/{olga.pid}/{act}", role="annotator").status_code == 404, act
        assert office.post(carla, f"/people/{carla.pid}/{act}", role="annotator").status_code == 404, act
    assert office.rows("people", handle="olga")[0].role == "owner"
    assert f"/people/{olga.pid}/" not in office.get(carla, "/people").text


def test_a_role_changes_and_ends_sessions(office: Any, carla: Person) -> None:
    ana = office.hire("ana")
    assert office.get(ana, "/").status_code == 200
    assert office.post(carla, f"/people/{ana.pid}/role", role="adjudicator").status_code == 303
    assert office.now(ana).role == "adjudicator"
    assert office.get(ana, "/").headers["location"].startswith("/signin")
    assert office.events("role")[0].actor == carla.pid


def test_a_link_signs_in_who_lost_the_password(office: Any, carla: Person) -> None:
    ana = office.hire("ana")
    page = office.post(carla, f"/people/{ana.pid}/link")
    link = re.search(rf"{office.origin}(/start/[\w-]+)", page.text)
    assert link is not None
    assert office.visit(link.group(1)).status_code == 200


def test_sessions_end_everywhere(office: Any, carla: Person) -> None:
    ana = office.hire("ana")
    office.get(ana, "/")
    office.post(carla, f"/people/{ana.pid}/revoke")
    assert office.get(ana, "/").status_code == 303


def test_the_gate_opens(office: Any, carla: Person, words: Callable[[Any], str]) -> None:
    office.protocol(training_required=True)
    dev = office.hire("dev", gate="waiting")
    assert "waits for you" in words(office.get(carla, "/people"))
    assert office.post(carla, f"/people/{dev.pid}/approve").status_code == 303
    assert office.now(dev).gate == "open"
    assert "Let in" not in office.get(carla, "/people").text
    assert office.events("gate")[0].actor == carla.pid
    assert office.post(carla, f"/people/{dev.pid}/training").status_code == 303
    assert office.now(dev).gate == "training"


# -- leaving, joining, annulling ---------------------------------------------------------------------------------


def test_leaving_is_previewed_and_applied_as_it_was_shown(
    office: Any, carla: Person, words: Callable[[Any], str], hidden: Callable[[Any, str], str]
) -> None:
    ana, ben, cyd = (office.hire(h) for h in ("ana", "ben", "cyd"))
    _deal(office, ana, ben, cyd)
    for row in office.open_work(ana)[:3]:
        office.submit(row.pid, ana)
    before = office.rows("assignments")
    page = office.get(carla, f"/people/{ana.pid}/leave")
    assert "5 open items would move to others; 3 finished ones stay." in words(page)
    assert office.rows("assignments") == before  # looking changes nothing
    done = office.post(carla, f"/people/{ana.pid}/leave", digest=hidden(page, "digest"))
    assert done.headers["location"] == "/people?said=left"
    assert office.now(ana).state == "left"
    live = office.rows("assignments", live=True, stage="judge")
    assert len(live) == 24
    assert len([a for a in live if a.person_id == ana.id]) == 3
    assert _judges(office) == {ana.pid}  # what was submitted stays
    event = office.events("person.leave")[0]
    assert (event.actor, event.subject) == (carla.pid, ana.pid)
    assert office.post(carla, f"/people/{ana.pid}/rejoin").status_code == 303
    assert office.now(ana).state == "active"


def test_a_plan_that_became_another_is_refused_as_a_whole(
    office: Any, carla: Person, words: Callable[[Any], str], hidden: Callable[[Any, str], str]
) -> None:
    ana, ben, cyd = (office.hire(h) for h in ("ana", "ben", "cyd"))
    _deal(office, ana, ben, cyd)
    page = office.get(carla, f"/people/{ana.pid}/leave")
    office.submit(office.open_work(ana)[0].pid, ana)
    late = office.post(carla, f"/people/{ana.pid}/leave", digest=hidden(page, "digest"))
    assert late.status_code == 409
    assert "7 open items would move to others; 1 finished one stay" in words(late)
    assert office.now(ana).state == "active"
    assert office.rows("assignments", state="moved") == []
    assert office.post(carla, f"/people/{ana.pid}/leave", digest=hidden(late, "digest")).status_code == 303


def test_somebody_joins(office: Any, carla: Person, hidden: Callable[[Any, str], str]) -> None:
    ana, ben, dev = (office.hire(h) for h in ("ana", "ben", "dev"))
    _deal(office, ana, ben)
    page = office.get(carla, f"/people/{dev.pid}/join")
    assert office.post(carla, f"/people/{dev.pid}/join", digest=hidden(page, "digest")).status_code == 303
    loads = office.desk.read(roster.judge_loads)
    assert sum(loads.values()) == 24
    assert max(loads.values()) - min(loads.values()) <= 1
    assert office.now(dev).state == "active"


def test_annulling_voids_and_opens_cases_again(
    office: Any, carla: Person, hidden: Callable[[Any, str], str]
) -> None:
    ana, ben, cyd = (office.hire(h) for h in ("ana", "ben", "cyd"))
    _deal(office, ana, ben, cyd)
    for row in office.open_work(ana):
        office.submit(row.pid, ana)
    office.submit(office.rows("assignments", person_id=ana.id)[0].pid, ana, "- ", rev=1)  # an edit
    page = office.get(carla, f"/people/{ana.pid}/annul")
    digest = hidden(page, "digest")
    assert office.post(carla, f"/people/{ana.pid}/annul", digest=digest).status_code == 422  # no reason
    assert _judges(office) == {ana.pid}
    done = office.post(carla, f"/people/{ana.pid}/annul", digest=digest, reason="clicked through")
    assert done.headers["location"] == "/people?said=annulled"
    assert _judges(office) == set()
    assert len(office.rows("responses")) == 9  # rows are kept
    assert '"clicked through"' in office.events("person.annul")[0].body
    assert not any(a.person_id == ana.id for a in office.rows("assignments", live=True))


def test_who_has_left_can_be_annulled_later(
    office: Any, carla: Person, hidden: Callable[[Any, str], str]
) -> None:
    ana, ben, cyd = (office.hire(h) for h in ("ana", "ben", "cyd"))
    _deal(office, ana, ben, cyd)
    office.submit(office.open_work(ana)[0].pid, ana)
    office.do(people.leave, ana, actor="cli")
    page = office.get(carla, f"/people/{ana.pid}/annul")
    digest = hidden(page, "digest")
    assert office.post(carla, f"/people/{ana.pid}/annul", digest=digest, reason="x").status_code == 303
    assert _judges(office) == set()
    assert office.get(carla, f"/people/{ana.pid}/leave").status_code == 404


@pytest.mark.parametrize("wish", ["keep", "void"])
def test_consent_is_withdrawn_for_somebody(office: Any, carla: Person, wish: str) -> None:
    ana, ben, cyd = (office.hire(h) for h in ("ana", "ben", "cyd"))
    _deal(office, ana, ben, cyd)
    office.submit(office.open_work(ana)[0].pid, ana)
    assert office.post(carla, f"/people/{ana.pid}/withdraw").status_code == 422
    assert office.post(carla, f"/people/{ana.pid}/withdraw", judgements=wish).status_code == 303
    assert office.now(ana).state == "withdrawn"
    assert _judges(office) == ({ana.pid} if wish == "keep" else set())
    page = office.get(carla, "/people").text
    assert "Ana" not in page
    assert len(office.rows("assignments", live=True, state="open")) == 24 - (wish == "keep")


# -- who may see it ----------------------------------------------------------------------------------------------


def test_annotators_find_nothing_here(office: Any, carla: Person) -> None:
    ana, ben = office.hire("ana"), office.hire("ben")
    _deal(office, ana, ben)
    gets = (
        "/people",
        f"/people/{ben.pid}/leave",
        "/deal",
        "/training",
        "/guidelines",
        "/events",
        "/events/check",
    )
    for path in gets:
        assert office.get(ana, path).status_code == 404, path
    for path in ("/people/invite", f"/people/{ben.pid}/role", "/deal", "/training/add", "/guidelines"):
        assert office.post(ana, path, role="owner").status_code == 404, path


def test_what_annotators_reach_says_nothing_of_the_deal(office: Any, carla: Person) -> None:
    ana, ben = office.hire("ana"), office.hire("ben")
    office.sync(10)
    for n in range(10):
        office.oracle(f"c{n:03}", "+ +-")

    def job(desk: Any, c: Any) -> None:
        plan = roster.plan_deal(desk, c, [ana, ben], Policy(name="audit", audit_share=1.0))
        assert {p.reason for p in plan.planned.values()} == {"audit"}
        roster.apply_deal(desk, c, plan, actor="cli")

    office.do(job)
    pid = office.open_work(ana)[0].pid
    twin = next(
        a
        for a in office.rows("assignments")
        if a.item_id == office.open_work(ana)[0].item_id and a.person_id == ben.id
    )
    office.submit(twin.pid, ben)
    seen = "".join(office.get(ana, path).text for path in ("/", "/my", "/guideline", f"/w/{pid}/state"))
    for secret in ("audit", "Ben", ben.pid, "policy", "oracle", "doubted", twin.pid):
        assert secret not in seen, secret
    assert office.get(ana, f"/w/{twin.pid}/state").status_code == 404
    assert office.get(ana, f"/w/{twin.pid}/feedback").status_code == 404


def test_the_page_is_quick_with_many_assignments(office: Any, carla: Person) -> None:
    from proctor.verify.schema import tables

    ana, ben = office.hire("ana"), office.hire("ben")
    office.sync(1)
    item = office.rows("items")[0]._asdict()

    def job(_desk: Any, c: Any) -> None:
        t, a = tables().items, tables().assignments
        del item["id"]
        many = [{**item, "pid": f"p{n}", "candidate_id": f"x{n}"} for n in range(20_000)]
        c.execute(t.insert(), many)
        rows = [
            {"pid": f"{who.id}-{n}", "item_id": n + 2, "person_id": who.id, "stage": "judge", "slot": slot,
             "state": "open", "live": True, "queue_pos": n, "created_at": 1.0}
            for slot, who in enumerate((ana, ben))
            for n in range(20_000)
        ]  # fmt: skip
        c.execute(a.insert(), rows)

    office.do(job)
    office.get(carla, "/people")
    assert least_effort(lambda: office.get(carla, "/people")) < 0.25  # 50 ms were measured
    page = office.get(carla, "/people")
    assert "0 of 20000" in page.text


def test_scores_stand_in_the_list(office: Any, carla: Person, words: Callable[[Any], str]) -> None:
    office.protocol(training_required=True)
    office.sync(2)
    dev = office.hire("dev", gate="training")

    def job(desk: Any, c: Any) -> None:
        item = get_item(c, office.item("c000").id)
        right = training.Reference(sheet=Sheet(question="right", answers=("right", "wrong")))
        training.add_training(desk, c, item, right, actor=carla.pid)

    office.do(job)
    office.post(dev, "/next")
    office.submit(office.open_work(dev, "training")[0].pid, dev, "+ ++")
    said = words(office.get(carla, "/people"))
    assert "waits for you: 2 of 3 as in the reference" in said
    assert "training 67 %" in said

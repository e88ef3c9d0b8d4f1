"""Previews and the check of the chain in large projects: worked out beside the requests, shown when they are there.

A project counts as large here from its first seat and its first event on.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.patience import LOW_PRIORITY_PATIENCE, first_process_is_killed

from proctor.studio.context import beside_of
from proctor.studio.pages import deal as deal_page
from proctor.studio.pages import people as people_page
from proctor.studio.rendering import when_text
from proctor.verify.desk import events, people, roster
from proctor.verify.desk.beside import Beside
from proctor.verify.desk.events import add_event
from proctor.verify.desk.records import Person
from proctor.verify.policy import Policy
from proctor.verify.schema import tables

WAITING = "Being worked out"
REFRESH = re.compile(r"2; url=(/\S*)")

Words = Callable[[Any], str]
Hidden = Callable[[Any, str], str]


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roster, "SMALL", 0)
    monkeypatch.setattr(events, "SHORT", 0)
    monkeypatch.setattr(deal_page, "SMALL", 0)


@pytest.fixture
def beside(office: Any, large: None) -> Iterator[Beside]:
    found = beside_of(office.studio)
    found._abandoned = 600  # a slow machine is not somebody who has gone away
    yield found
    found.close()


@pytest.fixture
def carla(office: Any) -> Person:
    found: Person = office.hire("carla", "coordinator")
    return found


@pytest.fixture
def crew(office: Any) -> list[Person]:
    """Three people with eight items each."""
    found = [office.hire(handle) for handle in ("ana", "ben", "cyd")]
    office.sync(12)

    def job(desk: Any, c: Any) -> None:
        plan = roster.plan_deal(desk, c, found, Policy(name="everything"))
        roster.apply_deal(desk, c, plan, actor="cli")

    office.do(job)
    return found


def _again(page: Any) -> str | None:
    """Where a page looks again by itself; there is a link for those who do not want to wait for it."""
    header = page.headers.get("refresh")
    if header is None:
        return None
    found = REFRESH.fullmatch(header)
    assert found is not None
    assert f'href="{html.escape(found.group(1))}"' in page.text
    return found.group(1)


def _ready(office: Any, beside: Beside, who: Person, person: Person, kind: str = "leave") -> Any:
    """Look until the preview is there."""
    page = office.get(who, f"/people/{person.pid}/{kind}")
    for _ in range(5):
        address = _again(page)
        if address is None:
            return page
        assert beside.wait(f"{kind} {person.pid}", LOW_PRIORITY_PATIENCE)
        page = office.get(who, address)
    raise AssertionError("it is never ready")


def _digest_now(office: Any, kind: Any, person: Person) -> str:
    outlook: roster.Outlook = office.desk.read(lambda c: roster.look_ahead(office.desk, c, kind, person.pid))
    return outlook.digest


# -- previews ----------------------------------------------------------------------------------------------------


def test_a_large_preview_says_that_it_is_worked_out_and_then_is_what_a_small_one_is(
    office: Any, beside: Beside, carla: Person, crew: list[Person], words: Words, hidden: Hidden,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    ana = crew[0]
    for row in office.open_work(ana)[:3]:
        office.submit(row.pid, ana)
    page = office.get(carla, f"/people/{ana.pid}/leave")
    assert page.status_code == 200
    assert WAITING in words(page)
    assert '<form method="post" action="/people' not in page.text  # nothing to apply yet
    assert _again(page) == f"/people/{ana.pid}/leave"
    assert office.rows("assignments", state="moved") == []
    there = _ready(office, beside, carla, ana)
    assert "5 open items would move to others; 3 finished ones stay." in words(there)
    assert "A preview as of" in words(there)
    assert _again(there) is None
    monkeypatch.setattr(roster, "SMALL", 1_000)
    at_once = office.get(carla, f"/people/{ana.pid}/leave")
    assert "A preview. Nothing" in words(at_once)
    assert hidden(there, "digest") == hidden(at_once, "digest")
    assert words(there).replace(re.search(r" as of [^.]*", words(there)).group(), "") == words(at_once)  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", ["leave", "join", "annul"])
def test_what_was_shown_is_what_is_applied(
    office: Any, beside: Beside, carla: Person, crew: list[Person], hidden: Hidden, kind: str
) -> None:
    person = office.hire("dev") if kind == "join" else crew[0]
    page = _ready(office, beside, carla, person, kind)
    wanted = office.desk.read(lambda c: roster.look_ahead(office.desk, c, kind, person.pid)).loads
    done = office.post(carla, f"/people/{person.pid}/{kind}", digest=hidden(page, "digest"), reason="because")
    assert done.status_code == 303
    loads = office.desk.read(roster.judge_loads)
    assert loads == {pid: then for pid, (_, then) in wanted.items() if then}


def test_a_plan_that_is_old_is_never_shown(
    office: Any, beside: Beside, carla: Person, crew: list[Person], words: Words, hidden: Hidden
) -> None:
    ana, ben, _ = crew
    old = hidden(_ready(office, beside, carla, ana), "digest")
    office.submit(office.open_work(ben)[0].pid, ben)  # changes nothing about who leaves
    assert hidden(office.get(carla, f"/people/{ana.pid}/leave"), "digest") == old
    office.submit(office.open_work(ana)[0].pid, ana)
    page = office.get(carla, f"/people/{ana.pid}/leave")
    assert WAITING in words(page)
    assert old not in page.text
    new = _ready(office, beside, carla, ana)
    assert "7 open items would move to others; 1 finished one stay" in words(new)
    assert hidden(new, "digest") == _digest_now(office, "leave", ana) != old


def test_what_has_become_another_plan_is_refused_and_the_new_one_is_there_at_once(
    office: Any, beside: Beside, carla: Person, crew: list[Person], words: Words, hidden: Hidden
) -> None:
    ana = crew[0]
    page = _ready(office, beside, carla, ana)
    office.submit(office.open_work(ana)[0].pid, ana)
    late = office.post(carla, f"/people/{ana.pid}/leave", digest=hidden(page, "digest"))
    assert late.status_code == 409
    assert "7 open items would move" in words(late)
    assert _again(late) is None
    assert office.now(ana).state == "active"
    assert office.post(carla, f"/people/{ana.pid}/leave", digest=hidden(late, "digest")).status_code == 303


def test_a_reason_is_asked_for_beside_the_preview(
    office: Any, beside: Beside, carla: Person, crew: list[Person], words: Words, hidden: Hidden
) -> None:
    ana = crew[0]
    digest = hidden(_ready(office, beside, carla, ana, "annul"), "digest")
    page = office.post(carla, f"/people/{ana.pid}/annul", digest=digest)
    assert page.status_code == 422
    assert "Say why" in words(page)
    assert hidden(page, "digest") == digest


def test_a_project_that_is_at_work_gets_its_preview_all_the_same(
    office: Any, beside: Beside, carla: Person, crew: list[Person], words: Words,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    ben, dev = crew[1], office.hire("dev")
    office.get(carla, f"/people/{dev.pid}/join")
    assert beside.wait(f"join {dev.pid}", LOW_PRIORITY_PATIENCE)
    office.submit(office.open_work(ben)[0].pid, ben)  # while it was worked out
    assert WAITING not in words(office.get(carla, f"/people/{dev.pid}/join"))
    monkeypatch.setattr(people_page, "_WORN_SECONDS", 0.0)
    assert WAITING in words(office.get(carla, f"/people/{dev.pid}/join"))


def test_a_preview_is_made_anew_after_a_while(
    office: Any, beside: Beside, carla: Person, crew: list[Person], words: Words,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    _ready(office, beside, carla, crew[0])
    monkeypatch.setattr(people_page, "_FRESH_SECONDS", 0.0)
    assert WAITING in words(office.get(carla, f"/people/{crew[0].pid}/leave"))


def test_two_coordinators_share_one(
    office: Any, beside: Beside, carla: Person, crew: list[Person], words: Words,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    olga, ana = office.hire("olga", "owner"), crew[0]
    begun: list[str] = []
    whole = Beside._in_turn

    def counted(self: Beside, job: Any) -> Any:
        begun.append(job.name)
        return whole(self, job)

    monkeypatch.setattr(Beside, "_in_turn", counted)
    for who in (carla, olga, carla, olga):
        assert WAITING in words(office.get(who, f"/people/{ana.pid}/leave"))
    assert beside.wait(f"leave {ana.pid}", LOW_PRIORITY_PATIENCE)
    for who in (carla, olga):
        assert "8 open items would move" in words(office.get(who, f"/people/{ana.pid}/leave"))
    assert begun == [f"leave {ana.pid}"]


def test_one_that_breaks_off_is_a_page_that_says_so(
    office: Any, beside: Beside, carla: Person, crew: list[Person], words: Words
) -> None:
    ana = crew[0]
    with first_process_is_killed() as killed:
        office.get(carla, f"/people/{ana.pid}/leave")
        assert beside.wait(f"leave {ana.pid}", LOW_PRIORITY_PATIENCE)
    assert len(killed) == 1
    page = office.get(carla, f"/people/{ana.pid}/leave")
    assert page.status_code == 503
    assert "was not worked out" in words(page)
    assert "ended unexpectedly" in words(page)
    assert _again(page) is None
    assert "8 open items" in words(_ready(office, beside, carla, ana))  # who looks again has it made anew


def test_who_may_not_see_it_has_nothing_worked_out(
    office: Any, beside: Beside, carla: Person, crew: list[Person]
) -> None:
    ana, ben, _ = crew
    olga = office.hire("olga", "owner")
    assert office.get(ana, f"/people/{ben.pid}/leave").status_code == 404
    assert office.get(carla, f"/people/{olga.pid}/annul").status_code == 404
    assert office.get(carla, f"/people/{carla.pid}/leave").status_code == 404
    assert office.get(carla, "/people/nobody/leave").status_code == 404
    office.do(people.leave, ben, actor="cli")
    assert office.get(carla, f"/people/{ben.pid}/join").status_code == 404
    assert beside._jobs == {}


def test_names_on_a_waiting_page_are_escaped(
    office: Any, beside: Beside, carla: Person, crew: list[Person]
) -> None:
    def rename(_desk: Any, c: Any) -> None:
        p = tables().people
        c.execute(p.update().where(p.c.id == crew[0].id).values(name="<script>alert(1)</script>"))

    office.do(rename)
    page = office.get(carla, f"/people/{crew[0].pid}/leave")
    assert "&lt;script&gt;alert" in page.text
    assert "<script>alert" not in page.text


def test_a_small_project_has_its_preview_at_once(office: Any, carla: Person, crew: list[Person]) -> None:
    assert "8 open items" in office.get(carla, f"/people/{crew[0].pid}/leave").text
    assert "beside" not in office.studio.more


# -- deals -------------------------------------------------------------------------------------------------------


def _choices(*persons: Person, **more: str) -> dict[str, Any]:
    usual = {"policy": "everything", "stratum": ["type"], "per_item": "2", "person": [p.pid for p in persons]}
    return {**usual, **more}


def _preview(office: Any, beside: Beside, who: Person, form: dict[str, Any]) -> Any:
    page = office.get(who, "/deal", preview="1", **form)
    for _ in range(5):
        address = _again(page)
        if address is None:
            return page
        for name in list(beside._jobs):
            assert beside.wait(name, LOW_PRIORITY_PATIENCE)
        page = office.get(who, address)
    raise AssertionError("it is never ready")


@pytest.fixture
def three(office: Any) -> list[Person]:
    """Three people, and thirty items that wait for them."""
    office.sync(30)
    return [office.hire(handle) for handle in ("ana", "ben", "cyd")]


def test_a_large_deal_is_worked_out_beside_and_dealt_as_it_was_shown(
    office: Any, beside: Beside, carla: Person, three: list[Person], words: Words, hidden: Hidden,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    form = _choices(*three)
    first = office.get(carla, "/deal", preview="1", **form)
    assert WAITING in words(first)
    assert "Deal exactly this" not in words(first)
    for person in three:  # what was chosen is still chosen
        assert f'value="{person.pid}" checked' in first.text
    page = _preview(office, beside, carla, form)
    assert "Every pair gets 10. Every person gets 20." in words(page)
    assert "As of" in words(page)
    with monkeypatch.context() as patch:
        patch.setattr(deal_page, "SMALL", 1_000)
        at_once = office.get(carla, "/deal", preview="1", **form)
    assert hidden(at_once, "digest") == hidden(page, "digest")
    assert words(page).replace(re.search(r"As of [^,]*, \d\d:\d\d ", words(page)).group(), "") == words(
        at_once
    )  # type: ignore[union-attr]
    assert office.post(carla, "/deal", **form, digest=hidden(page, "digest")).status_code == 303
    assert len(office.rows("assignments")) == 60


def test_other_choices_are_another_preview(
    office: Any, beside: Beside, carla: Person, three: list[Person], words: Words, hidden: Hidden
) -> None:
    one = _preview(office, beside, carla, _choices(*three))
    page = office.get(carla, "/deal", preview="1", **_choices(*three, limit="10"))
    assert WAITING in words(page)
    other = _preview(office, beside, carla, _choices(*three, limit="10"))
    assert "20 more items wait for a later deal" in words(other)
    assert hidden(one, "digest") != hidden(other, "digest")


def test_a_deal_that_is_old_is_never_shown(
    office: Any, beside: Beside, carla: Person, three: list[Person], words: Words, hidden: Hidden
) -> None:
    form = _choices(*three)
    old = hidden(_preview(office, beside, carla, form), "digest")
    office.do(add_event, "judge.submitted", "x", three[0].pid)  # work does not change a deal
    assert hidden(office.get(carla, "/deal", preview="1", **form), "digest") == old
    office.sync(31)
    page = office.get(carla, "/deal", preview="1", **form)
    assert WAITING in words(page)
    assert old not in page.text
    late = office.post(carla, "/deal", **form, digest=old)
    assert late.status_code == 409
    assert "31 items, 2 people each" in words(late)  # at once: a form cannot be sent again by itself
    assert "31 items, 2 people each" in words(_preview(office, beside, carla, form))


def test_odd_choices_in_the_address_stay_one_header(
    office: Any, beside: Beside, carla: Person, three: list[Person]
) -> None:
    form = _choices(*three, note="€ä\r\nSet-Cookie: x=1")
    page = office.get(carla, "/deal", preview="1", **form)
    assert page.status_code == 200
    assert "set-cookie" not in page.headers
    assert "%E2%82%AC%C3%A4%0D%0ASet-Cookie" in (_again(page) or "")


def test_what_a_large_deal_refuses_is_told(
    office: Any, beside: Beside, carla: Person, three: list[Person], words: Words
) -> None:
    page = _preview(office, beside, carla, _choices(*three, capacity="3"))
    assert page.status_code == 422
    assert _again(page) is None
    assert 'class="errors"' in page.text
    page = _preview(office, beside, carla, _choices(three[0]))
    assert page.status_code == 422
    assert "Choose at least 2 people" in words(page)


def test_a_deal_that_breaks_off_is_told(
    office: Any, beside: Beside, carla: Person, three: list[Person], words: Words
) -> None:
    with first_process_is_killed() as killed:
        office.get(carla, "/deal", preview="1", **_choices(*three))
        page = _preview(office, beside, carla, _choices(*three))
    assert len(killed) == 1
    assert page.status_code == 503
    assert "ended unexpectedly" in words(page)


# -- the chain ---------------------------------------------------------------------------------------------------


def _checked(office: Any, beside: Beside, who: Person) -> Any:
    page = office.get(who, "/events/check")
    assert "Every event is being looked at now" in page.text
    assert beside.wait("chain", LOW_PRIORITY_PATIENCE)
    address = _again(page)
    assert address is not None
    return office.get(who, address)


def test_a_long_chain_is_checked_beside_and_said_to_hold_only_then(
    office: Any, beside: Beside, carla: Person, words: Words
) -> None:
    page = office.get(carla, "/events/check")
    assert "was not checked yet" in words(page)
    assert _again(page) == "/events"
    assert "Check it now" not in words(page)
    assert beside.wait("chain", LOW_PRIORITY_PATIENCE)
    total = len(office.rows("events"))
    done = office.get(carla, "/events")
    when = when_text(office.time)
    assert f"The chain of {total} events holds from the first to the last (checked {when})." in words(done)
    assert _again(done) is None
    assert "Check it now" in words(done)


def test_every_check_looks_at_every_event_again(
    office: Any, beside: Beside, carla: Person, words: Words
) -> None:
    assert "holds from the first to the last" in words(_checked(office, beside, carla))

    def tamper(_desk: Any, c: Any) -> None:
        e = tables().events
        c.execute(e.update().where(e.c.id == 2).values(actor="somebody else"))

    office.do(tamper)
    office.time += 3_600
    page = office.get(carla, "/events/check")
    assert "holds" in words(page)  # as of an hour ago, which it says
    assert beside.wait("chain", LOW_PRIORITY_PATIENCE)
    done = words(office.get(carla, "/events"))
    assert "The chain breaks at event 2" in done
    assert "holds" not in done


def test_the_time_of_a_check_is_that_of_its_beginning(
    office: Any, beside: Beside, carla: Person, words: Words
) -> None:
    office.get(carla, "/events/check")
    assert beside.wait("chain", LOW_PRIORITY_PATIENCE)
    when = when_text(office.time)
    office.time += 7_200
    assert when_text(office.time) != when
    assert f"(checked {when})" in words(office.get(carla, "/events"))


def test_filters_stay_while_the_chain_is_checked(office: Any, beside: Beside, carla: Person) -> None:
    office.do(add_event, "export", "x", carla.pid)
    office.get(carla, "/events/check")
    page = office.get(carla, "/events", kind="export", who=carla.pid)
    assert _again(page) == f"/events?kind=export&who={carla.pid}"
    assert beside.wait("chain", LOW_PRIORITY_PATIENCE)


def test_a_check_that_breaks_off_is_told(office: Any, beside: Beside, carla: Person, words: Words) -> None:
    with first_process_is_killed() as killed:
        office.get(carla, "/events/check")
        assert beside.wait("chain", LOW_PRIORITY_PATIENCE)
    assert len(killed) == 1
    page = office.get(carla, "/events")
    assert "The chain could not be checked" in words(page)
    assert 'class="banner bad"' in page.text
    assert "holds from the first to the last" in words(_checked(office, beside, carla))

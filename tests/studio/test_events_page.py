"""The log over HTTP: pages, filters, words, and the chain."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from proctor.studio.pages.events import words_of
from proctor.verify.desk import people
from proctor.verify.desk.events import Event, add_event, look_back
from proctor.verify.desk.records import Person
from proctor.verify.schema import tables


@pytest.fixture
def carla(office: Any) -> Person:
    found: Person = office.hire("carla", "coordinator")
    return found


def _numbers(page: Any) -> list[int]:
    return [int(n) for n in re.findall(r'<span class="hash">(\d+)</span>', page.text)]


def _next(page: Any) -> str | None:
    found = re.search(r'href="([^"]*)" rel="next"', page.text)
    return found.group(1).replace("&amp;", "&") if found else None


def _many(office: Any, count: int, kind: str = "judge.submitted") -> None:
    def job(desk: Any, c: Any) -> None:
        for n in range(count):
            add_event(desk, c, kind, f"a{n}", "x", item=f"i{n}")

    office.do(job)


def test_every_event_is_on_one_page(office: Any, carla: Person) -> None:
    _many(office, 230)
    office.client(carla)
    total = len(office.rows("events"))
    seen: list[int] = []
    address: str | None = "/events"
    while address is not None:
        page = office.get(carla, address)
        seen += _numbers(page)
        address = _next(page)
    assert seen == sorted(seen, reverse=True)
    assert sorted(seen) == list(range(1, total + 1))


def test_a_page_stays_the_same_while_events_arrive(office: Any, carla: Person) -> None:
    _many(office, 150)
    first = office.get(carla, "/events")
    address = _next(first)
    assert address is not None
    before = _numbers(office.get(carla, address))
    _many(office, 20)
    assert _numbers(office.get(carla, address)) == before


def test_filters_by_what_and_who(office: Any, carla: Person, words: Callable[[Any], str]) -> None:
    _many(office, 5)
    ana = office.hire("ana")
    office.post(carla, f"/people/{ana.pid}/role", role="adjudicator")
    page = office.get(carla, "/events", kind="people", who=carla.pid)
    assert "Carla gave a role: Ana (annotator → adjudicator)" in words(page)
    assert len(_numbers(page)) == 1
    assert "submitted an item" not in words(page)
    assert _numbers(office.get(carla, "/events", kind="nonsense")) == _numbers(office.get(carla, "/events"))
    assert "No event fits" in words(office.get(carla, "/events", who="nobody"))


def test_a_rare_event_is_found_window_by_window(office: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from proctor.verify.desk import events

    monkeypatch.setattr(events, "_WINDOW", 10)
    _many(office, 1, "export")
    _many(office, 35)
    found, before, pages = [], None, 0
    while True:
        some, before = office.desk.read(
            lambda c, b=before: look_back(c, before=b, begins=("export",), limit=100)
        )
        found += some
        pages += 1
        if before is None:
            break
    assert [e.kind for e in found] == ["export"]
    assert pages >= 4


def test_names_of_those_who_withdrew_are_gone(office: Any, carla: Person) -> None:
    ana = office.hire("ana")
    assert "Ana" in office.get(carla, "/events").text
    office.do(people.withdraw, ana, actor=carla.pid)
    assert "Ana" not in office.get(carla, "/events").text


def test_the_chain_is_checked_on_request(office: Any, carla: Person, words: Callable[[Any], str]) -> None:
    _many(office, 3)
    assert "was not checked yet" in words(office.get(carla, "/events"))
    assert "holds from the first to the last" in words(office.get(carla, "/events/check"))

    def tamper(_desk: Any, c: Any) -> None:
        e = tables().events
        c.execute(e.update().where(e.c.id == 2).values(actor="somebody else"))

    office.do(tamper)
    assert "The chain breaks at event 2" in words(office.get(carla, "/events/check"))
    assert "The chain breaks at event 2" in words(office.get(carla, "/events"))


def test_an_unknown_event_is_still_words() -> None:
    event = Event(1, 0.0, "x", "some-new.thing", "y", {})
    assert words_of(event, {}) == "some new thing"

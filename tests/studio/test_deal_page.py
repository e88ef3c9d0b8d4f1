"""Dealing over HTTP: the preview, exactly that deal, and what is refused."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest

from proctor.verify.desk import people
from proctor.verify.desk.records import Person


@pytest.fixture
def carla(office: Any) -> Person:
    found: Person = office.hire("carla", "coordinator")
    return found


def _form(*persons: Person, **more: Any) -> dict[str, Any]:
    usual = {"policy": "everything", "stratum": ["type"], "per_item": "2", "person": [p.pid for p in persons]}
    return {**usual, **more}


def _pairs(office: Any) -> Counter[tuple[int, ...]]:
    groups: dict[int, list[int]] = {}
    for row in office.rows("assignments", stage="judge", live=True):
        groups.setdefault(row.item_id, []).append(row.person_id)
    return Counter(tuple(sorted(group)) for group in groups.values())


def _look(office: Any, carla: Person, form: dict[str, Any]) -> Any:
    return office.get(carla, "/deal", preview="1", **form)


def test_five_hundred_items_and_five_people_give_fifty_a_pair(
    office: Any, carla: Person, words: Callable[[Any], str], hidden: Callable[[Any, str], str]
) -> None:
    office.sync(500, kinds=("next", "missing", "order"), recordings=20)
    crew = [office.hire(h) for h in ("ana", "ben", "cyd", "dev", "eva")]
    page = _look(office, carla, _form(*crew))
    assert page.status_code == 200
    assert "Every pair gets 50. Every person gets 200." in words(page)
    assert office.rows("assignments") == []
    done = office.post(carla, "/deal", **_form(*crew), digest=hidden(page, "digest"))
    assert done.headers["location"] == "/deal?said=dealt"
    pairs = _pairs(office)
    assert set(pairs) == set(combinations(sorted(p.id for p in crew), 2))
    assert set(pairs.values()) == {50}
    kinds = {row.id: row.stratum for row in office.rows("items")}
    inside: Counter[tuple[str, tuple[int, ...]]] = Counter()
    groups: dict[int, list[int]] = {}
    for row in office.rows("assignments"):
        groups.setdefault(row.item_id, []).append(row.person_id)
    for item, group in groups.items():
        inside[kinds[item], tuple(sorted(group))] += 1
    for kind in ("next", "missing", "order"):
        counts = [inside[kind, pair] for pair in pairs]
        assert max(counts) - min(counts) <= 1
    event = office.events("items.dealt")[0]
    assert event.actor == carla.pid
    assert '"items":500' in event.body
    assert "0 items wait" in words(office.get(carla, "/deal"))


def test_the_queue_of_a_recording_rises_in_time(
    office: Any, carla: Person, hidden: Callable[[Any, str], str]
) -> None:
    office.sync(40, recordings=4)
    crew = [office.hire(h) for h in ("ana", "ben", "cyd")]
    page = _look(office, carla, _form(*crew))
    office.post(carla, "/deal", **_form(*crew), digest=hidden(page, "digest"))
    ends = {row.id: (row.cluster, row.place) for row in office.rows("items")}
    for person in crew:
        mine = [ends[row.item_id] for row in office.open_work(person)]
        for recording in {r for r, _ in mine}:
            times = [end for r, end in mine if r == recording]
            assert times == sorted(times)


def test_the_same_choices_give_the_same_plan(
    office: Any, carla: Person, hidden: Callable[[Any, str], str]
) -> None:
    office.sync(30)
    crew = [office.hire(h) for h in ("ana", "ben", "cyd")]
    one, two = (_look(office, carla, _form(*order)) for order in (crew, crew[::-1]))
    assert hidden(one, "digest") == hidden(two, "digest")
    other = _look(office, carla, _form(*crew, limit="10"))
    assert hidden(other, "digest") != hidden(one, "digest")


def test_another_plan_than_the_one_shown_is_not_dealt(
    office: Any, carla: Person, words: Callable[[Any], str], hidden: Callable[[Any, str], str]
) -> None:
    office.sync(30)
    crew = [office.hire(h) for h in ("ana", "ben", "cyd")]
    page = _look(office, carla, _form(*crew))
    office.sync(31)
    late = office.post(carla, "/deal", **_form(*crew), digest=hidden(page, "digest"))
    assert late.status_code == 409
    assert "31 items, 2 people each" in words(late)
    assert office.rows("assignments") == []
    again = office.post(carla, "/deal", **_form(*crew), digest=hidden(late, "digest"))
    assert again.status_code == 303
    assert len(office.rows("assignments")) == 62


def test_twice_pressed_deals_once(office: Any, carla: Person, hidden: Callable[[Any, str], str]) -> None:
    office.sync(10)
    crew = [office.hire(h) for h in ("ana", "ben")]
    digest = hidden(_look(office, carla, _form(*crew)), "digest")
    assert office.post(carla, "/deal", **_form(*crew), digest=digest).status_code == 303
    assert office.post(carla, "/deal", **_form(*crew), digest=digest).status_code == 409
    assert len(office.rows("assignments")) == 20


def test_machines_keep_what_they_settle_and_numbers_say_why(
    office: Any, carla: Person, words: Callable[[Any], str], hidden: Callable[[Any, str], str]
) -> None:
    office.sync(10)
    for n in range(6):
        office.oracle(f"c{n:03}", "+ +-")
    office.oracle("c006", "+ +?")
    crew = [office.hire(h) for h in ("ana", "ben")]
    page = _look(office, carla, _form(*crew, policy="doubted"))
    said = words(page)
    assert "6 to machines" in said
    assert "1 to people: machines doubt" in said
    assert "3 to people: no machine judged them" in said
    every = _look(office, carla, _form(*crew, policy="audit", audit_share="100"))
    assert "6 to people: the blind share" in words(every)
    form = _form(*crew, policy="doubted")
    office.post(carla, "/deal", **form, digest=hidden(page, "digest"))
    assert Counter(row.state for row in office.rows("items")) == {"machine": 6, "judging": 4}


def test_limits_and_barred_recordings_hold(
    office: Any, carla: Person, words: Callable[[Any], str], hidden: Callable[[Any, str], str]
) -> None:
    office.sync(30, recordings=3)
    ana, ben, cyd = crew = [office.hire(h) for h in ("ana", "ben", "cyd")]
    form = _form(*crew, barred="ana: r0", most="ben: 15")
    page = _look(office, carla, form)
    assert "Your limits are kept" in words(page)
    assert office.post(carla, "/deal", **form, digest=hidden(page, "digest")).status_code == 303
    recording = {row.id: row.cluster for row in office.rows("items")}
    assert not any(recording[row.item_id] == "r0" for row in office.open_work(ana))
    assert len(office.open_work(ben)) <= 15
    leaving = office.get(carla, f"/people/{cyd.pid}/leave")  # and they hold when somebody goes
    digest = hidden(leaving, "digest")
    assert "Nobody can take" in words(leaving)
    assert office.post(carla, f"/people/{cyd.pid}/leave", digest=digest).status_code == 303
    assert not any(recording[row.item_id] == "r0" for row in office.open_work(ana))
    assert len(office.open_work(ben)) <= 15


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"policy": "nonsense"}, "Choose what reaches people."),
        ({"per_item": "3"}, "Choose at least 3 people"),
        ({"per_item": "x"}, "a number from 1 to 9"),
        ({"audit_share": "nan"}, "a number from 0 to 100"),
        ({"barred": "zoe: r0"}, "does not begin with a sign-in name"),
        ({"barred": "ana: elsewhere"}, "There is no item of a recording 'elsewhere'."),
        ({"barred": "ana: r0\nben: r0"}, ""),
        ({"most": "ana: many"}, "is not a number of items"),
        ({"most": "ana: 1\nben: 1"}, ""),
        ({"person": ["nobody", "else"]}, "not in the project any more"),
    ],
)
def test_what_cannot_be_is_refused_in_words(
    office: Any, carla: Person, words: Callable[[Any], str], more: dict[str, Any], message: str
) -> None:
    office.sync(10)
    crew = [office.hire(h) for h in ("ana", "ben")]
    for answer in (
        _look(office, carla, _form(*crew, **more)),
        office.post(carla, "/deal", **_form(*crew, **more), digest="x"),
    ):
        assert answer.status_code == 422
        assert message in words(answer)
        assert 'role="alert"' in answer.text
    assert office.rows("assignments") == []


def test_who_left_is_not_dealt_to(office: Any, carla: Person, hidden: Callable[[Any, str], str]) -> None:
    office.sync(10)
    _ana, ben = crew = [office.hire(h) for h in ("ana", "ben")]
    page = _look(office, carla, _form(*crew))
    office.do(people.leave, ben, actor="cli")
    assert office.post(carla, "/deal", **_form(*crew), digest=hidden(page, "digest")).status_code == 422
    assert office.rows("assignments") == []


def test_the_form_of_the_preview_deals_what_it_showed(office: Any, carla: Person) -> None:
    """The hidden fields of the page itself, as a browser sends them."""
    office.sync(12)
    crew = [office.hire(h) for h in ("ana", "ben", "cyd")]
    page = _look(office, carla, _form(*crew, barred="ana: r0", limit="9", capacity="8"))
    form = page.text[page.text.index('<form method="post" action="/deal">') :].partition("</form>")[0]
    fields: dict[str, list[str]] = {}
    for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', form):
        fields.setdefault(name, []).append(value)
    assert office.post(carla, "/deal", **fields).status_code == 303
    assert len(office.rows("assignments")) == 18


def test_nothing_to_deal_is_said(office: Any, carla: Person, words: Callable[[Any], str]) -> None:
    crew = [office.hire(h) for h in ("ana", "ben")]
    assert "No item would go to people." in words(_look(office, carla, _form(*crew)))


def test_a_long_form_previews_by_post(office: Any, carla: Person, words: Callable[[Any], str]) -> None:
    office.sync(6)
    crew = [office.hire(h) for h in ("ana", "ben")]
    page = office.post(carla, "/deal", preview="1", **_form(*crew))
    assert page.status_code == 200
    assert "6 items, 2 people each" in words(page)
    assert office.rows("assignments") == []

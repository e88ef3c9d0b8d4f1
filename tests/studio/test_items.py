"""Items for coordinators over HTTP: lists by pages, disagreements by pair, and everything of one item."""

from __future__ import annotations

import re
from typing import Any

import pytest

from proctor.studio.pages import items as pages
from proctor.verify.desk import browse, flow, roster, work
from proctor.verify.desk.browse import Narrow
from proctor.verify.desk.records import Person
from proctor.verify.policy import POLICIES


def deal(office: Any, *annotators: Person) -> None:
    def job(c: Any) -> None:
        plan = roster.plan_deal(office.desk, c, annotators, POLICIES[0])
        roster.apply_deal(office.desk, c, plan, actor="cli")

    office.desk.write(job).result(60)


def pid_of(office: Any, person: Person, name: str, stage: str = "judge") -> str:
    item = office.item(name)
    rows = office.rows("assignments", person_id=person.id, item_id=item.id, stage=stage, live=True)
    return str(rows[0].pid)


def next_case(office: Any, person: Person) -> str:
    protocol = office.desk.read(pages.documents.protocol)
    found = office.do(flow.next_work, person, protocol, "adjudicate")
    assert found is not None
    return str(found)


@pytest.fixture
def cast(office: Any) -> dict[str, Person]:
    """Six items: c000 same, c001 answers differ, c002 the question differs, c003 rejected, the others open."""
    found = {name: office.hire(name) for name in ("ana", "ben")}
    found["carla"] = office.hire("carla", "coordinator")
    found["edda"] = office.hire("edda", "adjudicator")
    office.protocol(repeat_share=0.0)
    office.sync(6)
    office.oracle("c001", "+ ?-")
    deal(office, found["ana"], found["ben"])
    for name, first, second in (
        ("c000", "+ ++", "+ ++"),
        ("c001", "+ ++", "+ +-"),
        ("c002", "+ ++", "-"),
        ("c003", "-", "-"),
    ):
        office.submit(pid_of(office, found["ana"], name), found["ana"], first)
        office.submit(pid_of(office, found["ben"], name), found["ben"], second)
    return found


def listed(page: Any) -> list[int]:
    return [int(n) for n in re.findall(r"What about number (\d+)\?</a>", page.text)]


# -- lists -----------------------------------------------------------------------------------------------------


def test_items_can_be_narrowed(office: Any, words: Any, cast: Any) -> None:
    def get(**query: Any) -> list[int]:
        return listed(office.get(cast["carla"], "/items", **query))

    assert get() == [0, 1, 2, 3, 4, 5]
    assert get(state="case") == [1, 2]
    assert get(state="judging") == [4, 5]
    assert get(type="next") == [0, 2, 4]
    assert get(type="next", state="case") == [2]
    assert get(state="nonsense") == [0, 1, 2, 3, 4, 5]
    text = words(office.get(cast["carla"], "/items", state="case"))
    assert "Ana, Ben" in text
    assert "On 1 of 2 answers" in text
    assert "On the question: Ana Yes, Ben No" in text
    assert "2 fit" in text


def test_search_finds_words_and_names(office: Any, cast: Any) -> None:
    def find(text: str, **query: Any) -> list[int]:
        return listed(office.get(cast["carla"], "/items", q=text, **query))

    assert find("NUMBER 3") == [3]
    assert find("pour 4") == [4]
    assert find("stir") == [0, 1, 2, 3, 4, 5]
    assert find("stir", state="case") == [1, 2]
    assert find("question") == []  # a word of the record, not of the texts
    assert find("c002") == [2]
    assert find(pid_of(office, cast["ana"], "c005")) == [5]
    assert find(f"http://127.0.0.1/items/{office.item('c001').pid}") == [1]
    assert find('%"_') == []


def test_disagreements_by_kind_type_state_and_pair(office: Any, cast: Any) -> None:
    def get(**query: Any) -> list[int]:
        return listed(office.get(cast["carla"], "/disagreements", **query))

    both = f"{cast['ana'].pid}~{cast['ben'].pid}"
    assert get() == [1, 2]
    assert get(kind="question") == [2]
    assert get(kind="answers") == [1]
    assert get(type="missing") == [1]
    assert get(state="settled") == []
    assert get(state="case", kind="question") == [2]
    assert get(pair=both) == [1, 2]
    assert get(pair=both, state="case", kind="answers", type="missing") == [1]
    assert get(pair=f"{cast['ana'].pid}~{cast['edda'].pid}") == []
    assert get(pair="~") == [1, 2]


@pytest.mark.parametrize("query", ["", "state=undealt", "type=missing", "q=number"])
def test_pages_go_there_and_back(
    office: Any, words: Any, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "_LINES", 4)
    monkeypatch.setattr(browse, "WINDOW", 7)
    carla = office.hire("carla", "coordinator")
    office.sync(22)
    path, seen, first = f"/items?{query}", [], 1
    while path:
        page = office.get(carla, path)
        found = listed(page)
        if found:
            assert f"{first}–{first + len(found) - 1} of" in words(page)
        seen += found
        first += len(found)
        link = re.search(r'href="([^"]*)" rel="next"|<a href="([^"]*)">Look further', page.text)
        before = path
        path = (link[1] or link[2]).replace("&amp;", "&") if link else ""
        assert path != before
    assert seen == (list(range(1, 22, 2)) if query == "type=missing" else list(range(22)))
    if query.startswith("q"):
        return
    back = re.search(r'href="([^"]*)" rel="prev"', page.text)
    assert back is not None
    earlier = listed(office.get(carla, back[1].replace("&amp;", "&")))
    assert earlier == seen[-len(found) - 4 : -len(found)]


def test_lists_equal_a_plain_filter(office: Any, cast: Any) -> None:
    rows = office.rows("items")
    for state in ("", "case", "judging", "settled"):
        for kind in ("", "next", "missing"):
            for differ in ("", "any", "question", "answers"):
                narrow = Narrow(state, kind, differ)
                kinds = {"any": ("question", "answers"), "question": ("question",), "answers": ("answers",)}
                expected = [
                    r.id
                    for r in rows
                    if state in ("", r.state)
                    and kind in ("", r.stratum)
                    and (not differ or r.agreement in kinds[differ])
                ]

                def look(c: Any, narrow: Narrow = narrow) -> Any:
                    strata = ["missing", "next"]
                    found = [one.id for one in browse.page_items(c, narrow, strata)]
                    back = [one.id for one in browse.page_items(c, narrow, strata, before=10**6, limit=2)]
                    return found, back, browse.count_items_up_to(c, narrow, strata)

                assert office.desk.read(look) == (expected, expected[-2:], len(expected))


# -- one item --------------------------------------------------------------------------------------------------


def test_an_item_shows_both_readings_with_names_and_machines(office: Any, words: Any, cast: Any) -> None:
    page = office.get(cast["carla"], f"/items/{office.item('c001').pid}")
    text = words(page)
    assert page.status_code == 200
    for said in ("Ana", "Ben", "oracle", "because ?", "because -", "Waiting for an adjudicator", "Stir 1."):
        assert said in text
    assert re.search(r"question Yes, 1 Yes, 2 No 0\.0 min \S+ counts", text)
    assert "submitted an item" in text


def test_case_decision_and_older_revisions_are_there(office: Any, words: Any, cast: Any) -> None:
    ana, edda = cast["ana"], cast["edda"]
    again = pid_of(office, ana, "c000")
    office.submit(again, ana, "+ +-", rev=1)
    office.submit(again, ana, "+ ++", rev=2)
    text = words(office.get(cast["carla"], f"/items/{office.item('c000').pid}"))
    assert "revision 3" in text
    assert text.count("replaced") == 2
    for _ in range(2):
        pid = next_case(office, edda)
        found = office.desk.read(lambda c, pid=pid: work.load_work(office.desk, c, pid, edda))
        judged = ("+" if found.cards.question_open else "?") + " " + "-" * len(found.cards.texts)
        office.submit(pid, edda, judged)
    text = words(office.get(cast["carla"], f"/items/{office.item('c001').pid}"))
    assert "Edda adjudicator" in text
    assert "decided a case" in text


def test_void_judgements_stay_visible(office: Any, words: Any, cast: Any) -> None:
    ben = cast["ben"]
    pid = pid_of(office, ben, "c000")
    protocol = office.desk.read(pages.documents.protocol)
    office.do(work.undo, pid, ben, rev=1, protocol=protocol)
    text = words(office.get(cast["carla"], f"/items/{office.item('c000').pid}"))
    assert "void: taken back" in text
    assert "person, annulled" in text


def test_a_returned_item_is_given_out_again(office: Any, words: Any, cast: Any) -> None:
    pid = pid_of(office, cast["ana"], "c004")
    office.do(work.cant_judge, pid, cast["ana"], reason="other", note="<i>black</i>")
    address = f"/items/{office.item('c004').pid}"
    page = office.get(cast["carla"], address)
    assert "Something else: <i>black</i>" in words(page)
    assert "<i>black" not in page.text
    assert office.post(cast["carla"], f"{address}/return").headers["location"] == f"{address}?said=given-out"
    assert office.item("c004").state == "judging"
    assert office.events("item.given-out-again")[0].subject == office.item("c004").pid
    assert office.post(cast["carla"], f"{address}/return").status_code == 409


def test_a_case_is_released(office: Any, words: Any, cast: Any) -> None:
    first = next_case(office, cast["edda"])
    item = office.rows("items", id=office.rows("assignments", pid=first)[0].item_id)[0]
    address = f"/items/{item.pid}"
    assert "Edda has its case open." in words(office.get(cast["carla"], address))
    assert office.post(cast["carla"], f"{address}/release").status_code == 303
    assert office.get(cast["edda"], f"/w/{first}").status_code == 404
    assert office.rows("assignments", pid=first)[0].state == "moved"
    assert office.post(cast["carla"], f"{address}/release").status_code == 409
    assert "released a case" in words(office.get(cast["carla"], address))


@pytest.mark.parametrize(("decision", "state"), [("adjudicate", "case"), ("again", "judging")])
def test_a_disputed_item_is_resolved(office: Any, words: Any, cast: Any, decision: str, state: str) -> None:
    pid = next_case(office, cast["edda"])
    item = office.rows("items", id=office.rows("assignments", pid=pid)[0].item_id)[0]
    office.do(work.cant_judge, pid, cast["edda"], reason="other", note="both are right")
    address = f"/items/{item.pid}"
    text = words(office.get(cast["carla"], address))
    assert "both are right" in text
    assert "Ask an adjudicator again" in text
    assert office.post(cast["carla"], f"{address}/resolve", decision="maybe").status_code == 422
    assert office.rows("items", id=item.id)[0].state == "held"
    assert office.post(cast["carla"], f"{address}/resolve", decision=decision, note="x").status_code == 303
    assert office.rows("items", id=item.id)[0].state == state
    assert office.post(cast["carla"], f"{address}/resolve", decision=decision).status_code == 409


def test_nobody_is_asked_again_in_a_closed_stage(office: Any, cast: Any) -> None:
    pid = next_case(office, cast["edda"])
    item = office.rows("items", id=office.rows("assignments", pid=pid)[0].item_id)[0]
    office.do(work.cant_judge, pid, cast["edda"], reason="other", note="both are right")
    office.protocol(frozen_stages=("judge",))
    assert office.post(cast["carla"], f"/items/{item.pid}/resolve", decision="again").status_code == 409
    assert office.rows("items", id=item.id)[0].state == "held"


def test_without_a_recording_there_is_no_clip(office: Any, cast: Any) -> None:
    address = f"/items/{office.item('c000').pid}"
    for name in ("clip.mp4", "poster.jpg"):
        assert office.get(cast["carla"], f"{address}/{name}").status_code == 404
    assert "<video" not in office.get(cast["carla"], address).text


def test_all_of_it_is_for_coordinators_and_looking_changes_nothing(office: Any, cast: Any) -> None:
    item = office.item("c001").pid
    looks = [
        "/items",
        "/disagreements",
        f"/items/{item}",
        f"/items/{item}/clip.mp4",
        f"/items/{item}/poster.jpg",
    ]
    before = [office.rows(name) for name in ("items", "assignments", "events", "cases")]
    for path in looks:
        for who in ("ana", "edda"):
            assert office.get(cast[who], path).status_code == 404
        office.get(cast["carla"], path)
    for action in ("return", "release", "resolve"):
        assert office.post(cast["edda"], f"/items/{item}/{action}", decision="again").status_code == 404
    assert [office.rows(name) for name in ("items", "assignments", "events", "cases")] == before
    assert office.get(cast["carla"], "/items/nonsense").status_code == 404

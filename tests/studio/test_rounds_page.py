"""How people come to a round and leave it, without JavaScript; and the coordinator's pages."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from starlette.testclient import TestClient

from proctor.exam.question import Open, Question
from proctor.records import canonical_json
from proctor.studio.pages.rounds import tasks_waiting
from proctor.verify.desk import rounds
from proctor.verify.rounds.form import Field
from proctor.verify.rounds.mark import MarkOptions, MarkTask
from proctor.verify.rounds.records import QuizItem, RoundSettings, Task

PLATFORM = {"PROLIFIC_PID": "5f3a", "STUDY_ID": "s1", "SESSION_ID": "x1"}
BAD = '<script>alert(1)</script>"><img src=x onerror=alert(1)>'


def a_task(name: str, **more: Any) -> Task:
    question = Question(id=name, kind="moment", text=f"What now, {name}? {BAD}", cluster="r", form=Open())
    body = MarkTask(question=question, golds=("Stir.",), answer="Stir it.")
    return Task(name=name, body=msgspec.Raw(canonical_json(body)), **more)


@pytest.fixture
def begin(office: Any) -> Any:
    def make(name: str = "marks", count: int = 2, **settings: Any) -> Any:
        return office.do(
            rounds.add_round, name=name, kind="mark", tasks=[a_task(f"q{n}") for n in range(count)],
            settings=RoundSettings(**settings), options=MarkOptions(), actor="x",
        )  # fmt: skip

    return make


@pytest.fixture
def browser(office: Any) -> Any:
    with TestClient(office.app, base_url=office.origin, follow_redirects=False) as client:
        client.headers.update(
            {"Accept": "text/html", "Sec-Fetch-Site": "same-origin", "Origin": office.origin}
        )
        yield client


def fill(client: Any, address: str, mark: str = "2") -> Any:
    page = client.get(address).text
    key, rev = (
        re.search(r'name="key" value="([^"]+)"', page)[1],
        re.search(r'name="rev" value="(\d+)"', page)[1],
    )  # type: ignore[index]
    return client.post(f"{address}/submit", data={"field-mark": mark, "key": key, "rev": rev})


def test_somebody_from_a_platform_does_a_batch(office: Any, begin: Any, browser: Any) -> None:
    quiz = (
        QuizItem(
            field=Field(name="blind", label="Do you know who wrote it?"), right="no", why="Nobody is told."
        ),
    )
    redirect = "https://platform.example/done?cc={code}"
    round_ = begin(
        workers=True, wanted=1, batches=1, consent="You may **stop**.", quiz=quiz, redirect=redirect
    )
    here = f"/r/{round_.pid}"
    asked = browser.get(here, params=PLATFORM)
    assert "<strong>stop</strong>" in asked.text
    assert browser.post(f"{here}/join", data=PLATFORM).status_code == 422
    assert office.rows("platform_ids") == []
    joined = browser.post(f"{here}/join", data={**PLATFORM, "consent": "yes"})
    assert (joined.status_code, joined.headers["location"]) == (303, here)
    assert browser.get("/").headers["location"] == "/r"
    assert browser.get("/dashboard").status_code == 404
    assert "Do you know who wrote it?" in browser.get(here).text
    wrong = browser.post(f"{here}/start", data={"field-blind": "yes"})
    assert wrong.status_code == 422
    assert "Nobody is told." in wrong.text
    assert office.rows("batches") == []
    first = browser.post(f"{here}/start", data={"field-blind": "no"}).headers["location"]
    # B4: the same person in a second tab or session goes on with the same batch.
    with TestClient(office.app, base_url=office.origin, follow_redirects=False) as second:
        second.headers.update(browser.headers)
        second.post(f"{here}/join", data={**PLATFORM, "SESSION_ID": "x2", "consent": "yes"})
        assert second.post(f"{here}/start", data={}).headers["location"] == first
    assert "<script>alert" not in browser.get(first).text
    following = fill(browser, first).headers["location"]
    assert following.startswith("/w/")
    assert following != first
    missing = fill(browser, following, mark="9")
    assert missing.status_code == 422
    assert "Choose one" in missing.text
    assert fill(browser, following).headers["location"] == here
    done = browser.get(here).text
    code = re.search(r'id="completion-code"[^>]*>([^<]+)<', done)[1]  # type: ignore[index]
    assert f"https://platform.example/done?cc={code}" in done
    assert browser.get(here).text.count(code) == done.count(code)  # B6
    assert len(office.rows("batches")) == 1
    # One batch each: another is not given.
    assert browser.post(f"{here}/start", data={}).headers["location"].startswith(here)
    assert len(office.rows("batches")) == 1


def test_who_may_not_join(office: Any, begin: Any, browser: Any) -> None:
    closed_to_them = begin("accounts")
    assert browser.get(f"/r/{closed_to_them.pid}", params=PLATFORM).headers["location"].startswith("/signin")
    assert (
        browser.post(f"/r/{closed_to_them.pid}/join", data={**PLATFORM, "consent": "yes"}).status_code == 404
    )
    round_ = begin("open", workers=True)
    for bad in ({"PROLIFIC_PID": "x" * 201}, {"PROLIFIC_PID": "a\x00b"}, {}):
        data = {**bad, "consent": "yes"}
        assert browser.post(f"/r/{round_.pid}/join", data=data).status_code == 404
    assert browser.get("/r/nothing").status_code == 404
    ana = office.hire("ana")
    assert (
        office.post(ana, f"/r/{round_.pid}/start").status_code == 404
    )  # people with accounts have their own rounds
    assert f"/r/{closed_to_them.pid}" in office.get(ana, "/").text


def test_somebody_with_an_account_stops_and_keeps_what_they_did(office: Any, begin: Any) -> None:
    round_, ana, ben = begin(count=3, wanted=1), office.hire("ana"), office.hire("ben")
    here = f"/r/{round_.pid}"
    first = office.post(ana, f"{here}/start").headers["location"]
    fill(office.client(ana), first)
    assert office.get(ben, first).status_code == 404
    empty = office.post(ben, f"{here}/start").headers["location"]
    assert "nothing left for you" in office.get(ben, empty).text
    assert office.post(ana, f"{here}/stop").headers["location"] == f"{here}?said=stopped"
    assert "1 answers so far are kept" in office.get(ana, here).text
    assert office.post(ben, f"{here}/start").headers["location"].startswith("/w/")


def test_the_coordinator_watches_closes_and_gives_out_again(office: Any, begin: Any) -> None:
    round_, cora, ana = begin(), office.hire("cora", "coordinator"), office.hire("ana")
    assert "marks" in office.get(cora, "/rounds").text
    first = office.post(ana, f"/r/{round_.pid}/start").headers["location"]
    office.post(ana, f"{first}/cant", reason="other", note=BAD)
    page = office.get(cora, f"/rounds/{round_.pid}").text
    assert "<script>alert" not in page
    assert "Give it out again" in page
    task = re.search(r'name="task" value="([^"]+)"', page)[1]  # type: ignore[index]
    assert office.post(cora, f"/rounds/{round_.pid}", action="again", task=task).status_code == 303
    assert office.post(cora, f"/rounds/{round_.pid}", action="again", task="other").status_code == 404
    assert office.post(cora, f"/rounds/{round_.pid}", action="burn").status_code == 422
    office.post(cora, f"/rounds/{round_.pid}", action="closed")
    second = office.post(ana, f"/r/{round_.pid}/start").headers["location"]
    refused = fill(office.client(ana), second)
    assert refused.status_code == 409
    assert "closed" in refused.text
    assert office.get(ana, f"/rounds/{round_.pid}").status_code == 404


def test_the_list_of_projects_counts_the_tasks_that_somebody_can_do_now(office: Any, begin: Any) -> None:
    ana, wil = office.hire("ana"), office.hire("wil", "worker")

    def waiting(person: Any) -> int:
        return int(office.desk.read(lambda c: tasks_waiting(office.desk, c, person)))

    assert waiting(ana) == 0
    whole, begun = begin("whole", 3), begin("begun", 5, batch=2)
    begin("platform", workers=True)
    assert (waiting(ana), waiting(wil)) == (3 + 2, 0)
    batch = office.do(rounds.open_batch, begun, ana)
    fill(office.client(ana), f"/w/{office.desk.read(lambda c: rounds.count_batch(c, batch)).following}")
    assert waiting(ana) == 3 + 1
    office.do(rounds.set_state, begun, "closed", actor="x")
    assert waiting(ana) == 3
    begin("once", batches=1)
    office.do(rounds.open_batch, whole, ana)
    assert waiting(ana) == 3 + 2
    once = office.desk.read(lambda c: rounds.round_named(c, "once"))
    batch = office.do(rounds.open_batch, once, ana)
    office.do(rounds.stop_batch, batch, ana)
    assert waiting(ana) == 3 + 2  # what was stopped is not counted as taken

"""The dashboard over HTTP: its numbers are those of the pure functions, its counts those of the rows."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.patience import PATIENCE

from proctor.said import Said
from proctor.studio.pages import dashboard
from proctor.verify.agreement import agreement_report
from proctor.verify.desk import roster
from proctor.verify.desk.desk import Desk
from proctor.verify.desk.records import Person
from proctor.verify.desk.snapshot import Snapshots
from proctor.verify.policy import POLICIES, Policy, compare_policies, median_minutes
from proctor.verify.store import latest_verdicts


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page waits for its numbers for as long as a slow machine takes."""
    monkeypatch.setattr(dashboard, "_WAIT_SECONDS", PATIENCE)


def deal(office: Any, *annotators: Person, policy: Policy = POLICIES[0]) -> None:
    def job(c: Any) -> None:
        plan = roster.plan_deal(office.desk, c, annotators, policy)
        roster.apply_deal(office.desk, c, plan, actor="cli")

    office.desk.write(job).result(60)


@pytest.fixture
def judged(office: Any) -> dict[str, Person]:
    """Twelve items, three annotators, ten judged twice; a coordinator."""
    found = {name: office.hire(name) for name in ("ana", "ben", "chloe")}
    found["carla"] = office.hire("carla", "coordinator")
    office.sync(12)
    for n in range(12):
        office.oracle(f"c{n:03}", "+ ++" if n % 2 else "+ +-")
    deal(office, *(found[n] for n in ("ana", "ben", "chloe")))
    for k, name in enumerate(("ana", "ben", "chloe")):
        for n, row in enumerate(office.open_work(found[name])[:7]):
            office.submit(row.pid, found[name], ("+ ++", "+ +-", "-")[(n * (k + 1)) % 3])
    return found


def test_numbers_on_the_page_are_those_of_the_pure_functions(office: Any, words: Any, judged: Any) -> None:
    page = office.get(judged["carla"], "/dashboard")
    assert page.status_code == 200
    candidates = list(office.pairs)
    verdicts = office.desk.read(latest_verdicts)
    report = agreement_report(candidates, verdicts)
    text = words(page)
    assert f"{report.population}." in text
    assert "dealt items are finished" in text
    assert f"Two readers agree on {report.questions.overall.raw.value:.0%} of".replace("%", " %") in text
    for a in (report.questions.overall, report.answers.overall):
        assert f"{a.raw.value:.2f}".removeprefix("0") in text
        assert f"[{a.raw.low:.2f}, {a.raw.high:.2f}]".replace("0.", ".") in text
    overall = dashboard._agreement("Question", report.questions.overall)
    assert (overall.alpha, overall.alpha_low, overall.yes) == (
        report.questions.overall.alpha.value,
        report.questions.overall.alpha.low,
        report.questions.overall.prevalence.value,
    )
    for line in report.questions.pairs:
        assert f'href="/disagreements?pair={line.a}~{line.b}"'.replace("~", "%7E") in page.text or (
            f'href="/disagreements?pair={line.a}~{line.b}"' in page.text
        )
        names = {judged[n].pid: judged[n].name for n in ("ana", "ben", "chloe")}
        assert names[line.a] in text
    for machine in report.machines:
        assert f"{machine.name} task graph, question" in text
    assert "next step" in text
    assert "missing step" in text


def test_it_begins_with_how_far_it_is_and_what_to_do_next(office: Any, judged: Any) -> None:
    page = office.get(judged["carla"], "/dashboard")
    before, _, after = page.text.partition('<section class="panel"')
    assert "dealt items are finished" in before
    (first,) = re.findall(
        r'<a class="button primary big" href="([^"]+)">.*?>(\d+) items? waits? for an', before
    )
    assert first == ("/items?state=case", str(len(office.rows("items", state="case"))))
    shown, _, folded = after.partition(
        "too few to compare"
    )  # no type has ten pairs: none stands among the first rows
    for kind in ("next step", "missing step"):
        assert kind not in shown
        assert kind in folded


def test_policies_are_those_of_the_pure_function(office: Any, words: Any, judged: Any) -> None:
    text = words(office.get(judged["carla"], "/dashboard"))
    candidates = list(office.pairs)
    minutes = median_minutes([row.active_ms for row in office.rows("assignments", state="submitted")], [])
    compared = compare_policies(candidates, office.desk.read(latest_verdicts), minutes)
    assert compared.items > 0
    assert compared.population in text
    for outcome in compared.outcomes:
        rate = outcome.changed
        if outcome.policy.name != "everything":
            assert f"{rate.errors} of {rate.n} {rate.rate:.1%}".replace("%", " %") in text
            assert dashboard._rate(outcome.machine.items).replace(" · ", " ") in text
    assert "The published protocol: people judge every item." in text
    assert "Everything in force" in text


def test_progress_is_counted_from_the_rows(office: Any, words: Any, judged: Any) -> None:
    text = words(office.get(judged["carla"], "/dashboard"))
    submitted = len(office.rows("assignments", stage="judge", state="submitted"))
    waiting = len(office.rows("assignments", stage="judge", state="open"))
    assert f"{submitted} submitted {waiting} open" in text
    for state, words_of_it in (
        ("settled", "accepted"),
        ("rejected", "rejected"),
        ("case", "with an adjudicator"),
    ):
        assert f"{len(office.rows('items', state=state))} {words_of_it}" in text
    cases = len(office.rows("items", state="case"))
    assert cases
    assert f"To adjudicate {cases}" in text
    assert "Held" not in text.replace("held or returned", "")


def test_new_verdicts_are_seen_at_the_next_view(office: Any, words: Any, judged: Any) -> None:
    before = words(office.get(judged["carla"], "/dashboard"))
    n = len(office.rows("items", agreement="")) - 0
    assert n
    for name in ("ana", "ben", "chloe"):
        for row in office.open_work(judged[name]):
            office.submit(row.pid, judged[name])
    after = words(office.get(judged["carla"], "/dashboard"))
    assert "12 double-judged items, accepted or not." in after
    assert "12 double-judged items" not in before


def test_a_large_project_shows_what_there_is_and_that_more_is_coming(
    office: Any, words: Any, judged: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Snapshots(office.desk, small=2)
    office.studio.more["snapshots"] = kept
    monkeypatch.setattr(Snapshots, "_apart", Snapshots._here)
    first = office.get(judged["carla"], "/dashboard")
    assert "No numbers yet." in words(first)
    assert "being computed" in words(first)
    assert first.headers["refresh"] == "2; url=/dashboard"
    assert kept.wait(60)
    page = office.get(judged["carla"], "/dashboard")
    assert "refresh" not in page.headers
    second = words(page)
    assert "As of 1" in second
    assert "being computed" not in second
    row = office.open_work(judged["ana"])[0]
    office.submit(row.pid, judged["ana"])
    assert "More has been said since." in words(office.get(judged["carla"], "/dashboard"))
    assert office.post(judged["carla"], "/dashboard/recompute").headers["location"] == "/dashboard"
    assert kept.wait(60)
    assert "More has been said" not in words(office.get(judged["carla"], "/dashboard"))


def test_what_went_wrong_is_said(
    office: Any, words: Any, judged: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Snapshots) -> Any:
        raise RuntimeError("<b>no memory</b>")

    monkeypatch.setattr(Snapshots, "_here", broken)
    page = office.get(judged["carla"], "/dashboard")
    assert page.status_code == 200
    assert "The numbers could not be computed. RuntimeError: <b>no memory</b>" in words(page)
    assert "<b>no memory" not in page.text


def test_an_empty_project_has_a_dashboard(office: Any, words: Any) -> None:
    carla = office.hire("carla", "coordinator")
    text = words(office.get(carla, "/dashboard"))
    assert "No item has been judged twice yet." in text
    assert "Nothing has been judged twice yet." in text


def test_looking_changes_nothing(office: Any, judged: Any) -> None:
    office.get(judged["carla"], "/dashboard")
    tables = ("meta", "items", "events", "assignments", "verdicts")
    before = [office.rows(name) for name in tables]
    office.get(judged["carla"], "/dashboard")
    assert [office.rows(name) for name in tables] == before


@pytest.mark.parametrize(("method", "path"), [("get", "/dashboard"), ("post", "/dashboard/recompute")])
def test_it_is_for_coordinators(office: Any, judged: Any, method: str, path: str) -> None:
    for name in ("ana", "ben"):
        assert getattr(office, method)(judged[name], path).status_code == 404
    edda = office.hire("edda", "adjudicator")
    assert getattr(office, method)(edda, path).status_code == 404
    assert isinstance(office.desk, Desk)


def test_what_reports_say_can_be_said_in_another_language() -> None:
    report = agreement_report([], [])
    for text in (
        report.method,
        report.questions.condition,
        report.answers.condition,
        report.questions.overall.alpha.note,
        *report.warnings,
    ):
        assert isinstance(dashboard._told(text), Said), text

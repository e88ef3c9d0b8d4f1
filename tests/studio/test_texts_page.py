"""Guideline, consent, settings and stages, over HTTP; and which version somebody works under."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from proctor.verify.desk import documents, people, roster, work
from proctor.verify.desk.records import ConflictError, Person, Sheet
from proctor.verify.policy import Policy


@pytest.fixture
def carla(office: Any) -> Person:
    found: Person = office.hire("carla", "coordinator")
    return found


def _settings(**more: str) -> dict[str, str]:
    usual = {
        "base": "1",
        "per_item": "2",
        "gate": "coordinator",
        "pass_at": "0.8",
        "undo_seconds": "10",
        "repeat_share": "0.05",
        "lease_minutes": "30",
    }
    return {**usual, **more}


def _latest(office: Any, kind: Any) -> documents.Document:
    found: documents.Document | None = office.desk.read(lambda c: documents.latest(c, kind))
    assert found is not None
    return found


def _dealt(office: Any) -> tuple[Person, list[Any]]:
    ana, ben = office.hire("ana"), office.hire("ben")
    office.sync(4)

    def job(desk: Any, c: Any) -> None:
        plan = roster.plan_deal(desk, c, [ana, ben], Policy(name="everything"))
        roster.apply_deal(desk, c, plan, actor="cli")

    office.do(job)
    return ana, office.open_work(ana)


# -- texts -------------------------------------------------------------------------------------------------------


def test_a_new_version_is_looked_at_then_kept(
    office: Any, carla: Person, words: Callable[[Any], str]
) -> None:
    text = _latest(office, "guideline").body + "\n## New\n\nNearly right is <b>wrong</b>.\n"
    form = {"kind": "guideline", "base": "1", "body": text, "note": "Nearly right"}
    page = office.post(carla, "/guidelines", **form, preview="1")
    assert page.status_code == 200
    assert "added: Nearly right is <b>wrong</b>." in words(page)
    assert "<b>wrong" not in page.text
    assert _latest(office, "guideline").version == 1
    assert office.post(carla, "/guidelines", **form).headers["location"].endswith("said=kept")
    assert _latest(office, "guideline").version == 2
    said = words(office.get(carla, "/guidelines"))
    assert "Version 2" in said
    assert "Nearly right" in said
    old = office.get(carla, "/guidelines", kind="guideline", version="1")
    assert "From version 1 to version 2" in words(old)
    assert office.events("document")[-1].actor == carla.pid


def test_two_editors_do_not_overwrite_each_other(
    office: Any, carla: Person, words: Callable[[Any], str]
) -> None:
    form = {"kind": "consent", "base": "1"}
    office.post(carla, "/guidelines", **form, body="One says this.")
    late = office.post(carla, "/guidelines", **form, body="Two says that.")
    assert late.status_code == 409
    assert "Version 2 has come out while you were writing." in words(late)
    assert "Two says that." in late.text  # nothing that was typed is lost
    assert _latest(office, "consent").body == "One says this.\n"
    assert office.post(carla, "/guidelines", kind="consent", base="2", body=" ").status_code == 422
    assert office.post(carla, "/guidelines", kind="secret", base="2", body="x").status_code == 404


def test_a_frozen_text_stays(office: Any, carla: Person) -> None:
    assert office.post(carla, "/guidelines/freeze", kind="guideline", frozen="1").status_code == 303
    form = {"kind": "guideline", "base": "1", "body": "Other words."}
    assert office.post(carla, "/guidelines", **form).status_code == 409
    office.post(carla, "/guidelines/freeze", kind="guideline", frozen="0")
    assert office.post(carla, "/guidelines", **form).status_code == 303
    assert [e.actor for e in office.events("document-frozen")] == [carla.pid]


def test_the_page_says_how_many_have_read_it(office: Any, carla: Person, words: Callable[[Any], str]) -> None:
    office.hire("ana")
    office.hire("ben", ready=False)
    page = office.get(carla, "/guidelines")
    assert "1 of 2 annotators and adjudicators have read version 1." in words(page)


# -- which version somebody works under --------------------------------------------------------------------------


def test_an_open_draft_keeps_its_version_and_the_next_item_asks(office: Any, carla: Person) -> None:
    ana, queue = _dealt(office)
    begun, fresh = queue[0].pid, queue[1].pid
    assert queue[0].guideline_version == 0
    office.do(
        work.save_draft, begun, ana, sheet=Sheet(note="hm"), client_id="tab", seq=1, base=0, active_ms=1
    )
    assert office.rows("assignments", pid=begun)[0].guideline_version == 1
    office.post(carla, "/guidelines", kind="guideline", base="1", body="New rules.")
    assert office.get(ana, "/").status_code == 200
    assert office.get(ana, f"/w/{begun}").status_code == 200  # finishes under version 1
    assert office.get(ana, f"/w/{fresh}").headers["location"] == "/guideline"
    office.submit(begun, ana)
    assert office.rows("responses")[0].guideline_version == 1
    assert office.post(ana, "/guideline", version="2", read="1").status_code == 303
    assert office.get(ana, f"/w/{fresh}").status_code == 200
    office.submit(fresh, office.now(ana))
    assert office.rows("responses")[1].guideline_version == 2
    assert office.get(ana, f"/w/{begun}").status_code == 200  # and may be looked at later


def test_a_page_that_was_open_is_taken(office: Any, carla: Person) -> None:
    """Who opened an item before the new version came out loses nothing that they type."""
    ana, queue = _dealt(office)
    office.client(ana)
    office.post(carla, "/guidelines", kind="guideline", base="1", body="New rules.")
    body = {"client_id": "tab", "seq": 1, "base": 0, "sheet": {"note": "typed"}}
    saved = office.client(ana).put(f"/w/{queue[0].pid}/draft", json=body)
    assert saved.status_code == 200
    assert office.rows("assignments", pid=queue[0].pid)[0].guideline_version == 1


def test_somebody_elses_item_is_not_told_apart_by_the_guideline(office: Any, carla: Person) -> None:
    ana, _ = _dealt(office)
    other = next(a for a in office.rows("assignments") if a.person_id != ana.id)
    office.post(carla, "/guidelines", kind="guideline", base="1", body="New rules.")
    assert office.get(ana, f"/w/{other.pid}").status_code == 404
    assert office.get(ana, "/w/nonsense").status_code == 404


def test_a_new_consent_is_asked_for_before_anything(office: Any, carla: Person) -> None:
    ana, queue = _dealt(office)
    office.post(carla, "/guidelines", kind="consent", base="1", body="Other terms.")
    assert office.get(ana, f"/w/{queue[0].pid}").headers["location"] == "/consent"
    office.do(people.consent_given, ana, 2)
    assert office.get(ana, f"/w/{queue[0].pid}").status_code == 200


# -- settings and stages -----------------------------------------------------------------------------------------


def test_settings_are_kept_as_a_version(office: Any, carla: Person) -> None:
    done = office.post(carla, "/guidelines/settings", **_settings(per_item="3", training_required="1"))
    assert done.status_code == 303
    protocol = office.desk.read(documents.protocol)
    assert (protocol.per_item, protocol.training_required, protocol.reasons) == (3, True, False)
    assert _latest(office, "protocol").version == 2
    page = office.get(carla, "/guidelines", kind="protocol")
    assert office.desk.read(documents.protocol_hash) in page.text
    assert 'name="training_required" value="1" checked' in page.text
    assert 'value="3"' in office.get(carla, "/deal").text  # the next deal begins with it
    assert office.post(carla, "/guidelines/settings", **_settings()).status_code == 409  # version 1 is old


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("per_item", "0"),
        ("per_item", "2.5"),
        ("pass_at", "nan"),
        ("pass_at", "1.1"),
        ("repeat_share", ""),
        ("gate", "nobody"),
        ("lease_minutes", "1e9"),
    ],
)
def test_settings_that_make_no_sense_are_refused_with_what_was_typed(
    office: Any, carla: Person, field: str, value: str
) -> None:
    page = office.post(carla, "/guidelines/settings", **_settings(**{field: value, "reasons": "1"}))
    assert page.status_code == 422
    assert 'role="alert"' in page.text
    assert 'name="reasons" value="1" checked' in page.text
    assert _latest(office, "protocol").version == 1


def test_a_closed_stage_changes_nothing_any_more(
    office: Any, carla: Person, words: Callable[[Any], str]
) -> None:
    ana, queue = _dealt(office)
    office.submit(queue[0].pid, ana)
    assert office.post(carla, "/guidelines/stage", stage="judge", closed="1").status_code == 303
    assert office.desk.read(documents.protocol).frozen_stages == ("judge",)
    with pytest.raises(ConflictError):
        office.submit(queue[0].pid, ana, "- ", rev=1)
    with pytest.raises(ConflictError):
        office.submit(queue[1].pid, ana)
    assert "closed" in words(office.get(carla, "/guidelines", kind="protocol"))
    office.post(carla, "/guidelines/settings", **_settings(base="2", reasons="1"))
    assert office.desk.read(documents.protocol).frozen_stages == ("judge",)  # settings leave stages alone
    office.post(carla, "/guidelines/stage", stage="judge", closed="0")
    office.submit(queue[1].pid, ana)
    assert office.post(carla, "/guidelines/stage", stage="lunch", closed="1").status_code == 404

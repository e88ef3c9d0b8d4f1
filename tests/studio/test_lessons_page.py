"""The training set and what newcomers see of it, over HTTP."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from proctor.verify.desk.records import Person


@pytest.fixture
def carla(office: Any) -> Person:
    office.protocol(training_required=True)
    office.sync(6)
    found: Person = office.hire("carla", "coordinator")
    return found


_RIGHT = {"reference": "right", "why": "It needs both.", "answer-0": "right", "answer-1": "wrong"}


def _add(office: Any, carla: Person, name: str, **more: str) -> str:
    pid = str(office.item(name).pid)
    form = {**_RIGHT, "why-0": "It comes next.", "why-1": "It was done.", **more}
    assert office.post(carla, f"/training/{pid}", **form).status_code == 303
    return pid


def _train(office: Any, dev: Person, judged: str = "+ +-") -> str:
    office.post(dev, "/next")
    pid = str(office.open_work(dev, "training")[0].pid)
    office.submit(pid, dev, judged)
    return pid


# -- the set -----------------------------------------------------------------------------------------------------


def test_the_oracle_fills_in_what_it_is_sure_of(
    office: Any, carla: Person, words: Callable[[Any], str]
) -> None:
    office.oracle("c000", "+ +?")
    pid = office.item("c000").pid
    for code in (pid, f"{office.origin}/items/{pid}?after=3", "c000"):
        assert office.post(carla, "/training/add", item=code).headers["location"] == f"/training?add={pid}"
    page = office.get(carla, f"/training?add={pid}")
    assert "This is what the task graph says." in words(page)
    assert "because +" in page.text
    assert page.text.count('<option value="" selected>') == 1  # the second answer, of which it is not sure
    assert office.rows("training") == []  # looking adds nothing
    late = office.post(carla, f"/training/{pid}", reference="right", **{"answer-0": "right"})
    assert late.status_code == 422
    assert "Answer 2 is not judged yet" in words(late)
    _add(office, carla, "c000")
    assert office.item("c000").state == "training"
    assert office.events("training.added")[0].actor == carla.pid
    assert "It was done." in words(office.get(carla, "/training"))


def test_without_a_machine_the_reference_is_blank(office: Any, carla: Person) -> None:
    page = office.get(carla, "/training", add=office.item("c001").pid)
    assert page.text.count('<option value="" selected>') == 3


def test_items_are_picked_from_a_list(office: Any, carla: Person) -> None:
    for name, judged in (("c001", "+ ++"), ("c003", "+ +-"), ("c004", "+ +?")):
        office.oracle(name, judged)
    page = office.get(carla, "/training").text
    ticked = re.findall(r'name="item" value="(\w+)" checked', page)
    assert ticked == [office.item(name).pid for name in ("c003", "c001")]  # sure; what has an error first
    unsure = office.item("c004").pid
    assert f"/training?add={unsure}" in page  # a person writes its reference
    assert office.post(carla, "/training/pick").status_code == 422
    assert office.post(carla, "/training/pick", item=[unsure]).status_code == 409
    assert office.post(carla, "/training/pick", item=ticked).status_code == 303
    kept = {row.item_id: row.position for row in office.rows("training")}
    assert kept == {office.item("c003").id: 1, office.item("c001").id: 2}
    assert "checked" not in office.get(carla, "/training").text


def test_a_wrong_question_needs_no_answers(office: Any, carla: Person) -> None:
    pid = office.item("c000").pid
    assert office.post(carla, f"/training/{pid}", reference="wrong", why="Unclear.").status_code == 303
    assert office.get(carla, "/training").status_code == 200


def test_a_reference_changes_and_the_event_keeps_the_old_one(office: Any, carla: Person) -> None:
    pid = _add(office, carla, "c000")
    _add(office, carla, "c000", **{"answer-1": "right", "why-1": "Both do."})
    assert len(office.rows("training")) == 1
    assert "It was done." in office.events("training.changed")[0].body
    assert "Both do." in office.rows("training")[0].reference
    assert office.post(carla, f"/training/{pid}/remove").status_code == 303
    assert office.rows("training") == []
    assert office.item("c000").state == "undealt"
    assert "Both do." in office.events("training.removed")[0].body
    assert office.post(carla, f"/training/{pid}/remove").status_code == 409


def test_dealt_items_and_unknown_ones_are_refused(
    office: Any, carla: Person, words: Callable[[Any], str]
) -> None:
    assert "There is no such item" in words(office.post(carla, "/training/add", item="nonsense"))
    crew = [office.hire(h) for h in ("ana", "ben")]
    form = {"policy": "everything", "per_item": "2", "person": [p.pid for p in crew]}
    page = office.get(carla, "/deal", preview="1", **form)
    digest = page.text.partition('name="digest" value="')[2].partition('"')[0]
    office.post(carla, "/deal", digest=digest, **form)
    pid = office.item("c000").pid
    assert "dealt as work" in words(office.post(carla, "/training/add", item=pid))
    refused = office.post(carla, f"/training/{pid}", **_RIGHT)
    assert refused.status_code == 409
    assert "dealt as work" in words(refused)
    assert office.rows("training") == []


def test_a_changed_item_asks_for_another_look(
    office: Any, carla: Person, words: Callable[[Any], str]
) -> None:
    from proctor.verify.desk.items import sync_items

    _add(office, carla, "c000")
    import msgspec

    provenance = {"generator": "hand"}
    other = msgspec.structs.replace(office.pairs[0], text="Another question?", provenance=provenance)
    office.do(sync_items, [other, *office.pairs[1:]], {}, actor="cli")
    assert office.item("c000").state == "training"  # not work of a sudden
    assert "text changed after this was written" in words(office.get(carla, "/training"))
    office.do(sync_items, office.pairs[1:], {}, actor="cli")
    assert "no longer among the candidates" in words(office.get(carla, "/training"))


def test_explanations_of_strangers_are_text(office: Any, carla: Person) -> None:
    _add(office, carla, "c000", why='"; <b onclick=x>bold</b>')
    assert "<b onclick" not in office.get(carla, "/training").text


# -- what a newcomer sees ----------------------------------------------------------------------------------------


def test_feedback_shows_the_reference_only_after_submitting(
    office: Any, carla: Person, words: Callable[[Any], str]
) -> None:
    _add(office, carla, "c000")
    _add(office, carla, "c001")
    dev = office.hire("dev", gate="training")
    office.post(dev, "/next")
    first, second = (row.pid for row in office.open_work(dev, "training"))
    early = office.get(dev, f"/w/{first}/feedback")
    assert early.headers["location"] == f"/w/{first}"
    assert "It was done." not in office.get(dev, f"/w/{first}").text
    office.submit(first, dev, "+ ++")
    page = office.get(dev, f"/w/{first}/feedback")
    said = words(page)
    assert "You agree with the reference on 2 of 3 statements so far." in said
    assert "It was done." in said
    assert "training item 1 of 2" in said
    assert f'href="/w/{second}"' in page.text
    assert "carla" not in page.text.lower()
    office.submit(second, dev, "- ")
    last = office.get(dev, f"/w/{second}/feedback")
    assert "on 2 of 6 statements" in words(last)
    assert "you were not asked, because you turned the question down" in words(last)
    assert 'href="/"' in last.text


def test_feedback_is_of_ones_own_training_alone(office: Any, carla: Person) -> None:
    _add(office, carla, "c000")
    dev, eva = office.hire("dev", gate="training"), office.hire("eva", gate="training")
    pid = _train(office, dev)
    for other in (eva, carla):
        assert office.get(other, f"/w/{pid}/feedback").status_code == 404
    assert office.get(dev, "/w/nonsense/feedback").status_code == 404


def test_what_was_shown_cannot_be_submitted_again(office: Any, carla: Person) -> None:
    from proctor.verify.desk.records import ConflictError

    _add(office, carla, "c000")
    dev = office.hire("dev", gate="training")
    pid = _train(office, dev, "+ ++")
    with pytest.raises(ConflictError, match="has been shown"):
        office.submit(pid, dev, "+ +-", rev=1)


def test_the_gate_waits_or_opens_by_itself(office: Any, carla: Person) -> None:
    _add(office, carla, "c000")
    dev = office.hire("dev", gate="training")
    _train(office, dev)
    assert office.now(dev).gate == "waiting"
    office.protocol(training_required=True, gate="automatic", pass_at=0.6)
    good, bad = office.hire("good", gate="training"), office.hire("bad", gate="training")
    _train(office, good, "+ ++")  # 2 of 3
    _train(office, bad, "+ -+")  # 1 of 3
    assert office.now(good).gate == "open"
    assert office.now(bad).gate == "waiting"


def test_taking_the_last_item_out_moves_people_on(office: Any, carla: Person) -> None:
    _add(office, carla, "c000")
    second = _add(office, carla, "c001")
    dev = office.hire("dev", gate="training")
    _train(office, dev)
    assert office.now(dev).gate == "training"
    office.post(carla, f"/training/{second}/remove")
    assert office.now(dev).gate == "waiting"
    assert office.open_work(dev, "training") == []

"""Blindness, byte by byte: projects that differ only in what a reader must not know look the same to that reader.

Each project is a copy of one store, so ids and the project's key are the same; what is random on a page (the form's
key, the pid of a case that was just reserved) is replaced before bytes are compared.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from proctor.verify.desk import documents
from proctor.verify.desk.records import Sheet
from proctor.verify.schema import tables
from proctor.verify.store import append_verdicts
from proctor.verify.verdict import AnswerVerdict, Verdict

_UUID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_STATIC = re.compile(rb"/static/[0-9a-f]{12}/")


@pytest.fixture(scope="module")
def base(open_lasting_house: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one undecided item for two readers; nothing else is open to them. Copied, never changed."""
    house = open_lasting_house()
    house.hire("one")
    house.hire("two")
    house.hire("judge", "adjudicator")
    house.deal(["one", "two"], 8)
    house.desk.database.back_up("base")
    root = tmp_path_factory.mktemp("blindness") / "base"
    shutil.copytree(house.root, root, ignore=shutil.ignore_patterns("verification.sqlite*"))
    shutil.copy(house.root / "verification.sqlite.base.bak", root / "verification.sqlite")
    return root


def without_repeats(house: Any) -> None:
    """Let no settled item of the sample come before the case that a test makes."""

    def job(connection: Any) -> None:
        settings = msgspec.structs.replace(documents.protocol(connection), repeat_share=0.0)
        documents.set_protocol(house.desk, connection, settings, actor="cli")

    house.desk.write(job).result()


@pytest.fixture
def twin(base: Path, tmp_path: Path, open_house: Any) -> Callable[[], Any]:
    """Opens one more copy of that project; its cases are the ones that the test makes."""
    count = iter(range(100))

    def make() -> Any:
        root = tmp_path / f"twin{next(count)}"
        shutil.copytree(base, root)
        house = open_house(root)
        i = tables().items
        house.desk.write(
            lambda c: c.execute(i.update().where(i.c.state == "case").values(state="held"))
        ).result()
        without_repeats(house)
        return house

    return make


def pair_of(house: Any, answers: int) -> tuple[str, str]:
    """The two readers' assignments on one item with at least so many answers."""
    a = tables().assignments
    mine = {}
    for handle in ("one", "two"):
        person = house.person(handle)
        query = a.select().where(a.c.person_id == person.id, a.c.state == "open", a.c.stage == "judge")
        rows = house.desk.read(lambda c, q=query: c.execute(q.order_by(a.c.id)).all())
        mine[handle] = {row.item_id: row.pid for row in rows}
    for item, pid in mine["one"].items():
        if item in mine["two"] and len(house.load(pid, "one").cards.texts) >= answers:
            return pid, mine["two"][item]
    raise AssertionError("no such item")


def bytes_of(house: Any, handle: str, pid: str, says: Any) -> list[bytes]:
    """Page, state and refused requests of an assignment, with headers, as the reader gets them."""
    visitor = house.visitor(handle)
    answers = [
        visitor.get(f"/w/{pid}"),
        visitor.get(f"/w/{pid}/state", headers=says.data),
        visitor.get("/"),
        visitor.submit(pid, {"question": "right", "answers": ["right"] * 50}),
        visitor.submit(pid, {}, rev=7),
    ]
    found = []
    for answer in answers:
        headers = sorted((k, v) for k, v in answer.headers.items() if k not in ("server-timing", "date"))
        raw = repr((answer.status_code, headers)).encode() + answer.content
        raw = _STATIC.sub(b"/static/S/", _UUID.sub(b"UUID", raw))
        found.append(raw.replace(pid.encode(), b"PID"))
    return found


def said(
    house: Any, pid: str, handle: str, values: list[str], own: tuple[str, ...] = (), note: str = ""
) -> None:
    count = len(house.load(pid, handle).cards.texts)
    answers = tuple((values + ["right"] * count)[:count])
    house.say(pid, handle, Sheet(question="right", answers=answers, own_answers=own, note=note))


def test_an_adjudicator_cannot_tell_who_said_what(twin: Any, says: Any) -> None:
    """C11: the two readers change places, and not one byte changes."""
    seen = []
    for first, second in (("one", "two"), ("two", "one")):
        house = twin()
        pids = dict(zip(("one", "two"), pair_of(house, 1), strict=True))
        said(house, pids[first], first, ["right"])
        said(house, pids[second], second, ["wrong"])
        case = house.next_for("judge", "adjudicate")
        assert case is not None
        seen.append(bytes_of(house, "judge", case, says))
    assert seen[0] == seen[1]
    for handle in (b"one", b"two"):
        assert b">" + handle + b"<" not in b"".join(seen[0])


def test_an_adjudicator_cannot_tell_what_is_settled(twin: Any, says: Any) -> None:
    """A6: what the readers agreed on, right or wrong, is not in the bytes."""
    seen = []
    for settled in ("right", "wrong"):
        house = twin()
        one, two = pair_of(house, 2)
        said(house, one, "one", ["right", settled])
        said(house, two, "two", ["wrong", settled])
        case = house.next_for("judge", "adjudicate")
        assert case is not None
        seen.append(bytes_of(house, "judge", case, says))
    assert seen[0] == seen[1]


def test_the_comparison_sees_a_difference_that_matters(twin: Any, says: Any) -> None:
    """Another answer in conflict makes other bytes; else the two tests above would say nothing."""
    seen = []
    for values in (["right", "right"], ["wrong", "wrong"]):
        house = twin()
        one, two = pair_of(house, 2)
        said(house, one, "one", values)
        said(house, two, "two", ["wrong", "right"])
        case = house.next_for("judge", "adjudicate")
        assert case is not None
        seen.append(bytes_of(house, "judge", case, says)[0])
    assert seen[0] != seen[1]


def test_a_note_of_a_reader_is_not_for_the_adjudicator(twin: Any, says: Any) -> None:
    seen = []
    for note in ("", "I doubt it: zqx-secret"):
        house = twin()
        one, two = pair_of(house, 1)
        said(house, one, "one", ["right"], note=note)
        said(house, two, "two", ["wrong"])
        case = house.next_for("judge", "adjudicate")
        assert case is not None
        seen.append(bytes_of(house, "judge", case, says))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("other", ["nothing", "the same", "the opposite", "own answers", "returned"])
def test_a_reader_learns_nothing_of_the_other(other: str, twin: Any, says: Any) -> None:
    """What the second reader said or did leaves the first one's bytes as they were."""
    house = twin()
    one, two = pair_of(house, 1)
    before = bytes_of(house, "one", one, says)
    if other == "returned":
        assert house.visitor("two").post(f"/w/{two}/cant", {"reason": "media", "note": ""}).status_code == 303
    elif other != "nothing":
        value = "wrong" if other == "the opposite" else "right"
        said(house, two, "two", [value], own=("zqx-own",) if other == "own answers" else ())
    assert bytes_of(house, "one", one, says) == before


@pytest.mark.parametrize("kind", ["oracle", "llm"])
def test_a_reader_learns_nothing_of_machines(kind: Any, twin: Any, says: Any) -> None:
    """A machine's verdict, whichever it is, is in nobody's page but the coordinator's."""
    seen = []
    for value in ("right", "wrong"):
        house = twin()
        one, _ = pair_of(house, 1)
        item = house.load(one, "one").item
        verdict = Verdict(
            candidate_id=item.question.id,
            annotator=f"zqx-{kind}",
            annotator_kind=kind,
            at="2026-01-01T00:00:00+00:00",
            question=AnswerVerdict("right", confidence=0.9),
            answers=tuple(
                AnswerVerdict(value, confidence=0.8, reason="zqx-reason") for _ in item.question.proposals
            ),  # type: ignore[arg-type]
            candidate_hash=item.candidate_hash,
        )
        house.desk.write(lambda c, v=verdict, h=house: append_verdicts(h.desk.database, c, [v])).result()
        seen.append(bytes_of(house, "one", one, says))
    assert seen[0] == seen[1]
    assert b"zqx" not in b"".join(seen[0])


def test_a_training_item_hides_its_reference_until_it_is_judged(open_house: Any, says: Any) -> None:
    house = open_house()
    dev = house.person("dev")
    for kind in ("consent", "guideline"):
        text = house.desk.read(lambda c, k=kind: documents.latest(c, k))
        from proctor.verify.desk import people

        house.do(people.consent_given if kind == "consent" else people.guideline_ticked, dev, text.version)
    pid = house.next_for("dev", "training")
    assert pid is not None
    visitor = house.visitor("dev")
    pages = [visitor.get(f"/w/{pid}").text, visitor.get(f"/w/{pid}/state", headers=says.data).text]
    why = "It needs the clip and the instructions, and nothing else."
    assert all(why not in page for page in pages)
    early = visitor.get(f"/w/{pid}/feedback")
    assert early.status_code in (303, 404, 409)
    assert why not in early.text
    answers = ["wrong"] * len(house.load(pid, "dev").cards.texts)
    assert visitor.submit(pid, {"question": "right", "answers": answers}).status_code == 200
    assert why in visitor.get(f"/w/{pid}/feedback").text.replace("&#39;", "'")

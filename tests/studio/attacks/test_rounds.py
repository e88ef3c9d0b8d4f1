"""Rounds of tasks: people who come by a link, sheets that no page sends, and pages that depend on their texts alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from tests.studio import roundwork

from proctor.studio.auth import new_token
from proctor.verify.desk import rounds
from proctor.verify.schema import tables

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_PLACE = re.compile(r'task \d+ of|max="\d+" value="\d+"|<a [^>]*(?:id="back"|rel="next").*?</a>', re.DOTALL)


def work_in(house: Any, round_: Any, handle: str) -> list[str]:
    """The tasks of a batch in a round."""
    batch = house.do(rounds.open_batch, round_, house.person(handle))
    a = tables().assignments
    query = a.select().where(a.c.batch_id == batch.id).order_by(a.c.queue_pos)
    return [row.pid for row in house.desk.read(lambda c: c.execute(query).all())]


# -- blindness (C11, B2, 5.18) -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", roundwork.KINDS)
def test_a_tasks_page_depends_on_its_texts_alone(kind: str, house: Any, says: Any) -> None:
    """Role, stratum, group, variant, name, and who else has it make no difference to a byte."""
    hidden = ("zq-real", "zq-test", "zq-attention", "zq-source", "zq-group", "zq-variant")
    hidden += ("zq-recording", "zq-video", "zq-dataset", "zq-activity")
    more = {"stratum": "zq-source", "group": "zq-group", "variant": "zq-variant"}
    tasks = [
        *roundwork.make_tasks(kind, 1, prefix="zq-real"),
        *roundwork.make_tasks(kind, 1, prefix="zq-test", role="test", **more),
        *roundwork.make_tasks(kind, 1, prefix="zq-attention", role="attention"),
    ]
    round_ = roundwork.begin(house.desk, kind, tasks, name=f"zq-{kind}", tests=1, attention=1, wanted=2)
    house.hire(f"first-{kind}")
    house.hire(f"second-{kind}")
    pids = work_in(house, round_, f"first-{kind}")
    assert len(pids) == 3
    visitor, other = house.visitor(f"first-{kind}"), house.visitor(f"second-{kind}")

    def look() -> set[str]:
        found = set()
        for pid in pids:
            page, state = (
                visitor.get(f"/w/{pid}").text,
                visitor.get(f"/w/{pid}/state", headers=says.data).text,
            )
            assert not [word for word in (*hidden, "said by another") if word in page + state]
            found.add(_PLACE.sub("", _UUID.sub("KEY", page.replace(pid, "PID"))))
        return found

    alone = look()
    for pid in work_in(house, round_, f"second-{kind}"):
        assert other.submit(pid, roundwork.sheet_of(kind, "said by another")).status_code == 200
    pages = alone | look()
    assert len(pages) == 1


# -- sheets that no page sends (fields 13 and 14) ------------------------------------------------------------------

ORDERS: tuple[Any, ...] = (
    ["s0", "s1"], ["s0"] * 5, ["s0", "s1", "s2", "s3", "zz"], ["s0", "s1", "s2", "s3", "s4", "s4"], [f"s{n}" for n in range(501)],
    ["x" * 201], "s0", {"0": "s0"}, [["s0"]], [0, 1, 2, 3, 4], [None], ["s0\x00", "s1", "s2", "s3", "s4"], ["../s0", "s1", "s2", "s3", "s4"],
)  # fmt: skip
MOVES: tuple[Any, ...] = (
    [["s0", 0, 1]] * 2001, [["s0", "0", 1]], [["s0", 0]], [["s0", 10**30, 0]], [["s0", 0.5, 0]], [{}], "all", [["x" * 201, 0, 0]],
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    {"fluency": "99"}, {"fluency": ["1", "2"]}, {"fluency": 4}, {"fluency": "4", "gold": "x"}, {"style": "maybe"}, ["fluency"], "x",
    {"fluency": "１"}, {"fluency": "x" * 5_000}, {"__proto__": {"a": "b"}}, None,
)  # fmt: skip


OWN: tuple[Any, ...] = (
    *({"things": [bad], "risks": ["a"]} for bad in ("0:99:tool", "3:0:tool", "0:3:gold", "0:3:", "-1:3:tool", "٠:٣:tool", "?:tool:gone", "?:gold:Saw", {}, 3)),
    {"things": ["0:3:tool"] * 501, "risks": ["a"]}, {"things": ["0:3:tool"], "risks": ["a", "zz"]}, {"things": "0:3:tool", "risks": []},
)  # fmt: skip


def _mark(**more: Any) -> list[dict[str, Any]]:
    return [{"id": "a", "step": "s0", "start_s": 0, "end_s": 1, **more}]


TIMELINES: tuple[dict[str, Any], ...] = (
    *({"segments": _mark(start_s=bad)} for bad in ("NaN", "0", -1, 5, 10**30, 1e300, None, [0])),
    *({"segments": _mark(**bad)} for bad in ({"step": "zz"}, {"id": ""}, {"id": "x" * 65}, {"end_s": 21}, {"gold": 1})),
    {"segments": [{**_mark()[0], "id": f"a{n}"} for n in range(2_001)]}, {"segments": _mark() * 2}, {"segments": {"a": 1}},
    *({"errors": [{"step": "s0", "tag": "order", **bad}]} for bad in ({"tag": "zz"}, {"step": "zz"}, {"text": "x\x00"}, {"origin": "me"})),
    {"actions": [{"id": "b", "start_s": 2, "end_s": 1, "verb": "saw"}]}, {"actions": [{"id": "b", "start_s": 0, "end_s": 1, "verb": ""}]},
    {"narrations": [{"id": "../../etc", "video_s": 99, "ms": 1}]}, {"dismissed": [["s0"]]},
)  # fmt: skip


@pytest.mark.parametrize("route", ["draft", "submit", "look"])
def test_sheets_that_no_page_of_a_task_sends(route: str, house: Any, says: Any) -> None:
    """Refused with the names of their fields, or kept as a draft that was never complete; nothing is submitted."""
    house.hire(f"tries-{route}")
    visitor = house.visitor(f"tries-{route}")
    kinds = ("order", "rate", "timeline", "own")
    order, rate, line, own = (house.task_of(f"tries-{route}", kind) for kind in kinds)
    whole = roundwork.sheet_of("order")
    sheets = [(order, {**whole, "order": value}) for value in ORDERS]
    sheets += [(order, {**whole, "moves": value}) for value in MOVES]
    sheets += [(rate, {"values": value}) for value in VALUES]
    sheets += [(own, {"values": value}) for value in OWN]
    sheets += [(line, {**roundwork.sheet_of("timeline"), **value}) for value in TIMELINES]
    sheets += [(pid, {**roundwork.sheet_of(k), "gold": 1}) for pid, k in ((order, "order"), (rate, "rate"))]
    for number, (pid, sheet) in enumerate(sheets):
        if route == "draft":
            answer = visitor.draft(pid, sheet, seq=number + 1, base=number)
        elif route == "submit":
            answer = visitor.submit(pid, sheet)
            assert answer.status_code == 422, (sheet, answer.text)
            assert answer.json()["errors"], sheet
        else:
            answer = visitor.send("POST", f"/w/{pid}/look", json=sheet, headers=says.data)
        assert answer.status_code in (200, 404, 422), (sheet, answer.text)
    t = tables()
    for pid in (order, rate, line, own):
        (row,) = house.desk.read(
            lambda c, p=pid: c.execute(t.assignments.select().where(t.assignments.c.pid == p)).all()
        )
        assert (row.state, row.rev) == ("open", 0)
        assert (
            visitor.get(f"/w/{pid}").status_code == 200
        )  # the page still opens, whatever was kept as a draft


def test_a_graph_is_drawn_without_markup_of_its_steps(house: Any, says: Any) -> None:
    """5.8: what ``look`` sends back is put into the page as a drawing."""
    house.hire("draws")
    visitor, pid = house.visitor("draws"), house.task_of("draws", "graph")

    def look(texts: Sequence[str]) -> str:
        steps = [{"id": f"s{n}", "text": text[:900], "spans": [[0, 3]]} for n, text in enumerate(texts)]
        answer = visitor.send(
            "POST", f"/w/{pid}/look", json={"steps": steps, "edges": [["s0", "s1"]]}, headers=says.data
        )
        assert answer.status_code == 200, answer.text
        return str(answer.json()["svg"])

    drawn, plain = look(says.evil), look([says.plain] * len(says.evil))
    evil, tame = (re.sub(r">[^<]*<", "><", svg) for svg in (drawn, plain))
    assert set(re.findall(r"<(\w+)| ([\w:-]+)=", evil)) <= set(re.findall(r"<(\w+)| ([\w:-]+)=", tame))
    assert "zqx" in drawn
    assert "zqx" not in evil


# -- people of a platform (5.5, 5.12) ------------------------------------------------------------------------------


def test_a_link_takes_in_who_gives_consent_and_gives_a_batch_and_nothing_else(house: Any, says: Any) -> None:
    study = house.desk.read(lambda c: next(r for r in rounds.list_rounds(c) if r.name == "study"))
    address, came = f"/r/{study.pid}", {"PROLIFIC_PID": "zq5f3c0ffee", "STUDY_ID": "s", "SESSION_ID": "one"}
    visitor, again = house.visitor(None), house.visitor(None)
    with house.unchanged():
        assert "zq5f3c0ffee" in visitor.get(address, params=came).text
        assert visitor.get(address).status_code == 200
        assert visitor.post(f"{address}/join", came).status_code == 422
        for bad in ("", "x" * 201, "nul\x00", "line\nbreak"):
            answer = visitor.post(f"{address}/join", {**came, "PROLIFIC_PID": bad, "consent": "yes"})
            assert answer.status_code == 404, bad
        assert visitor.post(f"{address}/start").headers["location"].startswith("/signin")
    assert visitor.post(f"{address}/join", {**came, "consent": "yes"}).headers["location"] == address
    task = visitor.post(f"{address}/start").headers["location"]
    assert task.startswith("/w/")
    # B4: the same person in a second session has the same batch.
    again.post(f"{address}/join", {**came, "SESSION_ID": "two", "consent": "yes"})
    assert again.post(f"{address}/start").headers["location"] == task
    pages = [visitor.get(path).text for path in (task, address, "/r", "/my")]
    assert not [page for page in pages if "zq5f3c0ffee" in page]
    others = [r.pid for r in house.desk.read(rounds.list_rounds) if not r.settings.workers]
    for path in (f"/r/{others[0]}/start", f"/r/{others[0]}/join"):
        assert visitor.post(path, {**came, "consent": "yes"}).status_code == 404, path
    ana = house.visitor("ana")
    assert ana.post(f"{address}/start").status_code == 404  # an account is not paid by the platform
    with house.desk.reading() as c:
        kept = {t.name for t in tables() if "zq5f3c0ffee" in repr(c.execute(t.select()).all())}
    assert kept == {"proctor_platform_ids"}


def test_a_session_of_a_platform_never_becomes_an_accounts(house: Any, says: Any) -> None:
    """Whoever is signed in as a coordinator and opens a platform's link becomes nobody else unasked."""
    gita, study = house.visitor("gita"), house.desk.read(rounds.list_rounds)
    address = next(f"/r/{r.pid}" for r in study if r.name == "study")
    gita.get(address, params={"PROLIFIC_PID": new_token()})
    assert gita.get("/people").status_code == 200

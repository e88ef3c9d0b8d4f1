"""Questions to the coordinators over HTTP: every role at every thread, pages of others to the byte, hostile texts, exports."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from proctor.studio.exporting import write_export
from proctor.verify.schema import tables

_KEY = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
HOSTILE = "zqx <script>alert(1)</script>\n\u202egnp.exe"


@pytest.fixture(scope="module")
def talk(open_lasting_house: Any) -> Any:
    house = open_lasting_house()
    house.hire("gita", "coordinator", "Gita Coordinator")
    return house


def shared(house: Any) -> tuple[str, str, str]:
    """An item that ana and ben have: its pid, and those of their assignments."""
    a, i = tables().assignments, tables().items
    mine = {}
    for handle in ("ana", "ben"):
        query = a.select().where(a.c.person_id == house.person(handle).id, a.c.stage == "judge", a.c.live)
        mine[handle] = {r.item_id: r.pid for r in house.desk.read(lambda c, q=query: c.execute(q).all())}
    item = min(set(mine["ana"]) & set(mine["ben"]))
    pid = house.desk.read(lambda c: c.execute(i.select().where(i.c.id == item)).one()).pid
    return pid, mine["ana"][item], mine["ben"][item]


def test_nobody_reads_or_answers_anothers_thread(talk: Any, says: Any) -> None:
    item, anas, bens = shared(talk)
    ana, ben, edda, gita, farid = (talk.visitor(h) for h in ("ana", "ben", "edda", "gita", "farid"))

    def bens_page() -> str:
        return _KEY.sub("KEY", ben.get(f"/w/{bens}").text)

    before = bens_page()
    assert ana.post(f"/w/{anas}/comments", {"text": "zqx-of-ana"}).status_code == 303
    gita.post(f"/comments/{item}", {"to": talk.person("ana").pid, "text": "zqx-answer", "close": "1"})
    gita.post(f"/comments/{item}", {"to": "", "text": "zqx-note"})
    ana.post(f"/w/{anas}/comments", {"text": "zqx-more"})
    assert bens_page() == before  # not a byte tells that anybody asked
    for text in (ana.get(f"/w/{anas}").text, ana.get(f"/w/{anas}/comments").text):
        assert all(word in text for word in ("zqx-of-ana", "zqx-answer", "zqx-more"))
        assert not any(word in text for word in ("zqx-note", "Gita"))
    assert f"/w/{anas}/comments" not in ana.get("/").text  # asked again since
    for who in (ben, edda, gita, farid):
        with talk.unchanged():
            for pid in (anas, says.nowhere):
                assert who.get(f"/w/{pid}/comments").status_code == 404
                assert who.post(f"/w/{pid}/comments", {"text": "x"}).status_code == 404
    for who in (ana, ben, edda):
        with talk.unchanged():
            for pid in (item, anas, says.nowhere):
                assert who.get(f"/comments/{pid}").status_code == 404
                assert who.post(f"/comments/{pid}", {"text": "x"}).status_code == 404
            assert who.get("/comments").status_code == 404
    for who in (gita, farid):
        page = who.get(f"/items/{item}").text
        assert all(word in page for word in ("zqx-of-ana", "zqx-answer", "zqx-more", "zqx-note", "Gita"))
        assert "zqx-more" in who.get("/comments").text
        listed = who.get("/items?asked=1").text
        assert all(word in listed for word in (f"/items/{item}", "1 question</span>"))
        assert "1 question waits for an answer." in who.get("/dashboard").text + who.get("/").text
    gita.post(f"/comments/{item}", {"to": talk.person("ana").pid, "text": "zqx-last", "close": "1"})
    assert f"/w/{anas}/comments" in ana.get("/").text


def test_texts_are_shown_and_never_run(talk: Any, says: Any) -> None:
    item, anas, _ = shared(talk)
    ana, gita = talk.visitor("ana"), talk.visitor("gita")
    sent = ana.send("POST", f"/w/{anas}/comments", json={"text": HOSTILE}, headers=says.data)
    assert sent.json()["lines"][-1] | {"at": ""} == {"who": "You", "at": "", "text": HOSTILE, "mine": True}
    for text in (ana.get(f"/w/{anas}").text, gita.get(f"/items/{item}").text, gita.get("/comments").text):
        assert not any(word in text for word in ("<script>alert", "\u202e"))
        assert all(word in text for word in ("zqx &lt;script&gt;", "⟨U+202E⟩"))
    for body in ({"text": ""}, {"text": "x" * 4_001}, {"text": 3}, {}, {"text": "x", "thread": 1}):
        assert ana.send("POST", f"/w/{anas}/comments", json=body, headers=says.data).status_code == 422
    refused = ana.post(f"/w/{anas}/comments", {"text": "kept" * 1_001})
    assert (refused.status_code, "kept" * 1_001 in refused.text) == (422, True)


def test_rows_have_comments_under_random_ids(talk: Any, tmp_path: Path) -> None:
    item, anas, _ = shared(talk)
    ana, gita = talk.person("ana").pid, talk.person("gita").pid
    for text, to in (("a note", ""), ("an answer", ana)):
        talk.visitor("ana").post(f"/w/{anas}/comments", {"text": "for the file"})
        talk.visitor("gita").post(f"/comments/{item}", {"text": text, "to": to})
    write_export(talk.desk, "rows", tmp_path / "rows.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    known = [row for row in rows if row["table"] == "comment"]
    assert {(row["person"], row["thread"]) for row in known} == {(ana, ana), (gita, ana), (gita, None)}
    assert (known[-1]["text"], "Gita" in json.dumps(known)) == ("an answer", False)


def test_what_somebody_had_keeps_its_thread_but_not_its_page(talk: Any) -> None:
    a = tables().assignments
    _, _, bens = shared(talk)
    ben = talk.visitor("ben")
    ben.post(f"/w/{bens}/comments", {"text": "before it went"})
    talk.desk.write(lambda c: c.execute(a.update().where(a.c.pid == bens).values(live=False))).result()
    assert ben.get(f"/w/{bens}").status_code == 404
    page = ben.get(f"/w/{bens}/comments").text
    assert ("before it went" in page, f'href="/w/{bens}"' in page) == (True, False)

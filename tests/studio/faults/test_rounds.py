"""Eight people do a study, an ordering round and a marking round, and the server is killed under them again and again."""

from __future__ import annotations

import http.client
import json
import threading
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest
from tests.patience import wait_until
from tests.studio import roundwork

from proctor.stages.studio import open_desk, sync_desk
from proctor.studio.auth import hash_token, new_token
from proctor.verify.desk import documents, people, rounds
from proctor.verify.desk.events import check_chain
from proctor.verify.schema import tables

TASKS = {"rate": 12, "order": 10, "mark": 10}
WANTED = 2
KILL_AFTER = (10, 28, 48)
"""Acknowledged submits after which the server is killed; there are 64 of real tasks, and the checks of the study."""
LINK, ACCOUNT = ("rate", "order"), ("mark",)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest) -> str | None:
    """None for the workspace's own file."""
    url: str | None = None if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    return url


@dataclass
class Taker:
    """Somebody who goes from task to task where the server sends them; what was acknowledged is written down."""

    name: str
    kinds: tuple[str, ...]
    token: str = ""
    pending: tuple[str, str, str, str] | None = None
    kept: list[tuple[str, str, int, bool]] = field(default_factory=list)
    cut: int = 0
    odd: list[tuple[str, int, str]] = field(default_factory=list)

    def ask(
        self, server: Any, method: str, path: str, body: Any = None, form: Any = None, **headers: str
    ) -> Any:
        """Return the answer and its text; wait where the server says that this was too much at once."""
        text, kind = (
            (urlencode(form), "application/x-www-form-urlencoded")
            if form is not None
            else (None, "application/json")
        )
        if body is not None:
            text = json.dumps(body)
        sent = {
            "Cookie": f"{server.cookie}={self.token}",
            "Sec-Fetch-Site": "same-origin",
            "Content-Type": kind,
            **headers,
        }
        while True:
            link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
            try:
                link.request(method, path, body=text, headers=sent)
                answer = link.getresponse()
                told = answer.read().decode()
            finally:
                link.close()
            if answer.status != 429:
                if answer.status not in (200, 303):
                    self.odd.append((f"{method} {path}", answer.status, told[:200]))
                return answer, told
            time.sleep(0.1)

    def go(self, place: dict[str, Any], pids: dict[str, str]) -> None:
        """Do all rounds to their ends."""
        for kind in self.kinds:
            while not self.odd:
                try:
                    if not self._one(place["server"], kind, pids[kind]):
                        break
                except (OSError, http.client.HTTPException, json.JSONDecodeError):
                    self.cut += 1
                    time.sleep(0.02)

    def _one(self, server: Any, kind: str, round_: str) -> bool:
        if not self.token:
            asked = {"PROLIFIC_PID": self.name, "STUDY_ID": "s", "SESSION_ID": "x", "consent": "yes"}
            answer, _ = self.ask(server, "POST", f"/r/{round_}/join", form=asked)
            self.token = (answer.getheader("set-cookie") or "").partition("=")[2].partition(";")[0]
        if self.pending is None:
            answer, _ = self.ask(server, "POST", f"/r/{round_}/start", form={})
            where = str(answer.getheader("location"))
            if not where.startswith("/w/"):
                return False
            pid, note = where[3:], f"{self.name} {uuid.uuid4().hex}"
            draft = {
                "client_id": "tab",
                "seq": 1,
                "base": 0,
                "sheet": roundwork.sheet_of(kind, f"draft of {note}"),
            }
            _, told = self.ask(server, "GET", f"/w/{pid}/state")
            draft["base"] = (json.loads(told)["draft"] or {"version": 0})["version"]
            draft["client_id"] = note[-32:]
            self.ask(server, "PUT", f"/w/{pid}/draft", draft)
            self.pending = (kind, pid, uuid.uuid4().hex, note)
        kind, pid, key, note = self.pending
        body = {"sheet": roundwork.sheet_of(kind, note), "active_ms": 1000, "client_id": "tab"}
        _, told = self.ask(
            server, "POST", f"/w/{pid}/submit", body, **{"If-Match": '"0"', "Idempotency-Key": key}
        )
        self.kept.append((pid, note, json.loads(told)["rev"], json.loads(told)["again"]))
        self.pending = None
        return True


def hire(desk: Any) -> list[Taker]:
    """Five people who come by a link, three with accounts."""
    found = [Taker(f"platform{n}", LINK) for n in range(5)]
    for n in range(3):

        def join(c: Any, handle: str = f"account{n}") -> str:
            one = people.add(desk, c, handle=handle, name=handle, role="annotator", actor="cli", gate="open")
            for kind, note in (("consent", people.consent_given), ("guideline", people.guideline_ticked)):
                text = documents.latest(c, kind)  # type: ignore[arg-type]
                note(desk, c, one, text.version if text else 1)
            token = new_token()
            people.open_session(desk, c, hash_token(token), one)
            return token

        found.append(Taker(f"account{n}", ACCOUNT, desk.write(join).result(60)))
    return found


def test_eight_people_lose_nothing_and_no_task_is_done_too_often(
    bench: Path, serve: Any, database: str | None
) -> None:
    with open_desk(bench, database) as desk:
        sync_desk(bench, desk)
        crew, pids = hire(desk), {}
        for kind, count in TASKS.items():
            tasks = roundwork.make_tasks(kind, count)
            settings: dict[str, Any] = {"wanted": WANTED, "batch": 3, "workers": kind in LINK}
            if kind == "rate":
                tasks += roundwork.make_tasks(kind, 9, prefix="test", role="test")
                tasks += roundwork.make_tasks(kind, 9, prefix="attention", role="attention")
                settings |= {"tests": 1, "attention": 1}
            pids[kind] = roundwork.begin(desk, kind, tasks, **settings).pid

    place = {"server": serve(bench, database)}
    threads = [threading.Thread(target=one.go, args=(place, pids), daemon=True) for one in crew]
    for thread in threads:
        thread.start()
    kept = lambda: sum(len(one.kept) for one in crew)  # noqa: E731
    for count in KILL_AFTER:
        wait_until(lambda c=count: kept() >= c or any(one.odd for one in crew), what=f"{count} submits")
        place["server"].kill()
        place["server"] = serve(bench, database)
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    assert [one.odd for one in crew if one.odd] == []
    assert sum(one.cut for one in crew) >= len(KILL_AFTER), "nobody noticed the kills"

    t = tables()
    with open_desk(bench, database, create=False) as desk, desk.reading() as c:
        assert check_chain(c)[1] is None
        assigned = {
            row.pid: row for row in c.execute(t.assignments.select().where(t.assignments.c.stage == "task"))
        }
        rows = c.execute(t.responses.select()).all()
        told = [(row.assignment_id, json.loads(row.sheet)["note"], row.rev) for row in rows]
        for pid, note, rev, _ in (entry for one in crew for entry in one.kept):
            assert told.count((assigned[pid].id, note, rev)) == 1, (pid, note)
        for kind, count in TASKS.items():
            (round_,) = [r for r in rounds.list_rounds(c) if r.name == kind]
            readings = list(rounds.read_readings(c, round_))
            real = Counter(r.task for r in readings if r.role == "real")
            assert real == dict.fromkeys((f"t{n}" for n in range(count)), WANTED), kind
            assert len({(r.task, r.person) for r in readings}) == len(readings)
            notes = {msgspec.json.decode(r.sheet)["note"] for r in readings}
            mine = {row.pid for row in assigned.values() if row.stage == "task"} & {
                r.assignment for r in readings
            }
            assert notes == {note for one in crew for pid, note, _, _ in one.kept if pid in mine}
        batches = c.execute(t.batches.select()).all()
        assert {row.state for row in batches} == {"complete"}
        assert len({row.code for row in batches}) == len(batches)  # B6: a code of its own for each
        live = Counter(row.task_id for row in assigned.values() if row.live)
        quota = {row.id: row.wanted for row in c.execute(t.tasks.select()) if row.role == "real"}
        assert all(live[number] == wanted for number, wanted in quota.items())
        assert len(c.execute(t.people.select().where(t.people.c.role == "worker")).all()) == 5

"""Eight people do a study, an ordering round and a marking round, the server is killed under them again and again, and tables come out."""

from __future__ import annotations

import csv
import http.client
import json
import re
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
from tests.study import open_study
from tests.typed import proctor

from proctor.exam.question import Gold, Item, Open, Question, Text, Words
from proctor.records import read_jsonl, write_jsonl
from proctor.stages.predict import import_predictions
from proctor.stages.rounds.opening import open_round
from proctor.stages.rounds.settings import MarkSettings, OrderSettings
from proctor.stages.sequence_items import import_sequences
from proctor.stages.studio import open_desk
from proctor.studio.auth import hash_token, new_token
from proctor.verify.desk import documents, people, rounds
from proctor.verify.desk.events import check_chain
from proctor.verify.schema import tables
from proctor_rehearsal.standin import Standin

TASKS = {"rate": 14, "order": 10, "mark": 10}
YES = {"style": "yes", "relevance": "yes", "answerability": "yes", "correctness": "yes"}
WANTED = 2
KILL_AFTER = (10, 28, 48)
"""Acknowledged submits after which the server is killed; there are 68 of real tasks, and the checks of the study."""
LINK, ACCOUNT = ("rate", "order"), ("mark",)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest) -> str | None:
    """None for the workspace's own file."""
    url: str | None = None if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """A workspace with manuals of five steps, and a run that answered questions."""
    lines = [{"id": f"m{n}", "steps": [f"Do {k} of {n}." for k in "abcde"]} for n in range(TASKS["order"])]
    write_jsonl(tmp_path / "manuals.jsonl", lines)
    import_sequences(tmp_path / "manuals.jsonl", tmp_path / "bench", "text")
    more = []
    for n in range(TASKS["mark"]):
        words = (Words(id="w", text=f"First {n}, then {n + 1}."),)
        question = Question(
            id=f"q{n}", kind="documents", text=f"What comes after {n}?", form=Open(), evidence=words
        )
        more.append(Item(question=question, golds=(Gold(value=Text(text=str(n + 1))),)))
    write_jsonl(
        tmp_path / "bench" / "items.jsonl", [*read_jsonl(tmp_path / "bench" / "items.jsonl", Item), *more]
    )
    write_jsonl(tmp_path / "said.jsonl", [{"item_id": i.id, "answer": f"{i.id[1:]} or so"} for i in more])
    import_predictions(tmp_path / "said.jsonl", tmp_path / "bench", "model")
    return tmp_path / "bench"


def fill(kind: str, page: str) -> dict[str, Any]:
    """What somebody says who reads the page of a task."""
    if kind == "rate":
        return {"values": {"fluency": "4", **YES}}
    if kind == "mark":
        return {"values": {"mark": "2"}}
    cards = re.findall(r'data-id="(\d+)".*?Do (\w) of', page, re.DOTALL)
    return {
        "order": [id_ for id_, _ in sorted(cards, key=lambda card: card[1])],
        "values": {"confidence": "4"},
    }


@dataclass
class Taker:
    """Somebody who goes from task to task where the server sends them; what was acknowledged is written down."""

    name: str
    kinds: tuple[str, ...]
    token: str = ""
    pending: tuple[str, str, dict[str, Any]] | None = None
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
            quiz = {"field-outside": "no"}
            answer, _ = self.ask(server, "POST", f"/r/{round_}/start", form=quiz)
            where = str(answer.getheader("location"))
            if not where.startswith("/w/"):
                return False
            pid, note = where[3:], f"{self.name} {uuid.uuid4().hex}"
            _, page = self.ask(server, "GET", f"/w/{pid}")
            _, told = self.ask(server, "GET", f"/w/{pid}/state")
            base = (json.loads(told)["draft"] or {"version": 0})["version"]
            sheet = {**fill(kind, page), "note": note}
            draft = {**sheet, "note": f"draft of {note}"}
            sent = {"client_id": note[-32:], "seq": 1, "base": base, "sheet": draft}
            self.ask(server, "PUT", f"/w/{pid}/draft", sent)
            self.pending = (pid, uuid.uuid4().hex, sheet)
        pid, key, sheet = self.pending
        body = {"sheet": sheet, "active_ms": 1000, "client_id": "tab"}
        _, told = self.ask(
            server, "POST", f"/w/{pid}/submit", body, **{"If-Match": '"0"', "Idempotency-Key": key}
        )
        self.kept.append((pid, sheet["note"], json.loads(told)["rev"], json.loads(told)["again"]))
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
    given: dict[str, Any] = {"people": WANTED, "batch": 3, "batches": 0, "database": database}
    open_study(bench.parent, each=2, tests=1, workers=True, lease_minutes=0, **given)
    open_round(bench, "order", OrderSettings(workers=True, **given))
    open_round(bench, "mark", MarkSettings(per_system=0, **given))
    with open_desk(bench, database) as desk:
        crew = hire(desk)
        pids = {r.name: r.pid for r in desk.read(rounds.list_rounds)}

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
            assert (len(real), {*real.values()}) == (count, {WANTED}), kind
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

    # Their tables come out by the commands of the documentation.
    where, home = ("--database", database) if database else (), bench.parent
    collected = {kind: proctor("round", "collect", bench, kind, "--json", *where) for kind in TASKS}
    assert [answer.err for answer in collected.values() if answer.status] == []
    files = {kind: [Path(path) for path in answer.json["files"]] for kind, answer in collected.items()}
    ratings, orders, marks = files["rate"][0], files["order"][0], files["mark"][0]
    with ratings.open(newline="", encoding="utf-8") as file:
        rated = Counter(row["note"] for row in csv.DictReader(file))
    said = {note for one in crew for _, note, *_ in one.kept}
    assert {*rated.values()} == {1}
    assert rated.keys() <= said
    assert len(rated) >= WANTED * TASKS["rate"]
    assert len(orders.read_text().splitlines()) == WANTED * TASKS["order"]
    assert len(marks.read_text().splitlines()) == WANTED * TASKS["mark"]
    with Standin(reply="judge") as server:
        for command, seen in (
            (("study", "tables", ratings, home / "study" / "groups.csv", "--several"), "fluency"),
            (("study", "order-table", "people", "--sequences", home / "manuals.jsonl", "--people", orders), "text"),
            (("judge", bench, "--run", "model", "--judge", f"compat/judge@{server.url}/v1"), "model"),
            (("calibrate", bench, "--human", marks, "--resamples", 100), "compat/judge"),
        ):  # fmt: skip
            answer = proctor(*command)
            assert answer.status == 0, (command, answer.err)
            assert seen in answer.out.casefold(), (command, answer.out)

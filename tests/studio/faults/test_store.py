"""Locked, full, read-only, wrong clocks, lost keys, broken files: clear words, and nothing that was saved is lost."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import resource
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from sqlalchemy import event
from starlette.testclient import TestClient
from tests.patience import wait_until
from tests.typed import Outcome, proctor, proctor_process

from proctor.drawing.layout import Layouts
from proctor.exam.library import Library
from proctor.llm.media import MediaStore
from proctor.stages.studio import KEY_FILE
from proctor.studio.app import build_app
from proctor.studio.auth import Auth, Limits, hash_token, new_token
from proctor.studio.context import Settings, Studio
from proctor.verify.desk import documents, flow, items, people, work
from proctor.verify.desk.desk import Desk
from proctor.verify.desk.events import check_chain
from proctor.verify.desk.records import GoneError, Person, Sheet
from proctor.verify.schema import tables
from proctor.verify.store import latest_verdicts

ORIGIN = "http://127.0.0.1:8642"
DAY = 86_400.0


class Room:
    """The sample's store under an application, with a clock and a patience of our own."""

    def __init__(self, bench: Path, *, busy_seconds: float = 30.0) -> None:
        self.file, self.shift = bench / "verification.sqlite", 0.0
        secret = bytes.fromhex((bench / KEY_FILE).read_text().strip())
        self.desk = Desk.open(
            self.file,
            secret=secret,
            create=False,
            busy_seconds=busy_seconds,
            clock=lambda: time.time() + self.shift,
        )
        self.auth = Auth(self.desk, ORIGIN, limits=Limits(1e6, 10**6, 5))
        self.app = build_app(
            Studio(
                desk=self.desk,
                settings=Settings(project="Sample", origin=ORIGIN, folder=bench / "studio"),
                library=Library(media=MediaStore(), graphs=self.desk.read(items.load_graphs)),
                find_video=lambda example: None,
                clips=None,
                layouts=Layouts(bench / "studio" / "drawings"),
                auth=self.auth,
            )
        )
        self.tokens: dict[str, str] = {}

    def close(self) -> None:
        self.auth.close()
        self.desk.close()

    def person(self, handle: str) -> Person:
        found = self.desk.read(lambda c: people.by_handle(self.desk, c, handle))
        assert found is not None
        return found

    def sign_in(self, handle: str) -> None:
        self.tokens[handle] = new_token()
        person = self.person(handle)
        self.desk.write(
            lambda c: people.open_session(self.desk, c, hash_token(self.tokens[handle]), person)
        ).result()

    def open_work(self, handle: str, stage: str = "judge") -> list[str]:
        a, person = tables().assignments, self.person(handle)
        query = a.select().where(
            a.c.person_id == person.id, a.c.state == "open", a.c.stage == stage, a.c.live.is_(True)
        )
        return [row.pid for row in self.desk.read(lambda c: c.execute(query.order_by(a.c.id)).all())]

    def send(self, handle: str, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        async def go() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            cookies = {self.auth.cookie: self.tokens[handle]}
            async with httpx.AsyncClient(transport=transport, base_url=ORIGIN, cookies=cookies) as http:
                return await http.request(
                    method, path, json=body, headers={"Sec-Fetch-Site": "same-origin", **headers}
                )

        return asyncio.run(go())

    def draft(self, handle: str, pid: str, note: str, seq: int, base: int = 0) -> httpx.Response:
        body = {"client_id": "tab", "seq": seq, "base": base, "sheet": {"note": note}}
        return self.send(handle, "PUT", f"/w/{pid}/draft", body)

    def submit(self, handle: str, pid: str, note: str, *, rev: int = 0, key: str = "") -> httpx.Response:
        headers = {"If-Match": f'"{rev}"', "Idempotency-Key": key or new_token()}
        body = {"sheet": {"question": "wrong", "note": note}}
        return self.send(handle, "POST", f"/w/{pid}/submit", body, **headers)

    def note(self, handle: str, pid: str) -> str:
        draft = self.desk.read(lambda c: work.load_work(self.desk, c, pid, self.person(handle))).draft
        assert draft is not None
        return draft.sheet.note


@pytest.fixture
def room(bench: Path) -> Iterator[Callable[..., Room]]:
    made: list[Room] = []

    def make(**more: Any) -> Room:
        made.append(Room(bench, **more))
        made[-1].sign_in("ana")
        return made[-1]

    yield make
    for one in made:
        one.close()


# -- locked --------------------------------------------------------------------------------------------------------


@contextmanager
def locked(file: Path, how: str = "EXCLUSIVE") -> Iterator[Any]:
    """Another process that writes and does not end."""
    with closing(sqlite3.connect(file, isolation_level=None, check_same_thread=False)) as other:
        other.execute(f"BEGIN {how}")
        yield other
        if other.in_transaction:
            other.execute("ROLLBACK")


def test_a_save_waits_for_another_process(room: Any) -> None:
    one = room()
    pid = one.open_work("ana")[0]
    with locked(one.file) as other:
        release = threading.Timer(0.7, lambda: other.execute("ROLLBACK"))
        release.start()
        assert one.draft("ana", pid, "waited", 1).status_code == 200
        assert not other.in_transaction, "it did not wait"
        release.join()
    assert one.note("ana", pid) == "waited"


def test_a_save_that_waited_too_long_says_so_and_succeeds_later(room: Any) -> None:
    one = room(busy_seconds=0.3)
    pid = one.open_work("ana")[0]
    assert one.draft("ana", pid, "before", 1).status_code == 200
    with locked(one.file):
        for answer in (one.draft("ana", pid, "meanwhile", 2), one.submit("ana", pid, "meanwhile")):
            assert answer.status_code == 503
            assert answer.headers["content-type"] == "application/problem+json"
            assert "locked" not in answer.text
            assert "sqlite" not in answer.text.lower()
            assert "Nothing that was saved is lost" in answer.json()["detail"]
        assert one.send("ana", "GET", f"/w/{pid}", Accept="text/html").status_code == 200, "reading goes on"
    assert one.note("ana", pid) == "before"
    assert one.draft("ana", pid, "after", 3).status_code == 200
    assert one.submit("ana", pid, "after").json()["rev"] == 1


# -- full ----------------------------------------------------------------------------------------------------------


def test_a_full_disk_is_said_and_earlier_work_is_there(room: Any) -> None:
    one = room()
    pids = one.open_work("ana")
    assert one.draft("ana", pids[0], "before", 1).status_code == 200
    assert one.submit("ana", pids[1], "before", key="k" * 20).status_code == 200
    full = True

    @event.listens_for(one.desk.database.engine, "begin")
    def _limit(connection: Any) -> None:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages if full else 1_000_000}")

    long = "x" * 60_000
    answers = [one.draft("ana", pids[2 + n % 2], long, 2 + n) for n in range(6)]
    told = [a for a in answers if a.status_code != 200]
    assert told, "the file did not fill up"
    for answer in told:
        assert answer.status_code == 507
        assert answer.json()["title"] == "The server's disk is full"
        assert "Nothing that was saved is lost" in answer.json()["detail"]
    assert one.send("ana", "GET", "/", Accept="text/html").status_code == 200
    assert one.note("ana", pids[0]) == "before"
    full = False
    answer = one.draft("ana", pids[2], long, 20)
    assert answer.status_code == 200
    assert one.note("ana", pids[2]) == long
    assert one.submit("ana", pids[1], "before", key="k" * 20).json()["again"] is True
    assert one.desk.read(check_chain)[1] is None


def test_no_file_may_grow_any_more(bench: Path, serve: Any, hire: Any) -> None:
    """The operating system refuses every byte beyond a limit, in the real server; then it does not."""
    crew = hire()
    server, worker = serve(bench), crew.workers[0]
    for pid in worker.pids[:3]:
        assert worker.draft(server, pid, "before")[0] == 200
    sizes = [f.stat().st_size for f in bench.glob("verification.sqlite*")]
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (max(sizes), resource.RLIM_INFINITY))
    statuses: list[int] = []
    for n in range(100):  # turn by turn: one alone would be told to slow down
        other = crew.workers[n % 6]
        statuses.append(other.draft(server, other.pids[3 + n % 2], "y" * 200_000)[0])
        if statuses[-1] >= 500:
            break
    assert statuses[-1] in (503, 507), statuses
    assert worker.send(server, "GET", "/", Accept="text/html")[0] == 200
    resource.prlimit(
        server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    )
    assert worker.draft(server, worker.pids[5], "after")[0] == 200
    assert worker.submit(server, worker.pids[0], "done")[0] == 200
    server.kill()
    assert crew.check()[0] == 1


# -- read-only -----------------------------------------------------------------------------------------------------


def _drop_powers() -> None:
    """Take from root what lets it write to files that say no (CAP_DAC_OVERRIDE), from the next exec on."""
    if os.geteuid() == 0:
        drop, override, search = 24, 1, 2  # PR_CAPBSET_DROP and two capabilities
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(drop, override, 0, 0, 0) or libc.prctl(drop, search, 0, 0, 0):
            os._exit(77)


def refused(done: Outcome, *words: str) -> str:
    """A user's mistake: exit status 2, a message that says where, no traceback."""
    told = done.out + done.err
    assert done.status == 2, (done.status, told[-2_000:])
    assert "Traceback" not in told
    for word in words:
        assert word in told, told
    return told


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_workspace_that_cannot_be_written(what: str, bench: Path) -> None:
    (bench / "verification.sqlite").chmod(0o444)
    before = (bench / "verification.sqlite").read_bytes()
    if what == "folder":
        (bench / "verification.sqlite").unlink()
        (bench / KEY_FILE).unlink()
    bench.chmod(0o555)
    try:
        done = proctor_process("studio", bench, "--port", "0", preexec_fn=_drop_powers)
    finally:
        bench.chmod(0o755)
    if done.status == 77:
        pytest.skip("root keeps its powers here")
    refused(done, "writable")
    if what == "file":
        assert (bench / "verification.sqlite").read_bytes() == before


# -- clocks --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("back", [3_600.0, 3 * DAY])
def test_a_clock_that_is_set_back(back: float, room: Any) -> None:
    one = room()
    ana = one.person("ana")
    pid = one.open_work("ana")[0]
    assert one.submit("ana", pid, "first").json()["rev"] == 1
    one.shift = -back
    assert one.send("ana", "GET", f"/w/{pid}/state").json()["submitted"]["note"] == "first", "still signed in"
    assert one.draft("ana", pid, "draft", 1).status_code == 200
    assert one.draft("ana", pid, "later draft", 2, base=1).json()["version"] == 2
    assert one.submit("ana", pid, "second", rev=1).json()["rev"] == 2
    verdicts = one.desk.read(latest_verdicts)
    mine = [v for v in verdicts if v.annotator == ana.pid and v.note in ("first", "second")]
    assert [v.note for v in mine] == ["second"], "saved later is later, whatever the clocks say"
    assert one.send("ana", "GET", f"/w/{pid}/state").json()["submitted"]["note"] == "second"
    assert one.desk.read(check_chain)[1] is None
    one.sign_in("ben")  # a session made by the wrong clock ...
    one.shift = 0.0
    expected = 200 if back < people.IDLE_SECONDS else 401
    assert one.send("ben", "GET", "/").status_code == expected, "... is as old as it says"
    assert one.send("ana", "GET", "/").status_code == 200


@pytest.mark.parametrize("back", [3_600.0, 3 * DAY])
def test_a_reserved_case_and_a_clock_that_is_set_back(back: float, room: Any) -> None:
    """It is not out of reach for as long as the clock is wrong, and it is decided once."""
    one = room()
    edda = one.person("edda")
    protocol = msgspec.structs.replace(
        one.desk.read(documents.protocol), repeat_share=0.0
    )  # repeats are no verdicts
    fresh = one.desk.write(
        lambda c: people.add(
            one.desk, c, handle="second", name="S", role="adjudicator", actor="cli", gate="open"
        )
    ).result()

    def take(person: Person) -> str | None:
        found: str | None = one.desk.write(
            lambda c: flow.next_work(one.desk, c, person, protocol, "adjudicate")
        ).result()
        return found

    def item_of(pid: str) -> int:
        a = tables().assignments
        return int(one.desk.read(lambda c: c.execute(a.select().where(a.c.pid == pid)).one()).item_id)

    def decide(person: Person, pid: str) -> None:
        cards = one.desk.read(lambda c: work.load_work(one.desk, c, pid, person)).cards
        sheet = Sheet(
            question="right" if cards.question_open else None, answers=("right",) * len(cards.texts)
        )
        one.desk.write(
            lambda c: work.submit(
                one.desk, c, pid, person, sheet=sheet, rev=0, key=new_token(), protocol=protocol
            )
        ).result()

    mine = take(edda)
    assert mine is not None
    one.shift = -back
    assert take(edda) == mine, "it is still hers while nobody else asks"
    decided = set()
    for _ in range(12):
        found = take(fresh)
        if found is None:
            break
        decided.add(item_of(found))
        decide(fresh, found)
    assert item_of(mine) in decided, "a reservation from the future keeps nobody waiting"
    with pytest.raises(GoneError):
        decide(edda, mine)
    verdicts = one.desk.read(latest_verdicts)
    names = {r.id: r.candidate_id for r in one.desk.read(lambda c: c.execute(tables().items.select()).all())}
    for item in decided:
        assert len([v for v in verdicts if v.role == "adjudicator" and v.candidate_id == names[item]]) == 1
    assert one.desk.read(check_chain)[1] is None


# -- starting on what is broken ------------------------------------------------------------------------------------


def test_the_key_is_gone(bench: Path) -> None:
    (bench / KEY_FILE).unlink()
    refused(proctor("studio", bench, "--port", "0"), KEY_FILE, "restore the file from a copy")
    assert not (bench / KEY_FILE).exists(), "a new key would shuffle cards under people's hands"


@pytest.mark.parametrize("text", ["", "abc", "zz" * 32, "00" * 32, "00" * 31, "\x00\xff"])
def test_the_key_is_another_one(text: str, bench: Path) -> None:
    (bench / KEY_FILE).chmod(0o600)
    (bench / KEY_FILE).write_text(text, "utf-8")
    told = refused(proctor("studio", bench, "--port", "0"), KEY_FILE)
    assert not text.strip("\x00\xff") or text not in told


def _cut(bench: Path) -> None:
    path = bench / "candidates.jsonl"
    path.write_bytes(path.read_bytes()[:-40])


def _long_line(bench: Path) -> None:
    with (bench / "candidates.jsonl").open("a") as file:
        file.write('{"id":"' + "x" * 10_000_000 + "\n")


def _cycle(bench: Path) -> None:
    graphs = json.loads((bench / "graphs.json").read_text())
    lamp = graphs["lamp"]
    lamp["edges"].append(list(reversed(lamp["edges"][0])))
    (bench / "graphs.json").write_text(json.dumps(graphs))


def _twice(bench: Path) -> None:
    path = bench / "candidates.jsonl"
    path.write_text(path.read_text() + path.read_text().splitlines()[0] + "\n")


def _write(name: str, body: bytes) -> Callable[[Path], None]:
    return lambda bench: (bench / name).write_bytes(body) and None


def _remove(name: str) -> Callable[[Path], None]:
    return lambda bench: (bench / name).unlink()


def _nan(bench: Path) -> None:
    path = bench / "examples.jsonl"
    path.write_text(path.read_text().replace('"end":6.0', '"end":NaN', 1))


BROKEN: dict[str, tuple[Callable[[Path], None], str]] = {
    "candidates cut short": (_cut, "candidates.jsonl"),
    "a line of ten megabytes": (_long_line, "candidates.jsonl"),
    "a candidate twice": (_twice, "candidates.jsonl"),
    "candidates gone": (_remove("candidates.jsonl"), "candidates.jsonl"),
    "candidates are no text": (_write("candidates.jsonl", b"\xff\xfe\x00" * 50), "candidates.jsonl"),
    "candidates are empty": (_write("candidates.jsonl", b""), "candidates.jsonl"),
    "a cycle in a graph": (_cycle, "graphs.json"),
    "graphs are a list": (_write("graphs.json", b"[[[["), "graphs.json"),
    "graphs are deep": (_write("graphs.json", b"[" * 100_000), "graphs.json"),
    "an end that is no number": (_nan, "examples.jsonl"),
    "examples gone": (_remove("examples.jsonl"), "examples.jsonl"),
    "settings are no settings": (_write("proctor.toml", b"= = ="), "proctor.toml"),
    "the store is no store": (
        _write("verification.sqlite", b"not a database, but long enough " * 200),
        "verification.sqlite",
    ),
}


@pytest.mark.parametrize(("spoil", "where"), BROKEN.values(), ids=BROKEN.keys())
def test_a_workspace_that_is_broken_at_the_start(
    spoil: Callable[[Path], None], where: str, bench: Path
) -> None:
    spoil(bench)
    told = refused(proctor("studio", bench, "--port", "0"), where)
    assert len(told) < 2_000, "ten megabytes are not repeated"


def test_the_store_of_a_broken_workspace_is_left_alone(bench: Path) -> None:
    with closing(sqlite3.connect(bench / "verification.sqlite")) as store:
        before = list(store.iterdump())
    _cut(bench)
    refused(proctor("studio", bench, "--port", "0"))
    with closing(sqlite3.connect(bench / "verification.sqlite")) as store:
        assert list(store.iterdump()) == before


def test_a_copy_can_be_restored(bench: Path, tmp_path: Path) -> None:
    """The copy that the studio makes is a whole store."""
    done = proctor("studio", "backup", bench)
    assert done.status == 0, done.err
    copies = list(bench.glob("*.bak"))
    assert len(copies) == 1
    shutil.copytree(bench, tmp_path / "restored")
    for old in (tmp_path / "restored").glob("verification.sqlite*"):
        old.unlink()
    shutil.copy(copies[0], tmp_path / "restored" / "verification.sqlite")
    checked = proctor("studio", "check", tmp_path / "restored", "--json")
    assert checked.status == 0, checked.err
    assert checked.json["intact"] is True
    with closing(sqlite3.connect(tmp_path / "restored" / "verification.sqlite")) as changed:
        changed.execute("UPDATE proctor_events SET actor = 'nobody' WHERE id = 5")
        changed.commit()
    refused(proctor("studio", "check", tmp_path / "restored"), "event 5")


def test_a_running_studio_keeps_a_copy(room: Any, bench: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hourly; an hour is short here."""
    monkeypatch.setattr("proctor.studio.app._HOUR", 0.1)
    one = room()
    pid = one.open_work("ana")[0]
    assert one.submit("ana", pid, "kept in the copy").status_code == 200
    copy = bench / "verification.sqlite.hourly.bak"
    with TestClient(one.app, base_url=ORIGIN):
        wait_until(copy.is_file)
    with closing(sqlite3.connect(copy)) as store:
        notes = store.execute("SELECT sheet FROM proctor_responses").fetchall()
        assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert any("kept in the copy" in row[0] for row in notes)

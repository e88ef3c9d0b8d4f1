"""A server in a process of its own on a copy of the sample project, and people who work on it over the wire."""

from __future__ import annotations

import http.client
import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from proctor.stages.studio import open_desk, sync_desk
from proctor.studio.auth import hash_token, new_token
from proctor.verify.desk import documents, people, roster, work
from proctor.verify.policy import Policy
from proctor.verify.schema import tables

COMMAND = (sys.executable, "-c", "from proctor.cli.main import main; main()")
CREW = tuple(f"w{n}" for n in range(8))


class Server:
    """``proctor studio WORKSPACE`` as a process."""

    def __init__(self, bench: Path, database: str | None = None, **popen: Any) -> None:
        self.bench = bench
        more = ["--database", database] if database else []
        self.log = bench.parent / f"server-{uuid.uuid4().hex[:6]}.log"
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                [*COMMAND, "studio", str(bench), "--port", "0", *more],
                stdout=out,
                stderr=out,
                env={**os.environ, "PYTHONWARNINGS": "ignore"},
                **popen,
            )
        self.port = self._wait()

    def _wait(self) -> int:
        end = time.monotonic() + 60
        while time.monotonic() < end and self.process.poll() is None:
            found = re.search(r"http://127\.0\.0\.1:(\d+)", self.text)
            if found:
                return int(found[1])
            time.sleep(0.03)
        raise AssertionError(f"the server did not start: {self.text}")

    @property
    def text(self) -> str:
        return self.log.read_text(errors="replace")

    @property
    def cookie(self) -> str:
        return f"proctor-{self.port}"

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(60)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def end(self) -> None:
        if self.process.poll() is None:
            self.kill()


@dataclass
class Worker:
    """Somebody signed in, one connection at a time; what the server acknowledged is written down."""

    token: str
    pids: list[str]
    cards: dict[str, int]
    drafts: dict[str, tuple[str, int]] = field(default_factory=dict)
    submits: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    statuses: list[int] = field(default_factory=list)
    seq: int = 0
    number: int = 0

    def send(
        self, server: Server, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[int, Any]:
        link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        try:
            sent = {"Cookie": f"{server.cookie}={self.token}", "Sec-Fetch-Site": "same-origin", **headers}
            text = None
            if body is not None:
                text, sent["Content-Type"] = json.dumps(body), "application/json"
            link.request(method, path, body=text, headers=sent)
            answer = link.getresponse()
            data = answer.read()
            self.statuses.append(answer.status)
            json_like = "json" in (answer.getheader("content-type") or "")
            return answer.status, json.loads(data) if json_like else data.decode(errors="replace")
        finally:
            link.close()

    def draft(self, server: Server, pid: str, note: str, client: str = "load") -> tuple[int, Any]:
        self.seq += 1
        known = self.drafts.get(pid, ("", 0))[1]
        body = {"client_id": client, "seq": self.seq, "base": known, "sheet": {"note": note}}
        status, data = self.send(server, "PUT", f"/w/{pid}/draft", body)
        if status == 200:
            self.drafts[pid] = (note, data["version"])
        return status, data

    def submit(self, server: Server, pid: str, note: str, key: str | None = None) -> tuple[int, Any]:
        key, done = key or uuid.uuid4().hex, self.submits.setdefault(pid, [])
        sheet = {"question": "wrong", "note": note}
        headers = {"If-Match": f'"{done[-1][1] if done else 0}"', "Idempotency-Key": key}
        status, data = self.send(server, "POST", f"/w/{pid}/submit", {"sheet": sheet}, **headers)
        if status == 200:
            done.append((note, data["rev"]))
        return status, data


class Crew:
    """Eight people with items of their own."""

    def __init__(self, bench: Path, database: str | None) -> None:
        self.bench, self.database = bench, database
        self.workers: list[Worker] = []
        with open_desk(bench, database) as desk:
            sync_desk(bench, desk)

            def hire(c: Any) -> list[Any]:
                found = []
                for handle in CREW:
                    one = people.add(
                        desk, c, handle=handle, name=handle, role="annotator", actor="cli", gate="open"
                    )
                    for kind, note in (
                        ("consent", people.consent_given),
                        ("guideline", people.guideline_ticked),
                    ):
                        text = documents.latest(c, kind)  # type: ignore[arg-type]
                        assert text is not None
                        note(desk, c, one, text.version)
                    found.append(people.by_pid(desk, c, one.pid))
                plan = roster.plan_deal(desk, c, found, Policy(name="everything"), limit=60)
                roster.apply_deal(desk, c, plan, actor="cli")
                return found

            a = tables().assignments
            for person in desk.write(hire).result():
                token = new_token()
                desk.write(
                    lambda c, t=token, p=person: people.open_session(desk, c, hash_token(t), p)
                ).result()
                query = a.select().where(a.c.person_id == person.id, a.c.state == "open", a.c.live.is_(True))
                pids = [
                    r.pid for r in desk.read(lambda c, q=query: c.execute(q.order_by(a.c.queue_pos)).all())
                ]
                cards = {
                    p: len(desk.read(lambda c, p=p, w=person: work.load_work(desk, c, p, w)).cards.texts)
                    for p in pids
                }
                self.workers.append(Worker(token, pids, cards))

    def load(self, server: Server, stop: threading.Event, *, share: int = 2) -> list[threading.Thread]:
        """Start four threads in which people save and submit until the server dies or ``stop`` is set."""

        def go(mine: list[Worker]) -> None:
            while not stop.is_set():
                for worker in mine:
                    pid = worker.pids[worker.number % len(worker.pids)]
                    worker.number += 1
                    with suppress(OSError, http.client.HTTPException, json.JSONDecodeError):
                        worker.draft(server, pid, f"draft {worker.number}")
                        worker.submit(server, pid, f"submit {worker.number}")
                    if server.process.poll() is not None:
                        return

        groups = [self.workers[n::4] for n in range(4)]
        threads = [threading.Thread(target=go, args=(g,), daemon=True) for g in groups]
        for thread in threads:
            thread.start()
        return threads

    @property
    def submitted(self) -> int:
        """Submits that were acknowledged so far."""
        return sum(len(done) for worker in self.workers for done in list(worker.submits.values()))

    def check(self) -> tuple[int, int]:
        """Compare the store with what was acknowledged: every submit once, every last draft or a later one."""
        from proctor.verify.desk.events import check_chain

        t = tables()
        with open_desk(self.bench, self.database, create=False) as desk, desk.reading() as c:
            assert check_chain(c)[1] is None
            rows = c.execute(t.responses.select()).all()
            ids = {r.pid: r for r in c.execute(t.assignments.select()).all()}
            drafts = {r.assignment_id: r for r in c.execute(t.drafts.select()).all()}
            digests = {r.digest for r in c.execute(t.verdicts.select()).all()}
            judged = {r.response_id for r in c.execute(t.question_judgements.select()).all()}
            submits = kept_drafts = 0
            for worker in self.workers:
                for pid, done in worker.submits.items():
                    mine = [r for r in rows if r.assignment_id == ids[pid].id]
                    for note, rev in done:
                        same = [r for r in mine if json.loads(r.sheet)["note"] == note]
                        assert len(same) == 1, (pid, note, len(same))
                        assert same[0].rev == rev
                        submits += 1
                    assert sorted(r.rev for r in mine) == list(range(1, ids[pid].rev + 1))
                    for row in mine:  # whole or not at all
                        assert row.verdict_digest in digests
                        assert row.id in judged
                    if mine:
                        assert ids[pid].state == "submitted"
                for pid, (note, version) in worker.drafts.items():
                    row = drafts[ids[pid].id]
                    assert row.version >= version
                    if row.version == version:
                        assert json.loads(row.sheet)["note"] == note
                    kept_drafts += 1
        return submits, kept_drafts

    def catch_up(self) -> None:
        """After a restart the pages ask where they stand."""
        with open_desk(self.bench, self.database, create=False) as desk:
            revs = {r.pid: r.rev for r in desk.read(lambda c: c.execute(tables().assignments.select()).all())}
        for worker in self.workers:
            for pid in worker.pids:
                done = worker.submits.setdefault(pid, [])
                if revs[pid] > (done[-1][1] if done else 0):
                    with open_desk(self.bench, self.database, create=False) as desk, desk.reading() as c:
                        t = tables()
                        query = t.responses.select().join(
                            t.assignments, t.assignments.c.id == t.responses.c.assignment_id
                        )
                        rows = c.execute(
                            query.where(t.assignments.c.pid == pid, t.responses.c.rev == revs[pid])
                        ).all()
                    done.append((json.loads(rows[0].sheet)["note"], revs[pid]))


@pytest.fixture
def bench(tmp_path: Path, demo_bench: Path) -> Path:
    """A workspace of one's own."""
    shutil.copytree(demo_bench, tmp_path / "bench")
    return tmp_path / "bench"


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Starts servers, and ends them whatever happens."""
    servers: list[Server] = []

    def start(*args: Any, **more: Any) -> Server:
        servers.append(Server(*args, **more))
        return servers[-1]

    yield start
    for server in servers:
        server.end()


@pytest.fixture
def hire(bench: Path) -> Callable[..., Crew]:
    """Brings eight people in."""
    return lambda database=None, root=bench: Crew(root, database)


# -- a PostgreSQL server that can be stopped ---------------------------------------------------------------------


class Cluster:
    """A server of one's own, on the same port after every start."""

    def __init__(self, binaries: Path, folder: Path, port: int, user: dict[str, Any]) -> None:
        self.binaries, self.folder, self.port, self.user = binaries, folder, port, user
        self.url = f"postgresql://proctor@127.0.0.1:{port}/postgres"
        self._call("initdb", "-D", str(folder / "data"), "-U", "proctor", "-A", "trust", "-E", "UTF8", "-N")

    def _call(self, name: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self.binaries / name), *arguments],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if name == "initdb" else subprocess.DEVNULL,
            stderr=subprocess.STDOUT if name == "initdb" else subprocess.DEVNULL,
            timeout=120,
            **self.user,
        )
        assert done.returncode == 0, (name, done.stdout)

    def start(self) -> None:
        options = f"-c listen_addresses=127.0.0.1 -p {self.port} -k {self.folder}"
        self._call(
            "pg_ctl",
            "-D",
            str(self.folder / "data"),
            "-w",
            "-l",
            str(self.folder / "log"),
            "-o",
            options,
            "start",
        )

    def stop(self, mode: str = "immediate") -> None:
        self._call("pg_ctl", "-D", str(self.folder / "data"), "-w", "-m", mode, "stop")


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A running PostgreSQL server that a test may stop and start."""
    import socket

    pytest.importorskip("psycopg", reason="needs the extra 'postgres'")
    binaries = next(
        (
            f
            for f in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
            if (f / "initdb").exists()
        ),
        None,
    )
    if binaries is None:
        pytest.skip("needs the PostgreSQL server binaries in /usr/lib/postgresql")
    folder = Path(tempfile.mkdtemp(prefix="proctor-fault-"))
    user: dict[str, Any] = {}
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    made = Cluster(binaries, folder, port, user)
    made.start()
    yield made
    with suppress(AssertionError):
        made.stop()
    shutil.rmtree(folder, ignore_errors=True)

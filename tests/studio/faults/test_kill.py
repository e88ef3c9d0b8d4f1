"""SIGKILL under load, SIGTERM, two servers, a database server that goes away (issue, Faults; field 11)."""

from __future__ import annotations

import random
import shutil
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.patience import wait_until

from proctor.stages.studio import open_desk
from proctor.verify.desk import people

KILLS = 2


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest) -> str | None:
    """None for the workspace's own file."""
    url: str | None = None if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    return url


def test_every_acknowledged_save_survives_sigkill(
    database: str | None, bench: Path, serve: Any, hire: Any
) -> None:
    crew, rng = hire(database), random.Random(11)
    for _ in range(KILLS):
        server, stop = serve(bench, database), threading.Event()
        before, wanted = crew.submitted, rng.randint(12, 24)
        threads = crew.load(server, stop)
        wait_until(lambda b=before, w=wanted: crew.submitted >= b + w)  # type: ignore[misc]
        time.sleep(rng.uniform(0.0, 0.1))
        server.kill()
        stop.set()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
        crew.check()
        crew.catch_up()
        assert not [s for w in crew.workers for s in w.statuses if s not in (200, 429)]
    submits, drafts = crew.check()
    assert submits >= 20, submits
    assert drafts >= 8
    crew.workers[0].submits[crew.workers[0].pids[0]].append(("never sent", 1))
    with pytest.raises(AssertionError):  # the comparison notices one that is missing
        crew.check()


def test_a_submit_whose_answer_was_lost_counts_once(bench: Path, serve: Any, hire: Any) -> None:
    """The page sends it again under the same key, to the server after the kill."""
    crew = hire()
    worker = crew.workers[0]
    server = serve(bench)
    status, first = worker.submit(server, worker.pids[0], "sent", key="k" * 20)
    assert status == 200
    server.kill()
    server = serve(bench)
    worker.submits.clear()
    status, second = worker.submit(server, worker.pids[0], "sent", key="k" * 20)
    assert (status, second["rev"], second["again"]) == (200, first["rev"], True)
    assert crew.check()[0] == 1


def test_sigterm_answers_what_is_under_way(bench: Path, serve: Any, hire: Any) -> None:
    crew = hire()
    worker, server, answers = crew.workers[0], serve(bench), []
    with closing(sqlite3.connect(bench / "verification.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        saving = threading.Thread(
            target=lambda: answers.append(worker.draft(server, worker.pids[0], "last words"))
        )
        saving.start()
        time.sleep(0.4)
        for _ in range(3):  # those that come later are answered, so this one is under way
            assert worker.send(server, "GET", "/healthz")[0] == 200
        server.process.terminate()
        time.sleep(0.6)
        assert server.process.poll() is None, "it did not wait for the save"
        other.execute("ROLLBACK")
    saving.join(60)
    assert answers[0][0] == 200
    assert server.process.wait(60) in (0, -15, 143)
    assert crew.check()[1] == 1


# -- PostgreSQL ----------------------------------------------------------------------------------------------------


@pytest.mark.postgres
def test_two_servers_on_one_store(
    bench: Path, tmp_path: Path, postgres_url: str, serve: Any, hire: Any
) -> None:
    crew = hire(postgres_url)
    shutil.copytree(bench, tmp_path / "second" / "bench")
    one, two = serve(bench, postgres_url), serve(tmp_path / "second" / "bench", postgres_url)
    worker = crew.workers[0]
    for n, pid in enumerate(worker.pids[:6]):  # a session is good on both, and saves interleave
        first, second = (one, two) if n % 2 else (two, one)
        assert worker.draft(first, pid, f"draft {n}")[0] == 200
        assert worker.draft(second, pid, f"draft {n} again")[0] == 200
        assert worker.submit(first, pid, f"submit {n}", key=f"key-of-{pid}")[0] == 200
        status, again = worker.send(
            second,
            "POST",
            f"/w/{pid}/submit",
            {"sheet": {"question": "wrong", "note": f"submit {n}"}},
            **{"If-Match": '"0"', "Idempotency-Key": f"key-of-{pid}"},
        )
        assert (status, again["rev"]) == (200, 1)
    stop = threading.Event()
    threads = [t for server in (one, two) for t in crew.load(server, stop)]
    time.sleep(1.0)
    stop.set()
    for thread in threads:
        thread.join(60)
    statuses = {s for w in crew.workers for s in w.statuses}
    assert statuses <= {200, 409, 429}, statuses

    with open_desk(bench, postgres_url) as desk:
        person = desk.read(lambda c: people.by_handle(desk, c, "w0"))
        assert person is not None
        desk.write(lambda c: people.end_all_sessions(desk, c, person, actor="cli")).result()
    for server in (one, two):
        granted = 0
        while worker.send(server, "GET", f"/w/{worker.pids[0]}/state")[0] == 200:
            granted += 1
            assert granted <= 60, "two seconds are remembered, no more"  # sixty of these last three or more
            time.sleep(0.05)


@pytest.mark.postgres
def test_the_database_server_goes_and_comes_back(bench: Path, cluster: Any, serve: Any, hire: Any) -> None:
    crew = hire(cluster.url)
    server, worker = serve(bench, cluster.url), crew.workers[0]
    pid = worker.pids[0]
    assert worker.draft(server, pid, "before")[0] == 200
    cluster.stop()
    for _ in range(3):
        status, told = worker.draft(server, pid, "meanwhile")
        assert status == 503, told
        assert told["status"] == 503
        assert "psycopg" not in str(told)
        assert "127.0.0.1" not in str(told)
    status, page = worker.send(server, "GET", "/", Accept="text/html")
    assert status == 503
    assert "Traceback" not in page
    cluster.start()
    wait_until(lambda: worker.draft(server, pid, "after")[0] == 200, pause=0.1)
    assert worker.submit(server, pid, "done")[0] == 200
    assert crew.check() == (1, 1)

"""Real processes, a real server, SIGKILL: what is finished is never sent again, and nothing finished is lost."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lives import KILLS

from proctor.llm.outcome import Reply
from proctor.llm.store import CallStore, Selection
from proctor_rehearsal.standin import Standin

CALLS = 200

LAUNCHER = """
import asyncio, os, resource, signal, sys, threading
import aiohttp, sqlalchemy.dialects.sqlite, msgspec
from proctor.errors import UserError
from proctor.llm.budget import Budget, Need
from proctor.llm.blocking import run_calls
from proctor.llm.caller import Caller
from proctor.llm.flow import Flow, FlowSettings, Limits
from proctor.llm.media import MediaStore
from proctor.llm.message import Parameters, Request, system, user
from proctor.llm.providers import compat
from proctor.llm.store import CallStore

class Meter:
    def need(self, request):
        return Need(model=request.model, tokens=50, cost=100)
    def cost(self, model, usage):
        return None if usage.input is None else usage.input + usage.output

def requests(model, count):
    for n in range(count):
        yield Request(model=model, messages=(system("You answer."), user(f"question {n}")),
                      parameters=Parameters(temperature=0.0, max_tokens=40))

def work(store, model, count):
    settings = FlowSettings(limits=Limits(concurrency=16, max_concurrency=16))
    with CallStore.open(store) as store:
        caller = Caller(store, MediaStore(), Flow(settings), Budget(), meter=Meter())
        kinds = [type(outcome).__name__ for _, outcome in run_calls(caller, requests(model, count), stage="s")]
    print("done", len(kinds), *sorted(set(kinds)), flush=True)

for line in sys.stdin:
    store, model, count, limit = line.split()
    pid = os.fork()  # everything is imported: a new process costs milliseconds
    if not pid:
        try:
            if int(limit):
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
            work(store, model, int(count))
        except UserError as error:
            print("error", str(error).replace(chr(10), " "), flush=True)
        finally:
            sys.stderr.flush()
            os._exit(0)
    print("pid", pid, flush=True)
    os.waitpid(pid, 0)
    print("ended", flush=True)
"""


class Launcher:
    """Starts processes that make calls."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", LAUNCHER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def start(self, store: Path, model: str, count: int = CALLS, *, limit: int = 0) -> int:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{store} {model} {count} {limit}\n")
        self._process.stdin.flush()
        kind, _, pid = self._line().partition(" ")
        while kind != "pid":
            kind, _, pid = self._line().partition(" ")
        return int(pid)

    def wait(self) -> str:
        """Return what the process said last, empty when it was killed."""
        said = ""
        while (line := self._line()) != "ended":
            said = line
        return said

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            assert self._process.stderr is not None
            pytest.fail(self._process.stderr.read())
        return line.strip()

    def close(self) -> None:
        _, errors = self._process.communicate(timeout=60)
        assert errors == ""


@pytest.fixture(scope="module")
def launchers() -> Iterator[tuple[Launcher, Launcher]]:
    """Two for all tests: what each imports takes half a second."""
    both = Launcher(), Launcher()
    yield both
    for launcher in both:
        launcher.close()


@pytest.fixture
def server() -> Iterator[Standin]:
    """Says what it was asked, after a moment."""
    with Standin(rules=[{"behaviour": "echo"}], latency={"seconds": 0.02}) as standin:
        yield standin
        assert standin.errors == []


def model_of(server: Standin) -> str:
    return f"compat/echo@{server.url}/v1"


def seen(server: Standin) -> Counter[str]:
    """How often each question came."""
    return Counter(record.json["messages"][-1]["content"] for record in server.requests)


def finished(path: Path) -> dict[str, Reply]:
    """Question and reply of every call that the store has an outcome of."""
    import msgspec

    out = {}
    if path.exists():
        with CallStore.open(path) as store:
            for call in store.calls():
                if isinstance(call.result, Reply):
                    request = msgspec.json.decode(call.request)
                    out[request["messages"][1]["parts"][0]["text"]] = call.result
    return out


def texts(replies: dict[str, Reply]) -> dict[str, tuple[str, object]]:
    return {question: (reply.text, reply.usage) for question, reply in replies.items()}


@pytest.fixture
def uninterrupted(tmp_path: Path, server: Standin, launchers: tuple[Launcher, Launcher]) -> dict[str, Reply]:
    """What a run without any accident leaves behind."""
    path = tmp_path / "uninterrupted.sqlite"
    launcher, _ = launchers
    launcher.start(path, model_of(server))
    assert launcher.wait() == f"done {CALLS} Reply"
    assert seen(server) == {f"question {n}": 1 for n in range(CALLS)}
    server.reset()
    replies = finished(path)
    assert len(replies) == CALLS
    assert all(question in reply.text for question, reply in replies.items())
    return replies


def test_sigkill_at_random_points(
    tmp_path: Path, server: Standin, launchers: tuple[Launcher, Launcher], uninterrupted: dict[str, Reply]
) -> None:
    path = tmp_path / "calls.sqlite"
    rng = random.Random(4)
    launcher, _ = launchers
    snapshots: list[tuple[dict[str, Reply], Counter[str]]] = []
    while len(snapshots) < KILLS or not snapshots[-1][0]:  # the last death is after something was stored
        pid = launcher.start(path, model_of(server))
        until = server.count + rng.randint(1, 12)
        while server.count < until:
            time.sleep(0.001)
        longer = max(0, len(snapshots) - KILLS + 1) * 0.02  # a slow machine may need it
        time.sleep(rng.random() * 0.06 + longer)  # before, in and after the commits
        _kill(pid)
        assert launcher.wait() == "", "it was not killed in time"
        snapshots.append((finished(path), seen(server)))
    launcher.start(path, model_of(server))
    assert launcher.wait() == f"done {CALLS} Reply"
    replies, last = finished(path), seen(server)
    assert texts(replies) == texts(uninterrupted)
    for done, counted in snapshots:
        for question, reply in done.items():
            assert replies[question] == reply  # nothing finished is lost or replaced
            assert last[question] == counted[question]  # or sent again
    # Within one life nothing is sent twice, and only what was not on disk at a kill came again in a later one.
    before: Counter[str] = Counter()
    again: Counter[str] = Counter()
    for done, counted in snapshots:
        assert all(counted[question] - before[question] <= 1 for question in counted)
        again.update(q for q in counted if counted[q] > before[q] and q not in done)
        before = counted
    assert all(last[question] <= 1 + again[question] for question in last)
    with CallStore.open(path) as store:
        assert store.count(Selection()) == CALLS


def test_two_processes_at_once_and_one_is_killed(
    tmp_path: Path, server: Standin, launchers: tuple[Launcher, Launcher], uninterrupted: dict[str, Reply]
) -> None:
    path = tmp_path / "calls.sqlite"
    first, second = launchers
    pid = first.start(path, model_of(server))
    second.start(path, model_of(server))
    while server.count < 60:
        time.sleep(0.001)
    _kill(pid)
    assert first.wait() == ""
    done, counted = finished(path), seen(server)
    assert second.wait() == f"done {CALLS} Reply"
    last = seen(server)
    assert texts(finished(path)) == texts(uninterrupted)
    assert all(last[question] == counted[question] for question in done)
    assert set(last.values()) <= {1, 2}
    assert {question for question in last if last[question] == 2} <= {q for q in counted if q not in done}


def test_two_processes_at_once_send_nothing_twice(
    tmp_path: Path, server: Standin, launchers: tuple[Launcher, Launcher]
) -> None:
    path = tmp_path / "calls.sqlite"
    for launcher in launchers:
        launcher.start(path, model_of(server))
    assert [launcher.wait() for launcher in launchers] == [f"done {CALLS} Reply"] * 2
    assert seen(server) == {f"question {n}": 1 for n in range(CALLS)}


def test_a_full_disk_stops_the_run_and_costs_nothing_twice(
    tmp_path: Path, server: Standin, launchers: tuple[Launcher, Launcher], uninterrupted: dict[str, Reply]
) -> None:
    path = tmp_path / "calls.sqlite"
    launcher, _ = launchers
    launcher.start(path, model_of(server), limit=1_000_000)
    said = launcher.wait()
    assert said.startswith("error")
    assert "what was saved before is safe" in said
    done, counted = finished(path), seen(server)
    assert 0 < len(done) < CALLS
    launcher.start(path, model_of(server))
    assert launcher.wait() == f"done {CALLS} Reply"
    assert texts(finished(path)) == texts(uninterrupted)
    assert all(seen(server)[question] == counted[question] for question in done)


def test_a_provider_that_fails_and_comes_back(
    tmp_path: Path, server: Standin, launchers: tuple[Launcher, Launcher]
) -> None:
    path = tmp_path / "calls.sqlite"
    launcher, _ = launchers
    launcher.start(path, model_of(server), 40)
    assert launcher.wait() == "done 40 Reply"
    server.script(faults=[{"kind": "status", "status": 400}])
    launcher.start(path, model_of(server), 60)
    assert launcher.wait() == "done 60 Failure Reply"
    server.script(rules=[{"behaviour": "echo"}])
    launcher.start(path, model_of(server), 60)
    assert launcher.wait() == "done 60 Reply"
    counts = seen(server)
    assert [counts[f"question {n}"] for n in range(60)] == [1] * 40 + [2] * 20
    with CallStore.open(path) as store:
        attempts = store.attempts(call.key for call in store.calls())
    assert sorted(Counter(tuple(a.outcome for a in tries) for tries in attempts.values()).values()) == [
        20,
        40,
    ]


def _kill(pid: int) -> None:
    import os

    os.kill(pid, signal.SIGKILL)
    time.sleep(0.05)  # what it had written to its connections arrives

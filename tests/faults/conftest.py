"""Real ``proctor`` processes that can be killed, a small built benchmark, and a stand-in that plays every model."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.stages.asking import ask

from proctor.llm.fence import FENCE_FILE
from proctor.samples import copy_sample
from proctor.stages.build import build
from proctor.stages.derive import derive
from proctor.stages.generate import generate
from proctor.stages.read import read
from proctor.stages.settings import GenerateSettings
from proctor.stages.verify import verify
from proctor_rehearsal.standin import Answer, Call, Standin

WORKER = '''
import gc, importlib, io, json, os, resource, signal, sys, traceback
for name in ("cli.main", "cli.predict", "cli.judge", "cli.generate", "cli.score", "stages.predict", "stages.judge",
             "stages.generate", "stages.score", "stages.experiment.moment", "stages.experiment.foresee", "llm.providers.compat",
             "llm.registry"):
    importlib.import_module("proctor." + name)
import aiohttp, genai_prices.data_snapshot, jinja2.sandbox, sqlalchemy.dialects.sqlite, tomlkit
from proctor.exam.predict_prompt import evaluation_prompts
from proctor.ask.moment.promqa_prompt import generation_prompts
for prepare in (genai_prices.data_snapshot.get_snapshot, evaluation_prompts, generation_prompts):
    prepare()
gc.collect()
gc.freeze()  # what all have in common is not looked through again, nor copied for it, in each of them
TOUCHES = ("open", "os.rename", "os.remove", "os.mkdir", "sqlite3.connect")

touched = 0

def die_at(point, root, writes):
    """Count touches of files below a folder and die at one; with ``writes`` only those that change files, in more detail."""
    def touch(path):
        global touched
        if root in str(path):
            touched += 1
            if touched == point:
                os.kill(os.getpid(), signal.SIGKILL)

    def is_writing(mode):
        return any(c in str(mode) for c in "wax+")

    def hook(event, arguments):
        if event in TOUCHES and arguments and not (writes and event == "open" and not is_writing(arguments[1])):
            touch(arguments[0])

    def opened(path, mode="r", *rest, **more):
        stream = really_open(path, mode, *rest, **more)
        if is_writing(mode):
            touch(path)  # it is there and empty
        return stream

    def synced(number):
        touch(os.readlink(f"/proc/self/fd/{number}"))
        really_sync(number)

    sys.addaudithook(hook)
    if writes:
        really_open, io.open, really_sync, os.fsync = io.open, opened, os.fsync, synced

def drop_powers():
    """Be an ordinary user as far as permissions of files go, even as root: no capability is left."""
    import ctypes
    header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert ctypes.CDLL(None, use_errno=True).capset(header, data) == 0

def work(order):
    for number, path in ((1, order["out"]), (2, order["err"])):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.update(order["environment"])
    if order["fsize"] is not None:
        sys.stdout, sys.stderr = io.StringIO(), io.StringIO()  # what is printed has room
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["fsize"], resource.RLIM_INFINITY))
    if order["powerless"]:
        drop_powers()
    if order["point"]:
        die_at(order["point"], order["root"], order["writes"])
    sys.argv = ["proctor", *order["arguments"]]
    from proctor.cli.main import main
    if order["ends"]:
        main()
        sys.exit()
    status = 1
    try:
        main()
    except SystemExit as end:
        status = end.code or 0
    except BaseException:
        traceback.print_exc()
    if order["point"] < 0:
        print("touched", touched, file=sys.stderr)
    if order["fsize"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        sys.__stdout__.write(sys.stdout.getvalue())
        sys.__stderr__.write(sys.stderr.getvalue())
    for stream in (sys.__stdout__, sys.__stderr__, sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)

for line in sys.stdin:
    order = json.loads(line)
    if "wait" in order:
        pid, status = os.waitpid(order["wait"], 0 if order["patient"] else os.WNOHANG)
        print(os.waitstatus_to_exitcode(status) if pid else "alive", flush=True)
    else:
        pid = os.fork()  # everything is imported: a new process costs milliseconds
        if not pid:
            work(order)
        print(pid, flush=True)
'''


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended: its exit status, or the negative number of a signal, and what it printed."""

    status: int
    out: str
    err: str


class Launcher:
    """Starts ``proctor`` commands in processes of their own, forked from one that has imported everything.

    What needs no process of its own (a quiet run to compare with, the same command once more) is done in this one.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        self._worker = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(
        self,
        *arguments: object,
        environment: dict[str, str] | None = None,
        fsize: int | None = None,
        point: int = 0,
        root: Path | None = None,
        writes: bool = False,
        powerless: bool = False,
        ends: bool = False,
    ) -> Running:
        """Start a command.

        Args:
            arguments: of the command line.
            environment: further variables.
            fsize: bytes that no file may grow beyond, as on a full disk.
            point: the process kills itself when it touches (opens, renames, removes) a file of ``root`` this many times;
                below 0 it lives and says at its end how many times it did ("touched 30").
            root: see ``point``.
            writes: count only what changes files, and also the moments after opening and before syncing one.
            powerless: permissions of files hold, even for root.
            ends: the interpreter ends as it does for a user; without it, the process is gone once the command is done.
        """
        self._count += 1
        out, err = (str(self._folder / f"{self._count}.{name}") for name in ("out", "err"))
        order = {
            "arguments": [str(a) for a in arguments],
            "environment": environment or {},
            "fsize": fsize,
            "point": point,
            "root": str(root),
            "writes": writes,
            "powerless": powerless,
            "ends": ends,
            "out": out,
            "err": err,
        }
        return Running(self, int(self.ask(order)), Path(out), Path(err))

    def run(self, *arguments: object, **options: Any) -> Ended:
        """Start a command and wait for its end."""
        return self.start(*arguments, **options).wait()

    def ask(self, order: dict[str, Any]) -> str:
        """Give the worker an order and return its answer."""
        assert self._worker.stdin is not None
        assert self._worker.stdout is not None
        self._worker.stdin.write(json.dumps(order) + "\n")
        self._worker.stdin.flush()
        line = self._worker.stdout.readline().strip()
        assert line, "the launcher has ended"
        return line

    def close(self) -> None:
        """End the launcher."""
        self._worker.communicate(timeout=60)


@dataclass(slots=True)
class Running:
    """A process that was started."""

    launcher: Launcher
    pid: int
    out: Path
    err: Path
    ended: int | None = None

    def poll(self) -> int | None:
        """Return how it ended; None while it runs."""
        return self._ask(patient=False)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def wait(self, seconds: float | None = None) -> Ended:
        """Wait for its end; it is killed when it takes longer than so many seconds."""
        if seconds is not None:
            limit = time.monotonic() + seconds
            while self.poll() is None and time.monotonic() < limit:
                time.sleep(0.01)
            if self.ended is None:
                self.send(signal.SIGKILL)
        status = self._ask(patient=True)
        assert status is not None
        return Ended(status, *(path.read_text() if path.exists() else "" for path in (self.out, self.err)))

    def _ask(self, *, patient: bool) -> int | None:
        if self.ended is None:
            said = self.launcher.ask({"wait": self.pid, "patient": patient})
            self.ended = None if said == "alive" else int(said)
        return self.ended


@pytest.fixture(scope="session")
def launcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launcher]:
    """Starts processes."""
    made = Launcher(tmp_path_factory.mktemp("printed"))
    yield made
    made.close()


# -- the benchmark -----------------------------------------------------------------------------------------------

CANDIDATES = 60


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A benchmark of some fifty items, written by rules and accepted by the oracle; not to be changed."""
    home = tmp_path_factory.mktemp("built")
    copy_sample(home / "sample")
    bench = home / "bench"
    read("plain", home / "sample", bench)
    derive(bench)
    generate(bench, GenerateSettings(sample="all"), limit=CANDIDATES)
    verify(bench)
    build(bench)
    # What the stand-in says depends on the request, and this on the secret.
    (bench / FENCE_FILE).write_text("0123456789abcdef" * 4)
    return bench


@pytest.fixture
def bench(built: Path, tmp_path: Path) -> Path:
    """The benchmark, to be changed."""
    return Path(shutil.copytree(built, tmp_path / "bench"))


def contents(root: Path) -> dict[str, bytes]:
    """Return every file below a folder but databases (they hold times) and what killed writers leave."""
    return {
        str(p.relative_to(root)): p.read_bytes()
        for p in sorted(root.rglob("*"))
        if p.is_file()
        and ".sqlite" not in p.name
        and not any(part.startswith(".") for part in p.relative_to(root).parts)
    }


@pytest.fixture(scope="session", name="contents")
def contents_fixture() -> Callable[[Path], dict[str, bytes]]:
    """The function ``contents``: tests cannot import from here."""
    return contents


# -- the models --------------------------------------------------------------------------------------------------


def play(call: Call) -> Answer | None:
    """Play generator, predictors and judges, told apart by their models' names."""
    if call.model.startswith("asker"):
        return ask(call)
    if call.model.startswith("answerer"):
        return Answer(text=f"You should do step {int(call.draw('answer') * 9)} now.")
    if call.model.startswith("marker"):
        if call.draw("kind") < 0.2 and len(call.content.turns) == 1:
            return Answer(text="The two of them agree on 2 of 3 points.")
        return Answer(text=f"The steps were compared.\nVerdict: {int(call.draw('mark') * 3)}")
    return None


@dataclass(slots=True)
class Models:
    """The stand-in, and what tests ask of it."""

    server: Standin
    answer: Callable[[Call], Answer | None] = field(default=play)

    def name(self, role: str) -> str:
        """Return the name of a model."""
        return f"compat/{role}@{self.server.url}/v1"

    def script(self, **fields: Any) -> None:
        """Play as before, with these fields of a script (faults, latency)."""
        self.server.script(answer=self.answer, **fields)

    def settle(self) -> Counter[str]:
        """Wait until nothing is on its way any more and return how often each request came."""
        before, quiet = -1, 0
        while quiet < 5:
            now = self.server.count
            quiet = quiet + 1 if now == before and not self.server.log.in_flight else 0
            before = now
            time.sleep(0.02)
        return Counter(self.server.counts)

    def await_count(self, count: int, running: Running) -> bool:
        """Wait until the server has seen so many requests; False when the process ended before."""
        while self.server.count < count:
            if running.poll() is not None:
                return False
            time.sleep(0.001)
        return True


@pytest.fixture(scope="session")
def server() -> Iterator[Standin]:
    """The stand-in, one for all tests: a workspace's files name its address."""
    with Standin(answer=play) as running:
        yield running


@pytest.fixture(scope="session")
def calmed(server: Standin) -> Callable[[], Standin]:
    """Makes the stand-in play as it should, for fixtures that live longer than a test and come after one."""

    def calm() -> Standin:
        server.script(answer=play)
        return server

    return calm


@pytest.fixture
def models(server: Standin) -> Iterator[Models]:
    """A stand-in that plays all models; a test fails when its rules fail."""
    made = Models(server)
    while server.log.in_flight:  # what a test before left behind
        time.sleep(0.005)
    made.script()
    server.reset()
    yield made
    assert server.errors == []


STORED = "SELECT count(*) FROM proctor_calls WHERE outcome IS NOT NULL"


def stored(path: Path) -> int:
    """Count the final outcomes as SQLite itself sees them; 0 if there is no store yet."""
    if not path.exists():
        return 0
    connection = sqlite3.connect(path)
    try:
        names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
        return int(connection.execute(STORED).fetchone()[0]) if "proctor_calls" in names else 0
    finally:
        connection.close()


@pytest.fixture(scope="session", name="stored")
def stored_fixture() -> Callable[[Path], int]:
    """The function ``stored``: tests cannot import from here."""
    return stored


_NAMED = re.compile(r"Traceback|^\s+File \"", re.MULTILINE)


@pytest.fixture(scope="session")
def is_clean() -> Callable[[str], bool]:
    """Say whether what a command printed shows no traceback."""
    return lambda text: _NAMED.search(text) is None

"""The one harness of what is killed: processes forked from one that has imported everything, and what a store kept.

``PROCTOR_KILLS`` says how often a work is killed; 20 is the whole proof, and five find what is asked or written twice.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from proctor_rehearsal.standin import Standin

__all__ = ["KILLS", "Lives", "answered", "end_many_lives", "outcomes", "settle"]

KILLS = int(os.environ.get("PROCTOR_KILLS", "5"))
PATIENCE = 60.0
ROOT = Path(__file__).resolve().parents[1]


class Lives:
    """Starts processes that do a work.

    Args:
        work: module and function, such as ``tests.ask.documents.killed:live``. It takes texts.
    """

    def __init__(self, work: str) -> None:
        self._ends: dict[int, int] = {}
        self._parent = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.lives", work],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        )  # fmt: skip
        self._ask([])

    def start(self, printed: Path, *arguments: object) -> int:
        """Start one, with what it prints going into a file, and return its process id."""
        return int(self._ask([str(printed), *map(str, arguments)]))

    def ended(self, pid: int, *, patient: bool = True) -> int | None:
        """Return how a process ended, the negative number of a signal; None where it is alive and nobody waits."""
        if pid not in self._ends:
            said = self._ask([pid, 0 if patient else os.WNOHANG])
            if said == "alive":
                return None
            self._ends[pid] = int(said)
        return self._ends[pid]

    def kill(self, pid: int) -> int:
        """Kill a process and return how it ended, which may have been before."""
        if pid not in self._ends:
            os.kill(pid, signal.SIGKILL)  # nobody else has waited for it, so the number is still its own
        status = self.ended(pid)
        assert status is not None
        return status

    def close(self) -> None:
        """End the parent of them all."""
        self._parent.communicate(timeout=60)

    def _ask(self, order: list[str | int]) -> str:
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self._parent.stdin.write(json.dumps(order) + "\n")
        self._parent.stdin.flush()
        said = self._parent.stdout.readline().strip()
        assert said, "the parent of the processes has ended"
        return said


def outcomes(workspace: Path) -> dict[str, str]:
    """Return the stored outcomes by the key of their call, as SQLite itself sees them."""
    path = workspace / "calls.sqlite"
    if not path.exists():
        return {}
    connection = sqlite3.connect(path)
    try:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'proctor_calls'").fetchone():
            return {}
        return dict(connection.execute("SELECT key, outcome FROM proctor_calls WHERE outcome IS NOT NULL"))
    finally:
        connection.close()


def answered(stored: dict[str, str]) -> Counter[str]:
    """Count stored calls by the first 20 digits of the server's own key; draws of one request are the same to a server."""
    names = (json.loads(text)["provider_id"] for text in stored.values())
    return Counter(name.removeprefix("chatcmpl-").partition("-")[0] for name in names)


def settle(server: Standin) -> Counter[str]:
    """Wait until nothing is on its way and return how often each request came."""
    before, quiet = -1, 0
    while quiet < 5:
        now = server.count
        quiet = quiet + 1 if now == before and not server.log.in_flight else 0
        before = now
        time.sleep(0.02)
    return Counter({key[:20]: n for key, n in server.counts.items()})


def end_many_lives(
    lives: Lives,
    start: Callable[[], int],
    workspace: Path,
    server: Standin,
    once: Counter[str],
    *,
    printed: Path,
    check: Callable[[], None] = lambda: None,
) -> None:
    """Kill a work at seeded points, then let it end: no stored call is made again, none is lost, and none is lacking.

    Args:
        lives: starts and kills.
        start: starts one life in the workspace.
        workspace: where the work is done; nothing of it is there yet.
        server: plays the models; it has seen nothing yet.
        once: how often each request comes where nobody is killed.
        printed: where lives print to.
        check: looks at the files after each death.
    """
    rng = random.Random(7)
    kept: dict[str, str] = {}
    seen: Counter[str] = Counter()
    busy = 0
    for kill in range(KILLS):
        before, begun = answered(kept), server.count
        pid = start()
        # a share of what is left, so that the last lives have something to do as well
        wanted = begun + rng.randint(1, max(2, 2 * (once.total() - before.total()) // (KILLS - kill + 1)))
        limit = time.monotonic() + PATIENCE
        while server.count < wanted and lives.ended(pid, patient=False) is None and time.monotonic() < limit:
            time.sleep(0.002)
        time.sleep(rng.random() * 0.05)
        busy += server.log.in_flight > 0
        status = lives.kill(pid)
        assert status in (-signal.SIGKILL, 0), f"life {kill} ended by itself: {printed.read_text()}"
        now = settle(server)
        assert now - seen <= once - before, f"life {kill} made calls again that were stored"
        seen, after = now, outcomes(workspace)
        assert kept.items() <= after.items(), "something finished was lost or replaced"
        kept = after
        check()
        if status == 0:  # everything had been asked, and the last life was quick
            assert kill >= KILLS // 2, "the calls were made before they could be interrupted"
            break
    assert lives.ended(start()) == 0, printed.read_text()
    assert settle(server) - seen <= once - answered(kept)
    assert answered(outcomes(workspace)) == once, "nothing else was asked, and nothing is lacking"
    assert busy >= KILLS // 4, "some of them died while calls were on their way"


def _serve(work: Callable[..., None]) -> None:
    for line in sys.stdin:
        order = json.loads(line)
        if not order:
            print("ready", flush=True)
        elif isinstance(order[0], int):
            pid, status = os.waitpid(*order)
            print(os.waitstatus_to_exitcode(status) if pid else "alive", flush=True)
        else:
            pid = os.fork()
            if not pid:
                _child(work, *order)
            print(pid, flush=True)


def _child(work: Callable[..., None], printed: str, *arguments: str) -> None:
    status = 1
    try:
        target = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for number in (1, 2):
            os.dup2(target, number)
        work(*arguments)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    for needed in (
        "aiohttp",
        "genai_prices.data",
        "jinja2.sandbox",
        "scipy.stats",
        "sqlalchemy.dialects.sqlite",
        "proctor.llm.providers.compat",
        "proctor.llm.registry",
    ):
        importlib.import_module(needed)
    module, _, name = sys.argv[1].partition(":")
    work = getattr(importlib.import_module(module), name)
    gc.collect()
    gc.freeze()  # what all have in common is not looked through again, nor copied for it, in each of them
    _serve(work)

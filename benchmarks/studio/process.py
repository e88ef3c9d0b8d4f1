"""Servers under test: started in a process group of their own, waited for, killed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wire import Person

WAIT = 180.0


def free_port() -> int:
    """Return a port of the loopback that nobody listens to."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def server(
    command: Sequence[str],
    port: int,
    folder: Path,
    variables: Mapping[str, str] | None = None,
    *,
    health: str = "/healthz",
) -> Iterator[tuple[subprocess.Popen[bytes], float]]:
    """Run a server in a process group of its own; yield it, and after how many seconds it answered.

    Raises:
        RuntimeError: if it ended, or did not answer in time; with the end of what it wrote.
    """
    log = folder / "server.log"
    began = time.perf_counter()
    with log.open("ab") as out:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **(variables or {})},
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        asyncio.run(_answers(process, port, log, health))
        yield process, time.perf_counter() - began
    finally:
        kill(process)


async def _answers(process: subprocess.Popen[bytes], port: int, log: Path, health: str) -> None:
    person = Person("127.0.0.1", port, timeout=10)
    give_up = time.monotonic() + WAIT
    while True:
        with contextlib.suppress(ConnectionError):
            reply = await person.request("GET", health)
            person.close()
            if reply.status < 500:
                return
        if process.poll() is not None or time.monotonic() > give_up:
            raise RuntimeError("the server did not start:\n" + log.read_text(errors="replace")[-1500:])
        await asyncio.sleep(0.02)


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a server's whole process group at once: no handler of its own runs."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def memory_mb(pid: int) -> float:
    """Return the resident memory of a process, in MB; 0 where the system does not tell."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    return 0.0


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process with all its threads has had of the processors.

    Attributes:
        cpu: seconds of work.
        waited: seconds in which the thread that waited longest could have run and got no core.
    """

    cpu: float
    waited: float

    def __sub__(self, before: Usage) -> Usage:
        """Return what was used since."""
        return Usage(self.cpu - before.cpu, self.waited - before.waited)


def usage(pid: int) -> Usage:
    """Return what a process has used so far; zeros where the system does not tell (it is Linux that does)."""
    times = []
    for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError, ValueError):
            ran, waited, _ = task.read_text().split()
            times.append((int(ran) / 1e9, int(waited) / 1e9))
    return Usage(sum(ran for ran, _ in times), max((waited for _, waited in times), default=0.0))

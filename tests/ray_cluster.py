"""A Ray cluster of several nodes on loopback for tests; every process of it is ended by its process group."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SURROUNDINGS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled", "PYTHONPATH": str(ROOT)}


_PR_SET_PDEATHSIG = 1


def die_with_the_tests() -> None:
    """Let the kernel end the node when the process of the tests is killed; 'ray start --block' then ends its own."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


class RayCluster:
    """Nodes with one processor each; the first is the head."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._nodes: list[subprocess.Popen[bytes]] = []
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{probe.getsockname()[1]}"

    def add(self) -> None:
        """Start a node and wait until it runs."""
        where = (
            [f"--address={self.address}"]
            if self._nodes
            else [
                "--head",
                f"--port={self.address.split(':')[1]}",
                "--include-dashboard=false",
                f"--temp-dir={self._folder}",
            ]
        )
        log = self._folder / f"node-{len(self._nodes)}.log"
        with log.open("wb") as out:
            node = subprocess.Popen(
                [
                    sys.executable,
                    "-c",
                    "from ray.scripts.scripts import main; main()",
                    "start",
                    *where,
                    "--num-cpus=1",
                    "--object-store-memory=80000000",
                    "--node-ip-address=127.0.0.1",
                    "--block",
                ],
                env={**os.environ, **SURROUNDINGS},
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=die_with_the_tests,
                cwd=ROOT,
            )
        self._nodes.append(node)
        end = time.monotonic() + 60
        while b"Ray runtime started" not in log.read_bytes():
            if node.poll() is not None or time.monotonic() > end:
                raise RuntimeError(log.read_text(errors="replace")[-2_000:])
            time.sleep(0.05)

    def kill_last(self) -> None:
        """Kill every process of the node that was started last."""
        node = self._nodes.pop()
        with suppress(ProcessLookupError):
            os.killpg(node.pid, signal.SIGKILL)
        node.wait()


@contextmanager
def ray_cluster(nodes: int = 2) -> Iterator[RayCluster]:
    """Yield a cluster; afterwards nothing of it is left."""
    folder = Path(tempfile.mkdtemp(prefix="pr-"))  # short: Ray puts sockets in it
    before = {name: os.environ.get(name) for name in SURROUNDINGS}
    os.environ.update(SURROUNDINGS)
    made = RayCluster(folder)
    try:
        for _ in range(nodes):
            made.add()
        yield made
    finally:
        while made._nodes:
            made.kill_last()
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        shutil.rmtree(folder, ignore_errors=True)

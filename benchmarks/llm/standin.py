"""How fast the stand-in answers: it must not be what limits the benchmarks of the clients.

The server runs as its own process. The client is a bare asyncio protocol that sends ready-made bytes, so that it costs
little itself. On two cores client and server share the machine with the kernel; the server's CPU time per request tells
what it could do on a core of its own, whatever else runs.

Usage: python benchmarks/llm/standin.py [--seconds 5] [--in-flight 256]
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

RUN = "from proctor.cli.console import run; from proctor_rehearsal.command import app; import sys; sys.exit(run(app))"
TICK = os.sysconf("SC_CLK_TCK")


def body(number: int, images: list[str]) -> bytes:
    """Return a chat request: a question of its own, and pictures that all questions share."""
    parts: list[dict[str, object]] = [
        {"type": "text", "text": f"Question {number}: " + "what should I do next? " * 20}
    ]
    parts += [
        {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64," + image}} for image in images
    ]
    data = json.dumps({"model": "m", "messages": [{"role": "user", "content": parts}]}).encode()
    head = "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data


class Asker(asyncio.Protocol):
    """One connection that sends its request again as soon as the reply is there."""

    def __init__(self, requests: list[bytes], tally: list[int]) -> None:
        self.requests, self.tally, self.left, self.turn = requests, tally, -1, 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.ask()

    def ask(self) -> None:
        self.left = -1
        self.transport.write(self.requests[self.turn % len(self.requests)])
        self.turn += 1

    def data_received(self, data: bytes) -> None:
        if self.left < 0:
            assert data.startswith(b"HTTP/1.1 200"), data[:300]
            end = data.index(b"\r\n\r\n") + 4
            place = data.lower().index(b"content-length: ") + 16
            self.left = int(data[place : data.index(b"\r\n", place)]) + end
        self.left -= len(data)
        if self.left == 0:
            self.tally[0] += 1
            self.ask()


def cpu(pid: int) -> float:
    """Return the CPU seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


@contextmanager
def server(*flags: str) -> Iterator[tuple[str, int]]:
    """Run the command and yield its URL and process number."""
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, "--json", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    text = ""
    while not text.endswith("\n}\n"):
        text += process.stdout.readline()
    try:
        yield json.loads(text)["url"], process.pid
    finally:
        process.terminate()
        process.communicate()


async def load(url: str, pid: int, requests: list[list[bytes]], seconds: float) -> tuple[float, float]:
    """Return requests a second and the server's CPU milliseconds per request, after a second of warming up."""
    place, tally = urlsplit(url), [0]
    loop = asyncio.get_running_loop()
    links = [
        await loop.create_connection(lambda own=own: Asker(own, tally), place.hostname, place.port)
        for own in requests
    ]
    await asyncio.sleep(1)
    began, used, count = time.perf_counter(), cpu(pid), tally[0]
    await asyncio.sleep(seconds)
    took, used, count = time.perf_counter() - began, cpu(pid) - used, tally[0] - count
    for transport, _ in links:
        transport.close()
    return count / took, 1_000 * used / max(count, 1)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--in-flight", type=int, default=256)
    parser.add_argument("--keep", type=int, default=64, help="MiB of bodies that the server keeps")
    options = parser.parse_args()
    images = [base64.b64encode(os.urandom(60 * 1024)).decode() for _ in range(10)]
    print(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores, {options.in_flight} in flight")
    print(
        f"{'body':<18}{'check':<8}{'requests/s':>12}{'server CPU ms':>16}{'a core could':>14}{'in flight':>11}"
    )
    for name, pictures in (("text, 0.5 KB", []), ("ten 60 KB images", images)):
        for check in ("full", "count", "none"):
            ready = [
                [body(n * 8 + k, pictures) for k in range(1 if pictures else 8)]
                for n in range(options.in_flight)
            ]
            with server("--check", check, "--keep", str(options.keep)) as (url, pid):
                rate, each = asyncio.run(load(url, pid, ready, options.seconds))
                with urlopen(f"{url}/standin/log") as reply:
                    most = json.load(reply)["most_in_flight"]
            print(f"{name:<18}{check:<8}{rate:>12,.0f}{each:>16.3f}{1_000 / each:>14,.0f}{most:>11}")


if __name__ == "__main__":
    main()

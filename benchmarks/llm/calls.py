"""What a call costs: Proctor with its store on, beside raw aiohttp, the openai SDK and inspect_ai, in one run.

All ask the same stand-in, which runs in a process of its own; each client is a process too (``clients.py``), so CPU time
is its own: all of its threads, after a warm-up that opens the connections. Ideal throughput is what so many in flight give
when a call takes the server's latency and nothing else; without latency, the yardstick is raw aiohttp. inspect_ai is asked
for when it can be imported, or when PROCTOR_BENCH_INSPECT names a Python that can.

Run: python benchmarks/llm/calls.py [--only calls|ratio|memory|resume] (about six minutes on two quiet cores).

Client and server share the cores with all else: "without a core" is the share of the time in which the client's main thread
could have run and did not. Where it is large, rates and shares tell about the machine; CPU time is less touched.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from standin import cpu, server

HERE = Path(__file__).resolve().parent
NAMES = {"proctor": "Proctor", "aiohttp": "raw aiohttp", "openai": "openai SDK", "inspect": "inspect_ai"}
WAVES = {"proctor": (15, 4), "aiohttp": (15, 4), "openai": (3, 1), "inspect": (1, 1)}
"""How many times the number in flight is asked, text and pictures: slow clients are measured by fewer calls."""
IMAGES = 10
MEMORY_CALLS = 50_000
RESUME_CALLS = 100_000
LATENCY = 0.2
PAIRS = 7


def inspect_python() -> str | None:
    """Return a Python that can import inspect_ai."""
    named = os.environ.get("PROCTOR_BENCH_INSPECT")
    return named or (sys.executable if importlib.util.find_spec("inspect_ai") else None)


def client(name: str, **job: Any) -> dict[str, Any]:
    """Run a client to its end and return what it says of itself."""
    python = inspect_python() if name == "inspect" else sys.executable
    command = [python or "", str(HERE / "clients.py"), json.dumps({"client": name, **job})]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"the client {name} failed:\n{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if result["right"] != result["count"]:
        sys.exit(f"{name}: {result['count']} questions, but {result['right']} replies")
    return result


def seen(url: str) -> int:
    """Return how many requests the server has seen."""
    with urlopen(f"{url}/standin/log") as reply:
        return int(json.load(reply)["count"])


def served(name: str, url: str, pid: int, in_flight: int, images: int) -> dict[str, Any]:
    """Run a client against a server and add the server's CPU seconds per request; no request may come twice."""
    warm = 20 if name == "inspect" or (name == "openai" and images) else in_flight
    count = in_flight * WAVES[name][bool(images)]
    before, used = seen(url), cpu(pid)
    result = client(name, url=url, count=count, warm=warm, in_flight=in_flight, images=images)
    requests = seen(url) - before
    if requests != count + warm:
        sys.exit(f"{name}: {count + warm} questions, but the server saw {requests} requests")
    return result | {"server": (cpu(pid) - used) / requests}


def names(images: int, in_flight: int, latency: float) -> Iterator[str]:
    """Yield who is measured: inspect_ai is spared where it adds nothing, since it takes long."""
    yield from ("aiohttp", "proctor", "openai")
    if inspect_python() and latency and (in_flight == 100 or not images):
        yield "inspect"


def calls() -> None:
    """Side by side: two latencies, two numbers in flight, text and pictures."""
    shared: dict[str, Any] = {}
    for images in (0, IMAGES):
        for latency in (LATENCY, 0.0):
            with server("--check", "none", "--keep", "0", "--latency", str(latency)) as (url, pid):
                for in_flight in (100, 256):
                    yardstick = in_flight / latency if latency else 0.0
                    for name in names(images, in_flight, latency):
                        target = bool(latency and in_flight == 100 and not images)
                        times = 3 if target and name in ("proctor", "aiohttp") else 1
                        runs = [served(name, url, pid, in_flight, images) for _ in range(times)]
                        run = sorted(runs, key=lambda one: one["wall"])[len(runs) // 2]
                        yardstick = yardstick or run["count"] / run["wall"]
                        print(row(name, run, latency, yardstick, target), flush=True)
                        shared = run if name == "proctor" else shared
    print(
        f"| pictures encoded, and turned to base64, for {shared['count'] + shared['warm']:,} questions that share ten "
        f"| {shared['encoded']}, {shared['reads']} | {IMAGES}, {IMAGES} |"
    )
    if not inspect_python():
        print("| inspect_ai | not measured: it is not installed, and PROCTOR_BENCH_INSPECT is not set | |")


def row(name: str, run: dict[str, Any], latency: float, yardstick: float, target: bool) -> str:
    """Return the row of one run."""
    rate = run["count"] / run["wall"]
    what = f"{'ten 60 KB images' if run['images'] else 'text'}, {1_000 * latency:.0f} ms, {run['in_flight']} in flight"
    of = "ideal" if latency else "raw aiohttp"
    goal = "≤ 1 ms" if name == "proctor" and not run["images"] else ""
    goal += ", ≥ 90 %" if goal and target else ""
    return (
        f"| {what}: {NAMES[name]} | {1_000 * run['cpu'] / run['count']:.2f} ms CPU a call; {rate:,.0f}/s = "
        f"{rate / yardstick:.0%} of {of}; {run['peak_mb']:.0f} MB; server {1_000 * run['server']:.2f} ms; "
        f"{run['delay'] / run['wall']:.0%} without a core | {goal} |"
    )


def ratio() -> None:
    """Proctor's processor time a call by that of raw aiohttp, pair by pair, since the machine's speed drifts."""
    with server("--check", "none", "--keep", "0", "--latency", str(LATENCY)) as (url, pid):
        for in_flight in (100, 256):
            pairs = [
                [served(name, url, pid, in_flight, 0) for name in ("aiohttp", "proctor")]
                for _ in range(PAIRS)
            ]
            found = statistics.median(ours["cpu"] / raw["cpu"] for raw, ours in pairs)
            raw, ours = (
                1_000 * statistics.median(p[n]["cpu"] / p[n]["count"] for p in pairs) for n in (0, 1)
            )
            print(
                f"| text, 200 ms, {in_flight} in flight: Proctor by raw aiohttp, median of {PAIRS} pairs "
                f"| {found:.2f} ({ours:.2f} by {raw:.2f} ms CPU a call) | ≤ 1.3 |",
                flush=True,
            )


def memory() -> None:
    """Fifty thousand calls through the facade that stages use."""
    with server("--check", "none", "--keep", "0") as (url, _):
        run = client(
            "stage", url=url, count=MEMORY_CALLS, in_flight=256, images=0, sample_every=MEMORY_CALLS // 50
        )
    samples = run["samples"]
    half, late = statistics.median(samples[25:30]), statistics.median(samples[-5:])
    print(
        f"| {MEMORY_CALLS:,} text calls from a generator, 256 in flight: memory after a tenth, half (SQLite's own cache "
        f"is full then), all of them; at most | {samples[4]:.0f}, {half:.0f}, {late:.0f}; {run['peak_mb']:.0f} MB | flat |\n"
        f"| the same: as a stage asks (other thread, connections opened), per call; calls a second "
        f"| {1_000 * run['cpu'] / MEMORY_CALLS:.2f} ms CPU; {MEMORY_CALLS / run['wall']:,.0f}/s | ≤ 1 ms |",
        flush=True,
    )


def resume() -> None:
    """A hundred thousand calls that are all stored."""
    with tempfile.TemporaryDirectory() as folder:
        job = {"url": "http://127.0.0.1:9", "count": RESUME_CALLS, "folder": folder, "images": 0}
        filled = client("fill", **job)
        size = sum(file.stat().st_size for file in Path(folder).iterdir()) / 2**20
        print(f"| {RESUME_CALLS:,} calls taken into a store of {size:,.0f} MB | {filled['wall']:.1f} s | |")
        for ready, what in ((True, "requests ready"), (False, "requests made on the way, in a thread")):
            runs = [client("resume", **job, ready=ready) for _ in range(3)]
            wall = statistics.median(run["wall"] for run in runs)
            cpu_s = statistics.median(run["cpu"] for run in runs)
            delay = statistics.median(run["delay"] for run in runs)
            print(
                f"| resume scan of {RESUME_CALLS:,} stored calls, {what}, cold start to last outcome "
                f"| {wall:.2f} s ({cpu_s:.2f} s CPU, {delay:.2f} s without a core) | {'< 2 s' if ready else ''} |",
                flush=True,
            )


PARTS = {"calls": calls, "ratio": ratio, "memory": memory, "resume": resume}


def main() -> None:
    """Run all parts, or one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS)
    only = parser.parse_args().only
    print(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores, nice {os.nice(0)}")
    print("| what | measured | target |\n|---|---|---|")
    for name, part in PARTS.items():
        if only in (None, name):
            part()
    print(f"load average {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()

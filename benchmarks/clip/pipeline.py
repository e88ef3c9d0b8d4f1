"""How fast questions about clips are made: pairs through generation, four filters and options, as a share of the ideal.

Ideal is one reply in every ``latency / connections`` seconds, for as many calls as each stage made: no waiting for the first
replies, none for the last. All roles are one model at one address, since limits hold for each model: of one the ideal is plain (so
one assistant answers without seeing anything, and three votes on options are three calls of it). The server is a process of its own.
Without the real annotations (``../shared/data/steps``) drawn ones are used. CPU time of both processes is told, because two cores
have to do for both.

Usage: python benchmarks/clip/pipeline.py [--pairs 1000] [--latency 0.2] [--connections 32] [--quality 0.9]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from proctor.stages.clip.choices import make
from proctor.stages.clip.filter import filter_questions
from proctor.stages.clip.pairs import generate
from proctor.stages.clip.settings import ChoiceOptions, FilterOptions, PairOptions
from proctor.stages.models import Asked, Limits

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "steps"
TICK = os.sysconf("SC_CLK_TCK")
SERVER = """
import sys
from pathlib import Path
from proctor_rehearsal.standin import Standin
from proctor_rehearsal.standin.script import Latency, Script
from proctor_rehearsal.players.player import Rehearsal
seconds = float(sys.argv[1])
script = Script(seed=0, latency=Latency(low=seconds, high=seconds))
with Standin(script, answer=Rehearsal(Path(sys.argv[3]), quality=float(sys.argv[2]))) as server:
    print(server.url, flush=True)
    sys.stdin.read()
"""


def main() -> None:
    """Measure and print a row for each stage, and one for all of them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--pairs", type=int, default=1_000)
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--quality", type=float, default=0.9)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "bench"
        data = annotations(Path(folder) / "data", given.pairs)
        with server(given.latency, given.quality, home) as (url, pid):
            for _title, stage in stages(
                Path(folder) / "warm", data, url, 4, 4
            ):  # imports and connects before the clock runs
                stage()
            parts = []
            for title, stage in stages(home, data, url, given.pairs, given.connections):
                parts.append(part := measure(title, stage, pid, given))
                print(row(part), flush=True)
            print(row(altogether(parts, given)), flush=True)
            start, sent = time.perf_counter(), 0
            for _title, stage in stages(home, data, url, given.pairs, given.connections):
                sent += stage().calls["sent"]
            assert sent == 0
            print(
                f"| the same again, from the store | {time.perf_counter() - start:.1f} s, nothing sent | – |"
            )


def stages(
    home: Path, data: Path, url: str, pairs: int, connections: int
) -> Iterator[tuple[str, Callable[[], Asked]]]:
    """Yield the stages, to be done in this order."""
    name, limits = f"compat/one@{url}/v1", Limits(max_connections=connections)
    wanted = PairOptions(generator=name, data=(data,), dataset=("steps",), total=pairs)
    filters = FilterOptions(judge=(name,), assistant=(name,))
    options = ChoiceOptions(writer=name, assistant=(name,) * 3)
    yield f"{pairs:,} pairs", lambda: generate(home, wanted, limits=limits)
    yield "four filters", lambda: filter_questions(home, filters, limits=limits)
    yield "options", lambda: make(home, options, limits=limits)


def measure(title: str, stage: Callable[[], Asked], pid: int, given: argparse.Namespace) -> dict[str, Any]:
    """Do a stage and return what it took."""
    used, before, start = cpu(pid), time.process_time(), time.perf_counter()
    made = stage()
    wall = time.perf_counter() - start
    calls = made.calls["sent"]
    return {
        "title": title, "made": next(getattr(made, name) for name in ("achieved", "kept", "pairs") if hasattr(made, name)), "calls": calls, "wall": wall,
        "ideal": calls * given.latency / given.connections, "cpu": time.process_time() - before, "server": cpu(pid) - used,
    }  # fmt: skip


def altogether(parts: list[dict[str, Any]], given: argparse.Namespace) -> dict[str, Any]:
    """Add up the stages."""
    sums = {name: sum(part[name] for part in parts) for name in ("calls", "wall", "ideal", "cpu", "server")}
    title = f"all three, {1_000 * given.latency:.0f} ms, {given.connections} connections"
    return {"title": title, "made": parts[-1]["made"], **sums}


def row(part: dict[str, Any]) -> str:
    """Return one line of the table."""
    calls = max(part["calls"], 1)
    return (
        f"| {part['title']} | {part['made']:,} made or kept, {part['calls']:,} calls in {part['wall']:.1f} s: "
        f"{part['ideal'] / part['wall']:.0%} of ideal ({part['ideal']:.1f} s); {1_000 * part['cpu'] / calls:.2f} ms CPU a call, "
        f"server {1_000 * part['server'] / calls:.2f} ms; load {os.getloadavg()[0]:.1f} | ≥ 85 % |"
    )


@contextmanager
def server(latency: float, quality: float, home: Path) -> Iterator[tuple[str, int]]:
    """Run the stand-in in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(latency), str(quality), str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip(), process.pid
    finally:
        process.communicate("")


def cpu(pid: int) -> float:
    """Return the CPU seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def annotations(folder: Path, pairs: int) -> Path:
    """Return a folder for the reader ``steps``: HiREST's videos, else drawn ones."""
    folder.mkdir()
    real = SHARED / "hirest.jsonl"
    lines = (
        real.read_text(encoding="utf-8").splitlines()
        if real.exists()
        else list(map(drawn, range(max(pairs // 4, 4))))
    )
    (folder / "hirest.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


def drawn(number: int) -> str:
    """Make one annotated video."""
    verbs, things = (
        ("chop", "stir", "pour", "rinse", "fold", "toast"),
        ("carrots", "eggs", "rice", "butter", "bread"),
    )
    steps = [
        {
            "i": i,
            "start": 10 * i,
            "end": 10 * i + 8,
            "text": f"{verbs[(number + i) % 6]} the {things[(number * 3 + i) % 5]} in bowl {number % 17 + i}",
        }
        for i in range(7)
    ]
    row_ = {
        "dataset": "HiREST",
        "video_id": f"video{number}",
        "task": f"Cook dish {number}",
        "split": "train",
    }
    return json.dumps({**row_, "duration": 75.0, "moment": [0, 74], "steps": steps})


if __name__ == "__main__":
    main()

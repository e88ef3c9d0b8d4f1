"""The stages on many recordings: one worker, all cores, and Ray on this machine; seconds, memory, and the same bytes.

Run: python benchmarks/scale.py [--recordings 38400] [--places 1 2 ray]. The recordings are the shipped sample's, repeated under new
names. Target: the same files everywhere, and 500 questions out of all examples within 300 MB.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from proctor.samples import copy_sample

STAGES = ("read", "stats", "derive", "generate", "verify", "build", "predict", "judge", "score")
SPREAD = ("read", "stats", "derive", "verify", "judge", "score")
RAY = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
SAME = ("recordings.jsonl", "examples.jsonl", "candidates.jsonl", "items.jsonl", "comparisons.json")
"""Files that have to be the same everywhere; verdicts carry the time at which they were made."""


def write_recordings(folder: Path, number: int) -> None:
    """Write a plain folder with so many recordings."""
    copy_sample(folder)
    sample = [msgspec.json.decode(p.read_bytes()) for p in sorted((folder / "recordings").glob("*.json"))]
    for path in (folder / "recordings").glob("*.json"):
        path.unlink()
    with (folder / "recordings.jsonl").open("wb") as stream:
        for n in range(number):
            recording = dict(sample[n % len(sample)])
            recording["id"] = f"{recording['id']}-{n // len(sample)}"
            stream.write(msgspec.json.encode(recording) + b"\n")


def run(*arguments: str) -> tuple[float, float]:
    """Run a command as a process of its own; return wall seconds and the peak MB of its largest process."""
    begin = time.perf_counter()
    process = subprocess.Popen(
        arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | RAY
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(arguments)} ended with status {process.returncode}")
    return time.perf_counter() - begin, usage.ru_maxrss / 1024


def job(data: Path, bench: Path, workers: str) -> dict[str, tuple[float, float]]:
    """Do the whole job in a workspace; return seconds and MB of each stage."""
    proctor = str(Path(sys.executable).with_name("proctor"))
    found = {}
    for stage in STAGES:
        if stage == "stats":
            command = ["datasets", "stats", "plain", str(data)]
        elif stage == "read":
            command = ["read", "plain", str(data), str(bench)]
        else:
            command = [stage, str(bench)]
        spread = ["--workers", workers] if stage in SPREAD else []
        found[stage] = run(proctor, *command, *spread)
    return found


def digest(bench: Path) -> str:
    """Return a hash of the files that have to be the same everywhere."""
    together = hashlib.sha256()
    for name in SAME:
        with (bench / name).open("rb") as stream:
            together.update(hashlib.file_digest(stream, "sha256").digest())
    return together.hexdigest()


@contextmanager
def cluster() -> Iterator[str]:
    """Start a Ray cluster on this machine; yield its address."""
    ray = str(Path(sys.executable).with_name("ray"))
    command = [ray, "start", "--head", "--port=6399", "--include-dashboard=false", "--block"]
    environment = os.environ | RAY
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    ) as head:
        try:
            for _ in range(600):
                time.sleep(0.1)
                with suppress(OSError), socket.create_connection(("127.0.0.1", 6399), timeout=1):
                    break
            time.sleep(5)
            yield "ray://127.0.0.1:6399"
        finally:
            head.terminate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recordings", type=int, default=1_200)
    parser.add_argument("--places", nargs="+", default=["1", str(os.cpu_count()), "ray"])
    options = parser.parse_args()
    columns, digests = [], set()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        write_recordings(data, options.recordings)
        for place in options.places:
            bench = Path(folder) / f"bench-{place}"
            if place == "ray":
                with cluster() as address:
                    columns.append(job(data, bench, address))
            else:
                columns.append(job(data, bench, place))
            digests.add(digest(bench))
    for stage in STAGES:
        cells = ", ".join(
            f"{place}: {wall:.1f} s, {peak:.0f} MB"
            for place, column in zip(options.places, columns, strict=True)
            for wall, peak in [column[stage]]
        )
        target = "≤ 300 MB" if stage == "generate" else "the same files" if stage in SPREAD else ""
        print(f"| {stage}, {options.recordings:,} recordings, by workers | {cells} | {target} |")
    if len(digests) != 1:
        sys.exit("the files are not the same everywhere")


if __name__ == "__main__":
    main()

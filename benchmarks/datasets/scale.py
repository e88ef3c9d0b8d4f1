"""Speed and memory at scale: a million made passages to Parquet and JSON Lines, and back.

    python benchmarks/datasets/scale.py [--passages 1000000] [--workers 0] [--read]

Each row runs in a process of its own. Memory is the peak of that process (workers apart), and how much it grew after the
first half of the passages; flat means that the second number is small however many passages there are. A passage has
about 60 words, an address, a title and a content hash; making it is part of the time where the row says so.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from proctor.compute import HERE, Place, processes
from proctor.corpus.source import Source, text_source
from proctor.datasets.dataset import Log
from proctor.datasets.shards import iter_shards, write_shards
from proctor.datasets.sources import iter_sources

LIMIT = "≥ 100,000 rows/s, flat"
_RNG = random.Random(0)
_VOCABULARY = ["".join(_RNG.choices("abcdefghijklmnoprstu", k=_RNG.randint(2, 10))) for _ in range(5_000)]
HALVES = [" ".join(_RNG.choices(_VOCABULARY, k=30)) for _ in range(1_000)]


def body(i: int) -> str:
    """Return 61 words."""
    return f"{HALVES[i % 1_000]} {i} {HALVES[i * 7 // 1_000 % 1_000]}"


def made(number: int) -> Iterator[Source]:
    """Yield passages whose hash is not computed: what an index or a converter would hand over."""
    for i in range(number):
        yield Source(
            id=f"text:{i:08d}",
            modality="text",
            title=f"Page {i}",
            body=body(i),
            doc_id=f"Page_{i}",
            url=f"https://example.org/wiki/Page_{i}",
            content_hash=f"{i:064x}",
        )


def hashed(number: int) -> Iterator[Source]:
    """Yield passages with their content hash computed."""
    for i in range(number):
        yield text_source(f"text:{i:08d}", f"Page {i}", body(i), url=f"https://example.org/wiki/Page_{i}")


def release(folder: Path, number: int) -> None:
    """Write the passages in the layout of the reader ``sources``."""
    with (folder / "sources.jsonl").open("w", encoding="utf-8") as out:
        for i in range(number):
            line = {"id": f"text:{i:08d}", "modality": "text", "title": f"Page {i}", "text": body(i)}
            out.write(json.dumps(line | {"url": f"https://example.org/wiki/Page_{i}"}) + "\n")


def peak() -> float:
    """Peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class Watched:
    """Counts what passes and notes the peak at half of it."""

    def __init__(self, records: Iterator[Any], number: int) -> None:
        self._records, self._half = records, max(1, number // 2)
        self.early = self.count = 0.0

    def __iter__(self) -> Iterator[Any]:
        for record in self._records:
            self.count += 1
            if self.count == self._half:
                self.early = peak()
            yield record


def rows(number: int, workers: int, folder: Path) -> dict[str, tuple[str, Callable[[], Watched]]]:
    """What is measured, by name."""
    place: Place = processes(workers) if workers else HERE
    told = f" ({workers} workers)" if workers else ""

    def write(records: Iterator[Source], format: Any, name: str) -> Watched:
        watched = Watched(records, number)
        write_shards(watched, folder / name, Source, format=format, place=place)
        return watched

    def read() -> Watched:
        watched = Watched(iter_shards(folder / "parquet", Source), number)
        for _ in watched:
            pass
        return watched

    return {
        "parquet": (f"made and streamed to Parquet{told}", lambda: write(made(number), "parquet", "parquet")),
        "jsonl": ("made and streamed to JSON Lines", lambda: write(made(number), "jsonl", "jsonl")),
        "hashed": (
            f"made, hashed and streamed to Parquet{told}",
            lambda: write(hashed(number), "parquet", "hashed"),
        ),
        "reader": (
            f"read from sources.jsonl with the reader (ids unique, hashed), streamed to Parquet{told}",
            lambda: write(iter_sources(folder, "published", Log(lambda _: None)), "parquet", "reader"),
        ),
        "read": ("read back from Parquet, lazily", read),
    }


def measure(name: str, number: int, workers: int, folder: Path) -> None:
    what, work = rows(number, workers, folder)[name]
    begin, cpu = time.perf_counter(), time.process_time()
    watched = work()
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    size = sum(p.stat().st_size for p in folder.glob(f"{'parquet' if name == 'read' else name}/data-*")) / 1e6
    limit = LIMIT if name == "parquet" else ""
    print(
        f"| {number:,} passages {what} ({size:.0f} MB) | {number / seconds:,.0f} rows/s ({number / cpu:,.0f} rows a "
        f"second of processor time), peak {peak():.0f} MB, "
        f"{peak() - watched.early:.0f} MB more after the first half | {limit} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--only", help="one row, in a folder that --folder names")
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if given.only:
        measure(given.only, given.passages, given.workers, given.folder)
        return
    print("| what | measured | target |\n|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        release(Path(folder), given.passages)
        for name in rows(1, 0, Path(folder)):
            subprocess.run(
                [
                    sys.executable,
                    __file__,
                    "--only",
                    name,
                    "--folder",
                    folder,
                    "--passages",
                    str(given.passages),
                    "--workers",
                    str(given.workers),
                ],
                check=True,
            )


if __name__ == "__main__":
    main()

"""Features: a slice of a store beside opening the published file per item, and how a whole release becomes a store.

    python benchmarks/learn/features.py [--recordings 384]

The files are made up in the shape of Omnivore's release (384 recordings, 340,144 rows of 1,024 numbers, float32, one .npz each)
in a temporary folder of 2.1 GB that is taken away. Items are windows of 53 seconds, as long as a step is on average, in random
order; both ways read the same items in the same run, files in the system's cache.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from proctor.learn.features.layouts import LAYOUTS, find_features
from proctor.learn.features.store import FeatureStore

ROWS, WIDTH, STEP = 340_144, 1024, 53
CONVERT = "import sys; from proctor.cli.main import main; sys.argv[0] = 'proctor'\nif __name__ == '__main__': main()"


def make_files(folder: Path, recordings: int) -> None:
    """Write the files; lengths are spread as in the release, from 3.3 to 41 minutes."""
    folder.mkdir()
    draws = np.random.default_rng(0)
    lengths = np.clip(draws.lognormal(0, 0.5, recordings), 0.22, 2.8)
    lengths = np.maximum(200, (lengths / lengths.mean() * ROWS / 384).astype(int))
    for n, length in enumerate(lengths.tolist()):
        np.savez(folder / f"1_{n}_360p.mp4_1s_1s.npz", draws.standard_normal((length, WIDTH), np.float32))


def convert(folder: Path, store: Path) -> tuple[float, float]:
    """Run the command in a process of its own; return its seconds and its largest memory in MB."""
    begin = time.perf_counter()
    command = [
        sys.executable,
        "-c",
        CONVERT,
        "features",
        "convert",
        str(folder),
        "--backbone",
        "omnivore",
        "--out",
        str(store),
        "--json",
    ]
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    process = os.posix_spawn(sys.executable, command, os.environ, file_actions=quiet)
    _, status, usage = os.wait4(process, 0)
    if status:
        sys.exit(f"features convert ended with status {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - begin, usage.ru_maxrss / 1024


def seconds_an_item(work: Callable[[str, int], object], items: list[tuple[str, int]]) -> float:
    """Return the median of seconds that one item takes."""
    times = []
    for recording_id, start in items:
        begin = time.perf_counter()
        work(recording_id, start)
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def main() -> None:
    """Measure and print rows of a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recordings", type=int, default=384)
    recordings = parser.parse_args().recordings
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "files"
        make_files(folder, recordings)
        took, memory = convert(folder, Path(temporary) / "store")
        store = FeatureStore.open(Path(temporary) / "store")
        rows = sum(held.rows for held in store.held.values())
        print(
            f"| `features convert`: {recordings} .npz, {rows:,} rows of {WIDTH:,} float32, to a store | "
            f"{took:.1f} s, {memory:,.0f} MB at most | 500 MB |"
        )
        files = {
            found.recording_id: found.files[0] for found in find_features(folder, LAYOUTS["omnivore"])[0]
        }
        draw = random.Random(0)
        ids = [draw.choice(store.recordings) for _ in range(2_000)]
        items = [(id_, draw.randrange(store.held[id_].rows - STEP)) for id_ in ids]

        def opened(id_: str, start: int) -> object:
            with np.load(files[id_]) as archive:
                return archive["arr_0"][start : start + STEP]

        def sliced(id_: str, start: int) -> object:
            return store.window(id_, start, start + STEP)

        def read(id_: str, start: int) -> object:
            return store.window(id_, start, start + STEP).copy()

        def copied(id_: str, start: int) -> object:
            return store.window(id_, start, start + STEP).astype(np.float32)

        some = items[:300]
        assert all(np.allclose(opened(*item), copied(*item), atol=2e-3) for item in some[:20])
        reference = seconds_an_item(opened, some)
        for what, work, target in (
            ("a slice of the store", sliced, "200 times faster"),
            ("its rows copied to memory as float16", read, ""),
            ("its rows copied to memory as float32", copied, ""),
        ):
            seconds = seconds_an_item(work, items)
            print(
                f"| a step's features ({STEP} rows): {what}, beside opening the .npz ({reference * 1e3:.2f} ms) | "
                f"{seconds * 1e6:.1f} µs, {reference / seconds:,.0f} times faster | {target} |"
            )


if __name__ == "__main__":
    main()

"""Speed of the readers on real annotations: YouCook2, HiREST, Goal-Step, rows of steps, CaptainCook4D.

    python benchmarks/datasets/reading.py [--runs 5]

The data are those of ../shared/data (or PROCTOR_DATA). Of the first three the project keeps rows: they are put back into
the layout of the release, at full size, in a folder that is measured and taken away. The numbers of recordings and steps
must be the known ones or the script stops. Only the reader is measured: no process is started, files are in the cache.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY))

from tests.datasets.original_layout import write_goalstep, write_hirest, write_youcook2  # noqa: E402

from proctor.datasets import captaincook4d, goalstep, hirest, steps, youcook2  # noqa: E402
from proctor.datasets.dataset import Dataset, Log, ReadResult  # noqa: E402

COUNTS = {
    "youcook2": (1790, 13_829),
    "hirest": (628, 4751),
    "goalstep": (134, 3349),
    "steps": (2936, 27_629),
    "captaincook4d": (384, 5698),  # two entries of 5,700 are taken out by hand-made patches
}


def shared_data() -> Path:
    """Return the folder of real data."""
    given = os.environ.get("PROCTOR_DATA")
    return Path(given) if given else REPOSITORY.parent / "shared" / "data"


def median_seconds(work: Callable[[], object], runs: int) -> float:
    """Median wall time."""
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def require_counts(dataset: Dataset, result: ReadResult) -> str:
    """Stop when the numbers are not the known ones; return them in words."""
    recordings, segments = len(result.recordings), sum(len(r.segments) for r in result.recordings)
    if (recordings, segments) != COUNTS[dataset.name]:
        sys.exit(
            f"{dataset.name}: {recordings} recordings with {segments} steps; {COUNTS[dataset.name]} are expected"
        )
    return f"{recordings:,} videos, {segments:,} steps"


def row(dataset: Dataset, folder: Path, runs: int, target: str = "") -> str:
    size = require_counts(dataset, dataset.read(folder))
    megabytes = sum(p.stat().st_size for f in dataset.files for p in folder.glob(f.path)) / 2**20
    seconds = median_seconds(lambda: dataset.read(folder), runs)
    return f"| {dataset.title} read ({size}, {megabytes:.1f} MB) | {seconds:.2f} s | {target} |"


def first_record(dataset: Dataset, folder: Path) -> None:
    records = dataset.iter_records(folder, "published", Log())
    next(records)
    records.close()  # type: ignore[attr-defined]


def rows(data: Path, runs: int) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        yield row(youcook2.DATASET, write_youcook2(data, work / "youcook2"), runs, "≤ 0.5 s")
        yield row(hirest.DATASET, write_hirest(data, work / "hirest"), runs)
        folder = write_goalstep(data, work / "goalstep")
        yield row(goalstep.DATASET, folder, runs)
        seconds = median_seconds(lambda: goalstep.DATASET.read(folder, "published", level="leaf"), runs)
        yield f"| … at the finest level (4,347 substeps) | {seconds:.2f} s | |"
    yield row(steps.DATASET, data / "steps", runs)
    seconds = median_seconds(lambda: first_record(steps.DATASET, data / "steps"), runs)
    yield f"| … until the first recording | {seconds * 1e3:.1f} ms | |"
    cook, folder = captaincook4d.DATASET, data / "captaincook4d"
    require_counts(cook, cook.read(folder))
    read = median_seconds(lambda: cook.read(folder), runs)
    check = median_seconds(lambda: cook.check(folder), runs)
    both = median_seconds(lambda: (cook.check(folder), cook.read(folder)), runs)
    parts = f"read and corrected alone {read:.2f} s, checked alone {check:.2f} s"
    yield f"| {cook.title} read, checked and corrected ({parts}) | {both:.2f} s | ≤ 1.5 s |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    data = shared_data()
    print("| what | measured | target |\n|---|---|---|")
    if not (data / "steps").is_dir():
        print(f"the real annotations are not at {data}", file=sys.stderr)
        return
    for line in rows(data, given.runs):
        print(line, flush=True)


if __name__ == "__main__":
    main()

"""Speed of trimming: Goal-Step validation (134 videos), and a stream of made recordings through the stage.

    python benchmarks/datasets/trimming.py [--runs 5] [--recordings 5000]

The rows are those of ../shared/data/steps (or PROCTOR_DATA); without them only the made recordings are measured. The
numbers of clips must be those of docs/clips.md or the script stops. The made recordings have 25 steps of 15 to
45 s each; memory is the growth of the process's peak while they stream.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from proctor.procedure.clip import leaf_segments
from proctor.procedure.recording import Recording, Segment
from proctor.procedure.trim_rules import DEFAULT, VARIANTS, trim_recording
from proctor.stages.datasets_clips import PrefixRules, derive_clips

EXPECTED = {"default": 153, "exclude": 118, "overlap": 171, "grow": 273}
LIMIT = "≤ 0.3 s"


def shared_rows() -> Path:
    """Return where the rows of Goal-Step are."""
    given = os.environ.get("PROCTOR_DATA")
    folder = Path(given) if given else Path(__file__).resolve().parents[3] / "shared" / "data"
    return folder / "steps" / "goalstep_val.jsonl.gz"


def read(path: Path, *, leaf: bool = False) -> list[Recording]:
    """Read the rows at the level of steps, or of substeps."""

    def segment(step: dict[str, Any]) -> Segment:
        return Segment(step["category"], step["text"], step["start"], step["end"])

    def levels(row: dict[str, Any]) -> Iterator[tuple[Segment, list[Segment]]]:
        for step in row["steps"]:
            yield segment(step), [segment(s) for s in step.get("substeps", [])] if leaf else []

    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [
        Recording(r["video_id"], r["goal_category"], r["goal"], leaf_segments(levels(r)), r["end"])
        for r in rows
    ]


def median_seconds(work: Callable[[], object], runs: int) -> float:
    """Median wall time."""
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def count(recordings: list[Recording], variant: str) -> int:
    return sum(len(trim_recording(r, VARIANTS[variant]).clips) for r in recordings)


def real_rows(path: Path, runs: int) -> Iterator[str]:
    steps, leaves = read(path), read(path, leaf=True)
    for variant, clips in EXPECTED.items():
        if count(steps, variant) != clips:
            sys.exit(f"{variant}: {count(steps, variant)} clips, {clips} are expected")
    segments = sum(len(r.segments) for r in steps)
    seconds = median_seconds(lambda: count(steps, "default"), runs)
    yield f"| trimming Goal-Step validation ({len(steps)} videos, {segments:,} steps) | {seconds * 1e3:.0f} ms | {LIMIT} |"
    seconds = median_seconds(lambda: [count(steps, v) for v in VARIANTS], runs)
    yield f"| … with all {len(VARIANTS)} variants, one after the other | {seconds * 1e3:.0f} ms | |"
    seconds = median_seconds(lambda: count(leaves, "default"), runs)
    substeps = sum(len(r.segments) for r in leaves)
    yield f"| … at the finest level ({substeps:,} steps) | {seconds * 1e3:.0f} ms | {LIMIT} |"
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "clips.jsonl")
        seconds = median_seconds(lambda: derive_clips(read(path), out), runs)
    yield f"| … rows read, trimmed, clips and drop list written | {seconds * 1e3:.0f} ms | {LIMIT} |"


def made(number: int) -> Iterator[Recording]:
    """Yield recordings one at a time."""
    rng = random.Random(0)
    for i in range(number):
        begin, segments = 0.0, []
        for _ in range(25):
            end = begin + rng.uniform(15, 45)
            segments.append(Segment(f"step {rng.randrange(40)}", "do it", begin, end))
            begin = end + rng.uniform(0, 10)
        yield Recording(f"recording-{i}", "a", "A", tuple(segments), begin + 10)


def made_rows(number: int) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "clips.jsonl")
        derive_clips(made(100), out)
        for what, rules in (("trimmed", DEFAULT), ("cut into prefixes after every step", PrefixRules())):
            some = number if rules is DEFAULT else number // 10
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            begin = time.perf_counter()
            clips = derive_clips(made(some), out, rules).clips
            seconds = time.perf_counter() - begin
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            yield (
                f"| {some:,} recordings of 25 steps, made, {what} and written ({clips:,} clips) "
                f"| {some / seconds:,.0f} recordings/s, {grown:.0f} MB more memory | |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--recordings", type=int, default=5_000)
    given = parser.parse_args()
    print("| what | measured | target |\n|---|---|---|")
    path = shared_rows()
    if path.is_file():
        for row in real_rows(path, given.runs):
            print(row, flush=True)
    else:
        print(f"the rows of Goal-Step are not at {path}", file=sys.stderr)
    for row in made_rows(given.recordings):
        print(row, flush=True)


if __name__ == "__main__":
    main()

"""All nine stages on CaptainCook4D, each a command from a cold start; and ``proctor --help``.

Run: python benchmarks/pipeline.py (needs PROCTOR_DATA or ../shared/data). Target: all nine in 10 s, read + derive in 3 s and
300 MB. The processor's seconds beside those of the clock say what was busy when others used the machine, too.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

RUNS = 5
STAGES = ("read", "derive", "generate", "verify", "build", "predict", "judge", "score", "report")


def run(*arguments: str) -> tuple[float, float, float]:
    """Run a command as a process of its own; return wall seconds, processor seconds and peak resident MB."""
    begin = time.perf_counter()
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(arguments)} ended with status {process.returncode}")
    return time.perf_counter() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    root = Path(os.environ.get("PROCTOR_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    proctor = str(Path(sys.executable).with_name("proctor"))
    runs = []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as folder:
            more = {
                "read": ("captaincook4d", str(root / "captaincook4d"), folder),
                "predict": (folder, "-p", "annotations"),
            }
            runs.append([run(proctor, stage, *more.get(stage, (folder,))) for stage in STAGES])
    for stage, found in zip(STAGES, zip(*runs, strict=True), strict=True):
        wall, processor, peak = map(median, zip(*found, strict=True))
        print(f"| proctor {stage} | {wall:.2f} s (processor {processor:.2f} s), {peak:.0f} MB | |")
    for what, stages, target in (
        ("read + correct + derive, 384 recordings, two cold commands", 2, "< 3 s, < 300 MB"),
        ("all nine stages, 384 recordings, nine cold commands", len(STAGES), "≤ 10 s"),
    ):
        wall, processor = (
            median(sum(stage[n] for stage in found[:stages]) for found in runs) for n in (0, 1)
        )
        peak = median(max(stage[2] for stage in found[:stages]) for found in runs)
        print(f"| {what} | {wall:.2f} s (processor {processor:.2f} s), {peak:.0f} MB | {target} |")
    print(f"| `proctor --help` | {median(run(proctor, '--help')[0] for _ in range(RUNS)):.2f} s | ≤ 0.25 s |")


if __name__ == "__main__":
    main()

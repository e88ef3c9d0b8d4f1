"""Read, correct and derive all of CaptainCook4D from a cold start, the command line included.

Run: python benchmarks/pipeline.py (needs PROCTOR_DATA or ../shared/data). Target: under 3 s and 300 MB.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 5


def run(*arguments: str) -> tuple[float, float]:
    """Run a command as a process of its own; return wall seconds and peak resident MB."""
    begin = time.perf_counter()
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(arguments)} ended with status {process.returncode}")
    return time.perf_counter() - begin, usage.ru_maxrss / 1024


def main() -> None:
    root = Path(os.environ.get("PROCTOR_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    proctor = str(Path(sys.executable).with_name("proctor"))
    walls, peaks = [], []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as folder:
            read = run(proctor, "read", "captaincook4d", str(root / "captaincook4d"), folder, "--json")
            derive = run(proctor, "derive", folder, "--json")
            walls.append(read[0] + derive[0])
            peaks.append(max(read[1], derive[1]))
    helps = [run(proctor, "--help")[0] for _ in range(RUNS)]
    wall, peak = statistics.median(walls), statistics.median(peaks)
    print(
        f"| read + correct + derive, 384 recordings, two cold commands | {wall:.2f} s, {peak:.0f} MB | < 3 s, < 300 MB |"
    )
    print(f"| `proctor --help` | {statistics.median(helps):.2f} s | ≤ 0.25 s |")


if __name__ == "__main__":
    main()

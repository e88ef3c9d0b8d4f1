"""What importing the metrics room costs a new process, over an empty interpreter.

python benchmarks/metrics/imports.py [--runs 9]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time


def seconds(code: str, runs: int) -> float:
    """Median wall time of a process that runs this code."""
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def main() -> None:
    """Print one line a measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=9)
    runs = parser.parse_args().runs
    empty = seconds("pass", runs)
    for what, code, target in (
        ("import numpy, for comparison", "import numpy", ""),
        ("import proctor.metrics", "import proctor.metrics", "≤ 0.3 s"),
        (
            "import proctor.metrics and all of its modules, NumPy included",
            "from proctor.metrics.catalogue import catalogue; catalogue()",
            "",
        ),
    ):
        print(f"| {what} | {seconds(code, runs) - empty:.3f} s | {target} |")


if __name__ == "__main__":
    main()

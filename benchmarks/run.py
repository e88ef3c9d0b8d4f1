"""Run every benchmark and write docs/performance.md with the machine described.

Run: make bench (or python benchmarks/run.py). Each script prints rows of one table: what, measured, target.
A script that lacks what it needs (the real annotations, an extra) says so and is listed as not run.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPTS = ("pipeline.py", "oracle.py", "judge.py", "report.py", "media/frames.py")
SECTIONS = {
    "media/frames.py": (
        "Frames: 50 uniform frames of a 10-minute 720p H.264 file at 360p, processor seconds (wall); "
        "target: at least 5 times less than the whole file when keyframes are 1–2 s apart"
    ),
}
TARGET = HERE.parent / "docs" / "performance.md"

INTRODUCTION = """\
# Performance

Written by `make bench`; medians of several runs. Speed is measured against the peer or the limit in the same run and
never asserted in a test. Figures are as good as the machine was quiet.
"""


def machine() -> str:
    """Describe the machine in one paragraph."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = ", ".join(f"{name} {version(name)}" for name in ("msgspec", "numpy", "av"))
    return (
        f"Machine: {processor()}, {len(os.sched_getaffinity(0))} cores, {memory:.0f} GB memory, "
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, {packages}. "
        f"Load average at the start: {os.getloadavg()[0]:.1f}."
    )


def processor() -> str:
    """Return the processor's name where the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown processor"


def rows_of(script: str) -> tuple[list[str], str]:
    """Run one script; return its table rows, and why there are none."""
    done = subprocess.run(
        [sys.executable, str(HERE / script)], capture_output=True, text=True, cwd=HERE.parent, check=False
    )
    rows = [line for line in done.stdout.splitlines() if line.startswith("|")]
    why = "" if rows else (done.stderr.strip().splitlines() or ["it printed no rows"])[-1]
    return rows, why


def main() -> None:
    """Run everything and write the page."""
    rows, tables, skipped = [], [], []
    for script in SCRIPTS:
        print(f"benchmarks/{script} ...", flush=True)
        found, why = rows_of(script)
        if any(line.startswith("|---") for line in found):
            tables += [f"\n## {SECTIONS.get(script, script)}\n", *found]
        else:
            rows += found
        if why:
            skipped.append(f"- `benchmarks/{script}` was not run: {why}")
        print("\n".join(found) or why, flush=True)
    head = [INTRODUCTION, machine(), "", "| what | measured | target |", "|---|---|---|"]
    text = "\n".join([*head, *rows, *tables, "", *skipped])
    TARGET.write_text(text.rstrip() + "\n", encoding="utf-8")
    print(f"written: {TARGET}")


if __name__ == "__main__":
    main()

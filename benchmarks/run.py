"""Run every benchmark and write docs/performance.md with the machine described.

Run: make bench (or python benchmarks/run.py [--only Metrics]). Each script prints rows of one table: what, measured, target.
A script that lacks what it needs (the real annotations, an extra) says so and is listed as not run.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
SECTIONS = {
    "The job": ("pipeline.py", "oracle.py", "judge.py", "report.py", "scale.py"),
    "Metrics": (
        "metrics/imports.py",
        "metrics/localization.py",
        "metrics/ordering.py",
        "metrics/significance.py",
        "metrics/agreement.py",
        "metrics/classification.py",
        "metrics/clustering.py",
        "metrics/segmentation.py",
        "metrics/retrieval.py",
        "metrics/answer.py",
    ),
    (
        "Frames: 50 uniform frames of a 10-minute 720p H.264 file at 360p, processor seconds (wall); "
        "target: at least 5 times less than the whole file when keyframes are 1–2 s apart"
    ): ("media/frames.py",),
    "Models: a call, side by side against the same stand-in, client and server on this machine": (
        "llm/calls.py",
    ),
    "Data sets": ("datasets/reading.py", "datasets/trimming.py", "datasets/scale.py"),
    "The studio: saves of many people at once, pages and start with 100,000 items, SIGKILL, and others' servers": (
        "studio/load.py",
        "studio/pages.py",
        "studio/fault_load.py",
        "studio/peer_potato.py",
        "studio/peer_label_studio.py",
    ),
    "Corpora: 300,000 sources on two cores, and the paper's store beside it": (
        "corpus/choosing.py",
        "corpus/lexical.py",
        "corpus/dense.py",
        "corpus/seeds.py",
        "corpus/peer_chroma.py",
        "corpus/generation.py",
    ),
    "Questions about clips": ("clip/pipeline.py",),
    "Learning": (
        "learn/features.py",
        "learn/training.py",
        "learn/localization.py",
        "learn/procedures.py",
        "learn/graphs.py",
    ),
    "Sequencing": ("learn/sequencing.py",),
}
HEAD = ["| what | measured | target |", "|---|---|---|"]
TARGET = HERE.parent / "docs" / "performance.md"

INTRODUCTION = """\
# Performance

Written by `make bench`; medians of several runs. Speed is measured against the peer or the limit in the same run and
never asserted in a test. Figures are as good as the machine was quiet.
"""


def machine() -> str:
    """Describe the machine in one paragraph."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = ", ".join(f"{name} {version(name)}" for name in ("msgspec", "numpy", "scipy", "av"))
    return (
        f"Machine: {processor()}, {len(os.sched_getaffinity(0))} cores, {memory:.0f} GB memory, "
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, {packages}."
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


def _is_head(row: str) -> bool:
    """Say whether a row is the head of a table or the rule below it: several scripts share one table."""
    return row.startswith("| what |") or not row.strip("|-: ")


def section(scripts: tuple[str, ...]) -> str:
    """Run the scripts of a section and return its body: one table, or the script's own with another head."""
    rows: list[str] = []
    skipped: list[str] = []
    for script in scripts:
        print(f"benchmarks/{script} ...", flush=True)
        found, why = rows_of(script)
        rows += found if len(scripts) == 1 else [row for row in found if not _is_head(row)]
        if why:
            skipped.append(f"- `benchmarks/{script}` was not run: {why}")
        print("\n".join(found) or why, flush=True)
    own_head = any(row.startswith("|---") for row in rows)
    load = f"Load average at the start: {os.getloadavg()[0]:.1f}."
    return "\n".join([load, "", *([] if own_head or not rows else HEAD), *rows, *skipped])


def written() -> dict[str, str]:
    """Return the sections of the page as it is, by title."""
    text = TARGET.read_text(encoding="utf-8") if TARGET.exists() else ""
    parts = (part.partition("\n") for part in text.split("\n## ")[1:])
    return {title.strip(): body.strip() for title, _, body in parts}


def main() -> None:
    """Run everything, or one section, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only", help="run the section whose title begins like this; the others stay as they are"
    )
    only = parser.parse_args().only
    before = written()
    bodies = {
        title: section(scripts)
        if only is None or title.lower().startswith(only.lower())
        else before.get(title, "Not run.")
        for title, scripts in SECTIONS.items()
    }
    parts = [INTRODUCTION, machine(), *(f"\n## {title}\n\n{body}" for title, body in bodies.items())]
    TARGET.write_text("\n".join(parts).rstrip() + "\n", encoding="utf-8")
    print(f"written: {TARGET}")


if __name__ == "__main__":
    main()

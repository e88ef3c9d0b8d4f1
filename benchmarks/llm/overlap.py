"""How well providers of different speed overlap: three predictors and three judges of one experiment, beside the ideal.

Each provider is a stand-in of its own process with a fixed latency. The ideal is the time that the slowest one needs alone; one
after the other takes the sum. Nothing else limits: 16 calls in flight for each.

Run: python benchmarks/llm/overlap.py (two minutes)
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from standin import server

from proctor.samples import copy_sample
from proctor.stages.build import build
from proctor.stages.derive import derive
from proctor.stages.exam_settings import PredictSettings
from proctor.stages.generate import generate
from proctor.stages.limits import Limits
from proctor.stages.predict import predict_with_several
from proctor.stages.read import read
from proctor.stages.settings import BuildSettings, DeriveSettings, GenerateSettings, ReadSettings
from proctor.stages.verify import verify

LATENCIES = (2.0, 1.4, 0.8)
IN_FLIGHT = 8


@contextmanager
def quietly(_title: str, _total: int | None = None) -> Iterator[Callable[[], None]]:
    """Show no progress."""
    yield lambda: None


def made(folder: Path) -> Path:
    """Make the questions of the shipped sample by rules."""
    copy_sample(folder / "sample")
    root = folder / "bench"
    read("plain", folder / "sample", root, ReadSettings())
    derive(root, DeriveSettings())
    generate(root, GenerateSettings(generator=("rules",)))
    verify(root)
    build(root, BuildSettings(min_confidence=0.0))
    return root


def timed(root: Path, models: list[str]) -> tuple[float, int]:
    """Return the seconds that these predictors take together, and how many calls they send."""
    limits = Limits(max_connections=IN_FLIGHT)
    begun = time.perf_counter()
    done = predict_with_several(root, models, PredictSettings(show="question"), limits=limits, show=quietly)
    return time.perf_counter() - begun, sum(run.calls.sent for run in done if run.calls is not None)


def main() -> None:
    """Measure each alone, then all together."""
    print(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        root = made(Path(folder))
        urls = [
            stack.enter_context(server("--check", "none", "--keep", "0", "--latency", str(s)))[0]
            for s in LATENCIES
        ]
        names = [f"compat/m{n}@{url}/v1" for n, url in enumerate(urls)]
        alone = []
        for number, (name, latency) in enumerate(zip(names, LATENCIES, strict=True)):
            seconds, calls = timed(root, [name.replace(f"m{number}", f"alone{number}")])
            alone.append(seconds)
            print(f"| {latency:.1f} s a call, {calls} calls, alone | {seconds:.2f} s |", flush=True)
        together, calls = timed(root, names)
        print(f"| all three, {calls} calls | {together:.2f} s = {max(alone) / together:.0%} of ideal ({max(alone):.2f} s); "
              f"one after the other {sum(alone):.2f} s | ≥ 90 % |")  # fmt: skip


if __name__ == "__main__":
    main()

"""Measure ActionFormer side by side: one recording of mean length, targets and suppression against the plain versions.

Each part is measured in a process of its own, on two threads; the network in turn with the padding of the released code, so
that what else runs on the machine disturbs both alike. Figures are medians of wall seconds, least of processor seconds in brackets.

Run: python benchmarks/learn/localization.py [--part network] (about two minutes on a quiet machine).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY))

from tests.learn.localize import plain  # noqa: E402

from proctor.learn.localize.targets import Pyramid, assign  # noqa: E402
from proctor.metrics.localization import Segments  # noqa: E402
from proctor.metrics.soft_nms import suppress_segments  # noqa: E402

ROWS, PADDED, WIDTH, CLASSES = 886, 1_024, 1_024, 353
"""Of the mean recording; rows padded to a multiple of 256; features of Omnivore; ids of steps."""
RELEASED = 4_096
"""Rows that the released code pads to."""
PARTS = ("network", "targets", "suppression")
ACTIONS, BATCH, RECORDINGS, CANDIDATES = 14, 8, 16, 20_000
"""Steps of a recording; recordings a batch; recordings; candidates of each (12,000 to 30,000 in practice)."""


def row(what: str, measured: str, target: str = "") -> None:
    """Print one row of the table."""
    print(f"| {what} | {measured} | {target} |", flush=True)


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return wall and processor seconds of one call."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def told(times: list[tuple[float, float]]) -> str:
    """Say the median of wall and the least of processor seconds."""
    return f"{median(w for w, _ in times):.3g} s ({min(c for _, c in times):.3g} s CPU)"


def network(runs: int) -> None:
    """Print forward and backward passes of one recording: losses, gradients and all."""
    import torch

    from proctor.learn.localize.losses import diou, focal
    from proctor.learn.localize.network import PyramidNetwork

    torch.set_num_threads(2)
    torch.manual_seed(0)
    module = PyramidNetwork(WIDTH, CLASSES, hides=0.3)
    rows = torch.randn(1, ROWS, WIDTH)
    a, b, label = actions(np.random.default_rng(0))

    def learned(padded: int) -> Callable[[], object]:
        x = torch.nn.functional.pad(rows, (0, 0, 0, padded - ROWS))
        mask = torch.arange(padded)[None] < ROWS
        wanted = assign(Pyramid(8, padded), a, b, label)
        place, ends = torch.from_numpy(wanted.place), torch.from_numpy(wanted.offsets).float()

        def work() -> None:
            found = module(x, mask)
            classes = torch.zeros_like(found.logits[0])
            classes[wanted.label_place, wanted.label] = 1.0
            real = found.real[0]
            loss = (
                focal(found.logits[0][real], classes[real]).sum() + diou(found.offsets[0][place], ends).sum()
            )
            loss.backward()
            module.zero_grad()

        return work

    ours, theirs = learned(PADDED), learned(RELEASED)
    ours()
    times: list[tuple[tuple[float, float], tuple[float, float]]] = [
        (timed(ours), timed(theirs)) for _ in range(runs)
    ]
    numbers = sum(p.numel() for p in module.parameters()) / 1e6
    row(
        f"ActionFormer ({numbers:.2f} M numbers), forward and backward of {ROWS} rows × {WIDTH:,} padded to {PADDED:,}",
        told([t for t, _ in times]),
        "≤ 1.7 s on two threads",
    )
    row(
        f"the same padded to {RELEASED:,} rows as the released code",
        told([t for _, t in times]),
        "7.0 s there",
    )


def actions(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return start, end and class of the steps of one recording, lengths as those of CaptainCook4D."""
    start = generator.uniform(0, ROWS - 60, ACTIONS)
    end = np.minimum(start + generator.lognormal(np.log(40), 0.8, ACTIONS), ROWS)
    return start, end, generator.integers(0, CLASSES, ACTIONS)


def targets(runs: int) -> None:
    """Print what points are to find, by search and by trying every point with every action."""
    generator = np.random.default_rng(0)
    pyramid = Pyramid(8, PADDED)
    every = [[actions(generator) for _ in range(BATCH)] for _ in range(25)]
    together = [[np.concatenate(x) for x in zip(*batch, strict=True)] for batch in every]
    recording = np.repeat(np.arange(BATCH), ACTIONS)
    size = len(pyramid.level)
    for batch, one in zip(every, together, strict=True):
        ours, theirs = assign(pyramid, *one, recording), [plain.assign(pyramid, *each) for each in batch]
        assert ours.place.tolist() == [n * size + p for n, t in enumerate(theirs) for p in t.place]
        assert np.array_equal(ours.offsets, np.concatenate([t.offsets for t in theirs]))
        labels = {
            (n * size + p, c)
            for n, t in enumerate(theirs)
            for p, c in zip(t.label_place, t.label, strict=True)
        }
        assert set(zip(ours.label_place, ours.label, strict=True)) == labels
    fast, slow = [], []
    for _ in range(runs):
        fast.append(timed(lambda: [assign(pyramid, *one, recording) for one in together]))
        slow.append(timed(lambda: [[plain.assign(pyramid, *one) for one in batch] for batch in every]))
    ratio = median(s for s, _ in slow) / median(f for f, _ in fast)
    row(
        f"targets of {25 * BATCH} recordings of {ACTIONS} steps, {PADDED:,} rows, 8 levels, by search, {BATCH} at once",
        told(fast),
    )
    row(
        "the same, every point with every action (equal to the last bit)",
        f"{told(slow)}, {ratio:.0f} times as long",
        "≥ 20 times",
    )


def suppression(runs: int) -> None:
    """Print soft-NMS of many recordings in one call, and one detection after the other."""
    generator = np.random.default_rng(0)
    size = RECORDINGS * CANDIDATES
    label = generator.choice(CLASSES, size, p=generator.dirichlet(np.full(CLASSES, 0.3)))
    video = np.repeat(np.arange(RECORDINGS), CANDIDATES)
    # half of the candidates lie around where a step of their class may be, half anywhere
    place = generator.uniform(0, ROWS, (RECORDINGS, CLASSES))[video, label] + generator.normal(0, 20, size)
    middle = np.where(generator.random(size) < 0.5, place, generator.uniform(0, ROWS, size))
    half = generator.lognormal(np.log(40), 0.8, size) / 2
    score = np.exp(generator.uniform(np.log(1e-3), 0, size))
    names = tuple(f"{c:03}" for c in range(CLASSES))
    videos = tuple(f"{v:02}" for v in range(RECORDINGS))
    every = Segments(video, middle - half, middle + half, label, score, videos, names)
    begin = time.perf_counter()
    suppress_segments(every, cap=200, limit=None)
    first = time.perf_counter() - begin
    for cap in (200, None):
        fast = [timed(lambda c=cap: suppress_segments(every, cap=c, limit=None)) for _ in range(runs)]
        begin = time.perf_counter()
        kept = one_by_one(every, cap)
        slow = time.perf_counter() - begin
        found = suppress_segments(every, cap=cap, limit=None)
        assert found.score is not None
        assert len(found) == len(kept)
        ours = sorted(zip(found.video.tolist(), found.label.tolist(), found.score.tolist(), strict=True))
        apart = max(abs(x[2] - y[2]) for x, y in zip(ours, sorted(kept), strict=True))
        assert apart <= 1e-6
        what = "at most 200 of a class" if cap else "all of a class, as the released code"
        row(
            f"soft-NMS of {RECORDINGS} recordings, {CANDIDATES:,} candidates each, {what} (first call {first:.2g} s)",
            told(fast),
        )
        ratio = slow / median(f for f, _ in fast)
        row(
            f"the same, one after the other (largest difference {apart:.0e})",
            f"{slow:.3g} s, {ratio:.0f} times as long",
            "≥ 50 times",
        )


def one_by_one(every: Segments, cap: int | None) -> list[tuple[int, int, float]]:
    """Suppress class by class with the plain loop; returns recording, class and score of what is left."""
    assert every.score is not None
    group = every.video * CLASSES + every.label
    order = np.lexsort((-every.score, group))
    kept: list[tuple[int, int, float]] = []
    for rows in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        best = rows[:cap]
        lists = (x[best].tolist() for x in (every.start, every.end, every.score))
        kept += [(int(every.video[best[0]]), int(every.label[best[0]]), s) for _, s in plain.soft_nms(*lists)]
    return kept


def main() -> None:
    """Print one row a measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, action="append")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--here", action="store_true", help="in this process")
    given = parser.parse_args()
    for part in given.part or PARTS:
        if given.here:
            {"network": network, "targets": targets, "suppression": suppression}[part](given.runs)
        else:
            command = [sys.executable, __file__, "--here", "--part", part, "--runs", str(given.runs)]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()

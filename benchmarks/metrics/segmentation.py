"""Speed of segmentation scores against a plain version of the published protocol, in the same run.

    python benchmarks/metrics/segmentation.py [--runs 3] [--videos 1700]

All data are made here with a seed: as many videos as Breakfast has, about 2,100 frames each, 48 labels; a prediction
moves boundaries, swaps labels and flickers. The plain version follows the protocol as it is described: loops over
frames, an edit distance by rows, one look at all reference segments for every predicted one. Both must agree or the
script stops.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

from proctor.metrics.segmentation import (
    OVERLAPS,
    segmentation_scores,
    segmentation_statistics,
)

BACKGROUND = "SIL"


def median_seconds(work: Callable[[], object], runs: int) -> float:
    """Median wall time."""
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def made(videos: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Videos of about seven segments, and predictions with flicker."""
    rng = np.random.default_rng(0)
    names = np.array([BACKGROUND, *(f"action_{i}" for i in range(47))])
    gt, pred = [], []
    for _ in range(videos):
        lengths = rng.integers(100, 500, size=7)
        codes = rng.integers(0, 48, size=7)
        codes[[0, -1]] = 0
        truth = np.repeat(codes, lengths)
        guess = np.roll(truth, int(rng.integers(-40, 40)))
        for _ in range(int(rng.integers(2, 20))):
            start = int(rng.integers(0, len(guess) - 60))
            guess[start : start + int(rng.integers(5, 60))] = rng.integers(0, 48)
        gt.append(names[truth])
        pred.append(names[guess])
    return gt, pred


def plain_segments(labels: list[str]) -> list[tuple[int, int, str]]:
    out, begin = [], 0
    for i in range(1, len(labels) + 1):
        if i == len(labels) or labels[i] != labels[begin]:
            if labels[begin] != BACKGROUND:
                out.append((begin, i, labels[begin]))
            begin = i
    return out


def plain_edit(a: list[str], b: list[str]) -> float:
    table = np.zeros((len(a) + 1, len(b) + 1))
    table[:, 0], table[0, :] = range(len(a) + 1), range(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            table[i, j] = min(
                table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (a[i - 1] != b[j - 1])
            )
    longer = max(len(a), len(b))
    return 1 - float(table[-1, -1]) / longer if longer else 1.0


def plain(gt: list[np.ndarray], pred: list[np.ndarray]) -> list[float]:
    """MoF, edit and F1 as the protocol reads."""
    right = frames = 0
    edits, counts = [], np.zeros((len(OVERLAPS), 3))
    for truth, guess in zip(gt, pred, strict=True):
        a, b = truth.tolist(), guess.tolist()
        frames += len(a)
        for x, y in zip(a, b, strict=True):
            right += x == y
        wanted, given = plain_segments(a), plain_segments(b)
        edits.append(plain_edit([s[2] for s in wanted], [s[2] for s in given]))
        start, end = (np.array([s[i] for s in wanted]) for i in (0, 1))
        for t, overlap in enumerate(OVERLAPS):
            used = np.zeros(len(wanted), dtype=bool)
            for first, last, label in given:
                shared = np.minimum(last, end) - np.maximum(first, start)
                iou = shared / (np.maximum(last, end) - np.minimum(first, start))
                iou = iou * np.array([s[2] == label for s in wanted])
                best = int(iou.argmax()) if len(wanted) else -1
                if best >= 0 and iou[best] >= overlap and not used[best]:
                    used[best] = True
                    counts[t, 0] += 1
                else:
                    counts[t, 1] += 1
            counts[t, 2] += len(wanted) - used.sum()
    f1 = [2 * tp / (2 * tp + fp + fn) for tp, fp, fn in counts]
    return [right / frames, sum(edits) / len(edits), *f1]


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--videos", type=int, default=1700)
    options = parser.parse_args()
    gt, pred = made(options.videos)
    frames = sum(map(len, gt))
    stats = segmentation_statistics(gt, pred, background=[BACKGROUND])
    found = {label: score.value for label, score in segmentation_scores(stats, resamples=0)}
    ours = [found[name] for name in ("MoF", "Edit", "F1@10", "F1@25", "F1@50")]
    begin = time.perf_counter()
    expected = plain(gt, pred)
    reference = time.perf_counter() - begin
    if not np.allclose(ours, expected, rtol=0, atol=1e-9):
        raise SystemExit(f"the two versions differ: {ours} and {expected}")
    what = f"{len(gt):,} videos, {frames / 1e6:.1f} million frames"
    seconds = median_seconds(lambda: segmentation_statistics(gt, pred, background=[BACKGROUND]), options.runs)
    corrected = median_seconds(
        lambda: segmentation_statistics(gt, pred, background=[BACKGROUND], matching="corrected"), options.runs
    )
    intervals = median_seconds(lambda: segmentation_scores(stats), 1)
    print(
        f"| MoF, edit, F1@{{10,25,50}}, boundaries: {what} | {seconds:.2f} s "
        f"({reference / seconds:.0f} times faster than the plain version, {reference:.1f} s) | no target |"
    )
    print(f"| the same with one-to-one matching | {corrected:.2f} s | no target |")
    print(
        f"| intervals of all {len(found)} scores, 10,000 resamples of {len(gt):,} videos | {intervals:.1f} s | no target |"
    )


if __name__ == "__main__":
    main()

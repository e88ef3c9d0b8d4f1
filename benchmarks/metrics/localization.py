"""Speed of localization scores against a plain version of the definition, in the same run: medians of several runs.

    python benchmarks/metrics/localization.py [--runs 5] [--resamples 1000]

The arrays are in memory; encoding the names of videos and labels is part of the measured time. The shared
predictions are used where they exist, the large set is made here with a seed: 384 videos of 24 recipes, 350
classes, 14 segments and 2,000 predictions a video. Both versions must agree to 1e-9 or the script stops.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from proctor.metrics.localization import Segments, apply_protocol, localization_scores, score_intervals
from proctor.metrics.soft_nms import suppress_segments
from proctor.stages.scoring.localization import read_ground_truth, read_predictions

TIOU = (0.1, 0.2, 0.3, 0.4, 0.5)
PLACE = Path(os.environ.get("PROCTOR_DATA", Path(__file__).resolve().parents[3] / "shared" / "data")) / "msl"
GT = PLACE / "gt_environment_test.csv"
PREDICTIONS = PLACE / "preds_omnivore_4s_60sub_environment_error_videos.csv.gz"


@dataclass(frozen=True)
class Rows:
    """Parallel lists as a stranger has them: names as texts, numbers as arrays."""

    video: list[str]
    start: np.ndarray
    end: np.ndarray
    label: list[str]
    score: np.ndarray | None

    def segments(self) -> Segments:
        return Segments.of(self.video, self.start, self.end, self.label, self.score)


def rows_of(segments: Segments) -> Rows:
    return Rows(
        [str(segments.videos[c]) for c in segments.video],
        segments.start,
        segments.end,
        [str(segments.labels[c]) for c in segments.label],
        segments.score,
    )


def made(videos: int, classes: int, each: int, seed: int = 0) -> tuple[Rows, Rows]:
    """Ground truth in recipes, and predictions of which a third hit a segment of their video more or less."""
    rng = np.random.default_rng(seed)
    recipes = np.array_split(rng.permutation(classes), 24)
    truth: list[tuple[str, float, float, str]] = []
    found: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for v in range(videos):
        steps = rng.choice(recipes[v % 24], 14)
        length = rng.uniform(10, 90, 14)
        start = np.cumsum(rng.uniform(0, 10, 14) + np.append(0, length[:-1]))
        truth += [(f"video_{v}", s, s + n, str(c)) for s, n, c in zip(start, length, steps, strict=True)]
        which = rng.integers(0, 14, each)
        hit = rng.random(each) < 0.33
        a = np.where(hit, start[which] + rng.normal(0, 8, each), rng.uniform(0, start[-1], each))
        n = np.where(hit, length[which] * rng.uniform(0.6, 1.4, each), rng.uniform(5, 120, each))
        c = np.where(hit, steps[which], rng.integers(0, classes, each))
        found.append((a, a + n, c))
    a, b, c = (np.concatenate(part) for part in zip(*found, strict=True))
    score = rng.beta(1, 4, len(a))
    names = [f"video_{v}" for v in range(videos) for _ in range(each)]
    shuffled = rng.permutation(len(a))
    t = list(zip(*truth, strict=True))
    return (
        Rows(list(t[0]), np.array(t[1]), np.array(t[2]), list(t[3]), None),
        Rows(
            [names[k] for k in shuffled],
            a[shuffled],
            b[shuffled],
            list(map(str, c[shuffled])),
            score[shuffled],
        ),
    )


def definition(truth: Rows, predictions: Rows) -> np.ndarray:
    """mAP, R@1x, R@5x at five tIoU as they are defined: one prediction, one class, one threshold after the other."""
    groups: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for v, a, b, c in zip(truth.video, truth.start, truth.end, truth.label, strict=True):
        groups[v, c].append((a, b))
    by_class: dict[str, list[tuple[float, str, float, float]]] = defaultdict(list)
    assert predictions.score is not None
    for v, a, b, c, s in zip(
        predictions.video,
        predictions.start,
        predictions.end,
        predictions.label,
        predictions.score,
        strict=True,
    ):
        by_class[c].append((-s, v, a, b))
    classes = sorted(set(truth.label))
    table = np.zeros((3, len(TIOU), len(classes)))
    for j, c in enumerate(classes):
        ordered = sorted(by_class[c])
        mine = {v: g for (v, label), g in groups.items() if label == c}
        total = sum(map(len, mine.values()))
        overlaps = []
        for _, v, a, b in ordered:
            shared = [max(0.0, min(b, y) - max(a, x)) for x, y in mine.get(v, ())]
            overlaps.append(
                [i / (b - a + y - x - i) for i, (x, y) in zip(shared, mine.get(v, ()), strict=True)]
            )
        for t, threshold in enumerate(TIOU):
            taken: set[tuple[str, int]] = set()
            hits = np.zeros(len(ordered))
            for row, (_, v, _, _) in enumerate(ordered):
                for g in sorted(range(len(overlaps[row])), key=lambda g: -overlaps[row][g]):
                    if overlaps[row][g] < threshold:
                        break
                    if (v, g) not in taken:
                        taken.add((v, g))
                        hits[row] = 1
                        break
            found = np.cumsum(hits)
            precision, recall = found / np.arange(1, len(ordered) + 1), found / total
            envelope = np.maximum.accumulate(np.append(precision, 0.0)[::-1])[::-1][:-1]
            table[0, t, j] = np.sum(np.diff(recall, prepend=0.0) * envelope)
            for k, multiple in enumerate((1, 5), start=1):
                kept: dict[str, int] = defaultdict(int)
                recalled = set()
                for row, (_, v, _, _) in enumerate(ordered):
                    if kept[v] < multiple * len(mine.get(v, ())):
                        kept[v] += 1
                        recalled |= {(v, g) for g, iou in enumerate(overlaps[row]) if iou >= threshold}
                table[k, t, j] = len(recalled) / total
    return table.mean(axis=2)


def scored(truth: Rows, predictions: Rows) -> np.ndarray:
    result = localization_scores(truth.segments(), predictions.segments(), tiou=TIOU)
    return np.stack([result.mean_ap, result.mean_recall[1], result.mean_recall[5]])


def median_seconds(work: Callable[[], object], runs: int) -> float:
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def compare(what: str, truth: Rows, predictions: Rows, target: str, runs: int, resamples: int) -> None:
    begin = time.perf_counter()
    expected = definition(truth, predictions)
    plain = time.perf_counter() - begin
    gap = float(np.abs(expected - scored(truth, predictions)).max())
    if gap > 1e-9:
        raise SystemExit(f"{what}: the plain version differs by {gap}")
    ours = median_seconds(lambda: scored(truth, predictions), runs)
    print(
        f"| mAP and recall at five tIoU, {what}: plain version {plain:.2f} s, greatest difference {gap:.0e} "
        f"| {ours:.3f} s | {target} |"
    )
    a, b = truth.segments(), predictions.segments()
    encoded = median_seconds(lambda: localization_scores(a, b, tiou=TIOU), runs)
    print(f"| the same, names already encoded | {encoded:.3f} s | |")
    matches = localization_scores(a, b, tiou=TIOU).matches
    drawn = median_seconds(lambda: score_intervals(matches, resamples=resamples), min(runs, 3))
    print(f"| intervals of all 26 scores, {resamples:,} resamples of the videos, {what} | {drawn:.2f} s | |")


def command(runs: int) -> None:
    tool = Path(sys.executable).with_name("proctor")
    files = ["--gt", str(GT), "--pred", str(PREDICTIONS), "--json"]
    for extra, target in (([], "≤ 3 s"), (["--resamples", "0"], "")):
        line = [str(tool), "score", "localization", *files, *extra]
        seconds = median_seconds(lambda: subprocess.run(line, check=True, capture_output=True), runs)  # noqa: B023
        print(
            f"| proctor metrics localization, 38,000 predictions {' '.join(extra)} | {seconds:.2f} s | {target} |"
        )


def main() -> None:
    """Print one line a measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--resamples", type=int, default=1000)
    options = parser.parse_args()
    if PREDICTIONS.is_file():
        prepared = apply_protocol(read_ground_truth(GT), read_predictions(PREDICTIONS), "activitynet")
        truth, predictions = rows_of(prepared.truth), rows_of(read_predictions(PREDICTIONS))
        compare("38,000 shared predictions", truth, predictions, "≤ 0.15 s", options.runs, options.resamples)
        command(options.runs)
    else:
        print(f"| localization on the shared predictions: not run, {PLACE} is missing | | |")
    large = made(384, 350, 2000)
    compare("768,000 predictions, 350 classes, 384 videos", *large, "≤ 2 s", options.runs, options.resamples)
    video = made(1, 350, 20_000)[1].segments()
    seconds = median_seconds(lambda: suppress_segments(video), options.runs)
    print(f"| soft-NMS of one video, 20,000 candidates in 350 classes | {seconds:.2f} s | |")
    seconds = median_seconds(lambda: suppress_segments(video, cap=200), options.runs)
    print(f"| the same, at most 200 candidates a class | {seconds:.2f} s | |")


if __name__ == "__main__":
    main()

"""Speed of key-step clustering scores against plain versions in the same run: medians of several runs.

    python benchmarks/metrics/clustering.py [--runs 3]

All data are made here with a seed: recipes of 7 videos at 15 frames a second, 14 key steps and background, 30
clusters. The plain chance row labels every frame; one draw of it is timed and extrapolated. Both must agree within
five standard errors or the script stops. There is no given target.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

from proctor.metrics.clustering import (
    Overlap,
    count_overlap,
    key_step_iou,
    mean_over_groups,
    measure_key_steps,
    merge_overlaps,
    random_clustering,
)

CLUSTERS, DRAWS = 30, 20


def median_seconds(work: Callable[[], object], runs: int) -> float:
    """Median wall time."""
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def made(recipes: int, videos: int = 7, frames: int = 15_000) -> dict[str, dict[str, np.ndarray]]:
    """True labels of the frames of every video."""
    rng = np.random.default_rng(0)
    out: dict[str, dict[str, np.ndarray]] = {}
    for r in range(recipes):
        out[f"recipe {r:02}"] = {}
        for v in range(videos):
            cuts = np.sort(rng.integers(0, frames, 28))
            steps = np.insert(rng.permutation(np.arange(1, 15)), np.arange(15), 0)
            out[f"recipe {r:02}"][f"{r}_{v}"] = np.repeat(steps, np.diff(cuts, prepend=0, append=frames))
    return out


def overlaps(
    truth: dict[str, dict[str, np.ndarray]], label: Callable[[np.ndarray], np.ndarray]
) -> dict[str, dict[str, Overlap]]:
    """Common frames with what ``label`` makes of the true labels."""
    return {
        recipe: {name: count_overlap(labels, label(labels)) for name, labels in videos.items()}
        for recipe, videos in truth.items()
    }


def row(what: str, measured: str, target: str = "none given") -> None:
    print(f"| {what} | {measured} | {target} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    rng = np.random.default_rng(1)
    truth = made(24)
    total = sum(labels.size for videos in truth.values() for labels in videos.values())

    def noisy(labels: np.ndarray) -> np.ndarray:
        return np.where(rng.random(labels.size) < 0.5, labels, rng.integers(0, CLUSTERS, labels.size))

    one = truth["recipe 00"]
    frames = np.concatenate(list(one.values()))
    clusters = noisy(frames)
    row(
        f"key_step_iou of one recipe, {frames.size:,} frames",
        f"{median_seconds(lambda: key_step_iou(frames, clusters), runs):.2f} s",
    )

    begin = time.perf_counter()
    drawn = overlaps(truth, lambda labels: rng.integers(0, CLUSTERS, labels.size))
    plain = np.mean([measure_key_steps(merge_overlaps(videos).counts) for videos in drawn.values()], axis=0)
    slow = (time.perf_counter() - begin) * DRAWS
    fast = median_seconds(lambda: random_clustering(drawn, CLUSTERS, draws=DRAWS), runs)
    many = [random_clustering(drawn, CLUSTERS, draws=1, seed=seed) for seed in range(DRAWS)]
    for k in range(4):
        values = [scores[k].value for scores in many]
        if abs(plain[k] - np.mean(values)) > 5 * np.std(values, ddof=1) * (1 + 1 / DRAWS) ** 0.5:
            raise SystemExit("both chance rows differ")
    row(
        f"chance row of 24 recipes, {total:,} frames, {DRAWS} draws",
        f"{fast:.2f} s; labelling every frame {slow:.0f} s (extrapolated from one draw), {slow / fast:.0f} times as long",
    )
    groups = overlaps({"recipe 00": one}, noisy)
    row(
        "four scores of one recipe with 10,000 resamples of its 7 videos, each matched anew",
        f"{median_seconds(lambda: mean_over_groups(groups), 1):.1f} s",
    )
    groups = overlaps(truth, noisy)
    row(
        "four scores of 24 recipes with 10,000 resamples of recipes",
        f"{median_seconds(lambda: mean_over_groups(groups), runs):.2f} s",
    )


if __name__ == "__main__":
    main()

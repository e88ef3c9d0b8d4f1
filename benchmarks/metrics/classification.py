"""Speed of error recognition scores against scikit-learn in the same run: medians of several runs.

    python benchmarks/metrics/classification.py [--runs 3]

All data are made here with a seed. scikit-learn has no bootstrap: it is called once a resample, with the counts of
the recordings as sample weights, for a few resamples, and the time is extrapolated. Both must give the same values
on these resamples to 1e-12 or the script stops. There is no given target.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from proctor.metrics.classification import average_precision, equal_error_rate, f1_score, roc_auc
from proctor.metrics.separation import Ranking

RESAMPLES = 10_000
CHECKED = 40


def median_seconds(work: Callable[[], object], runs: int) -> float:
    """Median wall time."""
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def made(items: int, recordings: int) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Labels with 36 % mistakes, scores that know a little, recordings."""
    rng = np.random.default_rng(0)
    labels = rng.random(items) < 0.36
    return labels, rng.normal(size=items) + 0.5 * labels, [f"r{k % recordings:04}" for k in range(items)]


def by_scikit_learn(
    labels: np.ndarray,
    scores: np.ndarray,
    clusters: list[str],
    known: Callable[..., float],
    counts: np.ndarray,
) -> tuple[float, list[float]]:
    """Seconds for one resample, and the values."""
    _, place = np.unique(clusters, return_inverse=True)
    begin = time.perf_counter()
    values = [float(known(labels, scores, sample_weight=row[place])) for row in counts]
    return (time.perf_counter() - begin) / len(counts), values


def row(what: str, measured: str, target: str = "none given") -> None:
    print(f"| {what} | {measured} | {target} |")


def compare(items: int, recordings: int, runs: int) -> None:
    """Intervals of both areas on one set against scikit-learn."""
    labels, scores, clusters = made(items, recordings)
    counts = np.random.default_rng(1).multinomial(recordings, np.full(recordings, 1 / recordings), CHECKED)
    ranking = Ranking.of(labels, scores, clusters)
    for metric, known, curve in (
        (roc_auc, roc_auc_score, ranking.roc_auc),
        (average_precision, average_precision_score, ranking.average_precision),
    ):
        each, values = by_scikit_learn(labels, scores, clusters, known, counts)
        if np.abs(curve(counts) - values).max() > 1e-12:
            raise SystemExit(f"{metric.__name__} differs from scikit-learn")
        ours = median_seconds(
            lambda m=metric: m(labels, scores, clusters=clusters, resamples=RESAMPLES), runs
        )
        row(
            f"{metric.__name__} with {RESAMPLES:,} resamples of {recordings} recordings, {items:,} items",
            f"{ours:.2f} s; scikit-learn once a resample {each * RESAMPLES:.1f} s "
            f"(extrapolated from {CHECKED}), {each * RESAMPLES / ours:.0f} times as long",
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    compare(671, 48, runs)
    compare(5_000, 200, runs)
    labels, scores, clusters = made(671, 48)
    calls = scores > 0.3
    for name, work in (
        ("equal_error_rate", lambda: equal_error_rate(labels, scores, clusters=clusters)),
        ("f1_score", lambda: f1_score(labels, calls, clusters=clusters)),
    ):
        row(
            f"{name} with {RESAMPLES:,} resamples of 48 recordings, 671 items",
            f"{median_seconds(work, runs):.2f} s",
        )
    labels, scores, clusters = made(340_000, 384)
    row(
        "roc_auc of 340,000 frames, no interval",
        f"{median_seconds(lambda: roc_auc(labels, scores), runs):.2f} s",
    )
    row(
        "roc_auc of 340,000 frames with 1,000 resamples of 384 recordings",
        f"{median_seconds(lambda: roc_auc(labels, scores, clusters=clusters, resamples=1_000), 1):.1f} s",
    )


if __name__ == "__main__":
    main()

"""Speed of the bootstrap, the comparison of all pairs, and the tests, against loops and SciPy in the same run.

    python benchmarks/metrics/significance.py [--runs 3]

The yardstick draws few resamples and is extrapolated to as many as ours (cost is linear in the draws); its interval is held
against ours. All data are made here: marks 0, 50, 100 of eight systems on 5,000 examples.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
from scipy import stats

from proctor.metrics.bootstrap import bootstrap_mean_intervals
from proctor.metrics.calibration import calibration_test, expected_calibration_error
from proctor.metrics.concurrence import concurrence_interval
from proctor.metrics.hypothesis_tests import sign_flip_test
from proctor.metrics.significance import compare_all_pairs

EXAMPLES, SYSTEMS, DRAWS = 5_000, 8, 10_000
FEW = 100
"""Draws of the yardsticks."""


def seconds(work: Callable[[], object], runs: int) -> tuple[float, float]:
    """Median wall time and median processor time (of all threads); they differ on a busy machine."""
    walls, cpus = [], []
    for _ in range(runs):
        begin, busy = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - begin)
        cpus.append(time.process_time() - busy)
    return statistics.median(walls), statistics.median(cpus)


def row(what: str, measured: tuple[float, float], target: str = "", times: float = 1.0) -> None:
    """Print one line of the table."""
    wall, cpu = (t * times for t in measured)
    print(f"| {what} | {wall:.3f} s (processor {cpu:.3f} s) | {target} |", flush=True)


def marks() -> np.ndarray:
    """Marks of all systems, shape (systems, examples); clusters differ in ease."""
    rng = np.random.default_rng(0)
    skill = np.linspace(0.3, 0.7, SYSTEMS)[:, None]
    return 50.0 * rng.binomial(2, np.clip(skill + rng.normal(0, 0.1, EXAMPLES), 0, 1))


def loop(values: np.ndarray, index: np.ndarray, clusters: int, draws: int) -> np.ndarray:
    """The definition: draw clusters, put their examples together, average; one row a draw."""
    rng = np.random.default_rng(1)
    members = [np.flatnonzero(index == c) for c in range(clusters)]
    return np.array(
        [
            values[:, np.concatenate([members[c] for c in rng.integers(0, clusters, clusters)])].mean(axis=1)
            for _ in range(draws)
        ]
    )


def bootstrap(runs: int) -> None:
    """Eight systems in one pass, with 500 and with 5,000 clusters, free and in strata."""
    values = marks()
    for clusters in (500, EXAMPLES):
        index = np.arange(EXAMPLES) % clusters
        names = [f"r{c:04}" for c in index]
        strata = [f"s{c % 5}" for c in index]
        what = f"{DRAWS:,} resamples, {EXAMPLES:,} examples, {clusters:,} clusters, {SYSTEMS} systems"
        row(
            f"clustered BCa bootstrap, {what}",
            seconds(lambda n=names: bootstrap_mean_intervals(values, n), runs),
            "≤ 2 s",
        )
        row(
            f"the same in 5 strata, {what}",
            seconds(lambda n=names, s=strata: bootstrap_mean_intervals(values, n, strata=s), runs),
            "≤ 2 s",
        )
        drawn = loop(values, index, clusters, FEW)
        slow = seconds(lambda i=index, c=clusters: loop(values, i, c, FEW), 1)
        row(f"  plain loop, {FEW} draws, times {DRAWS // FEW}", slow, times=DRAWS / FEW)
        ours = bootstrap_mean_intervals(values, names, method="percentile")
        widths = np.array([i.high - i.low for i in ours]) / (2 * 1.959964 * drawn.std(axis=0, ddof=1))
        print(f"|   width of ours over that of the loop's normal interval | {widths.mean():.3f} | ≈ 1 |")
    rng = np.random.default_rng(0)
    slow = seconds(
        lambda: stats.bootstrap(
            (values[0],), np.mean, n_resamples=FEW, method="percentile", rng=rng, batch=FEW
        ),
        1,
    )
    what = f"{FEW} draws of one system, times {DRAWS // FEW} times {SYSTEMS}"
    row(
        f"  scipy.stats.bootstrap (percentile), examples as clusters, {what}",
        slow,
        times=DRAWS / FEW * SYSTEMS,
    )


def pairs(runs: int) -> None:
    """All 28 pairs: interval, sign-flip test, Holm, effect and detectable difference."""
    values = marks()
    ids = [f"i{k:04}" for k in range(EXAMPLES)]
    runs_of = {f"s{j}": dict(zip(ids, values[j].tolist(), strict=True)) for j in range(SYSTEMS)}
    for clusters in (500, EXAMPLES):
        names = {i: f"r{k % clusters:04}" for k, i in enumerate(ids)}
        row(
            f"all 28 pairs compared, {DRAWS:,} draws, {EXAMPLES:,} examples, {clusters:,} clusters",
            seconds(lambda n=names: compare_all_pairs(runs_of, n), runs),
            "own: ≤ 4 s",
        )
    differences = values[1] - values[0]
    row(
        f"one sign-flip test, {DRAWS:,} draws, {EXAMPLES:,} clusters",
        seconds(lambda: sign_flip_test(differences), runs),
    )
    rng = np.random.default_rng(0)
    slow = seconds(
        lambda: stats.permutation_test(
            (differences,), np.sum, permutation_type="samples", n_resamples=FEW, rng=rng
        ),
        1,
    )
    row(f"  scipy.stats.permutation_test, {FEW} draws, times {DRAWS // FEW}", slow, times=DRAWS / FEW)
    exact = np.random.default_rng(0).normal(0.2, 1, 30)
    row("one exact sign-flip test, 30 clusters (2^30 patterns)", seconds(lambda: sign_flip_test(exact), runs))


def others(runs: int) -> None:
    """Concurrence over questions, calibration."""
    rng = np.random.default_rng(0)
    a, b = (rng.random((300, 8)) < np.linspace(0.3, 0.9, 8) for _ in range(2))
    row(
        f"tau-b over questions, {DRAWS:,} draws, 300 + 300 questions, 8 systems",
        seconds(lambda: concurrence_interval(a, b), runs),
    )
    stated = rng.random(100_000)
    truth = (rng.random(100_000) < stated).astype(float)
    row("ECE of 100,000 confidences", seconds(lambda: expected_calibration_error(truth, stated), runs))
    row(
        "calibration test, 2,000 draws, 5,000 confidences",
        seconds(lambda: calibration_test(truth[:5_000], stated[:5_000]), runs),
    )


def main() -> None:
    """Print one line a measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    print("| what | measured | target |\n|---|---|---|")
    bootstrap(runs)
    pairs(runs)
    others(runs)


if __name__ == "__main__":
    main()

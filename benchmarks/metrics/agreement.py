"""Speed of agreement: alpha with its bootstrap against the krippendorff package, kappa, orders and segments.

    python benchmarks/metrics/agreement.py [--runs 3]

All data are made here. The package has no bootstrap: it is called once a draw, for a few draws of the same units, and
the time is extrapolated. Both must give the same values on these draws, else nothing is printed.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable

import krippendorff
import numpy as np

from proctor.metrics.agreement import cohen_kappa
from proctor.metrics.krippendorff import Level, krippendorff_alpha
from proctor.metrics.order_agreement import (
    AlternativeInstance,
    alternative_order_agreement,
    instance_order_agreement,
    order_agreement,
)
from proctor.metrics.segment_agreement import (
    boundary_error,
    compare_segments,
    detection_agreement,
    mean_segment_iou,
)

UNITS, RATERS, DRAWS = 1_000, 5, 20_000
PACKAGE_DRAWS = 20
PACKAGE_VALUES = 100


def median_seconds(work: Callable[[], object], runs: int) -> float:
    """Median wall time."""
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def ratings(values: int) -> np.ndarray:
    """Ratings from 1 to ``values`` around a true one, one in ten missing."""
    rng = np.random.default_rng(0)
    true = rng.integers(1, values + 1, UNITS)[:, None]
    spread = max(1, values // 8)
    noisy = np.clip(true + rng.integers(-spread, spread + 1, (UNITS, RATERS)), 1, values).astype(float)
    noisy[rng.random(noisy.shape) < 0.1] = np.nan
    return noisy


def package_seconds(data: np.ndarray, level: Level) -> float:
    """Seconds that the package needs for ``DRAWS`` draws, from a few; its values are compared with ours."""
    rng = np.random.default_rng(1)
    drawn = [data[rng.integers(0, UNITS, UNITS)] for _ in range(PACKAGE_DRAWS)]
    begin = time.perf_counter()
    theirs = [krippendorff.alpha(reliability_data=d.T, level_of_measurement=level) for d in drawn]
    seconds = (time.perf_counter() - begin) / PACKAGE_DRAWS * DRAWS
    ours = [krippendorff_alpha(d, level=level, resamples=0).value for d in drawn]
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)
    return seconds


def alpha_rows(runs: int) -> None:
    """Alpha with 20,000 draws, by level and number of values."""
    cases: list[tuple[Level, int]] = [
        ("nominal", 2), ("nominal", 5), ("ordinal", 5), ("interval", 5), ("ratio", 5), ("ordinal", 100), ("interval", 1_000),
    ]  # fmt: skip
    for level, values in cases:
        data = ratings(values)
        clusters = [f"r{k % 200}" for k in range(UNITS)]
        alone = median_seconds(lambda d=data, v=level: krippendorff_alpha(d, level=v, resamples=DRAWS), runs)
        together = median_seconds(
            lambda d=data, v=level, c=clusters: krippendorff_alpha(d, level=v, clusters=c, resamples=DRAWS),
            runs,
        )
        if values <= PACKAGE_VALUES:
            package = f"krippendorff in a loop: {package_seconds(data, level):,.0f} s"
        else:
            package = "krippendorff not run: it takes units × values² numbers of memory"
        target = "≤ 3 s" if values <= 5 else ""
        what = f"α {level}, {values:,} values, {UNITS:,} × {RATERS} ratings, {DRAWS:,} draws"
        print(f"| {what} of units | {alone:.2f} s ({package}) | {target} |")
        print(f"| {what} of 200 recordings | {together:.2f} s | {target} |")


def kappa_rows(runs: int) -> None:
    """Cohen's kappa with 20,000 draws."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(1, 6, UNITS), rng.integers(1, 6, UNITS)
    seconds = median_seconds(lambda: cohen_kappa(a, b, weights="quadratic", resamples=DRAWS), runs)
    print(f"| κ quadratic, {UNITS:,} items, {DRAWS:,} draws | {seconds:.2f} s | |")


def order_rows(runs: int) -> None:
    """Orders of 400 instances by three annotators; alternative orders likewise."""
    rng = random.Random(0)
    people = ("ana", "ben", "cem")
    instances = {str(k): {who: tuple(rng.sample(range(12), 12)) for who in people} for k in range(400)}
    flat = [
        orders for by in instances.values() for orders in zip(by.values(), [*by.values()][1:], strict=False)
    ]
    fast = median_seconds(lambda: [instance_order_agreement(pair) for pair in flat], runs)
    print(f"| agreement of two orders of 12, {len(flat):,} pairs | {fast:.3f} s | |")
    seconds = median_seconds(lambda: order_agreement(instances), runs)
    print(f"| order agreement, 400 instances × 3 annotators, 2,000 draws | {seconds:.2f} s | |")
    gold = tuple(range(5))
    listed = {
        str(k): AlternativeInstance(
            gold, {who: [tuple(rng.sample(gold, 5)) for _ in range(3)] for who in people}
        )
        for k in range(400)
    }
    seconds = median_seconds(lambda: alternative_order_agreement(listed), runs)
    print(f"| Algorithm 1, 400 instances × 3 annotators × 3 orders, 2,000 draws | {seconds:.2f} s | |")


def segment_rows(runs: int) -> None:
    """All segment scores of 384 recordings, 15 steps each, two annotators."""
    rng = np.random.default_rng(0)

    def marked() -> list[tuple[str, float, float]]:
        start = np.arange(15) * 20.0 + rng.normal(0, 2, 15)
        return [(f"s{k}", float(t), float(t) + 15.0) for k, t in enumerate(start)]

    recordings = {f"r{k}": {"ana": marked(), "ben": marked()} for k in range(384)}

    def work() -> None:
        compared = compare_segments(recordings)
        mean_segment_iou(compared)
        for side in ("start", "end"):
            boundary_error(compared, 0.5, boundary=side)
            boundary_error(compared, 0.9, boundary=side)
        for threshold in (0.1, 0.25, 0.5):
            detection_agreement(compared, threshold)

    print(
        f"| segments of 384 recordings × 15 steps × 2 annotators, 8 scores, 2,000 draws | {median_seconds(work, runs):.2f} s | |"
    )


def main() -> None:
    """Print one line a measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    alpha_rows(runs)
    kappa_rows(runs)
    order_rows(runs)
    segment_rows(runs)


if __name__ == "__main__":
    main()

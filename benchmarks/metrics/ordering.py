"""Speed of the measures of predicted orders, against their definitions in plain Python on a part of the same data.

    python benchmarks/metrics/ordering.py [--runs 5]

Timed is all the way from two integer arrays (references, predictions) to the six measures of each sequence,
validation included. All data are made here; references are random orders as well, so that nothing is sorted already.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.ordering import (
    best_of_references,
    measure_arrays,
    measure_orders,
    score_orders,
)

DEFINED = {5: 20_000, 12: 2_000}
"""Sequences that the definitional version is timed and compared on, by number of steps."""


def seconds(work: Callable[[], object], runs: int) -> tuple[float, float]:
    """First and median wall time; the first builds the tables of permutations."""
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return times[0], statistics.median(times)


def orders(count: int, steps: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Random references and predictions."""
    rng = np.random.default_rng(seed)
    reference = rng.permuted(np.tile(np.arange(steps), (count, 1)), axis=1)
    return reference, rng.permuted(reference, axis=1)


def defined(reference: list[int], prediction: list[int]) -> list[float]:
    """The six measures from their definitions."""
    n = len(reference)
    right = {step: t for t, step in enumerate(reference)}
    guess = {step: t for t, step in enumerate(prediction)}
    inverted = sum(guess[a] > guess[b] for a, b in combinations(reference, 2))
    table = [[0] * (n + 1) for _ in range(n + 1)]
    run = [[0] * (n + 1) for _ in range(n + 1)]
    for i, a in enumerate(reference):
        for j, b in enumerate(prediction):
            table[i + 1][j + 1] = table[i][j] + 1 if a == b else max(table[i][j + 1], table[i + 1][j])
            run[i + 1][j + 1] = run[i][j] + 1 if a == b else 0
    return [
        sum(a == b for a, b in zip(reference, prediction, strict=True)) / n,
        float(reference == prediction),
        table[n][n],
        max(map(max, run)),
        1 - 4 * inverted / (n * (n - 1)),
        sum(abs(right[step] - guess[step]) for step in reference),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    print("| what | measured | target |")
    print("| --- | --- | --- |")
    for steps, target in ((5, "≤ 0.2 s"), (12, "≤ 10 s")):
        reference, prediction = orders(1_000_000, steps, seed=steps)
        first, median = seconds(lambda r=reference, p=prediction: measure_arrays(r, p), runs)
        print(
            f"| 1,000,000 sequences of {steps}, six measures | {median:.3f} s (first {first:.3f} s) | {target} |"
        )
        part = DEFINED[steps]
        begin = time.perf_counter()
        wanted = [
            defined(r, p) for r, p in zip(reference[:part].tolist(), prediction[:part].tolist(), strict=True)
        ]
        slow = (time.perf_counter() - begin) * 1_000_000 / part
        found = measure_arrays(reference[:part], prediction[:part]).values
        assert np.allclose(found, wanted, rtol=0, atol=1e-12), "the fast version differs from the definitions"
        print(
            f"| – the definitions, from {part:,} of them, equal results | {slow:.1f} s | "
            f"{slow / median:,.0f} times slower |"
        )
    for steps in (7, 8, 20):
        reference, prediction = orders(1_000_000, steps, seed=steps)
        _, median = seconds(lambda r=reference, p=prediction: measure_arrays(r, p), runs)
        print(f"| 1,000,000 sequences of {steps}, six measures | {median:.3f} s | |")
    others(runs)


def others(runs: int) -> None:
    """What else is done with many sequences."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(3, 13, 100_000)
    lists = [rng.permutation(n).tolist() for n in lengths]
    shuffled = [rng.permutation(order).tolist() for order in lists]
    _, median = seconds(lambda: measure_orders(lists, shuffled), runs)
    print(f"| 100,000 lists of 3 to 12 ids, six measures | {median:.3f} s | |")
    references = [[order, order[::-1]] for order in lists[:50_000]]
    _, median = seconds(lambda: best_of_references(references, shuffled[:50_000]), runs)
    print(f"| 50,000 items with two references, joint | {median:.3f} s | |")
    measures = measure_arrays(*orders(1_000_000, 5, seed=1))
    _, median = seconds(lambda: score_orders(measures), min(runs, 3))
    print(f"| ten scores of 1,000,000 sequences of five, 10,000 resamples | {median:.3f} s | |")


if __name__ == "__main__":
    main()

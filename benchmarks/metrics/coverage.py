"""How often 95 % intervals hold the truth when recordings are few, written into docs/metrics.md.

Run: python benchmarks/metrics/coverage.py [--write]

A benchmark is drawn anew for every trial: each recording has an ease of its own (beta distribution, correlation of two
questions of a recording 0.1), six questions each, marks 0 and 1. Compared are the interval that every score has (BCa with
widened tails), plain BCa, plain percentiles, Student's t over recordings, and for two systems the interval that goes
with the sign-flip test.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from scipy import stats

from proctor.metrics.bootstrap import bootstrap_mean_intervals, cluster_sums
from proctor.metrics.hypothesis_tests import sign_flip_intervals, sign_flip_tests

TRIALS, RESAMPLES, QUESTIONS, CORRELATION = 2_000, 2_000, 6, 0.1
CLUSTERS, SHARES = (8, 12, 20, 30, 40, 100), (0.5, 0.9)
PAGE = Path(__file__).resolve().parents[2] / "docs" / "metrics.md"
BEGIN, END = "<!-- coverage: made by benchmarks/metrics/coverage.py --write -->\n", "<!-- end of coverage -->"


def draw_marks(share: float, clusters: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Marks of two systems, shape (trials, questions); the second one gets a fifth of the first one's misses right."""
    spread = (1 - CORRELATION) / CORRELATION
    ease = rng.beta(share * spread, (1 - share) * spread, (TRIALS, clusters)).repeat(QUESTIONS, axis=1)
    first = (rng.random(ease.shape) < ease).astype(float)
    second = np.maximum(first, rng.random(ease.shape) < 0.2)
    return first, second


def share_held(intervals, truth: float) -> float:
    """Share of the intervals that hold the truth; one without ends holds nothing."""
    return float(np.mean([i.low is not None and i.low <= truth <= i.high for i in intervals]))


def measure_cell(share: float, clusters: int, rng: np.random.Generator) -> list[float]:
    """One row of the table."""
    first, second = draw_marks(share, clusters, rng)
    names = [f"{k:03}" for k in range(clusters) for _ in range(QUESTIONS)]
    # The tails of plain intervals are those that widening gives at a lower confidence.
    plain = 2 * stats.t.cdf(stats.norm.ppf(0.975) * np.sqrt((clusters - 1) / clusters), clusters - 1) - 1
    found = [
        share_held(
            bootstrap_mean_intervals(
                first, names, method=method, confidence=confidence, resamples=RESAMPLES, seed=clusters
            ),
            share,
        )
        for method, confidence in (("bca", 0.95), ("bca", plain), ("percentile", plain))
    ]
    means = first.reshape(TRIALS, clusters, QUESTIONS).mean(axis=2)
    half = stats.t.ppf(0.975, clusters - 1) * means.std(axis=1, ddof=1) / np.sqrt(clusters)
    found.append(float((np.abs(means.mean(axis=1) - share) <= half).mean()))
    totals = cluster_sums(second - first, names)
    tests = sign_flip_tests(totals, resamples=RESAMPLES)
    paired = sign_flip_intervals(
        totals, np.full(totals.shape, float(QUESTIONS)), [t.p for t in tests], resamples=RESAMPLES
    )
    return [*found, share_held(paired, 0.2 * (1 - share))]


def main() -> None:
    """Print the table; with --write put it into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the table into docs/metrics.md")
    given = parser.parse_args()
    head = (
        "recordings",
        "share right",
        "scores (BCa, widened)",
        "plain BCa",
        "plain percentile",
        "Student's t",
    )
    lines = [f"| {' | '.join((*head, 'differences (sign flips)'))} |", "|" + "---:|" * (len(head) + 1)]
    for share in SHARES:
        for clusters in CLUSTERS:
            cells = measure_cell(share, clusters, np.random.default_rng(clusters))
            lines.append(f"| {clusters} | {share:g} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |")
            print(lines[-1], flush=True)
    table = "\n".join(lines) + "\n"
    if given.write:
        page = PAGE.read_text(encoding="utf-8")
        before, rest = page.split(BEGIN)
        PAGE.write_text(before + BEGIN + table + END + rest.split(END, 1)[1], encoding="utf-8")


if __name__ == "__main__":
    main()

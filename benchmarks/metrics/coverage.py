"""How often 95 % intervals hold the truth when recordings are few, written into docs/metrics.md.

Run: python benchmarks/metrics/coverage.py [--write]

A benchmark is drawn anew for every trial: each recording has an ease of its own (beta distribution, correlation of two
questions of a recording 0.1), six questions each, marks 0 and 1. Compared are the interval that every score has (BCa with
widened tails), plain BCa, plain percentiles, Student's t over recordings, and for two systems the interval that goes
with the sign-flip test and Student's t: once for systems that miss different questions, once for a second system that is
never worse than the first.
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
SECONDS = ((0.5, 0.1), (0.2, 0.0))
PAGE = Path(__file__).resolve().parents[2] / "docs" / "metrics.md"
BEGIN, END = "<!-- coverage: made by benchmarks/metrics/coverage.py --write -->\n", "<!-- end of coverage -->"


def draw_marks(share: float, clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Marks of one system, shape (trials, questions)."""
    spread = (1 - CORRELATION) / CORRELATION
    ease = rng.beta(share * spread, (1 - share) * spread, (TRIALS, clusters)).repeat(QUESTIONS, axis=1)
    return (rng.random(ease.shape) < ease).astype(float)


def draw_second(first: np.ndarray, gained: float, lost: float, rng: np.random.Generator) -> np.ndarray:
    """Marks of a system that gets this share of the first one's misses right, and this share of its hits wrong."""
    drawn = rng.random(first.shape)
    return np.where(first > 0, drawn >= lost, drawn < gained).astype(float)


def share_held(intervals, truth: float) -> float:
    """Share of the intervals that hold the truth; one without ends holds nothing."""
    return float(np.mean([i.low is not None and i.low <= truth <= i.high for i in intervals]))


def share_held_by_t(means: np.ndarray, truth: float) -> float:
    """Share of Student's t intervals that hold the truth; means of recordings have shape (trials, recordings)."""
    clusters = means.shape[1]
    half = stats.t.ppf(0.975, clusters - 1) * means.std(axis=1, ddof=1) / np.sqrt(clusters)
    return float((np.abs(means.mean(axis=1) - truth) <= half).mean())


def measure_cell(share: float, clusters: int, rng: np.random.Generator) -> list[float]:
    """One row of the table."""
    first = draw_marks(share, clusters, rng)
    names = [f"{k:03}" for k in range(clusters) for _ in range(QUESTIONS)]
    by_recording = (TRIALS, clusters, QUESTIONS)
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
    found.append(share_held_by_t(first.reshape(by_recording).mean(axis=2), share))
    for gained, lost in SECONDS:
        difference = draw_second(first, gained, lost, rng) - first
        truth = gained * (1 - share) - lost * share
        totals = cluster_sums(difference, names)
        tests = sign_flip_tests(totals, resamples=RESAMPLES)
        weights = np.full(totals.shape, float(QUESTIONS))
        paired = sign_flip_intervals(totals, weights, [t.p for t in tests], resamples=RESAMPLES)
        found += [
            share_held(paired, truth),
            share_held_by_t(difference.reshape(by_recording).mean(axis=2), truth),
        ]
    return found


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
        "differences (sign flips)",
        "Student's t",
        "never worse (sign flips)",
        "Student's t",
    )
    lines = [f"| {' | '.join(head)} |", "|" + "---:|" * len(head)]
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

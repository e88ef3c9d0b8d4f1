"""Bootstrap over clusters: questions about one recording are not independent, so whole recordings are drawn.

Conventions: ``values`` are numbers, ``clusters`` names the cluster of each value. A statistic is computed from
*sums over clusters* (a matrix with one row a cluster, one column a quantity), so that ten thousand resamples are
matrix products with a matrix of counts: how often each cluster was drawn. Clusters are sorted by name first, so
the order of the items never changes a result.

Reference: Efron and Tibshirani, *An Introduction to the Bootstrap* (1993), chapters 13 and 14 (percentile, BCa);
Cameron, Gelbach and Miller (2008) for drawing clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.interval import Interval, normal_cdf, normal_quantile, require_confidence

__all__ = [
    "FEW_CLUSTERS",
    "BootstrapMethod",
    "Floats",
    "bootstrap_interval",
    "bootstrap_replicates",
    "cluster_sums",
    "mean_of_sums",
]

Floats = NDArray[np.float64]
BootstrapMethod = Literal["bca", "percentile"]
Statistic = Callable[[Floats], Floats]
"""Rows of sums (values, counts, ...) to one number a row."""

FEW_CLUSTERS = 10
"""Below this number of clusters the intervals are known to be too narrow; they carry a note."""

_CELLS = 4_000_000
"""Counts held in memory at a time (about 32 MB)."""


def cluster_sums(columns: Sequence[Sequence[float]] | Floats, clusters: Sequence[str]) -> Floats:
    """Sum each column within each cluster: one row a cluster (sorted by name), one column a quantity.

    Args:
        columns: quantities, each as long as ``clusters``.
        clusters: cluster of each item.

    Raises:
        ValueError: if lengths differ or a value is not finite.
    """
    data = np.asarray(columns, dtype=np.float64)
    if data.ndim != 2 or data.shape[1] != len(clusters):
        raise ValueError(f"{len(clusters)} cluster names for values of shape {data.shape}")
    if not np.isfinite(data).all():
        raise ValueError("values must be finite: leave failed items out and count them")
    if not len(clusters):
        return np.zeros((0, data.shape[0]))
    _, index = np.unique(np.asarray(clusters, dtype=np.str_), return_inverse=True)
    count = int(index.max()) + 1
    return np.stack([np.bincount(index, weights=column, minlength=count) for column in data], axis=1)


def mean_of_sums(sums: Floats) -> Floats:
    """The statistic of a mean: column 0 over column 1 (values over counts)."""
    result: Floats = sums[:, 0] / sums[:, 1]
    return result


def bootstrap_replicates(
    sums: Floats, statistic: Statistic, *, resamples: int, rng: np.random.Generator
) -> Floats:
    """Draw as many clusters as there are, with replacement, and compute the statistic of each resample."""
    return np.concatenate([statistic(draw @ sums) for draw in _count_matrices(len(sums), resamples, rng)])


def _count_matrices(clusters: int, resamples: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Yield matrices of how often each cluster (column) was drawn in each resample (row)."""
    rows = max(1, _CELLS // clusters)
    for first in range(0, resamples, rows):
        size = min(rows, resamples - first)
        drawn = rng.integers(0, clusters, size=(size, clusters), dtype=np.int64)
        drawn += np.arange(size, dtype=np.int64)[:, None] * clusters
        yield np.bincount(drawn.ravel(), minlength=size * clusters).reshape(size, clusters).astype(np.float64)


def bootstrap_interval(
    sums: Floats,
    statistic: Statistic = mean_of_sums,
    *,
    method: BootstrapMethod = "bca",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Interval:
    """Interval of a statistic over clusters.

    Args:
        sums: from ``cluster_sums``.
        statistic: what to compute of resampled sums; resamples where it is not finite are left out.
        method: ``bca`` (bias-corrected and accelerated) or ``percentile``.
        confidence: coverage aimed at.
        resamples: number of draws.
        seed: of the draws.

    Returns:
        The interval. It has no ends with fewer than two clusters; with no variation between clusters both ends
        are the value itself, and a note says that this is no certainty.

    Raises:
        ValueError: if an option is out of range.
    """
    require_confidence(confidence)
    if resamples < 1:
        raise ValueError(f"resamples must be positive, got {resamples}")
    if method not in ("bca", "percentile"):
        raise ValueError(f"method must be 'bca' or 'percentile', got {method!r}")
    name = f"{method}-{100 * confidence:g}"
    if len(sums) < 2:
        seen = "one cluster" if len(sums) else "nothing"
        return Interval(None, None, name, f"{seen} was observed: variation between clusters is unknown")
    estimate = float(statistic(sums.sum(axis=0, keepdims=True))[0])
    if not np.isfinite(estimate):
        return Interval(None, None, name, "the value itself is undefined")
    draws = bootstrap_replicates(sums, statistic, resamples=resamples, rng=np.random.default_rng(seed))
    draws = draws[np.isfinite(draws)]
    if not draws.size:
        return Interval(None, None, name, "no resample has a defined value")
    if _constant(draws, estimate):
        return Interval(estimate, estimate, name, "no variation between clusters: the interval has no width")
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    if method == "bca":
        tails = _bca_tails(tails, sums, statistic, draws, estimate)
    low, high = np.quantile(draws, tails)
    note = f"only {len(sums)} clusters: the interval is too narrow" if len(sums) < FEW_CLUSTERS else ""
    return Interval(float(low), float(high), name, note)


def _constant(draws: Floats, estimate: float) -> bool:
    return bool(np.ptp(draws) <= 1e-12 * max(1.0, abs(estimate)))


def _bca_tails(tails: Floats, sums: Floats, statistic: Statistic, draws: Floats, estimate: float) -> Floats:
    """Move the tail probabilities by bias and acceleration (Efron 1987); ties with the estimate count half.

    Scores of few values tie with the estimate often; counting them as "not below" would look like bias.
    """
    tolerance = 1e-12 * max(1.0, abs(estimate))
    below = float((draws < estimate - tolerance).mean())
    tied = float((np.abs(draws - estimate) <= tolerance).mean())
    share = min(max(below + tied / 2, 1 / (2 * draws.size)), 1 - 1 / (2 * draws.size))
    bias = normal_quantile(share)
    acceleration = _acceleration(sums, statistic)
    moved = []
    for tail in tails:
        z = bias + normal_quantile(float(tail))
        scale = 1 - acceleration * z
        moved.append(normal_cdf(bias + z / scale) if scale > 0 else float(tail))
    return np.array(moved)


def _acceleration(sums: Floats, statistic: Statistic) -> float:
    """Skewness of the jackknife over clusters, a sixth of it."""
    left_out = statistic(sums.sum(axis=0, keepdims=True) - sums)
    left_out = left_out[np.isfinite(left_out)]
    if left_out.size < 2:
        return 0.0
    deviation = left_out.mean() - left_out
    spread = float((deviation**2).sum())
    return float((deviation**3).sum()) / (6 * spread**1.5) if spread > 0 else 0.0

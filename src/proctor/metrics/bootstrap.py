"""Bootstrap over clusters: questions about one recording are not independent, so whole recordings are drawn.

Conventions: ``values`` are numbers, ``clusters`` names the cluster of each value. A statistic is computed from
*sums over clusters* (a matrix with one row a cluster, one column a quantity), so that ten thousand resamples are
matrix products with a matrix of counts: how often each cluster was drawn. Clusters are sorted by name first, so
the order of the items never changes a result.

Stratified: where the make-up of a benchmark was fixed (60 questions of each style), clusters are drawn within each
stratum. Several systems: all see the same draws, so their differences are paired.

Few clusters: resamples vary less than the data do, by the factor ``sqrt((C - 1) / C)``, and the normal distribution
behind the tails is Student's t with ``C - 1`` degrees of freedom. Both are put right by reading the ends further out
(``interval_tails``; Hesterberg 2015, section 5.3), for every number of clusters: with 100 it hardly shows.
``docs/metrics.md`` has the measured coverage.

Reference: Efron and Tibshirani, *An Introduction to the Bootstrap* (1993), chapters 13 and 14 (percentile, BCa);
Davison and Hinkley, *Bootstrap Methods* (1997), chapter 5 for the acceleration within strata; Cameron, Gelbach and
Miller (2008) for drawing clusters; Hesterberg, *What Teachers Should Know About the Bootstrap* (2015).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.errors import MetricInputError
from proctor.metrics.interval import Interval, normal_cdf, normal_quantile, require_confidence

__all__ = [
    "FEW_CLUSTERS",
    "FEW_CLUSTERS_NOTE",
    "LARGEST",
    "BootstrapMethod",
    "Floats",
    "Statistic",
    "bootstrap_interval",
    "bootstrap_intervals",
    "bootstrap_mean_intervals",
    "bootstrap_replicates",
    "cluster_sums",
    "interval_tails",
    "iter_draws",
    "iter_resamples",
    "mean_of_sums",
    "require_sizes",
    "strata_of_clusters",
]

Floats = NDArray[np.float64]
BootstrapMethod = Literal["bca", "percentile"]
Statistic = Callable[[Floats], Floats]
"""Rows of sums (values, counts, ...) to one number a row."""

FEW_CLUSTERS = 10
"""Below this number of clusters intervals of lopsided marks are too narrow (docs/metrics.md); they carry a note."""

FEW_CLUSTERS_NOTE = "the interval is too narrow if most marks are alike"

LARGEST = 1e90
"""Larger values are refused: their cubes would leave the range of floating point."""

_CELLS = 4_000_000
"""Counts held in memory at a time (about 32 MB)."""

_CELLS_DRAWN = 250_000
"""Draws made at a time (2 MB), so that they stay in the processor's cache."""

_CELLS_COUNTED = 2_000
"""Counters filled at a time (16 kB)."""


def cluster_sums(
    columns: Sequence[Sequence[float] | Floats] | Floats, clusters: Sequence[str] | NDArray[np.intp]
) -> Floats:
    """Sum each column within each cluster: one row a cluster (sorted by name), one column a quantity.

    Args:
        columns: quantities, each as long as ``clusters``.
        clusters: cluster of each item.

    Raises:
        MetricInputError: if lengths differ, or a value is not finite or larger than 1e90.
    """
    data = np.asarray(columns, dtype=np.float64)
    if data.ndim != 2 or data.shape[1] != len(clusters):
        raise MetricInputError(f"{len(clusters)} cluster names for values of shape {data.shape}")
    if not np.isfinite(data).all():
        raise MetricInputError("values must be finite", "leave failed items out and count them")
    require_sizes(data)
    if not len(clusters):
        return np.zeros((0, data.shape[0]))
    _, index = np.unique(np.asarray(clusters, dtype=np.str_), return_inverse=True)
    count = int(index.max()) + 1
    return np.stack([np.bincount(index, weights=column, minlength=count) for column in data], axis=1)


def require_sizes(values: Floats) -> None:
    """Make sure that squares and cubes of finite values can be added.

    Raises:
        MetricInputError: if a value is too large.
    """
    largest = float(np.abs(values).max(initial=0.0))
    if largest > LARGEST:
        raise MetricInputError(f"values of {largest:g} are too large to be added", "take another unit")


def mean_of_sums(sums: Floats) -> Floats:
    """The statistic of a mean: column 0 over column 1 (values over counts)."""
    result: Floats = sums[:, 0] / sums[:, 1]
    return result


def strata_of_clusters(clusters: Sequence[str], strata: Sequence[str]) -> tuple[str, ...]:
    """Return the stratum of each cluster, in the order of the rows of ``cluster_sums``.

    Args:
        clusters: cluster of each item.
        strata: stratum (activity, modality) of each item.

    Raises:
        MetricInputError: if lengths differ or a cluster lies in two strata.
    """
    if len(clusters) != len(strata):
        raise MetricInputError(f"{len(clusters)} clusters, {len(strata)} strata", "give one of each per item")
    found: dict[str, str] = {}
    for cluster, stratum in zip(map(str, clusters), map(str, strata), strict=True):
        if found.setdefault(cluster, stratum) != stratum:
            raise MetricInputError(
                f"cluster {cluster!r} lies in the strata {found[cluster]!r} and {stratum!r}",
                "whole clusters are drawn within a stratum: give each cluster one, or leave the strata out",
            )
    return tuple(found[name] for name in sorted(found))


def iter_resamples(
    sums: Floats, *, resamples: int, rng: np.random.Generator, strata: Sequence[str] | None = None
) -> Iterator[Floats]:
    """Draw as many clusters as there are, with replacement, and yield their sums; one row a resample.

    All columns see the same draws, so that systems scored in one pass stay paired.

    Args:
        sums: from ``cluster_sums``, shape (clusters, quantities).
        resamples: number of draws.
        rng: where they come from.
        strata: stratum of each cluster: as many clusters are drawn from each as it has.

    Yields:
        Matrices (some resamples, quantities) that make up ``resamples`` rows together.
    """
    ordered, sizes, streams = sums, [len(sums)], [rng]
    if strata is not None:
        if len(strata) != len(sums):
            raise MetricInputError(f"{len(strata)} strata for {len(sums)} clusters")
        _, index, counted = np.unique(
            np.asarray(strata, dtype=np.str_), return_inverse=True, return_counts=True
        )
        ordered, sizes = sums[np.argsort(index, kind="stable")], counted.tolist()
        # One stream a stratum, so that the size of the chunks does not change the draws.
        streams = rng.spawn(len(sizes)) if len(sizes) > 1 else [rng]
    step = min(resamples, max(1, _CELLS // max(1, len(sums))))
    counts = np.empty((step, len(sums)))
    for first in range(0, resamples, step):
        rows = min(step, resamples - first)
        begin = 0
        for size, stream in zip(sizes, streams, strict=True):
            _count_draws(counts[:rows, begin : begin + size], stream)
            begin += size
        yield counts[:rows] @ ordered


def iter_draws(clusters: int, *, resamples: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Draw as ``iter_resamples`` does, and yield how often each cluster was drawn.

    It is for many statistics that each read a few of very many clusters: one wide matrix of sums would not fit.

    Args:
        clusters: how many there are.
        resamples: number of draws.
        rng: where they come from.

    Yields:
        Matrices (some resamples, clusters) that make up ``resamples`` rows together. The memory is used again.
    """
    step = min(resamples, max(1, _CELLS // max(1, clusters)))
    counts = np.empty((step, clusters))
    for first in range(0, resamples, step):
        rows = min(step, resamples - first)
        _count_draws(counts[:rows], rng)
        yield counts[:rows]


def _count_draws(counts: Floats, rng: np.random.Generator) -> None:
    """Fill in how often each cluster (column) was drawn in each resample (row)."""
    rows, clusters = counts.shape
    step = max(1, _CELLS_DRAWN // max(1, clusters))
    at_once = max(1, _CELLS_COUNTED // max(1, clusters))
    for first in range(0, rows, step):
        drawn = rng.integers(0, clusters, size=(min(step, rows - first), clusters), dtype=np.int64)
        # Some rows at a time: few enough for their counters to stay in the processor's cache (all of them take four
        # times as long), and not one by one, which is nothing but calls where there are few clusters.
        for begin in range(0, len(drawn), at_once):
            some = drawn[begin : begin + at_once]
            some += np.arange(0, some.size, clusters)[:, None]
            counted = np.bincount(some.ravel(), minlength=some.size)
            counts[first + begin : first + begin + len(some)] = counted.reshape(some.shape)


def bootstrap_replicates(
    sums: Floats,
    statistic: Statistic,
    *,
    resamples: int,
    rng: np.random.Generator,
    strata: Sequence[str] | None = None,
) -> Floats:
    """Compute the statistic of each resample, see ``iter_resamples``; shape (resamples,)."""
    return np.concatenate(
        [statistic(rows) for rows in iter_resamples(sums, resamples=resamples, rng=rng, strata=strata)]
    )


def _require_options(method: str, confidence: float, resamples: int) -> None:
    require_confidence(confidence)
    if resamples < 1:
        raise MetricInputError(f"resamples must be positive, got {resamples}")
    if method not in ("bca", "percentile"):
        raise MetricInputError(f"method must be 'bca' or 'percentile', got {method!r}")


def bootstrap_interval(
    sums: Floats,
    statistic: Statistic = mean_of_sums,
    *,
    method: BootstrapMethod = "bca",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    strata: Sequence[str] | None = None,
) -> Interval:
    """Interval of a statistic over clusters.

    Args:
        sums: from ``cluster_sums``.
        statistic: what to compute of resampled sums; resamples where it is not finite are left out.
        method: ``bca`` (bias-corrected and accelerated) or ``percentile``, both with the tails of ``interval_tails``.
        confidence: coverage aimed at.
        resamples: number of draws.
        seed: of the draws.
        strata: stratum of each row of ``sums`` (see ``strata_of_clusters``); clusters are drawn within strata,
            for benchmarks whose make-up was fixed ("60 questions of each style").

    Returns:
        The interval. It has no ends with fewer than two clusters; with no variation between clusters both ends
        are the value itself, and a note says that this is no certainty.

    Raises:
        MetricInputError: if an option is out of range.
    """
    _require_options(method, confidence, resamples)
    name = f"{method}-{100 * confidence:g}"
    if len(sums) < 2:
        return _too_few(len(sums), name)
    estimate = float(statistic(sums.sum(axis=0, keepdims=True))[0])
    if not np.isfinite(estimate):
        return Interval(None, None, name, "the value itself is undefined")
    rng = np.random.default_rng(seed)
    draws = bootstrap_replicates(sums, statistic, resamples=resamples, rng=rng, strata=strata)
    left_out = statistic(sums.sum(axis=0, keepdims=True) - sums) if method == "bca" else None
    return _interval(draws, estimate, left_out, strata, method, confidence, len(sums))


def bootstrap_intervals(
    sums: Floats,
    statistics: Sequence[Statistic],
    *,
    method: BootstrapMethod = "bca",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[Interval, ...]:
    """Intervals of several statistics of the same clusters in one pass: each is what it gets by itself.

    Args:
        sums: from ``cluster_sums``; every statistic reads the columns that it needs.
        statistics: what to compute of resampled sums, see ``bootstrap_interval``.
        method: ``bca`` or ``percentile``.
        confidence: coverage aimed at.
        resamples: number of draws.
        seed: of the draws.

    Raises:
        MetricInputError: if an option is out of range.
    """
    _require_options(method, confidence, resamples)
    name = f"{method}-{100 * confidence:g}"
    if len(sums) < 2:
        return tuple(_too_few(len(sums), name) for _ in statistics)
    whole = sums.sum(axis=0, keepdims=True)
    estimates = [float(statistic(whole)[0]) for statistic in statistics]
    parts: list[list[Floats]] = [[] for _ in statistics]
    rng = np.random.default_rng(seed)
    for rows in iter_resamples(sums, resamples=resamples, rng=rng):
        for part, statistic in zip(parts, statistics, strict=True):
            part.append(statistic(rows))
    return tuple(
        _interval(
            np.concatenate(part),
            estimate,
            statistic(whole - sums) if method == "bca" else None,
            None,
            method,
            confidence,
            len(sums),
        )
        if np.isfinite(estimate)
        else Interval(None, None, name, "the value itself is undefined")
        for part, statistic, estimate in zip(parts, statistics, estimates, strict=True)
    )


def bootstrap_mean_intervals(
    values: Floats | Sequence[Sequence[float]],
    clusters: Sequence[str],
    *,
    strata: Sequence[str] | None = None,
    method: BootstrapMethod = "bca",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[Interval, ...]:
    """Intervals of several systems' means in one pass: every system sees the same draws of clusters.

    Each result is what ``bootstrap_interval`` gives for that system alone with the same seed, as long as no
    cluster is missing in it as a whole.

    Args:
        values: marks (or paired differences), shape (systems, items), any unit; ``nan`` where an item failed
            in that system. Failed items leave the mean.
        clusters: cluster of each item.
        strata: stratum of each item; a cluster lies in one stratum.
        method: ``bca`` or ``percentile``.
        confidence: coverage aimed at.
        resamples: number of draws.
        seed: of the draws.

    Returns:
        One interval a system, with the notes of ``bootstrap_interval``.

    Raises:
        MetricInputError: if shapes differ, a value is infinite or an option is out of range.
    """
    _require_options(method, confidence, resamples)
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 2 or data.shape[1] != len(clusters):
        raise MetricInputError(
            f"values of shape {data.shape} for {len(clusters)} clusters", "the shape is (systems, items)"
        )
    parts = None if strata is None else strata_of_clusters(clusters, strata)
    name = f"{method}-{100 * confidence:g}"
    if not len(data):
        return ()
    here = ~np.isnan(data)
    numerators = cluster_sums(np.where(here, data, 0.0), clusters)
    # Systems that lack the same items share one column of counts.
    patterns, which = np.unique(here, axis=0, return_inverse=True)
    which = which.reshape(-1)
    denominators = cluster_sums(patterns.astype(np.float64), clusters)
    observed = (denominators > 0).sum(axis=0)[which]
    if not observed.size or observed.max() < 2:
        return tuple(_too_few(int(count), name) for count in observed)
    sums = np.concatenate([numerators, denominators], axis=1)

    def means(rows: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            result: Floats = rows[:, : len(data)] / rows[:, len(data) :][:, which]
        return result

    rng = np.random.default_rng(seed)
    draws = np.concatenate(
        [means(rows) for rows in iter_resamples(sums, resamples=resamples, rng=rng, strata=parts)]
    )
    whole = sums.sum(axis=0, keepdims=True)
    estimates = means(whole)[0]
    left_out = means(whole - sums) if method == "bca" else None
    return tuple(
        _too_few(int(observed[j]), name)
        if observed[j] < 2
        else _interval(
            draws[:, j],
            float(estimates[j]),
            None if left_out is None else left_out[:, j],
            parts,
            method,
            confidence,
            int(observed[j]),
        )
        for j in range(len(data))
    )


def _too_few(clusters: int, name: str) -> Interval:
    seen = "one cluster" if clusters else "nothing"
    return Interval(None, None, name, f"{seen} was observed: variation between clusters is unknown")


def _interval(
    draws: Floats,
    estimate: float,
    left_out: Floats | None,
    strata: Sequence[str] | None,
    method: BootstrapMethod,
    confidence: float,
    clusters: int,
) -> Interval:
    """Read the ends from the replicates; ``left_out`` are the jackknife values that BCa needs."""
    name = f"{method}-{100 * confidence:g}"
    drawn, draws = draws.size, draws[np.isfinite(draws)]
    if not draws.size:
        return Interval(None, None, name, "no resample has a defined value")
    if np.ptp(draws) <= 1e-12 * max(1.0, abs(estimate)):
        if draws.size < drawn:  # equal ends would pass for certainty
            share = f"{100 * (1 - draws.size / drawn):.2g} %"
            note = f"no interval: undefined in {share} of the resamples, and the same in the others"
            return Interval(None, None, name, note)
        return Interval(estimate, estimate, name, "no variation between clusters: the interval has no width")
    free = clusters if strata is None else clusters - len(set(strata)) + 1
    tails = interval_tails(confidence, free)
    if left_out is not None:
        tails = _bca_tails(tails, draws, estimate, _acceleration(left_out, strata))
    low, high = np.quantile(draws, tails)
    notes = []
    if clusters < FEW_CLUSTERS:
        notes.append(f"only {clusters} clusters: {FEW_CLUSTERS_NOTE}")
    if strata is not None and (alone := [s for s, n in sorted(Counter(strata).items()) if n == 1]):
        notes.append(
            f"{len(alone)} strata have one cluster (such as {alone[0]!r}), which is always drawn: "
            "the interval is too narrow"
        )
    return Interval(float(low), float(high), name, "; ".join(notes))


@cache
def _widened(confidence: float, clusters: int) -> float:
    from scipy.special import stdtrit

    quantile = float(stdtrit(clusters - 1, 0.5 + confidence / 2))
    # Two clusters ask for tails that no number of draws has, and BCa cannot move a tail of exactly 0.
    return max(1e-9, normal_cdf(-quantile * (clusters / (clusters - 1)) ** 0.5))


def interval_tails(confidence: float, clusters: int) -> Floats:
    """Probabilities at which the ends of an interval are read from the resamples of few or many clusters.

    Args:
        confidence: coverage aimed at, 0 to 1.
        clusters: how many were drawn from; fewer than two count as two.

    Returns:
        Lower and upper probability, shape (2,): (0.025, 0.975) for very many clusters, (0.0057, 0.9943) for eight.
    """
    tail = _widened(confidence, max(2, clusters))
    return np.array([tail, 1 - tail])


def _bca_tails(tails: Floats, draws: Floats, estimate: float, acceleration: float) -> Floats:
    """Move the tail probabilities by bias and acceleration (Efron 1987); ties with the estimate count half.

    Scores of few values tie with the estimate often; counting them as "not below" would look like bias.
    """
    tolerance = 1e-12 * max(1.0, abs(estimate))
    below = float((draws < estimate - tolerance).mean())
    tied = float((np.abs(draws - estimate) <= tolerance).mean())
    share = min(max(below + tied / 2, 1 / (2 * draws.size)), 1 - 1 / (2 * draws.size))
    bias = normal_quantile(share)
    moved = []
    for tail in tails:
        z = bias + normal_quantile(float(tail))
        scale = 1 - acceleration * z
        moved.append(normal_cdf(bias + z / scale) if scale > 0 else float(tail))
    return np.array(moved)


def _acceleration(left_out: Floats, strata: Sequence[str] | None) -> float:
    """Skewness of the jackknife over clusters, a sixth of it; within strata, each with its own mean and weight."""
    labels = np.zeros(left_out.size, dtype=np.intp)
    if strata is not None:
        labels = np.unique(np.asarray(strata, dtype=np.str_), return_inverse=True)[1].reshape(-1)
    finite = np.isfinite(left_out)
    values, labels = left_out[finite], labels[finite]
    if values.size < 2:
        return 0.0
    sizes = np.bincount(labels)
    means = np.bincount(labels, weights=values) / np.maximum(sizes, 1)
    deviation = (means[labels] - values) * ((sizes - 1) / np.maximum(sizes, 1))[labels]
    spread = float((deviation**2).sum())
    return float((deviation**3).sum()) / (6 * spread**1.5) if spread > 0 else 0.0

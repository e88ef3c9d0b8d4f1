"""Percentile intervals over clusters for values that may be undefined in some resamples, and ratios of sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from proctor.metrics.bootstrap import (
    FEW_CLUSTERS,
    FEW_CLUSTERS_NOTE,
    Floats,
    bootstrap_replicates,
    cluster_sums,
    interval_tails,
    iter_draws,
)
from proctor.metrics.errors import MetricInputError
from proctor.metrics.score import Score, Signature

__all__ = [
    "ROUNDING",
    "Resampled",
    "bootstrap_signature",
    "divided",
    "grouped_sums",
    "interval_of_draws",
    "ratio_score",
    "require_resampling",
    "resampled_interval",
]


_BLOCK: Final = 8_000_000
"""Sums held in memory at a time while resampling (about 64 MB)."""
ROUNDING: Final = 1e-12


@dataclass(frozen=True, slots=True)
class Resampled:
    """A percentile bootstrap interval.

    Attributes:
        low: lower end, None when there is no interval.
        high: upper end.
        undefined: share of the resamples that had no defined value and were left out.
        note: why there is no interval, or what to beware of.
    """

    low: float | None
    high: float | None
    undefined: float = 0.0
    note: str = ""


def require_resampling(confidence: float, resamples: int, seed: int = 0) -> None:
    """Make sure that the options of a bootstrap make sense; 0 resamples ask for no interval.

    Raises:
        MetricInputError: naming the option and its value.
    """
    if not 0.0 < confidence < 1.0:
        raise MetricInputError(f"confidence must lie strictly between 0 and 1, got {confidence}")
    if resamples < 0:
        raise MetricInputError(f"resamples must not be negative, got {resamples}")
    if seed < 0:
        raise MetricInputError(f"the seed must not be negative, got {seed}")


def resampled_interval(
    sums: Floats | int,
    statistic: Callable[[Floats], Floats],
    *,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Resampled:
    """Percentile interval over clusters of a statistic that may be undefined in some resamples.

    It draws what ``bootstrap_interval`` draws, counts what is left out, and bounds the memory when there are many
    columns.

    Args:
        sums: one row a cluster, as from ``cluster_sums``; or the number of clusters, and ``statistic`` gets how often
            each was drawn.
        statistic: rows of sums to one number a row, ``nan`` where undefined.
        confidence: coverage aimed at.
        resamples: number of draws; 0 for no interval.
        seed: of the draws.

    Raises:
        MetricInputError: if an option is out of range.
    """
    require_resampling(confidence, resamples, seed)
    if resamples == 0:
        return Resampled(None, None)
    clusters = sums if isinstance(sums, int) else len(sums)
    if clusters < 2:
        return interval_of_draws(np.empty(0), clusters=clusters, confidence=confidence)
    rng = np.random.default_rng(seed)
    if isinstance(sums, int):
        drawn = iter_draws(clusters, resamples=resamples, rng=rng)
        draws = np.concatenate([statistic(rows) for rows in drawn])
        return interval_of_draws(draws, clusters=clusters, confidence=confidence)
    rows = max(1, _BLOCK // sums.shape[1])
    sizes = [min(rows, resamples - first) for first in range(0, resamples, rows)]
    draws = np.concatenate([bootstrap_replicates(sums, statistic, resamples=k, rng=rng) for k in sizes])
    return interval_of_draws(draws, clusters=clusters, confidence=confidence)


def interval_of_draws(draws: Floats, *, clusters: int, confidence: float = 0.95) -> Resampled:
    """Percentile interval from the values of resamples, ``nan`` where undefined.

    Args:
        draws: one value a resample.
        clusters: how many clusters the resamples drew from.
        confidence: coverage aimed at.
    """
    if clusters < 2:
        seen = "one cluster" if clusters else "nothing"
        return Resampled(None, None, note=f"{seen} was observed: variation between clusters is unknown")
    if not draws.size:
        return Resampled(None, None)
    defined = draws[np.isfinite(draws)]
    undefined = 1.0 - defined.size / draws.size
    if not defined.size:
        return Resampled(None, None, undefined, "no resample has a defined value")
    notes = []
    if undefined:
        notes.append(f"{100 * undefined:.2g} % of the resamples were undefined and left out")
    if np.ptp(defined) <= ROUNDING * max(1.0, float(np.abs(defined).max())):
        notes.append("no variation between clusters: the interval has no width")
        return Resampled(float(defined[0]), float(defined[0]), undefined, "; ".join(notes))
    if clusters < FEW_CLUSTERS:
        notes.append(f"only {clusters} clusters: {FEW_CLUSTERS_NOTE}")
    low, high = np.quantile(defined, interval_tails(confidence, clusters))
    return Resampled(float(low), float(high), undefined, "; ".join(notes))


def grouped_sums(columns: Floats, clusters: Sequence[str] | None) -> Floats:
    """Sum columns (quantities x items) within clusters; without clusters every item is one, in a canonical order."""
    if clusters is not None:
        if len(clusters) != columns.shape[1]:
            raise MetricInputError(f"{len(clusters)} cluster names for {columns.shape[1]} items")
        return cluster_sums(columns, clusters)
    return columns.T[np.lexsort(columns)]


def bootstrap_signature(
    name: str, clusters: object, confidence: float, resamples: int, seed: int, **more: str
) -> Signature:
    """Return the signature of a score with a percentile interval; without resamples it names no interval."""
    interval = {"interval": "none"}
    if resamples:
        interval = {
            "cluster": "item" if clusters is None else "given",
            "interval": f"percentile-{100 * confidence:g}",
            "resamples": str(resamples),
            "seed": str(seed),
        }
    return Signature(name, {**interval, **more})


def ratio_score(
    columns: Floats,
    clusters: Sequence[str] | None,
    signature: Signature,
    n: int,
    why_undefined: str,
    confidence: float,
    resamples: int,
    seed: int,
    *,
    skipped: int = 0,
) -> Score:
    """Score of the sum of row 0 over the sum of row 1, one column an item."""
    require_resampling(confidence, resamples, seed)
    sums = grouped_sums(columns, clusters)
    above, below = math.fsum(columns[0]), math.fsum(columns[1])
    if not below > 0:
        return Score(math.nan, signature, n, skipped=skipped, note=why_undefined)
    interval = resampled_interval(sums, _ratio_of_sums, confidence=confidence, resamples=resamples, seed=seed)
    low, high = interval.low, interval.high
    return Score(above / below, signature, n, low, high, skipped=skipped, note=interval.note)


def _ratio_of_sums(sums: Floats) -> Floats:
    """Column 0 over column 1, nan where that is 0."""
    return divided(sums[:, 0], sums[:, 1])


def divided(above: Floats, below: Floats) -> Floats:
    """Quotients, nan where the divisor is 0."""
    result: Floats = np.divide(above, below, out=np.full(np.shape(above), np.nan), where=below > 0)
    return result

"""A number with its interval as it is stored: None where it is undefined, and then a note says why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from proctor.metrics.bootstrap import Floats, cluster_sums
from proctor.metrics.interval import Interval
from proctor.metrics.score import Score, Signature

__all__ = ["Draws", "Estimate", "cluster_t_test", "difference_of_means"]


@dataclass(frozen=True, slots=True)
class Draws:
    """Options of all intervals of an analysis: level, number of resamples, seed, and what is drawn whole, as signatures name it."""

    confidence: float = 0.95
    resamples: int = 10_000
    seed: int = 0
    cluster: str = "recording"

    def sign(self, signature: Signature) -> Signature:
        """Return the signature with these options."""
        return signature.having(
            confidence=f"{self.confidence:g}", resamples=str(self.resamples), seed=str(self.seed)
        )


class Estimate(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One number.

    Attributes:
        value: None where it is undefined.
        low: lower end of the interval, None where there is none.
        high: upper end.
        n: how many items stand behind it.
        p: two-sided p-value of the hypothesis that it is 0, where that was tested.
        p_holm: the same, corrected over all that were tested together.
        signature: every choice that changes it.
        note: why something is undefined, or what to beware of.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    p: float | None = None
    p_holm: float | None = None
    signature: str = ""
    note: str = ""

    @classmethod
    def of(cls, score: Score, *, factor: float = 1.0) -> Estimate:
        """Store a score, in another unit where a factor is given."""
        defined = not math.isnan(score.value)
        return cls(
            value=factor * score.value if defined else None,
            low=None if score.low is None else factor * score.low,
            high=None if score.high is None else factor * score.high,
            n=score.n,
            signature=str(score.signature),
            note=score.note,
        )

    @classmethod
    def with_interval(cls, value: float, interval: Interval, n: int, signature: Signature) -> Estimate:
        """Store a value beside the interval that was found for it."""
        if math.isnan(value):
            return cls(n=n, signature=str(signature), note=interval.note or "undefined")
        signature = signature.having(interval=interval.method)
        return cls(
            value=value,
            low=interval.low,
            high=interval.high,
            n=n,
            signature=str(signature),
            note=interval.note,
        )


def difference_of_means(sums: Floats) -> Floats:
    """Return the difference of two means from rows of (sum of one, its count, sum of the other, its count)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Floats = sums[:, 0] / sums[:, 1] - sums[:, 2] / sums[:, 3]
    return result


def cluster_t_test(marks: Floats, own: Floats, clusters: Sequence[str], value: float) -> float | None:
    """Return the two-sided p of the difference of two means over different items.

    Student's test with the linearised standard error from sums over clusters.

    Args:
        marks: of all items.
        own: 1 for the items of the first mean, 0 for those of the second.
        clusters: of each item.
        value: the difference.

    Returns:
        p, or None with one cluster or without any spread.
    """
    from scipy.special import stdtr

    rest = 1 - own
    parts = (
        own * (marks - marks[own > 0].mean()) / own.sum()
        - rest * (marks - marks[rest > 0].mean()) / rest.sum()
    )
    sums = cluster_sums([parts], clusters)[:, 0]
    groups = len(sums)
    if groups < 2:
        return None
    error = math.sqrt(groups / (groups - 1) * float((sums**2).sum()))
    if error <= 1e-12:
        return None
    return float(2 * stdtr(groups - 1, -abs(value / error)))

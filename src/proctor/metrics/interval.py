"""Intervals: where a number could as well have fallen.

``Interval`` is what every method returns. An interval that cannot be computed has no ends and a note that says
why; it is never a silent ``nan``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from proctor.metrics.errors import MetricInputError

if TYPE_CHECKING:
    from statistics import NormalDist

__all__ = ["Interval", "normal_cdf", "normal_quantile", "require_confidence", "wilson_interval"]


@cache
def _normal() -> NormalDist:
    """The module ``statistics`` is loaded late: it brings decimals and fractions that nothing here needs."""
    from statistics import NormalDist

    return NormalDist()


@dataclass(frozen=True, slots=True)
class Interval:
    """Two ends and how they were found.

    Attributes:
        low: lower end, None when undefined.
        high: upper end, None when undefined.
        method: name for the signature, with the confidence in per cent: ``bca-95``.
        note: why it is undefined, or what to beware of.
    """

    low: float | None
    high: float | None
    method: str
    note: str = ""

    @property
    def defined(self) -> bool:
        """True when it has ends."""
        return self.low is not None and self.high is not None


def normal_quantile(probability: float) -> float:
    """Quantile of the standard normal distribution; infinite at 0 and 1."""
    if probability <= 0.0 or probability >= 1.0:
        return -math.inf if probability <= 0.0 else math.inf
    return _normal().inv_cdf(probability)


def normal_cdf(z: float) -> float:
    """Distribution function of the standard normal distribution."""
    return _normal().cdf(z)


def require_confidence(confidence: float) -> None:
    """Make sure that a confidence is a probability strictly between 0 and 1.

    Raises:
        MetricInputError: otherwise.
    """
    if not 0.0 < confidence < 1.0:
        raise MetricInputError(
            f"confidence must lie strictly between 0 and 1, got {confidence}", "95 % is 0.95"
        )


def wilson_interval(successes: int, n: int, confidence: float = 0.95) -> Interval:
    """Wilson score interval of a proportion (Wilson 1927, without continuity correction).

    It treats the ``n`` trials as independent; for answers of the same recording use the clustered bootstrap.

    Raises:
        MetricInputError: if the counts are negative or more successes than trials are given.
    """
    require_confidence(confidence)
    if not 0 <= successes <= n:
        raise MetricInputError(f"successes must lie between 0 and n, got {successes} of {n}")
    method = f"wilson-{100 * confidence:g}"
    if n == 0:
        return Interval(None, None, method, "nothing was counted")
    z2 = normal_quantile(0.5 + confidence / 2) ** 2
    p = successes / n
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (p * (1 - p) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == n else centre + half
    return Interval(low, high, method)

"""Power: how small a difference a benchmark can show, and how many items a wanted difference needs.

Conventions: all tests are two-sided; differences and standard deviations are those of *paired* differences of two
systems, in the unit of the marks (0 to 1, 0 to 100); a design effect says how much clusters (several questions a
recording) inflate the variance of a mean.

References: Miller, *Adding Error Bars to Evals* (2024); Kish (1965) for the design effect; Miettinen (1968) and
Connor (1987) for the power of McNemar's test, here computed exactly instead of by their approximations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.bootstrap import Floats, cluster_sums
from proctor.metrics.catalogue import Entries
from proctor.metrics.errors import MetricInputError
from proctor.metrics.interval import normal_quantile

__all__ = [
    "METRICS",
    "Detectable",
    "detectable_difference",
    "mcnemar_detectable",
    "mcnemar_power",
    "planned_difference",
    "planned_items",
]

_MOST_ITEMS = 10_000_000
"""No benchmark is planned larger than this."""


@dataclass(frozen=True, slots=True)
class Detectable:
    """The smallest true difference of two runs that the benchmark would find.

    Attributes:
        difference: in the unit of the marks; None when undefined.
        power: probability of finding it.
        alpha: two-sided level of the test.
        standard_error: of the mean paired difference, clustered.
        design_effect: clustered variance over the variance of independent items; above 1, clusters cost power.
        n: pairs.
        clusters: clusters.
        note: why it is undefined, or what to beware of.
    """

    difference: float | None
    power: float
    alpha: float
    standard_error: float | None
    design_effect: float | None
    n: int
    clusters: int
    note: str = ""


def detectable_difference(
    differences: Sequence[float] | Floats,
    clusters: Sequence[str] | NDArray[np.intp],
    *,
    power: float = 0.8,
    alpha: float = 0.05,
) -> Detectable:
    """Smallest true difference that a paired, clustered test finds with this power, from observed differences.

    The variance of the mean difference is the cluster-robust one, ``C/(C-1) · Σ (D_c - n_c d)² / n²``; the
    difference is ``(z[1-alpha/2] + z[power])`` standard errors.

    Raises:
        MetricInputError: if lengths differ or an option is out of range.
    """
    _require_probabilities(power, alpha)
    sums = cluster_sums([differences, np.ones(len(differences))], clusters)
    n, count = len(differences), len(sums)
    if count < 2:
        why = "variation between clusters is unknown: fewer than two were observed"
        return Detectable(None, power, alpha, None, None, n, count, why)
    mean = math.fsum(differences) / n
    residuals = sums[:, 0] - sums[:, 1] * mean
    variance = count / (count - 1) * float((residuals**2).sum()) / n**2
    independent = float(np.var(np.asarray(differences, dtype=np.float64), ddof=1)) / n
    if independent <= 1e-24 * max(1.0, mean * mean):
        why = "all differences are equal: nothing can be said about what would be detected"
        return Detectable(None, power, alpha, 0.0, None, n, count, why)
    error = math.sqrt(variance)
    note = f"only {count} clusters: the true value is larger" if count < 30 else ""
    return Detectable(
        difference=_quantiles(power, alpha) * error,
        power=power,
        alpha=alpha,
        standard_error=error,
        design_effect=variance / independent,
        n=n,
        clusters=count,
        note=note,
    )


def planned_difference(
    n: int, deviation: float, *, design_effect: float = 1.0, power: float = 0.8, alpha: float = 0.05
) -> float:
    """Smallest difference that ``n`` items will show, for a benchmark that is still being planned.

    Args:
        n: items.
        deviation: standard deviation of paired differences, in the unit of the marks.
        design_effect: how much clusters inflate the variance.
        power: probability of finding it.
        alpha: two-sided level.

    Raises:
        MetricInputError: if an argument is out of range.
    """
    _require_probabilities(power, alpha)
    _require_plan(n, deviation, design_effect)
    return _quantiles(power, alpha) * deviation * math.sqrt(design_effect / n)


def _require_probabilities(power: float, alpha: float) -> None:
    if not (0 < power < 1 and 0 < alpha < 1):
        raise MetricInputError(f"power and alpha must lie strictly between 0 and 1, got {power} and {alpha}")


def _quantiles(power: float, alpha: float) -> float:
    return normal_quantile(1 - alpha / 2) + normal_quantile(power)


def _require_plan(n: float, deviation: float, design_effect: float) -> None:
    numbers = (n, deviation, design_effect)
    if not all(map(math.isfinite, numbers)) or n < 1 or deviation < 0 or design_effect <= 0:
        raise MetricInputError(
            f"n={n}, deviation={deviation}, design effect={design_effect} are out of range",
            "n starts at 1, the deviation at 0, the design effect is positive",
        )


def planned_items(
    difference: float,
    deviation: float,
    *,
    design_effect: float = 1.0,
    power: float = 0.8,
    alpha: float = 0.05,
) -> int:
    """Number of items that a paired test needs to find a difference; the inverse of ``planned_difference``.

    Args:
        difference: true difference that is to be found, in the unit of the marks; its sign does not matter.
        deviation: standard deviation of paired differences.
        design_effect: how much clusters inflate the variance.
        power: probability of finding it.
        alpha: two-sided level.

    Raises:
        MetricInputError: if an argument is out of range, or more than ten million items would be needed.
    """
    _require_probabilities(power, alpha)
    _require_plan(1, deviation, design_effect)
    if not (math.isfinite(difference) and difference):
        raise MetricInputError(f"the difference must be a number other than 0, got {difference}")
    items = (_quantiles(power, alpha) * deviation / difference) ** 2 * design_effect
    if items > _MOST_ITEMS:
        raise MetricInputError(
            f"a difference of {difference:g} needs {items:,.0f} items", "plan for a larger difference"
        )
    return max(1, math.ceil(items - 1e-9))


# -- yes/no marks: McNemar ---------------------------------------------------------------------------------------


def _require_discordant(discordant: float) -> None:
    if not 0.0 < discordant <= 1.0:
        raise MetricInputError(
            f"the discordant share lies above 0 and up to 1, got {discordant}",
            "it is the share of items on which exactly one of the two systems is right",
        )


def mcnemar_power(n: int, difference: float, discordant: float, *, alpha: float = 0.05) -> float:
    """Probability that the exact McNemar test finds a difference of two systems on ``n`` independent items.

    Summed exactly over the number of discordant items, Binomial(n, discordant), and over who wins each.

    Args:
        n: items.
        difference: true difference of the shares right, -1 to 1.
        discordant: true share of items on which exactly one system is right; at least ``|difference|``.
        alpha: two-sided level.

    Raises:
        MetricInputError: if an argument is out of range.
    """
    from scipy.stats import binom

    _require_probabilities(0.5, alpha)
    _require_plan(n, 0.0, 1.0)
    _require_discordant(discordant)
    if not abs(difference) <= discordant + 1e-12:
        raise MetricInputError(
            f"a difference of {difference:g} with a discordant share of {discordant:g} cannot be",
            "the two systems disagree on at least as many items as they differ by",
        )
    low, high = binom.ppf([1e-13, 1 - 1e-13], n, discordant)
    pairs = np.arange(int(low), int(high) + 1)
    limit = binom.ppf(alpha / 2, pairs, 0.5)
    limit = np.where(2 * binom.cdf(limit, pairs, 0.5) <= alpha * (1 + 1e-12), limit, limit - 1)
    won = min(1.0, (discordant + abs(difference)) / (2 * discordant))
    found = binom.cdf(limit, pairs, won) + binom.sf(pairs - limit - 1, pairs, won)
    return min(1.0, float((binom.pmf(pairs, n, discordant) * found).sum()))


def mcnemar_detectable(n: int, discordant: float, *, power: float = 0.8, alpha: float = 0.05) -> Detectable:
    """Smallest difference of two shares right that the exact McNemar test finds on ``n`` independent items.

    Args:
        n: items.
        discordant: share of items on which exactly one system is right, from a pilot.
        power: probability of finding it.
        alpha: two-sided level.

    Returns:
        The difference in shares (0 to 1); undefined when even a system that wins every disagreement would be
        missed too often.

    Raises:
        MetricInputError: if an argument is out of range.
    """
    _require_probabilities(power, alpha)
    best = mcnemar_power(n, discordant, discordant, alpha=alpha)
    if best < power:
        why = f"{n} items are too few: a system that wins every disagreement is found with a power of {best:.2g}"
        return Detectable(None, power, alpha, None, None, n, n, why)
    low, high = 0.0, discordant
    while high - low > 1e-9:
        middle = (low + high) / 2
        if mcnemar_power(n, middle, discordant, alpha=alpha) < power:
            low = middle
        else:
            high = middle
    error = math.sqrt(max(0.0, discordant - high**2) / n)
    return Detectable(high, power, alpha, error, None, n, n)


_entry: Final = Entries("significance", "power")

METRICS: Final = (
    _entry(
        "detectable_difference",
        "detectable",
        "(z[1-α/2] + z[power]) times the clustered standard error of the mean paired difference.",
        range="from 0, unit of the marks",
        direction="lower",
        signature="alpha:0.05|cluster:recording|power:0.8",
        citation="Miller 2024; Kish 1965",
        traps="It speaks about a benchmark of this size and these systems; a difference below it that was found is no "
        "contradiction, one that was not found is no proof of equality. Too small below 30 clusters.",
    ),
    _entry(
        "planned_items",
        "items needed",
        "((z[1-α/2] + z[power]) · standard deviation of paired differences / difference)² · design effect.",
        range="from 1",
        direction="lower",
        signature="alpha:0.05|difference:0.05|power:0.8",
        citation="Miller 2024; Kish 1965",
        traps="The standard deviation is that of differences, not of marks: for similar systems it is much smaller.",
    ),
    _entry(
        "mcnemar_detectable",
        "detectable (McNemar)",
        "Smallest difference of shares right at which the exact McNemar test has the power, summed over "
        "Binomial(n, discordant share) disagreements.",
        direction="lower",
        signature="alpha:0.05|power:0.8",
        citation="Miettinen 1968; Connor 1987 (approximations of it)",
        traps="Needs the share of items on which the systems disagree, not their accuracies; items independent.",
    ),
)

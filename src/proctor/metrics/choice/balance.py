"""Are letters equally frequent?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from proctor.metrics.errors import MetricInputError

__all__ = ["LetterBalance", "letter_balance"]


@dataclass(frozen=True, slots=True)
class LetterBalance:
    """Pearson's test of equally frequent letters.

    Attributes:
        chi2: the statistic.
        df: degrees of freedom.
        p: probability of a statistic at least as large under uniform letters; ``nan`` when nothing was counted.
        note: why it is undefined, or that the approximation is poor.
    """

    chi2: float
    df: int
    p: float
    note: str = ""


def letter_balance(*counts: Sequence[int]) -> LetterBalance:
    """Test whether letters are equally frequent: of the golds, or of what a system says (position bias).

    Args:
        counts: how often each letter occurs. Questions with different numbers of options are no one multinomial:
            give one sequence for each number of options; statistics and degrees of freedom add up.

    Returns:
        The test. A p-value near 1 is as it should be for golds that were balanced on purpose.

    Raises:
        MetricInputError: if a sequence has fewer than 2 counts, or a count is negative or no whole number.

    Reference: Pearson 1900. Equals ``scipy.stats.chisquare``.
    """
    chi2, df, smallest, total = 0.0, 0, math.inf, 0
    for group in counts:
        try:
            values = [int(c) for c in group]
        except (TypeError, ValueError, OverflowError):
            values = []
        if len(values) < 2 or min(values) < 0 or any(v != c for v, c in zip(values, group, strict=True)):
            raise MetricInputError(
                f"counts of at least two letters are wanted, whole and none negative, got {group!r:.60}"
            )
        if not sum(values):
            continue
        expected = sum(values) / len(values)
        chi2 += math.fsum((v - expected) ** 2 for v in values) / expected
        df += len(values) - 1
        smallest = min(smallest, expected)
        total += sum(values)
    if not total:
        return LetterBalance(math.nan, 0, math.nan, "no letter was counted")
    from scipy.special import chdtrc  # a tenth of the import time of scipy.stats

    poor = "fewer than 5 expected per letter: the p-value is rough" if smallest < 5 else ""
    return LetterBalance(chi2, df, float(chdtrc(df, chi2)), poor)

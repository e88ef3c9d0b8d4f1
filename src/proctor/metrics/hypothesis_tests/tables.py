"""Tables of counts: Fisher's exact test and chi-square."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from proctor.metrics.errors import MetricInputError
from proctor.metrics.hypothesis_tests.groups import empty_note
from proctor.metrics.hypothesis_tests.inputs import finite_numbers, whole_count
from proctor.metrics.hypothesis_tests.results import PValue
from proctor.metrics.score import Signature

__all__ = ["chi_square", "fisher_exact"]

_FEW_EXPECTED = 5
"""Cochran's rule for the chi-squared approximation."""


def fisher_exact(yes_a: int, n_a: int, yes_b: int, n_b: int) -> PValue:
    """Fisher's exact test: do two groups of different items have different shares of yes?

    Two-sided: all tables with the same margins that are at most as likely as the observed one. Source: Fisher
    (1935); SMMQG, human study. SciPy computes it.

    Erratum: none of the four p-values of SMMQG's table 4 follows from its own counts, 300 against 120 questions:
    style 0.283 (printed 0.77), relevance 0.0247 (0.07), answerability 0.0043 (0.02), correctness 0.0004 (0.001);
    relevance is significant at 0.05, contrary to the print. Of table 15 seven of eight hold; multi-hop style is
    0.364 (printed 0.44).

    Args:
        yes_a: items of the reference group with yes.
        n_a: items of the reference group.
        yes_b: items of the other group with yes.
        n_b: items of the other group.

    Returns:
        p; ``statistic`` is the sample odds ratio of ``a`` to ``b`` (None where it is not finite).

    Raises:
        MetricInputError: if a count is negative, no whole number, or more than its group.
    """
    table = []
    for yes, size, name in ((yes_a, n_a, "a"), (yes_b, n_b, "b")):
        k, n = whole_count(yes, f"yes_{name}"), whole_count(size, f"n_{name}")
        if k > n:
            raise MetricInputError(f"{k} items of {name} say yes, but it has only {n}")
        table.append([k, n - k])
    signature = Signature("fisher_exact", {"sided": "two"})
    if empty := empty_note(int(n_a), int(n_b)):
        return PValue(None, signature, int(n_a + n_b), None, empty)
    from scipy.stats import fisher_exact as fisher_of_scipy

    p = min(1.0, float(fisher_of_scipy(table).pvalue))
    (yes_first, no_first), (yes_second, no_second) = table
    odds = yes_first * no_second / (no_first * yes_second) if no_first and yes_second else None
    same = yes_first + yes_second in (0, n_a + n_b)
    note = (
        "every item has the same answer"
        if same
        else ""
        if odds is not None
        else "the odds ratio is not finite"
    )
    return PValue(p, signature, int(n_a + n_b), odds, note)


def chi_square(counts: Sequence[int], expected: Sequence[float] | None = None) -> PValue:
    """Pearson's chi-squared test of fit: do counts of categories follow the shares that they should?

    Made for the letters of multiple-choice answers, which should be equally frequent.

    Args:
        counts: observed, shape (categories,).
        expected: weights of the categories, made to add up; None for equal ones.

    Returns:
        p with ``categories - 1`` degrees of freedom; ``statistic`` is χ², ``n`` the sum of counts.

    Raises:
        MetricInputError: if there are fewer than two categories, or a count or a weight is out of range.
    """
    observed = [whole_count(c, f"count {i}") for i, c in enumerate(counts)]
    if len(observed) < 2:
        raise MetricInputError(f"a test of fit needs two categories or more, got {len(observed)}")
    weights = np.ones(len(observed)) if expected is None else finite_numbers(expected, "expected")
    if weights.size != len(observed) or (weights <= 0).any():
        raise MetricInputError(
            f"{weights.size} weights for {len(observed)} categories; all must be positive",
            "leave a category out that cannot occur",
        )
    total = sum(observed)
    kind = "uniform" if expected is None else "given"
    signature = Signature("chi_square", {"expected": kind, "df": str(len(observed) - 1)})
    if not total:
        return PValue(None, signature, 0, None, "nothing was counted")
    from scipy.special import chdtrc

    wanted = weights / weights.sum() * total
    statistic = float((((np.asarray(observed, dtype=np.float64)) - wanted) ** 2 / wanted).sum())
    note = ""
    if wanted.min() < _FEW_EXPECTED:
        note = f"the smallest expected count is {wanted.min():.3g}: below 5 the approximation is rough"
    return PValue(float(chdtrc(len(observed) - 1, statistic)), signature, total, statistic, note)

"""Two groups of different items: permutation test and Mann-Whitney."""

from __future__ import annotations

import math
from itertools import chain, combinations
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from proctor.metrics.bootstrap import Floats
from proctor.metrics.errors import MetricInputError
from proctor.metrics.hypothesis_tests.inputs import CELLS, finite_numbers, require_resamples
from proctor.metrics.hypothesis_tests.results import PValue
from proctor.metrics.score import Signature

__all__ = ["MannWhitneyMethod", "empty_note", "mann_whitney", "permutation_test"]

_EXACT_SPLITS = 200_000
"""Up to this many ways to split two groups all are tried."""
_EXACT_RATINGS = 8
"""Without ties and with a group of at most this size Mann-Whitney is exact, as in SciPy."""

MannWhitneyMethod = Literal["auto", "exact", "asymptotic", "no-continuity"]


def permutation_test(a: ArrayLike, b: ArrayLike, *, resamples: int = 10_000, seed: int = 0) -> PValue:
    """Two-sample permutation test: do the means of two groups of *different* items differ?

    Group labels are exchanged; all splits are tried up to 200,000 of them, otherwise ``resamples`` are drawn.
    For the same items in both groups use ``sign_flip_test``, which is far more powerful.

    Args:
        a: marks of the reference group, shape (items,), any unit.
        b: marks of the other group, any length.
        resamples: splits to draw where not all are tried.
        seed: of the draws.

    Returns:
        p; ``statistic`` is ``mean(b) - mean(a)``, ``n`` both groups together.

    Raises:
        MetricInputError: if a value is not finite or ``resamples`` is not positive.
    """
    require_resamples(resamples)
    first, second = np.sort(finite_numbers(a, "values of a")), np.sort(finite_numbers(b, "values of b"))
    signature = Signature("permutation", {"sided": "two", "statistic": "mean-difference"})
    n = first.size + second.size
    if empty := empty_note(first.size, second.size):
        return PValue(None, signature, n, None, empty)
    pooled = np.sort(np.concatenate([first, second]))
    difference = math.fsum(second) / second.size - math.fsum(first) / first.size
    smaller = min(first.size, second.size)
    # The sum of the smaller group decides: the difference is a multiple of its distance from what is expected.
    expected = smaller * (math.fsum(pooled) / n)
    own = first if first.size == smaller else second
    reached = abs(math.fsum(own) - expected) - 1e-9 * float(np.abs(pooled - pooled.mean()).sum())
    if reached <= 0:
        how, p = {"p": "exact"}, 1.0
    elif math.comb(n, smaller) <= _EXACT_SPLITS:
        sums = _split_sums(pooled, smaller)
        how, p = {"p": "exact"}, float((np.abs(sums - expected) >= reached).mean())
    else:
        how = {"p": "monte-carlo", "resamples": str(resamples), "seed": str(seed)}
        draws = _drawn_split_sums(pooled, smaller, resamples, np.random.default_rng(seed))
        p = (1 + int((np.abs(draws - expected) >= reached).sum())) / (1 + resamples)
    note = "all values are equal" if pooled[0] == pooled[-1] else ""
    return PValue(p, signature.having(**how), n, difference, note)


def empty_note(a: int, b: int) -> str:
    """Say which group is empty, if one is."""
    if a and b:
        return ""
    return "nothing was observed" if not (a or b) else f"group {'b' if a else 'a'} is empty"


def _split_sums(pooled: Floats, size: int) -> Floats:
    count = math.comb(pooled.size, size)
    places = np.fromiter(
        chain.from_iterable(combinations(range(pooled.size), size)), dtype=np.int32, count=count * size
    )
    sums: Floats = pooled[places.reshape(count, size)].sum(axis=1)
    return sums


def _drawn_split_sums(pooled: Floats, size: int, resamples: int, rng: np.random.Generator) -> Floats:
    """Sums of random subsets; where few values occur, how many of each are drawn is enough."""
    values, counts = np.unique(pooled, return_counts=True)
    if values.size <= max(2, pooled.size // 8):
        drawn = rng.multivariate_hypergeometric(counts, size, size=resamples, method="marginals")
        sums: Floats = drawn @ values
        return sums
    step = max(1, CELLS // pooled.size)
    parts = []
    for first in range(0, resamples, step):
        keys = rng.random((min(step, resamples - first), pooled.size))
        parts.append(pooled[np.argpartition(keys, size - 1, axis=1)[:, :size]].sum(axis=1))
    return np.concatenate(parts)


def mann_whitney(a: ArrayLike, b: ArrayLike, *, method: MannWhitneyMethod = "auto") -> PValue:
    """Mann-Whitney U test: are ratings of one group of items higher than those of another?

    Source: Mann and Whitney (1947); SMMQG, human study (fluency). SciPy computes it.

    Args:
        a: ratings of the reference group.
        b: ratings of the other group (different items).
        method: ``auto``: exact without ties when a group has at most eight ratings, else ``asymptotic`` (normal,
            corrected for ties, with continuity correction); ``exact``; ``asymptotic``; ``no-continuity``.

    Returns:
        p; ``statistic`` is U of ``a``: in how many of the pairs its rating is higher, ties counted half. Divided
        by the number of pairs it is the probability that ``a`` is rated higher.

    Raises:
        MetricInputError: if a value is not finite, the method unknown, or ``exact`` is asked for with ties.
    """
    if method not in get_args(MannWhitneyMethod):
        raise MetricInputError(
            f"method must be one of {', '.join(get_args(MannWhitneyMethod))}, got {method!r}"
        )
    first, second = finite_numbers(a, "ratings of a"), finite_numbers(b, "ratings of b")
    n = first.size + second.size
    pooled = np.concatenate([first, second])
    tied = np.unique(pooled).size < n
    if method == "auto":
        small = min(first.size, second.size) <= _EXACT_RATINGS
        method = "exact" if small and not tied else "asymptotic"
    elif method == "exact" and tied:
        raise MetricInputError(
            "ratings are tied, so the exact distribution does not hold", "use 'auto' or permutation_test"
        )
    signature = Signature("mann_whitney", {"method": method, "sided": "two"})
    if empty := empty_note(first.size, second.size):
        return PValue(None, signature, n, None, empty)
    if pooled.min() == pooled.max():
        return PValue(1.0, signature, n, first.size * second.size / 2, "all ratings are equal")
    from scipy.stats import mannwhitneyu

    found = mannwhitneyu(
        first,
        second,
        method="exact" if method == "exact" else "asymptotic",
        use_continuity=method != "no-continuity",
    )
    return PValue(min(1.0, float(found.pvalue)), signature, n, float(found.statistic))

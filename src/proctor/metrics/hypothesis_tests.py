"""Tests of a difference: p-values that say what they assume, how they were found and why one may be missing.

Conventions: the reference comes first, a difference is ``b - a``, every p-value is two-sided. Marks are numbers in
any unit; yes/no marks are booleans or 0 and 1. A p-value is *undefined* (None, with a note) when nothing was observed;
it is 1, with a note, when nothing differs. Monte-Carlo p-values count the observed arrangement as one more draw, so
that they are never 0 (Phipson and Smyth 2010). The order of the inputs never changes a result.

Which test: the same items marked twice, yes/no: ``mcnemar``; the same items, any marks, or items in clusters:
``sign_flip_test``; different items: ``permutation_test`` (means), ``mann_whitney`` (ratings on a scale),
``fisher_exact`` (yes/no); systems ranked by two benchmarks: ``rank_concurrence``; counts of categories: ``chi_square``.
Many tests at once: ``holm`` (no false alarm at all) or ``benjamini_hochberg`` (few among the alarms).

References: McNemar (1947); Fagerland, Lydersen and Laake (2013) for mid-p; Fisher (1935) and Pitman (1937) for
permutation; Mann and Whitney (1947); Kendall (1945) for tau-b; Holm (1979); Benjamini and Hochberg (1995); Phipson
and Smyth (2010).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proctor.metrics.bootstrap import Floats, cluster_sums, require_sizes
from proctor.metrics.catalogue import Entries
from proctor.metrics.errors import MetricInputError
from proctor.metrics.interval import Interval, require_confidence
from proctor.metrics.score import Score, Signature

__all__ = [
    "CELLS",
    "METRICS",
    "MannWhitneyMethod",
    "PValue",
    "benjamini_hochberg",
    "chi_square",
    "discordant_counts",
    "empty_note",
    "finite_numbers",
    "fisher_exact",
    "holm",
    "mann_whitney",
    "mcnemar",
    "permutation_test",
    "require_resamples",
    "sign_flip_intervals",
    "sign_flip_test",
    "sign_flip_tests",
    "whole_count",
    "yes_no_marks",
]


# Many tests at once: Holm, and Benjamini and Hochberg.


def _ranked(p_values: Sequence[float | None]) -> list[tuple[float, int]]:
    for p in p_values:
        if p is not None and not 0.0 <= p <= 1.0:
            raise MetricInputError(f"a p-value lies between 0 and 1, got {p}")
    return sorted((p, i) for i, p in enumerate(p_values) if p is not None)


def holm(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Correct p-values for being many (Holm 1979); undefined ones stay undefined and do not count.

    The chance of even one false alarm stays below the level, whatever the dependence between the tests.

    Raises:
        MetricInputError: if one is not a probability.
    """
    order = _ranked(p_values)
    corrected: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, i) in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - rank) * p))
        corrected[i] = highest
    return tuple(corrected)


def benjamini_hochberg(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Correct p-values so that few of the alarms are false (Benjamini and Hochberg 1995); None stays None.

    The expected share of false alarms among all alarms stays below the level, for tests that are independent or
    positively dependent. For claims about every single pair use ``holm``.

    Raises:
        MetricInputError: if one is not a probability.
    """
    order = _ranked(p_values)
    corrected: list[float | None] = [None] * len(p_values)
    lowest = 1.0
    for rank, (p, i) in reversed(list(enumerate(order, start=1))):
        lowest = min(lowest, p * len(order) / rank)
        corrected[i] = lowest
    return tuple(corrected)


# What tests are given: numbers, yes-or-no marks, counts; and how much they may hold in memory.

CELLS = 4_000_000
"""Numbers held in memory at a time (about 32 MB)."""


def finite_numbers(values: ArrayLike, what: str) -> Floats:
    """Return a flat array of finite numbers."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise MetricInputError(f"{what} must be numbers, got {values!r:.60}") from None
    if found.ndim != 1:
        raise MetricInputError(f"{what} must be one flat list of numbers, got shape {found.shape}")
    wrong = np.flatnonzero(~np.isfinite(found))
    if wrong.size:
        place = int(wrong[0])
        raise MetricInputError(
            f"{what} must be finite, number {place} (from 0) is {found[place]}",
            "leave out what failed and count it",
        )
    require_sizes(found)
    return found


def yes_no_marks(values: ArrayLike, what: str) -> NDArray[np.bool_]:
    """Return a flat array of yes and no."""
    found = finite_numbers(values, what)
    wrong = np.flatnonzero((found != 0) & (found != 1))
    if wrong.size:
        place = int(wrong[0])
        raise MetricInputError(
            f"{what} must be yes/no (True/False or 1/0), number {place} (from 0) is {found[place]:g}",
            "for other marks use sign_flip_test, or say from which mark on an answer counts as right",
        )
    return np.asarray(found == 1, dtype=np.bool_)


def whole_count(value: Any, what: str) -> int:
    """Return a whole number from 0 on."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise MetricInputError(f"{what} must be a whole number from 0 on, got {value!r}")
    return int(value)


def require_resamples(resamples: int) -> None:
    """Make sure that something is drawn at all."""
    if resamples < 1:
        raise MetricInputError(f"resamples must be positive, got {resamples}")


# What a test found.


@dataclass(frozen=True, slots=True)
class PValue:
    """What a test found.

    Attributes:
        p: two-sided p-value; None only when it is undefined, and then ``note`` says why.
        signature: the test and every choice that changes the number.
        n: observations (or pairs, or systems) that it stands on.
        statistic: what was tested (each test says what it is); None when undefined.
        note: why p is undefined, or what to beware of.
    """

    p: float | None
    signature: Signature
    n: int
    statistic: float | None = None
    note: str = ""

    def as_score(self) -> Score:
        """Return the p-value as a score, for tables."""
        return Score(math.nan if self.p is None else self.p, self.signature, self.n, note=self.note)


# Two groups of different items: permutation test and Mann-Whitney.

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


# The same items, marked twice: McNemar and sign flips.

_EXACT_SIGNS = 30
"""Up to this many differences all sign patterns are counted (two halves of 32,768 sums) instead of drawn."""
_EXACT_TOSSES = 1_000
"""Up to here the binomial tail is summed in whole numbers, beyond it comes from SciPy."""
_FEW = 6
"""With fewer differences than this no sign-flip test can reach 0.05."""


def discordant_counts(a: ArrayLike, b: ArrayLike) -> tuple[int, int]:
    """Count the items on which exactly one of two systems is right: (only ``a``, only ``b``).

    Args:
        a: yes/no for each item, shape (items,), reference system.
        b: the same items in the same order, other system.

    Raises:
        MetricInputError: if lengths differ or a value is not yes/no.
    """
    first, second = yes_no_marks(a, "marks of a"), yes_no_marks(b, "marks of b")
    if first.size != second.size:
        raise MetricInputError(
            f"{first.size} marks of a, {second.size} of b", "both must hold the same items in the same order"
        )
    return int((first & ~second).sum()), int((~first & second).sum())


def mcnemar(only_a: int, only_b: int, *, mid_p: bool = False) -> PValue:
    """Exact McNemar test: is one of two systems right more often on the same items?

    Under the hypothesis each item on which they disagree is won by either with probability 1/2, so
    ``p = min(1, 2 · Σ_{k ≤ min(b, c)} C(b+c, k) / 2^(b+c))``. No disagreement gives p = 1. With 0/1 marks and
    independent items ``sign_flip_test`` gives the same number. Source: McNemar (1947).

    Args:
        only_a: items that only ``a`` got right (``b`` in the literature), see ``discordant_counts``.
        only_b: items that only ``b`` got right (``c``).
        mid_p: count the observed table half (Fagerland, Lydersen and Laake 2013): closer to the nominal level,
            but it may exceed it slightly.

    Returns:
        p; ``statistic`` is the smaller of both counts, ``n`` their sum.

    Raises:
        MetricInputError: if a count is negative or no whole number.
    """
    b, c = whole_count(only_a, "only_a"), whole_count(only_b, "only_b")
    n, low = b + c, min(b, c)
    signature = Signature("mcnemar", {"p": "mid" if mid_p else "exact", "sided": "two"})
    if not n:
        return PValue(1.0, signature, 0, 0.0, "the two agree on every item")
    tail = _coin_tail(low, n)
    if mid_p:
        return PValue(min(1.0, tail + _coin_tail(low - 1, n)), signature, n, float(low))
    return PValue(min(1.0, 2 * tail), signature, n, float(low), _few_note(n))


def _coin_tail(k: int, n: int) -> float:
    """Probability of at most ``k`` heads in ``n`` tosses of a fair coin."""
    if n <= _EXACT_TOSSES:
        ways: int = sum(math.comb(n, i) for i in range(k + 1))
        return float(ways / 2**n)
    from scipy.special import bdtr

    return float(bdtr(k, n, 0.5)) if k >= 0 else 0.0


def _few_note(different: int) -> str:
    if different >= _FEW:
        return ""
    return (
        f"only {different} {'difference is' if different == 1 else 'differences are'} not zero: "
        f"p cannot fall below {min(1.0, 2.0 ** (1 - different)):.3g}"
    )


def sign_flip_test(
    differences: ArrayLike,
    clusters: Sequence[str] | None = None,
    *,
    resamples: int = 10_000,
    seed: int = 0,
) -> PValue:
    """Sign-flip permutation test: is the mean of paired differences zero?

    If two systems are exchangeable, swapping them in a cluster changes the sign of its summed difference. All
    patterns are counted for up to 30 clusters with a difference, and for any number when all differences have
    one size (then it is the exact McNemar test); otherwise ``resamples`` patterns are drawn.

    Args:
        differences: ``b - a`` of each item, shape (items,), any unit.
        clusters: cluster (recording) of each item; None when items are independent.
        resamples: patterns to draw.
        seed: of the draws.

    Returns:
        p; ``statistic`` is the mean difference, ``n`` the number of items.

    Raises:
        MetricInputError: if values are not finite, lengths differ or an option is out of range.
    """
    values = finite_numbers(differences, "differences")
    if clusters is None:
        totals = np.sort(values)[:, None]
    else:
        if len(clusters) != values.size:
            raise MetricInputError(f"{values.size} differences, {len(clusters)} clusters")
        totals = cluster_sums([values], clusters)
    found = sign_flip_tests(totals, resamples=resamples, seed=seed)[0]
    mean = math.fsum(values) / values.size if values.size else None
    signature = found.signature.having(cluster="item" if clusters is None else "given")
    return PValue(found.p, signature, values.size, mean, found.note)


def sign_flip_tests(totals: Floats, *, resamples: int = 10_000, seed: int = 0) -> tuple[PValue, ...]:
    """Sign-flip tests of several columns (pairs of systems) with the same draws: one test a column.

    Args:
        totals: summed difference, shape (clusters, pairs); rows in an order that does not come from the data.
        resamples: patterns to draw where not all are counted.
        seed: of the draws.

    Returns:
        One result a column; ``statistic`` is the sum, ``n`` the number of clusters.

    Raises:
        MetricInputError: if ``totals`` is no finite matrix or ``resamples`` is not positive.
    """
    require_resamples(resamples)
    values = np.asarray(totals, dtype=np.float64)
    if values.ndim != 2 or not np.isfinite(values).all():
        raise MetricInputError(
            f"totals must be a finite matrix (clusters, pairs), got shape {values.shape}",
            "leave out what failed and count it",
        )
    require_sizes(values)
    # Sums of marks are exact in floating point up to rounding of the last digits; equal sums must count as ties.
    reached = np.abs(values.sum(axis=0)) - 1e-9 * np.abs(values).sum(axis=0)
    exact = [_exact_sign_p(values[:, j], float(reached[j])) for j in range(values.shape[1])]
    drawn = [j for j, p in enumerate(exact) if p is None and len(values)]
    if drawn:
        extreme = _drawn_extreme(values[:, drawn], reached[drawn], resamples, seed)
    results = []
    for j, p in enumerate(exact):
        how, note = {"p": "exact"}, ""
        different = int(np.count_nonzero(values[:, j]))
        if not len(values):
            note = "nothing was observed"
        elif not different:
            note = "nothing differs"
        elif p is None:
            how = {"p": "monte-carlo", "resamples": str(resamples), "seed": str(seed)}
            p = (1 + int(extreme[drawn.index(j)])) / (1 + resamples)
        else:
            note = _few_note(different)
        total = float(values[:, j].sum()) if len(values) else None
        results.append(PValue(p, Signature("sign_flip", {**how, "sided": "two"}), len(values), total, note))
    return tuple(results)


def _exact_sign_p(column: Floats, reached: float) -> float | None:
    """Share of all sign patterns that reach the observed sum; None where there are too many (or none)."""
    values = np.sort(np.abs(column[column != 0]))
    if not column.size:
        return None
    if not values.size or reached <= 0:
        return 1.0
    if np.ptp(values) <= 1e-12 * values[-1]:
        return mcnemar(int((column > 0).sum()), int((column < 0).sum())).p
    if values.size > _EXACT_SIGNS:
        return None
    # Every pattern is a pattern of one half plus one of the other; sums of one half are looked up in the other.
    first, second = (_signed_sums(values[part::2]) for part in (0, 1))
    second.sort()
    above = second.size - np.searchsorted(second, reached - first, side="left")
    return min(1.0, 2 * int(above.sum()) / (first.size * second.size))


def _signed_sums(values: Floats) -> Floats:
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums - value, sums + value])
    return sums


def _drawn_extreme(values: Floats, reached: Floats, resamples: int, seed: int) -> NDArray[np.int64]:
    """Count for each column the drawn sign patterns that reach the observed sum."""
    extreme = np.zeros(values.shape[1], dtype=np.int64)
    whole = values.sum(axis=0)
    for bits in _coin_tosses(len(values), resamples, np.random.default_rng(seed)):
        extreme += (np.abs(2 * (bits @ values) - whole) >= reached).sum(axis=0)
    return extreme


def _coin_tosses(columns: int, rows: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Yield matrices of zeros and ones; one random bit each, whole words a row so that chunks do not matter."""
    width = 8 * math.ceil(columns / 64)
    step = max(1, CELLS // columns)
    for first in range(0, rows, step):
        size = min(step, rows - first)
        packed = np.frombuffer(rng.bytes(size * width), dtype=np.uint8).reshape(size, width)
        yield np.unpackbits(packed, axis=1, count=columns).astype(np.float64)


def sign_flip_intervals(
    totals: Floats,
    counts: Floats,
    p: Sequence[float | None],
    *,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[Interval, ...]:
    """Intervals of mean differences that agree with their tests: all means that the sign-flip test does not reject.

    The test of "the mean is m" flips signs of ``total - m * count``. A pattern reaches the observed sum exactly when
    the mean of the clusters that it flips (or of the others) is at most m, so the interval lies between two ordered
    means of random parts of the clusters (Hartigan 1969, typical values). All parts are taken where they are no more
    than ``resamples``, else as many are drawn. Where an exact p-value and drawn parts differ about 0, p decides.

    Args:
        totals: summed difference, shape (clusters, pairs).
        counts: items behind each sum, same shape; a cluster with 0 says nothing about that pair.
        p: p-value of each pair, see ``sign_flip_tests`` and ``mcnemar``.
        confidence: coverage, one minus the level of the test.
        resamples: parts to draw where not all are taken.
        seed: of the draws; with that of the test the draws are the same.

    Returns:
        One interval a column. It has no ends where the clusters are too few for the test to reject anything.

    Raises:
        MetricInputError: if shapes differ or an option is out of range.
    """
    require_confidence(confidence)
    require_resamples(resamples)
    if totals.shape != counts.shape or totals.ndim != 2 or len(p) != totals.shape[1]:
        raise MetricInputError(f"totals of shape {totals.shape}, counts of {counts.shape}, {len(p)} p-values")
    every = len(totals) < 60 and 2 ** len(totals) <= resamples
    parts = _part_means(totals, counts, resamples, seed, every=every)
    # All patterns hold the observed one; of drawn patterns it is one more (Phipson and Smyth 2010).
    rank = math.floor((1 - confidence) * (parts.shape[0] // 2 + (not every)) + 1e-9) + every
    method = f"sign-flip-{100 * confidence:g}"
    return tuple(
        _flip_interval(parts[:, j], totals[:, j], counts[:, j], p[j], rank, confidence, method)
        for j in range(totals.shape[1])
    )


def _part_means(totals: Floats, counts: Floats, resamples: int, seed: int, *, every: bool) -> Floats:
    """Means of parts of the clusters and of their complements, nan where a part is empty; shape (2 · parts, pairs)."""
    clusters = len(totals)
    if every:
        patterns: Iterator[Floats] = iter(
            [(np.arange(2**clusters)[:, None] >> np.arange(clusters) & 1).astype(np.float64)]
        )
    else:
        patterns = _coin_tosses(clusters, resamples, np.random.default_rng(seed))
    means = []
    whole, items = totals.sum(axis=0), counts.sum(axis=0)
    for bits in patterns:
        total, count = bits @ totals, bits @ counts
        for above, below in ((total, count), (whole - total, items - count)):
            means.append(np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0))
    return np.concatenate(means) if means else np.full((0, totals.shape[1]), np.nan)


def _flip_interval(
    parts: Floats,
    totals: Floats,
    counts: Floats,
    p: float | None,
    rank: int,
    confidence: float,
    method: str,
) -> Interval:
    clusters = int(np.count_nonzero(counts))
    if clusters < 2:
        seen = "one cluster" if clusters else "nothing"
        return Interval(None, None, method, f"{seen} was observed: variation between clusters is unknown")
    parts = np.where(np.abs(parts) <= 1e-12 * float(np.abs(totals).max()), 0.0, parts)
    defined = np.sort(parts[~np.isnan(parts)])
    empty = parts.size - defined.size  # they reach every observed sum, from below and from above
    if rank - empty < 1:
        level = f"{1 - confidence:.3g}"
        why = f"{clusters} clusters are too few: no sign-flip test of them reaches p = {level}, so there is no interval"
        return Interval(None, None, method, why)
    low, high = float(defined[rank - empty - 1]), float(defined[empty - rank])
    if p is not None and p > 1 - confidence:
        low, high = min(low, 0.0), max(high, 0.0)
    elif p is not None and low <= 0 <= high:
        beyond = defined[defined > 0] if totals.sum() > 0 else defined[defined < 0]
        low, high = (float(beyond[0]), high) if totals.sum() > 0 else (low, float(beyond[-1]))
    note = "no variation between clusters: the interval has no width" if low == high else ""
    return Interval(low, high, method, note)


# Tables of counts: Fisher's exact test and chi-square.

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


# The metrics of this family, for the catalogue.

_entry: Final = Entries("significance", "hypothesis_tests")

METRICS: Final = (
    _entry(
        "mcnemar",
        "McNemar p",
        "p = min(1, 2·Σ_{k≤min(b,c)} C(b+c,k)/2^(b+c)) for b and c items that only one system got right.",
        direction="neither",
        signature="p:exact|sided:two",
        citation="McNemar 1947; mid-p: Fagerland, Lydersen and Laake 2013",
        traps="Items are taken as independent: for several questions a recording use sign_flip. Overlapping "
        "intervals of two systems say nothing about a paired difference (WikiHow 197/300 and 177/300).",
    ),
    _entry(
        "sign_flip",
        "sign-flip p",
        "Share of sign patterns of the clusters' summed differences whose sum is at least as far from 0.",
        direction="neither",
        function="sign_flip_test",
        signature="cluster:given|p:monte-carlo|resamples:10000|seed:0|sided:two",
        citation="Fisher 1935; Pitman 1937; Phipson and Smyth 2010",
        traps="Fewer than six clusters that differ can never reach 0.05. Exact up to 30 clusters, drawn beyond.",
    ),
    _entry(
        "permutation",
        "permutation p",
        "Share of splits of the pooled marks into groups of these sizes whose means differ at least as much.",
        direction="neither",
        function="permutation_test",
        signature="p:monte-carlo|resamples:10000|seed:0|sided:two|statistic:mean-difference",
        citation="Pitman 1937; Phipson and Smyth 2010",
        traps="For different items in both groups. The same items belong into the paired sign-flip test.",
    ),
    _entry(
        "mann_whitney",
        "Mann-Whitney p",
        "U = pairs in which a is rated higher, ties half; normal with tie and continuity correction, exact "
        "without ties when a group has at most eight ratings.",
        direction="neither",
        signature="method:asymptotic|sided:two",
        citation="Mann and Whitney 1947; used by SMMQG (fluency)",
        traps="With and without continuity correction differ (0.038 and 0.033 on 8 against 8 ratings). SMMQG prints "
        "only mean fluency (4.53, 3.68), so its p-value cannot be checked.",
    ),
    _entry(
        "fisher_exact",
        "Fisher p",
        "Sum of the hypergeometric probabilities of all tables at most as likely as the observed one.",
        direction="neither",
        signature="sided:two",
        citation="Fisher 1935; used by SMMQG (tables 4 and 15)",
        traps="SMMQG table 4: none of four p-values follows from 300 against 120 (relevance is 0.025, printed 0.07); "
        "table 15: seven of eight do (multi-hop style is 0.36, printed 0.44).",
    ),
    _entry(
        "chi_square",
        "χ² p",
        "χ² = Σ (count - expected)² / expected, against χ² with one degree of freedom less than categories.",
        direction="neither",
        signature="df:4|expected:uniform",
        citation="Pearson 1900; answer letters of InstructionBench",
        traps="Rough below an expected count of five. Letters that were balanced on purpose fit too well: p near 1.",
    ),
    _entry(
        "holm",
        "p (Holm)",
        "The i-th smallest of m p-values times m-i+1, made monotone: bounds the chance of any false alarm.",
        direction="neither",
        signature="tests:28",
        citation="Holm 1979",
        traps="Correct over all pairs that were looked at, not over those that are reported.",
    ),
    _entry(
        "benjamini_hochberg",
        "p (BH)",
        "The i-th smallest of m p-values times m/i, made monotone: bounds the expected share of false alarms.",
        direction="neither",
        signature="tests:28",
        citation="Benjamini and Hochberg 1995",
        traps="Bounds the share among the alarms, not the chance of one; needs independent or positively dependent tests.",
    ),
)

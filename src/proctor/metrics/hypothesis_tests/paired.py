"""The same items, marked twice: McNemar and sign flips."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proctor.metrics.bootstrap import Floats, cluster_sums, require_sizes
from proctor.metrics.errors import MetricInputError
from proctor.metrics.hypothesis_tests.inputs import (
    CELLS,
    finite_numbers,
    require_resamples,
    whole_count,
    yes_no_marks,
)
from proctor.metrics.hypothesis_tests.results import PValue
from proctor.metrics.interval import Interval, require_confidence
from proctor.metrics.score import Signature

__all__ = ["discordant_counts", "mcnemar", "sign_flip_intervals", "sign_flip_test", "sign_flip_tests"]


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

"""Is one run better than another? Paired comparison on the same items, clustered by recording.

Conventions: run ``a`` is the reference, run ``b`` is compared with it, a difference is ``b - a``. Both runs must
hold the same items; an item that failed in either run is left out of the pairs and counted. All variances are
clustered: questions about one recording share its difficulty.

References: Miller, *Adding Error Bars to Evals* (2024) for paired clustered errors and power; Holm (1979) for
correction over many pairs; Phipson and Smyth (2010) for the count of one added to Monte-Carlo p-values; Kish
(1965) for the design effect.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from proctor.metrics.bootstrap import BootstrapMethod, bootstrap_interval, cluster_sums
from proctor.metrics.hypothesis_tests import holm, sign_flip_tests
from proctor.metrics.interval import normal_quantile
from proctor.metrics.score import Signature, require_comparable

__all__ = [
    "Comparison",
    "Detectable",
    "compare_all_pairs",
    "compare_paired",
    "detectable_difference",
    "planned_difference",
]

Marks = Mapping[str, float | None]
"""Item id to mark; None where the item failed."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Run ``b`` against run ``a`` on the same items.

    Attributes:
        a: name of the reference run.
        b: name of the other run.
        n: pairs compared.
        clusters: clusters (recordings) they come from.
        mean_a: mean of ``a`` over the pairs.
        mean_b: mean of ``b`` over the pairs.
        difference: ``mean_b - mean_a``; None when there is no pair.
        low: lower end of the interval of the difference, None when undefined.
        high: upper end.
        p: two-sided p-value of the clustered sign-flip test, None when undefined.
        wins: items on which ``b`` is better.
        losses: items on which ``a`` is better.
        ties: items with equal marks.
        failed: items left out because either run has no mark.
        p_holm: p corrected over all pairs compared together, None when not corrected.
        detectable: the smallest difference these pairs would have shown; None when undefined.
        method: options of interval and test, for printing.
        note: why something is undefined, or what to beware of.
    """

    a: str
    b: str
    n: int
    clusters: int
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    wins: int
    losses: int
    ties: int
    failed: int = 0
    p_holm: float | None = None
    detectable: float | None = None
    method: str = ""
    note: str = ""


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


# -- pairs -----------------------------------------------------------------------------------------------------


def _require_same_items(a: Marks, b: Marks, clusters: Mapping[str, str], names: tuple[str, str]) -> None:
    if a.keys() != b.keys():
        only_a, only_b = sorted(a.keys() - b.keys()), sorted(b.keys() - a.keys())
        parts = [
            f"{len(ids)} only in '{name}' (such as {ids[0]!r})"
            for name, ids in zip(names, (only_a, only_b), strict=True)
            if ids
        ]
        raise ValueError("the runs hold different items: " + ", ".join(parts))
    unknown = sorted(a.keys() - clusters.keys())
    if unknown:
        raise ValueError(f"{len(unknown)} items have no cluster, such as {unknown[0]!r}")


def compare_paired(
    a: Marks,
    b: Marks,
    clusters: Mapping[str, str],
    *,
    names: tuple[str, str] = ("a", "b"),
    signatures: tuple[Signature, Signature] | None = None,
    method: BootstrapMethod = "bca",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Compare two runs item by item.

    Args:
        a: marks of the reference run by item id.
        b: marks of the other run, same ids.
        clusters: recording of each item id.
        names: of the runs, for messages and for the record.
        signatures: of both runs' scores; refused when they differ.
        method: of the interval, see ``bootstrap_interval``.
        confidence: of the interval.
        resamples: of interval and test.
        seed: of interval and test.

    Raises:
        ValueError: if item sets or signatures differ, an item has no cluster or a mark is not finite.
    """
    _require_same_items(a, b, clusters, names)
    if signatures is not None:
        require_comparable(*signatures)
    pairs = [(i, x, y) for i in sorted(a) if (x := a[i]) is not None and (y := b[i]) is not None]
    failed = len(a) - len(pairs)
    options = f"{method}-{100 * confidence:g}|cluster-sign-flip|resamples:{resamples}|seed:{seed}"
    if not pairs:
        why = "no item has a mark in both runs" if failed else "there are no items"
        return Comparison(
            *names, 0, 0, None, None, None, None, None, None, 0, 0, 0, failed, method=options, note=why
        )
    groups = [clusters[i] for i, _, _ in pairs]
    differences = [y - x for _, x, y in pairs]
    sums = cluster_sums([differences, [1.0] * len(pairs)], groups)
    interval = bootstrap_interval(sums, method=method, confidence=confidence, resamples=resamples, seed=seed)
    test = sign_flip_tests(sums[:, :1], resamples=resamples, seed=seed)[0]
    return Comparison(
        a=names[0],
        b=names[1],
        n=len(pairs),
        clusters=len(sums),
        mean_a=math.fsum(x for _, x, _ in pairs) / len(pairs),
        mean_b=math.fsum(y for _, _, y in pairs) / len(pairs),
        difference=math.fsum(differences) / len(pairs),
        low=interval.low,
        high=interval.high,
        p=test.p,
        wins=sum(d > 0 for d in differences),
        losses=sum(d < 0 for d in differences),
        ties=sum(d == 0 for d in differences),
        failed=failed,
        detectable=detectable_difference(differences, groups).difference,
        method=options,
        note="; ".join(dict.fromkeys(text for text in (interval.note, test.note) if text)),
    )


def compare_all_pairs(
    runs: Mapping[str, Marks],
    clusters: Mapping[str, str],
    *,
    signatures: Mapping[str, Signature] | None = None,
    method: BootstrapMethod = "bca",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[Comparison, ...]:
    """Compare every two runs and correct the p-values over all pairs (Holm). Pairs are in the runs' order.

    Raises:
        ValueError: see ``compare_paired``.
    """
    found = [
        compare_paired(
            runs[a],
            runs[b],
            clusters,
            names=(a, b),
            signatures=(signatures[a], signatures[b]) if signatures is not None else None,
            method=method,
            confidence=confidence,
            resamples=resamples,
            seed=seed,
        )
        for a, b in combinations(runs, 2)
    ]
    corrected = holm([c.p for c in found])
    return tuple(replace(c, p_holm=p) for c, p in zip(found, corrected, strict=True))


# -- power -----------------------------------------------------------------------------------------------------


def detectable_difference(
    differences: Sequence[float],
    clusters: Sequence[str],
    *,
    power: float = 0.8,
    alpha: float = 0.05,
) -> Detectable:
    """Smallest true difference that a paired, clustered test finds with this power, from observed differences.

    The variance of the mean difference is the cluster-robust one, ``C/(C-1) · Σ (D_c - n_c d)² / n²``; the
    difference is ``(z[1-alpha/2] + z[power])`` standard errors.

    Raises:
        ValueError: if lengths differ or an option is out of range.
    """
    _require_probabilities(power, alpha)
    sums = cluster_sums([differences, [1.0] * len(differences)], clusters)
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
        ValueError: if an argument is out of range.
    """
    _require_probabilities(power, alpha)
    if n < 1 or deviation < 0 or design_effect <= 0:
        raise ValueError(f"n={n}, deviation={deviation}, design effect={design_effect} are out of range")
    return _quantiles(power, alpha) * deviation * math.sqrt(design_effect / n)


def _require_probabilities(power: float, alpha: float) -> None:
    if not (0 < power < 1 and 0 < alpha < 1):
        raise ValueError(f"power and alpha must lie strictly between 0 and 1, got {power} and {alpha}")


def _quantiles(power: float, alpha: float) -> float:
    return normal_quantile(1 - alpha / 2) + normal_quantile(power)

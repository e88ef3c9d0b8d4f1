"""Is one run better than another? Paired comparison on the same items, clustered by recording.

Conventions: run ``a`` is the reference, run ``b`` is compared with it, a difference is ``b - a``. Both runs must
hold the same items; an item that failed in either run is left out of the pairs and counted. All variances are
clustered: questions about one recording share its difficulty.

References: Miller, *Adding Error Bars to Evals* (2024) for paired clustered errors; Holm (1979) for correction over
many pairs; Cohen (1988) for the effect size.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.bootstrap import Floats, cluster_sums, require_sizes
from proctor.metrics.catalogue import Entries, Metric
from proctor.metrics.errors import MetricInputError
from proctor.metrics.hypothesis_tests import (
    PValue,
    discordant_counts,
    holm,
    mcnemar,
    sign_flip_intervals,
    sign_flip_tests,
)
from proctor.metrics.interval import Interval
from proctor.metrics.power import detectable_difference
from proctor.metrics.score import Signature, require_comparable

__all__ = [
    "METRICS",
    "Comparison",
    "PairedTest",
    "compare_all_pairs",
    "compare_paired",
]

Marks = Mapping[str, float | None]
"""Item id to mark; None where the item failed."""

PairedTest = Literal["sign-flip", "mcnemar", "mcnemar-mid-p"]


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
        p: two-sided p-value of the test (clustered sign flips unless another was chosen), None when undefined.
        wins: items on which ``b`` is better.
        losses: items on which ``a`` is better.
        ties: items with equal marks.
        failed: items left out because either run has no mark.
        p_holm: p corrected over all pairs compared together, None when not corrected.
        detectable: the smallest difference these pairs would have shown; None when undefined.
        method: options of interval and test, for printing.
        note: why something is undefined, or what to beware of.
        effect: mean difference over the standard deviation of the differences of items (Cohen's d of pairs);
            None when they all are equal.
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
    effect: float | None = None


# -- pairs -----------------------------------------------------------------------------------------------------


def _require_same_items(a: Marks, b: Marks, clusters: Mapping[str, str], names: tuple[str, str]) -> None:
    if a.keys() != b.keys():
        only_a, only_b = sorted(a.keys() - b.keys()), sorted(b.keys() - a.keys())
        parts = [
            f"{len(ids)} only in '{name}' (such as {ids[0]!r})"
            for name, ids in zip(names, (only_a, only_b), strict=True)
            if ids
        ]
        raise MetricInputError("the runs hold different items: " + ", ".join(parts))
    unknown = sorted(a.keys() - clusters.keys())
    if unknown:
        raise MetricInputError(f"{len(unknown)} items have no cluster, such as {unknown[0]!r}")


def compare_paired(
    a: Marks,
    b: Marks,
    clusters: Mapping[str, str],
    *,
    names: tuple[str, str] = ("a", "b"),
    signatures: tuple[Signature, Signature] | None = None,
    test: PairedTest = "sign-flip",
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
        test: ``sign-flip`` (any marks, clustered), ``mcnemar`` or ``mcnemar-mid-p`` (marks 0 and 1, items taken
            as independent).
        confidence: of the interval.
        resamples: of interval and test.
        seed: of interval and test.

    Raises:
        MetricInputError: if item sets differ, an item has no cluster, a mark is not finite or does not fit the test.
        ValueError: if signatures differ.
    """
    found = _compare(
        (a, b),
        ((0, 1),),
        names,
        clusters,
        signatures,
        _Options(test, confidence, resamples, seed),
    )
    return found[0]


def compare_all_pairs(
    runs: Mapping[str, Marks],
    clusters: Mapping[str, str],
    *,
    reference: str | None = None,
    signatures: Mapping[str, Signature] | None = None,
    test: PairedTest = "sign-flip",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[Comparison, ...]:
    """Compare every two runs and correct the p-values over all pairs (Holm). Pairs are in the runs' order.

    All pairs see the same draws, in one pass; each equals what ``compare_paired`` finds for it alone. With a
    ``reference`` only its pairs are compared, it first, and p-values are corrected over these.

    Raises:
        MetricInputError: see ``compare_paired``.
        ValueError: see ``compare_paired``.
    """
    names = tuple(runs)
    pairs = tuple(combinations(range(len(names)), 2))
    if reference is not None:
        if reference not in runs:
            raise MetricInputError(
                f"there is no run {reference!r}; the runs are {', '.join(map(repr, runs))}"
            )
        first = names.index(reference)
        pairs = tuple((first, j) for j in range(len(names)) if j != first)
    found = _compare(
        tuple(runs.values()),
        pairs,
        names,
        clusters,
        None if signatures is None else [signatures[name] for name in names],
        _Options(test, confidence, resamples, seed),
    )
    corrected = holm([c.p for c in found])
    return tuple(replace(c, p_holm=p) for c, p in zip(found, corrected, strict=True))


@dataclass(frozen=True, slots=True)
class _Options:
    test: PairedTest
    confidence: float
    resamples: int
    seed: int

    def __str__(self) -> str:
        test = "cluster-sign-flip" if self.test == "sign-flip" else self.test
        return f"sign-flip-{100 * self.confidence:g}|{test}|resamples:{self.resamples}|seed:{self.seed}"


def _compare(
    runs: Sequence[Marks],
    pairs: Sequence[tuple[int, int]],
    names: Sequence[str],
    clusters: Mapping[str, str],
    signatures: Sequence[Signature] | None,
    options: _Options,
) -> list[Comparison]:
    """Compare these pairs of runs in one pass over the draws."""
    if options.test not in get_args(PairedTest):
        raise MetricInputError(f"test must be one of {', '.join(get_args(PairedTest))}, got {options.test!r}")
    for i, j in pairs:
        _require_same_items(runs[i], runs[j], clusters, (names[i], names[j]))
        if signatures is not None:
            require_comparable(signatures[i], signatures[j])
    if not pairs:
        return []
    ids = sorted(runs[0])
    groups = [clusters[i] for i in ids]
    marks = _matrix(runs, names, ids)
    differences = np.stack([marks[j] - marks[i] for i, j in pairs])
    # McNemar's test takes items as independent, and so must its interval.
    drawn = groups if options.test == "sign-flip" else ids
    totals = cluster_sums(np.nan_to_num(differences, nan=0.0), drawn)
    tests = _tests(marks, pairs, differences, totals, groups, options)
    intervals = sign_flip_intervals(
        totals,
        cluster_sums((~np.isnan(differences)).astype(np.float64), drawn),
        [test.p for test in tests],
        confidence=options.confidence,
        resamples=options.resamples,
        seed=options.seed,
    )
    index = (
        np.unique(np.asarray(groups, dtype=np.str_), return_inverse=True)[1]
        if groups
        else np.zeros(0, dtype=np.intp)
    )
    return [
        _comparison((names[i], names[j]), marks[i], marks[j], index, interval, test, options)
        for (i, j), interval, test in zip(pairs, intervals, tests, strict=True)
    ]


def _matrix(runs: Sequence[Marks], names: Sequence[str], ids: Sequence[str]) -> Floats:
    """Marks, shape (runs, items); nan where an item failed."""
    rows = []
    for run, name in zip(runs, names, strict=True):
        values = [run[i] for i in ids]
        wrong = next(
            (i for i, v in zip(ids, values, strict=True) if v is not None and not math.isfinite(v)), None
        )
        if wrong is not None:
            raise MetricInputError(
                f"marks must be finite: item {wrong!r} of {name!r} has {run[wrong]}",
                "write None for what failed",
            )
        rows.append([math.nan if v is None else float(v) for v in values])
    found = np.array(rows, dtype=np.float64).reshape(len(rows), len(ids))
    require_sizes(np.nan_to_num(found, nan=0.0))
    return found


def _tests(
    marks: Floats,
    pairs: Sequence[tuple[int, int]],
    differences: Floats,
    totals: Floats,
    groups: Sequence[str],
    options: _Options,
) -> tuple[PValue, ...]:
    if options.test == "sign-flip":
        return sign_flip_tests(totals, resamples=options.resamples, seed=options.seed)
    mid = options.test == "mcnemar-mid-p"
    clustered = len(set(groups)) < len(groups)
    found = []
    for (i, j), row in zip(pairs, differences, strict=True):
        here = ~np.isnan(row)
        test = mcnemar(*discordant_counts(marks[i, here], marks[j, here]), mid_p=mid)
        if clustered:
            warning = "McNemar takes items as independent, but some share a cluster: p may be too small"
            test = replace(test, note="; ".join(filter(None, (test.note, warning))))
        found.append(test)
    return tuple(found)


def _comparison(
    names: tuple[str, str],
    a: Floats,
    b: Floats,
    index: NDArray[np.intp],
    interval: Interval,
    test: PValue,
    options: _Options,
) -> Comparison:
    here = ~np.isnan(b - a)
    n, failed = int(here.sum()), int((~here).sum())
    if not n:
        why = "no item has a mark in both runs" if failed else "there are no items"
        return Comparison(
            *names, 0, 0, None, None, None, None, None, None, 0, 0, 0, failed, method=str(options), note=why
        )
    difference = (b - a)[here]
    groups = index[here]
    spread = float(difference.std(ddof=1)) if n > 1 else 0.0
    mean = math.fsum(difference) / n
    return Comparison(
        a=names[0],
        b=names[1],
        n=n,
        clusters=int(np.unique(groups).size),
        mean_a=math.fsum(a[here]) / n,
        mean_b=math.fsum(b[here]) / n,
        difference=mean,
        low=interval.low,
        high=interval.high,
        p=test.p,
        wins=int((difference > 0).sum()),
        losses=int((difference < 0).sum()),
        ties=int((difference == 0).sum()),
        failed=failed,
        detectable=detectable_difference(difference, groups).difference,
        method=str(options),
        note="; ".join(dict.fromkeys(text for text in (interval.note, test.note) if text)),
        effect=mean / spread if spread > 1e-12 * max(1.0, abs(mean)) else None,
    )


_entry: Final = Entries("significance", "significance")

METRICS: Final = (
    _entry(
        "paired_difference",
        "difference",
        function="compare_paired",
        signature="cluster:recording|confidence:0.95|interval:sign-flip|resamples:10000|seed:0",
        range="unit of the marks",
        direction="neither",
        definition="Mean of b - a over the items that both systems answered, with all values that the sign-flip test over "
        "clusters does not reject: the interval leaves 0 out exactly where p is at most 1 - confidence.",
        citation="Miller 2024; Hartigan 1969",
        traps="Intervals of the two means may overlap although the paired difference is clear, and the other way "
        "round. Items that failed in either system leave the pair and are counted.",
    ),
    _entry(
        "cohen_d",
        "effect",
        function="compare_paired",
        signature="kind:paired",
        range="-infinity to infinity",
        direction="neither",
        definition="Mean difference over the standard deviation of the items' differences (paired), or over the pooled "
        "standard deviation of two groups of different items.",
        citation="Cohen 1988",
        traps="The paired kind depends on how alike two systems are, so it cannot be compared with the pooled kind.",
    ),
    Metric(
        name="bootstrap_interval",
        label="bootstrap",
        family="significance",
        function="bootstrap:bootstrap_interval",
        signature="bootstrap|cluster:recording|confidence:0.95|method:bca|resamples:10000|seed:0|strata:no",
        range="unit of the score",
        direction="neither",
        definition="Whole clusters are drawn with replacement (within strata where given); BCa or percentile ends.",
        citation="Efron and Tibshirani 1993, chapters 13 and 14; Davison and Hinkley 1997, chapter 5",
        traps="Drawing items instead of recordings makes intervals too narrow; so do fewer than ten clusters.",
    ),
    Metric(
        name="wilson_interval",
        label="Wilson",
        family="significance",
        function="interval:wilson_interval",
        signature="wilson|confidence:0.95",
        range="0 to 1",
        direction="neither",
        definition="Score interval of a proportion: (p + z²/2n ± z·sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n).",
        citation="Wilson 1927",
        traps="Trials are taken as independent; for several questions a recording use the clustered bootstrap.",
    ),
)

"""Scores of predicted orders: means with intervals and signatures, and two systems compared on the same sequences.

Conventions: accuracy and perfect match are shares that tables print in per cent, everything else is raw. Intervals:
Wilson for perfect match of independent sequences; otherwise a percentile bootstrap over sequences, or over clusters
(all sequences of one manual) when they are given, and then for perfect match too.

Source: Wu et al. 2022.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from proctor.metrics.bootstrap import (
    FEW_CLUSTERS,
    FEW_CLUSTERS_NOTE,
    bootstrap_replicates,
    cluster_sums,
    interval_tails,
)
from proctor.metrics.errors import MetricInputError
from proctor.metrics.interval import Interval, require_confidence, wilson_interval
from proctor.metrics.ordering.measures import Floats, Integers, OrderMeasures
from proctor.metrics.ordering.partial import UNDEFINED, PartialMeasures
from proctor.metrics.power import detectable_difference
from proctor.metrics.score import Score, Signature
from proctor.metrics.significance import Comparison

__all__ = [
    "ORDER_COLUMNS",
    "PARTIAL_COLUMNS",
    "Column",
    "PartialColumn",
    "compare_orders",
    "score_orders",
    "score_partial_orders",
]

_MULTINOMIAL_CELLS: Final = 4_000_000
_TEST_DRAWS: Final = 10_000
"""Sign patterns drawn by the test when no intervals were asked for."""
_PERFECT: Final = "perfect_match_ratio"


@dataclass(frozen=True, slots=True)
class Column:
    """How one number of the table is made: a sum over sequences divided by another.

    Attributes:
        name: the metric.
        label: how tables print it.
        values: what is summed, one value a sequence.
        weights: what that is divided by, one value a sequence; all ones for a macro mean.
        percent: True for a share that is printed in per cent.
        lower: True if less is better.
    """

    name: str
    label: str
    values: Callable[[OrderMeasures], Floats]
    weights: Callable[[OrderMeasures], Floats]
    percent: bool = False
    lower: bool = False


def _ones(measures: OrderMeasures) -> Floats:
    return np.ones(len(measures))


ORDER_COLUMNS: Final = (
    Column("position_accuracy", "Acc", lambda m: m.position_accuracy, _ones, percent=True),
    Column(_PERFECT, "PMR", lambda m: m.perfect_match, _ones, percent=True),
    Column("longest_common_subsequence", "Lq", lambda m: m.longest_common_subsequence, _ones),
    Column("longest_common_substring", "Lr", lambda m: m.longest_common_substring, _ones),
    Column("kendall_tau", "tau", lambda m: m.kendall_tau, _ones),
    Column("displacement", "Dist", lambda m: m.displacement, _ones, lower=True),
    Column("normalised_subsequence", "Lq/N", lambda m: m.normalised_subsequence, _ones),
    Column("normalised_substring", "Lr/N", lambda m: m.normalised_substring, _ones),
    Column("normalised_displacement", "Dist/max", lambda m: m.normalised_displacement, _ones, lower=True),
    Column(
        "micro_position_accuracy",
        "Acc micro",
        lambda m: m.position_accuracy * m.lengths,
        lambda m: m.lengths.astype(np.float64),
        percent=True,
    ),
)
"""The table of full orders, in printing order."""


@dataclass(frozen=True, slots=True)
class PartialColumn:
    """How one number about partial orders is made; an item where it is undefined (nan) is skipped.

    Attributes:
        name: the metric.
        label: how tables print it.
        values: one value an item.
        percent: True for a share that is printed in per cent.
        undefined: why an item can have no value.
    """

    name: str
    label: str
    values: Callable[[PartialMeasures], Floats]
    percent: bool = False
    undefined: str = ""


PARTIAL_COLUMNS: Final = (
    PartialColumn("valid_order", "valid", lambda m: m.valid, percent=True),
    PartialColumn("violated_constraints", "violated", lambda m: m.violated.astype(np.float64)),
    PartialColumn(
        "violated_share", "violated share", lambda m: m.violated_share, undefined=UNDEFINED["violated_share"]
    ),
    PartialColumn(
        "precedence_f1", "precedence F1", lambda m: m.precedence_f1, undefined=UNDEFINED["precedence_f1"]
    ),
    PartialColumn(
        "comparable_tau",
        "tau comparable",
        lambda m: m.comparable_tau,
        undefined=UNDEFINED["comparable_tau"],
    ),
)
"""The table of partial orders, in printing order."""


# -- scores ----------------------------------------------------------------------------------------------------


def score_orders(
    measures: OrderMeasures,
    *,
    clusters: Sequence[str] | None = None,
    failed: int = 0,
    parameters: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> dict[str, Score]:
    """Return a score for each column of ``ORDER_COLUMNS``, by name.

    Args:
        measures: of the sequences.
        clusters: what is drawn together, one name a sequence; every sequence alone when not given.
        failed: sequences without a usable prediction: counted beside the scores, never as 0.
        parameters: more choices for the signature (``mode``, ``references``).
        confidence: of the intervals.
        resamples: of the bootstrap; 0 leaves bootstrapped intervals out (Wilson's stays).
        seed: of the bootstrap.

    Returns:
        Scores; undefined with a note when there are no sequences.

    Raises:
        MetricInputError: if there is not one cluster a sequence.
        ValueError: if an option is out of range.
    """
    values = np.array([column.values(measures) for column in ORDER_COLUMNS])
    weights = np.array([column.weights(measures) for column in ORDER_COLUMNS])
    intervals = _intervals(values, weights, clusters, confidence, resamples, seed)
    if clusters is None:
        at = [column.name for column in ORDER_COLUMNS].index(_PERFECT)
        intervals[at] = wilson_interval(int(measures.perfect_match.sum()), len(measures), confidence)
    scores = {}
    for i, column in enumerate(ORDER_COLUMNS):
        signature = _signature(column.name, intervals[i], clusters, resamples, seed, parameters)
        signature = signature.having(average="micro" if column.name.startswith("micro") else "macro")
        total = weights[i].sum()
        value = float(values[i].sum() / total) if total else math.nan
        scores[column.name] = _score(
            value, signature, len(measures), intervals[i], failed, 0, "there are no sequences"
        )
    return scores


def score_partial_orders(
    measures: PartialMeasures,
    *,
    clusters: Sequence[str] | None = None,
    failed: int = 0,
    parameters: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> dict[str, Score]:
    """Return a score for each column of ``PARTIAL_COLUMNS``, by name: macro means over the items that have a value.

    Args:
        measures: of the items.
        clusters: what is drawn together, one name an item; every item alone when not given.
        failed: items without a usable prediction: counted beside the scores, never as 0.
        parameters: more choices for the signature (``mode``).
        confidence: of the intervals.
        resamples: of the bootstrap; 0 leaves bootstrapped intervals out (Wilson's stays).
        seed: of the bootstrap.

    Returns:
        Scores; items where a measure is undefined are counted as skipped, and a score that is undefined for all of
        them has a note that says why.

    Raises:
        MetricInputError: if there is not one cluster an item.
        ValueError: if an option is out of range.
    """
    found = np.array([column.values(measures) for column in PARTIAL_COLUMNS])
    weights = (~np.isnan(found)).astype(np.float64)
    values = np.where(np.isnan(found), 0.0, found)
    intervals = _intervals(values, weights, clusters, confidence, resamples, seed)
    if clusters is None:
        intervals[0] = wilson_interval(int(measures.valid.sum()), len(measures), confidence)
    scores = {}
    for i, column in enumerate(PARTIAL_COLUMNS):
        n = int(weights[i].sum())
        signature = _signature(column.name, intervals[i], clusters, resamples, seed, parameters)
        why = f"undefined for every item: {column.undefined}" if len(measures) else "there are no items"
        value = float(values[i].sum() / n) if n else math.nan
        skipped = len(measures) - n
        scores[column.name] = _score(
            value, signature.having(average="macro"), n, intervals[i], failed, skipped, why
        )
    return scores


def _signature(
    name: str,
    interval: Interval,
    clusters: Sequence[str] | None,
    resamples: int,
    seed: int,
    parameters: Mapping[str, str] | None,
) -> Signature:
    found = {"interval": interval.method}
    if interval.method.startswith("percentile"):
        cluster = "sequence" if clusters is None else "given"
        found |= {"cluster": cluster, "resamples": str(resamples), "seed": str(seed)}
    return Signature(name, found | dict(parameters or {}))


def _score(
    value: float,
    signature: Signature,
    n: int,
    interval: Interval,
    failed: int,
    skipped: int,
    why: str,
) -> Score:
    if math.isnan(value):
        return Score(value, signature, n, failed=failed, skipped=skipped, note=why)
    low, high = interval.low, interval.high
    if low is None or high is None:
        return Score(value, signature, n, failed=failed, skipped=skipped, note=interval.note)
    return Score(value, signature, n, low, high, failed, skipped, interval.note)


def _intervals(
    values: Floats,
    weights: Floats,
    clusters: Sequence[str] | None,
    confidence: float,
    resamples: int,
    seed: int,
) -> list[Interval]:
    """Percentile intervals of all ratios of sums from the same draws."""
    require_confidence(confidence)
    if resamples < 0:
        raise ValueError(f"resamples must not be negative, got {resamples}")
    columns, count = values.shape
    if clusters is not None and len(clusters) != count:
        raise MetricInputError(
            f"{len(clusters)} clusters for {count} sequences", "name one cluster a sequence"
        )
    method = f"percentile-{100 * confidence:g}"
    if not resamples:
        return [Interval(None, None, "none")] * columns
    quantities = np.concatenate([values, weights])
    sums = quantities.T if clusters is None else cluster_sums(quantities, clusters)
    if len(sums) < 2:
        unit = "cluster" if clusters is not None else "sequence"
        seen = f"one {unit}" if len(sums) else "nothing"
        why = f"{seen} was observed: variation is unknown"
        return [Interval(None, None, method, why)] * columns
    rng = np.random.default_rng(seed)
    if clusters is None:
        draws = _multinomial_sums(sums, resamples, rng)
    else:
        draws = bootstrap_replicates(sums, lambda drawn: drawn, resamples=resamples, rng=rng)
    return [
        _interval(draws[:, i], draws[:, columns + i], confidence, method, len(sums)) for i in range(columns)
    ]


def _multinomial_sums(rows: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    """Sums over resampled sequences. Equal rows are drawn as one with its count, which is the same distribution.

    Short sequences have few different outcomes, so that a million of them cost no more than a few hundred. Sorted
    rows also make the draws independent of the order of the input.
    """
    distinct, counts = _distinct_rows(rows)
    shares = counts / counts.sum()
    size = max(1, _MULTINOMIAL_CELLS // len(distinct))
    parts = [
        rng.multinomial(int(counts.sum()), shares, size=min(size, resamples - first)) @ distinct
        for first in range(0, resamples, size)
    ]
    return np.concatenate(parts)


def _distinct_rows(rows: Floats) -> tuple[Floats, Integers]:
    """Different rows in an order that depends on their values alone, and how often each occurs.

    Groups of equal rows are split column by column. Most columns follow from others (Lq/N from Lq) and split
    nothing, which is seen without sorting them.
    """
    group = np.zeros(len(rows), dtype=np.int64)
    first = np.zeros(1, dtype=np.int64)
    for column in np.ascontiguousarray(rows.T):
        if not np.array_equal(column, column[first][group]):
            values, place = np.unique(column, return_inverse=True)
            _, first, group = np.unique(group * len(values) + place, return_index=True, return_inverse=True)
    return rows[first], np.bincount(group).astype(np.int64)


def _interval(values: Floats, weights: Floats, confidence: float, method: str, units: int) -> Interval:
    defined = weights > 0
    if not defined.any():
        return Interval(None, None, method, "no resample has a defined value")
    draws = values[defined] / weights[defined]
    if np.ptp(draws) <= 1e-12 * max(1.0, float(np.abs(draws).max())):
        value = float(draws[0])
        return Interval(value, value, method, "no variation: the interval has no width")
    low, high = np.quantile(draws, interval_tails(confidence, units))
    note = f"only {units} independent units: {FEW_CLUSTERS_NOTE}" if units < FEW_CLUSTERS else ""
    return Interval(float(low), float(high), method, note)


# -- two systems -----------------------------------------------------------------------------------------------


def compare_orders(
    a: OrderMeasures,
    b: OrderMeasures,
    items: Sequence[str],
    *,
    clusters: Sequence[str] | None = None,
    names: tuple[str, str] = ("a", "b"),
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> dict[str, Comparison]:
    """Compare system ``b`` with system ``a`` on the same sequences; a difference is ``b - a``.

    Args:
        a: measures of the reference system.
        b: measures of the other one, same sequences in the same order.
        items: name of each sequence.
        clusters: what is drawn together, one name a sequence; every sequence alone when not given.
        names: of the systems.
        confidence: of the intervals of the differences, see ``sign_flip_intervals``.
        resamples: of the bootstrap and of the sign-flip test; 0 leaves the intervals out, the test then draws 10,000.
        seed: of both.

    Returns:
        By column of ``ORDER_COLUMNS``, without the pooled accuracy, which is no mean over sequences: differences,
        p from the sign-flip test (exact for few differing clusters); for perfect match of
        independent sequences p is McNemar's, exact and two-sided.

    Raises:
        MetricInputError: if the numbers of sequences differ or a name is repeated.
    """
    if not len(a) == len(b) == len(items) or len(set(items)) != len(items):
        raise MetricInputError(
            f"{len(a)} and {len(b)} measured sequences for {len(set(items))} different names of {len(items)}",
            "pass the same sequences for both systems, each with its own name",
        )
    from proctor.metrics.hypothesis_tests import mcnemar, sign_flip_intervals, sign_flip_tests

    columns = [column for column in ORDER_COLUMNS if not column.name.startswith("micro")]
    if not len(items):
        why = "there are no sequences that both predicted"
        nothing = Comparison(*names, 0, 0, None, None, None, None, None, None, 0, 0, 0, note=why)
        return {column.name: nothing for column in columns}
    marks = [np.array([column.values(m) for column in columns]) for m in (a, b)]
    differences = marks[1] - marks[0]
    sums = cluster_sums(differences, items if clusters is None else clusters)
    draws = resamples or _TEST_DRAWS
    tests = list(sign_flip_tests(sums, resamples=draws, seed=seed))
    methods = ["cluster-sign-flip"] * len(columns)
    if clusters is None:
        at = [column.name for column in columns].index(_PERFECT)
        tests[at] = mcnemar(int((differences[at] < 0).sum()), int((differences[at] > 0).sum()))
        methods[at] = "mcnemar-exact"
    intervals = sign_flip_intervals(
        sums,
        cluster_sums(np.ones_like(differences), items if clusters is None else clusters),
        [test.p for test in tests],
        confidence=confidence,
        resamples=draws,
        seed=seed,
    )
    if not resamples:
        intervals = tuple(replace(interval, low=None, high=None) for interval in intervals)
    means = [found.mean(axis=1) for found in (*marks, differences)]
    found = {}
    for i, column in enumerate(columns):
        note = "; ".join(dict.fromkeys(part for part in (intervals[i].note, tests[i].note) if part))
        found[column.name] = Comparison(
            a=names[0],
            b=names[1],
            n=len(items),
            clusters=len(sums),
            mean_a=float(means[0][i]),
            mean_b=float(means[1][i]),
            difference=float(means[2][i]),
            low=intervals[i].low,
            high=intervals[i].high,
            p=tests[i].p,
            wins=int((differences[i] > 0).sum()),
            losses=int((differences[i] < 0).sum()),
            ties=int((differences[i] == 0).sum()),
            detectable=detectable_difference(
                differences[i], items if clusters is None else clusters
            ).difference,
            method=f"{intervals[i].method}|{methods[i]}|resamples:{draws}|seed:{seed}",
            note=note,
        )
    return found

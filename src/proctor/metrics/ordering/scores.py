"""Scores of predicted orders: means with intervals and signatures, and two systems compared on the same sequences.

Conventions: accuracy and perfect match are shares that tables print in per cent, everything else is raw. Intervals:
Wilson for perfect match of independent sequences; otherwise a percentile bootstrap over sequences, or over clusters
(all sequences of one manual) when they are given, and then for perfect match too.

Source: Wu et al. 2022.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import permutations
from math import factorial
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
from proctor.metrics.ordering.measures import (
    MEASURES,
    Integers,
    Order,
    OrderMeasures,
    measure_arrays,
    measure_ranks,
)
from proctor.metrics.ordering.orders import Floats
from proctor.metrics.ordering.partial import (
    UNDEFINED,
    PartialMeasures,
    PartialOrder,
    ReferenceMode,
    choose_references,
)
from proctor.metrics.power import detectable_difference
from proctor.metrics.score import Score, Signature
from proctor.metrics.significance import Comparison

__all__ = [
    "ORDER_COLUMNS",
    "PARTIAL_COLUMNS",
    "Chance",
    "Column",
    "PartialColumn",
    "chance_measures",
    "chance_of_partial_order",
    "chance_of_references",
    "compare_orders",
    "expected_measures",
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


# What a uniformly random order gets: printed beside every result, computed for the lengths at hand.
#
# Everything is exact except the longest common subsequence of more than 40 steps, which is simulated with a seed.
#
# - Acc: 1/N. PMR: 1/N!. tau: 0. Dist: (N² - 1) / 3.
# - Lq: by the correspondence of permutations with pairs of Young tableaux (Schensted 1961) the longest increasing
#   subsequence is the first row of a shape that occurs with probability f² / N!, f from the hook lengths.
# - Lr: a permutation is cut into maximal runs of consecutive steps; for m runs no longer than k there are as many
#   permutations as compositions of N into m such parts, times permutations of m without a run of two.
#
# Against several references, or under the independent rule, chance is higher: ``chance_of_references`` measures all
# N! orders under the same rule up to six steps, and draws orders beyond.
#
# Source: ours.

EXACT_SUBSEQUENCE: Final = 40
"""Up to this many steps the expected Lq is summed over all shapes (37,338 of them for 40)."""
_ALL_ORDERS: Final = 6
_DRAWS: Final = 20_000
_ALL_DRAWS: Final = 2_000_000
"""Simulated orders over all items together, against several references."""
_FEWEST_DRAWS: Final = 100


@dataclass(frozen=True, slots=True)
class Chance:
    """Expected measures of random orders, one row an item.

    Attributes:
        measures: expected values; they are means, so perfect match and the lengths are no whole numbers.
        simulated: how many items' values come from seeded draws instead of an exact computation.
    """

    measures: OrderMeasures
    simulated: int

    @property
    def method(self) -> str:
        """``exact`` or how many items were simulated."""
        return "exact" if not self.simulated else f"simulated for {self.simulated} of {len(self.measures)}"


def expected_measures(steps: int, *, seed: int = 0) -> dict[str, float]:
    """Return the expected six measures of a uniformly random order of N steps.

    Args:
        steps: N, at least 1.
        seed: of the draws for Lq above 40 steps; nothing is drawn below.

    Raises:
        MetricInputError: if there are no steps.
    """
    if steps < 1:
        raise MetricInputError(f"an order of {steps} steps does not exist", "at least one step is needed")
    row = _expected(steps, seed if steps > EXACT_SUBSEQUENCE else 0)
    return dict(zip(MEASURES, row, strict=True))


@cache
def _expected(steps: int, seed: int) -> tuple[float, ...]:
    return (
        1 / steps,
        1 / factorial(steps) if steps <= 170 else 0.0,
        _expected_subsequence(steps, seed),
        _expected_substring(steps),
        1.0 if steps == 1 else 0.0,
        (steps * steps - 1) / 3,
    )


def chance_measures(lengths: Sequence[int] | Integers, *, seed: int = 0) -> Chance:
    """Return what random orders of these lengths get against one reference each.

    Raises:
        MetricInputError: if a length is below 1.
    """
    sizes = np.asarray(lengths, dtype=np.int64)
    found, index = np.unique(sizes, return_inverse=True)
    rows = [tuple(expected_measures(int(n), seed=seed).values()) for n in found]
    values = np.array(rows).reshape(-1, len(MEASURES))[index]
    return Chance(OrderMeasures(values, sizes), int((sizes > EXACT_SUBSEQUENCE).sum()))


def _expected_substring(steps: int) -> float:
    """Sum over k of the probability that the longest run is longer than k."""
    without = _without_successions(steps)
    total = factorial(steps)
    expected = 0.0
    for longest in range(steps):
        shorter = sum(ways * without[m] for m, ways in enumerate(_compositions(steps, longest)) if ways)
        chance = (total - shorter) / total
        expected += chance
        if chance < 1e-18:
            break
    return expected


def _without_successions(steps: int) -> list[int]:
    """Permutations of m in which no number is followed by the next one, for m = 0..steps."""
    counts = [1, 1]
    for m in range(2, steps + 1):
        counts.append((m - 1) * counts[m - 1] + (m - 2) * counts[m - 2])
    return counts


def _compositions(steps: int, largest: int) -> list[int]:
    """Ways to write N as a sum of m ordered parts of 1..largest, by m = 0..N."""
    ways = [[0] * (steps + 1) for _ in range(steps + 1)]
    ways[0][0] = 1
    for m in range(1, steps + 1):
        window = 0
        for n in range(1, steps + 1):
            window += ways[m - 1][n - 1]
            if n > largest:
                window -= ways[m - 1][n - 1 - largest]
            ways[m][n] = window
    return [row[steps] for row in ways] if largest else [0] * (steps + 1)


def _expected_subsequence(steps: int, seed: int) -> float:
    if steps > EXACT_SUBSEQUENCE:
        rng = np.random.default_rng([seed, steps])
        draws = max(_FEWEST_DRAWS, min(_DRAWS, _DRAWS * 64 // steps))
        ranks = rng.permuted(np.tile(np.arange(steps), (draws, 1)), axis=1)
        return float(measure_ranks(ranks).longest_common_subsequence.mean())
    total = factorial(steps)
    weighted = 0
    for shape in _shapes(steps, steps):
        weighted += (total // _hooks(shape)) ** 2 * shape[0]
    return weighted / total


def _shapes(total: int, largest: int) -> Iterator[tuple[int, ...]]:
    if not total:
        yield ()
        return
    for first in range(min(total, largest), 0, -1):
        for rest in _shapes(total - first, first):
            yield (first, *rest)


def _hooks(shape: tuple[int, ...]) -> int:
    columns = [sum(row > j for row in shape) for j in range(shape[0])]
    product = 1
    for i, row in enumerate(shape):
        for j in range(row):
            product *= row - j + columns[j] - i - 1
    return product


# -- several references ----------------------------------------------------------------------------------------


def chance_of_references(
    references: Sequence[Sequence[Order]], *, mode: ReferenceMode = "joint", seed: int = 0
) -> Chance:
    """Return what random orders get when the best of several references counts.

    Items with one reference, and the mode ``first``, are exact as in ``chance_measures``. With several references
    all N! orders are measured under the mode up to six steps; beyond, 100 to 20,000 orders a kind of item are drawn
    with the seed (fewer when there are many kinds).

    Args:
        references: for each item its orders of the same steps; the first is the authored one.
        mode: the rule, see ``best_of_references``.
        seed: of the draws.
    """
    kinds: dict[tuple[tuple[int, ...], ...], list[int]] = {}
    for item, orders in enumerate(references):
        used = orders[:1] if mode == "first" else orders
        place = {step: i for i, step in enumerate(used[0])}
        kinds.setdefault(tuple(tuple(place[step] for step in order) for order in used), []).append(item)
    lengths = np.array([len(orders[0]) for orders in references], dtype=np.int64)
    values = np.array(chance_measures(lengths, seed=seed).measures.values)
    hard = [kind for kind in sorted(kinds) if len(kind) > 1 and len(kind[0]) > _ALL_ORDERS]
    draws = max(_FEWEST_DRAWS, min(_DRAWS, _ALL_DRAWS // max(1, sum(map(len, hard)))))
    simulated = int((lengths > EXACT_SUBSEQUENCE).sum())
    for kind, items in kinds.items():
        if len(kind) == 1:
            continue
        if len(kind[0]) <= _ALL_ORDERS:
            orders_drawn = _every_order(len(kind[0]))
        else:
            rng = np.random.default_rng([seed, len(kind[0]), len(kind)])
            orders_drawn = rng.permuted(np.tile(np.arange(len(kind[0])), (draws, 1)), axis=1)
            simulated += len(items) if len(kind[0]) <= EXACT_SUBSEQUENCE else 0
        values[items] = _mean_of_best(kind, orders_drawn, mode)
    return Chance(OrderMeasures(values, lengths), simulated)


@cache
def _every_order(steps: int) -> Integers:
    return np.array(list(permutations(range(steps))), dtype=np.int64)


def _mean_of_best(kind: tuple[tuple[int, ...], ...], orders: Integers, mode: ReferenceMode) -> Floats:
    against = [measure_arrays(np.broadcast_to(reference, orders.shape), orders) for reference in kind]
    flat = np.stack([measures.values for measures in against], axis=1).reshape(-1, len(MEASURES))
    lengths = np.full(len(flat), orders.shape[1], dtype=np.int64)
    counts = np.full(len(orders), len(kind), dtype=np.int64)
    means: Floats = choose_references(OrderMeasures(flat, lengths), counts, mode).best.values.mean(axis=0)
    return means


# -- partial orders --------------------------------------------------------------------------------------------


def chance_of_partial_order(reference: PartialOrder) -> dict[str, float | None]:
    """Return what a uniformly random order gets against a partial order, exactly.

    Returns:
        ``valid_order`` (linear extensions over N!; None when they are too many to count), ``violated_share`` (1/2),
        ``violated_constraints`` (half of them), ``precedence_f1`` (``R / (C(N, 2) + R)`` with R pairs in the closure)
        and ``comparable_tau`` (0); None where the measure itself is undefined.
    """
    steps, given, related = len(reference.steps), len(reference.constraints), len(reference.relations)
    pairs = steps * (steps - 1) // 2
    try:
        valid: float | None = reference.count_linear_extensions() / factorial(steps)
    except MetricInputError:
        valid = None
    return {
        "valid_order": valid,
        "violated_constraints": given / 2,
        "violated_share": 0.5 if given else None,
        "precedence_f1": related / (pairs + related) if pairs else None,
        "comparable_tau": 0.0 if related else None,
    }

"""Were the sources found that a question needs: recall@k with several gold sources, nDCG, MRR, MAP.

Conventions: a question has a set of *gold* sources, a system gives it a *ranking* (best first). Both are
de-duplicated before anything is counted (the first mention keeps its place), and how often that happened is kept.
A ranking may be shorter than k, or empty (recall 0); gold may not be empty: a question that needs nothing has no
recall. Everything is computed per question, between 0 and 1, from one table, ``RankedGold``: the rank of every gold
source. A cell of a results table (``cell_scores``) is the mean over its questions times 100, each question weighing
the same however many sources it needs.

Recall with several gold sources has three readings, and a paper that does not say which cannot be compared with:

* ``fractional`` (default): the share of the gold sources among the first k. SMMQG's tables are only attainable
  with this one (see ``attainable_denominators``), though the paper never says so.
* ``all``: 1 only when every gold source is among the first k ("all gold@k", strict).
* ``any``: 1 when at least one is ("hit@k").

References: Wu et al. 2024, *SMMQG*, section 5 (recall@5 and @10 by question style and modality); Järvelin and
Kekäläinen 2002 (nDCG); Voorhees 1999 (MRR); Buckley and Voorhees 2000 (MAP). nDCG, MRR and MAP agree with trec_eval.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.bootstrap import bootstrap_mean_intervals
from proctor.metrics.catalogue import Entries
from proctor.metrics.errors import MetricInputError, require_texts
from proctor.metrics.interval import Interval
from proctor.metrics.score import Score, Signature

__all__ = [
    "METRICS",
    "RECALL_READINGS",
    "Floats",
    "Gain",
    "Gold",
    "Integers",
    "RankedGold",
    "RecallReading",
    "attainable_cells",
    "attainable_denominators",
    "average_precision",
    "cell_scores",
    "expected_average_precisions",
    "expected_ndcgs_at_k",
    "expected_precisions_at_k",
    "expected_recalls_at_k",
    "expected_reciprocal_ranks",
    "graded_gains",
    "ideal_gains",
    "ndcg_at_k",
    "ndcgs_at_k",
    "precision_at_k",
    "rank_gold",
    "ranking_average_precisions",
    "ranking_part_recalls_at_k",
    "ranking_precisions_at_k",
    "ranking_recall_at_k",
    "ranking_recalls_at_k",
    "reciprocal_ranks",
    "require_cut",
    "rows_found",
]


# Places and gains of the gold sources in a ranking: all that the measures need.

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Gold = Sequence[Hashable] | Mapping[Hashable, float]
"""The gold sources of one question; a mapping gives each its gain (graded relevance, only gains above 0 are gold)."""
Gain = Literal["linear", "exponential"]
_FEW_GOLD: Final = 16
"""Up to so many gold sources it is faster to search a list for each than to number the whole ranking."""


@dataclass(frozen=True, slots=True, eq=False)
class RankedGold:
    """The rank of every gold source of every question: all that the metrics need, one row a gold source.

    Attributes:
        question: index of the question of each row, ascending; shape (gold sources,).
        source: the gold source of each row, in the order of the reference, without repetitions.
        rank: its place in the ranking without repetitions, from 1; 0 where it was not retrieved.
        gain: its relevance, above 0; 1 without grades.
        needed: how many gold sources each question has; shape (questions,).
        retrieved: length of each ranking without repetitions.
        repeated_gold: gold sources left out of each question because they were named before.
        repeated_ranked: entries left out of each ranking for the same reason.
    """

    question: Integers
    source: tuple[Hashable, ...]
    rank: Integers
    gain: Floats
    needed: Integers
    retrieved: Integers
    repeated_gold: Integers
    repeated_ranked: Integers

    def __len__(self) -> int:
        return len(self.needed)

    def per_question(self, values: NDArray[np.generic]) -> Floats:
        """Sum a quantity of the rows for each question."""
        sums = np.bincount(self.question, weights=values.astype(np.float64), minlength=len(self))
        return sums.astype(np.float64, copy=False)


def rank_gold(gold: Sequence[Gold], rankings: Sequence[Sequence[Hashable]]) -> RankedGold:
    """Find the rank of every gold source.

    Args:
        gold: of each question; a mapping from source to gain for graded relevance.
        rankings: of each question, best first, parallel to ``gold``.

    Raises:
        MetricInputError: if the lists are not parallel, a question has no gold source, a ranking is a text instead
            of a list, an id cannot be one, gold and rankings write ids as texts and as numbers, or a gain is not
            finite.
    """
    if len(gold) != len(rankings):
        raise MetricInputError(
            f"{len(gold)} questions have gold sources, {len(rankings)} have a ranking",
            "give one ranking a question, an empty list where nothing was retrieved",
        )
    question: list[int] = []
    source: list[Hashable] = []
    rank: list[int] = []
    gain: list[float] = []
    counts: list[tuple[int, int, int, int]] = []
    for index, (wanted, ranking) in enumerate(zip(gold, rankings, strict=True)):
        gains, given = _gains(wanted, index)
        distinct, offered = _distinct(ranking, f"the ranking of question {index}")
        question += [index] * len(gains)
        source += gains
        rank += _ranks(gains, distinct)
        gain += gains.values()
        counts.append((len(gains), len(distinct), given - len(gains), offered - len(distinct)))
    offered_types = {isinstance(one, str) for ranking in rankings for one in ranking}
    if source and offered_types and not offered_types & {isinstance(one, str) for one in source}:
        raise MetricInputError(
            f"ids of gold sources are {type(source[0]).__name__}, ids in rankings are another type",
            "write both as texts, or both as numbers: otherwise nothing is found",
        )
    needed, retrieved, repeated_gold, repeated_ranked = (
        np.array(counts, dtype=np.int64).reshape(len(counts), 4).T
    )
    return RankedGold(
        question=np.array(question, dtype=np.int64),
        source=tuple(source),
        rank=np.array(rank, dtype=np.int64),
        gain=np.array(gain, dtype=np.float64),
        needed=needed,
        retrieved=retrieved,
        repeated_gold=repeated_gold,
        repeated_ranked=repeated_ranked,
    )


def _gains(wanted: Gold, index: int) -> tuple[dict[Hashable, float], int]:
    """Return gain by gold source and how many were given, repetitions included."""
    if isinstance(wanted, Mapping):
        found = {one: _finite(g, index) for one, g in wanted.items()}
        found = {one: g for one, g in found.items() if g > 0}
        given = len(found)
    else:
        named, given = _distinct(wanted, f"the gold of question {index}")
        found = dict.fromkeys(named, 1.0)
    if not found:
        raise MetricInputError(
            f"question {index} has no gold source, so it has no recall",
            "leave the question out, or name the sources that it needs",
        )
    return found, given


def _ranks(gains: Mapping[Hashable, float], distinct: Mapping[Hashable, None]) -> list[int]:
    """Rank of every gold source, from 1; 0 where it is not in the ranking."""
    if len(gains) <= _FEW_GOLD:
        places = list(distinct)
        return [places.index(one) + 1 if one in distinct else 0 for one in gains]
    rank = dict(zip(distinct, range(1, len(distinct) + 1), strict=True))
    return [rank.get(one, 0) for one in gains]


def _finite(gain: object, index: int) -> float:
    if isinstance(gain, bool) or not isinstance(gain, Real) or not math.isfinite(gain):
        raise MetricInputError(f"a gain of question {index} is no finite number: {gain!r}", "repair it")
    return float(gain)


def _distinct(values: object, what: str) -> tuple[dict[Hashable, None], int]:
    """Return the ids in order, first mention kept, and how many were given."""
    if isinstance(values, np.ndarray) and values.ndim == 1:
        values = values.tolist()
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        raise MetricInputError(
            f"{what} is no list of ids but {type(values).__name__}", "put the ids in a list"
        )
    types = set(map(type, values))
    strange = type(None) in types or (float in types and any(one != one for one in values))
    try:
        found = dict.fromkeys(values)
    except TypeError:
        strange = True
    if strange:
        raise MetricInputError(f"{what} holds something that is no id", "ids are texts or numbers")
    return found, len(values)


# One cell of a table: the mean over questions with its interval, and chance beside it.


def cell_scores(
    values: Floats,
    signatures: Sequence[Signature],
    *,
    clusters: Sequence[str] | None = None,
    failed: int | Sequence[int] = 0,
    skipped: int = 0,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[Score, ...]:
    """Several measures of the same questions: each mean, with bootstrap intervals in one pass.

    Args:
        values: 0 to 1, shape (measures, questions); ``nan`` where a question does not belong to a measure (it needs
            no table, say).
        signatures: what was measured, one a row.
        clusters: what is drawn by the bootstrap, one name a question; each question by itself if None.
        failed: questions without a ranking, for all measures or for each.
        skipped: questions that were not asked.
        confidence: of the intervals (BCa).
        resamples: 0 leaves the intervals out.
        seed: of the draws.

    Returns:
        One score a row; undefined, with a note, where no question belongs to it.

    Raises:
        MetricInputError: if shapes differ, a value is infinite or an option is out of range.
    """
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 2 or len(data) != len(signatures):
        raise MetricInputError(f"values of shape {data.shape} for {len(signatures)} signatures")
    if np.isinf(data).any():
        raise MetricInputError("a value is infinite", "measures of a question lie between 0 and 1")
    if clusters is None:
        # The order of questions must not change the draws.
        data = data[:, np.lexsort(data)] if data.size else data
    failures = [failed] * len(data) if isinstance(failed, int) else list(failed)
    intervals: Sequence[Interval | None] = [None] * len(data)
    if resamples and data.size:
        intervals = bootstrap_mean_intervals(
            data,
            [f"{i:012d}" for i in range(data.shape[1])] if clusters is None else clusters,
            confidence=confidence,
            resamples=resamples,
            seed=seed,
        )
    return tuple(
        _cell(row[~np.isnan(row)], signature, interval, failures[i], skipped)
        for i, (row, signature, interval) in enumerate(zip(data, signatures, intervals, strict=True))
    )


def _cell(
    values: Floats, signature: Signature, interval: Interval | None, failed: int, skipped: int
) -> Score:
    if not len(values):
        note = f"no question was scored ({failed} failed)" if failed else "the cell has no questions"
        return Score(math.nan, signature.having(interval="none"), 0, None, None, failed, skipped, note)
    value = math.fsum(values.tolist()) / len(values)
    if interval is None:
        return Score(value, signature.having(interval="none"), len(values), None, None, failed, skipped)
    return Score(
        value,
        signature.having(interval=interval.method),
        len(values),
        interval.low,
        interval.high,
        failed,
        skipped,
        interval.note,
    )


# Recall and precision in the first k places, and mean reciprocal rank.

RecallReading = Literal["fractional", "all", "any"]
RECALL_READINGS: Final[tuple[RecallReading, ...]] = get_args(RecallReading)


def require_cut(k: object) -> None:
    """Make sure that a cut is a whole number of at least 1."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise MetricInputError(f"k must be a whole number of at least 1, got {k!r}")


def rows_found(ranked: RankedGold, k: int | None) -> NDArray[np.bool_]:
    """Rows whose source is among the first k (anywhere, if k is None)."""
    if k is None:
        return ranked.rank > 0
    require_cut(k)
    return (ranked.rank > 0) & (ranked.rank <= k)


def ranking_recalls_at_k(ranked: RankedGold, k: int, reading: RecallReading = "fractional") -> Floats:
    """Recall@k of each question, 0 to 1; shape (questions,).

    Args:
        ranked: from ``rank_gold``.
        k: how many of the first sources count; a shorter ranking is fine.
        reading: ``fractional``, ``all`` or ``any``, see the package.

    Raises:
        MetricInputError: if k or the reading is not valid.
    """
    hits = ranked.per_question(rows_found(ranked, k))
    if reading == "fractional":
        return np.asarray(hits / ranked.needed, dtype=np.float64)
    if reading == "all":
        return np.asarray(hits == ranked.needed, dtype=np.float64)
    if reading == "any":
        return np.asarray(hits > 0, dtype=np.float64)
    raise MetricInputError(f"a reading of recall is one of {', '.join(RECALL_READINGS)}, got {reading!r}")


def ranking_recall_at_k(
    gold: Gold, ranking: Sequence[Hashable], k: int, reading: RecallReading = "fractional"
) -> Score:
    """Recall@k of one question: |gold ∩ first k| / |gold| by default; see ``ranking_recalls_at_k``.

    Example:
        >>> float(ranking_recall_at_k(["a", "b"], ["a", "x", "a", "b"], k=2))
        0.5
    """
    signature = Signature(
        "recall_at_k", {"gold": reading, "interval": "none", "k": str(k), "repeated": "first"}
    )
    return Score(float(ranking_recalls_at_k(rank_gold([gold], [ranking]), k, reading)[0]), signature, 1)


def ranking_part_recalls_at_k(ranked: RankedGold, parts: Sequence[str], k: int) -> dict[str, Floats]:
    """Recall@k of the gold sources of one kind (modality), for each kind.

    Args:
        ranked: from ``rank_gold``.
        parts: the kind of each row of ``ranked``.
        k: as in ``ranking_recalls_at_k``.

    Returns:
        For each kind, sorted by name, the share found in each question; ``nan`` (to be left out, not to be
        averaged) for a question that needs no source of this kind.

    Raises:
        MetricInputError: if ``parts`` is not parallel to the rows.
    """
    parts = require_texts(parts, "kinds of sources")
    if len(parts) != len(ranked.rank):
        raise MetricInputError(f"{len(parts)} kinds for {len(ranked.rank)} gold sources")
    hits, names = rows_found(ranked, k), np.asarray(parts, dtype=np.str_)
    result = {}
    for part in sorted(set(parts)):
        rows = names == part
        needed = ranked.per_question(rows)
        result[part] = np.divide(
            ranked.per_question(hits & rows), needed, out=np.full(len(ranked), np.nan), where=needed > 0
        )
    return result


def ranking_precisions_at_k(ranked: RankedGold, k: int) -> Floats:
    """Precision@k of each question: gold sources among the first k, divided by k even if the ranking is shorter.

    Args:
        ranked: from ``rank_gold``, which removes repeated sources.
        k: cut.

    Returns:
        Between 0 and 1, one number a question; no more than (gold sources) / k can be reached. Empty without
        questions.

    Raises:
        MetricInputError: if k is not a whole number from 1 on.
    """
    return ranked.per_question(rows_found(ranked, k)) / k


def precision_at_k(gold: Gold, ranking: Sequence[Hashable], k: int) -> float:
    """Precision@k of one question; see ``ranking_precisions_at_k``."""
    return float(ranking_precisions_at_k(rank_gold([gold], [ranking]), k)[0])


def reciprocal_ranks(ranked: RankedGold, k: int | None = None) -> Floats:
    """1 / rank of the first gold source found, of each question; 0 where none is (among the first k).

    Args:
        ranked: from ``rank_gold``, which removes repeated sources.
        k: cut; None looks at the whole ranking.

    Returns:
        Between 0 and 1, one number a question, whose mean is the MRR. Empty without questions.

    Raises:
        MetricInputError: if k is neither None nor a whole number from 1 on.
    """
    best = np.full(len(ranked), np.inf)
    found = rows_found(ranked, k)
    np.minimum.at(best, ranked.question[found], ranked.rank[found].astype(np.float64))
    return 1.0 / best


# Measures that look at every place: nDCG and average precision.


def ndcgs_at_k(ranked: RankedGold, k: int, gain: Gain = "linear") -> Floats:
    """Normalised discounted cumulative gain of the first k, of each question, 0 to 1.

    A source at rank r gives its gain divided by log2(r + 1). The sum is divided by that of the best possible
    ranking, which has all gold sources first, by falling gain, and is cut at k as well.

    Args:
        ranked: from ``rank_gold``.
        k: cut.
        gain: ``linear`` (the gain itself, as trec_eval) or ``exponential`` (2^gain - 1). The same without grades.

    Raises:
        MetricInputError: if k or the gain is not valid, or a gain overflows.
    """
    gains = graded_gains(ranked.gain, gain)
    found = rows_found(ranked, k)
    discount = np.log2(np.where(found, ranked.rank, 1) + 1.0)
    reached = ranked.per_question(np.where(found, gains / discount, 0.0))
    return reached / ideal_gains(ranked, gains, k)


def graded_gains(values: Floats, gain: Gain) -> Floats:
    """Return what a source of each gain is worth."""
    if gain not in get_args(Gain):
        raise MetricInputError(f"a gain is 'linear' or 'exponential', got {gain!r}")
    if gain == "linear":
        return values
    if values.size and float(values.max()) > 1000:
        raise MetricInputError(f"2^{values.max():g} is too large", "use gain='linear' or smaller grades")
    return np.exp2(values) - 1


def ideal_gains(ranked: RankedGold, gains: Floats, k: int) -> Floats:
    """Discounted gain of the best ranking, cut at k."""
    order = np.lexsort((-gains, ranked.question))
    first = np.cumsum(ranked.needed) - ranked.needed
    place = np.arange(len(order)) - np.repeat(first, ranked.needed)
    return ranked.per_question(np.where(place < k, gains[order] / np.log2(place + 2.0), 0.0))


def ndcg_at_k(gold: Gold, ranking: Sequence[Hashable], k: int, gain: Gain = "linear") -> float:
    """Normalised discounted cumulative gain of one question; see ``ndcgs_at_k``."""
    return float(ndcgs_at_k(rank_gold([gold], [ranking]), k, gain)[0])


def ranking_average_precisions(ranked: RankedGold, k: int | None = None) -> Floats:
    """Average precision of each question: precision at the rank of every gold source, 0 for those not found.

    The divisor is the number of all gold sources, also with a cut k (as trec_eval).
    """
    found = rows_found(ranked, k)
    order = np.lexsort((ranked.rank, ranked.question))
    order = order[found[order]]
    hits = np.bincount(ranked.question[order], minlength=len(ranked))
    nth = np.arange(len(order)) - np.repeat(np.cumsum(hits) - hits, hits) + 1
    precision = np.zeros(len(ranked.rank))
    precision[order] = nth / ranked.rank[order]
    return ranked.per_question(precision) / ranked.needed


def average_precision(gold: Gold, ranking: Sequence[Hashable], k: int | None = None) -> float:
    """Average precision of one question; the mean over questions is the MAP."""
    return float(ranking_average_precisions(rank_gold([gold], [ranking]), k)[0])


# What a ranking of the whole pool in random order would get: exact expectations, not simulations.


def _require_pool(ranked: RankedGold, pool: object) -> None:
    largest = int(ranked.needed.max(initial=0))
    if isinstance(pool, bool) or not isinstance(pool, int | np.integer) or pool < max(largest, 1):
        raise MetricInputError(
            f"a pool of {pool} sources cannot hold the {largest} gold sources of a question",
            "give the number of all sources that a ranking is drawn from",
        )


def _share_without(ranked: RankedGold, pool: int, ranks: Integers) -> Floats:
    """Probability that no gold source is at any of this many places; shape (distinct, ranks)."""
    needed = ranked.needed[:, None] if ranks.ndim else ranked.needed
    result = np.ones(np.broadcast_shapes(needed.shape, ranks.shape))
    for i in range(int(ranked.needed.max(initial=0))):
        result *= np.where(needed > i, np.maximum(pool - ranks - i, 0) / (pool - i), 1.0)
    return result


def expected_recalls_at_k(
    ranked: RankedGold, pool: int, k: int, reading: RecallReading = "fractional"
) -> Floats:
    """Expected recall@k of each question when the pool is ranked at random.

    Fractional: k / pool (whatever the number of gold sources). Any: one less the hypergeometric probability of no
    hit. All: the probability that every gold source falls among the first k.

    Args:
        ranked: from ``rank_gold``; only the numbers of gold sources matter.
        pool: number of sources that are ranked.
        k: cut.
        reading: see the package.

    Raises:
        MetricInputError: if an option is not valid or the pool is smaller than a question's gold.
    """
    require_cut(k)
    _require_pool(ranked, pool)
    cut = min(k, pool)
    if reading == "fractional":
        return np.full(len(ranked), cut / pool)
    if reading == "any":
        return 1.0 - _share_without(ranked, pool, np.asarray(cut, dtype=np.int64))
    if reading == "all":
        result = np.ones(len(ranked))
        for i in range(int(ranked.needed.max(initial=0))):
            result *= np.where(ranked.needed > i, max(cut - i, 0) / (pool - i), 1.0)
        return result
    raise MetricInputError(f"a reading of recall is one of {', '.join(RECALL_READINGS)}, got {reading!r}")


def expected_precisions_at_k(ranked: RankedGold, pool: int, k: int) -> Floats:
    """Expected precision@k of each question when the pool is ranked at random."""
    require_cut(k)
    _require_pool(ranked, pool)
    return ranked.needed.astype(np.float64) * (min(k, pool) / (pool * k))


def expected_ndcgs_at_k(ranked: RankedGold, pool: int, k: int, gain: Gain = "linear") -> Floats:
    """Expected nDCG@k of each question when the pool is ranked at random."""
    require_cut(k)
    _require_pool(ranked, pool)
    gains = graded_gains(ranked.gain, gain)
    discounts = float((1.0 / np.log2(np.arange(min(k, pool)) + 2.0)).sum())
    return ranked.per_question(gains) * (discounts / pool) / ideal_gains(ranked, gains, k)


def expected_reciprocal_ranks(ranked: RankedGold, pool: int, k: int | None = None) -> Floats:
    """Expected reciprocal rank of each question when the pool is ranked at random (and cut at k)."""
    depth = _depth(ranked, pool, k)
    distinct, where = np.unique(ranked.needed, return_inverse=True)
    result = np.zeros(len(distinct))
    ranks = np.arange(1, depth + 1)
    for index, needed in enumerate(distinct):
        # The first hit is at rank r with probability P(none before) * needed / (pool - r + 1).
        none_before = np.cumprod(
            np.concatenate([[1.0], np.maximum(pool - needed - ranks[:-1] + 1, 0) / (pool - ranks[:-1] + 1)])
        )
        result[index] = float((none_before * needed / (pool - ranks + 1) / ranks).sum())
    return result[where]


def expected_average_precisions(ranked: RankedGold, pool: int, k: int | None = None) -> Floats:
    """Expected average precision of each question when the pool is ranked at random (and cut at k).

    A gold source is at rank r with probability 1 / pool each; then (r - 1)(gold - 1) / (pool - 1) others are
    expected before it.
    """
    depth = _depth(ranked, pool, k)
    harmonic = float((1.0 / np.arange(1, depth + 1)).sum())
    before = (ranked.needed - 1) / max(pool - 1, 1)
    return (harmonic + before * (depth - harmonic)) / pool


def _depth(ranked: RankedGold, pool: int, k: int | None) -> int:
    if k is not None:
        require_cut(k)
    _require_pool(ranked, pool)
    return pool if k is None else min(k, pool)


# Which printed cells can be a mean over this many questions at all.


def attainable_cells(
    cells: Sequence[float | str], denominator: int, digits: int = 1, scale: int = 100
) -> tuple[bool, ...]:
    """Which printed cells can be ``scale`` * hits / denominator, rounded to this many digits.

    Exact (integers, no floats); a value half-way between two printed ones may have been rounded either way.

    Args:
        cells: printed numbers, as texts or floats.
        denominator: of the fraction that was averaged: questions, or questions times sources.
        digits: decimal places in print.
        scale: 100 for percentages.

    Raises:
        MetricInputError: if a cell is not finite, not within the scale or has more digits than were printed.
    """
    if denominator < 1:
        raise MetricInputError(f"a denominator must be at least 1, got {denominator}")
    steps = scale * 10**digits
    return tuple(_attainable(unit, denominator, steps) for unit in _printed_units(cells, digits, scale))


def _printed_units(cells: Sequence[float | str], digits: int, scale: int) -> list[int]:
    """Cells as whole numbers of the last printed place."""
    out = []
    for cell in cells:
        try:
            unit = Fraction(str(cell).strip()) * 10**digits
        except (ValueError, ZeroDivisionError):
            raise MetricInputError(f"a printed number was expected, got {cell!r}") from None
        if unit.denominator != 1:
            raise MetricInputError(
                f"{cell} has more than {digits} decimal places", "give the digits in print"
            )
        if not 0 <= unit <= scale * 10**digits:
            raise MetricInputError(f"{cell} does not lie between 0 and {scale}")
        out.append(int(unit))
    return out


def _attainable(unit: int, denominator: int, steps: int) -> bool:
    """Is there a whole number h with |steps * h / denominator - unit| <= 1/2?"""
    lowest = -(-(2 * unit - 1) * denominator // (2 * steps))
    return 2 * steps * max(lowest, 0) <= (2 * unit + 1) * denominator


def attainable_denominators(
    cells: Sequence[float | str], digits: int = 1, largest: int = 1000, scale: int = 100
) -> tuple[int, ...]:
    """Denominators up to ``largest`` that make every printed cell attainable: what a table was divided by.

    SMMQG prints recall for six systems a column but does not say what recall means with two gold sources. The styles
    with two sources reach all of their cells (compound: all but one) with twice the number of questions as
    denominator, with the number of questions itself 2 to 4 of six; so recall is fractional. A column of six cells
    fits a wrong denominator d with a probability of about (d / 1000)^6, that is 1 % for 454.

    Erratum (our recomputation): not all cells can come from the numbers of questions that the paper states, under any
    reading. Of information extraction (158 questions, one source each) 53.2, 65.8 and 67.1 can, 56.6, 67.8 and 61.1
    cannot; of numerical (208, one or two sources) only 76.9 can; of compound, 43.3 cannot; and no number of questions
    up to 158 gives the six cells of image questions, all of which are information extraction.

    Args:
        cells: one column (the same questions for every system), as printed.
        digits: decimal places in print.
        largest: denominators to try, from 1.
        scale: 100 for percentages.

    Returns:
        All that fit, ascending; empty if none does.

    Raises:
        MetricInputError: see ``attainable_cells``.
    """
    steps = scale * 10**digits
    units = _printed_units(cells, digits, scale)
    return tuple(d for d in range(1, largest + 1) if all(_attainable(unit, d, steps) for unit in units))


# The metrics of this family, for the catalogue.

_entry: Final = Entries("retrieval", "retrieval")

METRICS: Final = (
    _entry(
        "recall_at_k",
        "R@k",
        "|gold ∩ first k| / |gold|, mean over questions.",
        function="ranking_recalls_at_k",
        signature="cluster:question|"
        "gold:fractional|interval:bca-95|k:5|missing:failed|repeated:first|slice:all",
        citation="Wu et al. 2024 (SMMQG), section 5; fractional reading recovered from its Tables 2 and 3",
        traps="With several gold sources recall has three readings (fractional, all, any); SMMQG does not say which, "
        "its printed cells need the fractional one, and some cannot come from its numbers of questions under any "
        "(attainable_denominators). Repeated ids in a ranking push others out of the first k "
        "unless they are removed. SMMQG's E5 rows are favoured: E5 chose the sources of the questions.",
    ),
    _entry(
        "all_gold_at_k",
        "all@k",
        "Share of questions with every gold source among the first k.",
        function="ranking_recalls_at_k",
        signature="cluster:question|gold:all|interval:bca-95|k:10|missing:failed|repeated:first|slice:all",
        citation="strict reading of recall@k; ours",
        traps="0 by construction for questions that need more than k sources.",
    ),
    _entry(
        "hit_at_k",
        "hit@k",
        "Share of questions with at least one gold source among the first k.",
        function="ranking_recalls_at_k",
        signature="cluster:question|gold:any|interval:bca-95|k:10|missing:failed|repeated:first|slice:all",
        citation="success@k of trec_eval",
        traps="Overstates retrieval where every source is needed; grows with the number of gold sources.",
    ),
    _entry(
        "part_recall_at_k",
        "R@k of a modality",
        "Share of a question's gold sources of one modality among the first k, mean over the questions that need "
        "that modality.",
        function="ranking_part_recalls_at_k",
        signature="cluster:question|"
        "gold:fractional|interval:bca-95|k:5|missing:failed|part:table|repeated:first",
        citation="ours",
        traps="Parts of different modalities stand on different questions.",
    ),
    _entry(
        "precision_at_k",
        "P@k",
        "|gold ∩ first k| / k, mean over questions.",
        function="ranking_precisions_at_k",
        signature="cluster:question|interval:bca-95|k:10|missing:failed|repeated:first|slice:all",
        citation="trec_eval",
        traps="With one or two gold sources it cannot exceed 1/k or 2/k; shorter rankings are still divided by k.",
    ),
    _entry(
        "ndcg_at_k",
        "nDCG@k",
        "Σ gain / log2(rank + 1) over the first k, divided by that of the best ranking of all gold sources cut at "
        "k; mean over questions.",
        function="ndcgs_at_k",
        signature="cluster:question|"
        "discount:log2|gain:linear|interval:bca-95|k:10|missing:failed|repeated:first|slice:all",
        citation="Järvelin and Kekäläinen 2002; Burges et al. 2005 for the exponential gain",
        traps="Linear and exponential gain differ as soon as relevance is graded; trec_eval is linear.",
    ),
    _entry(
        "mean_reciprocal_rank",
        "MRR",
        "1 / rank of the first gold source (0 if none was retrieved), mean over questions.",
        function="reciprocal_ranks",
        signature="cluster:question|interval:bca-95|missing:failed|repeated:first|slice:all",
        citation="Voorhees 1999 (TREC-8 question answering track)",
        traps="Looks at one gold source only; depends on how deep the rankings go.",
    ),
    _entry(
        "ranking_mean_average_precision",
        "MAP",
        "Sum of the precisions at the ranks of the gold sources found, divided by the number of all gold sources; "
        "mean over questions.",
        function="ranking_average_precisions",
        signature="cluster:question|interval:bca-95|missing:failed|repeated:first|slice:all",
        citation="Buckley and Voorhees 2000; trec_eval",
        traps="Not the mAP of localization. Depends on how deep the rankings go.",
    ),
)

"""Krippendorff's alpha: agreement of any number of annotators, any level of measurement, with missing ratings.

``alpha = 1 - D_o / D_e`` with ``D_o`` the disagreement within units and ``D_e`` the disagreement of the same ratings
thrown together. Conventions: ratings have one row a unit; None or nan is a missing rating; units with fewer than two
ratings say nothing and are skipped (counted in ``Score.skipped``). A unit with m ratings adds each of its pairs with
weight ``1 / (m - 1)`` to the coincidence matrix, so that every rating counts once.

Distances ``d`` of two values: *nominal* 0 or 1; *ordinal* the square of the difference of their mean ranks among all
pairable ratings (so it depends on how often values are used, and in a bootstrap on the draw); *interval* the square
of their difference; *ratio* the square of difference over sum. A ``distance`` of one's own stands in the place of these, such as
that of sets; it is taken as it is, not squared.

Undefined, never 1: when only one value occurs among pairable ratings nothing could have disagreed; when no unit has
two ratings nothing was compared. (The ``krippendorff`` package raises on the first.) Other limits: alpha may be below
0 (systematic disagreement, or a small sample), and is near 0 whenever one value dominates.

The bootstrap draws units, or clusters of units (recordings): coincidences are sums over units, so all resamples are
one product of the matrix of draw counts with the matrix of each cluster's coincidences.

References: Krippendorff, *Computing Krippendorff's alpha-reliability* (2011); Hayes and Krippendorff (2007).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.agreement import (
    Ints,
    Label,
    bootstrap_signature,
    flat_ratings,
    grouped_sums,
    require_resampling,
    resampled_interval,
)
from proctor.metrics.bootstrap import Floats
from proctor.metrics.catalogue import Entries
from proctor.metrics.errors import MetricInputError
from proctor.metrics.score import Score

__all__ = ["METRICS", "Level", "krippendorff_alpha"]

Level = Literal["nominal", "ordinal", "interval", "ratio"]
Ratings = Sequence[Sequence[Label | None]] | NDArray[Any]

_MANY_VALUES: Final = 200
"""Beyond this number of different values the expected disagreement of numbers is computed from moments."""
_MANY_COINCIDENCES: Final = 50
"""Beyond this number of pairs of values ordinal coincidences are computed from the draws."""
_BLOCK: Final = 200_000
"""Numbers held at a time by that, few enough to stay in the processor's cache."""
_ROUNDING: Final = 1e-13


def krippendorff_alpha(
    ratings: Ratings,
    *,
    level: Level = "nominal",
    values: Sequence[Label] | None = None,
    distance: Callable[[Label, Label], float] | None = None,
    clusters: Sequence[str] | None = None,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Score:
    """Krippendorff's alpha, at most 1, with a percentile bootstrap interval over units or clusters.

    Args:
        ratings: one row a unit, one value a rating; None or nan where there is none, rows may be of different lengths.
        level: of measurement. Interval and ratio need numbers, ordinal numbers or ``values``.
        values: the values in their order, for ordinal texts.
        distance: of two values, 0 for equal ones; in the place of that of the level.
        clusters: of each unit, what is drawn together (its recording); every unit alone when not given.
        confidence: of the interval.
        resamples: of the bootstrap; 0 for no interval.
        seed: of the bootstrap.

    Returns:
        The score: ``n`` units with two or more ratings, ``skipped`` those with fewer. Undefined with a note when no
        unit has two ratings or only one value occurs among them. Resamples with one value only are left out, and the
        note tells their share.

    Raises:
        MetricInputError: if the ratings are not of that form, the level does not fit the values, or an option is out
            of range.
    """
    require_resampling(confidence, resamples, seed)
    known, unit, code, units = flat_ratings(ratings, values)
    _require_level(level, known, ordered=values is not None)
    if clusters is not None and len(clusters) != units:
        raise MetricInputError(f"{len(clusters)} cluster names for {units} units")
    of = level if distance is None else getattr(distance, "__name__", "own")
    signature = bootstrap_signature("krippendorff_alpha", clusters, confidence, resamples, seed, level=of)
    pairable = np.bincount(unit, minlength=units) >= 2
    n, skipped = int(pairable.sum()), int((~pairable).sum())
    use = pairable[unit]
    occurs, code = np.unique(code[use], return_inverse=True)
    there = [known[k] for k in occurs]
    if len(there) < 2:
        why = f"every rating is {there[0]!r}: chance is certain" if there else "no unit has two ratings"
        return Score(math.nan, signature, n, skipped=skipped, note=why)
    groups = None if clusters is None else [c for c, keep in zip(clusters, pairable, strict=True) if keep]
    renumbered = np.cumsum(pairable) - 1
    sums, statistic = _prepare(_Pairable(renumbered[unit[use]], code, n, there, groups), level, distance)
    whole = np.ones((1, sums)) if isinstance(sums, int) else sums.sum(axis=0, keepdims=True)
    value = float(statistic(whole)[0])
    if math.isnan(value):
        why = "the values differ too little to be distinguished from rounding"
        return Score(value, signature, n, skipped=skipped, note=why)
    interval = resampled_interval(sums, statistic, confidence=confidence, resamples=resamples, seed=seed)
    return Score(value, signature, n, interval.low, interval.high, skipped=skipped, note=interval.note)


def _require_level(level: Level, values: Sequence[Label], *, ordered: bool) -> None:
    if level not in get_args(Level):
        raise MetricInputError(f"the level must be one of {', '.join(get_args(Level))}, got {level!r}")
    text = next((v for v in values if isinstance(v, str)), None)
    if text is not None and (level in ("interval", "ratio") or (level == "ordinal" and not ordered)):
        hint = "give numbers" if level != "ordinal" else "give the values in their order, or numbers"
        raise MetricInputError(
            f"the {level} level needs to know how far values are apart, and {text!r} is a text", hint
        )
    if level == "ratio" and any(not isinstance(v, str) and v < 0 for v in values):
        raise MetricInputError(f"the ratio level has no negative values, got {values[0]!r}")


Statistic = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class _Pairable:
    """Ratings of units that have two or more.

    Attributes:
        unit: of each rating.
        code: place of each rating's value.
        units: how many.
        values: that occur, in their order.
        clusters: of each unit, None when units are drawn alone.
    """

    unit: Ints
    code: Ints
    units: int
    values: Sequence[Label]
    clusters: Sequence[str] | None

    def counts(self) -> Floats:
        """How often each value (column) was given to each unit (row)."""
        k = len(self.values)
        counts = np.bincount(self.unit * k + self.code, minlength=self.units * k)
        return counts.reshape(self.units, k).astype(np.float64)

    def numbers(self) -> Floats:
        """The values as numbers; only ratios count, and scaled huge numbers stay finite."""
        numbers = np.array(self.values, dtype=np.float64)
        result: Floats = numbers / np.abs(numbers).max()
        return result


def _prepare(
    ratings: _Pairable, level: Level, distance: Callable[[Label, Label], float] | None
) -> tuple[Floats | int, Statistic]:
    """Return what is resampled (clusters x quantities), and alpha of sums of its rows; see ``resampled_interval``."""
    if distance is not None:
        apart = [[distance(a, b) for b in ratings.values] for a in ratings.values]
        return _prepare_distances(ratings, np.array(apart, dtype=np.float64))
    if level == "nominal":
        return _prepare_nominal(ratings)
    if level == "ordinal":
        return _prepare_ordinal(ratings)
    if level == "interval" and len(ratings.values) > _MANY_VALUES:
        return _prepare_moments(ratings)
    return _prepare_distances(ratings, _distances(ratings.numbers(), level))


def _prepare_distances(ratings: _Pairable, apart: Floats) -> tuple[Floats, Statistic]:
    counts = ratings.counts()
    observed = ((counts @ apart) * counts).sum(axis=1) / (counts.sum(axis=1) - 1)

    def alpha(sums: Floats) -> Floats:
        used = sums[:, 1:]
        return _alpha(sums[:, 0], ((used @ apart) * used).sum(axis=1), used.sum(axis=1))

    return grouped_sums(np.concatenate([observed[None, :], counts.T]), ratings.clusters), alpha


def _distances(numbers: Floats, level: Level) -> Floats:
    difference = numbers[:, None] - numbers
    if level == "ratio":
        total = numbers[:, None] + numbers
        difference = np.divide(difference, total, out=np.zeros_like(difference), where=total > 0)
    else:
        # Squares of small differences must not vanish.
        difference = difference / np.ptp(numbers)
    result: Floats = difference**2
    return result


def _prepare_nominal(ratings: _Pairable) -> tuple[Floats, Statistic]:
    counts = ratings.counts()
    m = counts.sum(axis=1)
    observed = (m**2 - (counts**2).sum(axis=1)) / (m - 1)

    def alpha(sums: Floats) -> Floats:
        used = sums[:, 1:]
        n = used.sum(axis=1)
        return _alpha(sums[:, 0], n**2 - (used**2).sum(axis=1), n)

    return grouped_sums(np.concatenate([observed[None, :], counts.T]), ratings.clusters), alpha


def _prepare_moments(ratings: _Pairable) -> tuple[Floats, Statistic]:
    """Sums of values and of squares stand for a matrix of all pairs of many different values."""
    numbers = ratings.numbers()
    scaled = ((numbers - numbers.mean()) / np.ptp(numbers))[ratings.code]

    def of_units(weights: Floats) -> Floats:
        return np.bincount(ratings.unit, weights=weights, minlength=ratings.units).astype(np.float64)

    m, first, second = of_units(np.ones_like(scaled)), of_units(scaled), of_units(scaled**2)
    from_mean = scaled - (first / m)[ratings.unit]
    observed = 2 * m * of_units(from_mean**2) / (m - 1)

    def alpha(sums: Floats) -> Floats:
        n = sums[:, 1]
        expected = 2 * (n * sums[:, 3] - sums[:, 2] ** 2)
        return _alpha(sums[:, 0], np.where(expected > _ROUNDING * n**2, expected, 0.0), n)

    return grouped_sums(np.stack([observed, m, first, second]), ratings.clusters), alpha


def _prepare_ordinal(ratings: _Pairable) -> tuple[Floats | int, Statistic]:
    """The distances depend on how often values are used, so the coincidences themselves are summed.

    The distance of two values is the squared difference of their mean ranks, and the mean of all mean ranks is n/2.
    """
    k = len(ratings.values)
    if k * (k - 1) // 2 > _MANY_COINCIDENCES:
        return _prepare_ranks(ratings)
    counts, (low, high) = ratings.counts(), np.triu_indices(k, 1)
    together = counts[:, low] * counts[:, high] / (counts.sum(axis=1) - 1)[:, None]

    def alpha(sums: Floats) -> Floats:
        used = sums[:, :k]
        n = used.sum(axis=1)
        rank = np.cumsum(used, axis=1) - used / 2
        observed = 2 * (sums[:, k:] * (rank[:, low] - rank[:, high]) ** 2).sum(axis=1)
        expected = 2 * n * (used * (rank - n[:, None] / 2) ** 2).sum(axis=1)
        return _alpha(observed, expected, n)

    return grouped_sums(np.concatenate([counts.T, together.T]), ratings.clusters), alpha


def _prepare_ranks(ratings: _Pairable) -> tuple[int, Statistic]:
    """With many values, ratings are fewer than pairs of values: keep the draws, and square ranks within units."""
    # Units without a name are put into an order of their ratings, so that the order of rows changes no draw.
    order = np.arange(ratings.units) if ratings.clusters is not None else _canonical_units(ratings)
    cluster, drawn = order, ratings.units
    if ratings.clusters is not None:
        names, cluster = np.unique(np.asarray(ratings.clusters, dtype=np.str_), return_inverse=True)
        drawn = len(names)
    by_value, by_unit = np.argsort(ratings.code, kind="stable"), np.argsort(ratings.unit, kind="stable")
    drawn_with = cluster[ratings.unit[by_value]]
    values = np.flatnonzero(np.diff(ratings.code[by_value], prepend=-1))
    code = ratings.code[by_unit]
    units = np.flatnonzero(np.diff(ratings.unit[by_unit], prepend=-1))
    m = np.bincount(ratings.unit).astype(np.float64)[:, None]
    share = m / (m - 1)

    def of_draws(times: Floats) -> Floats:
        # One column a draw: rows of a few draws are copied and added as a whole, which is several times faster.
        used = np.add.reduceat(times[drawn_with], values)
        n = used.sum(axis=0)
        rank = np.cumsum(used, axis=0)
        rank -= used / 2
        rank -= n / 2
        given = rank[code]
        total = np.add.reduceat(given, units)
        given *= given
        within = np.add.reduceat(given, units) * share - total * total * (share / m)
        observed = np.einsum("ij,ij->j", times[cluster], within)
        return _alpha(2 * observed, 2 * n * np.einsum("ij,ij,ij->j", used, rank, rank), n)

    def alpha(times: Floats) -> Floats:
        rows = max(1, _BLOCK // (len(code) + len(values)))
        parts = np.split(times, range(rows, len(times), rows))
        return np.concatenate([of_draws(np.ascontiguousarray(part.T)) for part in parts])

    return drawn, alpha


def _canonical_units(ratings: _Pairable) -> Ints:
    """Return the place of each unit when units are sorted by their ratings."""
    by_unit = np.lexsort((-ratings.code, ratings.unit))
    parts = np.split(ratings.code[by_unit], np.flatnonzero(np.diff(ratings.unit[by_unit])) + 1)
    place = np.empty(ratings.units, dtype=np.intp)
    place[sorted(range(ratings.units), key=lambda unit: parts[unit].tolist())] = np.arange(ratings.units)
    return place


def _alpha(observed: Floats, expected: Floats, n: Floats) -> Floats:
    share = np.divide((n - 1) * observed, expected, out=np.full(n.shape, np.nan), where=expected > 0)
    result: Floats = 1.0 - share
    return result


_entry: Final = Entries("agreement", "krippendorff")

METRICS: Final = (
    _entry(
        "krippendorff_alpha",
        "α",
        "1 - D_o / D_e: disagreement within units over disagreement of all ratings thrown together, with "
        "the distance of the level of measurement (nominal, ordinal, interval, ratio).",
        range="below 0 to 1",
        signature="cluster:given|interval:percentile-95|level:nominal|resamples:2000|seed:0",
        citation="Krippendorff 2011",
        traps="Undefined, not 1, when only one value occurs (the krippendorff package raises). Collapses when one "
        "value dominates: -0.03 on the published questions at 0.948 raw agreement, because rejected questions are not "
        "in that file. Never average it over groups: pool, or show each. Rows are units here, raters elsewhere.",
    ),
)

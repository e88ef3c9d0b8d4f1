"""Krippendorff's alpha: agreement of any number of annotators, any level of measurement, with missing ratings.

``alpha = 1 - D_o / D_e`` with ``D_o`` the disagreement within units and ``D_e`` the disagreement of the same ratings
thrown together. Conventions: ratings have one row a unit; None or nan is a missing rating; units with fewer than two
ratings say nothing and are skipped (counted in ``Score.skipped``). A unit with m ratings adds each of its pairs with
weight ``1 / (m - 1)`` to the coincidence matrix, so that every rating counts once.

Distances ``d`` of two values: *nominal* 0 or 1; *ordinal* the square of the difference of their mean ranks among all
pairable ratings (so it depends on how often values are used, and in a bootstrap on the draw); *interval* the square
of their difference; *ratio* the square of difference over sum.

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
    Label,
    bootstrap_signature,
    grouped_sums,
    rating_counts,
    require_resampling,
    resampled_interval,
)
from proctor.metrics.bootstrap import Floats
from proctor.metrics.errors import MetricInputError
from proctor.metrics.metric import Metric
from proctor.metrics.score import Score

__all__ = ["METRICS", "Coincidences", "Level", "coincidence_matrix", "krippendorff_alpha"]

Level = Literal["nominal", "ordinal", "interval", "ratio"]
Ratings = Sequence[Sequence[Label | None]] | NDArray[Any]

_MANY_VALUES: Final = 200
"""Beyond this number of different values the expected disagreement of numbers is computed from moments."""
_ROUNDING: Final = 1e-13


@dataclass(frozen=True, slots=True)
class Coincidences:
    """The coincidence matrix: what one rating of a unit says when another says something.

    Attributes:
        values: of its rows and columns.
        matrix: symmetric, shape (values, values); the sum of a row is how many pairable ratings have the value.
        units: how many units have two or more ratings.
        skipped: how many have fewer.
    """

    values: tuple[Label, ...]
    matrix: Floats
    units: int
    skipped: int


def coincidence_matrix(ratings: Ratings, *, values: Sequence[Label] | None = None) -> Coincidences:
    """Return the coincidence matrix of ratings.

    Args:
        ratings: one row a unit, as in ``rating_counts``.
        values: the values in their order; sorted when not given.

    Raises:
        MetricInputError: if the ratings are not of that form or hold a value that ``values`` lacks.
    """
    known, counts = rating_counts(ratings, values)
    pairable = counts[counts.sum(axis=1) >= 2].astype(np.float64)
    share = pairable / np.maximum(pairable.sum(axis=1, keepdims=True) - 1, 1)
    matrix: Floats = share.T @ pairable - np.diag(share.sum(axis=0))
    return Coincidences(known, matrix, len(pairable), len(counts) - len(pairable))


def krippendorff_alpha(
    ratings: Ratings,
    *,
    level: Level = "nominal",
    values: Sequence[Label] | None = None,
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
    known, counts = rating_counts(ratings, values)
    _require_level(level, known, ordered=values is not None)
    if clusters is not None and len(clusters) != len(counts):
        raise MetricInputError(f"{len(clusters)} cluster names for {len(counts)} units")
    signature = bootstrap_signature("krippendorff_alpha", clusters, confidence, resamples, seed, level=level)
    pairable = counts.sum(axis=1) >= 2
    n, skipped = int(pairable.sum()), int((~pairable).sum())
    used = counts[pairable]
    occurs = used.sum(axis=0) > 0
    if not n or occurs.sum() == 1:
        only = [value for value, there in zip(known, occurs, strict=True) if there]
        why = f"every rating is {only[0]!r}: chance is certain" if only else "no unit has two ratings"
        return Score(math.nan, signature, n, skipped=skipped, note=why)
    groups = None if clusters is None else [c for c, use in zip(clusters, pairable, strict=True) if use]
    there = [value for value, use in zip(known, occurs, strict=True) if use]
    columns, statistic = _prepare(used[:, occurs].astype(np.float64), level, there)
    sums = grouped_sums(columns, groups)
    value = float(statistic(sums.sum(axis=0, keepdims=True))[0])
    if math.isnan(value):
        why = "the values differ too little to be told from rounding"
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
        raise MetricInputError(f"the ratio level has no negative values, got {min(v for v in values if v)!r}")


Statistic = Callable[[Floats], Floats]


def _prepare(counts: Floats, level: Level, values: Sequence[Label]) -> tuple[Floats, Statistic]:
    """Return what is summed over units (quantities x units), and alpha of such sums."""
    if level == "ordinal":
        return _prepare_ordinal(counts)
    numbers = np.arange(len(values), dtype=np.float64)
    if level != "nominal":
        numbers = np.array(values, dtype=np.float64)
        numbers = numbers / np.abs(numbers).max()  # only ratios count, and huge numbers stay finite
    if level == "interval" and len(values) > _MANY_VALUES:
        return _prepare_moments(counts, numbers)
    apart = _distances(numbers, level)
    weight = 1.0 / (counts.sum(axis=1) - 1)
    observed = ((counts @ apart) * counts).sum(axis=1) * weight

    def alpha(sums: Floats) -> Floats:
        used = sums[:, 1:]
        return _alpha(sums[:, 0], ((used @ apart) * used).sum(axis=1), used.sum(axis=1))

    return np.concatenate([observed[None, :], counts.T]), alpha


def _distances(numbers: Floats, level: Level) -> Floats:
    difference = numbers[:, None] - numbers
    if level == "nominal":
        differ: Floats = (difference != 0).astype(np.float64)
        return differ
    if level == "ratio":
        total = numbers[:, None] + numbers
        difference = np.divide(difference, total, out=np.zeros_like(difference), where=total > 0)
    else:
        # Squares of small differences must not vanish.
        difference = difference / np.ptp(numbers)
    result: Floats = difference**2
    return result


def _prepare_moments(counts: Floats, numbers: Floats) -> tuple[Floats, Statistic]:
    """Sums of values and of squares stand for a matrix of all pairs of many different values."""
    scaled = (numbers - numbers.mean()) / np.ptp(numbers)
    m = counts.sum(axis=1)
    first, second = counts @ scaled, counts @ scaled**2
    from_mean = scaled - (first / m)[:, None]
    observed = 2 * m * (counts * from_mean**2).sum(axis=1) / (m - 1)

    def alpha(sums: Floats) -> Floats:
        n = sums[:, 1]
        expected = 2 * (n * sums[:, 3] - sums[:, 2] ** 2)
        return _alpha(sums[:, 0], np.where(expected > _ROUNDING * n**2, expected, 0.0), n)

    return np.stack([observed, m, first, second]), alpha


def _prepare_ordinal(counts: Floats) -> tuple[Floats, Statistic]:
    """The distances depend on how often values are used, so the coincidences themselves are summed.

    The distance of two values is the squared difference of their mean ranks, and the mean of all mean ranks is n/2.
    """
    k, low, high = counts.shape[1], *np.triu_indices(counts.shape[1], 1)
    weight = 1.0 / (counts.sum(axis=1) - 1)
    together = counts[:, low] * counts[:, high] * weight[:, None]
    occurs = together.any(axis=0)
    low, high = low[occurs], high[occurs]

    def alpha(sums: Floats) -> Floats:
        used = sums[:, :k]
        n = used.sum(axis=1)
        rank = np.cumsum(used, axis=1) - used / 2
        observed = 2 * (sums[:, k:] * (rank[:, low] - rank[:, high]) ** 2).sum(axis=1)
        expected = 2 * n * (used * (rank - n[:, None] / 2) ** 2).sum(axis=1)
        return _alpha(observed, expected, n)

    return np.concatenate([counts.T, together[:, occurs].T]), alpha


def _alpha(observed: Floats, expected: Floats, n: Floats) -> Floats:
    share = np.divide((n - 1) * observed, expected, out=np.full(n.shape, np.nan), where=expected > 0)
    result: Floats = 1.0 - share
    return result


METRICS: Final[tuple[Metric, ...]] = (
    Metric(
        name="krippendorff_alpha",
        label="α",
        family="agreement",
        function="krippendorff:krippendorff_alpha",
        signature="krippendorff_alpha|cluster:given|interval:percentile-95|level:nominal|resamples:2000|seed:0",
        range="below 0 to 1",
        direction="higher",
        definition="1 - D_o / D_e: disagreement within units over disagreement of all ratings thrown together, with "
        "the distance of the level of measurement (nominal, ordinal, interval, ratio).",
        citation="Krippendorff 2011; studio.md 2.5",
        traps="Undefined, not 1, when only one value occurs (the krippendorff package raises). Collapses when one "
        "value dominates: -0.03 on the published questions at 0.948 raw agreement, because rejected questions are not "
        "in that file. Never average it over groups: pool, or show each. Rows are units here, raters elsewhere.",
    ),
)

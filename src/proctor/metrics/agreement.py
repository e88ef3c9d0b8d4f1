"""Do annotators say the same? Raw and specific agreement, prevalence, Cohen's and Fleiss' kappa.

Conventions: the label sequences of two annotators are parallel; items that either left out are dropped by the
caller or, in ``agreement_by_pair``, by item id. Labels are texts or numbers, the same kind throughout; a missing
label is not a label. Raw agreement ignores that annotators agree by chance; kappa corrects for it, but falls when
one label dominates (Feinstein and Cicchetti 1990), down to nothing when hardly any other label occurs: read raw
agreement, specific agreement, prevalence and kappa together. The published verification has raw agreement 0.869
and kappa 0.64 on the same judgements (ProMQA), and on its questions raw 0.948 with an alpha of -0.03, because
only accepted questions are in the file: never measure agreement on what passed only.

Intervals: Wilson's for raw agreement of independent items; else percentile bootstrap over clusters (recordings),
which draws every item alone when no clusters are given. Resamples in which the value is undefined are left out, and
the note tells their share. The order of the items changes nothing.

References: Cohen (1960, 1968); Fleiss (1971); Cicchetti and Feinstein (1990) for specific agreement.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.bootstrap import (
    FEW_CLUSTERS,
    FEW_CLUSTERS_NOTE,
    Floats,
    bootstrap_replicates,
    cluster_sums,
    interval_tails,
    iter_draws,
)
from proctor.metrics.catalogue import Entries
from proctor.metrics.errors import MetricInputError
from proctor.metrics.interval import wilson_interval
from proctor.metrics.score import Score, Signature

__all__ = [
    "INDEPENDENT",
    "METRICS",
    "ROUNDING",
    "Ints",
    "KappaWeights",
    "Label",
    "Labels",
    "PairAgreement",
    "Resampled",
    "agreement_by_pair",
    "bootstrap_signature",
    "chance_agreement",
    "chance_specific_agreement",
    "coded_labels",
    "cohen_kappa",
    "distances",
    "distinct_labels",
    "divided",
    "flat_ratings",
    "fleiss_kappa",
    "grouped_sums",
    "interval_of_draws",
    "is_missing",
    "kappa_columns",
    "kappa_of_sums",
    "mean_of_defined",
    "mean_pair_agreement",
    "prevalence",
    "rating_counts",
    "ratio_score",
    "raw_agreement",
    "require_resampling",
    "resampled_interval",
    "sorted_labels",
    "specific_agreement",
]


# Labels and ratings as numbers: what is a label, in which order, and which are missing.

Label = str | float
"""A text, or a number (whole numbers and flags too)."""
Labels = Sequence[Label] | NDArray[Any]
Ints = NDArray[np.int64]


def is_missing(label: object) -> bool:
    """True for None and nan: the annotator gave no label."""
    return label is None or (isinstance(label, float) and math.isnan(label))


def distinct_labels(labels: Iterable[Any]) -> set[Any]:
    """The labels that occur, or an error that names what is no label."""
    try:
        return set(labels)
    except TypeError:
        raise MetricInputError("a label must be a text or a number, got a list or an object") from None


def sorted_labels(seen: set[Any], values: Sequence[Label] | None) -> tuple[Label, ...]:
    """Return the labels in their order: as given, else sorted; numbers that are equal are one label.

    Raises:
        MetricInputError: if texts and numbers are mixed, a number is infinite, an order holds a label twice, or a
            label is not in the order given.
    """
    for label in seen:
        if not isinstance(label, str | int | float | np.number | np.bool_):
            raise MetricInputError(f"a label must be a text or a number, got {label!r}")
        if not isinstance(label, str) and not math.isfinite(label):
            raise MetricInputError(f"a label must be finite, got {label!r}")
    if len({isinstance(label, str) for label in seen}) > 1:
        some = sorted(map(repr, seen))[:4]
        raise MetricInputError(
            f"texts and numbers are mixed among the labels ({', '.join(some)})", "use one kind"
        )
    if values is None:
        return tuple(sorted(seen))
    order = tuple(values)
    if twice := [v for v, n in Counter(order).items() if n > 1]:
        raise MetricInputError(f"the order of the labels holds {twice[0]!r} twice")
    if unknown := sorted(seen - set(order), key=repr):
        raise MetricInputError(
            f"the label {unknown[0]!r} is not in the order given ({', '.join(map(repr, order))})",
            "complete the order or repair the label",
        )
    return order


def _listed(labels: Labels) -> list[Label]:
    if isinstance(labels, str | bytes):
        raise MetricInputError(f"labels are a list, got the text {labels[:60]!r}", "put them into a list")
    if isinstance(labels, np.ndarray):
        listed: list[Label] = labels.tolist()
        return listed
    return list(labels)


def coded_labels(
    a: Labels, b: Labels, values: Sequence[Label] | None = None
) -> tuple[tuple[Label, ...], Ints, Ints]:
    """Return all labels in their order and the place of each given label.

    Raises:
        MetricInputError: if the sequences differ in length or hold something that is no label.
    """
    one, two = _listed(a), _listed(b)
    if len(one) != len(two):
        raise MetricInputError(f"labels must be parallel, got {len(one)} and {len(two)}")
    for row, pair in enumerate(zip(one, two, strict=True)):
        if any(map(is_missing, pair)):
            raise MetricInputError(
                f"a label is missing in row {row} (from 0)", "leave out items that either left out"
            )
    labels = sorted_labels(distinct_labels([*one, *two]), values)
    place: dict[Hashable, int] = {label: i for i, label in enumerate(labels)}
    return (
        labels,
        np.array([place[x] for x in one], dtype=np.int64),
        np.array([place[x] for x in two], dtype=np.int64),
    )


def rating_counts(
    ratings: Sequence[Sequence[Label | None]] | NDArray[Any], values: Sequence[Label] | None = None
) -> tuple[tuple[Label, ...], Ints]:
    """Count how often each label was given to each unit, by any number of annotators.

    Args:
        ratings: one row a unit, one label an annotator; None or nan where there is none, rows may be of different
            lengths. (Other packages want this turned over: one row an annotator.)
        values: the labels in their order; sorted when not given.

    Returns:
        The labels that occur (all of ``values`` when given), and counts of shape (units, labels).

    Raises:
        MetricInputError: if there are not two dimensions, or something is no label.
    """
    labels, unit, code, units = flat_ratings(ratings, values)
    counts = np.bincount(unit * len(labels) + code, minlength=units * len(labels))
    return labels, counts.reshape(units, len(labels)).astype(np.int64)


def flat_ratings(
    ratings: Sequence[Sequence[Label | None]] | NDArray[Any], values: Sequence[Label] | None = None
) -> tuple[tuple[Label, ...], Ints, Ints, int]:
    """Return the labels in their order, and of each rating its unit and the place of its label; then all units."""
    if isinstance(ratings, np.ndarray) and ratings.ndim != 2:
        raise MetricInputError(
            f"ratings must have one row a unit and one column a rater, got shape {ratings.shape}"
        )
    if isinstance(ratings, np.ndarray) and ratings.dtype.kind in "iuf" and values is None:
        return _flat_numbers(ratings.astype(np.float64))
    rows: list[Any] = ratings.tolist() if isinstance(ratings, np.ndarray) else list(ratings)
    for n, row in enumerate(rows):
        if isinstance(row, str) or not isinstance(row, Sequence | np.ndarray):
            raise MetricInputError(f"row {n} (from 0) of the ratings must be a list of labels, got {row!r}")
    given = [(unit, label) for unit, row in enumerate(rows) for label in row if not is_missing(label)]
    labels = sorted_labels(distinct_labels(label for _, label in given), values)
    place: dict[Hashable, int] = {label: i for i, label in enumerate(labels)}
    unit = np.array([unit for unit, _ in given], dtype=np.int64)
    return labels, unit, np.array([place[label] for _, label in given], dtype=np.int64), len(rows)


def _flat_numbers(ratings: Floats) -> tuple[tuple[Label, ...], Ints, Ints, int]:
    if np.isinf(ratings).any():
        row = int(np.flatnonzero(np.isinf(ratings).any(axis=1))[0])
        raise MetricInputError(f"a label must be finite, got an infinite one in row {row} (from 0)")
    present = ~np.isnan(ratings)
    values, code = np.unique(ratings[present], return_inverse=True)
    unit = np.broadcast_to(np.arange(len(ratings))[:, None], ratings.shape)[present]
    return tuple(values.tolist()), unit.astype(np.int64), code.astype(np.int64), len(ratings)


# What annotators would agree on who use their labels as often as these do, but without looking at the items.

INDEPENDENT: Final = {"interval": "none", "raters": "independent"}
"""What the signature of a chance level says."""


def chance_agreement(a: Labels, b: Labels) -> Score:
    """Expected raw agreement of two independent annotators: the sum over labels of ``n_l. n_.l / n²``, 0 to 1.

    Kappa and alpha are 0 there.

    Raises:
        MetricInputError: as ``raw_agreement``.
    """
    _, one, two = coded_labels(a, b)
    n = len(one)
    size = max((int(codes.max()) + 1 for codes in (one, two) if n), default=0)
    first, second = (np.bincount(codes, minlength=size) for codes in (one, two))
    signature = Signature("raw_agreement", INDEPENDENT)
    if not n:
        return Score(math.nan, signature, 0, note="nothing was labelled by both")
    return Score(float(first @ second) / n**2, signature, n)


def chance_specific_agreement(a: Labels, b: Labels, label: Label) -> Score:
    """Expected specific agreement of two independent annotators, ``2 p q / (p + q)`` for the shares p and q of the label.

    It is the ratio of the expected counts.

    Raises:
        MetricInputError: as ``specific_agreement``.
    """
    labels, one, two = coded_labels(a, b)
    place = labels.index(label) if label in labels else -1
    shares = [float((codes == place).mean()) if len(codes) else 0.0 for codes in (one, two)]
    signature = Signature("specific_agreement", INDEPENDENT)
    if not sum(shares):
        return Score(math.nan, signature, len(one), note=f"neither used the label {label!r}")
    return Score(2 * shares[0] * shares[1] / sum(shares), signature, len(one))


# Percentile intervals over clusters for values that may be undefined in some resamples, and ratios of sums.

_BLOCK: Final = 8_000_000
"""Sums held in memory at a time while resampling (about 64 MB)."""
ROUNDING: Final = 1e-12


@dataclass(frozen=True, slots=True)
class Resampled:
    """A percentile bootstrap interval.

    Attributes:
        low: lower end, None when there is no interval.
        high: upper end.
        undefined: share of the resamples that had no defined value and were left out.
        note: why there is no interval, or what to beware of.
    """

    low: float | None
    high: float | None
    undefined: float = 0.0
    note: str = ""


def require_resampling(confidence: float, resamples: int, seed: int = 0) -> None:
    """Make sure that the options of a bootstrap make sense; 0 resamples ask for no interval.

    Raises:
        MetricInputError: naming the option and its value.
    """
    if not 0.0 < confidence < 1.0:
        raise MetricInputError(f"confidence must lie strictly between 0 and 1, got {confidence}")
    if resamples < 0:
        raise MetricInputError(f"resamples must not be negative, got {resamples}")
    if seed < 0:
        raise MetricInputError(f"the seed must not be negative, got {seed}")


def resampled_interval(
    sums: Floats | int,
    statistic: Callable[[Floats], Floats],
    *,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Resampled:
    """Percentile interval over clusters of a statistic that may be undefined in some resamples.

    It draws what ``bootstrap_interval`` draws, counts what is left out, and bounds the memory when there are many
    columns.

    Args:
        sums: one row a cluster, as from ``cluster_sums``; or the number of clusters, and ``statistic`` gets how often
            each was drawn.
        statistic: rows of sums to one number a row, ``nan`` where undefined.
        confidence: coverage aimed at.
        resamples: number of draws; 0 for no interval.
        seed: of the draws.

    Raises:
        MetricInputError: if an option is out of range.
    """
    require_resampling(confidence, resamples, seed)
    if resamples == 0:
        return Resampled(None, None)
    clusters = sums if isinstance(sums, int) else len(sums)
    if clusters < 2:
        return interval_of_draws(np.empty(0), clusters=clusters, confidence=confidence)
    rng = np.random.default_rng(seed)
    if isinstance(sums, int):
        drawn = iter_draws(clusters, resamples=resamples, rng=rng)
        draws = np.concatenate([statistic(rows) for rows in drawn])
        return interval_of_draws(draws, clusters=clusters, confidence=confidence)
    rows = max(1, _BLOCK // sums.shape[1])
    sizes = [min(rows, resamples - first) for first in range(0, resamples, rows)]
    draws = np.concatenate([bootstrap_replicates(sums, statistic, resamples=k, rng=rng) for k in sizes])
    return interval_of_draws(draws, clusters=clusters, confidence=confidence)


def interval_of_draws(draws: Floats, *, clusters: int, confidence: float = 0.95) -> Resampled:
    """Percentile interval from the values of resamples, ``nan`` where undefined.

    Args:
        draws: one value a resample.
        clusters: how many clusters the resamples drew from.
        confidence: coverage aimed at.
    """
    if clusters < 2:
        seen = "one cluster" if clusters else "nothing"
        return Resampled(None, None, note=f"{seen} was observed: variation between clusters is unknown")
    if not draws.size:
        return Resampled(None, None)
    defined = draws[np.isfinite(draws)]
    undefined = 1.0 - defined.size / draws.size
    if not defined.size:
        return Resampled(None, None, undefined, "no resample has a defined value")
    notes = []
    if undefined:
        notes.append(f"{100 * undefined:.2g} % of the resamples were undefined and left out")
    if np.ptp(defined) <= ROUNDING * max(1.0, float(np.abs(defined).max())):
        notes.append("no variation between clusters: the interval has no width")
        return Resampled(float(defined[0]), float(defined[0]), undefined, "; ".join(notes))
    if clusters < FEW_CLUSTERS:
        notes.append(f"only {clusters} clusters: {FEW_CLUSTERS_NOTE}")
    low, high = np.quantile(defined, interval_tails(confidence, clusters))
    return Resampled(float(low), float(high), undefined, "; ".join(notes))


def grouped_sums(columns: Floats, clusters: Sequence[str] | None) -> Floats:
    """Sum columns (quantities x items) within clusters; without clusters every item is one, in a canonical order."""
    if clusters is not None:
        if len(clusters) != columns.shape[1]:
            raise MetricInputError(f"{len(clusters)} cluster names for {columns.shape[1]} items")
        return cluster_sums(columns, clusters)
    return columns.T[np.lexsort(columns)]


def bootstrap_signature(
    name: str, clusters: object, confidence: float, resamples: int, seed: int, **more: str
) -> Signature:
    """Return the signature of a score with a percentile interval; without resamples it names no interval."""
    interval = {"interval": "none"}
    if resamples:
        interval = {
            "cluster": "item" if clusters is None else "given",
            "interval": f"percentile-{100 * confidence:g}",
            "resamples": str(resamples),
            "seed": str(seed),
        }
    return Signature(name, {**interval, **more})


def ratio_score(
    columns: Floats,
    clusters: Sequence[str] | None,
    signature: Signature,
    n: int,
    why_undefined: str,
    confidence: float,
    resamples: int,
    seed: int,
    *,
    skipped: int = 0,
) -> Score:
    """Score of the sum of row 0 over the sum of row 1, one column an item."""
    require_resampling(confidence, resamples, seed)
    sums = grouped_sums(columns, clusters)
    above, below = math.fsum(columns[0]), math.fsum(columns[1])
    if not below > 0:
        return Score(math.nan, signature, n, skipped=skipped, note=why_undefined)
    interval = resampled_interval(
        sums, lambda s: divided(s[:, 0], s[:, 1]), confidence=confidence, resamples=resamples, seed=seed
    )
    low, high = interval.low, interval.high
    return Score(above / below, signature, n, low, high, skipped=skipped, note=interval.note)


def mean_of_defined(values: Floats) -> Floats:
    """Means of rows over what is no nan; nan where nothing is."""
    defined = ~np.isnan(values)
    return divided(np.where(defined, values, 0.0).sum(axis=1), defined.sum(axis=1).astype(np.float64))


def divided(above: Floats, below: Floats) -> Floats:
    """Quotients, nan where the divisor is 0."""
    result: Floats = np.divide(above, below, out=np.full(np.shape(above), np.nan), where=below > 0)
    return result


# Fleiss' kappa of any number of annotators.


def fleiss_kappa(
    ratings: Sequence[Sequence[Label | None]] | NDArray[Any],
    *,
    clusters: Sequence[str] | None = None,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Score:
    """Agreement beyond chance of a fixed number of labels a unit, whoever gave them, from below 0 to 1.

    ``(mean P_u - P_e) / (1 - P_e)``: ``P_u`` is the share of agreeing pairs of labels of a unit, ``P_e`` the sum of
    squared shares of the labels. With two annotators it is Scott's pi, not Cohen's kappa.

    Args:
        ratings: one row a unit, as in ``rating_counts``.
        clusters: of each unit, what is drawn together; every unit alone when not given.
        confidence: of the interval.
        resamples: of the bootstrap; 0 for no interval.
        seed: of the bootstrap.

    Returns:
        The score; undefined with a note when units have different numbers of labels (use Krippendorff's alpha),
        fewer than two, or one label only occurs.

    Raises:
        MetricInputError: if the ratings are not of that form, or an option is out of range.
    """
    require_resampling(confidence, resamples, seed)
    labels, counts = rating_counts(ratings)
    signature = bootstrap_signature("fleiss_kappa", clusters, confidence, resamples, seed)
    sizes = sorted(set(counts.sum(axis=1).tolist()))
    if not sizes or sizes[-1] < 2:
        return Score(math.nan, signature, 0, note="no unit has two labels")
    if len(sizes) > 1:
        why = f"units have {sizes[0]} to {sizes[-1]} labels: use Krippendorff's alpha"
        return Score(math.nan, signature, len(counts), note=why)
    c = counts.astype(np.float64)
    agreeing = (c * (c - 1)).sum(axis=1) / (sizes[0] * (sizes[0] - 1))
    sums = grouped_sums(np.concatenate([agreeing[None, :], c.T]), clusters)

    def kappa(rows: Floats) -> Floats:
        used = rows[:, 1:]
        total = used.sum(axis=1)
        chance = (used**2).sum(axis=1) / total**2
        observed = rows[:, 0] * sizes[0] / total
        return divided(observed - chance, np.where(chance < 1 - ROUNDING, 1 - chance, 0.0))

    value = float(kappa(sums.sum(axis=0, keepdims=True))[0])
    if math.isnan(value):
        return Score(
            value, signature, len(c), note=f"all used the label {labels[0]!r} only: chance is certain"
        )
    interval = resampled_interval(sums, kappa, confidence=confidence, resamples=resamples, seed=seed)
    return Score(value, signature, len(c), interval.low, interval.high, note=interval.note)


# Cohen's kappa of two annotators, plain or weighted.

KappaWeights = Literal["none", "linear", "quadratic"]


def cohen_kappa(
    a: Labels,
    b: Labels,
    *,
    weights: KappaWeights = "none",
    values: Sequence[Label] | None = None,
    clusters: Sequence[str] | None = None,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Score:
    """Agreement beyond chance, ``(p_o - p_e) / (1 - p_e)``, from -1 to 1, with a percentile bootstrap interval.

    With weights it is ``1 - sum(d * observed) / sum(d * expected)`` over the confusion table, where ``d`` is how far
    two labels are apart: their distance (``linear``) or its square (``quadratic``).

    Args:
        a: labels of one annotator.
        b: labels of the other, parallel.
        weights: how near misses count; ``none`` takes every difference as whole.
        values: the labels in their order, one step apart each; needed for weights on texts. Without it numbers are as
            far apart as their difference says, so a value that nobody used leaves its gap.
        clusters: what is drawn together; every item alone when not given.
        confidence: of the interval.
        resamples: of the bootstrap; 0 for no interval.
        seed: of the bootstrap.

    Returns:
        The score; undefined with a note when there is nothing or when both used one and the same label only
        (agreement by chance is then certain).

    Raises:
        MetricInputError: if the sequences differ in length, a label is missing or not in ``values``, weights are
            asked for on texts without an order, or an option is out of range.
    """
    require_resampling(confidence, resamples, seed)
    labels, one, two = coded_labels(a, b, values)
    apart = distances(labels, weights, values is not None)
    signature = bootstrap_signature("cohen_kappa", clusters, confidence, resamples, seed, weights=weights)
    sums = grouped_sums(kappa_columns(one, two, apart), clusters)
    value = float(kappa_of_sums(sums.sum(axis=0, keepdims=True), apart)[0])
    if math.isnan(value):
        return Score(value, signature, len(one), note=_why_no_kappa(labels, one))
    interval = resampled_interval(
        sums, lambda s: kappa_of_sums(s, apart), confidence=confidence, resamples=resamples, seed=seed
    )
    return Score(value, signature, len(one), interval.low, interval.high, note=interval.note)


def _why_no_kappa(labels: Sequence[Label], codes: Ints) -> str:
    if not len(codes):
        return "nothing was labelled by both"
    return f"both used the label {labels[codes[0]]!r} only: chance is certain"


def distances(labels: Sequence[Label], weights: KappaWeights, ordered: bool) -> Floats:
    """How far every two labels are apart, at most 1."""
    if weights not in get_args(KappaWeights):
        raise MetricInputError(f"weights must be one of {', '.join(get_args(KappaWeights))}, got {weights!r}")
    if weights == "none":
        return 1.0 - np.eye(len(labels))
    if not ordered and any(isinstance(label, str) for label in labels):
        raise MetricInputError(
            f"{weights} weights need labels in an order, and {labels[0]!r} is a text",
            "give the order of the labels, or numbers",
        )
    place = np.arange(len(labels), dtype=np.float64) if ordered else np.array(labels, dtype=np.float64)
    if place.any():
        place = place / np.abs(place).max()  # only ratios count, and huge numbers stay finite
    apart: Floats = np.abs(place[:, None] - place)
    if apart.any():
        apart /= apart.max()
    return apart if weights == "linear" else apart**2


def kappa_columns(one: Ints, two: Ints, apart: Floats) -> Floats:
    """Per item: how far the two are apart, and which label either used. Kappa needs no more than their sums."""
    each = np.arange(len(apart))[:, None]
    return np.concatenate([apart[one, two][None, :], each == one, each == two]).astype(np.float64)


def kappa_of_sums(sums: Floats, apart: Floats) -> Floats:
    """Kappa from sums of ``kappa_columns``, nan where chance is certain."""
    k = len(apart)
    first, second = sums[:, 1 : 1 + k], sums[:, 1 + k : 1 + 2 * k]
    expected = ((first @ apart) * second).sum(axis=1)
    n = first.sum(axis=1)
    result: Floats = 1.0 - divided(n * sums[:, 0], np.where(expected > ROUNDING * n**2, expected, 0.0))
    return result


# Shares of two annotators: raw and specific agreement, and prevalence.


def raw_agreement(
    a: Labels,
    b: Labels,
    *,
    clusters: Sequence[str] | None = None,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Score:
    """Share of items with the same label, from 0 to 1.

    The interval is Wilson's, which takes items for independent; with ``clusters`` it is the bootstrap over these.

    Raises:
        MetricInputError: if the sequences differ in length, a label is missing, or an option is out of range.
    """
    _, one, two = coded_labels(a, b)
    require_resampling(confidence, resamples, seed)
    same = one == two
    if clusters is None:
        interval = wilson_interval(int(same.sum()), len(one), confidence)
        signature = Signature("raw_agreement", {"interval": f"wilson-{100 * confidence:g}"})
        value = float(same.mean()) if len(one) else math.nan
        return Score(value, signature, len(one), interval.low, interval.high, note=interval.note)
    signature = bootstrap_signature("raw_agreement", clusters, confidence, resamples, seed)
    columns = np.stack([same.astype(np.float64), np.ones(len(one))])
    return ratio_score(
        columns, clusters, signature, len(one), "nothing was labelled by both", confidence, resamples, seed
    )


def specific_agreement(
    a: Labels,
    b: Labels,
    label: Label,
    *,
    clusters: Sequence[str] | None = None,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Score:
    """How often the other agrees when one annotator says ``label``: ``2 n_ll / (n_l. + n_.l)``, 0 to 1.

    With yes and no it is the positive and the negative specific agreement; with the label taken as "relevant" it is
    the F1 of one annotator against the other. Raw agreement can be high while the rare label has nothing in common.

    Returns:
        The score; undefined with a note when neither used the label.

    Raises:
        MetricInputError: as ``raw_agreement``.
    """
    columns, n = _uses_of(a, b, label)
    signature = bootstrap_signature(
        "specific_agreement", clusters, confidence, resamples, seed, label=_part(label)
    )
    why = f"neither used the label {label!r}" if n else "nothing was labelled by both"
    return ratio_score(columns[[0, 1]], clusters, signature, n, why, confidence, resamples, seed)


def prevalence(
    a: Labels,
    b: Labels,
    label: Label,
    *,
    clusters: Sequence[str] | None = None,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Score:
    """Share of ``label`` among the labels of both annotators: ``(n_l. + n_.l) / 2n``, 0 to 1.

    Beyond about 0.9 kappa and alpha say little: hardly anything is left that chance would not give.

    Raises:
        MetricInputError: as ``raw_agreement``.
    """
    columns, n = _uses_of(a, b, label)
    signature = bootstrap_signature("prevalence", clusters, confidence, resamples, seed, label=_part(label))
    why = "nothing was labelled by both"
    return ratio_score(columns[[1, 2]], clusters, signature, n, why, confidence, resamples, seed)


def _part(label: Label) -> str:
    """Return a label as part of a signature, which knows neither emptiness nor bars."""
    text = f"{label:.12g}" if isinstance(label, float) else str(label)
    return text.replace("|", "/") or "(empty)"


def _uses_of(a: Labels, b: Labels, label: Label) -> tuple[Floats, int]:
    """Per item: twice whether both used the label, how many did, and two."""
    labels, one, two = coded_labels(a, b)
    sorted_labels({*labels, *distinct_labels([label])}, None)  # a label of another type occurs nowhere
    place = labels.index(label) if label in labels else -1
    first, second = (one == place).astype(np.float64), (two == place).astype(np.float64)
    return np.stack([2 * first * second, first + second, np.full(len(one), 2.0)]), len(one)


# Agreement of every pair of annotators, and its mean.

_FEW_ITEMS: Final = 10
"""Below this number of common items the kappa of a pair is noise."""


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Agreement of two annotators on the items that both labelled."""

    a: str
    b: str
    agreed: int
    n: int
    raw: Score
    kappa: Score


def agreement_by_pair(
    labels: Mapping[str, Mapping[str, Label]],
    *,
    weights: KappaWeights = "none",
    values: Sequence[Label] | None = None,
    clusters: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> tuple[PairAgreement, ...]:
    """Agreement of every two annotators on the items that both labelled; pairs without such items are left out.

    Args:
        labels: annotator to item id to label.
        weights: of kappa.
        values: the labels in their order, for the weights.
        clusters: item id to what is drawn together; every item alone when not given.
        confidence: of the intervals.
        resamples: of the bootstrap; 0 for no intervals of kappa.
        seed: of the bootstrap.

    Raises:
        MetricInputError: as ``cohen_kappa``, or if an item has no cluster.
    """
    pairs = []
    for one, two in combinations(sorted(labels), 2):
        both = sorted(labels[one].keys() & labels[two].keys())
        if not both:
            continue
        a, b = [labels[one][i] for i in both], [labels[two][i] for i in both]
        groups = None if clusters is None else [_cluster_of(i, clusters) for i in both]
        raw = raw_agreement(a, b, confidence=confidence)
        kappa = cohen_kappa(
            a, b, weights=weights, values=values, clusters=groups,
            confidence=confidence, resamples=resamples, seed=seed,
        )  # fmt: skip
        pairs.append(
            PairAgreement(one, two, sum(x == y for x, y in zip(a, b, strict=True)), len(both), raw, kappa)
        )
    return tuple(pairs)


def _cluster_of(item: str, clusters: Mapping[str, str]) -> str:
    if item not in clusters:
        raise MetricInputError(f"the item {item!r} has no cluster", "give every item one")
    return clusters[item]


def mean_pair_agreement(
    labels: Mapping[str, Mapping[str, Label]],
    measure: Literal["raw", "kappa"] = "raw",
    *,
    weights: KappaWeights = "none",
    values: Sequence[Label] | None = None,
    clusters: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Score:
    """Mean over pairs of annotators of their raw agreement or Cohen's kappa, every pair alike whatever its size.

    Pairs without common items, and for kappa pairs that used one label only, are left out and reported in the note. The
    interval draws items (or clusters) and computes all pairs anew. ``n`` counts the pairs of labels.

    Args:
        labels: annotator to item id to label.
        measure: what to average.
        weights: of kappa.
        values: the labels in their order, for the weights.
        clusters: item id to what is drawn together; every item alone when not given.
        confidence: of the interval.
        resamples: of the bootstrap; 0 for no interval.
        seed: of the bootstrap.

    Raises:
        MetricInputError: as ``agreement_by_pair``.
    """
    require_resampling(confidence, resamples, seed)
    if measure not in ("raw", "kappa"):
        raise MetricInputError(f"the measure must be 'raw' or 'kappa', got {measure!r}")
    more = {"pairs": "mean", **({"weights": weights} if measure == "kappa" else {})}
    name = "raw_agreement" if measure == "raw" else "cohen_kappa"
    signature = bootstrap_signature(name, clusters, confidence, resamples, seed, **more)
    pairs = [p for p in combinations(sorted(labels), 2) if labels[p[0]].keys() & labels[p[1]].keys()]
    if not pairs:
        return Score(math.nan, signature, 0, note="no two annotators labelled the same")
    items = sorted({i for a, b in pairs for i in labels[a].keys() & labels[b].keys()})
    seen = distinct_labels(label for a, b in pairs for who in (a, b) for label in labels[who].values())
    known = sorted_labels(seen, values)
    apart = distances(known, "none" if measure == "raw" else weights, values is not None)
    columns = np.concatenate([_pair_columns(labels[a], labels[b], items, known, apart) for a, b in pairs])
    sums = grouped_sums(columns, None if clusters is None else [_cluster_of(i, clusters) for i in items])

    def mean(rows: Floats) -> Floats:
        return mean_of_defined(_by_pair(rows, len(pairs), apart, measure))

    total = sums.sum(axis=0, keepdims=True)
    each = _by_pair(total, len(pairs), apart, measure)[0]
    n = round(float(total.reshape(len(pairs), -1)[:, 1 : 1 + len(known)].sum()))
    value = float(mean(total)[0])
    if math.isnan(value):
        return Score(value, signature, n, note="every pair used one label only: chance is certain")
    interval = resampled_interval(sums, mean, confidence=confidence, resamples=resamples, seed=seed)
    left = int(np.isnan(each).sum())
    notes = [f"{left} of {len(pairs)} pairs used one label only and were left out"] if left else []
    small = [p for p in pairs if len(labels[p[0]].keys() & labels[p[1]].keys()) < _FEW_ITEMS]
    if small and measure == "kappa":
        notes.append(
            f"{len(small)} of {len(pairs)} pairs share fewer than {_FEW_ITEMS} items: their kappas say little"
        )
    return Score(
        value,
        signature,
        n,
        interval.low,
        interval.high,
        note="; ".join([*notes, *filter(None, [interval.note])]),
    )


def _pair_columns(
    a: Mapping[str, Label],
    b: Mapping[str, Label],
    items: Sequence[str],
    known: Sequence[Label],
    apart: Floats,
) -> Floats:
    """What kappa needs of one pair on all items, 0 where either of the two left the item out."""
    place: dict[Hashable, int] = {label: i for i, label in enumerate(known)}
    both = np.array([i in a and i in b for i in items])
    one = np.array([place[a[i]] if use else 0 for i, use in zip(items, both, strict=True)], dtype=np.int64)
    two = np.array([place[b[i]] if use else 0 for i, use in zip(items, both, strict=True)], dtype=np.int64)
    columns: Floats = kappa_columns(one, two, apart) * both
    return columns


def _by_pair(sums: Floats, pairs: int, apart: Floats, measure: str) -> Floats:
    """One value a pair (column) for each row of sums."""
    blocks = sums.reshape(len(sums), pairs, -1)
    if measure == "kappa":
        flat = blocks.reshape(len(sums) * pairs, -1)
        return kappa_of_sums(flat, apart).reshape(len(sums), pairs)
    result: Floats = 1.0 - divided(blocks[:, :, 0], blocks[:, :, 1 : 1 + len(apart)].sum(axis=2))
    return result


# The metrics of this family, for the catalogue.

_BOOTSTRAP: Final = "cluster:given|interval:percentile-95|"

_entry: Final = Entries("agreement", "agreement")

METRICS: Final = (
    _entry(
        "raw_agreement",
        "raw",
        "Share of items to which two annotators gave the same label; for many annotators over all pairs "
        "of labels of a unit, or as the mean of the pairs of annotators.",
        signature="interval:wilson-95",
        citation="ProMQA (the published 0.87 is the mean of ten pairs, 0.868; pooled it is 0.869)",
        traps="Ignores chance: 0.948 on the published questions goes with an alpha of -0.03. Wilson's interval takes "
        "items for independent.",
    ),
    _entry(
        "specific_agreement",
        "specific",
        "2 n_ll / (n_l. + n_.l): how often the other says l when one does; positive and negative "
        "specific agreement when the labels are yes and no.",
        signature=f"{_BOOTSTRAP}label:yes|resamples:2000|seed:0",
        citation="Cicchetti and Feinstein 1990",
        traps="The agreement on the frequent label is nearly always high: read the rare one.",
    ),
    _entry(
        "prevalence",
        "prevalence",
        "Share of a label among all labels of the pairs.",
        direction="neither",
        signature=f"{_BOOTSTRAP}label:yes|resamples:2000|seed:0",
        citation="Feinstein and Cicchetti 1990",
        traps="Near 0 or 1, kappa and alpha collapse although annotators agree.",
    ),
    _entry(
        "cohen_kappa",
        "κ",
        "(p_o - p_e) / (1 - p_e) with chance from each annotator's own use of the labels; weighted: "
        "1 - sum(d observed) / sum(d expected) with d the distance of two labels or its square.",
        range="-1 to 1",
        signature=f"{_BOOTSTRAP}resamples:2000|seed:0|weights:none",
        citation="Cohen 1960, 1968",
        traps="Undefined, not 1, when both use one label only (scikit-learn returns nan). scikit-learn weights by "
        "the rank among labels that occur; here numbers keep their gaps. Pooled over pairs of annotators it depends a "
        "little on who is called first.",
    ),
    _entry(
        "fleiss_kappa",
        "Fleiss κ",
        "(mean P_u - P_e) / (1 - P_e) with P_u the share of agreeing pairs of labels of a unit and P_e "
        "the sum of squared shares of the labels.",
        range="-1/(m-1) to 1 for m labels a unit",
        signature=f"{_BOOTSTRAP}resamples:2000|seed:0",
        citation="Fleiss 1971",
        traps="With two annotators it is Scott's pi, not Cohen's kappa. Needs the same number of labels for every "
        "unit; with missing ones use Krippendorff's alpha.",
    ),
)

"""Mistakes recognised: accuracy, precision, recall, F1, ROC-AUC, PR-AUC and EER, with intervals over recordings.

Conventions: the positive class is the *mistake*. ``reference`` and ``predicted`` are 1 or True for a mistake;
``scores`` are higher for more suspicious items, and need not be probabilities. All values are between 0 and 1.
Ties in the scores are one point of every curve. What has no value (no mistake in the reference, one class only)
is ``nan`` with a note; the only silent-looking zero is the published one, precision when nothing was called a
mistake, and it carries a note too. Intervals need ``clusters``: whole recordings are drawn, because the steps
of one recording are not independent; without clusters there is no interval.

Source: Peddi et al. 2024 (CaptainCook4D). Errata of the released code: its PR-AUC is fed with hard labels, which makes
it a function of one precision-recall pair (feed scores); its scores are rescaled over the whole test set and cut
at a constant found there (both that and the right way are below).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypedDict, Unpack, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proctor.metrics.bootstrap import Floats, bootstrap_interval, cluster_sums
from proctor.metrics.catalogue import Entries
from proctor.metrics.errors import MetricInputError, require_options
from proctor.metrics.interval import Interval
from proctor.metrics.score import Score, Signature
from proctor.metrics.separation import Ranking, binary_labels, finite_scores

__all__ = [
    "AGGREGATIONS",
    "CHANCE",
    "CURVES",
    "METRICS",
    "NOTHING",
    "NOT_CALLED",
    "NO_MISTAKE",
    "PUBLISHED_THRESHOLDS",
    "STATISTICS",
    "TARGET_SHARE",
    "Aggregation",
    "Chance",
    "ChosenThreshold",
    "Curve",
    "Options",
    "Outcomes",
    "Repeated",
    "Steps",
    "above_threshold",
    "accuracy",
    "aggregate_scores",
    "average_precision",
    "between_roc_auc",
    "chance_scores",
    "choose_threshold",
    "clustered",
    "count_outcomes",
    "equal_error_rate",
    "f1_score",
    "given_settings",
    "group_steps",
    "interval_over_recordings",
    "macro_average_precision",
    "macro_kind_roc_auc",
    "macro_roc_auc",
    "outcome_columns",
    "paired_difference",
    "precision",
    "recall",
    "rescale_min_max",
    "roc_auc",
    "score_of",
    "signature_of",
    "why_undefined",
    "within_roc_auc",
]


# What all scores of mistakes share: options, signature, interval over recordings, and when there is no value.

NO_MISTAKE: Final = "no item of the reference is a mistake"
_NO_NORMAL: Final = "every item of the reference is a mistake"
NOTHING: Final = "there is nothing to score"
_BOTH_CLASSES: Final = ("roc_auc", "equal_error_rate", "within_roc_auc", "between_roc_auc")
NOT_CALLED: Final = "nothing was called a mistake: precision is set to 0, as published"


class Options(TypedDict, total=False):
    """What every score of this family takes beside its arrays.

    Attributes:
        clusters: recording of each item; needed for an interval (BCa bootstrap over recordings).
        confidence: of the interval, 0.95 when not given.
        resamples: of the bootstrap, 10,000 when not given; 0 leaves the interval out.
        seed: of the bootstrap, 0 when not given.
        settings: further parts of the signature (level, threshold, protocol).
    """

    clusters: Sequence[str] | None
    confidence: float
    resamples: int
    seed: int
    settings: Mapping[str, str]


def why_undefined(name: str, n: int, positives: int) -> str:
    """Why a metric has no value on such a reference; empty when it has one."""
    if not n:
        return NOTHING
    if not positives and name not in ("accuracy", "precision"):
        return NO_MISTAKE
    return _NO_NORMAL if positives == n and name in _BOTH_CLASSES else ""


def given_settings(options: Options) -> Mapping[str, str]:
    """Further parts of the signature, as the caller gave them.

    Raises:
        MetricInputError: if an option is not one of ``Options``: a misspelt one would be without effect.
    """
    require_options(options, Options.__annotations__)
    return options.get("settings", {})


def signature_of(name: str, settings: Mapping[str, str]) -> Signature:
    """Return a signature that says which class is positive."""
    return Signature(name, {"positive": "error", **settings})


def interval_over_recordings(
    sums: Floats, statistic: Callable[[Floats], Floats], options: Options
) -> Interval | None:
    """Draw whole recordings; None when no resamples are wanted."""
    resamples = options.get("resamples", 10_000)
    if not resamples:
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        return bootstrap_interval(
            sums,
            statistic,
            confidence=options.get("confidence", 0.95),
            resamples=resamples,
            seed=options.get("seed", 0),
        )


def score_of(
    value: float,
    signature: Signature,
    n: int,
    interval: Interval | None,
    note: str,
    options: Options,
    skipped: int = 0,
) -> Score:
    """Put value, interval and notes together as a score."""
    if interval is None:
        return Score(value, signature.having(interval="none"), n, skipped=skipped, note=note)
    parts = {
        "cluster": "recording",
        "interval": interval.method,
        "resamples": str(options.get("resamples", 10_000)),
        "seed": str(options.get("seed", 0)),
    }
    notes = "; ".join(text for text in (note, interval.note) if text)
    return Score(
        value, signature.having(**parts), n, interval.low, interval.high, skipped=skipped, note=notes
    )


# What knowing nothing about the items gives.

Chance = Literal["always-error", "always-normal", "prior"]
CHANCE: Final[tuple[Chance, ...]] = get_args(Chance)


def chance_scores(reference: ArrayLike, predictor: Chance, **options: Unpack[Options]) -> dict[str, Score]:
    """What knowing nothing about the items gives: the rows to print beside every result.

    Args:
        reference: 1 or True for a mistake; shape (n,).
        predictor: ``always-error``; ``always-normal``; or ``prior``: every item is called a mistake with the
            probability ``p`` of a mistake in the reference, whatever it looks like. The values of ``prior`` are
            exact expectations over its random calls: ``p² + (1-p)²`` for accuracy, ``p (1 - (1-p)^n)`` for
            precision (0 when nothing is called), ``p`` for recall, and for F1 the sum over the number of calls.
        **options: only ``settings`` is used; a chance row has no interval.

    Returns:
        Scores by metric name. The ranking metrics are those of a constant score: ROC-AUC 0.5, average precision
        ``p``, equal error rate 0.5.

    Raises:
        MetricInputError: if a label is not 0/1 or the predictor is unknown.
    """
    labels = binary_labels(reference)
    if predictor not in CHANCE:
        raise MetricInputError(f"predictor must be one of {', '.join(CHANCE)}, got {predictor!r}")
    n, positives = labels.size, int(labels.sum())
    p = positives / n if n else math.nan
    fixed = {
        "always-error": (p, p, 1.0, 2 * p / (1 + p)),
        "always-normal": (1 - p, 0.0, 0.0, 0.0),
        "prior": (p * p + (1 - p) ** 2, p * (1 - (1 - p) ** n), p, _expected_f1(n, positives)),
    }[predictor]
    values = dict(zip(("accuracy", "precision", "recall", "f1_score"), fixed, strict=True))
    values |= {"roc_auc": 0.5, "average_precision": p, "equal_error_rate": 0.5}
    out = {}
    for name, value in values.items():
        note = why_undefined(name, n, positives)
        if not note and name == "precision" and predictor == "always-normal":
            note = NOT_CALLED
        parts = {**given_settings(options), "interval": "none", "predictor": predictor}
        out[name] = Score(
            math.nan if note and note != NOT_CALLED else value, signature_of(name, parts), n, note=note
        )
    return out


def _expected_f1(n: int, positives: int) -> float:
    """Expected F1 of calling each of ``n`` items a mistake with probability ``positives / n``, independently.

    With ``k`` calls, ``k · p`` of them are right on average and the denominator is ``k + positives``; the number
    of calls is binomial.
    """
    if not positives:
        return math.nan
    p = positives / n
    calls = np.arange(n + 1, dtype=np.float64)
    if positives == n:
        return 1.0
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1, dtype=np.float64)))])
    chances = logs[n] - logs - logs[::-1] + calls * math.log(p) + (n - calls) * math.log1p(-p)
    return float((np.exp(chances) * 2 * calls * p / (calls + positives)).sum())


# Scores of a ranking: ROC-AUC, average precision and equal error rate.


def roc_auc(reference: ArrayLike, scores: ArrayLike, **options: Unpack[Options]) -> Score:
    """Area under the ROC curve: the chance that a mistake scores above a normal item, ties half.

    Args:
        reference: 1 or True for a mistake; shape (n,).
        scores: higher means more likely a mistake; shape (n,).
        **options: see ``Options``.

    Returns:
        Between 0 and 1, 0.5 for any constant; undefined with a note when one of the classes is missing.

    Raises:
        MetricInputError: if shapes differ or a score is not finite.
    """
    return _of_ranking("roc_auc", reference, scores, CURVES["roc_auc"], True, options)


def average_precision(reference: ArrayLike, scores: ArrayLike, **options: Unpack[Options]) -> Score:
    """Area under the precision-recall curve, as the sum of ``Δrecall · precision`` over distinct scores.

    Args:
        reference: 1 or True for a mistake; shape (n,).
        scores: higher means more likely a mistake; shape (n,). Hard labels are possible and meaningless (the
            released code feeds them).
        **options: see ``Options``.

    Returns:
        Between 0 and 1; a constant score gives the prevalence. Undefined with a note when no item is a mistake.

    Raises:
        MetricInputError: if shapes differ or a score is not finite.
    """
    return _of_ranking(
        "average_precision", reference, scores, lambda r, w: r.average_precision(w), False, options
    )


def equal_error_rate(reference: ArrayLike, scores: ArrayLike, **options: Unpack[Options]) -> Score:
    """False-positive rate where it equals the miss rate (``1 - TPR``), on the linearly interpolated ROC curve.

    Args:
        reference: 1 or True for a mistake; shape (n,).
        scores: higher means more likely a mistake; shape (n,).
        **options: see ``Options``.

    Returns:
        Between 0 (perfect) and 1; 0.5 for any constant. Undefined with a note when one class is missing.

    Raises:
        MetricInputError: if shapes differ or a score is not finite.
    """
    return _of_ranking(
        "equal_error_rate", reference, scores, lambda r, w: r.equal_error_rate(w), True, options
    )


def within_roc_auc(reference: ArrayLike, scores: ArrayLike, **options: Unpack[Options]) -> Score:
    """Share of the pairs of a mistake and a normal item *of the same recording* that are ranked right, ties half.

    What knowing which recordings are bad cannot raise. All pairs are pooled, so that a recording weighs as much as
    it has pairs; ``macro_roc_auc`` gives each recording the same weight.

    Args:
        reference: 1 or True for a mistake; shape (n,).
        scores: higher means more likely a mistake; shape (n,).
        **options: see ``Options``; ``clusters`` must be given. Under a resample, a recording that was drawn twice is
            two recordings.

    Returns:
        Between 0 and 1, 0.5 for anything that is constant within recordings; undefined with a note when no
        recording has both classes.

    Raises:
        MetricInputError: if clusters are missing, shapes differ or a score is not finite.
    """
    return _of_ranking("within_roc_auc", reference, scores, CURVES["within_roc_auc"], True, options)


def between_roc_auc(reference: ArrayLike, scores: ArrayLike, **options: Unpack[Options]) -> Score:
    """Share of the pairs of a mistake and a normal item *of two recordings* that are ranked right, ties half.

    Args:
        reference: 1 or True for a mistake; shape (n,).
        scores: higher means more likely a mistake; shape (n,).
        **options: see ``Options``; ``clusters`` must be given. Under a resample, two copies of one recording are not
            two recordings: a pair of both does not count.

    Returns:
        Between 0 and 1; undefined with a note when no mistake has a normal item in another recording.

    Raises:
        MetricInputError: if clusters are missing, shapes differ or a score is not finite.
    """
    return _of_ranking("between_roc_auc", reference, scores, CURVES["between_roc_auc"], True, options)


def macro_roc_auc(
    reference: ArrayLike, scores: ArrayLike, groups: Sequence[str], **options: Unpack[Options]
) -> Score:
    """Mean over recordings of the ROC-AUC within each: how well a system orders the items of one recording.

    Pooling all items ("micro", ``roc_auc``) also rewards knowing which recordings have many mistakes.

    Args:
        reference: 1 or True for a mistake; shape (n,).
        scores: higher means more likely a mistake; shape (n,).
        groups: recording of each item; length n.
        **options: see ``Options``; ``clusters`` is ignored, since the groups are drawn.

    Returns:
        Between 0 and 1; ``n`` counts the groups with both classes, ``skipped`` the others. Undefined with a note
        when no group has both.

    Raises:
        MetricInputError: if shapes differ or a score is not finite.
    """
    labels, values = binary_labels(reference), finite_scores(scores)
    if not labels.size == values.size == len(groups):
        raise MetricInputError(
            f"reference, scores and groups must be parallel, got {labels.size}, {values.size} and {len(groups)}"
        )
    names, index = np.unique(np.asarray(groups, dtype=np.str_), return_inverse=True)
    order = np.argsort(index, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(index[order])) + 1) if labels.size else []
    areas = [float(Ranking.of(labels[part], values[part]).roc_auc()[0]) for part in parts]
    kept = [k for k, area in enumerate(areas) if not math.isnan(area)]
    signature = signature_of(
        "macro_roc_auc", {**given_settings(options), "over": "recordings", "ties": "half"}
    )
    skipped = len(areas) - len(kept)
    if not kept:
        note = "no recording has both mistakes and normal items" if areas else NOTHING
        return Score(math.nan, signature.having(interval="none"), 0, skipped=skipped, note=note)
    found = [areas[k] for k in kept]
    sums = cluster_sums([found, [1.0] * len(found)], [str(names[k]) for k in kept])
    interval = interval_over_recordings(sums, lambda s: s[:, 0] / s[:, 1], options)
    note = f"{skipped} recording{'s' * (skipped > 1)} with one class left out" if skipped else ""
    return score_of(math.fsum(found) / len(found), signature, len(found), interval, note, options, skipped)


Curve = Callable[[Ranking, Floats | None], Floats]


def _of_ranking(
    name: str, reference: ArrayLike, scores: ArrayLike, curve: Curve, both_classes: bool, options: Options
) -> Score:
    clusters = _clusters_for(name, options)
    ranking = Ranking.of(reference, scores, clusters)
    n, positives = ranking.positive.size, int(ranking.positive.sum())
    signature = signature_of(name, {**given_settings(options), "ties": "half" if both_classes else "grouped"})
    if note := why_undefined(name, n, positives):
        return Score(math.nan, signature.having(interval="none"), n, note=note)
    value = float(curve(ranking if name in _NO_PAIRS else Ranking.of(reference, scores), None)[0])
    if math.isnan(value):
        return Score(math.nan, signature.having(interval="none"), n, note=_NO_PAIRS[name])
    interval = None
    if clusters is not None:
        interval = interval_over_recordings(
            np.eye(ranking.clusters), lambda counts: curve(ranking, counts), options
        )
    return score_of(value, signature, n, interval, "", options)


_NO_PAIRS: Final[Mapping[str, str]] = {
    "within_roc_auc": "no recording has both mistakes and normal items",
    "between_roc_auc": "no mistake has a normal item in another recording",
}
"""The metrics of pairs of clusters, and why one has no value although both classes occur."""


def _clusters_for(metric: str, options: Options) -> Sequence[str] | None:
    clusters = options.get("clusters")
    if clusters is None and metric in _NO_PAIRS:
        raise MetricInputError(f"{metric} needs clusters", "give the recording of each item as clusters=")
    return clusters


CURVES: Final[Mapping[str, Curve]] = {
    "roc_auc": lambda ranking, counts: ranking.roc_auc(counts),
    "within_roc_auc": lambda ranking, counts: ranking.within_roc_auc(counts),
    "between_roc_auc": lambda ranking, counts: ranking.between_roc_auc(counts),
    "average_precision": lambda ranking, counts: ranking.average_precision(counts),
    "equal_error_rate": lambda ranking, counts: ranking.equal_error_rate(counts),
}


# Scores of yes-or-no calls: accuracy, precision, recall and F1, from four counts.


@dataclass(frozen=True, slots=True)
class Outcomes:
    """How often each of the four things happened; the positive class is the mistake."""

    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int

    @property
    def n(self) -> int:
        """Items in all."""
        return self.positives + self.false_positives + self.true_negatives

    @property
    def positives(self) -> int:
        """Items that are a mistake."""
        return self.true_positives + self.false_negatives

    @property
    def called(self) -> int:
        """Items that were called a mistake."""
        return self.true_positives + self.false_positives


def count_outcomes(reference: ArrayLike, predicted: ArrayLike) -> Outcomes:
    """Count true and false positives and negatives.

    Args:
        reference: 1 or True for a mistake; shape (n,).
        predicted: 1 or True for what was called one; shape (n,).

    Raises:
        MetricInputError: if shapes differ or a value is not 0/1.
    """
    columns = outcome_columns(reference, predicted)
    return Outcomes(*(int(column.sum()) for column in columns))


def outcome_columns(reference: ArrayLike, predicted: ArrayLike) -> Floats:
    """One row each for true positives, false positives, false negatives, true negatives; one column an item."""
    truth, call = binary_labels(reference), binary_labels(predicted, "predicted")
    if truth.size != call.size:
        raise MetricInputError(f"reference and predicted must be parallel, got {truth.size} and {call.size}")
    return np.stack([truth & call, ~truth & call, truth & ~call, ~truth & ~call]).astype(np.float64)


def accuracy(reference: ArrayLike, predicted: ArrayLike, **options: Unpack[Options]) -> Score:
    """Share of items whose label is right: ``(TP + TN) / n``.

    Args:
        reference: 1 or True for a mistake; shape (n,).
        predicted: 1 or True for what was called one; shape (n,).
        **options: see ``Options``.

    Returns:
        Between 0 and 1; undefined with a note when there is no item. With few mistakes "never a mistake" scores
        high: read it beside ``chance_scores``.

    Raises:
        MetricInputError: if shapes differ or a value is not 0/1.
    """
    return _of_counts("accuracy", reference, predicted, _accuracy, "", options)


def precision(reference: ArrayLike, predicted: ArrayLike, **options: Unpack[Options]) -> Score:
    """Share of the items called a mistake that are one: ``TP / (TP + FP)``.

    Args:
        reference: 1 or True for a mistake; shape (n,).
        predicted: 1 or True for what was called one; shape (n,).
        **options: see ``Options``.

    Returns:
        Between 0 and 1; 0 with a note when nothing was called a mistake (the published convention).

    Raises:
        MetricInputError: if shapes differ or a value is not 0/1.
    """
    return _of_counts("precision", reference, predicted, _precision, "", options)


def recall(reference: ArrayLike, predicted: ArrayLike, **options: Unpack[Options]) -> Score:
    """Share of the mistakes that were called one: ``TP / (TP + FN)``.

    Args:
        reference: 1 or True for a mistake; shape (n,).
        predicted: 1 or True for what was called one; shape (n,).
        **options: see ``Options``.

    Returns:
        Between 0 and 1; undefined with a note when no item is a mistake.

    Raises:
        MetricInputError: if shapes differ or a value is not 0/1.
    """
    return _of_counts("recall", reference, predicted, _recall, NO_MISTAKE, options)


def f1_score(reference: ArrayLike, predicted: ArrayLike, **options: Unpack[Options]) -> Score:
    """Harmonic mean of precision and recall of the mistakes: ``2 TP / (2 TP + FP + FN)``.

    Args:
        reference: 1 or True for a mistake; shape (n,).
        predicted: 1 or True for what was called one; shape (n,).
        **options: see ``Options``.

    Returns:
        Between 0 and 1; undefined with a note when no item is a mistake. Calling everything a mistake gives
        ``2 p / (1 + p)`` at prevalence ``p`` (0.53 on the published test set R): read it beside ``chance_scores``.

    Raises:
        MetricInputError: if shapes differ or a value is not 0/1.
    """
    return _of_counts("f1_score", reference, predicted, _f1, NO_MISTAKE, options)


def _accuracy(sums: Floats) -> Floats:
    result: Floats = (sums[:, 0] + sums[:, 3]) / sums.sum(axis=1)
    return result


def _precision(sums: Floats) -> Floats:
    called = sums[:, 0] + sums[:, 1]
    result: Floats = np.divide(sums[:, 0], called, out=np.zeros(len(sums)), where=called > 0)
    return result


def _recall(sums: Floats) -> Floats:
    positives = sums[:, 0] + sums[:, 2]
    result: Floats = np.divide(sums[:, 0], positives, out=np.full(len(sums), np.nan), where=positives > 0)
    return result


def _f1(sums: Floats) -> Floats:
    positives = sums[:, 0] + sums[:, 2]
    both = 2 * sums[:, 0] + sums[:, 1] + sums[:, 2]
    result: Floats = np.divide(2 * sums[:, 0], both, out=np.full(len(sums), np.nan), where=positives > 0)
    return result


def _of_counts(
    name: str,
    reference: ArrayLike,
    predicted: ArrayLike,
    statistic: Callable[[Floats], Floats],
    without_mistakes: str,
    options: Options,
) -> Score:
    columns = outcome_columns(reference, predicted)
    n = columns.shape[1]
    signature = signature_of(name, given_settings(options))
    totals = columns.sum(axis=1)
    if not n or (without_mistakes and totals[0] + totals[2] == 0):
        return Score(math.nan, signature.having(interval="none"), n, note=without_mistakes if n else NOTHING)
    clusters = options.get("clusters")
    interval = (
        None
        if clusters is None
        else interval_over_recordings(clustered(columns, clusters), statistic, options)
    )
    note = NOT_CALLED if name == "precision" and totals[0] + totals[1] == 0 else ""
    return score_of(float(statistic(totals[None, :])[0]), signature, n, interval, note, options)


def clustered(columns: Floats, clusters: Sequence[str]) -> Floats:
    """Sums of the columns within each recording."""
    if len(clusters) != columns.shape[1]:
        raise MetricInputError(f"one cluster an item is needed, got {len(clusters)} for {columns.shape[1]}")
    return cluster_sums(columns, clusters)


STATISTICS: Final[Mapping[str, Callable[[Floats], Floats]]] = {
    "accuracy": _accuracy,
    "precision": _precision,
    "recall": _recall,
    "f1_score": _f1,
}


# Two systems on the same items.


def paired_difference(
    metric: str, reference: ArrayLike, a: ArrayLike, b: ArrayLike, **options: Unpack[Options]
) -> Score:
    """How much better the second system is than the first on the same items: value of ``b`` minus value of ``a``.

    Both systems see the same resamples, so what makes a recording hard for both does not widen the interval. An
    interval without 0 is a difference at its level; with many pairs of systems, some will be by chance.

    Args:
        metric: ``accuracy``, ``precision``, ``recall``, ``f1_score`` (``a`` and ``b`` are decisions), or ``roc_auc``,
            ``within_roc_auc``, ``between_roc_auc``, ``average_precision``, ``equal_error_rate`` (``a`` and ``b`` are
            scores).
        reference: 1 or True for a mistake; shape (n,).
        a: decisions or scores of the first system; shape (n,).
        b: of the second, for the same items; shape (n,).
        **options: see ``Options``.

    Returns:
        Between -1 and 1; undefined with a note where the metric itself is.

    Raises:
        MetricInputError: if the metric is unknown, shapes differ or a value has no meaning.
    """
    if metric not in STATISTICS and metric not in CURVES:
        known = ", ".join([*STATISTICS, *CURVES])
        raise MetricInputError(f"there is no metric {metric!r} to compare", f"choose one of {known}")
    labels = binary_labels(reference)
    signature = signature_of(f"{metric}_difference", given_settings(options))
    if note := why_undefined(metric, labels.size, int(labels.sum())):
        return Score(math.nan, signature.having(interval="none"), labels.size, note=note)
    clusters = _clusters_for(metric, options)
    statistic: Callable[[Floats], Floats]
    if metric in STATISTICS:
        single = STATISTICS[metric]
        columns = np.concatenate([outcome_columns(labels, a), outcome_columns(labels, b)])

        def statistic(sums: Floats) -> Floats:
            return single(sums[:, 4:]) - single(sums[:, :4])

        value = float(statistic(columns.sum(axis=1)[None, :])[0])
        sums = None if clusters is None else clustered(columns, clusters)
    else:
        curve = CURVES[metric]
        first, second = Ranking.of(labels, a, clusters), Ranking.of(labels, b, clusters)

        def statistic(counts: Floats) -> Floats:
            return curve(second, counts) - curve(first, counts)

        value = float(statistic(np.ones((1, first.clusters)))[0])
        if math.isnan(value):
            return Score(value, signature.having(interval="none"), labels.size, note=_NO_PAIRS[metric])
        sums = None if clusters is None else np.eye(first.clusters)
    interval = None if sums is None else interval_over_recordings(sums, statistic, options)
    return score_of(value, signature, labels.size, interval, "", options)


# Means over the kinds of mistakes.


def macro_average_precision(
    reference: Mapping[str, ArrayLike], scores: Mapping[str, ArrayLike], **options: Unpack[Options]
) -> Score:
    """Mean over mistake kinds of the average precision of each, one kind against everything else.

    Args:
        reference: by kind, 1 or True where the item has a mistake of that kind; shape (n,) each.
        scores: by the same kinds; shape (n,) each.
        **options: see ``Options``.

    Returns:
        Between 0 and 1; kinds that do not occur are left out and named in the note.

    Raises:
        MetricInputError: if kinds or shapes differ or a score is not finite.
    """
    return _over_kinds(
        "macro_average_precision", reference, scores, lambda r, w: r.average_precision(w), options
    )


def macro_kind_roc_auc(
    reference: Mapping[str, ArrayLike], scores: Mapping[str, ArrayLike], **options: Unpack[Options]
) -> Score:
    """Mean over mistake kinds of the ROC-AUC of each, one kind against everything else.

    Args:
        reference: by kind, 1 or True where the item has a mistake of that kind; shape (n,) each.
        scores: by the same kinds; shape (n,) each.
        **options: see ``Options``.

    Returns:
        Between 0 and 1; kinds that do not occur, or occur everywhere, are left out and named in the note.

    Raises:
        MetricInputError: if kinds or shapes differ or a score is not finite.
    """
    return _over_kinds("macro_kind_roc_auc", reference, scores, lambda r, w: r.roc_auc(w), options)


def _over_kinds(
    name: str,
    reference: Mapping[str, ArrayLike],
    scores: Mapping[str, ArrayLike],
    curve: Curve,
    options: Options,
) -> Score:
    if set(reference) != set(scores):
        odd = sorted(set(reference) ^ set(scores))
        raise MetricInputError(f"reference and scores must have the same kinds; only one has {odd[0]!r}")
    clusters = options.get("clusters")
    rankings = {kind: Ranking.of(reference[kind], scores[kind], clusters) for kind in sorted(reference)}
    sizes = {ranking.positive.size for ranking in rankings.values()}
    if len(sizes) > 1:
        raise MetricInputError(
            f"all kinds must have the same items, got {' and '.join(map(str, sorted(sizes)))}"
        )
    n = max(sizes, default=0)
    signature = signature_of(name, {**given_settings(options), "over": "kinds"})
    values = {
        kind: float(curve(ranking, np.ones((1, ranking.clusters)))[0]) for kind, ranking in rankings.items()
    }
    kept = [kind for kind, value in values.items() if not math.isnan(value)]
    left_out = [kind for kind in values if kind not in kept]
    if not kept:
        note = (
            f"no kind of mistake has a value ({', '.join(left_out)})" if left_out else "no kinds were given"
        )
        return Score(math.nan, signature.having(interval="none"), n, note=note)

    def mean(counts: Floats) -> Floats:
        result: Floats = np.mean([curve(rankings[kind], counts) for kind in kept], axis=0)
        return result

    interval = None
    if clusters is not None:
        interval = interval_over_recordings(np.eye(rankings[kept[0]].clusters), mean, options)
    note = f"left out, because they do not occur: {', '.join(left_out)}" if left_out else ""
    value = math.fsum(values[kind] for kind in kept) / len(kept)
    return score_of(value, signature.having(kinds=str(len(kept))), n, interval, note, options)


# The metrics of this family, for the catalogue.

_TAIL: Final = "cluster:recording|interval:bca-95|level:step|positive:error|resamples:10000|seed:0"
_THRESHOLD: Final = "threshold:validation-f1=0.41"

_entry: Final = Entries("classification", "classification")

METRICS: Final = (
    _entry(
        "accuracy",
        "accuracy",
        "Share of items whose label is right: (TP + TN) / n.",
        signature=f"{_TAIL}|{_THRESHOLD}",
        citation="Peddi et al. 2024 (CaptainCook4D)",
        traps="Calling everything normal gives 1 - prevalence (0.641 on the published test set R); most published rows "
        "are below that.",
    ),
    _entry(
        "precision",
        "precision",
        "Share of the items called a mistake that are one: TP / (TP + FP); 0 when nothing was called one.",
        signature=f"{_TAIL}|{_THRESHOLD}",
        citation="Peddi et al. 2024 (CaptainCook4D)",
        traps="The 0 for no call is a convention, and the score says so in its note.",
    ),
    _entry(
        "recall",
        "recall",
        "Share of the mistakes that were called one: TP / (TP + FN).",
        signature=f"{_TAIL}|{_THRESHOLD}",
        citation="Peddi et al. 2024 (CaptainCook4D)",
        traps="1 for always saying 'mistake'; means nothing without precision.",
    ),
    _entry(
        "f1_score",
        "F1",
        "Harmonic mean of precision and recall of the mistakes: 2 TP / (2 TP + FP + FN).",
        signature=f"{_TAIL}|{_THRESHOLD}",
        citation="Peddi et al. 2024 (CaptainCook4D)",
        traps="Always saying 'mistake' gives 2p / (1 + p): 0.528 on test set R, which 11 of 13 published rows do not "
        "reach. Depends on the threshold: choose it on validation only (the released code rescales over the test "
        "set and cuts at 0.6 or 0.4).",
    ),
    _entry(
        "roc_auc",
        "ROC-AUC",
        "Chance that a mistake scores above a normal item, ties counting half.",
        signature=f"{_TAIL}|ties:half",
        citation="Mann and Whitney 1947; Peddi et al. 2024 (CaptainCook4D)",
        traps="Needs scores: on hard labels it is the mean of recall and specificity. Pooled over recordings it also "
        "rewards knowing which recordings are bad (see within_roc_auc).",
    ),
    _entry(
        "average_precision",
        "PR-AUC",
        "Sum over distinct scores of the gain in recall times the precision there.",
        signature=f"{_TAIL}|ties:grouped",
        citation="Davis and Goadrich 2006",
        traps="Chance is the prevalence, not 0.5. The released code feeds hard labels, so its PR-AUC has no meaning.",
    ),
    _entry(
        "equal_error_rate",
        "EER",
        "False-positive rate where it equals the miss rate, on the linearly interpolated ROC curve.",
        range="1 to 0",
        direction="lower",
        signature=f"{_TAIL}|ties:half",
        citation="Peddi et al. 2024 (CaptainCook4D)",
        traps="Less is better; 0.5 for any constant score.",
    ),
    _entry(
        "within_roc_auc",
        "ROC-AUC within recordings",
        "Share of the pairs of a mistake and a normal item of the same recording that are ranked right, ties half.",
        signature=f"{_TAIL}|ties:half",
        citation="ours",
        traps="A recording weighs as much as it has pairs; one with one class has none. Knowing which recordings are bad "
        "gives 0.5 here and a high pooled ROC-AUC.",
    ),
    _entry(
        "between_roc_auc",
        "ROC-AUC between recordings",
        "Share of the pairs of a mistake and a normal item of two recordings that are ranked right, ties half.",
        signature=f"{_TAIL}|ties:half",
        citation="ours",
        traps="With many recordings nearly all pairs are of this sort, so the pooled ROC-AUC is close to it.",
    ),
    _entry(
        "macro_roc_auc",
        "ROC-AUC per recording",
        "Mean over recordings of the ROC-AUC within each.",
        signature=f"{_TAIL}|over:recordings|ties:half",
        citation="Peddi et al. 2024 (CaptainCook4D)",
        traps="Recordings with one class have no AUC; they are left out and counted as skipped.",
    ),
    _entry(
        "macro_average_precision",
        "PR-AUC",
        "Mean over kinds of mistake of the average precision of each against everything else.",
        signature=f"kinds:5|{_TAIL}|over:kinds",
        citation="ours",
        traps="A rare kind weighs as much as a frequent one, and its chance level (its prevalence) is far lower.",
    ),
    _entry(
        "macro_kind_roc_auc",
        "ROC-AUC",
        "Mean over kinds of mistake of the ROC-AUC of each against everything else.",
        signature=f"kinds:5|{_TAIL}|over:kinds",
        citation="ours",
        traps="Mistakes of another kind count as negatives, as in the released code.",
    ),
)


# From sub-steps to steps: what a model says about every second of a step, as one score for the step.
#
# Conventions (Peddi et al. 2024): a sample is one step of one recording, whatever the number of times it was
# executed. Its score is the ``mean`` of the probabilities of all its sub-steps (as the released code does; it
# keeps a ranking, so it has an AUC), or the ``vote``: the fraction of sub-steps with a probability above 0.5 (as
# the paper says; half and half is "normal"). An execution is a mistake if the mean of its sub-step labels is above
# 0.95, and the step is one if any of its executions is.
#
# Erratum: the released loader gives a repeated step the label of its *last* execution (13 steps of the data set
# have executions of both kinds); ``repeated="last"`` does the same for comparison.

Aggregation = Literal["mean", "vote"]
Repeated = Literal["or", "last"]
AGGREGATIONS: Final[tuple[Aggregation, ...]] = get_args(Aggregation)
TARGET_SHARE: Final = 0.95
"""A step is a mistake if more than this share of its sub-step labels is (the released code)."""


@dataclass(frozen=True, slots=True)
class Steps:
    """Which rows belong to which step.

    Attributes:
        index: position of the step of each row, shape (rows,); steps are sorted by recording, then step.
        recordings: of each step.
        names: of each step.
        reference: whether the step is a mistake, shape (steps,).
        repeated: steps that were executed more than once.
        mixed: repeated steps of which some executions are mistakes and others are not.
    """

    index: NDArray[np.int64]
    recordings: tuple[str, ...]
    names: tuple[str, ...]
    reference: NDArray[np.bool_]
    repeated: int
    mixed: int


def group_steps(
    reference: ArrayLike,
    recordings: Sequence[str],
    steps: Sequence[str],
    segments: Sequence[str] | None = None,
    *,
    repeated: Repeated = "or",
) -> Steps:
    """Group rows into steps and derive the label of each step.

    Args:
        reference: label of each row, 1 or True for a mistake; shape (rows,).
        recordings: of each row.
        steps: of each row; a step is known by recording and step together.
        segments: which execution of its step a row belongs to; executions are taken in the order in which they
            first occur. When not given, all rows of a step are sub-steps of one execution.
        repeated: ``or`` (a mistake in any execution) or ``last`` (label of the last execution, as released).

    Raises:
        MetricInputError: if lengths differ or an option is unknown.
    """
    labels = binary_labels(reference)
    parts = [recordings, steps] if segments is None else [recordings, steps, segments]
    if any(len(part) != labels.size for part in parts):
        raise MetricInputError(f"{labels.size} labels for {' and '.join(str(len(p)) for p in parts)} names")
    if repeated not in get_args(Repeated):
        raise MetricInputError(f"repeated must be 'or' or 'last', got {repeated!r}")
    executions: dict[tuple[str, ...], int] = {}
    of_row = np.array(
        [executions.setdefault(key, len(executions)) for key in zip(*parts, strict=True)], dtype=int
    )
    count = len(executions)
    sizes = np.bincount(of_row, minlength=count)
    target = np.bincount(of_row, weights=labels, minlength=count) > TARGET_SHARE * sizes

    keys = sorted({(key[0], key[1]) for key in executions})
    position = {key: k for k, key in enumerate(keys)}
    of_execution = np.array([position[key[0], key[1]] for key in executions], dtype=np.int64)
    wrong = np.bincount(of_execution, weights=target, minlength=len(keys))
    times = np.bincount(of_execution, minlength=len(keys))
    step_label = wrong > 0
    if repeated == "last":
        step_label[of_execution] = target  # in order of occurrence: the last one stays
    return Steps(
        of_execution[of_row] if count else np.zeros(0, dtype=np.int64),
        tuple(key[0] for key in keys),
        tuple(key[1] for key in keys),
        step_label,
        int((times > 1).sum()),
        int(((wrong > 0) & (wrong < times)).sum()),
    )


def aggregate_scores(
    probabilities: ArrayLike, index: ArrayLike, steps: int, *, method: Aggregation = "mean"
) -> NDArray[np.float64]:
    """Return one score a step from the scores of its sub-steps.

    Args:
        probabilities: of each sub-step being part of a mistake; for ``vote`` between 0 and 1. Shape (rows,).
        index: position of the step of each sub-step, shape (rows,).
        steps: how many steps there are.
        method: ``mean``, or ``vote`` (fraction of sub-steps above 0.5).

    Returns:
        Shape (steps,); ``nan`` for a step without a sub-step.

    Raises:
        MetricInputError: if an option is unknown or a value out of range.
    """
    values, places = finite_scores(probabilities, "probabilities"), np.asarray(index, dtype=np.int64)
    if values.shape != places.shape:
        raise MetricInputError(f"{values.size} probabilities for {places.size} sub-steps")
    if places.size and not 0 <= int(places.min()) <= int(places.max()) < steps:
        raise MetricInputError(f"positions of steps must lie between 0 and {steps - 1}")
    if method not in AGGREGATIONS:
        raise MetricInputError(f"method must be 'mean' or 'vote', got {method!r}")
    if method == "vote":
        outside = np.flatnonzero((values < 0) | (values > 1))
        if outside.size:
            raise MetricInputError(
                f"a vote needs probabilities between 0 and 1, got {values[outside[0]]:g} at position {outside[0]}",
                "apply the sigmoid to logits first",
            )
        values = (values > 0.5).astype(np.float64)
    # sorted within a step, so that the sum does not depend on the order of the rows
    order = np.lexsort((values, places))
    sizes = np.bincount(places, minlength=steps)
    sums = np.bincount(places[order], weights=values[order], minlength=steps)
    result: NDArray[np.float64] = np.divide(sums, sizes, out=np.full(steps, np.nan), where=sizes > 0)
    return result


# From scores to decisions: a threshold chosen on validation, a fixed one, or the published rescaling.
#
# Conventions: a score strictly above the threshold is a mistake; a score equal to it is not. The published protocol rescales
# the scores of the *whole test set* to 0…1 and compares them with a constant that depends on the split; the constant was
# found on the test set, and every prediction then depends on all the others. It is here to reproduce those figures, under its own name.

PUBLISHED_THRESHOLDS: Final = {"S": 0.6, "R": 0.4}
"""Thresholds of the released error recognition code after its rescaling, by split."""


@dataclass(frozen=True, slots=True)
class ChosenThreshold:
    """A threshold and what it reached where it was chosen.

    Attributes:
        value: scores above it are mistakes; ``-inf`` when calling everything a mistake was best.
        f1: F1 of the mistake class on the items it was chosen on.
        n: how many items those were.
        positives: how many of them are mistakes.
    """

    value: float
    f1: float
    n: int
    positives: int


def above_threshold(scores: ArrayLike, threshold: float) -> NDArray[np.bool_]:
    """Return which scores are strictly above the threshold; shape as ``scores``.

    Raises:
        MetricInputError: if a score is not finite or the threshold is not a number.
    """
    if math.isnan(threshold):
        raise MetricInputError("the threshold is not a number")
    return finite_scores(scores) > threshold


def choose_threshold(reference: ArrayLike, scores: ArrayLike) -> ChosenThreshold:
    """Choose the threshold with the highest F1 of the positive class; call it on validation data only.

    Candidates lie halfway between neighbouring distinct scores, and at ``-inf`` (everything is a mistake). Among
    equal F1 the highest threshold wins, so the choice is unique and independent of the order of the items.

    Args:
        reference: 1 or True for a mistake; shape (n,).
        scores: higher means more likely a mistake; shape (n,).

    Raises:
        MetricInputError: if shapes differ, a score is not finite, or no item is a mistake (every threshold then
            has the same F1).
    """
    labels, values = binary_labels(reference), finite_scores(scores)
    if labels.size != values.size:
        raise MetricInputError(f"reference and scores must be parallel, got {labels.size} and {values.size}")
    positives = int(labels.sum())
    if not positives:
        raise MetricInputError(
            f"a threshold cannot be chosen on {labels.size} items without a mistake",
            "choose it on data with both classes, or give a fixed threshold",
        )
    order = np.argsort(-values, kind="stable")
    ranked = values[order]
    ends = np.flatnonzero(np.concatenate([ranked[1:] != ranked[:-1], [True]]))
    hits = np.cumsum(labels[order])[ends]
    # whole numbers divided once: equal fractions give equal floats, so ties are found exactly
    f1 = 2 * hits / (ends + 1 + positives)
    best = int(np.argmax(f1))
    return ChosenThreshold(_below(ranked, ends, best), float(f1[best]), labels.size, positives)


def _below(ranked: NDArray[np.float64], ends: NDArray[np.intp], group: int) -> float:
    """Return a number below the scores of this group and not below those of the next one."""
    if group == ends.size - 1:
        return -math.inf
    high, low = float(ranked[ends[group]]), float(ranked[ends[group] + 1])
    middle = low + (high - low) / 2
    return middle if low <= middle < high else low


def rescale_min_max(scores: ArrayLike) -> NDArray[np.float64]:
    """Map the lowest score to 0 and the highest to 1, as the published protocol does over the test set.

    Raises:
        MetricInputError: if there is no score, or all are equal (the published code divides by zero there).
    """
    values = finite_scores(scores)
    if not values.size:
        raise MetricInputError("there are no scores to rescale")
    low, high = float(values.min()), float(values.max())
    if low == high:
        raise MetricInputError(
            f"all {values.size} scores are {low:g}: they cannot be rescaled to 0…1",
            "score them in the corrected protocol",
        )
    # divided first: the difference of two huge numbers could overflow
    scale = max(abs(low), abs(high))
    result: NDArray[np.float64] = (values / scale - low / scale) / (high / scale - low / scale)
    return result

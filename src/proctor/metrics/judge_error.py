"""What a mean would be if people had judged: correction of a machine judge's marks by its known error.

Two ways. ``corrected_share`` (Rogan and Gladen 1978) is for yes/no marks and needs only how often the judge says yes to
right and to wrong answers, from any calibration sample. ``prediction_powered_mean`` (Angelopoulos et al. 2023) is for any
marks and needs people's marks on a *random* part of the same items; it assumes nothing about the judge.

Conventions: the human mark is the reference and comes first; marks are in one unit; an undefined value is ``nan`` with a
note. Intervals take the uncertainty of the calibration into account. All intervals are two-sided.

References: Rogan and Gladen (1978); Lang and Reiczigel (2014) for its interval; Angelopoulos, Bates, Fannjiang, Jordan and
Zrnic, "Prediction-powered inference", Science (2023); Angelopoulos, Duchi and Zrnic, "PPI++" (2023) for the tuned weight.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proctor.metrics.bootstrap import FEW_CLUSTERS, Floats, bootstrap_interval, cluster_sums, require_sizes
from proctor.metrics.catalogue import Entries
from proctor.metrics.errors import MetricInputError
from proctor.metrics.interval import Interval, normal_quantile, require_confidence, wilson_interval
from proctor.metrics.score import Score, Signature

__all__ = [
    "FEW_LABELS",
    "METRICS",
    "JudgeError",
    "corrected_share",
    "judge_accuracy",
    "judge_correlation",
    "judge_error",
    "prediction_powered_mean",
]


# Marks on any scale: how far a judge can be trusted.


def judge_accuracy(
    human: ArrayLike,
    judge: ArrayLike,
    *,
    clusters: Sequence[str] | None = None,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Score:
    """Share of items on which judge and people give the same mark, on any scale (ProMQA).

    Args:
        human: marks by people, shape (items,).
        judge: marks by the judge for the same items, same scale.
        clusters: cluster of each item; None when items are independent (then the interval is Wilson's).
        confidence: of the interval.
        resamples: draws of the clustered bootstrap (BCa); 0 leaves it out.
        seed: of the draws.

    Returns:
        The share, 0 to 1; undefined without items.

    Raises:
        MetricInputError: if lengths differ, a mark is not finite or an option is out of range.
    """
    truth, said = _marks_of_both(human, judge, clusters)
    signature = Signature("judge_accuracy", {"cluster": "item" if clusters is None else "given"})
    if not truth.size:
        return Score(math.nan, signature, 0, note="there are no items")
    same = truth == said
    if clusters is None:
        interval = wilson_interval(int(same.sum()), same.size, confidence)
    elif resamples:
        sums = cluster_sums([same.astype(np.float64), np.ones(same.size)], clusters)
        interval = bootstrap_interval(sums, confidence=confidence, resamples=resamples, seed=seed)
    else:
        interval = Interval(None, None, "none")
    value = float(same.mean())
    signature = signature.having(interval=interval.method)
    return Score(value, signature, truth.size, interval.low, interval.high, note=interval.note)


def judge_correlation(
    human: ArrayLike,
    judge: ArrayLike,
    *,
    clusters: Sequence[str] | None = None,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Score:
    """Pearson's correlation of a judge's marks with people's (ProMQA), with a bootstrap interval.

    A judge may correlate perfectly and still be too strict everywhere: look at ``judge_accuracy`` or the mean difference too.

    Args:
        human: marks by people, shape (items,).
        judge: marks by the judge for the same items, any unit.
        clusters: cluster of each item; None when items are independent.
        confidence: of the interval (BCa).
        resamples: draws; 0 leaves the interval out. Draws in which either side is constant are left out.
        seed: of the draws.

    Returns:
        The correlation, -1 to 1; undefined with fewer than two items or when either gives one mark only.

    Raises:
        MetricInputError: if lengths differ, a mark is not finite or an option is out of range.
    """
    truth, said = _marks_of_both(human, judge, clusters)
    signature = Signature(
        "judge_correlation", {"cluster": "item" if clusters is None else "given", "kind": "pearson"}
    )
    if truth.size < 2:
        return Score(math.nan, signature, truth.size, note="a correlation needs two items")
    # Centred and scaled first: sums of squares of large marks would lose their digits.
    x, y = (_standard(values) for values in (truth, said))
    if x is None or y is None:
        who = "people give" if x is None else "the judge gives"
        return Score(math.nan, signature, truth.size, note=f"{who} every item the same mark")
    columns = [np.ones(x.size), x, y, x * y, x * x, y * y]
    if clusters is None:
        order = np.lexsort((y, x))
        sums = np.stack(columns, axis=1)[order]
    else:
        sums = cluster_sums(columns, clusters)
    value = float(_correlation(sums.sum(axis=0, keepdims=True))[0])
    if not resamples:
        return Score(value, signature, truth.size)
    interval = bootstrap_interval(sums, _correlation, confidence=confidence, resamples=resamples, seed=seed)
    signature = signature.having(interval=interval.method, resamples=str(resamples), seed=str(seed))
    return Score(value, signature, truth.size, interval.low, interval.high, note=interval.note)


def _marks_of_both(
    human: ArrayLike, judge: ArrayLike, clusters: Sequence[str] | None
) -> tuple[Floats, Floats]:
    try:
        truth, said = (np.asarray(values, dtype=np.float64) for values in (human, judge))
    except (TypeError, ValueError):
        raise MetricInputError("marks must be two flat lists of numbers") from None
    if truth.ndim != 1 or truth.shape != said.shape:
        raise MetricInputError(
            f"human marks have shape {truth.shape}, judge marks {said.shape}", "give both for each item"
        )
    if not (np.isfinite(truth).all() and np.isfinite(said).all()):
        raise MetricInputError(
            "marks must be finite", "leave out items that either did not mark and count them"
        )
    if clusters is not None and len(clusters) != truth.size:
        raise MetricInputError(f"{truth.size} items, {len(clusters)} clusters")
    require_sizes(np.concatenate([truth, said]))
    return truth, said


def _standard(values: Floats) -> Floats | None:
    centred = values - math.fsum(values) / values.size
    spread = float(np.abs(centred).max())
    if spread <= 1e-12 * float(np.abs(values).max()):
        return None
    result: Floats = centred / spread
    return result


def _correlation(sums: Floats) -> Floats:
    """Pearson's r of rows of (n, Σx, Σy, Σxy, Σx², Σy²); nan where a side is constant."""
    n, x, y, xy, xx, yy = sums.T
    spread_x, spread_y = n * xx - x * x, n * yy - y * y
    # What is left by rounding when all drawn marks of a side are equal is no spread.
    good = (spread_x > 1e-12 * n * xx) & (spread_y > 1e-12 * n * yy)
    root = np.sqrt(np.where(good, spread_x * spread_y, 1.0))
    result: Floats = np.where(good, np.clip((n * xy - x * y) / root, -1.0, 1.0), np.nan)
    return result


# How a yes/no judge errs, from items that people judged too.

FEW_LABELS = 20
"""Below this many human marks the normal approximation is doubtful."""


@dataclass(frozen=True, slots=True)
class JudgeError:
    """How a judge errs, from items that a person judged too.

    Attributes:
        right: items that people call right.
        right_yes: of these, how many the judge calls right.
        wrong: items that people call wrong.
        wrong_no: of these, how many the judge calls wrong.
        confidence: of the intervals.
    """

    right: int
    right_yes: int
    wrong: int
    wrong_no: int
    confidence: float = 0.95

    def __post_init__(self) -> None:
        require_confidence(self.confidence)
        for part, whole, name in (
            (self.right_yes, self.right, "right"),
            (self.wrong_no, self.wrong, "wrong"),
        ):
            if not 0 <= part <= whole:
                raise MetricInputError(f"{part} of {whole} {name} items cannot be")

    @property
    def sensitivity(self) -> float | None:
        """Share of right answers that the judge calls right; None without right answers."""
        return self.right_yes / self.right if self.right else None

    @property
    def specificity(self) -> float | None:
        """Share of wrong answers that the judge calls wrong; None without wrong answers."""
        return self.wrong_no / self.wrong if self.wrong else None

    @property
    def accuracy(self) -> float | None:
        """Share of items on which judge and people agree; None without items."""
        n = self.right + self.wrong
        return (self.right_yes + self.wrong_no) / n if n else None

    @property
    def sensitivity_interval(self) -> Interval:
        """Wilson interval of ``sensitivity``."""
        return wilson_interval(self.right_yes, self.right, self.confidence)

    @property
    def specificity_interval(self) -> Interval:
        """Wilson interval of ``specificity``."""
        return wilson_interval(self.wrong_no, self.wrong, self.confidence)

    @property
    def accuracy_interval(self) -> Interval:
        """Wilson interval of ``accuracy``."""
        return wilson_interval(self.right_yes + self.wrong_no, self.right + self.wrong, self.confidence)


def judge_error(human: ArrayLike, judge: ArrayLike, *, confidence: float = 0.95) -> JudgeError:
    """Count how a yes/no judge errs on items that people judged too.

    Args:
        human: yes/no by people, shape (items,).
        judge: yes/no by the judge for the same items.
        confidence: of the Wilson intervals.

    Raises:
        MetricInputError: if lengths differ or a mark is not yes/no.
    """
    truth, said = _flags(human, "human marks"), _flags(judge, "judge marks")
    if truth.size != said.size:
        raise MetricInputError(
            f"{truth.size} human marks, {said.size} judge marks", "give both for each item"
        )
    return JudgeError(
        right=int(truth.sum()),
        right_yes=int((truth & said).sum()),
        wrong=int((~truth).sum()),
        wrong_no=int((~truth & ~said).sum()),
        confidence=confidence,
    )


def _flags(values: ArrayLike, what: str) -> NDArray[np.bool_]:
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise MetricInputError(f"{what} must be yes/no (True/False or 1/0), got {values!r:.60}") from None
    if found.ndim != 1:
        raise MetricInputError(f"{what} must be one flat list, got shape {found.shape}")
    wrong = np.flatnonzero((found != 0) & (found != 1))
    if wrong.size:
        raise MetricInputError(
            f"{what} must be yes/no (True/False or 1/0), number {int(wrong[0])} (from 0) is {found[wrong[0]]:g}",
            "say from which mark on an answer counts as right, or use prediction_powered_mean",
        )
    return np.asarray(found == 1, dtype=np.bool_)


# Shares corrected for the errors of a yes/no judge.


def corrected_share(yes: int, n: int, error: JudgeError) -> Score:
    """Correct a share of yes by the judge's sensitivity and specificity (Rogan and Gladen 1978).

    ``corrected = (p + specificity - 1) / (sensitivity + specificity - 1)``, cut to 0..1 (the note gives the value before).
    The interval follows Lang and Reiczigel (2014); its coverage was checked by simulation, not against their tables. It adds the calibration's uncertainty to the sampling error of ``p``.

    Args:
        yes: items that the judge calls right.
        n: items that it judged; independent of one another and not those of the calibration.
        error: of the judge; its ``confidence`` is that of the interval.

    Returns:
        The corrected share; undefined (nan, with a note) when nothing was judged, when the calibration lacks right or
        wrong answers, or when sensitivity + specificity ≤ 1, that is when the judge does not tell right from wrong.

    Raises:
        MetricInputError: if the counts are impossible.
    """
    if not 0 <= yes <= n:
        raise MetricInputError(f"{yes} yes of {n} items cannot be")
    signature = Signature(
        "corrected_share",
        {
            "calibration": f"{error.right}+{error.wrong}",
            "confidence": f"{error.confidence:g}",
            "interval": "lang-reiczigel",
            "method": "rogan-gladen",
        },
    )
    sensitivity, specificity = error.sensitivity, error.specificity
    why = ""
    if not n:
        why = "nothing was judged"
    elif sensitivity is None or specificity is None:
        missing = "right" if sensitivity is None else "wrong"
        why = f"the calibration holds no answer that people call {missing}"
    elif sensitivity + specificity <= 1:
        why = (
            f"sensitivity {sensitivity:.3f} + specificity {specificity:.3f} ≤ 1: "
            "the judge does not tell right from wrong, nothing can be corrected"
        )
    if why or sensitivity is None or specificity is None:
        return Score(math.nan, signature, n, note=why)
    raw = (yes / n + specificity - 1) / (sensitivity + specificity - 1)
    notes = []
    if not 0 <= raw <= 1:
        notes.append(f"cut to the scale from {raw:.4f}: calibration and benchmark do not fit well")
    low, high = _lang_reiczigel(yes, n, error)
    if low is None:
        notes.append("no interval: the calibration is too small to tell the judge from chance")
    elif error.right < FEW_LABELS or error.wrong < FEW_LABELS:
        notes.append(f"the calibration has only {error.right} right and {error.wrong} wrong answers")
    return Score(min(1.0, max(0.0, raw)), signature, n, low, high, note="; ".join(notes))


def _lang_reiczigel(yes: int, n: int, error: JudgeError) -> tuple[float | None, float | None]:
    """Interval of Lang and Reiczigel (2014): counts are moved towards the middle, then the delta method."""
    z = normal_quantile(0.5 + error.confidence / 2)
    n_p, n_se, n_sp = n + z * z, error.right + 2, error.wrong + 2
    p = (yes + z * z / 2) / n_p
    se, sp = (error.right_yes + 1) / n_se, (error.wrong_no + 1) / n_sp
    youden = se + sp - 1
    if youden <= 0:
        return None, None
    share = (p + sp - 1) / youden
    v_se, v_sp = se * (1 - se) / n_se, sp * (1 - sp) / n_sp
    centre = share + 2 * z * z * (share * v_se - (1 - share) * v_sp)
    half = z * math.sqrt(p * (1 - p) / n_p + share**2 * v_se + (1 - share) ** 2 * v_sp) / youden
    low, high = (min(1.0, max(0.0, end)) for end in (centre - half, centre + half))
    return low, high


# Means of people's marks on some items, sharpened by a judge's on all (prediction-powered).


def prediction_powered_mean(
    human: Sequence[float | None] | Floats,
    judge: ArrayLike,
    *,
    clusters: Sequence[str] | None = None,
    tuned: bool = False,
    confidence: float = 0.95,
) -> Score:
    """Mean that people would have given, from their marks on some items and a judge's marks on all.

    With f for the judge, Y for people, ``mean = w·mean(f on items without Y) + mean(Y - w·f on items with Y)``. The weight
    w is 1 (Angelopoulos et al. 2023), or, ``tuned``, ``cov(Y, f) / ((1 + n/N) var(f))`` for n marked and N other items
    (PPI++), which is never worse than people's marks alone when n is large. The interval is normal, with the variances of
    both parts (divided by counts less one), or by cluster when clusters are given.

    Args:
        human: marks by people, shape (items,); None or nan where nobody judged. *Which* items people judged must not depend
            on the answers: draw them at random.
        judge: marks by the judge for all items, same unit.
        clusters: cluster (recording) of each item; None when items are independent.
        tuned: choose w from the data instead of 1.
        confidence: of the interval.

    Returns:
        The mean in the unit of the marks, ``n`` all items. Undefined when nobody judged anything. With a human mark on every
        item it is the plain mean of these.

    Raises:
        MetricInputError: if lengths differ, a judge's mark is missing or a mark is infinite.
    """
    require_confidence(confidence)
    truth, said = _human_marks(human), np.asarray(judge, dtype=np.float64)
    if said.ndim != 1 or truth.size != said.size:
        raise MetricInputError(
            f"{truth.size} human marks for judge marks of shape {said.shape}",
            "give one of each per item; None where nobody judged",
        )
    if not np.isfinite(said).all():
        raise MetricInputError(
            "the judge must have marked every item", "leave out what it failed on and count it"
        )
    if clusters is not None and len(clusters) != said.size:
        raise MetricInputError(f"{said.size} items, {len(clusters)} clusters")
    here = ~np.isnan(truth)
    require_sizes(np.concatenate([truth[here], said]))
    n, others = int(here.sum()), int((~here).sum())
    base = Signature(
        "prediction_powered_mean",
        {
            "cluster": "item" if clusters is None else "given",
            "confidence": f"{confidence:g}",
            "labels": str(n),
        },
    )
    if not n:
        return Score(math.nan, base.having(weight="none"), said.size, note="nobody judged any item")
    weight = _weight(truth[here], said[here], said, others, tuned=tuned)
    signature = base.having(weight="tuned" if tuned else f"{weight:g}")
    rectifier = truth[here] - weight * said[here]
    value = math.fsum(rectifier) / n
    parts = np.zeros(said.size)
    parts[here] = (rectifier - value) / n
    if others and weight:
        mean = math.fsum(said[~here]) / others
        parts[~here] = weight * (said[~here] - mean) / others
        value += weight * mean
    error, note = _standard_error(parts, here, n, others, clusters)
    if tuned:
        note = "; ".join(filter(None, (note, f"weight of the judge {weight:.3f}")))
    if error is None:
        return Score(value, signature, said.size, note=note)
    half = normal_quantile(0.5 + confidence / 2) * error
    return Score(value, signature, said.size, value - half, value + half, note=note)


def _human_marks(human: Sequence[float | None] | Floats) -> Floats:
    try:
        marks = np.array([math.nan if mark is None else mark for mark in human], dtype=np.float64)
    except (TypeError, ValueError):
        raise MetricInputError(
            "human marks must be one flat list of numbers, None where nobody judged"
        ) from None
    if marks.ndim != 1 or np.isinf(marks).any():
        raise MetricInputError(
            "human marks must be one flat list of finite numbers, None where nobody judged"
        )
    return marks


def _weight(truth: Floats, labelled: Floats, said: Floats, others: int, *, tuned: bool) -> float:
    """Weight of the judge; without items that only the judge marked it has nothing to say."""
    if not others:
        return 0.0
    if not tuned:
        return 1.0
    if truth.size < 2 or (spread := float(said.var(ddof=1))) <= 0:
        return 0.0
    together = float(((truth - truth.mean()) * (labelled - labelled.mean())).sum()) / (truth.size - 1)
    return min(1.0, max(0.0, together / ((1 + truth.size / others) * spread)))


def _standard_error(
    parts: Floats, here: NDArray[np.bool_], n: int, others: int, clusters: Sequence[str] | None
) -> tuple[float | None, str]:
    """Standard error from each item's part in the deviation of the estimate."""
    if clusters is not None:
        _, index = np.unique(np.asarray(clusters, dtype=np.str_), return_inverse=True)
        sums = np.bincount(index, weights=parts)
        marked = np.unique(index[here]).size
        if marked < 2:
            return None, "people judged items of one cluster: variation between clusters is unknown"
        note = (
            f"people judged items of only {marked} clusters: the interval is too narrow"
            if marked < FEW_CLUSTERS
            else ""
        )
        # The smaller number of clusters that hold human marks decides how much is lost to estimating the mean.
        return math.sqrt(marked / (marked - 1) * float((sums**2).sum())), note
    if n < 2 or others == 1:
        return None, "one item judged: variation is unknown" if n < 2 else "one item without a human mark"
    variance = float((parts[here] ** 2).sum()) * n / (n - 1)
    if others:
        variance += float((parts[~here] ** 2).sum()) * others / (others - 1)
    note = f"only {n} items judged by people: the interval is too narrow" if n < FEW_LABELS else ""
    return math.sqrt(variance), note


# The metrics of this family, for the catalogue.

_entry: Final = Entries("significance", "judge_error")

METRICS: Final = (
    _entry(
        "judge_accuracy",
        "judge accuracy",
        "Share of items on which the judge gives the mark that people give, on any scale.",
        signature="cluster:item|interval:wilson-95",
        citation="ProMQA 2025, judge calibration (0.75 for its default judge)",
        traps="Chance agreement is high when most answers are wrong; a finer scale lowers it.",
    ),
    _entry(
        "judge_correlation",
        "judge r",
        "Pearson's correlation of the judge's marks with people's.",
        range="-1 to 1",
        signature="cluster:item|interval:bca-95|kind:pearson|resamples:10000|seed:0",
        citation="ProMQA 2025, judge calibration (0.76 for its default judge)",
        traps="Blind to a judge that is too strict or too mild everywhere; undefined when either side is constant. ProMQA "
        "calibrated against one person.",
    ),
    _entry(
        "corrected_share",
        "corrected",
        "(p + specificity - 1) / (sensitivity + specificity - 1) for the share p that the judge calls right.",
        signature="calibration:120+80|confidence:0.95|interval:lang-reiczigel|method:rogan-gladen",
        citation="Rogan and Gladen 1978; interval: Lang and Reiczigel 2014",
        traps="Undefined when sensitivity + specificity ≤ 1. The judge must err alike on benchmark and calibration; calibrated "
        "on one system, it may favour another (ProMQA table 11). An interval without calibration error is far too narrow.",
    ),
    _entry(
        "prediction_powered_mean",
        "PPI",
        "w·mean(judge on unlabelled) + mean(human - w·judge on labelled), w = 1 or tuned.",
        range="unit of the marks",
        signature="cluster:recording|confidence:0.95|labels:80|weight:1",
        citation="Angelopoulos et al. 2023 (Science); tuned: Angelopoulos, Duchi and Zrnic 2023 (PPI++)",
        traps="The items that people judged must be drawn at random; with w = 1 a bad judge makes the interval wider than "
        "people's marks alone.",
    ),
)

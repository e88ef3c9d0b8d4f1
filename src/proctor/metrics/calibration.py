"""Calibration: is a system right as often as its confidence says?

Conventions: ``correct`` (what came true) is the reference and comes first, ``confidence`` is a probability from 0 to 1.
Bins are half-open ``[edge, next edge)``, the last one is closed, so that a confidence of 1.0 lies in the last bin; an edge of
equal-width bins is ``k / bins`` in floating point. Bins of equal mass have their edges at quantiles; equal confidences are
never torn apart, so that there may be fewer bins than asked for. Empty bins have no mean and no share and count nothing.

References: Naeini, Cooper and Hauskrecht (2015) and Guo et al. (2017) for ECE and MCE (their bins are open below and closed
above); Nixon et al. (2019) for bins of equal mass; Bröcker and
Smith (2007) for what a calibrated system would show; Brier (1950); Murphy (1973) for its decomposition; Wilson (1927) for the
intervals of the bins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proctor.metrics.bootstrap import Floats
from proctor.metrics.catalogue import Entries
from proctor.metrics.errors import MetricInputError
from proctor.metrics.figure import Reliability
from proctor.metrics.hypothesis_tests import PValue
from proctor.metrics.interval import Interval, require_confidence, wilson_interval
from proctor.metrics.score import Score, Signature

__all__ = [
    "METRICS",
    "BinStrategy",
    "BrierParts",
    "ReliabilityBins",
    "bin_edges",
    "bin_of",
    "bin_signature",
    "brier_decomposition",
    "brier_score",
    "calibrated_ece",
    "calibration_test",
    "expected_calibration_error",
    "marks_and_confidences",
    "maximum_calibration_error",
    "negative_log_likelihood",
    "reliability_bins",
]


# Confidences in bins: stated against what came true.

BinStrategy = Literal["width", "mass"]


@dataclass(frozen=True, slots=True)
class ReliabilityBins:
    """Confidence against what came true, in bins.

    Attributes:
        edges: borders of the bins, shape (bins + 1,).
        counts: items in each bin, shape (bins,).
        confidence: mean confidence of each bin; nan for an empty bin.
        accuracy: share that came true; nan for an empty bin.
        intervals: Wilson interval of each share; without ends for an empty bin.
        strategy: how the edges were found.
    """

    edges: Floats
    counts: NDArray[np.int64]
    confidence: Floats
    accuracy: Floats
    intervals: tuple[Interval, ...]
    strategy: BinStrategy

    @property
    def gaps(self) -> Floats:
        """|share that came true - mean confidence| of each bin; nan for an empty bin."""
        result: Floats = np.abs(self.accuracy - self.confidence)
        return result

    def as_figure(self, title: str) -> Reliability:
        """Return the reliability diagram as data."""

        def plain(values: Floats) -> tuple[float | None, ...]:
            return tuple(None if math.isnan(v) else float(v) for v in values)

        return Reliability(
            title=title,
            confidence=plain(self.confidence),
            accuracy=plain(self.accuracy),
            low=tuple(i.low for i in self.intervals),
            high=tuple(i.high for i in self.intervals),
            counts=tuple(int(n) for n in self.counts),
            edges=tuple(float(e) for e in self.edges),
        )


def marks_and_confidences(correct: ArrayLike, confidence: ArrayLike) -> tuple[Floats, Floats]:
    """Return what came true and what was stated, and make sure that they fit."""
    try:
        truth = np.asarray(correct, dtype=np.float64)
        stated = np.asarray(confidence, dtype=np.float64)
    except (TypeError, ValueError):
        raise MetricInputError("correct and confidence must be two flat lists of numbers") from None
    if truth.ndim != 1 or truth.shape != stated.shape:
        raise MetricInputError(
            f"correct has shape {truth.shape}, confidence {stated.shape}", "give one of each per item"
        )
    wrong = np.flatnonzero((truth != 0) & (truth != 1))
    if wrong.size:
        raise MetricInputError(f"correct must be yes/no, number {wrong[0]} (from 0) is {truth[wrong[0]]:g}")
    wrong = np.flatnonzero(~((stated >= 0) & (stated <= 1)))
    if wrong.size:
        seen = stated[wrong[0]]
        raise MetricInputError(
            f"a confidence lies between 0 and 1, number {wrong[0]} (from 0) is {seen:g}",
            "divide percentages by 100" if 1 < seen <= 100 else "leave out items without one and count them",
        )
    return truth, stated


def bin_of(stated: Floats, edges: Floats) -> NDArray[np.intp]:
    """Number of each confidence's bin: half-open, the last one closed."""
    return np.searchsorted(edges[1:-1], stated, side="right")


def bin_edges(stated: Floats, bins: Any, strategy: str) -> Floats:
    """Borders of the bins, of equal width or with equally many items."""
    if strategy not in get_args(BinStrategy):
        raise MetricInputError(f"bins must be of equal 'width' or 'mass', got {strategy!r}")
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 1:
        raise MetricInputError(f"the number of bins must be a whole number from 1 on, got {bins!r}")
    if strategy == "width" or not stated.size:
        # Not linspace: its seventh edge of ten is 0.7000000000000001, and 0.7 would lie below it.
        edges: Floats = np.arange(bins + 1) / bins
        return edges
    ordered = np.sort(stated)
    inner = ordered[np.arange(1, bins) * stated.size // bins]
    inner = np.unique(inner[inner > ordered[0]])
    return np.concatenate([[0.0], inner, [1.0]])


def reliability_bins(
    correct: ArrayLike,
    confidence: ArrayLike,
    *,
    bins: int = 10,
    strategy: BinStrategy = "width",
    interval_confidence: float = 0.95,
) -> ReliabilityBins:
    """Put items into bins of confidence and count what came true in each.

    Args:
        correct: yes/no, shape (items,).
        confidence: 0 to 1, shape (items,).
        bins: how many.
        strategy: ``width``: all as wide, ``k / bins``; ``mass``: as many items in each as ties allow.
        interval_confidence: of the Wilson intervals.

    Raises:
        MetricInputError: if lengths differ, a value is out of range or an option is unknown.
    """
    truth, stated = marks_and_confidences(correct, confidence)
    edges = bin_edges(stated, bins, strategy)
    size = edges.size - 1
    index = bin_of(stated, edges)
    counts = np.bincount(index, minlength=size)
    # Confidences are added in order, so that the order of the items does not change the last digit.
    order = np.lexsort((stated, index))
    sums = np.bincount(index[order], weights=stated[order], minlength=size)
    right = np.bincount(index, weights=truth, minlength=size)
    with np.errstate(invalid="ignore"):
        mean, share = sums / counts, right / counts
    intervals = tuple(
        wilson_interval(int(k), int(n), interval_confidence) for k, n in zip(right, counts, strict=True)
    )
    return ReliabilityBins(edges, counts, mean, share, intervals, strategy)


def bin_signature(name: str, bins: int, strategy: str) -> Signature:
    """Return the signature of a score over bins."""
    return Signature(name, {"bins": str(bins), "binning": strategy, "edges": "closed-open", "norm": "l1"})


# Expected and maximum calibration error, and whether a perfectly calibrated system would show it too.

_CELLS = 4_000_000
"""Numbers held in memory at a time (about 32 MB)."""
_FEW_PER_BIN = 10
"""With fewer items a bin than this ECE is mostly noise, always upwards."""


def expected_calibration_error(
    correct: ArrayLike, confidence: ArrayLike, *, bins: int = 10, strategy: BinStrategy = "width"
) -> Score:
    """Expected calibration error: mean over items of the gap between confidence and what came true in their bin.

    ``ECE = Σ_b n_b/n · |share_b - confidence_b|``. A calibrated system reaches 0 only with endless data: compare with
    ``calibrated_ece``. There is no interval on purpose: resampling adds a second bias upwards (for calibrated systems with
    300 items, percentile, BCa and reflected bootstrap intervals held the true 0 in 0, 0 and 65 % of 150 simulations).
    Source: Naeini et al. (2015), Guo et al. (2017).

    Args:
        correct: yes/no, shape (items,).
        confidence: 0 to 1, shape (items,).
        bins: how many.
        strategy: bins of equal ``width`` or ``mass``.

    Returns:
        ECE, 0 to 1; undefined without items.

    Raises:
        MetricInputError: see ``reliability_bins``.
    """
    truth, stated = marks_and_confidences(correct, confidence)
    edges = bin_edges(stated, bins, strategy)
    signature = bin_signature("expected_calibration_error", bins, strategy)
    if not truth.size:
        return Score(math.nan, signature, 0, note="there are no items")
    note = ""
    if truth.size < _FEW_PER_BIN * (edges.size - 1):
        note = f"{truth.size} items in {edges.size - 1} bins: biased upwards, take fewer bins"
    return Score(_ece(truth, stated, edges), signature, truth.size, note=note)


def _ece(truth: Floats, stated: Floats, edges: Floats) -> float:
    index = bin_of(stated, edges)
    # Added in order, so that the order of the items does not change the last digit.
    order = np.lexsort((stated, truth, index))
    excess = np.bincount(index[order], weights=(truth - stated)[order])
    return float(np.abs(excess).sum()) / truth.size


def calibrated_ece(
    confidence: ArrayLike,
    *,
    bins: int = 10,
    strategy: BinStrategy = "width",
    level: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Score:
    """ECE that a perfectly calibrated system with these confidences would show by chance alone.

    What comes true is drawn with the stated probabilities (consistency resampling, Bröcker and Smith 2007).

    Args:
        confidence: 0 to 1, shape (items,), independent items.
        bins: how many.
        strategy: bins of equal ``width`` or ``mass``.
        level: share of the draws between the ends.
        resamples: number of draws.
        seed: of the draws.

    Returns:
        Mean of the draws, with the quantiles that hold ``level`` of them; undefined without items.

    Raises:
        MetricInputError: see ``reliability_bins``.
    """
    require_confidence(level)
    _, stated = marks_and_confidences(np.zeros(np.shape(confidence)), confidence)
    signature = bin_signature("calibrated_ece", bins, strategy).having(
        level=f"{level:g}", resamples=str(resamples), seed=str(seed)
    )
    edges = bin_edges(stated, bins, strategy)
    if not stated.size:
        return Score(math.nan, signature, 0, note="there are no items")
    draws = _calibrated_draws(stated, edges, resamples, seed)
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return Score(float(draws.mean()), signature, stated.size, float(low), float(high))


def calibration_test(
    correct: ArrayLike,
    confidence: ArrayLike,
    *,
    bins: int = 10,
    strategy: BinStrategy = "width",
    resamples: int = 2_000,
    seed: int = 0,
) -> PValue:
    """Is the system's ECE larger than a perfectly calibrated one would show by chance? See ``calibrated_ece``.

    Args:
        correct: yes/no, shape (items,), independent items.
        confidence: 0 to 1, shape (items,).
        bins: how many.
        strategy: bins of equal ``width`` or ``mass``.
        resamples: number of draws.
        seed: of the draws.

    Returns:
        One-sided p, the observed value counted as one more draw; ``statistic`` is ECE.

    Raises:
        MetricInputError: see ``reliability_bins``.
    """
    truth, stated = marks_and_confidences(correct, confidence)
    signature = bin_signature("calibration_test", bins, strategy).having(
        resamples=str(resamples), seed=str(seed), sided="one"
    )
    edges = bin_edges(stated, bins, strategy)
    if not truth.size:
        return PValue(None, signature, 0, None, "there are no items")
    observed = _ece(truth, stated, edges)
    draws = _calibrated_draws(stated, edges, resamples, seed)
    extreme = int((draws >= observed - 1e-12).sum())
    return PValue((1 + extreme) / (1 + resamples), signature, truth.size, observed)


def _calibrated_draws(stated: Floats, edges: Floats, resamples: int, seed: int) -> Floats:
    if resamples < 1:
        raise MetricInputError(f"resamples must be positive, got {resamples}")
    ordered = np.sort(stated)
    # Items in order of confidence: each bin is a stretch of columns.
    starts = np.flatnonzero(np.diff(bin_of(ordered, edges), prepend=-1))
    expected = np.add.reduceat(ordered, starts)
    rng = np.random.default_rng(seed)
    step = max(1, _CELLS // ordered.size)
    parts = []
    for first in range(0, resamples, step):
        came = rng.random((min(step, resamples - first), ordered.size)) < ordered
        counts = np.add.reduceat(came, starts, axis=1, dtype=np.int64)
        parts.append(np.abs(counts - expected).sum(axis=1) / ordered.size)
    return np.concatenate(parts)


def maximum_calibration_error(
    correct: ArrayLike, confidence: ArrayLike, *, bins: int = 10, strategy: BinStrategy = "width"
) -> Score:
    """Maximum calibration error: the largest gap between confidence and what came true of any bin with items.

    Source: Naeini et al. (2015). One bin with one item can decide it: look at the counts.

    Args:
        correct: yes/no, shape (items,).
        confidence: 0 to 1, shape (items,).
        bins: how many.
        strategy: bins of equal ``width`` or ``mass``.

    Raises:
        MetricInputError: see ``reliability_bins``.
    """
    found = reliability_bins(correct, confidence, bins=bins, strategy=strategy)
    signature = bin_signature("maximum_calibration_error", bins, strategy)
    n = int(found.counts.sum())
    if not n:
        return Score(math.nan, signature, 0, note="there are no items")
    worst = int(np.nanargmax(found.gaps))
    small = int(found.counts[worst])
    note = f"decided by a bin of {small} items" if small < _FEW_PER_BIN else ""
    return Score(float(found.gaps[worst]), signature, n, note=note)


# Proper scoring rules: Brier score with its parts, and negative log likelihood.


@dataclass(frozen=True, slots=True)
class BrierParts:
    """Murphy's decomposition over distinct confidences: ``score = reliability - resolution + uncertainty``.

    Attributes:
        reliability: mean squared gap between confidence and what came true; 0 for a calibrated system.
        resolution: how far the shares of what came true differ between confidences; the more, the better.
        uncertainty: variance of what came true; no system can change it.
    """

    reliability: float
    resolution: float
    uncertainty: float


def brier_score(correct: ArrayLike, confidence: ArrayLike) -> Score:
    """Brier score of yes/no events: mean of (confidence - correct)². Source: Brier (1950), one event instead of two.

    A constant 0.5 scores 0.25; always naming the base rate scores its variance, ``brier_decomposition`` gives it.

    Args:
        correct: yes/no, shape (items,).
        confidence: 0 to 1, shape (items,).

    Raises:
        MetricInputError: if lengths differ or a value is out of range.
    """
    truth, stated = marks_and_confidences(correct, confidence)
    signature = Signature("brier_score", {"classes": "1"})
    if not truth.size:
        return Score(math.nan, signature, 0, note="there are no items")
    return Score(math.fsum((stated - truth) ** 2) / truth.size, signature, truth.size)


def brier_decomposition(correct: ArrayLike, confidence: ArrayLike) -> BrierParts:
    """Split the Brier score exactly (Murphy 1973), with one group for each distinct confidence.

    Args:
        correct: yes/no, shape (items,).
        confidence: 0 to 1, shape (items,).

    Raises:
        MetricInputError: if there are no items, lengths differ or a value is out of range.
    """
    truth, stated = marks_and_confidences(correct, confidence)
    if not truth.size:
        raise MetricInputError("there are no items to decompose a score of", "check what was read")
    values, index, counts = np.unique(stated, return_inverse=True, return_counts=True)
    share = np.bincount(index, weights=truth) / counts
    base = float(truth.mean())
    return BrierParts(
        reliability=math.fsum(counts * (values - share) ** 2) / truth.size,
        resolution=math.fsum(counts * (share - base) ** 2) / truth.size,
        uncertainty=base * (1 - base),
    )


def negative_log_likelihood(correct: ArrayLike, confidence: ArrayLike) -> Score:
    """Mean negative natural logarithm of the probability given to what came true (log loss), without clipping.

    Args:
        correct: yes/no, shape (items,).
        confidence: 0 to 1, shape (items,).

    Returns:
        From 0 (certain and right) upwards; infinite, with a note, when something that came true had probability 0.

    Raises:
        MetricInputError: if lengths differ or a value is out of range.
    """
    truth, stated = marks_and_confidences(correct, confidence)
    signature = Signature("negative_log_likelihood", {"clip": "no", "log": "natural"})
    if not truth.size:
        return Score(math.nan, signature, 0, note="there are no items")
    given = np.where(truth == 1, stated, 1 - stated)
    impossible = int((given == 0).sum())
    if impossible:
        note = f"infinite: {impossible} items came out as their confidence called impossible"
        return Score(math.inf, signature, truth.size, note=note)
    return Score(abs(math.fsum(-np.log(given)) / truth.size), signature, truth.size)


# The metrics of this family, for the catalogue.

_entry: Final = Entries("significance", "calibration")

METRICS: Final = (
    _entry(
        "expected_calibration_error",
        "ECE",
        "Σ_b n_b/n · |share that came true - mean confidence| over bins of confidence.",
        range="1 to 0",
        direction="lower",
        signature="binning:width|bins:10|edges:closed-open|norm:l1",
        citation="Naeini et al. 2015; Guo et al. 2017; equal mass: Nixon et al. 2019",
        traps="Biased upwards with few items a bin, so are bootstrap intervals (none is offered): compare with calibrated_ece. "
        "Depends on number and kind of bins. A confidence of 1.0 belongs into the "
        "last bin; Guo et al. close bins above instead of below.",
    ),
    _entry(
        "calibrated_ece",
        "ECE if calibrated",
        "Mean ECE when what comes true is drawn with the stated confidences.",
        range="1 to 0",
        direction="neither",
        signature="binning:width|bins:10|edges:closed-open|level:0.95|norm:l1|resamples:2000|seed:0",
        citation="Bröcker and Smith 2007",
        traps="Items are taken as independent; with clusters the true value is larger.",
    ),
    _entry(
        "calibration_test",
        "p (calibrated)",
        "Share of draws of a calibrated system with these confidences whose ECE is at least the observed one.",
        direction="neither",
        signature="binning:width|bins:10|edges:closed-open|norm:l1|resamples:2000|seed:0|sided:one",
        citation="Bröcker and Smith 2007; Vaicenavicius et al. 2019",
        traps="A large p is no proof of calibration; items are taken as independent.",
    ),
    _entry(
        "maximum_calibration_error",
        "MCE",
        "The largest gap between the share that came true and the mean confidence of a bin with items.",
        range="1 to 0",
        direction="lower",
        signature="binning:width|bins:10|edges:closed-open|norm:l1",
        citation="Naeini et al. 2015",
        traps="A bin with one item can decide it.",
    ),
    _entry(
        "brier_score",
        "Brier",
        "Mean of (confidence - correct)² = reliability - resolution + uncertainty.",
        range="1 to 0",
        direction="lower",
        signature="classes:1",
        citation="Brier 1950; Murphy 1973",
        traps="Half of Brier's own sum over two classes. Mixes calibration with knowledge: compare with the base rate's.",
    ),
    _entry(
        "negative_log_likelihood",
        "NLL",
        "Mean of -ln(probability given to what came true).",
        range="infinity to 0",
        direction="lower",
        signature="clip:no|log:natural",
        citation="Good 1952",
        traps="One certain mistake makes it infinite; libraries clip silently, so that their number depends on float type.",
    ),
)

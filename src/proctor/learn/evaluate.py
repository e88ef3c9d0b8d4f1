"""How well mistakes are recognised: over all pairs of steps, within recordings, and between them.

Mistakes cluster: some recordings have many, most have none. Whoever knows which recording went wrong ranks most pairs of
steps right without knowing which step did. So the pooled ROC-AUC is split into pairs of one recording (``within``) and of
two (``between``), and told for the recordings with a mistake alone (``mistaken``). Order mistakes follow from annotated times
and the task graph; so what is left when they are taken out is told as well (``without_order``). See ``docs/learn.md``.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.metrics.classification import (
    Options,
    above_threshold,
    accuracy,
    average_precision,
    between_roc_auc,
    choose_threshold,
    f1_score,
    precision,
    recall,
    roc_auc,
    within_roc_auc,
)
from proctor.metrics.score import Score

__all__ = ["Decided", "Figure", "OfKind", "Recognised", "evaluate", "threshold_of"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

RESAMPLES: Final = 2_000


class Figure(msgspec.Struct, frozen=True):
    """A value with its interval over recordings; None where there is none (one class only)."""

    value: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""

    @classmethod
    def of(cls, score: Score) -> Figure:
        """Take value, interval and note of a score."""
        return cls(_known(score.value), _known(score.low), _known(score.high), score.note)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends; None without."""
        return None if self.low is None or self.high is None else (self.low, self.high)


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


class Decided(msgspec.Struct, frozen=True):
    """Decisions at a threshold, and where it comes from."""

    threshold: float
    chosen_on: str
    accuracy: Figure
    precision: Figure
    recall: Figure
    f1: Figure


class OfKind(msgspec.Struct, frozen=True):
    """Some mistakes, mostly those of one kind, against everything else."""

    positives: int
    auc: Figure
    auc_within: Figure
    average_precision: Figure


class Recognised(msgspec.Struct, frozen=True):
    """How well one part of a split is recognised.

    Attributes:
        n: steps.
        positives: mistakes among them.
        recordings: that the steps are from.
        auc: chance that a mistake scores above a step without one.
        auc_within: the same for pairs of one recording.
        auc_between: the same for pairs of different recordings.
        auc_mistaken: over all pairs, in the recordings with a mistake alone.
        average_precision: area under the precision-recall curve.
        decided: at each threshold.
        kinds: by kind of mistake.
        without_order: all mistakes again, of the steps without a mistake of order; None where kinds are not known.
    """

    n: int
    positives: int
    recordings: int
    auc: Figure
    auc_within: Figure
    auc_between: Figure
    auc_mistaken: Figure
    average_precision: Figure
    decided: tuple[Decided, ...] = ()
    kinds: Mapping[str, OfKind] = {}
    without_order: OfKind | None = None


def threshold_of(target: Flags, scores: Floats) -> float:
    """Return the threshold with the best F1 on validation data; 0.5 where nothing there is a mistake.

    Where calling everything a mistake is best it is -1, below any probability; of other scores the lowest number there is, since a
    record in JSON holds no infinity.
    """
    chosen = choose_threshold(target, scores).value if target.any() else 0.5
    if chosen > -math.inf:
        return chosen
    return -1.0 if scores.min() >= 0 else -sys.float_info.max


def evaluate(
    target: Flags,
    scores: Floats,
    recordings: Sequence[str],
    *,
    thresholds: Mapping[str, float],
    kinds: Mapping[str, tuple[Flags, Floats]] | None = None,
    order: Flags | None = None,
    resamples: int = RESAMPLES,
) -> Recognised:
    """Evaluate one part of a split.

    Args:
        target: whether each step is a mistake; shape (n,).
        scores: higher is more suspicious; shape (n,).
        recordings: of each step; intervals draw them whole.
        thresholds: by where they come from (``validation``, ``fixed``).
        kinds: by kind of mistake, whether each step has it, and the scores of its detector; each of shape (n,).
        order: whether each step carries a mistake of order; shape (n,).
        resamples: of the bootstrap; 0 leaves intervals out.
    """
    options: Options = {"clusters": recordings, "resamples": resamples}
    with_mistake = {r for r, t in zip(recordings, target, strict=True) if t}
    kept = np.fromiter((r in with_mistake for r in recordings), np.bool_, len(recordings))
    of_mistaken: Options = {"clusters": [r for r in recordings if r in with_mistake], "resamples": resamples}
    without_order = None
    if order is not None:
        left = [r for r, odd in zip(recordings, order, strict=True) if not odd]
        without_order = _of_kind(target[~order], scores[~order], {"clusters": left, "resamples": resamples})
    return Recognised(
        n=target.size,
        positives=int(target.sum()),
        recordings=len(set(recordings)),
        auc=Figure.of(roc_auc(target, scores, **options)),
        auc_within=Figure.of(within_roc_auc(target, scores, **options)),
        auc_between=Figure.of(between_roc_auc(target, scores, **options)),
        auc_mistaken=Figure.of(roc_auc(target[kept], scores[kept], **of_mistaken)),
        average_precision=Figure.of(average_precision(target, scores, **options)),
        decided=tuple(_decided(target, scores, at, why, options) for why, at in thresholds.items()),
        kinds={name: _of_kind(*both, options) for name, both in (kinds or {}).items()},
        without_order=without_order,
    )


def _decided(target: Flags, scores: Floats, threshold: float, why: str, options: Options) -> Decided:
    called = above_threshold(scores, threshold)
    return Decided(
        threshold,
        why,
        *(Figure.of(f(target, called, **options)) for f in (accuracy, precision, recall, f1_score)),
    )


def _of_kind(target: Flags, scores: Floats, options: Options) -> OfKind:
    found = (f(target, scores, **options) for f in (roc_auc, within_roc_auc, average_precision))
    return OfKind(int(target.sum()), *(Figure.of(score) for score in found))

"""How a yes/no judge errs, from items that people judged too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proctor.metrics.errors import MetricInputError
from proctor.metrics.interval import Interval, require_confidence, wilson_interval

__all__ = ["FEW_LABELS", "JudgeError", "judge_error"]


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

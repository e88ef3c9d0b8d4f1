"""A number with its interval as it is stored: None where it is undefined, and then a note says why."""

from __future__ import annotations

import math
from dataclasses import dataclass

import msgspec

from proctor.metrics.interval import Interval
from proctor.metrics.score import Score, Signature

__all__ = ["Draws", "Estimate"]


@dataclass(frozen=True, slots=True)
class Draws:
    """Options of all intervals of an analysis: level, number of resamples, seed."""

    confidence: float = 0.95
    resamples: int = 10_000
    seed: int = 0

    def sign(self, signature: Signature) -> Signature:
        """Return the signature with these options."""
        return signature.having(
            confidence=f"{self.confidence:g}", resamples=str(self.resamples), seed=str(self.seed)
        )


class Estimate(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One number.

    Attributes:
        value: None where it is undefined.
        low: lower end of the interval, None where there is none.
        high: upper end.
        n: how many items stand behind it.
        p: two-sided p-value of the hypothesis that it is 0, where that was tested.
        p_holm: the same, corrected over all that were tested together.
        signature: every choice that changes it.
        note: why something is undefined, or what to beware of.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    p: float | None = None
    p_holm: float | None = None
    signature: str = ""
    note: str = ""

    @classmethod
    def of(cls, score: Score, *, factor: float = 1.0) -> Estimate:
        """Store a score, in another unit where a factor is given."""
        defined = not math.isnan(score.value)
        return cls(
            value=factor * score.value if defined else None,
            low=None if score.low is None else factor * score.low,
            high=None if score.high is None else factor * score.high,
            n=score.n,
            signature=str(score.signature),
            note=score.note,
        )

    @classmethod
    def with_interval(cls, value: float, interval: Interval, n: int, signature: Signature) -> Estimate:
        """Store a value beside the interval that was found for it."""
        if math.isnan(value):
            return cls(n=n, signature=str(signature), note=interval.note or "undefined")
        signature = signature.having(interval=interval.method)
        return cls(
            value=value,
            low=interval.low,
            high=interval.high,
            n=n,
            signature=str(signature),
            note=interval.note,
        )

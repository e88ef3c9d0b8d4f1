"""What a test found."""

from __future__ import annotations

import math
from dataclasses import dataclass

from proctor.metrics.score import Score, Signature

__all__ = ["PValue"]


@dataclass(frozen=True, slots=True)
class PValue:
    """What a test found.

    Attributes:
        p: two-sided p-value; None only when it is undefined, and then ``note`` says why.
        signature: the test and every choice that changes the number.
        n: observations (or pairs, or systems) that it stands on.
        statistic: what was tested (each test says what it is); None when undefined.
        note: why p is undefined, or what to beware of.
    """

    p: float | None
    signature: Signature
    n: int
    statistic: float | None = None
    note: str = ""

    def as_score(self) -> Score:
        """Return the p-value as a score, for tables."""
        return Score(math.nan if self.p is None else self.p, self.signature, self.n, note=self.note)

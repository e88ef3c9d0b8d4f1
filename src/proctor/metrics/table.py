"""The result of scoring one family: rows of scores, what was read and dropped, and pictures as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from proctor.metrics.figure import Figure
from proctor.metrics.score import Score

__all__ = ["ScoreRow", "ScoreTable"]


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One cell of the printed table.

    Attributes:
        metric: the label of the column (``mAP@0.5``, ``F1``).
        score: the number with its interval, signature and counts.
        slice: which part of the data, or which system; the label of the line.
        chance: True for a line that knows nothing ("always error"): printed beside every result.
        digits: decimal places in print.
        percent: True for a share that tables and pages print in per cent; the score itself stays from 0 to 1.
    """

    metric: str
    score: Score
    slice: str = "all"
    chance: bool = False
    digits: int = 3
    percent: bool = False

    @property
    def shown(self) -> Score:
        """The score as it is printed: times 100 where it is a percentage."""
        if not self.percent:
            return self.score
        low, high = (None if end is None else 100.0 * end for end in (self.score.low, self.score.high))
        return replace(self.score, value=100.0 * self.score.value, low=low, high=high)

    @property
    def shown_metric(self) -> str:
        """The label of the column, with the unit behind it where that is per cent."""
        return f"{self.metric} %" if self.percent else self.metric


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Everything that ``proctor metrics FAMILY`` prints, writes as JSON or LaTeX, and draws.

    Attributes:
        family: which metrics: one of ``FAMILIES``, or of another package.
        rows: scores, in printing order.
        headline: values that machines look for first, as top-level keys of the JSON (``mAP``: list), in printed units.
        counts: what was read, scored, dropped and repaired, by a name that can be read.
        notes: what to beware of, one sentence each.
        figures: pictures of these scores.
    """

    family: str
    rows: tuple[ScoreRow, ...]
    headline: Mapping[str, object] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()

"""The result of scoring one family: rows of scores, what was read and dropped, and pictures as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from proctor.metrics.figure import Figure
from proctor.metrics.metric import Family
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
    """

    metric: str
    score: Score
    slice: str = "all"
    chance: bool = False
    digits: int = 3


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Everything that ``proctor score FAMILY`` prints, writes as JSON or LaTeX, and draws.

    Attributes:
        family: which metrics.
        rows: scores, in printing order.
        headline: values that machines look for first, as top-level keys of the JSON (``mAP``: list).
        counts: what was read, scored, dropped and repaired, by a name that can be read.
        notes: what to beware of, one sentence each.
        figures: pictures of these scores.
    """

    family: Family
    rows: tuple[ScoreRow, ...]
    headline: Mapping[str, object] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()

"""What the rows of all kinds of agreement share: options of the intervals, names, notes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from proctor.metrics.agreement import INDEPENDENT
from proctor.metrics.score import Score, Signature
from proctor.metrics.table import ScoreRow

__all__ = ["MANY_PAIRS", "Resampling", "chance_row", "name_of_pair", "named_score", "slice_note"]

MANY_PAIRS: Final = 15
"""With more pairs of annotators than this, the heat-map alone shows them."""


@dataclass(frozen=True, slots=True)
class Resampling:
    """Options of all intervals.

    Attributes:
        confidence: level.
        resamples: draws of the bootstrap; 0 leaves the intervals out.
        seed: of the draws.
    """

    confidence: float = 0.95
    resamples: int = 2_000
    seed: int = 0

    def options(self) -> dict[str, Any]:
        """Return them as keyword arguments of the metrics."""
        return {"confidence": self.confidence, "resamples": self.resamples, "seed": self.seed}


def named_score(score: Score, **parameters: str) -> Score:
    """Return the score with choices of the stage in its signature."""
    if "cluster" not in score.signature.parameters:
        parameters.pop("cluster", None)
    return replace(score, signature=score.signature.having(**parameters))


def chance_row(row: ScoreRow, score: Score | None = None) -> ScoreRow:
    """The row of annotators who know nothing of each other; 0 where a measure is corrected for chance.

    A measure that these data leave undefined has no chance level either.
    """
    own = row.score.signature.parameters
    kept = {key: own[key] for key in ("label", "level", "pairs", "weights") if key in own}
    if score is None:
        score = Score(0.0, Signature(row.score.signature.name, INDEPENDENT), row.score.n)
    if math.isnan(row.score.value):
        score = replace(score, value=math.nan, note=row.score.note)
    return ScoreRow(row.metric, named_score(score, **kept), "independent annotators", chance=True)


def name_of_pair(a: str, b: str) -> str:
    """Name of the slice of two annotators."""
    return f"{a} – {b}"


def slice_note(slices: Mapping[str, object]) -> list[str]:
    """Say what ``all`` is where there are slices."""
    if len(slices) < 2:
        return []
    return ["'all' pools the units of all slices; slices are shown each, never averaged"]

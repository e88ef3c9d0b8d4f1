"""Pictures of answers by slice."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from proctor.metrics.choice import chance_accuracy
from proctor.metrics.figure import Figure, IntervalPlot
from proctor.metrics.table import ScoreRow
from proctor.stages.scoring.answer_files import AnswerData
from proctor.stages.scoring.answer_values import METRIC_LABELS, Measured

__all__ = ["slice_figures"]


def slice_figures(
    measured: Sequence[Measured], rows: Sequence[ScoreRow], parts: Mapping[str, Any], data: AnswerData
) -> list[Figure]:
    """One picture a metric with the values of its slices; none without slices."""
    if len(parts) < 2:
        return []
    figures: list[Figure] = []
    for m in measured:
        own = [r for r in rows if r.metric == METRIC_LABELS[m.metric] and not r.chance]
        chance: tuple[float | None, ...] = ()
        if m.metric == "choice":
            chance = tuple(
                chance_accuracy([data.questions[i].option_count for i in parts[r.slice]]) for r in own
            )
        figures.append(
            IntervalPlot(
                title=f"{METRIC_LABELS[m.metric]} by slice",
                labels=tuple(r.slice for r in own),
                values=tuple(None if math.isnan(r.score.value) else r.score.value for r in own),
                low=tuple(r.score.low for r in own),
                high=tuple(r.score.high for r in own),
                chance=chance,
                scale=(0.0, 100.0) if m.metric == "judge" else (0.0, 1.0),
            )
        )
    return figures

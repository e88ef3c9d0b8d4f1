"""Pictures of answers by slice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proctor.metrics.choice import chance_accuracy
from proctor.metrics.figure import Figure
from proctor.metrics.table import ScoreRow
from proctor.stages.scoring.answer_files import AnswerData
from proctor.stages.scoring.answer_values import METRIC_LABELS, Measured
from proctor.stages.scoring.figures import interval_plot

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
            interval_plot(
                f"{METRIC_LABELS[m.metric]} by slice",
                ((r.slice, r.score) for r in own),
                chance=chance,
                scale=(0.0, 100.0) if m.metric == "judge" else (0.0, 1.0),
            )
        )
    return figures

"""Pictures of localized steps: classes, and slices with intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from proctor.metrics.figure import Bars, Figure, IntervalPlot
from proctor.metrics.localization import LocalizationScores
from proctor.stages.scoring.localization_slices import Part
from proctor.stages.scoring.percent import as_percent

__all__ = ["localization_plots"]


def localization_plots(
    scores: LocalizationScores, parts: Sequence[Part], column: str | None
) -> tuple[Figure, ...]:
    """Average precision of the classes, and recall of the slices at the middle threshold."""
    matches = scores.matches
    middle = matches.tiou[len(matches.tiou) // 2]
    t = matches.tiou.index(middle)
    segments = np.bincount(matches.truth_class, minlength=len(matches.classes))
    shown = np.argsort(-segments, kind="stable").tolist()
    bars = Bars(
        f"Average precision at tIoU {middle:g}, classes with most segments first",
        tuple(str(matches.classes[c]) for c in shown),
        tuple(as_percent(scores.ap[shown, t])),
        tuple(int(segments[c]) for c in shown),
        unit="%",
    )
    lines = [p for p in parts if p.tiou == middle and not p.difference]
    if not lines:
        return (bars,)
    plot = IntervalPlot(
        f"Micro recall by {column} at tIoU {middle:g}, per cent",
        tuple(f"{p.label}, R@{p.k}x" for p in lines),
        tuple(as_percent(p.value) for p in lines),
        tuple(as_percent(p.interval.low) if p.interval else None for p in lines),
        tuple(as_percent(p.interval.high) if p.interval else None for p in lines),
        scale=(0.0, 100.0),
    )
    return (bars, plot)

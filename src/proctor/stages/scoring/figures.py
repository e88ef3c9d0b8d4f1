"""What the pictures of all families share: scores as lines with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from proctor.metrics.figure import IntervalPlot
from proctor.metrics.score import Score

__all__ = ["defined", "interval_plot"]


def defined(value: float) -> float | None:
    """Return the value, None instead of nan: pictures leave such a place empty."""
    return None if math.isnan(value) else value


def interval_plot(
    title: str,
    lines: Iterable[tuple[str, Score]],
    *,
    chance: Sequence[float | None] = (),
    scale: tuple[float, float] = (0.0, 1.0),
) -> IntervalPlot:
    """Show scores with their intervals, one line each.

    Args:
        title: what it shows.
        lines: label and score.
        chance: of each line, what knowing nothing would give; empty when not known.
        scale: the ends of the scale.
    """
    shown = list(lines)
    return IntervalPlot(
        title=title,
        labels=tuple(label for label, _ in shown),
        values=tuple(defined(score.value) for _, score in shown),
        low=tuple(score.low for _, score in shown),
        high=tuple(score.high for _, score in shown),
        chance=tuple(chance),
        scale=scale,
    )

"""What the tables of several families share: parts of the data, the words of signatures, scores as pictures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final, overload

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.figure import IntervalPlot
from proctor.metrics.score import Score
from proctor.stages.scoring.settings import ScoreSettings

__all__ = ["ALL", "as_percent", "defined", "interval_plot", "interval_words", "slice_word", "sliced"]

ALL: Final = "all"


def sliced(values: Sequence[Sequence[str]], columns: Sequence[str]) -> dict[str, list[int]]:
    """Return the places of each value of each column, named ``column=value``; those of all first.

    Args:
        values: of each item, one a column.
        columns: their names.
    """
    parts = {ALL: list(range(len(values)))}
    for at, name in enumerate(columns):
        for value in sorted({item[at] for item in values}):
            parts[f"{name}={value}"] = [i for i, item in enumerate(values) if item[at] == value]
    return parts


def slice_word(name: str) -> dict[str, str]:
    """Return what a signature says of a slice."""
    return {"slice": name.replace("|", "/")}


def interval_words(settings: ScoreSettings, cluster: str) -> dict[str, str]:
    """Return what a signature says of the bootstrap of a mean (BCa, drawn by clusters)."""
    if not settings.resamples:
        return {"interval": "none"}
    return {
        "cluster": cluster,
        "interval": f"bca-{100 * settings.confidence:g}",
        "resamples": str(settings.resamples),
        "seed": str(settings.seed),
    }


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


@overload
def as_percent(share: float) -> float: ...


@overload
def as_percent(share: None) -> None: ...


@overload
def as_percent(share: float | None) -> float | None: ...


@overload
def as_percent(share: NDArray[np.float64]) -> list[float]: ...


def as_percent(share: float | NDArray[np.float64] | None) -> float | list[float] | None:
    """Return a share from 0 to 1, or all of an array, in per cent; nothing stays nothing.

    Scores are shares everywhere; the headline of ``--json`` and the pictures hold the figures that papers print.
    """
    if share is None:
        return None
    return (100.0 * share).tolist() if isinstance(share, np.ndarray) else 100.0 * share

"""How well steps are found in time: mAP and recall at each overlap, with intervals over recordings.

All is measured by ``metrics.localization``, so that ``proctor metrics localization`` says the same of the written files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.learn.evaluate import Figure
from proctor.learn.localize.dense import BACKGROUND
from proctor.metrics.interval import Interval
from proctor.metrics.localization import (
    TIOU,
    Segments,
    localization_scores,
    score_intervals,
)
from proctor.metrics.segmentation import segmentation_scores, segmentation_statistics

__all__ = ["LocalizeFigures", "LocalizedRow", "labelled", "localized", "rows_of"]

Row = Literal["mAP", "R@1x", "R@5x", "micro R@1x", "micro R@5x"]
ROWS: Final[tuple[Row, ...]] = ("mAP", "R@1x", "R@5x", "micro R@1x", "micro R@5x")
"""In the order of ``weighted_scores``, but for the average mAP, which comes after the first there."""


class LocalizedRow(msgspec.Struct, frozen=True):
    """One figure at each overlap."""

    name: Row
    at: tuple[Figure, ...]


class LocalizeFigures(msgspec.Struct, frozen=True):
    """What a localizer finds in some recordings; shares from 0 to 1.

    Attributes:
        recordings: that were searched.
        segments: executions to be found in them.
        classes: of these; the macro figures are means over them.
        predictions: segments that were predicted.
        tiou: overlaps that count as found.
        rows: figures at these.
        average_map: mean of mAP over the overlaps.
    """

    recordings: int
    segments: int
    classes: int
    predictions: int
    tiou: tuple[float, ...]
    rows: tuple[LocalizedRow, ...]
    average_map: Figure

    def row(self, name: Row) -> tuple[Figure, ...]:
        """Return one figure at each overlap."""
        return next(r.at for r in self.rows if r.name == name)

    def value(self, name: Row, tiou: float) -> float:
        """Return one value."""
        value = self.row(name)[self.tiou.index(tiou)].value
        return float("nan") if value is None else value


def localized(
    truth: Segments, predictions: Segments, *, resamples: int = 0, seed: int = 0
) -> LocalizeFigures:
    """Compare predictions with the ground truth of the same recordings.

    Args:
        truth: executions; ``videos`` are the recordings that were searched.
        predictions: with scores.
        resamples: draws of the intervals over recordings; 0 for none.
        seed: of these.

    Raises:
        MetricInputError: if there is no ground truth.
    """
    scores = localization_scores(truth, predictions)
    intervals = score_intervals(scores.matches, resamples=resamples, seed=seed) if resamples else ()
    tables = [scores.mean_ap, *scores.mean_recall.values(), *scores.micro_recall.values()]
    flat = [*tables[0], scores.average_map, *(v for table in tables[1:] for v in table)]
    rows, average = rows_of(flat, intervals)
    return LocalizeFigures(
        len(truth.videos), len(truth), len(scores.matches.classes), len(predictions), TIOU, rows, average
    )


def rows_of(
    values: Iterable[float], intervals: Sequence[Interval] = ()
) -> tuple[tuple[LocalizedRow, ...], Figure]:
    """Put values and intervals, both in the order of ``weighted_scores``, into rows and the average mAP."""
    made = [
        Figure(float(value), *((i.low, i.high, i.note) if (i := intervals[k] if intervals else None) else ()))
        for k, value in enumerate(values)
    ]
    n = len(TIOU)
    average = made.pop(n)
    return tuple(LocalizedRow(name, tuple(made[k * n : (k + 1) * n])) for k, name in enumerate(ROWS)), average


_SHARES: Final = ("MoF", "MoF-bg", "MoF/video", "Edit", "F1@10", "F1@25", "F1@50")
"""Of the scores of ``metrics.segmentation``, those that are shares."""


def labelled(
    truth: Sequence[NDArray[np.str_]], found: Sequence[NDArray[np.str_]], *, resamples: int = 0, seed: int = 0
) -> Mapping[str, Figure]:
    """Return how well every row is labelled, shares from 0 to 1: rows (MoF, with and without background), edit, and F1.

    Args:
        truth: labels of each recording's rows.
        found: parallel to it.
        resamples: of the bootstrap over recordings; 0 leaves the intervals out.
        seed: of the draws.
    """
    stats = segmentation_statistics(truth, found, background=[BACKGROUND], matching="corrected")
    scores = dict(segmentation_scores(stats, resamples=resamples, seed=seed))
    return {name: Figure.of(scores[name]) for name in _SHARES if name in scores}

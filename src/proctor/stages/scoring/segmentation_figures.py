"""Pictures of a segmentation: scores beside chance, and labels confused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from proctor.metrics.figure import Figure, Matrix
from proctor.metrics.segmentation import frame_confusion
from proctor.metrics.table import ScoreRow
from proctor.stages.scoring.figures import defined, interval_plot
from proctor.stages.scoring.segmentation_files import Labels

__all__ = ["segmentation_plots"]

_SHOWN_LABELS: Final = 25


def segmentation_plots(
    rows: Sequence[ScoreRow], reference: list[Labels], predicted: list[Labels]
) -> tuple[Figure, ...]:
    """Scores beside the better of two chance rows, and labels confused."""
    shown = [r for r in rows if not r.chance and r.percent]
    chance = {r.metric: max(c.shown.value for c in rows if c.chance and c.metric == r.metric) for r in shown}
    return (
        interval_plot(
            "Scores; the mark of chance is the better of majority label and random label",
            ((r.metric, r.shown) for r in shown),
            chance=[defined(chance[r.metric]) for r in shown],
            scale=(0.0, 100.0),
        ),
        _confusion(reference, predicted),
    )


def _confusion(reference: list[Labels], predicted: list[Labels]) -> Matrix:
    labels, cells = frame_confusion(reference, predicted)
    names = [str(label) for label in labels]
    size = cells.sum(axis=0) + cells.sum(axis=1)
    if len(names) > _SHOWN_LABELS:
        keep = np.sort(np.argsort(-size, kind="stable")[:_SHOWN_LABELS])
        group = np.full(len(names), _SHOWN_LABELS)
        group[keep] = np.arange(_SHOWN_LABELS)
        merged = np.zeros((_SHOWN_LABELS + 1, _SHOWN_LABELS + 1), dtype=np.int64)
        np.add.at(merged, (group[:, None], group[None, :]), cells)
        names = [*(names[i] for i in keep), f"{len(labels) - _SHOWN_LABELS} others"]
        cells = merged
    return Matrix(
        title="Frames by label",
        rows=tuple(names),
        columns=tuple(names),
        cells=tuple(tuple(float(n) for n in row) for row in cells.tolist()),
        kind="counts",
        row_title="reference",
        column_title="prediction",
    )

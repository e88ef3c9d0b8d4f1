"""Precision, recall, F1 and IoU of the key steps of one task, from its counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.clustering.overlap import BACKGROUNDS, Background, Overlap, matched_pairs, require_choice

__all__ = ["AVERAGES", "MEASURES", "Average", "KeyStep", "match_key_steps", "measure_key_steps"]


Average = Literal["per-key-step", "pooled"]
AVERAGES: Final[tuple[Average, ...]] = get_args(Average)
MEASURES: Final = ("key_step_precision", "key_step_recall", "key_step_iou", "key_step_f1")
"""The four numbers of a clustering, in the order of ``measure_key_steps``."""


@dataclass(frozen=True, slots=True)
class KeyStep:
    """A true class and the cluster it was matched with.

    Attributes:
        name: the true label.
        cluster: the cluster, None if it has none.
        common: frames in both.
        frames: frames of the class.
        cluster_frames: frames of the cluster, 0 without one.
    """

    name: str
    cluster: str | None
    common: int
    frames: int
    cluster_frames: int

    @property
    def precision(self) -> float:
        """Share of the cluster that belongs to the class; 0 without a cluster."""
        return self.common / self.cluster_frames if self.cluster_frames else 0.0

    @property
    def recall(self) -> float:
        """Share of the class that the cluster covers."""
        return self.common / self.frames

    @property
    def iou(self) -> float:
        """Common frames over the frames of either."""
        return self.common / (self.frames + self.cluster_frames - self.common)


def match_key_steps(overlap: Overlap, *, background: Background = "class") -> tuple[KeyStep, ...]:
    """Match clusters one to one to classes so that as many frames as possible agree.

    Args:
        overlap: from ``count_overlap``.
        background: ``matched`` leaves the background out of what is returned, after it took part.

    Returns:
        One entry a class, in the order of ``overlap.classes``.
    """
    require_choice(background, BACKGROUNDS, "background")
    if not overlap.classes:
        return ()
    partner = dict(zip(*(part.tolist() for part in matched_pairs(overlap.counts)), strict=True))
    sizes, cluster_sizes = overlap.counts.sum(axis=1), overlap.counts.sum(axis=0)
    out = []
    for row, name in enumerate(overlap.classes):
        if background == "matched" and row == overlap.background:
            continue
        column = partner.get(row)
        common = 0 if column is None else int(overlap.counts[row, column])
        cluster = None if column is None else overlap.clusters[column]
        frames = 0 if column is None else int(cluster_sizes[column])
        out.append(KeyStep(name, cluster, common, int(sizes[row]), frames))
    return tuple(out)


def measure_key_steps(
    counts: NDArray[np.number], *, average: Average = "per-key-step", ignored: int | None = None
) -> tuple[float, float, float, float]:
    """Return precision, recall, IoU and F1 of a matrix of common frames after matching.

    Args:
        counts: frames that each class (row) and cluster (column) share; classes without a frame do not count.
        average: ``per-key-step`` (mean over classes) or ``pooled`` (sums divided).
        ignored: row that takes part in the matching and not in the result (background).

    Returns:
        Precision, recall, IoU and F1, the harmonic mean of the two averages; all ``nan`` without a class.

    Raises:
        MetricInputError: if an option is unknown.
    """
    require_choice(average, AVERAGES, "average")
    sizes = counts.sum(axis=1).astype(np.float64)
    counted = sizes > 0
    if ignored is not None:
        counted[ignored] = False
    if not counted.any():
        return math.nan, math.nan, math.nan, math.nan
    common, cluster_sizes = np.zeros(len(sizes)), np.zeros(len(sizes))
    rows, columns = matched_pairs(counts)
    common[rows], cluster_sizes[rows] = counts[rows, columns], counts.sum(axis=0)[columns]
    common, sizes, cluster_sizes = common[counted], sizes[counted], cluster_sizes[counted]
    parts = (cluster_sizes, sizes, sizes + cluster_sizes - common)
    if average == "pooled":
        found = [float(common.sum() / whole.sum()) if whole.sum() else 0.0 for whole in parts]
    else:
        found = [
            float(np.divide(common, whole, out=np.zeros_like(common), where=whole > 0).mean())
            for whole in parts
        ]
    both = found[0] + found[1]
    return found[0], found[1], found[2], 2 * found[0] * found[1] / both if both else 0.0

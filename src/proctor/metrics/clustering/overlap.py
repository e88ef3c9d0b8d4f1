"""Frames that clusters and key steps share: counted, and matched one to one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.bootstrap import Floats
from proctor.metrics.errors import MetricInputError

__all__ = [
    "BACKGROUNDS",
    "Background",
    "Overlap",
    "count_overlap",
    "matched_pairs",
    "merge_overlaps",
    "require_choice",
    "stacked_counts",
]

Background = Literal["class", "matched", "dropped"]
BACKGROUNDS: Final[tuple[Background, ...]] = get_args(Background)

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Overlap:
    """How many frames each true class and each cluster share.

    Attributes:
        classes: true labels, sorted; rows.
        clusters: labels of the clusters, sorted; columns.
        counts: frames, shape (classes, clusters).
        background: row of the background class, None when there is none.
    """

    classes: tuple[str, ...]
    clusters: tuple[str, ...]
    counts: Counts
    background: int | None = None


def count_overlap(
    reference: Sequence[object],
    predicted: Sequence[object],
    *,
    background_label: str | None = "0",
    background: Background = "class",
) -> Overlap:
    """Count the frames that each true class and each cluster share.

    Args:
        reference: true label of each frame; numbers and texts are the same if they print the same.
        predicted: cluster of each frame, parallel.
        background_label: the label of frames that belong to no step; None if there is none.
        background: ``dropped`` leaves its frames out; the other two keep them.

    Raises:
        MetricInputError: if lengths differ or an option is unknown.
    """
    if len(reference) != len(predicted):
        raise MetricInputError(
            f"reference and predicted must have the same frames, got {len(reference)} and {len(predicted)}",
            "sample both at the same rate",
        )
    require_choice(background, BACKGROUNDS, "background")
    truth, found = _label_texts(reference, "reference"), _label_texts(predicted, "predicted")
    if background == "dropped" and len(truth):
        kept = truth != background_label
        truth, found = truth[kept], found[kept]
    if not len(truth):
        return Overlap((), (), np.zeros((0, 0), dtype=np.int64))
    classes, rows = np.unique(truth, return_inverse=True)
    clusters, columns = np.unique(found, return_inverse=True)
    cells = np.bincount(rows * len(clusters) + columns, minlength=len(classes) * len(clusters))
    names = tuple(map(str, classes))
    return Overlap(
        names,
        tuple(map(str, clusters)),
        cells.reshape(len(classes), len(clusters)).astype(np.int64),
        names.index(background_label) if background_label in names else None,
    )


def _label_texts(labels: Sequence[object], what: str) -> NDArray[np.str_]:
    """Labels as they print; None and nan would print as labels of their own."""
    if isinstance(labels, str | bytes):
        raise MetricInputError(
            f"{what} is a list of labels, got the text {labels[:60]!r}", "put them into a list"
        )
    for row, label in enumerate(labels):
        if label is None or isinstance(label, bytes) or label != label:
            raise MetricInputError(
                f"the {what} label of frame {row} is {label!r}", "give every frame a label"
            )
    return np.asarray([str(label) for label in labels])


def require_choice(value: str, allowed: Sequence[str], name: str) -> None:
    """Make sure that an option has one of its values."""
    if value not in allowed:
        raise MetricInputError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")


def matched_pairs(counts: NDArray[np.number]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return rows and columns of the matching: most common frames, then the largest sum of IoU; no empty pairs."""
    from scipy.optimize import linear_sum_assignment

    common = counts.astype(np.float64)
    union = common.sum(axis=1, keepdims=True) + common.sum(axis=0, keepdims=True) - common
    iou = np.divide(common, union, out=np.zeros_like(common), where=union > 0)
    # all the IoU together weigh less than one frame
    rows, columns = linear_sum_assignment(
        common + iou / (2 * min(common.shape, default=1) or 1), maximize=True
    )
    kept = common[rows, columns] > 0
    return rows[kept], columns[kept]


def merge_overlaps(videos: Mapping[str, Overlap]) -> Overlap:
    """Return the overlap of all videos together; a cluster is the same one in all of them."""
    classes, clusters, stack, background = _stack(videos)
    return Overlap(classes, clusters, stack.sum(axis=0).astype(np.int64), background)


def stacked_counts(videos: Mapping[str, Overlap], background: Background) -> tuple[Floats, int | None]:
    """Return the overlaps of all videos over their common classes and clusters, and the row to ignore."""
    _, _, stack, row = _stack(videos)
    return stack, row if background == "matched" else None


def _stack(videos: Mapping[str, Overlap]) -> tuple[tuple[str, ...], tuple[str, ...], Floats, int | None]:
    classes = tuple(sorted({name for overlap in videos.values() for name in overlap.classes}))
    clusters = tuple(sorted({name for overlap in videos.values() for name in overlap.clusters}))
    row = {name: k for k, name in enumerate(classes)}
    column = {name: k for k, name in enumerate(clusters)}
    stack = np.zeros((len(videos), len(classes), len(clusters)))
    background = None
    for k, name in enumerate(sorted(videos)):
        overlap = videos[name]
        if overlap.classes:
            places = np.ix_([row[c] for c in overlap.classes], [column[c] for c in overlap.clusters])
            stack[k][places] = overlap.counts
        if overlap.background is not None:
            background = row[overlap.classes[overlap.background]]
    return classes, clusters, stack, background

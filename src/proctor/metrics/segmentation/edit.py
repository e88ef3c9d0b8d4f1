"""The edit score: the order of the segments' labels, without their times."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from proctor.metrics.score import Score, Signature
from proctor.metrics.segmentation.videos import (
    Floats,
    Label,
    Runs,
    Timeline,
    Videos,
    hidden_labels,
    plain_score,
    share_of,
    timeline,
)

__all__ = ["edit_distance", "edit_score", "edit_signature", "edits"]


def edit_distance(first: Sequence[int], second: Sequence[int]) -> int:
    """Levenshtein distance of two sequences: the fewest insertions, deletions and replacements.

    All columns of one row are updated at once as the bits of whole numbers (Myers 1999, Hyyrö 2003), so that a
    thousand segments against a thousand take a thousand steps.
    """
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    if not shorter:
        return len(longer)
    places: dict[int, int] = {}
    for place, item in enumerate(longer):
        places[item] = places.get(item, 0) | 1 << place
    every, last = (1 << len(longer)) - 1, 1 << (len(longer) - 1)
    more, less, distance = every, 0, len(longer)
    for item in shorter:
        same = places.get(item, 0)
        diagonal = (((same & more) + more) ^ more) | same | less
        up, down = less | (every & ~(diagonal | more)), diagonal & more
        distance += bool(up & last) - bool(down & last)
        up = (up << 1) | 1
        more = ((down << 1) | (every & ~(diagonal | up))) & every
        less = up & diagonal & every
    return distance


def edit_score(gt: Videos, pred: Videos, *, background: Collection[Label] = ()) -> Score:
    """Segmental edit score, 0 to 1: mean over videos of 1 - edit distance / longer sequence of segments.

    Only the order of the segments' labels counts, not their times. A video without segments on both sides scores
    1: there was nothing to say, and nothing was said.

    Args:
        gt: labels of each video.
        pred: parallel to ``gt``.
        background: labels whose runs are removed on both sides, without joining their neighbours (published).

    Raises:
        MetricInputError: if videos or lengths differ, labels are invalid, or no video has a frame.
    """
    line = timeline(gt, pred, background)
    some = np.diff(line.first) > 0
    values = edits(line, line.foreground_runs(line.reference), line.foreground_runs(line.predicted))[some]
    value = share_of(math.fsum(values.tolist()), len(values), "no video has a frame")
    return plain_score(value, edit_signature(hidden_labels(background)), line)


def edit_signature(background: str) -> Signature:
    """Without what is drawn and the interval."""
    return Signature("edit_score", {"average": "videos", "background": background, "norm": "longer"})


def edits(line: Timeline, wanted: Runs, given: Runs) -> Floats:
    """Edit score of each video."""
    n = len(line.first) - 1
    sides = [
        np.split(runs.code, np.searchsorted(runs.video, np.arange(1, n))) if n else []
        for runs in (wanted, given)
    ]
    return np.array([_edit(a.tolist(), b.tolist()) for a, b in zip(*sides, strict=True)], dtype=np.float64)


def _edit(wanted: list[int], given: list[int]) -> float:
    longer = max(len(wanted), len(given))
    return 1.0 - edit_distance(wanted, given) / longer if longer else 1.0

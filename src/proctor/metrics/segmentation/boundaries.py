"""How far the boundaries of matched segments are off."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from proctor.metrics.segmentation.conversion import require_rate
from proctor.metrics.segmentation.pairs import Pairs, assignment, overlapping_pairs, require_overlap
from proctor.metrics.segmentation.videos import Floats, Integers, Label, Runs, Videos, timeline

__all__ = ["BoundaryErrors", "boundaries_of_pairs", "segment_boundary_errors"]


@dataclass(frozen=True, slots=True, eq=False)
class BoundaryErrors:
    """How far the boundaries of matched segments are off.

    Attributes:
        video: index of the video of each matched pair.
        start: predicted start less reference start: negative is too early.
        end: predicted end less reference end.
        iou: of each matched pair.
        unit: ``s`` or ``frames``.
        overlap: smallest IoU of a matched pair.
        wanted: reference segments.
        given: predicted segments.
        videos: how many there were.
    """

    video: Integers
    start: Floats
    end: Floats
    iou: Floats
    unit: str
    overlap: float
    wanted: int
    given: int
    videos: int


def segment_boundary_errors(
    gt: Videos,
    pred: Videos,
    *,
    rate: float | None = None,
    overlap: float = 0.1,
    background: Collection[Label] = (),
) -> BoundaryErrors:
    """Boundary errors of matched segments: signed, predicted less reference.

    Segments of one label are matched one to one, so that the sum of their IoU is as large as possible, among pairs
    with at least this overlap. Segments without a partner have no boundary error: read the numbers beside F1, and
    the smaller the overlap the more difficult segments are in. The begin and end of a video count like any boundary.

    Args:
        gt: labels of each video.
        pred: parallel to ``gt``.
        rate: frames per second; the errors are in frames if None.
        overlap: smallest IoU of a match, above 0.
        background: labels whose runs are no segments.

    Raises:
        MetricInputError: if videos or lengths differ, or labels or options are invalid.
    """
    line = timeline(gt, pred, background)
    wanted, given = line.foreground_runs(line.reference), line.foreground_runs(line.predicted)
    return boundaries_of_pairs(
        overlapping_pairs(wanted, given), wanted, given, rate, overlap, len(line.first) - 1
    )


def boundaries_of_pairs(
    pairs: Pairs, wanted: Runs, given: Runs, rate: float | None, overlap: float, videos: int
) -> BoundaryErrors:
    """Match the pairs one to one and compare their boundaries."""
    require_overlap(overlap)
    if rate is not None:
        require_rate(rate)
    enough = pairs.iou >= overlap
    a, b = pairs.wanted[enough], pairs.given[enough]
    chosen = assignment(a, b, pairs.iou[enough])
    a, b = a[chosen], b[chosen]
    scale = 1.0 if rate is None else rate
    return BoundaryErrors(
        video=wanted.video[a],
        start=(given.start[b] - wanted.start[a]) / scale,
        end=(given.end[b] - wanted.end[a]) / scale,
        iou=pairs.iou[enough][chosen],
        unit="frames" if rate is None else "s",
        overlap=overlap,
        wanted=len(wanted.start),
        given=len(given.start),
        videos=videos,
    )

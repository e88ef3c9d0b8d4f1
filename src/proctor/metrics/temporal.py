"""Overlap in time, for everything that compares segments.

Conventions: times are float seconds, segments are half-open ``[start, end)``; a segment whose end is not after its
start has no length and overlaps nothing.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proctor.metrics.errors import MetricInputError

__all__ = ["require_times", "temporal_ious"]

_SUMMABLE: Final = 1e307
"""Times up to here can be subtracted and added twice without leaving the range of floats."""


def temporal_ious(
    start: ArrayLike, end: ArrayLike, other_start: ArrayLike, other_end: ArrayLike
) -> NDArray[np.float64]:
    """Intersection over union of segments, elementwise with broadcasting: 0 to 1, 0 where one has no length.

    The union is the sum of both lengths less the intersection, so two segments apart do not count the gap.

    Args:
        start: seconds, any shape.
        end: seconds, broadcast with ``start``.
        other_start: seconds, broadcast.
        other_end: seconds, broadcast.

    Raises:
        MetricInputError: if a time is not finite: the overlap would be 0 without a word.
    """
    a, b = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
    c, d = np.asarray(other_start, dtype=np.float64), np.asarray(other_end, dtype=np.float64)
    latest = [float(np.abs(times).max(initial=0.0)) for times in (a, b, c, d)]
    if not all(map(math.isfinite, latest)):
        raise MetricInputError("a time is not finite", "remove the segment or repair its times")
    if max(latest) > _SUMMABLE:
        a, b, c, d = a / 8, b / 8, c / 8, d / 8  # a ratio does not depend on the unit
    first, second = np.maximum(b - a, 0.0), np.maximum(d - c, 0.0)
    shared = np.maximum(np.minimum(b, d) - np.maximum(a, c), 0.0)
    shared = np.where((first > 0) & (second > 0), shared, 0.0)
    union = first + second - shared
    result: NDArray[np.float64] = np.divide(shared, union, out=np.zeros(np.shape(union)), where=union > 0)
    return result


def require_times(start: NDArray[np.float64], end: NDArray[np.float64], what: str) -> None:
    """Make sure that times are finite, parallel and not reversed; lengths may be zero, callers decide about those.

    Raises:
        MetricInputError: naming the first row (from 0) that is not finite or ends before it starts.
    """
    if start.shape != end.shape or start.ndim != 1:
        raise MetricInputError(
            f"{what}: starts and ends must be parallel lists, got shapes {start.shape} and {end.shape}"
        )
    bad = np.flatnonzero(~(np.isfinite(start) & np.isfinite(end)))
    if bad.size:
        row = int(bad[0])
        raise MetricInputError(
            f"{what}: the times of row {row} are not finite ({start[row]:g}, {end[row]:g})",
            "remove the row or repair its times",
        )
    for row in np.flatnonzero(end < start)[:1].tolist():
        raise MetricInputError(
            f"{what}: the segment of row {row} ends at {end[row]:g} s, before its start at {start[row]:g} s",
            "exchange its times or remove the row",
        )

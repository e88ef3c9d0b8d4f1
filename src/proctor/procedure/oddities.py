"""What is odd about the segments of a recording: out of order, overlapping, nested, without length, beyond the video.

Nothing here is wrong by itself; it is counted, because each of it makes one rule for clips differ from another.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from proctor.procedure.clip import Placed, place_segments, video_seconds
from proctor.procedure.recording import Recording

__all__ = ["Oddities", "find_oddities"]


@dataclass(frozen=True, slots=True)
class Oddities:
    """Counts of what is odd about the segments of a recording.

    Attributes:
        unsorted: segments that begin before the one listed before them does.
        overlapping: segments that begin before the one listed before them has ended.
        nested: segments that lie within another one that is longer.
        zero_length: segments that end when they begin.
        beyond_video: segments that end after the video.
    """

    unsorted: int = 0
    overlapping: int = 0
    nested: int = 0
    zero_length: int = 0
    beyond_video: int = 0


def find_oddities(recording: Recording) -> Oddities:
    """Count what is odd about the segments of a recording whose times can be right.

    Raises:
        UserError: if the recording's duration is no length.
    """
    seconds = video_seconds(recording)
    placed, _ = place_segments(recording)
    listed = sorted(placed, key=lambda p: p.position)
    return Oddities(
        unsorted=sum(b.start < a.start for a, b in pairwise(listed)),
        overlapping=sum(b.start < a.end for a, b in pairwise(listed)),
        nested=_nested(placed),
        zero_length=sum(p.start == p.end for p in placed),
        beyond_video=0 if seconds is None else sum(p.end > seconds for p in placed),
    )


def _nested(placed: Iterable[Placed]) -> int:
    """Count segments within a longer one; in the order of their start, longest first, that has begun before."""
    count, longest_end, longest_start = 0, -math.inf, math.nan
    for p in sorted(placed, key=lambda p: (p.start, -p.end)):
        if p.end <= longest_end and (p.start, p.end) != (longest_start, longest_end):
            count += 1
        if p.end > longest_end:
            longest_start, longest_end = p.start, p.end
    return count

"""How many clips there are, how long they are and how many steps they show (InstructionBench's supplement).

``ClipTally`` takes clips as they come and keeps two numbers of each, so that a data set of any size can be counted while
its clips are written. Lengths are seconds.
"""

from __future__ import annotations

import math
import statistics
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from proctor.procedure.clip import Clip, Placed, place_segments, video_seconds
from proctor.procedure.recording import Recording

__all__ = ["BIN_SECONDS", "ClipStatistics", "ClipTally", "Oddities", "Spread", "find_oddities"]

BIN_SECONDS: Final = 30.0
"""Width of the bins of the distribution of lengths."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How numbers are spread; quartiles are linear between neighbours, ``sd`` is of the numbers themselves (÷ n)."""

    mean: float
    sd: float
    least: float
    q1: float
    median: float
    q3: float
    most: float


@dataclass(frozen=True, slots=True)
class ClipStatistics:
    """Statistics of a set of clips.

    Attributes:
        clips: how many.
        videos: recordings that have a clip.
        seconds: lengths of the clips; None without clips.
        steps: steps of a clip; None without clips.
        categories: kinds of steps of a clip; None without clips.
        total_seconds: all lengths together.
        lengths: (from this second, number of clips) for each bin of ``BIN_SECONDS`` that holds any, ascending.
    """

    clips: int
    videos: int
    seconds: Spread | None
    steps: Spread | None
    categories: Spread | None
    total_seconds: float
    lengths: tuple[tuple[float, int], ...]


class ClipTally:
    """Counts clips as they come."""

    def __init__(self) -> None:
        self._seconds = array("d")
        self._steps = array("q")
        self._categories = array("q")
        self._videos: set[str] = set()

    def add(self, clip: Clip) -> None:
        """Count a clip."""
        self._seconds.append(clip.seconds)
        self._steps.append(len(clip.segments))
        self._categories.append(len(clip.categories))
        self._videos.add(clip.recording_id)

    def result(self) -> ClipStatistics:
        """Return the statistics of the clips so far."""
        return ClipStatistics(
            clips=len(self._seconds),
            videos=len(self._videos),
            seconds=_spread(self._seconds),
            steps=_spread(self._steps),
            categories=_spread(self._categories),
            total_seconds=math.fsum(self._seconds),
            lengths=_bins(self._seconds),
        )


def _spread(values: Sequence[float]) -> Spread | None:
    if not values:
        return None
    ordered = sorted(values)
    q1, median, q3 = (
        statistics.quantiles(ordered, n=4, method="inclusive") if len(ordered) > 1 else [ordered[0]] * 3
    )
    return Spread(
        mean=statistics.fmean(ordered),
        sd=statistics.pstdev(ordered),
        least=float(ordered[0]),
        q1=float(q1),
        median=float(median),
        q3=float(q3),
        most=float(ordered[-1]),
    )


def _bins(seconds: Iterable[float]) -> tuple[tuple[float, int], ...]:
    counts: dict[int, int] = {}
    for value in seconds:
        number = math.floor(value / BIN_SECONDS)
        counts[number] = counts.get(number, 0) + 1
    return tuple((number * BIN_SECONDS, counts[number]) for number in sorted(counts))


# -- what is odd about the segments of a recording -----------------------------------------------------------------
#
# None of it is wrong by itself; it is counted, because each makes one rule for clips differ from another.


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

"""Frames to segments and segments to frames, one video at a time."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proctor.metrics.errors import MetricInputError
from proctor.metrics.segmentation.videos import Floats, Integers, Label, changes, label_array
from proctor.metrics.temporal import require_times

__all__ = ["Segments", "frames_from_segments", "require_rate", "segments_from_frames"]

_ROUNDING: Final = 1e-6
"""Frames: times that are this near to the begin of a frame are meant to be it (0.1 s * 30 is not quite 3)."""


@dataclass(frozen=True, slots=True, eq=False)
class Segments:
    """Maximal runs of one label, in the order of time.

    Attributes:
        start: first frame of each segment.
        end: first frame after it.
        label: of each segment.
    """

    start: Integers
    end: Integers
    label: tuple[Label, ...]

    def __len__(self) -> int:
        return len(self.start)


def segments_from_frames(labels: ArrayLike, *, background: Collection[Label] = ()) -> Segments:
    """Return the segments of one video: maximal runs of one label, half-open in frames.

    Args:
        labels: one a frame; shape (frames,).
        background: labels whose runs are no segments.

    Raises:
        MetricInputError: if the labels are no 1-D array of texts or whole numbers.
    """
    values = label_array(labels, "the video")
    start = changes(values)
    end = np.append(start[1:], len(values)) if len(start) else start
    names: list[Label] = values[start].tolist()
    hidden = {str(label) for label in background}
    keep = [i for i, name in enumerate(names) if str(name) not in hidden]
    return Segments(start[keep], end[keep].astype(np.int64), tuple(names[i] for i in keep))


def frames_from_segments(
    start: ArrayLike,
    end: ArrayLike,
    label: Sequence[Label],
    *,
    rate: float,
    frames: int,
    background: Label = "background",
    conflict: Literal["error", "later"] = "error",
) -> NDArray[np.str_]:
    """Label the frames of one video by its segments.

    Frame i stands for the time i / rate; it belongs to the segment with start <= i / rate < end (half-open), and to
    the background if there is none. Frames behind the last are cut off, segments between two frames vanish.

    Args:
        start: seconds; shape (segments,).
        end: seconds.
        label: of each segment.
        rate: frames per second.
        frames: length of the video.
        background: label of frames in no segment.
        conflict: what to do with frames of two segments with different labels: ``error``, or ``later``: the segment
            that starts later has them (of those that start together, the one that ends later).

    Raises:
        MetricInputError: if a time is not finite or before 0, an end before its start, the rate not positive, or
            segments overlap and ``conflict`` is ``error``.
    """
    begin, stop = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
    require_times(begin, stop, "segments")
    _require_segments(begin, stop, label, rate, frames)
    names = [str(name) for name in label]
    filled = np.full(frames, -1, dtype=np.int64)
    one, other = _first_frame(begin, rate, frames), _first_frame(stop, rate, frames)
    known = {name: number for number, name in enumerate(sorted({*names, str(background)}))}
    for row in sorted(range(len(names)), key=lambda r: (begin[r], stop[r], names[r])):
        part = filled[one[row] : other[row]]
        taken = (part >= 0) & (part != known[names[row]])
        if conflict == "error" and taken.any():
            raise MetricInputError(
                f"segment {row} ({names[row]}, {begin[row]:g} to {stop[row]:g} s) overlaps one of another label",
                "a frame has one label: repair the times, or let the later segment win (conflict='later')",
            )
        part[:] = known[names[row]]
    filled[filled < 0] = known[str(background)]
    return np.array(list(known), dtype=np.str_)[filled]


def _require_segments(begin: Floats, stop: Floats, label: Sequence[Label], rate: float, frames: int) -> None:
    if len(label) != len(begin):
        raise MetricInputError(f"{len(label)} labels for {len(begin)} segments")
    require_rate(rate)
    if frames < 0:
        raise MetricInputError(f"a video has no {frames} frames")
    for row in np.flatnonzero(begin < 0):
        raise MetricInputError(
            f"segment {row} goes from {begin[row]:g} to {stop[row]:g} s", "times start at 0"
        )


def require_rate(rate: float) -> None:
    """Make sure that a rate is finite and above 0."""
    if not (math.isfinite(rate) and rate > 0):
        raise MetricInputError(f"a rate is a number of frames per second above 0, got {rate:g}")


def _first_frame(times: Floats, rate: float, frames: int) -> Integers:
    """First frame at or after each time."""
    return np.clip(np.ceil(times * rate - _ROUNDING), 0, frames).astype(np.int64)

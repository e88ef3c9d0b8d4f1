"""Rows of features and seconds of a video, and the stretch of a recording that one epoch trains on.

Source: ActionFormer (Zhang, Wu and Li 2022) as CaptainCook4D trained it. The released grid takes 30 frames of 29.97 a second a
row, 1.001 s, although rows are cut every second: times drift by 0.9 s in a quarter of an hour.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from proctor.learn.recogniser import ProtocolName

__all__ = ["LONGEST", "Crop", "Grid", "crop", "grid_of"]

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

LONGEST: Final = 4_096
"""Rows that are trained on at once, at most."""

_FPS: Final = 30.0
_RELEASED_FPS: Final = 29.97
_LEAST_SHARE: Final = 0.9
"""Of a recording that is trained on, at least."""
_LEAST_SEEN: Final = 0.3
"""Of an action, for it to count in a crop."""
_TRIES: Final = 200


@dataclass(frozen=True)
class Grid:
    """Where rows are in time: row g covers the frames from g · stride on, and stands for their middle.

    Attributes:
        fps: frames a second.
        stride: frames from a row to the next.
        frames: that a row covers.
    """

    fps: float
    stride: float
    frames: float

    @property
    def offset(self) -> float:
        """Rows from the start of what a row covers to its middle."""
        return 0.5 * self.frames / self.stride

    def rows(self, seconds: Floats) -> Floats:
        """Return where times are among the rows."""
        found: Floats = seconds * (self.fps / self.stride) - self.offset
        return found

    def seconds(self, rows: Floats) -> Floats:
        """Return when rows are."""
        found: Floats = (rows * self.stride + 0.5 * self.frames) / self.fps
        return found


def grid_of(protocol: ProtocolName, seconds: float) -> Grid:
    """Return the grid of a protocol for rows every so many seconds: the released code's drifts."""
    fps = _RELEASED_FPS if protocol == "code" else _FPS
    frames = _FPS * seconds
    return Grid(fps, frames, frames)


@dataclass(frozen=True)
class Crop:
    """A stretch of a recording and the actions in it.

    Attributes:
        first: row.
        last: row after the last.
        chosen: places of the actions that count, shape (actions,).
        start: of these, in rows of the stretch and cut to it; likewise ``end``.
        end: beside ``start``.
    """

    first: int
    last: int
    chosen: Places
    start: Floats
    end: Floats


def crop(generator: np.random.Generator | None, rows: int, start: Floats, end: Floats, offset: float) -> Crop:
    """Draw a stretch of nine tenths of the rows or more, of which an action is seen to three tenths.

    If 200 tries find none, the last one is returned, without actions. What is seen less of is left out.

    Args:
        generator: draws; None takes the whole recording.
        rows: of the recording.
        start: of each action, in rows, shape (actions,).
        end: likewise.
        offset: by which the stretch is widened for actions: rows stand for their middle.
    """
    size = rows
    if generator is not None:
        least = max(1, round(_LEAST_SHARE * rows))
        size = int(generator.integers(least, rows + 1)) if rows <= LONGEST else LONGEST
    found = None
    for _ in range(_TRIES):
        first = 0 if generator is None else int(generator.integers(0, rows - size + 1))
        left, right = np.maximum(start, first - offset), np.minimum(end, first + size + offset)
        chosen = np.flatnonzero((right > left) & (right - left >= _LEAST_SEEN * (end - start)))
        found = Crop(first, first + size, chosen, left[chosen] - first, right[chosen] - first)
        if len(chosen) or size == rows:
            break
    assert found is not None
    return found

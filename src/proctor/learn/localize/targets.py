"""Which point of which level is to find which action. Source: ActionFormer (Zhang, Wu and Li 2022), Section 3.3, as released.

Times are rows of level 0. A point finds an action if it lies near the action's middle and the action is neither too short nor
too long for its level. An action has at most three such points a level, one stride apart: they are found from the action, by a
search in the grid, and not by trying every point with every action.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["FARTHEST", "RADIUS", "TIE", "Pyramid", "Targets", "assign"]

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

RADIUS: Final = 1.5
"""Strides from the middle of an action within which a point finds it."""
FARTHEST: Final = 10_000.0
"""Rows that the last level reaches."""
TIE: Final = 1e-3
"""Rows by which a longer action may exceed the shortest and be found, too."""
_NEAR: Final = 4
"""Candidates an action and level: three fit into an open interval of three strides, one more in case of rounding."""


@dataclass(frozen=True)
class Pyramid:
    """The points of all levels, one level after the other, each with a place behind it that is no point.

    Level l has a point every 2**l rows, from row 0.

    Attributes:
        levels: how many.
        rows: of level 0.
    """

    levels: int
    rows: int

    @cached_property
    def counts(self) -> Places:
        """Points of each level; shape (levels,)."""
        return -(-self.rows // 2 ** np.arange(self.levels))

    @cached_property
    def starts(self) -> Places:
        """Place of the first point of each level; shape (levels,)."""
        return np.cumsum(np.concatenate([[0], self.counts + 1]))[:-1]

    @cached_property
    def level(self) -> Places:
        """Level of each place; shape (places,)."""
        return np.repeat(np.arange(self.levels), self.counts + 1)

    @cached_property
    def stride(self) -> Floats:
        """Rows from a point to the next, of each place; shape (places,)."""
        return np.exp2(self.level.astype(np.float64))

    @cached_property
    def time(self) -> Floats:
        """Row of level 0 at which each point is; shape (places,)."""
        return np.asarray((np.arange(len(self.level)) - self.starts[self.level]) * self.stride)

    @cached_property
    def shortest(self) -> Floats:
        """Least distance of the farther end of an action, by level, in rows; shape (levels,)."""
        found = np.exp2(np.arange(self.levels, dtype=np.float64))
        found[0] = 0.0
        return found

    @cached_property
    def longest(self) -> Floats:
        """Largest distance of the farther end of an action, by level; shape (levels,). Ranges of levels overlap."""
        found = np.exp2(np.arange(self.levels, dtype=np.float64) + 2)
        found[-1] = FARTHEST
        return found


@dataclass(frozen=True)
class Targets:
    """What the points of recordings are to find.

    Attributes:
        place: of points that find an action, rising, those of a recording after those of the one before; shape (points,).
        offsets: rows from the point to the start and to the end of the shortest action, in strides; shape (points, 2).
        label_place: places that are to say a class, shape (labels,); a point says several where actions tie.
        label: the class, beside ``label_place``.
    """

    place: Places
    offsets: Floats
    label_place: Places
    label: Places


def assign(
    pyramid: Pyramid, start: Floats, end: Floats, label: Places, recording: Places | None = None
) -> Targets:
    """Return what each point of each recording is to find.

    A point at t finds the action [a, b] with middle c if it is inside both (a, b) and (c - 1.5 strides, c + 1.5 strides), and
    max(t - a, b - t) is in the range of its level, ends included. Of several, the shortest is found.

    Args:
        pyramid: the points.
        start: rows, shape (actions,).
        end: rows, shape (actions,).
        label: class of each action, shape (actions,).
        recording: number of the recording of each action, shape (actions,), that all have this pyramid; None is of one.
    """
    a, b = start[:, None, None], end[:, None, None]
    stride = np.exp2(np.arange(pyramid.levels, dtype=np.float64))[:, None]
    middle = (a + b) / 2
    left, right = np.maximum(middle - RADIUS * stride, a), np.minimum(middle + RADIUS * stride, b)
    number = np.maximum(np.floor(left / stride) + 1, 0) + np.arange(_NEAR)
    time = number * stride
    farther = np.maximum(time - a, b - time)
    found = (
        (time > left) & (time < right) & (number < pyramid.counts[:, None])
        & (farther >= pyramid.shortest[:, None]) & (farther <= pyramid.longest[:, None])
    )  # fmt: skip
    action, level, _ = np.nonzero(found)
    own = pyramid.starts[level] + number[found].astype(np.int64)
    place = own if recording is None else own + recording[action] * len(pyramid.level)
    length = (end - start)[action]
    order = np.lexsort((action, length, place))
    action, own, place, length = action[order], own[order], place[order], length[order]
    first = np.flatnonzero(np.diff(place, prepend=-1))
    best = np.repeat(length[first], np.diff(np.append(first, len(place))))
    tied = length <= best + TIE
    at, by = own[first], action[first]
    time = pyramid.time[at]
    offsets = np.stack([time - start[by], end[by] - time], 1) / pyramid.stride[at, None]
    return Targets(place[first], offsets, place[tied], label[action[tied]])

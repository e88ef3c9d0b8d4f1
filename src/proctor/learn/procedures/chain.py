"""The cheapest labelling of a chain of frames, exactly: costs of labels, and costs of changing between neighbours.

The published code minimises the same energy by α-expansion, which only approximates. On a chain, dynamic programming is
exact; with the L1 distance between labels a frame costs O(K) of K labels and not O(K²) (distance transform: Felzenszwalb
and Huttenlocher 2012, "Distance Transforms of Sampled Functions", Section 2; here O(K log K), in whole rows).

A loop over frames in Python would take most of a second for an hour of video. The chain is therefore cut into blocks that
are walked side by side, each from a guessed beginning, and again from where the block before ended, until nothing changes:
after some frames the costs of all labels differ by the same amounts wherever a walk began (rank convergence: Maleki et al.
2014, "Parallelizing Dynamic Programming through Rank Convergence"). Where most blocks do not settle (costs that hardly differ,
changes that cost much) frames are walked one by one, compiled by numba if it is installed. The result is exact in every case.
"""

from __future__ import annotations

import importlib
from functools import cache
from importlib.util import find_spec
from math import isqrt
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Distance", "chain_energy", "solve_chain"]

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

Distance = Literal["l1", "potts"]
"""Cost of a change: so much for each label in between (labels in an order), or the same for every change."""

_BLOCK: Final = 256
"""Frames of a block, at least; short ones are walked in few steps, long ones forget where they began."""

_SETTLING: Final = 0.5
"""Share of the blocks that may have changed in the second walk; where more have, they do not settle soon."""

_LOOK: Final = 8
"""Frames after which a walk is compared with the one before."""

_SAME: Final = 1e-11
"""Costs that differ by less are the same, but for rounding."""


def solve_chain(unary: Floats, weight: float, distance: Distance = "l1") -> Labels:
    """Return labels with the lowest energy.

    Args:
        unary: cost of each label at each frame, finite, shape (T, K).
        weight: of a change, at least 0: ``weight * |i - j|`` (l1), or ``weight`` where i ≠ j (potts).
        distance: between labels.

    Returns:
        A label of each frame, shape (T,).

    Raises:
        ValueError: if a cost is not finite, the weight is negative, or there is no label.
    """
    frames, count = unary.shape
    if not count or not np.isfinite(unary).all() or not 0 <= weight < np.inf:
        raise ValueError("costs must be finite, the weight at least 0, and there must be a label")
    if not frames:
        return np.zeros(0, np.int64)
    walks = _Walks(unary, weight, distance)
    if not walks.settle():
        if find_spec("numba") is not None:
            return np.asarray(_compiled()(np.ascontiguousarray(unary, np.float64), weight, distance == "l1"))
        walks.settle_in_turn()
    return walks.labels()


def chain_energy(unary: Floats, labels: Labels, weight: float, distance: Distance = "l1") -> float:
    """Return the energy of a labelling: the costs of its labels and of its changes."""
    steps = np.abs(np.diff(labels))
    changes = steps.sum() if distance == "l1" else np.count_nonzero(steps)
    return float(unary[np.arange(len(labels)), labels].sum() + weight * changes)


class _Walks:
    """The blocks of a chain, and how cheaply each label is reached in them."""

    def __init__(self, unary: Floats, weight: float, distance: Distance) -> None:
        self.unary, self.weight, self.distance = unary, weight, distance
        frames, count = unary.shape
        self.length = max(_BLOCK, 2 * isqrt(frames))
        self.blocks = -(-frames // self.length)
        shape = (self.length, count, self.blocks)
        self.reached = np.empty(shape)
        """Lowest cost of all that ends with a label at a frame, less a constant of the frame."""
        self.stays = np.ones(shape, np.bool_)
        """Whether the cheapest way to a label at a frame has the same label at the frame before."""
        above = 1 << max(count - 2, 0).bit_length()
        self.pads = [np.full((above + count, self.blocks), np.inf) for _ in range(2)]
        self.ramp = weight * np.arange(count)[:, None]
        labels = np.arange(count)
        steps = np.abs(labels[:, None] - labels) if distance == "l1" else labels[:, None] != labels
        self.changes = weight * steps.astype(np.float64)

    def settle(self) -> bool:
        """Walk until every block has begun where the one before it ended; false where that would take long."""
        count = self.unary.shape[1]
        self._walk(np.arange(self.blocks), np.zeros((count, self.blocks)), fresh=True)
        wrong = np.arange(1, self.blocks)
        while len(wrong):
            changed = self._walk(wrong, self.reached[-1][:, wrong - 1])
            wrong = changed[changed < self.blocks - 1] + 1
            if len(wrong) > max(1, _SETTLING * self.blocks):
                return False
        return True

    def settle_in_turn(self) -> None:
        """Walk one block after the other."""
        for block in range(1, self.blocks):
            self._walk(np.array([block]), self.reached[-1][:, [block - 1]])

    def _walk(self, which: Labels, before: Floats, *, fresh: bool = False) -> Labels:
        """Walk blocks from what was reached before them, until they go on as they did; return those that end otherwise.

        Args:
            which: the blocks, shape (B,).
            before: costs that they begin with, shape (K, B).
            fresh: they were never walked.
        """
        now, last = before - before.min(0), len(self.unary) - 1
        for frame in range(self.length):
            came = self._nearest(now)
            stays = now <= came + _SAME
            came += self.unary[np.minimum(which * self.length + frame, last)].T
            now = came
            look = not fresh and (frame % _LOOK == 0 or frame == self.length - 1)
            change = np.ptp(now - self.reached[frame][:, which], axis=0) if look else None
            if len(which) == self.blocks:
                self.reached[frame], self.stays[frame] = now, stays
            else:
                self.reached[frame][:, which], self.stays[frame][:, which] = now, stays
            if change is not None and (change < _SAME).any():
                which, now = which[change >= _SAME], now[:, change >= _SAME]
                if not len(which):
                    break
        return which

    def _nearest(self, costs: Floats) -> Floats:
        """Return ``min_i costs[i] + change(i, j)`` for every label j; shape (K, B)."""
        if self.distance == "potts":
            either: Floats = np.minimum(costs, costs.min(0) + self.weight)
            return either
        up = self._running(costs - self.ramp)
        up += self.ramp
        down = self._running((costs + self.ramp)[::-1])[::-1]
        nearest: Floats = np.minimum(up, down - self.ramp, out=up)
        return nearest

    def _running(self, costs: Floats) -> Floats:
        """Return the lowest of each row and all above it: of 2, 4, 8, … rows, since whole rows at a time are fast."""
        count, blocks = costs.shape
        if blocks == 1:
            scanned: Floats = np.minimum.accumulate(costs)
            return scanned
        one, other = (pad[:, :blocks] for pad in self.pads)
        above, step = len(one) - count, 1
        one[above:] = costs
        while step < count:
            np.minimum(one[above:], one[above - step : -step], out=other[above:])
            one, other, step = other, one, 2 * step
        return one[above:].copy()

    def labels(self) -> Labels:
        """Follow the cheapest way back from the last frame, from change to change."""
        frames, count = self.unary.shape
        stays = self.stays.transpose(1, 2, 0).reshape(count, -1)
        rows = [row.tobytes() for row in stays]
        found = np.empty(frames, np.int64)
        end, label = frames, int(self._costs(frames - 1).argmin())
        while True:
            begin = rows[label].rfind(b"\0", 1, end)
            found[max(begin, 0) : end] = label
            if begin < 0:
                return found
            end, label = begin, int((self._costs(begin - 1) + self.changes[label]).argmin())

    def _costs(self, frame: int) -> Floats:
        block, place = divmod(frame, self.length)
        return self.reached[place, :, block]


@cache
def _compiled() -> Any:
    return importlib.import_module("numba").njit(_one_by_one)


def _one_by_one(unary: Floats, weight: float, l1: bool) -> Labels:
    """Do the same frame by frame, for a compiler: the cheapest way to each label, and where it came from."""
    frames, count = unary.shape
    costs = unary[0].copy()
    came = np.zeros((frames, count), np.int32)
    for frame in range(1, frames):
        if l1:
            for label in range(count):
                came[frame, label] = label
                if label and costs[label - 1] + weight < costs[label]:
                    costs[label] = costs[label - 1] + weight
                    came[frame, label] = came[frame, label - 1]
            for label in range(count - 2, -1, -1):
                if costs[label + 1] + weight < costs[label]:
                    costs[label] = costs[label + 1] + weight
                    came[frame, label] = came[frame, label + 1]
        else:
            best = np.argmin(costs)
            for label in range(count):
                came[frame, label] = label
                if costs[best] + weight < costs[label]:
                    costs[label] = costs[best] + weight
                    came[frame, label] = best
        costs += unary[frame]
    labels = np.empty(frames, np.int64)
    labels[-1] = np.argmin(costs)
    for frame in range(frames - 1, 0, -1):
        labels[frame - 1] = came[frame, labels[frame]]
    return labels

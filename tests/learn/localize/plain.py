"""The plain versions that fast ones must equal: every point with every action, every candidate with every other."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from proctor.learn.localize.targets import Pyramid, Targets

Floats = NDArray[np.float64]


def assign(pyramid: Pyramid, start: Floats, end: Floats, label: NDArray[np.int64]) -> Targets:
    """Try every point with every action, as the released code does; the last place of each level is no point."""
    real = pyramid.time < np.repeat(pyramid.counts * 2.0 ** np.arange(pyramid.levels), pyramid.counts + 1)
    at, stride = pyramid.time[:, None], pyramid.stride[:, None]
    left, right = at - start, end - at
    middle = (start + end) / 2
    first, last = np.maximum(middle - 1.5 * stride, start), np.minimum(middle + 1.5 * stride, end)
    inside = np.minimum(at - first, last - at) > 0
    far = np.maximum(left, right)
    fits = (far >= pyramid.shortest[pyramid.level, None]) & (far <= pyramid.longest[pyramid.level, None])
    length = np.where(inside & fits & real[:, None], end - start, np.inf)
    shortest = length.min(1, initial=np.inf)
    places = np.flatnonzero(np.isfinite(shortest))
    best = length[places].argmin(1) if len(places) else places
    pairs = np.argwhere((length <= shortest[:, None] + 1e-3) & np.isfinite(length))
    offsets = np.stack([left[places, best], right[places, best]], 1) / pyramid.stride[places, None]
    return Targets(places, offsets, pairs[:, 0], label[pairs[:, 1]])


def soft_nms(
    start: list[float], end: list[float], score: list[float], sigma: float = 0.9, least: float = 1e-3
) -> list[tuple[int, float]]:
    """Take the best of one class and one recording again and again, and let the others decay, one by one."""
    left, found = [i for i in range(len(score)) if score[i] >= least], []
    now = list(score)
    while left:
        best = min(left, key=lambda i: (-now[i], start[i], end[i]))
        found.append((best, now[best]))
        left.remove(best)
        own = end[best] - start[best] + 1e-6
        for i in left:
            shared = min(end[i], end[best]) - max(start[i], start[best])
            if shared > 0:
                iou = shared / (own + end[i] - start[i] + 1e-6 - shared)
                now[i] *= math.exp(-iou * iou / sigma)
        left = [i for i in left if now[i] >= least]
    return found

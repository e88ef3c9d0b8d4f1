"""Segments of both sides that overlap, and who is matched with whom."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.errors import MetricInputError
from proctor.metrics.segmentation.videos import Floats, Integers, Runs, changes

__all__ = [
    "MATCHINGS",
    "OVERLAPS",
    "Matching",
    "Pairs",
    "assignment",
    "overlapping_pairs",
    "require_overlap",
    "taken_corrected",
    "taken_published",
]

Matching = Literal["published", "corrected"]
MATCHINGS: Final[tuple[Matching, ...]] = get_args(Matching)
OVERLAPS: Final = (0.1, 0.25, 0.5)
"""The overlaps that the field prints as F1@{10,25,50}."""


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Segments of one label that overlap: index in the reference, in the prediction, IoU; in the order of time."""

    wanted: Integers
    given: Integers
    iou: Floats


def overlapping_pairs(wanted: Runs, given: Runs) -> Pairs:
    """Find all pairs of one label that overlap.

    Two families of disjoint intervals cut the time into pieces; two intervals share at most one piece. So the
    pairs are among the pieces: as many as segments, not as many as their product.
    """
    cuts = np.union1d(np.union1d(wanted.start, wanted.end), np.union1d(given.start, given.end))
    a = np.searchsorted(wanted.start, cuts, side="right") - 1
    b = np.searchsorted(given.start, cuts, side="right") - 1
    keep = (a >= 0) & (b >= 0)
    cuts, a, b = cuts[keep], a[keep], b[keep]
    keep = (cuts < wanted.end[a]) & (cuts < given.end[b])
    keep[keep] = wanted.code[a[keep]] == given.code[b[keep]]
    a, b = a[keep], b[keep]
    shared = np.minimum(wanted.end[a], given.end[b]) - np.maximum(wanted.start[a], given.start[b])
    union = wanted.end[a] - wanted.start[a] + given.end[b] - given.start[b] - shared
    return Pairs(a.astype(np.int64), b.astype(np.int64), shared / union)


def taken_published(pairs: Pairs, overlap: float) -> Integers:
    """Reference segments that some prediction of enough overlap likes best: each counts once."""
    order = np.lexsort((pairs.wanted, -pairs.iou, pairs.given))
    best = order[changes(pairs.given[order])]
    return np.unique(pairs.wanted[best[pairs.iou[best] >= overlap]])


def taken_corrected(pairs: Pairs, overlap: float) -> Integers:
    """Reference segments of the largest one-to-one assignment with enough overlap."""
    enough = pairs.iou >= overlap
    a, b = pairs.wanted[enough], pairs.given[enough]
    return a[assignment(a, b, np.ones(len(a)))]


def assignment(wanted: Integers, given: Integers, weight: Floats) -> Integers:
    """Pairs (as indices) of the one-to-one assignment with the largest sum of weights.

    In the order of time the pairs of one segment are neighbours, because the segments of a side are disjoint. So
    what may be chosen depends only on whether the two segments of the last pair are still free: a dynamic programme
    over four states, linear in the number of pairs.

    Args:
        wanted: index of the reference segment of each pair, not falling.
        given: index of the predicted segment, not falling.
        weight: above 0.
    """
    same_a, same_b = np.diff(wanted) == 0, np.diff(given) == 0
    linked = (
        np.concatenate([[False], same_a | same_b, [False]]) if len(wanted) else np.zeros(1, dtype=np.bool_)
    )
    alone = ~linked[:-1] & ~linked[1:] if len(wanted) else np.zeros(0, dtype=np.bool_)
    chosen = np.flatnonzero(alone).tolist()
    rows = np.flatnonzero(~alone).tolist()
    first = [0, *(i for i in range(1, len(rows)) if not linked[rows[i]]), len(rows)]
    for begin, end in pairwise(first):
        part = rows[begin:end]
        if part:
            chosen += _best_chain(part, same_a, same_b, weight)
    return np.array(sorted(chosen), dtype=np.int64)


_Trail = tuple["_Trail", int] | None
"""Chosen pairs, the last one first."""


def _best_chain(
    rows: list[int], same_a: NDArray[np.bool_], same_b: NDArray[np.bool_], weight: Floats
) -> list[int]:
    """The best pairs of one chain; a state is (reference segment taken, predicted segment taken)."""
    states: dict[tuple[bool, bool], tuple[float, _Trail]] = {(False, False): (0.0, None)}
    for position, row in enumerate(rows):
        arriving: dict[tuple[bool, bool], tuple[float, _Trail]] = {}
        for (a, b), reached in states.items():
            key = (a and bool(same_a[row - 1]), b and bool(same_b[row - 1])) if position else (a, b)
            if key not in arriving or reached[0] > arriving[key][0]:
                arriving[key] = reached
        states = arriving
        if (free := arriving.get((False, False))) is not None:
            total = free[0] + float(weight[row])
            if (True, True) not in states or total > states[True, True][0]:
                states[True, True] = (total, (free[1], row))
    trail = max(states.values(), key=lambda state: state[0])[1]
    chosen = []
    while trail is not None:
        trail, row = trail
        chosen.append(row)
    return chosen


def require_overlap(overlap: float) -> None:
    """Make sure that an overlap is above 0 and at most 1."""
    if not 0 < overlap <= 1:
        raise MetricInputError(
            f"an overlap is an IoU above 0 and up to 1, got {overlap!r}", "F1@10 is an overlap of 0.1"
        )

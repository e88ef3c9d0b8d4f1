"""Pairs in the wrong order: what Kendall's tau counts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

__all__ = ["count_inversions"]


def count_inversions(places: Iterable[int]) -> int:
    """Count pairs of which the larger comes first; equal ones are in order.

    By insertion into a sorted list: faster than arrays for up to some hundred places.
    """
    seen: list[int] = []
    inversions = 0
    for place in places:
        at = bisect_right(seen, place)
        inversions += len(seen) - at
        seen.insert(at, place)
    return inversions

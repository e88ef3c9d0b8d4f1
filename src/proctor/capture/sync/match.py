"""The nearest sample of a stream for each moment of the base, or none."""

from __future__ import annotations

import numpy as np

from proctor.capture.sync.clock import Ints

__all__ = ["match", "tolerance_ns"]


def tolerance_ns(period_ns: int, cap_ns: int) -> int:
    """Return how far a match may be: 1.2 times half the stream's period, at least 5 ms, at most ``cap_ns``."""
    return min(max(period_ns * 6 // 10, 5_000_000), cap_ns)


def match(base_ns: Ints, source_ns: Ints, tolerance: int, *, allow_repeat: bool = True) -> tuple[Ints, Ints]:
    """Return the place in ``source_ns`` of the nearest to each base time (-1: none), and source minus base (then 0).

    Both are sorted, in nanoseconds, as ``tolerance`` is. Of two equally near ones it is the earlier. Without ``allow_repeat`` a
    sample serves the nearest of its base times, the first of equally near ones; the others have none.
    """
    found, apart = np.full(len(base_ns), -1, dtype=np.int64), np.zeros(len(base_ns), dtype=np.int64)
    if not len(source_ns):
        return found, apart
    after = np.searchsorted(source_ns, base_ns)
    left, right = np.maximum(after - 1, 0), np.minimum(after, len(source_ns) - 1)
    nearest = np.where(np.abs(source_ns[right] - base_ns) < np.abs(base_ns - source_ns[left]), right, left)
    gap = source_ns[nearest] - base_ns
    good = np.abs(gap) <= tolerance
    if not allow_repeat:
        order = np.lexsort((np.abs(gap), nearest))
        first = np.zeros(len(gap), dtype=bool)
        first[order[np.flatnonzero(np.diff(nearest[order], prepend=-1))]] = True
        good &= first
    found[good], apart[good] = nearest[good], gap[good]
    return found, apart

"""What a stream has at each moment of the base: its nearest sample or none, or values between its samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from proctor.capture.sync.clock import Floats, Ints

__all__ = ["TICK_NS", "TOLERANCE", "interpolate", "match", "published_match", "tolerance_ns"]

TICK_NS: Final = 100
TOLERANCE: Final = 100_000_000
"""Of CaptainCook4D's rule, in ticks."""


def tolerance_ns(period_ns: int, cap_ns: int) -> int:
    """Return how far a match may be: 1.2 times half the stream's period, at least 5 ms, at most ``cap_ns``."""
    return min(max(period_ns * 6 // 10, 5_000_000), cap_ns)


def match(base_ns: Ints, source_ns: Ints, tolerance: int, *, allow_repeat: bool = True) -> tuple[Ints, Ints]:
    """Return the place in ``source_ns`` of the nearest to each base time (-1: none), and source minus base (then 0).

    Both are sorted, in nanoseconds, as ``tolerance`` is. Of two equally near ones it is the earlier. Without
    ``allow_repeat`` a sample serves the nearest of its base times, the first of equally near ones; the others
    have none.
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


def published_match(base: Ints, stream: Ints, tolerance: int = TOLERANCE) -> Ints:
    """Return for each base time, once sorted, the place in the stream by CaptainCook4D's rule, -1 for none.

    All are ticks of one clock. Its rule, traps included (source: its collection code): one pointer goes
    through a stream as it was stored and moves on while the distance to the base time does not grow, so a
    sample out of order can hold it for good.
    What is within 1e8 ticks is a match: a tick is 100 ns, so that is 10 s, though its comments say one.
    """
    times, found, at = stream.tolist(), np.full(len(base), -1, dtype=np.int64), 0
    for n, moment in enumerate(np.sort(base).tolist() if times else ()):
        while at + 1 < len(times) and abs(times[at + 1] - moment) <= abs(times[at] - moment):
            at += 1
        if abs(times[at] - moment) <= tolerance:
            found[n] = at
    return found


def interpolate(
    base_ns: Ints, source_ns: Ints, values: Floats, columns: Sequence[str], longest_ns: int
) -> Floats:
    """Return the values at the base times, shape (base times, columns); NaN outside, and across a gap.

    They change evenly from sample to sample, orientations along the shortest turn.

    Args:
        base_ns: sorted.
        source_ns: sorted, without repetition.
        values: shape (source times, columns).
        columns: their names; ``qx qy qz qw``, with any prefix (``head_qx``), are an orientation.
        longest_ns: distance of two samples between which there are values.
    """
    found = np.full((len(base_ns), values.shape[1]), np.nan)
    right = np.searchsorted(source_ns, base_ns)
    left = np.searchsorted(source_ns, base_ns, "right") - 1  # (on a sample both are that one)
    keep = np.flatnonzero((left >= 0) & (right < len(source_ns)))
    keep = keep[source_ns[right[keep]] - source_ns[left[keep]] <= longest_ns]
    i, j = left[keep], right[keep]
    part = ((base_ns[keep] - source_ns[i]) / np.maximum(source_ns[j] - source_ns[i], 1))[:, None]
    found[keep] = values[i] * (1 - part) + values[j] * part
    for name in columns:
        four = [name[:-2] + q for q in ("qx", "qy", "qz", "qw")]
        if name.endswith("qx") and all(q in columns for q in four):
            places = [columns.index(q) for q in four]
            found[keep[:, None], places] = _slerp(values[i][:, places], values[j][:, places], part)
    return found


def _slerp(a: Floats, b: Floats, part: Floats) -> Floats:
    """Turn evenly from a to b, the short way; NaN where one of them is no orientation."""
    with np.errstate(invalid="ignore", divide="ignore"):
        a, b = (q / np.linalg.norm(q, axis=1, keepdims=True) for q in (a, b))
        cosine = np.sum(a * b, axis=1, keepdims=True)
        angle = np.arccos(np.clip(np.abs(cosine), 0, 1))
        near = angle < 1e-6
        left, right = (
            np.where(near, p, np.sin(p * angle) / np.where(near, 1, np.sin(angle))) for p in (1 - part, part)
        )
        turned = left * a + right * np.where(cosine < 0, -b, b)
        found: Floats = turned / np.linalg.norm(turned, axis=1, keepdims=True)
    return found

"""The matching rule of CaptainCook4D's system, traps included, to set beside ours (``published``). Source: its collection code.

One pointer goes through a stream as it was stored and moves on while the distance to the base time does not grow, so a sample out of
order can hold it for good. What is within 1e8 ticks is a match: a tick is 100 ns, so that is 10 s, though its comments say one.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from proctor.capture.sync.clock import Ints

__all__ = ["TICK_NS", "TOLERANCE", "published_match"]

TICK_NS: Final = 100
TOLERANCE: Final = 100_000_000


def published_match(base: Ints, stream: Ints, tolerance: int = TOLERANCE) -> Ints:
    """Return for each base time, once sorted, the place of its match in the stream, -1 for none; all in ticks of one clock."""
    times, found, at = stream.tolist(), np.full(len(base), -1, dtype=np.int64), 0
    for n, moment in enumerate(np.sort(base).tolist() if times else ()):
        while at + 1 < len(times) and abs(times[at + 1] - moment) <= abs(times[at] - moment):
            at += 1
        if abs(times[at] - moment) <= tolerance:
            found[n] = at
    return found

"""The host's clocks: monotonic time, which everything is computed from, and wall time, which is a label."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Final

__all__ = ["JUMP_NS", "Clock", "JumpWatch"]

JUMP_NS: Final = 50_000_000
"""A change of wall time against monotonic time, from one look to the next, that is a jump; what a time service slews is less."""


class Clock:
    """Monotonic time and wall time of this machine, in ns; tests put another one in its place."""

    def mono_ns(self) -> int:
        """Return monotonic time; the same for every process of the machine."""
        return time.monotonic_ns()

    def wall_ns(self) -> int:
        """Return time since 1970 (UTC)."""
        return time.time_ns()

    def label(self) -> str:
        """Return wall time as UTC in ISO 8601, with milliseconds."""
        at = datetime.fromtimestamp(self.wall_ns() / 1e9, UTC)
        return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class JumpWatch:
    """Notices that wall time jumped; look at it about once a second."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = self._offset()

    def look(self) -> int:
        """Return by how many ns wall time jumped since the last look; 0 where it did not."""
        now = self._offset()
        jump, self._last = now - self._last, now
        return jump if abs(jump) > JUMP_NS else 0

    def _offset(self) -> int:
        """Return wall time less monotonic time; read again where the process was held up in between."""
        for _ in range(5):
            before, wall, after = self._clock.mono_ns(), self._clock.wall_ns(), self._clock.mono_ns()
            if after - before < JUMP_NS // 10:
                break
        return wall - (before + after) // 2

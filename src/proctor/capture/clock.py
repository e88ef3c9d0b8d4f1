"""The host's clocks: monotonic time, which everything is computed from, and wall time, which is a label."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Final

__all__ = ["JUMP_NS", "Clock", "JumpWatch"]

JUMP_NS: Final = 50_000_000
"""A change of wall time against monotonic time, from one look to the next, that is a jump; a time service slews less in a second."""


class Clock:
    """Monotonic time (the same for all processes of a machine) and wall time (UTC since 1970), in ns."""

    mono_ns = staticmethod(time.monotonic_ns)

    def wall_ns(self) -> int:
        """Return wall time."""
        return time.time_ns()

    def label(self) -> str:
        """Return wall time in ISO 8601, with milliseconds."""
        at = datetime.fromtimestamp(self.wall_ns() / 1e9, UTC)
        return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class JumpWatch:
    """Notices that wall time jumped."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._offset = 0
        self.look()

    def look(self) -> int:
        """Return by how many ns wall time jumped since the last look; 0 where it did not."""
        for _ in range(5):  # read again where the process was held up in between
            before, wall, after = self._clock.mono_ns(), self._clock.wall_ns(), self._clock.mono_ns()
            if after - before < JUMP_NS // 10:
                break
        had, self._offset = self._offset, wall - (before + after) // 2
        return self._offset - had if abs(self._offset - had) > JUMP_NS else 0

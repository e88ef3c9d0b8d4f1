"""How much work one file may cause: frames, pixels, seconds. A hostile or broken file ends in a message."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from proctor.errors import UserError

__all__ = ["DEFAULT_LIMITS", "Deadline", "Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on the work that one file may cause.

    Attributes:
        frames: most frames that one call returns.
        source_pixels: most pixels of one coded frame (8K has 33 million).
        output_bytes: most memory that the returned images of one call may take.
        seconds: wall-clock time for one file; checked between packets.
    """

    frames: int = 20_000
    source_pixels: int = 70_000_000
    output_bytes: int = 4 * 2**30
    seconds: float = 600.0


DEFAULT_LIMITS: Final = Limits()


class Deadline:
    """A point in time after which work on a file stops.

    A decoder that hangs inside one call cannot be interrupted from the same process; ``probe.check_all``
    therefore probes in a process that it can end.
    """

    def __init__(self, seconds: float, where: str) -> None:
        self.seconds = seconds
        self.where = where
        self._until = time.monotonic() + seconds

    def check(self) -> None:
        """Raise ``UserError`` when the time is over."""
        if time.monotonic() > self._until:
            raise UserError(
                f"reading it took longer than the limit of {self.seconds:g} s.",
                where=self.where,
                hint="is the file on a slow disk or damaged? Re-encode it, or raise the time limit",
            )

"""Who holds a claim: processes, and whether one is still there.

Two rules say that a process has gone, and neither looks at a clock on the wall:

1. It ran on this very machine (same host, same boot, same PID namespace) and there is no such process any more, or
   another one has its number by now.
2. It has not moved its counter for ``LEASE_SECONDS`` of *our* steady clock while we were watching. The counter moves
   every ``BEAT_SECONDS``, so clocks that differ or are set back change nothing.

A process that was only asleep for longer than the lease finds its claims gone when it wakes. At worst one call is then
made twice; the outcome that was stored first is the one that everybody uses.
"""

from __future__ import annotations

import os
import secrets
import socket
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["BEAT_SECONDS", "LEASE_SECONDS", "Owner", "Watch"]

BEAT_SECONDS: Final = 5.0
LEASE_SECONDS: Final = 60.0


class Owner(NamedTuple):
    """An opened store in a process.

    Attributes:
        owner: name, new each time a store is opened.
        host: machine, boot and PID namespace.
        pid: of the process.
        began: when the process started, in the system's own words; empty where it does not say.
        beat: counter that moves while the process lives.
    """

    owner: str
    host: str
    pid: int
    began: str
    beat: int = 0

    @classmethod
    def new(cls) -> Owner:
        """Return one for this process."""
        return cls(secrets.token_hex(12), _host(), os.getpid(), _began(os.getpid()))

    def has_ended(self) -> bool:
        """True when it is certain that the process is not there any more; false when that cannot be said."""
        if self.host != _host() or self.pid <= 0:
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except OSError:
            pass  # it belongs to somebody else
        now = _began(self.pid)
        return bool(now and self.began and now != self.began)


class Watch:
    """Remembers when other processes were last seen to live, by our own steady clock.

    Args:
        lease_seconds: without a sign of life until a process counts as gone.
    """

    def __init__(self, lease_seconds: float = LEASE_SECONDS) -> None:
        self._lease = lease_seconds
        self._seen: dict[str, tuple[int, float]] = {}

    def is_gone(self, owner: Owner) -> bool:
        """True when the process has ended or has not moved its counter for the length of the lease."""
        if owner.has_ended():
            self.forget(owner.owner)
            return True
        now = time.monotonic()
        beat, since = self._seen.get(owner.owner, (None, now))
        if beat != owner.beat:
            since = now
            self._seen[owner.owner] = (owner.beat, now)
        return now - since >= self._lease

    def forget(self, name: str) -> None:
        """Drop what is remembered of a process."""
        self._seen.pop(name, None)


@cache
def _host() -> str:
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip())
    with suppress(OSError):
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return " ".join(parts)


def _began(pid: int) -> str:
    """Return the start time of a process in ticks since boot; a dead one that is not buried yet has none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return ""
    return "zombie" if fields[0] in (b"Z", b"X") else fields[19].decode("ascii")

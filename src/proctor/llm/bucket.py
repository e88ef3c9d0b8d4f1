"""A limit a minute, kept as a token bucket: small bursts, never more than the limit in any minute.

A provider may count in minutes that begin anywhere, so the bucket holds back what a burst could add: with a burst of
one second's worth ``c``, it refills with ``limit - c`` a minute. In every half-open minute ``[t, t + 60)`` at most ``limit``
units are taken; only a single call that is larger than the burst may go beyond it, by its own size, and the next ones
wait until that is paid back.
"""

from __future__ import annotations

from typing import Final

__all__ = ["Bucket"]

MINUTE: Final = 60.0
BURST_SECONDS: Final = 1.0
_CLOSE: Final = 1e-9
"""Relative slack in comparisons, so that a call which waited until its time is not sent back for a rounding error."""


class Bucket:
    """What may be taken now, and when more may be.

    Args:
        per_minute: units a minute, above 0.
        now: seconds of any steady clock, the same one in every call.
    """

    __slots__ = ("_at", "_capacity", "_level", "_rate")

    def __init__(self, per_minute: float, now: float) -> None:
        self._capacity = max(1.0, per_minute / MINUTE * BURST_SECONDS)
        self._rate = (per_minute - self._capacity + 1.0) / MINUTE if per_minute > 1 else per_minute / MINUTE
        self._level = self._capacity
        self._at = now

    def ready(self, now: float, amount: float) -> float:
        """Return the time at which ``amount`` may be taken: ``now``, or later."""
        self._refill(now)
        missing = min(amount, self._capacity) * (1.0 - _CLOSE) - self._level
        return now if missing <= 0.0 else now + missing / self._rate

    def take(self, now: float, amount: float) -> None:
        """Take ``amount``; the bucket may owe some afterwards."""
        self._refill(now)
        self._level -= amount

    def correct(self, amount: float) -> None:
        """Give back what was taken too much, or take what was taken too little (negative)."""
        self._level = min(self._capacity, self._level + amount)

    def _refill(self, now: float) -> None:
        if now > self._at:
            self._level = min(self._capacity, self._level + (now - self._at) * self._rate)
            self._at = now

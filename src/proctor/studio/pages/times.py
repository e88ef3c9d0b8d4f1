"""Moments as people read them, in the server's zone."""

from __future__ import annotations

from datetime import datetime

__all__ = ["clock_text", "time_text", "when_text"]


def clock_text(seconds: float) -> str:
    """Return a moment of a recording as ``07:53`` or ``1:07:53``."""
    whole = int(seconds)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes:02d}:{whole % 60:02d}"


def time_text(at: float) -> str:
    """Return a time of day, ``12:04``."""
    return datetime.fromtimestamp(at).astimezone().strftime("%H:%M")


def when_text(at: float) -> str:
    """Return a day and a time, ``20 Nov 2026, 12:04``."""
    return datetime.fromtimestamp(at).astimezone().strftime("%-d %b %Y, %H:%M")

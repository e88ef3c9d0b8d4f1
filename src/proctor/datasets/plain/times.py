"""Times as people write them: seconds, ``MM:SS`` or ``HH:MM:SS`` with decimals."""

from __future__ import annotations

import math
import re

from proctor.datasets.plain.format import MAX_SECONDS

__all__ = ["parse_time", "shown"]

_CLOCK = re.compile(r"(?:(?P<h>\d{1,4}):)?(?P<m>\d{1,5}):(?P<s>\d{2}(?:\.\d{1,9})?)", re.ASCII)


def parse_time(value: float | str) -> float:
    """Return a time in seconds.

    Raises:
        ValueError: for anything that is not a time between 0 and ``MAX_SECONDS``; the message is a sentence part
            that starts with what was seen.
    """
    seconds = _parse_clock(value) if isinstance(value, str) else float(value)
    if not math.isfinite(seconds):
        raise ValueError(f"{value} is not a finite number")
    if seconds < 0:
        raise ValueError(f"{shown(value)} is before the start of the recording")
    if seconds > MAX_SECONDS:
        raise ValueError(f"{shown(value)} is more than {MAX_SECONDS:,.0f} seconds (is it milliseconds?)")
    return seconds + 0.0  # turns -0.0 into 0.0


def shown(value: float | str) -> str:
    """Return a time as its author would recognise it."""
    return f"'{value[:40]}'" if isinstance(value, str) else f"{value:.10g}"


def _parse_clock(text: str) -> float:
    match = _CLOCK.fullmatch(text.strip())
    if match is None:
        hint = " (decimals take a point)" if "," in text else ""
        raise ValueError(f"{shown(text)} is not a time like 12.5, '01:05' or '00:01:05.250'{hint}")
    hours, minutes, seconds = match["h"], int(match["m"]), float(match["s"])
    if seconds >= 60:
        raise ValueError(f"{shown(text)} has {match['s']} seconds; a minute ends at 59")
    if hours is not None and minutes >= 60:
        raise ValueError(f"{shown(text)} has {match['m']} minutes; an hour ends at 59")
    return int(hours or 0) * 3600 + minutes * 60 + seconds

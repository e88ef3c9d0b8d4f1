"""Which moments of a recording to look at. Pure functions on numbers; no file is touched.

Conventions: times are float seconds from the start of the recording; a span is half-open ``[start, end)``;
results are increasing and lie inside the span. An empty span has no moments.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from proctor.errors import UserError

__all__ = [
    "TIME_TOLERANCE",
    "at_steps",
    "by_fps",
    "count_back",
    "published_ids",
    "published_times",
    "thin",
    "uniform",
]

STEP_MARGIN: Final = 0.04
"""Seconds before a step's end at which it is still on screen: one frame at 25 a second."""

TIME_TOLERANCE: Final = 0.0005
"""Seconds by which stored times of frames are rounded (Matroska counts milliseconds)."""

T = TypeVar("T")


def uniform(count: int, end: float, *, start: float = 0.0) -> list[float]:
    """Return the middles of ``count`` equal parts of the span.

    Args:
        count: how many, at least 1.
        end: seconds, exclusive.
        start: seconds, inclusive.

    Raises:
        UserError: on a count below 1 or a span that is not finite and increasing.
    """
    if count < 1:
        raise UserError(f"{count} frames were asked for; at least 1 is needed.")
    if _empty(start, end):
        return []
    part = (end - start) / count
    return _inside((start + (i + 0.5) * part for i in range(count)), start, end)


def by_fps(fps: float, end: float, *, start: float = 0.0) -> list[float]:
    """Return ``start, start + 1/fps, ...`` below ``end``.

    Raises:
        UserError: on a rate that is not positive and finite, or a bad span.
    """
    if not (math.isfinite(fps) and fps > 0):
        raise UserError(f"a rate of {fps} frames a second is not possible.", hint="give a number above 0")
    if _empty(start, end):
        return []
    count = math.ceil((end - start) * fps)
    return _inside((start + i / fps for i in range(count + 1)), start, end)


def count_back(frames: Sequence[T], cap: int) -> list[T]:
    """Keep every r-th frame counting back from the last, so that the last is always there.

    The rule of the published ProMQA runs: ``r = 1`` if there are at most ``cap``
    frames, else ``ceil(n / cap)``. At most ``cap`` frames remain, often far fewer.

    Raises:
        UserError: on a cap below 1.
    """
    if cap < 1:
        raise UserError(f"a cap of {cap} frames leaves nothing to look at; give at least 1.")
    stride = max(1, math.ceil(len(frames) / cap))
    return list(frames[::-1][::stride][::-1])


def published_times(end: float, cap: int) -> list[float]:
    """Return the moments that the published ProMQA runs look at for a clip ``[0, end)``: 1 fps, then ``count_back``.

    The last whole second before ``end`` is always among them.

    Raises:
        UserError: see ``by_fps`` and ``count_back``.
    """
    return count_back(by_fps(1.0, end), cap)


def published_ids(times: Iterable[float]) -> list[int]:
    """Return what the published ProMQA files call the frames at ``published_times``: one a second, counted from 1."""
    return [int(time) + 1 for time in times]


def thin(times: Sequence[T], most: int) -> list[T]:
    """Keep at most so many, evenly spaced by their places, the last one always among them.

    Raises:
        UserError: on a number below 1.
    """
    if most < 1:
        raise UserError(f"a cap of {most} frames leaves nothing to look at; give at least 1.")
    if len(times) <= most:
        return list(times)
    last = len(times) - 1
    places = [last] if most == 1 else [round(k * last / (most - 1)) for k in range(most)]
    return [times[k] for k in places]


def at_steps(steps: Iterable[tuple[float, float]], cap: int, end: float) -> list[float]:
    """Return moments of steps that lie in ``[0, end)``: when they happen is known from annotations, not from looking.

    Every step gives the middle of its part before ``end``. While places are left, its end is added (as the last moment
    at which it is still on screen), then its beginning. A round that does not fit whole is thinned (``thin``), and so
    are the middles where there are more steps than frames; the last step is always there.

    Args:
        steps: start and end of each, seconds.
        cap: how many moments at most.
        end: seconds, exclusive.

    Raises:
        UserError: on a cap below 1, or a step whose times are not finite and increasing.
    """
    thin((), cap)
    spans: list[tuple[float, float]] = []
    for start, stop in sorted(steps):
        _empty(start, stop)
        if start < end and stop >= 0:
            spans.append((max(0.0, start), min(stop, end)))
    rounds = (
        [(start + stop) / 2 for start, stop in spans],
        [max((start + stop) / 2, stop - STEP_MARGIN) for start, stop in spans],
        [start for start, _ in spans],
    )
    chosen: list[float] = []
    for moments in rounds:
        fresh = [t for t in _inside(sorted(moments), 0.0, end) if t not in chosen]
        if len(chosen) < cap:
            chosen += thin(fresh, cap - len(chosen))
    return sorted(chosen)


def _empty(start: float, end: float) -> bool:
    if not (math.isfinite(start) and math.isfinite(end)):
        raise UserError(f"the span [{start}, {end}) is not finite.")
    if end < start:
        raise UserError(f"the span [{start}, {end}) ends before it starts.")
    return end == start


def _inside(times: Iterable[float], start: float, end: float) -> list[float]:
    # rounding can carry a product onto or over the open end, or two moments onto each other; those are dropped
    kept: list[float] = []
    for time in times:
        if start <= time < end and (not kept or time > kept[-1]):
            kept.append(time)
    return kept

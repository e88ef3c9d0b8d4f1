"""Samples in order: sorted by the sensor's clock within a segment of it, what came twice left out, the rest flagged."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from proctor.capture.sync.clock import ClockMap, Ints

__all__ = ["FLAGS", "Cleaned", "clean"]

FLAGS: Final = {"duplicate": 1, "backward": 2, "rate": 4, "odd": 8}
"""Bits: has the time of a sample before it; came after one with a later time and is sorted in; its distance from the one before is
none of the usual (median ± 6 MAD); its time cannot be. Duplicates and odd ones serve nothing."""


class Cleaned(NamedTuple):
    """Samples that serve, in order of host time.

    ``rows`` are those of the index, ``host_ns`` when each was taken, ``flags`` of all samples by arrival,
    ``period_ns`` the median distance (0 where there is none); ``regular``: times were put at even distances.
    """

    rows: Ints
    host_ns: Ints
    flags: np.ndarray[Any, np.dtype[np.uint8]]
    period_ns: int
    regular: bool


def clean(device_ns: Ints, clock: ClockMap, *, can_drop: bool = True) -> Cleaned:
    """Return the samples in order, with host times.

    Args:
        device_ns: in the order of arrival.
        clock: of the same samples.
        can_drop: samples may be missing; only where none can are times made regular (pyxdf 1.17.4 learned that).
    """
    flags = np.where(clock.segment < 0, FLAGS["odd"], 0).astype(np.uint8)
    kept: list[Ints] = []
    for n in range(len(clock.segments)):
        mine = np.flatnonzero(clock.segment == n)
        flags[mine[device_ns[mine] < np.maximum.accumulate(device_ns[mine])]] |= FLAGS["backward"]
        mine = mine[np.argsort(device_ns[mine], kind="stable")]
        twice = np.diff(device_ns[mine], prepend=device_ns[mine[:1]] - 1) == 0
        flags[mine[twice]] |= FLAGS["duplicate"]
        kept.append(mine[~twice])
    if not kept:
        return Cleaned(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), flags, 0, False)
    steps = np.concatenate([np.diff(device_ns[mine]) for mine in kept])
    period = int(np.median(steps)) if len(steps) else 0
    far = 6 * max(float(np.median(np.abs(steps - period))), 0.02 * period) if len(steps) else 0.0
    for mine in kept:
        flags[mine[1:][np.abs(np.diff(device_ns[mine]) - period) > far]] |= FLAGS["rate"]
    evened = [None if can_drop else _even(device_ns[mine], period) for mine in kept]
    times = [device_ns[mine] if even is None else even for mine, even in zip(kept, evened, strict=True)]
    rows = np.concatenate(kept)
    host = clock.to_host(np.concatenate(times), clock.segment[rows])
    order = np.argsort(host, kind="stable")
    return Cleaned(rows[order], host[order], flags, period, all(even is not None for even in evened))


def _even(device: Ints, period: int) -> Ints | None:
    """Return evenly spaced times, run by run between gaps; None if one would move by a quarter of a period: some are missing."""
    even = device.copy()
    for run in np.split(np.arange(len(device)), np.flatnonzero(np.diff(device) > 3 * period) + 1):
        if len(run) > 2:
            n, y = run - run.mean(), (device[run] - device[run[0]]).astype(np.float64)
            line = y.mean() + n * (n @ y) / (n @ n)
            if np.abs(line - y).max() > period / 4:
                return None
            even[run] = device[run[0]] + np.rint(line).astype(np.int64)
    return even

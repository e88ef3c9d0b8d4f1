"""Clock maps: from a sensor's clock to the recorder's monotonic one, with its drift, its jumps and how sure that is.

A sample comes ``host - device`` after it was taken, plus a constant. Delays only add, so the least of ten
seconds is what the clocks differ by, plus the least delay; a line through those, by Theil and Sen, is the
map. docs/capture.md, *Synchronisation*.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from statistics import median_low
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
import numpy as np

from proctor.capture.records import Event
from proctor.capture.sensor import ClockSample

__all__ = [
    "ClockMap", "ClockSegment", "Floats", "Ints", "coarse_clocks", "event_times", "fit_clock", "probes_of",
    "wall_ns",
]  # fmt: skip

Ints: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"
Floats: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"
_LEAST: Final = 6
"""Points of a line; fewer give a constant."""
_SIDE: Final = 3
"""Buckets on either side of a small jump, so that no short lull of a network is one."""
_WIDE_NS: Final = 5_000_000_000
"""A jump of more than a second is told from a delay by the least delay of so long on either side."""


class ClockSegment(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch in which a clock neither jumps nor begins anew.

    Attributes:
        first, last: samples by arrival, ``last`` not included.
        device_first_ns, device_last_ns: least and greatest device time.
        host_first_ns, host_last_ns: when its first and last sample came.
        offset_ns: host minus device time at ``device_first_ns``; it grows by ``slope`` in each device nanosecond.
        drift_ppm: microseconds that the device's clock gains in a second.
        spread_ms: robust standard deviation of the points around the line.
        points: what the line goes through: device seconds since the first, milliseconds above the line.
        coarse: fewer than 6 points, so there is a constant and no line.
    """

    first: int
    last: int
    device_first_ns: int
    device_last_ns: int
    host_first_ns: int
    host_last_ns: int
    offset_ns: int
    slope: float = 0.0
    drift_ppm: float = 0.0
    spread_ms: float = 0.0
    points: tuple[tuple[float, float], ...] = ()
    probes: int = 0
    coarse: bool = True


class ClockMap(NamedTuple):
    """Segments, and the one that each sample (by arrival) is of; -1 where its time cannot be, such as a lone 0."""

    segments: tuple[ClockSegment, ...]
    segment: Ints

    def to_host(self, device_ns: Ints, segment: Ints | int) -> Ints:
        """Return host times (ns) of device times in a segment, or in one each."""
        base = np.array([s.device_first_ns for s in self.segments], dtype=np.int64)[segment]
        offset = np.array([s.offset_ns for s in self.segments], dtype=np.int64)[segment]
        grown = (device_ns - base) * np.array([s.slope for s in self.segments])[segment]
        found: Ints = device_ns + offset + np.rint(grown).astype(np.int64)
        return found

    @property
    def jumps(self) -> tuple[tuple[int, float], ...]:
        """Host time (ns) of each border of segments, and by how many seconds the device's clock jumped there."""
        ends = [s.offset_ns + s.slope * (s.device_last_ns - s.device_first_ns) for s in self.segments]
        pairs = zip(ends, self.segments[1:], strict=False)
        return tuple((s.host_first_ns, (end - s.offset_ns) / 1e9) for end, s in pairs)


def fit_clock(
    device_ns: Ints,
    host_ns: Ints,
    probes: Sequence[ClockSample] = (),
    *,
    bucket_s: float = 10.0,
    jump_ms: float = 50.0,
) -> ClockMap:
    """Return the clock map of a stream.

    Args:
        device_ns: of each sample, in the order in which they came.
        host_ns: when they came.
        probes: of the same clock; they replace the least delays, for they see no delay.
        bucket_s: seconds of which the least delay is taken.
        jump_ms: from which a lasting step of the least delay is a jump of the clock.
    """
    segment = np.full(len(device_ns), -1, dtype=np.int64)
    rows = np.flatnonzero(~_odd(device_ns))
    found: list[ClockSegment] = []
    if len(rows):
        device, host, bucket = device_ns[rows], np.maximum.accumulate(host_ns[rows]), int(bucket_s * 1e9)
        late, borders = host - device, [0]
        for a, b in pairwise([0, *_resets(device, host, late), len(rows)]):
            least = a + _least(host[a:b], late[a:b], bucket)
            borders += [*_jumps(host, late, least, bucket, jump_ms * 1e6), b]
        for a, b in pairwise(borders):
            segment[rows[a:b]] = len(found)
            fitted = _segment(device[a:b], host[a:b], late[a:b], probes, bucket)
            found.append(msgspec.structs.replace(fitted, first=int(rows[a]), last=int(rows[b - 1]) + 1))
    return ClockMap(tuple(found), segment)


def _step_ns(device: Ints) -> int:
    """Return what no sample is out of place by: ten periods, at least a second."""
    return max(1_000_000_000, 10 * int(np.median(np.abs(np.diff(device)))))


def _odd(device: Ints) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Tell samples whose time lies far off the two before and the two behind; those at a jump do not."""
    if len(device) < 5:
        return np.zeros(len(device), dtype=bool)
    wide = np.pad(device, 2, mode="reflect")
    middle = np.sort(np.stack([wide[k : k + len(device)] for k in range(5)]), axis=0)[2]
    return np.asarray(np.abs(device - middle) > _step_ns(device))


def _resets(device: Ints, host: Ints, late: Ints) -> list[int]:
    """Return first samples after jumps of more than a second; a stalled connection catches up, a clock does not."""
    step, borders = _step_ns(device) if len(device) > 1 else 0, [0]
    for i in np.flatnonzero(np.abs(np.diff(late)) > step):
        low = max(borders[-1], int(np.searchsorted(host, host[i] - _WIDE_NS)))
        high = int(np.searchsorted(host, host[i + 1] + _WIDE_NS, "right"))
        if abs(int(late[i + 1 : high].min()) - int(late[low : i + 1].min())) > step // 2:
            borders.append(int(i) + 1)
    return borders[1:]


def _least(host: Ints, late: Ints, bucket: int) -> Ints:
    """Return the sample of the least delay in each bucket of time that has one; the last may be half as long or half as long again."""
    number = np.minimum((host - host[0]) // bucket, max(0, round((host[-1] - host[0]) / bucket) - 1))
    starts = np.flatnonzero(np.diff(number, prepend=-1))
    lows = np.repeat(np.minimum.reduceat(late, starts), np.diff([*starts, len(host)]))
    at_low = np.flatnonzero(late == lows)
    found: Ints = at_low[np.flatnonzero(np.diff(number[at_low], prepend=-1))]
    return found


def _jumps(host: Ints, late: Ints, least: Ints, bucket: int, by: float) -> Iterator[int]:
    """Yield first samples after small jumps: where three buckets lie all above, or all below, the three before."""
    if len(least) < 2 * _SIDE:
        return
    level, time = (late[least] - late[least[0]]).astype(np.float64), (host[least] - host[least[0]]) / bucket
    level -= time * np.median(np.diff(level) / np.diff(time))  # drift is no jump
    for k in range(_SIDE, len(level) - _SIDE + 1):
        before, after = level[k - _SIDE : k], level[k : k + _SIDE]
        if max(after.min() - before.max(), before.min() - after.max()) > by:
            part = late[least[k - 1] : least[k] + 1]
            under = np.flatnonzero(part < (part[0] + part[-1]) / 2)
            yield int(least[k - 1] + (under[0] if part[-1] < part[0] else under[-1] + 1))


def _theil_sen(x: Floats, y: Floats) -> float:
    """Return the slope of the line by Theil and Sen: a median, which a quarter of the points cannot move."""
    every = max(1, -(-len(x) // 1_500))
    i, j = np.triu_indices(len(x[::every]), 1)
    run, rise = x[::every][j] - x[::every][i], y[::every][j] - y[::every][i]
    return float(np.median(rise[run != 0] / run[run != 0])) if (run != 0).any() else 0.0


def _segment(
    device: Ints, host: Ints, late: Ints, probes: Sequence[ClockSample], bucket: int
) -> ClockSegment:
    base, last, (begin, end) = int(device.min()), int(device.max()), host[[0, -1]]
    best: dict[int, ClockSample] = {}
    for p in sorted(probes, key=lambda p: (-p.rtt_ns, p.device_ns)):
        if base - bucket <= p.device_ns <= last + bucket and begin - bucket <= p.host_ns <= end + bucket:
            best[(p.device_ns - base) // bucket] = p
    two_way = len(best) >= _LEAST
    seen = [(p.device_ns, p.host_ns - p.device_ns) for p in best.values()]
    least = _least(host, late, bucket)
    at, r = np.array(seen, dtype=np.int64).T if two_way else (device[least], late[least])
    x, zero, coarse = (at - base).astype(np.float64), int(r.min()), len(at) < _LEAST
    y = (r - zero).astype(np.float64)
    slope = 0.0 if coarse else _theil_sen(x, y)
    part = 0.0 if coarse else 0.5 if two_way else 0.25  # (delays only add)
    height = float(np.quantile(y - slope * x, part))
    if best and not two_way:  # too few for a line: the surest one sets its height
        sure = min(best.values(), key=lambda p: p.rtt_ns)
        height = float(sure.host_ns - sure.device_ns - zero) - slope * (sure.device_ns - base)
    above, every = y - height - slope * x, max(1, -(-len(x) // 400))
    spread = 1.4826e-6 * float(np.median(np.abs(above - np.median(above))))
    points = zip((x[::every] / 1e9).round(3).tolist(), (above[::every] / 1e6).round(4).tolist(), strict=True)
    return ClockSegment(
        first=0, last=0, device_first_ns=base, device_last_ns=last, host_first_ns=int(begin),
        host_last_ns=int(end), offset_ns=zero + round(height), slope=slope,
        drift_ppm=-slope / max(1 + slope, 1e-9) * 1e6, spread_ms=spread, points=tuple(points), probes=len(best),
        coarse=coarse,
    )  # fmt: skip


# -- events ------------------------------------------------------------------------------------------------------


def probes_of(events: Iterable[Event], clock: str) -> list[ClockSample]:
    """Return the probes of a clock that were noted."""
    return [
        ClockSample(device_ns=e.device_ns, host_ns=e.host_ns, rtt_ns=e.rtt_ns or 0)
        for e in events
        if e.kind == "clock" and e.clock == clock and e.device_ns is not None and e.host_ns is not None
    ]


def _pairs(events: Iterable[Event], clock: str) -> list[tuple[int, int]]:
    """Return device time and host minus device time of a clock's probes but those that took much longer than others."""
    found = probes_of(events, clock)
    most = max(50e6, 3 * float(np.median([p.rtt_ns for p in found]))) if found else 0.0
    return sorted((p.device_ns, p.host_ns - p.device_ns) for p in found if p.rtt_ns <= most)


def wall_ns(label: str) -> int | None:
    """Return the ns since 1970 (UTC where it does not say) of a time in ISO 8601, None where it is none."""
    try:
        when = datetime.fromisoformat(label)
        return round((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1e6) * 1000
    except (ValueError, OverflowError):
        return None


def _away(events: Iterable[Event], tablet_events: Iterable[Event]) -> list[Event]:
    return [*(e for e in events if e.host_ns is None), *tablet_events]


def coarse_clocks(events: Iterable[Event], tablet_events: Iterable[Event]) -> list[str]:
    """Return the clocks that were never compared with the host's: ``event_times`` places them by wall times."""
    away = _away(events, tablet_events)
    return [c for c in dict.fromkeys(e.clock for e in away if e.host_ns is None) if not _pairs(away, c)]


def event_times(events: Iterable[Event], tablet_events: Iterable[Event]) -> list[tuple[Event, int]]:
    """Return all events with their host times (ns), in order of time.

    A tablet's are placed by its ``clock`` events; between two, the difference of the clocks changes evenly (a
    tablet that slept lost time). A clock without any is placed by wall times, which is coarse; an event
    without either, where the one before it is.
    """
    own = list(events)
    tablet = _away(own, tablet_events)
    found = [(e, e.host_ns) for e in own if e.host_ns is not None]
    walls = [t - w for e, t in found if (w := wall_ns(e.wall)) is not None]
    last, to_host = found[0][1] if found else 0, median_low(walls) if walls else None
    for clock in dict.fromkeys(e.clock for e in tablet):
        mine, pairs = [e for e in tablet if e.clock == clock], _pairs(tablet, clock)
        if not pairs and to_host is not None:
            labels = [(wall_ns(e.wall), e.device_ns) for e in mine]
            guesses = [w + to_host - device for w, device in labels if w is not None and device is not None]
            pairs = [(0, median_low(guesses))] if guesses else []
        for event in mine:
            if event.device_ns is not None and pairs:
                (at, zero), (ats, aparts) = pairs[0], zip(*pairs, strict=True)
                grown = np.interp(event.device_ns - at, [a - at for a in ats], [a - zero for a in aparts])
                last = event.device_ns + zero + round(float(grown))
            elif event.host_ns is not None:
                last = event.host_ns
            elif (wall := wall_ns(event.wall)) is not None and to_host is not None:
                last = wall + to_host
            found.append((event, last))
    return sorted(found, key=lambda pair: pair[1])

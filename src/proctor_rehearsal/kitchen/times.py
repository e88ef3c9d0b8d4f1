"""Times of simulated sensors: when a sample was taken, what the sensor's clock said, when it came; every fault at will.

One function makes them for the sensors that play in real time (``sensors.sim``), for whole recordings written at once, and for
measuring how well synchronisation finds the truth.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from proctor.capture.sensor import Options
from proctor.errors import UserError

__all__ = ["Faults", "SensorTimes", "faults_of", "sensor_times"]

_SPANS: Final = re.compile(r"(-?\d+(?:\.\d+)?)([:+])(-?\d+(?:\.\d+)?)", re.ASCII)


class Faults(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with a sensor.

    Attributes:
        drift_ppm: microseconds that its clock gains in a second.
        offset_s: what its clock says at the beginning.
        latency_ms: least time until a sample comes.
        jitter_ms: mean of what is added to that, exponential.
        wobble_ms: standard deviation of the moments at which samples are taken.
        gaps: (begin, length) in seconds: nothing is taken.
        jumps: (moment, by) in seconds: the clock jumps.
        resets: moments in seconds at which the clock begins at 0 again.
        duplicates: share of samples that come twice.
        swaps: share of samples that come after their follower.
    """

    drift_ppm: float = 0.0
    offset_s: float = 0.0
    latency_ms: float = 4.0
    jitter_ms: float = 0.0
    wobble_ms: float = 0.0
    gaps: tuple[tuple[float, float], ...] = ()
    jumps: tuple[tuple[float, float], ...] = ()
    resets: tuple[float, ...] = ()
    duplicates: float = 0.0
    swaps: float = 0.0


class SensorTimes(NamedTuple):
    """Arrays of ``int64`` nanoseconds, one entry for each sample that comes, in the order in which it comes.

    ``true_ns`` is when it was taken and ``host_ns`` when it came, both on the host's clock; ``device_ns`` is what the sensor's
    clock said; ``taken`` counts the samples taken, so that a duplicate has the number of its original.
    """

    true_ns: np.ndarray[Any, np.dtype[np.int64]]
    device_ns: np.ndarray[Any, np.dtype[np.int64]]
    host_ns: np.ndarray[Any, np.dtype[np.int64]]
    taken: np.ndarray[Any, np.dtype[np.int64]]


def sensor_times(
    rate_hz: float, seconds: float, faults: Faults, seed: str, *, start_ns: int = 0
) -> SensorTimes:
    """Return the times of all samples of a sensor; the same arguments give the same times.

    Args:
        rate_hz: samples a second.
        seconds: length of the recording.
        faults: see there.
        seed: of the draws.
        start_ns: host time of the beginning.
    """
    rng = np.random.default_rng(np.frombuffer(seed.encode(), dtype=np.uint8))
    n = int(seconds * rate_hz)
    taken = np.arange(n, dtype=np.int64)
    at = taken / rate_hz + rng.normal(0, faults.wobble_ms / 1e3, n)
    late = faults.latency_ms / 1e3 + rng.exponential(faults.jitter_ms / 1e3, n)
    clock = faults.offset_s + at * (1 + faults.drift_ppm / 1e6)
    for moment, by in faults.jumps:
        clock[at >= moment] += by
    for moment in sorted(faults.resets):
        after = at >= moment
        clock[after] = (at[after] - moment) * (1 + faults.drift_ppm / 1e6)
    kept = np.ones(n, dtype=bool)
    for begin, length in faults.gaps:
        kept &= ~((at >= begin) & (at < begin + length))
    rows = np.flatnonzero(kept)
    rows = np.repeat(rows, 1 + (rng.random(len(rows)) < faults.duplicates))
    swapped = np.flatnonzero(rng.random(max(len(rows) - 1, 0)) < faults.swaps)
    for i in swapped[np.diff(swapped, prepend=-2) > 1]:
        rows[i], rows[i + 1] = rows[i + 1], rows[i]
    true = start_ns + np.rint(at[rows] * 1e9).astype(np.int64)
    # What comes later was not read earlier: one connection keeps its order.
    host = np.maximum.accumulate(true + np.rint(late[rows] * 1e9).astype(np.int64)) if len(rows) else true
    return SensorTimes(true, np.rint(clock[rows] * 1e9).astype(np.int64), host, taken[rows])


def faults_of(options: Options, where: str) -> Faults:
    """Return the faults of a table of options: numbers by name; ``gaps = "40+8"`` (begin and length), ``jumps = "300:-3"``,
    several with commas.

    Raises:
        UserError: if an option is none, or no such value.
    """  # noqa: D205
    found: dict[str, object] = {}
    for name, value in options.items():
        if name not in Faults.__struct_fields__:
            raise UserError(
                f"'{name[:40]}' is no fault of a sensor.",
                where=where,
                hint=", ".join(Faults.__struct_fields__),
            )
        if name in ("gaps", "jumps"):
            parts = [p.strip() for p in str(value).split(",") if p.strip()]
            pairs = [_SPANS.fullmatch(p) for p in parts]
            if not all(pairs):
                raise UserError(
                    f"'{str(value)[:60]}' is no list of times.",
                    where=where,
                    hint='such as "40+8" or "300:-3"',
                )
            found[name] = [[float(m[1]), float(m[3])] for m in pairs if m]
        else:
            found[name] = [float(v) for v in str(value).split(",")] if name == "resets" else value
    try:
        return msgspec.convert(found, Faults)
    except msgspec.ValidationError as error:
        raise UserError(str(error), where=where) from None

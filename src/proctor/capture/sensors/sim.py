"""Simulated sensors: seeded samples in real time, with every fault at will. What is sent depends on seed, number and moment alone.

Video is JPEG with a counter burnt in twice: as digits, and as 32 squares along the lower edge (the highest bit first), which survive
any encoder. At a clap the picture is white for 0.1 s, an accelerometer has a spike of 10 ms and the sound a burst. The moment of a
block of sound is that of its first sample.
"""

from __future__ import annotations

import asyncio
import io
import math
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec
import numpy as np

from proctor.capture.records import Sample, StreamSpec
from proctor.capture.sensor import Context, Options
from proctor.capture.sensors import Plain, options_of
from proctor.capture.simulated import Faults, SensorTimes, faults_of, sensor_times
from proctor.errors import UserError

__all__ = ["BITS", "FLASH_S", "Simulated", "audio", "depth", "depth_image", "imu", "picture", "sound_block", "vector", "video"]  # fmt: skip

BITS, FLASH_S, _CHUNK_S, _ENDLESS_S, _HZ = 32, 0.1, 600, 365 * 86_400, 48_000
Pixels: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Moments: TypeAlias = Sequence[float]
_UNITS: Final = {
    "accelerometer": ("m/s^2", {"g": 1 / 9.80665}),
    "gyroscope": ("rad/s", {"deg/s": math.degrees(1)}),
    "magnetometer": ("uT", {"mT": 1e-3, "G": 1e-2}),
}


class SimOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options beside the faults; 0 and "" stand for what is usual.

    ``claps`` are seconds with commas; ``seconds`` end the source; ``truth`` is a file that says, when it runs, at which host time it was
    switched on and when there are claps; it fails once after ``die_after`` seconds; ``undeclared``: the stream does not say that it
    has ``other_unit``.
    """

    rate_hz: float = 0.0
    seed: str = "0"
    claps: str = ""
    seconds: float = 0.0
    truth: str = ""
    clock: str = ""
    width: int = 0
    height: int = 0
    kind: Literal["accelerometer", "gyroscope", "magnetometer"] = "accelerometer"
    hz: float = 2.0
    die_after: float = 0.0
    silent_from: float = 0.0
    silent_for: float = 0.0
    other_unit: str = ""
    undeclared: bool = False


class _Begun(msgspec.Struct):
    start_ns: int
    claps: list[float] = []


class Simulated(Plain):
    """A simulated sensor; ``make`` gives the sample of a number, taken at a moment in seconds."""

    def __init__(self, spec: StreamSpec, chosen: _Chosen, make: Callable[[int, float], bytes]) -> None:
        self.options, faults, self.claps = chosen
        rate, clock = self.options.rate_hz or spec.rate_hz, self.options.clock or spec.name
        self.spec = msgspec.structs.replace(spec, rate_hz=rate, clock=clock, note="simulated")
        self.make, self._start_ns, self._alive = make, 0, not self.options.die_after
        silence = ((self.options.silent_from, self.options.silent_for),)
        self.faults = msgspec.structs.replace(faults, gaps=faults.gaps + silence)

    def times(self, seconds: float, start_ns: int = 0) -> Iterator[SensorTimes]:
        """Yield the times of a recording, ten minutes at once: an endless one takes no more memory."""
        f, last = self.faults, np.int64(0)
        for at in range(0, math.ceil(seconds), _CHUNK_S):
            moved = msgspec.structs.replace(
                f,
                offset_s=f.offset_s + at * (1 + f.drift_ppm / 1e6),
                gaps=tuple((begin - at, length) for begin, length in f.gaps),
                jumps=tuple((moment - at, by) for moment, by in f.jumps),
                resets=tuple(moment - at for moment in f.resets),
            )
            seed, begin = f"{self.options.seed}/{self.spec.name}/{at}", start_ns + at * 10**9
            length = min(_CHUNK_S, seconds - at)
            found = sensor_times(self.spec.rate_hz, length, moved, seed, start_ns=begin)
            host = np.maximum(found.host_ns, last)
            last = host[-1] if len(host) else last
            yield found._replace(host_ns=host, taken=found.taken + int(at * self.spec.rate_hz))

    def samples(self, found: SensorTimes, start_ns: int, first: int = 0) -> Iterator[Sample]:
        """Yield samples of a recording that began at ``start_ns``, in the order in which they come."""
        for n in range(first, len(found.host_ns)):
            payload = self.make(int(found.taken[n]), (int(found.true_ns[n]) - start_ns) / 1e9)
            yield Sample(int(found.device_ns[n]), int(found.host_ns[n]), payload)

    async def run(self, context: Context) -> None:
        """Send what is due when it is due; what was due while nobody ran it is lost.

        Raises:
            ConnectionError: once, ``die_after`` seconds from the beginning.
        """
        now = time.monotonic_ns()
        if self.options.truth:
            begun = msgspec.json.decode(Path(self.options.truth).read_bytes(), type=_Begun)
            self._start_ns, self.claps[:] = begun.start_ns, begun.claps
        start = self._start_ns = self._start_ns or now
        for found in self.times(self.options.seconds or _ENDLESS_S, start):
            for sample in self.samples(found, start, int(np.searchsorted(found.host_ns, now))):
                if (wait := sample.host_ns - time.monotonic_ns()) > 0 or self.sent % 64 == 0:
                    await asyncio.sleep(
                        max(wait, 0) / 1e9
                    )  # (who is far behind lets others run all the same)
                if not self._alive and time.monotonic_ns() >= start + self.options.die_after * 1e9:
                    self._alive = True
                    raise ConnectionError("the simulated source died")
                await context.emit(sample.device_ns, sample.payload)
                self.sent += 1


# -- samples -----------------------------------------------------------------------------------------------------


def picture(
    seed: str, number: int, size: tuple[int, int] = (640, 360), white: bool = False, text: str = ""
) -> bytes:
    """Return a JPEG: counter, a square that wanders, and a text; or all white."""
    width, height = size
    image = _ground(seed, size, text).copy()
    x, y = 5 * number % (width - 48), height // 2 + int(height / 6 * math.sin(number / 20))
    image[y : y + 48, x : x + 48] = (230, 90, 40)
    for place, digit in enumerate(f"{number:07}"):
        image[12:44, 12 + 22 * place : 34 + 22 * place] = _ground("", (22, 32), digit)
    side = width // BITS
    bits = np.array([number >> (BITS - 1 - i) & 1 for i in range(BITS)], np.uint8) * 255
    image[-side:, : side * BITS] = np.repeat(bits, side)[None, :, None]
    return _encoded(np.full_like(image, 255) if white else image, "JPEG", quality=75)


@lru_cache(maxsize=32)
def _ground(seed: str, size: tuple[int, int], text: str) -> Pixels:
    from PIL import Image, ImageDraw, ImageFont

    y, x = np.mgrid[: size[1], : size[0]]
    ground = ((x // 40 + y // 40) % 2)[..., None] * 20 + _rng(seed, "ground").integers(40, 120, 3)
    drawn = Image.fromarray((ground + (y // 8)[..., None]).clip(0, 255).astype(np.uint8))
    place, big = ((14, 60), 22) if len(text) > 1 else ((3, 0), 28)
    ImageDraw.Draw(drawn).text(place, text[:60], fill="white", font=ImageFont.load_default(big))
    return np.asarray(drawn)


def depth_image(seed: str, number: int, size: tuple[int, int] = (320, 288)) -> bytes:
    """Return a 16-bit PNG in millimetres: a bowl on a table, and a hand that wanders; pixel (0, 0) is the number mod 65536."""
    image = _table(seed, size).copy()
    x = 3 * number % (size[0] - 40)
    image[40:120, x : x + 40] = 450
    image[0, 0] = number % 65_536
    return _encoded(image, "PNG", compress_level=1)


@lru_cache(maxsize=4)
def _table(seed: str, size: tuple[int, int]) -> Pixels:
    y, x = np.mgrid[: size[1], : size[0]]
    bowl = np.hypot(x - size[0] / 2, y - size[1] / 2) < size[1] / 4
    return np.asarray(900 + y // 4 - 80 * bowl + 10 * _rng(seed, "table").integers(0, 5), np.uint16)


def _encoded(image: Pixels, kind: str, **options: int) -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, kind, **options)
    return buffer.getvalue()


def vector(kind: str, at_s: float, hz: float = 2.0, claps: Moments = (), unit: str = "") -> bytes:
    """Return three little-endian floats: a sine on each axis; an accelerometer has gravity and claps on its third."""
    x, y, z = (math.sin(math.tau * hz * at_s + phase) for phase in (0, 2, 4))
    if kind == "accelerometer":
        z += 9.80665 + 40 * _near(at_s, claps, 0.01)
    elif kind == "magnetometer":
        x, y, z = 20 + 5 * x, 5 * y, -40 + 5 * z
    factor = _UNITS[kind][1].get(unit, 1.0)
    return struct.pack("<3f", x * factor, y * factor, z * factor)


def sound_block(seed: str, number: int, at_s: float, claps: Moments = ()) -> bytes:
    """Return 20 ms of mono sound at 48 kHz: quiet noise, and from each clap on a burst that fades within 30 ms."""
    block = _rng(seed, f"sound/{number}").normal(0, 60, _HZ // 50)
    for clap in claps:
        if -0.02 < at_s - clap < FLASH_S:
            since = np.arange(len(block)) / _HZ + at_s - clap
            burst = 20_000 * np.exp(-np.maximum(since, 0) / 0.006) * np.sin(math.tau * 1_900 * since + 1)
            block += np.where(since >= 0, burst, 0)
    return block.clip(-32_768, 32_767).astype("<i2").tobytes()


def _rng(seed: str, what: str) -> np.random.Generator:
    return np.random.default_rng(np.frombuffer(f"{seed}/{what}".encode(), np.uint8))


def _near(at_s: float, claps: Moments, seconds: float = FLASH_S) -> bool:
    return any(0 <= at_s - clap < seconds for clap in claps)


# -- plug-ins ----------------------------------------------------------------------------------------------------

_Chosen: TypeAlias = tuple[SimOptions, Faults, list[float]]


def video(name: str, options: Options) -> Simulated:
    """Return a camera: JPEG 640 × 360, 30 a second."""
    mine, _, claps = chosen = _options(name, options)
    wide, high = mine.width or 640, mine.height or 360
    spec = StreamSpec(name=name, kind="video", format="jpeg", rate_hz=30, width=wide, height=high)
    return Simulated(spec, chosen, lambda n, at: picture(mine.seed, n, (wide, high), _near(at, claps)))


def depth(name: str, options: Options) -> Simulated:
    """Return a depth camera: 16-bit PNG 320 × 288, 5 a second."""
    mine, _, _ = chosen = _options(name, options)
    wide, high = mine.width or 320, mine.height or 288
    spec = StreamSpec(name=name, kind="depth", format="png16", rate_hz=5, width=wide, height=high)
    return Simulated(spec, chosen, lambda n, _: depth_image(mine.seed, n, (wide, high)))


def imu(name: str, options: Options) -> Simulated:
    """Return an inertial sensor: three axes, 200 a second; raises UserError if it cannot be sent in ``other_unit``."""
    mine, _, claps = chosen = _options(name, options)
    unit, (usual, others) = mine.other_unit, _UNITS[mine.kind]
    if unit and unit not in others:
        seen = f"a simulated {mine.kind} cannot send '{unit[:20]}'."
        raise UserError(seen, where=f"sensor '{name}'", hint=f"other_unit: {', '.join(others)}")
    units = (usual if mine.undeclared else unit or usual,) * 3
    spec = StreamSpec(name=name, kind="imu", format="f4", rate_hz=200, columns=("x", "y", "z"), units=units)
    return Simulated(spec, chosen, lambda _, at: vector(mine.kind, at, mine.hz, claps, unit))


def audio(name: str, options: Options) -> Simulated:
    """Return a microphone: 48 kHz, one channel, blocks of 20 ms that come when they are full."""
    mine, _, claps = chosen = _options(name, {"latency_ms": 24.0, **options})
    spec = StreamSpec(name=name, kind="audio", format="s16", rate_hz=50, sample_rate=_HZ, channels=1)
    return Simulated(spec, chosen, lambda n, at: sound_block(mine.seed, n, at, claps))


def _options(name: str, options: Options) -> _Chosen:
    mine = {key: value for key, value in options.items() if key in SimOptions.__struct_fields__}
    chosen, where = options_of(mine, SimOptions, name), f"sensor '{name}'"
    try:
        claps = [float(part) for part in chosen.claps.split(",") if part.strip()]
    except ValueError:
        raise UserError(f"'{chosen.claps[:60]}' is no list of seconds.", where=where) from None
    if not (0 <= chosen.rate_hz <= 10_000 and 0 <= chosen.width <= 8192 and 0 <= chosen.height <= 8192):
        raise UserError("it has up to 10000 samples a second and 8192 pixels a side.", where=where)
    return chosen, faults_of({key: options[key] for key in options if key not in mine}, where), claps

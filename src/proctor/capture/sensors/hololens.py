"""HoloLens 2 through the server of hl2ss, one TCP connection for each sensor; *unverified on hardware*.

Written from memory of hl2ss's public client; check it against your version: ports from 3800 on; first bytes of the client that choose a
mode (option ``hello``, hexadecimal); packets of ticks of 100 ns (64 bits), length (32 bits), payload, and in some modes a pose of 16
floats; IMU payloads as batches of 32 bytes: ticks of the sensor, ticks, x, y, z, temperature. UTC is a label: an option, noted in the
events. Floats behind a picture (``tail_floats`` of the payload, then the pose) stay there; the stream's columns name them.
"""

from __future__ import annotations

import asyncio
import struct
import time
from typing import Final, Literal

import msgspec

from proctor.capture.records import Check, StreamSpec
from proctor.capture.sensor import Context, Options
from proctor.capture.sensors import Plain, options_of
from proctor.errors import UserError

__all__ = ["HoloLens", "make"]

_HEAD, _IMU = struct.Struct("<QI"), struct.Struct("<QQ16s")
_TICK_NS, _MOST, _POSE_BYTES = 100, 64 * 2**20, 64
_POSE: Final = tuple(f"pose_{row}{column}" for row in range(4) for column in range(4))


class HoloOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Address, what the stream is, and what its packets have; see the module."""

    host: str
    port: int
    kind: Literal["video", "depth", "imu", "audio"] = "video"
    codec: str = "h264"
    hello: str = ""
    pose: bool = False
    tail_floats: int = 0
    width: int = 0
    height: int = 0
    rate_hz: float = 0.0
    utc_offset_ticks: int = 0


class HoloLens(Plain):
    """One sensor of the device; samples have its clock, of which all of them are."""

    def __init__(self, name: str, options: Options) -> None:
        o = self.options = options_of(options, HoloOptions, name)
        try:
            self._hello = bytes.fromhex(o.hello)
        except ValueError:
            raise UserError("hello is not hexadecimal.", where=f"sensor '{name}'") from None
        formats: dict[str, Literal["jpeg", "png16"]] = {"jpeg": "jpeg", "png": "png16"}
        tail = tuple(f"tail_{n}" for n in range(o.tail_floats)) + _POSE * o.pose
        imu, format_ = o.kind == "imu", formats.get(o.codec, "packet")
        columns, codec = (("x", "y", "z", "temperature", *_POSE * o.pose), "") if imu else (tail, o.codec)
        self.spec = StreamSpec(
            name=name, kind=o.kind, format="f4" if imu else format_, codec=codec if format_ == "packet" else "", columns=columns,
            rate_hz=o.rate_hz, clock="hololens", tick="1/10000000", width=o.width, height=o.height, note="unverified on hardware",
        )  # fmt: skip

    async def preflight(self) -> list[Check]:
        """Look whether somebody answers at the port."""
        try:
            _, writer = await asyncio.wait_for(
                asyncio.open_connection(self.options.host, self.options.port), 5
            )
            writer.close()
        except (OSError, TimeoutError) as error:
            hint = "is the device in the same network, and the server on it running?"
            return [
                Check(name=self.spec.name, ok=False, seen=f"no answer: {str(error) or 'timeout'}", hint=hint)
            ]
        return [Check(name=self.spec.name, ok=True, seen=self.spec.note)]

    async def run(self, context: Context) -> None:
        """Hand packets on until it is cancelled.

        Raises:
            ConnectionError: if the device is not there or goes away, or what comes is no packet.
        """
        if self.options.utc_offset_ticks:
            context.said(f"ticks are UTC less {self.options.utc_offset_ticks} ticks of 100 ns")
        reader, writer = await asyncio.open_connection(self.options.host, self.options.port)
        try:
            writer.write(self._hello)
            while True:
                ticks, size = _HEAD.unpack(await reader.readexactly(_HEAD.size))
                came = time.monotonic_ns()
                if not 0 < size <= _MOST or ticks >= 2**63 // _TICK_NS:
                    raise ConnectionError(f"a packet of {size} bytes at {ticks}: is this the sensor's port?")
                payload = await reader.readexactly(size + _POSE_BYTES * self.options.pose)
                if self.options.kind != "imu":
                    await context.emit(ticks * _TICK_NS, payload, came)
                    self.sent += 1
                    continue
                if size % _IMU.size:
                    raise ConnectionError(f"{size} bytes are no batch of samples of {_IMU.size}")
                for _, at, vector in _IMU.iter_unpack(payload[:size]):
                    await context.emit(at * _TICK_NS, vector + payload[size:], came)
                    self.sent += 1
        except asyncio.IncompleteReadError as error:
            raise ConnectionError(f"the device went away, {len(error.partial)} bytes into a packet") from None
        finally:
            writer.close()


def make(name: str, options: Options) -> HoloLens:
    """Return a sensor of a HoloLens 2."""
    return HoloLens(name, options)

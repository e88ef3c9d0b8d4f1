"""HoloLens 2 through the server of hl2ss, one TCP connection for each sensor; *unverified on hardware*.

Written from memory of hl2ss's public client; check it against your version: ports from 3800 on; first bytes
of the client that choose a mode (option ``hello``, hexadecimal); packets of ticks of 100 ns (64 bits), length
(32 bits), payload, and in some modes a pose of 16 floats; IMU payloads as batches of 32 bytes: ticks of the
sensor, ticks, x, y, z, temperature. UTC is a label: an option, noted in the events. Floats behind a picture
(``tail_floats`` of the payload, then the pose) stay there; the stream's columns name them.
"""

from __future__ import annotations

import asyncio
import struct
import time
from typing import Literal

import msgspec

from proctor.capture.records import StreamSpec
from proctor.capture.sensor import Context, Options
from proctor.capture.sensors import UNVERIFIED, Plain, options_of
from proctor.errors import UserError

__all__ = ["HoloLens", "make"]

_HEAD, _IMU, _TICK_NS, _MOST = struct.Struct("<QI"), struct.Struct("<QQ16s"), 100, 64 * 2**20


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
    """One sensor of the device; samples have its clock, which is the same for all of its sensors."""

    def __init__(self, name: str, options: Options) -> None:
        o = self.options = options_of(options, HoloOptions, name)
        try:
            self._hello = bytes.fromhex(o.hello)
        except ValueError:
            raise UserError("hello is not hexadecimal.", where=f"sensor '{name}'") from None
        names = (
            ("x", "y", "z", "temperature") if o.kind == "imu" else map("tail_{}".format, range(o.tail_floats))
        )
        pose = (f"pose_{n // 4}{n % 4}" for n in range(16 * o.pose))
        format_: Literal["f4", "jpeg", "png16", "packet"] = "f4" if o.kind == "imu" else "packet"
        format_ = "jpeg" if o.codec == "jpeg" else "png16" if o.codec == "png" else format_
        self.spec = StreamSpec(
            name=name, kind=o.kind, format=format_, codec=o.codec if format_ == "packet" else "", columns=(*names, *pose),
            rate_hz=o.rate_hz, clock="hololens", tick="1/10000000", width=o.width, height=o.height, note=UNVERIFIED,
        )  # fmt: skip

    async def look(self) -> str:
        """Look whether somebody answers at the port."""
        _, writer = await asyncio.wait_for(asyncio.open_connection(self.options.host, self.options.port), 5)
        writer.close()
        return self.spec.note

    async def run(self, context: Context) -> None:
        """Hand packets on; raises ConnectionError if the device is not there or goes away, or what comes is no packet."""
        o = self.options
        if o.utc_offset_ticks:
            context.said(f"ticks are UTC less {o.utc_offset_ticks} ticks of 100 ns")
        reader, writer = await asyncio.open_connection(o.host, o.port)
        try:
            writer.write(self._hello)
            while True:
                ticks, size = _HEAD.unpack(await reader.readexactly(_HEAD.size))
                came, batch = time.monotonic_ns(), o.kind == "imu"
                if not 0 < size <= _MOST or ticks >= 2**63 // _TICK_NS or (batch and size % _IMU.size):
                    raise ConnectionError(f"a packet of {size} bytes at {ticks}: is this the sensor's port?")
                data = await reader.readexactly(size + 64 * o.pose)
                parts = [(ticks, data)]
                if batch:
                    parts = [(at, row + data[size:]) for _, at, row in _IMU.iter_unpack(data[:size])]
                for at, payload in parts:
                    await context.emit(at * _TICK_NS, payload, came)
                    self.sent += 1
        except asyncio.IncompleteReadError as error:
            raise ConnectionError(f"the device went away, {len(error.partial)} bytes into a packet") from None
        finally:
            writer.close()


make = HoloLens

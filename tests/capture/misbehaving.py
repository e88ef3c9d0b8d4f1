"""Small sensors that misbehave on purpose; hosts load them as ``misbehaving:make``."""

from __future__ import annotations

import asyncio
import os
import signal
import struct
import time
from pathlib import Path

import msgspec

from proctor.capture.records import Check, StreamSpec
from proctor.capture.segments import SegmentWriter
from proctor.capture.sensor import ClockSample, Context, Options, StopReport


class Counting:
    """Sends a counter at ``rate`` a second; ``size`` bytes each; faults by options."""

    def __init__(self, name: str, options: Options) -> None:
        self.options = options
        rate = float(options.get("rate", 50))
        size = int(options.get("size", 8))
        columns = tuple(f"c{i}" for i in range(size // 4))
        self.spec = StreamSpec(
            name=name, kind="imu", format="f4", rate_hz=rate, clock=name, columns=columns,
            units=(str(options.get("unit", "m/s2")),) * len(columns),
            policy="drop-oldest" if options.get("drop") else "block",
        )  # fmt: skip
        self.n = 0

    def die(self, point: str) -> None:
        """Kill recorder or host once, at a point of the option ``kill``: ``who:point``."""
        who, _, at = str(self.options.get("kill", "")).partition(":")
        once = Path(str(self.options.get("once", "")))
        if at == point and not once.exists():
            once.write_text(point)
            if who != "host":
                os.kill(os.getppid(), signal.SIGKILL)
            if who != "recorder":
                os.kill(os.getpid(), signal.SIGKILL)

    async def preflight(self) -> list[Check]:
        return [Check(name=self.spec.name, ok=not self.options.get("bad"), seen="a counter")]

    async def run(self, context: Context) -> None:
        close = SegmentWriter.close

        def closing(writer: SegmentWriter) -> None:
            part = writer.folder / f"seg-{writer._number:06}.bin.part"
            if part.exists():
                writer.sync()
                self.die("close")
            close(writer)

        SegmentWriter.close = closing  # type: ignore[method-assign]
        if str(self.options.get("kill", "")).endswith((":ack", ":written")):
            from proctor.capture.redis_queue import RedisQueue

            written, sync = RedisQueue.written, SegmentWriter.sync

            def acknowledging(queue: RedisQueue) -> None:
                if self.n > 40:
                    self.die("ack")
                written(queue)

            def syncing(writer: SegmentWriter) -> None:
                if self.n > 40:
                    self.die("written")
                sync(writer)

            RedisQueue.written, SegmentWriter.sync = acknowledging, syncing  # type: ignore[method-assign]
        if self.options.get("slow"):
            add = SegmentWriter.add
            SegmentWriter.add = lambda w, s: (time.sleep(0.01), add(w, s))[1]  # type: ignore[method-assign]
        self.folder = context.folder
        begun = time.monotonic()
        silent = str(self.options.get("silent", ""))
        if silent and Path(silent).exists():
            await asyncio.sleep(3600)
        while True:
            self.die(f"run{self.n}")
            if self.n == int(self.options.get("fail", -1)):
                self.n += 1
                raise RuntimeError("the cable is loose")
            payload = struct.pack("<f", self.n) * (int(self.options.get("size", 8)) // 4)
            if self.n % 10 == 3 and self.options.get("wrong"):
                payload += b"xx"
            if self.n == int(self.options.get("changes", -1)):
                self.spec = msgspec.structs.replace(self.spec, units=("g",) * len(self.spec.columns))
            await context.emit(time.monotonic_ns() + 5, payload)
            self.n += 1
            if silent and self.n == 20:
                Path(silent).write_text("x")
                await asyncio.sleep(3600)
            await asyncio.sleep(max(0.0, begun + self.n / self.spec.rate_hz - time.monotonic()))

    async def stop(self) -> StopReport:
        self.die("stop")
        if self.options.get("slow"):
            (self.folder / "sent.txt").write_text(str(self.n))
        return StopReport(sent=self.n)

    async def clock_probe(self) -> ClockSample | None:
        now = time.monotonic_ns()
        return ClockSample(device_ns=now + 5, host_ns=now, rtt_ns=100)


def make(name: str, options: Options) -> Counting:
    return Counting(name, options)

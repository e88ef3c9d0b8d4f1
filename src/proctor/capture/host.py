"""One sensor in a process of its own: sensor → bounded queue → writer's thread → segments. Started by the recorder.

The first line on its input is a ``HostConfig``, then come verbs; it answers with reports, one JSON line each. When its input ends
(the recorder is gone) it closes its segment and exits. Samples never pass through the recorder.
"""

from __future__ import annotations

import asyncio
import os
import struct
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec

from proctor.capture.control import SensorStatus
from proctor.capture.queue import Dropped, QueueSettings, SampleQueue, queue_of
from proctor.capture.records import Check, Event, Sample, StreamSpec
from proctor.capture.segments import SegmentWriter, load_index
from proctor.capture.sensor import SensorConfig, StopReport, make_sensor
from proctor.capture.session import disk_full, stream_lock
from proctor.errors import UserError
from proctor.plugins import told

__all__ = ["HostConfig", "Limits", "Phase", "Report", "silent_after_s"]

Phase: TypeAlias = Literal["ready", "green", "silent", "failing", "ended", "disk"]
_WHAT: Final = ("format", "columns", "units", "width", "height", "sample_rate", "channels", "codec")
"""Fields of a spec that must not change once samples came."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """When something is said or done: seconds, minutes, percent, bytes."""

    probe_s: float = 60.0
    segment_s: float = 60.0
    backoff_s: float = 1.0
    longest_backoff_s: float = 30.0
    stop_s: float = 600.0
    watch_s: float = 1.0
    ask_s: float = 20.0
    warn_minutes: float = 10.0
    stop_minutes: float = 2.0
    warn_battery: float = 15.0
    stop_battery: float = 5.0
    reserve_bytes: int = 64 * 2**20


class HostConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What a host is to do; ``spec`` is what the stream was until now, ``start`` goes on at once."""

    recording: str
    folder: str
    sensor: SensorConfig
    queue: QueueSettings
    limits: Limits
    spec: StreamSpec | None = None
    start: bool = False


class Report(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a host says: an event for the log, the answer to ``check``, twice a second how the stream is (samples and bytes are of the
    whole recording), at last what the sensor says at its end; ``error`` is why the host cannot go on.
    """  # noqa: D205

    event: Event | None = None
    checks: tuple[Check, ...] | None = None
    status: SensorStatus | None = None
    spec: StreamSpec | None = None
    phase: Phase = "ready"
    ended: StopReport | None = None
    error: str = ""


def silent_after_s(spec: StreamSpec) -> float | None:
    """Return after how many seconds a stream is silent: 3 periods, at least 1 s; None where samples come at no rate."""
    return max(1.0, 3 / spec.rate_hz) if spec.rate_hz > 0 and spec.format != "file" else None


def _mismatch(spec: StreamSpec, payload: bytes) -> str:
    """Return in which way a sample is not what its spec says; empty where it is."""
    size, wide = len(payload), 2 * max(spec.channels, 1)
    if spec.format == "f4" and size != 4 * len(spec.columns):
        return f"{size} bytes instead of {len(spec.columns)} columns of 4"
    if spec.format == "s16" and (not size or size % wide):
        return f"{size} bytes, which is no multiple of {wide}"
    if spec.format == "jpeg" and not payload.startswith(b"\xff\xd8"):
        return "no JPEG"
    if spec.format == "png16" and (payload[:4] != b"\x89PNG" or payload[24:25] != b"\x10"):
        return "no PNG of 16 bits"
    if spec.width and spec.format in ("jpeg", "png16"):
        wide, high = _jpeg_size(payload) if spec.format == "jpeg" else struct.unpack(">II", payload[16:24])
        if (wide, high) != (spec.width, spec.height):
            return f"{wide} × {high} pixels instead of {spec.width} × {spec.height}"
    return ""


def _jpeg_size(data: bytes) -> tuple[int, ...]:
    """Return width and height, from the first frame header; zeros where there is none."""
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        if 0xC0 <= data[at + 1] <= 0xCF and data[at + 1] not in (0xC4, 0xC8, 0xCC):
            return struct.unpack(">HH", data[at + 5 : at + 9])[::-1]
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return 0, 0


class Host:
    """Runs one sensor; it is the sensor's ``Context``. Raises ``UserError`` if there is no such sensor."""

    def __init__(self, config: HostConfig, out: asyncio.WriteTransport) -> None:
        self.config, self.out = config, out
        self.sensor = make_sensor(config.sensor)
        self.folder = Path(config.folder) / "raw" / config.sensor.name
        self.state: Phase = "ready"
        self.error = self.message = ""
        self.playing: asyncio.Task[None] | None = None
        self.queue: SampleQueue
        self._samples = self._bytes = self._dropped = self._refused = self._sent = self._last_ns = 0
        self._heard: int | None = None
        self._fixed: StreamSpec | None = None
        self._like: StreamSpec | None = None
        self._loop, self._locks = asyncio.get_running_loop(), ExitStack()

    def say(self, report: Report) -> None:
        """Send a report."""
        self.out.write(msgspec.json.encode(report) + b"\n")

    def said(self, text: str) -> None:
        """Note something in the events."""
        self.note(Event(n=0, kind="sensor", text=text))

    def note(self, event: Event) -> None:
        """Send an event of this stream."""
        self.say(Report(event=msgspec.structs.replace(event, stream=self.config.sensor.name)))

    def spec(self) -> StreamSpec:
        """Return what the sensor sends, with what the file of sensors decides."""
        mine = self.config.sensor
        return msgspec.structs.replace(self.sensor.spec, name=mine.name, required=mine.required)

    def beat(self) -> None:
        """Say how the stream is; not where nobody reads it, as events have to be kept then."""
        if self.out.get_write_buffer_size() > 1 << 20:
            return
        seen_s = (time.monotonic_ns() - self._heard) / 1e9 if self._heard else None
        mine = SensorStatus(
            name=self.config.sensor.name, state="green", required=self.config.sensor.required, samples=self._samples,
            bytes=self._bytes, dropped=self._dropped, refused=self._refused, seen_s=seen_s, message=self.message,
        )  # fmt: skip
        self.say(Report(status=mine, spec=self._fixed or self.spec(), phase=self.state))

    async def check(self) -> None:
        """Answer with the sensor's own checks."""
        try:
            found = await asyncio.wait_for(self.sensor.preflight(), 20)
        except Exception as error:  # somebody else's code
            found = [Check(name=self.config.sensor.name, ok=False, seen=told(error))]
        self.beat()
        self.say(Report(checks=tuple(found)))

    async def probe(self) -> None:
        """Compare the sensor's clock with ours."""
        try:
            got = await asyncio.wait_for(self.sensor.clock_probe(), 5)
        except Exception as error:  # somebody else's code
            self.note(Event(n=0, kind="warning", text=f"no clock probe: {told(error)}"))
            return
        if got is not None:
            pair = Event(n=0, kind="clock", device_ns=got.device_ns, host_ns=got.host_ns, rtt_ns=got.rtt_ns)
            self.note(msgspec.structs.replace(pair, clock=self.spec().clock))

    async def emit(self, device_ns: int, payload: bytes, host_ns: int | None = None) -> None:
        """Hand a sample on; one that is not what the spec says is refused, counted and noted."""
        self._heard = time.monotonic_ns()
        at = self._heard if host_ns is None else host_ns
        self._fixed = fixed = self._fixed or self.config.spec or self.spec()
        wrong = _mismatch(fixed, payload)
        if not wrong and self._like is not self.sensor.spec:
            now = self.sensor.spec
            other = [n for n in _WHAT if getattr(fixed, n) != getattr(now, n)]
            wrong = "; ".join(f"{n} {getattr(now, n)!r}, was {getattr(fixed, n)!r}" for n in other)
            self._like = None if wrong else now
        if wrong:
            self._refused += 1
            self.message = f"{self._refused} samples refused: {wrong}"
            if str(self._refused).strip("0") == "1":  # the 1st, 10th, 100th: no flood
                self.note(Event(n=0, kind="warning", count=self._refused, text=self.message))
            return
        limit = silent_after_s(fixed)
        if limit is not None and at - self._last_ns > limit * 1e9:
            self.note(Event(n=0, kind="gap", start_ns=self._last_ns, end_ns=at))
        if self.state != "green" and not self.error:
            if self.state != "ready":
                self.said("sends again")
            self.state, self.message = "green", ""
        self._last_ns, self._sent = at, self._sent + 1
        try:
            await self.queue.put(Sample(device_ns, at, payload))
        except asyncio.CancelledError:  # while the queue was full
            self._drop(Dropped(1, at, at))
            raise
        if not self._sent % 64:
            await asyncio.sleep(0)  # a source that is read as fast as it goes must not keep others waiting

    async def play(self) -> None:
        """Run the sensor, again whenever it fails or is silent, until it ends or this is cancelled."""
        wait = least = self.config.limits.backoff_s
        while True:
            run = asyncio.create_task(self.sensor.run(self))
            begun, sent, why = time.monotonic_ns(), self._sent, ""
            try:
                while not why and not (await asyncio.wait({run}, timeout=0.2))[0]:
                    limit = silent_after_s(self._fixed or self.spec())
                    quiet = (time.monotonic_ns() - max(self._heard or 0, begun)) / 1e9
                    if limit is not None and quiet > limit and self.state != "silent":
                        self.state, self.message = "silent", "nothing comes"
                        self.said("silent")
                    if limit is not None and quiet > limit + wait:
                        why = f"silent for {quiet:.1f} s; connected again"
            finally:
                run.cancel()
                (outcome,) = await asyncio.gather(run, return_exceptions=True)
            if isinstance(outcome, Exception):
                why = str(outcome) if isinstance(outcome, UserError) else told(outcome)
                self.state, self.message = "failing", why
            elif not why:
                self.state, self.message = "ended", "the source ended"
            self.said(why or self.message)
            if not why:
                return
            wait = least if self._sent > sent else min(2 * wait, self.config.limits.longest_backoff_s)
            await asyncio.sleep(wait if isinstance(outcome, Exception) else 0)

    def _drop(self, lost: Dropped | None) -> bool:
        if lost is not None:
            self._dropped += lost.number
            event = Event(n=0, kind="drop", count=lost.number, start_ns=lost.start_ns, end_ns=lost.end_ns)
            self._loop.call_soon_threadsafe(self.note, event)
        return lost is not None

    def _write(self) -> None:
        """Write what the queue holds until it is closed and empty; the body of the writer's thread."""
        writer, synced = self.writer, time.monotonic()
        try:
            while (batch := self.queue.take(writer.seq, 0.1)) is not None:
                if self._drop(self.queue.lost()):
                    writer.seq = self.queue.next_seq
                for sample in batch:
                    writer.add(sample)
                    self._bytes += len(sample.payload)
                if (batch and self.queue.durable) or time.monotonic() - synced > 1:
                    writer.sync()
                    self.queue.written()
                    synced = time.monotonic()
                self._samples = writer.seq
            writer.close()
            self.queue.written()
        except Exception as error:  # a full disk, or Redis
            self.error = self.message = told(error)
            self.state = "disk" if isinstance(error, OSError) and disk_full(error) else "failing"
            self._loop.call_soon_threadsafe(self.queue.close)

    async def start(self) -> None:
        """Get the stream's folder, writer and queue, and run the sensor; does nothing the second time."""
        if self.playing is not None:
            return
        lock = stream_lock(Path(self.config.folder), self.config.sensor.name)
        await asyncio.to_thread(self._locks.enter_context, lock)
        self.writer = await asyncio.to_thread(
            SegmentWriter, self.folder, seconds=self.config.limits.segment_s
        )
        rows = load_index(self.folder)
        self._samples, self._bytes = self.writer.seq, int(rows["size"].sum())
        self._last_ns = int(rows["host_ns"][-1]) if len(rows) else time.monotonic_ns()
        self.queue = queue_of(self.config.queue, self.config.recording, self.spec())
        self.queue.next_seq = self.writer.seq
        self._writing = threading.Thread(target=self._write, name="writer")
        self._writing.start()
        await self.probe()
        if silent_after_s(self.spec()) is None:
            self.state = "green"
        self.playing = asyncio.create_task(self.play())

    async def finish(self, patience_s: float, *, over: bool) -> None:
        """End sensor, queue and writer, and report; ``over`` if the session is, and not only the recorder gone."""
        if self.playing is not None:
            self.playing.cancel()
            await asyncio.gather(self.playing, return_exceptions=True)
            await self.probe()
        try:
            report = await asyncio.wait_for(self.sensor.stop(), patience_s)
        except Exception as error:  # somebody else's code
            report = StopReport(missing=(f"the sensor did not stop well: {told(error)}",))
        if self.playing is not None:
            if self.state in ("silent", "failing"):
                self.note(Event(n=0, kind="gap", start_ns=self._last_ns, end_ns=time.monotonic_ns()))
            self.queue.close()
            await asyncio.to_thread(self._writing.join)
            if self.error:
                self.writer.abandon()
            elif over:
                self.queue.remove()
            self._drop(self.queue.lost())
            await asyncio.sleep(0)
        self.beat()
        self.say(Report(ended=report, error=self.error))

    async def beats(self) -> None:
        """Say twice a second how the stream is, probe its clock now and then; leave where nothing can be written."""
        warned, probed = False, time.monotonic()
        while not self.error or self.state == "disk":
            self.beat()
            if self.playing is not None:
                full = self.queue.backlog() > 0.5
                if full and not warned:
                    self.note(Event(n=0, kind="warning", text="its queue is half full: the disk is too slow"))
                warned = full
                if time.monotonic() - probed > self.config.limits.probe_s:
                    probed = time.monotonic()
                    await self.probe()
            await asyncio.sleep(0.5)
        self.writer.abandon()
        self.say(Report(error=self.error))
        await _flush(self.out)
        os._exit(1)


async def _flush(out: asyncio.WriteTransport) -> None:
    until = time.monotonic() + 5
    while out.get_write_buffer_size() and not out.is_closing() and time.monotonic() < until:
        await asyncio.sleep(0.01)


async def _main() -> None:
    keep = os.dup(1)
    os.dup2(2, 1)  # what a plug-in prints is no report
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(limit=1 << 22)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    out, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(keep, "wb"))
    config = msgspec.json.decode(await reader.readline(), type=HostConfig)
    try:
        host = Host(config, out)
        tasks = {asyncio.create_task(host.beats())}
        if config.start:
            await host.start()
        patience, over = 10.0, False
        while not over and (line := await reader.readline()):
            verb = msgspec.json.decode(line, type=Literal["check", "start", "stop"])
            if verb == "check":
                tasks.add(asyncio.create_task(host.check()))
            elif verb == "start":
                await host.start()
            else:
                patience, over = config.limits.stop_s, True
        await host.finish(patience, over=over)
    except UserError as error:
        out.write(msgspec.json.encode(Report(error=str(error))) + b"\n")
    await _flush(out)
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(_main())

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
from collections.abc import Awaitable
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Literal, NoReturn, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from proctor.capture.control import SensorStatus
from proctor.capture.queue import MemoryQueue, QueueSettings
from proctor.capture.records import Check, Event, Sample, StreamSpec
from proctor.capture.segments import SegmentWriter, load_index
from proctor.capture.sensor import SensorConfig, StopReport, make_sensor
from proctor.capture.session import disk_full, stream_lock
from proctor.errors import UserError
from proctor.plugins import told

__all__ = ["HostConfig", "Limits", "Phase", "Report", "silent_after_s"]

_T = TypeVar("_T")
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
    png = struct.pack(">II", spec.width, spec.height) if spec.width else payload[16:24]
    if spec.format == "png16" and (payload[:4] != b"\x89PNG" or payload[16:25] != png + b"\x10"):
        return "no PNG of 16 bits and the size of the stream"
    return ""


class _Host:
    """Runs one sensor; it is the sensor's ``Context``. Raises ``UserError`` if there is no such sensor."""

    def __init__(self, config: HostConfig, out: asyncio.WriteTransport) -> None:
        self.config, self.name, self.out = config, config.sensor.name, out
        self.sensor = make_sensor(config.sensor)
        self.folder = Path(config.folder) / "raw" / self.name
        self.state: Phase = "ready"
        self.error = ""
        self.now = SensorStatus(name=self.name, state="green", required=config.sensor.required)
        self.playing: asyncio.Task[None] | None = None
        self.queue: MemoryQueue
        self._sent = self._last_ns = self._heard_ns = 0
        self._fixed = config.spec
        self._loop, self._locks = asyncio.get_running_loop(), ExitStack()

    def say(self, report: Report) -> None:
        self.out.write(msgspec.json.encode(report) + b"\n")

    def note(self, event: Event) -> None:
        self.say(Report(event=replace(event, stream=self.name)))

    def said(self, text: str) -> None:
        self.note(Event(n=0, kind="sensor", text=text))

    def spec(self) -> StreamSpec:
        """Return what the stream is, or what the sensor would send, with what the file of sensors decides."""
        return self._fixed or replace(self.sensor.spec, name=self.name, required=self.config.sensor.required)

    def beat(self) -> None:
        """Say how the stream is; not where nobody reads it, as events have to be kept then."""
        if self.out.get_write_buffer_size() > 1 << 20:
            return
        if self._heard_ns:
            self.now.seen_s = (time.monotonic_ns() - self._heard_ns) / 1e9
        self.say(Report(status=self.now, spec=self.spec(), phase=self.state))

    async def ask(self, what: Awaitable[_T], seconds: float) -> _T | str:
        """Return what the sensor answers, or what went wrong: it is somebody else's code."""
        try:
            return await asyncio.wait_for(what, seconds)
        except Exception as error:
            return told(error)

    async def check(self) -> None:
        found = await self.ask(self.sensor.preflight(), 20)
        if isinstance(found, str):
            found = [Check(name=self.name, ok=False, seen=found)]
        self.beat()
        self.say(Report(checks=tuple(found)))

    async def probe(self) -> None:
        """Compare the sensor's clock with ours."""
        got = await self.ask(self.sensor.clock_probe(), 5)
        if isinstance(got, str):
            self.note(Event(n=0, kind="warning", text=f"no clock probe: {got}"))
        elif got is not None:
            clock, times = self.spec().clock, msgspec.structs.asdict(got)
            self.note(Event(n=0, kind="clock", clock=clock, **times))

    async def emit(self, device_ns: int, payload: bytes, host_ns: int | None = None) -> None:
        """Hand a sample on; one that is not what the spec says is refused, counted and noted."""
        self._heard_ns = time.monotonic_ns()
        at = self._heard_ns if host_ns is None else host_ns
        self._fixed = fixed = self.spec()
        wrong, now = _mismatch(fixed, payload), self.sensor.spec
        if not wrong:
            other = [n for n in _WHAT if getattr(fixed, n) != getattr(now, n)]
            wrong = "; ".join(f"{n} {getattr(now, n)!r}, was {getattr(fixed, n)!r}" for n in other)
        if wrong:
            self.now.refused = count = self.now.refused + 1
            self.now.message = text = f"{count} samples refused: {wrong}"
            if str(count).strip("0") == "1":  # the 1st, 10th, 100th: no flood
                self.note(Event(n=0, kind="warning", count=count, text=text))
            return
        limit = silent_after_s(fixed)
        if limit is not None and at - self._last_ns > limit * 1e9:
            self.note(Event(n=0, kind="gap", start_ns=self._last_ns, end_ns=at))
        if self.state != "green" and not self.error:
            if self.state != "ready":
                self.said("sends again")
            self.state, self.now.message = "green", ""
        self._last_ns, self._sent = at, self._sent + 1
        try:
            await self.queue.put(Sample(device_ns, at, payload))
        except asyncio.CancelledError:  # while the queue was full
            self.queue.drop(1, at, at)
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
                    limit = silent_after_s(self.spec())
                    quiet = (time.monotonic_ns() - max(self._heard_ns, begun)) / 1e9
                    if limit is not None and quiet > limit and self.state != "silent":
                        self.state, self.now.message = "silent", "nothing comes"
                        self.said("silent")
                    if limit is not None and quiet > limit + wait:
                        why = f"silent for {quiet:.1f} s; connected again"
            finally:
                run.cancel()
                (outcome,) = await asyncio.gather(run, return_exceptions=True)
            if isinstance(outcome, Exception):
                why = outcome.message if isinstance(outcome, UserError) else told(outcome)
                self.state, self.now.message = "failing", why
            elif not why:
                self.state, self.now.message = "ended", "the source ended"
            self.said(why or self.now.message)
            if not why:
                return
            wait = least if self._sent > sent else min(2 * wait, self.config.limits.longest_backoff_s)
            await asyncio.sleep(wait if isinstance(outcome, Exception) else 0)

    def _drop(self) -> bool:
        """Note what the queue lost; tells whether it did."""
        if (lost := self.queue.lost()) is not None:
            self.now.dropped += lost.number
            event = Event(n=0, kind="drop", count=lost.number, start_ns=lost.start_ns, end_ns=lost.end_ns)
            self._loop.call_soon_threadsafe(self.note, event)
        return lost is not None

    def _write(self) -> None:
        """Write what the queue holds until it is closed and empty; the body of the writer's thread."""
        writer, synced = self.writer, time.monotonic()
        try:
            while (batch := self.queue.take(writer.seq, 0.1)) is not None:
                if self._drop():
                    writer.seq = self.queue.next_seq
                for sample in batch:
                    writer.add(sample)
                    self.now.bytes += len(sample.payload)
                if (batch and self.queue.durable) or time.monotonic() - synced > 1:
                    writer.sync()
                    self.queue.written()
                    synced = time.monotonic()
                self.now.samples = writer.seq
            writer.close()
            self.queue.written()
        except Exception as error:  # a full disk, or Redis
            self.error = self.now.message = told(error)
            self.state = "disk" if disk_full(error) else "failing"
            self._loop.call_soon_threadsafe(self.queue.close)

    async def start(self) -> None:
        """Get the stream's folder, writer and queue, and run the sensor; does nothing the second time."""
        if self.playing is not None:
            return
        lock, limits = stream_lock(Path(self.config.folder), self.name), self.config.limits
        await asyncio.to_thread(self._locks.enter_context, lock)
        self.writer = await asyncio.to_thread(SegmentWriter, self.folder, seconds=limits.segment_s)
        rows = load_index(self.folder)
        self.now.samples, self.now.bytes = self.writer.seq, int(rows["size"].sum())
        self._last_ns = int(rows["host_ns"][-1]) if len(rows) else time.monotonic_ns()
        if self.config.queue.redis:
            from proctor.capture.redis_queue import RedisQueue

            self.queue = RedisQueue(self.config.queue, self.config.recording, self.spec())
        else:
            self.queue = MemoryQueue(self.config.queue, self.spec().policy)
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
        report = await self.ask(self.sensor.stop(), patience_s)
        if isinstance(report, str):
            report = StopReport(missing=(f"the sensor did not stop well: {report}",))
        if self.playing is not None:
            if self.state in ("silent", "failing"):
                self.note(Event(n=0, kind="gap", start_ns=self._last_ns, end_ns=time.monotonic_ns()))
            self.queue.close()
            await asyncio.to_thread(self._writing.join)
            if self.error:
                self.writer.abandon()
            elif over:
                self.queue.remove()
            self._drop()
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
        await _leave(self.out, 1)


async def _leave(out: asyncio.WriteTransport, code: int) -> NoReturn:
    """End the process, whatever threads a sensor has, once what was said is sent (5 s at most)."""
    until = time.monotonic() + 5
    while out.get_write_buffer_size() and not out.is_closing() and time.monotonic() < until:
        await asyncio.sleep(0.01)
    os._exit(code)


async def _main() -> None:
    keep = os.dup(1)
    os.dup2(2, 1)  # what a plug-in prints is no report
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(limit=1 << 22)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    out, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(keep, "wb"))
    config = msgspec.json.decode(await reader.readline(), type=HostConfig)
    try:
        host = _Host(config, out)
        tasks = {asyncio.create_task(host.beats())}
        verb = "start" if config.start else ""
        while verb != "stop":
            if verb == "check":
                tasks.add(asyncio.create_task(host.check()))
            elif verb == "start":
                await host.start()
            if not (line := await reader.readline()):
                break
            verb = msgspec.json.decode(line, type=Literal["check", "start", "stop"])
        over = verb == "stop"
        await host.finish(config.limits.stop_s if over else 10.0, over=over)
    except UserError as error:
        out.write(msgspec.json.encode(Report(error=error.message)) + b"\n")
    await _leave(out, 0)


if __name__ == "__main__":
    asyncio.run(_main())

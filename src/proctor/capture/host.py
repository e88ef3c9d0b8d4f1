"""One sensor in a process of its own: sensor → bounded queue → writer's thread → segments. Started by the recorder.

The first line on its input is a ``HostConfig``, then come verbs; it answers with reports, one JSON line each. When its input ends
(the recorder is gone) it closes its segment and exits. Samples never pass through the recorder.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec

from proctor.capture.queue import QueueSettings, queue_of
from proctor.capture.records import Check, Event, Sample, StreamSpec
from proctor.capture.segments import SegmentWriter, load_index, segment_files
from proctor.capture.sensor import Sensor, SensorConfig, StopReport, make_sensor
from proctor.capture.session import disk_full, stream_lock
from proctor.errors import UserError
from proctor.plugins import told

__all__ = ["Beat", "Checked", "Ended", "HostConfig", "Report", "Said", "silent_after_s"]

Verb: TypeAlias = Literal["check", "start", "stop"]
_LONGEST_WAIT_S: Final = 30.0


class HostConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What a host is to do; ``spec`` is what the stream was until now, ``start`` goes on at once."""

    recording: str
    folder: str
    sensor: SensorConfig
    queue: QueueSettings = QueueSettings()
    spec: StreamSpec | None = None
    start: bool = False
    probe_s: float = 60.0
    segment_s: float = 60.0
    stop_s: float = 600.0
    backoff_s: float = 1.0


class Beat(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """How a stream is, several times a second; samples and bytes count the whole recording, ``heard_ns`` is monotonic."""

    spec: StreamSpec
    state: Literal["ready", "green", "silent", "failing", "ended", "disk"]
    samples: int = 0
    bytes: int = 0
    dropped: int = 0
    refused: int = 0
    heard_ns: int | None = None
    message: str = ""


class Said(msgspec.Struct, frozen=True, tag=True):
    """An event for the log."""

    event: Event


class Checked(msgspec.Struct, frozen=True, tag=True):
    """The answer to ``check``."""

    checks: tuple[Check, ...]


class Ended(msgspec.Struct, frozen=True, tag=True):
    """The last report: the sensor's, or why the host cannot go on."""

    report: StopReport = StopReport()
    error: str = ""


Report: TypeAlias = Beat | Said | Checked | Ended


def silent_after_s(spec: StreamSpec) -> float | None:
    """Return after how many seconds a stream is silent: 3 periods, at least 1 s; None where samples come at no rate."""
    return max(1.0, 3 / spec.rate_hz) if spec.rate_hz > 0 and spec.format != "file" else None


def mismatch(spec: StreamSpec, payload: bytes) -> str:
    """Return in which way a sample is not what its spec says; empty where it is."""
    size = len(payload)
    if spec.format == "f4" and size != 4 * len(spec.columns):
        return f"{size} bytes instead of {len(spec.columns)} columns of 4"
    if spec.format == "s16" and (not size or size % (2 * max(spec.channels, 1))):
        return f"{size} bytes, no whole number of {max(spec.channels, 1)} × 16 bits"
    if spec.format == "jpeg" and not payload.startswith(b"\xff\xd8"):
        return "no JPEG"
    if spec.format == "png16":
        if not payload.startswith(b"\x89PNG") or payload[24:25] != b"\x10":
            return "no PNG of 16 bits"
        seen = int.from_bytes(payload[16:20], "big"), int.from_bytes(payload[20:24], "big")
        if spec.width and seen != (spec.width, spec.height):
            return f"a picture of {seen[0]} × {seen[1]} instead of {spec.width} × {spec.height}"
    return ""


class Host:
    """Runs one sensor; it is the sensor's ``Context``."""

    def __init__(self, config: HostConfig, out: asyncio.WriteTransport) -> None:
        self.config, self._out = config, out
        self.sensor: Sensor = make_sensor(config.sensor)
        self.folder = Path(config.folder) / "raw" / config.sensor.name
        self._state: Literal["ready", "green", "silent", "failing", "ended", "disk"] = "ready"
        self._message = ""
        self._samples = self._bytes = self._dropped = self._refused = self._sent = 0
        self._fixed: StreamSpec | None = None
        self._last_ns = 0
        self._heard: int | None = None
        self._error = ""
        self._writing: threading.Thread | None = None
        self._playing: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()

    # -- what it says ----------------------------------------------------------------------------------------

    def say(self, report: Report) -> None:
        """Send a report."""
        self._out.write(msgspec.json.encode(report) + b"\n")

    def said(self, text: str) -> None:
        """Note something in the events."""
        self._event(Event(n=0, kind="sensor", text=text))

    def _event(self, event: Event) -> None:
        self.say(Said(msgspec.structs.replace(event, stream=self.config.sensor.name)))

    def spec(self) -> StreamSpec:
        """Return what the sensor sends, with what the file of sensors decides."""
        mine = self.config.sensor
        return msgspec.structs.replace(self.sensor.spec, name=mine.name, required=mine.required)

    def beat(self) -> None:
        """Say how the stream is."""
        if self._out.get_write_buffer_size() < 1 << 20:  # nobody reads: events alone are kept
            self.say(
                Beat(
                    spec=self._fixed or self.spec(), state=self._state, samples=self._samples, bytes=self._bytes,
                    dropped=self._dropped, refused=self._refused, heard_ns=self._heard, message=self._message,
                )
            )  # fmt: skip

    async def check(self) -> None:
        """Answer with the sensor's own checks."""
        name = self.config.sensor.name
        try:
            found = await asyncio.wait_for(self.sensor.preflight(), 20)
        except Exception as error:  # somebody else's code
            found = [Check(name=name, ok=False, seen=told(error))]
        self.beat()
        self.say(Checked(tuple(found)))

    async def probe(self) -> None:
        """Compare the sensor's clock with ours."""
        try:
            got = await asyncio.wait_for(self.sensor.clock_probe(), 5)
        except Exception as error:  # somebody else's code
            self._event(Event(n=0, kind="warning", text=f"no clock probe: {told(error)}"))
            return
        if got is not None:
            self._event(
                Event(
                    n=0, kind="clock", clock=self.spec().clock, device_ns=got.device_ns, host_ns=got.host_ns,
                    rtt_ns=got.rtt_ns,
                )
            )  # fmt: skip

    # -- samples ---------------------------------------------------------------------------------------------

    async def emit(self, device_ns: int, payload: bytes, host_ns: int | None = None) -> None:
        """Hand a sample on; one that is not what the spec says is refused, counted and noted."""
        self._heard = time.monotonic_ns()
        at = self._heard if host_ns is None else host_ns
        if self._fixed is None:
            self._fixed = self.config.spec or self.spec()
        wrong = mismatch(self._fixed, payload)
        if self.sensor.spec is not self._checked and not wrong:
            wrong = _differs(self._fixed, self.spec())
            if not wrong:
                self._checked = self.sensor.spec
        if wrong:
            self._refused += 1
            self._message = f"{self._refused} samples refused: {wrong}"
            if str(self._refused).strip("0") == "1":  # the 1st, 10th, 100th: no flood
                self._event(Event(n=0, kind="warning", count=self._refused, text=self._message))
            return
        limit = silent_after_s(self._fixed)
        if limit is not None and at - self._last_ns > limit * 1e9:
            self._event(Event(n=0, kind="gap", start_ns=self._last_ns, end_ns=at))
        if self._state != "green" and not self._error:
            if self._state != "ready":
                self.said("sends again")
            self._state, self._message = "green", ""
        self._last_ns = at
        self._sent += 1
        await self.queue.put(Sample(device_ns, at, payload))
        if not self._sent % 64:
            await asyncio.sleep(0)  # a source that is read as fast as it goes must not keep others waiting

    _checked: StreamSpec | None = None

    async def play(self) -> None:
        """Run the sensor, again whenever it fails or is silent, until it ends or this is cancelled."""
        wait = self.config.backoff_s
        while True:
            run = asyncio.create_task(self.sensor.run(self))
            begun, sent, quiet, why = time.monotonic_ns(), self._sent, 0.0, ""
            try:
                while not (await asyncio.wait({run}, timeout=0.2))[0]:
                    limit = silent_after_s(self._fixed or self.spec())
                    quiet = (time.monotonic_ns() - max(self._heard or 0, begun)) / 1e9
                    if limit is not None and quiet > limit:
                        if self._state != "silent":
                            self._state, self._message = "silent", "nothing comes"
                            self.said("silent")
                        if quiet > limit + wait:
                            why = f"silent for {quiet:.1f} s; connected again"
                            break
            finally:
                run.cancel()
                (outcome,) = await asyncio.gather(run, return_exceptions=True)
            if isinstance(outcome, Exception):
                why = str(outcome) if isinstance(outcome, UserError) else told(outcome)
                self._state, self._message = "failing", why
            elif not why:
                self._state, self._message = "ended", "the source ended"
                self.said("the source ended")
                return
            self.said(why)
            wait = self.config.backoff_s if self._sent > sent else min(2 * wait, _LONGEST_WAIT_S)
            await asyncio.sleep(wait if isinstance(outcome, Exception) else 0)

    def write(self) -> None:
        """Write what the queue holds until it is closed and empty; the body of the writer's thread."""
        tell = self._loop.call_soon_threadsafe
        writer, synced = self.writer, time.monotonic()
        try:
            while (batch := self.queue.take(writer.seq, 0.1)) is not None:
                if (lost := self.queue.lost()) is not None:
                    self._dropped += lost.number
                    tell(
                        self._event,
                        Event(
                            n=0, kind="drop", count=lost.number, start_ns=lost.start_ns, end_ns=lost.end_ns
                        ),
                    )
                    writer.seq = max(writer.seq, self.queue.next_seq)
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
        except OSError as error:
            self._error = f"{error.strerror or error}"
            self._state, self._message = "disk" if disk_full(error) else "failing", self._error
            tell(self.queue.close)
        except Exception as error:
            self._error = self._message = told(error)
            self._state = "failing"
            tell(self.queue.close)

    def start(self) -> None:
        """Begin; does nothing the second time."""
        if self._playing is None:
            if silent_after_s(self.spec()) is None:
                self._state = "green"
            self._playing = asyncio.create_task(self.play())

    async def open(self) -> None:
        """Get the stream's folder, queue and writer."""
        self._last_ns = time.monotonic_ns()
        self.writer = await asyncio.to_thread(SegmentWriter, self.folder, seconds=self.config.segment_s)
        if segment_files(self.folder):
            rows = load_index(self.folder)
            self._samples, self._bytes = self.writer.seq, int(rows["size"].sum())
            self._last_ns = int(rows["host_ns"][-1]) if len(rows) else self._last_ns
        self.queue = queue_of(self.config.queue, self.config.recording, self.spec())
        self.queue.next_seq = self.writer.seq
        self._writing = threading.Thread(target=self.write, name="writer")
        self._writing.start()

    async def finish(self, patience_s: float, over: bool) -> None:
        """End sensor, queue and writer, and report."""
        if self._playing is not None:
            self._playing.cancel()
            await asyncio.gather(self._playing, return_exceptions=True)
            await self.probe()
        try:
            report = await asyncio.wait_for(self.sensor.stop(), patience_s)
        except Exception as error:  # somebody else's code
            report = StopReport(missing=(f"the sensor did not stop well: {told(error)}",))
        if self._writing is not None:
            if self._state == "silent":
                self._event(Event(n=0, kind="gap", start_ns=self._last_ns, end_ns=time.monotonic_ns()))
            self.queue.close()
            await asyncio.to_thread(self._writing.join)
            if self._error:
                self.writer.abandon()
            elif over:
                self.queue.remove()
            if (lost := self.queue.lost()) is not None:
                self._dropped += lost.number
                self._event(
                    Event(n=0, kind="drop", count=lost.number, start_ns=lost.start_ns, end_ns=lost.end_ns)
                )
        self.beat()
        self.say(Ended(report, self._error))


def _differs(fixed: StreamSpec, now: StreamSpec) -> str:
    names = [
        n
        for n in ("format", "columns", "units", "width", "height", "sample_rate", "channels", "codec")
        if getattr(fixed, n) != getattr(now, n)
    ]
    told_ = (f"{n} is {getattr(now, n)!r}, was {getattr(fixed, n)!r}" for n in names)
    return "another sensor than before: " + "; ".join(told_) if names else ""


async def _beats(host: Host) -> None:
    """Say twice a second how the stream is; probe its clock; leave where nothing can be written."""
    warned, probed = False, time.monotonic()
    while True:
        host.beat()
        if host._error and host._state != "disk":
            await _leave(host, 1)
        if host._playing is not None:
            full = host.queue.backlog() > 0.5
            if full and not warned:
                host._event(Event(n=0, kind="warning", text="the queue is half full: the disk is too slow"))
            warned = full
            if time.monotonic() - probed > host.config.probe_s:
                probed = time.monotonic()
                await host.probe()
        await asyncio.sleep(0.5)


async def _leave(host: Host, code: int) -> None:
    if host._error:
        host.writer.abandon()
        host.say(Ended(error=host._error))
    await _flush(host._out)
    os._exit(code)


async def _flush(out: asyncio.WriteTransport) -> None:
    until = time.monotonic() + 5
    while out.get_write_buffer_size() and not out.is_closing() and time.monotonic() < until:
        await asyncio.sleep(0.01)


async def _main() -> int:
    keep = os.dup(1)
    os.dup2(2, 1)  # what a plug-in prints is no report
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(limit=1 << 22)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    out, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(keep, "wb"))
    config = msgspec.json.decode(await reader.readline(), type=HostConfig)
    try:
        host = Host(config, out)
    except UserError as error:
        out.write(msgspec.json.encode(Ended(error=str(error))) + b"\n")
        await _flush(out)
        return 2
    tasks = {asyncio.create_task(_beats(host))}
    with ExitStack() as stack:

        async def start() -> None:
            if host._playing is None:
                lock = stream_lock(Path(config.folder), config.sensor.name)
                await asyncio.to_thread(stack.enter_context, lock)
                await host.open()
                await host.probe()
                host.start()

        if config.start:
            await start()
        patience, over = 10.0, False
        while line := await reader.readline():
            verb: Verb = msgspec.json.decode(line, type=Verb)
            if verb == "check":
                tasks.add(asyncio.create_task(host.check()))
            elif verb == "start":
                await start()
            else:
                patience, over = config.stop_s, True
                break
        await host.finish(patience, over)
        await _flush(out)
    return 0


if __name__ == "__main__":
    os._exit(asyncio.run(_main()))

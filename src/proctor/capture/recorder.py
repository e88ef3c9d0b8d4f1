"""The recorder: supervises one process for each sensor, keeps the session's state, events and manifest. docs/capture.md.

One session at a time. Samples go from each sensor's process straight to disk (``host``); what comes here are counts and events.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from proctor.capture import session
from proctor.capture.clock import Clock, JumpWatch
from proctor.capture.control import Ask, SensorStatus, Status, listen, socket_path
from proctor.capture.host import HostConfig, Limits, Phase, Report
from proctor.capture.queue import QueueSettings
from proctor.capture.records import SCRIPT, Check, Event, Manifest, Script, State, StreamSpec
from proctor.capture.sensor import SensorConfig, StopReport
from proctor.errors import UserError
from proctor.records import write_json

__all__ = ["Limits", "Recorder", "byte_rate"]

_OVER: Final = ("stopped", "stopped_disk", "incomplete", "withdrawn")
_HUNG_S: Final = 20.0
_BEFORE: Final = ("planned", "interrupted")


@dataclass(eq=False)
class _Stream:
    """One sensor's process, seen from here; ``fixed`` is what the stream is since its first sample."""

    config: SensorConfig
    status: SensorStatus
    spec: StreamSpec | None = None
    fixed: StreamSpec | None = None
    phase: Phase = "ready"
    ended: StopReport | None = None
    checks: tuple[Check, ...] = ()
    checked: asyncio.Event = field(default_factory=asyncio.Event)
    process: asyncio.subprocess.Process | None = None
    task: asyncio.Task[None] | None = None
    heard_ns: int = 0
    lost_ns: int = 0
    down: str = ""

    def send(self, message: HostConfig | Literal["check", "start", "stop"]) -> None:
        if self.process is not None and self.process.stdin is not None:
            with suppress(ConnectionError, RuntimeError):
                self.process.stdin.write(msgspec.json.encode(message) + b"\n")

    def kill(self) -> None:
        if self.process is not None and self.process.returncode is None:
            with suppress(ProcessLookupError):
                self.process.kill()


@dataclass(eq=False)
class Recorder:
    """Records one session; what is said twice is done once. ``UserError`` if two sensors have one name."""

    folder: Path
    manifest: Manifest  # that of the folder goes before it
    script: Script | None
    sensors: Sequence[SensorConfig]
    _: KW_ONLY
    queue: QueueSettings = field(default_factory=QueueSettings)
    clock: Clock = field(default_factory=Clock)
    resume: bool = False  # goes on with an interrupted session
    disk_free: Callable[[Path], int] = lambda path: shutil.disk_usage(path).free
    battery: Callable[[], float | None] = session.read_battery  # percent, None on mains
    limits: Limits = field(default_factory=Limits)
    serve: bool = False  # listens for verbs (``control``)

    def __post_init__(self) -> None:
        names = [s.name for s in self.sensors]
        if len(set(names)) < len(names) or not names:
            raise UserError("each sensor needs a name of its own; one at least.", where=", ".join(names))
        amber = [SensorStatus(name=s.name, state="amber", required=s.required) for s in self.sensors]
        self._streams = [_Stream(*both) for both in zip(self.sensors, amber, strict=True)]
        self._lock = asyncio.Lock()
        self._lease: session.Lease | None = None
        self._log: session.EventLog | None = None
        self._watching: asyncio.Task[None] | None = None
        self._stopping: asyncio.Task[Manifest] | None = None
        self._doing: dict[str, asyncio.Task[object]] = {}
        self._checks: tuple[Check, ...] = ()
        self._warnings: dict[str, str] = {}
        self._counted: tuple[int, int] | None = None
        self._holder, self._before_ns, self._leave = "", 0, ExitStack()
        self._ends, self.over = asyncio.Event(), asyncio.Event()
        """``over`` is set once the session is."""

    async def preflight(self) -> list[Check]:
        """Look whether all can run, unless a session runs; ``UserError`` if the folder cannot be used."""
        await self._reach("planned")
        return list(self._checks)

    async def arm(self) -> None:
        """Get ready; ``UserError`` as ``preflight``, or if a required sensor failed, or space is short."""
        await self._reach("armed")

    async def start(self) -> None:
        """Begin, armed or not, once; ``UserError`` as ``arm``, or if the session is over."""
        await self._reach("recording")

    async def _reach(self, goal: State) -> None:
        async with self._lock:
            if self._ends.is_set() or self.manifest.state in _OVER:
                if goal == "recording":
                    raise UserError(f"the session is over ({self.manifest.state}).", where=self.manifest.id)
                return
            if self._lease is None or self.manifest.state in _BEFORE:
                await self._open()
                await self._check()
                if goal != "planned":
                    await self._arm()
            if goal == "recording" and self.manifest.state == "armed":
                now = self.clock.mono_ns()
                if self.manifest.host_start_ns is None:
                    self.manifest = replace(self.manifest, host_start_ns=now, wall_start=self.clock.label())
                else:
                    why = "the recorder was gone"
                    self._note(Event(n=0, kind="gap", start_ns=self._before_ns, end_ns=now, text=why))
                self._save("recording")
                for stream in self._streams:
                    stream.send("start")

    async def _open(self) -> None:
        if self._lease is not None:
            return
        there = session.read_manifest(self.folder)
        state = there.state if there is not None else "planned"
        if state in _OVER:
            hint = "record into another one"
            raise UserError(f"this recording is over ({state}).", where=str(self.folder), hint=hint)
        if state == "interrupted" and not self.resume:
            hint = "--resume goes on, --close ends it"
            raise UserError("this recording was interrupted.", where=str(self.folder), hint=hint)
        socket = socket_path(self.folder) if self.serve else None
        self._lease = lease = session.Lease(self.folder, str(socket or ""), goes_on=state == "interrupted")
        self._leave.callback(lambda: lease.release(remove=self.manifest.state in (*_OVER, "planned")))
        self.manifest = there or self.manifest
        if socket is not None:
            self._leave.callback(socket.unlink, missing_ok=True)
            self._leave.callback((await listen(socket, self.answer)).close)
        known = {s.name: s for s in self.manifest.streams}
        for stream in self._streams:
            if any((self.folder / "raw" / stream.config.name).glob("seg-*")):
                stream.fixed = known.get(stream.config.name)

    async def _check(self) -> None:
        for stream in self._streams:
            stream.checked.clear()
            if stream.task is None or stream.task.done():
                stream.task = asyncio.create_task(self._keep(stream))
            else:
                stream.send("check")
        with suppress(TimeoutError):
            async with asyncio.timeout(30):
                for s in self._streams:
                    await s.checked.wait()
        for s in self._streams:
            if s.down or not s.checked.is_set():
                s.checks = (Check(name=s.config.name, ok=False, seen=s.down or "it does not answer"),)
        if self.queue.redis:
            from proctor.capture.redis_queue import connect

            (await asyncio.to_thread(connect, self.queue.redis)).close()
        self._checks = tuple(c for s in self._streams for c in s.checks)
        self._checks += tuple(check for check, _ in self._levels())

    async def _arm(self) -> None:
        needed = (s for s in self._streams if s.config.required)
        bad = [f"{s.config.name}: {c.seen}" for s in needed for c in s.checks if not c.ok]
        if bad := [*bad, *(check.seen for check, stop in self._levels() if stop)]:
            hint = "or set required = false for that sensor"
            raise UserError("; ".join(bad), where=self.manifest.id, hint=hint)
        if self.script is not None and not (self.folder / SCRIPT).exists():
            write_json(self.folder / SCRIPT, self.script)
        session.reserve(self.folder, self.limits.reserve_bytes)
        log = session.EventLog(self.folder, self.clock)
        if self.manifest.host_start_ns is not None:
            last = [log.last_ns]
            for spec in self.manifest.streams:
                rows = await asyncio.to_thread(session.settle, self.folder, spec.name, log)
                last += [int(rows["host_ns"][-1])] if len(rows) else []
            self._before_ns = max(last)
        self._log = log
        self._save("armed", new=True)
        self._watching = asyncio.create_task(self._watch())

    async def mark(self, event: Event) -> Event:
        """Return an event as written down, with number and times; ``UserError`` if no session is armed."""
        if self._log is None or self._ends.is_set() or self.manifest.state not in ("armed", "recording"):
            raise UserError(f"nothing can be noted: it is {self.manifest.state}.", where=self.manifest.id)
        return self._log.add(event)

    async def stop(self, reason: str = "") -> Manifest:
        """End the session, and return its manifest, also the second time. Raises ``UserError`` if it cannot be written."""
        async with self._lock:
            stopping = self._end(reason, "stopped")
        return await asyncio.shield(stopping)

    def _end(self, reason: str, state: State) -> asyncio.Task[Manifest]:
        self._ends.set()
        self._stopping = self._stopping or asyncio.create_task(self._stop(reason, state))
        return self._stopping

    async def _stop(self, reason: str, state: State) -> Manifest:
        if state == "stopped_disk":
            session.free_reserve(self.folder)
        for stream in self._streams:
            stream.send("stop")
            if state == "withdrawn":
                stream.kill()
        if tasks := [s.task for s in self._streams if s.task]:
            await asyncio.wait(tasks, timeout=self.limits.stop_s + 30)
            for stream in self._streams:
                stream.kill()  # it had time enough
            await asyncio.wait(tasks)
        if self._watching is not None:
            self._watching.cancel()
        missing = [f"{s.config.name}: {m}" for s in self._streams if s.ended for m in s.ended.missing]
        state = "incomplete" if state == "stopped" and missing else state
        try:
            if state == "withdrawn":
                raise session.WithdrawnError
            if self._log is not None:
                done, why = replace(self.manifest, streams=self._specs()), [*filter(None, [reason]), *missing]
                rest = (self.folder, done, self._log, state, why)
                self.manifest = await asyncio.to_thread(session.finish, *rest)
        except session.WithdrawnError:
            session.wipe(self.folder)
            self.manifest = replace(self.manifest, state="withdrawn", streams=(), files=())
        finally:
            self._leave.close()
            self.over.set()
        return self.manifest

    def status(self) -> Status:
        """Return how the session is now."""
        now, sensors, asks = self.clock.mono_ns(), [], []
        playing = self.manifest.state == "recording"
        for s in self._streams:
            was, lost_s = s.status, (now - s.lost_ns) / 1e9 if playing and s.lost_ns else 0.0
            if lost := was.required and lost_s > self.limits.ask_s:
                asks.append(f"{was.name} has sent nothing for {lost_s:.0f} s: continue without it, or stop?")
            red = lost or (not playing and (s.down or any(not c.ok for c in s.checks)))
            good = not s.down and s.phase in (("green", "ended") if playing else ("ready", "green", "ended"))
            seen_s = None if was.seen_s is None else was.seen_s + (now - s.heard_ns) / 1e9
            color: Literal["green", "amber", "red"] = "red" if red else "green" if good else "amber"
            sensors.append(replace(was, state=color, seen_s=seen_s, message=s.down or was.message))
        begun, warnings = self.manifest.host_start_ns, list(self._warnings.values())
        elapsed_s = ((self.manifest.host_end_ns or now) - begun) / 1e9 if begun else 0.0
        done = (task for task in self._doing.values() if task.done() and not task.cancelled())
        warnings += [str(error) for task in done if (error := task.exception()) is not None]
        return Status(
            recording=self.manifest.id, state=self.manifest.state, sensors=tuple(sensors), minutes_left=self._minutes(),
            battery=self.battery(), elapsed_s=elapsed_s, checks=self._checks, warnings=tuple(warnings),
            asks=tuple(asks), holder=self._holder,
        )  # fmt: skip

    async def answer(self, ask: Ask) -> Status:
        """Do what a verb says, unless somebody else operates the session; what takes more than 3 s goes on after the answer."""
        if ask.take_over or (ask.verb in ("arm", "start") and not self._holder):
            self._holder = ask.holder
        viewer = bool(self._holder) and ask.holder != self._holder
        if ask.verb == "mark":
            await self.mark(ask.event or Event(n=0, kind="mark"))
        elif ask.verb == "preflight" or not viewer:
            task = self._doing.get(ask.verb)
            if task is None or task.done():
                task = self._doing[ask.verb] = asyncio.create_task(getattr(self, ask.verb)())
            await asyncio.wait({task}, timeout=3)
            if task.done():
                task.result()
        return replace(self.status(), viewer=viewer)

    def _minutes(self) -> float | None:
        """Return for how many minutes there is space: by what came in so far, before that by what the streams say."""
        rate = sum(byte_rate(s.spec) for s in self._streams if s.spec is not None)
        if self._counted is not None and (seconds := (self.clock.mono_ns() - self._counted[0]) / 1e9) > 10:
            rate = max(rate if seconds < 30 else 0, (self._total() - self._counted[1]) / seconds)
        with suppress(OSError):
            return self.disk_free(self.folder) / rate / 60 if rate else None
        return None

    def _total(self) -> int:
        return sum(s.status.bytes + 40 * s.status.samples for s in self._streams)

    def _levels(self) -> Iterator[tuple[Check, bool]]:
        """Yield how much is left of disk and battery, and whether that ends a session."""
        if (left := self._minutes()) is not None:
            seen, ok = f"the disk has space for {left:.1f} minutes", left >= self.limits.warn_minutes
            hint = "" if ok else "free some space"
            yield Check(name="disk", ok=ok, seen=seen, hint=hint), left < self.limits.stop_minutes
        if (percent := self.battery()) is not None:
            seen, ok = f"the battery has {percent:.0f} %", percent >= self.limits.warn_battery
            hint = "" if ok else "plug it in"
            yield Check(name="battery", ok=ok, seen=seen, hint=hint), percent < self.limits.stop_battery

    async def _keep(self, stream: _Stream) -> None:
        """Run a sensor's process; again, after a while, when it dies."""
        name, wait, stream.down = stream.config.name, self.limits.backoff_s, ""
        while not self._ends.is_set():
            process = stream.process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "proctor.capture.host", start_new_session=True, limit=1 << 22,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            )  # fmt: skip
            recording, had = self.manifest.state == "recording", stream.status.samples
            stream.heard_ns, error, ended = self.clock.mono_ns(), "", False
            stream.send(
                HostConfig(
                    recording=self.manifest.id, folder=str(self.folder), sensor=stream.config, queue=self.queue,
                    spec=stream.fixed, start=recording, limits=self.limits,
                )
            )  # fmt: skip
            if not recording or self._stopping is not None:
                stream.send("stop" if self._stopping is not None else "check")
            assert process.stdout is not None
            async for line in process.stdout:
                report = msgspec.json.decode(line, type=Report)
                error, ended = report.error or error, ended or report.ended is not None
                self._hear(stream, report)
            code = await process.wait()
            error = error or ("" if ended else f"its process ended ({code})")
            if not error or self._ends.is_set():
                return
            stream.down, stream.lost_ns = error, stream.lost_ns or self.clock.mono_ns()
            stream.checked.set()
            if self.manifest.state in _BEFORE:
                return
            self._note(Event(n=0, kind="sensor", stream=name, text=f"{error}; started again"))
            wait = self.limits.backoff_s if stream.status.samples > had else min(2 * wait, 30.0)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ends.wait(), wait)

    def _hear(self, stream: _Stream, report: Report) -> None:
        """Take in what a sensor's process says."""
        stream.heard_ns = self.clock.mono_ns()
        if report.event is not None:
            self._note(report.event)
        if report.checks is not None:
            stream.checks = report.checks
            stream.checked.set()
        stream.ended = report.ended or stream.ended
        if report.status is None:
            return
        stream.status, stream.spec, stream.phase = report.status, report.spec, report.phase
        stream.fixed = stream.fixed or (report.spec if report.status.samples else None)
        stream.down = "" if report.phase in ("ready", "green") else stream.down
        lost = self.manifest.state == "recording" and report.phase not in ("green", "ended")
        stream.lost_ns = (stream.lost_ns or stream.heard_ns) if lost else 0
        if report.phase == "disk":
            self._end("the disk is full", "stopped_disk")

    def _note(self, event: Event) -> None:
        if self._log is not None and not self.over.is_set():
            try:
                self._log.add(event)
            except UserError as error:
                self._end(f"events: {error.message}", "stopped_disk")

    def _save(self, state: State, *, new: bool = False) -> None:
        """Write the manifest down with a state and the streams of now; ``UserError`` if it was withdrawn."""
        had, self.manifest = self.manifest, replace(self.manifest, state=state, streams=self._specs())
        try:
            session.save_manifest(self.folder, self.manifest, new=new)
        except session.WithdrawnError:
            self._end("", "withdrawn")
            raise UserError("this recording was withdrawn.", where=had.id) from None
        if state != had.state:
            self._note(Event(n=0, kind="state", text=state))

    def _specs(self) -> tuple[StreamSpec, ...]:
        """Return the streams of the session, those of before it was interrupted among them."""
        mine = {s.config.name: spec for s in self._streams if (spec := s.fixed or s.spec) is not None}
        return (*(s for s in self.manifest.streams if s.name not in mine), *mine.values())

    async def _watch(self) -> None:
        """Look about once a second at clock, disk, battery, processes, and whether the recording was withdrawn."""
        jumps = JumpWatch(self.clock)
        while True:
            await asyncio.sleep(self.limits.watch_s)
            warnings, recording, now = {}, self.manifest.state == "recording", self.clock.mono_ns()
            try:
                there = session.read_manifest(self.folder)
                if there is None or there.state == "withdrawn":
                    self._end("", "withdrawn")
                elif self._specs() != self.manifest.streams:
                    self._save(self.manifest.state)
            except UserError as error:  # unreadable, or no space: nothing that a recording should end for
                warnings["manifest"] = error.message
            if jump := jumps.look():
                self._note(Event(n=0, kind="jump", count=jump, text="the wall clock jumped"))
            for stream in self._streams:
                if now - stream.heard_ns > _HUNG_S * 1e9:
                    stream.kill()
            if recording:
                self._counted = self._counted or (now, self._total())
            for check, stop in self._levels():
                if not check.ok:
                    warnings[check.name] = check.seen
                if recording and stop:
                    self._end(check.seen, "stopped_disk" if check.name == "disk" else "stopped")
            for about in warnings.keys() - self._warnings.keys():
                self._note(Event(n=0, kind="warning", text=warnings[about]))
            self._warnings = warnings


def byte_rate(spec: StreamSpec) -> float:
    """Return about how many bytes a second a stream brings, from what it says it is; 0 where nobody can tell."""
    pixels, rate = spec.width * spec.height or 640 * 360, spec.rate_hz or 30.0
    sizes = {"jpeg": 0.2 * pixels * rate, "png16": 1.2 * pixels * rate, "packet": 1e6}
    sizes["f4"] = (40 + 4 * len(spec.columns)) * spec.rate_hz
    sizes["s16"] = 2 * spec.sample_rate * max(spec.channels, 1)
    return sizes.get(spec.format, 0.0)

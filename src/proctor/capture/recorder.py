"""The recorder: supervises one process for each sensor, keeps the session's state, events and manifest. docs/capture.md.

One session at a time. Samples go from each sensor's process straight to disk (``host``); what comes here are counts and events.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from proctor.capture.clock import Clock, JumpWatch
from proctor.capture.control import PATIENCE_S, Ask, SensorStatus, Status, listen, socket_path
from proctor.capture.host import Beat, Checked, Ended, HostConfig, Report, Said, Verb
from proctor.capture.queue import QueueSettings
from proctor.capture.records import SCRIPT, Check, Event, Manifest, Script, State, StreamSpec
from proctor.capture.sensor import SensorConfig
from proctor.capture.session import (
    EventLog,
    Lease,
    WithdrawnError,
    boot_id,
    byte_rate,
    finish,
    free_reserve,
    read_battery,
    read_manifest,
    reserve,
    save_manifest,
    wipe,
)  # fmt: skip
from proctor.errors import UserError
from proctor.records import write_json

__all__ = ["Limits", "Recorder"]

_OVER: Final = ("stopped", "stopped_disk", "incomplete", "withdrawn")
_HUNG_S: Final = 20.0


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """When something is said or done: seconds, minutes, percent, bytes."""

    probe_s: float = 60.0
    segment_s: float = 60.0
    backoff_s: float = 1.0
    stop_s: float = 600.0
    watch_s: float = 1.0
    ask_s: float = 20.0
    warn_minutes: float = 10.0
    stop_minutes: float = 2.0
    warn_battery: float = 15.0
    stop_battery: float = 5.0
    reserve_bytes: int = 64 * 2**20


class _Stream:
    """One sensor's process, seen from here."""

    def __init__(self, config: SensorConfig) -> None:
        self.config = config
        self.spec: StreamSpec | None = None
        self.fixed: StreamSpec | None = None
        """What the stream is since its first sample."""
        self.beat: Beat | None = None
        self.ended: Ended | None = None
        self.checks: tuple[Check, ...] = ()
        self.checked = asyncio.Event()
        self.process: asyncio.subprocess.Process | None = None
        self.task: asyncio.Task[None] | None = None
        self.heard_ns = self.lost_since = 0
        self.down = ""
        self.stderr: deque[bytes] = deque(maxlen=20)

    def send(self, message: bytes) -> None:
        if self.process is not None and self.process.stdin is not None:
            with suppress(ConnectionError, RuntimeError):
                self.process.stdin.write(message + b"\n")

    @property
    def error(self) -> str:
        return self.ended.error if self.ended is not None else ""

    def verb(self, verb: Verb) -> None:
        self.send(msgspec.json.encode(verb))

    def kill(self) -> None:
        if self.process is not None and self.process.returncode is None:
            with suppress(ProcessLookupError):
                self.process.kill()


class Recorder:
    """Records one session into a folder; start and stop may be said twice.

    Args:
        folder: of the recording.
        manifest: id, activity, participant and so on; what is in the folder goes before it.
        script: that is performed.
        sensors: that are recorded.
        queue: between sensor and writer.
        clock: of this machine.
        resume: go on with an interrupted session.
        disk_free: bytes that are free at a path.
        battery: percent, None on mains.
        limits: see there.
        serve: listen for verbs (``control``).
    """

    def __init__(
        self, folder: Path, manifest: Manifest, script: Script | None, sensors: Sequence[SensorConfig], *,
        queue: QueueSettings | None = None, clock: Clock | None = None, resume: bool = False,
        disk_free: Callable[[Path], int] = lambda path: shutil.disk_usage(path).free,
        battery: Callable[[], float | None] = read_battery, limits: Limits | None = None, serve: bool = False,
    ) -> None:  # fmt: skip
        names = [s.name for s in sensors]
        if len(set(names)) < len(names) or not names:
            raise UserError(
                "each sensor needs a name of its own, and there has to be one.", where=", ".join(names)
            )
        self.folder, self.manifest, self.script = folder, manifest, script
        self.queue, self.clock, self.limits = queue or QueueSettings(), clock or Clock(), limits or Limits()
        self._resume, self._disk_free, self._battery, self._serve = resume, disk_free, battery, serve
        self._streams = [_Stream(s) for s in sensors]
        self._lock = asyncio.Lock()
        self._lease: Lease | None = None
        self._log: EventLog | None = None
        self._server: asyncio.Server | None = None
        self._watching: asyncio.Task[None] | None = None
        self._stopping: asyncio.Task[Manifest] | None = None
        self._ending = False
        self._checks: tuple[Check, ...] = ()
        self._warnings: dict[str, str] = {}
        self._rate_from: tuple[int, int] | None = None
        self._holder = ""
        self._doing: set[asyncio.Task[object]] = set()
        self.over = asyncio.Event()
        """Set once the session is over."""

    # -- verbs -----------------------------------------------------------------------------------------------

    async def preflight(self) -> list[Check]:
        """Start the sensors' processes and look whether all can run; while a session runs, what was found before.

        Raises:
            UserError: if the folder cannot be used: another recorder, an interrupted session, one that is over.
        """
        async with self._lock:
            return await self._preflight()

    async def _preflight(self) -> list[Check]:
        if self.manifest.state not in ("planned", "interrupted") and self._lease is not None:
            return list(self._checks)
        await self._open()
        for stream in self._streams:
            stream.checked.clear()
            if stream.task is None or stream.task.done():
                stream.down = ""
                stream.task = asyncio.create_task(self._keep(stream))
            else:
                stream.verb("check")
        waits = [asyncio.wait_for(s.checked.wait(), 30) for s in self._streams]
        await asyncio.gather(*waits, return_exceptions=True)
        for stream in self._streams:
            bad = stream.down or ("" if stream.checked.is_set() else "it does not answer")
            if bad:
                stream.checks = (Check(name=stream.config.name, ok=False, seen=bad),)
        checks = [c for s in self._streams for c in s.checks]
        left, percent = self._minutes(), self._battery()
        if left is not None:
            hint = "free some space" if left < self.limits.warn_minutes else ""
            checks.append(Check(name="disk", ok=not hint, seen=f"space for {left:.0f} minutes", hint=hint))
        if percent is not None:
            hint = "plug it in" if percent < self.limits.warn_battery else ""
            checks.append(Check(name="battery", ok=not hint, seen=f"{percent:.0f} %", hint=hint))
        self._checks = tuple(checks)
        return checks

    async def arm(self) -> None:
        """Get everything ready; from now on the session is in the folder.

        Raises:
            UserError: if a required sensor failed its preflight, or space or battery would end it at once.
        """
        async with self._lock:
            await self._arm()

    async def _arm(self) -> None:
        if self.manifest.state not in ("planned", "interrupted") and self._lease is not None:
            return
        await self._preflight()
        bad = [
            f"{s.config.name}: {c.seen}"
            for s in self._streams
            if s.config.required
            for c in s.checks
            if not c.ok
        ]
        bad += [why for why in (self._no_space(), self._no_battery()) if why]
        if bad:
            raise UserError(
                "; ".join(bad),
                where=self.manifest.id,
                hint="put that right, or make the sensor required = false",
            )
        if self.script is not None and not (self.folder / SCRIPT).exists():
            write_json(self.folder / SCRIPT, self.script)
        try:
            reserve(self.folder, self.limits.reserve_bytes)
        except OSError as error:
            raise UserError(
                f"there is no space: {error.strerror}", where=str(self.folder), hint="free some"
            ) from None
        self._log = EventLog(self.folder, self.clock)
        self._save(new=True, state="armed", streams=self._specs())
        self._watching = asyncio.create_task(self._watch())

    async def start(self) -> None:
        """Begin, armed or not; does nothing where it has begun.

        Raises:
            UserError: see ``arm``; or the session is over.
        """
        async with self._lock:
            if self.manifest.state in _OVER:
                raise UserError(f"the session is over ({self.manifest.state}).", where=self.manifest.id)
            if self.manifest.state == "recording":
                return
            await self._arm()
            if self.manifest.host_start_ns is None:
                self.manifest = msgspec.structs.replace(
                    self.manifest, host_start_ns=self.clock.mono_ns(), wall_start=self.clock.label()
                )
            self._save(state="recording")
            for stream in self._streams:
                stream.verb("start")

    async def mark(self, event: Event) -> Event:
        """Write an event down, and return it with its number and times.

        Raises:
            UserError: if no session is armed.
        """
        if self._log is None or self.manifest.state not in ("armed", "recording"):
            raise UserError(
                f"nothing can be noted: the session is {self.manifest.state}.", where=self.manifest.id
            )
        return self._log.add(event)

    async def stop(self, reason: str = "", state: State = "stopped") -> Manifest:
        """End the session, and return its manifest; the second time that of the first.

        Raises:
            UserError: if it cannot be written.
        """
        async with self._lock:
            if self._stopping is None:
                self._stopping = asyncio.create_task(self._stop(reason, state))
        return await asyncio.shield(self._stopping)

    async def _stop(self, reason: str, state: State) -> Manifest:
        self._ending = True
        if self._watching is not None and self._watching is not asyncio.current_task():
            self._watching.cancel()
        if state == "withdrawn":
            for stream in self._streams:
                stream.kill()
        else:
            for stream in self._streams:
                stream.verb("stop")
        await self._gone(self.limits.stop_s + 30)
        missing = [f"{s.config.name}: {m}" for s in self._streams if s.ended for m in s.ended.report.missing]
        if state == "stopped" and missing:
            state = "incomplete"
        reasons = [*([reason] if reason else []), *missing]
        try:
            if state == "withdrawn":
                raise WithdrawnError
            if self._log is not None:
                done = msgspec.structs.replace(self.manifest, streams=self._specs())
                self.manifest = await asyncio.to_thread(finish, self.folder, done, self._log, state, reasons)
        except WithdrawnError:
            wipe(self.folder)
            self.manifest = msgspec.structs.replace(self.manifest, state="withdrawn", streams=(), files=())
        finally:
            self._release()
        return self.manifest

    def _release(self) -> None:
        if self._log is not None:
            self._log.close()
        if self._server is not None:
            self._server.close()
            socket_path(self.folder).unlink(missing_ok=True)
        if self._lease is not None:
            self._lease.release(remove=self.manifest.state in (*_OVER, "planned"))
        self.over.set()

    async def _gone(self, seconds: float) -> None:
        """Wait for the processes to end, and end those that do not."""
        tasks = {s.task for s in self._streams if s.task is not None}
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=seconds)
            for stream in self._streams:
                stream.kill()
            if late:
                await asyncio.wait(late, timeout=10)

    # -- status ----------------------------------------------------------------------------------------------

    def status(self) -> Status:
        """Return how the session is now."""
        now, sensors, asks = self.clock.mono_ns(), [], []
        for stream in self._streams:
            beat, config = stream.beat, stream.config
            playing = self.manifest.state == "recording"
            good = beat is not None and beat.state in (
                ("green", "ended") if playing else ("ready", "green", "ended")
            )
            lost_s = (now - stream.lost_since) / 1e9 if stream.lost_since else 0.0
            message = stream.down or (beat.message if beat else "")
            bad = (
                any(not c.ok for c in stream.checks)
                if not playing
                else config.required and lost_s > self.limits.ask_s
            )
            if playing and bad:
                asks.append(f"{config.name} has sent nothing for {lost_s:.0f} s: go on without it, or stop?")
            state = (
                "red"
                if bad or (stream.down and not playing)
                else "green"
                if good and not stream.down
                else "amber"
            )
            sensors.append(
                SensorStatus(
                    name=config.name, state=state, required=config.required, message=message,  # type: ignore[arg-type]
                    samples=beat.samples if beat else 0, bytes=beat.bytes if beat else 0,
                    dropped=beat.dropped if beat else 0, refused=beat.refused if beat else 0,
                    seen_s=(now - beat.heard_ns) / 1e9 if beat and beat.heard_ns else None,
                )
            )  # fmt: skip
        begun, end = self.manifest.host_start_ns, self.manifest.host_end_ns
        return Status(
            recording=self.manifest.id, state=self.manifest.state, sensors=tuple(sensors), minutes_left=self._minutes(),
            battery=self._battery(), elapsed_s=((end or now) - begun) / 1e9 if begun is not None else 0.0,
            checks=self._checks, warnings=tuple(self._warnings.values()), asks=tuple(asks), holder=self._holder,
        )  # fmt: skip

    async def answer(self, ask: Ask) -> Status:
        """Do what a verb says, unless somebody else operates the session, and return the status."""
        if ask.take_over or (ask.verb in ("arm", "start") and not self._holder):
            self._holder = ask.holder
        viewer = bool(self._holder) and ask.holder != self._holder
        if ask.verb == "mark" and ask.event is not None:
            await self.mark(ask.event)
        elif ask.verb == "preflight" or (not viewer and ask.verb != "mark"):
            verbs: dict[str, Callable[[], Coroutine[None, None, object]]] = {
                "preflight": self.preflight,
                "arm": self.arm,
                "start": self.start,
                "stop": self.stop,
            }
            does: asyncio.Task[object] = asyncio.create_task(verbs[ask.verb]())
            self._doing.add(does)
            does.add_done_callback(self._did)
            if (await asyncio.wait({does}, timeout=PATIENCE_S))[0]:
                does.result()
        return msgspec.structs.replace(self.status(), viewer=viewer)

    def _did(self, task: asyncio.Task[object]) -> None:
        self._doing.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._warnings["verb"] = str(error)

    def _minutes(self) -> float | None:
        """Return for how many minutes there is space: by what came in so far, before that by what the streams say."""
        with suppress(OSError):
            free = self._disk_free(self.folder)
            rate = sum(byte_rate(s.spec) for s in self._streams if s.spec is not None)
            if self._rate_from is not None:
                at, had = self._rate_from
                seconds = (self.clock.mono_ns() - at) / 1e9
                if seconds > 10:
                    rate = max(rate if seconds < 30 else 0, (self._total() - had) / seconds)
            return free / rate / 60 if rate else None
        return None

    def _total(self) -> int:
        return sum(s.beat.bytes + 40 * s.beat.samples for s in self._streams if s.beat is not None)

    def _no_space(self) -> str:
        left = self._minutes()
        return (
            f"the disk has space for {left:.1f} minutes"
            if left is not None and left < self.limits.stop_minutes
            else ""
        )

    def _no_battery(self) -> str:
        left = self._battery()
        return f"the battery has {left:.0f} %" if left is not None and left < self.limits.stop_battery else ""

    # -- processes -------------------------------------------------------------------------------------------

    async def _open(self) -> None:
        """Take the folder and start the processes; does nothing the second time."""
        if self._lease is not None:
            return
        there = read_manifest(self.folder)
        lease = Lease(self.folder, self.clock)
        try:
            if there is not None:
                self._take_up(there, lease)
        except UserError:
            lease.release(remove=False)
            raise
        self._lease = lease
        if self._serve:
            path = socket_path(self.folder)
            self._server = await listen(path, self.answer)
            lease.tell(str(path))
        for stream in self._streams:
            stream.fixed = next((s for s in self.manifest.streams if s.name == stream.config.name), None)

    def _take_up(self, there: Manifest, lease: Lease) -> None:
        """Go on with what is in the folder.

        Raises:
            UserError: if that cannot be.
        """
        where = str(self.folder)
        if there.state in _OVER:
            raise UserError(
                f"this recording is over ({there.state}).", where=where, hint="record into another one"
            )
        if there.state != "planned":
            if not self._resume:
                raise UserError(
                    "this recording was interrupted.",
                    where=where,
                    hint="--resume goes on with it, --close ends it",
                )
            if lease.before is not None and lease.before.boot != boot_id():
                raise UserError(
                    "the machine was started anew since, and its clock with it.", where=where,
                    hint="--close ends it; record the rest as another one",
                )  # fmt: skip
        self.manifest = there

    async def _keep(self, stream: _Stream) -> None:
        """Run a sensor's process; again, after a while, when it dies."""
        wait = self.limits.backoff_s
        while not self._ending:
            (self.folder / "raw" / stream.config.name).mkdir(parents=True, exist_ok=True)
            process = stream.process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "proctor.capture.host", start_new_session=True, limit=1 << 22,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
            recording = self.manifest.state == "recording"
            config = HostConfig(
                recording=self.manifest.id, folder=str(self.folder), sensor=stream.config, queue=self.queue,
                spec=stream.fixed, start=recording, probe_s=self.limits.probe_s, segment_s=self.limits.segment_s,
                stop_s=self.limits.stop_s, backoff_s=self.limits.backoff_s,
            )  # fmt: skip
            stream.ended, stream.heard_ns = None, self.clock.mono_ns()
            stream.send(msgspec.json.encode(config))
            if not recording:
                stream.verb("check")
            noise = asyncio.create_task(self._noise(stream))
            assert process.stdout is not None
            had = stream.beat.samples if stream.beat else 0
            async for line in process.stdout:
                self._hear(stream, msgspec.json.decode(line, type=Report))
            code = await process.wait()
            await noise
            if self._over(stream):
                return
            last = b"".join(stream.stderr)[-200:].decode("utf-8", "replace")
            stream.down = stream.error or f"its process ended ({code}) {last}".strip()
            stream.checked.set()
            stream.lost_since = stream.lost_since or self.clock.mono_ns()
            if self.manifest.state in ("planned", "interrupted"):
                return
            self._note(
                Event(n=0, kind="sensor", stream=stream.config.name, text=f"{stream.down}; started again")
            )
            wait = (
                self.limits.backoff_s
                if (stream.beat.samples if stream.beat else 0) > had
                else min(2 * wait, 30.0)
            )
            await asyncio.sleep(wait)

    def _over(self, stream: _Stream) -> bool:
        return self._ending or (stream.ended is not None and not stream.error)

    async def _noise(self, stream: _Stream) -> None:
        assert stream.process is not None
        assert stream.process.stderr is not None
        with suppress(ValueError):
            async for line in stream.process.stderr:
                stream.stderr.append(line)

    def _hear(self, stream: _Stream, report: Report) -> None:
        """Take in what a sensor's process says."""
        stream.heard_ns = self.clock.mono_ns()
        if isinstance(report, Said):
            self._note(report.event)
        elif isinstance(report, Checked):
            stream.checks = report.checks
            stream.checked.set()
        elif isinstance(report, Ended):
            stream.ended = report
        else:
            stream.beat = report
            stream.spec = report.spec
            if report.samples and stream.fixed is None:
                stream.fixed = report.spec
            if report.state in ("ready", "green"):
                stream.down = ""
            lost = self.manifest.state == "recording" and report.state not in ("green", "ended")
            stream.lost_since = (stream.lost_since or self.clock.mono_ns()) if lost else 0
            if report.state == "disk":
                self._end("the disk is full", "stopped_disk")

    def _note(self, event: Event) -> None:
        if self._log is not None and not self.over.is_set():
            try:
                self._log.add(event)
            except OSError as error:
                self._end(f"events cannot be written: {error.strerror}", "stopped_disk")

    def _save(
        self, *, new: bool = False, state: State | None = None, streams: tuple[StreamSpec, ...] | None = None
    ) -> None:
        """Write the manifest down with another state or other streams.

        Raises:
            UserError: if it was withdrawn, or cannot be written.
        """
        had = self.manifest
        streams = had.streams if streams is None else streams
        self.manifest = msgspec.structs.replace(had, state=state or had.state, streams=streams)
        try:
            save_manifest(self.folder, self.manifest, new=new)
        except WithdrawnError:
            self._end("", "withdrawn")
            raise UserError("this recording was withdrawn.", where=had.id) from None
        if state is not None:
            self._note(Event(n=0, kind="state", text=state))

    def _specs(self) -> tuple[StreamSpec, ...]:
        """Return the streams of the session, those of before it was interrupted among them."""
        mine = {s.config.name: spec for s in self._streams if (spec := s.fixed or s.spec) is not None}
        return (*(s for s in self.manifest.streams if s.name not in mine), *mine.values())

    async def _watch(self) -> None:
        """Look about once a second at clock, disk, battery, processes, and whether the recording was withdrawn."""
        jumps = JumpWatch(self.clock)
        while not self._ending:
            await asyncio.sleep(self.limits.watch_s)
            with suppress(UserError):  # withdrawn meanwhile
                there = read_manifest(self.folder)
                if there is None or there.state == "withdrawn":
                    self._end("", "withdrawn")
                    return
                if (specs := self._specs()) != self.manifest.streams:
                    self._save(streams=specs)
            if jump := jumps.look():
                self._note(Event(n=0, kind="jump", count=jump, text="the wall clock jumped"))
            for stream in self._streams:
                if self.clock.mono_ns() - stream.heard_ns > _HUNG_S * 1e9:
                    stream.kill()
            left, percent = self._minutes(), self._battery()
            low = left is not None and left < self.limits.warn_minutes
            self._warn("disk", f"the disk has space for {left:.0f} minutes" if low else "")
            flat = percent is not None and percent < self.limits.warn_battery
            self._warn("battery", f"the battery has {percent:.0f} %" if flat else "")
            if self.manifest.state == "recording":
                self._rate_from = self._rate_from or (self.clock.mono_ns(), self._total())
                if why := self._no_space():
                    self._end(why, "stopped_disk")
                elif why := self._no_battery():
                    self._end(why, "stopped")

    def _warn(self, about: str, text: str) -> None:
        """Keep a warning for the status, and note it in the events when it begins."""
        if text and about not in self._warnings:
            self._note(Event(n=0, kind="warning", text=text))
        self._warnings[about] = text
        if not text:
            del self._warnings[about]

    def _end(self, reason: str, state: State) -> None:
        """Stop from within."""
        if not self._ending and self._stopping is None:
            free_reserve(self.folder)
            self._stopping = asyncio.create_task(self._stop(reason, state))

"""The recorder: supervises one process for each sensor, keeps the session's state, events and manifest. docs/capture.md.

One session at a time. Samples go from each sensor's process straight to disk (``host``); what comes here are counts and events.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

import msgspec

from proctor.capture import session
from proctor.capture.clock import Clock, JumpWatch
from proctor.capture.control import Ask, SensorStatus, Status, listen, socket_path
from proctor.capture.host import HostConfig, Limits, Phase, Report
from proctor.capture.queue import QueueSettings
from proctor.capture.records import SCRIPT, Check, Event, Manifest, Script, State, StreamSpec
from proctor.capture.sensor import SensorConfig, StopReport
from proctor.errors import UserError
from proctor.records import write_json

__all__ = ["Limits", "Recorder"]

_OVER: Final = ("stopped", "stopped_disk", "incomplete", "withdrawn")
_BEFORE: Final = ("planned", "interrupted")
_HUNG_S: Final = 20.0
_change = msgspec.structs.replace


class _Stream:
    """One sensor's process, seen from here; ``fixed`` is what the stream is since its first sample."""

    def __init__(self, config: SensorConfig) -> None:
        self.config = config
        self.spec: StreamSpec | None = None
        self.fixed: StreamSpec | None = None
        self.status = SensorStatus(name=config.name, state="amber", required=config.required)
        self.phase: Phase = "ready"
        self.ended: StopReport | None = None
        self.checks: tuple[Check, ...] = ()
        self.checked = asyncio.Event()
        self.process: asyncio.subprocess.Process | None = None
        self.task: asyncio.Task[None] | None = None
        self.heard_ns = self.lost_ns = 0
        self.down = self.error = ""

    def begin(self, now_ns: int) -> None:
        self.ended, self.error, self.heard_ns = None, "", now_ns

    def send(self, message: HostConfig | Literal["check", "start", "stop"]) -> None:
        if self.process is not None and self.process.stdin is not None:
            with suppress(ConnectionError, RuntimeError):
                self.process.stdin.write(msgspec.json.encode(message) + b"\n")

    def kill(self) -> None:
        if self.process is not None and self.process.returncode is None:
            with suppress(ProcessLookupError):
                self.process.kill()


class Recorder:
    """Records one session into a folder; what is said twice is done once.

    Args:
        folder: of the recording.
        manifest: id, activity, participant and so on; that of the folder goes before it.
        script: that is performed.
        sensors: that are recorded.
        queue: between sensor and writer.
        clock: of this machine.
        resume: go on with an interrupted session.
        disk_free: bytes that are free at a path.
        battery: percent, None on mains.
        limits: when something is said or done.
        serve: listen for verbs (``control``).

    Raises:
        UserError: if two sensors have one name, or there is none.
    """

    def __init__(
        self, folder: Path, manifest: Manifest, script: Script | None, sensors: Sequence[SensorConfig], *,
        queue: QueueSettings | None = None, clock: Clock | None = None, resume: bool = False,
        disk_free: Callable[[Path], int] = lambda path: shutil.disk_usage(path).free,
        battery: Callable[[], float | None] = session.read_battery, limits: Limits | None = None, serve: bool = False,
    ) -> None:  # fmt: skip
        names = [s.name for s in sensors]
        if len(set(names)) < len(names) or not names:
            raise UserError("each sensor needs a name of its own; one at least.", where=", ".join(names))
        self.folder, self.manifest, self.script = folder, manifest, script
        self.queue, self.clock, self.limits = queue or QueueSettings(), clock or Clock(), limits or Limits()
        self._resume, self._disk_free, self._battery, self._serve = resume, disk_free, battery, serve
        self._streams = [_Stream(s) for s in sensors]
        self._lock = asyncio.Lock()
        self._lease: session.Lease | None = None
        self._log: session.EventLog | None = None
        self._server: asyncio.Server | None = None
        self._watching: asyncio.Task[None] | None = None
        self._stopping: asyncio.Task[Manifest] | None = None
        self._ends = asyncio.Event()
        self._doing: set[asyncio.Task[object]] = set()
        self._checks: tuple[Check, ...] = ()
        self._warnings: dict[str, str] = {}
        self._counted: tuple[int, int] | None = None
        self._holder = ""
        self.over = asyncio.Event()
        """Set once the session is over."""

    # -- verbs -----------------------------------------------------------------------------------------------

    async def preflight(self) -> list[Check]:
        """Start the sensors' processes and look whether all can run; while a session runs, return what was found before.

        Raises:
            UserError: if the folder cannot be used: another recorder, an interrupted session, one that is over.
        """
        async with self._lock:
            return await self._preflight()

    async def _preflight(self) -> list[Check]:
        if self._lease is not None and self.manifest.state not in _BEFORE:
            return list(self._checks)
        await self._open()
        for stream in self._streams:
            stream.checked.clear()
            if stream.task is None or stream.task.done():
                stream.task = asyncio.create_task(self._keep(stream))
            else:
                stream.send("check")
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.gather(*(s.checked.wait() for s in self._streams)), 30)
        for s in self._streams:
            if s.down or not s.checked.is_set():
                s.checks = (Check(name=s.config.name, ok=False, seen=s.down or "it does not answer"),)
        checks = [c for s in self._streams for c in s.checks]
        if self.queue.redis:
            from proctor.capture.redis_queue import check

            checks.append(await asyncio.to_thread(check, self.queue.redis))
        hints = {"disk": "free some space", "battery": "plug it in"}
        for name, (text, low, _) in self._short().items():
            checks.append(Check(name=name, ok=not low, seen=text, hint=hints[name] if low else ""))
        self._checks = tuple(checks)
        return checks

    async def arm(self) -> None:
        """Get everything ready; from now on the session is in the folder.

        Raises:
            UserError: if a required sensor failed its preflight, or space or battery would end it at once; see ``preflight``.
        """
        async with self._lock:
            await self._arm()

    async def _arm(self) -> None:
        if self._lease is not None and self.manifest.state not in _BEFORE:
            return
        await self._preflight()
        needed = (s for s in self._streams if s.config.required)
        bad = [f"{s.config.name}: {c.seen}" for s in needed for c in s.checks if not c.ok]
        bad += [c.seen for c in self._checks if c.name == "Redis" and not c.ok]
        if bad := [*bad, *(text for text, _, stop in self._short().values() if stop)]:
            raise UserError(
                "; ".join(bad), where=self.manifest.id, hint="or set required = false for that sensor"
            )
        if self.script is not None and not (self.folder / SCRIPT).exists():
            write_json(self.folder / SCRIPT, self.script)
        session.reserve(self.folder, self.limits.reserve_bytes)
        self._log = session.EventLog(self.folder, self.clock)
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
            if self.manifest.state == "recording" and self._lease is not None:
                return
            await self._arm()
            if self.manifest.host_start_ns is None:
                now = self.clock.mono_ns()
                self.manifest = _change(self.manifest, host_start_ns=now, wall_start=self.clock.label())
            self._save(state="recording")
            for stream in self._streams:
                stream.send("start")

    async def mark(self, event: Event) -> Event:
        """Write an event down, and return it with its number and times.

        Raises:
            UserError: if no session is armed.
        """
        if self._log is None or self.manifest.state not in ("armed", "recording"):
            raise UserError(f"nothing can be noted: it is {self.manifest.state}.", where=self.manifest.id)
        return self._log.add(event)

    async def stop(self, reason: str = "") -> Manifest:
        """End the session, and return its manifest; the second time that of the first.

        Raises:
            UserError: if it cannot be written.
        """
        async with self._lock:
            self._end(reason, "stopped")
        assert self._stopping is not None
        return await asyncio.shield(self._stopping)

    def _end(self, reason: str, state: State) -> None:
        if self._stopping is None:
            self._ends.set()
            self._stopping = asyncio.create_task(self._stop(reason, state))

    async def _stop(self, reason: str, state: State) -> Manifest:
        if self._watching is not None:
            self._watching.cancel()
        if state == "stopped_disk":
            session.free_reserve(self.folder)
        for stream in self._streams:
            stream.send("stop")
            if state == "withdrawn":
                stream.kill()
        tasks, late_ns = {s.task for s in self._streams if s.task}, int((self.limits.stop_s + 30) * 1e9)
        while tasks:
            tasks = (await asyncio.wait(tasks, timeout=1))[1]
            self._kill_hung()
            late_ns -= 10**9
            for stream in self._streams if late_ns < 0 else ():
                stream.kill()
        missing = [f"{s.config.name}: {m}" for s in self._streams if s.ended for m in s.ended.missing]
        state = "incomplete" if state == "stopped" and missing else state
        try:
            if state == "withdrawn":
                raise session.WithdrawnError
            if self._log is not None:
                done, reasons = (
                    _change(self.manifest, streams=self._specs()),
                    [*filter(None, [reason]), *missing],
                )
                self.manifest = await asyncio.to_thread(
                    session.finish, self.folder, done, self._log, state, reasons
                )
        except session.WithdrawnError:
            session.wipe(self.folder)
            self.manifest = _change(self.manifest, state="withdrawn", streams=(), files=())
        finally:
            if self._log is not None:
                self._log.close()
            if self._server is not None:
                self._server.close()
                socket_path(self.folder).unlink(missing_ok=True)
            if self._lease is not None:
                self._lease.release(remove=self.manifest.state in (*_OVER, "planned"))
            self.over.set()
        return self.manifest

    # -- status ----------------------------------------------------------------------------------------------

    def status(self) -> Status:
        """Return how the session is now."""
        now, sensors, asks = self.clock.mono_ns(), [], []
        playing = self.manifest.state == "recording"
        for s in self._streams:
            was, age_s = s.status, (now - s.heard_ns) / 1e9
            lost_s = (now - s.lost_ns) / 1e9 if playing and s.lost_ns else 0.0
            if lost := was.required and lost_s > self.limits.ask_s:
                asks.append(f"{was.name} has sent nothing for {lost_s:.0f} s: go on without it, or stop?")
            red = lost or (not playing and (s.down or any(not c.ok for c in s.checks)))
            good = not s.down and s.phase in (("green", "ended") if playing else ("ready", "green", "ended"))
            seen_s = None if was.seen_s is None else was.seen_s + age_s
            color: Literal["green", "amber", "red"] = "red" if red else "green" if good else "amber"
            sensors.append(_change(was, state=color, seen_s=seen_s, message=s.down or was.message))
        begun = self.manifest.host_start_ns
        return Status(
            recording=self.manifest.id, state=self.manifest.state, sensors=tuple(sensors), minutes_left=self._minutes(),
            battery=self._battery(), elapsed_s=((self.manifest.host_end_ns or now) - begun) / 1e9 if begun else 0.0,
            checks=self._checks, warnings=tuple(self._warnings.values()), asks=tuple(asks), holder=self._holder,
        )  # fmt: skip

    async def answer(self, ask: Ask) -> Status:
        """Do what a verb says, unless somebody else operates the session; what takes more than 3 s goes on after the answer."""
        if ask.take_over or (ask.verb in ("arm", "start") and not self._holder):
            self._holder = ask.holder
        viewer = bool(self._holder) and ask.holder != self._holder
        verbs: dict[str, Callable[[], Coroutine[None, None, object]]] = {
            "preflight": self.preflight, "arm": self.arm, "start": self.start, "stop": self.stop,
        }  # fmt: skip
        if ask.verb == "mark":
            await self.mark(ask.event or Event(n=0, kind="mark"))
        elif ask.verb == "preflight" or not viewer:
            task: asyncio.Task[object] = asyncio.create_task(verbs[ask.verb]())
            self._doing.add(task)
            task.add_done_callback(self._did)
            if (await asyncio.wait({task}, timeout=3))[0]:
                task.result()
        return _change(self.status(), viewer=viewer)

    def _did(self, task: asyncio.Task[object]) -> None:
        self._doing.discard(task)
        self._warnings.pop("verb", None)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._warnings["verb"] = str(error)

    def _minutes(self) -> float | None:
        """Return for how many minutes there is space: by what came in so far, before that by what the streams say."""
        rate = sum(session.byte_rate(s.spec) for s in self._streams if s.spec is not None)
        if self._counted is not None and (seconds := (self.clock.mono_ns() - self._counted[0]) / 1e9) > 10:
            rate = max(rate if seconds < 30 else 0, (self._total() - self._counted[1]) / seconds)
        with suppress(OSError):
            return self._disk_free(self.folder) / rate / 60 if rate else None
        return None

    def _total(self) -> int:
        return sum(s.status.bytes + 40 * s.status.samples for s in self._streams)

    def _short(self) -> dict[str, tuple[str, bool, bool]]:
        """Return how much is left of disk and battery, whether that is worth a warning, and whether to stop."""
        left, percent, at = self._minutes(), self._battery(), self.limits
        found = {}
        if left is not None:
            text = f"the disk has space for {left:.1f} minutes"
            found["disk"] = (text, left < at.warn_minutes, left < at.stop_minutes)
        if percent is not None:
            text = f"the battery has {percent:.0f} %"
            found["battery"] = (text, percent < at.warn_battery, percent < at.stop_battery)
        return found

    # -- processes -------------------------------------------------------------------------------------------

    async def _open(self) -> None:
        """Take the folder; raises ``UserError`` if that cannot be."""
        if self._lease is not None:
            return
        there, where = session.read_manifest(self.folder), str(self.folder)
        if there is not None and there.state in _OVER:
            raise UserError(
                f"this recording is over ({there.state}).", where=where, hint="record into another one"
            )
        if there is not None and there.state == "interrupted" and not self._resume:
            raise UserError(
                "this recording was interrupted.", where=where, hint="--resume goes on, --close ends it"
            )
        lease = session.Lease(self.folder, self.clock)
        if there is not None and there.state == "interrupted" and not lease.same_boot:
            lease.release(remove=False)
            raise UserError(
                "the machine was started anew since, and its clock with it.", where=where,
                hint="--close ends it; record the rest as another one",
            )  # fmt: skip
        self._lease, self.manifest = lease, there or self.manifest
        if self._serve:
            self._server = await listen(socket_path(self.folder), self.answer)
            lease.tell(str(socket_path(self.folder)))
        known = {s.name: s for s in self.manifest.streams}
        for stream in self._streams:
            stream.fixed = known.get(stream.config.name)

    async def _keep(self, stream: _Stream) -> None:
        """Run a sensor's process; again, after a while, when it dies."""
        limits, name, wait, stream.down = self.limits, stream.config.name, self.limits.backoff_s, ""
        while not self._ends.is_set():
            (self.folder / "raw" / name).mkdir(parents=True, exist_ok=True)
            pipe = asyncio.subprocess.PIPE
            process = stream.process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "proctor.capture.host", start_new_session=True, limit=1 << 22,
                stdin=pipe, stdout=pipe, stderr=pipe,
            )  # fmt: skip
            recording, had = self.manifest.state == "recording", stream.status.samples
            stream.begin(self.clock.mono_ns())
            stream.send(
                HostConfig(
                    recording=self.manifest.id, folder=str(self.folder), sensor=stream.config, queue=self.queue,
                    spec=stream.fixed, start=recording, limits=limits,
                )
            )  # fmt: skip
            if not recording:
                stream.send("check")
            assert process.stdout is not None
            assert process.stderr is not None
            noise = asyncio.create_task(_last_words(process.stderr))
            async for line in process.stdout:
                self._hear(stream, msgspec.json.decode(line, type=Report))
            code, last = await process.wait(), await noise
            died = "" if stream.ended is not None else f"its process ended ({code}) {last}".strip()
            error = stream.error or died
            if not error or self._ends.is_set():
                return
            stream.down, stream.lost_ns = error, stream.lost_ns or self.clock.mono_ns()
            stream.checked.set()
            if self.manifest.state in _BEFORE:
                return
            self._note(Event(n=0, kind="sensor", stream=name, text=f"{error}; started again"))
            wait = limits.backoff_s if stream.status.samples > had else min(2 * wait, 30.0)
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
        stream.ended, stream.error = report.ended or stream.ended, report.error or stream.error
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
            except OSError as error:
                self._end(f"events cannot be written: {error.strerror}", "stopped_disk")

    def _save(
        self, *, new: bool = False, state: State | None = None, streams: tuple[StreamSpec, ...] | None = None
    ) -> None:
        """Write the manifest down with another state or other streams; raises ``UserError`` if it was withdrawn."""
        had = self.manifest
        kept = had.streams if streams is None else streams
        self.manifest = _change(had, state=state or had.state, streams=kept)
        try:
            session.save_manifest(self.folder, self.manifest, new=new)
        except session.WithdrawnError:
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
        while True:
            await asyncio.sleep(self.limits.watch_s)
            try:
                there = session.read_manifest(self.folder)
                if there is None or there.state == "withdrawn":
                    self._end("", "withdrawn")
                elif self._specs() != self.manifest.streams:
                    self._save(streams=self._specs())
            except (
                UserError
            ) as error:  # it cannot be read or written: nothing that a recording should end for
                self._warn("manifest", error.message)
            if jump := jumps.look():
                self._note(Event(n=0, kind="jump", count=jump, text="the wall clock jumped"))
            self._kill_hung()
            recording, short = self.manifest.state == "recording", self._short()
            if recording:
                self._counted = self._counted or (self.clock.mono_ns(), self._total())
            for about in ("disk", "battery"):
                text, low, stop = short.get(about, ("", False, False))
                self._warn(about, text if low else "")
                if recording and stop:
                    self._end(text, "stopped_disk" if about == "disk" else "stopped")

    def _kill_hung(self) -> None:
        for stream in self._streams:
            if self.clock.mono_ns() - stream.heard_ns > _HUNG_S * 1e9:
                stream.kill()

    def _warn(self, about: str, text: str) -> None:
        """Keep a warning for the status while it holds, and note it in the events when it begins."""
        if text and about not in self._warnings:
            self._note(Event(n=0, kind="warning", text=text))
        self._warnings.pop(about, None)
        if text:
            self._warnings[about] = text


async def _last_words(stream: asyncio.StreamReader) -> str:
    """Read what a process says beside its reports, and return the end of it."""
    last = b""
    while block := await stream.read(1 << 16):
        last = (last + block)[-200:]
    return last.decode("utf-8", "replace")

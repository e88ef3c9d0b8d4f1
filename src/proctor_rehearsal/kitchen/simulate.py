"""``proctor capture simulate``: recordings of the plan by a simulated participant in front of simulated sensors. docs/capture.md.

Written at once, they are byte for byte the same for the same seed; live, the recorder itself runs, may be killed, and goes on.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final, TypeAlias

import msgspec
from msgspec.structs import asdict, replace

from proctor.capture.clock import Clock
from proctor.capture.recorder import Recorder
from proctor.capture.records import EVENTS, REVIEW, SCRIPT, Event, Manifest, Script, State, recording_folder
from proctor.capture.segments import SegmentWriter
from proctor.capture.sensor import SensorConfig, make_sensor
from proctor.capture.session import EventLog, finish, read_manifest, save_manifest
from proctor.errors import UserError
from proctor.records import read_json, read_jsonl, write_json
from proctor.workspace import Workspace
from proctor_rehearsal.kitchen.person import TRUTH, Truth, claps_of, held_up, perform, review_of
from proctor_rehearsal.kitchen.sensors import Simulated
from proctor_rehearsal.kitchen.settings import SimulateSettings

__all__ = ["STREAMS", "SimulatedRecording", "simulate"]

_IMU: dict[str, float | str] = {"clock": "imu", "drift_ppm": 40, "offset_s": 7, "latency_ms": 6, "jitter_ms": 2}  # fmt: skip
STREAMS: Final[dict[str, tuple[str, dict[str, float | str]]]] = {
    "pv": ("video", {"drift_ppm": 25, "offset_s": 100, "latency_ms": 30, "jitter_ms": 4}),
    "depth": ("depth", {"drift_ppm": -15, "offset_s": 40, "latency_ms": 45, "jitter_ms": 6}),
    **{kind: ("imu", {**_IMU, "kind": kind}) for kind in ("accelerometer", "gyroscope", "magnetometer")},
    "audio": ("audio", {"drift_ppm": -30, "offset_s": 3, "latency_ms": 24, "jitter_ms": 3}),
}
"""Streams of the default set with plug-in (``sim.…``) and options; each device has a clock with faults of its own."""
_START_NS: Final = 1_000_000_000_000
_Made: TypeAlias = tuple[Truth, Manifest]
_ACTS: Final = ("clap", "step_start", "step_done", "oops")


class SimulatedRecording(msgspec.Struct, frozen=True):
    """What became of a recording: its state, how many seconds it has, and how many mistakes were made."""

    id: str
    state: State
    seconds: float
    mistakes: int


def simulate(
    root: Path, settings: SimulateSettings, *, seen: Callable[[str], None] = lambda _: None
) -> list[SimulatedRecording]:
    """Make the recordings of a workspace's plan that are still to do, or those that are named; returns what became of each.

    Raises:
        UserError: if there is no plan, a named recording is none of it or over, or the settings do not go together.
    """
    from proctor.capture.plan import read_plan, read_scripts

    Workspace(root).require_folder()
    scripts, slots = read_scripts(root), {slot.id: slot for slot in read_plan(root).slots}
    made = []
    for name in settings.recording or slots:
        if (slot := slots.get(name)) is None:
            hint = f"proctor capture plan {root}"
            raise UserError(f"no recording '{name[:40]}' is planned.", where=str(root), hint=hint)
        folder, goes_on = recording_folder(root, name), settings.live and settings.resume
        state = there.state if (there := read_manifest(folder)) else "planned"
        if state not in ("planned", *["interrupted"] * goes_on):
            hint = "--live --resume goes on with it" if state == "interrupted" else "it is left as it is"
            if settings.recording:
                raise UserError(f"the recording is {state}.", where=name, hint=hint)
            seen(f"{name}: {state}; {hint}")
            continue
        prepared = (folder / SCRIPT).exists()
        script: Script = read_json(folder / SCRIPT, Script) if prepared else scripts[slot.script]
        who = {key: value for key, value in asdict(slot).items() if key not in ("script", "day")}
        start = Manifest(**who, simulated=True)
        if settings.live:
            truth, manifest = asyncio.run(_live(folder, start, script, settings))
        else:
            truth, manifest = _at_once(folder, start, script, settings, slot.day)
        if manifest.state != "withdrawn":
            write_json(folder / TRUTH, truth)
            write_json(folder / REVIEW, review_of(script, truth))
        mistakes = sum(len(step.mistakes) for step in truth.steps) + len(script.left_out)
        made.append(SimulatedRecording(name, manifest.state, truth.seconds, mistakes))
        seen(f"{name}: {manifest.state}, {truth.seconds:.0f} s, {mistakes} mistakes")
    return made


def _truth(script: Script, recording: str, settings: SimulateSettings, start_ns: int) -> Truth:
    """Return what is going to happen."""
    seconds = settings.seconds or round(20 * len(script.steps) / settings.speed + 3, 3)
    seed, faults = f"{settings.seed}/{recording}", settings.faults()
    steps, acts = perform(script, seed, seconds, settings.slips)
    more = {"seed": seed, "claps": ",".join(f"{at:g}" for at in claps_of(acts))}
    sensors = tuple(
        SensorConfig(plugin=f"sim.{STREAMS[name][0]}", name=name, options={**STREAMS[name][1], **more, **faults[name]})
        for name in settings.stream or STREAMS
    )  # fmt: skip
    for sensor in sensors:
        make_sensor(sensor)  # what is wrong with one is told before anything is written
    return Truth(recording, settings.seed, start_ns, seconds, sensors, claps_of(acts), steps, acts)


class _Told(Clock):
    """A clock that is told what time it is."""

    def __init__(self, day: str) -> None:
        begun = datetime.fromisoformat(f"{day or '2026-01-01'}T09:00:00+00:00")
        self.now_ns, self._offset_ns = _START_NS, int(begun.timestamp()) * 10**9 - _START_NS

    def mono_ns(self) -> int:
        return self.now_ns

    def wall_ns(self) -> int:
        return self.now_ns + self._offset_ns


def _at_once(folder: Path, manifest: Manifest, script: Script, settings: SimulateSettings, day: str) -> _Made:
    """Write a recording as the recorder would; what such a run left that was interrupted is removed."""
    truth, clock = _truth(script, manifest.id, settings, _START_NS), _Told(day)
    shutil.rmtree(folder / "raw", ignore_errors=True)
    (folder / EVENTS).unlink(missing_ok=True)
    events = [(act.at_s, Event(n=0, kind=act.kind, step=act.step)) for act in truth.acts]
    events += [(0.0, Event(n=0, kind="state", text=text)) for text in ("armed", "recording")]
    specs = []
    for config in truth.sensors:
        sensor = make_sensor(config)
        assert isinstance(sensor, Simulated)
        specs.append(sensor.spec)
        writer = SegmentWriter(folder / "raw" / config.name)
        for times in sensor.times(truth.seconds, _START_NS):
            for sample in sensor.samples(times, _START_NS):
                writer.add(sample)
        writer.close()
        for begin, length in sensor.faults.gaps:
            start, end = (_START_NS + int(at * 1e9) for at in (begin, begin + length))
            gap = Event(n=0, kind="gap", stream=config.name, start_ns=start, end_ns=end)
            events += [(begin + length, gap)] if length >= 1 else []
    write_json(folder / SCRIPT, script)
    begun = {"host_start_ns": _START_NS, "wall_start": clock.label()}
    manifest = replace(manifest, state="recording", streams=tuple(specs), **begun)
    log = EventLog(folder, clock)
    for at, event in sorted(events, key=lambda one: one[0]):
        clock.now_ns = _START_NS + int(at * 1e9)
        log.add(event)
    clock.now_ns = _START_NS + int(truth.seconds * 1e9)
    save_manifest(folder, manifest, new=True)
    return truth, finish(folder, manifest, log, "stopped", ())


async def _live(folder: Path, manifest: Manifest, script: Script, settings: SimulateSettings) -> _Made:
    """Record in real time; what was done before is not done again. Sensors read in the file of the truth when they begin."""
    path = (folder / TRUTH).absolute()
    truth = read_json(path, Truth) if path.exists() else _truth(script, manifest.id, settings, 0)
    configs = [replace(c, options={**c.options, "truth": str(path)}) for c in truth.sensors]
    recorder = Recorder(folder, manifest, script, configs, resume=settings.resume)
    await recorder.arm()
    before: list[Event] = read_jsonl(folder / EVENTS, Event)
    done = sum(event.kind in _ACTS for event in before)
    now = time.monotonic_ns()
    if recorder.manifest.host_start_ns is None:
        truth = replace(truth, start_ns=now + 300_000_000)
    truth = held_up(truth, done, (now - truth.start_ns) / 1e9)
    write_json(path, truth)
    await recorder.start()
    try:
        for act in truth.acts[done:]:
            await asyncio.sleep(max(0.0, truth.start_ns / 1e9 + act.at_s - time.monotonic()))
            if not recorder.over.is_set():
                await recorder.mark(Event(n=0, kind=act.kind, step=act.step))
        await asyncio.sleep(max(0.0, truth.start_ns / 1e9 + truth.seconds - time.monotonic()))
    finally:
        ended = await recorder.stop()
    return truth, ended

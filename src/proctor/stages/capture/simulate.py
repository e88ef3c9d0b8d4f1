"""``proctor capture simulate``: recordings of the plan by a simulated participant in front of simulated sensors. docs/capture.md.

Written at once, they are byte for byte the same for the same seed; live, the recorder itself runs, may be killed, and goes on.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from proctor.capture.clock import Clock
from proctor.capture.kitchen import TRUTH, Truth, claps_of, held_up, perform, review_of
from proctor.capture.recorder import Recorder
from proctor.capture.records import (
    EVENTS,
    REVIEW,
    SCRIPT,
    Event,
    Manifest,
    Script,
    Slot,
    State,
    recording_folder,
)  # fmt: skip
from proctor.capture.segments import SegmentWriter
from proctor.capture.sensor import Option, SensorConfig, make_sensor
from proctor.capture.sensors.sim import Simulated
from proctor.capture.session import EventLog, finish, read_manifest, save_manifest
from proctor.errors import UserError
from proctor.records import read_json, read_jsonl, write_json
from proctor.stages.capture.settings import SimulateSettings

__all__ = ["STREAMS", "SimulatedRecording", "simulate"]

_IMU: Final[dict[str, Option]] = {
    "clock": "imu",
    "drift_ppm": 40.0,
    "offset_s": 7.0,
    "latency_ms": 6.0,
    "jitter_ms": 2.0,
}
STREAMS: Final = (
    (
        "sim.video",
        "pv",
        {"drift_ppm": 25.0, "offset_s": 100.0, "latency_ms": 30.0, "jitter_ms": 4.0, "wobble_ms": 1.0},
    ),
    ("sim.depth", "depth", {"drift_ppm": -15.0, "offset_s": 40.0, "latency_ms": 45.0, "jitter_ms": 6.0}),
    ("sim.imu", "accelerometer", {**_IMU, "kind": "accelerometer"}),
    ("sim.imu", "gyroscope", {**_IMU, "kind": "gyroscope"}),
    ("sim.imu", "magnetometer", {**_IMU, "kind": "magnetometer"}),
    ("sim.audio", "audio", {"drift_ppm": -30.0, "offset_s": 3.0, "latency_ms": 24.0, "jitter_ms": 3.0}),
)
"""Plug-ins, names and options of the default set; each device has a clock with faults of its own."""
_START_NS: Final = 1_000_000_000_000
_ACTS: Final = ("clap", "step_start", "step_done", "oops")


class SimulatedRecording(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a recording: its state, how long it is, and how many mistakes were made."""

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

    scripts, slots = read_scripts(root), {slot.id: slot for slot in read_plan(root).slots}
    done = []
    for slot in [slots.get(name) or _unknown(name, root) for name in settings.recording] or slots.values():
        folder = recording_folder(root, slot.id)
        there = read_manifest(folder)
        state = there.state if there else "planned"
        if state not in ("planned", "interrupted") or (
            state == "interrupted" and not (settings.live and settings.resume)
        ):
            hint = "--live --resume goes on with it" if state == "interrupted" else ""
            if settings.recording:
                raise UserError(f"the recording is {state}.", where=slot.id, hint=hint)
            seen(f"{slot.id}: {state}; {hint or 'left as it is'}")
            continue
        prepared = folder / SCRIPT
        script = read_json(prepared, Script) if prepared.exists() else scripts[slot.script]
        manifest = Manifest(
            id=slot.id, activity=slot.activity, participant=slot.participant, environment=slot.environment,
            strategy=slot.strategy, simulated=True,
        )  # fmt: skip
        write = (
            asyncio.run(_live(folder, manifest, script, settings))
            if settings.live
            else _at_once(folder, slot, manifest, script, settings)
        )
        done.append(write)
        seen(f"{slot.id}: {write.state}, {write.seconds:.0f} s, {write.mistakes} mistakes")
    return done


def _unknown(name: str, root: Path) -> Slot:
    raise UserError(
        f"no recording '{name[:40]}' is planned.", where=str(root), hint="proctor capture plan WORKSPACE"
    )


def _truth(script: Script, recording: str, settings: SimulateSettings, start_ns: int) -> Truth:
    """Return what is going to happen."""
    seconds = settings.seconds or round(20 * len(script.steps) / settings.speed + 3, 3)
    steps, acts = perform(script, f"{settings.seed}/{recording}", seconds, settings.slips)
    claps = claps_of(acts)
    return Truth(
        recording=recording, seed=settings.seed, start_ns=start_ns, seconds=seconds,
        sensors=tuple(_sensors(settings, recording, claps)), claps=claps, steps=steps, acts=acts,
    )  # fmt: skip


def _sensors(settings: SimulateSettings, recording: str, claps: Iterable[float]) -> Iterable[SensorConfig]:
    names = [name for _, name, _ in STREAMS]
    faults: dict[str, dict[str, Option]] = {name: {} for name in names}
    for fault in settings.fault:
        front, _, value = fault.partition("=")
        stream, _, option = front.partition(".")
        if stream not in faults or not option or not value:
            raise UserError(
                f"'{fault[:60]}' is no fault of a stream.",
                where="--fault",
                hint=f"pv.gaps=5+2; {', '.join(names)}",
            )
        try:
            faults[stream][option] = msgspec.json.decode(value, type=bool | int | float)
        except msgspec.MsgspecError:
            faults[stream][option] = value
    if wrong := set(settings.stream) - set(names):
        raise UserError(f"there is no stream '{min(wrong)[:40]}'.", where="--stream", hint=", ".join(names))
    for plugin, name, options in STREAMS:
        if name in (settings.stream or names):
            told: dict[str, Option] = {"seed": f"{settings.seed}/{recording}"}
            if plugin != "sim.depth":
                told["claps"] = ",".join(f"{clap:g}" for clap in claps)
            yield SensorConfig(plugin=plugin, name=name, options={**told, **options, **faults[name]})


def _said(script: Script, truth: Truth, folder: Path, manifest: Manifest) -> SimulatedRecording:
    """Write down what the participant says afterwards and what really happened."""
    write_json(folder / TRUTH, truth)
    if manifest.state != "withdrawn":
        write_json(folder / REVIEW, review_of(script, truth))
    mistakes = sum(len(step.mistakes) for step in truth.steps) + len(script.left_out)
    return SimulatedRecording(
        id=truth.recording, state=manifest.state, seconds=truth.seconds, mistakes=mistakes
    )


# -- at once -----------------------------------------------------------------------------------------------------


class _Told(Clock):
    """A clock that is told what time it is."""

    def __init__(self, day: str) -> None:
        self.now_ns = _START_NS
        self._wall_ns = (
            int(datetime.fromisoformat(f"{day or '2026-01-01'}T09:00:00+00:00").timestamp()) * 10**9
        )

    def mono_ns(self) -> int:
        return self.now_ns

    def wall_ns(self) -> int:
        return self._wall_ns + self.now_ns - _START_NS


def _at_once(
    folder: Path, slot: Slot, manifest: Manifest, script: Script, settings: SimulateSettings
) -> SimulatedRecording:
    shutil.rmtree(
        folder / "raw", ignore_errors=True
    )  # of a run that was interrupted: no manifest says that it was recorded
    (folder / EVENTS).unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    truth, clock = _truth(script, slot.id, settings, _START_NS), _Told(slot.day)
    events = [(act.at_s, Event(n=0, kind=act.kind, step=act.step)) for act in truth.acts]
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
            if length >= 1:
                start, end = (_START_NS + int(at * 1e9) for at in (begin, begin + length))
                events.append(
                    (begin + length, Event(n=0, kind="gap", stream=config.name, start_ns=start, end_ns=end))
                )
    write_json(folder / SCRIPT, script)
    log = EventLog(folder, clock)
    for text in ("armed", "recording"):
        log.add(Event(n=0, kind="state", text=text))
    for at, event in sorted(events, key=lambda one: one[0]):
        clock.now_ns = _START_NS + int(at * 1e9)
        log.add(event)
    clock.now_ns = _START_NS + int(truth.seconds * 1e9)
    begun = msgspec.structs.replace(
        manifest,
        state="recording",
        streams=tuple(specs),
        host_start_ns=_START_NS,
        wall_start=_Told(slot.day).label(),
    )
    save_manifest(folder, begun, new=True)
    return _said(script, truth, folder, finish(folder, begun, log, "stopped", ()))


# -- live --------------------------------------------------------------------------------------------------------


async def _live(
    folder: Path, manifest: Manifest, script: Script, settings: SimulateSettings
) -> SimulatedRecording:
    """Record in real time; what was done before an interruption is not done again."""
    path = (folder / TRUTH).absolute()
    truth = read_json(path, Truth) if path.exists() else _truth(script, manifest.id, settings, 0)
    configs = [msgspec.structs.replace(c, options={**c.options, "truth": str(path)}) for c in truth.sensors]
    recorder = Recorder(folder, manifest, script, configs, resume=settings.resume)
    await recorder.arm()
    last = read_jsonl(folder / EVENTS, Event)
    done = sum(event.kind in _ACTS for event in last)
    now = time.monotonic_ns()
    if recorder.manifest.host_start_ns is None or not truth.start_ns:
        truth = msgspec.structs.replace(truth, start_ns=now + 300_000_000)
    truth = held_up(truth, done, (now - truth.start_ns) / 1e9)
    write_json(path, truth)
    await recorder.start()
    try:
        for act in truth.acts[done:]:
            await asyncio.sleep(max(0.0, truth.start_ns / 1e9 + act.at_s - time.monotonic()))
            if recorder.over.is_set():
                break
            await recorder.mark(Event(n=0, kind=act.kind, step=act.step))
        await asyncio.sleep(max(0.0, truth.start_ns / 1e9 + truth.seconds - time.monotonic()))
    finally:
        ended = await recorder.stop()
    return _said(script, truth, folder, ended)

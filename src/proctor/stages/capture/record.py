"""Record one session: sensors from a file, what to do from the plan, until it is stopped. docs/capture.md, *Recording*."""

from __future__ import annotations

import asyncio
import signal
import tomllib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from proctor.capture.control import Status
from proctor.capture.queue import QueueSettings
from proctor.capture.recorder import Recorder
from proctor.capture.records import Check, Manifest, Script, capture_folder, recording_folder
from proctor.capture.sensor import SensorConfig
from proctor.capture.session import close_session
from proctor.errors import UserError
from proctor.records import read_bytes
from proctor.stages.capture.settings import RecordSettings
from proctor.workspace import Workspace

__all__ = ["Recorded", "read_sensors", "record"]

_SENSORS: Final = "sensors.toml"


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it: the manifest, what the preflight found, and the last status."""

    manifest: Manifest
    checks: tuple[Check, ...] = ()
    status: Status | None = None


def read_sensors(path: Path) -> list[SensorConfig]:
    """Return the tables ``[[sensor]]`` of a file; what is neither plugin, name nor required is an option of the plug-in.

    Raises:
        UserError: naming file and table, if one is wrong.
    """
    try:
        file = tomllib.loads(read_bytes(path).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"not TOML: {error}", where=str(path), hint="correct the file") from None
    hint = '[[sensor]], plugin = "sim.video", name = "rgb"'
    tables = file.pop("sensor", None)
    if file or not isinstance(tables, list) or not tables:
        seen = ", ".join(sorted(file)) or "nothing"
        raise UserError(f"tables [[sensor]] were expected, there is {seen[:80]}.", where=str(path), hint=hint)
    found: list[SensorConfig] = []
    for number, table in enumerate(tables, 1):
        where = f"{path}: sensor {number}"
        own = {k: v for k, v in table.items() if k in ("plugin", "name", "required")}
        try:
            options = {k: v for k, v in table.items() if k not in own}
            found.append(msgspec.convert({**own, "options": options}, SensorConfig))
        except msgspec.ValidationError as error:
            raise UserError(f"{error}.", where=where, hint=hint) from None
        if found[-1].name in {s.name for s in found[:-1]}:
            raise UserError(f"the name '{found[-1].name}' is taken.", where=where, hint="give another one")
    return found


def record(
    workspace: Path, settings: RecordSettings, *, seen: Callable[[Status], None] | None = None
) -> Recorded:
    """Record, check or close one session.

    Args:
        workspace: with the plan.
        settings: see there.
        seen: is told the status twice a second.

    Raises:
        UserError: if sensors or plan are wrong, a check of what is required fails, or the folder cannot be used.
    """
    Workspace(workspace).require_folder()
    folder = recording_folder(workspace, settings.recording)
    if settings.close:
        return Recorded(manifest=close_session(folder))
    sensors = read_sensors(settings.sensors or capture_folder(workspace) / _SENSORS)
    manifest, script = _planned(workspace, settings)
    manifest = msgspec.structs.replace(manifest, simulated=all(s.plugin.startswith("sim.") for s in sensors))
    return asyncio.run(_record(folder, manifest, script, sensors, settings, seen or (lambda _: None)))


def _planned(workspace: Path, settings: RecordSettings) -> tuple[Manifest, Script | None]:
    """Return what the plan says of a recording, or the options where it is not in it."""
    if settings.activity is not None:
        mine = Manifest(
            id=settings.recording, activity=settings.activity, participant=settings.participant,
            environment=settings.environment,
        )  # fmt: skip
        return mine, None
    from proctor.capture.plan import read_plan, read_scripts

    slot = next((s for s in read_plan(workspace).slots if s.id == settings.recording), None)
    script = read_scripts(workspace).get(slot.script) if slot is not None else None
    if slot is None or script is None:
        what = "no such recording is planned" if slot is None else f"its script '{slot.script}' is not there"
        raise UserError(
            f"{what}.", where=settings.recording, hint="proctor capture plan, or name its --activity"
        )
    return Manifest(
        id=slot.id, activity=slot.activity, participant=slot.participant or settings.participant, environment=slot.environment,
        strategy=slot.strategy,
    ), script  # fmt: skip


async def _record(
    folder: Path, manifest: Manifest, script: Script | None, sensors: list[SensorConfig],
    settings: RecordSettings, seen: Callable[[Status], None],
) -> Recorded:  # fmt: skip
    recorder = Recorder(
        folder, manifest, script, sensors, queue=QueueSettings(redis=settings.redis or ""),
        resume=settings.resume, serve=settings.serve,
    )  # fmt: skip
    enough = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(ValueError, RuntimeError, NotImplementedError):  # not in the main thread
            asyncio.get_running_loop().add_signal_handler(number, enough.set)
    ends = {asyncio.create_task(recorder.over.wait()), asyncio.create_task(enough.wait())}
    try:
        checks = await recorder.preflight()
        if settings.preflight:
            return Recorded(manifest=recorder.manifest, checks=tuple(checks), status=recorder.status())
        if not settings.serve:
            await recorder.start()
        while not recorder.over.is_set() and not enough.is_set():
            seen(recorder.status())
            left = 0.5
            if settings.seconds is not None:
                left = min(left, settings.seconds - recorder.status().elapsed_s)
            if left <= 0:
                break
            await asyncio.wait(ends, timeout=left, return_when=asyncio.FIRST_COMPLETED)
    finally:
        done = await recorder.stop()
        for task in ends:
            task.cancel()
    if settings.serve:
        await asyncio.sleep(0.3)  # who said stop is still to be answered
    return Recorded(manifest=done, checks=tuple(checks), status=recorder.status())

"""What a sensor is: anything that sends samples with times. Other packages bring theirs by the entry point ``proctor.sensors``.

A plug-in is a function ``(name, options) -> Sensor``; ``name`` is the stream's, ``options`` are the rest of
its table in the file of sensors (docs/capture.md, *Sensors*).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Final, Protocol, TypeAlias

import msgspec

from proctor.capture.records import Check, StreamName, StreamSpec
from proctor.errors import UserError
from proctor.plugins import load_plugin

__all__ = ["ClockSample", "Context", "Options", "Sensor", "SensorConfig", "StopReport", "make_sensor"]

GROUP: Final = "proctor.sensors"
Option: TypeAlias = "bool | int | float | str"
Options: TypeAlias = Mapping[str, Option]


class SensorConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A table ``[[sensor]]``: the plug-in (or ``module:function``), its stream, and its options."""

    plugin: str
    name: StreamName
    required: bool = True
    options: dict[str, Option] = {}


class ClockSample(msgspec.Struct, frozen=True, kw_only=True):
    """A two-way probe of a device's clock: its time, the host's in the middle of the probe, and the round trip."""

    device_ns: int
    host_ns: int
    rtt_ns: int


class StopReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a sensor says at the end: samples sent, files it wrote into its folder, what is missing."""

    sent: int = 0
    files: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


class Context(Protocol):
    """What a running sensor may do; ``folder`` is that of its stream, for sensors whose samples are files."""

    folder: Path

    async def emit(self, device_ns: int, payload: bytes, host_ns: int | None = None) -> None:
        """Hand a sample on; waits while the queue is full and its policy is ``block``. ``host_ns`` is now by default."""

    def said(self, text: str) -> None:
        """Note something in the events of the recording (kind ``sensor``)."""


class Sensor(Protocol):
    """A source of one stream.

    ``run`` sends samples until it is cancelled or the source ends. If it raises, the recorder notes why,
    waits and runs it again; the stream's sequence goes on. ``spec`` may change before the first sample is
    sent (a camera tells its size only when it runs).
    """

    spec: StreamSpec

    async def preflight(self) -> list[Check]:
        """Look whether it can run; nothing is recorded."""

    async def run(self, context: Context) -> None:
        """Send samples."""

    async def stop(self) -> StopReport:
        """Finish after ``run`` was ended: fetch files, close devices."""

    async def clock_probe(self) -> ClockSample | None:
        """Compare the device's clock with ours; None where a device cannot."""


def make_sensor(config: SensorConfig) -> Sensor:
    """Return the sensor of a table; raises UserError if there is no such plug-in, or it or an option is wrong."""
    known = entry_points(group=GROUP)
    found = [entry for entry in known if entry.name == config.plugin]
    if ":" in config.plugin:
        found = [EntryPoint(config.plugin, config.plugin, GROUP)]
    if not found:
        names = ", ".join(sorted({entry.name for entry in known}))
        raise UserError(f"there is no sensor '{config.plugin[:40]}'.", hint=f"sensors: {names}")
    what = f"the sensor '{config.plugin}'"
    factory: Callable[[str, Options], Sensor] = load_plugin(
        found, what, "a function (name, options)", callable
    )
    return factory(config.name, config.options)

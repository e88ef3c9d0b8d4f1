"""Recordings for the tests: simulated times, samples on disk as the recorder writes them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from proctor.capture.records import EVENTS, MANIFEST, Event, Manifest, Sample, StreamSpec
from proctor.capture.segments import SegmentWriter
from proctor.capture.simulated import Faults, SensorTimes, sensor_times
from proctor.records import write_json, write_jsonl

START = 123_456_789_012_345
VIDEO = StreamSpec(name="video", kind="video", format="jpeg", rate_hz=30.0, clock="video")
IMU = StreamSpec(
    name="imu",
    kind="imu",
    format="f4",
    rate_hz=200.0,
    clock="imu",
    columns=("ax", "ay", "az"),
    units=("m/s^2",) * 3,
)
SOUND = StreamSpec(
    name="sound",
    kind="audio",
    format="s16",
    rate_hz=50.0,
    clock="sound",
    sample_rate=48_000,
    channels=1,
    can_drop=False,
)


def sine(at_s: float) -> bytes:
    """Three axes of 2 Hz."""
    return struct.pack("<3f", *(np.sin(2 * np.pi * 2 * at_s + p) for p in (0, 2, 4)))


def recording(
    folder: Path,
    streams: Mapping[StreamSpec, Faults],
    seconds: float = 60.0,
    payloads: Mapping[str, Callable[[int, float], bytes]] | None = None,
    events: tuple[Event, ...] = (),
    wall: str = "2026-01-01T10:00:00+00:00",
) -> dict[str, SensorTimes]:
    """Write a recording that is over and return the true times of its streams; ``payloads`` are of number and second."""
    found = {}
    for spec, faults in streams.items():
        times = sensor_times(spec.rate_hz, seconds, faults, spec.name, start_ns=START)
        make = (payloads or {}).get(
            spec.name, (lambda n, s: sine(s)) if spec.format == "f4" else (lambda n, s: b"x")
        )
        writer = SegmentWriter(folder / "raw" / spec.name)
        for device, host, true, n in zip(
            times.device_ns, times.host_ns, times.true_ns, times.taken, strict=True
        ):
            writer.add(Sample(int(device), int(host), make(int(n), (int(true) - START) / 1e9)))
        writer.close()
        found[spec.name] = times
    write_json(
        folder / MANIFEST,
        Manifest(
            id=folder.name, state="stopped", streams=tuple(streams), host_start_ns=START, wall_start=wall,
            host_end_ns=START + int(seconds * 1e9),
        ),
    )  # fmt: skip
    write_jsonl(folder / EVENTS, events)
    return found

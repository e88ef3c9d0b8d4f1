"""Simulated sensors: what they send, when, and with which faults."""

from __future__ import annotations

import asyncio
import io
import itertools
import struct
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.capture.sensors.sensing import Kept, counter

from proctor.capture.host import _mismatch
from proctor.capture.sensor import SensorConfig, make_sensor
from proctor.errors import UserError
from proctor_rehearsal.kitchen import sensors as sim

MAKERS = {"video": sim.video, "depth": sim.depth, "imu": sim.imu, "audio": sim.audio}


@pytest.mark.parametrize("kind", MAKERS)
def test_samples_are_what_the_stream_says_and_the_same_for_the_same_seed(kind: str) -> None:
    options = {"seed": "a", "claps": "0.5", "jitter_ms": 3.0, "drift_ppm": 40.0}
    sensor, same, other = (MAKERS[kind]("s", {**options, "seed": seed}) for seed in "aab")
    found, again, different = (
        [sample for times in one.times(1.2, 10**12) for sample in one.samples(times, 10**12)]
        for one in (sensor, same, other)
    )
    assert found == again != different
    assert len(found) == int(1.2 * sensor.spec.rate_hz)
    assert not any(_mismatch(sensor.spec, sample.payload) for sample in found)
    plugin = SensorConfig(plugin=f"sim.{kind}", name="s", options=options)
    assert make_sensor(plugin).spec == sensor.spec


def test_a_clap_is_seen_heard_and_felt_at_the_same_moment() -> None:
    options = {"claps": "1.0,2.5"}
    pictures, vectors, sound = sim.video("v", options), sim.imu("i", options), sim.audio("a", options)
    (frames,) = pictures.times(3, 0)
    white = [np.asarray(Image.open(io.BytesIO(s.payload))).min() > 250 for s in pictures.samples(frames, 0)]
    seen = [frames.true_ns[n] / 1e9 for n in np.flatnonzero(white)]
    assert seen == pytest.approx([1.0, 1 + 1 / 30, 1 + 2 / 30, 2.5, 2.5 + 1 / 30, 2.5 + 2 / 30])
    (times,) = vectors.times(3, 0)
    felt = [s for s in vectors.samples(times, 0) if struct.unpack("<3f", s.payload)[2] > 40]
    moments = [s.device_ns / 1e9 for s in felt]
    assert moments[:2] == [1.0, 1.005]
    assert [at for at in moments if at > 2][:2] == [2.5, 2.505]
    assert len(moments) <= 6
    (blocks,) = sound.times(3, 0)
    heard = np.abs(np.frombuffer(b"".join(s.payload for s in sound.samples(blocks, 0)), "<i2"))
    loud = np.flatnonzero(heard > 5_000) / 48_000
    assert loud.min() == pytest.approx(1.0, abs=0.001)
    assert loud[loud > 2].min() == pytest.approx(2.5, abs=0.001)
    assert np.median(heard) < 100


def test_vectors_are_sines_with_gravity_and_other_units_are_said_or_not() -> None:
    sensor = sim.imu("i", {"hz": 2.0})
    (times,) = sensor.times(2, 0)
    found = np.array([struct.unpack("<3f", s.payload) for s in sensor.samples(times, 0)])
    assert np.abs(found[:, 0] - np.sin(2 * np.pi * 2 * times.true_ns / 1e9)).max() < 1e-6
    assert found[:, 2].mean() == pytest.approx(9.80665, abs=0.01)
    for kind, unit, other, factor in (
        ("accelerometer", "m/s^2", "g", 1 / 9.80665),
        ("gyroscope", "rad/s", "deg/s", 180 / np.pi),
    ):
        usual, said, hidden = (
            sim.imu("i", {"kind": kind, **more})
            for more in ({}, {"other_unit": other}, {"other_unit": other, "undeclared": True})
        )
        assert (usual.spec.units[0], said.spec.units[0], hidden.spec.units[0]) == (unit, other, unit)
        values = [struct.unpack("<3f", sensor.make(7, 0.1))[2] for sensor in (usual, said, hidden)]
        assert values[1] == values[2] == pytest.approx(values[0] * factor, rel=1e-5)


def test_times_of_a_long_recording_are_made_in_parts_with_every_fault_in_its_place() -> None:
    faults = {
        "drift_ppm": 100.0,
        "offset_s": 5.0,
        "gaps": "590+30,700+1",
        "jumps": "610:-3,1300:7",
        "resets": "1250",
    }
    sensor = sim.imu("i", {**faults, "rate_hz": 10.0, "latency_ms": 4.0})
    found = list(sensor.times(1_500, 10**12))
    assert len(found) == 3
    true, device, host, taken = (np.concatenate(parts) for parts in zip(*found, strict=True))
    at = (true - 10**12) / 1e9
    assert taken == pytest.approx(np.rint(at * 10))
    assert (np.diff(host) >= 0).all()
    assert [at[n] for n in np.flatnonzero(np.diff(at) > 0.5)] == pytest.approx([589.9, 699.9])
    expected = 5 + at * (1 + 1e-4) + np.where(at >= 610, -3, 0) + np.where(at >= 1_300, 7, 0)
    expected = np.where(at >= 1_250, (at - 1_250) * (1 + 1e-4), expected)
    assert np.abs(device / 1e9 - expected).max() < 1e-6
    endless = sensor.times(365 * 86_400)
    assert [len(part.true_ns) for part in itertools.islice(endless, 3)] == [5_900, 5_790, 6_000]


def test_live_samples_come_when_they_are_due_and_a_source_that_died_goes_on_with_its_clock(
    tmp_path: Path,
) -> None:
    sensor, kept = (
        sim.imu(
            "i", {"rate_hz": 100.0, "die_after": 0.3, "silent_from": 0.6, "silent_for": 0.3, "seconds": 1.2}
        ),
        Kept(tmp_path),
    )

    async def play() -> tuple[int, int]:
        begun = time.monotonic_ns()
        with pytest.raises(ConnectionError, match="died"):
            await sensor.run(kept)
        before = len(kept.samples)
        await sensor.run(kept)  # the recorder runs it again; it ends after its seconds
        return before, begun

    before, begun = asyncio.run(play())
    devices = np.array([device for device, _, _ in kept.samples])
    hosts = np.array([host for _, _, host in kept.samples])
    assert before <= 30
    assert (hosts - begun - devices >= 4_000_000).all()  # none before it was due
    assert (np.diff(devices) > 0).all()
    assert np.diff(devices).max() >= 300_000_000
    assert asyncio.run(sensor.stop()).sent == len(kept.samples)


@pytest.mark.parametrize(
    ("kind", "options", "told"),
    [
        ("video", {"speed": 3}, "'speed' is no fault"),
        ("video", {"width": 10}, "pixels"),
        ("video", {"rate_hz": -1.0}, "samples a second"),
        ("video", {"claps": "soon"}, "list of seconds"),
        ("imu", {"kind": "sonar"}, "sonar"),
        ("imu", {"other_unit": "furlong"}, "furlong"),
        ("audio", {"gaps": "x"}, "list of times"),
    ],
)
def test_wrong_options_are_told(kind: str, options: dict[str, object], told: str) -> None:
    with pytest.raises(UserError, match=told):
        MAKERS[kind]("s", options)  # type: ignore[arg-type]


def test_depth_is_in_millimetres_and_numbered() -> None:
    image = np.asarray(Image.open(io.BytesIO(sim.depth_image(70_000))))
    assert image.dtype == np.uint16
    assert image.shape == (288, 320)
    assert image[0, 0] == 70_000 % 65_536
    assert 400 < np.median(image) < 1_100
    assert counter(np.asarray(Image.open(io.BytesIO(sim.picture("s", 9, (320, 180)))))) == 9

"""Simulated recordings: the same bytes at once, and live through a SIGKILL."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest

from proctor.capture.kitchen import TRUTH, Truth
from proctor.capture.plan import Plan
from proctor.capture.records import (
    EVENTS,
    MANIFEST,
    REVIEW,
    SCRIPT,
    Event,
    Manifest,
    PlannedMistake,
    Review,
    Script,
    ScriptStep,
    Slot,
)
from proctor.capture.segments import load_index, load_vectors
from proctor.capture.sensor import make_sensor
from proctor.capture.sensors.sim import Simulated
from proctor.errors import UserError
from proctor.records import file_sha256, read_json, read_jsonl, write_json, write_jsonl
from proctor.stages.capture.settings import SimulateSettings
from proctor.stages.capture.simulate import STREAMS, simulate

STEPS = ("fill", "boil", "pour", "steep")
LIVE = """
import sys
from pathlib import Path
import msgspec
from proctor.stages.capture.settings import SimulateSettings
from proctor.stages.capture.simulate import simulate
simulate(Path(sys.argv[1]), msgspec.json.decode(sys.argv[2].encode(), type=SimulateSettings))
"""


def _workspace(root: Path, recordings: int = 1) -> Path:
    steps = tuple(ScriptStep(step=name, text=f"{name.title()} it") for name in STEPS)
    missing = PlannedMistake(step="stir", kind="missing")
    slow = PlannedMistake(step="steep", kind="timing", text="for 1 minute")
    scripts = [
        Script(
            id=f"tea-{n}",
            activity="tea",
            title="Tea",
            strategy="induced",
            steps=steps,
            left_out=("stir",),
            mistakes=(missing, slow),
        )
        for n in range(recordings)
    ]
    slots = tuple(
        Slot(
            id=f"tea-{n}-P1",
            script=f"tea-{n}",
            activity="tea",
            participant="P1",
            environment="kitchen",
            strategy="induced",
        )
        for n in range(recordings)
    )
    write_jsonl(root / "capture" / "scripts.jsonl", scripts)
    plan = Plan(
        seed=1, participants=("P1",), environments=("kitchen",), strategies={"induced": 1}, slots=slots
    )
    write_json(root / "capture" / "plan.json", plan)
    return root


def _bytes(root: Path) -> dict[str, str]:
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def test_whole_recordings_are_written_at_once_with_the_same_bytes_for_the_same_seed(tmp_path: Path) -> None:
    settings = SimulateSettings(
        seconds=12, slips=0.5, fault=("pv.gaps=5+2", "audio.drift_ppm=80", "gyroscope.other_unit=deg/s")
    )
    (made,) = simulate(_workspace(tmp_path / "a"), settings)
    simulate(_workspace(tmp_path / "b"), settings)
    assert _bytes(tmp_path / "a") == _bytes(tmp_path / "b")
    simulate(_workspace(tmp_path / "c"), msgspec.structs.replace(settings, seed="1"))
    folder, other = (tmp_path / name / "capture" / "recordings" / "tea-0-P1" for name in "ac")
    assert (folder / "raw/pv/seg-000001.bin").read_bytes() != (other / "raw/pv/seg-000001.bin").read_bytes()

    manifest: Manifest = read_json(folder / MANIFEST, Manifest)
    assert (manifest.state, manifest.simulated, manifest.participant) == ("stopped", True, "P1")
    assert [spec.name for spec in manifest.streams] == list(STREAMS)
    assert manifest.streams[3].units == ("deg/s",) * 3
    assert all(file_sha256(folder / kept.path) == kept.sha256 for kept in manifest.files)
    assert {kept.path for kept in manifest.files} >= {EVENTS, SCRIPT, "raw/pv/seg-000001.bin"}
    events: list[Event] = read_jsonl(folder / EVENTS, Event)
    assert [event.n for event in events] == list(range(len(events)))
    assert [event.host_ns for event in events] == sorted(event.host_ns or 0 for event in events)
    assert [event.stream for event in events if event.kind == "gap"] == ["pv"]

    truth: Truth = read_json(folder / TRUTH, Truth)
    assert sum(len(step.mistakes) for step in truth.steps) + 1 == made.mistakes
    review: Review = read_json(folder / REVIEW, Review)
    assert [step.step for step in review.steps] == [*STEPS, "stir"]
    assert not review.steps[-1].done
    assert [seen.kind for seen in review.steps[-1].mistakes] == ["missing"]
    starts = {event.step: event.host_ns for event in events if event.kind == "step_start"}
    ends = {event.step: event.host_ns for event in events if event.kind == "step_done"}
    for step in truth.steps:
        if step.start_s is not None and step.end_s is not None:
            assert 0 <= step.start_s - ((starts[step.step] or 0) - truth.start_ns) / 1e9 < 0.5
            assert 0 < ((ends[step.step] or 0) - truth.start_ns) / 1e9 - step.end_s < 0.5
    for config, spec in zip(truth.sensors, manifest.streams, strict=True):  # truth makes the true times again
        sensor = make_sensor(config)
        assert isinstance(sensor, Simulated)
        (found,) = sensor.times(truth.seconds, truth.start_ns)
        index = load_index(folder / "raw" / spec.name)
        assert (index["device_ns"] == found.device_ns).all()
        assert (index["host_ns"] >= found.true_ns).all()
    (found,) = make_sensor(truth.sensors[2]).times(truth.seconds, 0)  # type: ignore[attr-defined]
    spikes = load_vectors(folder / "raw" / "accelerometer", manifest.streams[2])[:, 2] > 40
    at = found.true_ns[spikes] / 1e9
    assert [min(abs(at - clap)) < 0.01 for clap in truth.claps] == [True, True]
    assert len(truth.claps) == 2


def test_only_what_is_still_to_do_is_made(tmp_path: Path) -> None:
    root, said = _workspace(tmp_path, 2), list[str]()
    small = SimulateSettings(seconds=5, stream=("accelerometer",), recording=("tea-1-P1",))
    assert [made.id for made in simulate(root, small)] == ["tea-1-P1"]
    all_of_them = msgspec.structs.replace(small, recording=())
    assert [made.id for made in simulate(root, all_of_them, seen=said.append)] == ["tea-0-P1"]
    assert any("tea-1-P1: stopped" in text for text in said)
    assert simulate(root, all_of_them) == []
    with pytest.raises(UserError, match="stopped"):
        simulate(root, small)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"recording": ("nobody",)}, "no recording 'nobody'"),
        ({"fault": ("sonar.gaps=1+1",)}, "no fault of a stream"),
        ({"fault": ("pv",)}, "no fault"),
        ({"fault": ("pv.speed=3",)}, "'speed' is no fault"),
        ({"fault": ("pv.gaps=soon",)}, "no list of times"),
        ({"seconds": 2.0}, "too short"),
    ],
)
def test_wrong_settings_are_told_and_nothing_is_left(
    tmp_path: Path, wrong: dict[str, object], told: str
) -> None:
    root = _workspace(tmp_path)
    settings = msgspec.convert({"seconds": 5.0, **wrong}, SimulateSettings)
    with pytest.raises(UserError, match=told):
        simulate(root, settings)
    assert not list(root.rglob(MANIFEST))


def test_live_goes_on_after_the_recorder_was_killed_and_no_step_is_done_twice(tmp_path: Path) -> None:
    root = _workspace(tmp_path)
    folder = root / "capture" / "recordings" / "tea-0-P1"
    streams = ("pv", "accelerometer", "audio")
    settings = SimulateSettings(seconds=10, live=True, stream=streams, slips=0)
    command = [sys.executable, "-c", LIVE, str(root), msgspec.json.encode(settings).decode()]
    recorder = subprocess.Popen(command, start_new_session=True)
    until = time.monotonic() + 60
    while b'"step":"boil"' not in (folder / EVENTS).read_bytes() if (folder / EVENTS).exists() else True:
        assert time.monotonic() < until
        assert recorder.poll() is None
        time.sleep(0.02)
    os.kill(recorder.pid, signal.SIGKILL)
    recorder.wait()
    with pytest.raises(UserError, match="interrupted"):
        simulate(root, msgspec.structs.replace(settings, recording=("tea-0-P1",)))
    (made,) = simulate(root, msgspec.structs.replace(settings, resume=True))
    assert made.state == "stopped"

    manifest: Manifest = read_json(folder / MANIFEST, Manifest)
    assert all(file_sha256(folder / kept.path) == kept.sha256 for kept in manifest.files)
    events: list[Event] = read_jsonl(folder / EVENTS, Event)
    acts = [(event.kind, event.step) for event in events if event.kind in ("clap", "step_start", "step_done")]
    steps = [(kind, step) for step in STEPS for kind in ("step_start", "step_done")]
    assert acts == [("clap", ""), *steps, ("clap", "")]
    truth: Truth = read_json(folder / TRUTH, Truth)
    assert truth.seconds >= 10  # what was left came later, if it had to
    assert [step.step for step in truth.steps if (step.start_s or 0) < (step.end_s or 0)] == list(STEPS)
    marked = [
        (event.host_ns or 0) / 1e9 for event in events if event.kind in ("clap", "step_start", "step_done")
    ]
    planned = [truth.start_ns / 1e9 + act.at_s for act in truth.acts]
    assert np.abs(np.subtract(marked, planned)).max() < 1
    (session_gap,) = [event for event in events if event.kind == "gap" and not event.stream]
    assert (session_gap.start_ns or 0) < (session_gap.end_ns or 0)
    for name in streams:
        index = load_index(folder / "raw" / name)
        assert list(index["seq"]) == list(range(len(index)))
        assert np.diff(index["host_ns"]).max() > 200_000_000  # nothing came meanwhile,
        config = next(config for config in truth.sensors if config.name == name)
        sensor = make_sensor(config)
        assert isinstance(sensor, Simulated)
        (found,) = sensor.times(600, truth.start_ns)
        assert np.isin(index["device_ns"], found.device_ns).all()  # and the device's clock went on

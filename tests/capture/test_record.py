from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import msgspec
import pytest
from tests.capture.recording import HERE, events, verified

from proctor.capture.control import Status, Verb, ask_recorder
from proctor.capture.records import SCRIPT, Script, ScriptStep, Slot, recording_folder
from proctor.errors import UserError
from proctor.records import read_json, write_json, write_jsonl
from proctor.stages.capture.record import read_sensors, record
from proctor.stages.capture.settings import RecordSettings

TOML = '[[sensor]]\nplugin = "misbehaving:make"\nname = "imu"\nrate = 100\n'


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", f"{HERE}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    (tmp_path / "capture").mkdir()
    (tmp_path / "capture" / "sensors.toml").write_text(TOML)
    return tmp_path


def settings(workspace: Path, **more: object) -> RecordSettings:
    return RecordSettings(workspace=workspace, recording="r1", **({"activity": "tea"} | more))  # type: ignore[arg-type]


def test_a_recording_of_the_plan_is_recorded_with_its_script(workspace: Path) -> None:
    plan = pytest.importorskip("proctor.capture.plan", reason="the plan is made by another module")
    script = Script(
        id="tea-1",
        activity="tea",
        title="Tea",
        strategy="missing",
        steps=(ScriptStep(step="s1", text="Boil"),),
    )
    slot = Slot(
        id="r1", script="tea-1", activity="tea", participant="P1", environment="lab", strategy="missing"
    )
    write_json(
        workspace / "capture" / plan.PLAN,
        plan.Plan(participants=("P1",), environments=("lab",), strategies={"missing": 1}, slots=(slot,)),
    )
    write_jsonl(workspace / "capture" / plan.SCRIPTS, [script])
    found = record(workspace, settings(workspace, activity=None, seconds=1.0)).manifest
    assert (found.state, found.participant, found.strategy, found.simulated) == (
        "stopped",
        "P1",
        "missing",
        False,
    )
    assert read_json(recording_folder(workspace, "r1") / SCRIPT, Script) == script
    with pytest.raises(UserError, match="no such recording"):
        record(workspace, msgspec.structs.replace(settings(workspace, activity=None), recording="r2"))


def test_ctrl_c_ends_a_recording_well_and_progress_is_told(workspace: Path) -> None:
    told: list[Status] = []

    def seen(status: Status) -> None:
        told.append(status)
        if status.sensors[0].samples > 20:
            os.kill(os.getpid(), signal.SIGINT)

    done = record(workspace, settings(workspace), seen=seen)
    assert done.manifest.state == "stopped"
    assert done.manifest.activity == "tea"
    folder = recording_folder(workspace, "r1")
    assert len(verified(folder / "raw" / "imu")) == done.status.sensors[0].samples > 20  # type: ignore[union-attr]
    assert told[-1].elapsed_s > 0
    assert record(workspace, settings(workspace, close=True)).manifest == done.manifest


def test_a_preflight_leaves_no_recording_and_a_served_one_waits_for_verbs(workspace: Path) -> None:
    assert [c.name for c in record(workspace, settings(workspace, preflight=True)).checks] == ["imu", "disk"]
    states: list[str] = []

    def operate() -> None:
        verbs: tuple[Verb, ...] = ("preflight", "arm", "start", "stop")
        states.extend(ask_recorder(workspace, "r1", verb, timeout_s=30, holder="me").state for verb in verbs)

    operator: list[threading.Thread] = []

    def seen(status: Status) -> None:
        if not operator:
            operator.append(threading.Thread(target=operate))
            operator[0].start()

    done = record(workspace, settings(workspace, serve=True), seen=seen)
    operator[0].join()
    assert states[:3] == ["planned", "armed", "recording"]
    assert states[3] == done.manifest.state
    assert len(events(recording_folder(workspace, "r1"), "state")) == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sensor = 1", "sensor]] were expected"), ("[[sensor]]\nname = 'a'", "sensor 1.*plugin"), ("[[sensor", "not TOML"),
        (TOML + TOML, "sensor 2.*taken"), (TOML.replace("imu", "a/b"), "sensor 1"), (TOML + "x = [1]", "sensor 1"),
        (TOML + "[other]", "other"),
    ],
)  # fmt: skip
def test_errors_in_the_file_of_sensors_say_file_and_table(workspace: Path, text: str, said: str) -> None:
    path = workspace / "capture" / "sensors.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=said) as error:
        read_sensors(path)
    assert "sensors.toml" in str(error.value)


def test_settings_that_exclude_each_other_are_refused(workspace: Path) -> None:
    for wrong in ({"serve": True, "preflight": True}, {"close": True, "resume": True}):
        with pytest.raises(UserError, match="exclude"):
            settings(workspace, **wrong)

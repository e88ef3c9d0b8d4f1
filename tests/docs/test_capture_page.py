"""docs/capture.md: what stands outside of its walk (tests/stages/capture) is typed, with simulated sensors and people of the test."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from tests.docs.outsider import DOCS, shown, type_all, types
from tests.docs.people import opened_studios, perform, take_part
from tests.patience import wait_until
from tests.typed import SAID, proctor

from proctor.capture.control import NoRecorderError, Verb, ask_recorder
from proctor.capture.records import MANIFEST, Event, Manifest, recording_folder
from proctor.records import is_there, read_json

PLANS = r"capture (plan.* --(?:people 8|people 10)|status)"
AFTER = (
    r"capture sync kitchen(?! *$)|capture consent|capture release kitchen out|capture withdraw kitchen p01"
)


@types("capture.md", commands=f"{PLANS}|{AFTER}")
def test_the_commands_beside_the_walk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("av", reason="the extra 'capture' is not installed")
    pytest.importorskip("pyarrow", reason="the extra 'capture' is not installed")
    monkeypatch.chdir(tmp_path)
    (activity,) = re.findall(r"```json\n(.*?)```", (DOCS / "capture.md").read_text("utf-8"), re.DOTALL)[:1]
    Path("activities").mkdir()
    Path("activities/tea.json").write_text(activity, "utf-8")
    Path("consent.txt").write_text("I agree.")
    commands = shown("capture.md")[0]
    plans = [line for line in commands if re.search(PLANS, line)]
    after = [line for line in commands if re.search(AFTER, line)]
    assert (len(plans), len(after)) == (4, 7)
    type_all(plans[1:], tmp_path)
    recorded = ["--recording", "tea-001", "--seconds", 10, "--stream", "pv", "--stream", "audio"]
    assert proctor("capture", "simulate", "kitchen", *recorded).status == 0
    type_all(after[:3], tmp_path)
    assert proctor("capture", "sync", "kitchen").status == 0
    assert proctor("capture", "ingest", "kitchen").status == 0
    type_all(after[3:], tmp_path)


RECORD = r"capture record"
SIMULATE = r"capture simulate kitchen(?! --(?:recording|seconds))"
ROUND = r"round (?:record|collect)|proctor studio kitchen"
FOLDER = recording_folder(Path("kitchen"), "tea-001")


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A function that plans one recording of an activity of few steps; what was recorded is forgotten."""
    pytest.importorskip("av", reason="the extra 'capture' is not installed")
    monkeypatch.chdir(tmp_path)
    Path("activities").mkdir()
    texts = {"boil": "Boil water", "steep": "Steep the tea"}

    def again(steps: int = 1) -> None:
        some = [{"id": step, "text": texts[step]} for step in [*texts][:steps]]
        Path("activities/tea.json").write_text(json.dumps({"id": "tea", "name": "Tea", "steps": some}))
        shutil.rmtree("kitchen", ignore_errors=True)
        asked = ("--graphs", "activities", "--people", 1, "--recordings", 1, "--strategies", "normal=1")
        assert proctor("capture", "plan", "kitchen", *asked).status == 0
        sensors = [f'[[sensor]]\nplugin = "sim.{kind}"\nname = "{kind}"\n' for kind in ("video", "imu")]
        Path("kitchen/capture/sensors.toml").write_text("\n".join(sensors))

    return again


def state(folder: Path = FOLDER) -> str:
    return read_json(folder / MANIFEST, Manifest).state if is_there(folder / MANIFEST) else ""


def wait_for_samples(folder: Path = FOLDER) -> None:
    """Wait until there is something of every sensor."""

    def recorded() -> bool:
        return len([one for one in folder.glob("raw/*/*") if one.stat().st_size > 10_000]) >= 2

    wait_until(recorded, what="something is recorded")


def type_until(line: str, act: Callable[[], object], folder: Path = FOLDER) -> None:
    """Type a command that records, and do something once there is something of every sensor."""

    def wait() -> None:
        wait_for_samples(folder)
        act()

    operator = threading.Thread(target=wait)
    operator.start()
    type_all([line], Path())
    operator.join()


def ask(verb: Verb, event: Event | None = None) -> None:
    ask_recorder(Path("kitchen"), "tea-001", verb, event, timeout_s=30, holder="me")


def listens() -> bool:
    with suppress(NoRecorderError):
        ask("preflight")
        return True
    return False


def ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def type_and_kill(line: str) -> None:
    """Type a command in a process of its own and kill it while it records."""
    words = shlex.split(line, comments=True)
    SAID.append(words[1:])
    with subprocess.Popen(
        [sys.executable, "-m", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        wait_until(lambda: state() == "recording", what="it records")
        process.kill()


@types("capture.md", commands=RECORD)
def test_sensors_are_recorded(plan: Callable[..., None]) -> None:
    look, record, serve, other, resume = (line for line in shown("capture.md")[0] if re.search(RECORD, line))

    def operate() -> None:
        wait_until(listens, what="the recorder listens")
        for verb in ("arm", "start"):
            ask(verb)
        wait_for_samples()
        ask("mark", Event(n=0, kind="oops"))
        ask("stop")

    plan()
    type_all([look], Path())
    assert state() == ""
    type_until(record, ctrl_c)
    assert state() == "stopped"
    plan()
    operator = threading.Thread(target=operate)
    operator.start()
    type_all([serve], Path())
    operator.join()
    assert state() == "stopped"
    type_until(other, ctrl_c, recording_folder(Path("kitchen"), "try-1"))
    plan()
    type_and_kill(record)
    type_until(resume, ctrl_c)
    assert state() == "stopped"


@types("capture.md", commands=SIMULATE, instead=["60"])
def test_people_and_sensors_are_simulated(plan: Callable[..., None]) -> None:
    whole, live, resume, faulty = (line for line in shown("capture.md")[0] if re.search(SIMULATE, line))
    for steps, line in enumerate((whole, faulty), 1):  # 20 s each, and the fault is after 40 s
        plan(steps)
        type_all([line], Path())
        assert state() == "stopped"
    plan()
    type_and_kill(live.replace("60", "4"))
    type_all([resume], Path())
    assert state() == "stopped"


@types("capture.md", commands=ROUND)
def test_recordings_on_the_tablet(plan: Callable[..., None], tmp_path: Path) -> None:
    from tests.media.make_video import Recipe, make_video

    plan()
    begin, studio, collect = (line for line in shown("capture.md")[0] if re.search(ROUND, line))
    with opened_studios() as pages:
        type_all([begin, studio], Path())
    assert "<title>Sign in" in pages[0]
    video = make_video(tmp_path / "a.webm", Recipe(times=range(20), codec="libvpx")).read_bytes()
    assert take_part(Path("kitchen"), "record", "p01", says=perform(Path("kitchen"), video)) == 1
    type_all([collect], Path())
    assert state() == "stopped"

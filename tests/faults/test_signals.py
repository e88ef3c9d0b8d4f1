"""Ctrl-C once and twice, and SIGTERM: a clean message and status, what was paid for is kept, the rest comes later.

Each command is a process of its own whose interpreter ends as it does for a user. Where the moment is any moment, the
interpreter begins with the command, too; elsewhere it has imported everything before.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import proctor
from tests.lives import KILLS

LATENCY = {"low": 0.4, "high": 0.9}
"""Seconds: long enough that a test that was paused itself still meets the command before its end."""
PROGRAM = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"  # pytest may run in the background
    "from proctor.cli.main import main; main()"
)
STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143}


class Command:
    """A ``proctor`` command that was started."""

    def __init__(self, *arguments: object) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def poll(self) -> int | None:
        return self.process.poll()

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self) -> tuple[int, str, str]:
        """Return status, standard output and standard error."""
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


def arguments(stage: str, bench: Path, models: Any) -> list[object]:
    match stage:
        case "generate":
            return ["generate", bench, "--generator", models.name("asker"), "--sample", "all", "--limit", 48]
        case "predict":
            return ["predict", bench, "-p", models.name("answerer"), "--run", "toy"]
        case _:
            return ["judge", bench, "--judge", models.name("marker"), "--judge-floors"]


@pytest.fixture(scope="module")
def answered(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The benchmark with a run to be judged; not to be changed."""
    bench = Path(shutil.copytree(built, tmp_path_factory.mktemp("answered") / "bench"))
    assert proctor("predict", bench, "-p", "recipe-text", "--run", "floor").status == 0
    return bench


@pytest.fixture
def ready(answered: Path, tmp_path: Path, models: Any) -> Path:
    """The benchmark with a run to be judged, and a slow server."""
    models.script(latency=LATENCY)
    return Path(shutil.copytree(answered, tmp_path / "bench"))


@pytest.mark.parametrize(
    ("stage", "number"),
    [("generate", signal.SIGINT), ("predict", signal.SIGTERM), ("judge", signal.SIGINT)],
    ids=str,
)
def test_stopped_it_keeps_what_was_paid_and_goes_on_later(
    stage: str,
    number: signal.Signals,
    ready: Path,
    models: Any,
    launcher: Any,
    stored: Callable[[Path], int],
) -> None:
    line = arguments(stage, ready, models)
    command = launcher.start(*line, ends=True)
    assert models.await_count(20, command)
    command.send(number)
    ended = command.wait(60)
    assert ended.status == STATUS[number], ended.err
    assert "what was finished is kept, run the same command to continue" in ended.err
    assert (
        ended.err.count("\n") <= 5
    )  # what no price is known of, and how it ended: no traceback, no warnings
    assert ended.out == ""
    counts = models.settle()
    answered = dict(models.server.log.answered_by_key)
    # Calls that were in flight had time to come in: all that was sent was answered, and all of it is stored.
    assert answered == counts
    assert stored(ready / "calls.sqlite") == len(counts)
    assert len(counts) < 48
    models.script()
    assert proctor(*line).status == 0
    assert set(models.settle().values()) == {1}
    assert models.server.count > len(counts)


def test_ctrl_c_twice_does_not_wait(ready: Path, models: Any, launcher: Any, stored: Any) -> None:
    """The second one gives up what is in flight; what had come in is kept all the same."""
    line = arguments("predict", ready, models)
    for _attempt in range(3):  # a machine that stands still for four seconds proves nothing
        models.script(rules=[], latency={"seconds": 600.0}, faults=[])
        command = launcher.start(*line, ends=True)
        assert models.await_count(16, command)
        command.send(signal.SIGINT)
        time.sleep(0.3)
        assert command.poll() is None  # calls in flight have a few seconds
        command.send(signal.SIGINT)
        ended = command.wait(4)  # after the first alone, calls in flight would have five seconds
        if ended.status == 130:
            break
    assert ended.status == 130, ended.err
    assert "Traceback" not in ended.err
    assert stored(ready / "calls.sqlite") == 0
    models.script()
    assert proctor(*line).status == 0


def test_a_stop_while_nothing_comes_back_ends_by_itself(ready: Path, models: Any, launcher: Any) -> None:
    models.script(latency={"seconds": 600.0})  # the wait for its end is shorter by far
    command = launcher.start(*arguments("judge", ready, models), ends=True)
    assert models.await_count(16, command)
    command.send(signal.SIGINT)
    ended = command.wait(60)
    assert ended.status == 130, ended.err
    assert "Traceback" not in ended.err


TURNS = max(4, KILLS // 2)
"""Each is a new interpreter."""
LOST = "TypeError: expected a message argument"
"""What CPython 3.11 makes of an interruption in the middle of ``from module import name``: it loses it."""


@pytest.mark.parametrize("number", STATUS, ids=lambda n: n.name)
def test_stopped_at_any_moment_it_ends_cleanly(
    number: signal.Signals, ready: Path, models: Any, contents: Callable[[Path], Any]
) -> None:
    """Seeded moments from the first import to the last file: a message, never a traceback or half a file."""
    rng = random.Random(7)
    line = arguments("predict", ready, models)
    stopped = 0
    for turn in range(TURNS):
        command = Command(*line)
        if turn == 0:  # on a slow machine all the others may be stopped before our own code runs
            assert models.await_count(5, command)
        else:
            time.sleep(rng.uniform(0.25, 1.3))
        if command.poll() is None:
            command.send(number)
        status, _, err = command.wait()
        models.script(latency={"low": 0.005, "high": 0.03})
        if status == 0:
            continue
        if status == -number or "KeyboardInterrupt" in err or LOST in err:
            # Before our own code ran: the interpreter's own way to end.
            assert not (ready / "runs/toy").exists() or stopped
            continue
        assert status == STATUS[number], err
        assert "Traceback" not in err, err
        stopped += 1
    assert stopped >= 1
    assert proctor(*line).status == 0
    assert contents(ready)["runs/toy/predictions.jsonl"].count(b"\n") >= 50


def test_a_process_that_sleeps_is_not_taken_for_dead(ready: Path, models: Any, launcher: Any) -> None:
    """Stopped with SIGSTOP and woken again: nothing was sent twice meanwhile."""
    line = arguments("predict", ready, models)
    first = launcher.start(*line)
    assert models.await_count(10, first)
    os.kill(first.pid, signal.SIGSTOP)
    second = launcher.start(*line)
    time.sleep(1.0)
    os.kill(first.pid, signal.SIGCONT)
    assert [process.wait().status for process in (first, second)] == [0, 0]
    assert set(models.settle().values()) == {1}

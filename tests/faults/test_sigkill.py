"""SIGKILL at seeded points (``PROCTOR_KILLS``) of generate, predict, judge and a whole experiment, again and again on one
workspace.

A process dies when the server has seen a number of requests, some time after its start, or when it touches a file of the
workspace. In the end every file is that of a run without any accident, and the server saw each request once for the life
in which its reply was stored, and once more for each life that ended before it was.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import sqlite3
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.cli.conftest import proctor
from tests.lives import KILLS

STEP = 1 if KILLS >= 20 else 3
"""Every third moment of writing; each file has four, so that all kinds of moments come."""
WRITING = max(2, KILLS // 3)
"""So many of the kills, the last ones, come when a file is opened, renamed or removed."""
STAGES = ("generate", "predict", "judge")
EXPERIMENT = "experiment"
"""Two models answer and one marks, with all that comes before and after."""
LATENCY = {"low": 0.02, "high": 0.35}
IN_FLIGHT = 16
"""Calls at once that a process begins with; with each answer it dares one more."""


def arguments(stage: str, bench: Path, models: Any) -> list[object]:
    match stage:
        case "generate":
            draw = ("--sample", "all", "--limit", 48, "--seed", 3)
            return ["generate", bench, "--generator", models.name("asker"), *draw]
        case "predict":
            return ["predict", bench, "-p", models.name("answerer"), "--run", "toy"]
        case "judge":
            return ["judge", bench, "--judge", models.name("marker")]
        case _:
            who = [
                "-g",
                "rules",
                "-p",
                models.name("answerer"),
                "-p",
                models.name("answerer2"),
                "--show",
                "recipe",
            ]
            short = ["--examples", 20, "--score-resamples", 100, "--calibrate-resamples", 100]
            return ["experiment", bench, *who, "-j", models.name("marker"), *short]


class Life(NamedTuple):
    """One process: the requests it sent, those that were answered, and all that had a stored outcome when it was dead."""

    sent: Counter[str]
    answered: Counter[str]
    stored: frozenset[str]


class Store:
    """A call store as SQLite itself sees it, with requests under the server's names for them."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def outcomes(self) -> dict[str, str]:
        """Return the stored outcomes by the provider's name of the call, which begins with the server's key."""
        if not self._path.exists():
            return {}
        connection = sqlite3.connect(self._path)
        try:
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'proctor_calls'").fetchone():
                return {}
            rows = connection.execute("SELECT key, outcome FROM proctor_calls WHERE outcome IS NOT NULL")
            return dict(rows.fetchall())
        finally:
            connection.close()

    def answered(self) -> frozenset[str]:
        """Return the first 20 digits of the server's key of each stored call."""
        return frozenset(_server_key(text) for text in self.outcomes().values())


def _server_key(outcome: str) -> str:
    name: str = json.loads(outcome)["provider_id"]
    return name.removeprefix("chatcmpl-").partition("-")[0]


def shortened(counts: Counter[str]) -> Counter[str]:
    return Counter({key[:20]: times for key, times in counts.items()})


@pytest.mark.parametrize("stage", [*STAGES, EXPERIMENT])
def test_killed_again_and_again_it_ends_as_if_nothing_had_happened(
    stage: str,
    bench: Path,
    tmp_path: Path,
    models: Any,
    launcher: Any,
    contents: Callable[[Path], dict[str, bytes]],
) -> None:
    models.script(latency=LATENCY)
    if stage == "judge":
        assert proctor(*arguments("predict", bench, models)).status == 0
        models.settle()
        (bench / "calls.sqlite").unlink()
    rough = Path(shutil.copytree(bench, tmp_path / "rough"))
    before = contents(rough)
    models.server.reset()
    calm = proctor(*arguments(stage, bench, models))
    assert calm.status == 0, calm.err
    once = shortened(models.settle())
    assert set(once.values()) == {1}
    assert len(once) >= 40
    expected = contents(bench)
    assert expected != before
    again = launcher.run(*arguments(stage, bench, models), point=-1, root=bench)
    touches = int(again.err.split()[-1])
    assert touches >= 10
    assert contents(bench) == expected
    models.server.reset()

    rng = random.Random(f"{stage} 4")
    store = Store(rough / "calls.sqlite")
    lives: list[Life] = []
    outcomes: dict[str, str] = {}
    busy = 0
    seen: Counter[str] = Counter()
    heard: Counter[str] = Counter()

    def note_life() -> None:
        nonlocal seen, heard
        now = shortened(models.settle())
        answers = shortened(models.server.log.answered_by_key)
        lives.append(Life(now - seen, answers - heard, store.answered()))
        seen, heard = now, answers

    long = stage == EXPERIMENT and KILLS < 10  # each of its lives is several commands long
    kills, last_ones = (2, 1) if long else (KILLS, WRITING)
    for kill in range(kills):
        left = len(once) - len(store.answered())
        writing = kill >= kills - last_ones
        if writing:
            point = rng.randint(
                touches // 3, touches
            )  # the rest of the calls is made, then files are written
        else:
            point = rng.randint(1, touches // 4) if kill % 4 == 3 or not left else 0
        status, in_flight = _live_and_die(
            launcher, models, rng, *arguments(stage, rough, models), point=point, root=rough
        )
        assert status == -signal.SIGKILL, f"life {kill} ended by itself"
        busy += in_flight
        note_life()
        after = store.outcomes()
        assert outcomes.items() <= after.items(), "something finished was lost or replaced"
        outcomes = after
        for name, data in contents(rough).items():
            if stage != EXPERIMENT:  # whose stages write several files one after the other
                assert data in (before.get(name), expected.get(name)), (
                    f"{name} is half-written at kill {kill}"
                )
    last = proctor(*arguments(stage, rough, models))
    assert last.status == 0, last.err
    note_life()

    assert contents(rough) == expected
    assert busy >= kills // 4, "the kills have to meet calls in flight"
    assert store.answered() == frozenset(once)
    done: frozenset[str] = frozenset()
    for life in lives:
        assert max(life.sent.values(), default=1) == 1  # nothing twice in one life
        assert not done & set(life.sent)  # nothing that was stored is sent again
        assert len(set(life.sent) - set(life.answered)) <= IN_FLIGHT + len(
            life.answered
        )  # only what was in flight is lost,
        # or on its way to the disk, whose place another call has by then
        assert len(set(life.answered) - life.stored) <= 2 * IN_FLIGHT
        done = life.stored
    lost = Counter(key for life in lives for key in set(life.sent) - life.stored)
    assert told_by_http(models) == {key: 1 + lost[key] for key in once}


def _live_and_die(
    launcher: Any, models: Any, rng: random.Random, *command: object, point: int, root: Path
) -> tuple[int, bool]:
    """Run a command until it is killed; also say whether calls were in flight then."""
    if point:
        return launcher.run(*command, point=point, root=root).status, False
    wanted = models.server.count + rng.randint(1, 5)
    running = launcher.start(*command)
    if models.await_count(wanted, running):
        time.sleep(rng.random() * 0.1)  # before, in and after the commits
    in_flight = models.server.log.in_flight > 0
    running.send(signal.SIGKILL)
    return running.wait().status, in_flight


def told_by_http(models: Any) -> dict[str, int]:
    with urllib.request.urlopen(f"{models.server.url}/standin/log?keys=1", timeout=60) as reply:
        told: dict[str, int] = json.load(reply)["by_key"]
    return {key[:20]: times for key, times in told.items()}


@pytest.mark.parametrize("stage", STAGES)
def test_killed_at_each_moment_of_writing_no_file_is_ever_half_there(
    stage: str,
    bench: Path,
    tmp_path: Path,
    models: Any,
    launcher: Any,
    contents: Callable[[Path], dict[str, bytes]],
) -> None:
    """Before and after each file is opened, before it is synced and before it is renamed; all calls are stored."""
    if stage == "judge":
        assert proctor(*arguments("predict", bench, models)).status == 0
    first = Path(shutil.copytree(bench, tmp_path / "first"))
    before = contents(first)
    assert proctor(*arguments(stage, bench, models)).status == 0
    expected = contents(bench)
    sent = models.server.count
    kills = 0
    while True:
        rough = Path(shutil.copytree(first, tmp_path / "rough"))
        line = [*arguments(stage, rough, models), "--calls", bench / "calls.sqlite"]
        ended = launcher.run(*line, point=STEP * kills + 1, root=rough, writes=True)
        if ended.status == 0:
            break
        assert ended.status == -signal.SIGKILL, ended.err
        kills += 1
        for name, data in contents(rough).items():
            assert data in (before.get(name), expected.get(name)), f"{name} is half-written at kill {kills}"
        if kills % 5 == 0:
            again = proctor(*line)
            assert again.status == 0, again.err
            assert contents(rough) == expected
        shutil.rmtree(rough)
    assert STEP * kills >= 12  # three files or more, at four moments each
    assert models.server.count == sent

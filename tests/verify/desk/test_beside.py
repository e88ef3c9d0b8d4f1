"""Work beside the requests: shared, one after the other, dropped when nobody wants it, and never waited for for ever."""

from __future__ import annotations

import importlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.patience import LOW_PRIORITY_PATIENCE, PATIENCE, wait_until

from proctor.errors import UserError
from proctor.verify.desk import events, roster
from proctor.verify.desk.beside import Beside, BrokenOffError, Found
from proctor.verify.desk.desk import Desk
from proctor.verify.desk.events import add_event, check_chain
from proctor.verify.policy import Policy

WORKS = """
import os, time
from proctor.errors import UserError
from proctor.verify.schema import tables

def note(desk, connection, place, word, seconds=0.0):
    with open(place, "a") as file:
        file.write(f"begun {word}\\n")
    time.sleep(seconds)
    with open(place, "a") as file:
        file.write(f"ended {word}\\n")
    return word, desk.seed, os.getpid()

def count(desk, connection):
    return len(connection.execute(tables().events.select()).all())

def sleep(desk, connection):
    time.sleep(600)

def refuse(desk, connection):
    raise UserError("These people do not fit.", where="here", hint="choose others")

def slip(desk, connection):
    return 1 / 0

def odd(desk, connection):
    return lambda: None

def end(desk, connection):
    os._exit(3)
"""


@pytest.fixture(scope="module")
def works(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A module that the other process can import, too."""
    folder = tmp_path_factory.mktemp("works")
    (folder / "works_beside.py").write_text(WORKS)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield importlib.import_module("works_beside")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with Desk.open(tmp_path / "store.sqlite", secret=b"s", clock=lambda: 1_700_000_000.0, seed=7) as found:
        yield found


@pytest.fixture
def beside(desk: Desk) -> Iterator[Beside]:
    found = Beside(desk, abandoned_seconds=600)  # a slow machine is not somebody who has gone away
    yield found
    found.close()


def _result(beside: Beside, name: str) -> Found:
    assert beside.wait(name, LOW_PRIORITY_PATIENCE)
    found = beside.look(name)
    assert found is not None
    assert not found.running
    return found


# -- what comes of it --------------------------------------------------------------------------------------------


def test_the_result_is_that_of_the_function_on_both_databases(bench: Any, a_pair: Callable[..., Any]) -> None:
    ana, ben, cyd = crew = bench.hire("ana", "ben", "cyd")
    bench.sync(*(a_pair(f"c{n:03}", "a", "b") for n in range(9)))
    plan = bench.see(roster.plan_deal, crew, Policy(name="everything"))
    bench.do(roster.apply_deal, plan, actor="cli")
    beside = Beside(bench.desk, abandoned_seconds=600)
    try:
        beside.begin("chain", events.check_events)
        beside.begin("leave", roster.look_ahead, "leave", ana.pid)
        assert _result(beside, "chain").value == bench.desk.read(check_chain)
        found = _result(beside, "leave").value
    finally:
        beside.close()
    assert found == bench.see(roster.look_ahead, "leave", ana.pid)
    assert isinstance(found, roster.Outlook)
    assert set(found.loads) == {ana.pid, ben.pid, cyd.pid}


def test_it_is_done_elsewhere_with_the_seed_of_the_desk(
    desk: Desk, beside: Beside, works: Any, tmp_path: Path
) -> None:
    assert beside.look("a") is None
    beside.begin("a", works.note, str(tmp_path / "notes"), "x")
    first = beside.look("a")
    assert first is not None
    assert (first.running, first.value, first.problem) == (True, None, None)
    found = _result(beside, "a")
    word, seed, pid = found.value
    assert (word, seed) == ("x", 7)
    assert pid != os.getpid()
    assert found.at == desk.now()
    assert found.age < 5
    assert beside.pid is None


def test_it_sees_what_was_written_before_it_was_begun(desk: Desk, beside: Beside, works: Any) -> None:
    for _ in range(3):
        desk.write(lambda c: add_event(desk, c, "export", "x", "y")).result()
    beside.begin("a", works.count)
    assert _result(beside, "a").value == 3


# -- who shares it -----------------------------------------------------------------------------------------------


def test_two_who_ask_share_one(beside: Beside, works: Any, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    threads = [
        threading.Thread(target=beside.begin, args=("a", works.note, str(notes), "x", 0.3)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    _result(beside, "a")
    assert notes.read_text() == "begun x\nended x\n"
    beside.begin("a", works.note, str(notes), "y")  # what was known goes
    assert _result(beside, "a").value[0] == "y"


def test_looking_waits_for_nothing(beside: Beside, works: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from multiprocessing.context import SpawnProcess

    start, starting, go, gone = SpawnProcess.start, threading.Event(), threading.Event(), threading.Event()

    def slow(self: SpawnProcess) -> None:
        starting.set()
        go.wait(PATIENCE)
        gone.set()
        start(self)

    monkeypatch.setattr(SpawnProcess, "start", slow)
    beside.begin("a", works.count)
    assert starting.wait(60)
    found = beside.look("a")
    beside.begin("a", works.count)
    assert not gone.is_set()
    assert found is not None
    assert found.running
    beside.close()  # before it has begun: it is ended when it does
    assert not gone.is_set()
    go.set()
    assert beside.wait("a", LOW_PRIORITY_PATIENCE)
    assert beside.look("a") is None


def test_one_is_done_after_the_other(beside: Beside, works: Any, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    for word in "xyz":
        beside.begin(word, works.note, str(notes), word, 0.2)
    for word in "xyz":
        _result(beside, word)
    lines = notes.read_text().splitlines()
    assert len(lines) == 6
    for begun, ended in zip(lines[::2], lines[1::2], strict=True):
        assert begun.replace("begun", "ended") == ended


# -- what goes wrong ---------------------------------------------------------------------------------------------


def test_a_refusal_comes_with_its_hint(beside: Beside, works: Any) -> None:
    beside.begin("a", works.refuse)
    problem = _result(beside, "a").problem
    assert type(problem) is UserError
    assert (problem.message, problem.where, problem.hint) == (
        "These people do not fit.",
        "here",
        "choose others",
    )


@pytest.mark.parametrize(
    ("work", "words"),
    [("slip", "ZeroDivisionError"), ("odd", "pickle"), ("end", "ended unexpectedly")],
)
def test_a_mistake_is_told_and_the_next_one_goes_on(
    beside: Beside, works: Any, work: str, words: str
) -> None:
    beside.begin("a", getattr(works, work))
    found = _result(beside, "a")
    assert isinstance(found.problem, BrokenOffError)
    assert words in found.problem.message
    assert found.value is None
    beside.forget("a")
    assert beside.look("a") is None
    beside.begin("a", works.count)
    assert _result(beside, "a").value == 0


def test_a_process_that_is_killed_is_told(beside: Beside, works: Any) -> None:
    beside.begin("a", works.sleep)
    wait_until(lambda: beside.pid is not None)
    assert beside.pid is not None
    os.kill(beside.pid, signal.SIGKILL)
    assert "unexpectedly" in str(_result(beside, "a").problem)


def test_one_that_hangs_is_stopped(desk: Desk, works: Any) -> None:
    beside = Beside(desk, longest_seconds=0.5)
    beside.begin("a", works.sleep)
    assert "not ready after 0.5 s" in str(_result(beside, "a").problem)
    assert beside.pid is None
    beside.close()


def test_a_store_that_is_gone_is_told(desk: Desk, beside: Beside, works: Any, tmp_path: Path) -> None:
    (tmp_path / "store.sqlite").rename(tmp_path / "elsewhere")
    beside.begin("a", works.count)
    assert "no such file" in str(_result(beside, "a").problem)


# -- what nobody wants -------------------------------------------------------------------------------------------


def test_what_nobody_asks_about_is_dropped_running_or_waiting(desk: Desk, works: Any, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    beside = Beside(desk, abandoned_seconds=0.5)
    beside.begin("a", works.sleep)
    beside.begin("b", works.note, str(notes), "x")
    wait_until(lambda: beside.pid is None and not any(job.running for job in beside._jobs.values()))
    assert beside.look("a") is None
    assert beside.look("b") is None
    assert not notes.exists()
    beside.close()


def test_who_looks_keeps_it_going(desk: Desk, works: Any, tmp_path: Path) -> None:
    beside = Beside(desk, abandoned_seconds=3.0)
    beside.begin("a", works.note, str(tmp_path / "notes"), "x", 5.0)
    wait_until(lambda: (beside.look("a") or Found(None, 0, False, None, 0)).value is not None)
    beside.close()


def test_a_result_that_nobody_fetches_is_dropped(desk: Desk, works: Any) -> None:
    beside = Beside(desk, kept_seconds=0.2)
    beside.begin("a", works.count)
    assert beside.wait("a", LOW_PRIORITY_PATIENCE)
    time.sleep(0.4)
    assert beside.look("a") is None
    assert beside._jobs == {}
    beside.close()


def test_closing_ends_it_at_once(desk: Desk, works: Any) -> None:
    beside = Beside(desk, abandoned_seconds=600)
    beside.begin("a", works.sleep)
    beside.begin("b", works.sleep)
    wait_until(lambda: beside.pid is not None)
    pid = beside.pid
    beside.close()
    assert beside.wait("a", LOW_PRIORITY_PATIENCE)
    assert beside.wait("b", LOW_PRIORITY_PATIENCE)
    assert pid is not None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    beside.begin("c", works.count)
    assert beside.look("c") is None

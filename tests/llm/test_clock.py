"""The clock on the wall is set while calls are made: only what it says in the records changes.

Pace, back-off, deadlines, durations and claims go by steady clocks; order goes by sequence numbers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from proctor.llm.blocking import run_calls
from proctor.llm.budget import Budget
from proctor.llm.caller import Caller
from proctor.llm.flow import Flow, FlowSettings, GateRules, Limits
from proctor.llm.media import MediaStore
from proctor.llm.message import Parameters, Request, user
from proctor.llm.outcome import Failure, Outcome, Reply
from proctor.llm.store import CallStore
from proctor_rehearsal.standin import Standin

JUMPS = [
    pytest.param(-3_600.0, id="an hour back"),
    pytest.param(3_600.0, id="an hour on"),
    pytest.param(-2e9, id="before 1970"),
]
QUICK = GateRules(first_backoff=0.01, longest_backoff=0.05, breaker_failures=1_000)


class Wall:
    """The clock on the wall, which anybody may set."""

    def __init__(self) -> None:
        self.off = 0.0
        self._steady = time.monotonic
        self._begin = time.time()
        self._zero = time.monotonic()

    def __call__(self) -> float:
        return self._begin + self._steady() - self._zero + self.off


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Wall:
    clock = Wall()
    monkeypatch.setattr(time, "time", clock)
    return clock


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CallStore]:
    with CallStore.open(tmp_path / "calls.sqlite") as opened:
        yield opened


def asked(standin: Standin, count: int) -> list[Request]:
    model = f"compat/m@{standin.url}/v1"
    parameters = Parameters(max_tokens=20)
    return [
        Request(model=model, messages=(user(f"question {n}"),), parameters=parameters) for n in range(count)
    ]


@pytest.mark.parametrize("jump", JUMPS)
def test_pace_durations_and_the_store_stay_sound(
    jump: float, wall: Wall, standin: Standin, store: CallStore
) -> None:
    standin.script(faults=[{"status": 503, "attempts": 1, "probability": 0.3}], latency={"seconds": 0.01})
    limits = Limits(requests_per_minute=1_200)
    flow = Flow(FlowSettings(limits=limits, rules=QUICK), wall=wall)
    caller = Caller(store, MediaStore(), flow, Budget())
    requests = asked(standin, 60)
    began = time.monotonic()
    outcomes = []
    for number, (_, outcome) in enumerate(run_calls(caller, requests, stage="s")):
        outcomes.append(outcome)
        if number == 20:
            wall.off = jump
    seconds = time.monotonic() - began
    assert len(outcomes) == 60
    assert all(isinstance(outcome, Reply) for outcome in outcomes)
    sent = standin.count
    assert sent > 60
    assert (sent - 20) / 20 < seconds < 60  # 20 at once, then 20 a second, and nobody waits for the clock

    tries = store.attempts(request.key for request in requests)
    attempts = [attempt for each in tries.values() for attempt in each]
    assert len(attempts) == sent
    assert all(0 <= attempt.seconds < 30 for attempt in attempts)
    assert all([a.number for a in each] == list(range(1, len(each) + 1)) for each in tries.values())
    assert all(each[-1].outcome == "reply" for each in tries.values())
    assert max(a.started for a in attempts) - min(a.started for a in attempts) > 0.9 * abs(jump)

    again = Caller(store, MediaStore(), Flow(), Budget())
    assert len(list(run_calls(again, requests, stage="s"))) == 60
    assert standin.count == sent
    assert (again.tally.sent, again.tally.stored) == (0, 60)


@pytest.mark.parametrize("jump", JUMPS)
def test_deadlines_and_back_off_go_on(jump: float, wall: Wall, standin: Standin, store: CallStore) -> None:
    standin.script(faults=[{"kind": "stall", "seconds": 30}])
    settings = FlowSettings(rules=QUICK, attempts=100, attempt_timeout=0.1, deadline=0.5)
    caller = Caller(store, MediaStore(), Flow(settings, wall=wall), Budget())
    began = time.monotonic()

    def requests() -> Iterator[Request]:
        yield from asked(standin, 5)
        time.sleep(0.2)
        wall.off = jump

    outcomes = [outcome for _, outcome in run_calls(caller, requests(), stage="s")]
    assert 0.4 < time.monotonic() - began < 30
    assert [o.kind for o in outcomes if isinstance(o, Failure)] == ["timeout"] * 5
    assert all("deadline" in o.message for o in outcomes if isinstance(o, Failure))


@pytest.mark.parametrize("jump", JUMPS)
def test_history_keeps_its_order(jump: float, wall: Wall, standin: Standin, store: CallStore) -> None:
    standin.script(faults=[{"crowd": 4, "status": 429}], latency={"seconds": 0.02})
    flow = Flow(FlowSettings(rules=QUICK), wall=wall)
    caller = Caller(store, MediaStore(), flow, Budget())
    for number, _ in enumerate(run_calls(caller, asked(standin, 200), stage="s")):
        if number == 50:
            wall.off = jump
    events = flow.take_history()
    store.add_history("s", events)
    assert [event for _, event in store.history()] == list(events)
    assert len(events) > 3
    limits = [event.limit for event in events if event.kind == "shrink"]
    assert limits[0] > min(limits)
    assert flow.take_history() == ()


def test_what_another_process_holds_is_not_freed_by_a_clock(
    wall: Wall, store: CallStore, tmp_path: Path, standin: Standin
) -> None:
    """A call in flight in one store is not sent by another, however the clock is set meanwhile."""
    standin.script(latency={"seconds": 0.5})
    requests = asked(standin, 8)

    def run(calls: CallStore) -> list[Outcome]:
        caller = Caller(calls, MediaStore(), Flow(wall=wall), Budget())
        return [outcome for _, outcome in run_calls(caller, requests, stage="s")]

    with CallStore.open(tmp_path / "calls.sqlite") as other, ThreadPoolExecutor(2) as threads:
        first = threads.submit(run, store)
        while standin.count < 8:
            time.sleep(0.005)
        wall.off = 7_200.0
        second = threads.submit(run, other)
        for off in (-3_600.0, 7_200.0, 0.0):
            wall.off = off
            time.sleep(0.05)
        done = [first.result(60), second.result(60)]
    assert all(isinstance(outcome, Reply) for outcomes in done for outcome in outcomes)
    assert [len(outcomes) for outcomes in done] == [8, 8]
    assert set(standin.counts.values()) == {1}

"""Asking pays for nothing twice, loses nothing that is finished, and turns no failure into an answer."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from proctor.errors import UserError
from proctor.llm.blocking import run_calls
from proctor.llm.budget import BudgetReached, Need, Reservation
from proctor.llm.caller import Caller
from proctor.llm.converse import Conversation, converse
from proctor.llm.lane import Claim
from proctor.llm.media import MediaStore
from proctor.llm.message import Parameters, Request, user
from proctor.llm.outcome import AttemptRecord, Failure, Outcome, Refusal, Reply, Truncated, Usage
from proctor.llm.store import CallStore, Selection

NAME = "fake/m"


def ask(text: object = "q", **more: object) -> Request:
    return Request(model=NAME, messages=(user(str(text)),), **more)  # type: ignore[arg-type]


def reply(text: str, **more: object) -> Reply:
    return Reply(text=text, usage=Usage(10, 2), **more)  # type: ignore[arg-type]


@dataclass
class FakeModel:
    """Answers by a function of the text, after a delay, and counts."""

    answer: Callable[[str], Outcome] = lambda text: reply(f"answer to {text}")
    delay: float = 0.0
    name: str = NAME
    endpoint: str = "http://fake#m"
    seen: list[str] = field(default_factory=list)
    flying: int = 0
    most: int = 0
    closed: int = 0

    async def attempt(self, request: Request, media: MediaStore, *, timeout: float) -> Outcome:
        text = request.messages[0].text
        self.seen.append(text)
        self.flying += 1
        self.most = max(self.most, self.flying)
        try:
            await asyncio.sleep(self.delay)
            return self.answer(text)
        finally:
            self.flying -= 1

    async def close(self) -> None:
        self.closed += 1


class FakeFlow:
    """Tries again at once, at most ``tries`` times."""

    def __init__(self, tries: int = 1) -> None:
        self.tries = tries

    async def run(
        self,
        endpoint: str,
        tokens: int,
        attempt: Callable[[float], Awaitable[Outcome]],
        on_attempt: Callable[[AttemptRecord], None],
    ) -> Outcome:
        for number in range(1, self.tries + 1):
            started, begun = time.time(), time.monotonic()
            outcome = await attempt(10.0)
            on_attempt(AttemptRecord.of(number, started, time.monotonic() - begun, outcome))
            if not (isinstance(outcome, Failure) and outcome.retryable):
                break
        return outcome


class FakeBudget:
    """Lets a number of calls through, and keeps what was settled."""

    def __init__(self, calls: int = 10**9) -> None:
        self.left = calls
        self.open = 0
        self.spent: list[tuple[Usage, int | None]] = []
        self.feared = 0
        self.settled = 0

    async def reserve_when_free(self, need: Need) -> Reservation:
        if self.left == 0:
            raise BudgetReached("no more calls.", limit="max_calls", may_fit_later=False, hint="raise it")
        self.left -= 1
        self.open += 1
        return Reservation(number=self.left, need=need)

    def spend(self, reservation: Reservation, usage: Usage, cost: int | None) -> None:
        self.spent.append((usage, cost))

    def fear(self, reservation: Reservation) -> None:
        self.feared += 1

    def again(self, reservation: Reservation) -> None:
        pass

    def settle(self, reservation: Reservation, usage: Usage | None, cost: int | None) -> None:
        assert usage is None
        self.open -= 1
        self.settled += 1

    def cancel(self, reservation: Reservation) -> None:
        self.open -= 1
        self.left += 1


class FakeMeter:
    def need(self, request: Request) -> Need:
        return Need(model=request.model, tokens=10, cost=1_000)

    def cost(self, model: str, usage: Usage) -> int | None:
        return None if usage.input is None else usage.input * 3


@dataclass
class Setup:
    store: CallStore
    model: FakeModel = field(default_factory=FakeModel)
    flow: FakeFlow = field(default_factory=FakeFlow)
    budget: FakeBudget = field(default_factory=FakeBudget)

    def caller(self, **more: object) -> Caller:
        return Caller(
            self.store,
            MediaStore(),
            self.flow,
            self.budget,
            lambda _: self.model,
            meter=FakeMeter(),
            **more,  # type: ignore[arg-type]
        )


@pytest.fixture
def setup(tmp_path: Path) -> Iterator[Setup]:
    with CallStore.open(tmp_path / "calls.sqlite") as store:
        yield Setup(store)


# -- one call ------------------------------------------------------------------------------------------------


def test_a_call_is_paid_for_once(setup: Setup) -> None:
    first, second = setup.caller(), setup.caller()
    assert asyncio.run(first.ask(ask(), stage="predict")) == reply("answer to q")
    assert asyncio.run(second.ask(ask(), stage="judge")) == reply("answer to q")
    assert setup.model.seen == ["q"]
    assert (first.tally.sent, first.tally.stored, first.tally.cost) == (1, 0, 30)
    assert (second.tally.sent, second.tally.stored, second.tally.cost) == (0, 1, 0)
    (call,) = setup.store.calls()
    assert (call.stage, call.kind, call.cost, call.input, call.output) == ("predict", "reply", 30, 10, 2)
    assert call.key == ask().key


def test_other_draws_and_parameters_are_other_calls(setup: Setup) -> None:
    caller = setup.caller()
    for request in (ask(), ask(draw=1), ask(parameters=Parameters(temperature=0.5)), ask(draw=1)):
        asyncio.run(caller.ask(request))
    assert len(setup.model.seen) == 3


def test_equal_requests_at_once_are_one_call(setup: Setup) -> None:
    async def run() -> list[Outcome]:
        caller = setup.caller()
        return await asyncio.gather(*(caller.ask(ask()) for _ in range(50)))

    setup.model.delay = 0.05
    assert asyncio.run(run()) == [reply("answer to q")] * 50
    assert setup.model.seen == ["q"]


@pytest.mark.parametrize(
    "outcome",
    [Truncated(text="so"), Refusal(text="no"), Failure(kind="content_filter", message="no"), reply("")],
)
def test_final_outcomes_are_kept_as_they_are(setup: Setup, outcome: Outcome) -> None:
    setup.model.answer = lambda _: outcome
    for _ in range(2):
        assert asyncio.run(setup.caller().ask(ask())) == outcome
    assert len(setup.model.seen) == 1


@pytest.mark.parametrize("kind", ["rate_limit", "timeout", "auth", "bad_request", "too_large", "connection"])
def test_failures_are_made_again_on_the_next_run(setup: Setup, kind: str) -> None:
    failed = Failure(kind=kind, message="m", status=400)  # type: ignore[arg-type]
    setup.model.answer = lambda _: failed
    assert asyncio.run(setup.caller().ask(ask())) == failed
    assert (setup.budget.settled, setup.budget.spent) == (1, [])
    assert setup.budget.feared == (kind == "timeout")
    setup.model.answer = lambda _: reply("at last")
    assert asyncio.run(setup.caller().ask(ask())) == reply("at last")
    attempts = setup.store.attempts([ask().key])[ask().key]
    assert [(a.outcome, a.status, a.message, a.cost) for a in attempts] == [
        (kind, 400, "m", None),
        ("reply", None, "", 30),
    ]


def test_every_attempt_is_stored(setup: Setup) -> None:
    answers: list[Outcome] = [
        Failure(kind="overload", message="busy", status=529),
        Failure(kind="server", message="", usage=Usage(4, 0)),
        reply("x"),
    ]
    setup.flow.tries = 5
    setup.model.answer = lambda _: answers.pop(0)
    asyncio.run(setup.caller().ask(ask()))
    attempts = setup.store.attempts([ask().key])[ask().key]
    assert [(a.number, a.outcome, a.cost) for a in attempts] == [
        (1, "overload", None),
        (2, "server", 12),
        (3, "reply", 30),
    ]
    assert setup.budget.spent == [(Usage(4, 0), 12), (Usage(10, 2), 30)]
    assert (setup.budget.settled, setup.budget.feared) == (1, 0)
    (total,) = setup.store.totals()
    assert (total.calls, total.attempts, total.cost) == (1, 3, 42)


def test_a_model_without_an_endpoint_needs_no_flow_and_is_stored(setup: Setup) -> None:
    setup.model.endpoint = ""
    setup.flow.run = None  # type: ignore[assignment, method-assign]
    asyncio.run(setup.caller().ask(ask()))
    assert asyncio.run(setup.caller().ask(ask())) == reply("answer to q")
    assert len(setup.model.seen) == 1
    assert len(setup.store.attempts([ask().key])[ask().key]) == 1


def test_what_is_stored_needs_no_model(setup: Setup) -> None:
    def refuse(name: str) -> FakeModel:
        raise UserError("the environment variable FAKE_API_KEY is not set.")

    asyncio.run(setup.caller().ask(ask()))
    caller = Caller(setup.store, MediaStore(), setup.flow, setup.budget, refuse, meter=FakeMeter())
    assert asyncio.run(caller.ask(ask())) == reply("answer to q")
    with pytest.raises(UserError, match="FAKE_API_KEY"):
        asyncio.run(caller.ask(ask("new")))
    assert asyncio.run(setup.caller().ask(ask("new"))) == reply("answer to new")  # its claim was given back


def test_offline_sends_nothing(setup: Setup) -> None:
    asyncio.run(setup.caller().ask(ask()))
    caller = setup.caller(offline=True)
    assert asyncio.run(caller.ask(ask())) == reply("answer to q")
    missed = asyncio.run(caller.ask(ask("new")))
    assert isinstance(missed, Failure)
    assert missed.kind == "replay_miss"
    assert setup.model.seen == ["q"]


def test_a_bug_is_not_an_outcome(setup: Setup) -> None:
    def bug(_: str) -> Outcome:
        raise ZeroDivisionError("a bug")

    setup.model.answer = bug
    with pytest.raises(ZeroDivisionError):
        asyncio.run(setup.caller().ask(ask()))
    with pytest.raises(ZeroDivisionError):
        list(run_calls(setup.caller(), [ask(n) for n in range(5)]))
    assert setup.budget.open == 0
    setup.model.answer = lambda text: reply("mended")
    assert asyncio.run(setup.caller().ask(ask())) == reply("mended")


def test_a_reply_that_is_not_unicode_is_a_failure(setup: Setup) -> None:
    setup.model.answer = lambda _: reply("\ud800")
    outcome = asyncio.run(setup.caller().ask(ask()))
    assert isinstance(outcome, Failure)
    assert outcome.kind == "server"
    with pytest.raises(UserError, match="Unicode"):
        asyncio.run(setup.caller().ask(ask("\ud800")))


def test_keys_never_reach_the_store(setup: Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "geheim-0123456789abcdef"
    monkeypatch.setenv("FAKE_API_KEY", key)
    setup.model.answer = lambda text: (
        Failure(kind="auth", message=f"the key {key} is wrong")
        if text == "bad"
        else reply(f"your key is {key}")
    )
    caller = setup.caller()
    asyncio.run(caller.ask(ask("bad")))
    assert asyncio.run(caller.ask(ask("good"))) == reply("your key is [FAKE_API_KEY]")
    with pytest.raises(UserError, match="FAKE_API_KEY") as caught:
        asyncio.run(caller.ask(ask(f"my key is {key}")))
    assert key not in str(caught.value)
    setup.store.close()
    for file in tmp_path.iterdir():
        assert key.encode() not in file.read_bytes()


# -- cancelling one call ---------------------------------------------------------------------------------------


def test_a_cancelled_call_is_recorded_and_its_claim_given_back(setup: Setup) -> None:
    async def run() -> None:
        task = asyncio.create_task(setup.caller().ask(ask()))
        while not setup.model.flying:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    setup.model.delay = 30
    asyncio.run(run())
    setup.model.delay = 0
    assert (setup.budget.feared, setup.budget.spent, setup.budget.settled) == (1, [], 1)
    assert asyncio.run(setup.caller().ask(ask())) == reply("answer to q")
    attempts = setup.store.attempts([ask().key])[ask().key]
    assert [a.outcome for a in attempts] == ["cancelled", "reply"]


def test_followers_of_a_cancelled_call_make_it_themselves(setup: Setup) -> None:
    async def run() -> tuple[Outcome, ...]:
        caller = setup.caller()
        leader = asyncio.create_task(caller.ask(ask()))
        await asyncio.sleep(0.05)
        followers = [asyncio.create_task(caller.ask(ask())) for _ in range(3)]
        await asyncio.sleep(0.05)
        followers[0].cancel()  # a follower takes nobody with it
        leader.cancel()
        return tuple(await asyncio.gather(*followers[1:]))

    setup.model.delay = 0.2
    assert asyncio.run(run()) == (reply("answer to q"),) * 2
    assert setup.model.seen == ["q", "q"]


def test_a_result_that_came_is_stored_though_nobody_waits_any_more(setup: Setup) -> None:
    """Cancelled between the answer and the commit."""

    async def run() -> None:
        finish = setup.store.lane.finish

        async def slow(key: str, row: dict[str, object]) -> str | None:
            task.cancel()
            return await finish(key, row)

        setup.store.lane.finish = slow  # type: ignore[method-assign]
        task = asyncio.create_task(setup.caller().ask(ask()))
        with pytest.raises(asyncio.CancelledError):
            await task
        setup.store.lane.finish = finish  # type: ignore[method-assign]

    asyncio.run(run())
    assert asyncio.run(setup.caller().ask(ask())) == reply("answer to q")
    assert setup.model.seen == ["q"]


def test_a_run_that_is_stopped_does_not_stop_another(setup: Setup) -> None:
    """The second run waits for the first one's call, which is never sent since the first run is being stopped."""

    async def run() -> Outcome:
        gate = asyncio.Event()
        flow = setup.flow.run

        async def held(*arguments: Any) -> Outcome:
            if not gate.is_set():
                await gate.wait()
            return await flow(*arguments)

        setup.flow.run = held  # type: ignore[method-assign]
        caller = setup.caller()
        results = caller.ask_all([ask()], stage="s")
        first = asyncio.create_task(anext(results))
        await asyncio.sleep(0.1)
        second = asyncio.create_task(caller.ask(ask()))
        await asyncio.sleep(0.1)
        asyncio.get_running_loop().call_later(0.2, gate.set)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        return await second

    assert asyncio.run(run()) == reply("answer to q")
    assert setup.model.seen == ["q"]


# -- many calls ------------------------------------------------------------------------------------------------


async def _all(caller: Caller, requests: object, **more: object) -> dict[str, Outcome]:
    async with aclosing(caller.ask_all(requests, stage="s", **more)) as results:  # type: ignore[arg-type]
        return {request.messages[0].text: outcome async for request, outcome in results}


def test_all_are_answered_whatever_the_order_and_concurrency(setup: Setup) -> None:
    wanted = {f"q{n}": reply(f"answer to q{n}") for n in range(300)}
    setup.model.delay = 0.002
    assert asyncio.run(_all(setup.caller(concurrency=7), (ask(t) for t in wanted))) == wanted
    assert setup.model.most <= 7
    again = setup.caller()
    assert asyncio.run(_all(again, [ask(t) for t in reversed(wanted)])) == wanted
    assert len(setup.model.seen) == 300
    assert (again.tally.stored, again.tally.sent, again.tally.kinds) == (300, 0, {"reply": 300})
    assert asyncio.run(_all(setup.caller(), [])) == {}


def test_equal_requests_in_one_run_each_get_the_outcome(setup: Setup) -> None:
    pairs = list(run_calls(setup.caller(), [ask(n % 3) for n in range(90)], stage="s"))
    assert len(pairs) == 90
    assert sorted(setup.model.seen) == ["0", "1", "2"]
    assert all(outcome == reply(f"answer to {request.messages[0].text}") for request, outcome in pairs)


@pytest.mark.parametrize("concurrency", [3, 512])
def test_a_budget_stops_cleanly_and_what_is_stored_is_still_given(setup: Setup, concurrency: int) -> None:
    asyncio.run(_all(setup.caller(), [ask(n) for n in range(20)]))
    setup.budget.left = 5
    caller = setup.caller(concurrency=concurrency)
    outcomes = asyncio.run(_all(caller, [ask(n) for n in range(60)]))
    assert setup.budget.open == 0
    kinds = [o.kind if isinstance(o, Failure) else "reply" for o in outcomes.values()]
    assert (kinds.count("reply"), kinds.count("budget")) == (25, 35)
    assert caller.tally.stopped == "no more calls."
    assert len(setup.model.seen) == 25
    assert len(list(setup.store.calls())) == 25  # what was never sent leaves no trace
    setup.budget.left = 100
    assert len(asyncio.run(_all(setup.caller(), [ask(n) for n in range(60)]))) == 60
    assert len(setup.model.seen) == 60


def test_closing_early_keeps_what_is_finished_and_waits_for_what_flies(setup: Setup) -> None:
    async def run() -> None:
        async with aclosing(
            setup.caller(concurrency=10).ask_all([ask(n) for n in range(500)], stage="s")
        ) as results:
            async for _ in results:
                break

    setup.model.delay = 0.05
    asyncio.run(run())
    sent = len(setup.model.seen)
    assert sent <= 40
    assert len(setup.store) == sent  # calls in flight came in
    assert setup.budget.open == 0


def test_what_does_not_come_in_within_the_grace_is_recorded_as_cancelled(setup: Setup) -> None:
    async def run() -> None:
        async with aclosing(
            setup.caller().ask_all([ask(n) for n in range(30)], stage="s", grace=0.2)
        ) as results:
            async for _ in results:
                break

    setup.model.answer = lambda text: reply(text)
    slow = setup.model.attempt

    async def attempt(request: Request, media: MediaStore, *, timeout: float) -> Outcome:
        setup.model.delay = 0 if request.messages[0].text == "0" else 600
        return await slow(request, media, timeout=timeout)

    setup.model.attempt = attempt  # type: ignore[method-assign]
    asyncio.run(run())
    assert begin_all(setup.store, [ask(n) for n in range(1, 30)]) == [Claim.OURS] * 29
    assert setup.store.count(Selection(kind="cancelled")) == 29


def begin_all(store: CallStore, requests: list[Request]) -> list[str | Claim]:
    async def run() -> list[str | Claim]:
        return await asyncio.gather(*(store.lane.begin(r.key) for r in requests))

    return asyncio.run(run())


def test_requests_are_made_in_one_other_thread_and_closed_there(setup: Setup) -> None:
    threads: list[int] = []

    def requests() -> Iterator[Request]:
        try:
            for n in range(600):
                threads.append(threading.get_ident())
                yield ask(n)
        finally:
            threads.append(threading.get_ident())

    async def run() -> None:
        async with aclosing(setup.caller().ask_all(requests())) as results:
            async for _ in results:
                break

    assert len(asyncio.run(_all(setup.caller(), requests()))) == 600
    assert len(set(threads)) == 1
    assert threads[0] != threading.get_ident()
    setup.model.delay = 0.01
    threads.clear()
    asyncio.run(run())
    end = time.monotonic() + 60
    while threads.count(threads[0]) != len(threads):
        assert time.monotonic() < end


def test_slow_requests_do_not_hold_up_the_first_calls(setup: Setup) -> None:
    seen = threading.Event()

    def requests() -> Iterator[Request]:
        time.sleep(0.05)
        yield ask("first")
        assert seen.wait(60), "the second was asked for before the first was answered"
        yield ask("second")

    texts = []
    for request, _ in run_calls(setup.caller(), requests()):
        texts.append(request.messages[0].text)
        seen.set()
    assert texts == ["first", "second"]


def test_an_error_among_the_requests_is_raised(setup: Setup) -> None:
    def requests() -> Iterator[Request]:
        yield from map(ask, range(256))
        time.sleep(0.2)
        raise UserError("the clip is missing.")

    setup.model.delay = 0.5
    with pytest.raises(UserError, match="clip"):
        list(run_calls(setup.caller(), requests()))
    assert len(setup.store) == len(setup.model.seen) > 0  # what was in flight came in


def test_one_bad_request_does_not_cost_the_others(setup: Setup) -> None:
    def bug(text: str) -> Outcome:
        if text == "3":
            raise ZeroDivisionError("a bug")
        return reply(text)

    setup.model.delay, setup.model.answer = 0.1, bug
    with pytest.raises(ZeroDivisionError):
        list(run_calls(setup.caller(), [ask(n) for n in range(40)]))
    assert len(setup.store) == 39


def test_an_error_does_not_wait_for_requests_that_never_come(setup: Setup) -> None:
    """What a conversation asks next hangs on an outcome that is not there; nothing is in flight to wait for."""

    def talk() -> Conversation[None]:
        yield ask("first")
        yield ask("second")

    def bug(_: str) -> Outcome:
        raise ZeroDivisionError("a bug")

    setup.model.answer = bug
    begun = time.monotonic()
    with pytest.raises(ZeroDivisionError):
        list(converse([("one", talk())], lambda feed: run_calls(setup.caller(), feed, grace=60)))
    assert time.monotonic() - begun < 50


# -- for ordinary code -----------------------------------------------------------------------------------------


def test_run_calls_works_inside_a_running_loop(setup: Setup) -> None:
    async def inside() -> int:
        return len(list(run_calls(setup.caller(), (ask(n) for n in range(50)))))

    steps: list[int] = []
    assert asyncio.run(inside()) == 50
    assert (
        len(list(run_calls(setup.caller(), [ask(n) for n in range(50)], progress=lambda: steps.append(1))))
        == 50
    )
    assert len(steps) == 50
    assert setup.model.closed == 1  # the second run needed no model


def test_a_consumer_that_breaks_ends_the_thread(setup: Setup) -> None:
    setup.model.delay = 0.01
    caller = setup.caller(concurrency=5)
    for _ in run_calls(caller, (ask(n) for n in range(10_000))):
        break
    assert not [t for t in threading.enumerate() if t.name == "proctor-caller"]
    assert len(setup.store) == len(setup.model.seen)
    assert setup.model.closed == 1


def test_a_slow_consumer_holds_the_calls_back(setup: Setup) -> None:
    results = run_calls(setup.caller(concurrency=5), [ask(n) for n in range(5_000)])
    next(results)
    time.sleep(0.7)
    assert len(setup.model.seen) < 1_500
    results.close()  # type: ignore[attr-defined]


INTERRUPTED = """
import signal, sys, time
# Whoever runs the tests in the background of a shell starts them with Ctrl-C ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, {tests!r})
from test_caller import *
setup = Setup(CallStore.open(sys.argv[1]))
setup.model.delay = float(sys.argv[2])
import pathlib
def count():
    pathlib.Path(sys.argv[1] + ".seen").write_text(str(len(setup.model.seen)))
try:
    for n, _ in enumerate(run_calls(setup.caller(concurrency=8), (ask(n) for n in range(100_000)), grace=float(sys.argv[3]))):
        if n == 8:
            print("running", flush=True)
except KeyboardInterrupt:
    setup.store.close()
    count()
    raise SystemExit(130)
"""


@pytest.mark.parametrize(("delay", "grace", "signals"), [(0.05, 5.0, 1), (0.05, 0.0, 1), (1.0, 60.0, 2)])
def test_control_c_ends_cleanly(tmp_path: Path, delay: float, grace: float, signals: int) -> None:
    code = INTERRUPTED.format(tests=str(Path(__file__).parent))
    path = tmp_path / "c.sqlite"
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code, str(path), str(delay), str(grace)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    time.sleep(0.3)  # the next calls are in flight
    for _ in range(signals):
        process.send_signal(signal.SIGINT)
        time.sleep(0.05)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "")
    seen = int(Path(f"{path}.seen").read_text())
    with CallStore.open(path) as store:
        cancelled = store.count(Selection(kind="cancelled"))
        assert len(store) + cancelled == seen
        assert cancelled == 0 if (grace, signals) == (5.0, 1) else cancelled <= 8


# -- several processes -------------------------------------------------------------------------------------------

SHARING = """
import sys
sys.path.insert(0, {tests!r})
from test_caller import *
class AnswersWhenBothAsk(FakeModel):
    async def attempt(self, request, media, *, timeout):
        Path(sys.argv[2]).touch()
        while not Path(sys.argv[3]).exists():
            await asyncio.sleep(0.005)
        return await super().attempt(request, media, timeout=timeout)
setup = Setup(CallStore.open(sys.argv[1]), AnswersWhenBothAsk(delay=0.01))
n = 0
for request, outcome in run_calls(setup.caller(concurrency=20), [ask(n) for n in range(150)]):
    assert outcome == reply(f"answer to {{request.messages[0].text}}"), outcome
    n += 1
setup.store.close()
print(n, len(setup.model.seen), flush=True)
"""


def test_processes_on_one_store_share_the_work(target: str, tmp_path: Path) -> None:
    code = SHARING.format(tests=str(Path(__file__).parent))
    marks = [str(tmp_path / name) for name in ("one", "other")]
    commands = [[sys.executable, "-W", "error", "-c", code, target, *order] for order in (marks, marks[::-1])]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    try:
        results = [tuple(map(int, process.communicate(timeout=120)[0].split())) for process in processes]
    finally:
        for process in processes:
            process.kill()  # one waits for the other, which may have failed
    assert [n for n, _ in results] == [150] * 2
    assert sum(sent for _, sent in results) == 150
    assert all(sent > 0 for _, sent in results), results


def test_a_call_that_another_process_makes_is_waited_for(setup: Setup, tmp_path: Path) -> None:
    with CallStore.open(tmp_path / "calls.sqlite") as other:
        assert begin_all(other, [ask("released")]) == [Claim.OURS]
        theirs = Setup(other, FakeModel(delay=0.5))
        thread = threading.Thread(target=lambda: asyncio.run(theirs.caller().ask(ask("slow"))))
        thread.start()
        while not theirs.model.seen:
            time.sleep(0.005)

        def release() -> None:
            end = time.monotonic() + 60
            while len(setup.model.seen) < 20 and time.monotonic() < end:
                time.sleep(0.01)
            other.lane.release(ask("released").key)

        threading.Thread(target=release).start()
        requests = [ask("slow"), ask("released"), *map(ask, range(20))]
        outcomes = asyncio.run(_all(setup.caller(concurrency=2), requests))
        thread.join()
    assert len(outcomes) == 22
    assert "slow" not in setup.model.seen
    assert len(setup.model.seen) == 21
    assert setup.model.seen[-1] == "released"  # the others were not held up


# -- size ----------------------------------------------------------------------------------------------------------


def test_memory_does_not_grow_with_the_number_of_calls(setup: Setup) -> None:
    def peak(first: int, count: int) -> int:
        gc.collect()
        tracemalloc.start()
        for _ in run_calls(
            setup.caller(concurrency=50), (ask(f"{n} " + "x" * 500) for n in range(first, first + count))
        ):
            pass
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    class Nothing(list[str]):
        def append(self, text: str) -> None: ...

    setup.model.seen = Nothing()
    peak(0, 300)
    small = peak(300, 500)
    assert peak(800, 1_500) < 1.3 * small + 2**18


def test_nothing_of_ours_is_left_behind(setup: Setup) -> None:
    caller = setup.caller()
    list(run_calls(caller, [ask(n) for n in range(40)]))
    assert caller._asking == {}
    assert caller._models == {}
    setup.store.close()
    assert not [t for t in threading.enumerate() if t.name.startswith("proctor-")]
    assert os.path.exists("/proc/self/fd") is False or not [  # noqa: PTH110
        f for f in Path("/proc/self/fd").iterdir() if str(f.resolve()).endswith("calls.sqlite")
    ]

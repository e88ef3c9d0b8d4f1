"""Flow control against scripted endpoints, in a time of its own: hours pass in milliseconds, and what hangs is an error."""

from __future__ import annotations

import asyncio
import gc
import itertools
import math
import random
import selectors
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.llm.flow import Flow, FlowSettings, GateRules, Limits
from proctor.llm.gate import Bucket
from proctor.llm.outcome import AttemptRecord, Failure, FailureKind, Outcome, Refusal, Reply, Truncated, Usage

T = TypeVar("T")
HOST = "https://api.example.com/v1#model"


class _Selector(selectors.DefaultSelector):  # type: ignore[misc,valid-type]
    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> Any:
        events = super().select(0)
        if not events:
            if timeout is None:
                raise RuntimeError("everybody waits, and nothing will ever happen")
            self.loop.now += max(timeout, 0.0)
        return events


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next timer."""

    def __init__(self) -> None:
        selector = _Selector()
        selector.loop = self
        self.now = 1_000.0
        super().__init__(selector)

    def time(self) -> float:
        return self.now


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run in virtual time; no task may be left."""

    async def checked() -> T:
        result = await main
        await asyncio.sleep(0)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left
        timers = asyncio.get_running_loop()._scheduled  # type: ignore[attr-defined]
        assert [timer for timer in timers if not timer.cancelled()] == []
        return result

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(checked())


def now() -> float:
    return asyncio.get_running_loop().time()


def failure(kind: FailureKind, retry_after: float | None = None) -> Failure:
    return Failure(kind=kind, message=f"seen: {kind}", retry_after=retry_after)


REPLY = Reply(text="yes", usage=Usage(input=10, output=5))


class Endpoint:
    """Answers after a latency what its script says; knows what came when, and how many at once."""

    def __init__(self, script: Callable[[Endpoint], Outcome] = lambda _: REPLY, latency: float = 1.0) -> None:
        self.script = script
        self.latency = latency
        self.times: list[float] = []
        self.in_flight = 0
        self.most = 0

    @property
    def count(self) -> int:
        return len(self.times)

    async def attempt(self, timeout: float) -> Outcome:
        self.times.append(now())
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        outcome = self.script(self)
        try:
            await asyncio.sleep(self.latency if not isinstance(outcome, Failure) else self.latency / 10)
        finally:
            self.in_flight -= 1
        return outcome

    def calls(self, flow: Flow, number: int, tokens: int = 100) -> list[asyncio.Task[Outcome]]:
        return [
            asyncio.create_task(flow.run(HOST, tokens, self.attempt, lambda _: None)) for _ in range(number)
        ]


def flow_of(concurrency: int = 16, most: int = 128, **changes: Any) -> Flow:
    limits = Limits(
        concurrency=concurrency,
        max_concurrency=max(most, concurrency),
        requests_per_minute=changes.pop("rpm", None),
        tokens_per_minute=changes.pop("tpm", None),
    )
    return Flow(FlowSettings(limits=limits, **changes), wall=lambda: 0.0)


def scripted(*outcomes: Outcome) -> tuple[list[float], Callable[[float], Awaitable[Outcome]]]:
    """An attempt that gives these outcomes one after the other, and the timeouts that it was given."""
    left = list(outcomes)
    timeouts: list[float] = []

    async def attempt(timeout: float) -> Outcome:
        timeouts.append(timeout)
        return left.pop(0)

    return timeouts, attempt


# -- one call ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "outcome",
    [
        REPLY,
        Truncated(text="y"),
        Refusal(),
        failure("bad_request"),
        failure("too_large"),
        failure("content_filter"),
        failure("cancelled"),
        failure("replay_miss"),
        failure("budget"),
    ],
)
@pytest.mark.parametrize("endpoint", [HOST, ""])
def test_final_outcomes_are_sent_once(outcome: Outcome, endpoint: str) -> None:
    records: list[AttemptRecord] = []
    timeouts, attempt = scripted(outcome)
    got = run(flow_of(attempt_timeout=12.0).run(endpoint, 1, attempt, records.append))
    assert got is outcome
    assert timeouts == [12.0]
    assert [record.number for record in records] == [1]


def test_failures_that_go_away_do() -> None:
    records: list[AttemptRecord] = []
    _, attempt = scripted(failure("connection"), failure("rate_limit"), failure("timeout"), REPLY)
    assert run(flow_of().run(HOST, 1, attempt, records.append)) == REPLY
    assert [(record.number, record.outcome) for record in records] == [
        (1, "connection"),
        (2, "rate_limit"),
        (3, "timeout"),
        (4, "reply"),
    ]
    assert records[-1].usage == REPLY.usage
    assert records[0].message == "seen: connection"


def test_attempts_end() -> None:
    endpoint = Endpoint(lambda _: failure("server"))
    flow = flow_of(attempts=4, rules=GateRules(breaker_failures=100))
    outcome = run(flow.run(HOST, 1, endpoint.attempt, lambda _: None))
    assert isinstance(outcome, Failure)
    assert outcome.kind == "server"
    assert "seen: server (given up after 4 attempts: no attempt is left)" in outcome.message
    assert endpoint.count == 4


def test_one_attempt_only() -> None:
    endpoint = Endpoint(lambda _: failure("server"))
    outcome = run(flow_of(attempts=1).run(HOST, 1, endpoint.attempt, lambda _: None))
    assert isinstance(outcome, Failure)
    assert "one attempt" in outcome.message
    assert endpoint.count == 1


def test_an_endpoint_that_is_busy_gets_more_patience_than_one_that_breaks() -> None:
    endpoint = Endpoint(lambda _: failure("overload"))
    flow = flow_of(attempts=3, throttled_attempts=9)
    outcome = run(flow.run(HOST, 1, endpoint.attempt, lambda _: None))
    assert isinstance(outcome, Failure)
    assert endpoint.count == 9


def test_back_off_grows_and_is_jittered() -> None:
    endpoint = Endpoint(lambda _: failure("server"), latency=0.0)
    flow = flow_of(attempts=9, rules=GateRules(breaker_failures=100, longest_backoff=20.0))
    run(flow.run(HOST, 1, endpoint.attempt, lambda _: None))
    gaps = [b - a for a, b in itertools.pairwise(endpoint.times)]
    for nth, gap in enumerate(gaps):
        full = min(20.0, 0.5 * 2**nth)
        assert full / 2 <= gap <= full + 1e-6
    assert len({round(gap / min(20.0, 0.5 * 2**nth), 6) for nth, gap in enumerate(gaps)}) == len(gaps)


@pytest.mark.parametrize("kind", ["server", "rate_limit", "overload", "timeout", "connection"])
@pytest.mark.parametrize("retry_after", [None, 7.0])
def test_the_deadline_holds_whatever_fails(kind: FailureKind, retry_after: float | None) -> None:
    async def main() -> tuple[Outcome, float]:
        endpoint = Endpoint(lambda _: failure(kind, retry_after), latency=20.0)
        flow = flow_of(
            attempts=1_000, throttled_attempts=1_000, deadline=60.0, rules=GateRules(breaker_failures=10_000)
        )
        start = now()
        return await flow.run(HOST, 1, endpoint.attempt, lambda _: None), now() - start

    outcome, seconds = run(main())
    assert isinstance(outcome, Failure)
    assert outcome.kind == kind
    assert "deadline" in outcome.message
    assert 30.0 <= seconds <= 60.0


def test_a_pause_beyond_the_deadline_is_not_waited_for() -> None:
    async def main() -> float:
        start = now()
        flow = flow_of(deadline=60.0)
        outcome = await flow.run(
            HOST, 1, Endpoint(lambda _: failure("overload", 90.0)).attempt, lambda _: None
        )
        assert "deadline would come first" in outcome.message  # type: ignore[union-attr]
        return now() - start

    assert run(main()) < 1.0


def test_nothing_is_kept_of_calls_that_are_over() -> None:
    flow = flow_of()
    run(flow.run(HOST, 1, Endpoint().attempt, lambda _: None))
    assert not flow._sending


def test_the_last_attempt_gets_what_is_left_of_the_deadline() -> None:
    given_seconds: list[float] = []

    async def attempt(timeout: float) -> Outcome:
        given_seconds.append(timeout)
        await asyncio.sleep(timeout)
        return failure("timeout")

    flow = flow_of(attempts=10, deadline=50.0, attempt_timeout=30.0)
    run(flow.run(HOST, 1, attempt, lambda _: None))
    assert given_seconds[0] == 30.0
    assert 15.0 < given_seconds[1] < 20.0
    assert len(given_seconds) == 2


def test_a_model_that_does_not_keep_its_timeout_is_ended() -> None:
    async def attempt(timeout: float) -> Outcome:
        await asyncio.sleep(10_000)
        return REPLY

    records: list[AttemptRecord] = []
    outcome = run(flow_of(attempts=2, attempt_timeout=10.0).run(HOST, 1, attempt, records.append))
    assert isinstance(outcome, Failure)
    assert outcome.kind == "timeout"
    assert [record.seconds for record in records] == pytest.approx([15.0, 15.0])


@pytest.mark.parametrize("where", ["attempt", "record"])
def test_what_is_raised_comes_out_and_frees_the_place(where: str) -> None:
    async def main() -> None:
        flow = flow_of(concurrency=1, most=1)

        async def broken(timeout: float) -> Outcome:
            if where == "attempt":
                raise UserError("the media are not there.")
            return REPLY

        def note(record: AttemptRecord) -> None:
            raise ValueError("the disk is full")

        with pytest.raises((UserError, ValueError)):
            await flow.run(HOST, 1, broken, note)
        assert await flow.run(HOST, 1, scripted(REPLY)[1], lambda _: None) == REPLY
        assert flow.state()[0].in_flight == 0

    run(main())


def test_records_keep_both_clocks() -> None:
    clock = iter([1.7e9, 1.6e9])  # set back between two attempts
    flow = Flow(FlowSettings(), wall=lambda: next(clock))
    records: list[AttemptRecord] = []
    endpoint = Endpoint(lambda e: REPLY if e.count > 1 else failure("server"), latency=3.0)
    run(flow.run(HOST, 1, endpoint.attempt, records.append))
    assert [record.started for record in records] == [1.7e9, 1.6e9]
    assert [record.seconds for record in records] == pytest.approx([0.3, 3.0])


# -- calls in flight --------------------------------------------------------------------------------------------


def test_never_more_in_flight_than_allowed_and_all_places_are_used() -> None:
    async def main() -> tuple[Endpoint, float]:
        endpoint = Endpoint()
        start = now()
        await asyncio.gather(*endpoint.calls(flow_of(10, 10), 100))
        return endpoint, now() - start

    endpoint, seconds = run(main())
    assert endpoint.most == 10
    assert seconds == pytest.approx(10.0)


def test_without_complaints_it_grows_to_the_maximum_quickly() -> None:
    async def main() -> tuple[Endpoint, float]:
        endpoint = Endpoint()
        start = now()
        await asyncio.gather(*endpoint.calls(flow_of(8, 64), 1_000))
        return endpoint, now() - start

    endpoint, seconds = run(main())
    assert endpoint.most == 64
    assert seconds < 1_000 / 64 + 5


def test_places_that_are_not_used_are_not_multiplied() -> None:
    async def main() -> int:
        endpoint, flow = Endpoint(), flow_of(8, 64)
        for _ in range(200):
            await asyncio.gather(*endpoint.calls(flow, 4))
        return flow.state()[0].limit

    assert run(main()) == 8


def test_a_window_shrinks_once() -> None:
    async def main() -> tuple[int, list[str]]:
        endpoint = Endpoint(lambda e: failure("rate_limit") if e.count <= 100 else REPLY)
        flow = flow_of(100, 200)
        await asyncio.gather(*endpoint.calls(flow, 100))
        return min(event.limit for event in flow.history), [event.kind for event in flow.history]

    limit, kinds = run(main())
    assert limit == 70
    assert kinds.count("shrink") == 1


def test_it_shrinks_from_what_was_in_flight_not_from_what_might_have_been() -> None:
    async def main() -> int:
        endpoint, flow = Endpoint(lambda _: failure("rate_limit")), flow_of(64, 64, throttled_attempts=1)
        await asyncio.gather(*endpoint.calls(flow, 4))
        return flow.state()[0].limit

    assert run(main()) == 2


@pytest.mark.parametrize("kind", ["server", "timeout", "connection", "bad_request", "content_filter"])
def test_other_failures_do_not_shrink(kind: FailureKind) -> None:
    async def main() -> list[str]:
        endpoint = Endpoint(lambda e: failure(kind) if e.count % 3 == 0 else REPLY)
        flow = flow_of(20, 20)
        await asyncio.gather(*endpoint.calls(flow, 300))
        return [event.kind for event in flow.history]

    assert "shrink" not in run(main())


def test_it_finds_what_a_busy_endpoint_bears_and_keeps_it_busy() -> None:
    """Ten at once are answered, the eleventh gets 429 without a word on when to come back."""

    async def main() -> tuple[list[Outcome], Endpoint, float, Flow]:
        endpoint = Endpoint(lambda e: REPLY if e.in_flight <= 10 else failure("rate_limit"))
        flow, start = flow_of(64, 64), now()
        outcomes = await asyncio.gather(*endpoint.calls(flow, 1_000))
        return outcomes, endpoint, now() - start, flow

    outcomes, endpoint, seconds, flow = run(main())
    assert outcomes == [REPLY] * 1_000
    assert seconds < 1_000 / 10 / 0.7  # ideal: 100 s
    assert endpoint.count < 2_000
    assert 4 <= flow.state()[0].limit <= 16


def test_it_grows_again_when_the_endpoint_bears_more() -> None:
    async def main() -> tuple[int, int]:
        room = [5]
        endpoint = Endpoint(lambda e: REPLY if e.in_flight <= room[0] else failure("overload"))
        flow = flow_of(40, 40)
        await asyncio.gather(*endpoint.calls(flow, 200))
        low = flow.state()[0].limit
        room[0] = 1_000
        await asyncio.gather(*endpoint.calls(flow, 2_000))
        return low, flow.state()[0].limit

    low, high = run(main())
    assert low <= 8
    assert high == 40


def test_growth_after_a_shrink_is_additive() -> None:
    async def main() -> list[int]:
        endpoint = Endpoint(lambda e: failure("rate_limit") if e.count == 20 else REPLY)
        flow, limits = flow_of(20, 100, rules=GateRules(grow=1.0)), []
        calls = endpoint.calls(flow, 400)
        for _ in range(10):
            await asyncio.sleep(1.0)
            limits.append(flow.state()[0].limit)
        await asyncio.gather(*calls)
        return limits

    limits = run(main())
    steps = [b - a for a, b in itertools.pairwise(limits[1:])]
    assert limits[1] < 20
    assert all(0 <= step <= 2 for step in steps)
    assert sum(steps) >= 5


def test_history_is_short_and_says_what_happened() -> None:
    async def main() -> Flow:
        endpoint = Endpoint(lambda e: failure("rate_limit", 5.0) if e.count == 40 else REPLY)
        flow = flow_of(8, 64)
        await asyncio.gather(*endpoint.calls(flow, 500))
        return flow

    events = run(main()).history
    assert [event.kind for event in events] == ["grow", "pause", "shrink", "grow"]
    assert "5 s: it asked for that" in events[1].detail
    assert all(event.endpoint == HOST for event in events)
    assert msgspec.json.decode(msgspec.json.encode(events[0]))["limit"] == events[0].limit


# -- storms -----------------------------------------------------------------------------------------------------


def test_retry_after_stops_the_whole_endpoint() -> None:
    async def main() -> tuple[list[Outcome], Endpoint, float]:
        endpoint, flow, start = Endpoint(), flow_of(50, 50), now()
        endpoint.script = lambda _: failure("rate_limit", 20.0) if now() < start + 30.0 else REPLY
        outcomes = await asyncio.gather(*endpoint.calls(flow, 300))
        return outcomes, endpoint, start

    outcomes, endpoint, start = run(main())
    assert outcomes == [REPLY] * 300
    early = [t - start for t in endpoint.times if t - start < 40.0]
    assert {round(t) for t in early} == {0, 20}  # nothing was sent between
    assert len(early) <= 100


def test_a_storm_without_retry_after_loses_nothing_and_is_not_answered_with_a_storm() -> None:
    async def main() -> tuple[list[Outcome], Endpoint, float]:
        endpoint, flow, start = Endpoint(), flow_of(50, 50), now()
        endpoint.script = lambda _: failure("rate_limit") if now() < start + 120.0 else REPLY
        outcomes = await asyncio.gather(*endpoint.calls(flow, 300))
        return outcomes, endpoint, now() - start

    outcomes, endpoint, seconds = run(main())
    assert outcomes == [REPLY] * 300
    assert endpoint.count - 300 < 300  # turned away in two minutes, by 50 places
    assert seconds < 300.0


def test_a_fixed_window_of_a_minute() -> None:
    """60 calls a minute, counted from the full minute on; beyond it 429 with the seconds that are left."""

    async def main() -> tuple[list[Outcome], Endpoint, float]:
        taken: dict[int, int] = {}

        def script(_: Endpoint) -> Outcome:
            minute = int(now() // 60)
            if taken.get(minute, 0) >= 60:
                return failure("rate_limit", 60.0 - now() % 60)
            taken[minute] = taken.get(minute, 0) + 1
            return REPLY

        endpoint, start = Endpoint(script), now()
        outcomes = await asyncio.gather(*endpoint.calls(flow_of(30, 60), 600))
        return outcomes, endpoint, now() - start

    outcomes, endpoint, seconds = run(main())
    assert outcomes == [REPLY] * 600
    assert seconds < 12 * 60.0
    assert endpoint.count < 1_200


def test_an_endpoint_that_asks_to_come_back_tomorrow_is_given_up() -> None:
    async def main() -> tuple[list[Outcome], Endpoint]:
        endpoint = Endpoint(lambda _: failure("rate_limit", 40_000.0))
        return await asyncio.gather(*endpoint.calls(flow_of(5, 5), 100)), endpoint

    outcomes, endpoint = run(main())
    assert endpoint.count == 5
    assert Counter(outcome.kind for outcome in outcomes) == {"rate_limit": 5, "cancelled": 95}  # type: ignore[union-attr]
    assert all("asks to wait 40,000 s" in outcome.message for outcome in outcomes)  # type: ignore[union-attr]


@pytest.mark.parametrize("asked", [None, 30.0])
def test_an_endpoint_that_turns_everything_away_is_given_up_in_the_end(asked: float | None) -> None:
    """A quota of the day that is used up, and an endpoint that does not say so: 5,000 calls must not wait for ever."""

    async def main() -> tuple[list[Outcome], Endpoint, float]:
        endpoint = Endpoint(lambda e: REPLY if e.count <= 100 else failure("rate_limit", asked))
        start = now()
        outcomes = await asyncio.gather(*endpoint.calls(flow_of(20, 20), 5_000))
        return outcomes, endpoint, now() - start

    outcomes, endpoint, seconds = run(main())
    assert sum(outcome == REPLY for outcome in outcomes) == 100
    assert 1_200 < seconds < 1_500
    assert endpoint.count < 1_500
    assert "every call was turned away for 20 minutes: seen" in outcomes[-1].message  # type: ignore[union-attr]


@pytest.mark.parametrize("asked", [math.nan, math.inf, -math.inf, -5.0, 0.0, 1e-300])
@pytest.mark.parametrize("kind", ["rate_limit", "server", "overload"])
def test_nonsense_in_retry_after_does_no_harm(asked: float, kind: FailureKind) -> None:
    async def main() -> float:
        _, attempt = scripted(failure(kind, asked), failure(kind, asked), REPLY)
        start = now()
        assert await flow_of().run(HOST, 1, attempt, lambda _: None) == REPLY
        return now() - start

    assert run(main()) < 10.0


def test_a_third_fails_then_all_then_none() -> None:
    async def main() -> tuple[list[Outcome], Endpoint, float, Flow]:
        chance = random.Random(3)
        endpoint, flow, start = Endpoint(latency=0.2), flow_of(50, 50), now()
        faults: list[FailureKind] = ["connection", "server", "timeout"]

        def script(_: Endpoint) -> Outcome:
            since = now() - start
            fails = 10.0 < since < 70.0 or (since <= 10.0 and chance.random() < 0.3)
            return failure(chance.choice(faults)) if fails else REPLY

        endpoint.script = script
        outcomes = await asyncio.gather(*endpoint.calls(flow, 5_000))
        return outcomes, endpoint, now() - start, flow

    outcomes, endpoint, seconds, flow = run(main())
    assert outcomes == [REPLY] * 5_000
    assert seconds < 70.0 + 60.0
    assert endpoint.count < 5_000 * 1.5
    kinds = [event.kind for event in flow.history]
    assert kinds[0] == "open"
    assert kinds[-1] in {"close", "grow"}
    assert 2 <= kinds.count("probe") <= 10


# -- the breaker ------------------------------------------------------------------------------------------------


def test_an_endpoint_that_never_answers_is_given_up_soon_and_with_its_reason() -> None:
    async def main() -> tuple[list[Outcome], Endpoint, float, Flow]:
        endpoint, flow, start = Endpoint(lambda _: failure("connection")), flow_of(5, 5), now()
        outcomes = await asyncio.gather(*endpoint.calls(flow, 1_000))
        return outcomes, endpoint, now() - start, flow

    outcomes, endpoint, seconds, flow = run(main())
    kinds = Counter(outcome.kind for outcome in outcomes)  # type: ignore[union-attr]
    assert kinds.keys() == {"connection", "cancelled"}
    assert kinds["connection"] <= endpoint.count < 30, "what was not sent has not failed"
    assert seconds < 60.0
    message = outcomes[-1].message  # type: ignore[union-attr]
    assert "failures in a row and not one answer; the last: seen: connection" in message
    assert message == f"not sent, after connection: {flow.stopped(HOST).message}"  # type: ignore[union-attr]
    assert flow.history[-1].kind == "stop"


def test_one_that_worked_is_probed_longer() -> None:
    async def main() -> tuple[list[Outcome], list[float], float]:
        endpoint = Endpoint(lambda e: REPLY if e.count <= 50 else failure("server"), latency=0.1)
        flow = flow_of(20, 20, attempts=100, deadline=10_000.0)
        start = now()
        outcomes = await asyncio.gather(*endpoint.calls(flow, 500))
        return outcomes, endpoint.times, now() - start

    outcomes, times, seconds = run(main())
    assert sum(outcome == REPLY for outcome in outcomes) == 50
    assert 100.0 < seconds < 400.0
    probes = times[-6:]
    gaps = [b - a for a, b in itertools.pairwise(probes)]
    assert gaps == pytest.approx([10, 20, 40, 60, 60], abs=0.1)


def test_one_probe_at_a_time_until_it_is_back_and_probes_cost_a_call_no_attempt() -> None:
    async def main() -> tuple[list[Outcome], list[int]]:
        endpoint, flow, start = Endpoint(latency=1.0), flow_of(20, 20, attempts=4), now()
        begun_while_broken: list[int] = []

        def script(e: Endpoint) -> Outcome:
            if flow.state()[0].broken and now() - start > 8.0:  # before, those let in at the last moment
                begun_while_broken.append(e.in_flight)
            return failure("connection") if 5.0 < now() - start < 50.0 else REPLY

        endpoint.script = script
        outcomes = await asyncio.gather(*endpoint.calls(flow, 400))
        return outcomes, begun_while_broken

    outcomes, in_flight = run(main())
    assert in_flight == [1, 1, 1, 1]  # 5, 15, 35 and 75 s later
    assert outcomes == [REPLY] * 400


def test_an_answer_between_faults_starts_the_count_anew() -> None:
    async def main() -> list[str]:
        endpoint = Endpoint(lambda e: REPLY if e.count % 10 == 0 else failure("connection"))
        flow = flow_of(1, 1, attempts=1)
        for call in endpoint.calls(flow, 60):
            await call
        return [event.kind for event in flow.history]

    assert "open" not in run(main())


def test_what_we_stopped_ourselves_tells_nothing_about_the_endpoint() -> None:
    async def main() -> None:
        endpoint = Endpoint(lambda e: failure("connection") if e.count <= 10 else failure("cancelled"))
        flow = flow_of(10, 10)
        calls = endpoint.calls(flow, 10)
        await asyncio.sleep(20.0)
        assert endpoint.count > 10
        assert flow.state()[0].broken
        await flow.close()
        await asyncio.gather(*calls)

    run(main())


def test_a_call_that_is_cancelled_while_it_is_let_in_gives_the_place_back() -> None:
    async def main() -> None:
        flow, endpoint = flow_of(1, 1), Endpoint()

        async def first() -> None:
            await flow.run(HOST, 1, endpoint.attempt, lambda _: None)
            second.cancel()  # it has been let in by the end of the first, but does not know it yet

        leader = asyncio.create_task(first())
        (second,) = endpoint.calls(flow, 1)
        await asyncio.gather(leader, second, return_exceptions=True)
        assert second.cancelled()
        assert endpoint.count == 1
        assert flow.state()[0].in_flight == 0
        assert await flow.run(HOST, 1, endpoint.attempt, lambda _: None) == REPLY

    run(main())


def test_a_cancelled_probe_makes_room_for_the_next() -> None:
    async def main() -> list[Outcome]:
        flow = flow_of(10, 10)
        endpoint = Endpoint(lambda e: failure("connection") if e.count <= 10 else REPLY, latency=1.0)
        calls = endpoint.calls(flow, 10)
        await asyncio.sleep(5.5)  # ten failures, the pause of 5 s, then one probe is in flight
        assert endpoint.count == 11
        assert flow.state()[0].broken
        for call in calls:
            call.cancel()
        others = endpoint.calls(flow, 5)
        await asyncio.gather(*calls, return_exceptions=True)
        return await asyncio.gather(*others)

    assert run(main()) == [REPLY] * 5


def test_a_late_answer_closes_the_breaker() -> None:
    async def main() -> tuple[list[Outcome], float]:
        flow = flow_of(11, 11)
        slow = asyncio.create_task(flow.run(HOST, 1, Endpoint(latency=3.0).attempt, lambda _: None))
        await asyncio.sleep(0)
        endpoint = Endpoint(lambda e: failure("connection") if e.count <= 10 else REPLY, latency=0.1)
        start = now()
        outcomes = await asyncio.gather(slow, *endpoint.calls(flow, 10))
        return outcomes, now() - start

    outcomes, seconds = run(main())
    assert outcomes == [REPLY] * 11
    assert seconds < 4.0  # not the 5 s of the breaker


def test_auth_stops_the_endpoint_at_once() -> None:
    async def main() -> tuple[list[Outcome], Endpoint]:
        endpoint = Endpoint(lambda e: failure("auth") if e.count == 3 else REPLY)
        flow = flow_of(10, 10)
        outcomes = await asyncio.gather(*endpoint.calls(flow, 500))
        late = await flow.run(HOST, 1, endpoint.attempt, lambda _: None)
        other = await flow.run("https://other", 1, Endpoint().attempt, lambda _: None)
        assert isinstance(late, Failure)
        assert other == REPLY
        return outcomes, endpoint

    outcomes, endpoint = run(main())
    assert endpoint.count == 10  # what was in flight came in
    assert sum(outcome == REPLY for outcome in outcomes) == 9
    assert sum(outcome == failure("auth") for outcome in outcomes) == 1
    unsent = Failure(kind="cancelled", message="not sent, after auth: seen: auth")
    assert sum(outcome == unsent for outcome in outcomes) == 490


def test_calls_at_rest_hear_that_it_is_over() -> None:
    async def main() -> float:
        flow = flow_of(10, 10, rules=GateRules(first_backoff=500.0, longest_backoff=500.0))
        start = now()
        resting = asyncio.create_task(
            flow.run(HOST, 1, scripted(failure("server"), REPLY)[1], lambda _: None)
        )
        await asyncio.sleep(1.0)
        assert flow.state()[0].waiting == 1
        await flow.run(HOST, 1, scripted(failure("auth"))[1], lambda _: None)
        assert await resting == failure("auth")
        return now() - start

    assert run(main()) < 2.0


# -- stopping ---------------------------------------------------------------------------------------------------


def test_close_ends_all_that_waits_rests_and_flies() -> None:
    async def main() -> None:
        flow = flow_of(10, 10, rules=GateRules(breaker_failures=100))
        records: list[AttemptRecord] = []
        endpoint = Endpoint(lambda e: failure("server") if e.count <= 4 else REPLY, latency=50.0)
        calls = [asyncio.create_task(flow.run(HOST, 1, endpoint.attempt, records.append)) for _ in range(100)]
        free = asyncio.create_task(flow.run("", 1, Endpoint(latency=100.0).attempt, records.append))
        await asyncio.sleep(5.1)
        start = now()
        await flow.close()
        assert now() - start < 0.1
        outcomes = await asyncio.gather(*calls, free)
        assert all(isinstance(outcome, Failure) and outcome.kind == "cancelled" for outcome in outcomes)
        assert sum(record.outcome == "cancelled" for record in records) == 11
        assert await flow.run(HOST, 1, endpoint.attempt, records.append) == flow.stopped(HOST)
        assert (await flow.run("x", 1, endpoint.attempt, records.append)) == flow.stopped(HOST)
        assert (await flow.run("", 1, endpoint.attempt, records.append)) == flow.stopped(HOST)
        assert endpoint.in_flight == 0
        await flow.close()

    run(main())


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 8), st.integers(1, 40))
def test_cancelled_calls_leave_nothing_behind(seed: int, places: int, number: int) -> None:
    """Calls are cancelled at random moments; places, probes and timers are all given back, and the others end well."""

    async def main() -> None:
        chance = random.Random(seed)
        kinds: list[FailureKind] = ["server", "rate_limit", "connection"]
        endpoint = Endpoint(
            lambda _: REPLY if chance.random() < 0.6 else failure(chance.choice(kinds)), latency=1.0
        )
        flow = flow_of(places, places, rpm=chance.choice([None, 300.0]), attempts=50, throttled_attempts=500)
        calls = endpoint.calls(flow, number)
        cancels = [
            asyncio.get_running_loop().call_later(chance.random() * 10, call.cancel)
            for call in calls
            if chance.random() < 0.5
        ]
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        for timer in cancels:
            timer.cancel()
        assert all(outcome == REPLY or isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)
        state = flow.state()[0]
        assert (state.in_flight, state.waiting, endpoint.in_flight) == (0, 0, 0)
        assert state.limit <= places
        assert await flow.run(HOST, 1, scripted(REPLY)[1], lambda _: None) == REPLY

    run(main())


def test_a_cancelled_call_is_on_record() -> None:
    async def main() -> list[AttemptRecord]:
        records: list[AttemptRecord] = []
        call = asyncio.create_task(flow_of().run(HOST, 1, Endpoint(latency=9.0).attempt, records.append))
        await asyncio.sleep(4.0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return records

    (record,) = run(main())
    assert record.outcome == "cancelled"
    assert record.seconds == pytest.approx(4.0)


def test_one_loop_after_the_other_but_not_both() -> None:
    flow = flow_of(2, 2)
    endpoint = Endpoint(latency=0.0)
    for _ in range(2):
        assert run(flow.run(HOST, 1, endpoint.attempt, lambda _: None)) == REPLY

    async def both() -> None:
        call = asyncio.create_task(flow.run(HOST, 1, Endpoint(latency=0.5).attempt, lambda _: None))
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="one event loop"):
            await asyncio.to_thread(lambda: asyncio.run(flow.run(HOST, 1, endpoint.attempt, lambda _: None)))
        assert await call == REPLY

    asyncio.run(both())


def test_a_loop_that_died_with_calls_in_flight_takes_no_place() -> None:
    flow = flow_of(1, 1)
    loop = VirtualLoop()
    task = loop.create_task(flow.run(HOST, 1, Endpoint(latency=1e6).attempt, lambda _: None))
    loop.call_later(1.0, loop.stop)
    loop.run_forever()
    loop.close()
    assert run(flow.run(HOST, 1, scripted(REPLY)[1], lambda _: None)) == REPLY
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    task.get_coro().close()  # type: ignore[union-attr]
    del task
    gc.collect()


OUTCOMES = st.one_of(
    st.just(REPLY),
    st.builds(
        failure,
        st.sampled_from(["server", "connection", "timeout", "rate_limit", "overload", "bad_request", "auth"]),
        st.sampled_from([None, 0.0, 0.5, 30.0, 700.0, math.nan]),
    ),
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(OUTCOMES, min_size=1, max_size=30),
    st.integers(1, 12),
    st.integers(1, 30),
    st.sampled_from([None, 60.0, 600.0]),
    st.sampled_from([None, 6_000.0]),
)
def test_whatever_the_endpoint_says_every_call_ends(
    script: list[Outcome], places: int, number: int, rpm: float | None, tpm: float | None
) -> None:
    """The endpoint says these things in turn, for ever; a call that waited for nothing would be an error of the loop."""

    async def main() -> None:
        records: list[AttemptRecord] = []
        endpoint = Endpoint(lambda e: script[e.count % len(script)], latency=0.7)
        flow = flow_of(places, places * 2, rpm=rpm, tpm=tpm, attempts=4, throttled_attempts=6)
        calls = [
            asyncio.create_task(flow.run(HOST, 100, endpoint.attempt, records.append)) for _ in range(number)
        ]
        outcomes = await asyncio.gather(*calls)
        assert len(outcomes) == number
        assert endpoint.most <= places * 2
        assert len(records) == endpoint.count
        state = flow.state()[0]
        assert (state.in_flight, state.waiting) == (0, 0)
        assert 1 <= state.limit <= places * 2
        assert max(record.number for record in records) <= 4 + 6 + 12  # faults, throttles, probes
        said_auth = any(record.outcome == "auth" for record in records)
        assert not said_auth or state.stopped

    run(main())


# -- order, limits a minute, chance -----------------------------------------------------------------------------


def test_first_come_first_served_and_a_call_keeps_its_place() -> None:
    async def main() -> list[int]:
        flow, sent = flow_of(1, 1), []

        async def one(number: int) -> None:
            async def attempt(timeout: float) -> Outcome:
                sent.append(number)
                await asyncio.sleep(1.0)
                return failure("server") if sent.count(number) == 1 and number == 0 else REPLY

            await flow.run(HOST, 1, attempt, lambda _: None)

        await asyncio.gather(*(one(number) for number in range(6)))
        return sent

    assert run(main()) == [0, 1, 0, 2, 3, 4, 5]


@settings(max_examples=60, deadline=None)
@given(
    st.floats(1.0, 2_000.0),
    st.lists(st.integers(0, 5_000), min_size=1, max_size=60),
    st.floats(200.0, 200_000.0),
)
def test_limits_a_minute_hold_in_every_minute(rpm: float, tokens: list[int], tpm: float) -> None:
    async def main() -> list[tuple[float, int]]:
        sent: list[tuple[float, int]] = []
        flow = flow_of(1_000, 1_000, rpm=rpm, tpm=tpm)

        async def one(amount: int) -> None:
            async def attempt(timeout: float) -> Outcome:
                sent.append((now(), amount))
                return Reply(text="")

            await flow.run(HOST, amount, attempt, lambda _: None)

        await asyncio.gather(*(one(amount) for amount in tokens))
        return sent

    sent = run(main())
    assert len(sent) == len(tokens)
    largest = max(tokens)
    burst = max(1.0, tpm / 60)
    for start, _ in sent:
        minute = [amount for at, amount in sent if start <= at < start + 60.0 - 1e-6]
        assert len(minute) <= math.ceil(rpm + 1e-6)
        assert sum(minute) <= tpm + 1.0 + max(0.0, largest - burst) + 1e-3


def test_a_refund_never_makes_a_burst() -> None:
    bucket = Bucket(6_000.0, 0.0)
    bucket.take(0.0, 50.0)
    bucket.correct(1e9)
    bucket.take(0.0, 100.0)
    assert bucket.ready(0.0, 100.0) > 0.9


def test_requests_a_minute_are_used_up() -> None:
    async def main() -> float:
        start = now()
        await asyncio.gather(*Endpoint().calls(flow_of(500, 500, rpm=600.0), 3_000))
        return now() - start

    assert run(main()) == pytest.approx(300.0, rel=0.03)


def test_tokens_a_minute_go_by_what_was_really_used() -> None:
    async def main(usage: Usage) -> float:
        start = now()
        endpoint = Endpoint(lambda _: Reply(text="", usage=usage), latency=0.5)
        await asyncio.gather(*endpoint.calls(flow_of(1, 1, tpm=60_000.0), 100, tokens=2_000))
        return now() - start

    assert run(main(Usage())) == pytest.approx(200.0, rel=0.05)  # as estimated
    assert run(main(Usage(input=1_000, output=500))) == pytest.approx(150.0, rel=0.05)
    assert run(main(Usage(input=4_000))) == pytest.approx(400.0, rel=0.05)


def test_limits_are_those_of_the_longest_name_that_fits() -> None:
    settings = FlowSettings(
        limits=Limits(concurrency=1, max_concurrency=1),
        endpoints={
            "https://a": Limits(concurrency=2, max_concurrency=2),
            "https://a/v1": Limits(concurrency=3, max_concurrency=3),
        },
    )
    assert settings.of("https://a/v1#m").concurrency == 3
    assert settings.of("https://a/v2").concurrency == 2
    assert settings.of("https://b").concurrency == 1


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (FlowSettings(attempts=0), "attempts"),
        (FlowSettings(deadline=math.nan), "deadline"),
        (FlowSettings(attempt_timeout=-1.0), "attempt_timeout"),
        (FlowSettings(throttled_attempts=0), "throttled_attempts"),
        (FlowSettings(limits=Limits(concurrency=0)), "concurrency"),
        (FlowSettings(limits=Limits(requests_per_minute=0.0)), "requests_per_minute"),
        (FlowSettings(endpoints={"x": Limits(tokens_per_minute=-5.0)}), "tokens_per_minute"),
        (FlowSettings(limits=Limits(concurrency=300)), "above max_concurrency"),
        (FlowSettings(rules=GateRules(shrink=1.5)), "shrink"),
    ],
)
def test_settings_that_make_no_sense_are_named(wrong: FlowSettings, named: str) -> None:
    with pytest.raises(UserError, match=named):
        Flow(wrong)


def _storm(seed: int, places: int) -> tuple[list[Outcome], list[float]]:
    """Every call fails twice or so before its own answer; endpoint and calls are the same whatever the seed."""

    async def main() -> tuple[list[Outcome], list[float]]:
        flow = flow_of(places, places, seed=seed, rules=GateRules(breaker_failures=1_000))
        times: list[float] = []

        async def one(number: int) -> Outcome:
            plan = random.Random(number)
            kinds: list[FailureKind] = ["server", "rate_limit", "overload", "timeout"]
            left = [failure(plan.choice(kinds)) for _ in range(plan.randrange(4))]

            async def attempt(timeout: float) -> Outcome:
                times.append(now())
                await asyncio.sleep(0.3)
                return left.pop() if left else Reply(text=str(number))

            return await flow.run(HOST, 1, attempt, lambda _: None)

        return list(await asyncio.gather(*(one(number) for number in range(60)))), times

    return run(main())


def test_the_seed_moves_calls_in_time_and_nothing_else() -> None:
    outcomes, times = _storm(seed=1, places=10)
    assert outcomes == [Reply(text=str(number)) for number in range(60)]
    assert _storm(seed=1, places=10) == (outcomes, times)
    assert _storm(seed=2, places=10)[0] == outcomes
    assert _storm(seed=2, places=10)[1] != times
    assert _storm(seed=1, places=60)[0] == outcomes


# -- speed, in real time ----------------------------------------------------------------------------------------


def test_nine_tenths_of_ideal_throughput() -> None:
    """1,000 calls of 200 ms, 100 in flight: ideally 2 s. On a busy machine the loop itself is late: then that is the measure."""

    async def main(*, bare: bool) -> float:
        flow, places = flow_of(100, 100), asyncio.Semaphore(100)
        endpoint = Endpoint(latency=0.2)

        async def plain() -> Outcome:
            async with places:
                return await endpoint.attempt(60.0)

        start = time.perf_counter()
        await asyncio.gather(*([plain() for _ in range(1_000)] if bare else endpoint.calls(flow, 1_000)))
        return time.perf_counter() - start

    best = asyncio.run(main(bare=False))
    for last in (False, False, False, False, True):
        if best <= 2.0 / 0.9:
            break
        best = min(best, asyncio.run(main(bare=False)))
        if best <= 1.1 * max(2.0, asyncio.run(main(bare=True))):
            break
        assert not last, best
    print(f"{2.0 / best:.1%} of ideal throughput")


def test_a_call_costs_little_processor_time() -> None:
    """At most 0.1 ms a call at 256 in flight, the task of the caller included; three times that on a busy machine."""

    async def main(number: int) -> float:
        flow = flow_of(256, 256, rpm=1e9, tpm=1e12)

        async def attempt(timeout: float) -> Outcome:
            await asyncio.sleep(0)
            return REPLY

        async def worker() -> None:
            for _ in range(number // 256):
                await flow.run(HOST, 100, attempt, lambda _: None)

        start = time.process_time()
        async with asyncio.TaskGroup() as group:
            for _ in range(300):  # more than places, so that some wait
                group.create_task(worker())
        return (time.process_time() - start) / (number // 256 * 300)

    best = min(asyncio.run(main(5_120)) for _ in range(3))
    print(f"{best * 1e6:.1f} µs of processor time a call")
    assert best < 0.3e-3

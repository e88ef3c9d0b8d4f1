"""Flow control over real HTTP: Proctor's own client, a server that limits, breaks and recovers."""

from __future__ import annotations

import asyncio
import socket
import time
from collections import Counter
from collections.abc import Callable

import pytest

from proctor.llm.flow import Flow, FlowSettings, GateRules, Limits
from proctor.llm.media import MediaStore
from proctor.llm.message import Parameters, Request, user
from proctor.llm.outcome import Failure, Outcome, Reply
from proctor.llm.registry import resolve
from proctor_rehearsal.standin import Standin

QUICK = GateRules(first_backoff=0.02, longest_backoff=0.3, breaker_seconds=0.1, breaker_longest=0.4)


def flow_of(concurrency: int = 32, most: int = 32, **changes: object) -> Flow:
    limits = Limits(concurrency=concurrency, max_concurrency=most)
    fields: dict[str, object] = {"limits": limits, "rules": QUICK, "deadline": 60.0, "attempt_timeout": 5.0}
    return Flow(FlowSettings(**{**fields, **changes}))  # type: ignore[arg-type]


def run(
    url: str, flow: Flow, number: int, during: Callable[[int], None] = lambda done: None
) -> tuple[list[Outcome], float]:
    """Send so many calls through the flow; ``during`` hears how many are done."""
    name = f"compat/model@{url}/v1"

    async def main() -> tuple[list[Outcome], float]:
        model, media = resolve(name), MediaStore()
        done = 0

        async def one(number: int) -> Outcome:
            nonlocal done
            request = Request(
                model=name, messages=(user(f"question {number}"),), parameters=Parameters(max_tokens=20)
            )

            async def attempt(timeout: float) -> Outcome:
                return await model.attempt(request, media, timeout=timeout)

            outcome = await flow.run(model.endpoint, 30, attempt, lambda _: None)
            done += 1
            during(done)
            return outcome

        start = time.perf_counter()
        try:
            outcomes = await asyncio.gather(*(one(n) for n in range(number)))
            seconds = time.perf_counter() - start
        finally:
            await model.close()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return outcomes, seconds

    return asyncio.run(main())


def kinds(outcomes: list[Outcome]) -> Counter[str]:
    return Counter(
        outcome.kind if isinstance(outcome, Failure) else type(outcome).__name__ for outcome in outcomes
    )


def test_it_settles_at_what_the_server_bears(standin: Standin) -> None:
    standin.script(faults=[{"crowd": 8, "status": 429}], latency={"seconds": 0.02})
    flow = flow_of()
    outcomes, _ = run(standin.url, flow, 600)
    assert kinds(outcomes) == {"Reply": 600}
    assert standin.count < 600 * 1.6
    assert flow.state()[0].limit <= 16
    assert any(event.kind == "shrink" for event in flow.history)


def test_retry_after_of_a_rate_limit_is_honoured(standin: Standin) -> None:
    standin.script(faults=[{"rate": (40, 0.5), "status": 429, "retry_after": 1}])
    outcomes, seconds = run(standin.url, flow_of(16, 16), 120)
    assert kinds(outcomes) == {"Reply": 120}
    assert seconds > 1.0
    assert standin.count <= 120 + 4 * 16


@pytest.mark.parametrize("status", [500, 502, 503, 529])
def test_a_third_fails_then_all_then_none(standin: Standin, status: int) -> None:
    now = {"faults": [{"probability": 0.3, "status": status}]}
    standin.script(**now)
    flow = flow_of(16, 16, attempts=12)

    def during(done: int) -> None:
        if done == 100:
            standin.script(faults=[{"first": 25, "status": status}])  # all, then none

    outcomes, _ = run(standin.url, flow, 300, during)
    assert kinds(outcomes) == {"Reply": 300}
    assert standin.count < 300 + 140


def test_cut_connections_and_spoilt_bodies(standin: Standin) -> None:
    standin.script(
        faults=[
            {"kind": "reset", "probability": 0.1},
            {"kind": "truncated", "probability": 0.1},
            {"kind": "html", "probability": 0.1},
        ]
    )
    outcomes, _ = run(standin.url, flow_of(attempts=12), 200)
    assert kinds(outcomes) == {"Reply": 200}
    assert max(standin.counts.values()) > 1


def test_a_wrong_key_stops_everything_at_once(standin: Standin) -> None:
    standin.script(faults=[{"status": 401}])
    outcomes, _ = run(standin.url, flow_of(8, 8), 500)
    assert kinds(outcomes) == {"auth": standin.count, "cancelled": 500 - standin.count}
    assert standin.count <= 8


def test_a_server_that_is_not_there() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    outcomes, _ = run(f"http://127.0.0.1:{port}", flow_of(8, 8), 500)
    assert kinds(outcomes).keys() == {"connection", "cancelled"}
    last = outcomes[-1]
    assert isinstance(last, Failure)
    assert "failures in a row and not one answer" in last.message


def test_a_server_that_hangs_is_probed_and_used_again(standin: Standin) -> None:
    standin.script(faults=[{"kind": "stall", "seconds": 30, "window": (50, 66)}])
    flow = flow_of(8, 8, attempt_timeout=1.0)
    outcomes, _ = run(standin.url, flow, 200)
    assert kinds(outcomes) == {"Reply": 200}
    assert {"open", "probe", "close"} <= {event.kind for event in flow.history}


def test_a_bad_request_is_one_calls_own_affair(standin: Standin) -> None:
    standin.script(faults=[{"match": {"last": "question 7$"}, "status": 400}])
    flow = flow_of()
    outcomes, _ = run(standin.url, flow, 40)
    assert kinds(outcomes) == {"Reply": 39, "bad_request": 1}
    assert standin.count == 40
    assert not {event.kind for event in flow.history} & {"open", "shrink", "stop"}


class _Semaphore(Flow):
    """What the flow is measured against: nothing but a limit on calls in flight."""

    async def run(self, endpoint, tokens, attempt, on_attempt):  # type: ignore[no-untyped-def]
        if not hasattr(self, "places"):
            self.places = asyncio.Semaphore(100)
        async with self.places:
            return await attempt(60.0)


def test_throughput_over_http_is_that_of_a_bare_semaphore(standin: Standin) -> None:
    """300 calls, 100 in flight, a second each: mostly waiting, so that a busy machine is late with few of them.

    In turns with the same calls behind a semaphore, whatever else runs here.
    """
    standin.script(latency={"seconds": 1.0}, check="none")
    run(standin.url, flow_of(100, 100), 100)
    flow, bare = [], []
    for _ in range(5):
        outcomes, seconds = run(standin.url, flow_of(100, 100), 300)
        assert all(isinstance(outcome, Reply) for outcome in outcomes)
        flow.append(seconds)
        bare.append(run(standin.url, _Semaphore(), 300)[1])
        if min(flow) <= 1.1 * min(bare):
            break
    print(f"flow {3.0 / min(flow):.0%}, semaphore {3.0 / min(bare):.0%} of ideal throughput")
    assert min(flow) <= 1.15 * min(bare)

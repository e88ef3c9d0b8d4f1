"""Store, caller, flow, budget, prices and wire together, against the stand-in."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import aclosing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from proctor.llm.blocking import run_calls
from proctor.llm.budget import Budget
from proctor.llm.caller import Caller
from proctor.llm.estimate import Meter
from proctor.llm.flow import Flow, FlowSettings, GateRules
from proctor.llm.media import MediaStore
from proctor.llm.message import Parameters, Request, user
from proctor.llm.outcome import Failure, Reply
from proctor.llm.store import CallStore
from proctor_rehearsal.standin import Standin

PRICES = """
[prices."compat/*"]
input = 1.0
output = 2.0
"""


def requests(standin: Standin, count: int) -> list[Request]:
    model = f"compat/m@{standin.url}/v1"
    return [
        Request(model=model, messages=(user(f"question {n}"),), parameters=Parameters(max_tokens=20))
        for n in range(count)
    ]


def test_a_caller_serves_several_runs_and_pays_once(
    tmp_path: Path, standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text(PRICES)
    monkeypatch.setenv("PROCTOR_PRICES", str(prices))
    with CallStore.open(tmp_path / "calls.sqlite") as store:
        budget = Budget(max_cost="5.00")
        caller = Caller(store, MediaStore(), Flow(), budget)
        for count in (30, 50, 50):
            outcomes = [outcome for _, outcome in run_calls(caller, requests(standin, count), stage="s")]
            assert len(outcomes) == count
            assert all(isinstance(outcome, Reply) for outcome in outcomes)
        assert standin.count == 50
        (total,) = store.totals()
        assert (total.calls, total.attempts, total.unpriced) == (50, 50, 0)
        assert total.cost == caller.tally.cost == budget.spent.cost > 0
        assert total.cost == 1_000 * total.input + 2_000 * total.output


def test_a_limit_on_calls_is_kept_to_the_call(tmp_path: Path, standin: Standin) -> None:
    with CallStore.open(tmp_path / "calls.sqlite") as store:
        for sent in (7, 14):
            caller = Caller(store, MediaStore(), Flow(), Budget(max_calls=7), concurrency=4)
            outcomes = [outcome for _, outcome in run_calls(caller, requests(standin, 40), stage="s")]
            kinds = [outcome.kind for outcome in outcomes if isinstance(outcome, Failure)]
            assert kinds == ["budget"] * (40 - sent)
            assert standin.count == sent
            assert caller.tally.stopped


def test_a_wrong_key_is_told_once_and_is_nowhere_in_the_store(
    tmp_path: Path, standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-geheim-0123456789abcdefghij"
    monkeypatch.setenv("COMPAT_API_KEY", key)
    standin.script(key="another-key-of-the-server")
    with CallStore.open(tmp_path / "calls.sqlite") as store:
        caller = Caller(store, MediaStore(), Flow(), Budget())
        outcomes = [outcome for _, outcome in run_calls(caller, requests(standin, 20), stage="s")]
        assert {o.kind for o in outcomes if isinstance(o, Failure)} <= {"auth", "cancelled"}
        assert len(outcomes) == 20
    for file in tmp_path.iterdir():
        assert key.encode() not in file.read_bytes()


# -- replies that were lost may have been charged -----------------------------------------------------------------


def quick(attempts: int = 3) -> Flow:
    rules = GateRules(first_backoff=0.01, longest_backoff=0.05, breaker_failures=1_000)
    return Flow(FlowSettings(rules=rules, attempts=attempts, attempt_timeout=0.15))


@pytest.fixture
def priced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text(PRICES)
    monkeypatch.setenv("PROCTOR_PRICES", str(prices))


LOST = [
    pytest.param({"kind": "stall", "seconds": 10}, id="no reply in time"),
    pytest.param({"kind": "cut_body"}, id="half a reply"),
    pytest.param({"kind": "reset"}, id="broken connection"),
    pytest.param({"kind": "malformed"}, id="not a reply"),
]


@pytest.mark.usefixtures("priced")
@pytest.mark.parametrize("fault", LOST)
def test_a_lost_reply_is_counted_as_charged_apart_from_what_was(
    tmp_path: Path, standin: Standin, fault: dict[str, Any]
) -> None:
    standin.script(faults=[{**fault, "attempts": 1}])  # each request's first attempt
    with CallStore.open(tmp_path / "calls.sqlite") as store:
        budget = Budget()
        caller = Caller(store, MediaStore(), quick(), budget)
        outcomes = [outcome for _, outcome in run_calls(caller, requests(standin, 6), stage="s")]
        assert all(isinstance(outcome, Reply) for outcome in outcomes)
        (total,) = store.totals()
        tally, spent = caller.tally, budget.spent
    assert (total.attempts, total.lost, tally.lost, spent.feared_calls) == (12, 6, 6, 6)
    assert total.feared == tally.feared == spent.feared_cost > 0
    assert total.cost == tally.cost == spent.cost > 0
    assert (spent.reserved_cost, spent.calls, total.unpriced) == (0, 6, 0)


@pytest.mark.usefixtures("priced")
@pytest.mark.parametrize("fault", [{"status": 503}, {"status": 429}, {"status": 500}])
def test_a_refused_request_is_not(tmp_path: Path, standin: Standin, fault: dict[str, Any]) -> None:
    standin.script(faults=[{**fault, "attempts": 1}])
    with CallStore.open(tmp_path / "calls.sqlite") as store:
        caller = Caller(store, MediaStore(), quick(), Budget())
        assert len(list(run_calls(caller, requests(standin, 4), stage="s"))) == 4
        (total,) = store.totals()
    assert (total.attempts, total.lost, total.feared, caller.tally.lost) == (8, 0, 0, 0)


@pytest.mark.usefixtures("priced")
def test_a_limit_on_money_holds_though_nobody_answers(tmp_path: Path, standin: Standin) -> None:
    """If the server charged all that it was sent, it would still be within the limit."""
    standin.script(faults=[{"kind": "stall", "seconds": 10}])
    asked = requests(standin, 40)
    each = Meter().need(asked[0]).cost
    assert each is not None
    limit = Decimal(each * 10 + each // 2).scaleb(-9)
    with CallStore.open(tmp_path / "calls.sqlite") as store:
        budget = Budget(max_cost=limit)
        caller = Caller(store, MediaStore(), quick(), budget)
        kinds = Counter(o.kind for _, o in run_calls(caller, asked, stage="s") if isinstance(o, Failure))
        (total,) = (t for t in store.totals() if t.attempts)
    assert sum(kinds.values()) == 40
    assert kinds["budget"] > 25
    assert 1 <= standin.count <= 10
    assert total.lost == standin.count
    assert total.feared == budget.spent.feared_cost <= limit.scaleb(9)
    assert budget.spent.cost == 0
    assert "may have been charged" in caller.tally.stopped


@pytest.mark.usefixtures("priced")
def test_a_run_that_is_stopped_tells_what_was_in_flight(tmp_path: Path, standin: Standin) -> None:
    standin.script(latency={"seconds": 5.0})
    asked = requests(standin, 8)
    with CallStore.open(tmp_path / "calls.sqlite") as store:
        budget = Budget()
        caller = Caller(store, MediaStore(), Flow(), budget)

        async def main() -> None:
            async def consume() -> None:
                async with aclosing(caller.ask_all(asked, stage="s", grace=0.0)) as results:
                    async for _ in results:
                        pass

            task = asyncio.create_task(consume())
            while standin.count < 8:
                await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await caller.close()

        asyncio.run(main())
    with CallStore.open(tmp_path / "calls.sqlite") as store:
        (total,) = store.totals()
        tries = store.attempts(request.key for request in asked)
    assert {a.outcome for each in tries.values() for a in each} == {"cancelled"}
    assert (total.lost, total.feared) == (8, caller.tally.feared)
    assert total.feared == budget.spent.feared_cost > 0

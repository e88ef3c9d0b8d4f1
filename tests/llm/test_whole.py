"""Store, caller, flow, budget, prices and wire together, against the stand-in."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.llm.budget import Budget
from proctor.llm.caller import Caller, run_calls
from proctor.llm.flow import Flow
from proctor.llm.media import MediaStore
from proctor.llm.message import Parameters, Request, user
from proctor.llm.outcome import Failure, Reply
from proctor.llm.standin import Standin
from proctor.llm.store import CallStore

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
        assert {o.kind for o in outcomes if isinstance(o, Failure)} == {"auth"}
        assert len(outcomes) == 20
    for file in tmp_path.iterdir():
        assert key.encode() not in file.read_bytes()

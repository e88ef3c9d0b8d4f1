"""Schedules: which requests fail is settled by counts or by the requests themselves, never by chance or order."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from typing import Any

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor_rehearsal.standin import Call, Fault, Latency, Match, Rule, Script, Standin, parse_script
from proctor_rehearsal.standin.faults import AFTER, BEFORE, MODEL, Faults
from proctor_rehearsal.standin.protocols.openai import CHAT
from proctor_rehearsal.standin.script import FAULT_KINDS


def make_call(text: str = "hello", nth: int = 1, model: str = "m") -> Call:
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": text}]}).encode()
    return Call(CHAT, "/v1/chat/completions", body, nth=nth)


def due(fault: Fault, count: int) -> list[int]:
    """Return which of so many different requests meet a fault, from 1."""
    faults = Faults([fault], seed=1)
    return [n for n in range(1, count + 1) if faults.due(make_call(f"question {n}")) is not None]


def test_kinds_are_sorted_once() -> None:
    assert set(FAULT_KINDS) == BEFORE | MODEL | AFTER
    assert len(BEFORE) + len(MODEL) + len(AFTER) == len(FAULT_KINDS)


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (Fault(), list(range(1, 11))),
        (Fault(first=3), [1, 2, 3]),
        (Fault(every=4), [4, 8]),
        (Fault(window=(3, 5)), [3, 4, 5]),
        (Fault(window=(3, 9), every=2), [4, 6, 8]),
        (Fault(every=2, limit=3), [2, 4, 6]),
        (Fault(match=Match(last="question (2|7)$")), [2, 7]),
        (Fault(match=Match(last="[13579]$"), first=2), [1, 3]),
        (Fault(probability=0.0), []),
        (Fault(probability=1.0, first=2), [1, 2]),
    ],
)
def test_schedules_by_count(fault: Fault, expected: list[int]) -> None:
    assert due(fault, 10) == expected


def test_attempts_recover_each_request_by_itself() -> None:
    faults = Faults([Fault(attempts=2)], seed=0)
    for text in ("a", "b"):
        met = [faults.due(make_call(text, nth)) is not None for nth in (1, 2, 3, 4)]
        assert met == [True, True, False, False]


def test_the_first_fault_that_is_due_happens_and_all_count() -> None:
    faults = Faults([Fault(status=429, first=2), Fault(status=503, window=(2, 4))], seed=0)
    found = [faults.due(make_call(str(n))) for n in range(5)]
    assert [f and f.status for f in found] == [429, 429, 503, 503, None]


def test_probability_is_that_of_the_fault() -> None:
    met = due(Fault(probability=0.3), 3_000)
    assert 0.27 < len(met) / 3_000 < 0.33


def test_a_limit_on_concurrency() -> None:
    faults = Faults([Fault(crowd=3)], seed=0)
    assert [faults.due(make_call(), n) is not None for n in (1, 3, 4, 3)] == [False, False, True, False]


def test_a_limit_on_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("proctor_rehearsal.standin.faults.time.monotonic", lambda: now[0])
    faults = Faults(
        [Fault(status=429, rate=(2, 10.0)), Fault(status=500, match=Match(last="broken"))], seed=0
    )
    fates = []
    for at, text in ((0, "a"), (1, "broken"), (2, "b"), (3, "c"), (9, "d"), (10, "e"), (11, "f"), (12, "g")):
        now[0] = 100.0 + at
        fault = faults.due(make_call(text))
        fates.append(fault.status if fault else 200)
    # neither a refused request nor one that met another fault takes room
    assert fates == [200, 500, 200, 429, 429, 200, 429, 200]


def test_sticky_faults_never_recover_and_others_do() -> None:
    sticky = Faults([Fault(probability=0.5, sticky=True)], seed=3)
    loose = Faults([Fault(probability=0.5)], seed=3)
    recovered = 0
    for text in map(str, range(50)):
        fates = {sticky.due(make_call(text, nth)) is None for nth in range(1, 12)}
        assert len(fates) == 1
        first = [loose.due(make_call(text, nth)) is None for nth in range(1, 12)]
        recovered += not first[0] and any(first)
    assert recovered > 15


@given(st.permutations(range(40)), st.integers(0, 5))
def test_order_does_not_change_which_requests_fail(order: list[int], seed: int) -> None:
    def fates(numbers: Any) -> dict[int, bool]:
        faults = Faults([Fault(probability=0.4)], seed)
        return {n: faults.due(make_call(f"q{n}")) is not None for n in numbers}

    assert fates(order) == fates(range(40))


def test_concurrency_does_not_change_which_requests_fail(standin: Standin) -> None:
    """200 requests, each asked until it is answered: one after the other or 64 at once, the same ones fail."""
    script = Script(
        seed=11, faults=[Fault(status=503, probability=0.3), Fault(kind="reset", probability=0.1)]
    )

    async def ask(session: aiohttp.ClientSession, gate: asyncio.Semaphore, number: int) -> None:
        body = {"model": "m", "messages": [{"role": "user", "content": f"question {number}"}]}
        async with gate:
            for _ in range(50):
                try:
                    async with session.post(f"{standin.url}/v1/chat/completions", json=body) as reply:
                        await reply.read()
                        if reply.status == 200:
                            return
                except aiohttp.ClientConnectionError:
                    pass
            raise AssertionError(f"question {number} never recovered")

    async def ask_all(at_once: int, order: list[int]) -> None:
        gate = asyncio.Semaphore(at_once)
        connector = aiohttp.TCPConnector(limit=0, force_close=True)
        async with aiohttp.ClientSession(connector=connector) as session:
            await asyncio.gather(*(ask(session, gate, number) for number in order))

    seen = []
    for at_once, shuffled in ((1, False), (64, True)):
        order = list(range(200))
        if shuffled:
            random.Random(5).shuffle(order)
        standin.script(script)
        standin.reset()
        asyncio.run(ask_all(at_once, order))
        fates: dict[str, list[tuple[int, str]]] = {}
        for record in standin.requests:
            fates.setdefault(record.key, []).append((record.nth, record.outcome))
        seen.append({key: sorted(fate) for key, fate in fates.items()})
        assert standin.log.answered == 200
        assert max(standin.log.answered_by_key.values()) == 1
        assert standin.most_in_flight <= at_once
    assert seen[0] == seen[1]
    outcomes = [outcome for fate in seen[0].values() for _, outcome in fate]
    assert 40 < outcomes.count("status") < 160
    assert 8 < outcomes.count("reset") < 70


def test_a_crowd_is_turned_away_by_the_server(standin: Standin) -> None:
    standin.script(faults=[Fault(status=529, crowd=5)], latency={"seconds": 0.3})

    async def run() -> list[int]:
        async with aiohttp.ClientSession() as session:

            async def ask(n: int) -> int:
                body = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": str(n)}]}
                async with session.post(f"{standin.url}/v1/messages", json=body) as reply:
                    return reply.status

            return await asyncio.gather(*map(ask, range(20)))

    statuses = asyncio.run(run())
    assert statuses.count(200) >= 5
    assert statuses.count(529) >= 5
    assert standin.log.answered == statuses.count(200)


# -- latency -------------------------------------------------------------------------------------------------------


def test_latency_is_drawn_from_the_request() -> None:
    calls = [make_call(str(n)) for n in range(2_000)]
    fixed = Latency(seconds=0.2)
    assert {fixed.draw(call, 1) for call in calls} == {0.2}
    spread = Latency(low=0.1, high=0.3)
    drawn = [spread.draw(call, 1) for call in calls]
    assert drawn == [spread.draw(call, 1) for call in calls]
    assert 0.1 <= min(drawn) < 0.11
    assert 0.29 < max(drawn) <= 0.3
    assert drawn != [spread.draw(call, 2) for call in calls]
    tail = sorted(Latency(median=1.0, spread=0.5, most=5.0).draw(call, 1) for call in calls)
    assert 0.9 < tail[1_000] < 1.1
    assert 1.45 < tail[1_683] < 1.85  # one standard deviation above: e^0.5 = 1.65
    assert tail[-1] <= 5.0


def test_latency_is_waited_for_while_others_are_answered(standin: Standin) -> None:
    standin.script(latency={"seconds": 2.0})  # time for all of them to come

    async def run() -> float:
        loop = asyncio.get_running_loop()
        async with aiohttp.ClientSession() as session:

            async def ask(n: int) -> None:
                body = {"model": "m", "messages": [{"role": "user", "content": str(n)}]}
                async with session.post(f"{standin.url}/v1/chat/completions", json=body) as reply:
                    assert reply.status == 200

            began = loop.time()
            await asyncio.gather(*map(ask, range(40)))
            return loop.time() - began

    took = asyncio.run(run())
    assert took >= 2.0
    assert standin.most_in_flight == 40
    assert standin.log.in_flight == 0


# -- scripts -------------------------------------------------------------------------------------------------------


def test_a_script_as_json_and_as_python_are_the_same() -> None:
    text = """{"seed": 4, "latency": {"median": 0.1}, "models": ["a"], "check": "count",
      "rules": [{"match": {"model": "^a", "media": true}, "reply": ["x", "y"], "pick": "turn"},
                {"behaviour": "judge", "options": {"scores": [0, 1]}}],
      "faults": [{"kind": "status", "status": 503, "window": [2, 4], "retry_after": 1}]}"""
    assert parse_script(text) == Script(
        seed=4,
        latency=Latency(median=0.1),
        models=["a"],
        check="count",
        rules=[
            Rule(match=Match(model="^a", media=True), reply=["x", "y"], pick="turn"),
            Rule(behaviour="judge", options={"scores": [0, 1]}),
        ],
        faults=[Fault(status=503, window=(2, 4), retry_after=1)],
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "script"),
        ("[]", "object"),
        ("{", "malformed|truncated|ended"),
        ('{"ruels": []}', "ruels"),
        ('{"rules": [{"match": {"text": "("}}]}', "regular expression"),
        ('{"rules": [{"reply": "x", "behaviour": "echo"}]}', "not both"),
        ('{"rules": [{"reply": []}]}', "at least one"),
        ('{"rules": [{"options": {"a": 1}}]}', "behaviour"),
        ('{"rules": [{"behaviour": "genius"}]}', "genius"),
        ('{"rules": [{"behaviour": "judge", "options": {"mood": 1}}]}', "mood"),
        ('{"rules": [{"behaviour": "judge", "options": {"scores": []}}]}', "judge"),
        ('{"rules": [{"behaviour": "echo", "options": {"limit": "x"}}]}', "echo"),
        ('{"rules": [{"behaviour": "fixed", "options": {"text": 7}}]}', "fixed"),
        ('{"rules": [{"outcome": "success"}]}', "outcome"),
        ('{"faults": [{"kind": "flood"}]}', "kind"),
        ('{"faults": [{"probability": 1.5}]}', "probability"),
        ('{"faults": [{"first": 0}]}', "first"),
        ('{"faults": [{"window": [5, 2]}]}', "window"),
        ('{"faults": [{"status": 99}]}', "status"),
        ('{"faults": [{"retry_after": -1}]}', "retry_after"),
        ('{"faults": [{"seconds": -1}]}', "seconds"),
        ('{"faults": [{"bytes": -1}]}', "bytes"),
        ('{"faults": [{"headers": {"a": "b\\r\\nc: d"}}]}', "header"),
        ('{"faults": [{"headers": {"a b": "c"}}]}', "header"),
        ('{"faults": [{"location": "x\\ny"}]}', "header"),
        ('{"headers": {"a": "b\\n"}}', "header"),
        ('{"faults": [{"crowd": 0}]}', "crowd"),
        ('{"faults": [{"rate": [1, 0]}]}', "rate"),
        ('{"latency": {"low": 2, "high": 1}}', "low"),
        ('{"latency": {"seconds": -1}}', "seconds"),
        ('{"check": "some"}', "check"),
    ],
)
def test_bad_scripts_are_told_by_field(text: str, said: str) -> None:
    import re

    with pytest.raises(UserError) as caught:
        parse_script(text, where="rules.json")
    assert "rules.json" in caught.value.render()
    assert re.search(said, caught.value.render())


def test_bad_fields_from_python_are_told(standin: Standin) -> None:
    with pytest.raises(UserError):
        standin.script(faults=[{"kind": "flood"}])
    with pytest.raises(UserError, match="nonsense"):
        standin.script(nonsense=1)
    with pytest.raises(UserError, match="genius"):
        standin.script(otherwise=Rule(behaviour="genius"))
    with pytest.raises(UserError):
        Standin({"ruels": []})


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
    )
)
def test_any_json_is_a_script_or_an_error(value: Any) -> None:
    with contextlib.suppress(UserError):
        assert isinstance(parse_script(json.dumps(value)), Script)


def test_a_key_is_not_in_reprs() -> None:
    script = Script(key="sk-secret")
    assert "sk-secret" not in repr(script)
    assert "sk-secret" not in repr(Standin(script))
    assert script.public().key == "(set)"


# -- rules ---------------------------------------------------------------------------------------------------------


def said(standin: Standin, text: str, model: str = "m") -> str:
    from urllib.request import Request, urlopen

    body = json.dumps({"model": model, "messages": [{"role": "user", "content": text}]}).encode()
    with urlopen(
        Request(f"{standin.url}/v1/chat/completions", body, {"content-type": "application/json"})
    ) as reply:
        return str(json.load(reply)["choices"][0]["message"]["content"])


def test_rules_in_order(standin: Standin) -> None:
    standin.script(
        rules=[
            Rule(match=Match(model="^judge"), reply="Judge: 2"),
            Rule(match=Match(text=r"step (?P<n>\d+)"), reply=r"You mean step \g<n>.", expand=True),
            Rule(match=Match(nth=2), reply="again?"),
            Rule(match=Match(text="pick"), reply=["one", "two", "three"]),
            Rule(match=Match(text="turn"), reply=["first", "second"], pick="turn"),
        ],
        reply="otherwise",
    )
    assert said(standin, "x", "judge-1") == "Judge: 2"
    assert said(standin, "what about step 12?") == "You mean step 12."
    assert [said(standin, "x"), said(standin, "x"), said(standin, "x")] == [
        "otherwise",
        "again?",
        "otherwise",
    ]
    picked = [said(standin, f"pick {n}") for n in range(30)]
    assert set(picked) == {"one", "two", "three"}
    standin.reset()
    assert picked == [said(standin, f"pick {n}") for n in range(30)]
    assert [said(standin, f"turn {n}") for n in range(4)] == ["first", "second", "first", "second"]


def test_a_rule_has_its_own_latency(standin: Standin) -> None:
    standin.script(rules=[Rule(match=Match(last="slow"), latency=Latency(seconds=0.2))])
    said(standin, "slow")
    said(standin, "quick")
    slow, quick = standin.requests
    assert slow.seconds >= 0.2 > quick.seconds

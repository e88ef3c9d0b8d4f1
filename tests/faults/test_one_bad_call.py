"""Every trouble that a provider makes, each on a question of its own in one run: it costs that question and nothing else.

A real server on this machine speaks the protocols of the providers. For each trouble the table has its code and how often its
call is sent; all other questions have their answers, nothing is sent again, and no key is anywhere.
"""

from __future__ import annotations

import json
import re
import socket
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from tests.cli.conftest import proctor

from proctor.exam.prediction import Prediction
from proctor.exam.question import Gold, Item, Open, Question, Text
from proctor.llm.flow import FlowSettings
from proctor.llm.gate import GateRules
from proctor.records import read_jsonl, write_jsonl
from proctor.workspace import Workspace
from proctor_rehearsal.standin import Standin

KEYS: Final = {
    name: f"sk-{name.lower()}-0123456789abcdef"
    for name in ("COMPAT_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY")
}
MODELS: Final = {
    "openai": "compat/m@{}/v1",
    "anthropic": "anthropic/claude-x@{}",
    "google": "google/gemini-x@{}",
}
ATTEMPTS: Final = 2
TIMEOUT: Final = 4.0
OTHERS: Final = 8
"""Questions that nothing happens to, between the others."""
ANSWER: Final = "reply"


def openai(message: Any, stop: str = "stop", **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": stop, "message": message}
    return {"id": "x", "model": "m", "choices": [choice], "usage": {"prompt_tokens": 5}, **more}


def anthropic(content: Any, stop: str = "end_turn", **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 5, "output_tokens": 2}
    return {
        "id": "x",
        "type": "message",
        "model": "m",
        "content": content,
        "stop_reason": stop,
        "usage": usage,
        **more,
    }


def google(content: Any, stop: str = "STOP", **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": content, "finishReason": stop, "index": 0}], **more}


LONG: Final = "word " * 2_000_000
GOOD: Final = {
    "openai": openai({"role": "assistant", "content": "so"}),
    "anthropic": anthropic([{"type": "text", "text": "so"}]),
    "google": google({"role": "model", "parts": [{"text": "so"}]}),
}


def good(change: Callable[[str], str]) -> dict[str, str]:
    return {name: change(json.dumps(body, ensure_ascii=False)) for name, body in GOOD.items()}


class Trouble(NamedTuple):
    """What goes wrong, the code of the prediction, and how often the call is sent.

    ``fault`` is the stand-in's, ``bodies`` are what is said with the status 200 by each protocol.
    """

    code: str
    sent: int = 1
    fault: Mapping[str, Any] = {}
    bodies: Mapping[str, str] = {}


def says(code: str, sent: int = 1, **bodies: Any) -> Trouble:
    return Trouble(code, sent, bodies={name: json.dumps(body) for name, body in bodies.items()})


TROUBLES: Final[dict[str, Trouble]] = {
    "reset before the head": Trouble("connection", ATTEMPTS, {"kind": "reset"}),
    "closed before the head": Trouble("connection", ATTEMPTS, {"kind": "cut"}),
    "reset in the body": Trouble("server", ATTEMPTS, {"kind": "reset_body"}),
    "closed in the body": Trouble("server", ATTEMPTS, {"kind": "cut_body"}),
    "a byte now and then": Trouble("timeout", ATTEMPTS, {"kind": "slow", "seconds": 30}),
    "never answers": Trouble("timeout", ATTEMPTS, {"kind": "stall", "seconds": 30}),
    "longer than it is": Trouble("server", ATTEMPTS, {"kind": "too_long"}),
    "shorter than it is": Trouble("server", ATTEMPTS, {"kind": "too_short"}),
    "no gzip": Trouble("server", ATTEMPTS, {"kind": "bad_gzip"}),
    "429 with seconds": Trouble("rate_limit", ATTEMPTS, {"status": 429, "retry_after": 0.02}),
    "429 with a date": Trouble("rate_limit", ATTEMPTS, {"status": 429, "retry_after": 0, "retry_date": True}),
    "429": Trouble("rate_limit", ATTEMPTS, {"status": 429}),
    "429, minus five": Trouble("rate_limit", ATTEMPTS, {"status": 429, "headers": {"retry-after": "-5"}}),
    "429, NaN": Trouble("rate_limit", ATTEMPTS, {"status": 429, "headers": {"retry-after": "nan"}}),
    "500": Trouble("server", ATTEMPTS, {"status": 500}),
    "502, a page": Trouble("server", ATTEMPTS, {"kind": "html", "status": 502}),
    "503": Trouble("overload", ATTEMPTS, {"status": 503}),
    "529": Trouble("overload", ATTEMPTS, {"status": 529}),
    "400": Trouble("bad_request", 1, {"status": 400}),
    "404": Trouble("bad_request", 1, {"status": 404}),
    "413": Trouble("too_large", 1, {"status": 413}),
    "half the JSON": Trouble("server", ATTEMPTS, {"kind": "truncated"}),
    "an error with 200": Trouble("server", ATTEMPTS, {"kind": "error_body"}),
    "nobody chosen": says(
        "server", ATTEMPTS, openai=openai(None) | {"choices": []}, anthropic={"type": "message", "stop_reason": "end_turn"},
        google={"candidates": []},
    ),
    "no message": says(
        "server", ATTEMPTS, openai={"choices": [{"finish_reason": "stop"}]}, anthropic={"type": "message", "content": 3},
        google={"candidates": [{"finishReason": "STOP", "content": 3}]},
    ),
    "content null": says(
        "empty|server", ATTEMPTS, openai=openai({"content": None}), anthropic=anthropic(None), google=google(None)
    ),
    "content of another type": says(
        "server", ATTEMPTS, openai=openai({"content": 7}), anthropic=anthropic("so"), google=google({"parts": "so"})
    ),
    "refusal": Trouble("refusal|content_filter", 1, {"kind": "refusal"}),
    "content filter": Trouble("content_filter|refusal", 1, {"kind": "content_filter"}),
    "prompt filter": Trouble("content_filter", 1, {"kind": "prompt_filter"}),
    "thinking that eats the limit": says(
        "truncated", 1, openai=openai({"content": "", "reasoning_content": "hm"}, "length"),
        anthropic=anthropic([{"type": "thinking", "thinking": "hm", "signature": "x"}], "max_tokens"),
        google=google({"parts": [{"text": "hm", "thought": True}]}, "MAX_TOKENS"),
    ),
    "ten megabytes": says(
        ANSWER, 1, openai=openai({"content": LONG}), anthropic=anthropic([{"type": "text", "text": LONG}]),
        google=google({"parts": [{"text": LONG}]}),
    ),
    "NaN": Trouble("server", ATTEMPTS, bodies=good(lambda text: f'{{"x": NaN, {text[1:]}')),
    "a key twice": Trouble(ANSWER, 1, bodies=good(lambda text: f'{{"id": "y", {text[1:]}')),
    "a mark in front": Trouble("server", ATTEMPTS, bodies=good(lambda text: f"\ufeff{text}")),
    "no UTF-8": Trouble("server", ATTEMPTS, {"kind": "bad_utf8"}),
    "no body": Trouble("server", ATTEMPTS, {"kind": "empty"}),
    "elsewhere": Trouble("bad_request", 1, {"kind": "redirect"}),
}  # fmt: skip


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two attempts, with pauses of milliseconds; what stops an endpoint has tests of its own."""
    rules = GateRules(first_backoff=0.002, longest_backoff=0.01, breaker_failures=1_000)
    settings = FlowSettings(rules=rules, attempts=ATTEMPTS, throttled_attempts=ATTEMPTS)
    monkeypatch.setattr("proctor.stages.models.FlowSettings", lambda: settings)
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    names = [*TROUBLES, *(f"other {n}" for n in range(OTHERS))]
    root = tmp_path / "bench"
    Workspace(root).create()
    items = [
        Item(
            question=Question(id=f"q{n}", kind="clip", text=f"Question {n:03}?", form=Open(), facts={"steps": ["Boil."]}),
            golds=(Gold(value=Text(text="so")),),
        )
        for n, _ in enumerate(names)
    ]  # fmt: skip
    write_jsonl(root / "items.jsonl", items)
    return root


@pytest.fixture
def elsewhere() -> Iterator[Standin]:
    with Standin() as server:
        yield server


def faults_of(protocol: str, elsewhere: Standin) -> list[dict[str, Any]]:
    found = []
    for n, trouble in enumerate(TROUBLES.values()):
        said = {"status": 200, "body": trouble.bodies[protocol]} if trouble.bodies else trouble.fault
        found.append({**said, "match": {"text": f"Question {n:03}"}, "location": f"{elsewhere.url}/v1/there"})
    return found


def asking(bench: Path, model: str, *more: object) -> tuple[object, ...]:
    return ("predict", bench, "-p", model, "--show", "steps", "--run", "r", "--timeout", TIMEOUT, *more)


def predictions(bench: Path) -> dict[str, Prediction]:
    return {p.item_id: p for p in read_jsonl(bench / "runs/r/predictions.jsonl", Prediction)}


def sent_of(server: Standin) -> Counter[str]:
    """Return how often the call of each question was sent."""
    found = (re.search(r"Question (\d{3})", record.text or "") for record in server.requests)
    return Counter(f"q{int(match[1])}" for match in found if match)


@pytest.mark.parametrize("protocol", MODELS)
def test_each_trouble_costs_its_own_question_and_nothing_else(
    protocol: str, bench: Path, elsewhere: Standin
) -> None:
    with Standin(reply="so", faults=faults_of(protocol, elsewhere)) as server:
        model = MODELS[protocol].format(server.url)
        first = proctor(*asking(bench, model))
        assert first.status == 0, first.err
        made, sent = predictions(bench), sent_of(server)
        wrong = {}
        for n, (name, trouble) in enumerate(TROUBLES.items()):
            found = made[f"q{n}"]
            code = ANSWER if found.failure is None else found.failure.partition(":")[0]
            times = sent[f"q{n}"]
            most = 1 if code in (ANSWER, "empty", "refusal", "content_filter", "truncated") else trouble.sent
            if code not in trouble.code.split("|") or times != most:
                wrong[name] = (found.failure or "answered", times)
        assert not wrong, wrong
        others = [made[f"q{n}"] for n in range(len(TROUBLES), len(made))]
        assert len(others) == OTHERS
        assert all(p.answer == "so" for p in others)
        again = proctor(*asking(bench, model))
        assert again.status == 0
        assert sent_of(server) == sent, "nothing is sent again, answered or not"
        assert "--retry-failed asks again" in again.out
        assert (elsewhere.count, elsewhere.log.other) == (0, 0), "nobody follows to another server"
    printed = first.out + first.err + again.out + again.err
    assert "Traceback" not in printed
    for key in KEYS.values():
        assert key not in printed
        assert not [path for path in bench.rglob("*") if path.is_file() and key.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    ("protocol", "code", "fault"),
    [
        ("openai", "auth", {"status": 401}),
        ("google", "auth", {"status": 403}),
        ("anthropic", "rate_limit", {"status": 429, "retry_after": 86_400}),
    ],
)
def test_what_stops_a_provider_leaves_the_rest_to_the_same_command(
    protocol: str, code: str, fault: dict[str, Any], bench: Path
) -> None:
    with Standin(reply="so", faults=[{**fault, "window": (10, 10_000)}]) as server:
        model = MODELS[protocol].format(server.url)
        ended = proctor(*asking(bench, model, "--max-connections", 2))
        assert ended.status == 3
        assert "stopped early" in ended.err
        failed = Counter((p.failure or ANSWER).partition(":")[0] for p in predictions(bench).values())
        assert failed.keys() == {ANSWER, code, "cancelled"}
        assert failed[ANSWER] == 9
        assert failed[code] <= 2
        server.script(reply="so")
        assert proctor(*asking(bench, model)).status == 0
        assert set(sent_of(server).values()) == {1}
        assert proctor(*asking(bench, model, "--retry-failed")).status == 0
        assert Counter(sent_of(server).values())[2] == failed[code]
    assert all(p.answer == "so" for p in predictions(bench).values())


def test_nobody_listens(bench: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    ended = proctor(*asking(bench, MODELS["openai"].format(address)))
    assert ended.status == 1
    assert "no model said anything" in ended.err
    assert "Traceback" not in ended.err
    assert {(p.failure or "").partition(":")[0] for p in predictions(bench).values()} == {"connection"}

"""any-llm as a provider: the real package against a local server, where it is installed; a clear word where it is not."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import pytest

from proctor.errors import MissingExtraError, UserError
from proctor.llm.media import MediaStore
from proctor.llm.message import Parameters, Request, system, user
from proctor.llm.outcome import Failure, Outcome, Refusal, Reply, Truncated
from proctor.llm.registry import resolve

REPLY = {
    "id": "c",
    "object": "chat.completion",
    "created": 1,
    "model": "m-1",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "yes"}}],
    "usage": {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6},
}


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "any_llm", None)
    with pytest.raises(MissingExtraError, match=r"proctor-bench\[anyllm\]"):
        resolve("anyllm/mistral/small")


@pytest.fixture
def any_llm() -> Any:
    return pytest.importorskip(
        "any_llm", reason="needs any-llm-sdk, which wants another anthropic than our tests"
    )


def ask(server: Any, media: MediaStore, *messages: Any, timeout: float = 10.0, **parameters: Any) -> Outcome:
    name = f"anyllm/openai/org/model@{server.url}/v1"

    async def main() -> Outcome:
        model = resolve(name)
        request = Request(model=name, messages=messages or (user("x"),), parameters=Parameters(**parameters))
        try:
            return await model.attempt(request, media, timeout=timeout)
        finally:
            await model.close()

    return asyncio.run(main())


def test_one_call(any_llm: Any, server: Any, media: MediaStore) -> None:
    server.say(REPLY)
    picture = media.image("a", lambda: (os.urandom(50_000), 64, 64))
    outcome = ask(server, media, system("s"), user("Look", picture), temperature=0.0, max_tokens=9, seed=3)
    assert isinstance(outcome, Reply)
    assert (outcome.text, outcome.model, outcome.usage.input, outcome.usage.output) == ("yes", "m-1", 5, 1)
    sent = server.last.json
    assert sent["model"] == "org/model"
    assert sent["temperature"] == 0
    assert sent["messages"][0] == {"role": "system", "content": "s"}
    assert media.base64(picture).decode() in sent["messages"][1]["content"][1]["image_url"]["url"]
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("choice", "type_"),
    [
        ({"finish_reason": "length", "message": {"role": "assistant", "content": "ye"}}, Truncated),
        (
            {"finish_reason": "stop", "message": {"role": "assistant", "content": None, "refusal": "no"}},
            Refusal,
        ),
    ],
)
def test_ends(any_llm: Any, server: Any, media: MediaStore, choice: dict[str, Any], type_: type) -> None:
    server.say({**REPLY, "choices": [{"index": 0, **choice}]})
    assert isinstance(ask(server, media), type_)


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (429, {"message": "slow down", "type": "requests", "code": "rate_limit_exceeded"}, "rate_limit"),
        (401, {"message": "Incorrect API key provided: sk-openai-0123456789abcdef"}, "auth"),
        (400, {"message": "maximum context length is 5", "code": "context_length_exceeded"}, "too_large"),
        (
            400,
            {"message": "rejected by our safety system", "code": "content_policy_violation"},
            "content_filter",
        ),
        (400, {"message": "no such field"}, "bad_request"),
        (404, {"message": "no such model"}, "bad_request"),
        (500, {"message": "sorry"}, "server"),
        (503, {"message": "overloaded"}, "overload"),
        (529, {"message": "overloaded"}, "overload"),
    ],
)
def test_failures(any_llm: Any, server: Any, media: MediaStore, status: int, error: Any, kind: str) -> None:
    server.say({"error": error}, status=status, headers={"Retry-After": "7"})
    outcome = ask(server, media)
    assert isinstance(outcome, Failure)
    assert (outcome.kind, outcome.status) == (kind, status)
    assert "0123456789abcdef" not in repr(outcome)
    assert len(server.seen) == 1  # its own retries are off
    if status == 429:
        assert outcome.retry_after == 7.0


def test_broken_replies_and_connections(any_llm: Any, server: Any, media: MediaStore) -> None:
    for body in (b"<html>", b'{"choices": [', {"choices": []}):
        server.clear()
        server.say(body)
        outcome = ask(server, media)
        assert isinstance(outcome, Failure), body
        assert outcome.kind == "server", (body, outcome)
    server.clear()
    server.say(b"", drop=True)
    assert ask(server, media).kind == "connection"  # type: ignore[union-attr]
    server.clear()
    server.say(REPLY, delay=3.0)
    assert ask(server, media, timeout=0.3).kind == "timeout"  # type: ignore[union-attr]


def test_a_missing_key_names_the_variable(any_llm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(UserError, match="OPENAI_API_KEY"):
        resolve("anyllm/openai/m")


@pytest.mark.parametrize(
    "name", ["anyllm/openai", "anyllm/openai/", "anyllm//m", "anyllm/no-such-provider/m"]
)
def test_names_that_make_no_sense(any_llm: Any, name: str) -> None:
    with pytest.raises(UserError):
        resolve(name)

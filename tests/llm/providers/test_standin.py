"""Our clients against the stand-in: every fault that it knows ends in the outcome that it means, at every provider."""

from __future__ import annotations

import asyncio
import os
from typing import Any, get_args

import pytest

from proctor.llm.media import MediaStore
from proctor.llm.message import Parameters, Request, system, user
from proctor.llm.outcome import Failure, Outcome, Refusal, Reply, Truncated
from proctor.llm.registry import resolve
from proctor_rehearsal.standin import Standin
from proctor_rehearsal.standin.script import FaultKind

PROVIDERS = {
    "openai": "openai/gpt-4o@{}/v1",
    "compat": "compat/org/model@{}/v1",
    "anthropic": "anthropic/claude-sonnet-5@{}",
    "google": "google/gemini-2.5-flash@{}",
}
EVERY = pytest.mark.parametrize("provider", PROVIDERS)
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}

EXPECTED: dict[str, str] = {
    "status": "rate_limit",
    "stall": "timeout",
    "cut": "connection",
    "reset": "connection",
    "redirect": "bad_request",
    "html": "server",
    "prompt_filter": "content_filter",
    "refusal": "Refusal",
    "content_filter": "content_filter",
    "length": "Truncated",
    "empty_reply": "Reply",
    "wrong_schema": "Reply",
    "duplicate": "Reply",
    "two_choices": "Reply",
    "slow": "Reply",
    "cut_body": "server",
    "reset_body": "server",
    "malformed": "server",
    "truncated": "server",
    "error_body": "server overload rate_limit",
    "empty": "server",
    "missing": "server",
    "two_bodies": "server",
    "bad_utf8": "server",
    "wrong_type": "Reply",
    "too_long": "server",
    "too_short": "server",
    "gzip": "Reply",
    "bad_gzip": "server",
    "gzip_bomb": "server",
    "huge": "server",
}


def ask(
    name: str, *messages: Any, timeout: float = 5.0, media: MediaStore | None = None, **more: Any
) -> Outcome:
    async def main() -> Outcome:
        model = resolve(name)
        request = Request(
            model=name,
            messages=messages or (system("Be brief."), user("ready?")),
            parameters=Parameters(**more),
        )
        try:
            return await model.attempt(request, media or MediaStore(), timeout=timeout)
        finally:
            await model.close()

    return asyncio.run(main())


def name_of(outcome: Outcome) -> str:
    return outcome.kind if isinstance(outcome, Failure) else type(outcome).__name__


def test_every_fault_has_an_expectation() -> None:
    assert set(EXPECTED) == set(get_args(FaultKind))


@EVERY
@pytest.mark.parametrize("fault", EXPECTED)
def test_every_fault_ends_as_it_should(provider: str, fault: str, standin: Standin) -> None:
    extra = {"seconds": 0.3} if fault == "slow" else {"seconds": 5.0} if fault == "stall" else {}
    standin.script({"faults": [{"kind": fault, **extra}]})
    outcome = ask(PROVIDERS[provider].format(standin.url), timeout=1.0 if fault == "stall" else 20.0)
    expected = EXPECTED[fault].split()
    if fault == "refusal" and provider == "google":
        expected = ["content_filter", "Reply"]  # the protocol knows no refusal
    if fault == "content_filter" and provider == "anthropic":
        expected = ["Refusal"]  # the protocol's one word for both
    assert name_of(outcome) in expected, outcome
    assert len(standin.requests) == 1


@EVERY
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "bad_request"),
        (401, "auth"),
        (403, "auth"),
        (404, "bad_request"),
        (408, "timeout"),
        (413, "too_large"),
        (422, "bad_request"),
        (429, "rate_limit"),
        (500, "server"),
        (502, "server"),
        (503, "overload"),
        (504, "timeout"),
        (529, "overload"),
    ],
)
def test_every_status(provider: str, status: int, kind: str, standin: Standin) -> None:
    standin.script({"faults": [{"status": status, "retry_after": 2.5}]})
    outcome = ask(PROVIDERS[provider].format(standin.url))
    assert isinstance(outcome, Failure)
    assert (outcome.kind, outcome.status, outcome.retry_after) == (kind, status, 2.5)


@EVERY
def test_a_wait_as_a_date(provider: str, standin: Standin) -> None:
    standin.script({"faults": [{"status": 429, "retry_after": 90, "retry_date": True}]})
    outcome = ask(PROVIDERS[provider].format(standin.url))
    assert isinstance(outcome, Failure)
    assert outcome.retry_after == pytest.approx(90, abs=3)


@EVERY
def test_a_reply_with_its_usage(provider: str, standin: Standin) -> None:
    media = MediaStore()
    picture = media.image("a", lambda: (_jpeg(), 64, 48))
    standin.script({"otherwise": {"reply": "Stir the 🥣 jar."}})
    outcome = ask(
        PROVIDERS[provider].format(standin.url),
        system("Be brief."),
        user("What is next?", picture),
        media=media,
        max_tokens=100,
    )
    assert isinstance(outcome, Reply), outcome
    assert outcome.text == "Stir the 🥣 jar."
    assert outcome.usage.input
    assert outcome.usage.output
    assert outcome.model
    assert outcome.provider_id


@EVERY
def test_structured_output(provider: str, standin: Standin) -> None:
    import json

    standin.script({"otherwise": {"data": {"answer": "yes"}}})
    outcome = ask(PROVIDERS[provider].format(standin.url), json_schema=SCHEMA, max_tokens=100)
    assert isinstance(outcome, Reply), outcome
    assert json.loads(outcome.text) == {"answer": "yes"}


@EVERY
def test_the_limit_on_tokens(provider: str, standin: Standin) -> None:
    standin.script({"otherwise": {"reply": "word " * 200}})
    outcome = ask(PROVIDERS[provider].format(standin.url), max_tokens=5)
    assert isinstance(outcome, Truncated)
    assert len(outcome.text) < 200


@EVERY
def test_stop_texts(provider: str, standin: Standin) -> None:
    standin.script({"otherwise": {"reply": "one END two"}})
    outcome = ask(PROVIDERS[provider].format(standin.url), stop=("END",), max_tokens=100)
    assert isinstance(outcome, Reply)
    assert outcome.text.strip() == "one"


@EVERY
def test_thinking_is_not_part_of_the_reply(provider: str, standin: Standin) -> None:
    standin.script({"otherwise": {"reply": "1", "thinking": "0? no: 2? no."}})
    outcome = ask(PROVIDERS[provider].format(standin.url), max_tokens=100)
    assert isinstance(outcome, Reply)
    assert outcome.text == "1"


@pytest.mark.parametrize("provider", ["openai", "compat", "anthropic"])
def test_a_refusal(provider: str, standin: Standin) -> None:
    standin.script({"faults": [{"kind": "refusal"}]})
    assert isinstance(ask(PROVIDERS[provider].format(standin.url)), Refusal)


@pytest.mark.parametrize("provider", ["openai", "compat", "anthropic", "google"])
def test_a_wrong_key_is_auth_and_not_shown(
    provider: str, standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "sk-wrong-0123456789abcdef"
    for variable in ("OPENAI_API_KEY", "COMPAT_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.setenv(variable, secret)
    standin.script({"key": "another"})
    outcome = ask(PROVIDERS[provider].format(standin.url))
    assert isinstance(outcome, Failure)
    assert outcome.kind == "auth"
    assert "0123456789abcdef" not in repr(outcome)
    monkeypatch.setenv("COMPAT_API_KEY", "another")
    if provider == "compat":
        assert isinstance(ask(PROVIDERS[provider].format(standin.url)), Reply)


@EVERY
def test_a_hundred_at_once(provider: str, standin: Standin) -> None:
    standin.script({"latency": {"seconds": 0.05}})
    name = PROVIDERS[provider].format(standin.url)

    async def main() -> list[Outcome]:
        model = resolve(name)
        requests = [Request(model=name, messages=(user(f"number {i}"),)) for i in range(100)]
        try:
            return await asyncio.gather(*(model.attempt(r, MediaStore(), timeout=20) for r in requests))
        finally:
            await model.close()

    assert all(isinstance(outcome, Reply) for outcome in asyncio.run(main()))
    assert len(standin.requests) == 100


def test_video_and_sound_where_they_are_taken(standin: Standin) -> None:
    media = MediaStore()
    clip, sound = media.video(os.urandom(50_000), 2.0), media.audio(os.urandom(20_000), 1.0)
    for provider, parts in (("google", (clip, sound)), ("compat", (clip, sound)), ("openai", (sound,))):
        outcome = ask(PROVIDERS[provider].format(standin.url), user("x", *parts), media=media)
        assert isinstance(outcome, Reply), (provider, outcome)


def _jpeg() -> bytes:
    import io

    from PIL import Image

    data = io.BytesIO()
    Image.new("RGB", (64, 48), (9, 9, 9)).save(data, "JPEG")
    return data.getvalue()

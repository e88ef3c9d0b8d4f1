"""Models from their names, over real HTTP: address, headers, body, reply; keys appear nowhere."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import traceback
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.llm.http import joined
from proctor.llm.media import MediaStore
from proctor.llm.message import Image, Message, Parameters, Request, Text, system, user
from proctor.llm.outcome import Failure, Outcome, Reply, Usage
from proctor.llm.providers.anthropic import DEFAULT_MAX_TOKENS, render_anthropic, takes_sampling
from proctor.llm.providers.compat import render_compat
from proctor.llm.providers.google import render_google
from proctor.llm.providers.openai import can_be_strict, render_openai
from proctor.llm.providers.wire import HttpModel
from proctor.llm.registry import resolve, unsent_parameters

REPLIES: dict[str, Any] = {
    "openai": {
        "id": "c",
        "model": "m-1",
        "choices": [{"finish_reason": "stop", "message": {"content": "yes"}}],
    },
    "anthropic": {
        "id": "c",
        "type": "message",
        "model": "m-1",
        "content": [{"type": "text", "text": "yes"}],
        "stop_reason": "end_turn",
    },
    "google": {
        "responseId": "c",
        "modelVersion": "m-1",
        "candidates": [{"content": {"parts": [{"text": "yes"}]}, "finishReason": "STOP"}],
    },
}
REPLIES["compat"] = REPLIES["openai"]
PROVIDERS = {
    "openai": ("openai/gpt-4o", "/v1", "/v1/chat/completions"),
    "compat": ("compat/org/model-7b", "/v1", "/v1/chat/completions"),
    "anthropic": ("anthropic/claude-sonnet-5", "", "/v1/messages"),
    "google": ("google/gemini-2.5-flash", "", "/v1/models/gemini-2.5-flash:generateContent"),
}
EVERY = pytest.mark.parametrize("provider", PROVIDERS)


def named(provider: str, url: str) -> str:
    name, path, _ = PROVIDERS[provider]
    return f"{name}@{url}{path}"


def ask(name: str, media: MediaStore, *messages: Message, timeout: float = 5.0, **parameters: Any) -> Outcome:
    async def main() -> Outcome:
        model = resolve(name)
        request = Request(
            model=name, messages=messages or (user("ready?"),), parameters=Parameters(**parameters)
        )
        try:
            return await model.attempt(request, media, timeout=timeout)
        finally:
            await model.close()

    return asyncio.run(main())


@EVERY
def test_one_call(provider: str, server: Any, media: MediaStore) -> None:
    server.say(REPLIES[provider])
    outcome = ask(named(provider, server.url), media)
    assert isinstance(outcome, Reply)
    assert (outcome.text, outcome.model, outcome.provider_id, outcome.usage) == ("yes", "m-1", "c", Usage())
    assert server.last.method == "POST"
    assert server.last.path == PROVIDERS[provider][2]
    assert server.last.headers["Content-Type"] == "application/json"
    assert "key" not in json.dumps(server.last.json).lower()


def test_the_key_is_in_the_header_of_each_protocol(
    server: Any, media: MediaStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPAT_API_KEY", "local-key-1")
    sent = {}
    for provider in PROVIDERS:
        server.clear()
        server.say(REPLIES[provider])
        ask(named(provider, server.url), media)
        sent[provider] = {k.lower(): v for k, v in server.last.headers.items()}
        assert "?" not in server.last.path
    assert sent["openai"]["authorization"] == f"Bearer {os.environ['OPENAI_API_KEY']}"
    assert sent["compat"]["authorization"] == "Bearer local-key-1"
    assert sent["anthropic"]["x-api-key"] == os.environ["ANTHROPIC_API_KEY"]
    assert sent["anthropic"]["anthropic-version"] == "2026-10-21"
    assert sent["google"]["x-goog-api-key"] == os.environ["GOOGLE_API_KEY"]
    assert "authorization" not in sent["google"]


def test_compat_needs_no_key(server: Any, media: MediaStore) -> None:
    server.say(REPLIES["compat"])
    assert isinstance(ask(named("compat", server.url), media), Reply)
    assert "Authorization" not in server.last.headers


@pytest.mark.parametrize(
    ("provider", "variable"),
    [("openai", "OPENAI_API_KEY"), ("anthropic", "ANTHROPIC_API_KEY"), ("google", "GOOGLE_API_KEY")],
)
def test_a_missing_key_names_the_variable(
    provider: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(variable)
    with pytest.raises(UserError, match=variable):
        resolve(PROVIDERS[provider][0])


def test_gemini_key_is_read_too(monkeypatch: pytest.MonkeyPatch, server: Any, media: MediaStore) -> None:
    monkeypatch.delenv("GOOGLE_API_KEY")
    monkeypatch.setenv("GEMINI_API_KEY", "AIza-gemini")
    server.say(REPLIES["google"])
    ask(named("google", server.url), media)
    assert server.last.headers["x-goog-api-key"] == "AIza-gemini"


@pytest.mark.parametrize(
    ("provider", "variable", "path"),
    [
        ("openai", "OPENAI_BASE_URL", "/v1"),
        ("compat", "COMPAT_BASE_URL", "/v1"),
        ("anthropic", "ANTHROPIC_BASE_URL", ""),
        ("anthropic", "ANTHROPIC_BASE_URL", "/v1"),
        ("google", "GOOGLE_BASE_URL", ""),
        ("google", "GOOGLE_BASE_URL", "/v1"),
        ("google", "GOOGLE_GEMINI_BASE_URL", "/"),
    ],
)
def test_the_address_may_come_from_the_environment(
    provider: str, variable: str, path: str, server: Any, media: MediaStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, server.url + path)
    server.say(REPLIES[provider])
    assert isinstance(ask(PROVIDERS[provider][0], media), Reply)
    assert server.last.path == PROVIDERS[provider][2]


def test_another_version_of_googles_protocol(server: Any, media: MediaStore) -> None:
    server.say(REPLIES["google"])
    ask(f"google/gemini-x@{server.url}/v1beta", media)
    assert server.last.path == "/v1beta/models/gemini-x:generateContent"
    ask(f"google/tunedModels/mine@{server.url}", media)
    assert server.last.path == "/v1/tunedModels/mine:generateContent"


@pytest.mark.parametrize(
    "name",
    ["google/../../secrets", "google/a b", "google/x?key=1", "google/a/b/c/d/e", "google/x#y", "google/x:y"],
)
def test_a_google_model_is_part_of_a_url_and_nothing_else(name: str) -> None:
    with pytest.raises(UserError, match="not the name"):
        resolve(name)


def test_endpoints_are_limits_of_their_own() -> None:
    names = [
        "openai/gpt-4o",
        "openai/gpt-4o-mini",
        "openai/gpt-4o@http://127.0.0.1:1/v1",
        "anthropic/c",
        "google/g",
    ]
    endpoints = [resolve(name).endpoint for name in names]
    assert endpoints[0] == "https://api.openai.com/v1#gpt-4o"
    assert len(set(endpoints)) == len(names)
    assert [resolve(name).name for name in names] == names


@EVERY
def test_the_key_is_nowhere_when_a_call_fails(
    provider: str,
    server: Any,
    media: MediaStore,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = "correct-horse-battery-staple"
    for variable in ("OPENAI_API_KEY", "COMPAT_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.setenv(variable, secret)
    for body in (
        {
            "error": {
                "message": f"Incorrect API key provided: {secret}.",
                "type": "x",
                "code": "invalid_api_key",
            }
        },
        f"<html><title>{secret}</title>".encode(),
        f"plain {secret}".encode(),
    ):
        server.clear()
        server.say(body, status=401)
        outcome = ask(named(provider, server.url), media)
        assert isinstance(outcome, Failure)
        assert outcome.kind == "auth"
        assert secret not in repr(outcome)
        assert "_API_KEY" in outcome.message
    assert secret not in caplog.text
    model = resolve(named(provider, server.url))
    assert secret not in f"{model!r} {vars(model)!r}"


@EVERY
def test_faults_over_the_wire(provider: str, server: Any, media: MediaStore) -> None:
    name = named(provider, server.url)

    def kind(body: Any, **more: Any) -> str:
        server.clear()
        server.say(body, **more)
        outcome = ask(name, media, timeout=more.pop("wait", 5.0))
        assert isinstance(outcome, Failure), outcome
        return outcome.kind

    assert kind({"error": {"message": "slow down"}}, status=429, headers={"Retry-After": "3"}) == "rate_limit"
    assert kind(b"", status=503) == "overload"
    assert kind(b"", status=529) == "overload"
    assert kind(b"", status=500) == "server"
    assert kind(b"<html>", headers={"Content-Type": "text/html"}) == "server"
    assert kind(b'{"choices": [', headers={"Content-Type": "application/json"}) == "server"
    assert kind(b"", drop=True) == "connection"
    assert kind(b"", status=307, headers={"Location": "http://127.0.0.1:1/"}) == "bad_request"
    server.clear()
    server.say(REPLIES[provider], delay=2.0)
    outcome = ask(name, media, timeout=0.2)
    assert isinstance(outcome, Failure)
    assert outcome.kind == "timeout"


def test_retry_after_arrives(server: Any, media: MediaStore) -> None:
    server.say({}, status=429, headers={"retry-after-ms": "1250"})
    outcome = ask(named("openai", server.url), media)
    assert isinstance(outcome, Failure)
    assert outcome.retry_after == 1.25


@EVERY
def test_a_reply_of_another_content_type_is_read_by_what_it_is(
    provider: str, server: Any, media: MediaStore
) -> None:
    server.say(REPLIES[provider], headers={"Content-Type": "text/plain"})
    assert isinstance(ask(named(provider, server.url), media), Reply)


@EVERY
def test_many_images_arrive_as_they_are(provider: str, server: Any, media: MediaStore) -> None:
    pictures = [media.image(str(i), lambda i=i: (os.urandom(60_000 + i), 640, 360)) for i in range(10)]
    server.say(REPLIES[provider])
    for _ in range(3):
        assert isinstance(ask(named(provider, server.url), media, user("Look", *pictures)), Reply)
    assert media.encoded == 10
    text = server.last.body
    for picture in pictures:
        assert text.count(media.base64(picture)) == 1
    assert int(server.last.headers["Content-Length"]) == len(text)


def test_images_are_not_copied_into_the_body(media: MediaStore) -> None:
    picture = media.image("a", lambda: (os.urandom(60_000), 640, 360))
    request = Request(model="m", messages=(user("Look", picture, "and", picture),))
    for render in (render_openai, render_compat, render_anthropic, render_google):
        body = render(request, media, "m")
        assert sum(piece is media.base64(picture) for piece in body) == 2
        assert len(body) == 5


# -- what a protocol cannot say ----------------------------------------------------------------------------------


def parts(media: MediaStore) -> dict[str, Any]:
    return {
        "video": media.video(b"v", 1.0),
        "audio": media.audio(b"a", 1.0),
        "flac": media.audio(b"f", 1.0, "audio/flac"),
        "bmp": media.image("b", lambda: (b"BM", 1, 1), "image/bmp"),
        "heic": media.image("h", lambda: (b"HC", 1, 1), "image/heic"),
        "gif": media.image("g", lambda: (b"GIF", 1, 1), "image/gif"),
        "evil": media.image("e", lambda: (b"e", 1, 1), 'image/png","x":"'),
        "lost": Image("0" * 64, "image/png", 1, 1),
    }


@pytest.mark.parametrize(
    ("render", "taken"),
    [
        (render_openai, {"audio", "gif"}),
        (render_compat, {"audio", "gif", "video"}),
        (render_anthropic, {"gif"}),
        (render_google, {"audio", "flac", "video", "heic"}),
    ],
)
def test_media_that_a_protocol_takes(render: Any, taken: set[str], media: MediaStore) -> None:
    for name, part in parts(media).items():
        request = Request(model="m", messages=(user("x", part),))
        if name in taken:
            assert media.base64(part).decode() in json.dumps(json.loads(joined(render(request, media, "m"))))
        else:
            with pytest.raises(UserError):
                render(request, media, "m")


@EVERY
def test_what_cannot_be_said_is_not_sent(provider: str, server: Any, media: MediaStore) -> None:
    outcome = ask(named(provider, server.url), media, user("x", parts(media)["evil"]))
    assert isinstance(outcome, Failure)
    assert outcome.kind == "bad_request"
    assert not server.seen


@pytest.mark.parametrize("render", [render_anthropic, render_google])
def test_system_messages_come_first(render: Any, media: MediaStore) -> None:
    for messages in ((user("a"), system("b")), (system("a"),), ()):
        with pytest.raises(UserError):
            render(Request(model="m", messages=messages), media, "m")


@pytest.mark.parametrize("render", [render_openai, render_compat, render_anthropic, render_google])
def test_only_users_show_pictures(render: Any, media: MediaStore) -> None:
    picture = media.image("a", lambda: (b"x", 1, 1))
    for role in ("system", "assistant"):
        request = Request(model="m", messages=(Message(role, (picture,)), user("x")))
        with pytest.raises(UserError):
            render(request, media, "m")


# -- parameters --------------------------------------------------------------------------------------------------


def body(render: Any, **parameters: Any) -> dict[str, Any]:
    request = Request(model="m", messages=(user("x"),), parameters=Parameters(**parameters))
    return json.loads(joined(render(request, MediaStore(), "claude-haiku-4-5")))


def test_what_is_unset_is_not_sent() -> None:
    assert body(render_openai).keys() == {"model", "messages"}
    assert body(render_anthropic).keys() == {"model", "messages", "max_tokens"}
    assert body(render_anthropic)["max_tokens"] == DEFAULT_MAX_TOKENS
    assert body(render_google).keys() == {"contents"}


def test_zero_is_sent() -> None:
    assert body(render_openai, temperature=0.0, seed=0)["temperature"] == 0
    assert body(render_openai, temperature=0.0, seed=0)["seed"] == 0
    assert body(render_google, temperature=0.0)["generationConfig"] == {"temperature": 0.0}
    assert body(render_anthropic, temperature=0.0)["temperature"] == 0


def test_the_limit_has_the_name_that_each_knows() -> None:
    assert body(render_openai, max_tokens=9)["max_completion_tokens"] == 9
    assert body(render_compat, max_tokens=9)["max_tokens"] == 9
    assert body(render_anthropic, max_tokens=9)["max_tokens"] == 9
    assert body(render_google, max_tokens=9)["generationConfig"]["maxOutputTokens"] == 9


@pytest.mark.parametrize(
    ("model", "takes"),
    [
        ("claude-3-5-sonnet-20241022", True),
        ("claude-2.1", True),
        ("claude-opus-4-20250514", True),
        ("claude-sonnet-4-5-20250929", True),
        ("claude-haiku-4-5", True),
        ("claude-opus-4-6", True),
        ("claude-sonnet-4-6", True),
        ("claude-opus-4-7", False),
        ("claude-opus-4-8", False),
        ("claude-sonnet-5", False),
        ("claude-haiku-5-5", False),
        ("claude-opus-4-60", False),
        ("claude-30", False),
    ],
)
def test_sampling_goes_to_the_models_that_take_it(
    model: str, takes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert takes_sampling(model) is takes
    made = resolve(f"anthropic/{model}")
    assert isinstance(made, HttpModel)
    unsent = unsent_parameters(f"anthropic/{model}", Parameters(temperature=0.0, seed=1, max_tokens=4))
    assert unsent == (("seed",) if takes else ("seed", "temperature"))
    assert made._headers["anthropic-version"] == ("2023-06-01" if takes else "2026-10-21")
    request = Request(model="m", messages=(user("x"),), parameters=Parameters(temperature=0.0))
    assert ("temperature" in json.loads(joined(render_anthropic(request, MediaStore(), model)))) is takes


@pytest.mark.parametrize(
    ("model", "reasoning", "takes"),
    [
        ("gpt-4o-2024-08-06", None, True),
        ("gpt-4.1", None, True),
        ("chatgpt-4o-latest", None, True),
        ("ft:gpt-4o:org::id", None, True),
        ("o1", None, False),
        ("o3-mini-2025-01-31", "none", False),
        ("o4-mini", None, False),
        ("gpt-5", None, False),
        ("gpt-5-mini", "none", False),
        ("gpt-5-2025-08-07", None, False),
        ("gpt-5.1", None, True),
        ("gpt-5.2-2025-12-11", "none", True),
        ("gpt-5.4-mini", "low", False),
        ("gpt-5.5", None, False),
        ("gpt-5.6-sol", "none", True),
        ("gpt-6-astra", None, False),
        ("gpt-6.1-sol", "none", True),
        ("gpt-12", None, False),
        ("omni", None, True),
    ],
)
def test_a_temperature_goes_to_the_models_of_openai_that_take_it(
    model: str, reasoning: str | None, takes: bool
) -> None:
    wanted = Parameters(temperature=0.0, top_p=1.0, reasoning=reasoning)
    request = Request(model="m", messages=(user("x"),), parameters=wanted)
    sent = json.loads(joined(render_openai(request, MediaStore(), model)))
    assert ("temperature" in sent) is ("top_p" in sent) is takes
    assert unsent_parameters(f"openai/{model}", wanted) == (() if takes else ("temperature", "top_p"))
    compat = json.loads(joined(render_compat(request, MediaStore(), model)))
    assert compat["temperature"] == 0


@pytest.mark.parametrize(
    ("name", "reasoning", "sent", "left"),
    [
        (
            "openai/o3",
            "high",
            {"max_completion_tokens": 9000, "reasoning_effort": "high", "seed": 7},
            ("temperature",),
        ),
        ("openai/o3", "5000", {"max_completion_tokens": 9000, "seed": 7}, ("reasoning", "temperature")),
        (
            "openai/gpt-4o",
            "low",
            {"max_completion_tokens": 9000, "seed": 7, "temperature": 0.5},
            ("reasoning",),
        ),
        (
            "openai/gpt-5.1",
            "none",
            {"max_completion_tokens": 9000, "seed": 7, "temperature": 0.5, "reasoning_effort": "none"},
            (),
        ),
        (
            "compat/m",
            "high",
            {"max_tokens": 9000, "seed": 7, "temperature": 0.5, "reasoning_effort": "high"},
            (),
        ),
        (
            "compat/m",
            "none",
            {
                "max_tokens": 9000,
                "seed": 7,
                "temperature": 0.5,
                "reasoning_effort": "none",
                "chat_template_kwargs": {"enable_thinking": False},
            },
            (),
        ),
        (
            "compat/m",
            "5000",
            {
                "max_tokens": 9000,
                "seed": 7,
                "temperature": 0.5,
                "chat_template_kwargs": {"enable_thinking": True, "thinking_budget": 5000},
            },
            (),
        ),
        (
            "anthropic/claude-sonnet-4-5",
            "5000",
            {"max_tokens": 9000, "thinking": {"type": "enabled", "budget_tokens": 5000}},
            ("seed", "temperature"),
        ),
        (
            "anthropic/claude-sonnet-4-5",
            "high",
            {"max_tokens": 9000, "thinking": {"type": "enabled", "budget_tokens": 6750}},
            ("seed", "temperature"),
        ),
        (
            "anthropic/claude-sonnet-4-5",
            "none",
            {"max_tokens": 9000, "temperature": 0.5, "thinking": {"type": "disabled"}},
            ("seed",),
        ),
        (
            "anthropic/claude-opus-4-6",
            "low",
            {"max_tokens": 9000, "thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
            ("seed", "temperature"),
        ),
        (
            "anthropic/claude-3-5-haiku",
            "low",
            {"max_tokens": 9000, "temperature": 0.5},
            ("reasoning", "seed"),
        ),
        ("anthropic/claude-sonnet-5", "5000", {"max_tokens": 9000}, ("reasoning", "seed", "temperature")),
        (
            "google/gemini-2.5-flash",
            "5000",
            {
                "generationConfig": {
                    "temperature": 0.5,
                    "maxOutputTokens": 9000,
                    "seed": 7,
                    "thinkingConfig": {"thinkingBudget": 5000},
                }
            },
            (),
        ),
        (
            "google/gemini-2.0-flash",
            "low",
            {"generationConfig": {"temperature": 0.5, "maxOutputTokens": 9000, "seed": 7}},
            ("reasoning",),
        ),
    ],
)
def test_each_provider_gets_its_own_words_for_how_to_reply(
    name: str, reasoning: str, sent: dict[str, Any], left: tuple[str, ...], server: Any, media: MediaStore
) -> None:
    provider, _, model = name.partition("/")
    server.say(REPLIES[provider])
    address = f"{name}@{server.url}{PROVIDERS[provider][1]}"
    wanted: dict[str, Any] = {"temperature": 0.5, "max_tokens": 9000, "reasoning": reasoning, "seed": 7}
    assert isinstance(ask(address, media, **wanted), Reply)
    asked = server.last.json
    said = {key: value for key, value in asked.items() if key not in ("model", "messages", "contents")}
    assert said == sent
    assert unsent_parameters(address, Parameters(**wanted)) == left
    assert model in (asked.get("model"), server.last.path.split("/")[-1].partition(":")[0])


def test_thinking_that_leaves_no_room_is_never_sent(server: Any, media: MediaStore) -> None:
    asked = ask(f"anthropic/claude-sonnet-4-5@{server.url}", media, max_tokens=1_000, reasoning="5000")
    assert isinstance(asked, Failure)
    assert (asked.kind, asked.message) == (
        "bad_request",
        "5,000 tokens of thinking leave nothing of a reply of 1,000.",
    )


def test_everything_is_sent_where_there_is_a_field_for_it() -> None:
    everything = Parameters(temperature=0.0, max_tokens=1, top_p=1.0, seed=1, stop=("a",), reasoning="low")
    for name in ("openai/a", "google/a", "compat/a@http://127.0.0.1:1"):
        assert unsent_parameters(name, everything) == ()


def test_extra_fields() -> None:
    assert body(render_openai, extra={"verbosity": "low", "logit_bias": {"1": 2}})["verbosity"] == "low"
    google = body(
        render_google, temperature=0.0, extra={"generationConfig": {"topK": 5}, "safetySettings": []}
    )
    assert google["generationConfig"] == {"temperature": 0.0, "topK": 5}
    assert google["safetySettings"] == []
    claude = body(
        render_anthropic, reasoning="low", extra={"output_config": {"effort": "max"}, "service_tier": "auto"}
    )
    assert claude["output_config"] == {"effort": "max"}


@pytest.mark.parametrize(
    ("render", "extra"),
    [
        (render_openai, {"stream": True}),
        (render_openai, {"n": 3}),
        (render_compat, {"messages": []}),
        (render_anthropic, {"stream": True}),
        (render_anthropic, {"system": "x"}),
        (render_google, {"contents": []}),
        (render_google, {"systemInstruction": {}}),
        (render_google, {"generationConfig": {"candidateCount": 4}}),
        (render_openai, {"image_detail": 'x"'}),
    ],
)
def test_extra_fields_do_not_change_who_is_asked_what(render: Any, extra: dict[str, Any]) -> None:
    with pytest.raises(UserError):
        body(render, extra=extra)


def test_detail_of_images(media: MediaStore) -> None:
    picture = media.image("a", lambda: (b"x", 1, 1))

    def part(**extra: Any) -> Any:
        request = Request(model="m", messages=(user(picture),), parameters=Parameters(extra=extra))
        whole = json.loads(joined(render_openai(request, media, "m")))
        assert "image_detail" not in whole
        return whole["messages"][0]["content"][0]["image_url"]

    assert part(image_detail="low")["detail"] == "low"
    assert "detail" not in part()


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (
            {
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "required": ["a"],
                "additionalProperties": False,
            },
            True,
        ),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "required": [],
                "additionalProperties": False,
            },
            False,
        ),
        ({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, False),
        ({"type": "object"}, False),
        ({"type": "array", "items": {"type": "object", "properties": {}}}, False),
        ({"anyOf": [{"type": "string"}, {"type": "object"}]}, False),
        (
            {
                "type": "object",
                "properties": {"properties": {"type": "string"}},
                "required": ["properties"],
                "additionalProperties": False,
            },
            True,
        ),
        (
            {
                "type": "object",
                "properties": {"a": {"$ref": "#/$defs/x"}},
                "required": ["a"],
                "additionalProperties": False,
                "$defs": {"x": {"type": "object"}},
            },
            False,
        ),
        ({"enum": [{"type": "object"}]}, True),
        ({"type": "string"}, True),
    ],
)
def test_strict_mode_only_for_schemas_that_keep_its_rules(schema: dict[str, Any], strict: bool) -> None:
    assert can_be_strict(schema) is strict
    assert body(render_openai, json_schema=schema)["response_format"]["json_schema"]["strict"] is strict


@pytest.mark.parametrize("render", [render_anthropic, render_google])
def test_an_unknown_effort_is_refused(render: Any) -> None:
    with pytest.raises(UserError, match="effort"):
        body(render, reasoning="very")
    assert "hinking" in json.dumps(body(render, reasoning="none"))


def test_thinking_of_google_is_tokens_or_a_level() -> None:
    def config(model: str, effort: str) -> Any:
        request = Request(model="m", messages=(user("x"),), parameters=Parameters(reasoning=effort))
        return json.loads(joined(render_google(request, MediaStore(), model)))["generationConfig"][
            "thinkingConfig"
        ]

    assert config("gemini-2.5-flash", "low") == {"thinkingBudget": 1024}
    assert config("gemini-3-pro", "low") == {"thinkingLevel": "LOW"}
    assert config("gemini-3-pro", "none") == {"thinkingBudget": 0}


def test_text_is_sent_to_the_letter(media: MediaStore, server: Any) -> None:
    text = 'a"b\\c\n\t\x00\x7f ü 😀 </s> \u2028 {{x}} %s'
    for provider in PROVIDERS:
        server.clear()
        server.say(REPLIES[provider])
        ask(
            named(provider, server.url),
            media,
            system(text),
            user(text),
            Message("assistant", (Text(text),)),
            user("x"),
        )
        sent = json.dumps(server.last.json)
        assert sent.count(json.dumps(text)) == 3


def test_text_that_is_no_unicode_is_not_sent(server: Any, media: MediaStore) -> None:
    outcome = ask(named("openai", server.url), media, user("file\udcff.mp4"))
    assert isinstance(outcome, Failure)
    assert outcome.kind == "bad_request"
    assert not server.seen


PARTS = st.builds(Text, st.text(max_size=20)) | st.sampled_from(
    [
        Image(hashlib.sha256(b"one").hexdigest(), "image/png", 1, 1),
        Image(hashlib.sha256(b"2").hexdigest(), "image/gif", 2, 2),
    ]
)
TALKS = st.lists(st.lists(PARTS, min_size=1, max_size=4).map(tuple), min_size=1, max_size=3)


@given(system_text=st.none() | st.text(max_size=20), talk=TALKS, temperature=st.none() | st.floats(0, 2))
@pytest.mark.parametrize("render", [render_openai, render_compat, render_anthropic])
def test_any_talk_arrives_whole(
    render: Any, system_text: str | None, talk: list[tuple[Any, ...]], temperature: float | None
) -> None:
    store = MediaStore()
    for data in (b"one", b"2"):
        store.add(data)
    head = () if system_text is None else (system(system_text),)
    request = Request(
        model="m",
        messages=(*head, *(Message("user", parts) for parts in talk)),
        parameters=Parameters(temperature=temperature),
    )
    sent = json.loads(joined(render(request, store, "claude-haiku-4-5")))
    assert sent.get("temperature") == temperature
    said = [m for m in sent["messages"] if m["role"] == "user"]
    found = [
        [(p.get("text"), _data(p)) for p in m["content"]]
        if isinstance(m["content"], list)
        else [(m["content"], None)]
        for m in said
    ]
    wanted = [
        [
            (part.text, None) if isinstance(part, Text) else (None, store.base64(part).decode())
            for part in parts
        ]
        for parts in talk
    ]
    assert found == wanted
    top = sent.get("system") if render is render_anthropic else None
    first = sent["messages"][0]["content"] if sent["messages"][0]["role"] == "system" else top
    assert (first or None) == (system_text or None)


def _data(part: dict[str, Any]) -> str | None:
    if "image_url" in part:
        return str(part["image_url"]["url"]).partition(";base64,")[2]
    return part["source"]["data"] if "source" in part else None


SECRET = "correct-horse-battery-staple"


@EVERY
def test_a_traceback_of_a_mistake_does_not_show_the_key(
    provider: str, monkeypatch: pytest.MonkeyPatch, server: Any
) -> None:
    for variable in ("OPENAI_API_KEY", "COMPAT_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.setenv(variable, SECRET)
    model: Any = resolve(named(provider, server.url))
    model._headers["X-Number"] = 5  # a mistake of ours that shows deep inside the client

    async def main() -> None:
        try:
            await model.attempt(Request(model="m", messages=(user("x"),)), MediaStore(), timeout=5)
        finally:
            await model.close()

    with pytest.raises(TypeError) as caught:
        asyncio.run(main())
    shown = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    text = "".join(shown.format())
    assert "aiohttp" in text
    assert "[secret]" in text
    assert SECRET not in text


# -- people ------------------------------------------------------------------------------------------------------


def test_answers_of_people(tmp_path: Path, media: MediaStore) -> None:
    asked = user("What is next?")
    hashed = Request(model="m", messages=(user("By hash"),)).prompt_hash
    path = tmp_path / "ana.jsonl"
    path.write_text(
        json.dumps({"prompt": "What is next?", "answer": "Stir."})
        + "\n"
        + json.dumps({"prompt_hash": hashed, "answer": ""})
        + "\n"
        + json.dumps({"prompt": "What is next?", "answer": "Pour.", "draw": 1})
        + "\n"
    )
    name = f"human/{tmp_path}/ana"
    assert ask(name, media, system("s"), asked) == Reply(text="Stir.", model=name, stop="answered")
    assert ask(name, media, user("By hash")).text == ""  # type: ignore[union-attr]
    missing = ask(name, media, user("Unasked"))
    assert isinstance(missing, Failure)
    assert missing.kind == "replay_miss"
    assert resolve(name).endpoint == ""

    async def second() -> Outcome:
        request = Request(model=name, messages=(asked,), draw=1)
        return await resolve(name).attempt(request, media, timeout=1)

    assert asyncio.run(second()).text == "Pour."  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "lines",
    [
        '{"answer": "x"}',
        '{"prompt": "x"}',
        '{"prompt": "x", "answer": 5}',
        "not json",
        '{"prompt": "x", "answer": "a"}\n{"prompt": "x", "answer": "b"}',
    ],
)
def test_a_broken_file_of_answers_is_told_with_its_line(tmp_path: Path, lines: str) -> None:
    (tmp_path / "ana.jsonl").write_text(lines + "\n")
    with pytest.raises(UserError, match=r"ana\.jsonl"):
        resolve(f"human/{tmp_path}/ana.jsonl")


def test_a_missing_file_of_answers(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nobody\.jsonl"):
        resolve(f"human/{tmp_path}/nobody")

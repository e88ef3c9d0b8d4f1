"""The real clients of the providers as judges: they accept our bodies, and send the same; both read the same replies."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pydantic
import pytest

from proctor.llm.http import joined
from proctor.llm.media import MediaStore
from proctor.llm.message import Message, Parameters, Request, Text, system, user
from proctor.llm.outcome import Refusal, Reply, Truncated
from proctor.llm.providers.anthropic import parse_anthropic, render_anthropic
from proctor.llm.providers.compat import render_compat
from proctor.llm.providers.google import parse_google, render_google
from proctor.llm.providers.openai import parse_openai, render_openai

SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}, "steps": {"type": "array", "items": {"type": "integer"}}},
    "required": ["answer", "steps"],
    "additionalProperties": False,
}
NASTY = 'Ünï "quoted" \\ back\nline   😀 </script> {"a": [1]}'


def requests(media: MediaStore, *, video: bool = False, audio: bool = False) -> dict[str, Request]:
    picture = media.image("a", lambda: (b"\xff\xd8" + bytes(range(256)) * 200, 640, 360))
    png = media.image("b", lambda: (b"\x89PNG" + b"\0" * 50, 8, 8), "image/png")
    everything = Parameters(
        temperature=0.0,
        max_tokens=300,
        top_p=0.9,
        seed=7,
        stop=("END", "\n\n"),
        json_schema=SCHEMA,
        reasoning="low",
    )
    found = {
        "plain": Request(model="m", messages=(user("What is next?"),)),
        "system": Request(model="m", messages=(system("You are terse."), system("Really."), user(NASTY))),
        "everything": Request(model="m", messages=(system(NASTY), user("a", "b")), parameters=everything),
        "talk": Request(
            model="m", messages=(user("one"), Message("assistant", (Text("two"),)), user("three"))
        ),
        "images": Request(
            model="m",
            messages=(system("Look."), user("These:", picture, png, "and?")),
            parameters=Parameters(max_tokens=5),
        ),
        "only image": Request(model="m", messages=(user(picture),)),
        "image talk": Request(
            model="m", messages=(user(picture), Message("assistant", (Text("a"), Text("b"))), user("x", "y"))
        ),
    }
    if video:
        found["video"] = Request(model="m", messages=(user("Watch", media.video(b"mp4" * 9_000, 12.5)),))
    if audio:
        found["audio"] = Request(model="m", messages=(user("Hear", media.audio(b"RIFF" * 99, 1.5)),))
    return found


CASES = ["plain", "system", "everything", "talk", "images", "only image", "image talk"]


def exhaust(value: Any) -> Any:
    """Pydantic validates iterables only when they are walked through."""
    if isinstance(value, dict):
        return {k: exhaust(v) for k, v in value.items()}
    if isinstance(value, str | bytes | int | float | type(None)):
        return value
    if hasattr(value, "__iter__"):
        return [exhaust(v) for v in value]
    return value


def strict(type_: Any) -> Callable[[Any], Any]:
    """A validator of a TypedDict of the packages: unknown fields are refused, at every depth."""
    config = pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    adapter = pydantic.TypeAdapter(
        list[type_], config=config
    )  # a list, since a TypedDict takes no configuration
    return lambda value: exhaust(adapter.validate_python([value]))


@pytest.fixture(scope="module", autouse=True)
def packages() -> None:
    """Their import takes seconds, and one worker alone needs it: not while tests are collected."""
    for name in ("openai", "anthropic", "google.genai"):
        pytest.importorskip(name)


# -- OpenAI ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def openai_accepts() -> Callable[[Any], Any]:
    from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming

    return strict(CompletionCreateParamsNonStreaming)


@pytest.fixture
def openai_client(server: Any) -> Iterator[Any]:
    from openai import OpenAI

    with OpenAI(base_url=f"{server.url}/v1", api_key="sk-x", max_retries=0) as client:
        yield client


OPENAI_REPLY = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1_700_000_000,
    "model": "gpt-4o-2024-08-06",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "logprobs": None,
            "message": {"role": "assistant", "content": NASTY, "refusal": None, "annotations": []},
        }
    ],
    "usage": {
        "prompt_tokens": 120,
        "completion_tokens": 30,
        "total_tokens": 150,
        "prompt_tokens_details": {"cached_tokens": 64, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 12, "audio_tokens": 0},
    },
    "service_tier": "default",
    "system_fingerprint": "fp_1",
}


def test_the_validators_of_the_packages_are_strict(openai_accepts: Callable[[Any], Any]) -> None:
    good = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    openai_accepts(good)
    for broken in (
        {**good, "max_tokenz": 3},
        {"model": "m", "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
        {"model": "m", "messages": [{"role": "user", "content": "x", "colour": 1}]},
        {"model": "m"},
    ):
        with pytest.raises(pydantic.ValidationError):
            openai_accepts(broken)


@pytest.mark.parametrize("case", [*CASES, "audio"])
@pytest.mark.parametrize("render", [render_openai, render_compat])
def test_openai_accepts_and_sends_the_same(
    case: str,
    render: Any,
    media: MediaStore,
    openai_accepts: Callable[[Any], Any],
    openai_client: Any,
    server: Any,
) -> None:
    body = json.loads(joined(render(requests(media, audio=True)[case], media, "gpt-4o")))
    openai_accepts(body)
    server.say(OPENAI_REPLY)
    openai_client.chat.completions.create(**body)
    assert server.last.json == body
    assert server.last.path == "/v1/chat/completions"


def test_openai_reads_the_same_reply(openai_client: Any, server: Any) -> None:
    server.say(OPENAI_REPLY)
    theirs = openai_client.chat.completions.create(model="m", messages=[])
    ours = parse_openai(200, {}, json.dumps(OPENAI_REPLY).encode())
    assert isinstance(ours, Reply)
    assert ours.text == theirs.choices[0].message.content == NASTY
    assert ours.model == theirs.model
    assert ours.provider_id == theirs.id
    assert ours.stop == theirs.choices[0].finish_reason
    assert ours.usage.input == theirs.usage.prompt_tokens
    assert ours.usage.output == theirs.usage.completion_tokens
    assert ours.usage.cached == theirs.usage.prompt_tokens_details.cached_tokens
    assert ours.usage.reasoning == theirs.usage.completion_tokens_details.reasoning_tokens


def test_openai_objects_of_the_package_go_through_our_parser() -> None:
    from openai.types.chat import ChatCompletion, ChatCompletionMessage
    from openai.types.chat.chat_completion import Choice

    def said(finish: Any, **message: Any) -> bytes:
        choice = Choice(
            index=0,
            finish_reason=finish,
            message=ChatCompletionMessage(role="assistant", **message),
        )
        made = ChatCompletion(id="i", choices=[choice], created=1, model="m", object="chat.completion")
        return made.model_dump_json().encode()

    assert parse_openai(200, {}, said("stop", content="yes")) == Reply(
        text="yes", model="m", stop="stop", provider_id="i"
    )
    assert isinstance(parse_openai(200, {}, said("length", content="ye")), Truncated)
    assert parse_openai(200, {}, said("stop", refusal="I cannot.")) == Refusal(
        text="I cannot.", model="m", stop="stop", provider_id="i"
    )


# -- Anthropic ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def anthropic_accepts() -> Callable[[Any], Any]:
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

    return strict(MessageCreateParamsNonStreaming)


@pytest.fixture
def anthropic_client(server: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    from anthropic import Anthropic

    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with Anthropic(base_url=server.url, api_key="sk-ant-x", max_retries=0) as client:
        yield client


ANTHROPIC_REPLY = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-5",
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "The oven "},
        {"type": "text", "text": NASTY},
    ],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 20,
        "output_tokens": 30,
        "cache_creation_input_tokens": 5,
        "cache_read_input_tokens": 100,
        "output_tokens_details": {"thinking_tokens": 11},
        "service_tier": "standard",
    },
}


@pytest.mark.parametrize("case", CASES)
def test_anthropic_accepts_and_sends_the_same(
    case: str,
    media: MediaStore,
    anthropic_accepts: Callable[[Any], Any],
    anthropic_client: Any,
    server: Any,
) -> None:
    body = json.loads(joined(render_anthropic(requests(media)[case], media, "claude-sonnet-5")))
    anthropic_accepts(body)
    server.say(ANTHROPIC_REPLY)
    anthropic_client.messages.create(**body)
    assert server.last.json == body
    assert server.last.path == "/v1/messages"


def test_anthropic_reads_the_same_reply(anthropic_client: Any, server: Any) -> None:
    server.say(ANTHROPIC_REPLY)
    theirs = anthropic_client.messages.create(
        model="claude-sonnet-5", max_tokens=5, messages=[{"role": "user", "content": "x"}]
    )
    ours = parse_anthropic(200, {}, json.dumps(ANTHROPIC_REPLY).encode())
    assert isinstance(ours, Reply)
    assert ours.text == "".join(b.text for b in theirs.content if b.type == "text") == "The oven " + NASTY
    assert (ours.model, ours.provider_id, ours.stop) == (theirs.model, theirs.id, theirs.stop_reason)
    usage = theirs.usage
    assert ours.usage.input == 125
    assert ours.usage.input == (
        usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens
    )
    assert ours.usage.cached == usage.cache_read_input_tokens
    assert ours.usage.output == usage.output_tokens
    assert ours.usage.reasoning == usage.output_tokens_details.thinking_tokens


def test_every_stop_reason_of_anthropics_package_is_known() -> None:
    from typing import get_args

    from anthropic.types import StopReason

    kinds = {
        reason: type(
            parse_anthropic(200, {}, json.dumps({**ANTHROPIC_REPLY, "stop_reason": reason}).encode())
        ).__name__
        for reason in get_args(StopReason)
    }
    assert kinds == {
        "end_turn": "Reply",
        "stop_sequence": "Reply",
        "max_tokens": "Truncated",
        "model_context_window_exceeded": "Truncated",
        "refusal": "Refusal",
        "tool_use": "Failure",
        "pause_turn": "Failure",
    }


# -- Google ------------------------------------------------------------------------------------------------------


@pytest.fixture
def google_client(server: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    from google import genai

    monkeypatch.delenv("GOOGLE_API_KEY")
    client = genai.Client(api_key="AIza-x", http_options=genai.types.HttpOptions(base_url=server.url))
    yield client
    client.close()


GOOGLE_REPLY = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [{"text": "let me think", "thought": True}, {"text": "The "}, {"text": NASTY}],
            },
            "finishReason": "STOP",
            "index": 0,
        }
    ],
    "usageMetadata": {
        "promptTokenCount": 100,
        "candidatesTokenCount": 20,
        "thoughtsTokenCount": 13,
        "cachedContentTokenCount": 40,
        "totalTokenCount": 133,
    },
    "modelVersion": "gemini-2.5-flash",
    "responseId": "r1",
}


@pytest.mark.parametrize("case", [*CASES, "video", "audio"])
def test_google_accepts_and_sends_the_same(
    case: str, media: MediaStore, google_client: Any, server: Any
) -> None:
    from google.genai import types

    made = requests(media, video=True, audio=True)[case]
    body = json.loads(joined(render_google(made, media, "gemini-2.5-flash")))
    contents = [types.Content.model_validate(content) for content in body["contents"]]
    types.GenerationConfig.model_validate(body.get("generationConfig", {}))
    config = types.GenerateContentConfig.model_validate(body.get("generationConfig", {}))
    if "systemInstruction" in body:
        config.system_instruction = types.Content.model_validate(body["systemInstruction"])
    server.say(GOOGLE_REPLY)
    google_client.models.generate_content(model="gemini-2.5-flash", contents=contents, config=config)
    sent = server.last.json
    sent.get("systemInstruction", {}).pop("role", None)  # theirs says "user", which means nothing there
    assert _comparable(sent) == _comparable(body)
    assert server.last.path == "/v1/models/gemini-2.5-flash:generateContent"


def _comparable(body: dict[str, Any]) -> dict[str, Any]:
    """Theirs has base64 of the URL-safe kind and some names in snake case: both are the same to the server."""
    import base64

    copy = _camel(body)
    for content in copy["contents"]:
        for part in content["parts"]:
            if "inlineData" in part:
                text = part["inlineData"]["data"].replace("-", "+").replace("_", "/")
                part["inlineData"]["data"] = base64.b64decode(text).hex()
    if not copy.get("generationConfig"):
        copy.pop("generationConfig", None)
    return copy


def _camel(value: Any) -> Any:
    if isinstance(value, list):
        return [_camel(item) for item in value]
    if not isinstance(value, dict):
        return value
    names = {key: key.split("_")[0] + "".join(word.title() for word in key.split("_")[1:]) for key in value}
    return {
        names[key]: item if names[key] == "responseJsonSchema" else _camel(item)
        for key, item in value.items()
    }


def test_google_reads_the_same_reply(google_client: Any, server: Any) -> None:
    server.say(GOOGLE_REPLY)
    theirs = google_client.models.generate_content(model="gemini-2.5-flash", contents="x")
    ours = parse_google(200, {}, json.dumps(GOOGLE_REPLY).encode())
    assert isinstance(ours, Reply)
    assert ours.text == theirs.text == "The " + NASTY
    assert (ours.model, ours.provider_id, ours.stop) == (theirs.model_version, theirs.response_id, "STOP")
    usage = theirs.usage_metadata
    assert ours.usage.input == usage.prompt_token_count
    assert ours.usage.output == usage.candidates_token_count + usage.thoughts_token_count
    assert ours.usage.cached == usage.cached_content_token_count
    assert ours.usage.reasoning == usage.thoughts_token_count


def test_every_finish_reason_of_googles_package_is_known() -> None:
    from google.genai.types import FinishReason

    kinds: dict[str, set[str]] = {}
    for reason in FinishReason:
        reply = {
            **GOOGLE_REPLY,
            "candidates": [{**GOOGLE_REPLY["candidates"][0], "finishReason": reason.value}],
        }
        outcome = parse_google(200, {}, json.dumps(reply).encode())
        kind = getattr(outcome, "kind", type(outcome).__name__)
        kinds.setdefault(kind, set()).add(reason.value)
        if kind in {"content_filter", "server"}:
            assert outcome.usage.input == 100  # paid for all the same
    assert kinds["Reply"] == {"STOP"}
    assert kinds["Truncated"] == {"MAX_TOKENS", "CONTINUATION"}
    assert {"SAFETY", "RECITATION", "BLOCKLIST", "SPII", "PROHIBITED_CONTENT"} <= kinds["content_filter"]
    assert {"OTHER", "MALFORMED_RESPONSE", "FINISH_REASON_UNSPECIFIED", "NO_IMAGE"} <= kinds["server"]
    assert set(kinds) == {"Reply", "Truncated", "content_filter", "server"}


def test_every_block_reason_of_googles_package_is_a_filter() -> None:
    from google.genai.types import BlockedReason

    for reason in BlockedReason:
        reply = {"promptFeedback": {"blockReason": reason.value}, "usageMetadata": {"promptTokenCount": 9}}
        outcome = parse_google(200, {}, json.dumps(reply).encode())
        assert outcome.kind == "content_filter"
        assert reason.value in outcome.message

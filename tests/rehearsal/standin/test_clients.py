"""The providers' own SDKs as clients of the stand-in: what they understand, it speaks."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import json
from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest
from google import genai
from google.genai import errors as google_errors
from google.genai import types as google_types
from PIL import Image as Picture
from tests.patience import PATIENCE

from proctor_rehearsal.standin import Answer, Call, Fault, Match, Rule, Standin

SCHEMA = {
    "type": "object",
    "properties": {
        "verdict": {"type": "integer", "enum": [0, 1, 2]},
        "rationale": {"type": "string", "minLength": 3},
        "steps": {"type": "array", "items": {"type": "string"}, "minItems": 2},
    },
    "required": ["verdict", "rationale", "steps"],
    "additionalProperties": False,
}


def jpeg(width: int = 64, height: int = 48, colour: tuple[int, int, int] = (200, 30, 30)) -> bytes:
    stream = io.BytesIO()
    Picture.new("RGB", (width, height), colour).save(stream, "JPEG")
    return stream.getvalue()


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.fixture
def chat(standin: Standin) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{standin.url}/v1", api_key="k", max_retries=0, timeout=PATIENCE) as client:
        yield client


@pytest.fixture
def claude(standin: Standin) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=standin.url, api_key="k", max_retries=0, timeout=PATIENCE) as client:
        yield client


@pytest.fixture
def gemini(standin: Standin) -> Iterator[genai.Client]:
    client = genai.Client(
        api_key="k",
        http_options=google_types.HttpOptions(base_url=standin.url, timeout=20_000, retry_options=None),
    )
    yield client
    client.close()


def ask_chat(client: openai.OpenAI, text: str = "hello", **more: Any) -> Any:
    return client.chat.completions.create(model="gpt", messages=[{"role": "user", "content": text}], **more)


def ask_claude(client: anthropic.Anthropic, text: str = "hello", **more: Any) -> Any:
    given: dict[str, Any] = {"max_tokens": 500, **more}
    return client.messages.create(model="claude", messages=[{"role": "user", "content": text}], **given)


def ask_gemini(client: genai.Client, text: str = "hello", **config: Any) -> Any:
    return client.models.generate_content(
        model="gemini", contents=text, config=google_types.GenerateContentConfig(**config)
    )


# -- replies -------------------------------------------------------------------------------------------------------


def test_openai_chat_with_system_and_images(standin: Standin, chat: openai.OpenAI) -> None:
    one, two = jpeg(), jpeg(128, 128, (1, 2, 3))
    url = "data:image/jpeg;base64,"
    reply = chat.chat.completions.create(
        model="gpt-4o",
        temperature=0,
        messages=[
            {"role": "system", "content": "You watch a cook."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "What next?"},
                    {"type": "image_url", "image_url": {"url": url + b64(one)}},
                    {"type": "image_url", "image_url": {"url": url + b64(two), "detail": "low"}},
                ],
            },
        ],
    )
    openai.types.chat.ChatCompletion.model_validate(reply.to_dict(), strict=False)
    assert reply.choices[0].message.content == "This is the stand-in speaking."
    assert reply.choices[0].finish_reason == "stop"
    assert reply.model == "gpt-4o"
    assert reply._request_id
    record = standin.requests[0]
    assert (record.call.system, record.call.last) == ("You watch a cook.", "What next?")
    assert [p.sha256 for p in record.parts] == [hashlib.sha256(d).hexdigest() for d in (one, two)]
    assert [(p.width, p.height, p.size) for p in record.parts] == [(64, 48, len(one)), (128, 128, len(two))]
    assert record.media == {"image": 2}
    # 17 + 10 letters and a line break are 7 tokens, a turn 4, 64·48/750 → 5, 128·128/750 → 22
    assert reply.usage is not None
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (7 + 4 + 5 + 22, 8)


def test_openai_audio_and_video_parts(standin: Standin, chat: openai.OpenAI) -> None:
    parts: Any = [
        {"type": "text", "text": "listen"},
        {"type": "input_audio", "input_audio": {"data": b64(b"RIFFsound"), "format": "wav"}},
        {"type": "video_url", "video_url": {"url": "data:video/mp4;base64," + b64(b"movie")}},
        {
            "type": "file",
            "file": {"file_data": "data:application/pdf;base64," + b64(b"%PDF"), "filename": "a"},
        },
    ]
    chat.chat.completions.create(model="m", messages=[{"role": "user", "content": parts}])
    assert [(p.kind, p.mime, p.size) for p in standin.requests[0].parts] == [
        ("audio", "audio/wav", 9),
        ("video", "video/mp4", 5),
        ("file", "application/pdf", 4),
    ]


def test_anthropic_with_system_and_image(standin: Standin, claude: anthropic.Anthropic) -> None:
    picture = jpeg()
    source: Any = {"type": "base64", "media_type": "image/jpeg", "data": b64(picture)}
    reply = claude.messages.create(
        model="claude-x",
        max_tokens=50,
        system=[{"type": "text", "text": "You watch a cook."}],
        messages=[
            {
                "role": "user",
                "content": [{"type": "text", "text": "What?"}, {"type": "image", "source": source}],
            },
            {"role": "assistant", "content": "Hm."},
            {"role": "user", "content": "Well?"},
        ],
    )
    anthropic.types.Message.model_validate(reply.to_dict())
    assert reply.content[0].type == "text"
    assert reply.content[0].text == "This is the stand-in speaking."
    assert (reply.stop_reason, reply.model, reply.role) == ("end_turn", "claude-x", "assistant")
    assert reply._request_id
    assert reply.usage.output_tokens == 8
    record = standin.requests[0]
    assert (record.call.system, record.call.last, record.media) == (
        "You watch a cook.",
        "Well?",
        {"image": 1},
    )
    assert record.parts[0].sha256 == hashlib.sha256(picture).hexdigest()


def test_google_with_system_image_and_video(standin: Standin, gemini: genai.Client) -> None:
    picture = jpeg()
    reply = gemini.models.generate_content(
        model="gemini-pro",
        contents=[
            "What next?",
            google_types.Part.from_bytes(data=picture, mime_type="image/jpeg"),
            google_types.Part.from_bytes(data=b"movie", mime_type="video/mp4"),
        ],
        config=google_types.GenerateContentConfig(system_instruction="You watch a cook.", temperature=0),
    )
    assert reply.text == "This is the stand-in speaking."
    assert reply.candidates is not None
    assert reply.candidates[0].finish_reason == google_types.FinishReason.STOP
    assert reply.model_version == "gemini-pro"
    assert reply.usage_metadata is not None
    assert reply.usage_metadata.candidates_token_count == 8
    assert reply.usage_metadata.total_token_count == reply.usage_metadata.prompt_token_count + 8  # type: ignore[operator]
    record = standin.requests[0]
    assert (record.model, record.call.system, record.call.last) == (
        "gemini-pro",
        "You watch a cook.",
        "What next?",
    )
    assert record.media == {"image": 1, "video": 1}
    assert record.parts[0].sha256 == hashlib.sha256(picture).hexdigest()


def test_openai_responses(standin: Standin, chat: openai.OpenAI) -> None:
    reply = chat.responses.create(
        model="gpt",
        instructions="Be brief.",
        input=[
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "hi"},
                    {
                        "type": "input_image",
                        "image_url": "data:image/jpeg;base64," + b64(jpeg()),
                        "detail": "auto",
                    },
                ],
            }
        ],
    )
    openai.types.responses.Response.model_validate(reply.to_dict())
    assert (reply.output_text, reply.status) == ("This is the stand-in speaking.", "completed")
    assert standin.requests[0].call.system == "Be brief."
    assert standin.requests[0].media == {"image": 1}


# -- structured output ---------------------------------------------------------------------------------------------


def check_structured(text: str) -> dict[str, Any]:
    import jsonschema

    value = json.loads(text)
    jsonschema.validate(value, SCHEMA)
    return dict(value)


def test_structured_output_everywhere(
    standin: Standin, chat: openai.OpenAI, claude: anthropic.Anthropic, gemini: genai.Client
) -> None:
    standin.script(answer=lambda _: Answer(text="because", data={"verdict": 2}))
    wanted: Any = {"type": "json_schema", "json_schema": {"name": "v", "strict": True, "schema": SCHEMA}}
    texts = [ask_chat(chat, response_format=wanted).choices[0].message.content]
    answered = chat.responses.create(
        model="m", input="x", text={"format": {"type": "json_schema", "name": "v", "schema": SCHEMA}}
    )
    texts.append(answered.output_text)
    texts.append(
        ask_claude(claude, output_config={"format": {"type": "json_schema", "schema": SCHEMA}})
        .content[0]
        .text
    )
    texts.append(ask_gemini(gemini, response_mime_type="application/json", response_json_schema=SCHEMA).text)
    tool = {"name": "v", "description": "d", "input_schema": SCHEMA}
    used = ask_claude(claude, tools=[tool], tool_choice={"type": "tool", "name": "v"})
    assert used.stop_reason == "tool_use"
    texts.append(json.dumps(used.content[0].input))
    function = {"type": "function", "function": {"name": "v", "parameters": SCHEMA}}
    choice = {"type": "function", "function": {"name": "v"}}
    called = ask_chat(chat, tools=[function], tool_choice=choice).choices[0].message
    assert called.content is None
    texts.append(called.tool_calls[0].function.arguments)
    for text in texts:
        assert check_structured(text)["verdict"] == 2


def test_google_schema_in_its_own_spelling(standin: Standin, gemini: genai.Client) -> None:
    schema = google_types.Schema(
        type=google_types.Type.OBJECT,
        properties={
            "answer": google_types.Schema(type=google_types.Type.STRING),
            "sure": google_types.Schema(type=google_types.Type.BOOLEAN),
        },
        required=["answer", "sure"],
    )
    reply = ask_gemini(gemini, response_mime_type="application/json", response_schema=schema)
    value = json.loads(reply.text)
    assert value["answer"] == "This is the stand-in speaking."
    assert isinstance(value["sure"], bool)


def test_json_mode(standin: Standin, chat: openai.OpenAI) -> None:
    reply = ask_chat(chat, "answer in JSON", response_format={"type": "json_object"})
    assert json.loads(reply.choices[0].message.content) == {"answer": "This is the stand-in speaking."}
    with pytest.raises(openai.BadRequestError, match="must contain the word"):
        ask_chat(chat, "answer", response_format={"type": "json_object"})


def test_wrong_schema(standin: Standin, chat: openai.OpenAI) -> None:
    import jsonschema

    standin.script(faults=[Fault(kind="wrong_schema")])
    wanted: Any = {"type": "json_schema", "json_schema": {"name": "v", "schema": SCHEMA}}
    for number in range(20):
        text = ask_chat(chat, f"question {number}", response_format=wanted).choices[0].message.content
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(json.loads(text), SCHEMA)


# -- how replies end -----------------------------------------------------------------------------------------------


def test_refusals_in_each_ones_own_way(
    standin: Standin, chat: openai.OpenAI, claude: anthropic.Anthropic, gemini: genai.Client
) -> None:
    standin.script(otherwise=Rule(reply="I can't help with that.", outcome="refusal"))
    message = ask_chat(chat).choices[0].message
    assert (message.content, message.refusal) == (None, "I can't help with that.")
    part = chat.responses.create(model="m", input="x").output[0].content[0]  # type: ignore[union-attr,index]
    assert (part.type, part.refusal) == ("refusal", "I can't help with that.")  # type: ignore[union-attr]
    refused = ask_claude(claude)
    anthropic.types.Message.model_validate(refused.to_dict())
    assert refused.stop_reason == "refusal"
    assert refused.stop_details.explanation == "I can't help with that."
    declined = ask_gemini(gemini)
    assert declined.text is None
    assert declined.candidates[0].finish_reason == google_types.FinishReason.PROHIBITED_CONTENT


def test_content_filters(
    standin: Standin, chat: openai.OpenAI, claude: anthropic.Anthropic, gemini: genai.Client
) -> None:
    standin.script(faults=[Fault(kind="content_filter")])
    assert ask_chat(chat).choices[0].finish_reason == "content_filter"
    filtered = ask_claude(claude)
    assert (filtered.content, filtered.stop_reason) == ([], "refusal")
    assert ask_gemini(gemini).candidates[0].finish_reason == google_types.FinishReason.SAFETY
    standin.script(faults=[Fault(kind="prompt_filter")])
    with pytest.raises(openai.BadRequestError) as caught:
        ask_chat(chat)
    assert caught.value.code == "content_filter"
    with pytest.raises(anthropic.BadRequestError, match="content filtering policy"):
        ask_claude(claude)
    blocked = ask_gemini(gemini)
    assert not blocked.candidates
    assert blocked.prompt_feedback.block_reason == google_types.BlockedReason.SAFETY


def test_thinking_is_part_of_the_reply(
    standin: Standin, chat: openai.OpenAI, claude: anthropic.Anthropic
) -> None:
    standin.script(rules=[{"reply": "Yes.", "thinking": "0123456789" * 10}])  # 25 tokens, and one
    for limit, text in ((10, ""), (25, ""), (26, "Yes.")):
        choice = ask_chat(chat, max_completion_tokens=limit)
        assert (choice.choices[0].message.content, choice.choices[0].finish_reason) == (
            text,
            "stop" if text else "length",
        )
        assert choice.usage.completion_tokens == limit
    thinking = {"type": "enabled", "budget_tokens": 2_000}
    assert ask_claude(claude, thinking=thinking, max_tokens=2_001).content[-1].text == "Yes."
    for wrong, why in (
        ({"max_tokens": 2_000}, "greater than `thinking.budget_tokens`"),
        ({"max_tokens": 2_001, "extra_body": {"temperature": 0}}, "set to 1"),
        ({"max_tokens": 2_001, "thinking": {**thinking, "budget_tokens": 100}}, "1024"),
    ):
        with pytest.raises(anthropic.BadRequestError, match=why):
            ask_claude(claude, **{"thinking": thinking, **wrong})


def test_length_and_stop(
    standin: Standin, chat: openai.OpenAI, claude: anthropic.Anthropic, gemini: genai.Client
) -> None:
    standin.script(reply="one two three four five six")
    choice = ask_chat(chat, max_tokens=2).choices[0]
    assert (choice.message.content, choice.finish_reason) == ("one two ", "length")
    limited = chat.responses.create(model="m", input="x", max_output_tokens=2)
    assert (limited.status, limited.incomplete_details.reason) == ("incomplete", "max_output_tokens")  # type: ignore[union-attr]
    reply = ask_claude(claude, max_tokens=2)
    assert (reply.content[0].text, reply.stop_reason, reply.usage.output_tokens) == (
        "one two ",
        "max_tokens",
        2,
    )
    cut = ask_gemini(gemini, max_output_tokens=2)
    assert (cut.text, cut.candidates[0].finish_reason) == ("one two ", google_types.FinishReason.MAX_TOKENS)
    stopped = ask_claude(claude, stop_sequences=[" three"])
    assert (stopped.content[0].text, stopped.stop_reason) == ("one two", "stop_sequence")
    assert stopped.stop_sequence == " three"
    assert ask_chat(chat, stop=["two"]).choices[0].message.content == "one "
    assert ask_gemini(gemini, stop_sequences=["four"]).text == "one two three "
    standin.script(reply="one two three four five six", faults=[Fault(kind="length")])
    assert ask_chat(chat).choices[0].finish_reason == "length"


def test_thinking_is_no_part_of_the_reply(
    standin: Standin, chat: openai.OpenAI, claude: anthropic.Anthropic, gemini: genai.Client
) -> None:
    standin.script(otherwise=Rule(reply="Yes.", thinking="Let me see. No, wait."))
    assert [block.type for block in ask_claude(claude).content] == ["thinking", "text"]
    reply = ask_gemini(gemini)
    assert reply.text == "Yes."
    assert reply.usage_metadata.thoughts_token_count == 6
    said = ask_chat(chat)
    assert said.choices[0].message.content == "Yes."
    assert said.usage.completion_tokens_details.reasoning_tokens == 6
    assert said.usage.completion_tokens == 7


def test_two_choices_empty_and_duplicate(standin: Standin, chat: openai.OpenAI) -> None:
    assert len(ask_chat(chat, n=3).choices) == 3
    standin.script(
        answer=lambda call: call.last, faults=[Fault(kind="two_choices", match=Match(text="double"))]
    )
    assert [c.message.content for c in ask_chat(chat, "double").choices] == ["double", "double"]
    standin.script(faults=[Fault(kind="empty_reply")])
    assert ask_chat(chat).choices[0].message.content == ""
    standin.script(answer=lambda call: call.last, faults=[Fault(kind="duplicate", every=2)])
    said = [ask_chat(chat, text).choices[0].message.content for text in ("a", "b", "c", "d")]
    assert said == ["a", "a", "c", "c"]


# -- errors --------------------------------------------------------------------------------------------------------

OPENAI_ERRORS = {
    400: openai.BadRequestError,
    401: openai.AuthenticationError,
    403: openai.PermissionDeniedError,
    404: openai.NotFoundError,
    409: openai.ConflictError,
    422: openai.UnprocessableEntityError,
    429: openai.RateLimitError,
    500: openai.InternalServerError,
    503: openai.InternalServerError,
    529: openai.InternalServerError,
}
ANTHROPIC_ERRORS = {
    400: (anthropic.BadRequestError, "invalid_request_error"),
    401: (anthropic.AuthenticationError, "authentication_error"),
    403: (anthropic.PermissionDeniedError, "permission_error"),
    404: (anthropic.NotFoundError, "not_found_error"),
    413: (anthropic.RequestTooLargeError, "request_too_large"),
    429: (anthropic.RateLimitError, "rate_limit_error"),
    500: (anthropic.InternalServerError, "api_error"),
    529: (anthropic.OverloadedError, "overloaded_error"),
}


@pytest.mark.parametrize("status", OPENAI_ERRORS)
def test_openai_errors(standin: Standin, chat: openai.OpenAI, status: int) -> None:
    standin.script(faults=[Fault(status=status, message="what happened")])
    with pytest.raises(OPENAI_ERRORS[status], match="what happened") as caught:
        ask_chat(chat)
    assert caught.value.status_code == status
    assert caught.value.request_id.startswith("req_")
    assert standin.count == 1


@pytest.mark.parametrize("status", ANTHROPIC_ERRORS)
def test_anthropic_errors(standin: Standin, claude: anthropic.Anthropic, status: int) -> None:
    standin.script(faults=[Fault(status=status, message="what happened")])
    kind, word = ANTHROPIC_ERRORS[status]
    with pytest.raises(kind, match="what happened") as caught:
        ask_claude(claude)
    assert caught.value.status_code == status
    assert caught.value.body["error"]["type"] == word  # type: ignore[index,call-overload]


@pytest.mark.parametrize(
    ("status", "kind", "word"),
    [
        (400, google_errors.ClientError, "INVALID_ARGUMENT"),
        (401, google_errors.ClientError, "UNAUTHENTICATED"),
        (403, google_errors.ClientError, "PERMISSION_DENIED"),
        (404, google_errors.ClientError, "NOT_FOUND"),
        (429, google_errors.ClientError, "RESOURCE_EXHAUSTED"),
        (500, google_errors.ServerError, "INTERNAL"),
        (503, google_errors.ServerError, "UNAVAILABLE"),
        (504, google_errors.ServerError, "DEADLINE_EXCEEDED"),
    ],
)
def test_google_errors(
    standin: Standin, gemini: genai.Client, status: int, kind: type[google_errors.APIError], word: str
) -> None:
    standin.script(
        faults=[Fault(status=status, message="what happened", retry_after=7 if status == 429 else None)]
    )
    with pytest.raises(kind) as caught:
        ask_gemini(gemini)
    assert (caught.value.code, caught.value.status, caught.value.message) == (status, word, "what happened")
    if status == 429:
        assert caught.value.details["error"]["details"][0]["retryDelay"] == "7s"


@pytest.mark.parametrize("as_date", [False, True])
def test_the_sdks_wait_as_long_as_they_are_told(standin: Standin, as_date: bool) -> None:
    fault = Fault(status=429, first=1, retry_after=2.0 if as_date else 0.3, retry_date=as_date)
    standin.script(faults=[fault], reply="recovered")
    with openai.OpenAI(base_url=f"{standin.url}/v1", api_key="k", max_retries=2) as client:
        assert ask_chat(client).choices[0].message.content == "recovered"
    first, second = standin.requests
    # a date has whole seconds: two seconds from now may be written as one and a bit
    assert 0.29 <= second.began - first.began <= 4
    assert (first.status, second.status) == (429, 200)
    assert (first.key, second.key, second.nth) == (first.key, first.key, 2)
    assert second.headers["x-stainless-retry-count"] == "1"
    standin.script(faults=[fault], reply="recovered")
    with anthropic.Anthropic(base_url=standin.url, api_key="k", max_retries=2) as other:
        assert ask_claude(other).content[0].text == "recovered"
    third, fourth = standin.requests[2:]
    assert 0.29 <= fourth.began - third.began <= 4


def test_broken_replies_are_errors_to_the_sdks(standin: Standin, chat: openai.OpenAI) -> None:
    for kind in ("cut", "reset", "cut_body", "too_long"):
        standin.script(faults=[Fault(kind=kind)])
        with pytest.raises((openai.APIConnectionError, openai.APIError)):
            ask_chat(chat)
    for kind in ("malformed", "truncated", "empty", "two_bodies", "bad_gzip", "bad_utf8"):
        standin.script(faults=[Fault(kind=kind)])
        with pytest.raises((openai.APIError, ValueError)):
            ask_chat(chat)
    standin.script(faults=[Fault(kind="html")])
    with pytest.raises(openai.InternalServerError) as caught:
        ask_chat(chat)
    assert caught.value.status_code == 502
    standin.script(faults=[Fault(kind="error_body")])
    assert ask_chat(chat).choices is None  # the SDK itself does not see it
    standin.script(faults=[Fault(kind="gzip")])
    assert ask_chat(chat).choices[0].message.content == "This is the stand-in speaking."
    standin.script()
    assert ask_chat(chat).choices[0].message.content == "This is the stand-in speaking."


def test_timeouts(standin: Standin) -> None:
    standin.script(faults=[Fault(kind="stall", seconds=30)])
    with (
        openai.OpenAI(base_url=f"{standin.url}/v1", api_key="k", max_retries=0, timeout=0.3) as client,
        pytest.raises(openai.APITimeoutError),
    ):
        ask_chat(client)


def test_keys(standin: Standin) -> None:
    standin.script(key="sk-right")
    for key, works in (("sk-right", True), ("sk-wrong", False)):
        with openai.OpenAI(base_url=f"{standin.url}/v1", api_key=key, max_retries=0) as chat:
            if works:
                ask_chat(chat)
                assert chat.models.list().data[0].id == "standin"
            else:
                with pytest.raises(openai.AuthenticationError):
                    ask_chat(chat)
                with pytest.raises(openai.AuthenticationError):
                    chat.models.list()
        with anthropic.Anthropic(base_url=standin.url, api_key=key, max_retries=0) as claude:
            if works:
                ask_claude(claude)
            else:
                with pytest.raises(anthropic.AuthenticationError):
                    ask_claude(claude)
        gemini = genai.Client(api_key=key, http_options=google_types.HttpOptions(base_url=standin.url))
        if works:
            ask_gemini(gemini)
        else:
            with pytest.raises(google_errors.ClientError) as caught:
                ask_gemini(gemini)
            assert caught.value.code == 401
        gemini.close()
    everything = json.dumps(standin.log.summary(last=100, keys=True, bodies=True)) + repr(standin.requests)
    assert "sk-" not in everything
    assert standin.log.by_outcome == {"reply": 3, "auth": 3}


# -- what is refused -----------------------------------------------------------------------------------------------


def test_what_the_providers_refuse_is_refused(
    standin: Standin, chat: openai.OpenAI, claude: anthropic.Anthropic, gemini: genai.Client
) -> None:
    bad_image: Any = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,@@@@"}}]
    for messages in (
        bad_image,
        [{"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}],
        [{"type": "what"}],
    ):
        with pytest.raises(openai.BadRequestError):
            chat.chat.completions.create(model="m", messages=[{"role": "user", "content": messages}])
    with pytest.raises(openai.BadRequestError, match="not be empty"):
        chat.chat.completions.create(model="m", messages=[])
    with pytest.raises(anthropic.BadRequestError, match="role"):
        claude.messages.create(model="m", max_tokens=5, messages=[{"role": "system", "content": "x"}])  # type: ignore[typeddict-item]
    with pytest.raises(anthropic.BadRequestError, match="non-empty"):
        claude.messages.create(model="m", max_tokens=5, messages=[{"role": "user", "content": " "}])
    with pytest.raises(anthropic.BadRequestError, match="at least 1"):
        claude.messages.create(model="m", max_tokens=0, messages=[{"role": "user", "content": "x"}])
    with pytest.raises(google_errors.ClientError):
        gemini.models.generate_content(model="m", contents=google_types.Content(role="critic", parts=[]))
    standin.script(models=["known"], strict=True)
    with pytest.raises(openai.NotFoundError):
        ask_chat(chat)
    standin.script(media_limit=100)
    big: Any = [{"type": "image_url", "image_url": {"url": "data:image/jpeg;base64," + b64(jpeg())}}]
    with pytest.raises(openai.APIStatusError) as caught:
        chat.chat.completions.create(model="m", messages=[{"role": "user", "content": big}])
    assert caught.value.status_code == 413
    assert set(standin.log.by_outcome) == {"rejected"}


def test_models_and_token_counts(
    standin: Standin, chat: openai.OpenAI, claude: anthropic.Anthropic, gemini: genai.Client
) -> None:
    standin.script(models=["alpha", "beta"])
    assert [m.id for m in chat.models.list()] == ["alpha", "beta"]
    assert chat.models.retrieve("beta").id == "beta"
    with pytest.raises(openai.NotFoundError):
        chat.models.retrieve("gamma")
    assert [m.id for m in claude.models.list()] == ["alpha", "beta"]
    assert [m.name for m in gemini.models.list()] == ["models/alpha", "models/beta"]
    counted = claude.messages.count_tokens(model="alpha", messages=[{"role": "user", "content": "four" * 5}])
    assert counted.input_tokens == 5 + 4
    assert gemini.models.count_tokens(model="alpha", contents="four" * 5).total_tokens == 9
    assert standin.count == 0


# -- streams -------------------------------------------------------------------------------------------------------


def test_streams(
    standin: Standin, chat: openai.OpenAI, claude: anthropic.Anthropic, gemini: genai.Client
) -> None:
    standin.script(otherwise=Rule(reply="one two three", thinking="hm"))
    chunks = list(ask_chat(chat, stream=True))
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == "one two three"
    assert chunks[-1].usage.completion_tokens == 5
    with claude.messages.stream(
        model="m", max_tokens=50, messages=[{"role": "user", "content": "x"}]
    ) as stream:
        assert "".join(stream.text_stream) == "one two three"
        assert stream.get_final_message().stop_reason == "end_turn"
    pieces = list(gemini.models.generate_content_stream(model="m", contents="x"))
    assert "".join(p.text or "" for p in pieces) == "one two three"
    assert pieces[-1].candidates[0].finish_reason == google_types.FinishReason.STOP  # type: ignore[index]
    with chat.responses.stream(model="m", input="x") as events:
        assert "".join(e.delta for e in events if e.type == "response.output_text.delta") == "one two three"
    assert standin.count == 4


def test_streams_of_structured_replies(
    standin: Standin, chat: openai.OpenAI, claude: anthropic.Anthropic, gemini: genai.Client
) -> None:
    standin.script(answer=lambda _: Answer(data={"verdict": 1}))
    messages: Any = [{"role": "user", "content": "x"}]
    wanted: Any = {"type": "json_schema", "json_schema": {"name": "v", "strict": True, "schema": SCHEMA}}
    with chat.chat.completions.stream(model="m", messages=messages, response_format=wanted) as events:
        text = events.get_final_completion().choices[0].message.content
    assert check_structured(text or "")["verdict"] == 1
    tool: Any = {"name": "v", "description": "d", "input_schema": SCHEMA}
    choice: Any = {"type": "tool", "name": "v"}
    with claude.messages.stream(
        model="m", max_tokens=500, messages=messages, tools=[tool], tool_choice=choice
    ) as stream:
        block = stream.get_final_message().content[0]
    assert check_structured(json.dumps(block.input))["verdict"] == 1  # type: ignore[union-attr]
    config = google_types.GenerateContentConfig(
        response_mime_type="application/json", response_json_schema=SCHEMA
    )
    pieces = gemini.models.generate_content_stream(model="m", contents="x", config=config)
    assert check_structured("".join(piece.text or "" for piece in pieces))["verdict"] == 1


def test_streams_that_end_badly(
    standin: Standin, chat: openai.OpenAI, claude: anthropic.Anthropic, gemini: genai.Client
) -> None:
    messages: Any = [{"role": "user", "content": "x"}]
    standin.script(faults=[Fault(kind="length")])
    assert (
        next(
            c.choices[0].finish_reason
            for c in ask_chat(chat, stream=True)
            if c.choices and c.choices[0].finish_reason
        )
        == "length"
    )
    with claude.messages.stream(model="m", max_tokens=50, messages=messages) as stream:
        assert stream.get_final_message().stop_reason == "max_tokens"
    pieces = list(gemini.models.generate_content_stream(model="m", contents="x"))
    assert pieces[-1].candidates[0].finish_reason == google_types.FinishReason.MAX_TOKENS  # type: ignore[index]
    with chat.responses.stream(model="m", input="x") as events:
        assert [e.type for e in events][-1] == "response.incomplete"
    standin.script(faults=[Fault(kind="refusal", message="no")])
    said = [c.choices[0].delta.refusal for c in ask_chat(chat, stream=True) if c.choices]
    assert "".join(part or "" for part in said) == "no"
    with claude.messages.stream(model="m", max_tokens=50, messages=messages) as stream:
        assert stream.get_final_message().stop_reason == "refusal"
    standin.script(faults=[Fault(kind="cut_body")])
    with pytest.raises(openai.APIConnectionError):
        list(ask_chat(chat, stream=True))
    standin.script(faults=[Fault(status=529)])
    with (
        pytest.raises(anthropic.OverloadedError),
        claude.messages.stream(model="m", max_tokens=50, messages=messages),
    ):
        pass
    assert standin.log.by_outcome["length"] == 4


def test_a_rule_in_python_may_look_at_everything(standin: Standin, chat: openai.OpenAI) -> None:
    async def answer(call: Call) -> str | None:
        return f"{call.model} {call.nth} {call.protocol.name}" if "who" in call.text else None

    standin.script(answer=answer)
    assert ask_chat(chat, "who").choices[0].message.content == "gpt 1 openai"
    assert ask_chat(chat, "who").choices[0].message.content == "gpt 2 openai"
    assert ask_chat(chat, "what").choices[0].message.content == "This is the stand-in speaking."


@pytest.mark.filterwarnings(
    "ignore:Inheritance class AiohttpClientSession:DeprecationWarning"
)  # Google's SDK
def test_the_async_sdks_recover_and_nothing_is_answered_twice(standin: Standin) -> None:
    """Thirty calls at once through each SDK, a third of which fail at first: every one is answered once."""
    fault = Fault(status=503, probability=0.34, attempts=1, retry_after=0.01)
    standin.script(
        faults=[fault, Fault(kind="reset", probability=0.1, attempts=1)], answer=lambda call: call.last
    )

    async def run() -> list[list[str | None]]:
        questions = [f"question {n}" for n in range(30)]
        retry = google_types.HttpRetryOptions(attempts=5, initial_delay=0.01, http_status_codes=[503])
        options = google_types.HttpOptions(base_url=standin.url, retry_options=retry)
        async with (
            openai.AsyncOpenAI(base_url=f"{standin.url}/v1", api_key="k", max_retries=5) as chat,
            anthropic.AsyncAnthropic(base_url=standin.url, api_key="k", max_retries=5) as claude,
            genai.Client(api_key="k", http_options=options).aio as gemini,
        ):

            async def one(text: str) -> str | None:
                said = await chat.chat.completions.create(
                    model="m", messages=[{"role": "user", "content": text}]
                )
                return said.choices[0].message.content

            async def two(text: str) -> str | None:
                messages: Any = [{"role": "user", "content": text}]
                said = await claude.messages.create(model="m", max_tokens=99, messages=messages)
                return said.content[0].text  # type: ignore[union-attr]

            async def three(text: str) -> str | None:
                return (await gemini.models.generate_content(model="m", contents=text)).text

            results = [list(await asyncio.gather(*map(ask, questions))) for ask in (one, two)]
            standin.script(
                faults=[fault], answer=lambda call: call.last
            )  # Google's SDK does not retry a reset
            return [*results, list(await asyncio.gather(*map(three, questions)))]

    assert asyncio.run(run()) == [[f"question {n}" for n in range(30)]] * 3
    assert standin.log.answered == len(standin.counts) == 90
    assert set(standin.log.answered_by_key.values()) == {1}
    assert standin.log.by_outcome["status"] > 15
    assert standin.log.by_outcome["reset"] > 1
    assert standin.count == 90 + standin.log.by_outcome["status"] + standin.log.by_outcome["reset"]

"""Error replies of all providers, as they are documented or were seen, and what they mean."""

from __future__ import annotations

import json
from email.utils import formatdate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict

from proctor.llm.outcome import FAILURE_KINDS, Failure, Outcome, Refusal, Reply, Truncated
from proctor.llm.providers.anthropic import parse_anthropic
from proctor.llm.providers.compat import parse_compat
from proctor.llm.providers.failures import MAX_WAIT, failure, parse_error_body, parse_retry_after
from proctor.llm.providers.google import parse_google
from proctor.llm.providers.openai import parse_openai

PARSERS = [parse_openai, parse_compat, parse_anthropic, parse_google]
EVERY = pytest.mark.parametrize("parse", PARSERS, ids=lambda p: p.__name__)


def openai_error(
    message: str, type_: str = "invalid_request_error", code: str | None = None
) -> dict[str, Any]:
    return {"error": {"message": message, "type": type_, "param": None, "code": code}}


def anthropic_error(type_: str, message: str, **details: Any) -> dict[str, Any]:
    return {
        "type": "error",
        "error": {"type": type_, "message": message, **({"details": details} if details else {})},
        "request_id": "req_1",
    }


def google_error(code: int, status: str, message: str, details: list[Any] | None = None) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": status, "details": details or []}}


CASES: list[tuple[str, int, Any, str]] = [
    # OpenAI
    (
        "openai key",
        401,
        openai_error("Incorrect API key provided: sk-abcd**********wxyz.", code="invalid_api_key"),
        "auth",
    ),
    (
        "openai country",
        403,
        openai_error(
            "Country, region, or territory not supported",
            "request_forbidden",
            "unsupported_country_region_territory",
        ),
        "auth",
    ),
    (
        "openai rate",
        429,
        openai_error(
            "Rate limit reached for gpt-4o on requests per min (RPM): Limit 500",
            "requests",
            "rate_limit_exceeded",
        ),
        "rate_limit",
    ),
    (
        "openai tpm too large",
        429,
        openai_error(
            "Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 50000.",
            "tokens",
            "rate_limit_exceeded",
        ),
        "too_large",
    ),
    (
        "openai quota",
        429,
        openai_error(
            "You exceeded your current quota, please check your plan and billing details.",
            "insufficient_quota",
            "insufficient_quota",
        ),
        "auth",
    ),
    (
        "openai context",
        400,
        openai_error(
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
            code="context_length_exceeded",
        ),
        "too_large",
    ),
    (
        "openai context words",
        400,
        openai_error(
            "Your input exceeds the context window of this model. Please adjust your input and try again."
        ),
        "too_large",
    ),
    ("openai too many images", 400, openai_error("Too many images in request. Max is 500."), "too_large"),
    (
        "openai max_tokens",
        400,
        openai_error(
            "max_tokens is too large: 100000. This model supports at most 16384 completion tokens.",
            code="invalid_value",
        ),
        "bad_request",
    ),
    (
        "openai policy",
        400,
        openai_error(
            "Your request was rejected as a result of our safety system.", code="content_policy_violation"
        ),
        "content_filter",
    ),
    (
        "openai image policy",
        400,
        openai_error(
            "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
            code="invalid_prompt",
        ),
        "content_filter",
    ),
    (
        "openai temperature",
        400,
        openai_error(
            "Unsupported value: 'temperature' does not support 0 with this model.", code="unsupported_value"
        ),
        "bad_request",
    ),
    (
        "openai schema",
        400,
        openai_error("Invalid schema for response_format 'reply': 'required' is required", code=None),
        "bad_request",
    ),
    (
        "openai model",
        404,
        openai_error(
            "The model `gpt-9` does not exist or you do not have access to it.", code="model_not_found"
        ),
        "bad_request",
    ),
    (
        "openai server",
        500,
        openai_error(
            "The server had an error while processing your request. Sorry about that!", "server_error"
        ),
        "server",
    ),
    (
        "openai overloaded",
        503,
        openai_error("That model is currently overloaded with other requests.", "server_error"),
        "overload",
    ),
    ("openai gateway", 502, b"<html><head><title>502 Bad Gateway</title></head></html>", "server"),
    (
        "azure filter",
        400,
        {
            "error": {
                "message": "The response was filtered",
                "code": "content_filter",
                "innererror": {"code": "ResponsibleAIPolicyViolation"},
            }
        },
        "content_filter",
    ),
    # Anthropic
    ("anthropic key", 401, anthropic_error("authentication_error", "invalid x-api-key"), "auth"),
    ("anthropic billing", 402, anthropic_error("billing_error", "Your account has no credit"), "auth"),
    (
        "anthropic credit",
        400,
        anthropic_error(
            "invalid_request_error", "Your credit balance is too low to access the Anthropic API."
        ),
        "auth",
    ),
    (
        "anthropic permission",
        403,
        anthropic_error("permission_error", "Your API key does not have permission"),
        "auth",
    ),
    ("anthropic model", 404, anthropic_error("not_found_error", "model: claude-9"), "bad_request"),
    (
        "anthropic size",
        413,
        anthropic_error("request_too_large", "Request exceeds the maximum size"),
        "too_large",
    ),
    (
        "anthropic decoded size",
        413,
        anthropic_error("invalid_request_error", "x", error_code="request_body_too_large_after_decoding"),
        "too_large",
    ),
    (
        "anthropic long",
        400,
        anthropic_error("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
        "too_large",
    ),
    (
        "anthropic sum",
        400,
        anthropic_error(
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
        ),
        "too_large",
    ),
    (
        "anthropic images",
        400,
        anthropic_error(
            "invalid_request_error",
            "messages.0.content.12.image.source.base64: image exceeds 5 MB maximum: 6 bytes > 5 bytes",
        ),
        "too_large",
    ),
    (
        "anthropic many images",
        400,
        anthropic_error("invalid_request_error", "Too many images and documents: 120 + 0 > 100"),
        "too_large",
    ),
    (
        "anthropic filter",
        400,
        anthropic_error("invalid_request_error", "Output blocked by content filtering policy"),
        "content_filter",
    ),
    (
        "anthropic bad",
        400,
        anthropic_error("invalid_request_error", "messages: text content blocks must be non-empty"),
        "bad_request",
    ),
    (
        "anthropic rate",
        429,
        anthropic_error(
            "rate_limit_error",
            "This request would exceed your organization's rate limit of 50,000 input tokens per minute",
        ),
        "rate_limit",
    ),
    (
        "anthropic ramp",
        429,
        anthropic_error("rate_limit_error", "x", error_code="ramp_limit_exceeded"),
        "rate_limit",
    ),
    ("anthropic api", 500, anthropic_error("api_error", "Internal server error"), "server"),
    ("anthropic timeout", 504, anthropic_error("timeout_error", "Request timed out"), "timeout"),
    ("anthropic overloaded", 529, anthropic_error("overloaded_error", "Overloaded"), "overload"),
    ("anthropic overloaded 200", 200, anthropic_error("overloaded_error", "Overloaded"), "overload"),
    # Google
    (
        "google key",
        400,
        google_error(
            400,
            "INVALID_ARGUMENT",
            "API key not valid. Please pass a valid API key.",
            [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}],
        ),
        "auth",
    ),
    (
        "google key words",
        400,
        google_error(400, "INVALID_ARGUMENT", "API key expired. Please renew the API key."),
        "auth",
    ),
    (
        "google denied",
        403,
        google_error(403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers"),
        "auth",
    ),
    (
        "google place",
        400,
        google_error(400, "FAILED_PRECONDITION", "User location is not supported for the API use."),
        "bad_request",
    ),
    (
        "google model",
        404,
        google_error(404, "NOT_FOUND", "models/gemini-9 is not found for API version v1"),
        "bad_request",
    ),
    (
        "google tokens",
        400,
        google_error(
            400,
            "INVALID_ARGUMENT",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        ),
        "too_large",
    ),
    (
        "google payload",
        400,
        google_error(400, "INVALID_ARGUMENT", "Request payload size exceeds the limit: 20971520 bytes."),
        "too_large",
    ),
    (
        "google quota",
        429,
        google_error(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
        "rate_limit",
    ),
    (
        "google overloaded",
        503,
        google_error(503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
        "overload",
    ),
    ("google internal", 500, google_error(500, "INTERNAL", "An internal error has occurred."), "server"),
    ("google deadline", 504, google_error(504, "DEADLINE_EXCEEDED", "Deadline expired"), "timeout"),
    ("google list", 429, [google_error(429, "RESOURCE_EXHAUSTED", "Quota exceeded")], "rate_limit"),
    ("google 200", 200, google_error(429, "RESOURCE_EXHAUSTED", "Quota exceeded"), "rate_limit"),
    # servers of one's own
    (
        "vllm long",
        400,
        {
            "object": "error",
            "message": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
        "too_large",
    ),
    (
        "vllm long 2",
        400,
        {
            "error": {
                "message": "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
                "type": "BadRequestError",
                "param": None,
                "code": 400,
            }
        },
        "too_large",
    ),
    (
        "vllm images",
        400,
        {
            "error": {
                "message": "At most 4 image(s) may be provided in one prompt.",
                "type": "BadRequestError",
                "code": 400,
            }
        },
        "too_large",
    ),
    (
        "vllm model",
        404,
        {
            "object": "error",
            "message": "The model `x` does not exist.",
            "type": "NotFoundError",
            "param": None,
            "code": 404,
        },
        "bad_request",
    ),
    ("vllm key", 401, {"error": "Unauthorized"}, "auth"),
    (
        "sglang long",
        400,
        {
            "object": "error",
            "message": "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
            "type": "BadRequest",
            "code": 400,
        },
        "too_large",
    ),
    (
        "llama.cpp long",
        400,
        {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 9,
                "n_ctx": 4,
            }
        },
        "too_large",
    ),
    (
        "llama.cpp loading",
        503,
        {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}},
        "overload",
    ),
    ("ollama model", 404, {"error": "model 'x' not found"}, "bad_request"),
    (
        "ollama busy",
        503,
        {"error": "server busy, please try again. maximum pending requests exceeded"},
        "overload",
    ),
    (
        "tgi long",
        422,
        {
            "error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096",
            "error_type": "validation",
        },
        "too_large",
    ),
    ("tgi busy", 429, {"error": "Model is overloaded", "error_type": "overloaded"}, "rate_limit"),
    (
        "fastapi",
        422,
        {"detail": [{"loc": ["body", "messages"], "msg": "field required", "type": "missing"}]},
        "bad_request",
    ),
    ("fastapi words", 401, {"detail": "Not authenticated"}, "auth"),
    # anything
    ("empty 500", 500, b"", "server"),
    ("empty 400", 400, b"", "bad_request"),
    ("teapot", 418, b"I'm a teapot", "bad_request"),
    ("proxy auth", 407, b"", "bad_request"),
    ("nginx size", 413, b"<html>\r\n<head><title>413 Request Entity Too Large</title></head>", "too_large"),
    ("cloudflare 524", 524, b"<!DOCTYPE html><title>524: A timeout occurred</title>", "timeout"),
    ("cloudflare 520", 520, b"error code: 520", "server"),
    ("redirect", 302, b"", "bad_request"),
    ("informational", 199, b"", "server"),
]


@EVERY
@pytest.mark.parametrize(("status", "body", "kind"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_what_an_error_means(parse: Any, status: int, body: Any, kind: str) -> None:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    outcome = parse(status, {}, raw)
    assert isinstance(outcome, Failure)
    assert outcome.kind == kind, outcome
    assert outcome.status == status
    assert 0 < len(outcome.message) < 500


@EVERY
@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("However, you requested 4500 tokens (404 in the messages, 4096 in the completion).", True),
        ("'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context", True),
        ("You requested 4500 tokens: 404 from the input messages and 4096 tokens for the completion.", True),
        ("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 404", True),
        ("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000", True),
        ("max_tokens is too large: 100000. This model supports at most 16384 completion tokens.", True),
        ("Unsupported parameter: 'max_tokens' is not supported with this model.", False),
        ("the request exceeds the available context size", False),
        ("prompt is too long: 210000 tokens > 200000 maximum", False),
    ],
)
def test_a_limit_on_the_reply_that_does_not_fit_names_its_option(
    parse: Any, message: str, told: bool
) -> None:
    outcome = parse(400, {}, json.dumps({"error": {"message": message}}).encode())
    assert ("--reply-tokens" in outcome.message) == told


NOT_REPLIES: dict[str, bytes] = {
    "empty": b"",
    "space": b"  \n",
    "html": b"<!DOCTYPE html><html><head><title>Sign in to Wi-Fi</title></head><body>0</body></html>",
    "text": b"1",
    "string": b'"1"',
    "list": b"[]",
    "null": b"null",
    "object": b"{}",
    "truncated": b'{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Yes, th',
    "no choices": b'{"choices":[],"content":null,"candidates":[]}',
    "null choices": b'{"choices":null,"candidates":null}',
    "choices object": b'{"choices":{"message":{"content":"yes"}},"content":{"text":"yes"},"candidates":{"content":"yes"}}',
    "number content": b'{"choices":[{"finish_reason":"stop","message":{"content":5}}],"content":5,"candidates":[{"finishReason":"STOP","content":5}]}',
    "nan": b'{"choices":[{"finish_reason":"stop","message":{"content":NaN}}]}',
    "two documents": b'{"choices":[]}{"choices":[]}',
    "stream": b'data: {"choices":[{"delta":{"content":"yes"}}]}\n\ndata: [DONE]\n\n',
    "utf-16": '{"choices":[]}'.encode("utf-16"),
    "not utf-8": b'{"choices":[{"finish_reason":"stop","message":{"content":"\xff\xfe"}}],"type":"message","content":[{"type":"text","text":"\xff"}],"stop_reason":"end_turn"}',
    "lone surrogate": b'{"choices":[{"finish_reason":"stop","message":{"content":"\\ud800"}}],"content":[{"type":"text","text":"\\ud800"}],"stop_reason":"end_turn","candidates":[{"finishReason":"STOP","content":{"parts":[{"text":"\\ud800"}]}}]}',
    "deep": b"[" * 100_000,
    "deep object": b'{"usage":' + b'{"a":' * 50_000,
    "no message": b'{"choices":[{"finish_reason":"stop"}],"candidates":[{}],"type":"message"}',
    "tool call": b'{"choices":[{"finish_reason":"tool_calls","message":{"content":null}}],"type":"message","content":[{"type":"tool_use","id":"x","name":"f","input":{}}],"stop_reason":"tool_use","candidates":[{"finishReason":"UNEXPECTED_TOOL_CALL","content":{"parts":[{"functionCall":{"name":"f"}}]}}]}',
    "unknown end": b'{"choices":[{"finish_reason":"abort","message":{"content":"ye"}}],"type":"message","content":[{"type":"text","text":"ye"}],"stop_reason":"abort","candidates":[{"finishReason":"ABORT","content":{"parts":[{"text":"ye"}]}}]}',
}


@EVERY
@pytest.mark.parametrize("name", NOT_REPLIES)
def test_success_that_is_none_is_a_failure_of_the_server(parse: Any, name: str) -> None:
    outcome = parse(200, {}, NOT_REPLIES[name])
    assert isinstance(outcome, Failure), outcome
    assert outcome.kind == "server"
    assert outcome.retryable


@EVERY
def test_an_answer_with_an_error_beside_it_is_none(parse: Any) -> None:
    body = {
        "error": {"message": "the provider behind us is overloaded", "code": 503},
        "choices": [{"finish_reason": "stop", "message": {"content": "yes"}}],
        "content": [{"type": "text", "text": "yes"}],
        "stop_reason": "end_turn",
        "candidates": [{"content": {"parts": [{"text": "yes"}]}, "finishReason": "STOP"}],
    }
    outcome = parse(200, {}, json.dumps(body).encode())
    assert isinstance(outcome, Failure)
    assert outcome.kind == "overload"
    body["error"] = None
    assert isinstance(parse(200, {}, json.dumps(body).encode()), Reply)


@EVERY
def test_no_end_is_no_answer_but_at_lax_servers(parse: Any) -> None:
    body = b'{"choices":[{"message":{"content":"yes"}}],"type":"message","content":[{"type":"text","text":"yes"}],"candidates":[{"content":{"parts":[{"text":"yes"}]}}]}'
    outcome = parse(200, {}, body)
    if parse is parse_compat:
        assert outcome == Reply(text="yes")
    else:
        assert isinstance(outcome, Failure)
        assert "does not say why it ended" in outcome.message


def test_an_html_page_is_called_one() -> None:
    assert "HTML page, 'Sign in to Wi-Fi'" in parse_openai(200, {}, NOT_REPLIES["html"]).message  # type: ignore[union-attr]


def test_openai_outcomes() -> None:
    def said(finish: str, **message: Any) -> Outcome:
        choice = {"finish_reason": finish, "message": {"role": "assistant", **message}}
        return parse_openai(
            200, {}, json.dumps({"choices": [choice], "usage": {"prompt_tokens": 4}}).encode()
        )

    assert isinstance(said("stop", content=""), Reply)
    assert isinstance(said("stop", content=None), Reply)
    assert isinstance(said("length", content="The ov"), Truncated)
    assert said("stop", content=None, refusal="No.").text == "No."  # type: ignore[union-attr]
    assert isinstance(said("length", content=None, refusal="No."), Refusal)
    blocked = said("content_filter", content="The")
    assert isinstance(blocked, Failure)
    assert blocked.kind == "content_filter"
    assert blocked.usage.input == 4


def test_of_several_choices_the_first_counts() -> None:
    one = {"finish_reason": "stop", "message": {"content": "first"}}
    two = {"finish_reason": "stop", "message": {"content": "second"}}
    outcome = parse_compat(200, {}, json.dumps({"choices": [one, two]}).encode())
    assert outcome == Reply(text="first", stop="stop")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<think>0? no, 2</think>\n\n1", "1"),
        ("\n<think>\nlong\n</think>1", "1"),
        ("1 <think>x</think>", "1 <think>x</think>"),
        ("<think>never closed", "<think>never closed"),
        ("the text </think> stays", "the text </think> stays"),
        ([{"type": "thinking", "thinking": "0"}, {"type": "text", "text": "1"}], "1"),
        ([], ""),
    ],
)
def test_thinking_is_left_out(content: Any, text: str) -> None:
    choice = {"finish_reason": "stop", "message": {"content": content}}
    assert parse_compat(200, {}, json.dumps({"choices": [choice]}).encode()).text == text  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("content", "text"),
    [("<think>never closed", ""), ("<think>0</think>\nThe ans", "The ans"), ("The <think>", "The <think>")],
)
def test_thinking_is_left_out_of_what_was_cut_off(content: str, text: str) -> None:
    choice = {"finish_reason": "length", "message": {"content": content}}
    cut = parse_compat(200, {}, json.dumps({"choices": [choice]}).encode())
    assert (type(cut), getattr(cut, "text", None)) == (Truncated, text)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        [],
        "many",
        {"prompt_tokens": "12"},
        {"prompt_tokens": -1},
        {"prompt_tokens": True},
        {"prompt_tokens": 1e300},
        {"prompt_tokens": 0.5},
        {"prompt_tokens_details": 7},
    ],
)
def test_nonsense_usage_costs_no_reply(usage: Any) -> None:
    choice = {"finish_reason": "stop", "message": {"content": "yes"}}
    outcome = parse_compat(200, {}, json.dumps({"choices": [choice], "usage": usage}).encode())
    assert outcome == Reply(text="yes", stop="stop")


def test_whole_floats_are_counts() -> None:
    choice = {"finish_reason": "stop", "message": {"content": "yes"}}
    reply = {"choices": [choice], "usage": {"prompt_tokens": 12.0, "completion_tokens": 3}}
    outcome = parse_compat(200, {}, json.dumps(reply).encode())
    assert isinstance(outcome, Reply)
    assert (outcome.usage.input, outcome.usage.output) == (12, 3)


def test_a_refusal_of_anthropic_is_explained() -> None:
    reply = {
        "type": "message",
        "content": [],
        "stop_reason": "refusal",
        "stop_details": {"type": "refusal", "category": "bio", "explanation": "Not this."},
    }
    assert parse_anthropic(200, {}, json.dumps(reply).encode()) == Refusal(text="Not this.", stop="refusal")
    reply["stop_details"]["explanation"] = None  # type: ignore[index]
    assert parse_anthropic(200, {}, json.dumps(reply).encode()) == Refusal(text="bio", stop="refusal")


# -- waiting -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"Retry-After": "0"}, 0.0),
        ({"Retry-After": " 3 "}, 3.0),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": ""}, None),
        ({"Retry-After": "1e99"}, MAX_WAIT),
        ({"retry-after-ms": "1500", "Retry-After": "2"}, 1.5),
        ({"retry-after-ms": "x", "Retry-After": "2"}, 2.0),
        ({"Retry-After": "Wed, 21 Oct 2026 07:28:30 GMT", "Date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 30.0),
        ({"Retry-After": "Wed, 21 Oct 2026 07:27:00 GMT", "Date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 0.0),
        ({"Retry-After": "Wed, 21 Oct 99999 07:28:00 GMT"}, None),
    ],
)
def test_retry_after(headers: dict[str, str], wait: float | None) -> None:
    found = parse_retry_after(CIMultiDict(headers))
    assert found == (wait if wait is None else pytest.approx(wait))


def test_retry_after_a_date_without_the_servers_clock() -> None:
    import time

    wait = parse_retry_after({"Retry-After": formatdate(time.time() + 60, usegmt=True)})
    assert wait is not None
    assert 55 < wait <= 61


def test_google_says_the_wait_in_the_body() -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.074824224s"}]
    body = json.dumps(google_error(429, "RESOURCE_EXHAUSTED", "Quota", details)).encode()
    assert failure(429, {}, body).retry_after == pytest.approx(34.07, abs=0.01)
    assert failure(429, {"Retry-After": "3"}, body).retry_after == 3.0
    details[0]["retryDelay"] = "-5s"
    assert failure(429, {}, json.dumps(google_error(429, "X", "Q", details)).encode()).retry_after is None


# -- nothing gets through ----------------------------------------------------------------------------------------


def test_keys_are_not_repeated() -> None:
    for text in (
        "Incorrect API key provided: sk-proj-abcDEF1234567890. You can find your key at …",
        "Incorrect API key provided: sk-ab***************wxyz.",
        "invalid x-api-key sk-ant-api03-aaaa-bbbb",
        "API key not valid: AIzaSyD-1234567890abcdefghijklmnop",
        "Bearer abcdef0123456789 was refused",
    ):
        message = failure(401, {}, json.dumps(openai_error(text)).encode()).message
        assert "[key]" in message
        for secret in ("abcDEF", "wxyz", "aaaa-bbbb", "1234567890", "0123456789"):
            assert secret not in message


def test_messages_are_one_bounded_line_that_prints() -> None:
    text = "\x1b[31mred\x1b[0m\r\n\x00" + "long " * 5_000
    message = failure(400, {}, json.dumps(openai_error(text)).encode()).message
    assert message.isprintable()
    assert len(message) < 400


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "message",
                    "content",
                    "finish_reason",
                    "refusal",
                    "usage",
                    "error",
                    "code",
                    "type",
                    "text",
                    "parts",
                    "candidates",
                    "finishReason",
                    "stop_reason",
                    "promptFeedback",
                    "blockReason",
                    "details",
                    "reason",
                    "retryDelay",
                    "detail",
                    "id",
                    "model",
                ]
            )
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(
    body=JSON.map(lambda v: json.dumps(v).encode()) | st.binary(max_size=200),
    status=st.sampled_from([200, 201, 204, 299, 302, 400, 404, 418, 429, 500, 503, 529, 599]),
)
@pytest.mark.parametrize("parse", PARSERS, ids=lambda p: p.__name__)
def test_parsers_never_raise(parse: Any, body: bytes, status: int) -> None:
    outcome = parse(status, {"Retry-After": "1"}, body)
    assert isinstance(outcome, Reply | Truncated | Refusal | Failure)
    if isinstance(outcome, Failure):
        assert outcome.kind in FAILURE_KINDS
        assert len(outcome.message) < 500
    else:
        assert 200 <= status < 300
    parse_error_body(body)


REPLIES = {
    parse_openai: b'{"id":"i","model":"m","choices":[{"finish_reason":"stop","message":{"content":"2 because \\"yes\\""}}],"usage":{"prompt_tokens":3}}',
    parse_anthropic: b'{"id":"i","type":"message","model":"m","content":[{"type":"text","text":"2 because"}],"stop_reason":"end_turn","usage":{"input_tokens":3}}',
    parse_google: b'{"candidates":[{"content":{"parts":[{"text":"2 because"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3}}',
}


@pytest.mark.parametrize("parse", REPLIES, ids=lambda p: p.__name__)
def test_a_reply_cut_off_anywhere_is_no_reply(parse: Any) -> None:
    whole = REPLIES[parse]
    assert isinstance(parse(200, {}, whole), Reply)
    for end in range(len(whole)):
        outcome = parse(200, {}, whole[:end])
        assert isinstance(outcome, Failure)
        assert outcome.kind == "server"

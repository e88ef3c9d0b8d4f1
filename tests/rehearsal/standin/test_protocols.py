"""The four protocols against any JSON: a request is read or refused, a reply is always a body, nothing crashes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor_rehearsal.standin.answer import OUTCOMES, Answer, count_used, cut, finish
from proctor_rehearsal.standin.call import Call, Content, Rejected
from proctor_rehearsal.standin.protocols.anthropic import MESSAGES
from proctor_rehearsal.standin.protocols.base import Protocol, Said, Trouble
from proctor_rehearsal.standin.protocols.google import GENERATE, model_of
from proctor_rehearsal.standin.protocols.openai import CHAT
from proctor_rehearsal.standin.protocols.responses import RESPONSES

CASES: list[tuple[Protocol, str, dict[str, Any]]] = [
    (CHAT, "/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "hi"}]}),
    (RESPONSES, "/v1/responses", {"model": "m", "input": "hi"}),
    (
        MESSAGES,
        "/v1/messages",
        {"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "hi"}]},
    ),
    (GENERATE, "/v1beta/models/m:generateContent", {"contents": [{"parts": [{"text": "hi"}]}]}),
]
WORDS = st.sampled_from(
    [
        "model",
        "messages",
        "input",
        "contents",
        "system",
        "instructions",
        "role",
        "user",
        "assistant",
        "content",
        "parts",
        "text",
        "type",
        "image",
        "image_url",
        "url",
        "inline_data",
        "inlineData",
        "mimeType",
        "data",
        "source",
        "base64",
        "media_type",
        "max_tokens",
        "stop",
        "tools",
        "tool_choice",
        "function",
        "name",
        "response_format",
        "json_schema",
        "schema",
        "format",
        "generationConfig",
        "output_config",
        "systemInstruction",
        "input_text",
        "stream",
        "n",
        "data:image/png;base64,aaaa",
        "image/png",
        "input_audio",
        "video_url",
        "file",
    ]
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=6),
    max_leaves=30,
)


def read(call: Call) -> Content | Rejected:
    """Read a request, or return why not; anything else that is raised is a bug."""
    try:
        content = call.content
        count_used(call, finish(call, Answer(text="x y z")))
    except Rejected as refused:
        return refused
    return content


def make_call(protocol: Protocol, path: str, body: Any) -> Call:
    return Call(protocol, path, json.dumps(body).encode())


@pytest.mark.parametrize(("protocol", "path", "good"), CASES)
@settings(max_examples=60)
@given(change=st.dictionaries(WORDS, VALUES, max_size=6))
def test_any_json_is_read_or_refused(
    protocol: Protocol, path: str, good: dict[str, Any], change: dict[str, Any]
) -> None:
    for body in (change, good | change):
        found = read(make_call(protocol, path, body))
        if isinstance(found, Rejected):
            assert 400 <= found.status < 500
            json.dumps(protocol.error(Trouble(found.status, found.message, param=found.param)))
        else:
            assert isinstance(found.model, str)
            assert all(isinstance(turn.text, str) for turn in found.turns)


@pytest.mark.parametrize(("protocol", "path", "good"), CASES)
@settings(max_examples=60)
@given(data=st.data())
def test_a_broken_part_of_a_good_request(
    protocol: Protocol, path: str, good: dict[str, Any], data: st.DataObject
) -> None:
    """Replace one value deep inside by anything."""
    body = json.loads(json.dumps(good))
    place: Any = body
    while True:
        key = data.draw(st.sampled_from(list(place) if isinstance(place, dict) else list(range(len(place)))))
        if isinstance(place[key], dict | list) and place[key] and data.draw(st.booleans()):
            place = place[key]
            continue
        place[key] = data.draw(VALUES)
        break
    found = read(make_call(protocol, path, body))
    assert isinstance(found, Content) or found.message


@pytest.mark.parametrize(("protocol", "path", "good"), CASES)
@settings(max_examples=60)
@given(
    text=st.text(max_size=40),
    outcome=st.sampled_from(OUTCOMES),
    thinking=st.text(max_size=5),
    copies=st.integers(1, 3),
    looked=st.booleans(),
)
def test_any_answer_is_a_body_and_a_stream(
    protocol: Protocol,
    path: str,
    good: Any,
    text: str,
    outcome: Any,
    thinking: str,
    copies: int,
    looked: bool,
) -> None:
    call = make_call(protocol, path, good)
    answer = Answer(text=text, outcome=outcome, thinking=thinking, copies=copies)
    if looked:
        assert call.content.turns
    used = count_used(call, answer)
    body = protocol.render(Said(call, answer, used, "m", "name"))
    assert json.loads(json.dumps(body)) == body
    stream = protocol.events(body).decode()
    lines = [line for line in stream.replace("\r\n", "\n").split("\n") if line.startswith("data: {")]
    assert lines
    for line in lines:
        json.loads(line[6:])
    status, blocked = protocol.blocked_prompt(Said(call, Answer(), used, "m", "name"))
    assert status in (200, 400)
    json.dumps(blocked)


@given(st.text(max_size=60), st.integers(1, 12))
def test_a_cut_reply_fits_and_is_a_beginning(text: str, tokens: int) -> None:
    kept = cut(Answer(text=text), tokens)
    assert text.startswith(kept.text)
    assert len(kept.text.encode()) <= 4 * tokens
    assert kept.outcome == "truncated"


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ("/v1beta/models/gemini-1.5-pro-001:generateContent", "gemini-1.5-pro-001"),
        ("/v1beta/models/tuned/x:streamGenerateContent", "tuned/x"),
        ("/v1beta/models", ""),
    ],
)
def test_googles_model_is_in_the_path(path: str, model: str) -> None:
    assert model_of(path) == model

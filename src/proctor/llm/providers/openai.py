"""OpenAI's Chat Completions, also the protocol of compatible servers (see ``compat``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final

import msgspec

from proctor.errors import UserError
from proctor.llm.http import Body
from proctor.llm.keys import find_base_url, find_key
from proctor.llm.media import MediaStore
from proctor.llm.message import Audio, Image, Parameters, Part, Request, Text
from proctor.llm.model import Model, ModelName, leaves_out
from proctor.llm.outcome import Failure, Outcome, Refusal, Reply, Truncated, Usage
from proctor.llm.providers.wire import (
    HttpModel,
    Said,
    checked_mime,
    count,
    data_url,
    decode_reply,
    encode,
    given,
    merge_extra,
    message_pieces,
    not_a_reply,
    object_body,
    text_content,
)

__all__ = [
    "Dialect",
    "parse_chat",
    "parse_openai",
    "provider",
    "render_chat",
    "render_openai",
    "takes_effort",
    "takes_sampling",
]

BASE_URL: Final = "https://api.openai.com/v1"
_OURS: Final = frozenset({"model", "messages", "stream", "stream_options", "n"})
_AUDIO: Final = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}
_DETAILS: Final = frozenset({"auto", "low", "high", "original"})
_THINKS_ALWAYS: Final = re.compile(r"o\d(?:-|\Z)|gpt-5(?:-|\Z)")
_THINKS_WHEN_TOLD: Final = re.compile(r"gpt-5\.[1-4](?:-|\Z)")
_THINKS: Final = re.compile(r"gpt-(?:5\.|[6-9]|[1-9]\d)")
_THINKS_NEVER: Final = re.compile(r"(?:ft:)?(?:chatgpt-4|gpt-[34])(?![0-9])")


class Dialect(msgspec.Struct, frozen=True):
    """In what OpenAI itself and compatible servers differ.

    Attributes:
        who: name for messages.
        max_tokens: name of the field that limits the reply.
        video: the server takes ``video_url`` parts.
        strict: this is OpenAI itself: a missing reason for stopping is a failure, and models that think are not sent what
            they refuse.
    """

    who: str
    max_tokens: str
    video: bool
    strict: bool


OPENAI: Final = Dialect("OpenAI's Chat Completions", "max_completion_tokens", video=False, strict=True)


# -- rendering ---------------------------------------------------------------------------------------------------


def render_openai(request: Request, media: MediaStore, model: str) -> Body:
    """Return the body for OpenAI itself.

    Raises:
        UserError: if the protocol has no way to say this (a video, an image in a system message).
    """
    return render_chat(request, media, model, OPENAI)


def render_chat(request: Request, media: MediaStore, model: str, dialect: Dialect) -> Body:
    """Return the body of a chat completion.

    The extra parameter ``image_detail`` (``low``, ``high``, ``auto``, ``original``) goes into every image part; all others are
    fields of the body.

    Raises:
        UserError: if the protocol has no way to say this.
    """
    if not request.messages:
        raise UserError("the request has no message.")
    fields, detail = _fields(request, model, dialect)
    if not request.media:  # the usual case, and the fastest: one call of the encoder
        fields["messages"] = [
            {"role": message.role, "content": text_content(message)} for message in request.messages
        ]
        return [encode(fields)]
    part = partial(_part, media=media, detail=detail, dialect=dialect)
    return object_body(
        fields, "messages", (message_pieces(message, dialect.who, part) for message in request.messages)
    )


def _fields(request: Request, model: str, dialect: Dialect) -> tuple[dict[str, Any], str]:
    wanted = request.parameters
    fields: dict[str, Any] = {"model": model}
    if not dialect.strict or takes_sampling(model, wanted.reasoning):
        fields |= given(temperature=wanted.temperature, top_p=wanted.top_p)
    fields |= given(**{dialect.max_tokens: wanted.max_tokens}, seed=wanted.seed, stop=wanted.stop or None)
    fields |= _reasoning(model, wanted.reasoning, dialect)
    if wanted.json_schema is not None:
        fields["response_format"] = {
            "type": "json_schema",
            "json_schema": {
                "name": "reply",
                "schema": wanted.json_schema,
                "strict": can_be_strict(wanted.json_schema),
            },
        }
    extra = wanted.extra
    detail = ""
    if extra:
        if "image_detail" in extra:
            detail = str(extra["image_detail"])
            if detail not in _DETAILS:
                raise UserError(
                    f"{detail[:80]!r} is not a detail of images.", hint="write low, high, auto or original"
                )
            extra = {name: value for name, value in extra.items() if name != "image_detail"}
        merge_extra(fields, extra, ours=_OURS)
    return fields, detail


def takes_sampling(model: str, reasoning: str | None) -> bool:
    """Return True when a model of OpenAI takes a temperature.

    The o-series and GPT-5 refuse it; later models take it while they do not think, which GPT-5.1 to 5.4 do only when told to.
    """
    if _THINKS_ALWAYS.match(model):
        return False
    if _THINKS_WHEN_TOLD.match(model):
        return reasoning in {None, "none"}
    return not _THINKS.match(model) or reasoning == "none"


def takes_effort(model: str, reasoning: str | None) -> bool:
    """Return True when a model of OpenAI takes an effort: GPT-4 and before think never, and there is no field for a number of tokens."""
    return reasoning is None or not (reasoning.isdecimal() or _THINKS_NEVER.match(model))


def _reasoning(model: str, reasoning: str | None, dialect: Dialect) -> dict[str, Any]:
    """Return how much to think. Servers of open models take an effort, or what their chat templates know (vLLM, SGLang)."""
    if dialect.strict:
        return given(reasoning_effort=reasoning) if takes_effort(model, reasoning) else {}
    if reasoning is not None and reasoning.isdecimal():
        return {"chat_template_kwargs": {"enable_thinking": True, "thinking_budget": int(reasoning)}}
    fields = given(reasoning_effort=reasoning)
    return fields | {"chat_template_kwargs": {"enable_thinking": False}} if reasoning == "none" else fields


def can_be_strict(schema: Any) -> bool:
    """Return True when a JSON Schema keeps the rules of strict mode: every object is closed and requires all it names."""
    if isinstance(schema, list):
        return all(can_be_strict(item) for item in schema)
    if not isinstance(schema, dict):
        return True
    properties = schema.get("properties")
    if schema.get("type") == "object" or isinstance(properties, dict):
        named = set(properties) if isinstance(properties, dict) else set()
        if schema.get("additionalProperties") is not False or set(schema.get("required", ())) != named:
            return False
    for name, value in schema.items():
        if name in {"enum", "const", "default", "examples", "required"}:
            continue
        named_schemas = name in {"properties", "$defs", "definitions"} and isinstance(value, dict)
        if not can_be_strict(list(value.values()) if named_schemas else value):
            return False
    return True


def _part(part: Part, media: MediaStore, detail: str, dialect: Dialect) -> Iterable[bytes]:
    if isinstance(part, Text):
        yield b'{"type":"text","text":' + encode(part.text) + b"}"
    elif isinstance(part, Image):
        checked_mime(part, who=dialect.who)
        head, text = data_url(part, media)
        yield b'{"type":"image_url","image_url":{"url":"' + head
        yield text
        yield b'","detail":"' + detail.encode("ascii") + b'"}}' if detail else b'"}}'
    elif isinstance(part, Audio):
        form = _AUDIO.get(part.mime)
        if form is None:
            raise UserError(f"{dialect.who} takes no {part.mime[:80]}.", hint="send WAV or MP3")
        yield b'{"type":"input_audio","input_audio":{"format":"' + form.encode("ascii") + b'","data":"'
        yield media.base64(part)
        yield b'"}}'
    elif dialect.video:
        checked_mime(part)
        head, text = data_url(part, media)
        yield b'{"type":"video_url","video_url":{"url":"' + head
        yield text
        yield b'"}}'
    else:
        raise UserError(f"{dialect.who} takes no video.", hint="send frames as images")


# -- parsing -----------------------------------------------------------------------------------------------------


class _Message(msgspec.Struct):
    content: str | list[dict[str, Any]] | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice] | None = None
    id: Any = None
    model: Any = None
    usage: Any = None
    error: Any = None


_decoder: Final = msgspec.json.Decoder(_Completion)
_ENDS: Final = frozenset({"stop", "eos", "eos_token", "stop_sequence"})
_LIMITS: Final = frozenset({"length", "max_tokens", "limit", "model_length"})
_THOUGHT: Final = re.compile(r"\s*<think>.*?</think>\s*", re.DOTALL)


def parse_openai(status: int, headers: Mapping[str, str], body: bytes) -> Outcome:
    """Return what became of a call of OpenAI itself; never raises."""
    return parse_chat(status, headers, body, OPENAI)


def parse_chat(status: int, headers: Mapping[str, str], body: bytes, dialect: Dialect) -> Outcome:
    """Return what became of a chat completion; never raises.

    Of several choices the first counts: we never ask for more.
    """
    reply = decode_reply(status, headers, body, _decoder)
    if isinstance(reply, Failure):
        return reply
    if not reply.choices or reply.error:
        return not_a_reply(status, headers, body, "the reply holds no choice.")
    choice = reply.choices[0]
    text = _plain(choice.message.content)
    if text is None:
        return not_a_reply(status, headers, body, "the reply holds something other than text.")
    said = Said.of(status, parse_usage(reply.usage), reply.model, choice.finish_reason, reply.id)
    if choice.message.refusal:
        return said.ended(Refusal, choice.message.refusal)
    if said.stop in _LIMITS:
        if not dialect.strict and text.lstrip().startswith("<think>"):
            text = without_thought(text if "</think>" in text else f"{text}</think>")
        return said.ended(Truncated, text)
    if said.stop == "content_filter":
        return said.filtered("the provider's content filter stopped the reply")
    if said.stop in _ENDS or not (said.stop or dialect.strict):
        return said.ended(Reply, text if dialect.strict else without_thought(text))
    return said.unended()


def without_thought(text: str) -> str:
    """Return the text without the thinking that it starts with, where a server left it in."""
    return _THOUGHT.sub("", text, count=1) if text.lstrip().startswith("<think>") else text


def _plain(content: str | list[dict[str, Any]] | None) -> str | None:
    """Return the text of a reply; some servers send parts, of which thinking is left out."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    texts = [part.get("text") for part in content if part.get("type") in {"text", "output_text"}]
    known = [text for text in texts if isinstance(text, str)]
    return "".join(known) if len(known) == len(texts) else None


def parse_usage(usage: Any) -> Usage:
    """Return the tokens; unknown where the server does not say, or says nonsense."""
    if not isinstance(usage, dict):
        return Usage()
    prompt, completion = usage.get("prompt_tokens_details"), usage.get("completion_tokens_details")
    return Usage(
        input=count(usage.get("prompt_tokens")),
        output=count(usage.get("completion_tokens")),
        cached=count(prompt.get("cached_tokens")) if isinstance(prompt, dict) else None,
        reasoning=count(completion.get("reasoning_tokens")) if isinstance(completion, dict) else None,
    )


def _unsent(name: ModelName, wanted: Parameters) -> tuple[str, ...]:
    unsent = () if takes_sampling(name.model, wanted.reasoning) else ("temperature", "top_p")
    return unsent if takes_effort(name.model, wanted.reasoning) else (*unsent, "reasoning")


@leaves_out(_unsent)
def provider(name: ModelName) -> Model:
    """Return ``openai/MODEL``: key in ``OPENAI_API_KEY``, address in ``OPENAI_BASE_URL`` or behind the name.

    Raises:
        UserError: if the key is missing.
    """
    key = find_key("OPENAI_API_KEY")
    assert key is not None
    base = find_base_url(name.base_url, "OPENAI_BASE_URL", default=BASE_URL, sends_key=True)
    return HttpModel(
        name,
        base,
        f"{base}/chat/completions",
        headers=key.header("Authorization", "Bearer "),
        key=key,
        render=render_openai,
        parse=parse_openai,
    )

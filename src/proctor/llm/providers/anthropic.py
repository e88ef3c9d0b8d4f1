"""Anthropic's Messages.

Two versions of the protocol are spoken. The present one has no field for sampling: newer models choose it themselves. Models
up to Opus 4.6, Sonnet 4.6 and Haiku 4.5 are spoken to in the earlier version, where ``temperature`` and ``top_p`` are sent.
"""

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
from proctor.llm.message import Image, Parameters, Part, Request, Text
from proctor.llm.model import Model, ModelName, leaves_out
from proctor.llm.outcome import Failure, Outcome, Refusal, Reply, Truncated, Usage
from proctor.llm.providers.wire import (
    HttpModel,
    Said,
    checked_mime,
    count,
    decode_reply,
    encode,
    given,
    merge_extra,
    message_pieces,
    not_a_reply,
    object_body,
    split_system,
    text_content,
)
from proctor.llm.replying import EFFORTS

__all__ = [
    "DEFAULT_MAX_TOKENS",
    "parse_anthropic",
    "parse_usage",
    "provider",
    "render_anthropic",
    "takes_sampling",
]

BASE_URL: Final = "https://api.anthropic.com"
VERSION: Final = "2026-10-21"
EARLIER_VERSION: Final = "2023-06-01"
DEFAULT_MAX_TOKENS: Final = 8_192
"""The protocol wants a limit; this one is sent where the request names none."""
_WHO: Final = "Anthropic's Messages"
_OURS: Final = frozenset({"model", "messages", "system", "stream"})
_SAMPLING: Final = re.compile(
    r"claude-(?:[23](?![0-9])|instant|(?:opus|sonnet|haiku)-4-(?:[0-6](?![0-9])|20\d{6}))"
)
_ADAPTIVE: Final = re.compile(r"claude-(?:opus|sonnet|haiku)-4-6")
_THINKS_NEVER: Final = re.compile(r"claude-(?:2|instant|3(?!-7)(?!\.7))")
_LEAST_THINKING: Final = 1_024
"""Tokens of thinking that the protocol takes at least."""


def takes_sampling(model: str) -> bool:
    """Return True for the models that take a temperature."""
    return _SAMPLING.match(model) is not None


def thinking_of(model: str, reasoning: str | None, most: int) -> dict[str, Any]:
    """Return the fields that say how much to think.

    Models up to Haiku, Sonnet and Opus 4.5 take a number of tokens, which has to be less than those of the reply; a level is the
    number that it stands for. Later ones take a level, and Sonnet and Opus 4.6 both. Claude 3.5 and before think never.

    Args:
        model: its name.
        reasoning: a level or a number of tokens.
        most: tokens of the reply.

    Raises:
        UserError: if it is neither, or leaves nothing of the reply.
    """
    if reasoning is None or _THINKS_NEVER.match(model):
        return {}
    if reasoning == "none":
        return {"thinking": {"type": "disabled"}}
    if reasoning.isdecimal():
        return _budget(int(reasoning), most) if takes_sampling(model) else {}
    if reasoning not in EFFORTS:
        raise UserError(
            f"{reasoning[:80]!r} is not an effort of reasoning.", hint=f"write {', '.join(EFFORTS)}"
        )
    if takes_sampling(model) and not _ADAPTIVE.match(model):
        return _budget(min(EFFORTS[reasoning], most * 3 // 4), most)
    effort = "low" if reasoning == "minimal" else reasoning
    return {"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}}


def _budget(tokens: int, most: int) -> dict[str, Any]:
    tokens = max(tokens, _LEAST_THINKING)
    if tokens >= most:
        raise UserError(
            f"{tokens:,} tokens of thinking leave nothing of a reply of {most:,}.",
            hint="raise --reply-tokens",
        )
    return {"thinking": {"type": "enabled", "budget_tokens": tokens}}


def _thinks(model: str, reasoning: str | None) -> bool:
    """Return True when a model is told to think: it draws as it likes then."""
    return reasoning not in {None, "none"} and "thinking" in thinking_of(model, reasoning, 10**9)


# -- rendering ---------------------------------------------------------------------------------------------------


def render_anthropic(request: Request, media: MediaStore, model: str) -> Body:
    """Return the body of a message.

    Raises:
        UserError: if the protocol has no way to say this (a video, a sound, a late system message).
    """
    instruction, messages = split_system(request.messages, _WHO)
    fields = _fields(request, model)
    if instruction:
        fields["system"] = instruction
    if not request.media:
        fields["messages"] = [
            {"role": message.role, "content": text_content(message)} for message in messages
        ]
        return [encode(fields)]
    return object_body(
        fields,
        "messages",
        (message_pieces(message, _WHO, partial(_part, media=media)) for message in messages),
    )


def _fields(request: Request, model: str) -> dict[str, Any]:
    wanted = request.parameters
    fields: dict[str, Any] = {
        "model": model,
        "max_tokens": DEFAULT_MAX_TOKENS if wanted.max_tokens is None else wanted.max_tokens,
    }
    if takes_sampling(model) and not _thinks(model, wanted.reasoning):
        fields |= given(temperature=wanted.temperature, top_p=wanted.top_p)
    fields |= given(stop_sequences=wanted.stop or None)
    fields |= thinking_of(model, wanted.reasoning, fields["max_tokens"])
    output: dict[str, Any] = fields.pop("output_config", {})
    if wanted.json_schema is not None:
        output["format"] = {"type": "json_schema", "schema": wanted.json_schema}
    if output:
        fields["output_config"] = output
    if wanted.extra:
        merge_extra(fields, wanted.extra, ours=_OURS, inside=frozenset({"output_config"}))
    return fields


def _part(part: Part, media: MediaStore) -> Iterable[bytes]:
    if isinstance(part, Text):
        yield b'{"type":"text","text":' + encode(part.text) + b"}"
    elif isinstance(part, Image):
        mime = checked_mime(part, who=_WHO).encode("ascii")
        yield b'{"type":"image","source":{"type":"base64","media_type":"' + mime + b'","data":"'
        yield media.base64(part)
        yield b'"}}'
    else:
        raise UserError(f"{_WHO} takes no video and no sound.", hint="send frames as images")


# -- parsing -----------------------------------------------------------------------------------------------------


class _Block(msgspec.Struct):
    type: str
    text: str | None = None


class _Reply(msgspec.Struct):
    content: list[_Block] | None = None
    stop_reason: str | None = None
    stop_details: Any = None
    type: str | None = None
    id: Any = None
    model: Any = None
    usage: Any = None
    error: Any = None


_decoder: Final = msgspec.json.Decoder(_Reply)


def parse_anthropic(status: int, headers: Mapping[str, str], body: bytes) -> Outcome:
    """Return what became of a call; never raises."""
    reply = decode_reply(status, headers, body, _decoder)
    if isinstance(reply, Failure):
        return reply
    if reply.content is None or reply.error or reply.type not in {"message", None}:
        return not_a_reply(status, headers, body, "the reply holds no content.")
    text = "".join(block.text or "" for block in reply.content if block.type == "text")
    said = Said.of(status, parse_usage(reply.usage), reply.model, reply.stop_reason, reply.id)
    if said.stop in {"end_turn", "stop_sequence"}:
        return said.ended(Reply, text)
    if said.stop in {"max_tokens", "model_context_window_exceeded"}:
        return said.ended(Truncated, text)
    if said.stop == "refusal":
        return said.ended(Refusal, text or _explanation(reply.stop_details))
    return said.unended()


def _explanation(details: Any) -> str:
    """Return why the model declined: in words, else the category."""
    if not isinstance(details, dict):
        return ""
    for name in ("explanation", "category"):
        value = details.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def parse_usage(usage: Any) -> Usage:
    """Return the tokens; the provider counts cached prompt tokens apart, here they are part of the input."""
    if not isinstance(usage, dict):
        return Usage()
    fresh = count(usage.get("input_tokens"))
    written, read = (
        count(usage.get("cache_creation_input_tokens")),
        count(usage.get("cache_read_input_tokens")),
    )
    details = usage.get("output_tokens_details")
    return Usage(
        input=None if fresh is None else fresh + (written or 0) + (read or 0),
        output=count(usage.get("output_tokens")),
        cached=read,
        reasoning=count(details.get("thinking_tokens")) if isinstance(details, dict) else None,
    )


def _unsent(name: ModelName, wanted: Parameters) -> tuple[str, ...]:
    samples = takes_sampling(name.model) and not _thinks(name.model, wanted.reasoning)
    unsent = ("seed",) if samples else ("seed", "temperature", "top_p")
    return unsent if thinking_of(name.model, wanted.reasoning, 10**9) else (*unsent, "reasoning")


@leaves_out(_unsent)
def provider(name: ModelName) -> Model:
    """Return ``anthropic/MODEL``: key in ``ANTHROPIC_API_KEY``, address in ``ANTHROPIC_BASE_URL`` or behind the name.

    Raises:
        UserError: if the key is missing.
    """
    key = find_key("ANTHROPIC_API_KEY")
    assert key is not None
    base = find_base_url(name.base_url, "ANTHROPIC_BASE_URL", default=BASE_URL, sends_key=True)
    earlier = takes_sampling(name.model)
    return HttpModel(
        name,
        base,
        f"{base}/messages" if base.endswith("/v1") else f"{base}/v1/messages",
        headers={
            **key.header("x-api-key"),
            "anthropic-version": EARLIER_VERSION if earlier else VERSION,
        },
        key=key,
        render=render_anthropic,
        parse=parse_anthropic,
    )

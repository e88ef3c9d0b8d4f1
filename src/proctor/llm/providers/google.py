"""Google's generateContent (Gemini): images, video and sound as inline data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from proctor.errors import UserError
from proctor.llm.http import Body
from proctor.llm.keys import find_base_url, find_key
from proctor.llm.media import MediaStore
from proctor.llm.message import Message, Part, Request, Text
from proctor.llm.model import Model, ModelName, leaves_out
from proctor.llm.outcome import Failure, Outcome, Reply, Truncated, Usage
from proctor.llm.providers.wire import (
    HttpModel,
    Said,
    checked_mime,
    count,
    decode_reply,
    encode,
    given,
    merge_extra,
    not_a_reply,
    object_body,
    only_text,
    separated,
    split_system,
)
from proctor.llm.replying import EFFORTS

__all__ = ["parse_google", "parse_usage", "provider", "render_google"]

BASE_URL: Final = "https://generativelanguage.googleapis.com"
VERSION: Final = "v1"
_WHO: Final = "Google's generateContent"
_OURS: Final = frozenset({"contents", "systemInstruction", "system_instruction", "model"})
_CONFIG: Final = "generationConfig"
_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/webp", "image/heic", "image/heif"})
_MODEL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._\-]*(?:/[A-Za-z0-9][A-Za-z0-9._\-]*){0,3}\Z")
_BLOCKED: Final = frozenset(
    {
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
        "ESCALATION",
        "MODEL_ARMOR",
        "PUP_LIMITED_DISABLED",
    }
)
_MOST_THINKING: Final = 24_576
"""Tokens of thinking that Gemini 2.5 Flash takes at most."""
_THINKS_NEVER: Final = re.compile(r"(?:models/)?gemini-(?:1|2\.0)(?![0-9])")
_ROLES: Final = {"user": "user", "assistant": "model"}


# -- rendering ---------------------------------------------------------------------------------------------------


def render_google(request: Request, media: MediaStore, model: str) -> Body:
    """Return the body of a generateContent call; the model is in the URL.

    Extra parameters are fields of the body; ``generationConfig`` is merged with ours.

    Raises:
        UserError: if the protocol has no way to say this.
    """
    instruction, messages = split_system(request.messages, _WHO)
    fields = _fields(request, model)
    if instruction:
        fields["systemInstruction"] = {"parts": [{"text": instruction}]}
    if not request.media:
        fields["contents"] = [
            {"role": _ROLES[message.role], "parts": [{"text": part.text} for part in message.parts]}  # type: ignore[union-attr]
            for message in messages
        ]
        return [encode(fields)]
    if not fields:
        fields[_CONFIG] = {}
    return object_body(fields, "contents", (_content(message, media) for message in messages))


def _fields(request: Request, model: str) -> dict[str, Any]:
    wanted = request.parameters
    config = given(
        temperature=wanted.temperature,
        maxOutputTokens=wanted.max_tokens,
        topP=wanted.top_p,
        seed=wanted.seed,
        stopSequences=wanted.stop or None,
    )
    if wanted.json_schema is not None:
        config["responseMimeType"] = "application/json"
        config["responseJsonSchema"] = wanted.json_schema
    if wanted.reasoning is not None and takes_thinking(model):
        config["thinkingConfig"] = _thinking(wanted.reasoning, model)
    fields: dict[str, Any] = {_CONFIG: config} if config else {}
    if wanted.extra:
        merge_extra(fields, wanted.extra, ours=_OURS, inside=frozenset({_CONFIG}))
        asked = fields.get(_CONFIG)
        if isinstance(asked, dict) and asked.get("candidateCount", 1) != 1:
            raise UserError("the extra parameter 'candidateCount' cannot be set: one reply is read.")
    return fields


def takes_thinking(model: str) -> bool:
    """Return True for the models that take a field for thinking: those before Gemini 2.5 refuse it."""
    return _THINKS_NEVER.match(model) is None


def _thinking(effort: str, model: str) -> dict[str, Any]:
    """Return how much to think: a number of tokens for Gemini 2, a level for later models."""
    if effort.isdecimal():
        return {"thinkingBudget": int(effort)}
    if effort not in EFFORTS:
        raise UserError(f"{effort[:80]!r} is not an effort of reasoning.", hint=f"write {', '.join(EFFORTS)}")
    if effort == "none" or model.startswith("gemini-2"):
        return {"thinkingBudget": min(EFFORTS[effort], _MOST_THINKING)}
    return {"thinkingLevel": effort.upper()}


def _content(message: Message, media: MediaStore) -> Iterable[bytes]:
    if message.role != "user":
        only_text(message, _WHO)
    yield b'{"role":"' + _ROLES[message.role].encode("ascii") + b'","parts":['
    yield from separated(_part(part, media) for part in message.parts)
    yield b"]}"


def _part(part: Part, media: MediaStore) -> Iterable[bytes]:
    if isinstance(part, Text):
        yield b'{"text":' + encode(part.text) + b"}"
        return
    mime = checked_mime(part, _IMAGES, _WHO).encode("ascii")
    yield b'{"inlineData":{"mimeType":"' + mime + b'","data":"'
    yield media.base64(part)
    yield b'"}}'


# -- parsing -----------------------------------------------------------------------------------------------------


class _Part(msgspec.Struct):
    text: str | None = None
    thought: bool | None = None


class _Content(msgspec.Struct):
    parts: list[_Part] | None = None


class _Candidate(msgspec.Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None


class _Response(msgspec.Struct, rename="camel"):
    candidates: list[_Candidate] | None = None
    prompt_feedback: dict[str, Any] | None = None
    usage_metadata: Any = None
    model_version: Any = None
    response_id: Any = None
    error: Any = None


_decoder: Final = msgspec.json.Decoder(_Response)


def parse_google(status: int, headers: Mapping[str, str], body: bytes) -> Outcome:
    """Return what became of a call; never raises."""
    reply = decode_reply(status, headers, body, _decoder)
    if isinstance(reply, Failure):
        return reply
    if reply.error:
        return not_a_reply(status, headers, body)
    candidate = reply.candidates[0] if reply.candidates else _Candidate()
    said = Said.of(
        status,
        parse_usage(reply.usage_metadata),
        reply.model_version,
        candidate.finish_reason,
        reply.response_id,
    )
    blocked = reply.prompt_feedback.get("blockReason") if reply.prompt_feedback else None
    if blocked:
        return said.filtered(f"the provider blocked the prompt ({str(blocked)[:80]})")
    if not reply.candidates:
        return not_a_reply(status, headers, body, "the reply holds no candidate.")
    parts = candidate.content.parts if candidate.content is not None and candidate.content.parts else []
    text = "".join(part.text for part in parts if part.text is not None and not part.thought)
    if said.stop == "STOP":
        return said.ended(Reply, text)
    if said.stop in {"MAX_TOKENS", "CONTINUATION"}:
        return said.ended(Truncated, text)
    if said.stop in _BLOCKED:
        return said.filtered(f"the provider blocked the reply ({said.stop})")
    return said.unended()


def parse_usage(usage: Any) -> Usage:
    """Return the tokens; the provider counts thinking apart, here it is part of the output."""
    if not isinstance(usage, dict):
        return Usage()
    prompt, tools = count(usage.get("promptTokenCount")), count(usage.get("toolUsePromptTokenCount"))
    said, thought = count(usage.get("candidatesTokenCount")), count(usage.get("thoughtsTokenCount"))
    return Usage(
        input=None if prompt is None else prompt + (tools or 0),
        output=None if said is None and thought is None else (said or 0) + (thought or 0),
        cached=count(usage.get("cachedContentTokenCount")),
        reasoning=thought,
    )


@leaves_out(lambda name, _wanted: () if takes_thinking(name.model) else ("reasoning",))
def provider(name: ModelName) -> Model:
    """Return ``google/MODEL``: key in ``GOOGLE_API_KEY`` or ``GEMINI_API_KEY``, address in ``GOOGLE_BASE_URL`` or behind the name.

    Raises:
        UserError: if the key is missing, or the model's name cannot be part of a URL.
    """
    key = find_key("GOOGLE_API_KEY", "GEMINI_API_KEY")
    assert key is not None
    if not _MODEL.match(name.model):
        raise UserError(
            f"{name.model[:80]!r} is not the name of a Google model.", hint="such as google/gemini-2.5-flash"
        )
    base = find_base_url(
        name.base_url, "GOOGLE_BASE_URL", "GOOGLE_GEMINI_BASE_URL", default=BASE_URL, sends_key=True
    )
    root = base if re.search(r"/v\d+[a-z0-9]*\Z", base) else f"{base}/{VERSION}"
    path = name.model if "/" in name.model else f"models/{name.model}"
    return HttpModel(
        name,
        base,
        f"{root}/{path}:generateContent",
        headers=key.header("x-goog-api-key"),
        key=key,
        render=render_google,
        parse=parse_google,
    )

"""OpenAI Chat Completions, and everything that is compatible with it."""

from __future__ import annotations

import time
from typing import Any, Final

import msgspec

from proctor_rehearsal.standin.call import Attached, Call, Content, Rejected, Turn
from proctor_rehearsal.standin.protocols.base import Said, Trouble, data_url, expect, expect_list, number

__all__ = ["CHAT", "openai_error"]

_ROLES: Final = {"system", "developer", "user", "assistant", "tool"}
_TYPES: Final = {
    400: ("invalid_request_error", None),
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("invalid_request_error", "unsupported_country_region_territory"),
    404: ("invalid_request_error", "model_not_found"),
    413: ("invalid_request_error", "request_too_large"),
    429: ("requests", "rate_limit_exceeded"),
    503: ("server_error", "overloaded"),
}
_STOP: Final = {"reply": "stop", "refusal": "stop", "truncated": "length", "content_filter": "content_filter"}


def openai_error(trouble: Trouble) -> dict[str, Any]:
    """Return an error body as OpenAI writes it."""
    status = trouble.status
    kind, usual = _TYPES.get(status, ("server_error" if status >= 500 else "invalid_request_error", None))
    error = {"message": trouble.message, "type": kind, "param": trouble.param, "code": trouble.code or usual}
    return {"error": error}


class Chat:
    """``POST /v1/chat/completions``."""

    name = "openai"

    def parse(self, call: Call) -> Content:
        """Read a request."""
        body = call.json
        content = Content(
            expect(body, "model", str),
            max_tokens=number(body, "max_completion_tokens", "max_tokens"),
            stream=bool(body.get("stream")),
            choices=number(body, "n") or 1,
        )
        stop = body.get("stop")
        content.stop = (stop,) if isinstance(stop, str) else tuple(map(str, stop or ()))
        for index, message in enumerate(expect_list(body, "messages")):
            if not isinstance(message, dict) or message.get("role") not in _ROLES:
                raise Rejected(f"Invalid value: 'messages[{index}].role'.", param=f"messages[{index}].role")
            text = self._text(message, index, content)
            if message["role"] in ("system", "developer"):
                content.system = f"{content.system}\n{text}".strip("\n")
            else:
                content.turns.append(Turn(message["role"], text))
        self._format(body, content)
        return content

    def _text(self, message: dict[str, Any], index: int, content: Content) -> str:
        said = message.get("content")
        if isinstance(said, str):
            return said
        if said is None and message["role"] == "assistant":
            return ""
        if not isinstance(said, list):
            raise Rejected(
                f"Invalid type for 'messages[{index}].content'.", param=f"messages[{index}].content"
            )
        texts = []
        for place, part in enumerate(said):
            kind = part.get("type") if isinstance(part, dict) else None
            if kind == "text":
                texts.append(expect(part, "text", str))
            elif kind == "refusal":
                texts.append(expect(part, "refusal", str))
            elif kind in _PARTS:
                if message["role"] != "user":
                    raise Rejected(
                        "Image, audio and video parts are only taken from the user.", param="messages"
                    )
                content.attached.append(_PARTS[kind](part))
            else:
                where = f"messages[{index}].content[{place}].type"
                raise Rejected(
                    f"Invalid value: '{kind}'. Supported values are: 'text', 'image_url', …", param=where
                )
        return "\n".join(texts)

    def _format(self, body: dict[str, Any], content: Content) -> None:
        wanted = expect(body, "response_format", dict, optional=True) or {}
        if wanted.get("type") == "json_schema":
            described = expect(wanted, "json_schema", dict)
            expect(described, "name", str)
            content.schema = expect(described, "schema", dict)
        elif wanted.get("type") == "json_object":
            content.json_mode = True
            asked = content.system + "".join(turn.text for turn in content.turns)
            if "json" not in asked.lower():
                raise Rejected(
                    "'messages' must contain the word 'json' to use 'response_format' of type 'json_object'."
                )
        elif wanted.get("type") not in (None, "text"):
            raise Rejected(f"Invalid value: '{wanted.get('type')}'.", param="response_format.type")
        choice = body.get("tool_choice")
        if isinstance(choice, dict):
            content.tool = choice["function"]["name"]
            tools = {tool["function"]["name"]: tool["function"] for tool in body.get("tools") or ()}
            if content.tool not in tools:
                raise Rejected(f"Tool choice '{content.tool}' not found in 'tools'.", param="tool_choice")
            content.schema = tools[content.tool].get("parameters") or {"type": "object"}

    def render(self, said: Said) -> dict[str, Any]:
        """Return the body of a reply."""
        answer, used, name = said.answer, said.used, said.name
        message: dict[str, Any] = {"role": "assistant", "content": answer.text, "refusal": None}
        finish = _STOP[answer.outcome]
        if answer.outcome == "refusal":
            message |= {"content": None, "refusal": answer.text}
        elif answer.outcome == "reply" and answer.stop not in ("", "stop_sequence"):
            finish = answer.stop
        tool = said.call.forced_tool
        if tool and answer.outcome in ("reply", "truncated"):
            called = {
                "id": f"call_{name}",
                "type": "function",
                "function": {"name": tool, "arguments": answer.text},
            }
            message |= {"content": None, "tool_calls": [called]}
        if answer.thinking:
            message["reasoning_content"] = answer.thinking
        return {
            "id": f"chatcmpl-{name}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": said.model,
            "choices": [
                {"index": i, "message": message, "logprobs": None, "finish_reason": finish}
                for i in range(answer.copies)
            ],
            "usage": {
                "prompt_tokens": used.input,
                "completion_tokens": used.output,
                "total_tokens": used.input + used.output,
                "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": used.reasoning, "audio_tokens": 0},
            },
            "service_tier": "default",
            "system_fingerprint": "fp_standin",
        }

    def events(self, body: dict[str, Any]) -> bytes:
        """Return a reply as server-sent events: the role, the text in two pieces, the end, the usage."""
        head = {k: body[k] for k in ("id", "created", "model", "system_fingerprint")}
        head["object"] = "chat.completion.chunk"
        chunks: list[dict[str, Any]] = []
        for choice in body["choices"]:
            message, index = choice["message"], choice["index"]
            text = message.get("content") or ""
            half = len(text) // 2
            pieces: list[dict[str, Any]] = [
                {"role": "assistant", "content": text[:half]},
                {"content": text[half:]},
            ]
            if message.get("refusal"):
                pieces = [{"role": "assistant", "refusal": message["refusal"]}]
            for called in message.get("tool_calls") or ():
                pieces = [{"role": "assistant", "tool_calls": [{"index": 0, **called}]}]
            chunks += [{"choices": [{"index": index, "delta": p, "finish_reason": None}]} for p in pieces]
            chunks.append(
                {"choices": [{"index": index, "delta": {}, "finish_reason": choice["finish_reason"]}]}
            )
        chunks.append({"choices": [], "usage": body["usage"]})
        lines = [b"data: " + msgspec.json.encode(head | chunk) + b"\n\n" for chunk in chunks]
        return b"".join(lines) + b"data: [DONE]\n\n"

    def error(self, trouble: Trouble) -> dict[str, Any]:
        """Return the body of an error."""
        return openai_error(trouble)

    def blocked_prompt(self, said: Said) -> tuple[int, dict[str, Any]]:
        """Return what a blocked prompt gets: a bad request with its own code."""
        message = "The response was filtered due to the prompt triggering the content management policy."
        return 400, openai_error(Trouble(400, message, "content_filter", "prompt", name=said.name))

    def headers(self, name: str) -> dict[str, str]:
        """Return the headers of every reply."""
        return {"x-request-id": f"req_{name}", "openai-version": "2020-10-01", "openai-processing-ms": "1"}


def _image(part: dict[str, Any]) -> Attached:
    return data_url("image", expect(expect(part, "image_url", dict), "url", str))


def _video(part: dict[str, Any]) -> Attached:
    return data_url("video", expect(expect(part, "video_url", dict), "url", str))


def _audio(part: dict[str, Any]) -> Attached:
    sound = expect(part, "input_audio", dict)
    return Attached("audio", f"audio/{expect(sound, 'format', str)}", text=expect(sound, "data", str))


def _file(part: dict[str, Any]) -> Attached:
    return data_url("file", expect(expect(part, "file", dict), "file_data", str))


_PARTS: Final = {"image_url": _image, "video_url": _video, "input_audio": _audio, "file": _file}

CHAT: Final = Chat()

"""Anthropic Messages."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from proctor_rehearsal.standin.call import Attached, Call, Content, Rejected, Turn
from proctor_rehearsal.standin.protocols.base import Said, Trouble, expect, expect_list, number

__all__ = ["MESSAGES"]

_TYPES: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_IMAGES: Final = {"image/jpeg", "image/png", "image/gif", "image/webp"}
_STOP: Final = {
    "reply": "end_turn",
    "refusal": "refusal",
    "truncated": "max_tokens",
}


class Messages:
    """``POST /v1/messages``."""

    name = "anthropic"

    def parse(self, call: Call) -> Content:
        """Read a request; unlike OpenAI's, it must say how long the reply may be."""
        body = call.json
        content = Content(expect(body, "model", str), stream=bool(body.get("stream")))
        if not call.path.endswith("/count_tokens"):
            expect(body, "max_tokens", int)
            content.max_tokens = number(body, "max_tokens")
            self._thinking(body)
        system = expect(body, "system", (str, list), optional=True) or ""
        content.system = (
            system if isinstance(system, str) else "\n".join(expect(p, "text", str) for p in system)
        )
        content.stop = tuple(map(str, body.get("stop_sequences") or ()))
        for index, message in enumerate(expect_list(body, "messages")):
            role = message.get("role") if isinstance(message, dict) else None
            if role not in ("user", "assistant"):
                raise Rejected(f"messages.{index}.role: Input should be 'user' or 'assistant'")
            content.turns.append(Turn(role, self._text(message.get("content"), index, content)))
        self._format(body, content)
        return content

    def _thinking(self, body: dict[str, Any]) -> None:
        """Refuse what the provider refuses: no room beside thinking, and a draw of its own choice."""
        thinking = expect(body, "thinking", dict, optional=True) or {}
        if thinking.get("type") not in ("enabled", "adaptive"):
            return
        if thinking["type"] == "enabled":
            budget = expect(thinking, "budget_tokens", int)
            if budget < 1_024:
                raise Rejected(
                    "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
                )
            if budget >= body["max_tokens"]:
                raise Rejected("`max_tokens` must be greater than `thinking.budget_tokens`.")
        if body.get("temperature", 1) != 1:
            raise Rejected("`temperature` may only be set to 1 when thinking is enabled.")

    def _text(self, said: Any, index: int, content: Content) -> str:
        if isinstance(said, str):
            if not said.strip():
                raise Rejected(f"messages.{index}: text content blocks must be non-empty")
            return said
        if not isinstance(said, list) or not said:
            raise Rejected(f"messages.{index}.content: Input should be a valid list")
        texts = []
        for part in said:
            kind = part.get("type") if isinstance(part, dict) else None
            if kind == "text":
                texts.append(expect(part, "text", str))
                if not texts[-1].strip():
                    raise Rejected(f"messages.{index}: text content blocks must be non-empty")
            elif kind in ("image", "document"):
                content.attached.append(self._source("image" if kind == "image" else "file", part))
            elif kind not in ("thinking", "redacted_thinking", "tool_use", "tool_result"):
                raise Rejected(
                    f"messages.{index}.content: Input tag '{kind}' found using 'type' does not match"
                )
        return "\n".join(texts)

    def _source(self, kind: str, part: dict[str, Any]) -> Attached:
        source = expect(part, "source", dict)
        if source.get("type") == "url":
            return Attached(kind, "", url=expect(source, "url", str))
        if source.get("type") != "base64":
            raise Rejected(f"source.type: Input tag '{source.get('type')}' does not match")
        mime = expect(source, "media_type", str)
        if kind == "image" and mime not in _IMAGES:
            raise Rejected(f"source.media_type: '{mime}' is not taken")
        return Attached(kind, mime, text=expect(source, "data", str))

    def _format(self, body: dict[str, Any], content: Content) -> None:
        config = expect(body, "output_config", dict, optional=True) or {}
        wanted = config.get("format") or body.get("output_format") or {}
        if wanted.get("type") == "json_schema":
            content.schema = expect(wanted, "schema", dict)
        choice = body.get("tool_choice") or {}
        if choice.get("type") == "tool":
            tools = {tool.get("name"): tool for tool in body.get("tools") or ()}
            content.tool = expect(choice, "name", str)
            if content.tool not in tools:
                raise Rejected(f"Tool '{content.tool}' not found in provided tools")
            content.schema = expect(tools[content.tool], "input_schema", dict)

    def render(self, said: Said) -> dict[str, Any]:
        """Return the body of a reply."""
        call, answer, used, name = said.call, said.answer, said.used, said.name
        tool = call.forced_tool
        blocks: list[dict[str, Any]] = []
        if answer.thinking:
            blocks.append({"type": "thinking", "thinking": answer.thinking, "signature": "c3RhbmRpbg=="})
        stop, stopped, details = _STOP.get(answer.outcome, "refusal"), None, None
        if answer.outcome == "reply" and answer.stop == "stop_sequence":
            stop, stopped = "stop_sequence", call.content.stop[0] if call.content.stop else None
        elif answer.outcome == "reply" and answer.stop:
            stop = answer.stop
        if answer.outcome in ("refusal", "content_filter"):
            explanation = answer.text if answer.outcome == "refusal" else None
            details = {"type": "refusal", "category": None, "explanation": explanation or None}
        elif tool:
            given = _object(answer.text)
            blocks += [
                {"type": "tool_use", "id": f"toolu_{name}", "name": tool, "input": given}
            ] * answer.copies
            stop = "tool_use" if answer.outcome == "reply" else stop
        if answer.text and not tool and answer.outcome != "content_filter":
            blocks += [{"type": "text", "text": answer.text}] * answer.copies
        return {
            "id": f"msg_{name}",
            "type": "message",
            "role": "assistant",
            "model": said.model,
            "content": blocks,
            "stop_reason": stop,
            "stop_sequence": stopped,
            "stop_details": details,
            "usage": {
                "input_tokens": used.input,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": used.output,
                "service_tier": "standard",
            },
        }

    def events(self, body: dict[str, Any]) -> bytes:
        """Return a reply as server-sent events."""
        open_ = body | {"content": [], "stop_reason": None, "usage": body["usage"] | {"output_tokens": 1}}
        events: list[dict[str, Any]] = [{"type": "message_start", "message": open_}]
        for index, block in enumerate(body["content"]):
            start, deltas = _pieces(block)
            events.append({"type": "content_block_start", "index": index, "content_block": start})
            events += [{"type": "content_block_delta", "index": index, "delta": d} for d in deltas]
            events.append({"type": "content_block_stop", "index": index})
        ended = {k: body[k] for k in ("stop_reason", "stop_sequence", "stop_details")}
        events.append({"type": "message_delta", "delta": ended, "usage": body["usage"]})
        events.append({"type": "message_stop"})
        return b"".join(
            b"event: " + e["type"].encode() + b"\ndata: " + msgspec.json.encode(e) + b"\n\n" for e in events
        )

    def error(self, trouble: Trouble) -> dict[str, Any]:
        """Return the body of an error."""
        status, message, param = trouble.status, trouble.message, trouble.param
        kind = trouble.code or _TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
        text = f"{param}: {message}" if param and param not in message else message
        return {
            "type": "error",
            "error": {"type": kind, "message": text},
            "request_id": f"req_{trouble.name}",
        }

    def blocked_prompt(self, said: Said) -> tuple[int, dict[str, Any]]:
        """Return what a blocked prompt gets: a bad request."""
        return 400, self.error(Trouble(400, "Output blocked by content filtering policy", name=said.name))

    def headers(self, name: str) -> dict[str, str]:
        """Return the headers of every reply."""
        return {"request-id": f"req_{name}", "anthropic-organization-id": "standin"}


def _object(text: str) -> Any:
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return {}
    return value if isinstance(value, dict) else {"value": value}


def _pieces(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Split a block into what opens it and what follows."""
    if block["type"] == "thinking":
        thought = {"type": "thinking_delta", "thinking": block["thinking"]}
        signed = {"type": "signature_delta", "signature": block["signature"]}
        return block | {"thinking": "", "signature": ""}, [thought, signed]
    if block["type"] == "tool_use":
        text = msgspec.json.encode(block["input"]).decode()
        return block | {"input": {}}, [{"type": "input_json_delta", "partial_json": text}]
    half = len(block["text"]) // 2
    halves = (block["text"][:half], block["text"][half:])
    return block | {"text": ""}, [{"type": "text_delta", "text": part} for part in halves]


MESSAGES: Final = Messages()

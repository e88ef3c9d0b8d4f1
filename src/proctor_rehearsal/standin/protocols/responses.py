"""OpenAI Responses: the newer of OpenAI's two protocols, without tools, state and background runs."""

from __future__ import annotations

import time
from typing import Any, Final

import msgspec

from proctor_rehearsal.standin.call import Call, Content, Rejected, Turn
from proctor_rehearsal.standin.protocols.base import Said, data_url, expect, number
from proctor_rehearsal.standin.protocols.openai import Chat

__all__ = ["RESPONSES"]


class Responses(Chat):
    """``POST /v1/responses``; errors and headers are those of Chat Completions."""

    name = "responses"

    def parse(self, call: Call) -> Content:
        """Read a request."""
        body = call.json
        content = Content(
            expect(body, "model", str),
            system=expect(body, "instructions", str, optional=True) or "",
            max_tokens=number(body, "max_output_tokens"),
            stream=bool(body.get("stream")),
        )
        given = expect(body, "input", (str, list))
        items = [{"role": "user", "content": given}] if isinstance(given, str) else given
        if not items:
            raise Rejected("'input' must not be empty.", param="input")
        for item in items:
            if item.get("type", "message") != "message" or item.get("role") not in (
                "user",
                "assistant",
                "system",
                "developer",
            ):
                raise Rejected("Only messages are taken as input.", param="input")
            text = self._said(item.get("content"), content)
            if item["role"] in ("system", "developer"):
                content.system = f"{content.system}\n{text}".strip("\n")
            else:
                content.turns.append(Turn(item["role"], text))
        wanted = (body.get("text") or {}).get("format") or {}
        if wanted.get("type") == "json_schema":
            content.schema = expect(wanted, "schema", dict)
        content.json_mode = wanted.get("type") == "json_object"
        return content

    def _said(self, said: Any, content: Content) -> str:
        if isinstance(said, str):
            return said
        texts = []
        for part in said:
            if part.get("type") in ("input_text", "output_text"):
                texts.append(expect(part, "text", str))
            elif part.get("type") == "input_image":
                content.attached.append(data_url("image", part.get("image_url")))
            elif part.get("type") == "input_file":
                content.attached.append(data_url("file", part.get("file_data")))
            else:
                raise Rejected(f"Invalid value: '{part.get('type')}'.", param="input")
        return "\n".join(texts)

    def render(self, said: Said) -> dict[str, Any]:
        """Return the body of a reply."""
        answer, used, name = said.answer, said.used, said.name
        part: dict[str, Any] = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
        if answer.outcome == "refusal":
            part = {"type": "refusal", "refusal": answer.text}
        reasons = {"truncated": "max_output_tokens", "content_filter": "content_filter"}
        reason = reasons.get(answer.outcome)
        status = "incomplete" if reason else "completed"
        output: list[dict[str, Any]] = []
        if answer.thinking:
            thought = {"type": "summary_text", "text": answer.thinking}
            output.append({"type": "reasoning", "id": f"rs_{name}", "summary": [thought]})
        message = {
            "type": "message",
            "id": f"msg_{name}",
            "role": "assistant",
            "status": status,
            "content": [part],
        }
        output += [message] * answer.copies
        return {
            "id": f"resp_{name}",
            "object": "response",
            "created_at": int(time.time()),
            "status": status,
            "error": None,
            "incomplete_details": {"reason": reason} if reason else None,
            "model": said.model,
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": used.input,
                "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                "output_tokens": used.output,
                "output_tokens_details": {"reasoning_tokens": used.reasoning},
                "total_tokens": used.input + used.output,
            },
        }

    def events(self, body: dict[str, Any]) -> bytes:
        """Return a reply as server-sent events: begin, each item with its text at once, end."""
        begun = body | {"status": "in_progress", "output": []}
        events: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
        for index, item in enumerate(body["output"]):
            events += _item_events(index, item)
        last = "response.completed" if body["status"] == "completed" else "response.incomplete"
        events.append({"type": last, "response": body})
        return b"".join(
            b"event: "
            + e["type"].encode()
            + b"\ndata: "
            + msgspec.json.encode(e | {"sequence_number": i})
            + b"\n\n"
            for i, e in enumerate(events)
        )


def _item_events(index: int, item: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what is sent for one item: it opens, its parts open, say their text and close, it closes."""
    at = {"output_index": index}
    opened = item | {"content": [], "status": "in_progress"} if "content" in item else item
    events: list[dict[str, Any]] = [{"type": "response.output_item.added", "item": opened} | at]
    for place, part in enumerate(item.get("content") or ()):
        where = at | {"item_id": item["id"], "content_index": place}
        kind = part["type"]
        field = "text" if kind == "output_text" else "refusal"
        events.append({"type": "response.content_part.added", "part": part | {field: ""}} | where)
        events.append({"type": f"response.{kind}.delta", "delta": part[field], "logprobs": []} | where)
        events.append({"type": f"response.{kind}.done", field: part[field], "logprobs": []} | where)
        events.append({"type": "response.content_part.done", "part": part} | where)
    return [*events, {"type": "response.output_item.done", "item": item} | at]


RESPONSES: Final = Responses()

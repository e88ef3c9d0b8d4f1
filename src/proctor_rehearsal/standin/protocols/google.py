"""Google generateContent (Gemini)."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from proctor_rehearsal.standin.call import Attached, Call, Content, Rejected, Turn
from proctor_rehearsal.standin.protocols.base import Said, Trouble, expect, expect_list, number

__all__ = ["GENERATE", "model_of"]

_STATUS: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    408: "DEADLINE_EXCEEDED",
    413: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_STOP: Final = {
    "reply": "STOP",
    "refusal": "PROHIBITED_CONTENT",
    "truncated": "MAX_TOKENS",
    "content_filter": "SAFETY",
}
_MODEL: Final = re.compile(r"/models/(?P<model>[^:]+):")


def model_of(path: str) -> str:
    """Return the model that a path names; it is not in the body."""
    found = _MODEL.search(path)
    return found["model"] if found else ""


def _get(value: dict[str, Any], camel: str) -> Any:
    """Return a field by its JSON name or its proto name: the service takes both."""
    found = value.get(camel)
    return value.get(re.sub("([A-Z])", lambda m: "_" + m[1].lower(), camel)) if found is None else found


class Generate:
    """``POST /v1beta/models/MODEL:generateContent``."""

    name = "google"

    def parse(self, call: Call) -> Content:
        """Read a request."""
        body, path = call.json, call.path
        if "generateContentRequest" in body:
            body = body["generateContentRequest"]
        content = Content(model_of(path), stream=":stream" in path)
        system = _get(body, "systemInstruction")
        if system is not None:
            content.system = self._text(system, content)
        for turn in expect_list(body, "contents"):
            role = turn.get("role") or "user"
            if role not in ("user", "model", "function"):
                raise Rejected("Please use a valid role: user, model.", param="contents")
            said = self._text(turn, content)
            content.turns.append(Turn("assistant" if role == "model" else role, said))
        config = _get(body, "generationConfig") or {}
        content.max_tokens = number({"maxOutputTokens": _get(config, "maxOutputTokens")}, "maxOutputTokens")
        content.stop = tuple(map(str, _get(config, "stopSequences") or ()))
        content.choices = int(_get(config, "candidateCount") or 1)
        content.schema = _get(config, "responseJsonSchema") or _get(config, "responseSchema")
        json_wanted = _get(config, "responseMimeType") == "application/json"
        if content.schema is not None and not json_wanted:
            raise Rejected(
                "response_schema needs response_mime_type 'application/json'.", param="generation_config"
            )
        content.json_mode = json_wanted and content.schema is None
        return content

    def _text(self, turn: Any, content: Content) -> str:
        if isinstance(turn, str):
            return turn
        texts = []
        for part in expect_list(turn, "parts"):
            inline, file = _get(part, "inlineData"), _get(part, "fileData")
            if part.get("text") is not None:
                texts.append(expect(part, "text", str))
            elif inline is not None:
                mime = _get(inline, "mimeType")
                if not isinstance(mime, str):
                    raise Rejected("Unable to determine the MIME type of inline data.")
                content.attached.append(
                    Attached(_kind(mime), mime, text=expect(inline, "data", str), loose=True)
                )
            elif file is not None:
                mime = _get(file, "mimeType") or ""
                content.attached.append(Attached(_kind(mime), mime, url=str(_get(file, "fileUri") or "")))
            else:
                raise Rejected("contents.parts must not be empty.")
        return "\n".join(texts)

    def render(self, said: Said) -> dict[str, Any]:
        """Return the body of a reply."""
        answer, used, name = said.answer, said.used, said.name
        stop = _STOP[answer.outcome]
        if answer.outcome == "reply" and answer.stop not in ("", "stop_sequence"):
            stop = answer.stop
        parts: list[dict[str, Any]] = []
        if answer.thinking:
            parts.append({"text": answer.thinking, "thought": True})
        candidate: dict[str, Any] = {"finishReason": stop}
        if answer.outcome in ("refusal", "content_filter"):
            candidate |= {"safetyRatings": [_RATING | {"blocked": True}]}
            if answer.text and answer.outcome == "refusal":
                candidate |= {"finishMessage": answer.text}
        else:
            parts += [{"text": answer.text}] if answer.text else []
            candidate |= (
                {"content": {"parts": parts, "role": "model"}} if parts else {"content": {"role": "model"}}
            )
        usage: dict[str, Any] = {
            "promptTokenCount": used.input,
            "candidatesTokenCount": used.output - used.reasoning,
            "totalTokenCount": used.input + used.output,
        }
        if used.reasoning:
            usage["thoughtsTokenCount"] = used.reasoning
        return {
            "candidates": [candidate | {"index": i} for i in range(answer.copies)],
            "usageMetadata": usage,
            "modelVersion": said.model,
            "responseId": name,
        }

    def events(self, body: dict[str, Any]) -> bytes:
        """Return a reply as server-sent events: the first half of the text, then the rest with the end."""
        first: list[dict[str, Any]] = []
        last: list[dict[str, Any]] = []
        for candidate in body["candidates"]:
            parts = candidate.get("content", {}).get("parts") or []
            text = parts[-1]["text"] if parts else ""
            half, index = len(text) // 2, candidate["index"]
            early = [*parts[:-1], {"text": text[:half]}]
            first.append({"content": {"parts": early, "role": "model"}, "index": index})
            rest = {"content": {"parts": [{"text": text[half:]}], "role": "model"}} if parts else {}
            last.append(candidate | rest)
        head = {k: body[k] for k in ("modelVersion", "responseId")}
        chunks = [{"candidates": first} | head, body | {"candidates": last}]
        return b"".join(b"data: " + msgspec.json.encode(chunk) + b"\r\n\r\n" for chunk in chunks)

    def error(self, trouble: Trouble) -> dict[str, Any]:
        """Return the body of an error; the time to wait is in it."""
        status, message, param, wait = trouble.status, trouble.message, trouble.param, trouble.wait
        details: list[dict[str, Any]] = []
        if wait is not None:
            details.append({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{wait:g}s"})
        if param is not None:
            violation = {"field": param, "description": message}
            details.append(
                {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [violation]}
            )
        usual = _STATUS.get(status, "INTERNAL" if status >= 500 else "INVALID_ARGUMENT")
        error: dict[str, Any] = {"code": status, "message": message, "status": trouble.code or usual}
        return {"error": error | {"details": details} if details else error}

    def blocked_prompt(self, said: Said) -> tuple[int, dict[str, Any]]:
        """Return what a blocked prompt gets: a good reply without candidates."""
        return 200, {
            "promptFeedback": {"blockReason": "SAFETY", "safetyRatings": [_RATING | {"blocked": True}]},
            "usageMetadata": {"promptTokenCount": said.used.input, "totalTokenCount": said.used.input},
            "modelVersion": said.model,
            "responseId": said.name,
        }

    def headers(self, name: str) -> dict[str, str]:
        """Return the headers of every reply."""
        return {"x-goog-request-id": name, "server-timing": "gfet4t7; dur=1"}


def _kind(mime: str) -> str:
    kind = mime.partition("/")[0]
    return kind if kind in ("image", "video", "audio") else "file"


_RATING: Final = {"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH"}

GENERATE: Final = Generate()

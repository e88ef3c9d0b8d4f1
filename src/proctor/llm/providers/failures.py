"""Error replies of all providers as typed failures: by status, by the provider's own code, and by its words last.

Two errors look like a bad request and are not: a request that is too large (a stated rule may shrink it) and one that a
content filter stopped. Both have codes at some providers and only words at others.
"""

from __future__ import annotations

import email.utils
import math
import re
import time
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from proctor.llm.keys import redact
from proctor.llm.outcome import Failure, FailureKind

__all__ = ["MAX_WAIT", "ErrorBody", "failure", "malformed", "parse_error_body", "parse_retry_after"]

MAX_WAIT: Final = 86_400.0
"""Seconds: a longer Retry-After is cut to a day, whatever the header says."""
_MAX_MESSAGE: Final = 300

_BY_STATUS: Final[dict[int, FailureKind]] = {
    401: "auth",
    402: "auth",  # no credit: waiting would not help
    403: "auth",
    408: "timeout",
    409: "server",  # a lock at the provider; its own clients try again
    413: "too_large",
    425: "overload",
    429: "rate_limit",
    499: "timeout",
    503: "overload",
    504: "timeout",
    522: "timeout",
    524: "timeout",
    529: "overload",
}

_BY_CODE: Final[dict[str, FailureKind]] = {
    # OpenAI and those that imitate it
    "context_length_exceeded": "too_large",
    "exceed_context_size_error": "too_large",  # llama.cpp
    "string_above_max_length": "too_large",
    "array_above_max_length": "too_large",
    "content_policy_violation": "content_filter",
    "content_filter": "content_filter",  # Azure
    "moderation_blocked": "content_filter",
    "responsibleaipolicyviolation": "content_filter",
    "insufficient_quota": "auth",  # sent with 429, and waiting does not fill an account
    "billing_hard_limit_reached": "auth",
    "billing_not_active": "auth",
    "invalid_api_key": "auth",
    "account_deactivated": "auth",
    "rate_limit_exceeded": "rate_limit",
    "server_error": "server",
    "internal_error": "server",
    "engine_overloaded": "overload",
    "unavailable_error": "overload",  # llama.cpp: still loading
    # Anthropic
    "overloaded_error": "overload",
    "rate_limit_error": "rate_limit",
    "authentication_error": "auth",
    "permission_error": "auth",
    "billing_error": "auth",
    "request_too_large": "too_large",
    "request_body_too_large_after_decoding": "too_large",
    "timeout_error": "timeout",
    "api_error": "server",
    "conflict_error": "server",
    "not_found_error": "bad_request",
    # Google
    "resource_exhausted": "rate_limit",
    "unavailable": "overload",
    "deadline_exceeded": "timeout",
    "unauthenticated": "auth",
    "permission_denied": "auth",
    "api_key_invalid": "auth",
    "api_key_service_blocked": "auth",
    "billing_disabled": "auth",
    "internal": "server",
    "aborted": "server",
    "cancelled": "server",
    "unknown": "server",
    "failed_precondition": "bad_request",
    "invalid_argument": "bad_request",
    "not_found": "bad_request",
    # general words, weakest: looked at last
    "invalid_request_error": "bad_request",
    "badrequesterror": "bad_request",  # vLLM
    "notfounderror": "bad_request",
    "internalservererror": "server",
}
_GENERAL: Final = frozenset(
    {"invalid_request_error", "invalid_argument", "badrequesterror", "failed_precondition", "api_error"}
)

_TOO_LARGE: Final = re.compile(
    r"maximum context length|context[ _-]?(?:window|length|size) (?:exceeded|is|of)|exceeds?[^.]{0,60} context|"
    r"exceed_context|prompt is too long|prompt too long|input (?:is|was) too long|too many (?:input |total )?tokens|"
    r"input[^.]{0,20}tokens?[^.]{0,40} exceeds?|exceeds? the (?:maximum|max)(?: allowed)? (?:number of |input )?tokens|"
    r"longer than the (?:maximum model|model's context) length|maximum (?:allowed )?number of (?:input )?tokens|"
    r"request (?:is |was )?too large|request entity too large|request payload size exceeds|payload too large|"
    r"too many images|at most \d+ (?:images?|videos?|audios?)|maximum number of images|"
    r"image (?:dimensions? )?exceeds?|image is too large|video is too (?:large|long)|"
    r"input validation error[^.]{0,40}tokens",
    re.IGNORECASE,
)
_FILTERED: Final = re.compile(
    r"content[ _](?:management |filtering )?policy|content[ _]filter|safety system|blocked by (?:our )?(?:content|safety)|"
    r"responsible ?ai ?policy|prohibited content|flagged (?:by|as) (?:our )?(?:moderation|safety|potentially)",
    re.IGNORECASE,
)
_BAD_KEY: Final = re.compile(
    r"(?:api|access)[ _-]?key (?:is )?(?:not valid|invalid|expired|not found|missing)|(?:invalid|incorrect|missing) (?:api|x-api)[ _-]?key",
    re.IGNORECASE,
)
_NO_CREDIT: Final = re.compile(
    r"credit balance is too low|exceeded your current quota, please check your plan|billing (?:is )?not active",
    re.IGNORECASE,
)
_OVERLOADED: Final = re.compile(
    r"overloaded|server is busy|no available workers|loading model", re.IGNORECASE
)
_REPLY_LIMIT: Final = re.compile(
    r"\b(?:in|for) the completion|max_(?:completion_|output_|new_)?tokens\b.{0,80}?"
    r"(?:too large|exceed|must be (?:<|less|at most|smaller)|>|supports at most)",
    re.IGNORECASE,
)
"""The limit on the reply does not fit: beside the prompt into the context (OpenAI, vLLM, SGLang, TGI, Anthropic), or at all."""
_TITLE: Final = re.compile(rb"<title[^>]*>(.{0,200}?)</title>", re.IGNORECASE | re.DOTALL)


class ErrorBody(NamedTuple):
    """What an error reply says.

    Attributes:
        message: in the provider's words.
        codes: its codes and types in small letters, the most special one first.
        status: a status inside the body, if it holds one.
        wait: seconds to wait, if the body says so (Google).
    """

    message: str = ""
    codes: tuple[str, ...] = ()
    status: int | None = None
    wait: float | None = None


def failure(status: int, headers: Mapping[str, str], body: bytes) -> Failure:
    """Return the failure that an error reply means.

    Args:
        status: of HTTP; 2xx when the reply is an error all the same.
        headers: for Retry-After.
        body: as it came; may be anything.
    """
    if 300 <= status < 400:
        return Failure(
            kind="bad_request",
            message="the server redirects, which is not followed: write the final address into the model's name.",
            status=status,
        )
    error = parse_error_body(body)
    wait = parse_retry_after(headers)
    return Failure(
        kind=_kind(status, error),
        message=_message(status, error, body),
        status=status,
        retry_after=wait if wait is not None else error.wait,
    )


def malformed(status: int, body: bytes, why: str) -> Failure:
    """Return the failure of a reply that says success but is not one; what it starts with is quoted."""
    text = _page_title(body) or _clean(body[:400].decode("utf-8", "replace"))
    quote = f" It starts with {text[:120]!r}." if text else " It is empty."
    return Failure(kind="server", message=why + redact(quote), status=status, lost=True)


def _kind(status: int, error: ErrorBody) -> FailureKind:
    ok = 200 <= status < 300
    shown = error.status if ok and error.status else status
    special = [code for code in error.codes if code in _BY_CODE and code not in _GENERAL]
    if special and _BY_CODE[special[0]] in {"too_large", "content_filter"}:
        return _BY_CODE[special[0]]
    if any(_BY_CODE[code] == "auth" for code in special) or _NO_CREDIT.search(error.message):
        return "auth"
    if shown in {400, 413, 422, 429, 500} or ok:
        found = _by_words(shown, error.message)
        if found:
            return found
    if shown in _BY_STATUS:
        kind = _BY_STATUS[shown]
        return "overload" if kind == "rate_limit" and "overloaded_error" in special else kind
    if special:
        return _BY_CODE[special[0]]
    if shown >= 500 or shown < 200:
        return "overload" if _OVERLOADED.search(error.message) else "server"
    if ok:
        return next((_BY_CODE[code] for code in error.codes if code in _BY_CODE), "server")
    return "bad_request"


def _by_words(status: int, message: str) -> FailureKind | None:
    if _TOO_LARGE.search(message) and not _about_output(message):
        return "too_large"
    if status == 429:
        return None
    if _FILTERED.search(message):
        return "content_filter"
    return "auth" if _BAD_KEY.search(message) else None


def _about_output(message: str) -> bool:
    """True for "max_tokens is too large: …", which no shrinking of the request avoids."""
    return (
        message.lstrip("`'\"")
        .lower()
        .startswith(("max_tokens", "max_completion_tokens", "max_output_tokens"))
    )


def parse_error_body(body: bytes) -> ErrorBody:
    """Read the error of any provider: OpenAI, Anthropic, Google, vLLM, SGLang, llama.cpp, Ollama, TGI, FastAPI."""
    try:
        value: Any = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ErrorBody()
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict):
        return ErrorBody(value) if isinstance(value, str) else ErrorBody()
    inner = value.get("error")
    if isinstance(inner, str):
        return ErrorBody(inner, _codes(value.get("error_type"), value.get("code")))
    if not isinstance(inner, dict):
        inner = value
    details = inner.get("details")
    code = inner.get("code")
    extra = details.get("error_code") if isinstance(details, dict) else None  # Anthropic
    nested = inner.get("innererror")  # Azure
    message = inner.get("message") or inner.get("detail") or inner.get("msg") or ""
    return ErrorBody(
        message if isinstance(message, str) else str(message)[: _MAX_MESSAGE * 2],
        _codes(
            nested.get("code") if isinstance(nested, dict) else None,
            *(_reasons(details)),
            extra,
            code,
            inner.get("status"),
            inner.get("type"),
        ),
        code if isinstance(code, int) and 100 <= code < 600 and not isinstance(code, bool) else None,
        _retry_delay(details),
    )


def _codes(*values: Any) -> tuple[str, ...]:
    return tuple(value.lower()[:80] for value in values if isinstance(value, str) and value)


def _reasons(details: Any) -> list[Any]:
    """Return the reasons in the details of a Google error: ``API_KEY_INVALID`` comes with status 400."""
    if not isinstance(details, list):
        return []
    return [item.get("reason") for item in details[:20] if isinstance(item, dict)]


def _retry_delay(details: Any) -> float | None:
    """Return Google's ``retryDelay`` (``"34.07s"``), seconds."""
    if isinstance(details, list):
        for item in details[:20]:
            delay = item.get("retryDelay") if isinstance(item, dict) else None
            if isinstance(delay, str) and delay.endswith("s"):
                return _seconds(delay[:-1])
    return None


def _seconds(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return min(value, MAX_WAIT) if math.isfinite(value) and value >= 0 else None


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that the headers ask to wait, 0 to ``MAX_WAIT``; None where they say nothing usable.

    ``retry-after-ms`` (OpenAI) is finer and comes first; ``Retry-After`` holds seconds or a date, which is compared with the
    server's own ``Date`` where there is one, as our clock may be wrong.
    """
    text = headers.get("retry-after-ms")
    if text is not None:
        wait = _seconds(text)
        if wait is not None:
            return min(wait / 1_000, MAX_WAIT)
    text = headers.get("Retry-After", headers.get("retry-after"))
    if text is None:
        return None
    wait = _seconds(text.strip())
    if wait is not None:
        return wait
    then = _date(text)
    if then is None:
        return None
    now = _date(headers.get("Date", headers.get("date", "")))
    return min(max(0.0, then - (time.time() if now is None else now)), MAX_WAIT)


def _date(text: str) -> float | None:
    try:
        parts = email.utils.parsedate_tz(text)
        return None if parts is None else float(email.utils.mktime_tz(parts))
    except (TypeError, ValueError, OverflowError, IndexError):
        return None


def _message(status: int, error: ErrorBody, body: bytes) -> str:
    said = _clean(error.message)
    if not said:
        said = _page_title(body) or _clean(body[:400].decode("utf-8", "replace")) or "no explanation"
    code = f" [{error.codes[0]}]" if error.codes else ""
    if status in (400, 413, 422) and _REPLY_LIMIT.search(error.message):
        said += " → allow shorter replies: --reply-tokens N"
    return redact(f"status {status}{code}: {said}")


def _page_title(body: bytes) -> str:
    """Return what an HTML error page is called; empty if it is not one."""
    if not body[:400].lstrip().startswith(b"<"):
        return ""
    found = _TITLE.search(body[:20_000])
    title = _clean(found[1].decode("utf-8", "replace")) if found else ""
    return f"an HTML page, {title!r}" if title else "an HTML page"


def _clean(text: str) -> str:
    """Return the text in one line, without control characters, bounded."""
    text = " ".join("".join(c if c.isprintable() else " " for c in text[: _MAX_MESSAGE * 4]).split())
    return text if len(text) <= _MAX_MESSAGE else f"{text[:_MAX_MESSAGE]}…"

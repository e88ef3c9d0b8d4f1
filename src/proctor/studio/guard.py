"""What every request passes before the application sees it, and every answer after.

One ASGI layer around everything, errors too: the Host must be ours, the address must look like one of ours, a request
that changes something must come from our own pages, bodies are bounded, and each answer carries the headers that keep
browsers strict. It costs some microseconds (``benchmarks/studio``).
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from proctor.errors import UserError
from proctor.said import say
from proctor.studio.context import Settings
from proctor.studio.language import PROGRAMS, choose, encoded, speak
from proctor.verify.desk.records import Person

__all__ = [
    "CAMERA",
    "MAX_BODY",
    "MAX_SOUND",
    "MICROPHONE",
    "POLICY",
    "REFUSED",
    "SAFE_METHODS",
    "Guard",
    "HideTokens",
    "Rules",
    "guarded",
    "send_problem",
]

MAX_BODY: Final = 1_000_000
"""Bytes of a request's body."""
MAX_SOUND: Final = 16_000_000
"""Bytes of recorded sound or of a slice of a recording, at their own addresses."""
MICROPHONE: Final = "microphone=(self)"
"""Value of ``Permissions-Policy`` by which a page says that people speak on it; every other one is overruled."""
CAMERA: Final = "camera=(self), microphone=(self)"
"""The same of a page on which people are filmed."""
REFUSED: Final = "proctor.refused"
"""Where the scope of a request says with which status the application answers it: no more than that is left of it."""
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
POLICY: Final = (
    "default-src 'self'; script-src 'self'; style-src 'self'; object-src 'none'; base-uri 'none'; "
    "frame-ancestors 'none'; form-action 'self'"
)

_HEADERS: Final[Sequence[tuple[bytes, bytes]]] = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (
        b"permissions-policy",
        b"camera=(), microphone=(), geolocation=(), display-capture=(), payment=(), usb=(), browsing-topics=()",
    ),
)
_ASKED: Final = {MICROPHONE.encode(): b"microphone=()", CAMERA.encode(): b"camera=(), microphone=()"}
"""What a page may say, and what of every page's policy that stands for."""
_TLS_ONLY: Final = (b"strict-transport-security", b"max-age=31536000")
"""Sent where browsers reach the studio over TLS by a name of its own; ``localhost`` is everybody's."""
_OURS: Final = frozenset(name for name, _ in _HEADERS) | {b"server-timing", _TLS_ONLY[0]}
_NO_STORE: Final = (b"cache-control", b"no-store")

_PATH: Final = re.compile(r"(?:/(?!\.{1,2}(?:/|$))[A-Za-z0-9._~@:+=,-]*)+", re.ASCII)
_LOOPBACK: Final = re.compile(r"https://(?:localhost|127\.|\[::1\])", re.ASCII)
_PORT: Final = re.compile(r":\d+$", re.ASCII)
_LONGEST_PATH: Final = 1_024
_TYPES: Final = (b"application/json", b"application/x-www-form-urlencoded", b"multipart/form-data")
_SOUND_TYPES: Final = (b"audio/webm", b"audio/ogg", b"audio/mp4")
_MEDIA: Final = (
    (re.compile(r"/w/[^/]+/narration/[^/]+", re.ASCII), _SOUND_TYPES),
    (re.compile(r"/w/[^/]+/slice/[^/]+/[^/]+", re.ASCII), (*_SOUND_TYPES, b"video/webm", b"video/mp4")),
)
_FORWARDED: Final = frozenset(
    {
        b"forwarded",
        b"x-forwarded-for",
        b"x-forwarded-proto",
        b"x-forwarded-host",
        b"x-forwarded-port",
        b"x-real-ip",
    }
)

Reader = Callable[[Request], Awaitable[Person | None]]
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What a studio lets in.

    Attributes:
        hosts: values of the Host header; one without a port allows any.
        origins: where our own pages come from (``http://127.0.0.1:8642``).
        proxies: addresses or networks whose forwarded headers are believed.
        max_body: bytes of a body.
        language: of the pages; see ``Settings``.
    """

    hosts: tuple[str, ...]
    origins: tuple[str, ...]
    proxies: tuple[str, ...] = ()
    max_body: int = MAX_BODY
    language: str = "en"


def guarded(app: ASGIApp, settings: Settings, reader: Reader | None = None) -> Guard:
    """Return an application behind the guard that its settings ask for; ``reader`` as in ``Guard``.

    Raises:
        UserError: if a proxy is neither an address nor a network.
    """
    scheme, _, place = settings.origin.partition("://")
    port = _PORT.search(place)
    names = {_PORT.sub("", host) for host in map(_bracketed, settings.hosts)}
    ours = {f"{scheme}://{name}{port[0] if port else ''}" for name in names if name}
    rules = Rules(
        hosts=(*map(_bracketed, settings.hosts), place),
        origins=(settings.origin, *sorted(ours)),
        proxies=settings.proxies,
        language=settings.language,
    )
    return Guard(app, rules, reader=reader)


class Guard:
    """The layer; see the module.

    Args:
        app: what is guarded.
        rules: of this studio.
        clock: seconds, for ``Server-Timing``.
        reader: who reads a refusal, in whose language it is said.

    Raises:
        UserError: if a proxy is neither an address nor a network.
    """

    def __init__(
        self, app: ASGIApp, rules: Rules, *, clock: Callable[[], float] = time.perf_counter, reader: Reader | None = None
    ) -> None:  # fmt: skip
        self._app = app
        self._reader = reader
        self._clock = clock
        self._hosts = frozenset(host.lower().encode("latin-1") for host in rules.hosts)
        self._origins = frozenset(origin.lower().rstrip("/").encode("latin-1") for origin in rules.origins)
        self._proxies = _networks(rules.proxies)
        self._max_body = rules.max_body
        self._language = rules.language
        own = any(o.startswith("https://") and not _LOOPBACK.match(o) for o in rules.origins[:1])
        self._more = (_TLS_ONLY,) if own else ()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Guard one request; sockets are closed, for there are none here."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        await self._guard(scope, receive, _Answer(send, self._clock, self._more))

    async def _guard(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        headers = _known(scope["headers"])
        speak(choose(Request(scope), None, self._language))
        body = _Body(receive, self._allowed(scope)[0], answer)
        client = scope.get("client")
        if scope["method"] not in SAFE_METHODS and client is not None and self._is_proxy(client[0]):
            answer.unread = body
        refusal = self._refusal(scope, headers)
        mistyped = refusal is _NOT_OURS and scope["method"] in SAFE_METHODS
        if mistyped or (refusal is _TOO_LARGE and b"text/html" in headers.get(b"accept", b"")):
            # People mistype addresses and paste long texts: they get the application's own page, which never sees either.
            scope = {**scope, "path": _NOWHERE, "raw_path": _NOWHERE.encode(), "query_string": b""}
            if not mistyped:
                scope |= {"method": "GET", REFUSED: _TOO_LARGE[0]}
        elif refusal is not None:
            if self._reader is not None:
                request = Request(scope)
                speak(choose(request, await self._reader(request), self._language))
            await send_problem(answer, *refusal)
            return
        try:
            await self._app(self._believed(scope, headers), body, answer)
        except _TooLargeError:
            if answer.started:
                raise
            await send_problem(answer, *_TOO_LARGE)
        except Exception:
            if not answer.started:
                await send_problem(
                    answer, 500, say("Something went wrong"), say("What was saved before is safe.")
                )
            raise

    def _refusal(self, scope: Scope, headers: dict[bytes, bytes]) -> tuple[int, str, str] | None:
        if not self._is_our_host(headers.get(b"host", b"")):
            return 400, say("Unknown host"), say("This server does not answer under that name.")
        path = scope["path"]
        if len(path) > _LONGEST_PATH or not _PATH.fullmatch(path):
            return _NOT_OURS
        if scope["method"] in SAFE_METHODS:
            return None
        if not self._is_our_page(headers) and not self._is_program(scope, headers):
            return 403, say("Refused"), say("This request did not come from one of our own pages.")
        return self._body_refusal(headers, *self._allowed(scope))

    def _allowed(self, scope: Scope) -> tuple[int, tuple[bytes, ...]]:
        """Return how many bytes of which types may be sent to an address."""
        for address, types in _MEDIA if scope["method"] == "PUT" else ():
            if address.fullmatch(scope["path"]):
                return MAX_SOUND, types
        return self._max_body, _TYPES

    def _body_refusal(
        self, headers: dict[bytes, bytes], most: int, types: tuple[bytes, ...]
    ) -> tuple[int, str, str] | None:
        length = headers.get(b"content-length", b"0")
        if not length.isdigit():
            return 400, say("Bad request"), say("The length of the body is not a number.")
        if int(length) > most:
            return _TOO_LARGE
        if length.strip(b"0") or b"transfer-encoding" in headers:
            kind = headers.get(b"content-type", b"").split(b";", 1)[0].strip().lower()
            if kind not in types:
                return 415, say("Unsupported type"), say("Send JSON or a form; sound as WebM, Ogg or MP4.")
        return None

    def _is_our_host(self, host: bytes) -> bool:
        host = host.lower()
        return host in self._hosts or _without_port(host) in self._hosts

    def _is_our_page(self, headers: dict[bytes, bytes]) -> bool:
        site = headers.get(b"sec-fetch-site")
        if site is not None:
            return site in (b"same-origin", b"none")
        return headers.get(b"origin", b"").lower() in self._origins

    def _is_program(self, scope: Scope, headers: dict[bytes, bytes]) -> bool:
        """True for a program's request: no browser sent it, and cookies, which a page elsewhere could use, do not count there."""
        return scope["path"].startswith(PROGRAMS) and not {b"sec-fetch-site", b"origin"} & headers.keys()

    def _believed(self, scope: Scope, headers: dict[bytes, bytes]) -> Scope:
        """Return the scope with the client's own address, and without headers that only proxies may set."""
        if not any(name in headers for name in _FORWARDED):
            return scope
        scope = dict(scope)
        scope["headers"] = [pair for pair in scope["headers"] if pair[0] not in _FORWARDED]
        client = scope.get("client")
        if client is None or not self._is_proxy(client[0]):
            return scope
        for hop in reversed(headers.get(b"x-forwarded-for", b"").decode("latin-1").split(",")):
            address = hop.strip()
            if not _address(address):
                break
            scope["client"] = (address, 0)
            if not self._is_proxy(address):
                break
        proto = headers.get(b"x-forwarded-proto", b"").rsplit(b",", 1)[-1].strip().lower()
        if proto in (b"http", b"https"):
            scope["scheme"] = proto.decode()
        return scope

    def _is_proxy(self, text: str) -> bool:
        address = _address(text)
        return address is not None and any(address in network for network in self._proxies)


class HideTokens(logging.Filter):
    """Keeps tokens of links out of access logs: ``/invite/…`` instead of the whole address."""

    _TOKENS: Final = re.compile(r"(/(?:invite|setup|start)/)[^\s?\"'/]+")

    def filter(self, record: logging.LogRecord) -> bool:
        """Replace tokens in the message and its arguments; the record always passes."""
        record.msg = self._hidden(record.msg)
        if isinstance(record.args, tuple):
            record.args = tuple(self._hidden(arg) for arg in record.args)
        return True

    def _hidden(self, value: Any) -> Any:
        return self._TOKENS.sub(r"\1…", value) if isinstance(value, str) else value


async def send_problem(
    send: Send, status: int, title: str, detail: str, *headers: tuple[bytes, bytes]
) -> None:
    """Answer with ``application/problem+json`` where there is no request object yet.

    Args:
        send: of ASGI.
        status: of HTTP.
        title: what happened, in two or three words.
        detail: a sentence.
        headers: more of them.
    """
    body = encoded({"title": title, "status": status, "detail": detail})
    start = [
        (b"content-type", b"application/problem+json"),
        (b"content-length", str(len(body)).encode()),
        *headers,
    ]
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": body})


# -- inside --------------------------------------------------------------------------------------------------

_TOO_LARGE: Final = (413, say("Too large"), say("The body is larger than this server takes."))
_SKIPPING_S: Final = 60.0
_PAUSE_S: Final = 5.0

_NOT_OURS: Final = (404, say("Not found"), say("There is nothing here."))
_NOWHERE: Final = "/-/nowhere"


class _TooLargeError(Exception):
    """More came than was allowed."""


class _Answer:
    """``send``, with our headers on the first message.

    A proxy is still sending a body that nobody reads; a connection closed under its hands is a 502 to it, and a server that
    is down. What it sends is therefore read first, within limits.
    """

    __slots__ = ("_begun", "_clock", "_more", "_send", "refused", "started", "unread")

    def __init__(
        self, send: Send, clock: Callable[[], float], more: Sequence[tuple[bytes, bytes]] = ()
    ) -> None:
        self._send = send
        self._more = more
        self._clock = clock
        self._begun = clock()
        self.started = False
        self.refused = False
        self.unread: _Body | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            if self.unread is not None:
                unread, self.unread = self.unread, None
                await unread.skip()
            if self.refused and message["status"] != 413:
                raise _TooLargeError  # an application that caught the first one and answers something else
            self.started = True
            message["headers"] = self._with_ours(message.get("headers", ()))
        await self._send(message)

    def _with_ours(self, headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        headers = list(headers)
        kept = [pair for pair in headers if pair[0].lower() not in _OURS]
        asked = next(
            (value for name, value in headers if name == b"permissions-policy" and value in _ASKED), b""
        )
        kept += ((name, value.replace(_ASKED[asked], asked) if asked else value) for name, value in _HEADERS)
        kept += self._more
        if not any(name.lower() == b"cache-control" for name, _ in kept):
            kept.append(_NO_STORE)
        spent = (self._clock() - self._begun) * 1000
        kept.append((b"server-timing", b"app;dur=%.2f" % spent))
        return kept


class _Body:
    """``receive``, which stops when more comes than was declared or allowed."""

    __slots__ = ("_answer", "_left", "_more", "_receive")

    def __init__(self, receive: Receive, most: int, answer: _Answer) -> None:
        self._receive = receive
        self._left = most
        self._answer = answer
        self._more = True

    async def skip(self) -> None:
        """Read what is left of it and keep nothing."""
        left, end = MAX_SOUND, asyncio.get_running_loop().time() + _SKIPPING_S
        with suppress(TimeoutError):
            while self._more and left > 0:
                async with asyncio.timeout_at(min(end, asyncio.get_running_loop().time() + _PAUSE_S)):
                    message = await self._receive()
                left -= len(message.get("body", b""))
                self._more = message.get("more_body", False)

    async def __call__(self) -> Message:
        message = await self._receive()
        self._more = message.get("more_body", False)
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            if self._left < 0:
                self._answer.refused = True
                raise _TooLargeError
        return message


def _known(pairs: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Return headers by name; one that comes twice is joined, so that no second Host or Origin slips by."""
    found: dict[bytes, bytes] = {}
    for name, value in pairs:
        found[name] = found[name] + b"," + value if name in found else value
    return found


def _without_port(host: bytes) -> bytes:
    name, colon, port = host.rpartition(b":")
    return name if colon and port.isdigit() else host


def _bracketed(host: str) -> str:
    """Write an IPv6 address as browsers do in the Host header."""
    return f"[{host}]" if host.count(":") > 1 and not host.startswith("[") else host


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, ipaddress.IPv6Address) else found


def _networks(proxies: Iterable[str]) -> tuple[_Network, ...]:
    try:
        return tuple(ipaddress.ip_network(text, strict=False) for text in proxies)
    except ValueError as error:
        raise UserError(
            f"this is no address of a proxy: {error}.", hint="give addresses such as 10.0.0.5 or 10.0.0.0/24"
        ) from error

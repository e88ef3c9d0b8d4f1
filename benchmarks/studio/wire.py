"""A light HTTP/1.1 client for measuring: one keep-alive connection per person, cookies kept, the clock read around each request.

It shares the cores with the server under test, so it does no more than a benchmark needs: one protocol object, one buffer,
no redirects, no TLS. Replies may have a Content-Length, be chunked or end with the connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode


class WireError(ConnectionError):
    """The connection was refused or ended before the reply was whole: nobody knows whether the request was carried out."""


@dataclass(slots=True)
class Reply:
    """An answer, and when it came.

    Attributes:
        status: of HTTP.
        headers: names in lower case; of a repeated header the last, except ``cookies``.
        cookies: of all Set-Cookie headers, name to value.
        body: decoded from chunks.
        began: clock (``time.perf_counter``) when the request was written (or its connection asked for).
        seconds: from then until the last byte.
    """

    status: int
    headers: dict[str, str]
    cookies: dict[str, str]
    body: bytes
    began: float = 0.0
    seconds: float = 0.0


class _Stream(asyncio.Protocol):
    """One connection; at most one request is under way."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.open = False
        self._buffer = bytearray()
        self._waiting: asyncio.Future[Reply] | None = None
        self._reply: Reply | None = None
        self._length: int | None = None
        self._chunked = False
        self._bodiless = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        self.open = True

    def ask(self, data: bytes, *, bodiless: bool) -> asyncio.Future[Reply]:
        assert self.transport is not None
        self._waiting = asyncio.get_running_loop().create_future()
        self._reply = None
        self._bodiless = bodiless
        self.transport.write(data)
        return self._waiting

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        try:
            self._advance()
        except (ValueError, IndexError) as error:
            self._fail(WireError(f"not HTTP: {error}"))

    def connection_lost(self, exc: Exception | None) -> None:
        self.open = False
        reply = self._reply
        if reply is not None and self._length is None and not self._chunked:
            reply.body = bytes(self._buffer)
            self._finish(reply)
            return
        self._fail(WireError(str(exc) if exc else "the server closed the connection"))

    def _fail(self, error: WireError) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.done():
            waiting.set_exception(error)
        if self.transport is not None:
            self.transport.close()
        self.open = False

    def _advance(self) -> None:
        while self._waiting is not None:
            if self._reply is None and not self._head():
                return
            reply = self._reply
            assert reply is not None
            if self._bodiless or reply.status in (204, 304):
                self._finish(reply)
            elif self._chunked:
                if not self._chunks(reply):
                    return
                self._finish(reply)
            elif self._length is not None and len(self._buffer) >= self._length:
                reply.body = bytes(self._buffer[: self._length])
                del self._buffer[: self._length]
                self._finish(reply)
            else:
                return

    def _head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return False
        lines = bytes(self._buffer[:end]).decode("latin-1").split("\r\n")
        del self._buffer[: end + 4]
        status = int(lines[0].split(" ", 2)[1])
        if 100 <= status < 200:
            return self._head()
        reply = Reply(status, {}, {}, b"")
        for line in lines[1:]:
            name, _, value = line.partition(":")
            name, value = name.strip().lower(), value.strip()
            reply.headers[name] = value
            if name == "set-cookie":
                key, _, rest = value.partition("=")
                reply.cookies[key] = rest.partition(";")[0]
        length = reply.headers.get("content-length")
        self._length = None if length is None else int(length)
        self._chunked = "chunked" in reply.headers.get("transfer-encoding", "").lower()
        self._reply = reply
        return True

    def _chunks(self, reply: Reply) -> bool:
        parts, at = [], 0
        while True:
            end = self._buffer.find(b"\r\n", at)
            if end < 0:
                return False
            size = int(bytes(self._buffer[at:end]).partition(b";")[0], 16)
            stop = end + 2 + size
            if len(self._buffer) < stop + 2:
                return False
            if size == 0:
                del self._buffer[: stop + 2]
                reply.body = b"".join(parts)
                return True
            parts.append(bytes(self._buffer[end + 2 : stop]))
            at = stop + 2

    def _finish(self, reply: Reply) -> None:
        waiting, self._waiting, self._reply = self._waiting, None, None
        if waiting is not None and not waiting.done():
            waiting.set_result(reply)
        if reply.headers.get("connection", "").lower() == "close" and self.transport is not None:
            self.open = False
            self.transport.close()


@dataclass
class Person:
    """One browser's worth of connection: a place, cookies, headers sent every time.

    Attributes:
        host: address of the server.
        port: of the server.
        cookies: sent with every request; what replies set is kept.
        headers: sent with every request.
        timeout: seconds a reply may take.
    """

    host: str
    port: int
    cookies: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    timeout: float = 30.0
    _stream: _Stream | None = None

    async def request(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Reply:
        """Send one request and wait for the whole reply.

        Raises:
            WireError: if there is no connection, or it ended before the reply was whole.
        """
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.host}:{self.port}"]
        lines += [f"{name}: {value}" for name, value in {**self.headers, **(headers or {})}.items()]
        if self.cookies:
            lines.append("Cookie: " + "; ".join(f"{k}={v}" for k, v in self.cookies.items()))
        if body or method in ("POST", "PUT", "PATCH"):
            lines.append(f"Content-Length: {len(body)}")
        data = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body
        began = time.perf_counter()
        try:
            async with asyncio.timeout(self.timeout):
                stream = await self._open()
                reply = await stream.ask(data, bodiless=method == "HEAD")
        except TimeoutError:
            self.close()
            raise WireError(f"no reply within {self.timeout:g} s") from None
        except WireError:
            self.close()
            raise
        except OSError as error:
            self.close()
            raise WireError(str(error)) from error
        reply.began, reply.seconds = began, time.perf_counter() - began
        self.cookies.update(reply.cookies)
        return reply

    async def post_form(self, path: str, fields: Mapping[str, str]) -> Reply:
        """Send a form the way a browser does."""
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        return await self.request("POST", path, urlencode(fields).encode(), kind)

    async def _open(self) -> _Stream:
        if self._stream is None or not self._stream.open:
            loop = asyncio.get_running_loop()
            _, self._stream = await loop.create_connection(_Stream, self.host, self.port)
        return self._stream

    def close(self) -> None:
        """End the connection; the next request opens another."""
        stream, self._stream = self._stream, None
        if stream is not None and stream.transport is not None:
            with contextlib.suppress(Exception):
                stream.transport.abort()

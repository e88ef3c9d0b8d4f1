"""One HTTP request and what came back, or a typed failure: the only file that talks to the network.

One aiohttp session per event loop is shared by all models that work there. Redirects are not followed, cookies are not
kept, replies are bounded in size and time, and nothing that the other side does raises.
"""

from __future__ import annotations

import asyncio
import functools
import os
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import msgspec

from proctor.llm.keys import is_loopback, redact
from proctor.llm.outcome import Failure, FailureKind

if TYPE_CHECKING:
    import aiohttp

__all__ = ["MAX_REPLY_BYTES", "Body", "HttpReply", "Lease", "joined"]

Body = Sequence[bytes]
"""A request's body in pieces; the large ones are the media store's own bytes and are never copied."""

MAX_REPLY_BYTES: Final = 32 * 2**20
"""A longer reply is given up: no answer is that long, but a broken or hostile server may never end."""
_CONNECTIONS: Final = 4_096
"""Open at once, over all hosts; how many are wise is the flow's business, this only keeps a mistake bounded."""
_IDLE: Final = 30.0
"""Seconds that an unused connection is kept; most servers close theirs after 60 or more."""


class HttpReply(msgspec.Struct, frozen=True):
    """What a server answered.

    Attributes:
        status: HTTP status.
        headers: names are found in any case.
        body: decompressed, at most ``MAX_REPLY_BYTES``.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


def joined(body: Body) -> bytes:
    """Return the body in one piece (tests, records)."""
    return b"".join(body)


class _Shared:
    """The session of one event loop and who uses it."""

    __slots__ = ("session", "users")

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.session = session
        self.users = 0


_shared: WeakKeyDictionary[asyncio.AbstractEventLoop, _Shared] = WeakKeyDictionary()


class Lease:
    """A model's right to the shared session of the running loop; the last one to leave closes it."""

    def __init__(self) -> None:
        self._held: WeakKeyDictionary[asyncio.AbstractEventLoop, _Shared] = WeakKeyDictionary()

    def _session(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        held = self._held.get(loop)
        if held is None or held.session.closed:
            held = _shared.get(loop)
            if held is None or held.session.closed:
                held = _shared[loop] = _Shared(_make_session())
            held.users += 1
            self._held[loop] = held
        return held.session

    async def close(self) -> None:
        """Give the session of the running loop back."""
        held = self._held.pop(asyncio.get_running_loop(), None)
        if held is not None:
            held.users -= 1
            if held.users <= 0 and not held.session.closed:
                await held.session.close()

    async def post(
        self, url: str, headers: Mapping[str, str], body: Body, *, timeout: float
    ) -> HttpReply | Failure:
        """Send a JSON body once and return the reply, whatever its status.

        Args:
            url: where to.
            headers: those of the provider; content type and length are added.
            body: JSON, in pieces.
            timeout: seconds for everything: name, connection, sending, waiting and reading.
        """
        try:
            async with asyncio.timeout(timeout):
                return await self._post(url, headers, body)
        except TimeoutError:
            return Failure(
                kind="timeout", message=f"no complete reply within {timeout:g} seconds.", lost=True
            )
        except OSError as error:
            return Failure(kind="connection", message=_told(error), lost=_was_connected(error))
        except UnicodeError:  # from the look-up of a host's name
            return Failure(
                kind="bad_request", message="the address of the model has an impossible host name."
            )
        except Exception as error:
            failure = _from_aiohttp(error)
            if failure is None:
                raise
            return failure

    async def _post(self, url: str, headers: Mapping[str, str], body: Body) -> HttpReply | Failure:
        session = self._session()
        # the payload writes the pieces as they are: ten images are ten writes and no copy of ours
        data = body[0] if len(body) == 1 and len(body[0]) < _PLAIN else _payload_type()(body)
        async with session.post(
            _url(url), headers=headers, data=data, allow_redirects=False, proxy=_proxy(url)
        ) as response:
            size = response.content_length
            if size is not None and size > MAX_REPLY_BYTES:
                response.close()
                return _too_long(response.status)
            chunks: list[bytes] = []
            read = 0
            async for chunk in response.content.iter_any():
                read += len(chunk)
                if read > MAX_REPLY_BYTES:
                    response.close()
                    return _too_long(response.status)
                chunks.append(chunk)
            raw = chunks[0] if len(chunks) == 1 else b"".join(chunks)
            coding = response.headers.get("Content-Encoding", "identity").strip().lower()
            if coding not in {"", "identity"}:
                unpacked = _unpacked(raw, coding)
                if unpacked is None:
                    return Failure(
                        kind="server",
                        message=f"the reply is compressed ({redact(coding[:40])!r}) and cannot be unpacked "
                        f"within {MAX_REPLY_BYTES >> 20} MB.",
                        status=response.status,
                        lost=response.ok,
                    )
                raw = unpacked
            return HttpReply(response.status, response.headers, raw)


_PLAIN: Final = 2**19
"""Bytes up to which a body in one piece is handed over as it is."""


def _too_long(status: int) -> Failure:
    return Failure(
        kind="server",
        message=f"the reply is longer than {MAX_REPLY_BYTES >> 20} MB.",
        status=status,
        lost=status < 400,
    )


def _make_session() -> aiohttp.ClientSession:
    import aiohttp

    from proctor.version import __version__

    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=_CONNECTIONS, keepalive_timeout=_IDLE, ttl_dns_cache=300),
        timeout=aiohttp.ClientTimeout(total=None),  # ours is around everything
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,  # ours is bounded
        headers={
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": f"proctor/{__version__}",
        },
    )


_urls: dict[str, Any] = {}


def _url(text: str) -> Any:
    """Return the parsed URL; there is one a model, so parsing each time would be waste."""
    found = _urls.get(text)
    if found is None:
        from yarl import URL

        if len(_urls) > 1_000:
            _urls.clear()
        found = _urls[text] = URL(text, encoded=True)
    return found


_proxies: dict[str, str | None] = {}


def _proxy(url: str) -> str | None:
    """Return the proxy that the environment names for this address, read once; none for this machine.

    Not left to aiohttp's ``trust_env``, which reads ``~/.netrc`` as well and costs a look-up per request.
    """
    if url not in _proxies:
        from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]

        parts = urlsplit(url)
        if len(_proxies) > 1_000:
            _proxies.clear()
        if is_loopback(url) or proxy_bypass_environment(parts.netloc):
            _proxies[url] = None
        else:
            found = getproxies_environment()
            proxy = found.get(parts.scheme) or found.get("all")
            _proxies[url] = proxy if proxy and proxy.startswith("http") else None
    return _proxies[url]


@functools.cache
def _payload_type() -> Any:
    import aiohttp
    from aiohttp.abc import AbstractStreamWriter

    class Pieces(aiohttp.Payload):
        """A body in pieces, of known length, that can be sent again."""

        _autoclose = True

        def __init__(self, body: Body) -> None:
            super().__init__(body, content_type="application/json")
            self._size = sum(map(len, body))

        def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
            return b"".join(self._value).decode(encoding, errors)

        async def write(self, writer: AbstractStreamWriter) -> None:
            for piece in self._value:
                await writer.write(piece)

        async def write_with_length(
            self,
            writer: AbstractStreamWriter,
            content_length: int | None,  # noqa: ARG002 - ours is the body's
        ) -> None:
            await self.write(writer)

    return Pieces


def _unpacked(data: bytes, coding: str) -> bytes | None:
    """Return the decompressed body, or None if that is not possible within the limit.

    We ask for none; some proxies compress all the same. A small body may unpack to gigabytes, so the output is bounded.
    """
    if coding not in {"gzip", "x-gzip", "deflate"}:
        return None
    for bits in (zlib.MAX_WBITS | 32, -zlib.MAX_WBITS):  # with a header (gzip or zlib), then without one
        unpack = zlib.decompressobj(bits)
        try:
            out = unpack.decompress(data, MAX_REPLY_BYTES + 1)
        except zlib.error:
            continue
        return out if unpack.eof and len(out) <= MAX_REPLY_BYTES else None
    return None


def _told(error: BaseException) -> str:
    """Return what went wrong in a few words, without addresses that may hold secrets."""
    name = type(error).__name__
    if "DNS" in name or "gaierror" in name:
        return "no connection: there is no host of this name."
    if "Certificate" in name or "SSL" in name:
        return "no connection: the server's certificate or encryption cannot be trusted."
    number = getattr(error, "errno", None)
    reason = os.strerror(number) if isinstance(number, int) and number > 0 else name
    return f"no connection: {reason}."


def _was_connected(error: OSError) -> bool:
    """True when the connection broke after it had been made: the request may have arrived."""
    import aiohttp

    if isinstance(error, aiohttp.ClientConnectorError):
        return False
    return isinstance(error, aiohttp.ClientOSError | ConnectionResetError | BrokenPipeError)


def _from_aiohttp(error: Exception) -> Failure | None:
    """Return the failure that an exception of aiohttp means; None for a mistake of ours."""
    import aiohttp

    kind: FailureKind = "connection"
    lost = True
    if isinstance(error, aiohttp.InvalidURL):
        return Failure(kind="bad_request", message="the address of the model is not a URL.")
    if isinstance(error, aiohttp.ClientPayloadError):
        kind, message = "server", "the reply was cut off, or is not what its headers say."
    elif isinstance(error, aiohttp.ClientHttpProxyError):
        message, lost = f"the proxy answered with status {error.status}.", False
    elif isinstance(error, aiohttp.ClientResponseError):
        kind, message = "server", "the server does not speak HTTP as it should."
    elif isinstance(error, aiohttp.ServerDisconnectedError):
        message = "the server closed the connection without a reply."
    elif isinstance(error, aiohttp.ClientError):
        message = f"no connection: {type(error).__name__}."
    elif type(error).__module__.startswith("aiohttp"):  # aiohttp.http_exceptions: malformed answers
        kind, message = "server", "the server does not speak HTTP as it should."
    else:
        return None
    return Failure(kind=kind, message=message, lost=lost)

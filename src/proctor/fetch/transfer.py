"""One request for the rest of one file: redirects followed by our rules, bytes written as they come."""

from __future__ import annotations

import asyncio
import base64
import functools
import hashlib
import re
import time
import zlib
from collections.abc import Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import msgspec

from proctor.errors import UserError
from proctor.fetch.address import (
    is_public,
    next_hop,
    proxy_for,
    require_allowed,
    same_origin,
    shown_address,
    split_credentials,
)
from proctor.records import read_json, write_json

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import aiohttp

__all__ = ["Limits", "MishapError", "Partial", "Transfer", "rest"]

_CHUNK: Final = 2**18
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_AGAIN: Final = (408, 425, 429, 500, 502, 503, 504)
_RANGE: Final = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18}|\*)", re.ASCII)
_NOTHING_LEFT: Final = re.compile(r"bytes \*/(\d{1,18})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Limits:
    """How long and how much.

    Attributes:
        connect: seconds for a connection.
        idle: seconds without a byte.
        window: seconds over which the slowest rate counts.
        least_rate: bytes a second; a slower server is hung up on.
        fruitless: attempts after one another that bring nothing.
        attempts: in all, for one file.
        backoff: seconds before the second attempt; twice as many before each further one.
        longest_wait: seconds between two attempts, at most, whatever the server asks for.
        size: bytes of a file whose size nobody has declared.
        redirects: followed for one request.
    """

    connect: float = 30.0
    idle: float = 60.0
    window: float = 60.0
    least_rate: float = 1_000.0
    fruitless: int = 6
    attempts: int = 60
    backoff: float = 1.0
    longest_wait: float = 120.0
    size: int = 2**40
    redirects: int = 5


class MishapError(Exception):
    """An attempt that failed and may be made again.

    Args:
        message: what happened, as a sentence.
        wait: seconds that the server asked for.
        slow: something came, but too slowly to count.
    """

    def __init__(self, message: str, wait: float | None = None, *, slow: bool = False) -> None:
        super().__init__(message)
        self.message, self.wait, self.slow = message, wait, slow


class Partial(msgspec.Struct, omit_defaults=True):
    """What is known of an unfinished file, kept beside it.

    Attributes:
        address: where it came from, without credentials, and a mark of the whole address.
        etag: strong one of the server, or "".
        modified: date of the server, or "".
        total: bytes of the whole file, None where the server has not said.
        done: it is whole.
        coded: it came compressed for the way, so it cannot be gone on with.
    """

    address: str
    etag: str = ""
    modified: str = ""
    total: int | None = None
    done: bool = False
    coded: bool = False


class Transfer:
    """The unfinished file of one address, and the requests that go on with it.

    Args:
        url: checked address, possibly with credentials.
        given: the user gave it himself.
        part: the unfinished file; what is known of it lies beside it.
        size: bytes that it must have, None where nobody has said.
        limits: of time and size.
        seen: told the bytes that are there and that there will be.
    """

    def __init__(
        self,
        url: str,
        *,
        given: bool,
        part: Path,
        size: int | None,
        limits: Limits,
        seen: Callable[[int, int | None], None],
    ) -> None:
        self._url, self._credentials = split_credentials(url)
        self._given, self._part, self._size = given, part, size
        self._limits, self._seen = limits, seen
        self._notes = part.with_suffix(".json")
        self.known = self._read_notes()
        self.resumed = False

    @property
    def _address(self) -> str:
        """The address as it is noted: of its query, which may hold a token, only whether it is the same one."""
        return f"{shown_address(self._url)}#{hashlib.sha256(self._url.encode()).hexdigest()[:8]}"

    @property
    def have(self) -> int:
        """Bytes that are there."""
        return self._part.stat().st_size if self._part.is_file() else 0

    def begin_anew(self) -> None:
        """Forget what is there."""
        self._part.unlink(missing_ok=True)
        self._notes.unlink(missing_ok=True)
        self.known = Partial(self._address)

    async def go_on(self) -> None:
        """Ask once for what is missing; returns when the file is whole.

        Raises:
            MishapError: if it may be tried again.
            UserError: if trying again is no use.
        """
        if self.known.done and self.have:
            self.resumed = True
            return
        total = self.known.total
        if self.known.coded or (total is not None and self.have > total):
            self.begin_anew()
        async with self._answer() as response:
            await self._take(response)

    def _read_notes(self) -> Partial:
        address = self._address
        known: Partial | None = None
        # a broken note of our own: nothing is known of the bytes beside it
        with suppress(UserError):
            known = read_json(self._notes, Partial) if self._notes.is_file() else None
        if known is not None and known.address == address:
            return known
        self._part.unlink(missing_ok=True)
        return Partial(address)

    # -- asking ------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _answer(self) -> AsyncIterator[aiohttp.ClientResponse]:
        """Yield the answer to a request for the rest, after redirects; failures of the network are mishaps."""
        import aiohttp

        try:
            url = self._url
            for _ in range(self._limits.redirects + 1):
                async with self._request(url) as response:
                    if response.status not in _REDIRECTS:
                        yield response
                        return
                    url = next_hop(url, response.headers.get("Location", ""), given=self._given)
            raise UserError(
                f"the server redirects more than {self._limits.redirects} times.",
                where=shown_address(self._url),
            )
        except TimeoutError:
            raise MishapError("nothing came for too long.") from None
        except _PrivateError:
            raise UserError(
                "this name leads to a private network.",
                where=shown_address(self._url),
                hint="only an address that you give yourself with --from may",
            ) from None
        except aiohttp.ClientConnectorCertificateError:
            raise UserError(
                "the server's certificate is not valid.",
                where=shown_address(self._url),
                hint="check this machine's date, and whether a proxy has a certificate of its own (SSL_CERT_FILE)",
            ) from None
        except aiohttp.ClientError as error:
            if isinstance(error.__cause__, _PrivateError) or isinstance(error, aiohttp.InvalidURL):
                raise UserError("this address cannot be asked.", where=shown_address(self._url)) from None
            raise MishapError(_told(error)) from None

    @asynccontextmanager
    async def _request(self, url: str) -> AsyncIterator[aiohttp.ClientResponse]:
        from yarl import URL

        require_allowed(url, given=self._given)
        headers = self._range()
        if self._credentials is not None and same_origin(url, self._url):
            words = ":".join(self._credentials).encode()
            headers["Authorization"] = f"Basic {base64.b64encode(words).decode()}"
        proxy = proxy_for(url)
        async with (
            _session(self._limits, guarded=not self._given and proxy is None) as session,
            session.get(
                URL(url, encoded=url.isascii()),
                allow_redirects=False,
                headers=headers,
                proxy=proxy,
            ) as response,
        ):
            yield response

    def _range(self) -> dict[str, str]:
        """Ask for what is missing; a server whose file has changed meanwhile sends the whole one."""
        if not self.have:
            return {}
        found = {"Range": f"bytes={self.have}-"}
        unchanged = self.known.etag or self.known.modified
        return {**found, "If-Range": unchanged} if unchanged else found

    # -- taking ------------------------------------------------------------------------------------------------

    async def _take(self, response: aiohttp.ClientResponse) -> None:
        have = self.have
        self.resumed = False
        if response.status == 416 and have:
            self._take_nothing_left(response, have)
            return
        if response.status == 206 and have:
            self._judge_rest(response, have)
            self.resumed = True
        elif response.status == 200:
            self._remember(response)
            have = 0
        else:
            raise _failed(response, self._url, self._limits)
        await self._write(response, have)

    def _take_nothing_left(self, response: aiohttp.ClientResponse, have: int) -> None:
        found = _NOTHING_LEFT.fullmatch(response.headers.get("Content-Range", ""))
        if found and int(found[1]) == have and self.known.total in (None, have):
            self.resumed = True
            self._finish()
            return
        self.begin_anew()
        raise MishapError("the server does not know the rest of the file; it starts over.", 0.0)

    def _judge_rest(self, response: aiohttp.ClientResponse, have: int) -> None:
        """Make sure that the rest belongs to what is there."""
        found = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
        total = int(found[3]) if found and found[3] != "*" else None
        etag = _strong(response)
        same = (
            found is not None
            and int(found[1]) == have
            and (total is None or self.known.total in (None, total))
            and not (self.known.etag and etag and etag != self.known.etag)
            and _coding(response) == ""
        )
        if not same:
            self.begin_anew()
            raise MishapError("the file has changed at the server; it starts over.", 0.0)
        if total is not None and self.known.total is None:
            self._require_size(total)
            self.known.total = total
            self._write_notes()

    def _remember(self, response: aiohttp.ClientResponse) -> None:
        """Begin a file: note what the server says of it before the first byte is written."""
        coded = bool(_coding(response))
        total = None if coded else response.content_length
        if total is not None:
            self._require_size(total)
        self._part.unlink(missing_ok=True)
        modified = response.headers.get("Last-Modified", "")[:100]
        self.known = Partial(self._address, _strong(response), modified, total, coded=coded)
        self._write_notes()

    def _write_notes(self) -> None:
        write_json(self._notes, self.known)

    def _require_size(self, total: int) -> None:
        most = self._size if self._size is not None else self._limits.size
        if total > most or (self._size is not None and total != self._size):
            declared = "declared are" if self._size is not None else "the most that is taken is"
            raise UserError(
                f"the server has {total:,} bytes; {declared} {most:,}.",
                where=shown_address(self._url),
                hint="the file is another than the data set's reader was written for",
            )

    async def _write(self, response: aiohttp.ClientResponse, have: int) -> None:
        unpack = _decoder(_coding(response), self._url)
        most = self._size if self._size is not None else self._limits.size
        pace = _Pace(self._limits)
        with self._part.open("r+b" if have else "wb", buffering=0) as stream:
            stream.seek(have)
            self._seen(have, self.known.total or self._size)
            async for raw in response.content.iter_chunked(_CHUNK):
                for chunk in unpack(raw):
                    have += len(chunk)
                    if have > most:
                        raise self._too_long(most)
                    _write_all(stream, chunk)
                    self._seen(have, self.known.total or self._size)
                pace.require(len(raw))
        total = self.known.total
        if total is not None and have != total:
            raise MishapError(f"the connection ended after {have:,} of {total:,} bytes.")
        self._finish()

    def _too_long(self, most: int) -> UserError:
        self.begin_anew()
        return UserError(
            f"the server sends more than {most:,} bytes, the most that this file may have.",
            where=shown_address(self._url),
        )

    def _finish(self) -> None:
        self.known.done = True
        self._write_notes()


class _Pace:
    """Hangs up on a server that trickles."""

    def __init__(self, limits: Limits) -> None:
        self._limits, self._begin, self._bytes = limits, time.monotonic(), 0

    def require(self, count: int) -> None:
        self._bytes += count
        spent = time.monotonic() - self._begin
        if spent < self._limits.window:
            return
        if self._bytes / spent < self._limits.least_rate:
            raise MishapError(f"too slow: {self._bytes / spent:,.0f} bytes a second.", slow=True)
        self._begin, self._bytes = time.monotonic(), 0


def _write_all(stream: IO[bytes], data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[stream.write(view) :]


# -- what the server says ----------------------------------------------------------------------------------------


def _failed(response: aiohttp.ClientResponse, url: str, limits: Limits) -> Exception:
    """Return what an answer without a file means."""
    said = f"the server answers {response.status}"
    if response.status in _AGAIN:
        wait = _retry_after(response.headers.get("Retry-After", ""))
        if wait is not None and wait > limits.longest_wait:
            return UserError(
                f"{said} and asks to wait {wait:,.0f} seconds.",
                where=shown_address(url),
                hint="run the same command later; what is there is kept",
            )
        return MishapError(f"{said}.", wait)
    if response.status in (401, 403, 407):
        hint = "get access first (see 'proctor datasets info'); take files you have with --from FOLDER"
    elif response.status in (404, 410):
        hint = "the file has moved: look at the data set's homepage, or name a mirror with --from"
    else:
        hint = "name a mirror with --from, or try later"
    return UserError(f"{said}.", where=shown_address(url), hint=hint)


def _retry_after(text: str) -> float | None:
    text = text.strip()
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    try:
        when = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max((when - datetime.now(UTC)).total_seconds(), 0.0)


def _strong(response: aiohttp.ClientResponse) -> str:
    """Return the strong ETag: a weak one says nothing of bytes."""
    found = response.headers.get("ETag", "").strip()
    return found if found.startswith('"') and len(found) <= 500 and found.isprintable() else ""


def _coding(response: aiohttp.ClientResponse) -> str:
    found = response.headers.get("Content-Encoding", "").strip().lower()
    return "" if found == "identity" else found


def _decoder(coding: str, url: str) -> Callable[[bytes], Any]:
    """Return what turns bytes as they come into bytes of the file, in pieces of bounded size."""
    if not coding:
        return lambda raw: (raw,)
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise UserError(
            f"the server packs the file for the way as {coding[:40]!r}, which was not asked for.",
            where=shown_address(url),
            hint="name a mirror with --from",
        )
    inflate = zlib.decompressobj(wbits=47)

    def pieces(raw: bytes) -> Any:
        while raw:
            try:
                yield inflate.decompress(raw, _CHUNK)
            except zlib.error:
                raise MishapError("the server's compression is broken.") from None
            raw = inflate.unconsumed_tail

    return pieces


def _told(error: Exception) -> str:
    """Say what broke; the library's own text may quote the address with its credentials."""
    cause = error if isinstance(error, OSError) else error.__cause__
    reason = cause.strerror if isinstance(cause, OSError) and cause.strerror else type(error).__name__
    return f"the connection failed ({reason})."


# -- the session -----------------------------------------------------------------------------------------------


class _PrivateError(OSError):
    """A name that leads into a private network."""


@asynccontextmanager
async def _session(limits: Limits, *, guarded: bool) -> AsyncIterator[aiohttp.ClientSession]:
    """Yield a session; where it is guarded, names that lead to a private network are refused.

    That is so unless the user gave the address. A proxy looks names up itself and stands in a private network as a rule, so with one only the address's text counts.
    """
    import aiohttp

    from proctor.version import __version__

    connector = aiohttp.TCPConnector(
        limit=4, resolver=_public_resolver()() if guarded else aiohttp.ThreadedResolver()
    )
    async with aiohttp.ClientSession(
        connector=connector,
        timeout=aiohttp.ClientTimeout(
            total=None, connect=limits.connect, sock_connect=limits.connect, sock_read=limits.idle
        ),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        headers={"Accept-Encoding": "identity", "User-Agent": f"proctor/{__version__}"},
    ) as session:
        yield session


@functools.cache
def _public_resolver() -> type[Any]:
    import socket

    import aiohttp

    class Public(aiohttp.ThreadedResolver):
        """Looks names up and keeps only what is in the open internet."""

        async def resolve(
            self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
        ) -> list[Any]:
            found = await super().resolve(host, port, family)
            kept = [one for one in found if is_public(one["host"])]
            if found and not kept:
                raise _PrivateError(None, "private address")
            return kept

    return Public


async def rest(seconds: float) -> None:
    """Wait; a name of its own so that tests can count."""
    await asyncio.sleep(seconds)

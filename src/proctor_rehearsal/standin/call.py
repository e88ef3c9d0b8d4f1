"""One request as the stand-in sees it: bytes first, everything else only when somebody asks."""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import msgspec
import xxhash

if TYPE_CHECKING:
    from proctor_rehearsal.standin.protocols.base import Protocol

__all__ = ["Call", "Content", "MediaCheck", "Medium", "Rejected", "Turn", "draw", "request_key"]

_REMEMBERED: Final = 20_000
"""Media whose size and hash are remembered, so that a picture in a thousand requests is decoded once."""


class Rejected(Exception):  # noqa: N818 - it is an answer, not an accident
    """What the client sent is refused.

    Args:
        message: what is wrong.
        status: HTTP status of the reply.
        param: the field at fault, where there is one.
    """

    def __init__(self, message: str, *, status: int = 400, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.param = param


@dataclass(frozen=True, slots=True)
class Medium:
    """An image, a clip or a sound of a request.

    Attributes:
        kind: ``image``, ``video``, ``audio`` or ``file``.
        mime: as the client named it.
        size: bytes after decoding; 0 for one that is only named by a URL.
        sha256: of the decoded bytes, hex; empty for a URL.
        width: pixels, 0 where unknown.
        height: pixels, 0 where unknown.
    """

    kind: str
    mime: str
    size: int
    sha256: str
    width: int = 0
    height: int = 0


@dataclass(frozen=True, slots=True)
class Attached:
    """A medium as it lies in the body: base64 text or a URL.

    Attributes:
        kind: ``image``, ``video``, ``audio`` or ``file``.
        mime: as the client named it.
        text: base64 of the bytes, perhaps behind something else.
        start: where in the text it begins; what is not copied is not paid for.
        url: where they are, instead.
        loose: the alphabet for URLs is taken as well, and the end need not be filled up (Google).
    """

    kind: str
    mime: str
    text: str = ""
    start: int = 0
    url: str = ""
    loose: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """What one side said: its role and its text parts, joined by line breaks."""

    role: str
    text: str


@dataclass(slots=True)
class Content:
    """A request's body, the same for all protocols.

    Attributes:
        model: as the client named it.
        system: the system prompt.
        turns: messages without the system prompt, in order.
        attached: media, in order.
        schema: JSON Schema that the reply must follow, or None.
        tool: name of the tool that the client forces; its input is the reply.
        json_mode: any JSON object is asked for.
        max_tokens: limit on the reply.
        stop: the reply ends before any of these.
        stream: the reply is wanted as server-sent events.
        choices: how many replies are wanted.
    """

    model: str
    system: str = ""
    turns: list[Turn] = field(default_factory=list)
    attached: list[Attached] = field(default_factory=list)
    schema: dict[str, Any] | None = None
    tool: str = ""
    json_mode: bool = False
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    stream: bool = False
    choices: int = 1


class MediaCheck:
    """Decodes media, checks their size and remembers what it saw (by a fast hash of the base64 text).

    Args:
        limit: bytes that one medium may have, as with the real providers (20 MiB unless said otherwise).
    """

    def __init__(self, limit: int = 20 * 2**20) -> None:
        self.limit = limit
        self.decoded = 0
        """How many media were really decoded."""
        self._seen: OrderedDict[bytes, Medium] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, part: Attached) -> Medium:
        """Return what a part is.

        Raises:
            Rejected: if it is not base64, empty or too large.
        """
        if part.url:
            return Medium(part.kind, part.mime, 0, "")
        name = xxhash.xxh3_128_digest(part.text.encode("utf-8", "surrogatepass"), part.start)
        with self._lock:
            found = self._seen.get(name)
        if found is None or (found.kind, found.mime) != (part.kind, part.mime):
            found = self._decode(part)
            with self._lock:
                self.decoded += 1
                self._seen[name] = found
                while len(self._seen) > _REMEMBERED:
                    self._seen.popitem(last=False)
        return found

    def _decode(self, part: Attached) -> Medium:
        text = part.text[part.start :]
        if len(text) * 3 // 4 > self.limit + 2:
            raise Rejected(f"{part.kind} exceeds {self.limit} bytes", status=413)
        if part.loose:
            text = text.replace("-", "+").replace("_", "/").rstrip("=")
            text += "=" * (-len(text) % 4)
        try:
            data = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise Rejected(f"the {part.kind} is not valid base64") from None
        if not data:
            raise Rejected(f"the {part.kind} is empty")
        width, height = image_size(data) if part.kind == "image" else (0, 0)
        return Medium(part.kind, part.mime, len(data), hashlib.sha256(data).hexdigest(), width, height)


def image_size(data: bytes) -> tuple[int, int]:
    """Read width and height from the head of a PNG, GIF, JPEG or WebP; (0, 0) where it cannot be told."""
    try:
        if data[:8] == b"\x89PNG\r\n\x1a\n":
            return struct.unpack(">II", data[16:24])
        if data[:4] == b"GIF8":
            return struct.unpack("<HH", data[6:10])
        if data[:2] == b"\xff\xd8":
            return _jpeg_size(data)
        if data[:4] == b"RIFF" and data[8:16] == b"WEBPVP8X":
            one, two = data[24:27], data[27:30]
            return 1 + int.from_bytes(one, "little"), 1 + int.from_bytes(two, "little")
        if data[:4] == b"RIFF" and data[8:16] == b"WEBPVP8 ":
            width, height = struct.unpack("<HH", data[26:30])
            return width & 0x3FFF, height & 0x3FFF
        if data[:4] == b"RIFF" and data[8:16] == b"WEBPVP8L":
            bits = int.from_bytes(data[21:25], "little")
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    except struct.error:
        pass
    return 0, 0


def _jpeg_size(data: bytes) -> tuple[int, int]:
    place = 2
    while place + 9 <= len(data) and data[place] == 0xFF:
        marker, length = data[place + 1], struct.unpack(">H", data[place + 2 : place + 4])[0]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            return width, height
        place += 2 + length
    return 0, 0


def request_key(path: str, body: bytes) -> str:
    """Return the name of a request, 32 hex digits: equal path and equal bytes give equal names, on every machine."""
    digest = xxhash.xxh3_128(path.encode("utf-8", "surrogatepass"))
    digest.update(b"\0")
    digest.update(body)
    return digest.hexdigest()


def draw(*parts: object) -> float:
    """Return a number from 0 up to 1 that depends on the parts alone: order and concurrency cannot change it."""
    text = "\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=7).digest(), "big") / 2**56


class Call:
    """One request, parsed when asked.

    Attributes:
        protocol: what it speaks.
        path: of the URL, without the query (which may hold a key).
        body: as it came.
        key: name of path and body, 32 hex digits.
        nth: how often this key was seen, this time included.
        number: of the request since the last reset, from 1.
        headers: the few that hold no secret, in lower case.
    """

    def __init__(
        self,
        protocol: Protocol,
        path: str,
        body: bytes,
        *,
        key: str = "",
        nth: int = 1,
        number: int = 1,
        headers: Mapping[str, str] | None = None,
        media: MediaCheck | None = None,
    ) -> None:
        self.protocol = protocol
        self.path = path
        self.body = body
        self.key = key or request_key(path, body)
        self.nth = nth
        self.number = number
        self.headers = headers or {}
        self._check = media or MediaCheck()

    @cached_property
    def json(self) -> dict[str, Any]:
        """The body.

        Raises:
            Rejected: if it is not a JSON object.
        """
        try:
            value = msgspec.json.decode(self.body)
        except (msgspec.DecodeError, RecursionError) as error:
            raise Rejected(f"the body is not valid JSON: {error}") from None
        if not isinstance(value, dict):
            raise Rejected("the body is not a JSON object")
        return value

    @cached_property
    def content(self) -> Content:
        """The body in the words that all protocols share.

        Raises:
            Rejected: if it is not what the protocol asks for.
        """
        try:
            return self.protocol.parse(self)
        except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
            raise Rejected(
                f"the body does not follow the protocol: {type(error).__name__}: {error}"
            ) from None

    @property
    def parsed(self) -> bool:
        """True when somebody has looked into the body already."""
        return "content" in self.__dict__

    @property
    def forced_tool(self) -> str:
        """Name of the tool that the client forces; empty when nobody has looked yet."""
        return self.content.tool if self.parsed else ""

    @cached_property
    def media(self) -> tuple[Medium, ...]:
        """Images, video and audio, decoded and hashed.

        Raises:
            Rejected: if one is broken or too large.
        """
        return tuple(self._check.check(part) for part in self.content.attached)

    @property
    def model(self) -> str:
        """Name of the model, as the client wrote it."""
        return self.content.model

    @property
    def system(self) -> str:
        """The system prompt."""
        return self.content.system

    @cached_property
    def text(self) -> str:
        """System prompt and all turns, joined by line breaks: what rules look at."""
        content = self.content
        return "\n".join(part for part in (content.system, *(turn.text for turn in content.turns)) if part)

    @property
    def last(self) -> str:
        """Text of the last user turn."""
        return next((turn.text for turn in reversed(self.content.turns) if turn.role == "user"), "")

    def draw(self, *parts: object) -> float:
        """Return a number from 0 up to 1 that depends on this request's content and the parts."""
        return draw(self.key, *parts)

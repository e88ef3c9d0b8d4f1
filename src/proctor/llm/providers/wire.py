"""What all models behind HTTP share: render, post, parse; the protocol itself is in the provider's file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import msgspec

from proctor.errors import UserError
from proctor.llm.http import Body, HttpReply, Lease
from proctor.llm.keys import Key
from proctor.llm.media import MediaStore
from proctor.llm.message import Image, Media, Message, Part, Request, Text
from proctor.llm.model import ModelName
from proctor.llm.outcome import Failure, Outcome, Refusal, Reply, Truncated, Usage
from proctor.llm.providers.failures import failure, malformed, parse_error_body

__all__ = [
    "IMAGE_TYPES",
    "MALFORMED",
    "HttpModel",
    "Parse",
    "Render",
    "Said",
    "checked_mime",
    "count",
    "data_url",
    "decode_reply",
    "encode",
    "given",
    "merge_extra",
    "message_pieces",
    "not_a_reply",
    "object_body",
    "only_text",
    "separated",
    "split_system",
    "text_content",
    "together",
]

IMAGE_TYPES: Final = frozenset({"image/jpeg", "image/png", "image/webp", "image/gif"})
MALFORMED: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_MIME: Final = re.compile(r"[a-z]+/[a-z0-9.+-]{1,60}\Z")

encode: Final = msgspec.json.Encoder().encode


class Render(Protocol):
    """Writes a request in a protocol; pure but for the media that it reads."""

    def __call__(self, request: Request, media: MediaStore, model: str) -> Body:
        """Return the JSON body.

        Raises:
            UserError: if the protocol has no way to say this.
        """
        ...


class Parse(Protocol):
    """Reads a reply of a protocol; pure."""

    def __call__(self, status: int, headers: Mapping[str, str], body: bytes) -> Outcome:
        """Return what became of the call; never raises."""
        ...


class HttpModel:
    """A model behind one URL.

    Args:
        name: as the user wrote it.
        base_url: of the provider, without a slash at the end.
        url: that requests are posted to.
        headers: of the protocol; the key's is among them.
        key: for hiding it in what comes back; None where none is sent.
        render: request to body.
        parse: reply to outcome.
    """

    def __init__(
        self,
        name: ModelName,
        base_url: str,
        url: str,
        *,
        headers: Mapping[str, str],
        key: Key | None,
        render: Render,
        parse: Parse,
    ) -> None:
        self._name = name
        self._base_url = base_url
        self._url = url
        self._headers = dict(headers)
        self._key = key
        self._render = render
        self._parse = parse
        self._lease = Lease()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._name)!r})"

    @property
    def name(self) -> str:
        """Full name, as in ``Request.model``."""
        return str(self._name)

    @property
    def endpoint(self) -> str:
        """What shares one limit: address and model."""
        return f"{self._base_url}#{self._name.model}"

    async def attempt(self, request: Request, media: MediaStore, *, timeout: float) -> Outcome:
        """Send the request once and say what became of it."""
        try:
            body = self._render(request, media, self._name.model)
        except UserError as error:  # such as a video where none is taken: no request, so nothing was paid
            return Failure(kind="bad_request", message=error.message)
        except UnicodeEncodeError:  # half a surrogate pair, as in names of files that are not UTF-8
            return Failure(kind="bad_request", message="the request holds text that is not Unicode.")
        reply = await self._lease.post(self._url, self._headers, body, timeout=timeout)
        if not isinstance(reply, HttpReply):
            return reply
        outcome = self._parse(reply.status, reply.headers, reply.body)
        if isinstance(outcome, Failure) and self._key is not None:
            hidden = self._key.hide(outcome.message)
            if hidden != outcome.message:
                outcome = msgspec.structs.replace(outcome, message=hidden)
        return outcome

    async def close(self) -> None:
        """Give connections back."""
        await self._lease.close()


# -- rendering ---------------------------------------------------------------------------------------------------


def object_body(fields: dict[str, Any], name: str, items: Iterable[Iterable[bytes]]) -> Body:
    """Return a JSON object of fields and one list whose items are given in pieces.

    Args:
        fields: encoded as they are; not empty.
        name: of the list.
        items: each as pieces of its JSON text.
    """
    head = (encode(fields)[:-1], b',"', name.encode("ascii"), b'":[')
    return together((*head, *separated(items), b"]}"))


def separated(items: Iterable[Iterable[bytes]]) -> Iterator[bytes]:
    """Yield the pieces of the items of a list, with commas between the items."""
    for number, item in enumerate(items):
        if number:
            yield b","
        yield from item


def text_content(message: Message) -> str | list[dict[str, str]]:
    """Return the content of a message without media, as OpenAI and Anthropic take it."""
    if len(message.parts) == 1:
        return message.text
    return [{"type": "text", "text": part.text} for part in message.parts if isinstance(part, Text)]


def message_pieces(message: Message, who: str, part: Callable[[Part], Iterable[bytes]]) -> Iterator[bytes]:
    """Yield a message as OpenAI and Anthropic take it.

    Args:
        message: with or without media.
        who: of the protocol.
        part: to the pieces of one part of it.

    Raises:
        UserError: for media in a message that is not the user's.
    """
    yield b'{"role":"' + message.role.encode("ascii") + b'","content":'
    if not message.media:
        yield encode(text_content(message)) + b"}"
        return
    if message.role != "user":
        raise UserError(f"{who} takes images only in user messages.")
    yield b"["
    yield from separated(map(part, message.parts))
    yield b"]}"


def given(**fields: Any) -> dict[str, Any]:
    """Return the fields that have a value, in order."""
    return {name: value for name, value in fields.items() if value is not None}


_OWN_PIECE: Final = 2**14
"""Bytes from which a piece is sent as it is; below, copying is cheaper than one more write."""


def together(pieces: Iterable[bytes]) -> Body:
    """Join the small pieces and leave the large ones as they are."""
    out: list[bytes] = []
    small: list[bytes] = []
    for piece in pieces:
        if len(piece) < _OWN_PIECE:
            small.append(piece)
            continue
        if small:
            out.append(b"".join(small))
            small = []
        out.append(piece)
    if small:
        out.append(b"".join(small))
    return out


def data_url(part: Media, media: MediaStore) -> tuple[bytes, bytes]:
    """Return ``data:…;base64,`` and the base64 text, both without quotes."""
    return b"data:" + checked_mime(part).encode("ascii") + b";base64,", media.base64(part)


def checked_mime(part: Media, allowed: frozenset[str] | None = None, who: str = "") -> str:
    """Return the part's media type, which goes into JSON as it is.

    Raises:
        UserError: if it is none, or not one that the provider takes.
    """
    if not _MIME.match(part.mime):
        raise UserError(f"{part.mime[:80]!r} is not a media type.")
    if isinstance(part, Image) and part.mime not in (allowed or IMAGE_TYPES):
        raise UserError(
            f"{who or 'this provider'} takes no {part.mime}.", hint="send JPEG, PNG, WebP or GIF images"
        )
    return part.mime


def split_system(messages: tuple[Message, ...], who: str) -> tuple[str, tuple[Message, ...]]:
    """Return the text of the system messages and the others, for protocols that keep them apart.

    Raises:
        UserError: if a system message holds media or comes late, or nothing is left to say.
    """
    first = 0
    while first < len(messages) and messages[first].role == "system":
        first += 1
    rest = messages[first:]
    if any(message.role == "system" for message in rest):
        raise UserError(f"{who} takes system messages only before the others.")
    for message in messages[:first]:
        if message.media:
            raise UserError(f"{who} takes only text in a system message.")
    if not rest:
        raise UserError(f"{who} needs a user message in addition to the system message.")
    return "\n\n".join(message.text for message in messages[:first]), rest


def only_text(message: Message, who: str) -> None:
    """Refuse media where only text may be.

    Raises:
        UserError: if the message holds some.
    """
    for part in message.parts:
        if not isinstance(part, Text):
            raise UserError(f"{who} takes only text in a {message.role} message.")


def merge_extra(
    fields: dict[str, Any],
    extra: Mapping[str, Any],
    *,
    ours: frozenset[str],
    inside: frozenset[str] = frozenset(),
) -> None:
    """Put the user's further fields into the body.

    Args:
        fields: of the body; changed in place.
        extra: ``Parameters.extra``.
        ours: names that would change who is asked, what, or in which form the reply comes.
        inside: names of objects that are merged one level deep.

    Raises:
        UserError: if a field is one of ours.
    """
    for name, value in extra.items():
        if name in ours:
            raise UserError(
                f"the extra parameter {name[:80]!r} cannot be set: Proctor sets it itself.",
                hint="take it out of the extra parameters",
            )
        if name in inside and isinstance(value, dict) and isinstance(fields.get(name), dict):
            fields[name] = {**fields[name], **value}
        else:
            fields[name] = value


# -- parsing -----------------------------------------------------------------------------------------------------


def decode_reply(
    status: int, headers: Mapping[str, str], body: bytes, decoder: msgspec.json.Decoder[Any]
) -> Any | Failure:
    """Return the decoded reply, or the failure that the status or a malformed body means."""
    if not 200 <= status < 300:
        return failure(status, headers, body)
    try:
        body.decode()  # the decoder skips fields that nobody asked for, whatever bytes they hold
        return decoder.decode(body)
    except MALFORMED:
        return not_a_reply(status, headers, body)


def not_a_reply(status: int, headers: Mapping[str, str], body: bytes, why: str = "") -> Failure:
    """Return the failure of a success that is none: an error with status 200, or something else altogether.

    Args:
        status: of HTTP, 2xx.
        headers: for Retry-After.
        body: as it came.
        why: what is missing, as a sentence.
    """
    if parse_error_body(body).message:
        return failure(status, headers, body)
    return malformed(status, body, why or "the reply is not what the protocol promises.")


Ended = TypeVar("Ended", Reply, Truncated, Refusal)


class Said(NamedTuple):
    """What a reply says beside its text."""

    status: int
    usage: Usage
    model: str
    stop: str
    provider_id: str

    @classmethod
    def of(cls, status: int, usage: Usage, model: Any, stop: str | None, provider_id: Any) -> Said:
        """Return it with names bounded; anything but text is nothing."""
        return cls(
            status,
            usage,
            model[:200] if isinstance(model, str) else "",
            (stop or "")[:80],
            provider_id[:200] if isinstance(provider_id, str) else "",
        )

    def ended(self, kind: type[Ended], text: str) -> Ended:
        """Return how it ended: a reply by itself, one that a limit cut off, or that the model declined."""
        return kind(
            text=text, usage=self.usage, model=self.model, stop=self.stop, provider_id=self.provider_id
        )

    def filtered(self, what: str) -> Failure:
        """Return that the provider stopped the prompt or the reply."""
        return Failure(kind="content_filter", message=f"{what}.", status=self.status, usage=self.usage)

    def unended(self) -> Failure:
        """Return that the reply ended in a way that makes it no answer."""
        why = (
            f"the model stopped for the reason {self.stop!r}"
            if self.stop
            else "the reply does not say why it ended"
        )
        return Failure(
            kind="server", message=f"{why}, which is no answer.", status=self.status, usage=self.usage
        )


def count(value: Any) -> int | None:
    """Return a number of tokens; None for anything that is not one."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None

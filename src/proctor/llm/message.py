"""What is said to a model: messages of text, images, video and audio.

Media are named by the SHA-256 of their bytes, so that a request is small, has a stable hash and can be stored; the bytes
themselves are in a ``MediaStore``. Text comes first where the order is ours to choose, then images in time order.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final, Literal, get_args

import msgspec

from proctor.records import canonical_json, content_hash

__all__ = [
    "ROLES",
    "Audio",
    "Image",
    "Media",
    "Message",
    "Parameters",
    "Part",
    "Request",
    "Role",
    "Text",
    "Video",
    "system",
    "user",
]

Role = Literal["system", "user", "assistant"]
ROLES: Final[tuple[Role, ...]] = get_args(Role)


class Text(msgspec.Struct, frozen=True, tag="text"):
    """A piece of text."""

    text: str


class Image(msgspec.Struct, frozen=True, tag="image"):
    """A still image, as it will be sent.

    Attributes:
        sha256: of the encoded bytes, hex.
        mime: ``image/jpeg``, ``image/png``, ``image/webp`` or ``image/gif``.
        width: pixels.
        height: pixels.
    """

    sha256: str
    mime: str
    width: int
    height: int


class Video(msgspec.Struct, frozen=True, tag="video"):
    """A clip, as it will be sent.

    Attributes:
        sha256: of the file's bytes, hex.
        mime: such as ``video/mp4``.
        seconds: duration.
    """

    sha256: str
    mime: str
    seconds: float


class Audio(msgspec.Struct, frozen=True, tag="audio"):
    """A recording of sound, as it will be sent.

    Attributes:
        sha256: of the file's bytes, hex.
        mime: such as ``audio/wav``.
        seconds: duration.
    """

    sha256: str
    mime: str
    seconds: float


Media = Image | Video | Audio
Part = Text | Image | Video | Audio


class Message(msgspec.Struct, frozen=True):
    """What one side says: parts in order."""

    role: Role
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """The text parts, joined by line breaks."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def media(self) -> tuple[Media, ...]:
        """The parts that are not text, in order."""
        return tuple(part for part in self.parts if not isinstance(part, Text))


def system(text: str) -> Message:
    """Return a system message; providers without such a role get it where theirs belongs."""
    return Message("system", (Text(text),))


def user(*parts: str | Part) -> Message:
    """Return a user message; strings are text parts."""
    return Message("user", tuple(Text(part) if isinstance(part, str) else part for part in parts))


class Parameters(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What changes the reply.

    Unset ones are not sent: the provider's default holds, and a later default of ours cannot change an old hash.

    Attributes:
        temperature: 0 for greedy.
        max_tokens: of the reply.
        top_p: nucleus.
        seed: where the provider takes one.
        stop: the reply ends before any of these.
        json_schema: the reply must follow this JSON Schema (structured output); tolerant parsing where not taken.
        reasoning: effort of models that think first (``low``, ``medium``, ``high``, ``none``).
        extra: further fields of the provider's own body, by name.
    """

    temperature: float | None = None
    max_tokens: int | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    json_schema: dict[str, Any] | None = None
    reasoning: str | None = None
    extra: dict[str, Any] = {}

    def __post_init__(self) -> None:
        """Make whole numbers floats: 0 and 0.0 are equal, so they must have one name."""
        for name in ("temperature", "top_p"):
            value: Any = getattr(self, name)
            if type(value) is int:
                msgspec.structs.force_setattr(self, name, float(value))


_UNSET: Final = Parameters()


class Request(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, dict=True):
    """One call, complete: equal requests have equal keys and are paid for once.

    Attributes:
        model: full name, ``provider/model`` or ``provider/model@base-url``.
        messages: in order; system messages first.
        parameters: what changes the reply.
        draw: number of the repetition, for asking the same thing several times at a temperature above 0.
    """

    model: str
    messages: tuple[Message, ...]
    parameters: Parameters = _UNSET
    draw: int = 0

    def __post_init__(self) -> None:
        """Make all empty parameters the same object: only the default itself is left out when the request is written."""
        if self.parameters is not _UNSET and self.parameters == _UNSET:
            msgspec.structs.force_setattr(self, "parameters", _UNSET)

    @cached_property
    def key(self) -> str:
        """SHA-256 of the canonical form, 64 hex digits: the name of the call in the store."""
        import hashlib

        return hashlib.sha256(canonical_json(self)).hexdigest()

    @property
    def prompt_hash(self) -> str:
        """Short hash of the messages alone, for records."""
        return content_hash(self.messages)

    @property
    def media(self) -> tuple[Media, ...]:
        """All media of all messages, in order."""
        return tuple(part for message in self.messages for part in message.media)

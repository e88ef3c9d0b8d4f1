"""Does a request fit? What is too much for its provider is said before it is sent, so that a stated rule can shrink it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from proctor.llm.message import Image, Media, Request, Text
from proctor.llm.model import ModelName
from proctor.llm.tokens import MediaLimits, estimate_reply, estimate_tokens, media_limits

__all__ = ["Excess", "excesses", "fits", "takes"]

_IMAGES_ONLY: Final = ("transformers",)
"""Providers of ours that hand on pictures and no other media, whatever the model could take."""
_PART_BYTES: Final = 160
"""Bytes of JSON around a part."""


class Excess(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a request has too much of.

    Attributes:
        what: ``images``, ``image_bytes``, ``image_edge`` (pixels), ``request_bytes``, ``mime`` or ``context`` (tokens).
        value: what the request has.
        limit: what the provider takes.
        detail: which part, where it is one part's fault.
    """

    what: str
    value: int
    limit: int
    detail: str = ""

    def __str__(self) -> str:
        unit = {"images": "images", "image_edge": "pixels", "context": "tokens", "mime": "kind of media"}.get(
            self.what, "bytes"
        )
        where = f" ({self.detail})" if self.detail else ""
        return f"{self.value:,} {unit}{where}, at most {self.limit:,} are taken"


def excesses(
    request: Request,
    *,
    size: Callable[[Media], int] | None = None,
    context: int | None = None,
    limits: MediaLimits | None = None,
) -> tuple[Excess, ...]:
    """Return all that is too much, in the order of the request; empty when it fits.

    Args:
        request: the call.
        size: bytes of a part as it is encoded; sizes are not checked without it.
        context: tokens of prompt and reply that the model takes, such as ``Price.context``; not checked without it.
        limits: other limits than those of the model's provider.

    Raises:
        UserError: if the model's name is none.
    """
    limits = limits or media_limits(request.model)
    media = request.media
    images = [part for part in media if isinstance(part, Image)]
    found: list[Excess] = []
    if limits.images is not None and len(images) > limits.images:
        found.append(Excess(what="images", value=len(images), limit=limits.images))
    found += _by_part(media, len(images), limits, size)
    if size is not None and limits.request_bytes is not None:
        total = _body_bytes(request, size)
        if total > limits.request_bytes:
            found.append(Excess(what="request_bytes", value=total, limit=limits.request_bytes))
    if context is not None:
        reply = estimate_reply(request)
        tokens = estimate_tokens(request).expected + (reply.worst if reply.limited else 0)
        if tokens > context:
            found.append(Excess(what="context", value=tokens, limit=context))
    return tuple(found)


def takes(model: str, mime: str) -> bool:
    """Return whether the provider of a model takes a kind of media at all, as far as is known.

    Args:
        model: full name.
        mime: such as ``video/mp4``.

    Raises:
        UserError: if it is not the name of a model.
    """
    kinds = media_limits(model).mimes
    if ModelName.parse(model).provider in _IMAGES_ONLY:
        return mime.startswith("image/")
    return not kinds or mime in kinds


def fits(
    request: Request,
    *,
    size: Callable[[Media], int] | None = None,
    context: int | None = None,
    limits: MediaLimits | None = None,
) -> bool:
    """Return whether nothing is too much; arguments as for ``excesses``."""
    return not excesses(request, size=size, context=context, limits=limits)


def _by_part(
    media: tuple[Media, ...], images: int, limits: MediaLimits, size: Callable[[Media], int] | None
) -> list[Excess]:
    edge = limits.image_edge
    if limits.many_images is not None and limits.many_edge is not None and images > limits.many_images:
        edge = min(limits.many_edge, edge or limits.many_edge)
    found: list[Excess] = []
    for number, part in enumerate(media, start=1):
        name = f"part {number}, {part.mime}"
        if limits.mimes and part.mime not in limits.mimes:
            found.append(Excess(what="mime", value=1, limit=0, detail=name))
        if not isinstance(part, Image):
            continue
        longer = max(part.width, part.height)
        if edge is not None and longer > edge:
            found.append(Excess(what="image_edge", value=longer, limit=edge, detail=name))
        if size is not None and limits.image_bytes is not None and (held := size(part)) > limits.image_bytes:
            found.append(Excess(what="image_bytes", value=held, limit=limits.image_bytes, detail=name))
    return found


def _body_bytes(request: Request, size: Callable[[Media], int]) -> int:
    """Return about how large the body is: media in base64 are a third larger, text may be escaped."""
    total = _PART_BYTES
    for message in request.messages:
        for part in message.parts:
            total += _PART_BYTES
            if isinstance(part, Text):
                total += len(part.text.encode("utf-8", "surrogatepass"))
                total += part.text.count("\n") + part.text.count('"') + part.text.count("\\")
            else:
                total += -(-size(part) // 3) * 4
    return total

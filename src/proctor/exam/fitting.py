"""What is too large for a provider is shrunk by a stated rule, and told; never silently.

The rule, applied again until the request fits (``proctor.llm.limits`` knows what each provider takes):

1. **Too many pictures**: as many as the provider takes are asked for in place of the view's number, by the same sampling.
2. **Too many bytes or pixels** (of one picture, of the clip, of the whole request): the largest of ``HEIGHTS`` that is lower
   and by area (or length, for pixels of a side) could be enough. When the lowest is still too much, fewer frames, by the
   share that is too much.
3. **Too many tokens** for the model's context, where this is known: fewer frames, by the share that is too much.

So what is shown is always what a smaller view would show: ``frames:100@288p`` for ``frames:250@288p``, and so on. A clip has
no frames to leave out; where the lowest height does not help, it cannot be shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.exam.kind import Exhibit, Exhibits
from proctor.exam.view import View
from proctor.llm.limits import Excess

__all__ = ["HEIGHTS", "TooLargeError", "ever_smaller", "too_large"]

HEIGHTS: Final = (2_160, 1_440, 1_080, 720, 540, 480, 360, 288, 240, 180, 144)
"""Pixels that pictures and clips are shrunk to."""

_BYTES: Final = ("image_bytes", "request_bytes")


class TooLargeError(UserError):
    """What a view shows is too large for the provider, and must not be shrunk."""


def too_large(provider: str, why: Sequence[Excess], *, where: str, shrink: bool) -> UserError:
    """Return the error for an exhibit that is too large: of one item where it cannot be shrunk, of the run where it must not.

    Args:
        provider: whose limits they are.
        why: what is too much.
        where: the item.
        shrink: whether it might have been shrunk.
    """
    text = f"what is shown is too large for the provider ({_reasons(provider, why)})"
    if shrink:
        return UserError(f"{text}, and nothing is left to leave out.", where=where)
    hint = "show less (--frames, --height), or let it be shrunk by the stated rule (without --no-shrink)"
    return TooLargeError(f"{text}.", where=where, hint=hint)


def ever_smaller(view: View, show: Callable[[View], Exhibit]) -> Exhibits:
    """Yield what a view shows, then what ever smaller ones show by the rule of this module; the record says what was shrunk.

    Args:
        view: as asked.
        show: from a view to what is shown.
    """
    first = exhibit = show(view)
    inner, why = view, list[Excess]()
    while True:
        much = yield exhibit
        why += much.excess
        less = smaller(inner, much.excess, len(exhibit.pieces))
        if less is None:
            return
        inner, exhibit = less, show(less)
        shown = len(first.pieces), len(exhibit.pieces)
        shrunk = change(view, inner, shown, much.model.partition("/")[0], why)
        exhibit = replace(exhibit, details={**exhibit.details, "shrunk": shrunk})


def smaller(view: View, excess: Sequence[Excess], shown: int) -> View | None:
    """Return the next smaller view by the rule of this module, None when nothing is left to take away.

    Args:
        view: what was shown.
        excess: what the request has too much of; not empty.
        shown: frames that were really shown, which may be fewer than the view's number.
    """
    most = {e.what: e for e in sorted(excess, key=lambda e: e.value / max(e.limit, 1))}
    if "mime" in most:
        return None
    if "images" in most:
        return _fewer(view, min(most["images"].limit, shown - 1))
    if heavy := [e for what, e in most.items() if what in (*_BYTES, "image_edge")]:
        height = min(_height(view.height, e) for e in heavy)
        if height > 0:
            return msgspec.structs.replace(view, height=height)
    whole = [e.limit / e.value for what, e in most.items() if what in ("request_bytes", "context")]
    return _fewer(view, min(shown - 1, math.floor(shown * min(whole)))) if whole else None


def change(before: View, after: View, shown: tuple[int, int], provider: str, why: Sequence[Excess]) -> str:
    """Return in words what was shrunk and why: ``250 → 100 frames (openai: 250 images, at most 100 are taken)``.

    Args:
        before: the view that was asked for.
        after: the one that was shown.
        shown: frames that the first would have shown, and that the second has shown.
        provider: whose limits they are.
        why: all that was too much on the way.
    """
    told = []
    if after.frames != before.frames:
        told.append(f"{shown[0]} → {shown[1]} frames")
    if after.height != before.height:
        told.append(f"{before.height}p → {after.height}p")
    return f"{', '.join(told)} ({_reasons(provider, why)})"


def _reasons(provider: str, why: Sequence[Excess]) -> str:
    first = {e.what: e for e in reversed(why)}
    return f"{provider}: " + "; ".join(str(first[what]) for what in dict.fromkeys(e.what for e in why))


def _fewer(view: View, frames: int) -> View | None:
    if view.kind == "video" or frames < 1:
        return None
    return msgspec.structs.replace(view, frames=frames)


def _height(height: int, excess: Excess) -> int:
    """Return the height to try next, 0 when there is none."""
    share = excess.limit / excess.value
    most = height * (share if excess.what == "image_edge" else math.sqrt(share))
    return next((h for h in HEIGHTS if h < height and h <= most), HEIGHTS[-1] if height > HEIGHTS[-1] else 0)

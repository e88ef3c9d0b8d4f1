"""What a system is shown of a clip: frames by the published rule, or no picture at all.

Uniform frames as in InstructionBench's supplement; the formula is ours: of N frames, frame ``floor((i + 0.5) * N / n)`` for i = 0 … n - 1, 8 or 16 of them, or one
frame a second; pictures at a quarter of the original size as JPEG. A quarter is read as a quarter of the area (half width,
half height) [R]; a quarter of the side is an option. Indices count within the clip.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal, get_args

import msgspec

from proctor.errors import UserError, did_you_mean

__all__ = ["ClipSampling", "ClipView", "ClipViewKind", "Size", "frame_indices"]

ClipViewKind = Literal["frames", "question", "steps"]
"""``frames`` sees pictures; ``question`` sees the question (and options) alone, ``steps`` the annotated steps: floors."""
ClipSampling = Literal["uniform", "fps1"]
Size = Literal["half-side", "quarter-side", "full"]
"""Of pictures against the video: ``half-side`` is a quarter of its area, ``quarter-side`` a sixteenth."""

DIVISORS: Final[Mapping[Size, int]] = {"half-side": 2, "quarter-side": 4, "full": 1}
MOST_FRAMES: Final = 10_000
_NUMBER: Final = re.compile(r"[0-9]{1,6}", re.ASCII)
_HINT: Final = (
    "views: frames:8, frames:16@quarter-side, frames:fps1, frames:fps1:64 (at most 64), question, steps"
)


class ClipView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a system sees of a clip; goes into the run's name and every prediction's record.

    Attributes:
        kind: frames, or text only.
        frames: how many; with ``fps1`` at most so many, evenly thinned.
        sampling: ``uniform`` by the published rule, or ``fps1``, one a second.
        size: of the pictures.

    What a kind does not have is set to its default, so that equal views are equal.
    """

    kind: ClipViewKind = "frames"
    frames: int = 8
    sampling: ClipSampling = "uniform"
    size: Size = "half-side"

    def __post_init__(self) -> None:
        """Refuse what cannot be shown.

        Raises:
            UserError: for unknown names and for fewer than 1 or more than 10,000 frames.
        """
        for name, value, known in (
            ("kind", self.kind, get_args(ClipViewKind)),
            ("sampling", self.sampling, get_args(ClipSampling)),
            ("size", self.size, get_args(Size)),
        ):
            if value not in known:
                raise UserError(
                    f"{value!r} is no {name} of a view of clips.", hint=f"choose of {', '.join(known)}"
                )
        if self.kind != "frames":
            for name, default in (("frames", 8), ("sampling", "uniform"), ("size", "half-side")):
                msgspec.structs.force_setattr(self, name, default)
        if not 1 <= self.frames <= MOST_FRAMES:
            raise UserError(f"{self.frames} frames cannot be shown.", hint=f"give 1 to {MOST_FRAMES:,}")

    @classmethod
    def parse(cls, text: str) -> ClipView:
        """Return the view that a short text names, such as ``frames:16@quarter-side`` or ``frames:fps1``.

        Raises:
            UserError: if it names none; it says what was seen.
        """
        head, *parts = re.split("[:@]", text.strip())
        if head not in get_args(ClipViewKind) or (head != "frames" and parts):
            hint = did_you_mean(head, get_args(ClipViewKind), _HINT)
            raise UserError(f"{text[:80]!r} is no view of a clip.", hint=hint)
        found: dict[str, Any] = {}
        for part in parts:
            if part in get_args(ClipSampling):
                name, value = "sampling", part
            elif part in get_args(Size):
                name, value = "size", part
            elif _NUMBER.fullmatch(part):
                name, value = "frames", int(part)
            else:
                hint = did_you_mean(part, (*get_args(ClipSampling), *get_args(Size)), _HINT)
                raise UserError(f"{part[:40]!r} is no part of a view of a clip.", where=text[:80], hint=hint)
            if name in found:
                raise UserError(f"the view gives its {name} twice.", where=text[:80], hint=_HINT)
            found[name] = value
        if found.get("sampling") == "fps1":
            found.setdefault("frames", MOST_FRAMES)
        return cls(kind=next(k for k in get_args(ClipViewKind) if k == head), **found)

    @property
    def spec(self) -> str:
        """The short text that ``parse`` reads, with everything that the view has."""
        if self.kind != "frames":
            return self.kind
        return f"frames:{self._count}@{self.size}"

    @property
    def label(self) -> str:
        """Short name for runs: ``frames-8f-half-side``, ``frames-fps1-half-side``, ``question``."""
        if self.kind != "frames":
            return self.kind
        return f"frames-{self._count.replace(':', '-') if self.sampling == 'fps1' else f'{self.frames}f'}-{self.size}"

    @property
    def _count(self) -> str:
        if self.sampling == "uniform":
            return str(self.frames)
        return "fps1" if self.frames == MOST_FRAMES else f"fps1:{self.frames}"

    @property
    def details(self) -> dict[str, str]:
        """What goes into every prediction's record: what was asked for."""
        if self.kind != "frames":
            return {"view": self.kind}
        count = {} if self.frames == MOST_FRAMES else {"frames": str(self.frames)}
        return {"view": self.kind, **count, "sampling": self.sampling, "size": self.size}


def frame_indices(count: int, total: int) -> tuple[int, ...]:
    """Return the published choice of frames, ``floor((i + 0.5) * total / count)``; where frames are few some repeat.

    Args:
        count: frames wanted, at least 1.
        total: frames there are, at least 1.

    Raises:
        UserError: if either is below 1.

    Example:
        >>> frame_indices(8, 100)
        (6, 18, 31, 43, 56, 68, 81, 93)
    """
    if count < 1 or total < 1:
        raise UserError(f"{count} of {total} frames cannot be shown.", hint="at least one of each is needed")
    return tuple(min((2 * i + 1) * total // (2 * count), total - 1) for i in range(count))

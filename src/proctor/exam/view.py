"""What a system is shown of an item: question alone, the procedure, captions, frames or the clip itself."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, get_args

import msgspec

from proctor.errors import UserError, did_you_mean
from proctor.media.sampling import at_steps, by_fps, published_times, thin, uniform

__all__ = ["SAMPLINGS", "VIEWS", "Sampling", "View", "ViewKind", "frame_times"]

ViewKind = Literal["question", "recipe", "captions", "frames", "video"]
VIEWS: Final[tuple[ViewKind, ...]] = get_args(ViewKind)
Sampling = Literal["uniform", "fps", "published", "steps"]
SAMPLINGS: Final[tuple[Sampling, ...]] = get_args(Sampling)

MOST_FRAMES: Final = 10_000
MOST_PIXELS: Final = 4_320

_ADDRESS: Final = re.compile(r"@https?://.*", re.DOTALL)
_NUMBER: Final = re.compile(r"(\d{1,6})(f|p)?", re.ASCII)
_SPEC_HINT: Final = "views: question, recipe, frames:50@765p:published, captions:50@288p:uniform, video:360p; what is left out has its default"


class View(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a system sees; goes into the run's record, its name and the report's columns.

    Attributes:
        kind: ``question`` and ``recipe`` see nothing of the recording (floors and text-only systems), ``captions`` is a
            Socratic system (another model describes frames), ``frames`` sees pictures, ``video`` the clip itself, with
            its sound.
        frames: at most so many.
        height: of the pictures or the clip, in pixels.
        sampling: ``uniform`` over the clip, ``fps`` (one a second, at most ``frames``, evenly thinned), ``published``
            (every r-th frame of one a second, counted back from the last; ProMQA), or ``steps`` (middles, then
            ends, then beginnings of the performed steps, evenly thinned to ``frames``). The last one is told what only
            the annotations know: see ``privilege``.
        captioner: model that describes frames, for ``captions``.

    What a kind of view does not have is set to its default, so that equal views are equal.
    """

    kind: ViewKind = "frames"
    frames: int = 50
    height: int = 360
    sampling: Sampling = "published"
    captioner: str = ""

    def __post_init__(self) -> None:
        if self.kind not in VIEWS or self.sampling not in SAMPLINGS:
            raise UserError(
                f"{self.kind!r} with sampling {self.sampling!r} is no view.",
                hint=did_you_mean(
                    self.sampling,
                    SAMPLINGS if self.kind in VIEWS else (),
                    f"views: {', '.join(VIEWS)}; sampling: {', '.join(SAMPLINGS)}",
                ),
            )
        unused = _UNUSED[self.kind]
        for name in unused:
            msgspec.structs.force_setattr(self, name, _DEFAULTS[name])
        if not (1 <= self.frames <= MOST_FRAMES and 16 <= self.height <= MOST_PIXELS):
            raise UserError(
                f"{self.frames} frames of {self.height} pixels cannot be shown.",
                hint=f"give 1 to {MOST_FRAMES:,} frames of 16 to {MOST_PIXELS:,} pixels",
            )
        if (self.kind == "captions") != bool(self.captioner):
            raise UserError(
                "a system with captions needs a captioner, and only that one.",
                hint="--show captions --captioner PROVIDER/MODEL",
            )

    @classmethod
    def parse(cls, text: str, *, captioner: str = "") -> View:
        """Return the view that a short text names: ``frames:50@765p:published``, ``captions:50@288p``, ``recipe``.

        First the kind, then in any order, each after ``:`` or ``@``, how many frames (``50``), how high they are
        (``765p``) and how they are chosen; what is left out has its default.

        Args:
            text: the view.
            captioner: model that describes frames; views other than ``captions`` do without it.

        Raises:
            UserError: if the text names no view; it says what was seen.
        """
        head, *parts = re.split("[:@]", text.strip())
        kind = next((k for k in VIEWS if k == head), None)
        if kind is None:
            raise _no_view(text, f"{head[:40]!r} is none of {', '.join(VIEWS)}", head, VIEWS)
        found: dict[str, Any] = {}
        for part in parts:
            name, value = _read_part(text, part)
            if name in found:
                raise _no_view(text, f"it gives its {name} twice")
            if name in _UNUSED[kind]:
                raise _no_view(text, f"a view '{kind}' has no {name} ({part!r})")
            found[name] = value
        return cls(kind=kind, captioner=captioner if kind == "captions" else "", **found)

    @property
    def spec(self) -> str:
        """The short text that ``parse`` reads, with everything that the view has; the captioner is given apart."""
        unused = _UNUSED[self.kind]
        parts = [self.kind if "frames" in unused else f"{self.kind}:{self.frames}"]
        if "height" not in unused:
            parts.append(f"{self.height}p")
        return "@".join(parts) + ("" if "sampling" in unused else f":{self.sampling}")

    @property
    def sees_video(self) -> bool:
        """True for the clip, for pictures and for their descriptions."""
        return self.kind in ("captions", "frames", "video")

    @property
    def blind(self) -> bool:
        """True when nothing of the recording is shown."""
        return not self.sees_video

    @property
    def privilege(self) -> str:
        """What the choice of moments tells that a predictor must not know; empty for honest views."""
        return "when the performed steps begin and end" if self.sampling == "steps" else ""

    @property
    def label(self) -> str:
        """Short name for runs: ``frames-50f-360p-published``, ``video-360p``, ``recipe``."""
        unused = _UNUSED[self.kind]
        parts: list[str] = [self.kind]
        if "frames" not in unused:
            parts.append(f"{self.frames}f")
        if "height" not in unused:
            parts.append(f"{self.height}p")
        if "sampling" not in unused:
            parts.append(self.sampling)
        # Two captioners are two systems; where a server is does not matter.
        return "-".join(parts) + (f" by {_ADDRESS.sub('', self.captioner)}" if self.captioner else "")

    @property
    def details(self) -> dict[str, str]:
        """What goes into every prediction's record: what was asked for."""
        unused = _UNUSED[self.kind]
        found: dict[str, str] = {"view": self.kind}
        if "frames" not in unused:
            found["frames"] = str(self.frames)
        if "height" not in unused:
            found["resolution"] = f"{self.height}p"
        if "sampling" not in unused:
            found["sampling"] = self.sampling
        more = {"captioner": self.captioner, "privilege": self.privilege}
        return found | {name: text for name, text in more.items() if text}


_UNUSED: Final[Mapping[ViewKind, frozenset[str]]] = {
    "question": frozenset({"frames", "height", "sampling"}),
    "recipe": frozenset({"frames", "height", "sampling"}),
    "captions": frozenset(),
    "frames": frozenset(),
    "video": frozenset({"frames", "sampling"}),
}
"""What a kind of view does not have."""
_DEFAULTS: Final[Mapping[str, Any]] = {
    field.name: field.default for field in msgspec.structs.fields(View) if not field.required
}


def _read_part(text: str, part: str) -> tuple[str, int | str]:
    """Return which part of a view a piece of its text gives, and its value."""
    if part in SAMPLINGS:
        return "sampling", part
    number = _NUMBER.fullmatch(part)
    if number is None:
        wanted = f"a number of frames (50), a height (765p) or a sampling ({', '.join(SAMPLINGS)})"
        raise _no_view(text, f"{part[:40]!r} is neither {wanted}", part, SAMPLINGS)
    return ("height" if number[2] == "p" else "frames"), int(number[1])


def _no_view(text: str, why: str, word: str = "", known: Sequence[str] = ()) -> UserError:
    return UserError(f"{text[:80]!r} is no view: {why}.", hint=did_you_mean(word, known, _SPEC_HINT))


def frame_times(view: View, end: float, steps: Sequence[tuple[float, float]] = ()) -> list[float]:
    """Return the moments to look at, increasing, all before ``end`` (seconds).

    Args:
        view: how many, and how they are chosen.
        end: seconds, exclusive.
        steps: start and end of the performed steps, for the sampling ``steps``; without any it looks at the last second.

    Raises:
        UserError: if nothing lies before ``end``.
    """
    if view.sampling == "published":
        times = published_times(end, view.frames)
    elif view.sampling == "fps":
        times = thin(by_fps(1.0, end), view.frames)
    elif view.sampling == "steps":
        times = at_steps(steps, view.frames, end) or published_times(end, 1)
    else:
        times = uniform(view.frames, end)
    if not times:
        raise UserError(f"there is no frame before the moment of the question ({end:.2f} s).")
    return times

"""What a system is shown of an item: question alone, the procedure, captions, frames or the clip itself."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, get_args

import msgspec

from proctor.errors import UserError
from proctor.evaluate.predict import Task
from proctor.llm.media import MediaStore
from proctor.llm.message import Image
from proctor.media.frames import extract_frames
from proctor.media.paint import encode_jpeg
from proctor.media.sampling import by_fps, published_times, uniform

__all__ = ["SAMPLINGS", "VIEWS", "Sampling", "ShownFrame", "View", "ViewKind", "frame_times", "shown_frames"]

ViewKind = Literal["question", "recipe", "captions", "frames"]
VIEWS: Final[tuple[ViewKind, ...]] = get_args(ViewKind)
Sampling = Literal["uniform", "fps", "published"]
SAMPLINGS: Final[tuple[Sampling, ...]] = get_args(Sampling)

MOST_FRAMES: Final = 10_000
MOST_PIXELS: Final = 4_320

_QUALITY: Final = 90
_NUMBER: Final = re.compile(r"(\d{1,6})(f|p)?", re.ASCII)
_SPEC_HINT: Final = "views: question, recipe, frames:50@765p:published, captions:50@288p:uniform; what is left out has its default"


class View(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a system sees; goes into the run's record, its name and the report's columns.

    Attributes:
        kind: ``question`` and ``recipe`` see nothing of the recording (floors and text-only systems), ``captions`` is a
            Socratic system (another model describes frames), ``frames`` sees pictures.
        frames: at most so many.
        height: of the pictures in pixels.
        sampling: ``uniform`` over the clip, ``fps`` (one a second, at most ``frames``, evenly thinned), or ``published``
            (every r-th frame of one a second, counted back from the last; promqa.md 7.1).
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
                hint=f"views: {', '.join(VIEWS)}; sampling: {', '.join(SAMPLINGS)}",
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
            raise _no_view(text, f"{head[:40]!r} is none of {', '.join(VIEWS)}")
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
        """True for pictures and for their descriptions."""
        return self.kind in ("captions", "frames")

    @property
    def label(self) -> str:
        """Short name for runs: ``50f-360p-published``, ``recipe``."""
        if not self.sees_video:
            return self.kind
        return f"{self.kind}-{self.frames}f-{self.height}p-{self.sampling}"

    @property
    def details(self) -> dict[str, str]:
        """What goes into every prediction's record."""
        found: dict[str, str] = {"view": self.kind}
        if self.sees_video:
            found |= {"frames": str(self.frames), "resolution": f"{self.height}p", "sampling": self.sampling}
        return found | ({"captioner": self.captioner} if self.captioner else {})


_UNUSED: Final[Mapping[ViewKind, frozenset[str]]] = {
    "question": frozenset({"frames", "height", "sampling"}),
    "recipe": frozenset({"frames", "height", "sampling"}),
    "captions": frozenset(),
    "frames": frozenset(),
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
        raise _no_view(text, f"{part[:40]!r} is neither {wanted}")
    return ("height" if number[2] == "p" else "frames"), int(number[1])


def _no_view(text: str, why: str) -> UserError:
    return UserError(f"{text[:80]!r} is no view: {why}.", hint=_SPEC_HINT)


class ShownFrame(msgspec.Struct, frozen=True, kw_only=True):
    """A frame that a system was shown.

    Attributes:
        index: its presentation time stamp in the stream's own time base.
        time: seconds from the start of the file.
        image: the encoded picture in the media store.
    """

    index: int
    time: float
    image: Image


def frame_times(view: View, end: float) -> list[float]:
    """Return the moments to look at, increasing, all before ``end`` (seconds).

    Raises:
        UserError: if nothing lies before ``end``.
    """
    if view.sampling == "published":
        times = published_times(end, view.frames)
    elif view.sampling == "fps":
        every = by_fps(1.0, end)
        times = _thinned(every, view.frames)
    else:
        times = uniform(view.frames, end)
    if not times:
        raise UserError(f"no frame lies before the moment of the question ({end:.2f} s).")
    return times


def _thinned(times: Sequence[float], most: int) -> list[float]:
    """Keep at most so many, evenly spaced, the last one among them."""
    if len(times) <= most:
        return list(times)
    last = len(times) - 1
    places = [last] if most == 1 else [round(k * last / (most - 1)) for k in range(most)]
    return [times[k] for k in places]


def shown_frames(task: Task, view: View, media: MediaStore) -> tuple[ShownFrame, ...]:
    """Return the frames that this view shows of a task, encoded once however many questions share them.

    Two moments with the same frame on screen show it once; a frame that appears at or after the moment of the question
    is left out.

    Raises:
        UserError: if the item has no video, or it cannot be read.
    """
    if task.video is None:
        raise UserError(
            "the item has no video, so no frames can be shown.",
            where=task.item_id,
            hint="show the recipe or the question only (--show recipe)",
        )
    source = _identity(task.video)
    found: dict[int, ShownFrame] = {}
    for frame in extract_frames(task.video, frame_times(view, task.end), height=view.height):
        if frame.pts in found or frame.time >= task.end:
            continue
        height, width = frame.image.shape[:2]
        picture = frame.image
        image = media.image(
            f"{source}/{frame.pts}/{view.height}p/jpeg {_QUALITY}",
            lambda p=picture, w=width, h=height: (encode_jpeg(p, quality=_QUALITY), w, h),  # type: ignore[misc]
        )
        found[frame.pts] = ShownFrame(index=frame.pts, time=frame.time, image=image)
    if not found:
        raise UserError("the video shows nothing before the moment of the question.", where=task.item_id)
    return tuple(sorted(found.values(), key=lambda f: f.time))


def _identity(path: Path) -> str:
    """Name a file's content for this run: reading gigabytes to hash them would cost more than encoding again."""
    try:
        status = path.stat()
    except OSError as error:
        raise UserError(
            f"the video cannot be read ({error.strerror or error}).",
            where=str(path),
            hint="say where the videos are: --videos FOLDER",
        ) from None
    return f"{path}|{status.st_size}|{status.st_mtime_ns}"

"""From a view of a clip to pictures: decoded at the frames of the published rule, encoded once, shrunk where a provider asks.

Frames are counted as the file lists them: those of a clip ``[start, end)`` appear in it, and the rule chooses among them by index. One
a second is the frame on screen at the clip's start, a second later, and so on. Nothing from outside of the clip is
ever shown. What is too large for the provider is made smaller by the rule of ``proctor.evaluate.fitting``, and the record says so.
"""

from __future__ import annotations

import math
import os
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from proctor.errors import UserError
from proctor.evaluate.clip_view import DIVISORS, ClipView, frame_indices
from proctor.evaluate.exhibit import VideoFinder
from proctor.evaluate.fitting import change, smaller, too_large
from proctor.evaluate.showing import ShownFrame
from proctor.evaluate.view import Sampling, View
from proctor.generate.instructional.record import ShownClip
from proctor.llm.limits import Excess
from proctor.llm.media import MediaStore
from proctor.media.frames import extract_frames
from proctor.media.paint import encode_jpeg
from proctor.media.probe import probe
from proctor.media.sampling import thin
from proctor.media.times import presentation_times

__all__ = ["ClipExhibit", "ClipExhibitor", "clip_times"]

QUALITY: Final = 90
_TOLERANCE: Final = 0.0005
"""Seconds by which stored times are rounded (Matroska counts milliseconds)."""
_LOWEST: Final = 16
"""Pixels of height that a picture has at least."""


@dataclass(frozen=True, slots=True)
class ClipExhibit:
    """What was really shown of a clip.

    Attributes:
        frames: in order of time; one that the rule names twice is there twice.
        height: of the pictures, pixels.
        video: the file's name.
        shrunk: what was made smaller and why; empty when nothing was.
    """

    frames: tuple[ShownFrame, ...] = ()
    height: int = 0
    video: str = ""
    shrunk: str = ""

    @property
    def details(self) -> dict[str, str]:
        """What a prediction's record says of it, beside the frames."""
        found = {
            "video": self.video,
            "shrunk": self.shrunk,
            "height": str(self.height) if self.height else "",
        }
        return {name: text for name, text in found.items() if text}


@dataclass(slots=True)
class ClipExhibitor:
    """Makes exhibits; questions that share a clip share its frames.

    Attributes:
        view: what is to be shown.
        media: where pictures are kept.
        videos: finds videos; None where there are none.
        shrink: whether what is too large is made smaller.
    """

    view: ClipView
    media: MediaStore
    videos: VideoFinder | None = None
    shrink: bool = True
    _heights: dict[Path, int] = field(default_factory=dict)
    _times: dict[Path, tuple[Sequence[float], float]] = field(default_factory=dict)
    _frames: dict[tuple[object, ...], tuple[ShownFrame, ...]] = field(default_factory=dict)

    def show(
        self,
        clip: ShownClip | None,
        model: str,
        check: Callable[[ClipExhibit], tuple[Excess, ...]],
        *,
        where: str,
    ) -> ClipExhibit:
        """Return what is shown of a clip; nothing for views without pictures.

        Args:
            clip: the clip.
            model: who is shown it, for messages.
            check: returns what a request with an exhibit has too much of.
            where: the question, for messages.

        Raises:
            TooLargeError: if it is too large and must not be shrunk.
            UserError: if there is no video, it cannot be read or ends before the clip begins, or cannot be made small enough.
        """
        if self.view.kind != "frames":
            return ClipExhibit()
        if clip is None:
            raise UserError(
                "the clip of the question is not known, so nothing of it can be shown.", where=where
            )
        path = self._path(clip, where)
        if path not in self._heights:
            self._heights[path], self._times[path] = probe(path).height, presentation_times(path)
        first = view = self._inner(self._heights[path])
        made = self._made(path, clip, view)
        shown, why = len(made.frames), list[Excess]()
        while excess := check(made):
            why += excess
            less = smaller(view, excess, len(made.frames)) if self.shrink else None
            if less is None:
                raise too_large(model.partition("/")[0], excess, where=where, shrink=self.shrink)
            view = less
            made = self._made(path, clip, view)
        if not why:
            return made
        told = change(first, view, (shown, len(made.frames)), model.partition("/")[0], why)
        return ClipExhibit(made.frames, made.height, made.video, told)

    def _path(self, clip: ShownClip, where: str) -> Path:
        found = None if self.videos is None else self.videos.find(clip.video_id, clip.video)
        if found is None:
            raise UserError(
                "the clip has no video, so nothing of it can be shown.",
                where=where,
                hint="say where the videos are (--videos FOLDER), or show the steps or the question only",
            )
        return found

    def _inner(self, original: int) -> View:
        """Return the view with the height that its share of the video's size is, for the rule that shrinks."""
        height = max(_LOWEST, round(original / DIVISORS[self.view.size]))
        sampling: Sampling = "fps" if self.view.sampling == "fps1" else "uniform"
        return View(kind="frames", frames=self.view.frames, height=height, sampling=sampling)

    def _made(self, path: Path, clip: ShownClip, view: View) -> ClipExhibit:
        name = (path, clip.start, clip.end, view)
        if name not in self._frames:
            self._frames[name] = self._decoded(path, clip, view)
        video = "" if self.videos is None else self.videos.name(path)
        return ClipExhibit(self._frames[name], view.height, video)

    def _decoded(self, path: Path, clip: ShownClip, view: View) -> tuple[ShownFrame, ...]:
        times = clip_times(*self._times[path], clip.start, clip.end, view, where=clip.id)
        source = _identity(path)
        found = []
        for frame in extract_frames(path, times, height=view.height):
            height, width = frame.image.shape[:2]
            image = self.media.image(
                f"{source}/{frame.pts}/{view.height}p/jpeg {QUALITY}",
                lambda p=frame.image, w=width, h=height: (encode_jpeg(p, quality=QUALITY), w, h),  # type: ignore[misc]
            )
            found.append(ShownFrame(index=frame.pts, time=frame.time, image=image))
        return tuple(found)


def clip_times(
    times: Sequence[float], ends: float, start: float, end: float, view: View, *, where: str = ""
) -> tuple[float, ...]:
    """Return moments (seconds) at which the frames that the rule chooses of a clip ``[start, end)`` are on screen.

    Args:
        times: when each frame of the video appears, increasing.
        ends: when the last one ends.
        start: of the clip, seconds of the video.
        end: of the clip, exclusive; what lies behind the video's end is not there.
        view: number of frames and sampling (``uniform`` or ``fps``).
        where: the clip, for messages.

    Raises:
        UserError: if no frame of the video appears in the clip.
    """
    first, stop = bisect_left(times, start - _TOLERANCE), bisect_left(times, end - _TOLERANCE)
    if stop <= first:
        raise UserError(
            f"the video ends at {ends:.1f} s and shows nothing of the clip ({start:.1f} to {end:.1f} s).",
            where=where or None,
            hint="is it the video that was annotated?",
        )
    if view.sampling == "fps":
        last = min(end, max(ends, times[stop - 1]))
        seconds = max(1, math.ceil(last - start - _TOLERANCE))
        on_screen = [max(first, bisect_right(times, start + i + _TOLERANCE) - 1) for i in range(seconds)]
        chosen = thin(on_screen, view.frames)
    else:
        chosen = [first + index for index in frame_indices(view.frames, stop - first)]
    # Between its own time and the next frame's, so that no rounding shows a neighbour.
    return tuple((times[i] + times[i + 1]) / 2 if i + 1 < len(times) else times[i] for i in chosen)


def _identity(path: Path) -> str:
    """Name a file's content as ``proctor.evaluate.showing`` does, so that pictures are shared with other runs."""
    try:
        status = path.stat()
    except OSError as error:
        raise UserError(
            f"the video cannot be read ({error.strerror or error}).",
            where=str(path),
            hint="say where the videos are: --videos FOLDER",
        ) from None
    return f"{os.path.abspath(path)}|{status.st_size}|{status.st_mtime_ns}"  # noqa: PTH100 - resolve() raises on symlink loops

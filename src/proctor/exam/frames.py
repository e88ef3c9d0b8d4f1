"""Frames and clips of videos as pictures in the media store, each made once however many questions share it."""

from __future__ import annotations

import math
import os
import tempfile
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.llm.media import MediaStore
from proctor.llm.message import Image, Video
from proctor.media.clips import cut_clip
from proctor.media.frames import extract_frames
from proctor.media.paint import encode_jpeg
from proctor.media.probe import presentation_times, probe
from proctor.media.sampling import TIME_TOLERANCE

__all__ = ["Frames", "ShownFrame"]

_QUALITY: Final = 90
_CLIP_QUALITY: Final = 23


class ShownFrame(msgspec.Struct, frozen=True, kw_only=True):
    """A frame that a system was shown.

    Attributes:
        number: which frame of the video it is in order of presentation, from 0; or what it was called by whoever asked.
        time: seconds from the start of the file.
        image: the encoded picture in the media store.
    """

    number: int
    time: float
    image: Image


@dataclass(slots=True)
class Frames:
    """Decodes frames and cuts clips; what was made is kept for the next question that asks for the same.

    Attributes:
        media: where pictures and clips are kept.
    """

    media: MediaStore
    _heights: dict[Path, int] = field(default_factory=dict)
    _times: dict[Path, tuple[Sequence[float], float]] = field(default_factory=dict)
    _shown: dict[tuple[object, ...], tuple[ShownFrame, ...]] = field(default_factory=dict)

    def height(self, path: Path) -> int:
        """Return the height of a video, pixels."""
        if path not in self._heights:
            self._heights[path] = probe(path).height
        return self._heights[path]

    def times(self, path: Path) -> tuple[Sequence[float], float]:
        """Return when each frame of a video appears, and when the last one ends (seconds)."""
        if path not in self._times:
            self._times[path] = presentation_times(path)
        return self._times[path]

    def at(
        self,
        path: Path,
        times: Sequence[float],
        height: int,
        *,
        before: float = math.inf,
        numbers: Sequence[int] = (),
    ) -> tuple[ShownFrame, ...]:
        """Return the frames that are on screen at moments, one for each.

        Where they are not called otherwise, frames are counted in the packets of the file, once a video: that holds for
        variable rates, reordered frames and streams that do not begin at 0, and nothing is decoded for it.

        Args:
            path: of the video.
            times: seconds, increasing.
            height: of the pictures, pixels.
            before: seconds; a frame that appears then or later is left out.
            numbers: what the frames at the moments are called; without them, their places in the video, from 0.

        Raises:
            UserError: if the video cannot be read.
        """
        name = (path, tuple(times), height, before, tuple(numbers))
        if name not in self._shown:
            self._shown[name] = self._decoded(path, times, height, before, numbers)
        return self._shown[name]

    def _decoded(
        self, path: Path, times: Sequence[float], height: int, before: float, numbers: Sequence[int]
    ) -> tuple[ShownFrame, ...]:
        source = _identity(path)
        found = []
        for place, frame in enumerate(extract_frames(path, times, height=height)):
            if frame.time >= before:
                continue
            rows, columns = frame.image.shape[:2]
            image = self.media.image(
                f"{source}/{frame.pts}/{height}p/jpeg {_QUALITY}",
                lambda p=frame.image, w=columns, h=rows: (encode_jpeg(p, quality=_QUALITY), w, h),  # type: ignore[misc]
            )
            if numbers:
                number = numbers[place]
            else:  # which frame of the video appears at this time, from 0
                number = max(0, bisect_right(self.times(path)[0], frame.time + TIME_TOLERANCE) - 1)
            found.append(ShownFrame(number=number, time=frame.time, image=image))
        return tuple(found)

    def clip(self, path: Path, end: float, height: int, *, start: float = 0.0) -> Video:
        """Return the clip ``[start, end)`` of a video, never higher than the video itself, with its sound.

        Raises:
            UserError: if it cannot be cut.
        """

        def cut() -> tuple[bytes, float]:
            with tempfile.TemporaryDirectory(prefix="proctor-clip-") as folder:
                clip = Path(folder) / "clip.mp4"
                cut_clip(path, clip, start, end, height=min(height, self.height(path)), quality=_CLIP_QUALITY)
                seconds = probe(clip).duration
                length = end - start
                return clip.read_bytes(), length if seconds is None else min(seconds, length)

        begin = f"{start!r}" if start else "0"
        return self.media.clip(f"{_identity(path)}/[{begin}, {end!r})/{height}p/h264 {_CLIP_QUALITY}", cut)


def _identity(path: Path) -> str:
    """Name a file's content: reading gigabytes to hash them would cost more than encoding again."""
    try:
        status = path.stat()
    except OSError as error:
        raise UserError(
            f"the video cannot be read ({error.strerror or error}).",
            where=str(path),
            hint="say where the videos are: --videos FOLDER",
        ) from None
    return f"{os.path.abspath(path)}|{status.st_size}|{status.st_mtime_ns}"  # noqa: PTH100 - resolve() raises on symlink loops

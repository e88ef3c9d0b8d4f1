"""From a view to what is attached to a prompt: frames decoded at its moments, or the clip itself."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.evaluate.predict import Task
from proctor.evaluate.view import View, frame_times
from proctor.llm.media import MediaStore
from proctor.llm.message import Image, Video
from proctor.media.clips import cut_clip
from proctor.media.frames import extract_frames
from proctor.media.paint import encode_jpeg
from proctor.media.probe import probe

__all__ = ["ShownFrame", "shown_clip", "shown_frames"]

_QUALITY: Final = 90
_CLIP_QUALITY: Final = 23


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


def shown_frames(
    task: Task, view: View, media: MediaStore, steps: Sequence[tuple[float, float]] = ()
) -> tuple[ShownFrame, ...]:
    """Return the frames that this view shows of a task, encoded once however many questions share them.

    Two moments with the same frame on screen show it once; a frame that appears at or after the moment of the question
    is left out.

    Args:
        task: the question and its video.
        view: how many frames, how high, at which moments.
        media: where the pictures are kept.
        steps: start and end (seconds) of the performed steps, for views that look at these.

    Raises:
        UserError: if the item has no video, or it cannot be read.
    """
    path = _video(task)
    source = _identity(path)
    found: dict[int, ShownFrame] = {}
    for frame in extract_frames(path, frame_times(view, task.end, steps), height=view.height):
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


def shown_clip(task: Task, view: View, media: MediaStore) -> Video:
    """Return the clip ``[0, end)`` of a task's video at the view's height, cut once however many questions share it.

    It is never higher than the video itself, and keeps the sound.

    Raises:
        UserError: if the item has no video, or it cannot be cut.
    """
    path = _video(task)

    def cut() -> tuple[bytes, float]:
        height = min(view.height, probe(path).height)
        with tempfile.TemporaryDirectory(prefix="proctor-clip-") as folder:
            clip = Path(folder) / "clip.mp4"
            cut_clip(path, clip, 0.0, task.end, height=height, quality=_CLIP_QUALITY)
            seconds = probe(clip).duration
            return clip.read_bytes(), task.end if seconds is None else min(seconds, task.end)

    source = f"{_identity(path)}/[0, {task.end!r})/{view.height}p/h264 {_CLIP_QUALITY}"
    return media.clip(source, cut)


def _video(task: Task) -> Path:
    if task.video is None:
        raise UserError(
            "the item has no video, so nothing of it can be shown.",
            where=task.item_id,
            hint="say where the videos are (--videos FOLDER), or show the recipe or the question only (--show recipe)",
        )
    return task.video


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

"""Render synthetic recordings: scenes in, a small mp4 out, the same bytes for the same scenes.

The package sample has no camera; its videos are drawings of what its people did (``scene``, ``stage``).
"""

from __future__ import annotations

import math
import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final

from proctor.errors import MissingExtraError, UserError
from proctor.media.source import import_av, write_mp4
from proctor_rehearsal.drawing.scene import Scene
from proctor_rehearsal.drawing.stage import Stage

__all__ = ["Job", "render_many", "render_recording"]

_LONGEST: Final = 4 * 3600.0
_WORTH_A_PROCESS: Final = 400
"""Pictures that are drawn in the time that a new process takes to begin; fewer are no reason for one."""


@dataclass(frozen=True, slots=True)
class Job:
    """One video to render: where to, what, the seed of its looks, its size in pixels and its frames a second."""

    path: Path
    scenes: tuple[Scene, ...]
    seed: int = 0
    width: int = 480
    height: int = 270
    fps: int = 8


def render_recording(
    path: Path, scenes: Sequence[Scene], *, width: int = 480, height: int = 270, fps: int = 8, seed: int = 0
) -> None:
    """Write the scenes as an H.264 mp4 that begins at 0 s and ends with the last scene.

    The same arguments give the same bytes with the same versions of PyAV and Pillow. A keyframe comes every eight
    seconds.

    Args:
        path: where to write; the file appears whole or not at all.
        scenes: in order of time; where no scene is, an empty surface is seen.
        width: pixels, even.
        height: pixels, even.
        fps: frames a second.
        seed: chooses wall, table and the like.

    Raises:
        UserError: for scenes that do not increase, no scenes, odd sizes, or a place that cannot be written.
        MissingExtraError: when PyAV or Pillow is not installed.
    """
    duration = _checked(scenes, width, height, fps, str(path))
    av = import_av()
    _need_pillow()
    stage = Stage(scenes, duration, seed)
    with write_mp4(path) as container:
        # one thread, since x264's output depends on their number; neither its macroblock tree nor B-frames, since with
        # them it reads memory that nobody wrote (PyAV 18's wheel; MALLOC_PERTURB_ shows it)
        options = {"preset": "veryfast", "crf": "33", "threads": "1", "g": str(8 * fps), "mbtree": "0"}
        stream = container.add_stream("libx264", rate=fps, options=options)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.codec_context.max_b_frames = 0
        for number in range(math.ceil(duration * fps)):
            picture = stage.picture(number / fps)
            if picture.size != (width, height):
                picture = picture.resize((width, height))
            frame = av.VideoFrame.from_image(picture)
            frame.pts, frame.time_base = number, Fraction(1, fps)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def render_many(
    jobs: Sequence[Job], *, processes: int | None = None, seen: Callable[[Path], None] | None = None
) -> list[Path]:
    """Render several videos, in several processes when there is enough to draw; return their paths.

    Args:
        jobs: what to render; which process takes which never changes a video.
        processes: at most this many; None takes the processors that may be used, fewer where there is little to draw.
        seen: called with each path as it is done (for progress bars).

    Raises:
        UserError: as ``render_recording``; videos that were finished before stay.
    """
    workers = min(len(jobs), processes or min(_processors(), _pictures(jobs) // _WORTH_A_PROCESS))
    if workers <= 1:
        for job in jobs:
            _render(job)
            if seen is not None:
                seen(job.path)
        return [job.path for job in jobs]
    import_av()
    _need_pillow()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        waiting = {pool.submit(_render, job): job for job in jobs}
        try:
            for done in as_completed(waiting):
                done.result()
                if seen is not None:
                    seen(waiting[done].path)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [job.path for job in jobs]


def _render(job: Job) -> None:
    render_recording(job.path, job.scenes, width=job.width, height=job.height, fps=job.fps, seed=job.seed)


def _pictures(jobs: Sequence[Job]) -> int:
    return sum(math.ceil(min(_LONGEST, job.scenes[-1].end)) * job.fps for job in jobs if job.scenes)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _need_pillow() -> None:
    try:
        import PIL.Image  # noqa: F401
    except ImportError:
        raise MissingExtraError("pillow", "video", "Rendering the sample's videos") from None


def _checked(scenes: Sequence[Scene], width: int, height: int, fps: int, where: str) -> float:
    if not scenes:
        raise UserError("there are no scenes to render.", where=where)
    if width < 16 or height < 16 or width % 2 or height % 2:
        raise UserError(
            f"a size of {width}×{height} is not possible.", where=where, hint="give even numbers from 16"
        )
    if not 1 <= fps <= 60:
        raise UserError(f"{fps} frames a second are not possible.", where=where, hint="give 1 to 60")
    now = 0.0
    for scene in scenes:
        if not (now <= scene.start < scene.end <= _LONGEST):
            raise UserError(
                f"the scene [{scene.start}, {scene.end}) s does not follow the one that ends at {now} s.",
                where=where,
                hint="scenes must be in order, not overlap, and end within 4 hours",
            )
        now = scene.end
    return now

"""Whether a video suits work on single frames: a constant frame rate from the start on, and no sound beyond the last picture.

Frame k of such a video is on the screen from ``k / fps`` to ``(k + 1) / fps`` seconds, so seconds and frames are the same
thing said twice. Only packets are read; nothing is decoded.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.media.source import DEFAULT_LIMITS, Deadline, Limits, import_av, open_video

__all__ = ["Steadiness", "check_steady"]

_RATES: Final = tuple(
    Fraction(*pair)
    for pair in ((24000, 1001), (24, 1), (25, 1), (30000, 1001), (30, 1), (50, 1), (60000, 1001), (60, 1))
)
"""Frames a second of cameras and editors."""
_FASTEST: Final = 120
_SOUND: Final = Fraction(1, 4)
"""Seconds by which sound may outlast the pictures: blocks of sound are as long as two frames, and cameras stop it late."""
_MILLISECOND: Final = Fraction(1, 1000)
"""Matroska rounds times to it."""


class Steadiness(msgspec.Struct, frozen=True):
    """Frames of a steady video.

    Attributes:
        fps: frames a second, exactly.
        frames: how many there are.
        duration: seconds, ``frames / fps``.
    """

    fps: Fraction
    frames: int
    duration: Fraction


def check_steady(path: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS) -> Steadiness:
    """Return the frame rate of a video and how many frames it holds.

    Raises:
        UserError: if it is no readable video, its frames are not evenly spaced (or begin late, or are more than 120 a second), or its
            sound is longer than its pictures by more than a quarter of a second; with the command of ffmpeg that makes a file that can be used.
        MissingExtraError: when PyAV is not installed.
    """
    where = str(path)
    deadline = Deadline(limits.seconds, where)
    shown: list[int] = []
    untimed, sound_end = 0, Fraction(0)
    with open_video(path, limits) as (container, stream):
        tick = Fraction(stream.time_base or Fraction(1, 1_000_000))
        zero = Fraction(container.start_time or 0, 1_000_000)
        declared = [Fraction(r) for r in (stream.average_rate, stream.base_rate, stream.guessed_rate) if r]
        numbered = container.format.name == "avi"  # keeps no times
        try:
            for packet in container.demux():
                deadline.check()
                if packet.stream_index == stream.index and (packet.dts is not None or packet.size):
                    if packet.pts is None or numbered:
                        untimed += 1
                    elif not packet.is_discard:
                        shown.append(packet.pts)
                elif packet.stream.type == "audio" and packet.pts is not None and packet.time_base:
                    sound_end = max(
                        sound_end, (packet.pts + (packet.duration or 0)) * packet.time_base - zero
                    )
        except import_av().error.FFmpegError as error:
            raise UserError(
                f"the video is damaged: {error.strerror}.", where=where, hint="copy the file again"
            ) from None
    frames = untimed or len(shown)
    if frames < 2:
        raise UserError(
            f"the video holds {frames} frames: it is not a recording.",
            where=where,
            hint="was the right file exported?",
        )
    if untimed:
        fps = declared[0] if declared else Fraction(25)
    else:
        fps = _rate(sorted(shown), tick, zero, declared, where)
    duration = frames / fps
    if sound_end > duration + _SOUND:
        raise UserError(
            f"its sound ends at {float(sound_end):.2f} s and its pictures at {float(duration):.2f} s; on a timeline they have to be equally long.",
            where=where,
            hint=f"cut the sound: ffmpeg -i {shlex.quote(where)} -map 0:v:0 -map 0:a -c copy -t {float(duration):.3f} {_fixed(where)}",
        )
    return Steadiness(fps, frames, duration)


def _rate(
    shown: Sequence[int], tick: Fraction, zero: Fraction, declared: Sequence[Fraction], where: str
) -> Fraction:
    """Return the rate at which frame k appears at k / rate.

    Raises:
        UserError: if there is none.
    """
    span = (shown[-1] - shown[0]) * tick
    measured = (len(shown) - 1) / span if span else Fraction(25)
    slack = max(tick, _MILLISECOND)
    steps = [b - a for a, b in pairwise(shown)]
    apart = Fraction(median(steps)) * tick or Fraction(1, 30)
    usual = min(_RATES, key=lambda rate: abs(1 / rate - apart))
    candidates = dict.fromkeys(
        (
            min(_RATES, key=lambda rate: abs(rate - measured)),
            measured.limit_denominator(1001),
            *declared,
            measured,
        )
    )
    fits = [
        r
        for r in candidates
        if r > 0 and all(abs((t - shown[0]) * tick - k / r) <= slack for k, t in enumerate(shown))
    ]
    late = shown[0] * tick - zero
    seen = ""
    if not fits:
        seen = f"its frame rate varies: frames follow each other after {float(min(steps) * tick):.4f} to {float(max(steps) * tick):.4f} s."
    elif fits[0] > _FASTEST:
        seen = f"it has {float(fits[0]):g} frames a second; timelines take up to {_FASTEST}."
        usual = Fraction(60)
    elif late > slack:
        seen = f"its first picture appears {float(late):.3f} s after its start, so frames cannot be counted from there."
        usual = fits[0]
    if seen:
        raise UserError(
            seen,
            where=where,
            hint=f"make its rate constant: ffmpeg -i {shlex.quote(where)} -vf fps={usual}:start_time=0 -c:v libx264 -crf 18 -c:a aac {_fixed(where)}",
        )
    return fits[0]


def _fixed(where: str) -> str:
    path = Path(where)
    return shlex.quote(str(path.with_name(f"{path.stem}-steady.mp4")))

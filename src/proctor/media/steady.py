"""Whether a video suits work on single frames: a constant frame rate from the start on, and no sound beyond the last picture.

Frame k of such a video is on the screen from ``k / fps`` to ``(k + 1) / fps`` seconds. Only packets are read.
"""

from __future__ import annotations

import os
import shlex
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.media.source import DEFAULT_LIMITS, Deadline, Limits, import_av, open_video

__all__ = ["Steadiness", "check_steady"]

_THOUSANDS: Final = (24000, 30000, 60000)
_RATES: Final = (*(Fraction(n, 1001) for n in _THOUSANDS), *map(Fraction, (24, 25, 30, 50, 60)))
_FASTEST: Final = 120
_SOUND: Final = Fraction(1, 4)
"""Seconds by which sound may outlast the pictures: blocks of it are as long as two frames, and cameras stop it late."""


class Steadiness(msgspec.Struct, frozen=True):
    """Frames a second, exactly; how many frames there are; seconds, ``frames / fps``."""

    fps: Fraction
    frames: int
    duration: Fraction


def check_steady(path: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS) -> Steadiness:
    """Return the frame rate of a video and how many frames it holds.

    Raises:
        UserError: if it is no readable video, its frames are not evenly spaced (or begin late, or are more than 120 a second),
            or its sound is longer than its pictures by more than 0.25 s; with the command of ffmpeg that helps.
        MissingExtraError: when PyAV is not installed.
    """
    where, deadline = str(path), Deadline(limits.seconds, str(path))
    shown: list[int] = []
    untimed, sound_end = 0, Fraction(0)
    with open_video(path, limits) as (container, stream):
        tick = Fraction(stream.time_base or Fraction(1, 1_000_000))
        zero = Fraction(container.start_time or 0, 1_000_000)
        declared = [Fraction(r) for r in (stream.average_rate, stream.base_rate) if r]
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
                f"the video is damaged: {error.strerror}.", where=where, hint="copy it again"
            ) from None
    frames = untimed or len(shown)
    if frames < 2:
        raise UserError(f"the video holds {frames} frames: it is not a recording.", where=where)
    fps = (
        (declared[0] if declared else Fraction(25))
        if untimed
        else _rate(sorted(shown), tick, zero, declared, where)
    )
    duration = frames / fps
    if sound_end > duration + _SOUND:
        seen = f"its sound ends at {float(sound_end):.2f} s, its pictures at {float(duration):.2f} s; they have to be equally long."
        raise _refused(seen, where, f"-map 0:v:0 -map 0:a -c copy -t {float(duration):.3f}")
    return Steadiness(fps, frames, duration)


def _rate(shown: list[int], tick: Fraction, zero: Fraction, declared: list[Fraction], where: str) -> Fraction:
    """Return the rate at which frame k appears at k / rate; raises UserError if there is none."""
    steps = [b - a for a, b in pairwise(shown)]
    measured = len(steps) / (sum(steps) * tick) if any(steps) else Fraction(25)
    apart = Fraction(median(steps)) * tick or Fraction(1, 30)
    usual = min(_RATES, key=lambda rate: abs(1 / rate - apart))
    nearest = min(_RATES, key=lambda rate: abs(rate - measured))
    slack = max(tick, Fraction(1, 1000))  # Matroska rounds times to milliseconds
    for rate in (nearest, measured.limit_denominator(1001), *declared, measured):
        if all(abs((time - shown[0]) * tick - k / rate) <= slack for k, time in enumerate(shown)):
            late = shown[0] * tick - zero
            if rate > _FASTEST:
                seen, usual = (
                    f"it has {float(rate):g} frames a second; timelines take up to {_FASTEST}.",
                    Fraction(60),
                )
            elif late > slack:
                seen, usual = f"its first picture appears {float(late):.3f} s after its start.", rate
            else:
                return rate
            break
    else:
        seen = f"its frame rate varies: from frame to frame {float(min(steps) * tick):.4f} to {float(max(steps) * tick):.4f} s."
    raise _refused(seen, where, f"-vf fps={usual}:start_time=0 -c:v libx264 -crf 18 -c:a aac")


def _refused(seen: str, where: str, options: str) -> UserError:
    fixed = Path(where).with_name(f"{Path(where).stem}-steady.mp4")
    return UserError(
        seen, where=where, hint=f"ffmpeg -i {shlex.quote(where)} {options} {shlex.quote(str(fixed))}"
    )

"""Whether a video suits work on single frames: a constant frame rate from the start on, and no sound beyond the last picture.

Frame k of such a video is on the screen from ``k / fps`` to ``(k + 1) / fps`` seconds. Only packets are read.
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
from proctor.media.probe import presentation_times
from proctor.media.source import DEFAULT_LIMITS, Limits, open_video

__all__ = ["Steadiness", "check_steady"]

_THOUSANDS: Final = (24000, 30000, 60000)
_RATES: Final = (*(Fraction(n, 1001) for n in _THOUSANDS), *map(Fraction, (24, 25, 30, 50, 60)))
_FASTEST: Final = 120
_SLACK: Final = 0.001_001
"""Seconds; Matroska rounds times to milliseconds."""
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
    where, times = str(path), presentation_times(path, limits=limits)[0]
    with open_video(path, limits) as (container, stream):
        declared = [Fraction(r) for r in (stream.average_rate, stream.base_rate) if r]
        sound_end = Fraction(container.duration or 0, 1_000_000) if container.streams.audio else Fraction(0)
    if len(times) < 2:
        raise UserError("the video holds one frame: it is not a recording.", where=where)
    fps = _rate(times, declared, where)
    duration = len(times) / fps
    if sound_end > duration + _SOUND:
        seen = f"its sound ends at {float(sound_end):.2f} s, its pictures at {float(duration):.2f} s; they have to be equally long."
        raise _refused(seen, where, f"-map 0:v:0 -map 0:a -c copy -t {float(duration):.3f}")
    return Steadiness(fps, len(times), duration)


def _rate(times: Sequence[float], declared: Sequence[Fraction], where: str) -> Fraction:
    """Return the rate at which frame k appears at k / rate; raises UserError if there is none."""
    steps = [b - a for a, b in pairwise(times)]
    measured = Fraction(len(steps) / (times[-1] - times[0]))
    nearest = min(_RATES, key=lambda rate: abs(rate - measured))
    for rate in (nearest, measured.limit_denominator(1001), *declared):
        if all(abs(time - times[0] - k / float(rate)) <= _SLACK for k, time in enumerate(times)):
            break
    else:
        usual = min(_RATES, key=lambda rate: abs(float(1 / rate) - median(steps)))
        seen = f"its frame rate varies: from frame to frame {min(steps):.4f} to {max(steps):.4f} s."
        raise _refused(seen, where, _even(usual))
    if rate > _FASTEST:
        seen = f"it has {float(rate):g} frames a second; timelines take up to {_FASTEST}."
        raise _refused(seen, where, _even(Fraction(60)))
    if times[0] > _SLACK:
        seen = f"its first picture appears {times[0]:.3f} s after its start."
        raise _refused(seen, where, _even(rate))
    return rate


def _even(rate: Fraction) -> str:
    return f"-vf fps={rate}:start_time=0 -c:v libx264 -crf 18 -c:a aac"


def _refused(seen: str, where: str, options: str) -> UserError:
    fixed = Path(where).with_name(f"{Path(where).stem}-steady.mp4")
    return UserError(
        seen, where=where, hint=f"ffmpeg -i {shlex.quote(where)} {options} {shlex.quote(str(fixed))}"
    )

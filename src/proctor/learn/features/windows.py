"""Windows over a video and its sound: one begins at every second, each is looked at evenly, the file is decoded once.

Row s of the features is the window that begins at second s, as in CaptainCook4D's extraction: there is a row for 0, 1, 2 …
below the duration. The last windows are shorter than the others; their frames are taken evenly from what is there, as the
released code does (the paper pads with zeros; a store does that for rows past its end). A rest below 0.04 s has no row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.media.clips import AUDIO_RATE, sound_blocks
from proctor.media.frames import iter_frames
from proctor.media.paint import Image
from proctor.media.probe import presentation_times, probe
from proctor.media.source import Limits, open_video

__all__ = [
    "AUDIO_RATE",
    "STRIDE",
    "Film",
    "Schedule",
    "Window",
    "iter_images",
    "iter_sounds",
    "look",
    "schedule",
    "starts_of",
]

STRIDE: Final = 1.0
"""Seconds from one window to the next."""
SHORTEST: Final = 0.04
"""Seconds: a rest of a video that is shorter has no row."""
_LIMITS: Final = Limits(frames=20_000_000, output_bytes=2**62, seconds=24 * 3600.0)
"""A film may be hours long; frames are given on one by one, so that memory stays flat."""

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Window:
    """How long a window is, in seconds, and how many frames of it are looked at (0 for its sound)."""

    seconds: float
    frames: int = 0


@dataclass(frozen=True, slots=True)
class Film:
    """What is known of a video before it is decoded: seconds, size in pixels, whether it has sound."""

    path: Path
    seconds: float
    width: int
    height: int
    sound: bool


@dataclass(frozen=True, slots=True)
class Schedule:
    """Which moments are decoded, and which windows they belong to.

    Attributes:
        times: seconds, increasing, each once, of all windows together.
        members: for each kind of window the places of its moments in ``times``; shape (rows, frames).
    """

    times: tuple[float, ...]
    members: tuple[NDArray[np.int64], ...]


def look(path: Path) -> Film:
    """Return what a video is.

    Raises:
        UserError: if it is none, is damaged, or lasts no time.
        MissingExtraError: when PyAV is not installed.
    """
    info = probe(path, limits=_LIMITS)
    seconds = info.duration if info.duration is not None else presentation_times(path, limits=_LIMITS)[1]
    if not math.isfinite(seconds) or seconds <= 0:
        raise UserError(f"it lasts {seconds} s.", where=str(path), hint="copy or encode the file again")
    return Film(Path(path), seconds, info.width, info.height, info.has_audio)


def starts_of(seconds: float) -> NDArray[np.int64]:
    """Return the second at which each row begins; at least one. A rest below ``SHORTEST`` has none."""
    return np.arange(max(1, math.ceil((seconds - SHORTEST) / STRIDE)), dtype=np.int64)


def schedule(seconds: float, windows: Sequence[Window]) -> Schedule:
    """Plan which moments of a video are decoded: the middles of ``frames`` equal parts of every window.

    Args:
        seconds: of the video.
        windows: all that are made in one pass; moments that they share are decoded once.
    """
    starts = starts_of(seconds)
    moments = []
    for window in windows:
        lengths = np.minimum(window.seconds, seconds - starts)
        parts = (np.arange(window.frames) + 0.5) / window.frames
        moments.append(np.round(starts[:, None] + parts * lengths[:, None], 6))
    times, places = np.unique(np.concatenate([m.ravel() for m in moments]), return_inverse=True)
    ends = np.cumsum([m.size for m in moments])[:-1]
    members = tuple(p.reshape(m.shape) for p, m in zip(np.split(places, ends), moments, strict=True))
    return Schedule(tuple(times.tolist()), members)


def iter_images(path: Path, plan: Schedule, height: int) -> Iterator[tuple[int, int, list[Image]]]:
    """Decode a video once and yield each window when it is complete: its kind, its row, its frames in order.

    Args:
        path: of the video.
        plan: of ``schedule``.
        height: of the upright frames, in pixels.

    Raises:
        UserError: if the video is damaged.
    """
    held: dict[int, Image] = {}
    following = [0] * len(plan.members)
    for place, frame in enumerate(iter_frames(path, plan.times, height=height, limits=_LIMITS)):
        held[place] = frame.image
        for kind, rows in enumerate(plan.members):
            while following[kind] < len(rows) and rows[following[kind], -1] <= place:
                yield kind, following[kind], [held[int(m)] for m in rows[following[kind]]]
                following[kind] += 1
        first = min(
            (int(r[n, 0]) for r, n in zip(plan.members, following, strict=True) if n < len(r)), default=place
        )
        for old in [key for key in held if key < first]:
            del held[old]


def iter_sounds(film: Film, windows: Sequence[Window]) -> Iterator[tuple[int, int, Floats]]:
    """Yield the sound of each window, one channel at 48 kHz: its kind, its row, its samples; silence where there is none.

    Raises:
        UserError: if the sound is damaged.
    """
    starts = starts_of(film.seconds)
    following = [0] * len(windows)
    buffer, first = np.zeros(0, np.float32), 0
    for block in _seconds_of_sound(film):
        buffer = np.concatenate([buffer, block])
        reached = first + len(buffer)
        for kind, window in enumerate(windows):
            while following[kind] < len(starts):
                begin = int(starts[following[kind]]) * AUDIO_RATE
                end = round(min(starts[following[kind]] + window.seconds, film.seconds) * AUDIO_RATE)
                if end > reached:
                    break
                yield kind, following[kind], buffer[begin - first : end - first]
                following[kind] += 1
        keep = min((int(starts[n]) for n in following if n < len(starts)), default=0) * AUDIO_RATE
        buffer, first = buffer[max(0, keep - first) :], max(first, keep)


def _seconds_of_sound(film: Film) -> Iterator[Floats]:
    """Yield the whole sound, a second and more at a time, filled with silence to the end of the film."""
    total = round(film.seconds * AUDIO_RATE)
    given, gathered = 0, 0
    parts: list[np.ndarray[Any, np.dtype[np.float32]]] = []
    if film.sound:
        with open_video(film.path, _LIMITS) as (container, _):
            mono = container.streams.audio[0].codec_context.channels == 1
        # takes back the 3 dB that a single channel loses when it is spread over two
        gain = np.float32(math.sqrt(2) if mono else 1.0)
        for _, samples in sound_blocks(film.path, 0.0, film.seconds, limits=_LIMITS):
            parts.append(samples.mean(axis=0) * gain)
            gathered += len(parts[-1])
            if gathered >= AUDIO_RATE:
                yield np.concatenate(parts)
                given, gathered, parts = given + gathered, 0, []
    if parts:
        yield np.concatenate(parts)
        given += gathered
    while given < total:
        silence = min(AUDIO_RATE, total - given)
        yield np.zeros(silence, np.float32)
        given += silence

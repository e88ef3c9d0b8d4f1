"""Small films of known content, made once."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

Paint = Callable[[int], NDArray[np.uint8]]


def write_film(
    path: Path,
    paint: Paint,
    frames: int,
    *,
    fps: int = 8,
    tone: float | None = None,
    size: tuple[int, int] = (160, 96),
) -> Path:
    """Write what ``paint`` gives for each frame, and a tone of so many hertz beside it."""
    av = pytest.importorskip("av", reason="the extra 'video' is not installed")
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=fps, options={"crf": "10", "threads": "1"})
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        sound = container.add_stream("aac", rate=48_000, layout="mono") if tone is not None else None
        for number in range(frames):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(paint(number), format="rgb24")))
        container.mux(stream.encode(None))
        for first in range(0, 48_000 * frames // fps if sound is not None else 0, 1024):
            wave = 0.5 * np.sin(2 * np.pi * (tone or 0.0) * (first + np.arange(1024)) / 48_000)
            block = av.AudioFrame.from_ndarray(wave.astype(np.float32)[None], format="fltp", layout="mono")
            block.sample_rate, block.pts, block.time_base = 48_000, first, Fraction(1, 48_000)
            container.mux(sound.encode(block))
        if sound is not None:
            container.mux(sound.encode(None))
    return path


def plain_colour(*colour: int, size: tuple[int, int] = (160, 96)) -> Paint:
    return lambda _: np.full((size[1], size[0], 3), colour, np.uint8)


def moving_square(right: int, down: int, begin: tuple[int, int]) -> Paint:
    """A bright square that moves so many pixels a frame on a dark ground."""

    def paint(number: int) -> NDArray[np.uint8]:
        image = np.full((96, 160, 3), 40, np.uint8)
        x, y = begin[0] + right * number, begin[1] + down * number
        image[y : y + 24, x : x + 24] = 220
        return image

    return paint

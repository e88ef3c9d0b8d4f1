"""Make small video files of every kind that the tests need, with every frame telling its own number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import numpy.typing as npt

__all__ = ["Recipe", "make_audio", "make_grey_video", "make_grey_videos", "make_video", "number_in"]

BITS = 10


@dataclass(frozen=True)
class Recipe:
    """How to encode: times are in ticks of ``time_base``."""

    times: Sequence[int]
    time_base: Fraction = Fraction(1, 30)
    codec: str = "libx264"
    size: tuple[int, int] = (160, 96)
    options: dict[str, str] = field(default_factory=dict)
    gop: int = 30
    b_frames: int = 0
    pixel_format: str = "yuv420p"
    rotation: int = 0
    container_options: dict[str, str] = field(default_factory=dict)
    format: str | None = None
    aspect: Fraction | None = None
    audio_seconds: float = 0.0


def picture(number: int, size: tuple[int, int]) -> npt.NDArray[np.uint8]:
    """A moving grey pattern with the frame's number as a row of black and white blocks."""
    width, height = size
    x = np.arange(width)[None, :]
    y = np.arange(height)[:, None]
    grey = 96 + 40 * np.sin((x + 5 * number) / 11.0) * np.cos((y - 3 * number) / 7.0)
    image = np.repeat(grey[:, :, None], 3, axis=2)
    block = width // BITS
    for bit in range(BITS):
        image[: height // 2, bit * block : (bit + 1) * block] = 235 if number >> bit & 1 else 16
    return image.astype(np.uint8)


def number_in(image: npt.NDArray[np.uint8]) -> int:
    """Read the number back from an upright image."""
    height, width = image.shape[:2]
    block = width / BITS
    number = 0
    for bit in range(BITS):
        middle = image[height // 8 : height * 3 // 8, round((bit + 0.3) * block) : round((bit + 0.7) * block)]
        number |= int(middle.mean() > 128) << bit
    return number


def make_video(path: Path, recipe: Recipe) -> Path:
    width, height = recipe.size
    with av.open(
        str(path), "w", format=recipe.format, container_options=recipe.container_options
    ) as container:
        stream = container.add_stream(recipe.codec, rate=Fraction(30), options=dict(recipe.options))
        stream.width, stream.height, stream.pix_fmt = width, height, recipe.pixel_format
        context = stream.codec_context
        context.time_base = recipe.time_base
        context.gop_size = recipe.gop
        context.max_b_frames = recipe.b_frames
        context.thread_count = 1
        if recipe.aspect:
            context.sample_aspect_ratio = recipe.aspect
        if recipe.rotation:
            stream.set_display_rotation(recipe.rotation)
        audio = container.add_stream("aac", rate=16_000) if recipe.audio_seconds else None
        for number, time in enumerate(recipe.times):
            frame = av.VideoFrame.from_ndarray(picture(number, recipe.size), format="rgb24")
            frame.pts, frame.time_base = time, recipe.time_base
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
        if audio is not None:
            _sound(container, audio, recipe.audio_seconds)
    return path


def turn_video(path: Path, turned: Path, rotation: int) -> Path:
    """Copy a video with another display rotation: the same packets, since encoding twice may differ a little."""
    with av.open(str(path)) as source, av.open(str(turned), "w") as target:
        stream = target.add_stream_from_template(source.streams.video[0])
        stream.set_display_rotation(rotation)
        for packet in source.demux(source.streams.video[0]):
            if packet.dts is not None:
                packet.stream = stream
                target.mux(packet)
    return turned


def make_audio(path: Path, seconds: float = 1.0, codec: str = "aac") -> Path:
    with av.open(str(path), "w") as container:
        _sound(container, container.add_stream(codec, rate=16_000), seconds)
    return path


def _sound(container: av.container.OutputContainer, stream: av.AudioStream, seconds: float) -> None:
    for start in range(0, int(16_000 * seconds), 1024):
        wave = 0.3 * np.sin(2 * np.pi * 440 * (start + np.arange(1024)) / 16_000)
        frame = av.AudioFrame.from_ndarray(wave.astype(np.float32)[None, :], format="fltp", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = 16_000, start, Fraction(1, 16_000)
        container.mux(stream.encode(frame))
    container.mux(stream.encode(None))


def make_grey_video(path: Path, seconds: int, every: int = 1) -> None:
    """Write a tiny video with a frame every so many seconds, each of another grey."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=Fraction(1, every), options={"g": "10"})
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for second in range(0, seconds, every):
            grey = np.full((48, 64, 3), second % 250, dtype=np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(grey, format="rgb24")))
        container.mux(stream.encode())


def make_grey_videos(folder: Path, seconds: Mapping[str, float]) -> None:
    """Give each name a tiny video that is at least so long, with a frame every ten seconds; those of a length are one file."""
    made: dict[int, Path] = {}
    for name, least in seconds.items():
        length = -int(-(least + 12) // 300) * 300
        path = folder / name
        if length in made:
            path.hardlink_to(made[length])
        else:
            make_grey_video(path, length, every=10)
            made[length] = path

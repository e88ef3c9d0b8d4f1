"""Cut a span out of a video, and make thumbnails.

A clip that a person or a model judges is encoded again: copying packets would begin at the keyframe before the
start and show what came earlier.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from proctor.errors import UserError
from proctor.media.frames import extract_frames, walk_frames
from proctor.media.paint import encode_jpeg, upright_size
from proctor.media.source import (
    DEFAULT_LIMITS,
    Deadline,
    Limits,
    import_av,
    local_file,
    open_video,
    write_mp4,
)
from proctor.records import atomic_write

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.container import OutputContainer
    from av.packet import Packet
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

__all__ = [
    "AUDIO_BLOCK",
    "AUDIO_RATE",
    "Samples",
    "cut_clip",
    "encode_sound",
    "sound_blocks",
    "write_thumbnail",
]

AUDIO_RATE: Final = 48_000
"""Samples a second of every clip's sound."""
AUDIO_BLOCK: Final = 1024
"""Samples that AAC codes together."""
Samples = np.ndarray[Any, np.dtype[np.float32]]
"""Channels × samples."""
_TICK: Final = Fraction(1, 90_000)


def cut_clip(
    path: str | os.PathLike[str],
    clip: Path,
    start: float,
    end: float,
    *,
    height: int | None = None,
    quality: int = 21,
    limits: Limits = DEFAULT_LIMITS,
) -> None:
    """Write ``[start, end)`` of a video as an mp4 of its own (H.264, and AAC when there is sound).

    The first picture is the one on screen at ``start``; frame times are kept. A span that reaches past the end of
    the video is cut there.

    Args:
        path: a local video file.
        clip: where to write.
        start: seconds from the start of the file.
        end: seconds, exclusive.
        height: pixels of the upright picture; None keeps the size.
        quality: H.264 rate factor, 0 (best) to 51.
        limits: bounds on the work.

    Raises:
        UserError: for an empty or impossible span, a bad video, a place that cannot be written. Nothing is left
            half-written.
    """
    if not (math.isfinite(start) and math.isfinite(end) and 0 <= start < end):
        raise UserError(
            f"[{start}, {end}) is not a span of a video.", hint="give 0 <= start < end in seconds"
        )
    if local_file(path) == Path(os.path.abspath(clip)):  # noqa: PTH100 - resolve() raises on symlink loops
        raise UserError("the clip would overwrite the video that it is cut from.", where=str(clip))
    with write_mp4(clip) as out:
        writer: _ClipWriter | None = None
        for time, frame in walk_frames(path, start, end, limits=limits):
            writer = writer or _ClipWriter(out, frame, *_looks(path, limits), height, quality)
            writer.add(time, frame)
        if writer is None:
            raise UserError(f"no picture falls into [{start:g}, {end:g}) s.", where=str(path))
        _copy_sound(path, writer, start, end, limits)
        writer.finish(Fraction(end) - Fraction(start))


def write_thumbnail(
    path: str | os.PathLike[str],
    image: Path,
    time: float,
    *,
    height: int = 180,
    limits: Limits = DEFAULT_LIMITS,
) -> None:
    """Write the frame on screen at ``time`` (seconds) as a JPEG file.

    Raises:
        UserError: as ``extract_frames``, or when the file cannot be written.
    """
    (frame,) = extract_frames(path, [time], height=height, limits=limits)
    with atomic_write(image) as stream:
        stream.write(encode_jpeg(frame.image, quality=85))


def _looks(path: str | os.PathLike[str], limits: Limits) -> tuple[Fraction | None, Fraction, bool]:
    """Return pixel aspect, average frame rate, and whether there is sound."""
    with open_video(path, limits) as (container, stream):
        rate = stream.average_rate or Fraction(25)
        return stream.sample_aspect_ratio, rate, bool(container.streams.audio)


class _ClipWriter:
    """Encode frames as they come; the streams are laid out on the first."""

    def __init__(
        self,
        out: OutputContainer,
        first: VideoFrame,
        aspect: Fraction | None,
        rate: Fraction,
        sound: bool,
        height: int | None,
        quality: int,
    ) -> None:
        self._out, self._interval = out, 1 / rate
        self._reformatter = import_av().video.reformatter.VideoReformatter()
        rotation = round(first.rotation / 90) * 90
        width, tall = upright_size(first.width, first.height, aspect, rotation, height)
        self._size = (width + width % 2, tall + tall % 2)  # H.264 stores colour for pairs of pixels
        # a fixed number of threads, no macroblock tree, no B-frames: so x264 gives the same bytes again (see ``render``)
        options = {
            "preset": "veryfast",
            "crf": str(quality),
            "g": str(max(1, round(2 * rate))),
            "threads": "4",
            "mbtree": "0",
        }
        self.video: VideoStream = out.add_stream("libx264", rate=rate, options=options)
        self.video.width, self.video.height, self.video.pix_fmt = *self._size, "yuv420p"
        self.video.codec_context.time_base = _TICK
        self.video.codec_context.max_b_frames = 0
        if rotation:
            self.video.set_display_rotation(rotation)
        self.audio: AudioStream | None = out.add_stream("aac", rate=AUDIO_RATE) if sound else None
        self._last: tuple[int, VideoFrame, Fraction] | None = None

    def add(self, time: Fraction, frame: VideoFrame) -> None:
        """Encode a frame that appears at ``time`` seconds of the clip."""
        ticks = round(time / _TICK)
        if self._last is not None and ticks <= self._last[0]:
            return
        stands = frame.duration * frame.time_base if frame.duration and frame.time_base else self._interval
        # (this may be the very same frame, when nothing is to be converted)
        scaled = self._reformatter.reformat(frame, *self._size, "yuv420p")
        scaled.pts, scaled.time_base, scaled.duration = ticks, _TICK, 0
        scaled.pict_type = 0  # or the encoder would repeat the source's choice of keyframes
        self._last = (ticks, scaled, stands)
        self._out.mux(self.video.encode(scaled))

    def sound(self, samples: Samples, first: int) -> None:
        """Encode a block of samples that begins at sample number ``first`` of the clip."""
        assert self.audio is not None
        self._out.mux(encode_sound(self.audio, samples, first))

    def finish(self, seconds: Fraction) -> None:
        """Hold the last picture until the end of the span if it stands for longer than usual, and flush."""
        if self._last is not None:
            time, frame, stands = self._last[0] * _TICK, *self._last[1:]
            until = min(seconds, time + stands)
            if until - time > Fraction(3, 2) * self._interval:
                self.add(until - self._interval, frame)
        self._out.mux(self.video.encode(None))
        if self.audio is not None:
            self._out.mux(self.audio.encode(None))


def encode_sound(stream: AudioStream, samples: Samples, first: int) -> list[Packet[AudioStream]]:
    """Encode a block of samples (one channel or two) that begins at sample number ``first``."""
    layout = "stereo" if samples.shape[0] == 2 else "mono"
    block = import_av().AudioFrame.from_ndarray(np.ascontiguousarray(samples), format="fltp", layout=layout)
    block.sample_rate, block.pts, block.time_base = AUDIO_RATE, first, Fraction(1, AUDIO_RATE)
    return stream.encode(block)


def _copy_sound(
    path: str | os.PathLike[str], writer: _ClipWriter, start: float, end: float, limits: Limits
) -> None:
    if writer.audio is None:
        return
    for first, samples in sound_blocks(path, start, end, limits=limits):
        writer.sound(samples, first)


def sound_blocks(
    path: str | os.PathLike[str], start: float, end: float, *, limits: Limits = DEFAULT_LIMITS
) -> Iterator[tuple[int, Samples]]:
    """Yield the sound of ``[start, end)`` seconds as stereo at 48 kHz in blocks of 1024 samples (the last is shorter).

    Each comes with the number of its first sample. Holes hold silence: a block begins where the one before ended.

    Raises:
        UserError: if the file has no readable sound.
    """
    total = round((end - start) * AUDIO_RATE)
    rest = np.zeros((2, 0), np.float32)
    written = 0
    for samples in _without_holes(path, start, end, limits):
        rest = np.concatenate([rest, samples], axis=1)[:, : total - written]
        while rest.shape[1] >= AUDIO_BLOCK:
            yield written, rest[:, :AUDIO_BLOCK]
            written, rest = written + AUDIO_BLOCK, rest[:, AUDIO_BLOCK:]
    if rest.shape[1]:
        yield written, rest


def _without_holes(
    path: str | os.PathLike[str], start: float, end: float, limits: Limits
) -> Iterator[Samples]:
    """Yield stretches that follow each other; a hole is filled a second at a time, however long it is."""
    reached = 0
    for first, samples in _sound(path, start, end, limits):
        while reached < first:
            silence = min(AUDIO_RATE, first - reached)
            yield np.zeros((2, silence), np.float32)
            reached += silence
        fresh = samples[:, reached - first :]
        yield fresh
        reached += fresh.shape[1]


def _sound(
    path: str | os.PathLike[str], start: float, end: float, limits: Limits
) -> Iterator[tuple[int, Samples]]:
    """Yield stereo samples of the span at 48 kHz with the number of the first, counted from ``start``."""
    av = import_av()
    deadline = Deadline(limits.seconds, str(path))
    resampler = av.AudioResampler(format="fltp", layout="stereo", rate=AUDIO_RATE)
    with open_video(path, limits) as (container, _):
        stream = container.streams.audio[0]
        zero = Fraction(container.start_time or 0, 1_000_000)
        if start > 1:
            container.seek(math.floor((Fraction(start) - 1 + zero) * 1_000_000))
        try:
            for frame in container.decode(stream):
                deadline.check()
                for part in resampler.resample(frame):
                    if part.pts is None or part.time_base is None:
                        continue
                    time = part.pts * part.time_base - zero - Fraction(start)
                    if time >= end - start:
                        return
                    first, samples = round(time * AUDIO_RATE), part.to_ndarray()
                    if first + samples.shape[1] > 0:
                        yield max(0, first), samples[:, max(0, -first) :]
        except av.error.FFmpegError as error:
            raise UserError(
                f"the sound is damaged: {error}.", where=str(path), hint="copy the file again"
            ) from None

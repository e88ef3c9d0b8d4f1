"""Videos for people's browsers: every picture a thirtieth of a second, a keyframe every fifteen, playable at once.

A *proxy* shows at picture k what stood on the screen of its source at k/30 s, never anything later: so the first n
pictures show exactly what could be seen before n/30 s. Its pictures refer only to earlier ones (x264 without B-frames),
hence any number of its packets from the first is a video in its own right. ``trim_proxy`` copies such a beginning into a
file of its own: that is what somebody sees who must not know how it goes on. A player that was told to stop plays on
when it is asked to; a file that ends has nothing to play.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import numpy as np

from proctor.errors import UserError
from proctor.media.clips import AUDIO_BLOCK, AUDIO_RATE, Samples, encode_sound, sound_blocks, write_thumbnail
from proctor.media.frames import walk_frames
from proctor.media.paint import upright_size
from proctor.media.source import (
    DEFAULT_LIMITS,
    Deadline,
    Limits,
    import_av,
    local_file,
    open_video,
    write_mp4,
)

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.container import InputContainer, OutputContainer
    from av.stream import Stream
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

__all__ = [
    "PROXY_LIMITS",
    "ProxyInfo",
    "pictures_before",
    "trim_proxy",
    "write_poster",
    "write_proxy",
]

PROXY_LIMITS: Final = Limits(seconds=4 * 3600.0)
"""A whole recording is decoded and encoded: hours of 4K take hours on a small machine."""
_LONGEST: Final = 24 * 3600
_ROUNDING: Final = Fraction(1, 2000)
"""Seconds by which a container may have rounded a picture's time up (as in ``frames``)."""
_UNKNOWN: Final = (0, 2)
"""Numbers of FFmpeg that say nothing about colour ("reserved", "unspecified")."""


class ProxyInfo(msgspec.Struct, frozen=True):
    """What a proxy or a clip of one holds.

    Attributes:
        frames: number of pictures.
        fps: pictures a second, the same throughout.
        width: pixels of the upright picture.
        height: pixels of the upright picture.
    """

    frames: int
    fps: float
    width: int
    height: int

    @property
    def seconds(self) -> float:
        """How long it plays."""
        return self.frames / self.fps


def pictures_before(end: float, fps: int = 30) -> int:
    """Return how many pictures k = 0, 1, ... appear at k/fps < ``end`` (seconds): the next one would be too late."""
    return max(0, math.ceil(Fraction(end).limit_denominator(1_000_000) * fps))


# -- encoding --------------------------------------------------------------------------------------------------


def write_proxy(
    video: str | os.PathLike[str],
    proxy: Path,
    height: int = 480,
    *,
    start: float = 0.0,
    end: float | None = None,
    fps: Fraction | int = 30,
    gop: int = 15,
    quality: int = 25,
    seen: Callable[[float], None] | None = None,
    limits: Limits = PROXY_LIMITS,
) -> ProxyInfo:
    """Encode a recording as H.264 (yuv420p) with steady times and AAC, its index in front; return what it holds.

    Where the source has no sound there is a silent track, since annotation tools want one. Before the first picture of
    the source the proxy is black.

    Args:
        video: a local video file of any kind and frame rate.
        proxy: where to write; the file appears whole or not at all.
        height: pixels of the upright picture; a smaller source keeps its size.
        start: seconds of the recording at which it begins.
        end: seconds of the recording; None for all of it.
        fps: pictures a second.
        gop: pictures from keyframe to keyframe: what a player has to decode at most when somebody seeks.
        quality: H.264 rate factor, 0 (best) to 51.
        seen: called with the seconds done so far, once for each.
        limits: bounds on the work.

    Raises:
        UserError: for impossible settings, a bad video, a place that cannot be written.
        MissingExtraError: when PyAV is not installed.
    """
    return _encode(video, proxy, start, end, _Look(height, fps, gop, quality), seen, limits)


class _Look(msgspec.Struct, frozen=True):
    height: int
    fps: Fraction | int
    gop: int
    quality: int

    def __post_init__(self) -> None:
        if not 16 <= self.height <= 4320:
            raise UserError(f"a height of {self.height} pixels is not possible.", hint="give 16 to 4320")
        if not (1 <= self.fps <= 120 and 1 <= self.gop <= 600 and 0 <= self.quality <= 51):
            raise UserError(
                f"{self.fps} pictures a second, a keyframe every {self.gop} and quality {self.quality} do not go.",
                hint="give 1 to 120 pictures a second, a keyframe every 1 to 600, and a quality of 0 to 51",
            )


class _Source(NamedTuple):
    """Width over height of a stored pixel; seconds of a tick; usual seconds from frame to frame; whether it sounds."""

    aspect: Fraction | None
    tick: Fraction
    interval: Fraction
    sounds: bool


def _encode(
    video: str | os.PathLike[str],
    target: Path,
    start: float,
    end: float | None,
    look: _Look,
    seen: Callable[[float], None] | None,
    limits: Limits,
) -> ProxyInfo:
    until = float(_LONGEST) if end is None else end
    if not (math.isfinite(start) and math.isfinite(until) and 0 <= start < until):
        raise UserError(
            f"[{start}, {end}) is not a span of a video.", hint="give 0 <= start < end in seconds"
        )
    if local_file(video) == Path(os.path.abspath(target)):  # noqa: PTH100 - resolve() raises on symlink loops
        raise UserError("the proxy would overwrite the video that it is made from.", where=str(target))
    source = _look_at(video, limits)
    with write_mp4(target) as out:
        writer: _Writer | None = None
        for frame in _steady(video, source, start, until, look.fps, limits):
            if writer is None:
                writer = _Writer(out, frame, source.aspect, look)
                if source.sounds:
                    writer.track(sound_blocks(video, start, until, limits=limits))
            writer.add(frame)
            if seen is not None and writer.frames % math.ceil(look.fps) == 0:
                seen(float(writer.frames / look.fps))
        if writer is None or not writer.frames:
            raise UserError(f"no picture falls into [{start:g}, {until:g}) s.", where=str(video))
        writer.finish()
        return ProxyInfo(writer.frames, float(look.fps), *writer.upright)


def _look_at(video: str | os.PathLike[str], limits: Limits) -> _Source:
    with open_video(video, limits) as (container, stream):
        rate = stream.average_rate
        return _Source(
            stream.sample_aspect_ratio,
            Fraction(stream.time_base or 0),
            1 / Fraction(rate) if rate else Fraction(1, 25),
            bool(container.streams.audio),
        )


def _steady(
    video: str | os.PathLike[str],
    source: _Source,
    start: float,
    end: float,
    fps: Fraction | int,
    limits: Limits,
) -> Iterator[VideoFrame]:
    """Yield for k = 0, 1, ... the frame on screen at ``start + k/fps``; black ones where there is none yet."""
    deadline = Deadline(limits.seconds, str(video))
    slack = min(_ROUNDING, source.tick / 2)
    number = 0
    standing: VideoFrame | None = None
    over = Fraction(0)
    for time, frame in walk_frames(video, start, end, limits=limits):
        while Fraction(number, fps) + slack < time:
            standing = standing or _black(frame)
            yield standing
            number += 1
            deadline.check()
        # (the decoder's last frames do not say their time base)
        standing, over = frame, time + (frame.duration * source.tick or source.interval) - slack
    over = min(
        over, Fraction(end).limit_denominator(1_000_000) - Fraction(start).limit_denominator(1_000_000)
    )
    while standing is not None and Fraction(number, fps) < over:
        yield standing
        number += 1
        deadline.check()


def _black(like: VideoFrame) -> VideoFrame:
    frame: VideoFrame = import_av().VideoFrame.from_ndarray(
        np.zeros((like.height, like.width, 3), np.uint8), format="rgb24"
    )
    return frame


class _Writer:
    """Encode pictures and sound side by side, so that a browser finds them side by side in the file."""

    def __init__(self, out: OutputContainer, first: VideoFrame, aspect: Fraction | None, look: _Look) -> None:
        self._out, self._fps = out, look.fps
        self._reformatter = import_av().video.reformatter.VideoReformatter()
        rotation = round(first.rotation / 90) * 90
        own = upright_size(first.width, first.height, aspect, rotation, None)
        turned = rotation % 180 == 90
        height = min(look.height, own[0] if turned else own[1])
        wide, tall = upright_size(first.width, first.height, aspect, rotation, max(2, height))
        self._size = (wide + wide % 2, tall + tall % 2)  # H.264 stores colour for pairs of pixels
        self.upright = self._size[::-1] if turned else self._size
        self.frames = 0
        # one thread (fewer bytes and less work; recordings are encoded side by side), no macroblock tree, no B-frames: so
        # x264 gives the same bytes again (see ``render``); and without B-frames any beginning of it is a whole video
        options = {
            "preset": "veryfast",
            "crf": str(look.quality),
            "g": str(look.gop),
            "keyint_min": str(look.gop),
            "sc_threshold": "0",
            "threads": "1",
            "mbtree": "0",
            # where a seek costs a player most: half the time for half as many bytes again (benchmarks/studio/scrub)
            **({"tune": "fastdecode"} if min(self._size) > 720 else {}),
        }
        self._video: VideoStream = out.add_stream("libx264", rate=look.fps, options=options)
        self._video.width, self._video.height, self._video.pix_fmt = *self._size, "yuv420p"
        self._video.codec_context.max_b_frames = 0
        _copy_colour(first, self._video.codec_context)
        if rotation:
            self._video.set_display_rotation(rotation)
        self._audio: AudioStream = out.add_stream("aac", rate=AUDIO_RATE)
        self._audio.codec_context.bit_rate = 96_000
        self._blocks: Iterator[tuple[int, Samples]] = iter(())
        self._samples = 0
        self._last: tuple[VideoFrame, VideoFrame] | None = None

    def track(self, blocks: Iterator[tuple[int, Samples]]) -> None:
        """Take the sound from here; after its end comes silence."""
        self._blocks = blocks

    def add(self, frame: VideoFrame) -> None:
        """Encode the next picture; the same frame again is not scaled again."""
        if self._last is None or self._last[0] is not frame:
            self._last = (frame, self._reformatter.reformat(frame, *self._size, "yuv420p"))
        scaled = self._last[1]
        scaled.pts, scaled.time_base, scaled.duration = self.frames, Fraction(1, self._fps), 0
        scaled.pict_type = 0  # or the encoder would repeat the source's choice of keyframes
        self._fill(self.frames * AUDIO_RATE // self._fps)
        self._out.mux(self._video.encode(scaled))
        self.frames += 1

    def finish(self) -> None:
        """Let the sound reach the end of the last picture, and flush."""
        total = self.frames * AUDIO_RATE // self._fps
        self._fill(total)
        if total > self._samples:
            self._encode_block(total - self._samples)
        self._out.mux(self._video.encode(None))
        self._out.mux(self._audio.encode(None))

    def _fill(self, until: int) -> None:
        """Encode whole blocks of sound that end at sample ``until`` or before."""
        while self._samples + AUDIO_BLOCK <= until:
            self._encode_block(AUDIO_BLOCK)

    def _encode_block(self, length: int) -> None:
        block = np.zeros((2, length), np.float32)
        found = next(self._blocks, None)
        if found is not None:
            part = found[1][:, :length]
            block[:, : part.shape[1]] = part
        self._out.mux(encode_sound(self._audio, block, self._samples))
        self._samples += length


def _copy_colour(frame: VideoFrame, context: Any) -> None:
    """Say how the colours are meant: scaling keeps a video's matrix, but a browser guesses it from the height."""
    if not frame.format.name.startswith("yuv"):
        return
    for name in ("colorspace", "color_primaries", "color_trc"):
        value = int(getattr(frame, name))
        if value not in _UNKNOWN:
            with suppress(ValueError):  # a number that this FFmpeg does not know
                setattr(context, name, value)


# -- trimming --------------------------------------------------------------------------------------------------


def trim_proxy(proxy: Path, clip: Path, end: float, *, limits: Limits = DEFAULT_LIMITS) -> ProxyInfo:
    """Copy what a proxy shows before ``end`` seconds into a file of its own, without encoding it again.

    The last picture k has k/fps < ``end``; sound of which any part lies after ``end`` is left out. A moment after the
    end of the proxy gives the whole of it.

    Raises:
        UserError: if ``end`` is not a moment after 0, the file was not made by ``write_proxy``, or the clip cannot be
            written.
    """
    if not (math.isfinite(end) and end > 0):
        raise UserError(f"a clip cannot end at {end} s.", hint="give a moment after 0")
    if local_file(proxy) == Path(os.path.abspath(clip)):  # noqa: PTH100 - resolve() raises on symlink loops
        raise UserError("the clip would overwrite the proxy that it is cut from.", where=str(clip))
    with open_video(proxy, limits) as (source, pictures), write_mp4(clip) as out:
        fps, step = _grid(pictures, str(proxy))
        count = _copy(source, pictures, out, pictures_before(end, fps), step, end)
    return ProxyInfo(count, fps, *_upright(proxy, limits))


def _grid(pictures: VideoStream, where: str) -> tuple[int, int]:
    """Return pictures a second and ticks from picture to picture."""
    rate, tick = pictures.average_rate, pictures.time_base
    if rate and tick and rate.denominator == 1 and (1 / (rate * tick)).denominator == 1:
        return int(rate), int(1 / (rate * tick))
    raise _not_a_proxy(where)


def _not_a_proxy(where: str) -> UserError:
    return UserError(
        "its pictures do not follow each other evenly: this is not a proxy.",
        where=where,
        hint="make it with write_proxy",
    )


def _copy(
    source: InputContainer,
    pictures: VideoStream,
    out: OutputContainer,
    wanted: int,
    step: int,
    end: float,
) -> int:
    """Copy the first ``wanted`` pictures and the sound before ``end`` seconds; return how many pictures there were."""
    streams: list[Stream] = [pictures, *source.streams.audio[:1]]
    targets = {stream.index: out.add_stream_from_template(stream) for stream in streams}
    count = 0
    for packet in source.demux(streams):
        if not targets:
            break
        if packet.dts is None or packet.stream_index not in targets:
            continue
        if packet.stream_index == pictures.index:
            if not packet.pts == packet.dts == count * step:
                raise _not_a_proxy(source.name)
            over = count == wanted
            count += not over
        else:
            # seconds up to which a packet of AAC holds sound: its window is as long as two blocks
            over = ((Fraction(packet.pts or 0) + 2 * AUDIO_BLOCK) * Fraction(packet.time_base or 0)) > end
        if over:
            del targets[packet.stream_index]
        else:
            packet.stream = targets[packet.stream_index]
            out.mux(packet)
    return count


def _upright(proxy: Path, limits: Limits) -> tuple[int, int]:
    """Return width and height as they are shown; only a decoded picture tells how it is turned."""
    with open_video(proxy, limits) as (container, stream):
        turned = round(next(container.decode(stream)).rotation / 90) % 2
        return (stream.height, stream.width) if turned else (stream.width, stream.height)


def write_poster(clip: Path, image: Path, *, limits: Limits = DEFAULT_LIMITS) -> None:
    """Write the first picture of a clip as a JPEG file, for the place where it will play.

    The first, not the last: all clips of a recording begin alike, so it tells nothing about the question's moment, and
    nobody sees how far things got before having watched.

    Raises:
        UserError: as ``write_thumbnail``.
    """
    write_thumbnail(clip, image, 0.0, height=_upright(clip, limits)[1], limits=limits)

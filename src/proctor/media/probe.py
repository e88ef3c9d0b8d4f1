"""Tell what a video or sound file is, and refuse early what later stages could not use.

Only a few packets and one frame are read, so a file of twelve hours takes as long as one of a minute.
"""

from __future__ import annotations

import math
import multiprocessing
import os
from array import array
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import islice, pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final, overload

import msgspec

from proctor.errors import UserError
from proctor.media.paint import square_size
from proctor.media.source import DEFAULT_LIMITS, Deadline, Limits, cut_off, import_av, open_sound, open_video

__all__ = ["Quarantined", "VideoInfo", "check_all", "presentation_times", "probe", "probe_sound"]

if TYPE_CHECKING:
    from av.audio.frame import AudioFrame
    from av.audio.stream import AudioStream
    from av.container import InputContainer
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream


_SAMPLE: Final = 600
"""Packets looked at for rate and keyframes: 20 s at 30 frames a second."""
_INDEX_SAMPLE: Final = 20_000
_TAIL: Final = 20_000
"""Packets read at the end of a file to learn when it ends (5 minutes with sound)."""
_START_SECONDS: Final = 60.0
_ENDINGS: Final = {
    "mov": {".mp4", ".mov", ".m4v", ".m4a", ".3gp", ".qt"},
    "matroska": {".mkv", ".webm", ".mka"},
    "avi": {".avi"},
    "mpegts": {".ts", ".mts", ".m2ts"},
    "mpeg": {".mpg", ".mpeg", ".vob"},
    "asf": {".wmv", ".asf"},
    "flv": {".flv"},
    "ogg": {".ogv", ".ogg"},
}
_SOUNDS: Final = {
    "wav": (".wav", ("pcm_s", "pcm_u8", "pcm_f32le")),
    "mp3": (".mp3", ("mp3",)),
    "ogg": (".ogg", ("vorbis", "opus", "flac")),
    "mov": (".m4a", ("aac", "mp3")),
    "flac": (".flac", ("flac",)),
}
"""Sounds that browsers play: container, ending, and how the names of their codecs begin."""


class VideoInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a video file is.

    Attributes:
        path: as it was given.
        container: FFmpeg's name of the format, e.g. ``mov,mp4,m4a,3gp,3g2,mj2``.
        codec: FFmpeg's name, e.g. ``h264``.
        pixel_format: e.g. ``yuv420p``.
        width: pixels of the upright image with square pixels.
        height: pixels of the upright image.
        rotation: degrees counterclockwise that players turn the stored picture by (0, 90, 180, 270).
        duration: seconds of the video stream, None if the file does not say.
        fps: average frames a second.
        variable_frame_rate: whether frame times are unevenly spaced.
        time_base: seconds per tick as a fraction, e.g. ``1/15360``.
        start_time: seconds at which the stored times begin; all times in Proctor count from there.
        frames: number of frames, None if the file does not say.
        keyframe_seconds: median distance between keyframes, None if fewer than two were seen.
        has_audio: whether there is an audio stream.
        size_bytes: of the file.
        warnings: oddities that do not hinder reading.
    """

    path: str
    container: str
    codec: str
    pixel_format: str
    width: int
    height: int
    rotation: int
    duration: float | None
    fps: float
    variable_frame_rate: bool
    time_base: str
    start_time: float
    frames: int | None
    keyframe_seconds: float | None
    has_audio: bool
    size_bytes: int
    warnings: tuple[str, ...] = ()


class Quarantined(msgspec.Struct, frozen=True):
    """A file that cannot be used: which, what was seen and done about it, and what read it."""

    path: str
    reason: str
    hint: str
    backend: str


class _Packets(msgspec.Struct, frozen=True):
    """Times of the first packets: presentation ticks in order, and those of keyframes; whether these are all."""

    shown: tuple[int, ...]
    keys: tuple[int, ...]
    count: int
    all: bool


# -- one file --------------------------------------------------------------------------------------------------


def probe(path: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS) -> VideoInfo:
    """Return what a video file is.

    Raises:
        UserError: naming the file, what was seen and what to do: no such file, a folder, a URL, empty, not a
            video, cut off, no video stream, no frame or a single one, nothing decodable.
        MissingExtraError: when PyAV is not installed.
    """
    where = str(path)
    with open_video(path, limits) as (container, stream):
        _refuse_cut(where)
        picture = _first_frame(container, stream, where)
    with open_video(path, limits) as (container, stream):
        packets = _packets(container, stream, where)
        _refuse_still(packets, where)
        end = _end(container, stream, packets, where)
        return _info(where, container, stream, picture, packets, end)


def probe_sound(path: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS) -> tuple[str, float]:
    """Return how a file of sound ends by its contents (``.mp3``), whatever it is called, and its length in seconds.

    Raises:
        UserError: as ``probe``; or if there is a video in it, browsers may not play it, or it does not say how long it is.
        MissingExtraError: when PyAV is not installed.
    """
    where = str(path)
    with open_sound(path, limits) as (container, stream):
        _refuse_cut(where)
        _first_frame(container, stream, where)
        codec = stream.codec_context.codec.canonical_name
        ending, codecs = _SOUNDS.get(container.format.name.split(",")[0], ("", ()))
        if not codec.startswith(codecs or "no codec"):
            raise UserError(
                f"browsers may not play it: {codec} in {container.format.name}.",
                where=where,
                hint="export it as wav, mp3, ogg, m4a or flac",
            )
    with open_sound(path, limits) as (container, stream):
        end = _end(container, stream, _packets(container, stream, where), where)
        seconds = _duration(container, stream, end)
    if not seconds or not math.isfinite(seconds) or seconds < 0:
        raise UserError("it does not say how long it is.", where=where)
    return ending, seconds


def _refuse_cut(where: str) -> None:
    short = cut_off(Path(os.path.abspath(where)))  # noqa: PTH100 - resolve() raises on symlink loops
    if short:
        raise UserError(short, where=where, hint="copy the file again; the transfer was interrupted")


@overload
def _first_frame(container: InputContainer, stream: VideoStream, where: str) -> VideoFrame: ...
@overload
def _first_frame(container: InputContainer, stream: AudioStream, where: str) -> AudioFrame: ...
def _first_frame(container: InputContainer, stream: VideoStream | AudioStream, where: str) -> object:
    try:
        for frame in islice(container.decode(stream), 1):
            return frame
    except import_av().error.FFmpegError as error:
        reason = f": {error.strerror}"
    else:
        reason = ""
    raise UserError(
        f"there is {'a video' if stream.type == 'video' else 'an audio'} stream, but no frame of it could be decoded{reason}.",
        where=where,
        hint="the file is damaged or empty; export it again",
    )


def _packets(container: InputContainer, stream: VideoStream | AudioStream, where: str) -> _Packets:
    shown: list[int] = []
    keys: list[int] = []
    count = 0
    whole = True
    try:
        for packet in container.demux(stream):
            if packet.dts is None and not packet.size:
                continue
            if count == _SAMPLE:
                whole = False
                break
            count += 1
            if packet.pts is not None and not packet.is_discard:
                shown.append(packet.pts)
                if packet.is_keyframe:
                    keys.append(packet.pts)
    except import_av().error.FFmpegError as error:
        raise UserError(
            f"the file is damaged near its beginning: {error.strerror}.",
            where=where,
            hint="copy the file again",
        ) from None
    return _Packets(tuple(sorted(shown)), tuple(sorted(keys)), count, whole)


def _end(
    container: InputContainer, stream: VideoStream | AudioStream, packets: _Packets, where: str
) -> Fraction | None:
    """Return when the last frame ends, in seconds of the stored times; None when it is too far to look.

    Raises:
        UserError: when the file ends well before the length that it declares.
    """
    tick = stream.time_base or Fraction(1, 1_000_000)
    declared = Fraction(container.duration or 0, 1_000_000)
    seconds = packets.shown[-1] * tick if packets.shown else Fraction(0)
    try:
        container.seek(math.ceil(max(declared, seconds) / tick), stream=stream)
        tail = list(islice(container.demux(), _TAIL))
    except import_av().error.FFmpegError:
        return None
    ends = [
        (p.stream_index, Fraction(p.time_base) * (p.pts + (p.duration or 0)))
        for p in tail
        if p.pts is not None
    ]
    if len(tail) == _TAIL or not ends:
        return None
    last = max(end for _, end in ends)
    if declared - last > max(Fraction(2), declared / 20):
        raise UserError(
            f"it declares {float(declared):.1f} s, but its contents end at {float(last):.1f} s: it is cut off.",
            where=where,
            hint="copy the file again; the transfer was interrupted",
        )
    return max((end for index, end in ends if index == stream.index), default=None)


def _refuse_still(packets: _Packets, where: str) -> None:
    if packets.all and packets.count <= 1:
        raise UserError(
            f"the video holds {'a single frame' if packets.count else 'no frame'}: it is not a recording.",
            where=where,
            hint="was the right file exported?",
        )


def _info(
    where: str,
    container: InputContainer,
    stream: VideoStream,
    picture: VideoFrame,
    packets: _Packets,
    end: Fraction | None,
) -> VideoInfo:
    tick = stream.time_base or Fraction(1, 1_000_000)
    rotation = round(picture.rotation / 90) * 90 % 360
    width, height = square_size(picture.width, picture.height, stream.sample_aspect_ratio)
    if rotation % 180 == 90:
        width, height = height, width
    context = stream.codec_context
    duration = _duration(container, stream, end)
    return VideoInfo(
        path=where,
        container=container.format.name,
        codec=context.name,
        pixel_format=context.pix_fmt or "",
        width=width,
        height=height,
        rotation=rotation,
        duration=duration,
        fps=_rate(stream, tick, packets, duration),
        variable_frame_rate=_uneven(_steps(stream, packets), tick),
        time_base=f"{tick.numerator}/{tick.denominator}",
        start_time=(container.start_time or 0) / 1_000_000,
        frames=stream.frames or (packets.count if packets.all else None),
        keyframe_seconds=_keyframe_seconds(stream, packets, tick),
        has_audio=bool(container.streams.audio),
        size_bytes=container.size,
        warnings=_warnings(where, container, duration),
    )


def _duration(
    container: InputContainer, stream: VideoStream | AudioStream, end: Fraction | None
) -> float | None:
    if stream.duration and stream.time_base:
        return float(stream.duration * stream.time_base)
    start = Fraction(container.start_time or 0, 1_000_000)
    if end is not None and end > start:
        return float(end - start)
    return container.duration / 1_000_000 if container.duration else None


def _rate(stream: VideoStream, tick: Fraction, packets: _Packets, duration: float | None) -> float:
    """Average frames a second: counted where that is possible, since Matroska declares a nominal rate."""
    if stream.frames and duration:
        return stream.frames / duration
    if packets.all and len(packets.shown) > 1:
        return float((len(packets.shown) - 1) / ((packets.shown[-1] - packets.shown[0]) * tick))
    return float(stream.average_rate or 0)


def _steps(stream: VideoStream, packets: _Packets) -> list[int]:
    """Ticks from frame to frame: of the first packets, and of the file's table where it lists every frame."""
    steps = [b - a for a, b in pairwise(packets.shown)]
    entries = stream.index_entries
    if stream.frames and len(entries) >= stream.frames:
        times = [entry.timestamp for entry in entries[:_INDEX_SAMPLE]]
        steps += [b - a for a, b in pairwise(times)]
    return [s for s in steps if s > 0]


def _uneven(steps: Sequence[int], tick: Fraction) -> bool:
    """True when steps differ by more than rounding to the time base explains (1 tick either way, or 2 %)."""
    if len(steps) < 2:
        return False
    usual = median(steps)
    slack = max(2.0, 0.02 * usual, float(Fraction(1, 1000) / tick))
    odd = sum(abs(s - usual) > slack for s in steps)
    return odd > max(1, 0.005 * len(steps))


def _keyframe_seconds(stream: VideoStream, packets: _Packets, tick: Fraction) -> float | None:
    keys: Sequence[int] = packets.keys
    entries = stream.index_entries
    if stream.frames and len(entries) >= stream.frames:
        keys = [entry.timestamp for entry in entries[:_INDEX_SAMPLE] if entry.is_keyframe]
    gaps = [b - a for a, b in pairwise(keys) if b > a]
    return float(median(gaps) * tick) if gaps else None


def _warnings(where: str, container: InputContainer, duration: float | None) -> tuple[str, ...]:
    found = []
    ending = Path(where).suffix.lower()
    expected = _ENDINGS.get(container.format.name.split(",")[0])
    if expected is not None and ending not in expected:
        found.append(f"named {ending or 'without an ending'}, but its contents are {container.format.name}")
    if duration is None:
        found.append("the file does not say how long it is")
    elif not math.isfinite(duration) or duration <= 0:
        found.append(f"the file declares a length of {duration} s")
    return tuple(found)


# -- many files ------------------------------------------------------------------------------------------------


def check_all(
    paths: Iterable[str | os.PathLike[str]],
    *,
    limits: Limits = DEFAULT_LIMITS,
    seconds: float = 30.0,
    seen: Callable[[], None] | None = None,
) -> tuple[list[VideoInfo], list[Quarantined]]:
    """Probe many files in a process of their own, so that one that hangs or crashes the decoder only loses itself.

    Args:
        paths: local files.
        limits: bounds within one file.
        seconds: wall-clock time for one file, after which the process is ended and a new one goes on.
        seen: called after each file (for progress bars).

    Returns:
        What the good files are, and the others with the reason, both in the order given.

    Raises:
        MissingExtraError: when PyAV is not installed.
    """
    import_av()
    good: list[VideoInfo] = []
    bad: list[Quarantined] = []
    with _Prober(limits, seconds) as prober:
        for path in paths:
            result = prober.ask(os.fspath(path))
            if isinstance(result, VideoInfo):
                good.append(result)
            else:
                bad.append(result)
            if seen is not None:
                seen()
    return good, bad


def _backend() -> str:
    av = import_av()
    version = ".".join(map(str, av.library_versions["libavformat"]))
    return f"PyAV {av.__version__}, libavformat {version}"


def _serve(pipe: Connection, limits: Limits) -> None:
    """Answer paths with what they are until the pipe is closed (runs in the child process)."""
    pipe.send("ready")
    while True:
        try:
            path = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send(probe(path, limits=limits))
        except UserError as error:
            pipe.send(Quarantined(path, error.message, error.hint or "", _backend()))
        except Exception as error:  # whatever a hostile file causes must not stop the others
            pipe.send(Quarantined(path, f"{type(error).__name__}: {error}", "report this file", _backend()))


class _Prober:
    """A child process that probes files one after another and is replaced when it hangs or dies."""

    def __init__(self, limits: Limits, seconds: float) -> None:
        self._limits, self._seconds = limits, seconds
        self._context = multiprocessing.get_context("spawn")
        self._pipe: Connection | None = None

    def __enter__(self) -> _Prober:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def ask(self, path: str) -> VideoInfo | Quarantined:
        if self._pipe is None:
            self._start()
        assert self._pipe is not None
        try:
            self._pipe.send(path)
        except OSError:  # it died between two files
            self._start()
            self._pipe.send(path)
        try:
            if self._pipe.poll(self._seconds):
                result: VideoInfo | Quarantined = self._pipe.recv()
                return result
            reason = f"probing it took longer than {self._seconds:g} s and was stopped."
        except (EOFError, OSError):
            reason = "the decoder crashed on it."
        self._stop()
        return Quarantined(path, reason, "leave the file out, or re-encode it from its source", _backend())

    def _start(self) -> None:
        self._pipe, theirs = self._context.Pipe()
        self._process = self._context.Process(target=_serve, args=(theirs, self._limits), daemon=True)
        self._process.start()
        theirs.close()
        try:
            ready = self._pipe.poll(_START_SECONDS) and self._pipe.recv() == "ready"
        except (EOFError, OSError):
            ready = False
        if not ready:
            self._stop()
            raise UserError(
                "the process that probes video files could not be started.",
                hint="in a script of your own, call this below `if __name__ == '__main__':`",
            )

    def _stop(self) -> None:
        if self._pipe is None:
            return
        self._pipe.close()
        self._pipe = None
        self._process.join(0.5)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()


# -- when each frame of a video appears: its index as the published rules count it ---------------------------------


def presentation_times(
    path: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS
) -> tuple[array[float], float]:
    """Return when each frame appears (seconds from the start of the file, increasing), and when the last one ends.

    Only packets are read, nothing is decoded. Where a file keeps no times (AVI), frames are counted at its rate.

    Raises:
        UserError: if the file is not a readable video, is damaged, or holds no frame.
        MissingExtraError: when PyAV is not installed.
    """
    where = str(path)
    deadline = Deadline(limits.seconds, where)
    stamps: list[int] = []
    untimed = 0
    with open_video(path, limits) as (container, stream):
        tick = stream.time_base or Fraction(1, 1_000_000)
        zero = Fraction(container.start_time or 0, 1_000_000)
        rate = Fraction(stream.average_rate or 25)
        numbered = container.format.name == "avi"
        last = 0
        try:
            for packet in container.demux(stream):
                if (packet.dts is None and not packet.size) or packet.is_discard:
                    continue
                deadline.check()
                if packet.pts is None or numbered:
                    untimed += 1
                else:
                    stamps.append(packet.pts)
                    last = max(last, packet.pts + (packet.duration or 0))
        except import_av().error.FFmpegError as error:
            raise UserError(
                f"the video is damaged: {error.strerror}.", where=where, hint="copy the file again"
            ) from None
    if untimed:
        count = untimed + len(stamps)
        return array("d", (float(i / rate) for i in range(count))), float(count / rate)
    if not stamps:
        raise UserError("the video holds no frame.", where=where, hint="was the right file exported?")
    times = array("d", (float(stamp * tick - zero) for stamp in sorted(set(stamps))))
    return times, max(float(last * tick - zero), times[-1])

"""From samples of sensors to files that play: pictures and sound encoded at their moments, chapters joined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from proctor.errors import UserError
from proctor.media.source import import_av, open_video, write_mp4

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

__all__ = ["decode_packets", "encode_pictures", "encode_samples", "join_videos", "write_length"]


def decode_packets(
    codec: str, header: bytes, packets: Iterable[tuple[int, bytes]]
) -> Iterator[tuple[int, VideoFrame]]:
    """Yield pictures with the numbers of their packets; what is damaged is left out."""
    av = import_av()
    try:
        context: Any = av.CodecContext.create(codec, "r")
    except ValueError:
        raise UserError(f"this FFmpeg knows no codec '{codec[:40]}'.") from None
    if header:
        context.extradata = header
    for number, data in chain(packets, [(-1, b"")]):
        packet = av.Packet(data) if number >= 0 else None
        if packet is not None:
            packet.pts = number
        try:
            for frame in context.decode(packet):
                yield frame.pts, frame
        except av.error.FFmpegError:
            continue


def encode_pictures(
    out: Path, size: tuple[int, int], pictures: Iterable[tuple[int, VideoFrame]], until: int, fps: int = 30
) -> None:
    """Write ``until`` pictures at ``fps`` a second; each stands from its place until the next one's, black before the first.

    Raises:
        UserError: if there is no picture, or it cannot be written.
    """
    av = import_av()
    wide, high = size[0] // 2 * 2, size[1] // 2 * 2
    shape, count, some = av.video.reformatter.VideoReformatter(), 0, False
    standing: VideoFrame = av.VideoFrame.from_ndarray(np.zeros((high, wide, 3), np.uint8), format="rgb24")
    # one thread, no macroblock tree, no B-frames: so x264 gives the same bytes again
    options = {"preset": "veryfast", "crf": "23", "g": str(fps), "threads": "1", "mbtree": "0"}
    with write_mp4(out) as target:
        stream = target.add_stream("libx264", rate=fps, options=options)
        stream.width, stream.height, stream.pix_fmt = wide, high, "yuv420p"
        stream.codec_context.max_b_frames = 0
        for place, frame in chain(pictures, [(until, standing)]):
            if count < (stop := min(place, until)):
                scaled = shape.reformat(standing, wide, high, "yuv420p")
                for number in range(count, stop):
                    scaled.pts, scaled.time_base, scaled.pict_type = number, Fraction(1, fps), 0
                    target.mux(stream.encode(scaled))
                count = stop
            some, standing = some or place < until, frame
        if not some:
            raise UserError("no picture of it could be decoded.", where=str(out))
        target.mux(stream.encode(None))


def encode_samples(
    out: Path, rate: int, channels: int, blocks: Iterable[tuple[int, np.ndarray[Any, Any]]], until: int
) -> None:
    """Write ``until`` samples of sound (``.wav``, else AAC in an mp4); each block (samples × channels) begins at its place.

    A block that is off by less than 0.1 s follows the one before, since receipt jitters; gaps are silent.

    Raises:
        OSError: if it cannot be written.
    """
    av, written = import_av(), 0
    part, layout = out.with_name(f".{out.name}.part"), "stereo" if channels == 2 else "mono"
    kind, codec = ("wav", "pcm_s16le") if out.suffix == ".wav" else ("mp4", "aac")
    with av.open(str(part), "w", format=kind, container_options={"fflags": "bitexact"}) as target:
        stream = target.add_stream(codec, rate=rate, layout=layout)
        for place, block in chain(blocks, [(until, np.zeros((0, channels), "<i2"))]):
            off = min(place, until) - written
            gap = max(off, 0) if abs(off) > rate // 10 or not len(block) or not written else 0
            sound = block[-off:] if off < -rate // 10 else block
            pieces = [np.zeros((min(rate, gap - i), channels), "<i2") for i in range(0, gap, rate)]
            for piece in [*pieces, sound]:
                kept = np.ascontiguousarray(piece[: until - written])
                if len(kept):
                    frame = av.AudioFrame.from_ndarray(kept.reshape(1, -1), format="s16", layout=layout)
                    frame.sample_rate, frame.pts, frame.time_base = rate, written, Fraction(1, rate)
                    target.mux(stream.encode(frame))
                    written += len(kept)
        target.mux(stream.encode(None))
    part.replace(out)


def join_videos(parts: Sequence[Path], out: Path) -> None:
    """Write chapters of a camera one after the other, pictures and sound copied as they are.

    Raises:
        UserError: if one cannot be read, or it cannot be written.
    """
    with write_mp4(out) as target:
        targets: list[Any] = []
        ends: list[Fraction] = []
        for part in parts:
            with open_video(part) as (source, pictures):
                streams: list[Any] = [pictures, *source.streams.audio[: len(targets) - 1 if targets else 1]]
                targets = targets or [target.add_stream_from_template(stream) for stream in streams]
                ends = ends or [Fraction(0)] * len(targets)
                places, begins = {stream.index: n for n, stream in enumerate(streams)}, list(ends)
                for packet in source.demux(streams):
                    # (sound before a chapter's beginning is the encoder's own silence)
                    if packet.dts is None or (packet.pts or 0) < 0 < begins[places[packet.stream_index]]:
                        continue
                    n, tick = places[packet.stream_index], Fraction(packet.time_base or 0)
                    move = round(begins[n] / tick)
                    packet.pts, packet.dts = (packet.pts or 0) + move, packet.dts + move
                    ends[n] = max(ends[n], ((packet.pts or 0) + (packet.duration or 0)) * tick)
                    packet.stream = targets[n]
                    target.mux(packet)


def write_length(source: Path, target: Path) -> None:
    """Move a browser's recording to ``target``, its packets copied into a file with a length, so that players can seek.

    It is moved as it is where there is no PyAV, or its end is broken.
    """
    part = target.with_name(f".{target.name}.part")
    try:
        import av

        with av.open(str(source)) as read, av.open(str(part), "w", format=target.suffix[1:]) as out:
            streams = [s for s in read.streams if s.type in ("video", "audio")]
            targets = {s.index: out.add_stream_from_template(s) for s in streams}
            for packet in read.demux(streams):
                if packet.dts is not None:
                    packet.stream = targets[packet.stream_index]
                    out.mux(packet)
        part.replace(target)
    except (ImportError, OSError, ValueError, RuntimeError):  # PyAV's are of these; the bytes are kept anyway
        source.replace(target)
    finally:
        for path in (part, source):
            path.unlink(missing_ok=True)

"""From samples of sensors to files that play: packets copied, pictures and sound encoded at their moments, chapters joined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from proctor.media.source import import_av, open_video, write_mp4

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

__all__ = ["copy_packets", "decode_packets", "encode_pictures", "encode_samples", "join_videos"]

_KEYS: Final = {"h264": (31, 0, {5}), "hevc": (63, 1, set(range(16, 22)))}
"""How the kind of a unit is read from the byte after its start code (mask, shift), and which kinds begin a key frame."""
Numbers: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"


def copy_packets(
    out: Path,
    codec: str,
    header: bytes,
    size: tuple[int, int],
    tick: Fraction,
    shown: Numbers,
    packets: Iterable[bytes],
) -> int:
    """Write packets as an mp4 without encoding them again; return how many. ``shown`` are their times in ticks.

    Where pictures are sent in another order than shown, times of decoding are those of showing, sorted and put early enough. What
    comes before the first key frame is left out.

    Raises:
        UserError: if it cannot be written.
    """
    av, count = import_av(), 0
    decoded = np.sort(shown)
    decoded -= int((decoded - shown).max())
    with write_mp4(out) as target:
        stream = target.add_mux_stream(codec, width=size[0], height=size[1], time_base=tick)
        for data, pts, dts in zip(packets, shown.tolist(), decoded.tolist(), strict=True):
            key = _is_key(codec, data)
            if count or key:
                packet = av.Packet(data if count else header + data)
                packet.stream, packet.time_base, packet.is_keyframe = stream, tick, key
                packet.pts, packet.dts = pts, dts
                target.mux(packet)
                count += 1
    return count


def _is_key(codec: str, data: bytes) -> bool:
    if codec not in _KEYS:
        return True
    mask, shift, kinds = _KEYS[codec]
    at = data.find(b"\0\0\1")
    while 0 <= at < len(data) - 3:
        if data[at + 3] >> shift & mask in kinds:
            return True
        at = data.find(b"\0\0\1", at + 3)
    return False


def decode_packets(
    codec: str, header: bytes, packets: Iterable[tuple[int, bytes]]
) -> Iterator[tuple[int, VideoFrame]]:
    """Yield pictures with the numbers of their packets; what is damaged is left out."""
    av = import_av()
    context: Any = av.CodecContext.create(codec, "r")
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
        UserError: if it cannot be written.
    """
    av = import_av()
    wide, high = size[0] // 2 * 2, size[1] // 2 * 2
    shape, count = av.video.reformatter.VideoReformatter(), 0
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
            standing = frame
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
                    if packet.dts is None or packet.time_base is None:
                        continue
                    n, tick = places[packet.stream_index], Fraction(packet.time_base)
                    move = round(begins[n] / tick)
                    packet.pts, packet.dts = (packet.pts or 0) + move, packet.dts + move
                    ends[n] = max(ends[n], ((packet.pts or 0) + (packet.duration or 0)) * tick)
                    packet.stream = targets[n]
                    target.mux(packet)

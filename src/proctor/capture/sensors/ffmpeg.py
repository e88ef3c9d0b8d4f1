"""Cameras that FFmpeg's libraries read (RTSP, V4L2), their packets stored as they come; and stored streams as files that play.

RTSP is tried over TCP by default. V4L2 is the same code with another name of a format; *unverified on hardware*.
"""

from __future__ import annotations

import asyncio
import threading
import time
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np

from proctor.capture.records import Check, StreamSpec
from proctor.capture.segments import load_index, read_payload
from proctor.capture.sensor import Context, Options
from proctor.capture.sensors import Plain
from proctor.errors import UserError
from proctor.media.source import import_av
from proctor.media.streams import copy_packets, decode_packets, encode_pictures, encode_samples

__all__ = ["Camera", "remux", "rtsp", "v4l2", "write_media"]

Times: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"


class Camera(Plain):
    """A source that FFmpeg opens; a thread reads it. The spec says codec, header, tick and size before the first packet is sent.

    Options: ``url`` (or the device); ``timeout_s`` for opening and between packets; all others go to FFmpeg as they are, such as
    ``rtsp_transport = "udp"``, ``video_size = "1280x720"``, ``input_format = "mjpeg"``.
    """

    def __init__(self, name: str, options: Options, format_: str, defaults: dict[str, str]) -> None:
        rest = {key: str(value) for key, value in options.items()}
        self.url, seconds = rest.pop("url", ""), rest.pop("timeout_s", "5")
        try:
            self._timeout = float(seconds)
        except ValueError:
            raise UserError("timeout_s is no number.", where=f"sensor '{name}'") from None
        if not self.url or (format_ == "rtsp" and not self.url.startswith("rtsp://")):
            raise UserError("it needs a url.", where=f"sensor '{name}'", hint='url = "rtsp://camera/stream"')
        self._format, self._options = format_, {**defaults, **rest}
        note = "unverified on hardware" if format_ == "v4l2" else ""
        self.spec = StreamSpec(name=name, kind="video", format="packet", clock=name, note=note)

    async def preflight(self) -> list[Check]:
        """Open it and look at its first stream of pictures."""
        if "listen" in self._options.get("rtsp_flags", ""):
            return [Check(name=self.spec.name, ok=True, seen=f"waits for a camera at {self._shown()}")]
        try:
            await asyncio.to_thread(lambda: self._open().close())
            seen, hint = f"{self.spec.codec} {self.spec.width} x {self.spec.height}", ""
        except (ConnectionError, UserError) as error:
            seen, hint = str(error), "is it on, and the address right?"
        return [Check(name=self.spec.name, ok=not hint, seen=seen, hint=hint)]

    async def run(self, context: Context) -> None:
        """Hand packets on until it is cancelled.

        Raises:
            ConnectionError: if the source cannot be opened, ends or falls silent; the recorder runs it again.
        """
        loop, ended = asyncio.get_running_loop(), threading.Event()

        def read() -> None:
            container = self._open()
            try:
                for packet in container.demux(container.streams.video[0]):
                    came = time.monotonic_ns()
                    if ended.is_set():
                        return
                    ticks = packet.dts if packet.pts is None else packet.pts
                    if ticks is None or not packet.size:
                        continue
                    device = int(ticks * packet.time_base * 1_000_000_000)
                    done = asyncio.run_coroutine_threadsafe(context.emit(device, bytes(packet), came), loop)
                    done.result()
                    self.sent += 1
            except import_av().error.FFmpegError as error:
                raise ConnectionError(f"{self._shown()}: {error.strerror}") from None
            finally:
                container.close()
            raise ConnectionError(f"{self._shown()}: the source ended")

        try:
            await asyncio.to_thread(read)
        finally:
            ended.set()

    def _open(self) -> Any:
        av = import_av()
        try:
            container = av.open(
                self.url, format=self._format, options=dict(self._options), timeout=self._timeout
            )
        except (av.error.FFmpegError, OSError, ValueError) as error:
            raise ConnectionError(f"{self._shown()}: {getattr(error, 'strerror', error)}") from None
        if not container.streams.video:
            container.close()
            raise ConnectionError(f"{self._shown()}: no pictures in it")
        stream = container.streams.video[0]
        self.spec = msgspec.structs.replace(
            self.spec,
            codec=stream.codec_context.name,
            extradata=stream.codec_context.extradata or b"",
            tick=str(stream.time_base),
            width=stream.width,
            height=stream.height,
            rate_hz=float(stream.average_rate or 0),
        )
        return container

    def _shown(self) -> str:
        """Return the address without the name and password that may be in it."""
        front, _, rest = self.url.rpartition("@")
        return f"{front.partition('://')[0]}://…@{rest}" if front else rest


def rtsp(name: str, options: Options) -> Camera:
    """Return a camera in the network."""
    wait = {"listen_timeout": "10"} if "listen" in str(options.get("rtsp_flags", "")) else {}
    return Camera(name, options, "rtsp", {"rtsp_transport": "tcp", **wait})


def v4l2(name: str, options: Options) -> Camera:
    """Return a camera of this machine, ``url = "/dev/video0"``."""
    return Camera(name, options, "v4l2", {})


# -- stored streams as files -------------------------------------------------------------------------------------


def remux(folder: Path, spec: StreamSpec, out: Path) -> int:
    """Write packets of a stream as an mp4 without encoding them again; returns how many. Times are the camera's.

    Raises:
        UserError: if it has no packets, or cannot be written.
        MissingExtraError: when PyAV is not installed.
    """
    index, tick = load_index(folder), Fraction(spec.tick or "1/90000")
    if spec.format != "packet" or not len(index):
        raise UserError("the stream has no packets.", where=str(folder))
    since = (index["device_ns"] - index["device_ns"].min()).tolist()
    shown = np.array([round(ns / (tick * 1_000_000_000)) for ns in since], dtype=np.int64)
    packets = (read_payload(folder, row) for row in index)
    return copy_packets(out, spec.codec, spec.extradata, (spec.width, spec.height), tick, shown, packets)


def write_media(
    folder: Path,
    spec: StreamSpec,
    out: Path,
    *,
    start_ns: int,
    times_ns: Times | None = None,
    end_ns: int | None = None,
) -> Path:
    """Write a stream as a file that begins at ``start_ns``: pictures as mp4 at 30 a second exactly, sound as wav or m4a.

    A picture stands from its moment until the next one, black before the first; gaps of sound are silent.

    Args:
        folder: of the stream.
        spec: of the stream: ``jpeg``, ``packet`` or ``s16``.
        out: ``.mp4``; or ``.wav`` or ``.m4a`` for sound.
        start_ns: its beginning, on the clock of ``times_ns``.
        times_ns: moments of samples in the order of ``load_index``, as synchronisation found them; when they came by default.
        end_ns: its end; with the last sample by default.

    Raises:
        UserError: if there is nothing to write, or it cannot be written.
        MissingExtraError: when PyAV is not installed.
    """
    index = load_index(folder)
    times = np.asarray(index["host_ns"] if times_ns is None else times_ns, dtype=np.int64) - start_ns
    if not len(index) or len(times) != len(index) or spec.format not in ("jpeg", "packet", "s16"):
        seen = f"{len(index)} samples of format '{spec.format}' with {len(times)} times make no file."
        raise UserError(seen, where=str(folder))
    # packets are decoded in the order in which they came
    order = np.arange(len(times)) if spec.format == "packet" else np.argsort(times, kind="stable")
    rate = spec.sample_rate if spec.format == "s16" else 30
    places = [round(t * rate / 1_000_000_000) for t in times.tolist()]
    until = max(places) + 1 if end_ns is None else round((end_ns - start_ns) * rate / 1_000_000_000)
    samples = ((n, read_payload(folder, index[n])) for n in order.tolist())
    if spec.format == "s16":
        until += int(index["size"][order[-1]]) // (2 * spec.channels) - 1 if end_ns is None else 0
        blocks = ((places[n], np.frombuffer(data, "<i2").reshape(-1, spec.channels)) for n, data in samples)
        encode_samples(out, rate, spec.channels, blocks, until)
    else:
        codec = spec.codec if spec.format == "packet" else "mjpeg"
        pictures = ((places[n], frame) for n, frame in decode_packets(codec, spec.extradata, samples))
        encode_pictures(out, (spec.width, spec.height), pictures, until)
    return out

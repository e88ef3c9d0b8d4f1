"""Cameras that FFmpeg's libraries read (RTSP, V4L2); their packets are stored as they come.

RTSP is tried over TCP by default. V4L2 is the same code with another name of a format; *unverified on
hardware*.
"""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

from msgspec.structs import replace

from proctor.capture.records import StreamSpec
from proctor.capture.sensor import Context, Options
from proctor.capture.sensors import UNVERIFIED, Plain
from proctor.errors import UserError
from proctor.media.source import import_av

__all__ = ["Camera", "rtsp", "v4l2"]


class Camera(Plain):
    """A source that FFmpeg opens; a thread reads it. The spec has codec, header, tick and size before a packet is sent.

    Options: ``url`` (or the device); ``timeout_s`` for opening and between packets; all others go to FFmpeg as they are, such as
    ``rtsp_transport = "udp"``, ``video_size = "1280x720"``, ``input_format = "mjpeg"``.
    """

    def __init__(self, name: str, options: Options, format_: str, **defaults: str) -> None:
        self._options = {**defaults, **{key: str(value) for key, value in options.items()}}
        self.url, self._format = self._options.pop("url", ""), format_
        try:
            self._timeout = float(self._options.pop("timeout_s", "5"))
        except ValueError:
            raise UserError("timeout_s is no number.", where=f"sensor '{name}'") from None
        if not self.url or (format_ == "rtsp" and not self.url.startswith("rtsp://")):
            raise UserError("it needs a url.", where=f"sensor '{name}'", hint='url = "rtsp://camera/stream"')
        note = UNVERIFIED if format_ == "v4l2" else ""
        self.spec = StreamSpec(name=name, kind="video", format="packet", clock=name, note=note)

    async def look(self) -> str:
        """Open it and look at its first stream of pictures; one that listens waits for its camera."""
        if "listen" in self._options.get("rtsp_flags", ""):
            return f"waits for a camera at {self._shown()}"
        await asyncio.to_thread(lambda: self._open().close())
        return f"{self.spec.codec} {self.spec.width} x {self.spec.height}"

    async def run(self, context: Context) -> None:
        """Hand packets on until it is cancelled.

        Raises:
            ConnectionError: if the source cannot be opened, ends or falls silent; the recorder runs it again.
        """
        loop, ended = asyncio.get_running_loop(), threading.Event()

        def read() -> None:
            with self._open() as container:
                try:
                    for packet in container.demux(container.streams.video[0]):
                        came, ticks = time.monotonic_ns(), packet.dts if packet.pts is None else packet.pts
                        if ended.is_set():
                            return
                        if ticks is not None and packet.size:
                            device = int(ticks * packet.time_base * 1_000_000_000)
                            sent = context.emit(device, bytes(packet), came)
                            asyncio.run_coroutine_threadsafe(sent, loop).result()
                            self.sent += 1
                except import_av().error.FFmpegError as error:
                    raise ConnectionError(f"{self._shown()}: {error.strerror}") from None
            raise ConnectionError(f"{self._shown()}: the source ended")

        try:
            await asyncio.to_thread(read)
        finally:
            ended.set()

    def _open(self) -> Any:
        av = import_av()
        try:
            found = av.open(self.url, format=self._format, options=dict(self._options), timeout=self._timeout)
        except (av.error.FFmpegError, OSError, ValueError) as error:
            raise ConnectionError(f"{self._shown()}: {getattr(error, 'strerror', error)}") from None
        if not found.streams.video:
            found.close()
            raise ConnectionError(f"{self._shown()}: no pictures in it")
        stream = found.streams.video[0]
        context, rate, tick = stream.codec_context, float(stream.average_rate or 0), str(stream.time_base)
        self.spec = replace(
            self.spec, codec=context.name, extradata=context.extradata or b"", tick=tick, width=stream.width,
            height=stream.height, rate_hz=rate,
        )  # fmt: skip
        return found

    def _shown(self) -> str:
        """Return the address without the name and password that may be in it."""
        front, _, rest = self.url.rpartition("@")
        return f"{front.partition('://')[0]}://…@{rest}" if front else rest


def rtsp(name: str, options: Options) -> Camera:
    """Return a camera in the network."""
    wait = {"listen_timeout": "10"} if "listen" in str(options.get("rtsp_flags", "")) else {}
    return Camera(name, options, "rtsp", rtsp_transport="tcp", **wait)


def v4l2(name: str, options: Options) -> Camera:
    """Return a camera of this machine, ``url = "/dev/video0"``."""
    return Camera(name, options, "v4l2")

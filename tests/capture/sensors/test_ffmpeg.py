"""Cameras over RTSP on loopback."""

from __future__ import annotations

import asyncio
import io
import socket
import subprocess
import sys
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image
from tests.capture.sensors.sensing import Kept, counter, stored
from tests.patience import PATIENCE

from proctor.capture.segments import load_index, read_payload
from proctor.capture.sensors.ffmpeg import Camera, rtsp, v4l2
from proctor.errors import UserError
from proctor.media.steady import check_steady
from proctor.media.streams import decode_packets
from proctor.stages.capture.playable import write_media
from proctor_rehearsal.kitchen import sensors as sim

LISTEN = {"rtsp_flags": "listen", "timeout_s": 30, "listen_timeout": 30}
PUSH = """
import io, sys, time
from fractions import Fraction
import av
from proctor_rehearsal.kitchen.sensors import picture
url, count, pace = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
for _ in range(100):
    out = av.open(url, "w", format="rtsp", options={"rtsp_transport": "tcp"})
    options = {"preset": "ultrafast", "tune": "zerolatency", "g": "10"}
    stream = out.add_stream("libx264", rate=30, options=options)
    stream.width, stream.height, stream.pix_fmt = 640, 360, "yuv420p"
    try:
        out.start_encoding()
        break
    except OSError:
        time.sleep(0.1)
for number in range(count):
    with av.open(io.BytesIO(picture("push", number)), format="mjpeg") as source:
        frame = next(source.decode(video=0)).reformat(format="yuv420p")
    frame.pts, frame.time_base, frame.pict_type = number, Fraction(1, 30), 0
    out.mux(stream.encode(frame))
    time.sleep(pace)
out.mux(stream.encode(None))
out.close()
"""


def _address() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"rtsp://127.0.0.1:{free.getsockname()[1]}/kitchen"


def _push(url: str, count: int, pace: float = 0.0) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", PUSH, url, str(count), str(pace)], stderr=subprocess.DEVNULL
    )


def test_packets_of_a_camera_in_the_network_are_stored_as_they_come_and_play(tmp_path: Path) -> None:
    url = _address()
    camera, kept = rtsp("ego", {"url": url, **LISTEN}), Kept(tmp_path)
    pusher = _push(url, 75)
    with pytest.raises(ConnectionError, match="ended"):
        asyncio.run(camera.run(kept))
    assert pusher.wait(PATIENCE) == 0
    spec = camera.spec
    assert (spec.codec, spec.width, spec.height, spec.tick) == ("h264", 640, 360, "1/90000")
    assert len(kept.samples) >= 70
    assert asyncio.run(camera.stop()).sent == len(kept.samples)
    steps = np.diff([device for device, _, _ in kept.samples])
    assert abs(steps - 1e9 / 30).max() < 20_000  # of one tick of the camera, 11 µs
    stored(tmp_path / "ego", kept.samples)
    packets = ((n, read_payload(tmp_path / "ego", row)) for n, row in enumerate(load_index(tmp_path / "ego")))
    pictures = [
        (n, counter(frame.to_ndarray(format="rgb24")))
        for n, frame in decode_packets(spec.codec, spec.extradata, packets)
    ]
    assert len(pictures) >= 60
    first, number = pictures[0]
    assert number % 10 == 0  # from the first key frame on
    assert pictures == [(first + k, number + k) for k in range(len(kept.samples) - first)]
    write_media(tmp_path / "ego", spec, tmp_path / "grid.mp4", start_ns=kept.samples[0][2])
    assert check_steady(tmp_path / "grid.mp4").fps == 30


def test_a_camera_that_dies_raises_and_can_be_opened_again(tmp_path: Path) -> None:
    async def play() -> tuple[int, Camera, Kept]:
        url = _address()
        camera, kept = rtsp("ego", {"url": url, **LISTEN}), Kept(tmp_path, 40)
        pusher = _push(url, 10_000, 0.005)
        running = asyncio.create_task(camera.run(kept))
        await asyncio.wait_for(kept.enough.wait(), 30)
        pusher.kill()
        pusher.wait()
        with pytest.raises(ConnectionError, match=r"127\.0\.0\.1"):
            await asyncio.wait_for(running, 30)
        before = len(kept.samples)
        kept.enough.clear()
        kept.most = before + 20
        pusher = _push(url, 10_000, 0.005)
        running = asyncio.create_task(camera.run(kept))
        await asyncio.wait_for(kept.enough.wait(), 30)
        running.cancel()  # the recorder stops it
        await asyncio.wait([running])
        assert running.cancelled()
        pusher.kill()
        pusher.wait()
        return before, camera, kept

    before, camera, kept = asyncio.run(play())
    assert len(kept.samples) >= before + 20 >= 60
    stored(tmp_path / "ego", kept.samples)
    write_media(tmp_path / "ego", camera.spec, tmp_path / "ego.mp4", start_ns=kept.samples[0][2])
    with av.open(str(tmp_path / "ego.mp4")) as video:
        shown = [counter(frame.to_ndarray(format="rgb24")) for frame in video.decode(video=0)]
    again = next(n for n in range(1, len(shown)) if shown[n] < shown[n - 1])
    last = (
        np.flatnonzero(np.diff(shown[:again]))[-1] + 1
    )  # where the picture before the pause begins to stand
    pause = (kept.samples[before][2] - kept.samples[before - 1][2]) / 1e9
    seen = (again - last) / 30
    assert abs(seen - pause) < 0.3, (seen, pause)  # packets may wait for a busy machine


def test_what_cannot_be_opened_is_told_before_without_the_password() -> None:
    (check,) = asyncio.run(rtsp("ego", {"url": "rtsp://me:secret@127.0.0.1:9/x", "timeout_s": 2}).preflight())
    assert not check.ok
    assert "127.0.0.1:9" in check.seen
    assert "secret" not in check.seen
    assert check.hint
    (check,) = asyncio.run(v4l2("table", {"url": "/dev/video-none"}).preflight())
    assert not check.ok
    assert "No such file" in check.seen
    assert v4l2("table", {"url": "/dev/video0"}).spec.note == "unverified on hardware"
    with pytest.raises(UserError, match="url"):
        rtsp("ego", {"url": "file:///etc/passwd"})


def test_the_counter_is_that_of_the_picture() -> None:
    for number in (0, 1, 12_345, 2**31 + 5):
        assert counter(np.asarray(Image.open(io.BytesIO(sim.picture("s", number))))) == number

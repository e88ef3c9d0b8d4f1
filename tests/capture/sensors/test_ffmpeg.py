"""RTSP over loopback, and stored streams as files that play."""

from __future__ import annotations

import asyncio
import io
import socket
import subprocess
import sys
import wave
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image
from tests.capture.sensors.sensing import Kept, counter

from proctor.capture.records import Sample, StreamSpec
from proctor.capture.segments import SegmentWriter
from proctor.capture.sensors import sim
from proctor.capture.sensors.ffmpeg import remux, rtsp, v4l2, write_media
from proctor.errors import UserError
from proctor.media.steady import check_steady

PUSH = """
import io, sys, time
from fractions import Fraction
import av
from proctor.capture.sensors.sim import picture
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


def _stored(folder: Path, samples: list[tuple[int, bytes, int]]) -> None:
    writer = SegmentWriter(folder)
    for device, payload, host in samples:
        writer.add(Sample(device, host, payload))
    writer.close()


def test_packets_of_a_camera_in_the_network_are_stored_as_they_come_and_play(tmp_path: Path) -> None:
    url = _address()
    camera, kept = rtsp("ego", {"url": url, "rtsp_flags": "listen"}), Kept(tmp_path)
    pusher = _push(url, 75)
    with pytest.raises(ConnectionError, match="ended"):
        asyncio.run(camera.run(kept))
    assert pusher.wait(20) == 0
    spec = camera.spec
    assert (spec.codec, spec.width, spec.height, spec.tick) == ("h264", 640, 360, "1/90000")
    assert len(kept.samples) >= 70
    assert asyncio.run(camera.stop()).sent == len(kept.samples)
    steps = np.diff([device for device, _, _ in kept.samples])
    assert abs(steps - 1e9 / 30).max() < 20_000  # of one tick of the camera, 11 µs
    _stored(tmp_path / "ego", kept.samples)
    count = remux(tmp_path / "ego", spec, tmp_path / "ego.mp4")
    with av.open(str(tmp_path / "ego.mp4")) as video:
        pictures = [
            (float(frame.time), counter(frame.to_ndarray(format="rgb24"))) for frame in video.decode(video=0)
        ]
    assert count == len(pictures) >= 60
    numbers = [number for _, number in pictures]
    assert numbers == list(range(numbers[0], numbers[0] + count))
    assert numbers[0] % 10 == 0  # from the first key frame on
    assert abs(np.diff([time for time, _ in pictures]) - 1 / 30).max() < 1e-4
    with av.open(
        str(tmp_path / "ego.mp4")
    ) as video:  # who seeks lands on a key frame, not on the first picture
        video.seek(1_500_000)
        assert next(video.decode(video=0)).time == pytest.approx(pictures[40][0], abs=0.4)
    write_media(tmp_path / "ego", spec, tmp_path / "grid.mp4", start_ns=kept.samples[0][2])
    assert check_steady(tmp_path / "grid.mp4").fps == 30


def test_a_camera_that_dies_raises_and_can_be_opened_again(tmp_path: Path) -> None:
    async def play() -> tuple[int, int]:
        url = _address()
        camera, kept = rtsp("ego", {"url": url, "rtsp_flags": "listen", "timeout_s": 10}), Kept(tmp_path, 20)
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
        return before, len(kept.samples)

    before, after = asyncio.run(play())
    assert after >= before + 20 >= 40


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


def test_pictures_stand_at_their_moments_on_an_even_grid_even_if_one_is_damaged(tmp_path: Path) -> None:
    camera = sim.video("pv", {"gaps": "0.5+0.4", "swaps": 0.1, "duplicates": 0.1, "offset_s": 5})
    (found,) = camera.times(2.0, 10**9)
    samples = list(camera.samples(found, 10**9))
    _stored(
        tmp_path / "pv",
        [(s.device_ns, s.payload if n != 40 else b"no picture", s.host_ns) for n, s in enumerate(samples)],
    )
    out = write_media(
        tmp_path / "pv",
        camera.spec,
        tmp_path / "pv.mp4",
        start_ns=10**9 - 200_000_000,
        times_ns=found.true_ns,
    )
    assert check_steady(out).fps == 30
    with av.open(str(out)) as video:
        shown = [frame.to_ndarray(format="rgb24") for frame in video.decode(video=0)]
    assert all(image.max() < 20 for image in shown[:6])  # 0.2 s before the first picture
    numbers = [counter(image) for image in shown[6:]]
    there = {int(n) for n in np.delete(found.taken, 40)}
    assert numbers == [max(n for n in there if n <= k) for k in range(len(numbers))]
    assert numbers[20] == 14  # in the gap the last one stands


@pytest.mark.parametrize("ending", ["wav", "m4a"])
def test_sound_has_its_claps_where_they_were(tmp_path: Path, ending: str) -> None:
    microphone = sim.audio("sound", {"claps": "0.5,2.25", "gaps": "1.0+0.6", "jitter_ms": 3})
    (found,) = microphone.times(3.0, 0)
    _stored(tmp_path / "sound", [(s.device_ns, s.payload, s.host_ns) for s in microphone.samples(found, 0)])
    out = write_media(
        tmp_path / "sound", microphone.spec, tmp_path / f"sound.{ending}", start_ns=0, times_ns=found.true_ns
    )
    with av.open(str(out)) as file:
        sound = np.concatenate([frame.to_ndarray().reshape(-1) for frame in file.decode(audio=0)]).astype(
            float
        )
    sound /= np.abs(sound).max()
    onsets = np.flatnonzero(np.abs(sound) > 0.3) / 48_000
    first, second = onsets[0], onsets[onsets > 1][0]
    assert first == pytest.approx(0.5, abs=0.03)
    assert second - first == pytest.approx(1.75, abs=0.002)
    if ending == "wav":
        assert not sound[49_000:76_000].any()  # the gap
        with wave.open(str(out)) as read:
            assert (read.getnframes(), read.getframerate(), read.getnchannels()) == (144_000, 48_000, 1)


def test_streams_that_make_no_file_are_refused(tmp_path: Path) -> None:
    spec = StreamSpec(name="imu", kind="imu", format="f4", columns=("x",))
    _stored(tmp_path, [(0, b"\0\0\0\0", 0)])
    for call in (
        lambda: remux(tmp_path, spec, tmp_path / "x.mp4"),
        lambda: write_media(tmp_path, spec, tmp_path / "x.mp4", start_ns=0),
    ):
        with pytest.raises(UserError):
            call()
    assert not (tmp_path / "x.mp4").exists()


def test_the_counter_is_that_of_the_picture() -> None:
    for number in (0, 1, 12_345, 2**31 + 5):
        assert counter(np.asarray(Image.open(io.BytesIO(sim.picture("s", number))))) == number

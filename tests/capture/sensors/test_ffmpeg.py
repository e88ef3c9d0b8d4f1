"""RTSP over loopback, and stored streams as files that play."""

from __future__ import annotations

import asyncio
import io
import socket
import subprocess
import sys
import wave
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image
from tests.capture.sensors.sensing import Kept, counter

from proctor.capture.records import Sample, StreamSpec
from proctor.capture.segments import SegmentWriter
from proctor.capture.sensors.ffmpeg import Camera, remux, rtsp, v4l2, write_media
from proctor.errors import UserError
from proctor.media.steady import check_steady
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


def _stored(folder: Path, samples: list[tuple[int, bytes, int]]) -> None:
    writer = SegmentWriter(folder)
    for device, payload, host in samples:
        writer.add(Sample(device, host, payload))
    writer.close()


def test_packets_of_a_camera_in_the_network_are_stored_as_they_come_and_play(tmp_path: Path) -> None:
    url = _address()
    camera, kept = rtsp("ego", {"url": url, **LISTEN}), Kept(tmp_path)
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
    _stored(tmp_path / "ego", kept.samples)
    remux(tmp_path / "ego", camera.spec, tmp_path / "ego.mp4")
    with av.open(str(tmp_path / "ego.mp4")) as video:
        pictures = [float(packet.pts * packet.time_base) for packet in video.demux(video=0) if packet.size]  # type: ignore[operator]
    pause = (kept.samples[before][2] - kept.samples[before - 1][2]) / 1e9
    assert np.diff(pictures).max() == pytest.approx(pause, abs=0.01)
    assert (np.diff(pictures) > 0).all()


@pytest.mark.parametrize("codec", ["libx264", "libx265"])
def test_pictures_that_are_sent_in_another_order_are_shown_in_theirs(tmp_path: Path, codec: str) -> None:
    encoder = av.CodecContext.create(codec, "w")
    encoder.width, encoder.height, encoder.pix_fmt, encoder.framerate = 640, 360, "yuv420p", 30  # type: ignore[attr-defined]
    encoder.time_base, encoder.gop_size, encoder.max_b_frames = Fraction(1, 30), 20, 3  # type: ignore[attr-defined]
    packets = []
    for number in [*range(50), None]:
        frame = None
        if number is not None:
            with av.open(io.BytesIO(sim.picture("b", number)), format="mjpeg") as source:
                frame = next(source.decode(video=0)).reformat(format="yuv420p")
            frame.pts, frame.time_base, frame.pict_type = number, Fraction(1, 30), 0
        packets += [(packet.pts, bytes(packet)) for packet in encoder.encode(frame)]  # type: ignore[attr-defined]
    assert [pts for pts, _ in packets] != sorted(pts for pts, _ in packets)
    samples = [
        (round(pts * 1e9 / 30), data, 10**12 + n * 33_000_000) for n, (pts, data) in enumerate(packets)
    ]
    _stored(tmp_path / "x", samples)
    name = "h264" if codec == "libx264" else "hevc"
    spec = StreamSpec(name="x", kind="video", format="packet", codec=name, tick="1/30", width=640, height=360)
    assert remux(tmp_path / "x", spec, tmp_path / "x.mp4") == 50
    with av.open(str(tmp_path / "x.mp4")) as video:
        shown = [
            (float(frame.time), counter(frame.to_ndarray(format="rgb24"))) for frame in video.decode(video=0)
        ]
        assert [number for _, number in shown] == list(range(50))
        assert np.diff([time for time, _ in shown]) == pytest.approx(1 / 30, abs=1e-3)
        video.seek(1_000_000)
        assert next(video.decode(video=0)).key_frame
    times = np.array([device for device, _, _ in samples])
    out = write_media(tmp_path / "x", spec, tmp_path / "grid.mp4", start_ns=0, times_ns=times)
    with av.open(str(out)) as video:
        assert [counter(frame.to_ndarray(format="rgb24")) for frame in video.decode(video=0)] == list(
            range(50)
        )


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


@pytest.mark.parametrize(
    ("codec", "told"), [("nonsense", "nonsense"), ("rawvideo", "rawvideo"), ("h264", "no picture")]
)
def test_packets_that_nothing_can_be_made_of_are_told_and_leave_no_file(
    tmp_path: Path, codec: str, told: str
) -> None:
    _stored(tmp_path / "x", [(n * 33_333_333, b"\0\0\1no packet" * 9, n * 33_333_333) for n in range(30)])
    spec = StreamSpec(name="x", kind="video", format="packet", codec=codec, width=640, height=360)
    with pytest.raises(UserError, match=r"no codec|no picture"):
        write_media(tmp_path / "x", spec, tmp_path / "x.mp4", start_ns=0)
    if codec != "h264":
        with pytest.raises(UserError, match=told):
            remux(tmp_path / "x", spec, tmp_path / "x.mp4")
    assert not (tmp_path / "x.mp4").exists()
    with pytest.raises(UserError, match="would last"):  # a clock that is years off makes no file of years
        write_media(tmp_path / "x", spec, tmp_path / "x.mp4", start_ns=-(10**18))


def test_the_counter_is_that_of_the_picture() -> None:
    for number in (0, 1, 12_345, 2**31 + 5):
        assert counter(np.asarray(Image.open(io.BytesIO(sim.picture("s", number))))) == number

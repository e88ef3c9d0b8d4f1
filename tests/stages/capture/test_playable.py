"""Stored streams as files that play."""

from __future__ import annotations

import io
import wave
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from tests.capture.sensors.sensing import counter, stored

from proctor.capture.records import StreamSpec
from proctor.errors import UserError
from proctor.media.steady import check_steady
from proctor.stages.capture.playable import write_media
from proctor_rehearsal.kitchen import sensors as sim


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
    stored(tmp_path / "x", samples)
    name = "h264" if codec == "libx264" else "hevc"
    spec = StreamSpec(name="x", kind="video", format="packet", codec=name, tick="1/30", width=640, height=360)
    times = np.array([device for device, _, _ in samples])
    out = write_media(tmp_path / "x", spec, tmp_path / "grid.mp4", start_ns=0, times_ns=times)
    with av.open(str(out)) as video:
        assert [counter(frame.to_ndarray(format="rgb24")) for frame in video.decode(video=0)] == list(
            range(50)
        )


def test_pictures_stand_at_their_moments_on_an_even_grid_even_if_one_is_damaged(tmp_path: Path) -> None:
    camera = sim.video("pv", {"gaps": "0.5+0.4", "swaps": 0.1, "duplicates": 0.1, "offset_s": 5})
    (found,) = camera.times(2.0, 10**9)
    samples = list(camera.samples(found, 10**9))
    stored(
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
    stored(tmp_path / "sound", [(s.device_ns, s.payload, s.host_ns) for s in microphone.samples(found, 0)])
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
    stored(tmp_path, [(0, b"\0\0\0\0", 0)])
    with pytest.raises(UserError, match="1 samples of format 'f4'"):
        write_media(tmp_path, spec, tmp_path / "x.mp4", start_ns=0)
    assert not (tmp_path / "x.mp4").exists()


@pytest.mark.parametrize(
    ("codec", "told"), [("nonsense", "nonsense"), ("rawvideo", "no picture"), ("h264", "no picture")]
)
def test_packets_that_nothing_can_be_made_of_are_told_and_leave_no_file(
    tmp_path: Path, codec: str, told: str
) -> None:
    stored(tmp_path / "x", [(n * 33_333_333, b"\0\0\1no packet" * 9, n * 33_333_333) for n in range(30)])
    spec = StreamSpec(name="x", kind="video", format="packet", codec=codec, width=640, height=360)
    with pytest.raises(UserError, match=told):
        write_media(tmp_path / "x", spec, tmp_path / "x.mp4", start_ns=0)
    assert not (tmp_path / "x.mp4").exists()
    with pytest.raises(UserError, match="would last"):  # a clock that is years off makes no file of years
        write_media(tmp_path / "x", spec, tmp_path / "x.mp4", start_ns=-(10**18))

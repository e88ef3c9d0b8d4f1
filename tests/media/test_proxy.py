"""Proxies and clips of them: nothing of the moment at which a clip ends, or after it, is in the file."""

from __future__ import annotations

import math
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import av
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.media.probe import probe
from proctor.media.proxy import pictures_before, trim_proxy, write_poster, write_proxy
from proctor.media.source import Limits

Make = Callable[..., Path]


def numbers_in(path: Path, maker: ModuleType) -> list[int]:
    with av.open(str(path)) as container:
        return [maker.number_in(f.to_ndarray(format="rgb24")) for f in container.decode(video=0)]


def sound_in(path: Path) -> np.ndarray[Any, Any]:
    with av.open(str(path)) as container:
        blocks = [f.to_ndarray() for f in container.decode(audio=0)]
    return np.concatenate([np.zeros((2, 0), np.float32), *blocks], axis=1)


def packets_in(path: Path) -> list[tuple[str, int, int, bool]]:
    """Kind, time and place in the file of every packet, and whether it is a keyframe."""
    with av.open(str(path)) as container:
        return [
            (p.stream.type, p.pts or 0, p.pos or 0, p.is_keyframe)
            for p in container.demux()
            if p.dts is not None
        ]


@pytest.fixture(scope="module")
def counter(video: Make) -> Path:
    """Five seconds of numbered pictures with B-frames and four seconds of sound."""
    return video("counter.mp4", times=range(150), b_frames=3, audio_seconds=4.0)


@pytest.fixture(scope="module")
def proxy(counter: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("proxy") / "p.mp4"
    write_proxy(counter, path)
    return path


# -- the proxy -------------------------------------------------------------------------------------------------


def test_shows_every_picture_at_its_time(counter: Path, maker: ModuleType, tmp_path: Path) -> None:
    info = write_proxy(counter, tmp_path / "p.mp4")
    assert (info.frames, info.fps, info.width, info.height, info.seconds) == (150, 30, 160, 96, 5.0)
    assert numbers_in(tmp_path / "p.mp4", maker) == list(range(150))


def test_is_what_a_browser_wants(proxy: Path) -> None:
    info = probe(proxy)
    assert (info.codec, info.pixel_format, info.fps, info.start_time) == ("h264", "yuv420p", 30.0, 0.0)
    assert info.has_audio
    assert not info.variable_frame_rate
    packets = packets_in(proxy)
    shown = [time for kind, time, _, _ in packets if kind == "video"]
    assert {b - a for a, b in pairwise(shown)} == {shown[1] - shown[0]}
    keys = [n for n, p in enumerate(p for p in packets if p[0] == "video") if p[3]]
    assert keys == list(range(0, 150, 15))
    data = proxy.read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")


def test_sound_stands_beside_its_pictures_in_the_file(proxy: Path) -> None:
    with av.open(str(proxy)) as container:
        placed = sorted(
            (p.pos, float(p.pts * p.time_base), p.stream.type) for p in container.demux() if p.dts is not None
        )
    times = {"video": 0.0, "audio": 0.0}
    for _, time, kind in placed:
        times[kind] = time
        assert abs(times["video"] - times["audio"]) < 1.5
    assert times["audio"] == pytest.approx(5.0, abs=0.03)  # silence follows the four seconds


def test_keeps_the_sound_and_adds_silence_where_there_is_none(
    proxy: Path, video: Make, tmp_path: Path
) -> None:
    sound = sound_in(proxy)
    assert sound.shape[1] / 48_000 == pytest.approx(5.0, abs=0.05)
    part = sound[0, 48_000:96_000]
    assert np.argmax(np.abs(np.fft.rfft(part))) == pytest.approx(440, abs=2)
    assert np.abs(sound[:, int(4.2 * 48_000) :]).max() < 0.01
    write_proxy(video("mute.mp4"), tmp_path / "m.mp4")
    silent = sound_in(tmp_path / "m.mp4")
    assert silent.shape[1] / 48_000 == pytest.approx(2.0, abs=0.05)
    assert np.abs(silent).max() == 0


@pytest.mark.parametrize(
    ("name", "recipe"),
    [
        ("slow.mp4", {"times": range(40), "time_base": Fraction(1, 8)}),
        ("fast.mp4", {"times": range(120), "time_base": Fraction(1, 60)}),
        ("ntsc.mp4", {"times": range(60), "time_base": Fraction(1001, 30000)}),
        (
            "uneven.mp4",
            {"times": [0, 400, 900, 1000, 1034, 2000, 2100, 4000], "time_base": Fraction(1, 1000)},
        ),
        ("rounded.mkv", {"times": range(90), "format": "matroska"}),
    ],
)
def test_picture_k_is_what_stood_on_the_screen_then(
    name: str, recipe: dict[str, Any], video: Make, maker: ModuleType, tmp_path: Path
) -> None:
    write_proxy(video(name, **recipe), tmp_path / "p.mp4")
    seen = numbers_in(tmp_path / "p.mp4", maker)
    times = [t * recipe.get("time_base", Fraction(1, 30)) for t in recipe["times"]]
    expected = [max(n for n, time in enumerate(times) if time <= Fraction(k, 30)) for k in range(len(seen))]
    assert seen == expected
    assert seen[-1] == len(times) - 1


def test_before_the_first_picture_it_is_black(video: Make, maker: ModuleType, tmp_path: Path) -> None:
    late = video("late.mp4", times=range(30, 60), audio_seconds=2.0)
    info = write_proxy(late, tmp_path / "p.mp4")
    assert info.frames == 60
    with av.open(str(tmp_path / "p.mp4")) as container:
        pictures = [f.to_ndarray(format="rgb24") for f in container.decode(video=0)]
    assert max(p.max() for p in pictures[:30]) < 20
    assert [maker.number_in(p) for p in pictures[30:]] == list(range(30))


def test_scales_down_but_not_up_and_stays_turned(video: Make, tmp_path: Path) -> None:
    turned = video("turned.mp4", rotation=90)
    info = write_proxy(turned, tmp_path / "p.mp4", 80)
    seen = probe(tmp_path / "p.mp4")
    assert (info.width, info.height) == (seen.width, seen.height) == (48, 80)
    assert write_proxy(turned, tmp_path / "q.mp4", 1080).height == 160
    assert trim_proxy(tmp_path / "p.mp4", tmp_path / "c.mp4", 1.0).width == 48
    assert probe(tmp_path / "c.mp4").rotation == 90


def test_says_how_the_colours_are_meant(tmp_path: Path) -> None:
    source = tmp_path / "hd.mp4"
    with av.open(str(source), "w") as container:
        stream = container.add_stream("libx264", rate=30)
        stream.width, stream.height, stream.pix_fmt = 1280, 720, "yuv420p"
        context = stream.codec_context
        context.colorspace, context.color_primaries, context.color_trc = 1, 1, 1  # BT.709
        for k in range(4):
            frame = av.VideoFrame(1280, 720, "yuv420p")
            for plane in frame.planes:
                plane.update(bytes([90]) * plane.buffer_size)
            frame.pts, frame.time_base = k, Fraction(1, 30)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    write_proxy(source, tmp_path / "p.mp4", 360)
    with av.open(str(tmp_path / "p.mp4")) as container:
        frame = next(container.decode(video=0))
    assert (int(frame.colorspace), int(frame.color_primaries), int(frame.color_trc)) == (1, 1, 1)
    assert frame.to_ndarray()[0, 0] == pytest.approx(90, abs=2)


def test_tells_how_far_it_is_and_repeats_byte_for_byte(counter: Path, tmp_path: Path) -> None:
    seen: list[float] = []
    write_proxy(counter, tmp_path / "a.mp4", seen=seen.append)
    write_proxy(counter, tmp_path / "b.mp4")
    assert seen == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()


def test_what_was_in_memory_before_changes_nothing(counter: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from proctor.media.proxy import write_proxy;"
        "write_proxy(sys.argv[1], Path(sys.argv[2]), 64, end=2.0)"
    )
    for fill in ("0", "1", "254"):
        environment = {**os.environ, "MALLOC_PERTURB_": fill}
        subprocess.run(
            [sys.executable, "-c", code, counter, tmp_path / f"{fill}.mp4"], check=True, env=environment
        )
    assert len({path.read_bytes() for path in tmp_path.glob("*.mp4")}) == 1


def test_ten_bit_hevc_becomes_what_browsers_play(video: Make, maker: ModuleType, tmp_path: Path) -> None:
    """What action cameras write."""
    source = video(
        "hevc.mp4", codec="libx265", pixel_format="yuv420p10le", options={"x265-params": "log-level=none"}
    )
    write_proxy(source, tmp_path / "p.mp4")
    info = probe(tmp_path / "p.mp4")
    assert (info.codec, info.pixel_format) == ("h264", "yuv420p")
    assert numbers_in(tmp_path / "p.mp4", maker) == list(range(60))


# -- clips -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", [1 / 30, 0.5, 1.0, 1.01, 0.1 + 0.2, 3.0, 100 / 30, 4.9, 4.999])
def test_nothing_of_the_end_or_after_it_is_in_the_file(
    end: float, proxy: Path, maker: ModuleType, tmp_path: Path
) -> None:
    info = trim_proxy(proxy, tmp_path / "c.mp4", end)
    seen = numbers_in(tmp_path / "c.mp4", maker)
    assert seen == list(range(len(seen)))
    assert seen[-1] < end * 30 - 1e-6 <= seen[-1] + 1
    assert info.frames == len(seen)
    assert sound_in(tmp_path / "c.mp4").shape[1] <= end * 48_000
    # players take the file's own word for its length
    with av.open(str(tmp_path / "c.mp4")) as container:
        assert (container.duration or 0) / 1e6 == pytest.approx(len(seen) / 30, abs=2e-3)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(end=st.floats(0.001, 5.0))
def test_every_moment_gives_the_pictures_before_it(
    end: float, proxy: Path, maker: ModuleType, tmp_path: Path
) -> None:
    trim_proxy(proxy, tmp_path / "c.mp4", end)
    exact = Fraction(end).limit_denominator(1_000_000)
    assert numbers_in(tmp_path / "c.mp4", maker) == [k for k in range(150) if Fraction(k, 30) < exact]


def test_a_clip_holds_the_proxys_bytes_and_ends(proxy: Path, tmp_path: Path) -> None:
    clip = tmp_path / "c.mp4"
    trim_proxy(proxy, clip, 2.0)
    whole = [p for p in packets_in(proxy) if p[0] == "video"]
    part = [p for p in packets_in(clip) if p[0] == "video"]
    assert [(t, key) for _, t, _, key in part] == [(t, key) for _, t, _, key in whole[:60]]
    data = clip.read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")
    assert len(data) < 0.6 * proxy.stat().st_size
    trim_proxy(proxy, tmp_path / "again.mp4", 2.0)
    assert (tmp_path / "again.mp4").read_bytes() == data


def test_a_moment_after_the_end_gives_all_of_it(proxy: Path, maker: ModuleType, tmp_path: Path) -> None:
    assert trim_proxy(proxy, tmp_path / "c.mp4", 99.0).frames == 150
    assert numbers_in(tmp_path / "c.mp4", maker)[-1] == 149


@given(end=st.floats(1e-4, 1e5), fps=st.integers(1, 60))
def test_pictures_before(end: float, fps: int) -> None:
    count = pictures_before(end, fps)
    exact = Fraction(end).limit_denominator(1_000_000)
    assert Fraction(count - 1, fps) < exact <= Fraction(count, fps)


def test_pictures_before_is_not_misled_by_binary_fractions() -> None:
    assert pictures_before(0.1 + 0.2) == 9
    assert math.ceil((0.1 + 0.2) * 30) == 10  # what it would be
    assert pictures_before(0) == 0


def test_the_poster_is_the_first_picture(proxy: Path, maker: ModuleType, tmp_path: Path) -> None:
    from PIL import Image

    for end in (1.0, 4.0):
        trim_proxy(proxy, tmp_path / "c.mp4", end)
        write_poster(tmp_path / "c.mp4", tmp_path / f"{end}.jpg")
    image = np.asarray(Image.open(tmp_path / "1.0.jpg").convert("RGB"))
    assert image.shape == (96, 160, 3)
    assert maker.number_in(image) == 0
    # it tells nothing about the moment of the question
    assert (tmp_path / "1.0.jpg").read_bytes() == (tmp_path / "4.0.jpg").read_bytes()


# -- refusals --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", [0.0, -1.0, float("nan"), float("inf")])
def test_impossible_ends(end: float, proxy: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot end at"):
        trim_proxy(proxy, tmp_path / "c.mp4", end)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("setting", [{"height": 2}, {"fps": 0}, {"fps": 500}, {"gop": 0}, {"quality": 60}])
def test_impossible_settings(setting: dict[str, int], counter: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"not possible|do not go"):
        write_proxy(counter, tmp_path / "p.mp4", **setting)


@pytest.mark.parametrize(
    ("name", "recipe"),
    [
        ("reordered.mp4", {"times": range(150), "b_frames": 3}),
        ("variable.mp4", {"times": [0, 400, 900, 1000], "time_base": Fraction(1, 1000)}),
    ],
)
def test_any_other_video_is_not_trimmed(
    name: str, recipe: dict[str, Any], video: Make, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="not a proxy"):
        trim_proxy(video(name, **recipe), tmp_path / "c.mp4", 3.0)
    assert list(tmp_path.iterdir()) == []


def test_does_not_overwrite_what_it_reads(counter: Path, proxy: Path) -> None:
    with pytest.raises(UserError, match="overwrite"):
        write_proxy(counter, counter)
    with pytest.raises(UserError, match="overwrite"):
        trim_proxy(proxy, proxy, 1.0)


def test_a_time_limit_ends_the_work(counter: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="longer than the limit"):
        write_proxy(counter, tmp_path / "p.mp4", limits=Limits(seconds=0.01))
    assert list(tmp_path.iterdir()) == []


def test_a_bad_source_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.mp4").write_bytes(b"<html>")
    with pytest.raises(UserError, match="web page"):
        write_proxy(tmp_path / "x.mp4", tmp_path / "p.mp4")
    assert [p.name for p in tmp_path.iterdir()] == ["x.mp4"]


LITTLE_ROOM = """
import resource, signal, sys
from pathlib import Path
from proctor.errors import UserError
from proctor.media.proxy import trim_proxy, write_proxy
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]), resource.RLIM_INFINITY))
try:
    if sys.argv[1] == "proxy":
        write_proxy(sys.argv[2], Path(sys.argv[3]))
    else:
        trim_proxy(Path(sys.argv[2]), Path(sys.argv[3]), 4.0)
except UserError as error:
    print(error)
else:
    print("written")
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="needs a limit on the size of files")
@pytest.mark.parametrize("size", [10, 5_000, 40_000])
@pytest.mark.parametrize("kind", ["proxy", "clip"])
def test_a_file_that_finds_no_room(kind: str, size: int, counter: Path, proxy: Path, tmp_path: Path) -> None:
    source = counter if kind == "proxy" else proxy
    out = tmp_path / "out.mp4"
    done = subprocess.run(
        [sys.executable, "-c", LITTLE_ROOM, kind, str(source), str(out), str(size)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONWARNINGS": "error"},
        check=True,
    )
    assert "untouched" in done.stdout, done.stdout + done.stderr
    assert "File too large" in done.stdout
    assert list(tmp_path.iterdir()) == []

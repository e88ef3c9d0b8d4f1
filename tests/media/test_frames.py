"""The sampler must give the frames that decoding everything gives, in every kind of file."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from proctor.errors import UserError
from proctor.media.frames import extract_frames, iter_frames, walk_frames
from proctor.media.sampling import by_fps, uniform
from proctor.media.source import Limits

Make = Callable[..., Path]


def _uneven(seed: int, longest: int) -> list[int]:
    rng = random.Random(seed)
    times = [0]
    for _ in range(160):
        times.append(times[-1] + rng.choice([20, 33, 33, 40, 66, longest]))
    return times


X265 = {"preset": "ultrafast"}
KINDS: dict[str, dict[str, Any]] = {
    "cfr.mp4": {"times": range(200)},
    "b_frames.mp4": {"times": range(200), "b_frames": 3},
    "gop250.mp4": {"times": range(520), "b_frames": 3, "gop": 250},
    "open_gop.mp4": {
        "times": range(200),
        "b_frames": 3,
        "options": {"x264-params": "open-gop=1:scenecut=0:keyint=30:min-keyint=30"},
    },
    "intra_refresh.mp4": {"times": range(200), "options": {"x264-params": "intra-refresh=1:keyint=30"}},
    "vfr.mp4": {"times": _uneven(1, 1500), "time_base": Fraction(1, 1000), "b_frames": 3, "gop": 60},
    "vfr.mkv": {"times": _uneven(2, 900), "time_base": Fraction(1, 1000), "b_frames": 3, "gop": 60},
    "slow.mp4": {"times": range(100), "time_base": Fraction(1), "b_frames": 3, "gop": 20},
    "starts_late.mp4": {"times": range(300, 420), "b_frames": 2},
    "starts_late.mkv": {"times": range(300, 420), "b_frames": 2},
    "stream.ts": {"times": range(200), "b_frames": 3, "gop": 60},
    "no_edit_list.mp4": {"times": range(150), "b_frames": 3, "container_options": {"use_editlist": "0"}},
    "fragmented.mp4": {
        "times": range(150),
        "b_frames": 3,
        "container_options": {"movflags": "frag_keyframe+empty_moov"},
    },
    "rotated.mp4": {"times": range(60), "rotation": 90},
    "wide_pixels.mp4": {"times": range(60), "aspect": Fraction(4, 3)},
    "mpeg4.avi": {"times": range(120), "codec": "mpeg4", "gop": 25},
    "mpeg4_b.mp4": {"times": range(120), "codec": "mpeg4", "gop": 25, "b_frames": 2},
    "mpeg2.ts": {"times": range(120), "codec": "mpeg2video", "gop": 15, "b_frames": 2},
    "vp9.webm": {
        "times": range(100),
        "codec": "libvpx-vp9",
        "gop": 40,
        "options": {"cpu-used": "8", "deadline": "realtime"},
    },
    "hevc.mp4": {
        "times": range(100),
        "codec": "libx265",
        "options": X265 | {"x265-params": "log-level=none:open-gop=1:keyint=30:bframes=3:b-adapt=0:pools=1"},
    },
    "hevc_10bit.mkv": {
        "times": range(60),
        "codec": "libx265",
        "pixel_format": "yuv420p10le",
        "options": X265 | {"x265-params": "log-level=none:keyint=30:pools=1"},
    },
}


def everything(path: Path) -> tuple[list[tuple[int, np.ndarray]], Fraction, Fraction]:
    """Decode the whole file: (pts, picture) of each frame, the time base, the start."""
    import av

    from proctor.media.paint import Painter
    from proctor.media.source import DEFAULT_LIMITS

    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert stream.time_base is not None
        paint = Painter(None, stream.sample_aspect_ratio, str(path), DEFAULT_LIMITS)
        frames = [(f.pts, paint(f)) for f in container.decode(stream)]
        return frames, stream.time_base, Fraction(container.start_time or 0, 1_000_000)


def on_screen(times: list[Fraction], moment: float, tick: Fraction) -> int:
    """Number of the last frame not after a moment (a stored time is rounded to its tick)."""
    slack = min(tick / 2, Fraction(1, 2000))
    return max((i for i, t in enumerate(times) if t <= Fraction(moment) + slack), default=0)


@pytest.mark.parametrize("name", KINDS)
def test_same_frames_as_decoding_everything(name: str, video: Make) -> None:
    path = video(name, **KINDS[name])
    frames, tick, zero = everything(path)
    times = [pts * tick - zero for pts, _ in frames]
    end = float(times[-1]) + 0.02
    for seed, count in enumerate([1, 2, 5, 12, 40]):
        rng = random.Random(seed)
        moments = [rng.uniform(0, end) for _ in range(count)]
        moments += [max(0.0, float(rng.choice(times))) for _ in range(count)]  # exactly when a frame appears
        for moment, frame in zip(moments, extract_frames(path, moments, height=None), strict=True):
            number = on_screen(times, moment, tick)
            assert frame.target == moment
            assert frame.pts == frames[number][0]
            assert frame.time == pytest.approx(float(times[number]), abs=1e-6)
            assert np.array_equal(frame.image, frames[number][1])


@pytest.mark.parametrize("codec", ["libx264", "mpeg4"])
def test_avi_with_reordered_frames_counts_frames(codec: str, video: Make, maker: ModuleType) -> None:
    path = video("reordered.avi", codec=codec, times=range(120), b_frames=2, gop=25)
    moments = [0.0, 0.34, 1.0, 1.01, 2.5, 3.95]
    numbers = [maker.number_in(f.image) for f in extract_frames(path, moments, height=None)]
    assert numbers == [0, 10, 30, 30, 75, 118]


def test_edit_list_hides_the_beginning(video: Make, tmp_path: Path, maker: ModuleType) -> None:
    whole = video("to_edit.mp4", times=range(120)).read_bytes()
    at = whole.index(b"elst") + 12
    ticks = (15360 * 1).to_bytes(4, "big")  # begin 1 s into the stream
    path = tmp_path / "edited.mp4"
    path.write_bytes(whole[: at + 4] + ticks + whole[at + 8 :])
    frames, tick, zero = everything(path)
    assert maker.number_in(frames[0][1]) == 30
    got = extract_frames(path, [0.0, 1.0, 2.5], height=None)
    assert [maker.number_in(f.image) for f in got] == [30, 60, 105]
    assert [f.pts for f in got] == [frames[i][0] for i in (0, 30, 75)]
    assert zero == 0
    assert tick == Fraction(1, 15360)


def test_one_frame_a_second_of_whole_numbers(video: Make, maker: ModuleType) -> None:
    path = video("b_frames.mp4", **KINDS["b_frames.mp4"])
    numbers = [maker.number_in(f.image) for f in extract_frames(path, by_fps(1, 200 / 30), height=None)]
    assert numbers == [0, 30, 60, 90, 120, 150, 180]


def test_order_and_repeats_are_kept(video: Make, maker: ModuleType) -> None:
    path = video("cfr.mp4", **KINDS["cfr.mp4"])
    frames = extract_frames(path, [3.0, 0.0, 3.0, 1.0], height=None)
    assert [maker.number_in(f.image) for f in frames] == [90, 0, 90, 30]
    assert extract_frames(path, []) == []


def test_past_the_last_frame_takes_it_and_says_so(video: Make, maker: ModuleType) -> None:
    for name in ("b_frames.mp4", "vfr.mkv", "stream.ts"):
        path = video(name, **KINDS[name])
        frames, tick, zero = everything(path)
        last = float(frames[-1][0] * tick - zero)
        got = extract_frames(path, [last, last + 5, last + 500], height=None)
        assert [f.note for f in got] == ["", "past_last", "past_last"], name
        assert {f.pts for f in got} == {frames[-1][0]}


def test_before_the_first_frame_takes_it_and_says_so(video: Make, maker: ModuleType, tmp_path: Path) -> None:
    # sound begins at 0 s, pictures at 1 s
    path = maker.make_video(tmp_path / "late.mkv", maker.Recipe(range(30, 90), audio_seconds=3.0))
    first, second = extract_frames(path, [0.2, 1.5], height=None)
    assert (first.note, maker.number_in(first.image), first.time) == ("before_first", 0, 1.0)
    assert (second.note, maker.number_in(second.image)) == ("", 15)


@pytest.mark.parametrize(
    ("name", "height", "size"),
    [
        ("cfr.mp4", 48, (48, 80)),
        ("cfr.mp4", None, (96, 160)),
        ("rotated.mp4", 80, (80, 48)),
        ("wide_pixels.mp4", 48, (48, 106)),
    ],
)
def test_pictures_are_upright_with_square_pixels(
    name: str, height: int | None, size: tuple[int, int], video: Make
) -> None:
    (frame,) = extract_frames(video(name, **KINDS[name]), [0.5], height=height)
    assert frame.image.shape == (*size, 3)
    assert frame.image.dtype == np.uint8


def test_rotation_turns_the_picture_as_players_do(video: Make, maker: ModuleType) -> None:
    plain = video("plain.mp4", times=range(30))
    turned = maker.turn_video(plain, plain.with_name("turned.mp4"), 90)
    (a,), (b,) = (extract_frames(p, [0.5], height=None) for p in (plain, turned))
    assert np.array_equal(np.rot90(a.image), b.image)


def test_few_packets_are_decoded_when_frames_are_far_apart(
    video: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    from proctor.media import frames as module

    path = video("gop250.mp4", times=range(520), b_frames=3, gop=26)
    fed = 0
    feed = module._Cursor._feed

    def counted(self: Any, *args: Any, **kwargs: Any) -> None:
        nonlocal fed
        fed += 1
        feed(self, *args, **kwargs)

    monkeypatch.setattr(module._Cursor, "_feed", counted)
    extract_frames(path, uniform(6, 520 / 30))
    assert fed < 6 * 32  # at most one group of pictures and what is reordered, for each


@pytest.mark.parametrize("times", [[-1.0], [float("nan")], [float("inf")]])
def test_impossible_times_are_refused(times: list[float], video: Make) -> None:
    with pytest.raises(UserError, match="not a moment"):
        extract_frames(video("cfr.mp4", **KINDS["cfr.mp4"]), times)


def test_iter_frames_wants_increasing_times(video: Make) -> None:
    with pytest.raises(UserError, match="do not increase"):
        list(iter_frames(video("cfr.mp4", **KINDS["cfr.mp4"]), [2.0, 1.0]))


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits(frames=2), "3 frames were asked for"),
        (Limits(source_pixels=100), "pixels, more than the limit"),
        (Limits(output_bytes=10_000), "need more than"),
        (Limits(seconds=0.0), "longer than the"),
    ],
)
def test_limits_end_in_a_message(limits: Limits, message: str, video: Make) -> None:
    with pytest.raises(UserError, match=message):
        extract_frames(video("cfr.mp4", **KINDS["cfr.mp4"]), [0.0, 1.0, 2.0], limits=limits)


def test_impossible_heights_are_refused(video: Make) -> None:
    with pytest.raises(UserError, match="height of 0"):
        extract_frames(video("cfr.mp4", **KINDS["cfr.mp4"]), [0.0], height=0)


def test_a_cut_off_file_gives_what_is_there_only_if_asked(
    video: Make, tmp_path: Path, maker: ModuleType
) -> None:
    whole = video("fast.mp4", times=range(200), container_options={"movflags": "faststart"}).read_bytes()
    path = tmp_path / "cut.mp4"
    path.write_bytes(whole[: len(whole) * 6 // 10])
    (early,) = extract_frames(path, [0.5], height=None)
    assert maker.number_in(early.image) == 15
    with pytest.raises(UserError, match=r"cut off|damaged"):
        extract_frames(path, [0.5, 6.0])
    assert [f.target for f in extract_frames(path, [0.5, 6.0], partial=True)] == [0.5]


def test_walk_frames_gives_the_frame_at_the_start_and_all_after_it(video: Make) -> None:
    path = video("b_frames.mp4", **KINDS["b_frames.mp4"])
    frames = list(walk_frames(path, 2.01, 2.51))
    assert [f.pts for _, f in frames] == [512 * n for n in range(60, 76)]
    assert frames[0][0] == 0
    assert float(frames[1][0]) == pytest.approx(61 / 30 - 2.01, abs=1e-6)


def test_walk_frames_past_the_end_is_refused(video: Make) -> None:
    with pytest.raises(UserError, match="nothing to see"):
        list(walk_frames(video("cfr.mp4", **KINDS["cfr.mp4"]), 100.0, 101.0))

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import av
import numpy as np
import pytest

from proctor.errors import UserError
from proctor.media.clips import cut_clip, write_thumbnail
from proctor.media.probe import probe

Make = Callable[..., Path]


def numbers_in(path: Path, maker: ModuleType) -> list[int]:
    with av.open(str(path)) as container:
        return [maker.number_in(f.to_ndarray(format="rgb24")) for f in container.decode(video=0)]


def times_in(path: Path) -> list[float]:
    with av.open(str(path)) as container:
        return [round(float(f.time or 0), 3) for f in container.decode(video=0)]


def test_holds_exactly_the_frames_of_the_span(video: Make, maker: ModuleType, tmp_path: Path) -> None:
    clip = tmp_path / "clip.mp4"
    cut_clip(video("b.mp4", times=range(150), b_frames=3), clip, 1.5, 3.0)
    assert numbers_in(clip, maker) == list(range(45, 90))
    assert probe(clip).duration == pytest.approx(1.5, abs=0.01)


def test_begins_with_the_frame_that_stands_at_the_start(
    video: Make, maker: ModuleType, tmp_path: Path
) -> None:
    times = [0, 400, 900, 1000, 2000, 2100, 4000]
    clip = tmp_path / "clip.mp4"
    cut_clip(video("vfr.mp4", times=times, time_base=Fraction(1, 1000)), clip, 0.7, 2.05)
    assert numbers_in(clip, maker)[:4] == [1, 2, 3, 4]
    assert times_in(clip)[:4] == [0.0, 0.2, 0.3, 1.3]


def test_long_standing_picture_is_held_to_the_end(video: Make, maker: ModuleType, tmp_path: Path) -> None:
    times = [0, 100, 200, 300, 400, 500, 5000, 5100]
    clip = tmp_path / "clip.mp4"
    cut_clip(video("gap.mp4", times=times, time_base=Fraction(1, 1000)), clip, 0.0, 4.0)
    assert numbers_in(clip, maker) == [0, 1, 2, 3, 4, 5, 5]
    assert 3.0 < times_in(clip)[-1] < 4.0


def test_keeps_the_sound_of_the_span(video: Make, tmp_path: Path) -> None:
    clip = tmp_path / "clip.mp4"
    cut_clip(video("sound.mp4", times=range(120), audio_seconds=4.0), clip, 1.0, 3.0)
    with av.open(str(clip)) as container:
        sound = np.concatenate([f.to_ndarray() for f in container.decode(audio=0)], axis=1)
    assert sound.shape[1] / 48_000 == pytest.approx(2.0, abs=0.05)
    middle = sound[0, 24_000:72_000]
    pitch = np.argmax(np.abs(np.fft.rfft(middle))) * 48_000 / middle.size
    assert pitch == pytest.approx(440, abs=2)


def test_no_sound_where_there_is_none(video: Make, tmp_path: Path) -> None:
    clip = tmp_path / "clip.mp4"
    cut_clip(video("b.mp4", times=range(150), b_frames=3), clip, 0, 1)
    assert not probe(clip).has_audio


def test_scales_and_keeps_the_rotation(video: Make, tmp_path: Path) -> None:
    clip = tmp_path / "clip.mp4"
    cut_clip(video("turned.mp4", rotation=90), clip, 0, 1, height=80)
    info = probe(clip)
    assert (info.width, info.height, info.rotation) == (48, 80, 90)


def test_makes_pixels_square(video: Make, tmp_path: Path) -> None:
    clip = tmp_path / "clip.mp4"
    cut_clip(video("wide.mp4", aspect=Fraction(4, 3)), clip, 0, 1)
    assert (probe(clip).width, probe(clip).height) == (214, 96)


def test_plays_at_once_and_repeats_byte_for_byte(video: Make, tmp_path: Path) -> None:
    source = video("sound.mp4", times=range(120), audio_seconds=4.0)
    for name in ("a.mp4", "b.mp4"):
        cut_clip(source, tmp_path / name, 0.5, 2.5)
    data = (tmp_path / "a.mp4").read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")
    assert data == (tmp_path / "b.mp4").read_bytes()


def test_what_was_in_memory_before_changes_nothing(video: Make, tmp_path: Path) -> None:
    source = video("b.mp4", times=range(150), b_frames=3)
    code = (
        "import sys; from pathlib import Path; from proctor.media.clips import cut_clip;"
        "cut_clip(sys.argv[1], Path(sys.argv[2]), 1.5, 4.2)"
    )
    for fill in ("0", "1", "2", "254"):
        # (see the test of the same name for rendered videos)
        environment = {**os.environ, "MALLOC_PERTURB_": fill}
        subprocess.run(
            [sys.executable, "-c", code, source, tmp_path / f"{fill}.mp4"], check=True, env=environment
        )
    assert len({path.read_bytes() for path in tmp_path.glob("[0-9]*.mp4")}) == 1


def test_a_span_past_the_end_is_cut_there(video: Make, maker: ModuleType, tmp_path: Path) -> None:
    clip = tmp_path / "clip.mp4"
    cut_clip(video("b.mp4", times=range(150), b_frames=3), clip, 4.5, 60)
    assert numbers_in(clip, maker) == list(range(135, 150))


@pytest.mark.parametrize(("start", "end"), [(2, 2), (3, 2), (-1, 2), (0, float("nan")), (0, float("inf"))])
def test_impossible_spans(start: float, end: float, video: Make, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a span"):
        cut_clip(video("b.mp4", times=range(150), b_frames=3), tmp_path / "c.mp4", start, end)


def test_a_failure_leaves_the_old_file_and_nothing_else(video: Make, tmp_path: Path) -> None:
    clip = tmp_path / "clip.mp4"
    clip.write_bytes(b"old")
    with pytest.raises(UserError, match="nothing to see"):
        cut_clip(video("b.mp4", times=range(150), b_frames=3), clip, 90, 91)
    assert clip.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [clip]


def test_does_not_overwrite_its_source(video: Make) -> None:
    source = video("b.mp4", times=range(150), b_frames=3)
    with pytest.raises(UserError, match="overwrite the video"):
        cut_clip(source, source, 0, 1)


def test_a_folder_that_cannot_be_written(video: Make, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError, match="cannot be written"):
        cut_clip(video("b.mp4", times=range(150), b_frames=3), tmp_path / "file" / "c.mp4", 0, 1)


def test_a_full_disk(video: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(UserError, match="No space left"):
        cut_clip(video("b.mp4", times=range(150), b_frames=3), tmp_path / "c.mp4", 0, 1)
    assert list(tmp_path.iterdir()) == []


def test_thumbnail(video: Make, tmp_path: Path) -> None:
    image = tmp_path / "deep" / "t.jpg"
    write_thumbnail(video("b.mp4", times=range(150), b_frames=3), image, 1.0, height=48)
    data = image.read_bytes()
    assert data[:2] == b"\xff\xd8"
    write_thumbnail(video("b.mp4", times=range(150), b_frames=3), tmp_path / "again.jpg", 1.0, height=48)
    assert (tmp_path / "again.jpg").read_bytes() == data

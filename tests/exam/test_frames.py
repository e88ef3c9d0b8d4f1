"""What frames are called, from real files: their places in the video, whatever its time stamps are."""

import io
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.media.make_video import Recipe, make_video, number_in

from proctor.exam import frames as module
from proctor.exam.frames import Frames
from proctor.exam.kinds.moment import shown_frames
from proctor.exam.library import Library
from proctor.exam.view import View
from proctor.llm.media import MediaStore

pytest.importorskip("av")

UNEVEN = [0, 1, 2, 9, 10, 30, 31, 32, 33, 50, 51, 52, 60, 90, 91, 93, 97, 120, 121, 150]
KINDS = {
    "variable.mp4": Recipe(times=UNEVEN, b_frames=2, gop=6),
    "variable.mkv": Recipe(times=UNEVEN, b_frames=2, gop=6),
    "late.mkv": Recipe(times=[300 + t for t in UNEVEN], b_frames=3),
    "transport.ts": Recipe(times=range(90), b_frames=2, gop=12),  # begins at 1.4 s
    "ticks.mp4": Recipe(times=range(0, 90 * 1001, 1001), time_base=Fraction(1, 30_000)),
    "numbered.avi": Recipe(times=range(90), codec="mpeg4", b_frames=2),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("videos")
    for name, recipe in KINDS.items():
        make_video(where / name, recipe)
    return where


def drawn(media: MediaStore, sha256: str) -> int:
    """The number that is drawn into a frame."""
    return number_in(np.asarray(Image.open(io.BytesIO(media.get(sha256))).convert("RGB")))


@pytest.mark.parametrize("name", KINDS)
def test_a_frame_is_called_by_its_place_in_the_video(folder: Path, name: str) -> None:
    frames = Frames(MediaStore())
    appear, ends = frames.times(folder / name)
    moments = sorted([0.0, *(appear[k] + 0.004 for k in range(0, len(appear), 3)), ends / 2, ends + 5])
    shown = frames.at(folder / name, moments, 96)
    assert len(shown) == len(moments)
    assert [f.number for f in shown] == [drawn(frames.media, f.image.sha256) for f in shown]
    assert shown[-1].number == len(KINDS[name].times) - 1


def test_the_published_sampling_calls_them_as_the_published_files_do(folder: Path) -> None:
    library = Library(media=MediaStore())
    path = folder / "ticks.mp4"
    published = shown_frames(library, path, 2.9, View(sampling="published", height=96), where="q")
    assert [f.number for f in published] == [1, 2, 3]  # one a second, from 1, whatever the video's rate is
    assert [drawn(library.media, f.image.sha256) for f in published] == [0, 29, 59]
    few = shown_frames(library, path, 2.9, View(sampling="published", frames=2, height=96), where="q")
    assert [f.number for f in few] == [1, 3]
    once = shown_frames(library, path, 2.9, View(sampling="fps", height=96), where="q")
    assert [f.number for f in once] == [0, 29, 59]


def test_frames_are_counted_once_a_video_and_only_where_their_places_are_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[Path] = []
    count = module.presentation_times
    monkeypatch.setattr(module, "presentation_times", lambda path: counted.append(path) or count(path))
    library = Library(media=MediaStore())
    path = folder / "variable.mp4"
    for end in (2.5, 4.0):
        shown_frames(library, path, end, View(sampling="published", height=96), where="q")
    assert counted == []
    for end in (2.5, 4.0):
        shown_frames(library, path, end, View(sampling="uniform", frames=4, height=96), where="q")
    assert counted == [path]

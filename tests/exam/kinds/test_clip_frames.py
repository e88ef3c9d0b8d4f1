"""Frames of clips from real files: the frames of the published rule, inside of the clip, at a quarter of the size."""

import io
from fractions import Fraction

import numpy as np
import pytest
from PIL import Image
from tests.exam.clip_set import ClipQuestion, clip_items
from tests.media.make_video import Recipe, make_video, number_in

from proctor.ask.clip.record import ShownClip
from proctor.errors import UserError
from proctor.exam.clip_view import ClipView, frame_indices
from proctor.exam.kind import TooMuch
from proctor.exam.kinds.clip import KIND, ClipAsking
from proctor.exam.library import Library
from proctor.llm.limits import Excess
from proctor.llm.media import MediaStore
from proctor.stages.videos import Videos

FPS = 10
FRAMES = 104


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a numbered video of 10.4 s at 10 frames a second, 160 by 96."""
    pytest.importorskip("av")
    where = tmp_path_factory.mktemp("videos")
    make_video(where / "v1.mp4", Recipe(times=range(FRAMES), time_base=Fraction(1, FPS), gop=25, b_frames=2))
    make_video(where / "short_360p.mp4", Recipe(times=range(5), time_base=Fraction(1, FPS)))
    return where


def clip(start: float = 0.0, end: float = 10.4, video_id: str = "v1") -> ShownClip:
    return ShownClip(
        id=f"{video_id}@{start}", dataset="d", video_id=video_id, task="t", start=start, end=end, steps=()
    )


def exhibits(library: Library, view: str, what: ShownClip | None):
    (item,) = clip_items([ClipQuestion(id="q", question="?", answer="!", clip=what)])
    return KIND.exhibits(item, ClipAsking(view=ClipView.parse(view)), library)


def library(folder, media=None) -> Library:
    return Library(media=media or MediaStore(), videos=Videos(folder))


def show(folder, view: str, what: ShownClip | None):
    books = library(folder)
    return next(exhibits(books, view, what)), books.media


def numbers(made, media) -> list[int]:
    images = (Image.open(io.BytesIO(media.get(piece.sha256))) for piece in made.media)
    return [number_in(np.asarray(image.convert("RGB"))) for image in images]


@pytest.mark.parametrize("count", [1, 8, 16])
def test_the_frames_of_the_published_rule_are_shown(folder, count: int) -> None:
    made, media = show(folder, f"frames:{count}", clip())
    assert numbers(made, media) == list(frame_indices(count, FRAMES))
    assert made.details["video"] == "v1.mp4"
    assert "shrunk" not in made.details


def test_one_frame_a_second_is_shown(folder) -> None:
    made, media = show(folder, "frames:fps1", clip())
    assert numbers(made, media) == list(range(0, 101, 10))
    few, media = show(folder, "frames:fps1:3", clip())
    assert numbers(few, media) == [0, 50, 100]


@pytest.mark.parametrize(("start", "end"), [(3.0, 7.0), (0.05, 2.34), (9.0, 30.0), (2.5, 2.61)])
def test_frames_lie_within_the_clip(folder, start: float, end: float) -> None:
    inside = [n for n in range(FRAMES) if start <= n / FPS < end]
    for view in ("frames:8", "frames:fps1"):
        made, media = show(folder, view, clip(start, end))
        shown = numbers(made, media)
        assert set(shown) <= set(inside)
        assert all(start <= frame.time < end for frame in made.pieces)
    made, media = show(folder, "frames:8", clip(start, end))
    assert numbers(made, media) == [inside[i] for i in frame_indices(8, len(inside))]


def test_a_video_with_fewer_frames_repeats_some(folder) -> None:
    made, media = show(folder, "frames:8", clip(0, 60, "short"))
    assert numbers(made, media) == [0, 0, 1, 2, 2, 3, 4, 4]
    assert media.encoded == 5
    assert made.details["video"] == "short_360p.mp4"


@pytest.mark.parametrize(
    ("size", "width", "height"), [("half-side", 80, 48), ("quarter-side", 40, 24), ("full", 160, 96)]
)
def test_pictures_are_jpeg_of_a_share_of_the_size(folder, size: str, width: int, height: int) -> None:
    made, media = show(folder, f"frames:2@{size}", clip())
    for frame in made.pieces:
        assert (frame.media.mime, frame.media.width, frame.media.height) == ("image/jpeg", width, height)
        image = Image.open(io.BytesIO(media.get(frame.media.sha256)))
        assert (image.format, image.size) == ("JPEG", (width, height))
    assert made.details["height"] == str(height)


def test_questions_about_one_clip_share_its_pictures(folder) -> None:
    books = library(folder)
    first, again = (next(exhibits(books, "frames:4", clip())) for _ in range(2))
    assert first == again
    assert books.media.encoded == 4
    other = next(exhibits(books, "frames:4", clip(3.0, 7.0)))
    assert {piece.number for piece in other.pieces} != {piece.number for piece in first.pieces}


def test_a_clip_behind_the_end_of_its_video_shows_nothing(folder) -> None:
    with pytest.raises(
        UserError, match=r"ends at 10\.4 s and shows nothing of the clip \(20\.0 to 30\.0 s\)"
    ):
        show(folder, "frames:8", clip(20.0, 30.0))


def test_without_a_video_nothing_is_shown(folder, tmp_path) -> None:
    with pytest.raises(UserError, match="no video"):
        show(folder, "frames:8", clip(video_id="gone"))
    with pytest.raises(UserError, match="has no video"):
        show(None, "frames:8", clip())
    with pytest.raises(UserError, match="clip of the question is not known"):
        show(folder, "frames:8", None)
    (tmp_path / "v1.mp4").write_bytes(b"no video at all")
    with pytest.raises(UserError):
        show(tmp_path, "frames:8", clip())


def test_views_without_pictures_need_no_video() -> None:
    made, _ = show(None, "steps", clip())
    assert (made.pieces, made.details) == ((), {})


def test_what_is_too_large_is_shrunk_and_told(folder) -> None:
    shown = exhibits(library(folder), "frames:16", clip())
    first = next(shown)
    much = TooMuch("compat/m", (Excess(what="images", value=len(first.pieces), limit=5),))
    made = shown.send(much)
    assert [p.time for p in made.pieces] == [
        p.time for p in next(exhibits(library(folder), "frames:5", clip())).pieces
    ]
    assert made.details["shrunk"] == "16 → 5 frames (compat: 16 images, at most 5 are taken)"
    with pytest.raises(StopIteration):  # nothing is left to leave out
        shown.send(TooMuch("compat/m", (Excess(what="images", value=5, limit=0),)))

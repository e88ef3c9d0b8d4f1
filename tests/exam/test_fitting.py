"""The rule by which views are shrunk: one step at a time, always towards what a smaller view would show."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.exam.fitting import HEIGHTS, TooLargeError, change, smaller, too_large
from proctor.exam.view import View
from proctor.llm.limits import Excess


def over(what: str, value: int, limit: int) -> Excess:
    return Excess(what=what, value=value, limit=limit)


IMAGES = over("images", 250, 100)


def test_too_many_pictures_become_as_many_as_are_taken() -> None:
    view = View.parse("frames:250@288p:uniform")
    assert smaller(view, [IMAGES], 250) == View.parse("frames:100@288p:uniform")
    assert smaller(view, [IMAGES, over("request_bytes", 9, 1)], 250) == View.parse("frames:100@288p:uniform")
    assert smaller(view, [over("images", 1, 0)], 1) is None


@pytest.mark.parametrize(
    ("height", "excess", "then"),
    [
        (765, over("request_bytes", 101, 100), 720),
        (720, over("request_bytes", 101, 100), 540),
        (720, over("request_bytes", 400, 100), 360),  # by area
        (720, over("image_bytes", 401, 100), 288),
        (720, over("image_edge", 1280, 1000), 540),  # by length
        (2160, over("image_edge", 3840, 2000), 1080),
        (720, over("request_bytes", 10_000_000, 1), 144),
        (145, over("request_bytes", 2, 1), 144),
    ],
)
def test_too_many_bytes_or_pixels_are_a_lower_height(height: int, excess: Excess, then: int) -> None:
    for kind in ("frames", "video"):
        view = View(kind=kind, height=height)  # type: ignore[arg-type]
        assert smaller(view, [excess], 50) == View(kind=kind, height=then)  # type: ignore[arg-type]
    low = over("image_bytes", 11, 10)
    assert smaller(View(height=height), [low, excess, low], 50) == View(height=then)


def test_below_the_lowest_height_frames_are_left_out() -> None:
    view = View.parse("frames:50@144p")
    assert smaller(view, [over("request_bytes", 200, 100)], 40) == View.parse("frames:20@144p")
    assert smaller(view, [over("request_bytes", 101, 100)], 3) == View.parse("frames:2@144p")
    assert smaller(view, [over("request_bytes", 101, 100)], 1) is None
    assert smaller(view, [over("image_bytes", 101, 100)], 40) is None
    assert smaller(View.parse("video:144p"), [over("request_bytes", 200, 100)], 0) is None


def test_too_many_tokens_are_fewer_frames() -> None:
    view = View.parse("frames:50@720p")
    assert smaller(view, [over("context", 4_000, 1_000)], 48) == View.parse("frames:12@720p")
    assert smaller(View.parse("video:720p"), [over("context", 4_000, 1_000)], 0) is None


def test_a_kind_of_media_that_is_not_taken_cannot_be_shrunk() -> None:
    assert smaller(View(kind="video"), [over("mime", 1, 0), over("request_bytes", 2, 1)], 0) is None


EXCESSES = st.builds(
    lambda what, limit, more: over(what, limit + more, limit),
    st.sampled_from(["images", "image_bytes", "request_bytes", "image_edge", "context"]),
    st.integers(1, 10**8),
    st.integers(1, 10**8),
)


@given(
    st.sampled_from(["frames", "video", "captions"]), st.integers(1, 10_000), st.integers(16, 4_320),
    st.lists(EXCESSES, min_size=1, max_size=5), st.data(),
)  # fmt: skip
def test_every_step_is_smaller_and_changes_nothing_else(
    kind: str, frames: int, height: int, excess: list[Excess], data: st.DataObject
) -> None:
    captioner = "a/b" if kind == "captions" else ""
    view = View(kind=kind, frames=frames, height=height, sampling="fps", captioner=captioner)  # type: ignore[arg-type]
    shown = 0 if kind == "video" else data.draw(st.integers(1, frames))
    after = smaller(view, excess, shown)
    if after is None:
        return
    assert (after.frames < view.frames or kind == "video") or after.height < view.height
    assert after.frames <= view.frames
    assert after.height == view.height or after.height in HEIGHTS
    assert (after.kind, after.sampling, after.captioner) == (view.kind, view.sampling, view.captioner)
    assert smaller(view, excess[::-1], shown) == after


def test_what_was_shrunk_is_told() -> None:
    before = View.parse("frames:250@288p")
    assert change(before, View.parse("frames:100@288p"), (250, 100), "openai", [IMAGES]) == (
        "250 → 100 frames (openai: 250 images, at most 100 are taken)"
    )
    heavy = over("request_bytes", 30_000_000, 20_971_520)
    after = View.parse("frames:100@240p")
    assert change(
        before, after, (250, 84), "google", [IMAGES, heavy, over("request_bytes", 25_000_000, 2)]
    ) == (
        "250 → 84 frames, 288p → 240p (google: 250 images, at most 100 are taken; "
        "30,000,000 bytes, at most 20,971,520 are taken)"
    )


def test_what_cannot_be_shrunk_is_of_the_item_and_what_must_not_be_of_the_run() -> None:
    alone = too_large("openai", [IMAGES], where="a", shrink=True)
    assert type(alone) is UserError
    assert "nothing is left to leave out" in alone.message
    whole = too_large("openai", [IMAGES], where="a", shrink=False)
    assert isinstance(whole, TooLargeError)
    assert "--no-shrink" in str(whole)

"""Views of clips: which frames the published rule takes, and short names of views."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.exam.clip_view import ClipView, frame_indices


@pytest.mark.shared
def test_frames_expected(shared_expected) -> None:
    wanted = shared_expected("smmqg-instructionbench")["frames"]
    assert set(wanted) == {"formula", "N100_n8", "N5_n8", "fps1_duration_10.4s_30fps"}
    assert list(frame_indices(8, 100)) == wanted["N100_n8"]
    assert list(frame_indices(8, 5)) == wanted["N5_n8"]


def test_frames_in_the_middle_of_equal_parts() -> None:
    assert frame_indices(8, 100) == (6, 18, 31, 43, 56, 68, 81, 93)
    assert frame_indices(8, 5) == (0, 0, 1, 2, 2, 3, 4, 4)
    assert frame_indices(1, 3) == (1,)
    assert frame_indices(16, 16) == tuple(range(16))


@given(st.integers(1, 64), st.integers(1, 10**6))
def test_frames_rise_and_are_there(count: int, total: int) -> None:
    chosen = frame_indices(count, total)
    assert len(chosen) == count
    assert list(chosen) == sorted(chosen)
    assert 0 <= chosen[0] <= chosen[-1] < total
    # the same from both ends, but for the middle of a frame
    assert all(a + b - (total - 1) in (0, 1) for a, b in zip(chosen, reversed(chosen), strict=True))


@pytest.mark.parametrize(("count", "total"), [(0, 5), (5, 0), (-1, 3)])
def test_no_frames(count: int, total: int) -> None:
    with pytest.raises(UserError):
        frame_indices(count, total)


@pytest.mark.parametrize(
    ("text", "view", "label"),
    [
        ("frames:8", ClipView(), "frames-8f-half-side"),
        ("frames:16@quarter-side", ClipView(frames=16, size="quarter-side"), "frames-16f-quarter-side"),
        ("frames:fps1", ClipView(frames=10_000, sampling="fps1"), "frames-fps1-half-side"),
        ("frames:fps1:64@full", ClipView(frames=64, sampling="fps1", size="full"), "frames-fps1-64-full"),
        ("question", ClipView(kind="question"), "question"),
        (" steps ", ClipView(kind="steps"), "steps"),
    ],
)
def test_views_have_short_names(text: str, view: ClipView, label: str) -> None:
    assert ClipView.parse(text) == view
    assert ClipView.parse(view.spec) == view
    assert view.label == label
    assert msgspec.json.decode(msgspec.json.encode(view), type=ClipView) == view


@pytest.mark.parametrize(
    "text",
    [
        "",
        "video",
        "frames:0",
        "frames:8:16",
        "frames:8@big",
        "steps:8",
        "question@half-side",
        "frames:fps1:uniform",
        "frames:-1",
    ],
)
def test_texts_that_are_no_view(text: str) -> None:
    with pytest.raises(UserError):
        ClipView.parse(text)


@pytest.mark.parametrize(
    "options", [{"kind": "smell"}, {"size": "tiny"}, {"sampling": "all"}, {"frames": 10_001}]
)
def test_views_that_make_no_sense(options: dict[str, object]) -> None:
    with pytest.raises(UserError):
        ClipView(**options)  # type: ignore[arg-type]


def test_what_a_view_does_not_have_does_not_tell_views_apart() -> None:
    assert ClipView(kind="steps", frames=16, size="full") == ClipView(kind="steps")
    assert ClipView(kind="steps").details == {"view": "steps"}
    assert ClipView(frames=16).details == {
        "view": "frames",
        "frames": "16",
        "sampling": "uniform",
        "size": "half-side",
    }
    assert "frames" not in ClipView.parse("frames:fps1").details

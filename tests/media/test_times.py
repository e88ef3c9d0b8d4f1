"""Times of all frames, against the frames that are decoded there."""

from fractions import Fraction

import pytest

from proctor.errors import UserError
from proctor.media.frames import extract_frames
from proctor.media.probe import presentation_times


@pytest.mark.parametrize(
    ("name", "recipe"),
    [
        ("a.mp4", {}),
        ("b.mp4", {"b_frames": 2, "gop": 12}),
        ("c.mkv", {"b_frames": 2}),
        ("d.mp4", {"times": [0, 1, 2, 9, 10, 30, 31, 32, 60], "time_base": Fraction(1, 30)}),
        ("h.mp4", {"times": [0, 1, 2, 9, 10, 30, 31, 32, 60, 90, 91, 120, 150], "b_frames": 2, "gop": 6}),
        ("e.mp4", {"times": range(0, 40 * 1001, 1001), "time_base": Fraction(1, 30_000)}),
        ("f.avi", {"codec": "mpeg4"}),
    ],
)
def test_a_frame_is_on_screen_from_its_time_on(maker, video, name, recipe) -> None:
    path = video(name, **recipe)
    times, end = presentation_times(path)
    count = len(recipe.get("times", range(60)))
    assert len(times) == count
    assert list(times) == sorted(times)
    assert end >= times[-1]
    between = [(a + b) / 2 for a, b in zip(times, [*times[1:], times[-1]], strict=True)]
    found = extract_frames(path, between, height=None)
    assert [maker.number_in(frame.image) for frame in found] == list(range(count))


def test_what_is_no_video(tmp_path) -> None:
    with pytest.raises(UserError):
        presentation_times(tmp_path / "gone.mp4")
    (tmp_path / "text.mp4").write_text("hello")
    with pytest.raises(UserError):
        presentation_times(tmp_path / "text.mp4")

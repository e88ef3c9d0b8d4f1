"""A constant frame rate from the start on, and no sound beyond the pictures; else the command that helps."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from tests.media.make_video import Recipe, make_video

from proctor.errors import UserError
from proctor.media.steady import check_steady


@pytest.mark.parametrize(
    ("name", "recipe", "fps"),
    [
        ("a.mp4", Recipe(times=range(90), b_frames=2), Fraction(30)),
        (
            "b.mp4",
            Recipe(times=range(0, 90 * 1001, 1001), time_base=Fraction(1, 30_000)),
            Fraction(30_000, 1001),
        ),
        (
            "c.mkv",
            Recipe(times=range(0, 90 * 1001, 1001), time_base=Fraction(1, 30_000)),
            Fraction(30_000, 1001),
        ),
        ("d.mp4", Recipe(times=range(50), time_base=Fraction(1, 25), audio_seconds=2.1), Fraction(25)),
        ("e.avi", Recipe(times=range(60), codec="mpeg4"), Fraction(30)),
    ],
)
def test_a_steady_video_says_its_exact_rate(tmp_path: Path, name: str, recipe: Recipe, fps: Fraction) -> None:
    found = check_steady(make_video(tmp_path / name, recipe))
    assert (found.fps, found.frames) == (fps, len(recipe.times))
    assert found.duration == found.frames / fps


@pytest.mark.parametrize(
    ("recipe", "seen", "command"),
    [
        (Recipe(times=[0, 1, 2, 5, 6, 7, 8, 12, 13]), "varies", "-vf fps="),
        (Recipe(times=[*range(45), *range(46, 90)]), "varies", "-vf fps=30:start_time=0"),
        (Recipe(times=range(30), audio_seconds=3.0), "sound ends at 3", "-c copy -t 1.000"),
        (Recipe(times=range(100), time_base=Fraction(1, 240)), "240 frames", "-vf fps=60"),
    ],
)
def test_what_does_not_suit_is_refused_with_the_command_that_helps(
    tmp_path: Path, recipe: Recipe, seen: str, command: str
) -> None:
    video = make_video(tmp_path / "it's mine.mp4", recipe)
    with pytest.raises(UserError, match=seen) as error:
        check_steady(video)
    assert command in (error.value.hint or "")
    assert "it'\"'\"'s mine-steady.mp4'" in (error.value.hint or "")  # ready to be pasted

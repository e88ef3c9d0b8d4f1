from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.learn.features.films import plain_colour, write_film

from proctor.errors import UserError
from proctor.learn.features import windows
from proctor.learn.features.windows import (
    AUDIO_RATE,
    Film,
    Window,
    iter_images,
    iter_sounds,
    look,
    schedule,
    starts_of,
)


def test_a_row_for_every_second_below_the_duration_but_not_for_a_rest_too_short_to_see() -> None:
    assert starts_of(3.0).tolist() == [0, 1, 2]
    assert starts_of(3.03).tolist() == [0, 1, 2]
    assert starts_of(3.05).tolist() == [0, 1, 2, 3]
    assert starts_of(0.01).tolist() == [0]


def test_frames_are_the_middles_of_equal_parts_and_the_last_windows_are_shorter() -> None:
    plan = schedule(2.5, [Window(1.0, 2)])
    moments = np.array(plan.times)[plan.members[0]]
    assert moments.tolist() == [[0.25, 0.75], [1.25, 1.75], [2.125, 2.375]]


def test_moments_that_windows_share_are_decoded_once() -> None:
    plan = schedule(4.0, [Window(1.0, 4), Window(2.0, 8)])
    assert len(plan.times) == 16 + 8  # the last window of 2 s lasts 1 s, so that its frames lie closer
    assert plan.times == tuple(sorted(plan.times))
    assert np.array_equal(plan.members[1][0][:4], plan.members[0][0])


def test_each_window_holds_the_frames_of_its_own_seconds(tmp_path: Path) -> None:
    path = write_film(tmp_path / "f.mp4", lambda n: np.full((96, 160, 3), 8 * n, np.uint8), 28)
    found = {
        (kind, row): [round(float(image.mean()) / 8) for image in images]
        for kind, row, images in iter_images(path, schedule(3.5, [Window(1.0, 4), Window(3.0, 3)]), 96)
    }
    assert [found[0, row] for row in range(4)] == [
        [1, 3, 5, 7],
        [9, 11, 13, 15],
        [17, 19, 21, 23],
        [24, 25, 26, 27],
    ]
    assert [found[1, row] for row in range(4)] == [[4, 12, 20], [11, 18, 24], [18, 22, 26], [24, 26, 27]]


def test_sound_is_cut_into_the_same_windows_and_what_is_missing_is_silence(tmp_path: Path) -> None:
    path = write_film(tmp_path / "f.mp4", plain_colour(9, 9, 9), 20, tone=440.0)
    seen = look(path)
    assert (seen.seconds, seen.sound, seen.width, seen.height) == (2.5, True, 160, 96)
    heard = {(kind, row): samples for kind, row, samples in iter_sounds(seen, [Window(1.0), Window(2.0)])}
    assert {key: len(s) / AUDIO_RATE for key, s in heard.items()} == {
        (0, 0): 1, (0, 1): 1, (0, 2): 0.5, (1, 0): 2, (1, 1): 1.5, (1, 2): 0.5,
    }  # fmt: skip
    assert np.array_equal(heard[1, 1][:AUDIO_RATE], heard[0, 1])
    middle = heard[0, 1]
    assert np.abs(np.fft.rfft(middle)).argmax() == 440
    mute = Film(path, 2.5, 160, 96, sound=False)
    silent = [samples for _, _, samples in iter_sounds(mute, [Window(1.0)])]
    assert [len(s) / AUDIO_RATE for s in silent] == [1, 1, 0.5]
    assert not any(s.any() for s in silent)


def test_a_file_that_lasts_no_time_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_film(tmp_path / "f.mp4", plain_colour(9, 9, 9), 8)
    monkeypatch.setattr(windows, "presentation_times", lambda *_, **__: ((), 0.0))
    import msgspec

    real = windows.probe
    monkeypatch.setattr(windows, "probe", lambda p, **k: msgspec.structs.replace(real(p, **k), duration=None))
    with pytest.raises(UserError, match=r"lasts 0\.0 s"):
        look(path)

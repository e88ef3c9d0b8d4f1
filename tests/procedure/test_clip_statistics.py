"""Statistics of clips: by hand, and against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.procedure.clip import Clip, ClipSegment
from proctor.procedure.clip_statistics import BIN_SECONDS, ClipStatistics, ClipTally, Spread
from proctor.procedure.recording import Segment


def clip_statistics(clips: list[Clip]) -> ClipStatistics:
    tally = ClipTally()
    for one in clips:
        tally.add(one)
    return tally.result()


def clip(recording: str, start: float, end: float, names: str = "AB") -> Clip:
    segments = tuple(ClipSegment(Segment(n, n, 0.0, 1.0), i, n) for i, n in enumerate(names))
    return Clip(f"{recording}_{start}", recording, start, end, segments)


def test_no_clips_have_no_mean():
    found = clip_statistics([])
    assert (found.clips, found.videos, found.total_seconds, found.lengths) == (0, 0, 0.0, ())
    assert found.seconds is None
    assert found.steps is None
    assert found.categories is None


def test_by_hand():
    found = clip_statistics(
        [
            clip("a", 0, 10, "AAB"),
            clip("a", 10, 50, "ABCDE"),
            clip("b", 100, 160, "A"),
            clip("b", 0, 30, "ABC"),
        ]
    )
    assert (found.clips, found.videos, found.total_seconds) == (4, 2, 140.0)
    assert found.seconds == Spread(
        mean=35.0, sd=pytest.approx(18.0278, abs=1e-4), least=10.0, q1=25.0, median=35.0, q3=45.0, most=60.0
    )
    assert found.steps is not None
    assert (found.steps.mean, found.steps.median, found.steps.most) == (3.0, 3.0, 5.0)
    assert found.categories is not None
    assert (found.categories.mean, found.categories.least) == (2.75, 1.0)
    assert found.lengths == ((0.0, 1), (30.0, 2), (60.0, 1))


def test_one_clip_is_its_own_quartiles():
    found = clip_statistics([clip("a", 5, 12)])
    assert found.seconds == Spread(7.0, 0.0, 7.0, 7.0, 7.0, 7.0, 7.0)


@given(st.lists(st.floats(0.001, 5000), min_size=1, max_size=60))
def test_as_numpy_has_it(lengths: list[float]):
    tally = ClipTally()
    for number, seconds in enumerate(lengths):
        tally.add(clip(str(number % 7), 0.0, seconds))
    found = tally.result()
    assert found.seconds is not None
    expected = [
        np.mean(lengths),
        np.std(lengths),
        min(lengths),
        *np.quantile(lengths, [0.25, 0.5, 0.75]),
        max(lengths),
    ]
    spread = found.seconds
    seen = [spread.mean, spread.sd, spread.least, spread.q1, spread.median, spread.q3, spread.most]
    assert seen == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert sum(n for _, n in found.lengths) == len(lengths)
    assert all(sum(a <= s < a + BIN_SECONDS for s in lengths) == n for a, n in found.lengths)
    assert found.videos == min(7, len(lengths))

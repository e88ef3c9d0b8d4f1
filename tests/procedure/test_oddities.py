"""What is odd about a recording's segments is counted, whatever else is wrong with them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.procedure.clip_statistics import Oddities, find_oddities
from proctor.procedure.recording import Recording, Segment


def odd(*spans: tuple[float | None, float | None], duration: float | None = None) -> Oddities:
    segments = tuple(Segment(str(i), "do", start, end) for i, (start, end) in enumerate(spans))
    return find_oddities(Recording("r", "a", "A", segments, duration))


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([], Oddities()),
        ([(0, 5), (5, 9)], Oddities()),
        ([(0, 5), (4, 9)], Oddities(overlapping=1)),
        ([(5, 9), (0, 5)], Oddities(unsorted=1, overlapping=1)),
        ([(0, 9), (2, 5)], Oddities(overlapping=1, nested=1)),
        ([(0, 9), (2, 5), (5, 9)], Oddities(overlapping=1, nested=2)),
        ([(2, 5), (0, 9)], Oddities(unsorted=1, overlapping=1, nested=1)),
        ([(0, 9), (0, 9)], Oddities(overlapping=1)),  # the same twice: neither is longer
        ([(0, 9), (0, 5)], Oddities(overlapping=1, nested=1)),
        ([(0, 9), (3, 12), (4, 10)], Oddities(overlapping=2, nested=1)),
        ([(3, 3)], Oddities(zero_length=1)),
        ([(0, 5), (3, 3)], Oddities(overlapping=1, nested=1, zero_length=1)),
        ([(0, 5), (None, None), (math.nan, 3), (4, 2), (-1, 3)], Oddities()),
    ],
)
def test_counts(spans: list[tuple[float, float]], expected: Oddities):
    assert odd(*spans) == expected


def test_beyond_the_video_needs_its_length():
    assert odd((0, 5), (5, 10.5)).beyond_video == 0
    assert odd((0, 5), (5, 10.5), duration=10.0).beyond_video == 1
    with pytest.raises(UserError, match="the duration is"):
        odd((0, 5), duration=math.nan)


spans = st.tuples(st.integers(0, 20), st.integers(0, 20)).map(lambda s: (s[0], s[0] + s[1]))


@given(st.lists(spans, max_size=12))
def test_nested_is_what_comparing_all_pairs_finds(found: list[tuple[int, int]]):
    nested = sum(any(c <= a and b <= d and d - c > b - a for c, d in found) for a, b in found)
    assert odd(*found).nested == nested

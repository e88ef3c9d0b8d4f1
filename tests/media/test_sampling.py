from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.media.sampling import at_steps, by_fps, count_back, published_times, thin, uniform

starts = st.floats(0, 1e4, allow_nan=False)
lengths = st.floats(0, 1e4, allow_nan=False)


def is_inside(times: list[float], start: float, end: float) -> bool:
    return all(start <= t < end for t in times) and all(a < b for a, b in pairwise(times))


def test_uniform_takes_the_middles() -> None:
    assert uniform(4, 8.0) == [1.0, 3.0, 5.0, 7.0]
    assert uniform(1, 10.0, start=4.0) == [7.0]


def test_uniform_of_an_empty_span_is_empty() -> None:
    assert uniform(5, 3.0, start=3.0) == []


@given(st.integers(1, 500), starts, st.floats(0.01, 1e4))
def test_uniform_is_inside_increasing_and_complete(count: int, start: float, length: float) -> None:
    times = uniform(count, start + length, start=start)
    assert len(times) == count
    assert is_inside(times, start, start + length)


@pytest.mark.parametrize("count", [0, -1])
def test_uniform_needs_a_count(count: int) -> None:
    with pytest.raises(UserError, match="at least 1"):
        uniform(count, 1.0)


@pytest.mark.parametrize(
    ("start", "end", "message"), [(2.0, 1.0, "ends before"), (0.0, math.inf, "not finite")]
)
def test_bad_spans_are_refused(start: float, end: float, message: str) -> None:
    for sample in (lambda: uniform(1, end, start=start), lambda: by_fps(1, end, start=start)):
        with pytest.raises(UserError, match=message):
            sample()


def test_by_fps_leaves_out_the_end() -> None:
    assert by_fps(1, 3.0) == [0.0, 1.0, 2.0]
    assert by_fps(1, 3.2) == [0.0, 1.0, 2.0, 3.0]
    assert by_fps(2, 11.0, start=10.0) == [10.0, 10.5]


@given(st.floats(0.05, 60), starts, st.floats(0, 60))
def test_by_fps_is_inside_and_even(fps: float, start: float, length: float) -> None:
    times = by_fps(fps, start + length, start=start)
    assert is_inside(times, start, start + length)
    assert abs(len(times) - length * fps) <= 1.5
    if start + length > start:
        assert times[0] == start


@pytest.mark.parametrize("fps", [0, -1, math.nan, math.inf])
def test_by_fps_needs_a_rate(fps: float) -> None:
    with pytest.raises(UserError, match="not possible"):
        by_fps(fps, 1.0)


def test_count_back_keeps_the_last() -> None:
    assert count_back(list(range(10)), 10) == list(range(10))
    assert count_back(list(range(11)), 10) == [0, 2, 4, 6, 8, 10]
    assert count_back(list(range(12)), 10) == [1, 3, 5, 7, 9, 11]
    assert count_back(list(range(7)), 1) == [6]
    assert count_back([], 5) == []


@given(st.integers(1, 3000), st.integers(1, 300))
def test_count_back_follows_the_published_rule(n: int, cap: int) -> None:
    kept = count_back(range(n), cap)
    stride = 1 if n <= cap else -(-n // cap)
    assert kept == [i for i in range(n) if (n - 1 - i) % stride == 0]
    assert kept[-1] == n - 1
    assert 1 <= len(kept) <= cap


def test_count_back_needs_a_cap() -> None:
    with pytest.raises(UserError, match="nothing to look at"):
        count_back([1], 0)


@given(st.floats(0.1, 3000), st.integers(1, 250))
def test_published_times_end_within_the_last_second(end: float, cap: int) -> None:
    times = published_times(end, cap)
    assert is_inside(times, 0.0, end)
    assert len(times) <= cap
    assert end - times[-1] <= 1.0


# -- at steps ------------------------------------------------------------------------------------------------------


@st.composite
def spans(draw: st.DrawFn) -> list[tuple[float, float]]:
    return [
        (start, start + draw(st.floats(0, 50)))
        for start in draw(st.lists(st.floats(0, 500), max_size=12, unique=True))
    ]


def test_middles_come_first_then_ends_then_beginnings() -> None:
    steps = [(0.0, 4.0), (6.0, 10.0)]
    assert at_steps(steps, 2, 20.0) == [2.0, 8.0]
    assert at_steps(steps, 4, 20.0) == [2.0, 3.96, 8.0, 9.96]
    assert at_steps(steps, 6, 20.0) == at_steps(steps, 60, 20.0) == [0.0, 2.0, 3.96, 6.0, 8.0, 9.96]


def test_more_steps_than_frames_are_thinned_and_the_last_one_stays() -> None:
    steps = [(10.0 * n, 10.0 * n + 4) for n in range(9)]
    assert at_steps(steps, 1, 100.0) == [82.0]
    assert at_steps(steps, 3, 100.0) == [2.0, 42.0, 82.0]
    assert at_steps(steps, 10, 100.0) == [*at_steps(steps, 9, 100.0), 83.96]


def test_a_step_is_cut_at_the_end_and_later_ones_are_left_out() -> None:
    assert at_steps([(0.0, 10.0), (5.0, 8.0), (6.0, 7.0)], 3, 6.0) == [3.0, 5.5, 5.96]
    assert at_steps([(6.0, 7.0)], 3, 6.0) == []
    assert at_steps([], 3, 6.0) == []
    assert at_steps([(2.0, 2.0)], 3, 6.0) == [2.0]


@given(spans(), st.integers(1, 40), st.floats(0.1, 600))
def test_moments_of_steps_are_few_increasing_and_inside(
    steps: list[tuple[float, float]], cap: int, end: float
) -> None:
    times = at_steps(steps, cap, end)
    assert is_inside(times, 0.0, end)
    assert len(times) <= cap
    assert all(any(a <= t <= b for a, b in steps) for t in times)
    started = sum(start < end for start, _ in steps)
    assert len(times) >= min(cap, started) or len(set(times)) < started  # two steps may have one middle
    assert at_steps(reversed(steps), cap, end) == times


def test_steps_that_are_none_are_refused() -> None:
    for steps, message in (([(3.0, 2.0)], "ends before"), ([(0.0, math.inf)], "not finite")):
        with pytest.raises(UserError, match=message):
            at_steps(steps, 3, 10.0)
    with pytest.raises(UserError, match="at least 1"):
        at_steps([(0.0, 1.0)], 0, 10.0)


@given(st.lists(st.integers(), max_size=60, unique=True), st.integers(1, 80))
def test_thinning_keeps_the_order_and_the_last(things: list[int], most: int) -> None:
    kept = thin(things, most)
    assert len(kept) == min(most, len(things))
    assert kept == [x for x in things if x in set(kept)]
    assert kept[-1:] == things[-1:]
    if most > 1:
        assert kept[:1] == things[:1]

"""Steps of one recording from cells and frames: which are dropped, which are told, and their order."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.datasets.annotation_rows import seconds_from
from proctor.datasets.dataset import Log
from proctor.datasets.step_rows import MAX_SECONDS, STEP_RULES, StepRows
from proctor.procedure.recording import Mistake


def steps_of(
    *times: tuple[object, object], fps: float | None = None, duration: float | None = None
) -> StepRows:
    found = StepRows("r", Log(), duration)
    for number, pair in enumerate(times, start=1):
        start, end = (seconds_from(time, fps) for time in pair)
        found.add(str(number), f"s{number}", f"step {number}", start, end)
    return found


def told(found: StepRows) -> list[tuple[str, str]]:
    return [(f.rule, f.where.removeprefix("r: step ")) for f in found.log.findings]


@pytest.mark.parametrize(
    ("times", "reason"),
    [
        ((None, 2), "bad-time"),
        ((1, "x"), "bad-time"),
        ((True, 2), "bad-time"),
        ((math.nan, 2), "bad-time"),
        ((1, math.inf), "bad-time"),
        (("nan", "2"), "bad-time"),
        (("1", "1e999"), "bad-time"),
        (("٣", "4"), "bad-time"),
        ((1, 10**400), "bad-time"),
        ((1, MAX_SECONDS + 1), "bad-time"),
        (([1], 2), "bad-time"),
        ((-1, 2), "negative-time"),
        (("-0.001", "2"), "negative-time"),
        ((-2, -1), "negative-time"),
        ((3, 2.999), "swapped-times"),
        (("3", "2"), "swapped-times"),
    ],
)
def test_times_that_make_no_sense_are_dropped_with_what_was_seen(times: tuple[object, object], reason: str):
    found = steps_of((5, 6), times)
    assert [(d.id, d.reason) for d in found.log.dropped] == [("r: step 2", reason)]
    assert found.log.dropped[0].detail.startswith("from ")
    assert [s.step_id for s in found.segments()] == ["s1"]
    assert reason in STEP_RULES


def test_numbers_and_cells_become_seconds():
    found = steps_of((0, 1), ("1.5", "2"), (-0.0, MAX_SECONDS))
    assert [(s.start, s.end) for s in found.segments()] == [(0.0, 1.0), (0.0, MAX_SECONDS), (1.5, 2.0)]
    assert all(math.copysign(1, s.start or 0.0) == 1 for s in found.segments())


def test_frames_become_seconds_and_are_whole():
    found = steps_of(("30", "45"), (60.0, 61), ("1.5", "9"), fps=30.0)
    assert [(s.start, s.end) for s in found.segments()] == [(1.0, 1.5), (2.0, 61 / 30)]
    assert [d.id for d in found.log.dropped] == ["r: step 3"]
    assert "frame 1.5" in found.log.dropped[0].detail


def test_one_frame_a_second_is_still_whole_frames():
    assert [d.reason for d in steps_of(("1.5", "9"), fps=1.0).log.dropped] == ["bad-time"]


@pytest.mark.parametrize("frame", ["nan", "inf", math.inf, "-inf"])
def test_frames_that_are_not_finite_are_none(frame: object):
    assert [d.reason for d in steps_of((frame, "9"), fps=30.0).log.dropped] == ["bad-time"]


def test_steps_are_sorted_and_that_is_told():
    found = steps_of((5, 6), (1, 3), (3, 4))
    assert [s.step_id for s in found.segments()] == ["s2", "s3", "s1"]
    assert ("unsorted", "2") in told(found)


def test_sorted_steps_that_touch_are_nothing_to_tell():
    found = steps_of((0, 1), (1, 2), (2.5, 3), duration=3.0)
    assert len(found.segments()) == 3
    assert found.log.findings == []
    assert found.log.counts == {"recordings": 1, "steps": 3}


def test_a_long_step_overlaps_all_that_start_within_it():
    found = steps_of((0, 10), (1, 2), (3, 4), (9, 11), (10.5, 12))
    found.segments()
    assert told(found) == [
        ("overlap", "2"),
        ("overlap", "5"),
        ("overlap-earlier", "3"),
        ("overlap-earlier", "4"),
    ]
    assert found.log.findings[2].seen == "from 3 s, before step 1 ends at 10 s"


def test_an_overlap_is_told_once():
    found = steps_of((0, 10), (1, 5), (4, 6))
    found.segments()
    assert told(found) == [("overlap", "2"), ("overlap", "3")]


def test_odd_steps_are_kept_and_told():
    found = steps_of((0, 9), (9, 10.5), (10.5, 10.5), duration=10.0)
    assert [s.end for s in found.segments()] == [9.0, 10.5, 10.5]
    assert told(found) == [("beyond-video", "2"), ("zero-length", "3"), ("beyond-video", "3")]


def test_a_step_listed_twice_is_kept_twice_and_told():
    found = StepRows("r", Log())
    for place in "12":
        found.add(place, "s", "step", 1, 2)
    assert len(found.segments()) == 2
    assert ("repeated-step", "2") in told(found)


def test_a_recording_without_steps_is_dropped():
    found = steps_of((2, 1))
    assert found.segments() == ()
    assert [(d.id, d.reason) for d in found.log.dropped] == [
        ("r: step 1", "swapped-times"),
        ("r", "no-steps"),
    ]
    assert found.log.counts == {}


def test_mistakes_stay_with_their_step():
    found = StepRows("r", Log())
    assert found.add("1", "s", "step", 0, 1, mistakes=(Mistake("order", "too early"),))
    assert found.segments()[0].mistakes == (Mistake("order", "too early"),)


_TIMES = st.floats() | st.integers(-5, 20) | st.sampled_from([None, "3", "x", True])


@given(st.lists(st.tuples(_TIMES, _TIMES), max_size=12))
def test_each_step_is_kept_or_dropped_and_no_overlap_is_silent(times: list[tuple[object, object]]):
    found = steps_of(*times, duration=10.0)
    left_out = len(found.log.dropped)
    kept = found.segments()
    assert len(kept) + left_out == len(times)
    keys = [(s.start or 0.0, s.end or 0.0) for s in kept]
    assert all(0 <= start <= end <= MAX_SECONDS for start, end in keys)
    assert all(a <= b for a, b in pairwise(keys))
    rules = [rule for rule, _ in told(found)]
    assert rules.count("zero-length") == sum(a == b for a, b in keys)
    assert rules.count("beyond-video") == sum(end > 10.0 for _, end in keys)
    overlapping = any(after[0] < before[1] for before, after in pairwise(keys))
    assert not overlapping or {"overlap", "overlap-earlier"} & set(rules)
    assert set(rules) <= set(STEP_RULES)

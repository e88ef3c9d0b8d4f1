"""From annotated steps to segments: any input gives valid segments in order, and all that is not among them is told."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.datasets.dataset import Corrections, Log
from proctor.datasets.step_rows import (
    MAX_SECONDS,
    REASONS,
    RULES,
    StepRows,
    accept_id,
    clean_text,
    common_measures,
    describe,
    finite_number,
    read_duration,
    released_split,
    text_attributes,
)
from proctor.procedure.recording import Recording, Segment

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
any_time = st.floats(-2, 50) | st.integers(-2, 50) | anything


@given(
    st.lists(
        st.tuples(st.sampled_from(["0", "1", "a"]), st.just("do it") | anything, any_time, any_time),
        max_size=8,
    )
)
def test_every_row_is_a_segment_or_a_drop(rows: list[tuple[str, object, object, object]]):
    log = Log()
    steps = StepRows("v", log, 40.0, distinct=True)
    taken = [steps.add(str(n), id_, text, a, b) for n, (id_, text, a, b) in enumerate(rows, 1)]
    kept = steps.finish()
    assert len(kept) + len(log.dropped) == len(rows)
    assert sum(s is not None for s in taken) == len(kept)
    assert {d.reason for d in log.dropped} <= set(REASONS)
    assert {f.rule for f in log.findings} <= set(RULES)
    times = [(s.start, s.end) for s in kept]
    assert times == sorted(times)
    assert all(0 <= a <= b <= MAX_SECONDS for a, b in times)
    assert all(s.text == s.text.strip() != "" for s in kept)
    for told in (*[d.detail for d in log.dropped], *[f.seen for f in log.findings]):
        assert told.encode()
        assert len(told) < 500


@given(anything)
def test_values_are_shown_shortly_and_printably(value: object):
    shown = describe(value)
    assert shown.isprintable()
    assert len(shown) < 1_000
    assert shown.encode()


@pytest.mark.parametrize(
    "value", [10**400, "x" * 10**6, [[1] * 10**6] * 2, {"a": 1}, [], None, -(10**30), "\ud800"]
)
def test_monsters_are_shown_shortly(value: object):
    assert 0 < len(describe(value)) < 200


@given(anything)
def test_numbers_are_finite_floats_or_nothing(value: object):
    number = finite_number(value)
    assert number is None or (isinstance(number, float) and math.isfinite(number))
    if isinstance(value, bool) or not isinstance(value, int | float):
        assert number is None


def test_huge_whole_numbers_are_none():
    assert finite_number(10**400) is None
    assert finite_number(10**300) == 1e300


@given(anything)
def test_texts_can_be_written(value: object):
    assert clean_text(value).encode() == clean_text(value).encode("utf-8")
    if not isinstance(value, str):
        assert clean_text(value) == ""


def test_deep_lists_are_shown():
    deep: list[object] = []
    for _ in range(50_000):
        deep = [deep]
    assert describe(deep) == "a list of 1"
    assert describe([1, "x"]) == "a list of 2: 1, 'x'"


def test_minus_zero_is_zero():
    segment = StepRows("v", Log()).add("1", "a", "do it", -0.0, 0)
    assert segment is not None
    assert math.copysign(1, segment.start or 0.0) == 1


def test_a_level_puts_its_name_before_its_rules():
    log = Log()
    steps = StepRows("v", log, 4.0, level="substep")
    steps.add("1.1", "a", "do it", 5, 5)
    assert [(f.rule, f.where) for f in log.findings] == [
        ("substep-zero-length", "v: step 1.1"),
        ("substep-beyond-video", "v: step 1.1"),
    ]


def test_neighbours_are_those_that_are_kept():
    log = Log()
    steps = StepRows("v", log)
    for number, (start, end) in enumerate([(0, 10), (50, 5), (5, 20), (20, 30)], 1):
        steps.add(str(number), "a", "do it", start, end)
    assert [(f.rule, f.where, f.seen) for f in log.findings] == [
        ("overlap", "v: step 3", "from 5 s, before step 1 ends at 10 s")
    ]


def test_equal_steps_stay_in_their_order():
    steps = StepRows("v", Log())
    for name in "cab":
        steps.add("1", name, "do it", 1, 2)
    assert [s.step_id for s in steps.finish()] == ["c", "a", "b"]


def test_ids_are_taken_once():
    seen: set[str] = set()
    log = Log()
    assert accept_id("v", seen, log, "1") == "v"
    assert accept_id("v", seen, log, "2") is None
    for bad in (None, 7, "", ".", "a/b", "a\\b", "\t", "v ", "x" * 201, "\ud800", ["v"]):
        assert accept_id(bad, seen, log, "3") is None
    assert [d.reason for d in log.dropped] == ["duplicate-id"] + ["bad-id"] * 11
    assert accept_id("x" * 200, seen, log, "4")


@pytest.mark.parametrize("value", [None, 0, -1, True, "60", float("nan"), float("inf"), 10**400, []])
def test_lengths_that_are_none(value: object):
    log = Log()
    assert read_duration(value, "v", log) is None
    assert [f.rule for f in log.findings] == ["odd-duration"]


def test_attributes_are_plain_texts():
    log = Log()
    values = {"a": " x ", "b": 7, "c": 2.5, "d": True, "e": None, "f": [], "g": "", "h": float("nan")}
    assert text_attributes(values, "v", log, optional=("e", "g")) == {
        "a": "x",
        "b": "7",
        "c": "2.5",
        "d": "true",
    }
    assert [f.seen.split()[0] for f in log.findings] == ["f", "h"]


def made(id_: str, split: str | None, duration: float | None, steps: int) -> Recording:
    segments = tuple(Segment(str(i), "do it", i, i + 1) for i in range(steps))
    return Recording(id_, "a", "a", segments, duration, attributes={"split": split} if split else {})


def test_measures():
    assert common_measures([]) == {"recordings": 0, "steps": 0, "activities": 0}
    found = common_measures(
        [made("a", "train", 1800.0, 2), made("b", None, None, 3)], {"pairs": 5, "steps": 99}
    )
    assert found == {
        "recordings": 2,
        "steps": 5,
        "activities": 1,
        "steps_per_recording": 2.5,
        "mean_video_seconds": 1800.0,
        "mean_video_minutes": 30.0,
        "hours": 0.5,
        "recordings_train": 1,
        "recordings_unknown": 1,
        "pairs": 5.0,
    }


def test_the_released_split(tmp_path: Path):
    def iterate(root: Path, corrections: Corrections, log: Log, /, **options: str):
        yield from (
            made("a", "val", 1.0, 1),
            made("b", "train", 1.0, 1),
            made("c", "val", 1.0, 1),
            made("d", None, 1.0, 1),
        )

    assert released_split(iterate).make(tmp_path) == {"val": ("a", "c"), "train": ("b",), "unknown": ("d",)}

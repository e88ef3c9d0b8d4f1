"""Clips of a stretch: what is in them, what is left out and why."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.procedure.clip import (
    REASONS,
    ROUNDING,
    Clip,
    LeftOut,
    leaf_segments,
    place_segments,
    prefix_clip,
    span_clip,
    step_moments,
)
from proctor.procedure.recording import Mistake, Recording, Segment
from proctor.records import canonical_json, decode


def recording(*segments: Segment, duration: float | None = None) -> Recording:
    return Recording("r", "tea", "Tea", segments, duration, video="videos/r.mp4")


def step(name: str, start: Any = None, end: Any = None, **more: Any) -> Segment:
    return Segment(name, f"do {name}", start, end, **more)


TEA = recording(
    step("boil", 0.0, 10.0),
    step("sugar"),
    step("steep", 12.0, 20.0),
    step("stir", 18.0, 30.0),
    step("pour", 30.0, 40.0),
    duration=45.0,
)


def out(clip: Clip) -> dict[str, tuple[int, ...]]:
    return {left.reason: left.positions for left in clip.left_out}


def times(clip: Clip) -> list[tuple[str, Any, Any, str]]:
    return [(s.segment.step_id, s.segment.start, s.segment.end, s.cut) for s in clip.segments]


def test_a_prefix_cuts_what_still_runs_and_says_so():
    clip = prefix_clip(TEA, 25.0)
    assert times(clip) == [("boil", 0.0, 10.0, ""), ("steep", 12.0, 20.0, ""), ("stir", 18.0, 25.0, "end")]
    assert out(clip) == {"later": (4,), "skipped": (1,)}
    assert (clip.start, clip.end, clip.seconds, clip.positions) == (0.0, 25.0, 25.0, (0, 2, 3))
    assert (clip.id, clip.recording_id, clip.video) == ("r_0-25", "r", "videos/r.mp4")
    assert clip.rules == "span|edge:cut|margin:0"


def test_a_prefix_may_drop_what_still_runs():
    clip = prefix_clip(TEA, 25.0, edge="drop")
    assert clip.positions == (0, 2)
    assert out(clip) == {"crosses_edge": (3,), "later": (4,), "skipped": (1,)}


def test_a_step_that_begins_when_the_clip_ends_is_not_in_it():
    assert prefix_clip(TEA, 30.0).positions == (0, 2, 3)
    assert out(prefix_clip(TEA, 30.0)) == {"later": (4,), "skipped": (1,)}
    assert times(prefix_clip(TEA, 30.001))[-1] == ("pour", 30.0, 30.001, "end")


@pytest.mark.parametrize(
    ("length", "seen", "there"),
    [
        (10.0, 2.0, False),  # ProMQA, rule 5: more than two seconds
        (10.0, 2.01, True),
        (1.0, 0.9, False),  # a shorter step: more than nine tenths of it
        (1.0, 0.91, True),
        (2.0, 1.99, False),
    ],
)
def test_a_step_that_has_barely_begun_is_left_out(length: float, seen: float, there: bool):
    clip = prefix_clip(recording(step("a", 0.0, length)), seen, margin=2.0)
    assert bool(clip.segments) is there
    assert out(clip) == ({} if there else {"barely_begun": (0,)})


def test_a_stretch_counts_its_times_from_its_start():
    clip = span_clip(TEA, 5.0, 19.0)
    assert times(clip) == [
        ("boil", 0.0, 5.0, "start"),
        ("steep", 7.0, 14.0, "end"),
        ("stir", 13.0, 14.0, "end"),
    ]
    assert out(clip) == {"later": (4,), "skipped": (1,)}
    assert times(span_clip(TEA, 20.0, 29.0)) == [("stir", 0.0, 9.0, "both")]
    assert out(span_clip(TEA, 20.0, 29.0)) == {"earlier": (0, 2), "later": (4,), "skipped": (1,)}


def test_an_instant_belongs_to_the_span_that_it_begins():
    instant = recording(step("a", 10.0, 10.0), duration=20.0)
    assert times(span_clip(instant, 10.0, 20.0)) == [("a", 0.0, 0.0, "")]
    assert out(span_clip(instant, 0.0, 10.0)) == {"later": (0,)}


@pytest.mark.parametrize(
    ("segment", "reason"),
    [
        (step("a"), "skipped"),
        (step("a", 1.0, 2.0, mistakes=(Mistake("missing"),)), "skipped"),
        (step("a", 1.0), "skipped"),
        (step("a", None, 2.0), "no_start"),
        (step("a", math.nan, 2.0), "not_a_time"),
        (step("a", 1.0, math.nan), "not_a_time"),
        (step("a", 1.0, math.inf), "not_a_time"),
        (step("a", -math.inf, 1.0), "not_a_time"),
        (step("a", "1", 2.0), "not_a_time"),
        (step("a", True, 2.0), "not_a_time"),
        (step("a", 10**400, 10**401), "not_a_time"),
        (step("a", -0.5, 2.0), "negative"),
        (step("a", -1.0, -1.0), "negative"),
        (step("a", 3.0, 2.0), "swapped"),
        (step("a", 2.0, -1.0), "swapped"),
    ],
)
def test_times_that_cannot_be_right_are_told(segment: Segment, reason: str):
    clip = prefix_clip(recording(segment, step("b", 0.0, 1.0)), 5.0)
    assert clip.positions == (1,)
    assert out(clip) == {reason: (0,)}


@pytest.mark.parametrize("moment", [0.0, -1.0, math.nan, math.inf, "5", None, True, 45.02])
def test_a_moment_outside_the_recording_is_refused(moment: Any):
    with pytest.raises(UserError, match="recording 'r'"):
        prefix_clip(TEA, moment)


def test_the_whole_video_is_a_prefix_of_it():
    assert prefix_clip(TEA, 45.0).positions == (0, 2, 3, 4)
    assert prefix_clip(TEA, 45.009).end == 45.009  # its length was rounded


@pytest.mark.parametrize(("start", "end"), [(5.0, 5.0), (6.0, 5.0), (-1.0, 5.0), (math.nan, 5.0)])
def test_a_span_that_is_none_is_refused(start: float, end: float):
    with pytest.raises(UserError, match="is not a span"):
        span_clip(TEA, start, end)


@pytest.mark.parametrize("duration", [0.0, -3.0, math.nan, math.inf, "45", True])
def test_a_duration_that_is_none_is_refused(duration: Any):
    with pytest.raises(UserError, match="the duration is"):
        prefix_clip(replace(TEA, duration=duration), 5.0)
    with pytest.raises(UserError, match="the duration is"):
        step_moments(replace(TEA, duration=duration))


@pytest.mark.parametrize("margin", [-1.0, math.nan, math.inf, "2"])
def test_a_margin_that_is_none_is_refused(margin: Any):
    with pytest.raises(UserError, match="the margin is"):
        prefix_clip(TEA, 5.0, margin=margin)


def test_an_unknown_way_with_edges_is_refused():
    with pytest.raises(UserError, match="known: cut, drop"):
        prefix_clip(TEA, 5.0, edge="keep")  # type: ignore[arg-type]


def test_segments_beyond_the_video_are_kept_cut_or_dropped():
    long = recording(step("a", 0.0, 10.5), step("b", 10.0, 12.0), duration=10.0)
    assert [(p.end, p.cut) for p in place_segments(long)[0]] == [(10.5, ""), (12.0, "")]
    assert [(p.end, p.cut) for p in place_segments(long, edges="cut")[0]] == [(10.0, "end")]
    assert place_segments(long, edges="cut")[1] == [(1, "outside_video")]
    assert place_segments(long, edges="drop") == ([], [(0, "outside_video"), (1, "outside_video")])
    assert times(prefix_clip(long, 10.0)) == [("a", 0.0, 10.0, "end")]
    just = replace(long, segments=(step("a", 0.0, 10.0), step("b", 10.0, 10.0)))
    for edges in ("cut", "drop"):
        placed, out_of_it = place_segments(just, edges=edges)  # ends with the video: nothing is beyond it
        assert ([p.cut for p in placed], out_of_it) == (["", ""], [])


def test_moments_are_the_latest_ends_so_far():
    moments = step_moments(
        recording(step("a", 0.0, 9.0), step("c", 3.0, 4.0), step("b", 2.0, 5.0), step("d"))
    )
    assert moments == (9.0,)
    assert step_moments(TEA) == (10.0, 20.0, 30.0, 40.0)
    assert step_moments(recording(step("d"), step("e", 3.0, 2.0))) == ()


def test_substeps_stand_for_a_step_that_has_any():
    a, b, a1, a2 = (step(name, 0.0, 1.0) for name in ("a", "b", "a1", "a2"))
    assert leaf_segments([(a, [a1, a2]), (b, [])]) == (a1, a2, b)
    assert leaf_segments([]) == ()


def test_a_category_may_be_anything_of_a_segment():
    clip = prefix_clip(TEA, 25.0, category=lambda s: s.text[:4])
    assert clip.categories == {"do b", "do s"}
    assert prefix_clip(TEA, 25.0).categories == {"boil", "steep", "stir"}


def test_a_clip_survives_json():
    clip = prefix_clip(TEA, 25.0)
    assert decode(canonical_json(clip), Clip, "here") == clip


def test_clips_can_be_put_into_a_set():
    assert len({prefix_clip(TEA, 25.0), prefix_clip(TEA, 25.0), prefix_clip(TEA, 26.0)}) == 2


# -- properties ----------------------------------------------------------------------------------------------------

any_time = st.none() | st.floats() | st.floats(-1, 100) | st.integers(-2, 60).map(float)
any_step = st.builds(step, st.sampled_from("abcd"), any_time, any_time)
any_recording = st.builds(
    lambda steps, duration: recording(*steps, duration=duration),
    st.lists(any_step, max_size=12),
    st.none() | st.floats(0.5, 90),
)
spans = st.tuples(st.floats(0, 80), st.floats(0.01, 60)).map(lambda s: (s[0], s[0] + s[1]))


@given(any_recording, spans, st.sampled_from(["cut", "drop"]), st.sampled_from([0.0, 2.0]))
def test_every_segment_is_in_the_clip_or_left_out_with_a_reason(
    found: Recording, span: tuple[float, float], edge: Any, margin: float
):
    found = replace(found, duration=None)
    clip = span_clip(found, *span, edge=edge, margin=margin)
    listed = [*clip.positions, *(p for left in clip.left_out for p in left.positions)]
    assert sorted(listed) == list(range(len(found.segments)))
    assert {left.reason for left in clip.left_out} <= set(REASONS)


@given(any_recording, spans, st.sampled_from([0.0, 2.0]))
def test_segments_lie_within_the_clip_and_are_as_long_as_what_is_seen(
    found: Recording, span: tuple[float, float], margin: float
):
    clip = span_clip(replace(found, duration=None), *span, margin=margin)
    for inside in clip.segments:
        whole = found.segments[inside.position]
        assert 0 <= inside.segment.start <= inside.segment.end <= clip.seconds
        begin, stop = max(whole.start, clip.start), min(whole.end, clip.end)
        assert inside.segment.start == begin - clip.start
        assert inside.segment.end == stop - clip.start
        assert inside.cut == ("start" * (whole.start < clip.start) + "end" * (whole.end > clip.end)).replace(
            "startend", "both"
        )
        assert replace(inside.segment, start=None, end=None) == replace(whole, start=None, end=None)


@given(any_recording, spans, st.randoms(use_true_random=False))
def test_the_order_of_the_segments_does_not_matter(found: Recording, span: tuple[float, float], rng: Any):
    found = replace(found, duration=None)
    order = list(range(len(found.segments)))
    rng.shuffle(order)
    shuffled = replace(found, segments=tuple(found.segments[i] for i in order))
    first, second = span_clip(found, *span), span_clip(shuffled, *span)
    assert [(s.segment, s.cut) for s in first.segments] == [(s.segment, s.cut) for s in second.segments]
    back = [LeftOut(left.reason, tuple(sorted(order[p] for p in left.positions))) for left in second.left_out]
    assert list(first.left_out) == back


@given(any_recording)
def test_a_longer_prefix_shows_at_least_as_much(found: Recording):
    moments = [m for m in step_moments(found) if 0 < m <= (found.duration or math.inf)]
    shown = [set(prefix_clip(found, m).positions) for m in moments]
    assert all(a <= b for a, b in pairwise(shown))
    assert moments == sorted(set(moments))


@given(any_recording, spans)
def test_a_span_beyond_the_video_is_refused_and_nothing_else(found: Recording, span: tuple[float, float]):
    if found.duration is not None and span[1] > found.duration + ROUNDING:
        with pytest.raises(UserError, match="the video at"):
            span_clip(found, *span)
    else:
        assert span_clip(found, *span).end == span[1]

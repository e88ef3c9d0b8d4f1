"""Trimming: each rule at its edge, each variant, bad annotations, and what holds for any of them."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.procedure.clip import REASONS
from proctor.procedure.recording import Mistake, Recording, Segment
from proctor.procedure.trim_rules import DEFAULT, VARIANTS, Trimmed, TrimRules, trim_recording, variant_rules
from proctor.records import canonical_json, decode


def recording(*segments: Segment, duration: float | None = None) -> Recording:
    return Recording("r", "tea", "Tea", segments, duration)


def steps(names: str, seconds: float, gap: float = 0.0, begin: float = 0.0) -> list[Segment]:
    """A step for each letter, one after the other."""
    starts = [begin + i * (seconds + gap) for i in range(len(names))]
    return [Segment(name, name, start, start + seconds) for name, start in zip(names, starts, strict=True)]


def trim(found: list[Segment], duration: float | None = None, **changes: Any) -> Trimmed:
    return trim_recording(recording(*found, duration=duration), replace(DEFAULT, **changes))


def spans(trimmed: Trimmed) -> list[tuple[float, float]]:
    return [(c.start, c.end) for c in trimmed.clips]


def out(trimmed: Trimmed) -> dict[str, tuple[int, ...]]:
    return {left.reason: left.positions for left in trimmed.left_out}


# -- the rules -----------------------------------------------------------------------------------------------------


def test_nothing_gives_nothing():
    assert trim([]) == Trimmed("r", (), (), ())


def test_a_clip_holds_what_it_needs_to_be_used_alone():
    (clip,) = trim(steps("ABCDEFG", 40, begin=100)).clips
    assert (clip.id, clip.recording_id, clip.activity_name) == ("r_100-380", "r", "Tea")
    assert [s.segment.start for s in clip.segments] == [0, 40, 80, 120, 160, 200, 240]
    assert clip.rules == DEFAULT.signature
    assert clip.rules == (
        "trim|over:240|steps:7|distinct:0.5|run:0.5|boundary:include|failure:restart|tail:whole_video"
        "|cuts:anywhere|edges:keep"
    )


@pytest.mark.parametrize(("seconds", "clips"), [(240.0, 0), (240.001, 1)])
def test_four_minutes_have_to_be_exceeded(seconds: float, clips: int):
    found = [*steps("ABCDEFG", 30), Segment("H", "H", 210.0, seconds), *steps("I", 10, begin=seconds)]
    trimmed = trim(found)
    assert [c.end for c in trimmed.clips] == ([240.001] if clips else [250.0])


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        ("ABCDEF", "few_steps"),
        ("ABCABCA", "few_categories"),  # 3 of 7
        ("ABCDABCD", ""),  # 4 of 8 is half
        ("ABCDDDD", "long_run"),  # 4 of 7
        ("ABCDDDDE", ""),  # 4 of 8 is half
        ("AAAAAAA", "few_categories+long_run"),
        ("AAA", "few_steps+few_categories+long_run"),
    ],
)
def test_each_rule_at_its_edge(names: str, reason: str):
    trimmed = trim(steps(names, 241 / len(names)))
    assert len(trimmed.clips) == (not reason)
    assert out(trimmed) == ({reason: tuple(range(len(names)))} if reason else {})


def test_rule_4_as_printed_always_holds():
    assert trim(steps("ABCDDDD", 40), max_run=None).clips
    assert not trim(steps("AAAAAAA", 40), max_run=None).clips  # rule 3


def test_the_crossing_step_belongs_to_the_clip_to_the_next_or_to_both():
    found = steps("ABCDEFGHIJKLMNOP", 31)
    assert spans(trim(found)) == [(0, 248), (248, 496)]
    assert spans(trim(found, boundary="exclude")) == [(0, 217), (217, 434)]
    assert spans(trim(found, boundary="overlap")) == [(0, 248), (217, 465)]


def test_growing_adds_steps_until_the_rules_hold():
    found = steps("ABCABCABCDEFGH", 35)
    assert spans(trim(found)) == [(245, 490)]
    assert spans(trim(found, on_failure="grow")) == [(0, 420)]  # 6 categories of 12 steps


def test_growing_for_ever_leaves_a_tail():
    trimmed = trim(steps("A" * 40, 35), on_failure="grow")
    assert trimmed.clips == ()
    assert [(r.tail, r.reason) for r in trimmed.rejected] == [(True, "few_categories+long_run")]


@pytest.mark.parametrize(("tail", "short", "rest"), [("whole_video", 1, 0), ("keep", 1, 1), ("drop", 0, 0)])
def test_what_is_left_at_the_end(tail: Any, short: int, rest: int):
    whole = trim(steps("ABCDEFG", 10), tail=tail)
    assert len(whole.clips) == short
    assert out(whole) == ({} if short else {"tail": (0, 1, 2, 3, 4, 5, 6)})
    after = trim([*steps("ABCDEFG", 40), *steps("HIJKLMN", 10, begin=280)], tail=tail)
    assert len(after.clips) == 1 + rest
    assert out(after) == ({} if rest else {"tail": (7, 8, 9, 10, 11, 12, 13)})
    assert [r.failed for r in after.rejected] == [()] * (not rest)  # no rule failed: it is only too late


def test_a_long_step_is_a_stretch_of_its_own():
    found = [Segment("A", "A", 0.0, 300.0), *steps("BCDEFGH", 40, begin=300)]
    for variant in VARIANTS.values():
        trimmed = trim_recording(recording(*found), variant)
        if variant.on_failure == "grow":
            assert spans(trimmed) == [(0, 540)]
        elif variant.boundary != "exclude":
            assert spans(trimmed) == [(300, 580)]
        if variant.on_failure == "restart":
            assert out(trimmed)["few_steps" if variant.max_run is None else "few_steps+long_run"][0] == 0


def test_a_step_that_is_shared_is_not_left_out():
    trimmed = trim(steps("ABCDEFGHIJKL", 40), boundary="overlap")
    assert spans(trimmed) == [(0, 280)]
    assert [r.positions for r in trimmed.rejected] == [(6, 7, 8, 9, 10, 11)]
    assert out(trimmed) == {"tail": (7, 8, 9, 10, 11)}


# -- annotations as they are -----------------------------------------------------------------------------------------


def test_bad_times_are_left_out_and_the_rest_is_cut():
    bad = [
        Segment("x", "x", math.nan, 5.0),
        Segment("x", "x", 9.0, 5.0),
        Segment("x", "x", -2.0, 5.0),
        Segment("x", "x", None, 5.0),
        Segment("x", "x"),
        Segment("x", "x", 0.0, 5.0, mistakes=(Mistake("missing"),)),
    ]
    trimmed = trim([*bad, *steps("ABCDEFG", 40)])
    assert spans(trimmed) == [(0, 280)]
    assert out(trimmed) == {
        "negative": (2,),
        "no_start": (3,),
        "not_a_time": (0,),
        "skipped": (4, 5),
        "swapped": (1,),
    }


def test_unsorted_steps_are_sorted():
    found = steps("ABCDEFG", 40)
    trimmed = trim(found[::-1])
    assert spans(trimmed) == [(0, 280)]
    assert trimmed.clips[0].positions == (6, 5, 4, 3, 2, 1, 0)


def test_instants_count_as_steps():
    found = [*steps("ABCDEF", 41), Segment("G", "G", 100.0, 100.0)]
    assert trim(found).clips[0].positions == (0, 1, 2, 6, 3, 4, 5)


def test_instants_alone_are_no_clip():
    found = [Segment(name, name, 5.0, 5.0) for name in "ABCDEFGH"]
    assert out(trim(found)) == {"no_length": (0, 1, 2, 3, 4, 5, 6, 7)}


def test_a_step_across_the_cut_is_listed_where_it_is_seen():
    found = [*steps("ABCDEFG", 40), Segment("H", "H", 270.0, 300.0), *steps("IJKLMNO", 35, begin=300)]
    first, second = trim(found).clips
    assert (first.end, second.start) == (280, 270)
    assert [(left.reason, left.positions) for left in first.left_out] == [("reaches_in", (7,))]
    assert [(left.reason, left.positions) for left in second.left_out] == [("reaches_in", (6,))]


def test_between_steps_waits_until_no_step_runs():
    found = [*steps("ABCDEFG", 40), Segment("H", "H", 270.0, 320.0), *steps("IJKLMNO", 40, begin=320)]
    trimmed = trim(found, cuts="between_steps")
    assert spans(trimmed) == [(0, 320), (320, 600)]
    assert [c.left_out for c in trimmed.clips] == [(), ()]


def test_between_steps_a_step_that_never_ends_keeps_all_together():
    found = [Segment("all", "all", 0.0, 560.0), *steps("ABCDEFGHIJKLMN", 40)]
    assert spans(trim(found, cuts="between_steps")) == [(0, 560)]
    assert spans(trim(found)) == [(40, 320)]  # the long step is a stretch of its own
    touched = {left.reason: left.positions for left in trim(found).clips[0].left_out}
    assert touched == {"reaches_in": (0,)}


def test_between_steps_with_the_crossing_step_excluded():
    found = [*steps("ABCDEFG", 34), Segment("H", "H", 237.0, 250.0), *steps("IJ", 34, begin=250)]
    assert spans(trim(found, boundary="exclude")) == [(0, 238)]
    assert spans(trim(found, boundary="exclude", cuts="between_steps")) == [(0, 250)]


@pytest.mark.parametrize(
    ("edges", "end", "left", "cut"),
    [("keep", 280.0, {}, ""), ("cut", 279.5, {}, "end"), ("drop", None, {"outside_video": (6,)}, "")],
)
def test_a_step_that_ends_after_the_video(edges: Any, end: float | None, left: Any, cut: str):
    trimmed = trim(steps("ABCDEFG", 40), duration=279.5, edges=edges)
    if end is None:
        assert {k: v for k, v in out(trimmed).items() if k == "outside_video"} == left
        assert trimmed.clips == ()
    else:
        (clip,) = trimmed.clips
        assert (clip.end, clip.segments[-1].cut, out(trimmed)) == (end, cut, left)


def test_two_clips_of_one_span_have_two_ids():
    twice = [Segment("A", "A", 0.0, 300.0), Segment("B", "B", 0.0, 300.0)]
    trimmed = trim(twice, min_steps=1, max_run=None)
    assert [c.id for c in trimmed.clips] == ["r_0-300", "r_0-300.2"]


@pytest.mark.parametrize("duration", [0.0, -1.0, math.nan])
def test_a_duration_that_is_none_is_refused(duration: float):
    with pytest.raises(UserError, match="the duration is"):
        trim(steps("A", 4), duration=duration)


def test_categories_may_be_given():
    found = steps("ABCDEFG", 40)
    same = trim_recording(recording(*found), category=lambda _: "cooking")
    assert out(same) == {"few_categories+long_run": tuple(range(7))}
    assert trim_recording(recording(*found)).clips[0].categories == set("ABCDEFG")


def test_what_was_trimmed_survives_json():
    trimmed = trim(steps("ABCDEFGHI", 40))
    assert decode(canonical_json(trimmed), Trimmed, "here") == trimmed


# -- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("longer_than", -1.0),
        ("longer_than", math.nan),
        ("longer_than", math.inf),
        ("longer_than", "240"),
        ("longer_than", True),
        ("min_steps", 0),
        ("min_steps", 7.0),
        ("min_steps", True),
        ("min_distinct", 1.01),
        ("min_distinct", math.nan),
        ("max_run", -0.1),
        ("max_run", "half"),
        ("boundary", "both"),
        ("on_failure", ""),
        ("tail", None),
        ("cuts", "here"),
        ("edges", "clip"),
    ],
)
def test_settings_that_cannot_be_are_refused(name: str, value: Any):
    with pytest.raises(UserError, match=f"trimming: {name} is"):
        TrimRules(**{name: value})


def test_clips_that_share_a_step_cannot_be_apart():
    with pytest.raises(UserError, match="cannot be cut between steps"):
        TrimRules(boundary="overlap", cuts="between_steps")


def test_variants_have_names():
    assert variant_rules() == DEFAULT == variant_rules("default")
    assert len({rules.signature for rules in VARIANTS.values()}) == len(VARIANTS)
    with pytest.raises(UserError, match=r"no variant 'best' of trimming(.|\n)*default, exclude, overlap"):
        variant_rules("best")


def test_every_setting_is_in_the_signature():
    others = {
        "longer_than": 1.0,
        "min_steps": 1,
        "min_distinct": 0.1,
        "max_run": None,
        "boundary": "exclude",
        "on_failure": "grow",
        "tail": "keep",
        "cuts": "between_steps",
        "edges": "cut",
    }
    assert {f.name for f in fields(TrimRules)} == set(others)
    signatures = {replace(DEFAULT, **{name: value}).signature for name, value in others.items()}
    assert len(signatures | {DEFAULT.signature}) == len(others) + 1


# -- what holds for any annotation and any rules ---------------------------------------------------------------------

wild_time = st.none() | st.floats() | st.integers(-5, 900).map(float) | st.floats(0, 900)
tidy_time = st.integers(0, 900).map(float)
any_step = st.builds(Segment, st.sampled_from("ABCDEFGH"), st.just("do"), wild_time, wild_time)
tidy_step = st.builds(
    lambda name, start, length: Segment(name, name, start, start + length),
    st.sampled_from("ABCDEFGH"),
    tidy_time,
    st.integers(0, 60).map(float),
)
any_recording = st.builds(
    lambda found, duration: recording(*found, duration=duration),
    st.lists(any_step | tidy_step, max_size=40) | st.lists(tidy_step, max_size=60),
    st.none() | st.floats(1, 1000),
)
any_rules = st.builds(
    lambda **given: (
        TrimRules(**given) if given["boundary"] != "overlap" else TrimRules(**given | {"cuts": "anywhere"})
    ),
    longer_than=st.sampled_from([0.0, 10.0, 60.0, 240.0]),
    min_steps=st.integers(1, 8),
    min_distinct=st.floats(0, 1),
    max_run=st.none() | st.floats(0, 1),
    boundary=st.sampled_from(["include", "exclude", "overlap"]),
    on_failure=st.sampled_from(["restart", "grow"]),
    tail=st.sampled_from(["whole_video", "keep", "drop"]),
    cuts=st.sampled_from(["anywhere", "between_steps"]),
    edges=st.sampled_from(["keep", "cut", "drop"]),
)


@given(any_recording, any_rules)
def test_every_segment_is_in_a_clip_or_left_out_with_a_reason(found: Recording, rules: TrimRules):
    trimmed = trim_recording(found, rules)
    inside = [p for clip in trimmed.clips for p in clip.positions]
    left = [p for left in trimmed.left_out for p in left.positions]
    assert set(inside) | set(left) == set(range(len(found.segments)))
    assert not set(inside) & set(left)
    assert len(left) == len(set(left))
    if rules.boundary != "overlap":
        assert len(inside) == len(set(inside))
    else:
        assert max((inside.count(p) for p in inside), default=0) <= 2
    assert all(set(left.reason.split("+")) <= set(REASONS) for left in trimmed.left_out)


@given(any_recording, any_rules)
def test_clips_between_steps_share_nothing_and_stay_in_the_video(found: Recording, rules: TrimRules):
    if rules.boundary == "overlap":
        rules = replace(rules, boundary="include")
    rules = replace(rules, cuts="between_steps", edges="cut" if rules.edges == "keep" else rules.edges)
    trimmed = trim_recording(found, rules)
    stretches = sorted(
        [(c.start, c.end) for c in trimmed.clips] + [(r.start, r.end) for r in trimmed.rejected]
    )
    assert all(a[1] <= b[0] for a, b in pairwise(stretches))
    assert all(clip.left_out == () for clip in trimmed.clips)
    assert all(0 <= clip.start < clip.end for clip in trimmed.clips)
    if found.duration is not None:
        assert all(end <= found.duration for _, end in stretches)


@given(any_recording, any_rules)
def test_a_clip_spans_its_steps_and_keeps_the_rules(found: Recording, rules: TrimRules):
    trimmed = trim_recording(found, rules)
    for clip in trimmed.clips:
        ends = []
        for inside in clip.segments:
            whole = found.segments[inside.position]
            end = whole.end
            if inside.cut:
                assert (inside.cut, rules.edges) == ("end", "cut")
                end = found.duration
            assert inside.segment.start == whole.start - clip.start
            assert inside.segment.end == end - clip.start
            ends.append(end)
        assert clip.start == min(found.segments[p].start for p in clip.positions)
        assert clip.end == max(ends)
        names = [s.category for s in clip.segments]
        assert len(names) >= rules.min_steps
        assert len(set(names)) >= rules.min_distinct * len(names)
        if rules.max_run is not None:
            runs = [1]
            for a, b in pairwise(names):
                runs.append(runs[-1] + 1 if a == b else 1)
            assert max(runs) <= rules.max_run * len(names)


@given(any_recording, any_rules)
def test_clips_are_longer_than_asked_unless_the_rules_say_otherwise(found: Recording, rules: TrimRules):
    trimmed = trim_recording(found, rules)
    for number, clip in enumerate(trimmed.clips):
        tail = number == len(trimmed.clips) - 1 and rules.tail != "drop"
        if rules.boundary == "exclude":
            shorter = rules.cuts == "anywhere" and rules.on_failure == "restart"
            assert not shorter or clip.seconds <= rules.longer_than or len(clip.segments) == 1
        elif not tail:
            assert clip.seconds > rules.longer_than


@given(any_recording, any_rules, st.randoms(use_true_random=False))
def test_the_order_of_the_segments_does_not_matter(found: Recording, rules: TrimRules, rng: Any):
    order = list(range(len(found.segments)))
    rng.shuffle(order)
    shuffled = trim_recording(replace(found, segments=tuple(found.segments[i] for i in order)), rules)
    first = trim_recording(found, rules)

    def seen(trimmed: Trimmed) -> Any:
        return [(c.id, [(s.segment, s.cut) for s in c.segments]) for c in trimmed.clips]

    assert repr(seen(first)) == repr(seen(shuffled))
    assert [(r.start, r.end, r.reason) for r in first.rejected] == [
        (r.start, r.end, r.reason) for r in shuffled.rejected
    ]
    assert [(left.reason, len(left.positions)) for left in first.left_out] == [
        (left.reason, len(left.positions)) for left in shuffled.left_out
    ]


@given(any_recording, any_rules)
def test_the_same_again_gives_the_same(found: Recording, rules: TrimRules):
    first, second = trim_recording(found, rules), trim_recording(found, rules)
    assert first == second
    assert canonical_json(first) == canonical_json(second)
    assert len({c.id for c in first.clips}) == len(first.clips)


@given(any_recording, any_rules)
def test_what_a_clip_shows_of_others_is_listed(found: Recording, rules: TrimRules):
    trimmed = trim_recording(found, rules)
    placed = {
        p: found.segments[p]
        for p in range(len(found.segments))
        if not any(
            p in left.positions
            for left in trimmed.left_out
            if left.reason in {"skipped", "no_start", "not_a_time", "negative", "swapped", "outside_video"}
        )
    }
    for clip in trimmed.clips:
        shown = {
            p
            for p, s in placed.items()
            if s.end > clip.start and s.start < clip.end and p not in clip.positions
        }
        listed = {p for left in clip.left_out for p in left.positions}
        assert shown <= listed
        assert all(placed[p].end >= clip.start and placed[p].start <= clip.end for p in listed)


@pytest.mark.parametrize("variant", ["default", "grow"])
def test_a_recording_of_thirty_thousand_steps_is_no_trouble(variant: str):
    found = recording(*steps("ABCDEFGHIJ" * 3_000, 30))
    assert len(trim_recording(found, VARIANTS[variant]).clips) == 30_000 // 9


@pytest.mark.parametrize("name", ["boundary", "on_failure", "tail", "cuts", "edges"])
def test_every_choice_of_a_type_is_known(name: str):
    choices = get_args(get_type_hints(TrimRules)[name])
    assert len(choices) > 1
    assert all(getattr(TrimRules(**{name: choice}), name) == choice for choice in choices)

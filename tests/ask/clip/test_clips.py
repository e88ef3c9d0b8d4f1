"""Clips of recordings: whole and trimmed, substeps, narrations, what is left out; and the real annotations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ask.clip.played import recording
from tests.datasets.original_layout import write_goalstep, write_hirest, write_youcook2

from proctor.ask.clip.clips import ClipSet, Narration, clips_of, dataset_key
from proctor.ask.clip.record import ShownStep, render_step, top_steps
from proctor.datasets.dataset import load_dataset
from proctor.errors import UserError
from proctor.procedure.recording import Mistake, Recording, Segment
from proctor.procedure.trim_rules import variant_rules


def made(*segments: Segment, id_: str = "v", duration: float | None = 100.0, **more: Any) -> Recording:
    return Recording(id_, "a", "Bake a cake", segments, duration, **more)


def reasons(found: ClipSet) -> Counter[str]:
    return Counter(entry.reason for entry in found.dropped)


def test_a_whole_video_is_one_clip_in_the_order_of_starts() -> None:
    video = made(
        Segment("1", " stir\n the  bowl ", 50.0, 60.5),
        Segment("0", "crack the eggs", 10.0, 20.0),
        attributes={"split": "val"},
        video="videos/v.mp4",
    )
    found = clips_of([video], "youcook2")
    (clip,) = found.clips
    assert (clip.id, clip.video_id, clip.dataset) == ("v", "v", "youcook2")
    assert (clip.start, clip.end, clip.task, clip.split, clip.video) == (
        0.0,
        100.0,
        "Bake a cake",
        "val",
        "videos/v.mp4",
    )
    assert clip.steps == (
        ShownStep(id="s1", text="crack the eggs", start=10.0, end=20.0),
        ShownStep(id="s2", text="stir the bowl", start=50.0, end=60.5),
    )
    assert found.counts["steps"] == 2
    assert not found.dropped


def test_videos_with_no_step_or_one_are_listed() -> None:
    found = clips_of(
        [
            made(id_="none"),
            made(Segment("0", "stir", 1.0, 2.0), id_="one"),
            made(Segment("0", "stir", 5.0, 2.0), Segment("1", "bake"), id_="bad"),
            made(Segment("0", "  ", 1.0, 2.0), id_="blank"),
        ],
        "hirest",
    )
    assert not found.clips
    assert [(d.id, d.reason) for d in found.dropped] == [
        ("none", "no_steps"),
        ("one", "one_step"),
        ("bad", "no_steps"),
        ("blank", "no_steps"),
    ]
    assert found.counts["left_out:swapped"] == 1
    assert found.counts["left_out:skipped"] == 1
    assert found.counts["left_out:no_text"] == 1


def test_fewer_steps_than_asked_for_are_told() -> None:
    found = clips_of([recording("v", 4)], "hirest", min_steps=5)
    assert reasons(found) == {"few_steps": 1}
    assert clips_of([recording("v", 1)], "hirest", min_steps=1).clips
    with pytest.raises(UserError, match="min_steps is 0"):
        clips_of([], "hirest", min_steps=0)


def test_a_step_is_cut_at_the_end_of_the_video_and_left_out_behind_it() -> None:
    video = made(Segment("0", "a", 0.0, 5.0), Segment("1", "b", 90.0, 130.0), Segment("2", "c", 120.0, 130.0))
    found = clips_of([video], "youcook2")
    assert [(s.text, s.end) for s in found.clips[0].steps] == [("a", 5.0), ("b", 100.0)]
    assert found.counts["left_out:outside_video"] == 1


def test_without_a_duration_the_last_step_ends_the_clip() -> None:
    video = made(Segment("0", "a", 0.0, 5.0), Segment("1", "b", 9.0, 13.0), duration=None)
    assert clips_of([video], "youcook2").clips[0].end == 13.0


def test_what_was_done_is_told_and_not_what_should_have_been() -> None:
    wrong = Segment("0", "add salt", 0.0, 5.0, performed="adds sugar", mistakes=(Mistake("preparation"),))
    clip = clips_of([made(wrong, Segment("1", "stir", 6.0, 7.0))], "captaincook4d").clips[0]
    assert clip.steps[0].text == "adds sugar"


def test_the_second_moment_of_a_hirest_video_is_of_the_same_video() -> None:
    found = clips_of([recording("abc"), recording("abc+2"), recording("a+b")], "hirest")
    assert [(c.id, c.video_id) for c in found.clips] == [("abc", "abc"), ("abc+2", "abc"), ("a+b", "a+b")]
    assert found.counts["videos"] == 2
    assert clips_of([recording("abc+2")], "youcook2").clips[0].video_id == "abc+2"


def test_two_clips_of_one_name_are_refused() -> None:
    with pytest.raises(UserError, match="two clips are called 'v1'"):
        clips_of([recording("v1"), recording("v1")], "youcook2")


def test_categories_made_of_words_are_shown_and_numbers_are_not() -> None:
    video = made(
        Segment("Make dough: Knead the dough", "kneads", 0.0, 5.0),
        Segment("17", "rests", 6.0, 7.0),
        Segment("wash the bowl", "Wash the bowl", 8.0, 9.0),
        Segment("unknown", "looks", 9.0, 10.0),
    )
    clip = clips_of([video], "goalstep", trimming=None).clips[0]
    assert [s.category for s in clip.steps] == ["Make dough: Knead the dough", "", "", ""]


def test_a_numbered_task_is_no_task_unless_it_has_a_name() -> None:
    numbered = replace(recording("v"), activity_id="113", activity_name="recipe 113")
    assert clips_of([numbered], "youcook2").clips[0].task == ""
    named = clips_of([numbered], "youcook2", task_names={"113": "grilled  cheese"})
    assert named.clips[0].task == "grilled cheese"
    other = replace(recording("v"), activity_name="recipe for 113 buns")
    assert clips_of([other], "youcook2").clips[0].task == "recipe for 113 buns"


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Ego4D Goal-Step", "goalstep"),
        ("YouCook2", "youcook2"),
        ("HiREST", "hirest"),
        ("egoexo4d", "egoexo4d"),
        ("CaptainCook4D", "captaincook4d"),
        ("???", "steps"),
    ],
)
def test_data_sets_are_known_by_any_name(name: str, key: str) -> None:
    assert dataset_key(name) == key


# -- trimming ----------------------------------------------------------------------------------------------------


def long_video(steps: int = 16, each: float = 40.0) -> Recording:
    segments = [
        Segment(f"kind {chr(97 + n)} of it", f"do {n}", n * each, (n + 1) * each) for n in range(steps)
    ]
    return made(*segments, duration=steps * each)


def test_long_videos_are_trimmed_where_the_paper_trims() -> None:
    found = clips_of([long_video()], "goalstep")
    assert [(c.id, c.start, c.end) for c in found.clips] == [
        ("v_0-280", 0.0, 280.0),
        ("v_280-560", 280.0, 560.0),
    ]
    assert [s.start for s in found.clips[1].steps][:2] == [0.0, 40.0]
    assert [s.id for s in found.clips[1].steps] == [f"s{n}" for n in range(1, 8)]
    assert [(d.id, d.reason) for d in found.dropped] == [("v_560-640", "tail")]
    assert len(clips_of([long_video()], "youcook2").clips) == 1
    assert len(clips_of([long_video()], "youcook2", trimming=variant_rules("default")).clips) == 2
    assert len(clips_of([long_video()], "goalstep", trimming=None).clips) == 1


def test_rows_say_themselves_of_which_data_set_they_are() -> None:
    row = replace(long_video(), attributes={"dataset": "Ego4D Goal-Step"})
    found = clips_of([row], "steps")
    assert {c.dataset for c in found.clips} == {"goalstep"}
    assert len(found.clips) == 2


def test_substeps_stand_behind_the_step_that_they_lie_in() -> None:
    video = made(Segment("A b", "prepare", 0.0, 50.0), Segment("C d", "bake", 50.0, 100.0))
    leaves = made(
        Segment("x", "pour", 0.0, 20.0),
        Segment("y", "mix", 20.0, 52.0),
        Segment("z", "taste", 30.0, 30.0),
        Segment("w", "elsewhere", 100.0, 110.0),
        Segment("C d", "bake", 50.0, 100.0),
    )
    found = clips_of([video], "goalstep", trimming=None, leaves={"v": leaves})
    steps = found.clips[0].steps
    assert [(s.id, s.text) for s in steps] == [
        ("s1", "prepare"),
        ("s1.1", "pour"),
        ("s1.2", "mix"),
        ("s1.3", "taste"),
        ("s2", "bake"),
    ]
    assert [s.id for s in top_steps(found.clips[0])] == ["s1", "s2"]
    assert found.counts["substeps"] == 3


def test_a_substep_that_reaches_out_of_the_clip_is_told_as_the_clip_shows_it() -> None:
    video = long_video()
    leaves = made(Segment("x y", "early bit", 275.0, 300.0), Segment("x y", "late bit", 555.0, 570.0))
    second = clips_of([video], "goalstep", leaves={"v": leaves}).clips[1]
    inner = [s for s in second.steps if "." in s.id]
    assert [(s.text, s.start, s.end) for s in inner] == [("early bit", 0.0, 20.0)]
    third = made(Segment("x y", "late bit", 545.0, 570.0))
    inner = [s for s in clips_of([video], "goalstep", leaves={"v": third}).clips[1].steps if "." in s.id]
    assert [(s.id, s.start, s.end) for s in inner] == [("s7.1", 265.0, 280.0)]


def test_narrations_belong_to_the_step_in_which_they_begin() -> None:
    video = made(
        Segment("0", "mix", 0.0, 30.0), Segment("1", "taste", 10.0, 12.0), Segment("2", "bake", 40.0, 50.0)
    )
    said = [
        Narration(start=45.0, text="now into the oven"),
        Narration(start=11.0, text="lovely"),
        Narration(start=20.0, text="keep\nstirring"),
        Narration(start=5.0, text="we mix"),
        Narration(start=35.0, text="to nobody"),
        Narration(start=41.0, text="  "),
    ]
    found = clips_of([video], "hirest", narrations={"v": said})
    assert [s.narration for s in found.clips[0].steps] == [
        "we mix keep stirring",
        "lovely",
        "now into the oven",
    ]
    assert found.counts["narrations"] == 3


def test_a_step_on_one_line() -> None:
    step = ShownStep(id="s2", text="bake", start=1.0, end=2.26, category="Make: bake", narration="hot")
    assert render_step(step) == "s2 | 1.0-2.3 s | bake | kind: Make: bake | said meanwhile: hot"


times = st.one_of(st.none(), st.floats(-5, 300), st.sampled_from([float("nan"), float("inf")]))


@given(
    st.lists(st.tuples(st.text(max_size=8), times, times), max_size=12),
    st.lists(st.tuples(st.text(max_size=8), times, times), max_size=12),
    st.sampled_from(["hirest", "goalstep"]),
)
def test_whatever_the_annotations_clips_hold_together(
    rows: list[tuple[str, float | None, float | None]],
    inner: list[tuple[str, float | None, float | None]],
    dataset: str,
) -> None:
    video = made(*(Segment(f"k {t}", t, a, b) for t, a, b in rows), duration=250.0)
    leaves = made(*(Segment(f"k {t}", t, a, b) for t, a, b in inner), duration=250.0)
    found = clips_of([video], dataset, leaves={"v": leaves})
    for clip in found.clips:
        ids = [s.id for s in clip.steps]
        assert len(set(ids)) == len(ids)
        tops = top_steps(clip)
        assert [s.id for s in tops] == [f"s{n}" for n in range(1, len(tops) + 1)]
        assert [s.start for s in tops] == sorted(s.start for s in tops)
        assert all(s.text.strip() for s in clip.steps)
        assert all(-0.001 <= s.start <= s.end for s in clip.steps)
    assert found.clips or found.dropped


# -- the real annotations ----------------------------------------------------------------------------------------

WRITERS: dict[str, Callable[[Path, Path], Path]] = {
    "youcook2": write_youcook2,
    "hirest": write_hirest,
    "goalstep": write_goalstep,
}


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "clips", "videos", "dropped"),
    [
        ("youcook2", 1790, 1790, {}),
        ("hirest", 625, 625, {"one_step": 3}),
        ("goalstep", 153, 64, {"few_steps": 245, "tail": 93, "few_categories": 18}),
    ],
)
def test_the_real_annotations(
    shared_data: Path, tmp_path: Path, name: str, clips: int, videos: int, dropped: dict[str, int]
) -> None:
    root = WRITERS[name](shared_data, tmp_path)
    found = clips_of(load_dataset(name).iter_records(root), name)
    assert (len(found.clips), found.counts["videos"]) == (clips, videos)
    assert dropped.items() <= reasons(found).items()
    assert {c.dataset for c in found.clips} == {name}
    assert all(top_steps(c) == c.steps for c in found.clips)


@pytest.mark.shared
def test_real_goal_step_with_substeps_and_at_the_level_of_leaves(shared_data: Path, tmp_path: Path) -> None:
    root = write_goalstep(shared_data, tmp_path)
    dataset = load_dataset("goalstep")
    leaf = {r.id: r for r in dataset.iter_records(root, level="leaf")}
    nested = clips_of(dataset.iter_records(root), "goalstep", leaves=leaf)
    plain = clips_of(dataset.iter_records(root), "goalstep")
    assert [c.id for c in nested.clips] == [c.id for c in plain.clips]
    assert [top_steps(c) for c in nested.clips] == [c.steps for c in plain.clips]
    assert nested.counts["substeps"] == 1122
    flat = clips_of(leaf.values(), "goalstep")
    assert len(flat.clips) == 322  # measured before (docs/clips.md)
    mean = sum(c.end - c.start for c in plain.clips) / len(plain.clips)
    assert round(mean, 1) == 285.6


@pytest.mark.shared
def test_real_rows_of_several_data_sets(shared_data: Path, tmp_path: Path) -> None:
    for name in ("hirest.jsonl", "goalstep_val.jsonl.gz"):
        (tmp_path / name).write_bytes((shared_data / "steps" / name).read_bytes())
    found = clips_of(load_dataset("steps").iter_records(tmp_path), "steps")
    assert Counter(c.dataset for c in found.clips) == {"hirest": 625, "goalstep": 153}

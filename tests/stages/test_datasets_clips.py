"""Clips of a data set: the file, what is dropped, the numbers of the closing line, and the videos that are cut."""

from __future__ import annotations

import gzip
import json
import math
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proctor.ask.moment.derive import CORRECTED, derive_examples
from proctor.datasets.dataset import load_dataset
from proctor.errors import MissingExtraError, UserError
from proctor.exam.kinds.example import Example
from proctor.procedure.clip import REASONS, Clip, prefix_clip
from proctor.procedure.recording import Recording, Segment
from proctor.procedure.trim_rules import DEFAULT, VARIANTS
from proctor.records import Dropped, read_jsonl
from proctor.samples import path as sample
from proctor.stages.datasets_clips import (
    PREFIX_VARIANTS,
    ClipFile,
    PrefixRules,
    cut_clips,
    derive_clips,
    dropped_file,
    example_moments,
    iter_clips,
    prefix_rules,
)
from proctor.stages.videos import Videos


def steps(names: str, seconds: float, begin: float = 0.0) -> tuple[Segment, ...]:
    return tuple(
        Segment(n, f"do {n}", begin + i * seconds, begin + (i + 1) * seconds) for i, n in enumerate(names)
    )


def recording(id_: str, segments: tuple[Segment, ...], **more: Any) -> Recording:
    return Recording(id_, "tea", "Tea", segments, **more)


LONG = recording("long", (*steps("ABCDEFG", 40), Segment("X", "do X"), *steps("HI", 40, 280)), duration=400.0)
SHORT = recording("short", steps("AB", 10))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "made" / "clips.jsonl"


def dropped(out: Path) -> list[tuple[str, str]]:
    return [(d.id, d.reason) for d in read_jsonl(dropped_file(out), Dropped)]


def test_clips_are_written_one_a_line_and_the_rest_is_listed(out: Path):
    found = derive_clips([LONG, SHORT], out)
    (clip,) = iter_clips(out)
    assert (clip.id, clip.positions, clip.rules) == ("long_0-280", (0, 1, 2, 3, 4, 5, 6), DEFAULT.signature)
    assert dropped(out) == [
        ("long#7", "skipped"),
        ("long#8", "tail"),
        ("long#9", "tail"),
        ("short#0", "few_steps"),
        ("short#1", "few_steps"),
    ]
    details = {d.id: d.detail for d in read_jsonl(dropped_file(out), Dropped)}
    assert details["long#8"] == (
        "'do H' 280 to 320; in [280, 360) s with 2 steps, 2 categories, longest run 1"
    )
    assert details["long#7"] == "'do X' None to None"
    assert (found.rules, found.recordings, found.clips, found.videos) == (
        DEFAULT.signature,
        2,
        1,
        1,
    )
    assert (found.segments, found.segments_in_clips, found.cut) == (12, 7, 0)
    assert found.rejected == {"few_steps": 1, "tail": 1}
    assert found.dropped == {"few_steps": 2, "skipped": 1, "tail": 2}
    assert (found.seconds.mean, found.steps.median, found.lengths) == (
        280.0,
        7.0,
        ((270.0, 1),),
    )
    assert (found.out, found.dropped_file) == (str(out), str(out.parent / "clips.dropped.jsonl"))
    msgspec.json.encode(found)


def test_no_recordings_give_an_empty_file_and_numbers(out: Path):
    found = derive_clips([], out)
    assert out.read_bytes() == dropped_file(out).read_bytes() == b""
    assert (found.clips, found.seconds, found.dropped) == (0, None, {})


def test_recordings_that_cannot_be_right_are_listed_and_the_others_cut(out: Path):
    broken = recording("broken", steps("ABCDEFG", 40), duration=math.nan)
    found = derive_clips([broken, LONG, LONG, replace(LONG, id="other")], out)
    assert [c.recording_id for c in iter_clips(out)] == ["long", "other"]
    assert [d for d in dropped(out) if d[1] in {"bad_duration", "repeated"}] == [
        ("broken", "bad_duration"),
        ("long", "repeated"),
    ]
    assert found.recordings == 4


def test_odd_annotations_are_counted(out: Path):
    odd = recording("odd", (*steps("AB", 10)[::-1], Segment("C", "C", 5.0, 5.0)), duration=15.0)
    assert derive_clips([odd, SHORT], out).oddities == {
        "beyond_video": 1,
        "nested": 1,
        "overlapping": 2,
        "unsorted": 1,
        "zero_length": 1,
    }


def test_recordings_are_read_as_they_come(out: Path):
    given: list[int] = []
    told: list[int] = []

    def stream() -> Iterator[Recording]:
        for number in range(50):
            assert len(told) == number  # the one before is done
            given.append(number)
            yield replace(LONG, id=str(number))

    assert derive_clips(stream(), out, seen=lambda: told.append(1)).clips == 50
    assert len(told) == 50


def test_nothing_is_written_when_the_recordings_break_off(out: Path):
    derive_clips([LONG], out)
    before = out.read_bytes(), dropped_file(out).read_bytes()

    def broken() -> Iterator[Recording]:
        yield SHORT
        raise UserError("line 2 is no recording.")

    with pytest.raises(UserError, match="line 2"):
        derive_clips(broken(), out)
    assert (out.read_bytes(), dropped_file(out).read_bytes()) == before
    assert sorted(p.name for p in out.parent.iterdir()) == ["clips.dropped.jsonl", "clips.jsonl"]


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        derive_clips([LONG], tmp_path / "file" / "clips.jsonl")


def test_the_same_again_gives_the_same_bytes(out: Path):
    derive_clips([LONG, SHORT], out)
    before = out.read_bytes(), dropped_file(out).read_bytes()
    derive_clips(iter([LONG, SHORT]), out)
    assert (out.read_bytes(), dropped_file(out).read_bytes()) == before


def test_a_text_of_any_length_does_not_fill_the_list(out: Path):
    huge = recording("r", (Segment("a", "x" * 10**6, 1.0, 0.0), Segment("a", "\x1b[2J\n", 10**300, 1.0)))
    derive_clips([huge], out)
    assert len(dropped_file(out).read_bytes()) < 500
    assert [d[1] for d in dropped(out)] == ["swapped", "swapped"]


# -- prefixes --------------------------------------------------------------------------------------------------------


def test_prefixes_end_with_every_step(out: Path):
    found = derive_clips([LONG], out, PrefixRules())
    assert [c.end for c in iter_clips(out)] == [40.0 * n for n in range(1, 10)]
    assert [len(c.segments) for c in iter_clips(out)] == list(range(1, 10))
    assert dropped(out) == [("long#7", "skipped")]
    assert found.left_out == {"later": sum(range(9)), "skipped": 9}
    assert found.rules == "prefix|running:cut|margin:0|earliest:0"
    assert (found.segments_in_clips, found.rejected) == (9, {})


def test_prefixes_end_at_the_moments_that_are_given(out: Path):
    moments: dict[str, list[Any]] = {"long": [50.0, 50, 500.0, math.nan, -1.0], "gone": [3.0]}
    found = derive_clips([LONG, SHORT], out, PrefixRules(earliest=5.0), moments=moments)
    (clip,) = iter_clips(out)
    assert (clip.end, clip.positions, clip.segments[-1].cut) == (50.0, (0, 1), "end")
    assert found.cut == 1
    listed = Counter(dropped(out))
    assert listed[("long_0-500.0", "bad_moment")] == 1
    assert listed[("long_0-nan", "bad_moment")] == 1
    assert listed[("long_0--1.0", "bad_moment")] == 1
    assert listed[("short", "no_moment")] == 1
    assert listed[("gone", "no_recording")] == 1
    assert sum(reason == "later" for _, reason in listed) == 7


@pytest.mark.parametrize(
    ("running", "positions", "reason"),
    [
        ("cut", (0, 1), None),
        ("drop", (0,), ("r#1", "crosses_edge")),
        ("refuse", None, ("r_0-10.0", "running")),
    ],
)
def test_what_becomes_of_a_step_that_still_runs(out: Path, running: Any, positions: Any, reason: Any):
    r = recording("r", (Segment("a", "a", 0.0, 10.0), Segment("b", "b", 5.0, 20.0)))
    derive_clips([r], out, PrefixRules(running), moments={"r": [10.0]})
    assert [c.positions for c in iter_clips(out)] == ([] if positions is None else [positions])
    assert reason is None or reason in dropped(out)


def test_early_moments_give_no_clip(out: Path):
    derive_clips([SHORT], out, PrefixRules(earliest=10.5))
    assert [c.end for c in iter_clips(out)] == [20.0]
    assert dropped(out) == [("short_0-10.0", "early")]


def test_moments_are_for_prefixes(out: Path):
    with pytest.raises(UserError, match="moments are for prefix clips"):
        derive_clips([LONG], out, moments={"long": [3.0]})


@pytest.mark.parametrize(
    "given",
    [{"running": "keep"}, {"margin": -1.0}, {"margin": math.nan}, {"earliest": math.inf}, {"earliest": "5"}],
)
def test_settings_that_cannot_be_are_refused(given: Any):
    with pytest.raises(UserError, match="prefix clips: "):
        PrefixRules(**given)


def test_prefix_variants_have_names():
    assert prefix_rules("promqa") == PREFIX_VARIANTS["promqa"]
    with pytest.raises(UserError, match=r"no variant 'best'(.|\n)*default, promqa"):
        prefix_rules("best")


def same_as_examples(recordings: Any, graphs: Any, out: Path) -> int:
    """Compare the clips of ``promqa`` with what the examples say: the same moments and the same steps in them."""
    examples = [
        e
        for e in derive_examples(recordings, graphs, CORRECTED)
        if isinstance(e, Example) and e.current is not None
    ]
    derive_clips(recordings, out, PREFIX_VARIANTS["promqa"])
    made = {(c.recording_id, c.end): c for c in iter_clips(out)}
    asked = {(e.recording_id, e.end): e for e in examples}
    assert set(made) >= set(asked)  # a moment of a repetition that is unclear has no example
    by_id = {r.id: r for r in recordings}
    for key, example in asked.items():
        steps_then = sorted((p.start, p.end, p.step_id) for p in example.performed)
        segments = by_id[key[0]].segments
        shown = sorted((segments[p].start, segments[p].end, segments[p].step_id) for p in made[key].positions)
        assert shown == steps_then, key
        assert not any(s.cut for s in made[key].segments)
    moments = example_moments(examples)
    derive_clips(recordings, out, PREFIX_VARIANTS["promqa"], moments=moments)
    assert {(c.recording_id, c.end) for c in iter_clips(out)} == set(asked)
    return len(made)


def test_promqa_prefixes_are_the_moments_of_the_examples(out: Path):
    read = load_dataset("plain").read(sample(), "corrected")
    assert same_as_examples(read.recordings, read.graphs, out) > 20


@pytest.mark.shared
def test_promqa_prefixes_are_the_moments_of_the_examples_of_captaincook4d(shared_data: Path, out: Path):
    read = load_dataset("captaincook4d").read(shared_data / "captaincook4d", "corrected")
    assert same_as_examples(read.recordings, read.graphs, out) == 5_111


def test_the_code_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    page = (Path(__file__).resolve().parents[2] / "docs" / "clips.md").read_text(encoding="utf-8")
    code = page.split("```python\n")[1].split("```")[0]
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "docs/clips.md", "exec"), {})
    assert (tmp_path / "bench" / "clips" / "clips.jsonl").is_file()
    assert sum(1 for _ in iter_clips(tmp_path / "bench" / "prefixes.jsonl")) > 20


# -- real and wild ---------------------------------------------------------------------------------------------------


@pytest.mark.shared
def test_goalstep_validation(shared_data: Path, out: Path):
    with gzip.open(shared_data / "steps" / "goalstep_val.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    recordings = [
        Recording(
            row["video_id"],
            row["goal_category"],
            row["goal"],
            tuple(Segment(s["category"], s["text"], s["start"], s["end"]) for s in row["steps"]),
            row["end"],
        )
        for row in rows
    ]
    found = derive_clips(recordings, out)
    assert (found.clips, found.videos, found.recordings) == (153, 64, 134)
    assert found.oddities == {"beyond_video": 11, "nested": 67, "overlapping": 60, "unsorted": 2}
    assert found.segments == 3349
    assert found.segments_in_clips + sum(found.dropped.values()) == 3349
    assert sum(len(c.segments) for c in iter_clips(out)) == found.segments_in_clips


any_time = st.none() | st.floats(allow_nan=True) | st.floats(-5, 600)
any_recording = st.builds(
    lambda id_, spans, duration: recording(
        id_, tuple(Segment(n, n, start, end) for n, start, end in spans), duration=duration
    ),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=3),
    st.lists(st.tuples(st.sampled_from("ABCDE"), any_time, any_time), max_size=15),
    st.none() | st.floats(),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60)
@given(
    st.lists(any_recording, max_size=4),
    st.sampled_from([*VARIANTS.values(), *PREFIX_VARIANTS.values(), PrefixRules("drop")]),
)
def test_every_segment_is_in_a_clip_or_in_the_drop_list(out: Path, recordings: list[Recording], rules: Any):
    found = derive_clips(recordings, out, rules)
    listed = dropped(out)
    inside = {(c.recording_id, p) for c in iter_clips(out) for p in c.positions}
    whole = {id_ for id_, reason in listed if reason in {"bad_duration", "no_moment"}}
    seen: set[str] = set()
    for r in recordings:
        if r.id in seen:
            assert (r.id, "repeated") in listed
            continue
        seen.add(r.id)
        for position in range(len(r.segments)):
            times = sum(d[0] == f"{r.id}#{position}" for d in listed)
            assert times == (0 if r.id in whole or (r.id, position) in inside else 1)
    own = {"bad_duration", "repeated", "no_moment", "early", "running", "bad_moment"}
    assert {part for _, reason in listed for part in reason.split("+")} <= own | set(REASONS)
    assert found.dropped == dict(sorted(Counter(reason for _, reason in listed).items()))
    assert found.clips == sum(1 for _ in iter_clips(out))


@given(st.binary(max_size=200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=40)
def test_a_file_of_clips_may_be_broken_in_any_way(tmp_path: Path, tail: bytes):
    file = tmp_path / "clips.jsonl"
    derive_clips([LONG], file)
    file.write_bytes(file.read_bytes()[:300] + tail)
    with pytest.raises(UserError, match=r"clips\.jsonl:1"):
        list(iter_clips(file))


# -- cutting ---------------------------------------------------------------------------------------------------------


def clip_of(id_: str, end: float, start: float = 0.0) -> Clip:
    return replace(prefix_clip(recording(id_, steps("AB", 1.0)), end), start=start, id=f"{id_}_{start}-{end}")


@pytest.fixture(scope="module")
def footage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with videos of two seconds, thirty pictures a second."""
    av = pytest.importorskip("av", reason="the extra 'video' is not installed")
    import numpy as np

    folder = tmp_path_factory.mktemp("footage")
    for name in ("tea.mp4", "cake.mp4"):
        with av.open(str(folder / name), "w") as container:
            stream = container.add_stream("libx264", rate=30)
            stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
            for number in range(60):
                image = np.full((48, 64, 3), number * 4, np.uint8)
                frame = av.VideoFrame.from_ndarray(image, format="rgb24")
                frame.pts, frame.time_base = number, Fraction(1, 30)
                container.mux(stream.encode(frame))
            container.mux(stream.encode(None))
    (folder / "bad.mp4").write_bytes(b"no video")
    return folder


@pytest.fixture
def videos(footage: Path) -> Videos:
    return Videos(footage, lambda: ("tea", "cake", "bad", "gone"))


def length(path: Path) -> float:
    from proctor.media.probe import probe

    return probe(path).duration


def test_videos_are_cut_and_listed(videos: Videos, tmp_path: Path):
    clips = [clip_of("tea", 1.5), clip_of("cake", 2.0, 1.0)]
    told: list[int] = []
    found = cut_clips(clips, videos, tmp_path / "cut", seen=lambda: told.append(1))
    assert msgspec.to_builtins(found) == {
        "clips": 2,
        "cut": 2,
        "shorter": 0,
        "dropped": {},
        "folder": str(tmp_path / "cut"),
    }
    listed = read_jsonl(tmp_path / "cut" / "clips.jsonl", ClipFile)
    assert [(f.clip_id, f.file, f.video) for f in listed] == [
        ("tea_0.0-1.5", "tea_0.0-1.5.mp4", "tea.mp4"),
        ("cake_1.0-2.0", "cake_1.0-2.0.mp4", "cake.mp4"),
    ]
    assert [length(tmp_path / "cut" / f.file) for f in listed] == pytest.approx([1.5, 1.0], abs=0.05)
    assert len(told) == 2


def test_files_that_are_shorter_than_their_clips_are_told(videos: Videos, tmp_path: Path):
    clips = [replace(clip_of("tea", 1.0), end=9.0), clip_of("cake", 2.0), clip_of("tea", 0.02)]
    assert cut_clips(clips, videos, tmp_path).shorter == 1
    files = read_jsonl(tmp_path / "clips.jsonl", ClipFile)
    assert [f.seconds for f in files] == [pytest.approx(2.0, abs=0.05), pytest.approx(2.0, abs=0.05), None]
    assert files[0].end == 9.0


def test_what_is_there_is_not_cut_again(videos: Videos, footage: Path, tmp_path: Path):
    clips = [clip_of("tea", 1.0), clip_of("cake", 1.0)]
    cut_clips(clips[:1], videos, tmp_path)
    before = (tmp_path / "tea_0.0-1.0.mp4").stat().st_mtime_ns
    assert cut_clips(clips, videos, tmp_path).cut == 1
    assert (tmp_path / "tea_0.0-1.0.mp4").stat().st_mtime_ns == before
    os.utime(tmp_path / "tea_0.0-1.0.mp4", (1, 1))  # older than the video
    found = cut_clips(clips, videos, tmp_path)
    assert (found.cut, found.clips) == (1, 2)


def test_a_height_is_in_the_name(videos: Videos, tmp_path: Path):
    cut_clips([clip_of("tea", 1.0)], videos, tmp_path, height=24)
    from proctor.media.probe import probe

    assert probe(tmp_path / "tea_0.0-1.0_24p.mp4").height == 24


@pytest.mark.parametrize("height", [-5, 0, 1, 10**9])
def test_a_height_that_no_picture_has_is_refused(videos: Videos, tmp_path: Path, height: int):
    with pytest.raises(UserError, match="pixels"):
        cut_clips([clip_of("tea", 1.0)], videos, tmp_path / "cut", height=height)
    assert not (tmp_path / "cut").exists()


def test_videos_that_fail_are_listed_and_the_next_is_cut(videos: Videos, tmp_path: Path):
    clips = [
        clip_of("gone", 1.0),
        clip_of("bad", 1.0),
        replace(clip_of("tea", 1.0), start=5.0, end=6.0, id="after-the-end"),
        replace(clip_of("tea", 1.0), start=1.0, end=0.5, id="swapped"),
        replace(clip_of("tea", 1.0), video="../tea.mp4", id="outside"),
        clip_of("tea", 1.0),
        clip_of("tea", 1.0),
    ]
    found = cut_clips(clips, videos, tmp_path)
    assert (found.clips, found.cut) == (1, 1)
    assert dropped(tmp_path / "clips.jsonl") == [
        ("gone_0.0-1.0", "no_video"),
        ("bad_0.0-1.0", "not_cut"),
        ("after-the-end", "not_cut"),
        ("swapped", "not_cut"),
        ("outside", "no_video"),
        ("tea_0.0-1.0", "repeated"),
    ]
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "clips.dropped.jsonl",
        "clips.jsonl",
        "tea_0.0-1.0.mp4",
    ]


def test_without_a_folder_of_videos_all_are_listed(tmp_path: Path):
    assert cut_clips([clip_of("tea", 1.0)], Videos(None), tmp_path).dropped == {"no_video": 1}


@pytest.mark.parametrize("id_", ["../../etc/passwd", "a/b", "a\0b", "é" * 300, "", ".", "con:", "x" * 5000])
def test_no_id_leads_out_of_the_folder(videos: Videos, tmp_path: Path, id_: str):
    clip = replace(clip_of("tea", 0.5), id=id_)
    assert cut_clips([clip], videos, tmp_path / "cut").clips == 1
    (file,) = read_jsonl(tmp_path / "cut" / "clips.jsonl", ClipFile)
    assert (tmp_path / "cut" / file.file).is_file()
    assert [p.name for p in tmp_path.iterdir()] == ["cut"]


def test_ids_that_look_alike_as_names_are_two_files(videos: Videos, tmp_path: Path):
    clips = [replace(clip_of("tea", 0.5), id=id_) for id_ in ("a/b", "a:b", "a-b")]
    assert cut_clips(clips, videos, tmp_path).clips == 3
    assert len(list(tmp_path.glob("*.mp4"))) == 3


def test_a_folder_that_cannot_be_written_ends_it(
    videos: Videos, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        cut_clips([clip_of("tea", 0.5)], videos, tmp_path / "file")

    def full(*_: Any, **__: Any) -> None:
        raise UserError("cannot be written: No space left on device.") from OSError(
            28, "No space left on device"
        )

    monkeypatch.setattr("proctor.media.clips.cut_clip", full)
    with pytest.raises(UserError, match="No space left"):
        cut_clips([clip_of("tea", 0.5)], videos, tmp_path / "cut")
    assert not (tmp_path / "cut" / "clips.jsonl").exists()


def test_a_missing_extra_ends_it(videos: Videos, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def missing(*_: Any, **__: Any) -> None:
        raise MissingExtraError("av", "video", "Cutting videos")

    monkeypatch.setattr("proctor.media.clips.cut_clip", missing)
    with pytest.raises(MissingExtraError):
        cut_clips([clip_of("tea", 0.5)], videos, tmp_path)

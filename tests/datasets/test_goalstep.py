"""Goal-Step: two levels, flags, times of the annotated part; the validation split at full size and its clips."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.datasets.attacks import FAMILIES, survive
from tests.datasets.original_layout import goalstep, read_rows, write_goalstep

from proctor.datasets.dataset import ReadResult
from proctor.datasets.goalstep import DATASET
from proctor.errors import UserError
from proctor.procedure.recording import Recording, Segment
from proctor.procedure.trim_rules import VARIANTS, trim_recording

UID = "00000000-aaaa-4000-8000-00000000000"


@pytest.fixture
def fixture(tests_data: Path) -> Path:
    return tests_data / "datasets" / "goalstep"


def segment(start: Any = 5.0, end: Any = 20.0, *, substeps: Any = (), **changes: Any) -> dict[str, Any]:
    whole = {
        "start_time": start,
        "end_time": end,
        "step_category": "Drinks: Boil water",
        "step_description": "Boils water\n",
        "is_continued": False,
        "is_procedural": True,
        "is_relevant": "essential",
        "summary": [],
        "segments": list(substeps) if isinstance(substeps, tuple) else substeps,
    }
    return {k: v for k, v in (whole | changes).items() if v is not ...}


def video(*segments: Any, **changes: Any) -> dict[str, Any]:
    whole = {
        "video_uid": "v",
        "start_time": 0.5,
        "end_time": 100.0,
        "goal_category": "COOKING:MAKE_TEA",
        "goal_description": "Makes tea",
        "goal_wikihow_url": "",
        "summary": [],
        "is_procedural": True,
        "segments": list(segments),
    }
    return {k: v for k, v in (whole | changes).items() if v is not ...}


def read(folder: Path, *videos: Any, level: str = "step", **top: Any) -> ReadResult:
    document = {"version": "1.0", "split": "val", "videos": list(videos)} | top
    (folder / "goalstep_valid.json").write_text(json.dumps(document))
    return DATASET.read(folder, "published", level=level)


def rules(result: ReadResult) -> list[str]:
    return [f.rule for f in result.findings]


def reasons(result: ReadResult) -> list[str]:
    return [d.reason for d in result.dropped]


def test_a_video_becomes_a_recording(tmp_path: Path):
    result = read(tmp_path, video(segment()))
    (recording,) = result.recordings
    assert recording.id == "v"
    assert (recording.activity_id, recording.activity_name) == ("COOKING:MAKE_TEA", "Makes tea")
    assert recording.duration == 100.0
    assert recording.attributes == {"split": "val", "procedural": "true", "annotated_from": "0.5"}
    assert recording.segments == (Segment("Drinks: Boil water", "Boils water", 5.0, 20.0),)
    assert (result.findings, result.dropped) == ((), ())
    assert result.counts == {"videos": 1, "steps": 1, "steps_essential": 1}


def test_substeps_replace_a_step_that_has_any_at_the_level_of_leaves(tmp_path: Path):
    parts = (segment(6, 9, step_category="fill"), segment(9, 25, step_category="switch on"))
    entry = video(segment(substeps=parts), segment(30, 40, step_category="pour"))
    steps, leaves = (read(tmp_path, entry, level=level).recordings[0] for level in ("step", "leaf"))
    assert [s.step_id for s in steps.segments] == ["Drinks: Boil water", "pour"]
    assert [s.step_id for s in leaves.segments] == ["fill", "switch on", "pour"]


def test_leaves_are_sorted_over_the_whole_video(tmp_path: Path):
    late = segment(50, 60, substeps=(segment(2, 3, step_category="early"),))
    recording = read(tmp_path, video(segment(), late), level="leaf").recordings[0]
    assert [s.start for s in recording.segments] == [2.0, 5.0]


def test_both_levels_are_checked_whatever_is_asked_for(fixture: Path):
    step, leaf = (DATASET.read(fixture, "published", level=level) for level in ("step", "leaf"))
    assert step.findings == leaf.findings
    assert step.dropped == leaf.dropped
    assert step.counts == leaf.counts
    assert {*rules(step), *reasons(step)} <= set(DATASET.rules)
    assert Counter(rules(step)) == {
        "overlap": 3,
        "unsorted": 1,
        "zero-length": 1,
        "beyond-video": 1,
        "undocumented-relevance": 1,
        "substep-undocumented-relevance": 1,
        "missing-flags": 1,
        "substep-outside-step": 1,
    }


def test_a_step_that_is_dropped_leaves_its_substeps(tmp_path: Path):
    entry = video(segment(20, 5, substeps=(segment(6, 9, step_category="fill"),)), segment(30, 40))
    steps, leaves = (read(tmp_path, entry, level=level) for level in ("step", "leaf"))
    assert reasons(steps) == reasons(leaves) == ["swapped-times"]
    assert len(steps.recordings[0].segments) == 1
    assert [s.start for s in leaves.recordings[0].segments] == [6.0, 30.0]


def test_substeps_that_are_all_dropped_leave_their_step(tmp_path: Path):
    result = read(tmp_path, video(segment(substeps=(segment(-1, 3), 7))), level="leaf")
    assert reasons(result) == ["negative-time", "bad-time"]
    assert [d.id for d in result.dropped] == ["v: step 1.1", "v: step 1.2"]
    assert [s.start for s in result.recordings[0].segments] == [5.0]


@pytest.mark.parametrize("substeps", [None, 7, "x", {}, {"a": 1}])
def test_substeps_that_are_no_list_are_told(substeps: Any, tmp_path: Path):
    result = read(tmp_path, video(segment(substeps=substeps)), level="leaf")
    assert reasons(result) == ["bad-substeps"]
    assert len(result.recordings[0].segments) == 1


def test_a_third_level_is_told_and_left_out(tmp_path: Path):
    deep = segment(6, 9, substeps=(segment(7, 8),))
    result = read(tmp_path, video(segment(substeps=(deep,))), level="leaf")
    assert [(d.id, d.reason) for d in result.dropped] == [("v: step 1.1", "third-level")]
    assert [s.start for s in result.recordings[0].segments] == [6.0]


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"is_relevant": "unsure"}, "undocumented-relevance"),
        ({"is_relevant": None}, "undocumented-relevance"),
        ({"is_relevant": []}, "undocumented-relevance"),
        ({"is_relevant": ...}, "missing-flags"),
        ({"is_continued": ...}, "missing-flags"),
        ({"is_continued": "no"}, "odd-flag"),
        ({"is_procedural": None}, "odd-flag"),
        ({"step_category": ...}, "no-category"),
        ({"step_category": 7}, "no-category"),
        ({"start_time": 0.25}, "before-video"),
        ({"end_time": 100.5}, "beyond-video"),
        ({"end_time": 5.0}, "zero-length"),
    ],
)
def test_oddities_of_a_step_are_told_and_it_stays(changes: dict[str, Any], rule: str, tmp_path: Path):
    result = read(tmp_path, video(segment(**changes)))
    assert rules(result) == [rule]
    assert result.findings[0].where == "v: step 1"
    assert len(result.recordings[0].segments) == 1
    assert result.dropped == ()
    result = read(tmp_path, video(segment(0.1, 200, substeps=(segment(**changes),))))
    assert f"substep-{rule}" in rules(result)
    assert f"substep-{rule}" in DATASET.rules


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"start_time": ...}, "bad-time"),
        ({"end_time": None}, "bad-time"),
        ({"end_time": "20"}, "bad-time"),
        ({"end_time": float("nan")}, "bad-time"),
        ({"start_time": -0.1}, "negative-time"),
        ({"end_time": 4.9}, "swapped-times"),
        ({"step_description": ...}, "no-text"),
        ({"step_description": 7}, "no-text"),
    ],
)
def test_a_step_that_makes_no_sense_is_dropped(changes: dict[str, Any], reason: str, tmp_path: Path):
    result = read(tmp_path, video(segment(**changes), segment(30, 40)))
    assert [(d.id, d.reason) for d in result.dropped] == [("v: step 1", reason)]
    assert len(result.recordings[0].segments) == 1


def test_videos_that_are_none(tmp_path: Path):
    bad = (
        None,
        7,
        [],
        {},
        video(segment(), segments=None),
        video(segment(), video_uid=...),
        video(segment(), video_uid=7),
    )
    result = read(tmp_path, *bad, video(segment()), video(segment()), video(video_uid="empty"))
    assert [r.id for r in result.recordings] == ["v"]
    assert reasons(result) == ["bad-record"] * 5 + ["bad-id"] * 2 + ["duplicate-id", "no-steps"]


def test_fields_of_a_video(tmp_path: Path):
    result = read(
        tmp_path, video(segment(), end_time=None, start_time="x", goal_category=7, goal_description=None)
    )
    recording = result.recordings[0]
    assert recording.duration is None
    assert (recording.activity_id, recording.activity_name) == ("unknown", "unknown")
    assert "annotated_from" not in recording.attributes
    assert sorted(rules(result)) == ["no-activity", "odd-duration", "odd-field"]


def test_the_test_file_has_no_times(fixture: Path):
    result = DATASET.read(fixture)
    (dropped,) = result.dropped
    assert (dropped.id, dropped.reason) == (f"{UID}9", "no-times")
    assert len(result.recordings) == 2


@pytest.mark.parametrize("text", ["{}", "[]", "7", '{"videos": []}', '{"videos": {}}', '{"videos": null}'])
def test_a_file_without_videos_is_refused(text: str, tmp_path: Path):
    (tmp_path / "goalstep_train.json").write_text(text)
    with pytest.raises(UserError, match="no list of 'videos'") as caught:
        DATASET.read(tmp_path)
    assert caught.value.where == str(tmp_path / "goalstep_train.json")


def test_a_split_that_is_not_said_is_told(tmp_path: Path):
    result = read(tmp_path, video(segment()), split=7)
    assert [(f.rule, f.where) for f in result.findings] == [("odd-field", "goalstep_valid.json")]
    assert "split" not in result.recordings[0].attributes


def test_levels_are_those_that_are_declared(fixture: Path):
    with pytest.raises(UserError, match="level is 'substep'"):
        next(DATASET.iter_records(fixture, level="substep"))


@pytest.mark.parametrize("family", FAMILIES)
def test_it_survives(family: str, fixture: Path, tmp_path: Path):
    assert survive(DATASET, fixture, tmp_path, family)


# -- the real annotations ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_goalstep(shared_data, tmp_path_factory.mktemp("goalstep"))


@pytest.mark.shared
def test_the_validation_split(whole: Path):
    result = DATASET.read(whole)
    assert len(result.recordings) == 134
    assert sum(len(r.segments) for r in result.recordings) == result.counts["steps"] == 3349
    assert result.counts["substeps"] == 4347
    assert result.counts["steps_unsure"] == 87
    assert result.dropped == ()
    assert {rule: n for rule, n in Counter(rules(result)).items() if not rule.startswith("substep-")} == {
        "unsorted": 2,
        "overlap": 60,
        "overlap-earlier": 42,
        "undocumented-relevance": 87,
        "missing-flags": 1,
        "before-video": 21,
        "beyond-video": 11,
    }


@pytest.mark.shared
def test_published_figures_are_found(whole: Path):
    assert DATASET.measure is not None
    found = DATASET.measure(whole)
    for published in DATASET.published:
        same = round(found[published.quantity], published.digits) == published.value
        assert same != bool(published.why), published
    assert round(found["mean_video_minutes"], 2) == 27.97


def summary(recordings: tuple[Recording, ...], variant: str) -> dict[str, float]:
    trimmed = [trim_recording(r, VARIANTS[variant]) for r in recordings]
    clips = [clip for t in trimmed for clip in t.clips]
    return {
        "clips": len(clips),
        "videos_with_clip": sum(bool(t.clips) for t in trimmed),
        "mean_duration": math.fsum(c.seconds for c in clips) / len(clips),
        "mean_steps": sum(len(c.segments) for c in clips) / len(clips),
    }


@pytest.mark.shared
def test_clips_of_the_validation_split_are_the_measured_ones(
    whole: Path, shared_expected: Callable[[str], dict[str, Any]]
):
    expected = shared_expected("smmqg-instructionbench")["trimming"]["real_goalstep_val_134_videos"]
    assert len(expected) == 8  # five written down and three more
    levels = {level: DATASET.read(whole, "published", level=level).recordings for level in ("step", "leaf")}
    for name, numbers in expected.items():
        level, variant = name.split("/")
        found = summary(levels[level], variant.split("=")[-1])
        assert found == pytest.approx(numbers, abs=0.00051), name  # the rows are rounded to milliseconds


@pytest.mark.shared
def test_the_sample_of_the_release_is_what_the_rows_give(shared_data: Path, tmp_path: Path):
    sample = json.loads((shared_data / "steps" / "raw_goalstep_sample.json").read_text())
    wanted = [v["video_uid"] for v in sample["videos"]]
    rows = {r["video_id"]: r for r in read_rows(shared_data / "steps" / "goalstep_val.jsonl.gz")}
    ours = goalstep([rows[uid] for uid in wanted])
    for folder, document in (("ours", ours), ("theirs", sample)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "goalstep_valid.json").write_text(json.dumps(document))
    for level in ("step", "leaf"):
        mine, theirs = (DATASET.read(tmp_path / f, "published", level=level) for f in ("ours", "theirs"))
        assert theirs.dropped == ()
        assert [(r.id, r.duration, r.activity_id) for r in mine.recordings] == [
            (r.id, r.duration, r.activity_id) for r in theirs.recordings
        ]
        for one, other in zip(mine.recordings, theirs.recordings, strict=True):
            assert [(s.step_id, s.text) for s in one.segments] == [
                (s.step_id, s.text) for s in other.segments
            ]
            assert times(one) == pytest.approx(times(other), abs=0.0005)  # the rows were rounded


def times(recording: Recording) -> list[float]:
    return [t for s in recording.segments for t in (s.start, s.end) if t is not None]

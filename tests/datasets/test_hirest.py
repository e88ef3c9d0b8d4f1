"""HiREST: pairs, moments and steps; the whole data set at full size, and what the reader survives."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.datasets.attacks import FAMILIES, survive
from tests.datasets.original_layout import hirest, read_rows, write_hirest

from proctor.datasets.dataset import ReadResult
from proctor.datasets.hirest import DATASET
from proctor.errors import UserError
from proctor.procedure.recording import Segment

QUERY = "Fold a Boat"


@pytest.fixture
def fixture(tests_data: Path) -> Path:
    return tests_data / "datasets" / "hirest"


def pair(**changes: Any) -> dict[str, Any]:
    whole = {
        "relevant": True,
        "clip": True,
        "v_duration": 100.5,
        "bounds": [10, 50],
        "steps": [
            {"index": 0, "heading": "fold the sheet ", "absolute_bounds": [10, 30]},
            {"index": 1, "heading": "open the hat", "absolute_bounds": [30, 50]},
        ],
    }
    return {k: v for k, v in (whole | changes).items() if v is not ...}


def read(folder: Path, queries: Any, split: str = "train") -> ReadResult:
    (folder / f"all_data_{split}.json").write_text(json.dumps(queries))
    return DATASET.read(folder)


def rules(result: ReadResult) -> list[str]:
    return [f.rule for f in result.findings]


def reasons(result: ReadResult) -> list[str]:
    return [d.reason for d in result.dropped]


def test_a_pair_becomes_a_recording(tmp_path: Path):
    result = read(tmp_path, {QUERY: {"vid-1.mp4": pair()}})
    (recording,) = result.recordings
    assert recording.id == "vid-1"
    assert (recording.activity_id, recording.activity_name) == (QUERY, QUERY)
    assert recording.duration == 100.5
    assert recording.attributes == {"split": "train", "moment_start": "10", "moment_end": "50"}
    assert recording.segments == (
        Segment("0", "fold the sheet", 10.0, 30.0),
        Segment("1", "open the hat", 30.0, 50.0),
    )
    assert (result.findings, result.dropped) == ((), ())
    assert result.counts == {"queries": 1, "pairs": 1, "videos": 1, "steps": 2}


def test_pairs_without_steps_are_listed_with_why(fixture: Path):
    result = DATASET.read(fixture)
    assert [r.id for r in result.recordings] == ["paperboat01", "houseplant1", "paperboat01+2", "pencil00001"]
    assert [r.attributes["split"] for r in result.recordings] == ["train", "train", "train", "val"]
    assert sorted(reasons(result)) == ["no-moment", "no-steps", "not-relevant"]
    assert sorted(rules(result)) == ["video-again", "zero-length"]
    assert result.counts["pairs"] == len(result.recordings) + len(result.dropped)
    assert {*reasons(result), *rules(result)} <= set(DATASET.rules)


def test_a_moment_that_the_steps_do_not_tile(tmp_path: Path):
    for bounds in ([9, 50], [10, 51], [10, 30]):
        assert rules(read(tmp_path, {QUERY: {"v.mp4": pair(bounds=bounds)}})) == ["not-tiled"]
    gap = pair()
    gap["steps"][1]["absolute_bounds"] = [31, 50]
    assert rules(read(tmp_path, {QUERY: {"v.mp4": gap}})) == ["not-tiled"]


@pytest.mark.parametrize(
    "bounds", [..., None, [], [10], [50, 10], [-1, 50], ["10", 50], [10, float("nan")], 7]
)
def test_a_moment_that_is_none_is_told_and_the_steps_stay(bounds: Any, tmp_path: Path):
    result = read(tmp_path, {QUERY: {"v.mp4": pair(bounds=bounds)}})
    assert rules(result) == ["odd-moment"]
    assert "moment_start" not in result.recordings[0].attributes
    assert len(result.recordings[0].segments) == 2


@pytest.mark.parametrize("flag", ["relevant", "clip"])
def test_flags(flag: str, tmp_path: Path):
    for odd in (..., None, "true", 1):
        result = read(tmp_path, {QUERY: {"v.mp4": pair(**{flag: odd})}})
        assert rules(result) == ["odd-flag"]
        assert len(result.recordings) == 1
    result = read(tmp_path, {QUERY: {"v.mp4": pair(**{flag: False})}})
    assert rules(result) == ["steps-without-moment"]
    assert len(result.recordings) == 1


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"absolute_bounds": ...}, "bad-time"),
        ({"absolute_bounds": [10]}, "bad-time"),
        ({"absolute_bounds": [None, 30]}, "bad-time"),
        ({"absolute_bounds": [10, float("inf")]}, "bad-time"),
        ({"absolute_bounds": [-5, 30]}, "negative-time"),
        ({"absolute_bounds": [30, 10]}, "swapped-times"),
        ({"heading": ...}, "no-text"),
        ({"heading": "  "}, "no-text"),
        ({"heading": ["fold"]}, "no-text"),
    ],
)
def test_a_step_that_makes_no_sense_is_dropped_and_the_others_stay(
    changes: dict[str, Any], reason: str, tmp_path: Path
):
    broken = pair()
    broken["steps"][0] = {k: v for k, v in (broken["steps"][0] | changes).items() if v is not ...}
    result = read(tmp_path, {QUERY: {"v.mp4": broken}})
    assert [(d.id, d.reason) for d in result.dropped] == [("v: step 1", reason)]
    assert [s.step_id for s in result.recordings[0].segments] == ["1"]
    assert "not-tiled" in rules(result)


@pytest.mark.parametrize("index", [..., None, "x", True, 1.5])
def test_a_step_without_a_number_gets_its_place(index: Any, tmp_path: Path):
    odd = pair()
    odd["steps"][1] = {k: v for k, v in (odd["steps"][1] | {"index": index}).items() if v is not ...}
    result = read(tmp_path, {QUERY: {"v.mp4": odd}})
    assert rules(result) == ["no-step-id"]
    assert [s.step_id for s in result.recordings[0].segments] == ["0", "1"]


@pytest.mark.parametrize("value", [None, 7, "x", [], {}, {"steps": None}, {"steps": {}}])
def test_a_pair_that_is_none_is_dropped(value: Any, tmp_path: Path):
    result = read(tmp_path, {QUERY: {"broken.mp4": value, "v.mp4": pair()}})
    assert [r.id for r in result.recordings] == ["v"]
    assert reasons(result) == ["bad-record"]
    assert "broken.mp4" in result.dropped[0].id


def test_queries_that_are_none(tmp_path: Path):
    result = read(tmp_path, {"a": None, "b": [], "c": {}, " ": {"v.mp4": pair()}})
    assert reasons(result) == ["bad-record", "bad-record"]
    assert rules(result) == ["no-videos", "no-activity"]
    assert result.recordings[0].activity_name == "unknown"


def test_the_same_video_under_three_queries(tmp_path: Path):
    result = read(tmp_path, {q: {"v.mp4": pair()} for q in "abc"})
    assert [(r.id, r.activity_id) for r in result.recordings] == [("v", "a"), ("v+2", "b"), ("v+3", "c")]
    assert rules(result) == ["video-again"] * 2


def test_a_pair_that_is_there_twice_counts_once_and_is_told(tmp_path: Path):
    text = json.dumps({QUERY: {"v.mp4": pair(), "mark": pair(v_duration=5.0)}}).replace("mark", "v.mp4")
    (tmp_path / "all_data_val.json").write_text(text)
    result = DATASET.read(tmp_path)
    assert [(r.id, r.duration) for r in result.recordings] == [("v", 100.5)]
    assert [(d.id, d.reason) for d in result.dropped] == [("v.mp4", "repeated-key")]


@pytest.mark.parametrize("text", ["{}", "[]", "[[[1]]]", "7", "null", '"x"'])
def test_a_file_without_queries_is_refused(text: str, tmp_path: Path):
    (tmp_path / "all_data_train.json").write_text(text)
    with pytest.raises(UserError, match="no queries") as caught:
        DATASET.read(tmp_path)
    assert caught.value.where == str(tmp_path / "all_data_train.json")


@pytest.mark.parametrize("family", FAMILIES)
def test_it_survives(family: str, fixture: Path, tmp_path: Path):
    assert survive(DATASET, fixture, tmp_path, family)


# -- the real annotations ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_hirest(shared_data, tmp_path_factory.mktemp("hirest"))


@pytest.mark.shared
def test_the_whole_data_set(whole: Path):
    result = DATASET.read(whole)
    assert len(result.recordings) == 628
    assert sum(len(r.segments) for r in result.recordings) == 4751
    assert Counter(r.attributes["split"] for r in result.recordings) == {"train": 550, "val": 78}
    assert Counter(rules(result)) == {"zero-length": 18}  # so every moment is tiled
    assert result.dropped == ()


@pytest.mark.shared
def test_published_figures_are_found(whole: Path):
    assert DATASET.measure is not None
    found = DATASET.measure(whole)
    for published in DATASET.published:
        same = round(found[published.quantity], published.digits) == published.value
        assert same != bool(published.why), published


@pytest.mark.shared
def test_the_sample_of_the_release_is_what_the_rows_give(shared_data: Path, tmp_path: Path):
    sample = json.loads((shared_data / "steps" / "raw_hirest_sample.json").read_text())
    wanted = {name.removesuffix(".mp4") for videos in sample.values() for name in videos}
    rows = [r for r in read_rows(shared_data / "steps" / "hirest.jsonl") if r["video_id"] in wanted]
    assert hirest(rows) == sample
    result = read(tmp_path, sample)
    assert (len(result.recordings), result.dropped) == (4, ())

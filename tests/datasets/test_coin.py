"""COIN: subsets under both names, the region of interest, and everything that may be broken."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from tests.datasets.attacks import FAMILIES, survive
from tests.datasets.flips import survive_flips

from proctor.datasets.coin import DATASET
from proctor.datasets.dataset import Log, ReadResult
from proctor.errors import UserError
from proctor.procedure.recording import Segment


@pytest.fixture
def folder(tests_data: Path) -> Path:
    return tests_data / "datasets" / "coin"


ENTRY = {
    "duration": 50.0,
    "class": "RepotPlant",
    "video_url": "https://www.example.org/x",
    "start": 2,
    "end": 40,
    "subset": "training",
    "recipe_type": 12,
    "annotation": [
        {"id": "51", "label": "lift the plant out", "segment": [3, 12.5]},
        {"id": "52", "label": "put it into the new pot", "segment": [13, 40]},
    ],
}


def read(tmp_path: Path, **entries: Any) -> ReadResult:
    (tmp_path / "COIN.json").write_text(json.dumps({"database": entries}))
    return DATASET.read(tmp_path, "published")


def entry(**changes: Any) -> dict[str, Any]:
    return deepcopy(ENTRY) | changes


def rules(result: ReadResult) -> list[tuple[str, str]]:
    return [(f.rule, f.where) for f in result.findings] + [(d.reason, d.id) for d in result.dropped]


def test_the_fixture_is_read_whole(folder: Path):
    result = DATASET.read(folder)
    assert [r.id for r in result.recordings] == ["vidPump00001", "vidPump00002", "vidPot000003"]
    first = result.recordings[0]
    assert (first.activity_id, first.activity_name, first.duration) == ("7", "PumpUpTyre", 95.4)
    assert first.segments[0] == Segment("31", "unscrew the valve cap", 10.0, 14.0)
    assert [s.step_id for s in result.recordings[1].segments] == ["31", "32", "33", "31"]
    assert result.graphs == {}
    assert rules(result) == []
    assert result.counts == {
        "recordings": 3,
        "steps": 9,
        "videos in training": 1,
        "videos in testing": 1,
        "videos in validation": 1,
    }


def test_the_held_out_subset_has_two_names(folder: Path):
    recordings = DATASET.read(folder).recordings
    assert [(r.attributes["subset"], r.attributes["split"]) for r in recordings] == [
        ("training", "train"),
        ("testing", "test"),
        ("validation", "val"),
    ]


def test_an_unknown_subset_is_kept_and_told(tmp_path: Path):
    result = read(tmp_path, v=entry(subset="holdout"))
    assert result.recordings[0].attributes["split"] == "holdout"
    assert rules(result) == [("unknown-subset", "v")]


def test_the_region_of_interest_is_kept_and_cuts_nothing(tmp_path: Path):
    result = read(tmp_path, v=entry(start=5.5, end=30.25))
    recording = result.recordings[0]
    assert (recording.attributes["region_start"], recording.attributes["region_end"]) == ("5.5", "30.25")
    assert [(s.start, s.end) for s in recording.segments] == [(3.0, 12.5), (13.0, 40.0)]
    assert rules(result) == [("outside-region", "v: step 1"), ("outside-region", "v: step 2")]


@pytest.mark.parametrize(("start", "end"), [(9, 3), (-1, 3), (None, 3), ("x", 3), (0, float("nan"))])
def test_a_region_that_makes_no_sense_is_left_out_and_told(tmp_path: Path, start: object, end: object):
    result = read(tmp_path, v=entry(start=start, end=end))
    assert "region_start" not in result.recordings[0].attributes
    assert rules(result) == [("bad-field", "v/region")]


@pytest.mark.parametrize("duration", [0, -3, None, "x", float("nan"), float("inf"), 2e6])
def test_a_length_that_makes_no_sense_is_left_out_and_told(tmp_path: Path, duration: object):
    result = read(tmp_path, v=entry(duration=duration))
    assert result.recordings[0].duration is None
    assert rules(result) == [("bad-field", "v/duration")]


def test_odd_steps_are_kept_and_told(tmp_path: Path):
    steps = [("52", 20, 55), ("51", 4, 4), ("53", 4, 21)]
    listed = [{"id": i, "label": f"step {i}", "segment": [a, b]} for i, a, b in steps]
    result = read(tmp_path, v=entry(annotation=listed, end=60))
    assert [s.step_id for s in result.recordings[0].segments] == ["51", "53", "52"]
    assert rules(result) == [
        ("beyond-video", "v: step 1"),
        ("unsorted", "v: step 2"),
        ("overlap", "v: step 2"),
        ("zero-length", "v: step 2"),
        ("overlap-earlier", "v: step 1"),
    ]


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ({"id": "1", "label": "x", "segment": [5, 3]}, "swapped-times"),
        ({"id": "1", "label": "x", "segment": [-1, 3]}, "negative-time"),
        ({"id": "1", "label": "x", "segment": [float("nan"), 3]}, "bad-time"),
        ({"id": "1", "label": "x", "segment": ["a", 3]}, "bad-time"),
        ({"id": "1", "label": "x", "segment": [1]}, "bad-record"),
        ({"id": "1", "label": "", "segment": [1, 2]}, "bad-record"),
        ({"id": None, "label": "x", "segment": [1, 2]}, "bad-record"),
        ({"label": "x", "segment": [1, 2]}, "bad-record"),
        ("x", "bad-record"),
    ],
)
def test_a_step_that_makes_no_sense_costs_itself(tmp_path: Path, step: object, reason: str):
    result = read(tmp_path, v=entry(annotation=[*ENTRY["annotation"], step]))
    assert len(result.recordings[0].segments) == 2
    assert rules(result) == [(reason, "v: step 3")]
    assert result.dropped[0].detail
    assert reason in DATASET.rules


@pytest.mark.parametrize("field", ["class", "recipe_type", "annotation"])
def test_a_video_without_task_or_steps_costs_itself(tmp_path: Path, field: str):
    broken = entry()
    del broken[field]
    result = read(tmp_path, v=broken, w=entry())
    assert [r.id for r in result.recordings] == ["w"]
    assert rules(result) == [("bad-record", "v")]
    assert f"no {field}" in result.dropped[0].detail


def test_ids_may_be_numbers_and_names_that_change_are_told(tmp_path: Path):
    other = [{"id": 51, "label": "pull the plant out", "segment": [3, 9]}]
    result = read(tmp_path, v=entry(), w=entry(annotation=other, recipe_type="12", **{"class": "Repot"}))
    assert result.recordings[1].segments[0].step_id == "51"
    assert rules(result) == [("task-name-differs", "w"), ("step-name-differs", "w: step 1")]


def test_videos_of_one_name_are_told(tmp_path: Path):
    one = json.dumps(ENTRY)
    (tmp_path / "COIN.json").write_text(
        f'{{"database": {{"v": {one}, "v": {one}, " v": {one}, "a/b": {one}}}}}'
    )
    result = DATASET.read(tmp_path)
    assert [r.id for r in result.recordings] == ["v"]
    assert rules(result) == [("repeated-key", "v"), ("duplicate-id", "v"), ("bad-id", "'a/b'")]


@pytest.mark.parametrize("text", ['{"database": {}}', '{"database": []}', "{}", "[]", ""])
def test_a_file_without_videos_is_refused(tmp_path: Path, text: str):
    (tmp_path / "COIN.json").write_text(text)
    with pytest.raises(UserError, match=r"COIN\.json"):
        DATASET.read(tmp_path)


def test_both_modes_are_the_same_and_checking_tells_drops_too(tmp_path: Path):
    read(tmp_path, v=entry(), w=entry(annotation=[]))
    assert DATASET.read(tmp_path, "published") == DATASET.read(tmp_path, "corrected")
    assert [(f.rule, f.where) for f in DATASET.check(tmp_path)] == [("no-steps", "w")]


def test_videos_come_one_by_one(folder: Path):
    log = Log()
    records = DATASET.iter_records(folder, "corrected", log)
    next(records)
    assert log.counts["recordings"] == 1


@pytest.mark.parametrize("family", FAMILIES)
def test_it_survives(family: str, folder: Path, tmp_path: Path):
    assert survive(DATASET, folder, tmp_path, family, cap=120)


def test_flipped_bytes_are_survived(folder: Path, tmp_path: Path):
    assert set(survive_flips(DATASET, folder, tmp_path, 300)) == {"read", "refused"}

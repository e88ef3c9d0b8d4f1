"""Ego-Exo4D keysteps: ids of a scenario and global ones, taxonomy, vocabulary, essential steps."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from tests.datasets.attacks import FAMILIES, survive
from tests.datasets.flips import survive_flips

from proctor.datasets.dataset import Log, ReadResult
from proctor.datasets.egoexo4d import DATASET
from proctor.errors import UserError
from proctor.procedure.recording import Segment


@pytest.fixture
def folder(tests_data: Path) -> Path:
    return tests_data / "datasets" / "egoexo4d"


STEP = {
    "start_time": 1.5,
    "end_time": 4.0,
    "step_id": 2,
    "step_name": "Get bread",
    "step_description": "Take a slice of bread",
    "is_essential": True,
    "step_unique_id": 901,
}
TAXONOMY = {
    "Toast": {
        "1": {"id": 1, "is_leafnode": False, "name": "All", "parent_id": None, "parent_name": None},
        "2": {"id": 2, "is_leafnode": True, "name": "Get bread", "parent_id": 1, "unique_id": 901},
        "3": {"id": 3, "is_leafnode": True, "name": "Push", "parent_id": 1, "unique_id": 902},
    }
}
VOCABULARY = {"901": "Get bread", "902": "Push"}


def take(*segments: Any, uid: str = "t", **changes: Any) -> dict[str, Any]:
    return {
        "take_uid": uid,
        "take_name": f"name of {uid}",
        "scenario": "Toast",
        "annotation_meta": {},
        "segments": list(segments),
    } | changes


def step(**changes: Any) -> dict[str, Any]:
    return deepcopy(STEP) | changes


def document(**takes: Any) -> dict[str, Any]:
    return {"annotations": takes, "taxonomy": deepcopy(TAXONOMY), "vocabulary": deepcopy(VOCABULARY)}


def write(root: Path, subset: str, value: object) -> Path:
    (root / "annotations").mkdir(exist_ok=True)
    (root / "annotations" / f"keystep_{subset}.json").write_text(json.dumps(value))
    return root


def rules(result: ReadResult) -> list[tuple[str, str]]:
    return [(f.rule, f.where) for f in result.findings] + [(d.reason, d.id) for d in result.dropped]


def test_the_fixture_is_read_whole(folder: Path):
    result = DATASET.read(folder)
    assert [r.id for r in result.recordings] == ["aaaa0001-toast", "aaaa0002-bike", "bbbb0001-toast"]
    assert [r.attributes["split"] for r in result.recordings] == ["train", "train", "val"]
    assert result.recordings[0].segments == (
        Segment("901", "Get bread", 0.5, 6.0),
        Segment("902", "Push the lever", 6.5, 9.25),
        Segment("901", "Get bread", 30.0, 33.0),
    )
    assert rules(result) == []
    assert result.counts["essential steps"] == 4
    assert result.counts["scenarios of the taxonomy"] == 2


def test_the_taxonomy_is_no_task_graph(folder: Path):
    assert DATASET.read(folder).graphs == {}


def test_the_id_of_a_step_is_the_global_one(folder: Path):
    toast, bike, _ = DATASET.read(folder).recordings
    assert toast.segments[0].step_id == "901"  # both are step_id 2 of their scenario
    assert bike.segments[0].step_id == "955"


def test_a_scenario_with_a_slash_can_name_a_file(folder: Path):
    bike = DATASET.read(folder).recordings[1]
    assert (bike.activity_id, bike.activity_name) == ("Fix a Bicycle - Chain", "Fix a Bicycle / Chain")


def test_the_text_is_the_name_or_the_description(folder: Path, tmp_path: Path):
    names = DATASET.read(folder, text="name").recordings
    described = DATASET.read(folder, text="description").recordings
    assert names == DATASET.read(folder).recordings
    assert [s.text for s in described[0].segments][-1] == "Take a second slice"
    write(tmp_path, "train", document(t=take(step(step_description=None))))
    result = DATASET.read(tmp_path, text="description")
    assert result.recordings[0].segments[0].text == "Get bread"
    assert rules(result) == [("no-description", "t: step 1")]
    assert rules(DATASET.read(tmp_path)) == []


def test_steps_that_are_not_essential_can_be_left_out_and_are_counted(folder: Path):
    result = DATASET.read(folder, steps="essential")
    assert [len(r.segments) for r in result.recordings] == [2, 1, 1]
    assert result.counts["steps left out by the option steps"] == 1
    assert DATASET.read(folder).counts["steps left out by the option steps"] == 0


@pytest.mark.parametrize("flag", [None, "unsure", 1, 0, "false", []])
def test_an_undocumented_flag_is_told_and_costs_nothing(tmp_path: Path, flag: object):
    write(tmp_path, "train", document(t=take(step(is_essential=flag))))
    for choice in ("all", "essential"):
        result = DATASET.read(tmp_path, steps=choice)
        assert len(result.recordings[0].segments) == 1
        assert rules(result) == [("unknown-flag", "t: step 1")]


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"step_unique_id": 999}, "unknown-label"),
        ({"step_name": "Fetch bread"}, "label-differs"),
        ({"step_id": 1}, "not-a-leaf"),
        ({"step_id": 3}, "label-differs"),
        ({"step_id": 77}, "unknown-label"),
    ],
)
def test_steps_are_compared_with_vocabulary_and_taxonomy(tmp_path: Path, changes: dict[str, Any], rule: str):
    write(tmp_path, "train", document(t=take(step(**changes), step(**changes, start_time=2))))
    result = DATASET.read(tmp_path)
    assert len(result.recordings[0].segments) == 2
    told = [r for r, where in rules(result) if where == "t: step 1"]
    assert rule in told
    assert [r for r, where in rules(result) if where == "t: step 2"] == ["overlap"]  # the same once
    assert set(told) <= set(DATASET.rules)


def test_an_unknown_scenario_is_told_and_a_file_without_labels_too(tmp_path: Path):
    write(tmp_path, "train", document(t=take(step(), scenario="Tea")))
    assert rules(DATASET.read(tmp_path)) == [("unknown-scenario", "t: step 1")]
    write(tmp_path, "train", {"annotations": {"t": take(step())}})
    assert rules(DATASET.read(tmp_path)) == [
        ("bad-field", "keystep_train.json/taxonomy"),
        ("bad-field", "keystep_train.json/vocabulary"),
    ]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"start_time": 9}, "swapped-times"),
        ({"start_time": -0.1}, "negative-time"),
        ({"end_time": float("nan")}, "bad-time"),
        ({"end_time": "later"}, "bad-time"),
        ({"end_time": None}, "bad-time"),
        ({"step_name": ""}, "bad-record"),
        ({"step_unique_id": None}, "bad-record"),
        ({"step_unique_id": 9.5}, "bad-record"),
        ({"step_id": []}, "bad-record"),
    ],
)
def test_a_step_that_makes_no_sense_costs_itself(tmp_path: Path, changes: dict[str, Any], reason: str):
    write(tmp_path, "train", document(t=take(step(), step(**changes))))
    result = DATASET.read(tmp_path)
    assert len(result.recordings[0].segments) == 1
    assert rules(result) == [(reason, "t: step 2")]


@pytest.mark.parametrize("field", list(STEP))
def test_a_missing_field_of_a_step_is_told(tmp_path: Path, field: str):
    broken = step(start_time=10, end_time=12)
    del broken[field]
    write(tmp_path, "train", document(t=take(step(), broken)))
    result = DATASET.read(tmp_path, text="description")
    assert [where for _, where in rules(result)] == ["t: step 2"]


@pytest.mark.parametrize(
    "broken",
    [None, [], "x", {}, take(step(), scenario=""), take(step(), segments={}), take(step(), segments=None)],
)
def test_a_take_that_makes_no_sense_costs_itself(tmp_path: Path, broken: object):
    write(tmp_path, "train", document(t=broken, u=take(step(), uid="u")))
    result = DATASET.read(tmp_path)
    assert [r.id for r in result.recordings] == ["u"]
    assert rules(result) == [("bad-record", "t")]


def test_a_subset_without_steps_lists_its_takes(tmp_path: Path):
    write(tmp_path, "test", document(t=take()))
    assert rules(DATASET.read(tmp_path)) == [("no-steps", "t")]


def test_a_take_in_two_subsets_is_read_once(tmp_path: Path):
    for subset in ("train", "val"):
        write(tmp_path, subset, document(t=take(step())))
    result = DATASET.read(tmp_path)
    assert [r.attributes["split"] for r in result.recordings] == ["train"]
    assert rules(result) == [("duplicate-id", "t")]


def test_names_of_a_take_that_are_odd_are_told(tmp_path: Path):
    write(tmp_path, "train", document(t=take(step(), uid="other", take_name=None), **{"a/b": take(step())}))
    result = DATASET.read(tmp_path)
    assert result.recordings[0].id == "t"
    assert "take_name" not in result.recordings[0].attributes
    assert rules(result) == [("id-differs", "t"), ("bad-field", "t/take_name"), ("bad-id", "'a/b'")]


@pytest.mark.parametrize("value", [{}, {"annotations": []}, {"annotations": {}}, [], 7, None])
def test_a_file_without_takes_is_refused(tmp_path: Path, value: object):
    write(tmp_path, "train", value)
    with pytest.raises(UserError, match=r"keystep_train\.json"):
        DATASET.read(tmp_path)


def test_takes_come_one_by_one(folder: Path):
    log = Log()
    next(DATASET.iter_records(folder, "corrected", log))
    assert log.counts["recordings"] == 1


@pytest.mark.parametrize("family", FAMILIES)
def test_it_survives(family: str, folder: Path, tmp_path: Path):
    assert survive(DATASET, folder, tmp_path, family, cap=80)


def test_flipped_bytes_are_survived(folder: Path, tmp_path: Path):
    assert set(survive_flips(DATASET, folder, tmp_path, 300)) == {"read", "refused"}

"""EgoProceL: folders of key steps by number, background, names in a fourth column."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.datasets.attacks import FAMILIES, survive
from tests.datasets.flips import survive_flips

from proctor.datasets.dataset import ReadResult
from proctor.datasets.egoprocel import DATASET
from proctor.errors import UserError
from proctor.procedure.recording import Segment


@pytest.fixture
def folder(tests_data: Path) -> Path:
    return tests_data / "datasets" / "egoprocel"


def make(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / "annotations" / f"{name.replace('__', '/')}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def rules(result: ReadResult) -> list[tuple[str, str]]:
    return [(f.rule, f.where) for f in result.findings] + [(d.reason, d.id) for d in result.dropped]


def test_the_fixture_is_read_whole(folder: Path):
    result = DATASET.read(folder)
    assert [(r.id, r.activity_id, r.activity_name) for r in result.recordings] == [
        ("KITCHEN.Omelette.p01_cam", "KITCHEN.Omelette", "Omelette"),
        ("KITCHEN.Omelette.p02_cam", "KITCHEN.Omelette", "Omelette"),
        ("KITCHEN.Tea.p01_cam", "KITCHEN.Tea", "Tea"),
        ("TENT.t07", "TENT", "TENT"),
    ]
    assert result.recordings[0].segments[0] == Segment("KITCHEN.Omelette.1", "key step 1", 1.5, 9.0)
    assert [s.text for s in result.recordings[2].segments] == ["boil water", "pour water"]
    assert result.recordings[3].attributes == {"source": "TENT"}
    assert result.graphs == {}
    assert rules(result) == []
    assert result.counts == {"recordings": 4, "steps": 10}


def test_steps_done_in_another_order_are_not_unsorted(folder: Path):
    assert [s.step_id[-1] for s in DATASET.read(folder).recordings[1].segments] == ["1", "3", "2"]


def test_files_beside_the_folders_are_read_too(tmp_path: Path):
    result = DATASET.read(
        make(tmp_path, a="0,1,1\n", s__b="0,1,1\n", s__t__c="0,1,1\n", s__t__u__d="0,1,1\n")
    )
    assert [(r.id, r.activity_id) for r in result.recordings] == [
        ("a", "egoprocel"),
        ("s.b", "s"),
        ("s.t.c", "s.t"),
        ("s.t.u.d", "s.t.u"),
    ]


def test_two_paths_of_one_id_are_told(tmp_path: Path):
    make(tmp_path, s__b="0,1,1\n")
    (tmp_path / "annotations" / "s.b.csv").write_text("0,1,1\n")
    result = DATASET.read(tmp_path)
    assert [r.id for r in result.recordings] == ["s.b"]
    assert [reason for reason, _ in rules(result)] == ["duplicate-id"]


def test_background_is_no_step(tmp_path: Path):
    result = DATASET.read(make(tmp_path, s__b="0,1,0\n1,2,1\n2,3,0.0\n"))
    assert [s.step_id for s in result.recordings[0].segments] == ["s.1"]
    assert rules(result) == [("background", "s.b: step 1"), ("background", "s.b: step 3")]


@pytest.mark.parametrize("label", ["-1", "1.5", "nan", "inf", "", "a/b", "9" * 400])
def test_key_steps_that_are_none_are_dropped(tmp_path: Path, label: str):
    result = DATASET.read(make(tmp_path, s__b=f"0,1,1\n1,2,{label}\n"))
    assert len(result.recordings[0].segments) == 1
    assert rules(result) == [("unknown-step", "s.b: step 2")]


def test_a_name_in_place_of_a_number_is_kept_and_told(tmp_path: Path):
    result = DATASET.read(make(tmp_path, s__b="0,1,crack egg\n"))
    assert result.recordings[0].segments == (Segment("s.crack egg", "crack egg", 0.0, 1.0),)
    assert rules(result) == [("not-numbered", "s.b: step 1")]


def test_a_name_that_changes_is_told_once(tmp_path: Path):
    result = DATASET.read(
        make(tmp_path, s__b="0,1,1,boil\n1,2,1,cook\n2,3,1,cook\n3,4,2\n", t__b="0,1,1,fry\n")
    )
    assert [s.text for s in result.recordings[0].segments] == ["boil", "cook", "cook", "key step 2"]
    assert rules(result) == [("step-name-differs", "s.b: step 2")]


@pytest.mark.parametrize(
    ("line", "reason", "where"),
    [
        ("5,3,1", "swapped-times", "s.b: step 2"),
        ("-1,3,1", "negative-time", "s.b: step 2"),
        ("x,3,1", "bad-time", "s.b: step 2"),
        ("0:10,0:20,1", "bad-time", "s.b: step 2"),
        ("1,inf,1", "bad-time", "s.b: step 2"),
        ("1,2", "bad-row", "s.b:2"),
        ("1,2,3,4,5", "bad-row", "s.b:2"),
    ],
)
def test_a_line_that_makes_no_sense_costs_itself(tmp_path: Path, line: str, reason: str, where: str):
    result = DATASET.read(make(tmp_path, s__b=f"0,1,1\n{line}\n"))
    assert len(result.recordings[0].segments) == 1
    assert rules(result) == [(reason, where)]
    assert reason in DATASET.rules


def test_odd_steps_are_kept_and_told(tmp_path: Path):
    result = DATASET.read(make(tmp_path, s__b="start,end,step\n5,9,2\n1,6,1\n7,7,3\n"))
    assert len(result.recordings[0].segments) == 3
    assert rules(result) == [
        ("header", "s.b"),
        ("unsorted", "s.b: step 3"),
        ("overlap", "s.b: step 3"),
        ("zero-length", "s.b: step 4"),
        ("overlap-earlier", "s.b: step 4"),
    ]


def test_a_video_without_steps_is_told(tmp_path: Path):
    result = DATASET.read(make(tmp_path, s__a="", s__b="0,1,1\n", s__c="0,1,0\n"))
    assert [r.id for r in result.recordings] == ["s.b"]
    assert rules(result) == [("no-steps", "s.a"), ("background", "s.c: step 1"), ("no-steps", "s.c")]


def test_a_folder_without_tables_is_refused(tmp_path: Path):
    (tmp_path / "annotations").mkdir()
    with pytest.raises(UserError, match="not a EgoProceL folder"):
        DATASET.read(tmp_path)


@pytest.mark.parametrize("family", FAMILIES)
def test_it_survives(family: str, folder: Path, tmp_path: Path):
    ended = survive(DATASET, folder, tmp_path, family, cap=60)
    assert ended or family == "wrong number"


def test_flipped_bytes_are_survived(folder: Path, tmp_path: Path):
    assert set(survive_flips(DATASET, folder, tmp_path, 300)) == {"read", "refused"}

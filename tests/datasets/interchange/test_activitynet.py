"""ActivityNet's ground truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from proctor.datasets.interchange.activitynet import read_activitynet, write_activitynet
from proctor.errors import UserError
from proctor.metrics.activitynet import parse_ground_truth
from proctor.procedure.recording import Mistake, Recording, Segment


def read(tmp_path: Path, database: Any, **options: Any) -> Any:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"database": database}), encoding="utf-8")
    return read_activitynet(path, **options)


def test_a_foreign_file(tmp_path: Path) -> None:
    entry = {
        "subset": "validation",
        "duration": 30,
        "resolution": "320x240",
        "url": "https://example.org/v",
        "annotations": [{"segment": [10, 20.5], "label": "Stir"}, {"segment": [1, 2], "label": 7}],
    }
    found = read(tmp_path, {"v1": entry}, activity="tea")
    assert found.objects == (
        Recording(
            "v1",
            "tea",
            "tea",
            (Segment("7", "7", 1.0, 2.0), Segment("Stir", "Stir", 10.0, 20.5)),
            30.0,
            None,
            {"split": "val", "resolution": "320x240", "url": "https://example.org/v"},
        ),
    )
    assert found.dropped == ()
    assert found.warnings == ("the file names no activity for some videos: 'tea' is taken.",)


def test_a_label_id_is_the_step_id(tmp_path: Path) -> None:
    found = read(tmp_path, {"v": {"annotations": [{"segment": [0, 1], "label": "Stir", "label_id": 4}]}})
    assert found.objects[0].segments[0].step_id == "4"


@pytest.mark.parametrize(
    ("annotation", "reason"),
    [
        (3, "bad_field"),
        ({"segment": [0, 1]}, "no_label"),
        ({"segment": [0, 1], "label": ""}, "no_label"),
        ({"segment": [0, 1], "label": True}, "no_label"),
        ({"segment": [0, 1], "label": None}, "no_label"),
        ({"label": "a"}, "no_time"),
        ({"segment": None, "label": "a"}, "no_time"),
        ({"segment": [0], "label": "a"}, "no_time"),
        ({"segment": [0, 1, 2], "label": "a"}, "no_time"),
        ({"segment": ["0", "1"], "label": "a"}, "no_time"),
        ({"segment": [False, True], "label": "a"}, "no_time"),
        ({"segment": [2, 1], "label": "a"}, "no_length"),
        ({"segment": [1, 1], "label": "a"}, "no_length"),
        ({"segment": [-1, 1], "label": "a"}, "negative"),
        ({"segment": [0, 2_000_000], "label": "a"}, "too_large"),
        ({"segment": [0, 10**400], "label": "a"}, "not_finite"),
        ({"segment": [0, 1], "label": "a", "mistakes": [3]}, "bad_field"),
        ({"segment": [0, 1], "label": "a", "mistakes": "burnt"}, "bad_field"),
        ({"segment": [0, 1], "label": "a", "performed": 3}, "bad_field"),
        ({"segment": [0, 1], "label": "a", "step_id": []}, "bad_field"),
        ({"segment": [0, 1], "label": "a", "text": {}}, "bad_field"),
    ],
)
def test_what_is_wrong_is_listed_and_the_rest_is_read(tmp_path: Path, annotation: Any, reason: str) -> None:
    good = {"segment": [3, 4], "label": "Stir"}
    found = read(tmp_path, {"v": {"annotations": [annotation, good]}})
    assert [(d.id, d.reason) for d in found.dropped] == [("v/0", reason)]
    assert [s.text for s in found.objects[0].segments] == ["Stir"]


@pytest.mark.parametrize("entry", [None, 3, [], {"annotations": 3}, {"annotations": {"a": 1}}])
def test_a_broken_video_is_listed(tmp_path: Path, entry: Any) -> None:
    found = read(tmp_path, {"v": entry, "w": {"annotations": []}})
    assert [d.reason for d in found.dropped] == ["bad_field"]
    assert [r.id for r in found.objects] == ["w"]


def test_a_length_that_is_none_is_listed(tmp_path: Path) -> None:
    found = read(tmp_path, {"v": {"duration": "long", "annotations": []}})
    assert found.objects[0].duration is None
    assert [(d.reason, d.detail) for d in found.dropped] == [("bad_field", "duration: 'long'")]


def test_steps_beyond_the_video_are_told(tmp_path: Path) -> None:
    found = read(tmp_path, {"v": {"duration": 5, "annotations": [{"segment": [1, 9], "label": "a"}]}})
    assert found.objects[0].segments[0].end == 9.0
    assert "recording 'v': 1 segment(s) end after the video does." in found.warnings


def test_unknown_keys_are_told(tmp_path: Path) -> None:
    found = read(
        tmp_path, {"v": {"annotations": [{"segment": [0, 1], "label": "a", "frame": [1, 30]}], "x": [1]}}
    )
    assert any("'frame'" in w for w in found.warnings)
    assert [d.detail for d in found.dropped] == ["x: not a plain value"]


def test_predictions_are_no_recordings(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text('{"version": "1", "results": {}, "external_data": {}}')
    with pytest.raises(UserError, match="predictions, not recordings"):
        read_activitynet(path)


def test_ours_is_what_the_metrics_read(recordings: tuple[Recording, ...], tmp_path: Path) -> None:
    write_activitynet(recordings, tmp_path / "a.json")
    document = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert set(document) == {"version", "taxonomy", "database"}
    segments = parse_ground_truth(document)
    assert len(segments.start) == sum(s.start is not None for r in recordings for s in r.segments)
    entry = document["database"]["tea_1"]
    assert entry["subset"] == "training"
    assert [a["label"] for a in entry["annotations"]][:2] == [
        "Fill the kettle",
        "Boil the water & wait <2 min>",
    ]
    assert [u["label"] for u in entry["untimed"]] == ["Say thanks"]


def test_taxonomy_is_a_tree(recordings: tuple[Recording, ...], tmp_path: Path) -> None:
    write_activitynet(recordings, tmp_path / "a.json")
    nodes = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["taxonomy"]
    assert nodes[0] == {"nodeId": 0, "nodeName": "Root", "parentId": None, "parentName": None}
    assert nodes[1] == {"nodeId": 1, "nodeName": "Tea for two", "parentId": 0, "parentName": "Root"}
    names = {n["nodeId"]: n["nodeName"] for n in nodes}
    assert all(names[n["parentId"]] == n["parentName"] for n in nodes[1:])
    assert [n["nodeName"] for n in nodes].count("Stir") == 1


def test_a_step_without_words_has_its_id_as_label(tmp_path: Path) -> None:
    given = (Recording("r", "a", "a", (Segment("7", "", 0.0, 1.0, mistakes=(Mistake("other", ""),)),)),)
    write_activitynet(given, tmp_path / "a.json")
    assert '"label": "7"' in (tmp_path / "a.json").read_text()
    assert read_activitynet(tmp_path / "a.json").objects == given

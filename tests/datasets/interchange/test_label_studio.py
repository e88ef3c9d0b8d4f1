"""Label Studio tasks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from proctor.datasets.interchange.label_studio import read_label_studio, write_label_studio
from proctor.datasets.interchange.safe_xml import parse_xml
from proctor.errors import UserError
from proctor.procedure.recording import Mistake, Recording, Segment


def save(tmp_path: Path, tasks: Any) -> Path:
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(tasks), encoding="utf-8")
    return path


def label(
    id_: str = "r1", start: Any = 1.0, end: Any = 2.0, labels: Any = ("Stir",), **more: Any
) -> dict[str, Any]:
    value = {"start": start, "end": end, "labels": list(labels) if isinstance(labels, tuple) else labels}
    return {"id": id_, "from_name": "l", "to_name": "a", "type": "labels", "value": value} | more


def task(*results: Any, **data: Any) -> dict[str, Any]:
    return {
        "id": 9,
        "data": {"video": "/data/upload/1/0a1b2c3d-my%20film.mp4"} | data,
        "annotations": [{"id": 1, "result": list(results)}],
    }


def test_names_come_from_the_video(tmp_path: Path) -> None:
    found = read_label_studio(save(tmp_path, [task(label(), camera=3)]), activity="tea")
    assert found.objects == (
        Recording(
            "my film",
            "tea",
            "tea",
            (Segment("Stir", "Stir", 1.0, 2.0),),
            None,
            "my film.mp4",
            {"camera": "3"},
        ),
    )


def test_local_files_lose_their_link(tmp_path: Path) -> None:
    found = read_label_studio(save(tmp_path, [task(label(), video="/data/local-files/?d=films/tea%201.mp4")]))
    assert (found.objects[0].id, found.objects[0].video) == ("tea 1", "films/tea 1.mp4")


def test_a_task_without_media_has_its_number(tmp_path: Path) -> None:
    found = read_label_studio(save(tmp_path, [task(label(), video="")]))
    assert found.objects[0].id == "task-9"


def test_the_ground_truth_counts_before_the_first(tmp_path: Path) -> None:
    one = task(label(labels=("first",)))
    one["annotations"] += [
        {"id": 2, "result": [label(labels=("gold",))], "ground_truth": True},
        {"id": 3, "result": [], "was_cancelled": True},
    ]
    one["predictions"] = [{"id": 4, "result": [label(labels=("guess",))]}]
    found = read_label_studio(save(tmp_path, [one]))
    assert [s.text for s in found.objects[0].segments] == ["gold"]
    assert [(d.id, d.reason) for d in found.dropped] == [
        ("my film/annotation 1", "other_annotation"),
        ("my film/annotation 3", "cancelled"),
        ("my film/prediction 4", "prediction"),
    ]


def test_a_task_nobody_labelled_is_told(tmp_path: Path) -> None:
    found = read_label_studio(save(tmp_path, [task() | {"annotations": []}]))
    assert found.objects[0].segments == ()
    assert "task 1 ('my film') has no annotation." in found.warnings


def test_mistakes_and_texts_of_a_region(tmp_path: Path) -> None:
    texts = [
        {
            "id": "r1",
            "from_name": "mistakes",
            "type": "textarea",
            "value": {"text": ["order: early", "burnt it"]},
        },
        {"id": "r1", "from_name": "mistakes", "type": "choices", "value": {"choices": ["timing"]}},
        {"id": "r1", "from_name": "performed", "type": "textarea", "value": {"text": "Shook"}},
    ]
    found = read_label_studio(save(tmp_path, [task(*texts, label())]))  # results may stand in any order
    assert found.objects[0].segments[0].mistakes == (
        Mistake("order", "early"),
        Mistake("other", "burnt it"),
        Mistake("timing"),
    )
    assert found.objects[0].segments[0].performed == "Shook"


def frames(*ranges: Any) -> dict[str, Any]:
    return {
        "id": "t",
        "type": "timelinelabels",
        "value": {"ranges": list(ranges), "timelinelabels": ["Stir"]},
    }


def test_frames_need_a_rate(tmp_path: Path) -> None:
    path = save(tmp_path, [task(frames({"start": 1, "end": 30}))])
    with pytest.raises(UserError, match="frame rate is not known") as caught:
        read_label_studio(path)
    assert "--fps" in str(caught.value)
    assert "task 1" in str(caught.value)
    found = read_label_studio(path, fps=30)
    assert [(s.start, s.end) for s in found.objects[0].segments] == [(0.0, 1.0)]


def test_the_stored_rate_counts_before_the_given_one(tmp_path: Path) -> None:
    found = read_label_studio(save(tmp_path, [task(frames({"start": 11, "end": 20}), fps=10)]), fps=30)
    assert [(s.start, s.end) for s in found.objects[0].segments] == [(1.0, 2.0)]


def test_several_ranges_are_several_steps(tmp_path: Path) -> None:
    found = read_label_studio(
        save(tmp_path, [task(frames({"start": 1, "end": 1}, {"start": 3, "end": 5}))]), fps=1
    )
    assert [(s.start, s.end) for s in found.objects[0].segments] == [(0.0, 1.0), (2.0, 5.0)]


@pytest.mark.parametrize("fps", [0, -1, float("nan"), float("inf")])
def test_what_is_no_rate(tmp_path: Path, fps: float) -> None:
    with pytest.raises(UserError, match="no frame rate"):
        read_label_studio(save(tmp_path, [task()]), fps=fps)
    with pytest.raises(UserError, match="no frame rate"):
        write_label_studio((), tmp_path / "x.json", fps=fps)


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (3, "bad_field"),
        ({"id": "r1"}, "bad_field"),
        ({"id": "r1", "type": "labels", "value": 3}, "bad_field"),
        (label(start="1"), "no_time"),
        (label(start=None), "no_time"),
        (label(start=3.0), "no_length"),
        (label(start=-1), "negative"),
        (label(labels=[]), "no_label"),
        (label(labels="Stir"), "no_label"),
        ({"id": "r1", "type": "choices", "from_name": "good", "value": {"choices": ["yes"]}}, "not_a_step"),
        ({"id": "r1", "type": "rectanglelabels", "value": {"x": 1}}, "not_a_step"),
        ({"id": "r1", "type": "textarea", "from_name": "mistakes", "value": {"text": ["order"]}}, "no_step"),
        ({"id": "r1", "type": "textarea", "from_name": "mistakes", "value": {"text": [3]}}, "not_a_step"),
        (frames({"start": 0, "end": 3}), "negative"),
        (frames({"start": 5, "end": 3}), "no_length"),
        (frames({"start": None, "end": 3}), "no_time"),
        (frames(3), "no_time"),
    ],
)
def test_a_result_that_is_no_step_is_listed(tmp_path: Path, result: Any, reason: str) -> None:
    found = read_label_studio(save(tmp_path, [task(result, label("good"))]), fps=1)
    assert [d.reason for d in found.dropped] == [reason]
    assert [s.text for s in found.objects[0].segments] == ["Stir"]


@pytest.mark.parametrize("annotations", [3, "x", [3], {"result": []}])
def test_annotations_of_another_type(tmp_path: Path, annotations: Any) -> None:
    found = read_label_studio(save(tmp_path, [task() | {"annotations": annotations}]))
    assert "bad_field" in [d.reason for d in found.dropped]


def test_two_tasks_of_one_video_are_listed(tmp_path: Path) -> None:
    found = read_label_studio(save(tmp_path, [task(label()), task(label())]))
    assert [(d.id, d.reason) for d in found.dropped] == [("my film", "duplicate_id")]


# -- writing ---------------------------------------------------------------------------------------------------


def test_the_configuration_has_every_label(recordings: tuple[Recording, ...], tmp_path: Path) -> None:
    for convention, tag in (("seconds", "Labels"), ("frames", "TimelineLabels")):
        write_label_studio(recordings, tmp_path / f"{convention}.json", convention=convention, fps=25)  # type: ignore[arg-type]
        root = parse_xml((tmp_path / f"{convention}.config.xml").read_bytes(), "config")
        control, actions = root.findall(tag)
        assert [one.get("value") for one in actions] == ["Action"]
        names = {one.get("value") for one in control}
        tasks = json.loads((tmp_path / f"{convention}.json").read_text(encoding="utf-8"))
        used = {
            one
            for t in tasks
            for r in t["annotations"][0]["result"]
            for one in r["value"].get(tag.lower(), [])
        }
        assert used <= names
        assert {"Stir (3)", "Stir (4)"} <= names


def test_frames_are_whole_and_the_rate_is_stored(recordings: tuple[Recording, ...], tmp_path: Path) -> None:
    write_label_studio(recordings, tmp_path / "a.json", convention="frames", fps=25)
    first = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))[0]
    assert first["data"]["fps"] == 25
    assert first["annotations"][0]["result"][0]["value"] == {
        "ranges": [{"start": 13, "end": 301}],
        "timelinelabels": ["Fill the kettle"],
    }


def test_media_get_a_prefix_and_keep_their_path(recordings: tuple[Recording, ...], tmp_path: Path) -> None:
    write_label_studio(recordings, tmp_path / "a.json", media_prefix="/data/local-files/?d=")
    data = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))[0]["data"]
    assert data["media"] == "/data/local-files/?d=videos/tea 1.mp4"
    assert read_label_studio(tmp_path / "a.json").objects == recordings


def test_labels_that_would_be_equal_are_told_apart(tmp_path: Path) -> None:
    steps = tuple(
        Segment(i, t, float(n), n + 1.0)
        for n, (i, t) in enumerate(
            [("1", "Stir"), ("2", "Stir"), ("3", "Stir (1)"), ("3", "Stir  (1)"), ("", "")]
        )
    )
    given = (Recording("r", "a", "a", steps),)
    write_label_studio(given, tmp_path / "a.json")
    assert read_label_studio(tmp_path / "a.json").objects == given


def test_an_unknown_convention(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no convention 'minutes'"):
        write_label_studio((), tmp_path / "a.json", convention="minutes")  # type: ignore[arg-type]


def test_a_configuration_of_something_else_stays(recordings: tuple[Recording, ...], tmp_path: Path) -> None:
    (tmp_path / "a.config.xml").write_text("mine")
    with pytest.raises(UserError, match="not of these tasks"):
        write_label_studio(recordings, tmp_path / "a.json")
    assert [p.name for p in tmp_path.iterdir()] == ["a.config.xml"]

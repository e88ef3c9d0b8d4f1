"""Croissant folders."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.datasets.interchange.croissant import read_croissant, write_croissant
from proctor.errors import UserError
from proctor.procedure.graph import TaskGraph
from proctor.procedure.recording import Recording
from proctor.records import file_sha256

pa = pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def folder(recordings: tuple[Recording, ...], tmp_path: Path) -> Path:
    write_croissant(recordings, tmp_path / "c")
    return tmp_path / "c"


def change(folder: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    file = folder / "croissant.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    edit(document)
    file.write_text(json.dumps(document), encoding="utf-8")


def replace_rows(folder: Path, table: str, rows: list[dict[str, Any]]) -> None:
    """Write other rows into a table and their hash into the metadata."""
    file = folder / "data" / f"{table}.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema=pq.read_schema(file)), file)

    def edit(document: dict[str, Any]) -> None:
        for one in document["distribution"]:
            if one["@id"] == file.name:
                one["sha256"] = file_sha256(file)

    change(folder, edit)


def test_the_metadata_file_can_be_named(recordings: tuple[Recording, ...], folder: Path) -> None:
    assert read_croissant(folder / "croissant.json").objects == recordings
    assert read_croissant(folder).objects == recordings


def test_task_graphs_are_checked_like_tables(
    recordings: tuple[Recording, ...], diamond: TaskGraph, tmp_path: Path
) -> None:
    write_croissant(recordings, tmp_path / "c", graphs={"g": diamond})
    assert read_croissant(tmp_path / "c").graphs == {"g": diamond}
    with (tmp_path / "c" / "task_graphs.json").open("ab") as file:
        file.write(b" ")
    with pytest.raises(UserError, match="SHA-256"):
        read_croissant(tmp_path / "c")


def test_nothing_is_invented(folder: Path) -> None:
    document = json.loads((folder / "croissant.json").read_text(encoding="utf-8"))
    assert not {"license", "url", "creator", "datePublished", "description"} & set(document)
    assert not [key for key in document if key.startswith("rai:")]


@pytest.mark.parametrize(
    "url",
    [
        "/etc/passwd",
        "../c/data/segments.parquet",
        "http://127.0.0.1:9/x.parquet",
        "file:///etc/passwd",
        "a\\..\\b",
        3,
        None,
        "C:x",
        "",
    ],
)
def test_nothing_outside_the_folder_is_opened(folder: Path, url: Any) -> None:
    change(folder, lambda d: d["distribution"][1].update(contentUrl=url))
    with pytest.raises(UserError) as caught:
        read_croissant(folder)
    assert "contentUrl" in str(caught.value) or "folder" in str(caught.value)


def test_a_changed_table_is_noticed(folder: Path) -> None:
    with (folder / "data" / "mistakes.parquet").open("ab") as file:
        file.write(b"x")
    with pytest.raises(UserError, match="SHA-256"):
        read_croissant(folder)


def test_a_missing_table_is_named(folder: Path) -> None:
    (folder / "data" / "segments.parquet").unlink()
    with pytest.raises(UserError, match="no such file"):
        read_croissant(folder)


@pytest.mark.parametrize(
    "edit",
    [
        lambda d: d.pop("conformsTo"),
        lambda d: d.update(conformsTo="http://mlcommons.org/croissant/9"),
        lambda d: d.update(conformsTo=[[]]),
        lambda d: d.pop("distribution"),
        lambda d: d.update(distribution=3),
        lambda d: d.update(distribution=[3]),
        lambda d: d["distribution"].pop(),
        lambda d: d["distribution"][0].pop("sha256"),
        lambda d: d["distribution"][0].update({"@id": "other"}),
    ],
)
def test_metadata_of_something_else(folder: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    change(folder, edit)
    with pytest.raises(UserError) as caught:
        read_croissant(folder)
    assert caught.value.hint


def test_rows_that_belong_to_nothing_are_listed(folder: Path) -> None:
    segment = {
        "recording_id": "tea_2",
        "position": 1,
        "step_id": "1",
        "text": "Fill",
        "start": 1.0,
        "end": 3.0,
        "performed": None,
    }
    replace_rows(
        folder,
        "segments",
        [segment, segment | {"recording_id": "gone"}, segment | {"position": 2, "end": 0.5}],
    )
    mistake = {"recording_id": "tea_2", "segment": 1, "position": 1, "kind": "order", "text": ""}
    replace_rows(folder, "mistakes", [mistake, mistake | {"segment": 9}])
    replace_rows(folder, "attributes", [{"recording_id": "gone", "name": "a", "value": "b"}])
    found = read_croissant(folder)
    assert [(d.id, d.reason) for d in found.dropped] == [
        ("tea_2/2", "no_length"),
        ("gone/1", "no_recording"),
        ("tea_2/9", "no_step"),
        ("gone", "no_recording"),
    ]
    assert [len(r.segments) for r in found.objects] == [0, 1]
    assert found.objects[1].segments[0].mistakes[0].kind == "order"


def test_positions_give_the_order(folder: Path) -> None:
    row = {"recording_id": "tea_2", "step_id": "1", "start": None, "end": None, "performed": None}
    replace_rows(folder, "segments", [row | {"position": n, "text": f"Step {n}"} for n in (3, 1, 2)])
    replace_rows(folder, "mistakes", [])
    assert [s.text for s in read_croissant(folder).objects[1].segments] == ["Step 1", "Step 2", "Step 3"]


def test_what_is_there_twice_is_listed(folder: Path) -> None:
    row = {
        "recording_id": "tea_2",
        "position": 1,
        "step_id": "1",
        "start": None,
        "end": None,
        "performed": None,
    }
    replace_rows(folder, "segments", [row | {"text": "Fill"}, row | {"text": "Stir"}])
    replace_rows(folder, "mistakes", [])
    note = {"recording_id": "tea_2", "name": "a"}
    replace_rows(folder, "attributes", [note | {"value": "1"}, note | {"value": "2"}])
    found = read_croissant(folder)
    assert [(d.id, d.reason, d.detail) for d in found.dropped] == [
        ("tea_2", "duplicate_id", "attribute a: 2"),
        ("tea_2/1", "duplicate_id", "Stir"),
    ]
    assert [s.text for s in found.objects[1].segments] == ["Fill"]
    assert found.objects[1].attributes == {"a": "1"}

"""Hugging Face folders, and the Parquet reader behind them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from proctor.datasets.interchange.hugging_face import read_hugging_face, write_hugging_face
from proctor.errors import MissingExtraError, UserError
from proctor.procedure.recording import Recording

pa = pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")
pq = pytest.importorskip("pyarrow.parquet")
yaml = pytest.importorskip("yaml")

ROW: dict[str, Any] = {
    "recording_id": "r",
    "activity_id": "a",
    "activity_name": "A",
    "duration": None,
    "video": None,
    "attributes": [],
    "segments": [
        {"step_id": "1", "text": "Stir", "start": 0.0, "end": 1.0, "performed": None, "mistakes": []}
    ],
}


def folder(tmp_path: Path, rows: list[dict[str, Any]], name: str = "train-00000-of-00001.parquet") -> Path:
    path = tmp_path / "set" / "data" / "recordings" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)
    return tmp_path / "set"


def front_matter(path: Path) -> Any:
    return yaml.safe_load((path / "README.md").read_text(encoding="utf-8").split("\n---\n")[0])


def test_splits_are_files(tmp_path: Path) -> None:
    given = tuple(
        Recording(f"r{n}", "a", "a", (), attributes={"split": s} if s else {})
        for n, s in enumerate(["train", "val", "test", "", "my split!", "../up", "é"])
    )
    write_hugging_face(given, tmp_path / "set")
    files = sorted(p.name for p in (tmp_path / "set" / "data" / "recordings").iterdir())
    splits = ["my_split", "test", "train", "up", "validation"]
    assert files == [f"{s}-00000-of-00001.parquet" for s in splits]
    assert sorted(read_hugging_face(tmp_path / "set").objects, key=lambda r: r.id) == list(given)
    matter = front_matter(tmp_path / "set")
    assert [f["split"] for f in matter["configs"][0]["data_files"]] == splits
    assert matter["dataset_info"][0]["splits"][2]["num_examples"] == 3


def test_the_card_is_what_was_told(tmp_path: Path) -> None:
    about = {
        "name": 'tea: "two" 🫖\x7f\ufffe\u2028\n---\nlicense: mit',
        "description": "# Not a heading <script>",
        "license": "CC-BY-4.0",
        "language": "en",
        "citeAs": "@misc{tea}",
        "rai:dataBiases": "few people",
    }
    write_hugging_face((Recording("r", "a", "a", ()),), tmp_path / "set", about=about)
    matter = front_matter(tmp_path / "set")
    assert matter["pretty_name"] == about["name"]
    assert matter["license"] == "cc-by-4.0"
    assert matter["size_categories"] == ["n<1K"]
    text = (tmp_path / "set" / "README.md").read_text(encoding="utf-8")
    assert "<script>" not in text
    assert r"\# Not a heading" in text
    assert "- **dataBiases**: few people" in text


@pytest.mark.parametrize("about", [{"titel": "x"}, {"name": 3}, {"rai:other": "x"}, {"name": "x" * 100_001}])
def test_a_description_with_unknown_keys_is_refused(tmp_path: Path, about: Any) -> None:
    with pytest.raises(UserError):
        write_hugging_face((Recording("r", "a", "a", ()),), tmp_path / "set", about=about)
    assert not (tmp_path / "set").exists()


def test_nothing_to_write(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no recording to write"):
        write_hugging_face((), tmp_path / "set")


def test_a_folder_that_is_not_empty_is_left_alone(recordings: tuple[Recording, ...], tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match="something here already"):
        write_hugging_face(recordings, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("column", sorted(ROW))
def test_a_missing_column_is_named(tmp_path: Path, column: str) -> None:
    with pytest.raises(UserError, match=f"column.*{column}.* missing"):
        read_hugging_face(folder(tmp_path, [{k: v for k, v in ROW.items() if k != column}]))


@pytest.mark.parametrize("column", sorted(ROW))
def test_a_column_of_another_type_is_named(tmp_path: Path, column: str) -> None:
    with pytest.raises(UserError, match=r"row 0") as caught:
        read_hugging_face(folder(tmp_path, [ROW | {column: {"x": 1}}]))
    assert column in str(caught.value)


def test_impossible_rows_are_listed(tmp_path: Path) -> None:
    segment = ROW["segments"][0]
    rows = [
        ROW
        | {
            "segments": [
                segment | {"start": 2.0},
                segment | {"end": None},
                segment | {"start": float("nan")},
                segment,
            ]
        },
        ROW,
        ROW | {"recording_id": ""},
        ROW | {"recording_id": "s", "duration": -3.0, "attributes": [{"name": "a", "value": "1"}] * 2},
    ]
    found = read_hugging_face(folder(tmp_path, rows))
    assert [d.reason for d in found.dropped] == [
        "no_length",
        "no_time",
        "not_finite",
        "duplicate_id",
        "no_recording",
        "duplicate_id",
        "bad_field",
    ]
    assert [(r.id, len(r.segments)) for r in found.objects] == [("r", 1), ("s", 1)]


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" * 10, b"\0" * 1_000])
def test_what_is_no_parquet(tmp_path: Path, content: bytes) -> None:
    path = folder(tmp_path, [ROW])
    (path / "data" / "recordings" / "train-00000-of-00001.parquet").write_bytes(content)
    with pytest.raises(UserError, match="cannot be read as Parquet"):
        read_hugging_face(path)


def test_a_changed_byte_of_our_tables_is_noticed(recordings: tuple[Recording, ...], tmp_path: Path) -> None:
    write_hugging_face(recordings, tmp_path / "set")
    file = next((tmp_path / "set").rglob("*.parquet"))
    data = bytearray(file.read_bytes())
    data[data.index(b"Fill the kettle")] ^= 1
    file.write_bytes(data)
    with pytest.raises(UserError, match="cannot be read as Parquet"):
        read_hugging_face(tmp_path / "set")


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder(tmp_path, [ROW])
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"proctor-bench\[parquet\]"):
        read_hugging_face(path)


@pytest.mark.parametrize(
    ("licence", "lines"),
    [
        ("MIT", {"license": "mit"}),
        ("https://example.org/terms", {"license": "other", "license_link": "https://example.org/terms"}),
        ("ask: us", {"license": "other", "license_name": "ask: us"}),
    ],
)
def test_licences_that_the_hub_does_not_know(tmp_path: Path, licence: str, lines: dict[str, str]) -> None:
    write_hugging_face((Recording("r", "a", "a", ()),), tmp_path / "set", about={"license": licence})
    matter = front_matter(tmp_path / "set")
    assert {key: value for key, value in matter.items() if key.startswith("license")} == lines

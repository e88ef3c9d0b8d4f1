"""Files that the real tools wrote (tests/data/interchange/README.md), and the real tools on files of ours."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from proctor.datasets.interchange import find_format
from proctor.procedure.graph import TaskGraph
from proctor.procedure.recording import Mistake, Recording, Segment


def read(name: str, path: Path, **options: Any) -> Any:
    format_ = find_format(name)
    assert format_.read is not None
    return format_.read(path, **options)


def write(name: str, recordings: Any, path: Path, **options: Any) -> Any:
    format_ = find_format(name)
    assert format_.write is not None
    return format_.write(recordings, path, **options)


# -- Label Studio ----------------------------------------------------------------------------------------------


def test_label_studio_gives_back_what_it_was_given(golden: Path, recordings: tuple[Recording, ...]) -> None:
    found = read("label-studio", golden / "label_studio_seconds.json")
    assert found.objects == recordings
    assert found.warnings == found.dropped == ()


def test_label_studio_frames(golden: Path, recordings: tuple[Recording, ...]) -> None:
    found = read("label-studio", golden / "label_studio_frames.json")
    times = [(s.start, s.end) for s in found.objects[0].segments]
    assert times[:3] == [(None, None), (0.48, 12.04), (12.04, 95.52)]  # 25 frames a second
    assert [s.mistakes for s in found.objects[0].segments] == [s.mistakes for s in recordings[0].segments]
    assert found.dropped == ()


def test_label_studio_minimal_export_says_what_it_lacks(golden: Path) -> None:
    full = read("label-studio", golden / "label_studio_frames.json")
    found = read("label-studio", golden / "label_studio_frames_min.json")
    assert [(d.id, d.reason) for d in found.dropped] == [
        ("tea_1/mistakes", "no_step"),
        ("tea_1/performed", "no_step"),
    ]
    assert [(s.step_id, s.start, s.end) for s in found.objects[0].segments] == [
        (s.step_id, s.start, s.end) for s in full.objects[0].segments
    ]


def test_label_studio_own_template(golden: Path) -> None:
    found = read("label-studio", golden / "label_studio_template.json", activity="skate")
    assert found.objects == (
        Recording(
            "opossum_snow",
            "skate",
            "skate",
            (
                Segment("Trick", "Trick", 1.25, 3.5),
                Segment("Kickflip", "Kickflip", 1.25, 3.5),
                Segment("360 Flip", "360 Flip", 4.0, 6.75),
            ),
            duration=14.5,
            video="/static/samples/opossum_snow.mp4",
        ),
    )
    assert [(d.id, d.reason) for d in found.dropped] == [("opossum_snow/annotation 6", "cancelled")]


@pytest.mark.parametrize("name", ["label_studio_timeline.json", "label_studio_timeline_min.json"])
def test_label_studio_ranges_count_from_one(golden: Path, name: str) -> None:
    found = read("label-studio", golden / name, fps=25)
    assert [(s.text, s.start, s.end) for s in found.objects[0].segments] == [
        ("Moving", 0.0, 1.0),
        ("Static", 1.0, 4.0),
    ]
    assert found.objects[0].attributes == {"camera": "left"}


def test_what_a_person_added_in_the_editor(golden: Path, recordings: tuple[Recording, ...]) -> None:
    """A mistake was typed into our tasks in Label Studio's editor, in frames and in seconds."""
    for name in ("frames", "seconds"):
        found = read("label-studio", golden / f"label_studio_edited_{name}.json")
        (recording,) = found.objects
        assert found.dropped == found.warnings == ()
        assert recording.segments[1].mistakes == (Mistake("measurement", "too little"),)
        unchanged = [s.mistakes for n, s in enumerate(recordings[0].segments) if n != 1]
        assert [s.mistakes for n, s in enumerate(recording.segments) if n != 1] == unchanged
        assert recording.segments[2].performed == recordings[0].segments[2].performed
    assert recording.segments[1].start == 0.5
    assert recording.duration == 120.0


# -- ELAN ------------------------------------------------------------------------------------------------------


def test_elan_of_pympi(golden: Path) -> None:
    found = read("elan", golden / "elan_pympi.eaf")
    (recording,) = found.objects
    assert recording.video == "tea.mp4"
    assert recording.segments == (
        Segment("Fill the kettle", "Fill the kettle", 2.0, 3.5, mistakes=(Mistake("order"),)),
        Segment(
            "Boil & <pour>", "Boil & <pour>", 3.5, 95.25, mistakes=(Mistake("timing", "too short: 1 min"),)
        ),
    )
    assert any("2 media files" in w for w in found.warnings)
    assert any("'words' is not read" in w for w in found.warnings)


def test_pympi_reads_ours(recordings: tuple[Recording, ...], tmp_path: Path) -> None:
    pympi = pytest.importorskip("pympi", reason="needs pympi-ling")
    write("elan", recordings, tmp_path / "eaf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        eaf = pympi.Eaf(str(tmp_path / "eaf" / "tea_1.eaf"))
    assert list(eaf.get_tier_names())[:4] == ["steps", "errors", "performed", "step ids"]
    assert eaf.get_annotation_data_for_tier("steps") == [
        (500, 12_040, "Fill the kettle"),
        (12_040, 95_500, "Boil the water & wait <2 min>"),
        (110_250, 112_000, "Stir"),
        (113_000, 114_500, "Stir"),
    ]
    assert eaf.get_annotation_data_for_tier("steps 2") == [(90_000, 110_250, "Stir")]
    assert [row[2] for row in eaf.get_ref_annotation_data_for_tier("errors")] == [
        "timing: too short: 1 min",
        "order:",
    ]
    assert eaf.tiers["errors 2"][2]["PARENT_REF"] == "steps 2"
    assert eaf.get_linked_files()[0]["MIME_TYPE"] == "video/mp4"


def test_what_pympi_saved_again_is_still_the_same(recordings: tuple[Recording, ...], tmp_path: Path) -> None:
    pympi = pytest.importorskip("pympi", reason="needs pympi-ling")
    write("elan", recordings, tmp_path / "eaf")
    (tmp_path / "again").mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for file in (tmp_path / "eaf").iterdir():
            pympi.Eaf(str(file)).to_file(str(tmp_path / "again" / file.name))
    assert read("elan", tmp_path / "again").objects == recordings


# -- subtitles -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("format_", "name"),
    [("webvtt", "webvtt_py.vtt"), ("webvtt", "pysubs2.vtt"), ("srt", "pysubs2.srt"), ("srt", "srt.srt")],
)
def test_subtitles_of_libraries(golden: Path, format_: str, name: str) -> None:
    found = read(format_, golden / name)
    assert [(s.text, s.start, s.end) for s in found.objects[0].segments] == [
        ("Fill the kettle", 0.5, 12.04),
        ("Boil the water & wait", 12.04, 95.5),
        ("Stir\nslowly", 95.5, 3_661.25),
    ]
    assert found.dropped == ()


def test_libraries_read_our_subtitles(recordings: tuple[Recording, ...], tmp_path: Path) -> None:
    webvtt = pytest.importorskip("webvtt", reason="needs webvtt-py")
    srt = pytest.importorskip("srt", reason="needs srt")
    write("webvtt", recordings[:1], tmp_path / "a.vtt")
    write("srt", recordings[:1], tmp_path / "a.srt")
    cues = list(webvtt.read(str(tmp_path / "a.vtt")))
    assert [c.identifier for c in cues] == ["1/1", "2/2", "3/3", "4/4", "5/3"]
    assert [c.start for c in cues] == [
        "00:00:00.500",
        "00:00:12.040",
        "00:01:30.000",
        "00:01:50.250",
        "00:01:53.000",
    ]
    parsed = list(srt.parse((tmp_path / "a.srt").read_text(encoding="utf-8")))
    assert [s.content for s in parsed][:2] == ["Fill the kettle", "Boil the water & wait <2 min>"]
    assert parsed[1].end.total_seconds() == 95.5


# -- Parquet ---------------------------------------------------------------------------------------------------

TEA = (
    Recording(
        "tea_1",
        "tea",
        "Tea for two",
        (Segment("001", "Fill the kettle", 0.5, 12.04, mistakes=(Mistake("order", "too early"),)),),
        120.0,
        None,
        {"split": "val"},
    ),
)


@pytest.mark.parametrize(("name", "folder"), [("hugging-face", "hugging_face"), ("croissant", "croissant")])
def test_tables_of_real_tools(golden: Path, name: str, folder: str) -> None:
    pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")
    found = read(name, golden / folder)
    assert found.objects == TEA
    assert found.warnings == found.dropped == ()


@pytest.mark.filterwarnings("ignore")
def test_datasets_loads_our_folder(
    recordings: tuple[Recording, ...], diamond: TaskGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    datasets = pytest.importorskip("datasets", reason="needs the extra 'hf'")
    about = {"name": 'tea: "x"', "license": "CC-BY-4.0"}
    write("hugging-face", recordings, tmp_path / "hub", about=about, graphs={"g": diamond})
    loaded = datasets.load_dataset(str(tmp_path / "hub"), cache_dir=str(tmp_path / "cache"))
    assert {k: len(v) for k, v in loaded.items()} == {"train": 2}
    row = loaded["train"][0]
    assert row["recording_id"] == "tea_1"
    assert row["segments"][2]["mistakes"] == [
        {"kind": "timing", "text": "too short: 1 min"},
        {"kind": "order", "text": ""},
    ]
    assert row["segments"][0]["start"] is None
    info = datasets.load_dataset_builder(str(tmp_path / "hub"), cache_dir=str(tmp_path / "cache")).info
    assert info.config_name == "recordings"
    assert info.features == loaded["train"].features  # the front matter says the same as the table


ABOUT = {
    "name": "tea",
    "description": "Tea being made.",
    "license": "CC-BY-4.0",
    "url": "https://example.org/tea",
    "version": "1.0.0",
    "datePublished": "2026-11-20",
    "citeAs": "Tea, 2026",
    "creator": "Example",
    "rai:dataCollection": "Filmed in a kitchen.",
    "rai:annotationsPerItem": "2",
    "rai:hasSyntheticData": "false",
}


@pytest.mark.filterwarnings("ignore")
def test_mlcroissant_accepts_and_iterates_ours(
    recordings: tuple[Recording, ...], diamond: TaskGraph, tmp_path: Path
) -> None:
    mlc = pytest.importorskip("mlcroissant", reason="needs mlcroissant")
    write("croissant", recordings, tmp_path / "c", about=ABOUT, graphs={"g": diamond})
    dataset = mlc.Dataset(str(tmp_path / "c" / "croissant.json"))
    assert not dataset.metadata.ctx.issues.errors
    assert not dataset.metadata.ctx.issues.warnings
    assert dataset.metadata.ctx.conforms_to.value == "http://mlcommons.org/croissant/1.1"
    assert dataset.metadata.data_collection == "Filmed in a kitchen."
    rows = list(dataset.records("segments"))
    assert len(rows) == sum(len(r.segments) for r in recordings)
    assert rows[1]["segments/step_id"] == b"1"
    assert rows[1]["segments/end"] == 12.04
    assert rows[0]["segments/start"] is None
    kinds = [row["mistakes/kind"] for row in dataset.records("mistakes")]
    assert kinds == [b"missing", b"timing", b"order", b"technique"]
    assert [row["recordings/recording_id"] for row in dataset.records("recordings")] == [b"tea_1", b"tea_2"]
    assert {row["attributes/name"] for row in dataset.records("attributes")} == {b"split", b"person", b"note"}


def test_croissant_metadata_has_the_fields_written_down(
    recordings: tuple[Recording, ...], tmp_path: Path
) -> None:
    pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")
    write("croissant", recordings, tmp_path / "c", about=ABOUT)
    metadata = json.loads((tmp_path / "c" / "croissant.json").read_text(encoding="utf-8"))
    assert metadata["@type"] == "sc:Dataset"
    assert metadata["rai:hasSyntheticData"] == "false"
    assert metadata["conformsTo"] == [
        "http://mlcommons.org/croissant/1.1",
        "http://mlcommons.org/croissant/RAI/1.0",
    ]
    assert read("croissant", tmp_path / "c").objects == recordings
    assert {"@type", "@id", "name", "contentUrl", "encodingFormat", "sha256"} == set(
        metadata["distribution"][0]
    )
    references = [
        f["references"]["field"]["@id"]
        for s in metadata["recordSet"]
        for f in s["field"]
        if "references" in f
    ]
    assert references == ["recordings/recording_id"] * 3

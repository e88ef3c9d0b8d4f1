"""``proctor capture ingest``: files that came late, chapters that were joined, clocks that nobody compared."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.capture.sync.test_files import camera
from tests.stages.capture.conftest import TEA, record

from proctor.capture.records import EVENTS, MANIFEST, TABLET_EVENTS, Event, Manifest, StreamSpec
from proctor.capture.sensors.file_drop import FILES, make
from proctor.datasets.plain import read_plain
from proctor.errors import UserError
from proctor.media.probe import probe
from proctor.media.streams import join_videos
from proctor.records import file_sha256, read_json, read_jsonl, write_json, write_jsonl
from proctor.stages.capture.ingest import ingest, synced
from proctor.stages.capture.settings import IngestSettings, SyncSettings
from proctor.stages.capture.sync import sync
from proctor.workspace import Workspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    workspace = Workspace(tmp_path / "kitchen")
    workspace.create()
    workspace.write_graphs({"tea": TEA})
    return workspace.root


def _streams(folder: Path, *more: StreamSpec) -> None:
    manifest = read_json(folder / MANIFEST, Manifest)
    write_json(folder / MANIFEST, msgspec.structs.replace(manifest, streams=manifest.streams + more))


def _length(root: Path) -> float:
    (recording,) = read_plain(root / "capture" / "dataset").recordings
    return probe(root / "capture" / "dataset" / str(recording.video)).duration or 0.0


@pytest.mark.parametrize("stream", ["phone", "drop"])
def test_files_that_come_after_the_recording_are_taken_hashed_and_used(root: Path, stream: str) -> None:
    folder = record(root, "rec-a", "P1")
    if stream == "phone":
        _streams(folder, make("phone", {}).spec, make("away", {"folder": "/nowhere"}).spec)
    sync(root, SyncSettings())
    camera(folder / "drop" / "cam.mp4", 0, 18, sound=False)
    (folder / "drop" / "list.txt").write_text("no video, but a list of things to buy")
    with pytest.raises(UserError, match=r"no picture|capture sync"):  # it is taken, and stands nowhere yet
        ingest(root, IngestSettings())
    manifest = read_json(folder / MANIFEST, Manifest)
    kept = {file.path: file for file in manifest.files}
    taken = kept[f"raw/{stream}/file-001.mp4"]
    assert taken.sha256 == file_sha256(folder / "drop" / "cam.mp4")
    assert kept[f"raw/{stream}/{FILES}"].sha256 == file_sha256(folder / "raw" / stream / FILES)
    assert next(s.name for s in manifest.streams if s.format == "file") == stream
    assert not (folder / "raw" / "away").exists()
    camera(folder / "drop" / "again.mp4", 5, 3, sound=False)
    (folder / "drop" / "cam.mp4").unlink()  # what was taken stays
    (done,) = sync(root, SyncSettings())
    assert any("'again.mp4': it was taken after" in reason for reason in done.reasons)
    assert read_json(folder / MANIFEST, Manifest).files[: len(manifest.files) - 1] == manifest.files[:-1]
    with pytest.raises(UserError, match="2 files that play"):
        ingest(root, IngestSettings())
    (folder / "raw" / stream / "file-002.mp4").write_bytes(b"changed")
    with pytest.raises(UserError, match="its hash differs"):
        ingest(root, IngestSettings())


def test_a_file_that_came_before_synchronising_is_the_video(root: Path) -> None:
    folder = record(root, "rec-a", "P1")
    camera(folder / "drop" / "cam.mp4", 0, 18, sound=False)
    (folder / "drop" / "list.txt").write_text("no video, but a list of things to buy")
    sync(root, SyncSettings())
    done = ingest(root, IngestSettings())
    assert _length(root) == pytest.approx(18, abs=0.1)
    assert any("'list.txt': " in note for note in done.notes["rec-a"])
    before = (folder / MANIFEST).read_bytes()
    assert ingest(root, IngestSettings()).recordings == 1
    assert (folder / MANIFEST).read_bytes() == before


def test_chapters_that_were_joined_count_once(root: Path) -> None:
    folder = record(root, "rec-a", "P1")
    raw = folder / "raw" / "ego"
    _streams(folder, StreamSpec(name="ego", kind="video", format="file"))
    chapters = [raw / "GX010042.MP4", raw / "GX020042.MP4"]
    for n, path in enumerate(chapters):
        camera(path, 9 * n, 9, sound=False)
    sync(root, SyncSettings())
    with pytest.raises(UserError, match="2 files that play"):
        ingest(root, IngestSettings())
    join_videos(chapters, raw / "joined-0042.mp4")
    sync(root, SyncSettings())
    found = synced(folder)
    assert found is not None
    assert {s.name: s.samples for s in found[1].streams}["ego"] == 18 * 30
    ingest(root, IngestSettings())
    assert _length(root) == pytest.approx(18, abs=0.1)


@pytest.mark.parametrize("compared", [True, False])
def test_a_tablet_whose_clock_nobody_compared_is_told(root: Path, compared: bool) -> None:
    folder = record(root, "rec-a", "P1")
    camera(folder / "drop" / "cam.mp4", 0, 18, sound=False)
    done = [
        Event(n=n, kind="step_done", step=s.id, clock="t1", device_ns=(n + 1) * 5 * 10**9,
              wall=f"2026-01-01T10:00:{5 * n + 5:02}Z")
        for n, s in enumerate(TEA.actions)
    ]  # fmt: skip
    start = Event(n=0, kind="state", text="recording", host_ns=0, wall="2026-01-01T10:00:00Z")
    write_jsonl(folder / EVENTS, [start])
    pair = Event(n=9, kind="clock", clock="t1", device_ns=1, host_ns=1, rtt_ns=1)
    write_jsonl(folder / TABLET_EVENTS, [pair, *done] if compared else done)
    sync(root, SyncSettings())
    told = ingest(root, IngestSettings()).notes.get("rec-a", ())
    assert any("'t1' was never compared" in note for note in told) != compared
    (recording,) = read_plain(root / "capture" / "dataset").recordings
    assert [s.end for s in recording.performed] == [5, 10, 15]


def test_a_file_that_began_before_the_base_is_the_video_from_its_own_beginning(root: Path) -> None:
    folder = record(root, "rec-a", "P1")
    began = Event(n=3, kind="sensor", text="began", stream="drop", host_ns=-3 * 10**9)
    write_jsonl(folder / EVENTS, [*read_jsonl(folder / EVENTS, Event), began])
    camera(folder / "drop" / "cam.mp4", 0, 21, sound=False)
    sync(root, SyncSettings(base="imu"))
    ingest(root, IngestSettings())
    (recording,) = read_plain(root / "capture" / "dataset").recordings
    assert [s.end for s in recording.performed] == [8, 13, 18]
    assert _length(root) == pytest.approx(21, abs=0.1)


def test_a_recording_that_cannot_be_read_is_listed_and_the_others_are_taken(root: Path) -> None:
    camera(record(root, "rec-a", "P1") / "drop" / "cam.mp4", 0, 18, sound=False)
    broken = record(root, "rec-b", "P1") / MANIFEST
    sync(root, SyncSettings())
    broken.write_bytes(broken.read_bytes()[:99])
    done = ingest(root, IngestSettings(stream="drop"))
    assert (done.recordings, done.dropped) == (1, {"unreadable": 1})
    listed = (root / "capture.dropped.jsonl").read_text()
    assert "rec-b" in listed
    assert "rec-a" not in listed

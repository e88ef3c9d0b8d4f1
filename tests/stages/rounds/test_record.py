"""Rounds of recordings: out of the plan, and into the folder of each recording beside what a recorder wrote."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from proctor.capture.records import (
    Event,
    KeptFile,
    Manifest,
    PlannedMistake,
    Review,
    Script,
    ScriptStep,
    Slot,
    StepReview,
    StreamSpec,
    recording_folder,
)  # fmt: skip
from proctor.errors import UserError
from proctor.records import canonical_json, file_sha256, read_json, read_jsonl, write_json, write_jsonl
from proctor.stages.rounds import record
from proctor.stages.rounds.settings import RecordRoundSettings
from proctor.studio.slices import keep_slice
from proctor.verify.rounds.record import CHECKS, RecordOptions, RecordSheet, RecordTask
from proctor.verify.rounds.records import Reading, Round, RoundSettings
from proctor.workspace import Workspace

SCRIPT = Script(
    id="raita-1", activity="raita", title="Raita", strategy="induced", left_out=("s2",),
    steps=(ScriptStep(step="s1", text="Whisk the curd"),), mistakes=(PlannedMistake(step="s2", kind="missing"),),
)  # fmt: skip
SLOTS = tuple(
    Slot(id=f"r{n}", script="raita-1", activity="raita", participant=f"p0{n}", environment="kitchen-1", strategy="induced") for n in (1, 2)
)  # fmt: skip
SHEET = RecordSheet(
    stage="review", ready=tuple(CHECKS), texts={"s1": "Whisk it with a fork"}, planned=(PlannedMistake(step="s1", kind="technique"),),
    events=tuple(Event(n=n, kind="state", text=t, wall="2026-12-01T10:00:00Z", clock="tablet:1", device_ns=n) for n, t in enumerate(("recording", "stopped"))),
    slices={"tablet-1": 3}, review=(StepReview(step="s1"), StepReview(step="s2", done=False)),
)  # fmt: skip
ROUND = Round(
    id=1, pid="r", name="record", kind="record", settings=RoundSettings(), options=msgspec.Raw(canonical_json(RecordOptions())),
    state="open", created_at=0,
)  # fmt: skip


@pytest.fixture
def bench(tmp_path: Path) -> Workspace:
    root = tmp_path / "bench"
    (root / "capture").mkdir(parents=True)
    write_jsonl(root / "capture" / "scripts.jsonl", [SCRIPT])
    plan = {
        "format": 1,
        "participants": ["p01", "p02"],
        "environments": ["kitchen-1"],
        "strategies": {"induced": 1},
        "slots": SLOTS,
    }
    write_json(root / "capture" / "plan.json", plan)
    return Workspace(root)


def reading(sheet: RecordSheet = SHEET) -> Reading:
    body = canonical_json(RecordTask(slot=SLOTS[0], script=SCRIPT))
    return Reading(
        round="record", kind="record", task="r1", person="k3", batch="b", sheet=msgspec.Raw(canonical_json(sheet)), seconds=9, rev=1,
        at=0, assignment="pid", body=msgspec.Raw(body),
    )  # fmt: skip


@pytest.fixture(scope="module")
def webm(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Two seconds as a browser writes them: without a length, and with nothing to seek by."""
    import av
    import numpy as np

    path = tmp_path_factory.mktemp("webm") / "a.webm"
    with path.open("wb") as file:
        pipe = type("Pipe", (), {"write": file.write, "name": "a.webm"})()  # nothing that can be gone back in
        with av.open(pipe, "w", format="webm", options={"live": "1"}) as out:
            stream = out.add_stream("libvpx", rate=10)
            stream.width, stream.height = 64, 48
            for n in range(20):
                frame = av.VideoFrame.from_ndarray(np.full((48, 64, 3), n * 12, np.uint8), format="rgb24")
                out.mux(stream.encode(frame))
            out.mux(stream.encode(None))
    return path.read_bytes()


def send(bench: Workspace, data: bytes, seq: int, count: int = 3) -> None:
    cut = data[(seq - 1) * len(data) // count : seq * len(data) // count]
    told = {"kind": "video/webm", "sha256": hashlib.sha256(cut).hexdigest(), "perf_ns": seq}
    keep_slice(bench.file("studio"), "pid", "tablet-1", seq, cut, **told)  # type: ignore[arg-type]


def collect(bench: Workspace, **more: Any) -> tuple[Path, Manifest]:
    (folder,) = record.collect(bench, ROUND, [reading(**more)], None).files
    return folder, read_json(folder / "manifest.json", Manifest)


def test_a_task_for_each_recording_that_is_still_to_do(bench: Workspace) -> None:
    write_json(
        recording_folder(bench.root, "r2").parent / "r2" / "manifest.json", Manifest(id="r2", state="stopped")
    )
    made = record.make(
        bench, RecordRoundSettings(stream=("camera",), countdown=3, paragraph=True, minutes=20)
    )
    (task,) = made.tasks
    assert (task.name, task.group, task.stratum) == ("r1", "r1", "raita")
    assert msgspec.json.decode(task.body, type=RecordTask).left_out == {"s2": "s2"}
    assert [(d.id, d.reason) for d in made.dropped] == [("r2", "recorded")]
    assert made.options == RecordOptions(streams=("camera",), countdown_s=3, paragraph=True, minutes=20)
    assert record.make(bench, RecordRoundSettings(display_only=True)).options == RecordOptions(streams=())


def test_a_slot_without_a_script_is_said(bench: Workspace) -> None:
    write_jsonl(bench.root / "capture" / "scripts.jsonl", [msgspec.structs.replace(SCRIPT, id="other-1")])
    with pytest.raises(UserError, match="no script 'raita-1'"):
        record.make(bench, RecordRoundSettings())


def test_slices_become_a_file_that_plays_and_late_ones_make_it_whole(bench: Workspace, webm: bytes) -> None:
    import av

    for seq in (1, 2):
        send(bench, webm, seq)
    folder, manifest = collect(bench)
    assert (manifest.state, manifest.participant) == ("incomplete", "p01")
    assert "1 slices of tablet-1 have not come" in manifest.reasons[0]
    send(bench, webm, 3)
    folder, manifest = collect(bench)
    assert (manifest.state, manifest.reasons, manifest.wall_start) == ("stopped", (), "2026-12-01T10:00:00Z")
    video = folder / "raw" / "tablet-1" / "tablet-1.webm"
    with av.open(str(video)) as found:
        assert found.duration is not None
        assert abs(found.duration / av.time_base - 2) < 0.2
        assert sum(1 for _ in found.decode(video=0)) == 20
    assert [s.name for s in manifest.streams] == ["tablet-1"]
    assert {f.path: f.sha256 for f in manifest.files} == {
        f.path: file_sha256(folder / f.path) for f in manifest.files
    }
    assert {
        "script.json",
        "review.json",
        "tablet.jsonl",
        "raw/tablet-1/tablet-1.webm",
        "raw/tablet-1/tablet-1.slices.jsonl",
    } == {f.path for f in manifest.files}
    before = video.stat().st_mtime_ns
    assert collect(bench)[1] == manifest
    assert video.stat().st_mtime_ns == before  # raw files are written once
    assert sorted(p.name for p in video.parent.iterdir()) == ["tablet-1.slices.jsonl", "tablet-1.webm"]


def test_what_was_prepared_is_in_the_script_and_what_was_done_beside_it(bench: Workspace) -> None:
    sheet = msgspec.structs.replace(SHEET, slices={})
    folder, manifest = collect(bench, sheet=sheet)
    script = read_json(folder / "script.json", Script)
    assert script.steps == (ScriptStep(step="s1", text="Whisk the curd", modified="Whisk it with a fork"),)
    assert script.mistakes == (*SCRIPT.mistakes, *SHEET.planned)
    assert read_json(folder / "review.json", Review) == Review(recording="r1", by="k3", steps=SHEET.review)
    assert read_jsonl(folder / "tablet.jsonl", Event) == list(SHEET.events)
    assert manifest.streams == ()
    assert read_jsonl(bench.root / "capture" / "scripts.jsonl", Script) == [SCRIPT]


def test_what_a_recorder_wrote_stays(bench: Workspace, webm: bytes) -> None:
    folder = recording_folder(bench.root, "r1")
    camera = StreamSpec(name="head", kind="video", format="file")
    theirs = Manifest(
        id="r1", participant="p01", state="stopped_disk", streams=(camera,), host_start_ns=5, files=(KeptFile(path="events.jsonl", bytes=1, sha256="a"),),
        reasons=("the disk was full",),
    )  # fmt: skip
    write_json(folder / "manifest.json", theirs)
    other = msgspec.structs.replace(SCRIPT, seed="other")
    write_json(folder / "script.json", other)
    for seq in (1, 2, 3):
        send(bench, webm, seq)
    send_other = b"others" * 9
    told = {"kind": "video/webm", "sha256": hashlib.sha256(send_other).hexdigest(), "perf_ns": 3}
    assert keep_slice(bench.file("studio"), "pid", "tablet-1", 3, send_other, **told) == "conflict"  # type: ignore[arg-type]
    for _ in range(2):
        _, manifest = collect(bench)
        assert (manifest.state, manifest.host_start_ns) == ("stopped_disk", 5)
        assert [s.name for s in manifest.streams] == ["head", "tablet-1"]
        assert manifest.files[0].path == "events.jsonl"
        assert [r[:20] for r in manifest.reasons] == [
            "the disk was full",
            "the recorder had ano",
            "a slice of tablet-1 ",
        ]
    assert read_json(folder / "script.json", Script) == other
    assert read_json(folder / "script.tablet.json", Script).steps[0].modified == "Whisk it with a fork"
    (beside,) = (folder / "raw" / "tablet-1" / "conflicts").glob("*conflict*")
    assert beside.read_bytes() == send_other


def test_a_file_that_cannot_be_read_is_kept_as_it_is(bench: Workspace) -> None:
    data = b"\x1a\x45\xdf\xa3" + bytes(300)
    for seq in (1, 2, 3):
        send(bench, data, seq)
    folder, manifest = collect(bench)
    assert (folder / "raw" / "tablet-1" / "tablet-1.webm").read_bytes() == data
    assert manifest.state == "stopped"


def test_what_was_withdrawn_is_not_written_again(bench: Workspace, webm: bytes) -> None:
    from proctor.release.recordings import Withdrawal, note_withdrawal
    from proctor.studio.slices import list_parts

    for seq in (1, 2, 3):
        send(bench, webm, seq)
    note_withdrawal(bench.root, Withdrawal(day="2026-12-02", recordings=("r1",)))
    assert record.collect(bench, ROUND, [reading()], None).files == ()
    assert not recording_folder(bench.root, "r1").exists()
    assert list_parts(bench.file("studio"), "pid") == {}


def test_the_plans_script_that_a_recorder_put_there_gets_what_was_prepared(bench: Workspace) -> None:
    """Its hash in the manifest, too: who ingests the recording holds every file against it."""
    folder = recording_folder(bench.root, "r1")
    write_json(folder / "script.json", SCRIPT)
    kept = KeptFile(path="script.json", bytes=1, sha256=file_sha256(folder / "script.json"))
    write_json(folder / "manifest.json", Manifest(id="r1", state="stopped", host_start_ns=5, files=(kept,)))
    _, manifest = collect(bench, sheet=msgspec.structs.replace(SHEET, slices={}))
    assert read_json(folder / "script.json", Script).steps[0].modified == "Whisk it with a fork"
    found = {f.path: f.sha256 for f in manifest.files}
    assert found == {
        name: file_sha256(folder / name) for name in ("review.json", "script.json", "tablet.jsonl")
    }

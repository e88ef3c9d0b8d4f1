"""A workspace with three recordings that are over, of two participants, and their data set; made by hand, without sensors."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.capture.records import (
    EVENTS,
    MANIFEST,
    REVIEW,
    SCRIPT,
    Event,
    KeptFile,
    Manifest,
    Review,
    Sample,
    Script,
    ScriptStep,
    StepReview,
    StreamSpec,
    recording_folder,
)  # fmt: skip
from proctor.capture.segments import SegmentWriter, write_index
from proctor.datasets.plain import write_plain
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Recording, Segment
from proctor.records import file_sha256, write_json, write_jsonl
from proctor.workspace import Workspace

TEA = TaskGraph(
    "tea", "Tea", (Step("boil", "Boil water"), Step("pour", "Pour it"), Step("sip", "Sip")), (("boil", "pour"), ("pour", "sip"))
)  # fmt: skip
PEOPLE = {"rec-a": "P1", "rec-b": "P2", "rec-c": "P2"}
STREAMS = (
    StreamSpec(name="imu", kind="imu", format="f4", rate_hz=10, columns=("x",), units=("m/s^2",)),
    StreamSpec(name="head", kind="pose", format="f4", rate_hz=10, columns=("px",), units=("m",)),
)


def record(
    root: Path, name: str, participant: str, *, state: str = "stopped", simulated: bool = False
) -> Path:
    """Write a recording of 20 s in which each step took 5 s; returns its folder."""
    folder = recording_folder(root, name)
    for spec in STREAMS:
        writer = SegmentWriter(folder / "raw" / spec.name)
        for n in range(200):
            writer.add(Sample(n * 10**8, n * 10**8, n.to_bytes(4, "little")))
        writer.close()
        write_index(folder / "raw" / spec.name)
    done = [
        Event(n=n, kind="step_done", step=s.id, host_ns=(n + 1) * 5 * 10**9)
        for n, s in enumerate(TEA.actions)
    ]
    write_jsonl(folder / EVENTS, done)
    steps = tuple(ScriptStep(step=s.id, text=s.text) for s in TEA.actions)
    write_json(
        folder / SCRIPT,
        Script(id="tea-normal-1", activity="tea", title="Tea", strategy="normal", steps=steps),
    )
    reviewed = tuple(StepReview(step=s.step) for s in steps)
    write_json(folder / REVIEW, Review(recording=name, by=participant, steps=reviewed))
    files = tuple(
        KeptFile(path=p.relative_to(folder).as_posix(), bytes=p.stat().st_size, sha256=file_sha256(p))
        for p in sorted((folder / "raw").rglob("*"))
        if p.is_file()
    )
    manifest = Manifest(
        id=name, activity="tea", participant=participant, environment="lab", state=state, streams=STREAMS, files=files,
        host_start_ns=0, host_end_ns=20 * 10**9, simulated=simulated,
    )  # type: ignore[arg-type]  # fmt: skip
    write_json(folder / MANIFEST, manifest)
    return folder


@pytest.fixture
def captured(tmp_path: Path) -> Path:
    """Return the workspace: recordings, task graph, and the data set with a video for each (its bytes are of no matter)."""
    root = tmp_path / "kitchen"
    workspace = Workspace(root)
    workspace.create()
    workspace.write_graphs({"tea": TEA})
    recordings = []
    for name, participant in PEOPLE.items():
        record(root, name, participant)
        segments = tuple(Segment(s.id, s.text, n * 5.0, n * 5.0 + 5) for n, s in enumerate(TEA.actions))
        more = {"person": participant, "environment": "lab", "strategy": "normal"}
        recordings.append(
            Recording(
                name, "tea", "Tea", segments, duration=20.0, video=f"videos/{name}.mp4", attributes=more
            )
        )
    dataset = root / "capture" / "dataset"
    write_plain(dataset, recordings, {"tea": TEA}, about={"name": "captured", "version": "1"})
    (dataset / "videos").mkdir()
    for name in PEOPLE:
        (dataset / "videos" / f"{name}.mp4").write_bytes(f"video of {name}".encode())
    return root

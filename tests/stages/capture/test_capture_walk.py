"""The walk of docs/capture.md, as typed there: a simulated kitchen with mistakes, recorded through kill -9, becomes a benchmark."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("av", reason="the extra 'capture' is not installed")
pytest.importorskip("pyarrow", reason="the extra 'capture' is not installed")

from tests.docs.outsider import types
from tests.typed import SAID, proctor

from proctor.capture.records import EVENTS, MANIFEST, Event, Manifest, recording_folder
from proctor.capture.segments import load_index
from proctor.datasets.plain import read_plain
from proctor.media.steady import check_steady
from proctor.procedure.recording import Recording
from proctor.records import read_json, read_jsonl
from proctor.release.recordings import ReleaseManifest, check_release
from proctor.stages.capture.ingest import synced

PAGE = Path(__file__).resolve().parents[3] / "docs" / "capture.md"


WALK = r"(?:capture (?:plan kitchen .*--anybody|simulate kitchen --(?:recording|seconds)|status|sync kitchen *$|ingest|release .*-1|withdraw .*-1)|^proctor (?!studio)[a-z]+ (?:plain )?kitchen)"
"""The commands of the walk, as the page shows them."""


def typed_commands() -> tuple[str, list[list[str]]]:
    """Return the activity and the commands of the page's walk."""
    text = PAGE.read_text("utf-8")
    walk = text[text.index("## A simulated kitchen") :]
    walk = walk[: walk.index("\n## ", 5)]
    (activity,) = re.findall(r"```json\n(.*?)```", walk, re.S)
    return activity, [shlex.split(line) for line in walk.splitlines() if line.startswith("proctor ")]


def killed_half_way(command: list[str], folder: Path) -> None:
    """Run a command and kill it (SIGKILL) once a step of the recording is done."""
    SAID.append(command[1:])
    process = subprocess.Popen(
        [sys.executable, "-m", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        until = time.monotonic() + 60
        while not (folder / EVENTS).is_file() or b"step_done" not in (folder / EVENTS).read_bytes():
            assert process.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < until
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


@types("capture.md", commands=WALK)
def test_the_walk_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    activity, commands = typed_commands()
    Path("activities").mkdir()
    Path("activities/tea.json").write_text(activity, "utf-8")
    root, first = Path("kitchen"), recording_folder(Path("kitchen"), "tea-001")
    names = [" ".join(words[1:3]) for words in commands]
    assert names.count("capture simulate") == 3

    done = {}
    for n, words in enumerate(commands):
        if n == 1:
            killed_half_way(words, first)
            assert read_json(first / MANIFEST, Manifest).state == "recording"
            before = [e for e in read_jsonl(first / EVENTS, Event) if e.kind == "step_done"]
            continue
        done[n] = proctor(*words[1:])
        assert done[n].status == 0, (words, done[n].err)
        if words[1] == "report":  # before somebody withdraws
            items = (root / "items.jsonl").read_bytes().splitlines()
            scored = json.loads((root / "runs" / "annotations" / "scores.json").read_bytes())
    assert len(items) > 10
    assert scored

    # the killed recording went on where it stopped: nothing was done or numbered twice, nothing was lost
    events = read_jsonl(first / EVENTS, Event)
    steps = [e.step for e in events if e.kind == "step_done"]
    assert steps[: len(before)] == [e.step for e in before]
    assert len(steps) == len(set(steps))
    assert [e.text for e in events if e.kind == "state"] == [
        "armed",
        "recording",
        "armed",
        "recording",
        "stopped",
    ]
    assert [e.n for e in events] == list(range(len(events)))
    for stream in ("pv", "audio"):
        index = load_index(first / "raw" / stream)
        assert index["seq"].tolist() == list(range(len(index)))
        assert index["segment"].max() == 2

    release = read_json(Path("kitchen-1.0") / MANIFEST, ReleaseManifest)
    assert not check_release(Path("kitchen-1.0"), release)
    withdrawn = [r for w in release.withdrawn for r in w.recordings]
    assert len(withdrawn) == 1
    left = {r.id for r in release.recordings}
    assert len(left) == 2
    assert left.isdisjoint(withdrawn)

    dataset = read_plain(root / "capture" / "dataset")
    assert {r.id for r in dataset.recordings} == left
    for recording in dataset.recordings:
        assert recording.video is not None
        assert check_steady(root / "capture" / "dataset" / recording.video).fps == 30
        found = synced(recording_folder(root, recording.id))
        assert found is not None
        if recording.id != "tea-001":
            report = {s.name: s for s in found[1].streams}
            assert [round(begin) for begin, _ in report["pv"].gaps] == [20]
            assert abs(report["accelerometer"].clock[0].drift_ppm - 200) < 20
            assert (load_index(recording_folder(root, recording.id) / "raw" / "pv")["size"] > 0).all()
    recordings = read_jsonl(root / "recordings.jsonl", Recording)
    assert {r.id for r in recordings} == left
    assert all(r.attributes["reviewed"] == "yes" for r in recordings)
    for name in withdrawn:
        folder = recording_folder(root, name)
        assert [p.name for p in folder.iterdir()] == [MANIFEST]
        texts = (p for p in root.rglob("*") if p.suffix in (".jsonl", ".json", ".html") and p.is_file())
        told = {folder / MANIFEST, root / "capture" / "withdrawn.jsonl", root / "capture" / "plan.json"}
        assert not [p for p in texts if p not in told and not p.is_relative_to(folder) and name.encode() in p.read_bytes()
                    and p.parent.parent.name != "recordings"]  # fmt: skip

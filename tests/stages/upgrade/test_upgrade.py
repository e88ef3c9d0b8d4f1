"""Old workspaces brought up to date on a copy; what is in them is compared in ``tests/golden`` with what the old code made."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.typed import proctor

from proctor.errors import UserError
from proctor.exam.question import Item
from proctor.records import content_hash, file_sha256, read_jsonl
from proctor.stages.predict import items_hash, read_run_info
from proctor.stages.upgrade import upgrade as conductor
from proctor.stages.upgrade.part import Part
from proctor.stages.upgrade.upgrade import upgrade
from proctor.workspace import Workspace

OLD_ITEM = {
    "id": "i1", "candidate_id": "c1", "question": "What now?", "golds": [{"text": "Pour.", "step_ids": ["3"]}],
    "example": {
        "id": "e1", "clip_id": "r_2", "recording_id": "r", "activity_id": "tea", "activity_name": "Tea", "type": "next",
        "end": 9, "state": "ongoing", "noisy": False,
    },
    "candidate_hash": "0123456789abcdef",
}  # fmt: skip


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A workspace of format 1 with an item, a run of it, a run of other items, pictures, and what a killed process left."""
    bench = tmp_path / "bench"
    put(bench / "items.jsonl", json.dumps(OLD_ITEM) + "\n")
    # What the old code wrote into run.json: floats are written as floats, defaults are left out.
    example = {**OLD_ITEM["example"], "end": 9.0}  # type: ignore[dict-item]
    asked = content_hash([content_hash({**OLD_ITEM, "example": example})])
    for name, items in (("mine", asked), ("other", "another")):
        put(bench / "runs" / name / "run.json", json.dumps({"predictor": name, "items": items}))
        put(bench / "runs" / name / "predictions.jsonl", "")
        put(bench / "runs" / name / "scores.json", "{}")
    digest = {"items.jsonl": file_sha256(bench / "items.jsonl")}
    records = {
        "build": {"version": "0", "settings": {}, "counts": {}, "outputs": digest},
        "judge/mine": {"version": "0", "settings": {}, "counts": {}, "inputs": digest},
    }
    put(bench / "stages.json", json.dumps(records))
    put(bench / "media" / "ab" / "abc", "a picture")
    put(bench / ".items.jsonl.0011223344556677.tmp", "half")
    return bench


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def content(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def test_the_copy_is_of_today_and_the_original_as_it_was(old: Path) -> None:
    before = content(old)
    done = proctor("upgrade", old)
    assert done.status == 0, done.err
    assert content(old) == before
    copy = old.with_name("bench-upgraded")
    assert f"proctor score {copy}" in done.out
    (item,) = read_jsonl(copy / "items.jsonl", Item)
    assert (item.id, item.question.text, item.question.cluster) == ("i1", "What now?", "r")
    assert item.question.provenance == {"candidate": "c1", "version": "0123456789abcdef"}
    assert read_run_info(copy / "runs/mine").items == items_hash([item])
    assert read_run_info(copy / "runs/other").items == "another"
    assert Workspace(copy).stale() == []
    assert not list(copy.rglob("scores.json"))
    assert not list(copy.rglob("*.tmp"))
    with pytest.raises(UserError, match="nothing to do"):
        upgrade(copy)


def test_what_was_done_is_counted(old: Path) -> None:
    told = proctor("upgrade", old, "--json").json
    assert told["changed"] == {"items": 1, "runs about moments": 1}
    assert told["left_out"] == {"scores.json": 2}
    assert told["again"] == [f"proctor score {told['output']}"]


def test_pictures_are_linked_and_nothing_written_later_reaches_the_original(
    old: Path, tmp_path: Path
) -> None:
    put(tmp_path / "videos" / "r.mp4", "a video")
    (old / "videos").symlink_to(tmp_path / "videos")
    (old / "runs").rename(tmp_path / "runs")
    (old / "runs").symlink_to(tmp_path / "runs")
    runs = content(tmp_path / "runs")
    copy = Path(upgrade(old, tmp_path / "copy").output)
    assert (copy / "media/ab/abc").samefile(old / "media/ab/abc")
    assert (copy / "videos").is_symlink()
    assert (copy / "videos/r.mp4").read_text() == "a video"
    assert not (copy / "runs").is_symlink()
    assert content(tmp_path / "runs") == runs
    assert not (copy / "stages.json").samefile(old / "stages.json")


def test_a_killed_upgrade_leaves_nothing_that_looks_whole(old: Path) -> None:
    code = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom proctor.stages.upgrade import upgrade as u\n"
        "u._PARTS = (*u._PARTS, lambda workspace: os.kill(os.getpid(), signal.SIGKILL))\nu.upgrade(Path(sys.argv[1]))"
    )
    before = content(old)
    done = subprocess.run([sys.executable, "-c", code, str(old)], check=False, timeout=60)
    assert done.returncode == -9
    assert content(old) == before
    assert not old.with_name("bench-upgraded").exists()
    assert proctor("upgrade", old).status == 0


@pytest.mark.parametrize(
    ("damage", "where"),
    [
        (lambda old: put(old / "items.jsonl", "{"), "items.jsonl"),
        (lambda old: put(old / "runs/mine/run.json", "[]"), "runs/mine/run.json"),
        (lambda old: put(old / "stages.json", "[]"), "stages.json"),
        (lambda old: put(old / "verification.sqlite", "no database"), "verification.sqlite"),
    ],
)
def test_what_is_broken_is_named_and_no_copy_is_left(
    old: Path, damage: Callable[[Path], Any], where: str
) -> None:
    damage(old)
    done = proctor("upgrade", old)
    assert (done.status, str(old / where) in done.err) == (2, True)
    assert [p.name for p in old.parent.iterdir()] == ["bench"]


def test_a_folder_that_is_no_workspace_or_a_copy_in_a_bad_place_is_refused(old: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no workspace here"):
        upgrade(tmp_path)
    with pytest.raises(UserError, match="cannot lie in the workspace"):
        upgrade(old, old / "copy")
    put(tmp_path / "copy" / "notes.txt", "mine")
    with pytest.raises(UserError, match="something here already"):
        upgrade(old, tmp_path / "copy")


def test_a_full_disk_is_named(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: Workspace) -> Part:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(conductor, "_PARTS", (full,))
    with pytest.raises(UserError, match="No space left"):
        upgrade(old)
    assert not old.with_name("bench-upgraded").exists()

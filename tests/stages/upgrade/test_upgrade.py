"""Old workspaces brought up to date on a copy; what is in them is compared in ``tests/golden`` with what the old code made."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.typed import proctor

from proctor.errors import UserError
from proctor.exam.kinds.documents_question import DocumentFacts, document_facts
from proctor.exam.question import Item, Source
from proctor.records import content_hash, file_sha256, read_jsonl
from proctor.stages.documents.reading import load_questions, load_written
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
    put(old / "experiment.json", json.dumps({"plan": "promqa", "settings": {}, "vary": []}))
    before = content(old)
    done = proctor("upgrade", old)
    assert done.status == 0, done.err
    assert content(old) == before
    copy = old.with_name("bench-upgraded")
    assert f"proctor score {copy}" in done.out
    assert json.loads((copy / "experiment.json").read_text())["plan"] == "moment"
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
        "u._PARTS = (*u._PARTS, (1, lambda workspace: os.kill(os.getpid(), signal.SIGKILL)))\nu.upgrade(Path(sys.argv[1]))"
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
        (
            lambda old: put(old / "experiment.json", '{"plan": "styled", "settings": []}'),
            "experiment.json",
        ),
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
    with pytest.raises(UserError, match=r"did you mean .*bench"):  # one of an older version is one, too
        upgrade(old.with_name("bnech"))
    with pytest.raises(UserError, match="cannot be inside the workspace"):
        upgrade(old, old / "copy")
    put(tmp_path / "copy" / "notes.txt", "mine")
    with pytest.raises(UserError, match="something here already"):
        upgrade(old, tmp_path / "copy")


def test_a_full_disk_is_named(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: Workspace) -> Part:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(conductor, "_PARTS", ((1, full),))
    with pytest.raises(UserError, match="No space left"):
        upgrade(old)
    assert not old.with_name("bench-upgraded").exists()


WRITTEN = {
    "id": "numerical/1-1-0/0001", "style": "numerical", "modalities": [1, 1, 0], "question": "How deep?", "answer": "9 m",
    "gold": ["b", "a"], "content": {"a": "1a", "b": "1b"}, "hops": [{"question": "Which?", "answer": "Como", "sources": ["a"]}],
    "distractors": ["c"], "entity": "Como", "ranks": {"a": 1, "c": 2}, "attempts": 2, "calls": ["0123"],
    "models": {"entity": "m", "generator": "g", "retriever": "lsa"}, "prompts": {"styled-question": "77"}, "seed": 3,
    "style_hash": "s", "corpus_hash": "c", "config_hash": "x",
}  # fmt: skip


def test_written_questions_of_format_2_are_one_record_in_cells_too(tmp_path: Path) -> None:
    bench = tmp_path / "bench"
    for place in (bench, bench / "cells" / "seed.3"):
        put(place / "workspace.json", '{"format": 2}')
        put(place / "styled.jsonl", json.dumps(WRITTEN) + "\n")
        put(place / "styled.attempts.jsonl", "")
        digest = {"styled.jsonl": file_sha256(place / "styled.jsonl")}
        records = {
            "styled": {"version": "0", "settings": {}, "counts": {}, "outputs": digest},
            "retrieve/styled": {"version": "0", "settings": {}, "counts": {}, "inputs": digest},
            "overlap": {"version": "0", "settings": {}, "counts": {}, "inputs": {"styled.jsonl": "older"}},
        }
        put(place / "stages.json", json.dumps(records))
    put(bench / "proctor.toml", "[styled]  # mine\nattempts = 3\n[retrieve]\nquestions = 'styled'\n")
    chosen = {
        "plan": "styled",
        "settings": {"corpus": {}, "styled": {"seed": 1}},
        "vary": ["styled.seed=3,4"],
    }
    put(bench / "experiment.json", json.dumps(chosen))
    put(bench / "media" / "ab" / "abc", "a picture")
    (bench / "cells" / "seed.3" / "media").symlink_to("../../media", target_is_directory=True)
    done = upgrade(bench)
    assert done.changed == {"questions about documents": 2}
    copy = Path(done.output)
    for place in map(Workspace, (copy, copy / "cells" / "seed.3")):
        assert not list(place.root.glob("styled*"))
        assert place.stages().keys() == {"documents", "retrieve/styled", "overlap"}
        assert place.changed("retrieve/styled") == []
        assert place.changed("overlap") == ["documents.jsonl"]
        (full,), (asked,) = load_written(place), load_questions(place)
        assert document_facts(full) == msgspec.convert(WRITTEN, DocumentFacts)
        made = {**WRITTEN["models"], "seed": "3", "style_hash": "s", "corpus_hash": "c", "config_hash": "x"}  # type: ignore[dict-item]
        assert full.provenance == {**made, "prompt:styled-question": "77"}
        # As the old code put it into items: people's and models' verdicts hang on it.
        assert asked.facts == {"hops": WRITTEN["hops"]}
        assert asked.provenance == {"generator": "g", "retriever": "lsa", "set": "styled"}
        assert asked.evidence == (Source(id="b", hash="1b"), Source(id="a", hash="1a"))
    assert (copy / "proctor.toml").read_text() == (bench / "proctor.toml").read_text().replace(
        "[styled]", "[documents]"
    )
    kept = json.loads((copy / "experiment.json").read_text())
    assert kept == {
        "plan": "documents",
        "settings": {"corpus": {}, "documents": {"seed": 1}},
        "vary": ["documents.seed=3,4"],
    }
    assert (copy / "cells" / "seed.3" / "media").samefile(copy / "media")


PAIR = {
    "id": "q1", "clip_id": "v", "dataset": "hirest", "video_id": "v", "level": "coarse", "category": "other", "position": "early",
    "question": "What comes first?", "answer": "Stir.", "step_ids": ["s1"],
}  # fmt: skip
CLIP = {
    "id": "v", "video_id": "v", "dataset": "hirest", "task": "Soup", "split": "train", "start": 0.0, "end": 9.0,
    "steps": [{"id": "s1", "text": "stir", "start": 1.0, "end": 2.0}],
}  # fmt: skip


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    """A workspace of format 1 with one question about a clip, a model's answer to it, one to another question, and a floor."""
    bench = tmp_path / "bench"
    put(bench / "stages.json", "{}")
    put(bench / "clips.jsonl", json.dumps(CLIP) + "\n")
    put(bench / "open.jsonl", json.dumps(PAIR) + "\n")
    put(
        bench / "experiment.json",
        json.dumps({"plan": "instructional", "settings": {"pairs": {"total": 3}}, "vary": []}),
    )
    for system, asked, model in (("mine", "q1", True), ("gone", "q9", True), ("floor-chance", "q1", False)):
        details = {"model": "openai/m", "view": "question"} if model else {}
        said = {"item_id": asked, "predictor": "openai/m (question)", "answer": "Stir.", "details": details}
        put(bench / "clip-runs/open" / system / "predictions.jsonl", json.dumps(said) + "\n")
    return bench


def test_answers_about_clips_become_a_run_and_others_stay(clips: Path) -> None:
    told = proctor("upgrade", clips, "--json").json
    copy = Path(told["output"])
    assert told["changed"] == {"runs about clips": 1}, told["notes"]
    assert told["left_out"] == {"systems without a model": 1}
    assert [command.split()[1] for command in told["again"]] == ["build", "predict", "score"]
    assert any("1 runs about clips answered questions that were made again since" in n for n in told["notes"])
    assert [p.name for p in (copy / "clip-runs/open").iterdir()] == ["gone"]
    assert Workspace(copy).run_names() == ["clip-openai-m-question"]
    info = read_run_info(copy / "runs/clip-openai-m-question")
    items = read_jsonl(copy / "items.jsonl", Item)
    assert (info.role, info.items, info.show) == ("floor", items_hash(items), "question")
    chosen = json.loads((copy / "experiment.json").read_text())
    assert chosen == {"plan": "clip", "settings": {"pairs": {"total": 3}}, "vary": []}


def test_questions_that_were_changed_since_are_not_taken_for_the_same(clips: Path) -> None:
    table = {"benchmark": "bench-open@000000000000", "item_marks": {"q1": 1.0}}
    put(clips / "clip-runs/open/mine/table.json", json.dumps(table))
    told = proctor("upgrade", clips, "--json").json
    assert "runs about clips" not in told["changed"]
    assert (Path(told["output"]) / "clip-runs/open/mine/table.json").exists()


def test_runs_without_their_questions_stay_as_they_were(clips: Path) -> None:
    put(clips / "open.jsonl", json.dumps({**PAIR, "clip_id": "w"}) + "\n" + "{")
    told = proctor("upgrade", clips, "--json").json
    assert any(note.startswith("Runs about clips stay as they were: ") for note in told["notes"])
    assert (Path(told["output"]) / "clip-runs/open/mine/predictions.jsonl").exists()

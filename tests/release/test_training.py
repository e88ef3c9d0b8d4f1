"""Files of the training set."""

import hashlib
import json

import msgspec
import pytest
from tests.exam.clip_set import clip, pair

from proctor.errors import UserError
from proctor.release.training import write_training

CLIPS = [
    msgspec.structs.replace(clip(f"v{n}"), steps=tuple(
        msgspec.structs.replace(s, text=f"{s.text} {n}") for s in clip().steps
    ))
    for n in range(6)
]  # fmt: skip
PAIRS = [pair(n) for n in range(24)]


def lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_both_forms_say_the_same_and_where_it_came_from(tmp_path) -> None:
    manifest, dropped = write_training(tmp_path, PAIRS[8:], CLIPS, PAIRS[:8], benchmark_name="toy 1")
    llava, messages = lines(tmp_path / "llava.jsonl"), lines(tmp_path / "messages.jsonl")
    assert dropped == []
    assert len(llava) == len(messages) == manifest.pairs == 16
    first, second = llava[0], messages[0]
    assert first["conversations"] == [
        {"from": "human", "value": "<video>\nWhat is done at moment 8?"}, {"from": "gpt", "value": "Whisk the eggs"},
    ]  # fmt: skip
    assert first["video"] == second["videos"][0] == "v2.mp4"
    assert (first["start"], first["end"]) == (0.0, 10.4)
    assert [m["role"] for m in second["messages"]] == ["user", "assistant"]
    assert [part["type"] for part in second["messages"][0]["content"]] == ["video", "text"]
    assert second["messages"][1]["content"][0]["text"] == "Whisk the eggs"
    assert first["provenance"] == second["provenance"]
    assert {"pair_id": "p8", "video_id": "v2", "step_ids": ["s1"]}.items() <= first["provenance"].items()
    assert first["provenance"]["generation"] == [{"name": "model", "value": "m"}]
    assert {p["provenance"]["video_id"] for p in llava}.isdisjoint({p.video_id for p in PAIRS[:8]})


def test_the_manifest_proves_it(tmp_path) -> None:
    write_training(tmp_path / "a", PAIRS[8:], CLIPS, PAIRS[:8])
    found = json.loads((tmp_path / "a" / "manifest.json").read_text())
    assert found["leakage"]["leaks"] == []
    assert (found["leakage"]["benchmark_videos"], found["leakage"]["training_videos"]) == (2, 4)
    assert found["leakage"]["keys"]["clip"] == 2
    assert (found["videos"], found["clips"], found["pairs"]) == (4, 4, 16)
    for name, digest in found["files"].items():
        assert hashlib.sha256((tmp_path / "a" / name).read_bytes()).hexdigest() == digest
    write_training(tmp_path / "b", PAIRS[8:], CLIPS, PAIRS[:8])
    for name in (*found["files"], "manifest.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_leak_writes_nothing(tmp_path) -> None:
    with pytest.raises(UserError, match="in the benchmark and in the training set"):
        write_training(tmp_path / "t", PAIRS[6:], CLIPS, PAIRS[:8])
    assert not (tmp_path / "t").exists()


def test_what_cannot_be_trained_on_is_listed(tmp_path) -> None:
    bad = [
        msgspec.structs.replace(PAIRS[8], question="What does <VIDEO> show?"),
        msgspec.structs.replace(PAIRS[9], answer="  "),
        msgspec.structs.replace(PAIRS[10], clip_id="gone"),
    ]
    manifest, dropped = write_training(tmp_path, [*bad, PAIRS[11]], CLIPS, [])
    assert [(d.id, d.reason) for d in dropped] == [("p8", "placeholder"), ("p9", "empty"), ("p10", "no_clip")]
    assert manifest.dropped == {"empty": 1, "no_clip": 1, "placeholder": 1}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["llava.jsonl", "manifest.json", "messages.jsonl"]
    with pytest.raises(UserError, match="none of 3 pairs"):
        write_training(tmp_path / "n", bad, CLIPS, [])
    with pytest.raises(UserError, match="there twice"):
        write_training(tmp_path / "n", [PAIRS[0], PAIRS[0]], CLIPS, [])

"""What is odd but legal in a plain folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from proctor.datasets.dataset import Finding
from proctor.datasets.plain import PLAIN_RULES, check_plain
from proctor.errors import UserError

STEPS = [{"id": i, "text": f"do {i}"} for i in "abc"]
EDGES = [["a", "b"], ["b", "c"]]


def segment(step: str, start: float, end: float, *kinds: str) -> dict[str, Any]:
    return {"step": step, "start": start, "end": end, "mistakes": [{"kind": k} for k in kinds]}


def skip(step: str) -> dict[str, Any]:
    return {"step": step, "skipped": True, "mistakes": [{"kind": "missing"}]}


CLEAN = [segment("a", 0, 10), segment("b", 10, 20), segment("c", 20, 30)]


def write(root: Path, *segments: dict[str, Any], edges: Any = EDGES, **more: Any) -> Path:
    (root / "activities").mkdir(exist_ok=True)
    (root / "recordings").mkdir(exist_ok=True)
    activity = {"id": "t", "name": "T", "steps": STEPS, "edges": edges}
    (root / "activities" / "t.json").write_text(json.dumps(activity))
    recording = {"id": "r", "activity": "t", "segments": list(segments or CLEAN), **more}
    (root / "recordings" / "r.json").write_text(json.dumps(recording))
    return root


def found(root: Path, rule: str) -> list[tuple[str, str]]:
    return [(f.where, f.seen) for f in check_plain(root) if f.rule == rule]


def test_a_clean_recording_has_no_findings(tmp_path: Path):
    (tmp_path / "x.mp4").touch()
    assert check_plain(write(tmp_path, duration=30, video="x.mp4", attributes={"a": "b"})) == ()


def test_p1_after_the_end_of_the_video(tmp_path: Path):
    root = write(tmp_path, duration=25)
    assert found(root, "P1") == [("r: step c", "ends at 30 s, the video at 25 s")]


def test_p2_overlapping_steps(tmp_path: Path):
    root = write(tmp_path, segment("a", 0, 10), segment("b", 7, 20), segment("c", 18, 30))
    assert found(root, "P2") == [("r: steps a and b", "by 3 s")]  # two seconds are tolerated


def test_p3_unknown_kinds(tmp_path: Path):
    root = write(tmp_path, segment("a", 0, 10, "measurment", "measurment"), segment("b", 10, 20, "zzz"))
    assert found(root, "P3") == [
        ("r: step a", "'measurment': is it 'measurement'?"),
        ("r: step b", "'zzz'"),
    ]


def test_p4_steps_of_which_nothing_is_said(tmp_path: Path):
    assert found(write(tmp_path, segment("a", 0, 10)), "P4") == [("r", "step(s) b, c")]
    assert found(write(tmp_path, segment("a", 0, 10), skip("b"), skip("c")), "P4") == []


def test_p5_skipped_and_performed(tmp_path: Path):
    assert found(write(tmp_path, *CLEAN, skip("b")), "P5") == [("r: step b", "both")]


def test_p6_missing_video(tmp_path: Path):
    assert found(write(tmp_path, video="no.mp4"), "P6") == [("r", "no.mp4")]


def test_p7_any_order_is_right(tmp_path: Path):
    assert found(write(tmp_path, edges=[]), "P7") == [("t", "3 steps and no edge")]


def test_p8_implied_edges(tmp_path: Path):
    assert found(write(tmp_path, edges=[*EDGES, ["a", "c"]]), "P8") == [("t", "a → c")]


def test_p9_unused_activities(tmp_path: Path):
    root = write(tmp_path)
    other = {"id": "u", "name": "U", "steps": STEPS[:1]}
    (root / "activities" / "u.json").write_text(json.dumps(other))
    assert check_plain(root) == (Finding("P9", "u", "no recording"),)


def test_p10_files_that_are_not_read(tmp_path: Path):
    root = write(tmp_path)
    (root / "activities" / "x.yaml").touch()
    (root / "recordings" / "a.json.txt").touch()
    (root / "recordings" / ".DS_Store").touch()
    (root / "notes.txt").touch()
    assert [where for where, _ in found(root, "P10")] == ["activities/x.yaml", "recordings/a.json.txt"]


@pytest.mark.parametrize(
    ("rule", "segments"),
    [
        ("R1", [segment("b", 10, 20), segment("a", 0, 10)]),
        ("R2", [{"step": "a", "skipped": True}]),
        ("R3", [segment("a", 0, 10, "missing")]),
        ("R5", [segment("a", 0, 10, "order")]),
        ("R7", [segment("a", 0, 10), segment("b", 0.5, 10.5)]),
        ("R8", [*CLEAN, segment("a", 31, 32)]),
        ("R9", [{**segment("a", 0, 10, "technique"), "performed": "do a"}]),
        ("R10", [segment("b", 0, 10), segment("a", 10, 20)]),
    ],
)
def test_the_linter_of_all_data_sets_sees_the_file_as_it_is_written(
    rule: str, segments: list[dict[str, Any]], tmp_path: Path
):
    assert rule in {f.rule for f in check_plain(write(tmp_path, *segments))}
    assert rule not in {f.rule for f in check_plain(write(tmp_path))}


def test_a_folder_that_cannot_be_read_cannot_be_checked(tests_data: Path):
    with pytest.raises(UserError, match="14 problems"):
        check_plain(tests_data / "plain_broken")


def test_every_rule_has_a_description_and_every_finding_a_rule(tests_data: Path):
    from proctor.datasets.lint import RULES

    assert {f.rule for f in check_plain(tests_data / "plain_valid")} <= {*RULES, *PLAIN_RULES}
    assert not set(RULES) & set(PLAIN_RULES)

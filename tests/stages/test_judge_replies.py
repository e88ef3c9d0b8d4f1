"""Replies of a judge read from a file: what 'proctor judge read' prints, and which files it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from proctor.errors import UserError
from proctor.stages.judge import read_replies


def write(path: Path, *lines: object) -> Path:
    path.write_text(
        "".join((x if isinstance(x, str) else json.dumps(x)) + "\n" for x in lines), encoding="utf-8"
    )
    return path


def test_each_reply_gets_a_score_or_a_reason(tmp_path: Path) -> None:
    file = write(
        tmp_path / "r.jsonl",
        {"id": "a", "reply": "Same.\nVerdict: 2"},
        "",
        {"id": 2, "reply": "Verdict: 2\nVerdict: 0", "more": 1},
        {"id": "c", "reply": "x" * 10_000_000},
    )
    found = read_replies(file, "ternary")
    assert all(list(line) == ["id", "score", "rule", "reason"] for line in found)
    assert [(f["id"], f["score"], f["rule"]) for f in found] == [
        ("a", 2, "line"),
        (2, None, "contradictory"),
        ("c", None, "too_long"),
    ]
    assert all(f["reason"] for f in found)
    assert read_replies(file, "binary")[0]["rule"] == "scale"


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (({"id": "a", "reply": "2"}, '{"id": "b", "rep'), "r.jsonl:2"),
        (({"id": "a"},), "reply"),
        (({"reply": "2"},), "id"),
        (({"id": "a", "reply": 2},), "r.jsonl:1"),
        (([1],), "r.jsonl:1"),
        (({"id": "a", "reply": "2"}, {"id": "a", "reply": "1"}), "occurs twice"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, lines: tuple[object, ...], told: str) -> None:
    with pytest.raises(UserError) as refused:
        read_replies(write(tmp_path / "r.jsonl", *lines), "ternary")
    assert told in f"{refused.value} {refused.value.where}"


def test_another_scale_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--scale"):
        read_replies(tmp_path / "r.jsonl", "quinary")
    with pytest.raises(UserError, match="no such file"):
        read_replies(tmp_path / "r.jsonl", "binary")

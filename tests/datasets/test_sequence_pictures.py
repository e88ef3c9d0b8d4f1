"""Files of sequences: paths of pictures stay in the folder, and what cannot be is listed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from proctor.datasets.sequence_files import read_sequences
from proctor.errors import UserError


def test_paths_that_lead_out_of_the_folder_are_dropped_and_listed(tmp_path: Path) -> None:
    pictures = ["../../etc/passwd", ["a/1.png", "a/../../2.png"], "a\\b.png", None, "c:/d.png"]
    path = tmp_path / "f.jsonl"
    path.write_text(json.dumps({"id": "x", "steps": list("abcde"), "pictures": pictures}) + "\n")
    found = read_sequences(path)
    assert [step.images for step in found.sequences[0].steps] == [(), ("a/1.png",), (), (), ()]
    assert [(d.id, d.reason) for d in found.dropped] == [("x", "picture")] * 4


def test_lines_and_references_that_cannot_be_are_listed(tmp_path: Path) -> None:
    rows = [
        {"id": "one", "steps": ["a"]},
        {"id": "x", "steps": ["a", "a", "b"], "before": [[0, 2]], "references": {"text": [[2, 0, 1], [1, 0, 2], [0, 1]]}},
        {"id": "x", "steps": ["a", "b"]},
        {"id": "against", "steps": ["a", "b"], "before": [[1, 0]]},
    ]  # fmt: skip
    path = tmp_path / "f.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = read_sequences(path)
    (only,) = found.sequences
    assert (only.orders("text"), only.alike()) == (((0, 1, 2), (1, 0, 2)), (0, 0, 2))
    assert [d.reason for d in found.dropped] == [
        "too-few-steps", "contradiction", "reference", "duplicate-id", "contradiction"
    ]  # fmt: skip
    path.write_text(path.read_text()[:-20])
    with pytest.raises(UserError, match="JSON"):
        read_sequences(path)
